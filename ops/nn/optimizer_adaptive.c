/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers whose rate follows what the gradients were. */
#include "ops/nn/optimizer.h"
#include "ops/ops.h"

#include <tgmath.h>

#define EACH "ops/nn/optimizer_adaptive_loops.def"
#include "ops/each_float.def"
#undef EACH

/* The kernel of an optimizer; `...` is the names of its inputs. */
#define OPTIMIZER(name, variables, at, ...)                                    \
    static eddy_status run_##name(eddy_kernel *k)                              \
    {                                                                          \
        static const eddy__optimizer optimizer = {.n_variables = (variables),  \
                                                  .gradient = (at),            \
                                                  .loops =                     \
                                                      EDDY__STEP_LOOPS(name),  \
                                                  __VA_ARGS__};                \
                                                                               \
        return eddy__optimizer_run(k, &optimizer);                             \
    }

OPTIMIZER(adagrad, 2, 3, .names = {"var", "accum", "lr", "grad"})
OPTIMIZER(adagrad_v2, 2, 4, .names = {"var", "accum", "lr", "epsilon", "grad"})
OPTIMIZER(rms_prop, 3, 7,
          .names = {"var", "ms", "mom", "lr", "rho", "momentum", "epsilon",
                    "grad"})
OPTIMIZER(centered, 4, 8,
          .names = {"var", "mg", "ms", "mom", "lr", "rho", "momentum",
                    "epsilon", "grad"})
OPTIMIZER(adadelta, 3, 6,
          .names = {"var", "accum", "accum_update", "lr", "rho", "epsilon",
                    "grad"})
OPTIMIZER(ada_max, 3, 8,
          .names = {"var", "m", "v", "beta1_power", "lr", "beta1", "beta2",
                    "epsilon", "grad"})
OPTIMIZER(ftrl, 3, 3,
          .names = {"var", "accum", "linear", "grad", "lr", "l1", "l2",
                    "lr_power"})
OPTIMIZER(ftrl_v2, 3, 3,
          .names = {"var", "accum", "linear", "grad", "lr", "l1", "l2",
                    "l2_shrinkage", "lr_power"})
OPTIMIZER(amsgrad, 4, 10,
          .names = {"var", "m", "v", "vhat", "beta1_power", "beta2_power", "lr",
                    "beta1", "beta2", "epsilon", "grad"})
OPTIMIZER(keras_momentum, 2, 3,
          .names = {"var", "accum", "lr", "grad", "momentum"})

#define SLOTS EDDY__STEP_TYPES ", update_slots: bool = true"
#define LINEAR EDDY__STEP_TYPES ", multiply_linear_by_lr: bool = false"

static const eddy_op_spec specs[] = {
    EDDY__OPTIMIZER_ROWS(
        "Adagrad", "var: resource, accum: resource", "var: ref T, accum: ref T",
        "lr: T, grad: T", SLOTS, run_adagrad,
        "A step whose rate falls with the squares of all gradients."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "Adagrad", "var: resource, accum: resource", "var: ref T, accum: ref T",
        "lr: T, grad: T, indices: Tindices", SLOTS, run_adagrad),
    EDDY__OPTIMIZER_ROWS("AdagradV2", "var: resource, accum: resource",
                         "var: ref T, accum: ref T",
                         "lr: T, epsilon: T, grad: T", SLOTS, run_adagrad_v2,
                         "The same, with epsilon added to the divisor."),
    EDDY__OPTIMIZER_SPARSE_ROWS("AdagradV2", "var: resource, accum: resource",
                                "var: ref T, accum: ref T",
                                "lr: T, epsilon: T, grad: T, indices: Tindices",
                                SLOTS, run_adagrad_v2),
    EDDY__OPTIMIZER_ROWS(
        "RMSProp", "var: resource, ms: resource, mom: resource",
        "var: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T", EDDY__STEP_TYPES,
        run_rms_prop,
        "A step divided by the root of a moving mean of squares."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "RMSProp", "var: resource, ms: resource, mom: resource",
        "var: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices",
        EDDY__STEP_TYPES, run_rms_prop),
    EDDY__OPTIMIZER_ROWS(
        "CenteredRMSProp",
        "var: resource, mg: resource, ms: resource, mom: resource",
        "var: ref T, mg: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T", EDDY__STEP_TYPES,
        run_centered, "A step divided by the root of a moving variance."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "CenteredRMSProp",
        "var: resource, mg: resource, ms: resource, mom: resource",
        "var: ref T, mg: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices",
        EDDY__STEP_TYPES, run_centered),
    EDDY__OPTIMIZER_ROWS(
        "Adadelta", "var: resource, accum: resource, accum_update: resource",
        "var: ref T, accum: ref T, accum_update: ref T",
        "lr: T, rho: T, epsilon: T, grad: T", EDDY__STEP_TYPES, run_adadelta,
        "A step as long as the past ones were, for the size of the gradients."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "Adadelta", "var: resource, accum: resource, accum_update: resource",
        "var: ref T, accum: ref T, accum_update: ref T",
        "lr: T, rho: T, epsilon: T, grad: T, indices: Tindices",
        EDDY__STEP_TYPES, run_adadelta),
    EDDY__OPTIMIZER_ROWS(
        "AdaMax", "var: resource, m: resource, v: resource",
        "var: ref T, m: ref T, v: ref T",
        "beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T",
        EDDY__STEP_TYPES, run_ada_max,
        "A step of Adam by the largest gradient, not the squares."),
    EDDY__OPTIMIZER_ROWS(
        "Ftrl", "var: resource, accum: resource, linear: resource",
        "var: ref T, accum: ref T, linear: ref T",
        "grad: T, lr: T, l1: T, l2: T, lr_power: T", LINEAR, run_ftrl,
        "A step that follows the regularized leader."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "Ftrl", "var: resource, accum: resource, linear: resource",
        "var: ref T, accum: ref T, linear: ref T",
        "grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T", LINEAR,
        run_ftrl),
    EDDY__OPTIMIZER_ROWS(
        "FtrlV2", "var: resource, accum: resource, linear: resource",
        "var: ref T, accum: ref T, linear: ref T",
        "grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T", LINEAR,
        run_ftrl_v2, "The same, with l2 in the gradient as well."),
    EDDY__OPTIMIZER_SPARSE_ROWS(
        "FtrlV2", "var: resource, accum: resource, linear: resource",
        "var: ref T, accum: ref T, linear: ref T",
        "grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, "
        "lr_power: T",
        LINEAR, run_ftrl_v2),
    EDDY__OP_ROW("ResourceApplyAdamWithAmsgrad",
                 .inputs = "var: resource, m: resource, v: resource, vhat: "
                           "resource, beta1_power: T, beta2_power: T, lr: T, "
                           "beta1: T, beta2: T, epsilon: T, grad: T",
                 .attrs = EDDY__STEP_TYPES, .kernel = run_amsgrad,
                 .prepare = eddy__optimizer_prepare, .flags = EDDY__STEP_FLAGS,
                 .doc =
                     "A step of Adam by the largest second moment that was."),
    EDDY__OP_ROW(
        "ResourceApplyKerasMomentum",
        .inputs = "var: resource, accum: resource, lr: T, grad: T, momentum: T",
        .attrs = EDDY__STEP_NESTEROV, .kernel = run_keras_momentum,
        .prepare = eddy__optimizer_prepare, .flags = EDDY__STEP_FLAGS,
        .doc = "A step with momentum that holds the rate."),
    EDDY__OP_ROW("ResourceSparseApplyKerasMomentum",
                 .inputs = "var: resource, accum: resource, lr: T, grad: T, "
                           "indices: Tindices, momentum: T",
                 .attrs = "Tindices: index, " EDDY__STEP_NESTEROV,
                 .kernel = run_keras_momentum,
                 .prepare = eddy__optimizer_prepare, .flags = EDDY__STEP_FLAGS,
                 .doc = EDDY__STEP_ROWS_TEXT),
};

const eddy__op_table eddy__optimizer_adaptive_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

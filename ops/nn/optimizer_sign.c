/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers that look at signs: whether gradient and momentum agree, and what
 * l1 leaves of a variable.
 */
#include "ops/nn/optimizer.h"
#include "ops/ops.h"

#include <tgmath.h>

/* -1, 0 or 1 */
#define SIGN(x) ((x) > 0 ? 1 : (x) < 0 ? -1 : 0)

#define EACH "ops/nn/optimizer_sign_loops.def"
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

OPTIMIZER(add_sign, 2, 6,
          .names = {"var", "m", "lr", "alpha", "sign_decay", "beta", "grad"})
OPTIMIZER(power_sign, 2, 6,
          .names = {"var", "m", "lr", "logbase", "sign_decay", "beta", "grad"})
OPTIMIZER(proximal, 1, 4, .names = {"var", "alpha", "l1", "l2", "delta"})
OPTIMIZER(proximal_adagrad, 2, 5,
          .names = {"var", "accum", "lr", "l1", "l2", "grad"})

static const eddy_op_spec specs[] = {
    EDDY__OPTIMIZER_ROWS("AddSign", "var: resource, m: resource",
                         "var: ref T, m: ref T",
                         "lr: T, alpha: T, sign_decay: T, beta: T, grad: T",
                         EDDY__STEP_TYPES, run_add_sign,
                         "A step that is longer where the signs of gradient "
                         "and momentum agree."),
    EDDY__OPTIMIZER_ROWS(
        "PowerSign", "var: resource, m: resource", "var: ref T, m: ref T",
        "lr: T, logbase: T, sign_decay: T, beta: T, grad: T", EDDY__STEP_TYPES,
        run_power_sign, "The same, by a factor and its inverse."),
    EDDY__OPTIMIZER_ROWS(
        "ProximalGradientDescent", "var: resource", "var: ref T",
        "alpha: T, l1: T, l2: T, delta: T", EDDY__STEP_TYPES, run_proximal,
        "A step down a gradient, then one towards 0 for l1 and l2."),
    EDDY__OPTIMIZER_SPARSE_ROWS("ProximalGradientDescent", "var: resource",
                                "var: ref T",
                                "alpha: T, l1: T, l2: T, grad: T, "
                                "indices: Tindices",
                                EDDY__STEP_TYPES, run_proximal),
    EDDY__OPTIMIZER_ROWS(
        "ProximalAdagrad", "var: resource, accum: resource",
        "var: ref T, accum: ref T", "lr: T, l1: T, l2: T, grad: T",
        EDDY__STEP_TYPES, run_proximal_adagrad,
        "A step of Adagrad, then one towards 0 for l1 and l2."),
    EDDY__OPTIMIZER_SPARSE_ROWS("ProximalAdagrad",
                                "var: resource, accum: resource",
                                "var: ref T, accum: ref T",
                                "lr: T, l1: T, l2: T, grad: T, "
                                "indices: Tindices",
                                EDDY__STEP_TYPES, run_proximal_adagrad),
};

const eddy__op_table eddy__optimizer_sign_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};

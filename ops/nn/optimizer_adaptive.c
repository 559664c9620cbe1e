/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers whose rate follows what the gradients were. */
#include "ops/nn/optimizer.h"
#include "ops/ops.h"

#include <tgmath.h>

/* A number that a loop computes with. */
#define C(D) const eddy__computed_##D

/* lr, and epsilon if it has that */
#define ADAGRAD(D, name, eps)                                                  \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) rate = EDDY__STEP_SCALAR(D, 0), epsilon = eps;                    \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) old = EDDY__STEP_FROM(D, 1);                                  \
            C(D) sum = s->is.keeps_slots ? old : old + g * g;                  \
                                                                               \
            EDDY__STEP_PUT(D, 1, sum);                                         \
            EDDY__STEP_PUT(D, 0, x - g * rate / (sqrt(sum) + epsilon));        \
        }                                                                      \
    }

#define ADAGRAD_V1(D, name) ADAGRAD(D, name, 0)
#define ADAGRAD_V2(D, name) ADAGRAD(D, name, EDDY__STEP_SCALAR(D, 1))

/* lr, rho, momentum, epsilon */
#define RMS_PROP(D, name)                                                      \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, rate = EDDY__STEP_SCALAR(D, 0);                          \
        C(D)                                                                   \
        rho = EDDY__STEP_SCALAR(D, 1), momentum = EDDY__STEP_SCALAR(D, 2);     \
        C(D) epsilon = EDDY__STEP_SCALAR(D, 3);                                \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) old = EDDY__STEP_FROM(D, 1), mom0 = EDDY__STEP_FROM(D, 2);    \
            C(D) ms = old + (g * g - old) * (one - rho);                       \
            C(D) mom = mom0 * momentum + g * rate / sqrt(ms + epsilon);        \
                                                                               \
            EDDY__STEP_PUT(D, 1, ms);                                          \
            EDDY__STEP_PUT(D, 2, mom);                                         \
            EDDY__STEP_PUT(D, 0, x - mom);                                     \
        }                                                                      \
    }

/* The same; the variance is about the mean, the first slot. */
#define CENTERED(D, name)                                                      \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, rate = EDDY__STEP_SCALAR(D, 0);                          \
        C(D)                                                                   \
        rho = EDDY__STEP_SCALAR(D, 1), momentum = EDDY__STEP_SCALAR(D, 2);     \
        C(D) epsilon = EDDY__STEP_SCALAR(D, 3);                                \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) mg0 = EDDY__STEP_FROM(D, 1), ms0 = EDDY__STEP_FROM(D, 2);     \
            C(D) mom0 = EDDY__STEP_FROM(D, 3);                                 \
            C(D) mg = mg0 + (g - mg0) * (one - rho);                           \
            C(D) ms = ms0 + (g * g - ms0) * (one - rho);                       \
            C(D) variance = ms - mg * mg + epsilon;                            \
            C(D) mom = mom0 * momentum + g * rate / sqrt(variance);            \
                                                                               \
            EDDY__STEP_PUT(D, 1, mg);                                          \
            EDDY__STEP_PUT(D, 2, ms);                                          \
            EDDY__STEP_PUT(D, 3, mom);                                         \
            EDDY__STEP_PUT(D, 0, x - mom);                                     \
        }                                                                      \
    }

/* lr, rho, epsilon */
#define ADADELTA(D, name)                                                      \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, rate = EDDY__STEP_SCALAR(D, 0);                          \
        C(D) rho = EDDY__STEP_SCALAR(D, 1), epsilon = EDDY__STEP_SCALAR(D, 2); \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) past = EDDY__STEP_FROM(D, 2);                                 \
            C(D) sum = EDDY__STEP_FROM(D, 1) * rho + g * g * (one - rho);      \
            C(D) by = sqrt(past + epsilon) / sqrt(sum + epsilon) * g;          \
                                                                               \
            EDDY__STEP_PUT(D, 1, sum);                                         \
            EDDY__STEP_PUT(D, 2, past *rho + by * by * (one - rho));           \
            EDDY__STEP_PUT(D, 0, x - by * rate);                               \
        }                                                                      \
    }

/* beta1_power, lr, beta1, beta2, epsilon */
#define ADA_MAX(D, name)                                                       \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, beta1 = EDDY__STEP_SCALAR(D, 2);                         \
        C(D)                                                                   \
        beta2 = EDDY__STEP_SCALAR(D, 3), epsilon = EDDY__STEP_SCALAR(D, 4);    \
        C(D) rate = EDDY__STEP_SCALAR(D, 1) / (one - EDDY__STEP_SCALAR(D, 0)); \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) m0 = EDDY__STEP_FROM(D, 1);                                   \
            C(D) m = m0 + (g - m0) * (one - beta1);                            \
            C(D) v = fmax(beta2 * EDDY__STEP_FROM(D, 2), fabs(g));             \
                                                                               \
            EDDY__STEP_PUT(D, 1, m);                                           \
            EDDY__STEP_PUT(D, 2, v);                                           \
            EDDY__STEP_PUT(D, 0, x - rate * (m / (v + epsilon)));              \
        }                                                                      \
    }

/* beta1_power, beta2_power, lr, beta1, beta2, epsilon */
#define AMSGRAD(D, name)                                                       \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, beta1 = EDDY__STEP_SCALAR(D, 3);                         \
        C(D)                                                                   \
        beta2 = EDDY__STEP_SCALAR(D, 4), epsilon = EDDY__STEP_SCALAR(D, 5);    \
        C(D)                                                                   \
        rate = EDDY__STEP_SCALAR(D, 2) * sqrt(one - EDDY__STEP_SCALAR(D, 1)) / \
               (one - EDDY__STEP_SCALAR(D, 0));                                \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) m0 = EDDY__STEP_FROM(D, 1), v0 = EDDY__STEP_FROM(D, 2);       \
            C(D) m = m0 + (g - m0) * (one - beta1);                            \
            C(D) v = v0 + (g * g - v0) * (one - beta2);                        \
            C(D) most = fmax(EDDY__STEP_FROM(D, 3), v);                        \
                                                                               \
            EDDY__STEP_PUT(D, 1, m);                                           \
            EDDY__STEP_PUT(D, 2, v);                                           \
            EDDY__STEP_PUT(D, 3, most);                                        \
            EDDY__STEP_PUT(D, 0, x - m * rate / (sqrt(most) + epsilon));       \
        }                                                                      \
    }

/* lr, momentum */
#define KERAS_MOMENTUM(D, name)                                                \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D)                                                                   \
        rate = EDDY__STEP_SCALAR(D, 0), momentum = EDDY__STEP_SCALAR(D, 1);    \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) sum = EDDY__STEP_FROM(D, 1) * momentum - g * rate;            \
                                                                               \
            EDDY__STEP_PUT(D, 1, sum);                                         \
            EDDY__STEP_PUT(                                                    \
                D, 0, x + (s->is.nesterov ? sum * momentum - g * rate : sum)); \
        }                                                                      \
    }

/* lr, l1, l2, l2_shrinkage if it has that, lr_power */
#define FTRL(D, name, shrinkage, power)                                        \
    static void name##_##D(const eddy__optimizer_step *s)                      \
    {                                                                          \
        C(D) one = 1, two = 2, lr = EDDY__STEP_SCALAR(D, 0);                   \
        C(D) rate = s->is.multiplies_linear ? one : lr;                        \
        C(D) scale = s->is.multiplies_linear ? lr : one;                       \
        C(D) l1 = EDDY__STEP_SCALAR(D, 1) * scale;                             \
        C(D) l2 = EDDY__STEP_SCALAR(D, 2) * scale;                             \
        C(D) shrinks = shrinkage, to_the = -EDDY__STEP_SCALAR(D, power);       \
                                                                               \
        for (int64_t i = 0; i < s->n; i++) {                                   \
            C(D) g = EDDY__STEP_GRADIENT(D), x = EDDY__STEP_FROM(D, 0);        \
            C(D) old = EDDY__STEP_FROM(D, 1), sum = old + g * g;               \
            C(D) high = pow(sum, to_the), low = pow(old, to_the);              \
            C(D)                                                               \
            linear = EDDY__STEP_FROM(D, 2) + (g + two * shrinks * x) * scale - \
                     (high - low) / rate * x;                                  \
            C(D) bound = linear < 0 ? -l1 : l1;                                \
            C(D) kept = fabs(linear) > l1 ? bound : linear;                    \
                                                                               \
            EDDY__STEP_PUT(D, 1, sum);                                         \
            EDDY__STEP_PUT(D, 2, linear);                                      \
            EDDY__STEP_PUT(D, 0, (kept - linear) / (high / rate + two * l2));  \
        }                                                                      \
    }

#define FTRL_V1(D, name) FTRL(D, name, 0, 3)
#define FTRL_V2(D, name) FTRL(D, name, EDDY__STEP_SCALAR(D, 3), 4)

EDDY__EACH_FLOAT(ADAGRAD_V1, adagrad)
EDDY__EACH_FLOAT(ADAGRAD_V2, adagrad_v2)
EDDY__EACH_FLOAT(RMS_PROP, rms_prop)
EDDY__EACH_FLOAT(CENTERED, centered)
EDDY__EACH_FLOAT(ADADELTA, adadelta)
EDDY__EACH_FLOAT(ADA_MAX, ada_max)
EDDY__EACH_FLOAT(FTRL_V1, ftrl)
EDDY__EACH_FLOAT(FTRL_V2, ftrl_v2)
EDDY__EACH_FLOAT(AMSGRAD, amsgrad)
EDDY__EACH_FLOAT(KERAS_MOMENTUM, keras_momentum)

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
    EDDY__OPTIMIZER_ROWS("AdagradV2", "var: resource, accum: resource",
                         "var: ref T, accum: ref T",
                         "lr: T, epsilon: T, grad: T", SLOTS, run_adagrad_v2,
                         "The same, with epsilon added to the divisor."),
    EDDY__OPTIMIZER_ROWS(
        "RMSProp", "var: resource, ms: resource, mom: resource",
        "var: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T", EDDY__STEP_TYPES,
        run_rms_prop,
        "A step divided by the root of a moving mean of squares."),
    EDDY__OPTIMIZER_ROWS(
        "CenteredRMSProp",
        "var: resource, mg: resource, ms: resource, mom: resource",
        "var: ref T, mg: ref T, ms: ref T, mom: ref T",
        "lr: T, rho: T, momentum: T, epsilon: T, grad: T", EDDY__STEP_TYPES,
        run_centered, "A step divided by the root of a moving variance."),
    EDDY__OPTIMIZER_ROWS(
        "Adadelta", "var: resource, accum: resource, accum_update: resource",
        "var: ref T, accum: ref T, accum_update: ref T",
        "lr: T, rho: T, epsilon: T, grad: T", EDDY__STEP_TYPES, run_adadelta,
        "A step as long as the past ones were, for the size of the gradients."),
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
    EDDY__OPTIMIZER_ROWS(
        "FtrlV2", "var: resource, accum: resource, linear: resource",
        "var: ref T, accum: ref T, linear: ref T",
        "grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T", LINEAR,
        run_ftrl_v2, "The same, with l2 in the gradient as well."),
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
};

const eddy__op_table eddy__optimizer_adaptive_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

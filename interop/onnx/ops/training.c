/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers of ONNX's training preview.  After the rate and the number of
 * updates come all tensors that are trained, then all their gradients, then
 * the momenta of each kind; the outputs have the same order.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* What one tensor's update reads. */
typedef struct update {
    eddy_output rate, count; /* scalars: float or double; int64 */
    eddy_output x, gradient; /* the latter with its regularization */
    eddy_output momenta[2];
} update;

/* How many tensors are trained: `n_each` inputs and two for all. */
static size_t count_tensors(eddy__onnx_op *op, size_t n_each)
{
    const size_t n = (op->n_inputs - 2) / n_each;

    if (eddy__onnx_ok(op) &&
        (n * n_each != op->n_inputs - 2 || n * (n_each - 1) != op->n_outputs))
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "%zu inputs and %zu outputs: 2 and %zu for each tensor "
                        "are wanted, and %zu",
                        op->n_inputs, op->n_outputs, n_each, n_each - 1);
    return eddy__onnx_ok(op) ? n : 0;
}

static eddy_output times(eddy__onnx_op *op, eddy_output x, double factor)
{
    return OP("Mul", x, LIKE(x, factor));
}

/* Tensor `i` of `n`. */
static update take(eddy__onnx_op *op, size_t i, size_t n, size_t n_momenta)
{
    const double norm = (double)eddy__onnx_float(op, "norm_coefficient", 0.0f);
    update u = {.x = IN(2 + i), .gradient = IN(2 + n + i)};

    u.rate = CAST(eddy__onnx_as_scalar(op, IN(0)), DTYPE(u.x));
    u.count = CAST(eddy__onnx_as_scalar(op, IN(1)), DTYPE(u.x));
    u.gradient = OP("AddV2", times(op, u.x, norm), u.gradient);
    for (size_t k = 0; k < n_momenta; k++)
        u.momenta[k] = IN(2 + (2 + k) * n + i);
    return u;
}

static void emit_adagrad(eddy__onnx_op *op)
{
    const double decay = (double)eddy__onnx_float(op, "decay_factor", 0.0f);
    const double epsilon = (double)eddy__onnx_float(op, "epsilon", 1e-6f);
    const size_t n = count_tensors(op, 3);

    for (size_t i = 0; i < n; i++) {
        const update u = take(op, i, n, 1);
        const eddy_output one = LIKE(u.x, 1.0);
        const eddy_output rate =
            OP("RealDiv", u.rate, OP("AddV2", one, times(op, u.count, decay)));
        const eddy_output h =
            OP("AddV2", u.momenta[0], OP("Square", u.gradient));
        const eddy_output root = OP("AddV2", OP("Sqrt", h), LIKE(u.x, epsilon));

        GIVE(i,
             OP("Sub", u.x, OP("RealDiv", OP("Mul", rate, u.gradient), root)));
        GIVE(n + i, h);
    }
}

/* 1 - base to the power of the number of updates. */
static eddy_output bias(eddy__onnx_op *op, const update *u, double base)
{
    return OP("Sub", LIKE(u->x, 1.0), OP("Pow", LIKE(u->x, base), u->count));
}

/* A momentum that keeps a share of itself and takes the rest of `x`. */
static eddy_output blend(eddy__onnx_op *op, eddy_output momentum, eddy_output x,
                         double share)
{
    return OP("AddV2", times(op, momentum, share), times(op, x, 1.0 - share));
}

static void emit_adam(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 0.9f);
    const double beta = (double)eddy__onnx_float(op, "beta", 0.999f);
    const double epsilon = (double)eddy__onnx_float(op, "epsilon", 1e-6f);
    const double post =
        (double)eddy__onnx_float(op, "norm_coefficient_post", 0.0f);
    const size_t n = count_tensors(op, 4);

    for (size_t i = 0; i < n; i++) {
        const update u = take(op, i, n, 2);
        const eddy_output v = blend(op, u.momenta[0], u.gradient, alpha);
        const eddy_output h =
            blend(op, u.momenta[1], OP("Square", u.gradient), beta);
        const eddy_output root = OP("AddV2", OP("Sqrt", h), LIKE(u.x, epsilon));
        eddy_output rate, x;

        rate = OP("Mul", u.rate, OP("Sqrt", bias(op, &u, beta)));
        rate = OP("RealDiv", rate, bias(op, &u, alpha));
        rate = OP("SelectV2", OP("Greater", u.count, LIKE(u.x, 0.0)), rate,
                  u.rate);
        x = OP("Sub", u.x, OP("Mul", rate, OP("RealDiv", v, root)));
        GIVE(i, times(op, x, 1.0 - post));
        GIVE(n + i, v);
        GIVE(2 * n + i, h);
    }
}

static void emit_momentum(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 0.0f);
    const double beta = (double)eddy__onnx_float(op, "beta", 0.0f);
    const char *mode = eddy__onnx_text(op, "mode", NULL);
    const bool is_nesterov = mode && strcmp(mode, "nesterov") == 0;
    const size_t n = count_tensors(op, 3);

    if (eddy__onnx_ok(op) && !is_nesterov &&
        (!mode || strcmp(mode, "standard") != 0))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no mode '%s'",
                        mode ? mode : "");
    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++) {
        const update u = take(op, i, n, 1);
        /* The gradient counts in full the first time. */
        const eddy_output share =
            OP("SelectV2", OP("Greater", u.count, LIKE(u.x, 0.0)),
               LIKE(u.x, beta), LIKE(u.x, 1.0));
        const eddy_output v = OP("AddV2", times(op, u.momenta[0], alpha),
                                 OP("Mul", share, u.gradient));
        const eddy_output step =
            is_nesterov ? OP("AddV2", u.gradient, times(op, v, alpha)) : v;

        GIVE(i, OP("Sub", u.x, OP("Mul", u.rate, step)));
        GIVE(n + i, v);
    }
}

#define DOMAIN "ai.onnx.preview.training."
#define ANY EDDY__ONNX_ANY

const eddy__onnx_row eddy__onnx_training[] = {
    {DOMAIN "Adagrad", 1, EDDY__ONNX_NEWEST, 5, ANY, 2, ANY, emit_adagrad},
    {DOMAIN "Adam", 1, EDDY__ONNX_NEWEST, 6, ANY, 3, ANY, emit_adam},
    {DOMAIN "Momentum", 1, EDDY__ONNX_NEWEST, 5, ANY, 2, ANY, emit_momentum},
    {.name = NULL},
};

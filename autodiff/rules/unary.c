/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops of one input, and the kernels of their gradients. */
#include "autodiff/rule.h"

eddy_status eddy__grad_neg(eddy_gradient *g)
{
    DX(0, OP("Neg", DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_square(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Mul", NUMBER(0, 2.0), CONJ(0, X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_sqrt(eddy_gradient *g)
{
    DX(0, OP("SqrtGrad", Y(0), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_exp(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), CONJ(0, Y(0))));
    return EDDY_OK;
}

eddy_status eddy__grad_log(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Reciprocal", CONJ(0, X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_sin(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Cos", CONJ(0, X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_cos(eddy_gradient *g)
{
    DX(0, OP("Neg", OP("Mul", DY(0), OP("Sin", CONJ(0, X(0))))));
    return EDDY_OK;
}

eddy_status eddy__grad_tanh(eddy_gradient *g)
{
    DX(0, OP("TanhGrad", CONJ(0, Y(0)), DY(0)));
    return EDDY_OK;
}

/* y, dy -> dy (1 - y^2) */
eddy_status eddy__grad_tanh_grad(eddy_gradient *g)
{
    const eddy_output y = CONJ(0, X(0)), dy = CONJ(0, X(1));

    if (WANTS(0))
        DX(0, OP("Mul", OP("Mul", DY(0), NUMBER(0, -2.0)), OP("Mul", dy, y)));
    if (WANTS(1))
        DX(1, OP("TanhGrad", y, DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_sigmoid(eddy_gradient *g)
{
    DX(0, OP("SigmoidGrad", CONJ(0, Y(0)), DY(0)));
    return EDDY_OK;
}

/* y, dy -> dy y (1 - y) */
eddy_status eddy__grad_sigmoid_grad(eddy_gradient *g)
{
    const eddy_output y = CONJ(0, X(0)), dy = CONJ(0, X(1));

    if (WANTS(0)) {
        const eddy_output slope =
            OP("Sub", NUMBER(0, 1.0), OP("Mul", NUMBER(0, 2.0), y));

        DX(0, OP("Mul", DY(0), OP("Mul", dy, slope)));
    }
    if (WANTS(1))
        DX(1, OP("SigmoidGrad", y, DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_relu(eddy_gradient *g)
{
    DX(0, OP("ReluGrad", DY(0), Y(0)));
    return EDDY_OK;
}

/* dy, y -> dy where y > 0 */
eddy_status eddy__grad_relu_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, OP("ReluGrad", DY(0), X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_abs(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Sign", X(0))));
    return EDDY_OK;
}

eddy_status eddy__grad_reciprocal(eddy_gradient *g)
{
    DX(0, OP("ReciprocalGrad", Y(0), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_rsqrt(eddy_gradient *g)
{
    DX(0, OP("RsqrtGrad", Y(0), DY(0)));
    return EDDY_OK;
}

/*
 * The kernels of these three take the conjugate of y, so a step of y has its
 * effect through that.  y = sqrt(x), dy -> 0.5 dy / y
 */
eddy_status eddy__grad_sqrt_grad(eddy_gradient *g)
{
    const eddy_output by_y = OP("RealDiv", DY(0), X(0));

    if (WANTS(0))
        DX(0, OP("Mul", OP("Neg", CONJ(0, by_y)), Y(0)));
    if (WANTS(1))
        DX(1, OP("Mul", NUMBER(0, 0.5), by_y));
    return EDDY_OK;
}

/* y = 1 / sqrt(x), dy -> -0.5 dy y^3 */
eddy_status eddy__grad_rsqrt_grad(eddy_gradient *g)
{
    const eddy_output y = CONJ(0, X(0));

    if (WANTS(0))
        DX(0, OP("Mul",
                 OP("Mul", NUMBER(0, -1.5), OP("Mul", CONJ(0, DY(0)), X(1))),
                 OP("Square", y)));
    if (WANTS(1))
        DX(1, OP("RsqrtGrad", y, DY(0)));
    return EDDY_OK;
}

/* y = 1 / x, dy -> -dy y^2 */
eddy_status eddy__grad_reciprocal_grad(eddy_gradient *g)
{
    const eddy_output y = CONJ(0, X(0));

    if (WANTS(0))
        DX(0, OP("Mul", OP("Mul", NUMBER(0, -2.0), CONJ(0, DY(0))),
                 OP("Mul", X(1), y)));
    if (WANTS(1))
        DX(1, OP("ReciprocalGrad", y, DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_expm1(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Exp", CONJ(0, X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_log1p(eddy_gradient *g)
{
    const eddy_output x = CONJ(0, X(0));

    DX(0, OP("Mul", DY(0), OP("Reciprocal", OP("AddV2", NUMBER(0, 1.0), x))));
    return EDDY_OK;
}

/* 2 / sqrt(pi) */
#define TWO_BY_ROOT_PI 1.1283791670955126

static eddy_output bell(eddy_gradient *g, double scale)
{
    return OP("Mul", NUMBER(0, scale),
              OP("Exp", OP("Neg", OP("Square", X(0)))));
}

eddy_status eddy__grad_erf(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), bell(g, TWO_BY_ROOT_PI)));
    return EDDY_OK;
}

eddy_status eddy__grad_erfc(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), bell(g, -TWO_BY_ROOT_PI)));
    return EDDY_OK;
}

eddy_status eddy__grad_sinh(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Cosh", CONJ(0, X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_cosh(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Sinh", CONJ(0, X(0)))));
    return EDDY_OK;
}

/* 1 / cos^2 x */
eddy_status eddy__grad_tan(eddy_gradient *g)
{
    const eddy_output secant = OP("Reciprocal", OP("Cos", CONJ(0, X(0))));

    DX(0, OP("Mul", DY(0), OP("Square", secant)));
    return EDDY_OK;
}

eddy_status eddy__grad_softplus(eddy_gradient *g)
{
    DX(0, OP("SoftplusGrad", DY(0), X(0)));
    return EDDY_OK;
}

/* dy, x -> dy sigmoid(x) */
eddy_status eddy__grad_softplus_grad(eddy_gradient *g)
{
    const eddy_output dy = X(0), x = X(1);

    if (WANTS(0))
        DX(0, OP("SoftplusGrad", DY(0), x));
    if (WANTS(1)) {
        const eddy_output y = OP("Sigmoid", x);

        DX(1, OP("Mul", dy, OP("SigmoidGrad", y, DY(0))));
    }
    return EDDY_OK;
}

eddy_status eddy__grad_elu(eddy_gradient *g)
{
    DX(0, OP("EluGrad", DY(0), Y(0)));
    return EDDY_OK;
}

/* dy, y -> dy where y >= 0, else dy (y + 1) */
eddy_status eddy__grad_elu_grad(eddy_gradient *g)
{
    const eddy_output dy = X(0), y = X(1);

    if (WANTS(0))
        DX(0, OP("EluGrad", DY(0), y));
    if (WANTS(1)) {
        const eddy_output below = OP("Less", y, NUMBER(0, 0.0));
        const eddy_output slope = OP("Mul", DY(0), dy);

        DX(1, OP("SelectV2", below, slope, OP("ZerosLike", slope)));
    }
    return EDDY_OK;
}

/* Zeros and not none, as in TensorFlow. */
eddy_status eddy__grad_sign(eddy_gradient *g)
{
    DX(0, OP("ZerosLike", DY(0)));
    return EDDY_OK;
}

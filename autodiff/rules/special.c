/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse and special functions of one input, and rectifiers. */
#include "autodiff/rule.h"
#include "core/value/dtype.h"

/* 1 - x^2 or 1 + x^2 */
static eddy_output one_and_square(eddy_gradient *g, const char *op)
{
    return OP(op, NUMBER(0, 1.0), OP("Square", CONJ(0, X(0))));
}

eddy_status eddy__grad_asin(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Rsqrt", one_and_square(g, "Sub"))));
    return EDDY_OK;
}

eddy_status eddy__grad_acos(eddy_gradient *g)
{
    DX(0, OP("Neg", OP("Mul", DY(0), OP("Rsqrt", one_and_square(g, "Sub")))));
    return EDDY_OK;
}

eddy_status eddy__grad_atan(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Reciprocal", one_and_square(g, "AddV2"))));
    return EDDY_OK;
}

eddy_status eddy__grad_atanh(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Reciprocal", one_and_square(g, "Sub"))));
    return EDDY_OK;
}

eddy_status eddy__grad_asinh(eddy_gradient *g)
{
    DX(0, OP("RealDiv", DY(0), OP("Cosh", CONJ(0, Y(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_acosh(eddy_gradient *g)
{
    DX(0, OP("RealDiv", DY(0), OP("Sinh", CONJ(0, Y(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_lgamma(eddy_gradient *g)
{
    DX(0, OP("Mul", DY(0), OP("Digamma", X(0))));
    return EDDY_OK;
}

/* Polygamma has no halves. */
eddy_status eddy__grad_digamma(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_dtype wide = eddy__dtype_is_half(dtype) ? EDDY_FLOAT32 : dtype;
    const eddy_output x = eddy__rule_cast(g, X(0), dtype, wide);
    const eddy_output slope =
        OP("Polygamma", eddy__rule_scalar(g, wide, 1.0), x);

    DX(0, OP("Mul", DY(0), eddy__rule_cast(g, slope, wide, dtype)));
    return EDDY_OK;
}

/* n, x: n counts derivatives, so there is none by it. */
eddy_status eddy__grad_polygamma(eddy_gradient *g)
{
    if (WANTS(1))
        DX_BROADCAST(
            1, 0,
            OP("Mul", DY(0),
               OP("Polygamma", OP("AddV2", X(0), NUMBER(0, 1.0)), X(1))));
    return EDDY_OK;
}

/* x, q -> -x zeta(x + 1, q) by q; as in TensorFlow, none by x. */
eddy_status eddy__grad_zeta(eddy_gradient *g)
{
    if (WANTS(1)) {
        const eddy_output x = X(0);
        const eddy_output next =
            OP("Zeta", OP("AddV2", x, NUMBER(0, 1.0)), X(1));

        DX_BROADCAST(1, 0, OP("Mul", DY(0), OP("Mul", OP("Neg", x), next)));
    }
    return EDDY_OK;
}

/* dy scale exp(factor y^2), of the inverse of an integral over a bell. */
static void inverse_of_bell(eddy_gradient *g, double scale, double factor)
{
    const eddy_output power = OP("Mul", NUMBER(0, factor), OP("Square", Y(0)));

    DX(0, OP("Mul", DY(0), OP("Mul", NUMBER(0, scale), OP("Exp", power))));
}

/* sqrt(pi) / 2 */
eddy_status eddy__grad_erfinv(eddy_gradient *g)
{
    inverse_of_bell(g, 0.88622692545275801, 1.0);
    return EDDY_OK;
}

/* sqrt(2 pi) */
eddy_status eddy__grad_ndtri(eddy_gradient *g)
{
    inverse_of_bell(g, 2.5066282746310005, 0.5);
    return EDDY_OK;
}

/* ---- rectifiers ---- */

eddy_status eddy__grad_selu(eddy_gradient *g)
{
    DX(0, OP("SeluGrad", DY(0), Y(0)));
    return EDDY_OK;
}

/* dy, y -> dy scale where y >= 0, else dy (y + scale alpha) */
eddy_status eddy__grad_selu_grad(eddy_gradient *g)
{
    const eddy_output y = X(1);

    if (WANTS(0))
        DX(0, OP("SeluGrad", DY(0), y));
    if (WANTS(1)) {
        const eddy_output slope = OP("Mul", DY(0), X(0));

        DX(1, OP("SelectV2", OP("Less", y, NUMBER(0, 0.0)), slope,
                 OP("ZerosLike", slope)));
    }
    return EDDY_OK;
}

eddy_status eddy__grad_relu6(eddy_gradient *g)
{
    DX(0, OP("Relu6Grad", DY(0), Y(0)));
    return EDDY_OK;
}

/* dy, y -> dy where 0 < y < 6 */
eddy_status eddy__grad_relu6_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, OP("Relu6Grad", DY(0), X(1)));
    return EDDY_OK;
}

static eddy_output leaky(eddy_gradient *g, eddy_output x)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "alpha")};

    return OP_WITH("LeakyReluGrad", attrs, DY(0), x);
}

eddy_status eddy__grad_leaky_relu(eddy_gradient *g)
{
    DX(0, leaky(g, X(0)));
    return EDDY_OK;
}

/* dy, x -> dy where x > 0, else alpha dy */
eddy_status eddy__grad_leaky_relu_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, leaky(g, X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_softsign(eddy_gradient *g)
{
    DX(0, OP("SoftsignGrad", DY(0), X(0)));
    return EDDY_OK;
}

/* dy, x -> dy / (1 + |x|)^2 */
eddy_status eddy__grad_softsign_grad(eddy_gradient *g)
{
    const eddy_output x = X(1);

    if (WANTS(0))
        DX(0, OP("SoftsignGrad", DY(0), x));
    if (WANTS(1)) {
        const eddy_output both = OP("Mul", DY(0), X(0));
        const eddy_output cube = OP("RealDiv", OP("SoftsignGrad", both, x),
                                    OP("AddV2", NUMBER(0, 1.0), OP("Abs", x)));

        DX(1, OP("Mul", OP("Mul", NUMBER(0, -2.0), OP("Sign", x)), cube));
    }
    return EDDY_OK;
}

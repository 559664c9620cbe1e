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
    DX(0, OP("ReciprocalGrad", CONJ(0, Y(0)), DY(0)));
    return EDDY_OK;
}

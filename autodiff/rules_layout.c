/* Ops that move elements and leave their values alone. */
#include "autodiff/rule.h"

eddy_status eddy__grad_reshape(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, OP("Reshape", DY(0), eddy_gradient_shape_of(g, 0)));
    return EDDY_OK;
}

eddy_status eddy__grad_fill(eddy_gradient *g)
{
    const int32_t minus_one = -1;
    eddy_output flat;

    if (!WANTS(1))
        return EDDY_OK;
    flat = OP("Reshape", DY(0), eddy__rule_ints(g, &minus_one, 1));
    DX(1, OP("Sum", flat, eddy__rule_scalar(g, EDDY_INT32, 0.0)));
    return EDDY_OK;
}

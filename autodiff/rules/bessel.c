/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bessel functions of orders 0 and 1.  At 0 the formulas of those that are odd
 * have a quotient of zeros, whose limit makes the derivative one half.
 */
#include "autodiff/rule.h"

static eddy_output times_dy(eddy_gradient *g, eddy_output v)
{
    return OP("Mul", DY(0), v);
}

static eddy_output by_x(eddy_gradient *g)
{
    return OP("RealDiv", Y(0), X(0));
}

/* `v`, but one half where x is 0. */
static eddy_output half_at_zero(eddy_gradient *g, eddy_output v)
{
    const eddy_output is_zero = OP("Equal", X(0), NUMBER(0, 0.0));

    return OP("SelectV2", is_zero, NUMBER(0, 0.5), v);
}

eddy_status eddy__grad_bessel_i0(eddy_gradient *g)
{
    DX(0, times_dy(g, OP("BesselI1", X(0))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_i1(eddy_gradient *g)
{
    DX(0,
       times_dy(g, half_at_zero(g, OP("Sub", OP("BesselI0", X(0)), by_x(g)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_i0e(eddy_gradient *g)
{
    DX(0, times_dy(g, OP("Sub", OP("BesselI1e", X(0)),
                         OP("Mul", OP("Sign", X(0)), Y(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_i1e(eddy_gradient *g)
{
    const eddy_output factor =
        OP("AddV2", OP("Sign", X(0)), OP("Reciprocal", X(0)));

    DX(0, times_dy(g, half_at_zero(g, OP("Sub", OP("BesselI0e", X(0)),
                                         OP("Mul", Y(0), factor)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_j0(eddy_gradient *g)
{
    DX(0, OP("Neg", times_dy(g, OP("BesselJ1", X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_j1(eddy_gradient *g)
{
    DX(0,
       times_dy(g, half_at_zero(g, OP("Sub", OP("BesselJ0", X(0)), by_x(g)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_k0(eddy_gradient *g)
{
    DX(0, OP("Neg", times_dy(g, OP("BesselK1", X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_k0e(eddy_gradient *g)
{
    DX(0, times_dy(g, OP("Sub", Y(0), OP("BesselK1e", X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_k1(eddy_gradient *g)
{
    DX(0, OP("Neg", times_dy(g, OP("AddV2", OP("BesselK0", X(0)), by_x(g)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_k1e(eddy_gradient *g)
{
    DX(0,
       times_dy(g, OP("Sub", OP("Sub", Y(0), by_x(g)), OP("BesselK0e", X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_y0(eddy_gradient *g)
{
    DX(0, OP("Neg", times_dy(g, OP("BesselY1", X(0)))));
    return EDDY_OK;
}

eddy_status eddy__grad_bessel_y1(eddy_gradient *g)
{
    DX(0, times_dy(g, OP("Sub", OP("BesselY0", X(0)), by_x(g))));
    return EDDY_OK;
}

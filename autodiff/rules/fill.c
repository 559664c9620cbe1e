/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that spread few values over a tensor. */
#include "autodiff/rule.h"

static eddy_output sum_all(eddy_gradient *g, eddy_output v)
{
    return OP("Sum", OP("Reshape", v, INTS(-1)), INT(0.0));
}

/* dims, value */
eddy_status eddy__grad_fill(eddy_gradient *g)
{
    DX(1, sum_all(g, DY(0)));
    return EDDY_OK;
}

/* The numbers of the elements of a vector. */
static eddy_output numbers(eddy_gradient *g)
{
    return eddy__rule_cast(g,
                           OP("Range", INT(0.0), OP("Size", DY(0)), INT(1.0)),
                           EDDY_INT32, eddy_gradient_input_dtype(g, 0));
}

/* start, limit, delta: start + i delta; the limit only says how many. */
eddy_status eddy__grad_range(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, sum_all(g, DY(0)));
    if (WANTS(2))
        DX(2, sum_all(g, OP("Mul", DY(0), numbers(g))));
    return EDDY_OK;
}

/* start, stop, n: between the two by i / (n - 1). */
eddy_status eddy__grad_lin_space(eddy_gradient *g)
{
    const eddy_output one = NUMBER(0, 1.0);
    const eddy_output share = OP("LinSpace", NUMBER(0, 0.0), one, X(2));

    if (WANTS(0))
        DX(0, sum_all(g, OP("Mul", DY(0), OP("Sub", one, share))));
    if (WANTS(1))
        DX(1, sum_all(g, OP("Mul", DY(0), share)));
    return EDDY_OK;
}

/* indices, depth, on, off */
eddy_status eddy__grad_one_hot(eddy_gradient *g)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "axis")};
    const eddy_output zero = NUMBER(2, 0.0), one = NUMBER(2, 1.0);

    if (WANTS(2))
        DX(2, sum_all(g, OP("Mul", DY(0),
                            OP_WITH("OneHot", attrs, X(0), X(1), one, zero))));
    if (WANTS(3))
        DX(3, sum_all(g, OP("Mul", DY(0),
                            OP_WITH("OneHot", attrs, X(0), X(1), zero, one))));
    return EDDY_OK;
}

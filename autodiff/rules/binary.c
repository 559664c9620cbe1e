/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops of two inputs, which broadcast. */
#include "autodiff/rule.h"
#include "core/value/dtype.h"

eddy_status eddy__grad_add(eddy_gradient *g)
{
    DX_BROADCAST(0, 1, DY(0));
    DX_BROADCAST(1, 0, DY(0));
    return EDDY_OK;
}

eddy_status eddy__grad_sub(eddy_gradient *g)
{
    DX_BROADCAST(0, 1, DY(0));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Neg", DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_mul(eddy_gradient *g)
{
    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("Mul", DY(0), CONJ(1, X(1))));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Mul", DY(0), CONJ(0, X(0))));
    return EDDY_OK;
}

/* d(x/b) = dy/b, and -(x/b)/b * dy: what TensorFlow computes. */
eddy_status eddy__grad_div(eddy_gradient *g)
{
    const eddy_output b = CONJ(1, X(1));

    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("RealDiv", DY(0), b));
    if (WANTS(1)) {
        const eddy_output minus = OP("Neg", CONJ(0, X(0)));
        const eddy_output slope = OP("RealDiv", OP("RealDiv", minus, b), b);

        DX_BROADCAST(1, 0, OP("Mul", DY(0), slope));
    }
    return EDDY_OK;
}

/* x^(a-1) * a, and x^a * log(x) where x > 0 (complex: x != 0), else 0. */
eddy_status eddy__grad_pow(eddy_gradient *g)
{
    const eddy_output x = CONJ(0, X(0)), a = CONJ(1, X(1));

    if (WANTS(0)) {
        const eddy_output less = OP("Pow", x, OP("Sub", a, NUMBER(1, 1.0)));

        DX_BROADCAST(0, 1, OP("Mul", DY(0), OP("Mul", a, less)));
    }
    if (WANTS(1)) {
        const bool is_complex =
            eddy__dtype_is_complex(eddy_gradient_input_dtype(g, 0));
        const eddy_output has_log =
            OP(is_complex ? "NotEqual" : "Greater", x, NUMBER(0, 0.0));
        const eddy_output safe = OP("SelectV2", has_log, x, OP("OnesLike", x));
        const eddy_output log =
            OP("SelectV2", has_log, OP("Log", safe), OP("ZerosLike", x));
        const eddy_output y = CONJ(0, Y(0));

        DX_BROADCAST(1, 0, OP("Mul", DY(0), OP("Mul", y, log)));
    }
    return EDDY_OK;
}

/* A tie is the first input's, as in TensorFlow. */
static eddy_status choose(eddy_gradient *g, const char *test)
{
    const eddy_output first = OP(test, X(0), X(1));
    const eddy_output zeros = OP("ZerosLike", DY(0));

    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("SelectV2", first, DY(0), zeros));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("SelectV2", first, zeros, DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_maximum(eddy_gradient *g)
{
    return choose(g, "GreaterEqual");
}

eddy_status eddy__grad_minimum(eddy_gradient *g)
{
    return choose(g, "LessEqual");
}

/* Of complex numbers the square of the magnitude, which is real. */
eddy_status eddy__grad_squared_difference(eddy_gradient *g)
{
    const bool is_complex =
        eddy__dtype_is_complex(eddy_gradient_input_dtype(g, 0));
    const eddy_output twice = is_complex ? OP("AddV2", DY(0), OP("Conj", DY(0)))
                                         : OP("Mul", NUMBER(0, 2.0), DY(0));
    const eddy_output dx = OP("Mul", twice, OP("Sub", X(0), X(1)));

    DX_BROADCAST(0, 1, dx);
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Neg", dx));
    return EDDY_OK;
}

/* 0 where b is 0, as the quotient is. */
eddy_status eddy__grad_div_no_nan(eddy_gradient *g)
{
    const eddy_output b = CONJ(1, X(1));

    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("DivNoNan", DY(0), b));
    if (WANTS(1)) {
        const eddy_output minus = OP("Neg", CONJ(0, X(0)));
        const eddy_output slope = OP("DivNoNan", OP("DivNoNan", minus, b), b);

        DX_BROADCAST(1, 0, OP("Mul", DY(0), slope));
    }
    return EDDY_OK;
}

/* x - floor(x / b) b */
eddy_status eddy__grad_floor_mod(eddy_gradient *g)
{
    DX_BROADCAST(0, 1, DY(0));
    if (WANTS(1))
        DX_BROADCAST(1, 0,
                     OP("Mul", DY(0), OP("Neg", OP("FloorDiv", X(0), X(1)))));
    return EDDY_OK;
}

/* condition, x, y; the three are broadcast against each other. */
eddy_status eddy__grad_select_v2(eddy_gradient *g)
{
    const eddy_output zeros = OP("ZerosLike", DY(0));

    if (WANTS(1))
        eddy__rule_set_summed(g, 1, OP("SelectV2", X(0), DY(0), zeros));
    if (WANTS(2))
        eddy__rule_set_summed(g, 2, OP("SelectV2", X(0), zeros, DY(0)));
    return EDDY_OK;
}

/* The condition is a scalar, of the shape of the others, or a vector of rows.
 */
eddy_status eddy__grad_select(eddy_gradient *g)
{
    const eddy_output zeros = OP("ZerosLike", DY(0));

    if (WANTS(1))
        DX(1, OP("Select", X(0), DY(0), zeros));
    if (WANTS(2))
        DX(2, OP("Select", X(0), zeros, DY(0)));
    return EDDY_OK;
}

/* ---- of numbers ---- */

/* y, x */
eddy_status eddy__grad_atan2(eddy_gradient *g)
{
    const eddy_output y = X(0), x = X(1);
    const eddy_output slope =
        OP("RealDiv", DY(0), OP("AddV2", OP("Square", x), OP("Square", y)));

    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("Mul", x, slope));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Mul", OP("Neg", y), slope));
    return EDDY_OK;
}

/* x - trunc(x / b) b */
eddy_status eddy__grad_truncate_mod(eddy_gradient *g)
{
    DX_BROADCAST(0, 1, DY(0));
    if (WANTS(1))
        DX_BROADCAST(
            1, 0, OP("Mul", DY(0), OP("Neg", OP("TruncateDiv", X(0), X(1)))));
    return EDDY_OK;
}

eddy_status eddy__grad_mul_no_nan(eddy_gradient *g)
{
    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("MulNoNan", DY(0), CONJ(1, X(1))));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("MulNoNan", CONJ(0, X(0)), DY(0)));
    return EDDY_OK;
}

/* 1 where x is not 0, so that what is multiplied is 0 where the op is. */
static eddy_output where_not_zero(eddy_gradient *g, eddy_output x)
{
    return eddy__rule_cast(g, OP("NotEqual", x, NUMBER(0, 0.0)), EDDY_BOOL,
                           eddy_gradient_input_dtype(g, 0));
}

/* x log y, where `y` is y or 1 + y, and 0 where x is. */
static eddy_status log_times(eddy_gradient *g, const char *op, eddy_output y)
{
    const eddy_output x = CONJ(0, X(0));

    if (WANTS(0)) {
        const eddy_output slope = OP(op, where_not_zero(g, x), CONJ(1, X(1)));

        DX_BROADCAST(0, 1, OP("Mul", DY(0), slope));
    }
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Mul", DY(0), OP("Xdivy", x, y)));
    return EDDY_OK;
}

eddy_status eddy__grad_xlogy(eddy_gradient *g)
{
    return log_times(g, "Xlogy", CONJ(1, X(1)));
}

eddy_status eddy__grad_xlog1py(eddy_gradient *g)
{
    return log_times(g, "Xlog1py", OP("AddV2", CONJ(1, X(1)), NUMBER(1, 1.0)));
}

eddy_status eddy__grad_xdivy(eddy_gradient *g)
{
    const eddy_output x = CONJ(0, X(0)), y = CONJ(1, X(1));

    if (WANTS(0))
        DX_BROADCAST(0, 1,
                     OP("Mul", DY(0), OP("Xdivy", where_not_zero(g, x), y)));
    if (WANTS(1))
        DX_BROADCAST(
            1, 0, OP("Mul", DY(0), OP("Xdivy", OP("Neg", x), OP("Square", y))));
    return EDDY_OK;
}

/* x, least, greatest; these may be scalars. */
eddy_status eddy__grad_clip(eddy_gradient *g)
{
    const eddy_output below = OP("Less", X(0), X(1));
    const eddy_output above = OP("Greater", X(0), X(2));
    const eddy_output zeros = OP("ZerosLike", DY(0));

    if (WANTS(0))
        eddy__rule_set_summed(
            g, 0, OP("SelectV2", OP("LogicalOr", below, above), zeros, DY(0)));
    if (WANTS(1))
        eddy__rule_set_summed(g, 1, OP("SelectV2", below, DY(0), zeros));
    if (WANTS(2))
        eddy__rule_set_summed(g, 2, OP("SelectV2", above, DY(0), zeros));
    return EDDY_OK;
}

/* x, towards what; a step of x steps the result as far. */
eddy_status eddy__grad_next_after(eddy_gradient *g)
{
    DX_BROADCAST(0, 1, DY(0));
    return EDDY_OK;
}

eddy_status eddy__grad_cross(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, OP("Cross", X(1), DY(0)));
    if (WANTS(1))
        DX(1, OP("Cross", DY(0), X(0)));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products, and rows turned around. */
#include "autodiff/rule.h"

static eddy_output scan(eddy_gradient *g, const char *op, bool reverse,
                        eddy_output v)
{
    const bool exclusive = eddy__rule_bool(g, "exclusive");
    const eddy_attr attrs[] = {eddy_attr_bool("exclusive", &exclusive),
                               eddy_attr_bool("reverse", &reverse)};

    return OP_WITH(op, attrs, v, X(1));
}

/* Sums the other way. */
eddy_status eddy__grad_cumsum(eddy_gradient *g)
{
    DX(0, scan(g, "Cumsum", !eddy__rule_bool(g, "reverse"), DY(0)));
    return EDDY_OK;
}

/* Sums y dy the other way, over x; 0 where x is 0, as in TensorFlow. */
eddy_status eddy__grad_cumprod(eddy_gradient *g)
{
    const eddy_output x = CONJ(0, X(0));
    eddy_output sum;

    sum = scan(g, "Cumsum", !eddy__rule_bool(g, "reverse"),
               OP("Mul", CONJ(0, Y(0)), DY(0)));
    DX(0, OP("DivNoNan", sum, x));
    return EDDY_OK;
}

/* log |v|, and the least number where that is not to count. */
static eddy_output log_where(eddy_gradient *g, eddy_output test, eddy_output v)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const double least = dtype == EDDY_FLOAT64    ? -1.7976931348623157e308
                         : dtype == EDDY_FLOAT32  ? -3.4028234663852886e38
                         : dtype == EDDY_BFLOAT16 ? -0x1.fep127
                                                  : -65504.0;
    const eddy_output none = OP("Fill", OP("Shape", v), NUMBER(0, least));

    return OP("SelectV2", test,
              OP("Log", OP("SelectV2", test, v, OP("OnesLike", v))), none);
}

/* Sums dy exp(x - y) the other way, by logarithms so that nothing overflows. */
eddy_status eddy__grad_cumulative_logsumexp(eddy_gradient *g)
{
    const bool reverse = !eddy__rule_bool(g, "reverse");
    const eddy_output zero = NUMBER(0, 0.0);
    eddy_output x, y, above, below;

    x = X(0);
    y = Y(0);
    above = log_where(g, OP("Greater", DY(0), zero), DY(0));
    below = log_where(g, OP("Less", DY(0), zero), OP("Neg", DY(0)));
    above = scan(g, "CumulativeLogsumexp", reverse, OP("Sub", above, y));
    below = scan(g, "CumulativeLogsumexp", reverse, OP("Sub", below, y));
    DX(0, OP("Sub", OP("Exp", OP("AddV2", above, x)),
             OP("Exp", OP("AddV2", below, x))));
    return EDDY_OK;
}

/* input, lengths */
eddy_status eddy__grad_reverse_sequence(eddy_gradient *g)
{
    static const char *const names[] = {"seq_dim", "batch_dim"};
    eddy_attr attrs[2];
    const size_t n = eddy__rule_attrs(g, names, 2, attrs);

    DX(0, eddy_gradient_add(g, "ReverseSequence",
                            (const eddy_output[]){DY(0), X(1)}, 2, attrs, n));
    return EDDY_OK;
}

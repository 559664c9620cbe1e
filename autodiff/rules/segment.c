/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of rows that belong to one segment.  A row gets what its segment
 * has; where ids need not be sorted, a negative one drops its row.
 */
#include "autodiff/rule.h"

#include <string.h>

static bool is_unsorted(const eddy_gradient *g)
{
    return eddy_gradient_inputs(g) == 3;
}

static eddy_output reduce(eddy_gradient *g, const char *what, eddy_output rows)
{
    return is_unsorted(g) ? OP(what, rows, X(1), X(2))
                          : OP(what + strlen("Unsorted"), rows, X(1));
}

/* The row of the segment for each row of the data, of a dropped one any. */
static eddy_output rows_of(eddy_gradient *g, eddy_output segments)
{
    const eddy_output zero = INT(0.0);

    if (!is_unsorted(g))
        return OP("GatherV2", segments, X(1), zero);
    return OP("GatherV2", segments, OP("Maximum", X(1), NUMBER(1, 0.0)), zero);
}

/* Which rows belong to a segment, one for each and 1 wide beyond the ids. */
static eddy_output is_kept(eddy_gradient *g, eddy_output rows)
{
    const eddy_output ids = X(1);
    const eddy_output ones = OP(
        "Fill",
        OP("Reshape", OP("Sub", OP("Rank", rows), OP("Rank", ids)), INTS(-1)),
        INT(1.0));

    return OP("Reshape", OP("GreaterEqual", ids, NUMBER(1, 0.0)),
              CONCAT(OP("Shape", ids), ones));
}

static eddy_output kept_rows_of(eddy_gradient *g, eddy_output segments)
{
    const eddy_output rows = rows_of(g, segments);

    if (!is_unsorted(g))
        return rows;
    return OP("SelectV2", is_kept(g, rows), rows, OP("ZerosLike", rows));
}

eddy_status eddy__grad_segment_sum(eddy_gradient *g)
{
    DX(0, kept_rows_of(g, DY(0)));
    return EDDY_OK;
}

/* data, ids */
eddy_status eddy__grad_segment_mean(eddy_gradient *g)
{
    const eddy_output one = INT(1.0);
    eddy_output ids, ones;

    ids = X(1);
    ones = OP("Fill",
              OP("Reshape",
                 OP("Sub", OP("Size", eddy_gradient_shape_of(g, 0)), one),
                 INTS(1)),
              one);
    ones = OP("Fill", CONCAT(OP("Shape", ids), ones), NUMBER(0, 1.0));
    DX(0, rows_of(g, OP("RealDiv", DY(0), OP("SegmentSum", ones, ids))));
    return EDDY_OK;
}

/* Ties share the gradient. */
eddy_status eddy__grad_segment_extremum(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    eddy_output is_it, n, rows;

    is_it = OP("Equal", X(0), rows_of(g, Y(0)));
    if (is_unsorted(g))
        is_it = OP("LogicalAnd", is_it, is_kept(g, is_it));
    n = reduce(g, "UnsortedSegmentSum",
               eddy__rule_cast(g, is_it, EDDY_BOOL, dtype));
    rows = rows_of(g, OP("RealDiv", DY(0), n));
    DX(0, OP("SelectV2", is_it, rows, OP("ZerosLike", rows)));
    return EDDY_OK;
}

/*
 * The product of the others: y / x or, where x is 0, the product of those that
 * are not, unless another one is 0.
 */
eddy_status eddy__grad_segment_prod(eddy_gradient *g)
{
    eddy_output x, is_zero, n_zeros, dy, others, slope;

    x = X(0);
    is_zero = OP("Equal", x, NUMBER(0, 0.0));
    n_zeros = reduce(g, "UnsortedSegmentSum",
                     eddy__rule_cast(g, is_zero, EDDY_BOOL, EDDY_INT32));
    dy = OP("SelectV2", OP("Greater", n_zeros, INT(1.0)),
            OP("ZerosLike", DY(0)), DY(0));
    others = reduce(g, "UnsortedSegmentProd",
                    OP("SelectV2", is_zero, OP("OnesLike", x), x));
    slope = OP("SelectV2", is_zero, rows_of(g, others),
               OP("DivNoNan", rows_of(g, Y(0)), x));
    DX(0, OP("Mul", kept_rows_of(g, dy), CONJ(0, slope)));
    return EDDY_OK;
}

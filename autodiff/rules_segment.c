/* Reductions of rows that belong to one segment. */
#include "autodiff/rule.h"

/* data, ids, n; a negative id drops its row. */
eddy_status eddy__grad_segment_sum(eddy_gradient *g)
{
    const int32_t flat[] = {-1};
    eddy_output ids, zero, rows, is_kept, ones, axis;

    if (!WANTS(0))
        return EDDY_OK;
    ids = X(1);
    zero = NUMBER(1, 0.0);
    axis = eddy__rule_scalar(g, EDDY_INT32, 0.0);
    rows = OP("GatherV2", DY(0), OP("Maximum", ids, zero), axis);
    ones = OP("Fill",
              OP("Reshape", OP("Sub", OP("Rank", rows), OP("Rank", ids)),
                 eddy__rule_ints(g, flat, 1)),
              eddy__rule_scalar(g, EDDY_INT32, 1.0));
    is_kept = OP("Reshape", OP("GreaterEqual", ids, zero),
                 OP("ConcatV2", OP("Shape", ids), ones, axis));
    DX(0, OP("SelectV2", is_kept, rows, OP("ZerosLike", rows)));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that add to places of a tensor of zeros, as ScatterND of ONNX, which adds
 * since opset 16.  An index that eddy refuses in a run may be something else
 * there.
 */
#include "interop/onnx/write/kit.h"

/* What can be added. */
#define NUMBERS                                                                \
    (EDDY__INDEXES | EDDY__DTYPE_BIT(EDDY_FLOAT32) |                           \
     EDDY__DTYPE_BIT(EDDY_FLOAT64))

/* `updates` added to zeros of that shape, a vector of int64. */
static const char *add_to_zeros(eddy__onnx_writer *w, eddy_dtype dtype,
                                const char *shape, const char *indices,
                                const char *updates)
{
    const char *zeros = OP("Expand", NUMBER(dtype, 0), shape);

    return NODE("ScatterND", IN(zeros, indices, updates),
                ATTR_TEXT("reduction", "add"));
}

static void write_scatter_nd(eddy__onnx_writer *w)
{
    if ((NUMBERS >> DTYPE(1) & 1) == 0) {
        eddy__onnx_decline(w, "of %s", eddy_dtype_name(DTYPE(1)));
        return;
    }
    GIVE(0, add_to_zeros(w, DTYPE(1), eddy__onnx_vector(w, 2),
                         CAST(X(0), EDDY_INT64), X(1)));
}

/* A segment more takes what has a number below 0, and is cut off. */
static void write_segment_sum(eddy__onnx_writer *w)
{
    const eddy_shape ids = SHAPE(1);
    const int64_t zero = 0, last = -1, end = INT64_MAX, rank = ids.rank;
    const char *n = eddy__onnx_vector(w, 2);
    const char *id = CAST(X(1), EDDY_INT64);
    const char *shape, *sum;

    if (rank < 0) {
        eddy__onnx_decline(w, "of an unknown rank");
        return;
    }
    shape = OP("Slice", OP("Shape", X(0)), INTS(&rank, 1), INTS(&end, 1));
    shape =
        NODE("Concat", IN(OP("Add", n, INT(1)), shape), ATTR_INT("axis", 0));
    id = OP("Where", OP("Less", id, INT(0)), eddy__onnx_scalar64(w, 2), id);
    sum = add_to_zeros(w, DTYPE(0), shape, OP("Unsqueeze", id, INTS(&last, 1)),
                       X(0));
    GIVE(0, OP("Slice", sum, INTS(&zero, 1), n, INTS(&zero, 1)));
}

const eddy__onnx_rule eddy__onnx_write_scatters[] = {
    {"ScatterNd", write_scatter_nd, NULL, EDDY__INDEXES, 16},
    {"UnsortedSegmentSum", write_segment_sum, NULL, NUMBERS, 16},
    {.op = NULL},
};

/* Sums over segments: SegmentSum and UnsortedSegmentSum. */
#include "ops/accumulate.h"
#include "ops/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* Rows of `row` elements and the ids that say where each is added. */
typedef struct segments {
    eddy_view ids;
    int64_t row, n; /* elements a row, segments */
} segments;

/* `n` segments of what is left of the data's shape behind the ids'. */
static eddy_shape summed_shape(const eddy_shape *data, int32_t id_rank,
                               int64_t n)
{
    eddy_shape shape = {.rank = 1 + data->rank - id_rank, .dims = {n}};

    for (int32_t d = id_rank; d < data->rank; d++)
        shape.dims[1 + d - id_rank] = data->dims[d];
    return shape;
}

static eddy_status bad_id(eddy_kernel *k, const segments *s, int64_t i,
                          const char *why)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "segment_ids%s = %" PRId64 " %s [0, %" PRId64 ")",
                       eddy__position(eddy__in_shape(k, 1), i).text,
                       eddy__index_at(&s->ids, i), why, s->n);
}

/* Adds the rows up; negative ids are left out. */
static eddy_status add_rows(eddy_kernel *k, const segments *s)
{
    const eddy_shape *data = eddy__in_shape(k, 0);
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__adder add = eddy__adder_of(dtype);
    size_t bytes = (size_t)s->row * eddy_dtype_size(dtype);
    eddy_shape shape = summed_shape(data, s->ids.rank, s->n);
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->bytes > 0)
        memset(out, 0, eddy__out(k, 0)->as.tensor->bytes);
    for (int64_t i = 0; bytes > 0 && i < s->ids.count; i++) {
        int64_t id = eddy__index_at(&s->ids, i);

        if (id >= 0)
            add(out + (size_t)id * bytes, from + (size_t)i * bytes, s->row);
    }
    return EDDY_OK;
}

/* The ids' shape must begin the data's; sets the length of a row. */
static eddy_status read_ids(eddy_kernel *k, segments *s)
{
    const eddy_shape *data = eddy__in_shape(k, 0);
    const eddy_shape *ids = eddy__in_shape(k, 1);
    bool fits = ids->rank <= data->rank;

    for (int32_t d = 0; fits && d < ids->rank; d++)
        fits = ids->dims[d] == data->dims[d];
    if (!fits || 1 + data->rank - ids->rank > EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "segment_ids of shape %s do not fit data of shape "
                           "%s",
                           eddy__shape_print(ids).text,
                           eddy__shape_print(data).text);
    s->ids = eddy__in_view(k, 1);
    s->row = 1;
    for (int32_t d = ids->rank; d < data->rank; d++)
        s->row *= data->dims[d];
    return EDDY_OK;
}

static eddy_status run_unsorted(eddy_kernel *k)
{
    segments s = {.n = 0};

    EDDY_TRY(read_ids(k, &s));
    EDDY_TRY(eddy__index_argument(k, 2, "num_segments", &s.n));
    if (s.n < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                           "num_segments must not be negative, but it is "
                           "%" PRId64,
                           s.n);
    for (int64_t i = 0; i < s.ids.count; i++)
        if (eddy__index_at(&s.ids, i) >= s.n)
            return bad_id(k, &s, i, "is out of range");
    return add_rows(k, &s);
}

static eddy_status run_sorted(eddy_kernel *k)
{
    int64_t last = 0;
    segments s = {.n = 0};

    if (eddy__in_shape(k, 1)->rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "segment_ids must be a vector, but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(read_ids(k, &s));
    s.n = INT64_MAX;
    for (int64_t i = 0; i < s.ids.count; i++) {
        int64_t id = eddy__index_at(&s.ids, i);

        if (id < 0 || id == INT64_MAX)
            return bad_id(k, &s, i, "is not in");
        if (id < last)
            return bad_id(k, &s, i, "is below the one before it, in");
        last = id;
    }
    s.n = s.ids.count > 0 ? last + 1 : 0;
    return add_rows(k, &s);
}

static eddy_status infer_unsorted(eddy_infer *infer)
{
    const eddy_shape *data = eddy_infer_input(infer, 0);
    const eddy_shape *ids = eddy_infer_input(infer, 1);
    eddy_shape shape;
    int64_t n;

    if (data->rank < 0 || ids->rank < 0 || ids->rank > data->rank ||
        1 + data->rank - ids->rank > EDDY_MAX_RANK)
        return EDDY_OK;
    if (!eddy__infer_constant_int(infer, 2, 0, &n) || n < 0)
        n = -1;
    shape = summed_shape(data, ids->rank, n);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_sorted(eddy_infer *infer)
{
    const eddy_shape *data = eddy_infer_input(infer, 0);
    eddy_shape shape;

    if (data->rank < 1)
        return EDDY_OK;
    shape = summed_shape(data, 1, -1);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define ROW(name, in, out, attrs, infer, run, prepare, flags)                  \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, infer, run, prepare, flags \
    }

static const eddy_op_spec specs[] = {
    ROW("SegmentSum", "data: T, segment_ids: Tindices", "output: T",
        "T: number, Tindices: index", infer_sorted, run_sorted, NULL, 0),
    ROW("UnsortedSegmentSum",
        "data: T, segment_ids: Tindices, num_segments: Tnumsegments",
        "output: T",
        "T: number, Tindices: {int16, int32, int64}, "
        "Tnumsegments: index = int32",
        infer_unsorted, run_unsorted, NULL, 0),
};

const eddy__op_table eddy__segment_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};

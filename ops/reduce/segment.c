/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over segments: the rows of one id are joined, in their order.
 *
 * Where ids are sorted the first row of a segment is what the others join, and
 * a segment without rows is 0, for SegmentProd 1.  Where they are not, every
 * segment starts from what leaves others alone.  The comparisons are
 * TensorFlow's: a NaN is replaced by the row behind it.
 */
#include "ops/math/combine.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

/* Rows of `row` elements and the ids that say where each is added. */
typedef struct segments {
    eddy_view ids;
    int64_t row, n; /* elements a row, segments */
    bool is_sorted;
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

/* ---- what segments start from ---- */

typedef enum start { ZERO, ONE, LEAST, MOST } start;

#define STARTS(D, least, most)                                                 \
    case EDDY__DTYPE_##D:                                                      \
        *(eddy__stored_##D *)(void *)to = what == ZERO  ? (eddy__stored_##D)0  \
                                          : what == ONE ? EDDY__STORE_##D(1)   \
                                          : what == LEAST                      \
                                              ? EDDY__STORE_##D(least)         \
                                              : EDDY__STORE_##D(most);         \
        break;

/* Writes the element that segments of a dtype start from. */
static void set_start(eddy_dtype dtype, start what, eddy__complex128 *to)
{
    switch (dtype) {
        STARTS(F16, -65504.0f, 65504.0f)
        STARTS(BF16, -0x1.fep127f, 0x1.fep127f)
        STARTS(F32, -FLT_MAX, FLT_MAX)
        STARTS(F64, -DBL_MAX, DBL_MAX)
        STARTS(I8, INT8_MIN, INT8_MAX)
        STARTS(I16, INT16_MIN, INT16_MAX)
        STARTS(I32, INT32_MIN, INT32_MAX)
        STARTS(I64, INT64_MIN, INT64_MAX)
        STARTS(U8, 0, UINT8_MAX)
        STARTS(U16, 0, UINT16_MAX)
        STARTS(U32, 0, UINT32_MAX)
        STARTS(U64, 0, UINT64_MAX)
    case EDDY_COMPLEX64:
        *(eddy__complex64 *)(void *)to = what == ONE ? 1.0f : 0.0f;
        break;
    default:
        *to = what == ONE ? 1.0 : 0.0;
        break;
    }
}

/* ---- joining ---- */

/*
 * Joins the rows; negative ids are left out.  The row comes first, so that of
 * a NaN and what it meets the row stays.
 */
static eddy_status join_rows(eddy_kernel *k, const segments *s,
                             eddy__combination join, start from_what)
{
    const eddy_shape *data = eddy__in_shape(k, 0);
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__binary_loop joiner = eddy__combiner_of(join, dtype);
    eddy__rows rows = {.n = s->row, .step_a = 1, .step_b = 1, .n_rows = 1};
    size_t bytes = (size_t)s->row * eddy_dtype_size(dtype);
    eddy_shape shape = summed_shape(data, s->ids.rank, s->n);
    int64_t last = -1;
    eddy__complex128 first; /* room for an element of any dtype */
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    set_start(dtype, from_what, &first);
    eddy__repeat(k, out, (const unsigned char *)&first, eddy_dtype_size(dtype),
                 eddy__out(k, 0)->as.tensor->count);
    for (int64_t i = 0;
         bytes > 0 && i < s->ids.count && !eddy__spent(k, 16 + s->row); i++) {
        int64_t id = eddy__index_at(&s->ids, i);

        if (id >= 0 && s->is_sorted && id != last) {
            memcpy(out + (size_t)id * bytes, from + (size_t)i * bytes, bytes);
        } else if (id >= 0) {
            rows.out = out + (size_t)id * bytes;
            rows.a = from + (size_t)i * bytes;
            rows.b = rows.out;
            joiner(&rows);
        }
        last = id;
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

static eddy_status join_unsorted(eddy_kernel *k, eddy__combination join,
                                 start from_what)
{
    segments s = {.n = 0};

    EDDY_TRY(read_ids(k, &s));
    EDDY_TRY(eddy__index_argument(k, 2, "num_segments", &s.n));
    if (s.n < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                           "num_segments must not be negative, but it is "
                           "%" PRId64,
                           s.n);
    for (int64_t i = 0; i < s.ids.count; i++) {
        if (eddy__index_at(&s.ids, i) >= s.n)
            return bad_id(k, &s, i, "is out of range");
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return join_rows(k, &s, join, from_what);
}

static eddy_status run_unsorted_sum(eddy_kernel *k)
{
    return join_unsorted(k, EDDY__COMBINE_ADD, ZERO);
}

static eddy_status run_unsorted_prod(eddy_kernel *k)
{
    return join_unsorted(k, EDDY__COMBINE_MUL, ONE);
}

static eddy_status run_unsorted_max(eddy_kernel *k)
{
    return join_unsorted(k, EDDY__COMBINE_MAX, LEAST);
}

static eddy_status run_unsorted_min(eddy_kernel *k)
{
    return join_unsorted(k, EDDY__COMBINE_MIN, MOST);
}

static eddy_status join_sorted(eddy_kernel *k, eddy__combination join,
                               start from_what)
{
    int64_t last = 0;
    segments s = {.is_sorted = true};

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
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    s.n = s.ids.count > 0 ? last + 1 : 0;
    return join_rows(k, &s, join, from_what);
}

static eddy_status run_sum(eddy_kernel *k)
{
    return join_sorted(k, EDDY__COMBINE_ADD, ZERO);
}

static eddy_status run_prod(eddy_kernel *k)
{
    return join_sorted(k, EDDY__COMBINE_MUL, ONE);
}

static eddy_status run_max(eddy_kernel *k)
{
    return join_sorted(k, EDDY__COMBINE_MAX, ZERO);
}

static eddy_status run_min(eddy_kernel *k)
{
    return join_sorted(k, EDDY__COMBINE_MIN, ZERO);
}

/* Divides a row of `n` elements by how many rows it is the sum of. */
typedef void (*divide_function)(unsigned char *row, int64_t n, int64_t count);

#define DIVIDE(D, divisor)                                                     \
    static void divide_##D(unsigned char *row, int64_t n, int64_t count)       \
    {                                                                          \
        eddy__stored_##D *a = (eddy__stored_##D *)(void *)row;                 \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            a[i] = EDDY__STORE_##D(eddy__load_##D(a[i]) / (divisor)count);     \
    }

#define DIVIDE_FLOAT(D, ...) DIVIDE(D, eddy__computed_##D)
#define DIVIDE_SIGNED(D, ...) DIVIDE(D, int64_t)
#define DIVIDE_UNSIGNED(D, ...) DIVIDE(D, uint64_t)

EDDY__EACH_FLOAT(DIVIDE_FLOAT, )
EDDY__EACH_SIGNED(DIVIDE_SIGNED, )
EDDY__EACH_UNSIGNED(DIVIDE_UNSIGNED, )
DIVIDE(C64, float)
DIVIDE(C128, double)

#define DIVIDER(D, ...) [EDDY__DTYPE_##D] = divide_##D,

/* The sum is made as if of integers that wrap, as TensorFlow's is. */
static eddy_status run_mean(eddy_kernel *k)
{
    static const divide_function dividers[EDDY_DTYPE_COUNT] = {
        EDDY__EACH_FLOAT(DIVIDER, ) EDDY__EACH_SIGNED(DIVIDER, )
            EDDY__EACH_UNSIGNED(DIVIDER, ) EDDY__EACH_COMPLEX(DIVIDER, )};
    const divide_function divide = dividers[eddy__in_dtype(k, 0)];
    const eddy_view ids = eddy__in_view(k, 1);
    const eddy_tensor *t;
    int64_t row, n;

    EDDY_TRY(join_sorted(k, EDDY__COMBINE_ADD, ZERO));
    EDDY_TRY(eddy__go_on(k, 0));
    t = eddy__out(k, 0)->as.tensor;
    if (t->count == 0)
        return EDDY_OK;
    row = t->count / t->shape.dims[0];
    for (int64_t i = 0; i < ids.count; i += n) {
        const int64_t id = eddy__index_at(&ids, i);

        for (n = 1; i + n < ids.count && eddy__index_at(&ids, i + n) == id; n++)
            if (eddy__spent_at(k, n))
                return eddy__go_on(k, 0);
        EDDY_TRY(eddy__go_on(k, row + n));
        divide((unsigned char *)t->data +
                   (size_t)id * (t->bytes / (size_t)t->shape.dims[0]),
               row, n);
    }
    return EDDY_OK;
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

#define SORTED(name, dtypes, run, text)                                        \
    EDDY__OP_ROW(name, .inputs = "data: T, segment_ids: Tindices",             \
                 .outputs = "output: T",                                       \
                 .attrs = "T: " dtypes ", Tindices: index",                    \
                 .infer = infer_sorted, .kernel = run, .doc = text)
#define UNSORTED(name, dtypes, run, text)                                      \
    EDDY__OP_ROW(                                                              \
        name,                                                                  \
        .inputs =                                                              \
            "data: T, segment_ids: Tindices, num_segments: Tnumsegments",      \
        .outputs = "output: T",                                                \
        .attrs =                                                               \
            "T: " dtypes                                                       \
            ", Tindices: {int16, int32, int64}, Tnumsegments: index = int32",  \
        .infer = infer_unsorted, .kernel = run, .doc = text)

static const eddy_op_spec specs[] = {
    SORTED("SegmentSum", "number", run_sum, "The sum of the rows of each id."),
    SORTED("SegmentMean", "number", run_mean,
           "The mean of the rows of each id."),
    SORTED("SegmentProd", "number", run_prod,
           "The product of the rows of each id."),
    SORTED("SegmentMax", "real", run_max,
           "The greatest of the rows of each id."),
    SORTED("SegmentMin", "real", run_min, "The least of the rows of each id."),
    UNSORTED("UnsortedSegmentSum", "number", run_unsorted_sum,
             "The sum of the rows of each id, in any order."),
    UNSORTED("UnsortedSegmentProd", "number", run_unsorted_prod,
             "The product of the rows of each id, in any order."),
    UNSORTED("UnsortedSegmentMax", "real", run_unsorted_max,
             "The greatest of the rows of each id, in any order."),
    UNSORTED("UnsortedSegmentMin", "real", run_unsorted_min,
             "The least of the rows of each id, in any order."),
};

const eddy__op_table eddy__segment_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};

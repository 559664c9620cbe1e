/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, means and sums by the root of their count of rows that are picked by
 * index, by segment; and what gradients bring to the rows that were picked: to
 * all there are, or to those whose index occurs.
 * Ids are sorted; a segment that none names is zeros.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

typedef enum joining { SUM, MEAN, ROOT } joining;

/* What a kernel was given; rows have `width` elements. */
typedef struct picked {
    eddy_view indices, ids;
    int64_t n_rows, n_out, width;
    joining how;
    eddy_kernel *kernel; /* which is asked whether to stop */
} picked;

/* What a sum of `n` rows is divided by. */
static double divisor(joining how, int64_t n)
{
    return how == SUM ? 1 : how == MEAN ? (double)n : sqrt((double)n);
}

/* ---- loops ---- */

/* Adds the rows [first, end) of the picked ones to row `id`. */
typedef void (*add_fn)(const picked *p, const void *from, int64_t first,
                       int64_t end, void *to, int64_t id);

#define SUMS(D, type)                                                          \
    static void sum_##D(const picked *p, const void *from, int64_t first,      \
                        int64_t end, void *to, int64_t id)                     \
    {                                                                          \
        const eddy__stored_##D *x = from;                                      \
        eddy__stored_##D *out = (eddy__stored_##D *)to + id * p->width;        \
                                                                               \
        for (int64_t c = 0; c < p->width; c++) {                               \
            type sum = 0;                                                      \
                                                                               \
            for (int64_t i = first; i < end && !eddy__spent_at(p->kernel, i);  \
                 i++) {                                                        \
                const type more = (type)eddy__load_##D(                        \
                    x[eddy__index_at(&p->indices, i) * p->width + c]);         \
                sum += more;                                                   \
            }                                                                  \
            out[c] = EDDY__STORE_##D(sum);                                     \
        }                                                                      \
    }

/* The same divided, and its gradient: what is put back to each row. */
#define FLOAT_LOOPS(D, type)                                                   \
    SUMS(D, type)                                                              \
    static void divide_##D(const picked *p, void *to, int64_t id, int64_t n)   \
    {                                                                          \
        eddy__stored_##D *out = (eddy__stored_##D *)to + id * p->width;        \
        const type by = (type)divisor(p->how, n);                              \
                                                                               \
        for (int64_t c = 0; c < p->width; c++)                                 \
            out[c] = EDDY__STORE_##D((type)eddy__load_##D(out[c]) / by);       \
    }                                                                          \
    static void put_back_##D(const picked *p, const void *from, int64_t id,    \
                             void *to, int64_t row, int64_t n)                 \
    {                                                                          \
        const eddy__stored_##D *x =                                            \
            (const eddy__stored_##D *)from + id * p->width;                    \
        eddy__stored_##D *out = (eddy__stored_##D *)to + row * p->width;       \
        const type by = (type)(1 / divisor(p->how, n));                        \
                                                                               \
        for (int64_t c = 0; c < p->width; c++)                                 \
            out[c] = EDDY__STORE_##D((type)eddy__load_##D(out[c]) +            \
                                     (type)eddy__load_##D(x[c]) * by);         \
    }

#define FLOATS(D, ...) FLOAT_LOOPS(D, eddy__computed_##D)
#define INTEGERS(D, ...) SUMS(D, eddy__wrapped_##D)

EDDY__EACH_FLOAT(FLOATS, )
EDDY__EACH_SIGNED(INTEGERS, )
EDDY__EACH_UNSIGNED(INTEGERS, )

static const struct {
    add_fn sum;
    void (*divide)(const picked *p, void *to, int64_t id, int64_t n);
    void (*put_back)(const picked *p, const void *from, int64_t id, void *to,
                     int64_t row, int64_t n);
} loops[EDDY_DTYPE_COUNT] = {
#define FLOAT_ENTRY(D, ...)                                                    \
    [EDDY__DTYPE_##D] = {sum_##D, divide_##D, put_back_##D},
#define INTEGER_ENTRY(D, ...) [EDDY__DTYPE_##D] = {.sum = sum_##D},
    EDDY__EACH_FLOAT(FLOAT_ENTRY, ) EDDY__EACH_SIGNED(INTEGER_ENTRY, )
        EDDY__EACH_UNSIGNED(INTEGER_ENTRY, )};

/* ---- what is given ---- */

static eddy_status read_vectors(eddy_kernel *k, picked *p)
{
    const eddy_shape *indices = eddy__in_shape(k, 1);
    const eddy_shape *ids = eddy__in_shape(k, 2);

    p->indices = eddy__in_view(k, 1);
    p->ids = eddy__in_view(k, 2);
    if (indices->rank == 1 && ids->rank == 1 &&
        indices->dims[0] == ids->dims[0])
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "indices and segment_ids must be vectors of one "
                       "length, but they have shapes %s and %s",
                       eddy__shape_print(indices).text,
                       eddy__shape_print(ids).text);
}

/* The length of a row of input 0. */
static eddy_status read_rows(eddy_kernel *k, picked *p)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    if (of->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the data must have rows, but it is a scalar");
    p->n_rows = of->dims[0];
    p->width = 1;
    for (int32_t d = 1; d < of->rank; d++)
        p->width *= of->dims[d];
    return EDDY_OK;
}

static eddy_status check_index(eddy_kernel *k, const picked *p, int64_t i,
                               int64_t limit)
{
    const int64_t index = eddy__index_at(&p->indices, i);

    if (index >= 0 && index < limit)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "indices[%" PRId64 "] is %" PRId64
                       ", but there are %" PRId64 " rows",
                       i, index, limit);
}

static eddy_status check_id(eddy_kernel *k, const picked *p, int64_t i,
                            int64_t limit, int64_t least)
{
    const int64_t id = eddy__index_at(&p->ids, i);

    if (id >= least && id < limit)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "segment_ids[%" PRId64 "] is %" PRId64
                       ": ids must not be negative, nor decrease, and be "
                       "below %" PRId64,
                       i, id, limit);
}

/* The number of segments: that which is given, or the last id and one. */
static eddy_status read_segments(eddy_kernel *k, picked *p)
{
    const int64_t n = p->ids.count;

    if (k->node->n_in > 3) {
        EDDY_TRY(eddy__index_argument(k, 3, "num_segments", &p->n_out));
        if (p->n_out >= 0)
            return EDDY_OK;
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the number of segments is %" PRId64, p->n_out);
    }
    p->n_out = 0;
    if (n == 0)
        return EDDY_OK;
    p->n_out = eddy__index_at(&p->ids, n - 1);
    if (p->n_out < 0 || p->n_out == INT64_MAX)
        return check_id(k, p, n - 1, INT64_MAX, 0);
    p->n_out++;
    return EDDY_OK;
}

static eddy_status check_all(eddy_kernel *k, const picked *p)
{
    int64_t last = 0;

    for (int64_t i = 0; i < p->ids.count; i++) {
        EDDY_TRY(check_id(k, p, i, p->n_out, last));
        EDDY_TRY(check_index(k, p, i, p->n_rows));
        last = eddy__index_at(&p->ids, i);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* ---- kernels ---- */

static eddy_status run_picked(eddy_kernel *k, joining how)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    picked p = {.how = how, .kernel = k};
    eddy_shape shape;
    unsigned char *out;
    int64_t end;

    EDDY_TRY(read_rows(k, &p));
    EDDY_TRY(read_vectors(k, &p));
    EDDY_TRY(read_segments(k, &p));
    EDDY_TRY(check_all(k, &p));
    shape = *eddy__in_shape(k, 0);
    shape.dims[0] = p.n_out;
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    for (int64_t first = 0; first < p.ids.count; first = end) {
        const int64_t id = eddy__index_at(&p.ids, first);

        for (end = first + 1;
             end < p.ids.count && eddy__index_at(&p.ids, end) == id; end++)
            if (eddy__spent_at(k, end))
                return eddy__go_on(k, 0);
        EDDY_TRY(eddy__go_on(k, end - first + p.width));
        loops[dtype].sum(&p, eddy__in_elements(k, 0), first, end, out, id);
        if (how != SUM)
            loops[dtype].divide(&p, out, id, end - first);
    }
    return EDDY_OK;
}

static eddy_status run_sum(eddy_kernel *k)
{
    return run_picked(k, SUM);
}

static eddy_status run_mean(eddy_kernel *k)
{
    return run_picked(k, MEAN);
}

static eddy_status run_root(eddy_kernel *k)
{
    return run_picked(k, ROOT);
}

/* How many rows each segment has; the ids need not be sorted here. */
static eddy_status count_rows(eddy_kernel *k, const picked *p,
                              eddy_tensor **out_counts)
{
    const eddy_shape shape = eddy__shape_vector(p->n_rows);
    int64_t *counts;

    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &shape, out_counts));
    counts = (*out_counts)->data;
    eddy__zero_bytes(k, counts, (*out_counts)->bytes);
    for (int64_t i = 0; i < p->ids.count && !eddy__spent_at(k, i); i++)
        counts[eddy__index_at(&p->ids, i)]++;
    return eddy__go_on(k, 0);
}

static eddy_status put_all_back(eddy_kernel *k, const picked *p, void *out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_tensor *counts = NULL;
    eddy_status status = count_rows(k, p, &counts);

    for (int64_t i = 0; status == EDDY_OK && i < p->ids.count; i++) {
        const int64_t id = eddy__index_at(&p->ids, i);

        status = eddy__go_on(k, 2 * p->width + 4);
        loops[dtype].put_back(p, eddy__in_elements(k, 0), id, out,
                              eddy__index_at(&p->indices, i),
                              ((const int64_t *)counts->data)[id]);
    }
    if (counts)
        eddy__tensor_recycle(k->heap, counts);
    return status;
}

/* What a gradient is given: input 0 has a row for each segment. */
static eddy_status read_back(eddy_kernel *k, picked *p)
{
    EDDY_TRY(read_rows(k, p));
    EDDY_TRY(read_vectors(k, p));
    EDDY_TRY(eddy__index_argument(k, 3, "output_dim0", &p->n_out));
    if (p->n_out < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "output_dim0 is %" PRId64, p->n_out);
    /* As in TensorFlow nobody asks what is put into no rows. */
    if (p->n_out == 0)
        p->ids.count = p->indices.count = 0;
    for (int64_t i = 0; i < p->ids.count; i++) {
        EDDY_TRY(check_id(k, p, i, p->n_rows, 0));
        EDDY_TRY(check_index(k, p, i, p->n_out));
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

static eddy_status run_back(eddy_kernel *k, joining how)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    picked p = {.how = how, .kernel = k};
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(read_back(k, &p));
    shape = *eddy__in_shape(k, 0);
    shape.dims[0] = p.n_out;
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    return put_all_back(k, &p, out);
}

static eddy_status run_sum_back(eddy_kernel *k)
{
    return run_back(k, SUM);
}

static eddy_status run_mean_back(eddy_kernel *k)
{
    return run_back(k, MEAN);
}

static eddy_status run_root_back(eddy_kernel *k)
{
    return run_back(k, ROOT);
}

/* ---- gradients of the rows that occur ---- */

/* Merges [first, middle) and [middle, end) by index, the earlier one first. */
static void merge(const picked *p, const int64_t *from, int64_t first,
                  int64_t middle, int64_t end, int64_t *to)
{
    int64_t a = first, b = middle;

    for (int64_t i = first; i < end && !eddy__spent_at(p->kernel, i); i++) {
        const bool takes_a =
            a < middle &&
            (b == end || eddy__index_at(&p->indices, from[a]) <=
                             eddy__index_at(&p->indices, from[b]));

        to[i] = takes_a ? from[a++] : from[b++];
    }
}

/* The places of the indices in the order of these; `room` for as many. */
static eddy_status sort_places(eddy_kernel *k, const picked *p,
                               int64_t **places, int64_t **room)
{
    const int64_t n = p->indices.count;

    for (int64_t i = 0; i < n; i++) {
        (*places)[i] = i;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    for (int64_t step = 1; step < n; step *= 2) {
        int64_t *sorted = *room;

        for (int64_t first = 0; first < n; first += 2 * step) {
            const int64_t middle = first + step < n ? first + step : n;
            const int64_t end = middle + step < n ? middle + step : n;

            EDDY_TRY(eddy__go_on(k, 4));
            merge(p, *places, first, middle, end, sorted);
            EDDY_TRY(eddy__go_on(k, 0));
        }
        *room = *places;
        *places = sorted;
    }
    return EDDY_OK;
}

/* Is the index at the i-th of the places another than that before it? */
static bool is_new(const picked *p, const int64_t *places, int64_t i)
{
    return i == 0 || eddy__index_at(&p->indices, places[i]) !=
                         eddy__index_at(&p->indices, places[i - 1]);
}

static eddy_status put_unique(eddy_kernel *k, const picked *p,
                              const int64_t *places, const int64_t *counts)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0), index = eddy__in_dtype(k, 1);
    eddy_shape shape = *eddy__in_shape(k, 0), vector = eddy__shape_vector(0);
    int64_t row = -1;
    unsigned char *out;
    void *unique;

    for (int64_t i = 0; i < p->indices.count && !eddy__spent_at(k, i); i++)
        vector.dims[0] += is_new(p, places, i);
    EDDY_TRY(eddy__go_on(k, 0));
    shape.dims[0] = vector.dims[0];
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    EDDY_TRY(eddy__output(k, 1, index, &vector, &unique));
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    for (int64_t i = 0; i < p->indices.count; i++) {
        const int64_t id = eddy__index_at(&p->ids, places[i]);
        const int64_t at = eddy__index_at(&p->indices, places[i]);

        EDDY_TRY(eddy__go_on(k, 2 * p->width + 4));
        row += is_new(p, places, i);
        if (index == EDDY_INT64)
            ((int64_t *)unique)[row] = at;
        else
            ((int32_t *)unique)[row] = (int32_t)at;
        loops[dtype].put_back(p, eddy__in_elements(k, 0), id, out, row,
                              counts[id]);
    }
    return EDDY_OK;
}

static eddy_status put_sorted(eddy_kernel *k, const picked *p)
{
    const eddy_shape shape = eddy__shape_vector(p->indices.count);
    eddy_tensor *places = NULL, *room = NULL, *counts = NULL;
    int64_t *sorted = NULL, *spare = NULL;
    eddy_status status = eddy__new_tensor(k, EDDY_INT64, &shape, &places);

    if (status == EDDY_OK)
        status = eddy__new_tensor(k, EDDY_INT64, &shape, &room);
    if (status == EDDY_OK)
        status = count_rows(k, p, &counts);
    if (status == EDDY_OK) {
        sorted = places->data;
        spare = room->data;
        status = sort_places(k, p, &sorted, &spare);
    }
    if (status == EDDY_OK)
        status = put_unique(k, p, sorted, counts->data);
    if (counts)
        eddy__tensor_recycle(k->heap, counts);
    if (room)
        eddy__tensor_recycle(k->heap, room);
    if (places)
        eddy__tensor_recycle(k->heap, places);
    return status;
}

static eddy_status run_back_unique(eddy_kernel *k, joining how)
{
    picked p = {.how = how, .kernel = k};

    EDDY_TRY(read_back(k, &p));
    return put_sorted(k, &p);
}

static eddy_status run_sum_unique(eddy_kernel *k)
{
    return run_back_unique(k, SUM);
}

static eddy_status run_mean_unique(eddy_kernel *k)
{
    return run_back_unique(k, MEAN);
}

static eddy_status run_root_unique(eddy_kernel *k)
{
    return run_back_unique(k, ROOT);
}

/* ---- shapes ---- */

/* `n` rows like those of input 0; -1: any number. */
static eddy_status infer_some_rows(eddy_infer *infer, int64_t n)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);

    EDDY_TRY(eddy__infer_want_rank(infer, 1, 1));
    EDDY_TRY(eddy__infer_want_rank(infer, 2, 1));
    if (shape.rank == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               "the data must have rows, but it is a scalar");
    if (shape.rank < 0)
        return EDDY_OK;
    shape.dims[0] = n;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* Input 3 says the number if it can. */
static eddy_status infer_rows(eddy_infer *infer)
{
    int64_t n;

    if (eddy_infer_inputs(infer) > 3 &&
        eddy__infer_constant_int(infer, 3, 0, &n) && n >= 0)
        return infer_some_rows(infer, n);
    return infer_some_rows(infer, -1);
}

static eddy_status infer_unique(eddy_infer *infer)
{
    const eddy_shape unique = eddy__shape_vector(-1);

    EDDY_TRY(infer_some_rows(infer, -1));
    eddy_infer_set_output(infer, 1, &unique);
    return EDDY_OK;
}

#define IDS "Tidx: index = int32, Tsegmentids: index = int32"
#define PICKED "data: T, indices: Tidx, segment_ids: Tsegmentids"
#define NUMBER ", num_segments: Tnumsegments"
#define SPARSE "sparse_gradient: bool = false"

#define ROWS(name, dtypes, run, text)                                          \
    EDDY__OP_ROW(name, .inputs = PICKED, .outputs = "output: T",               \
                 .attrs = "T: " dtypes ", " IDS ", " SPARSE,                   \
                 .infer = infer_rows, .kernel = run, .doc = text),             \
        EDDY__OP_ROW(name "WithNumSegments", .inputs = PICKED NUMBER,          \
                     .outputs = "output: T",                                   \
                     .attrs = "T: " dtypes ", " IDS                            \
                              ", Tnumsegments: index = int32, " SPARSE,        \
                     .infer = infer_rows, .kernel = run,                       \
                     .doc = name " with a given number of segments.")
#define BACK(name, run, text)                                                  \
    EDDY__OP_ROW(name,                                                         \
                 .inputs = "grad: T, indices: Tidx, segment_ids: "             \
                           "Tsegmentids, output_dim0: int32",                  \
                 .outputs = "output: T", .attrs = "T: float, " IDS,            \
                 .infer = infer_rows, .kernel = run, .doc = text)
#define BACK_UNIQUE(name, run, of)                                             \
    EDDY__OP_ROW(name,                                                         \
                 .inputs = "grad: T, indices: Tidx, segment_ids: "             \
                           "Tsegmentids, dense_output_dim0: int32",            \
                 .outputs = "output: T, sorted_unique_indices: Tidx",          \
                 .attrs = "T: float, " IDS, .infer = infer_unique,             \
                 .kernel = run,                                                \
                 .doc = "The rows of the gradient of " of                      \
                        " by its data that can be other than 0, and their "    \
                        "indices.")

static const eddy_op_spec specs[] = {
    ROWS("SparseSegmentSum", "real", run_sum,
         "The sums of the rows at `indices` that have one segment id."),
    ROWS("SparseSegmentMean", "float", run_mean,
         "The means of the rows at `indices` that have one segment id."),
    ROWS("SparseSegmentSqrtN", "float", run_root,
         "SparseSegmentSum by the square root of how many rows there are."),
    BACK("SparseSegmentSumGrad", run_sum_back,
         "The gradient of SparseSegmentSum by its data."),
    BACK("SparseSegmentMeanGrad", run_mean_back,
         "The gradient of SparseSegmentMean by its data."),
    BACK("SparseSegmentSqrtNGrad", run_root_back,
         "The gradient of SparseSegmentSqrtN by its data."),
    BACK_UNIQUE("SparseSegmentSumGradV2", run_sum_unique, "SparseSegmentSum"),
    BACK_UNIQUE("SparseSegmentMeanGradV2", run_mean_unique,
                "SparseSegmentMean"),
    BACK_UNIQUE("SparseSegmentSqrtNGradV2", run_root_unique,
                "SparseSegmentSqrtN"),
};

const eddy__op_table eddy__sparse_segment_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};

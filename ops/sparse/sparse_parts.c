/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse tensors put together and taken apart along a dimension: SparseConcat,
 * SparseSplit, SparseSlice and its gradient.
 */
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

/* ---- SparseConcat ---- */

static eddy_status prepare_concat(eddy_infer *infer)
{
    int64_t *state;

    EDDY_TRY(eddy__sparse_prepare(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_int(infer, "concat_dim");
    return EDDY_OK;
}

/* The shape of all inputs together; `*out_n` is how many elements they have. */
static eddy_status join_shapes(eddy_kernel *k, uint32_t n, int32_t *out_axis,
                               eddy_shape *out, int64_t *out_n)
{
    const int64_t *axis = eddy__state(k);
    eddy__sparse s;

    *out_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        EDDY_TRY(eddy__sparse_read_apart(k, i, n, &s));
        EDDY_TRY(eddy__sparse_check(k, &s));
        if (i == 0) {
            EDDY_TRY(eddy__axis(k, *axis, s.shape.rank, out_axis));
            *out = s.shape;
            out->dims[*out_axis] = 0;
        }
        *out_n += s.n;
        for (int32_t d = 0; d < out->rank && s.shape.rank == out->rank; d++)
            if (d != *out_axis && s.shape.dims[d] != out->dims[d])
                s.shape.rank = -1;
        if (s.shape.rank != out->rank ||
            __builtin_add_overflow(out->dims[*out_axis],
                                   s.shape.dims[*out_axis],
                                   &out->dims[*out_axis]))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "sparse tensor %u does not fit those before it "
                               "along dimension %d",
                               i, *out_axis);
    }
    return EDDY_OK;
}

/* All coordinates, those along the axis moved on, and all elements. */
static void gather_inputs(eddy_kernel *k, uint32_t n, int32_t axis,
                          int32_t rank, int64_t *at, unsigned char *elements)
{
    const size_t size = eddy__element_size(eddy__in_dtype(k, n));
    int64_t from = 0;

    for (uint32_t i = 0; i < n; i++) {
        const eddy_view indices = eddy__in_view(k, i);
        const eddy_view shape = eddy__in_view(k, 2 * n + i);
        const int64_t rows = eddy__in_count(k, n + i);

        if (rows * rank > 0)
            memcpy(at, indices.data, (size_t)(rows * rank) * sizeof *at);
        for (int64_t row = 0; row < rows; row++)
            at[row * rank + axis] += from;
        if (rows > 0)
            memcpy(elements, eddy__in_elements(k, n + i), (size_t)rows * size);
        at += rows * rank;
        elements += (size_t)rows * size;
        from += eddy__index_at(&shape, axis);
    }
}

static eddy_status run_concat(eddy_kernel *k)
{
    const uint32_t n = k->node->n_in / 3;
    eddy_tensor *room = NULL;
    eddy__sparse_rows rows = {.dtype = eddy__in_dtype(k, n)};
    const int64_t words =
        (int64_t)((eddy__element_size(rows.dtype) + 7) / sizeof(int64_t));
    eddy_shape shape = {.rank = 0}, scratch;
    eddy_status status;
    int32_t axis = 0;
    int64_t *at;

    EDDY_TRY(join_shapes(k, n, &axis, &shape, &rows.n));
    rows.rank = shape.rank;
    scratch = (eddy_shape){.rank = 2, .dims = {rows.n, rows.rank + words}};
    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &scratch, &room));
    at = room->data;
    rows.at = at;
    rows.elements = (unsigned char *)(at + rows.n * rows.rank);
    gather_inputs(k, n, axis, rows.rank, at,
                  (unsigned char *)(at + rows.n * rows.rank));
    status = eddy__sparse_put_sorted(k, &rows);
    eddy__tensor_recycle(k->heap, room);
    return status == EDDY_OK ? eddy__sparse_put_shape(k, 2, &shape) : status;
}

/* ---- SparseSplit ---- */

/* A dimension in parts, of which the first `longer` are one longer. */
typedef struct cut {
    int32_t axis;
    int64_t n, length, longer;
} cut;

static int64_t start_of(const cut *c, int64_t part)
{
    return part * c->length + (part < c->longer ? part : c->longer);
}

static int64_t part_of(const cut *c, int64_t at)
{
    const int64_t end = c->longer * (c->length + 1);

    return at < end ? at / (c->length + 1) : c->longer + (at - end) / c->length;
}

static eddy_status read_cut(eddy_kernel *k, const eddy__sparse *s, cut *c)
{
    const eddy_view axis = eddy__in_view(k, 0);
    int64_t dim;

    EDDY_TRY(eddy__want_single(k, 0, EDDY_MAX_RANK, "split_dim"));
    EDDY_TRY(eddy__axis(k, eddy__index_at(&axis, 0), s->shape.rank, &c->axis));
    dim = s->shape.dims[c->axis];
    c->n = k->node->n_out / 3;
    if (c->n > dim)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "dimension %d, of %" PRId64
                           ", can't be split in %" PRId64,
                           c->axis, dim, c->n);
    c->length = dim / c->n;
    c->longer = dim % c->n;
    return EDDY_OK;
}

/* The elements of one part, whose number is counted before. */
static eddy_status put_part(eddy_kernel *k, const eddy__sparse *s, const cut *c,
                            int64_t part, int64_t n)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 2);
    const size_t size = eddy__element_size(dtype);
    const eddy_shape vector = eddy__shape_vector(n);
    const uint32_t parts = (uint32_t)c->n, to = (uint32_t)part;
    eddy_shape shape = s->shape;
    unsigned char *values;
    int64_t *at;

    shape.dims[c->axis] = c->length + (part < c->longer);
    EDDY_TRY(eddy__sparse_output_rows(k, to, n, shape.rank, &at));
    EDDY_TRY(eddy__sparse_put_shape(k, 2 * parts + to, &shape));
    EDDY_TRY(eddy__output_elements(k, parts + to, dtype, &vector, &values));
    for (int64_t i = 0; i < s->n; i++) {
        if (part_of(c, eddy__sparse_at(s, i, c->axis)) != part)
            continue;
        for (int32_t d = 0; d < shape.rank; d++)
            at[d] = eddy__sparse_at(s, i, d);
        at[c->axis] -= start_of(c, part);
        at += shape.rank;
        memcpy(values, eddy__in_elements(k, 2) + (size_t)i * size, size);
        values += size;
    }
    return eddy__elements_done(k, parts + to);
}

static eddy_status run_split(eddy_kernel *k)
{
    eddy__sparse s;
    cut c;

    EDDY_TRY(eddy__sparse_read(k, 1, &s));
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(read_cut(k, &s, &c));
    for (int64_t part = 0; part < c.n; part++) {
        int64_t n = 0;

        for (int64_t i = 0; i < s.n; i++)
            n += part_of(&c, eddy__sparse_at(&s, i, c.axis)) == part;
        EDDY_TRY(eddy__go_on(k, EDDY__SPARSE_WORK * (s.n + n)));
        EDDY_TRY(put_part(k, &s, &c, part, n));
    }
    return EDDY_OK;
}

/* ---- SparseSlice ---- */

typedef struct window {
    int64_t start[EDDY_MAX_RANK];
    eddy_shape shape;
} window;

static eddy_status read_window(eddy_kernel *k, const eddy__sparse *s, window *w)
{
    eddy_view start, size;

    EDDY_TRY(eddy__vector_argument(k, 3, "start", s->shape.rank, &start));
    EDDY_TRY(eddy__vector_argument(k, 4, "size", s->shape.rank, &size));
    w->shape.rank = s->shape.rank;
    for (int32_t d = 0; d < s->shape.rank; d++) {
        const int64_t from = eddy__index_at(&start, d);
        const int64_t most = eddy__index_at(&size, d);
        int64_t left = 0;

        if (most < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "the size of dimension %d is %" PRId64, d, most);
        /* A window may begin before the tensor, as TensorFlow's may. */
        if (from < s->shape.dims[d] &&
            __builtin_sub_overflow(s->shape.dims[d], from, &left))
            left = INT64_MAX;
        w->start[d] = from;
        w->shape.dims[d] = most < left ? most : left;
    }
    return EDDY_OK;
}

static bool is_within(const eddy__sparse *s, const window *w, int64_t i)
{
    for (int32_t d = 0; d < s->shape.rank; d++) {
        int64_t at;

        if (__builtin_sub_overflow(eddy__sparse_at(s, i, d), w->start[d],
                                   &at) ||
            at < 0 || at >= w->shape.dims[d])
            return false;
    }
    return true;
}

static eddy_status run_slice(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const size_t size = eddy__element_size(dtype);
    eddy_shape vector;
    unsigned char *values;
    eddy__sparse s;
    int64_t n = 0, *at;
    window w = {.shape.rank = 0};

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(read_window(k, &s, &w));
    for (int64_t i = 0; i < s.n; i++)
        n += is_within(&s, &w, i);
    EDDY_TRY(eddy__go_on(k, EDDY__SPARSE_WORK * s.n));
    vector = eddy__shape_vector(n);
    EDDY_TRY(eddy__sparse_output_rows(k, 0, n, s.shape.rank, &at));
    EDDY_TRY(eddy__sparse_put_shape(k, 2, &w.shape));
    EDDY_TRY(eddy__output_elements(k, 1, dtype, &vector, &values));
    for (int64_t i = 0; i < s.n; i++) {
        if (!is_within(&s, &w, i))
            continue;
        for (int32_t d = 0; d < s.shape.rank; d++)
            *at++ = eddy__sparse_at(&s, i, d) - w.start[d];
        memcpy(values, eddy__in_elements(k, 1) + (size_t)i * size, size);
        values += size;
    }
    return eddy__elements_done(k, 1);
}

/* ---- SparseSliceGrad ---- */

/* backprop_val_grad, input_indices, input_start, output_indices */
static eddy_status check_slice_grad(eddy_kernel *k)
{
    const eddy_shape *grad = eddy__in_shape(k, 0);
    const eddy_shape *in = eddy__in_shape(k, 1);
    const eddy_shape *out = eddy__in_shape(k, 3);
    const eddy_shape *start = eddy__in_shape(k, 2);

    if (grad->rank == 1 && in->rank == 2 && out->rank == 2 &&
        start->rank == 1 && in->dims[1] == out->dims[1] &&
        start->dims[0] == in->dims[1] && grad->dims[0] == out->dims[0])
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "gradients of shape %s, coordinates of shapes %s and "
                       "%s and a start of shape %s do not go together",
                       eddy__shape_print(grad).text, eddy__shape_print(in).text,
                       eddy__shape_print(out).text,
                       eddy__shape_print(start).text);
}

static eddy_status run_slice_grad(eddy_kernel *k)
{
    const eddy_view in = eddy__in_view(k, 1), start = eddy__in_view(k, 2);
    const eddy_view out = eddy__in_view(k, 3);
    const int64_t *dims = eddy__in_shape(k, 1)->dims;
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    unsigned char *to;
    eddy_shape vector;
    int64_t rank, n, j = 0;

    EDDY_TRY(check_slice_grad(k));
    rank = dims[1];
    n = eddy__in_shape(k, 3)->dims[0];
    vector = eddy__shape_vector(dims[0]);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &vector, &to));
    eddy__zero_bytes(k, to, (size_t)dims[0] * size);
    for (int64_t i = 0; i < dims[0] && j < n; i++) {
        int64_t d = 0;

        while (d < rank &&
               eddy__index_at(&in, i * rank + d) - eddy__index_at(&start, d) ==
                   eddy__index_at(&out, j * rank + d))
            d++;
        if (d == rank)
            memcpy(to + (size_t)i * size,
                   eddy__in_elements(k, 0) + (size_t)j++ * size, size);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    if (j == n)
        return eddy__elements_done(k, 0);
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "gradient %" PRId64 " is of no element of the input", j);
}

static eddy_status infer_slice_grad(eddy_infer *infer)
{
    const eddy_shape *in = eddy_infer_input(infer, 1);
    eddy_shape vector = eddy__shape_of_rank(1);

    if (in->rank == 2)
        vector.dims[0] = in->dims[0];
    eddy_infer_set_output(infer, 0, &vector);
    return EDDY_OK;
}

/* ---- definitions ---- */

#define OUTPUTS "output_indices: int64, output_values: T, output_shape: int64"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SparseConcat",
                 .inputs = "indices: N * int64, values: N * T, "
                           "shapes: N * int64",
                 .outputs = OUTPUTS,
                 .attrs = "concat_dim: int, N: int >= 2, T: type",
                 .infer = eddy__infer_sparse, .kernel = run_concat,
                 .prepare = prepare_concat, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Sparse tensors one behind the other along a "
                        "dimension."),
    EDDY__OP_ROW("SparseSplit",
                 .inputs = "split_dim: int64, indices: int64, values: T, "
                           "shape: int64",
                 .outputs = "output_indices: num_split * int64, "
                            "output_values: num_split * T, "
                            "output_shape: num_split * int64",
                 .attrs = "num_split: int >= 1, T: type",
                 .infer = eddy__infer_sparse, .kernel = run_split,
                 .prepare = eddy__sparse_prepare,
                 .doc = "Parts of a sparse tensor along a dimension."),
    EDDY__OP_ROW("SparseSlice",
                 .inputs = "indices: int64, values: T, shape: int64, "
                           "start: int64, size: int64",
                 .outputs = OUTPUTS, .attrs = "T: type",
                 .infer = eddy__infer_sparse, .kernel = run_slice,
                 .prepare = eddy__sparse_prepare,
                 .doc = "What a sparse tensor has within a window."),
    EDDY__OP_ROW("SparseSliceGrad",
                 .inputs = "backprop_val_grad: T, input_indices: int64, "
                           "input_start: int64, output_indices: int64",
                 .outputs = "val_grad: T", .attrs = "T: number",
                 .infer = infer_slice_grad, .kernel = run_slice_grad,
                 .prepare = eddy__sparse_prepare,
                 .doc = "The gradient of SparseSlice by the elements."),
};

const eddy__op_table eddy__sparse_parts_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RaggedTensorToTensor: ragged rows laid out in a tensor, cut where they are
 * longer than it and followed by a default where they are shorter.
 *
 * Level by level it is found where in the output each element belongs, or that
 * it belongs nowhere, which is -1: first of the rows, last of the values.
 */
#include "ops/array/broadcast.h"
#include "ops/math/elements.h"
#include "ops/misc/scratch.h"
#include "ops/ops.h"

#include <string.h>

enum { SHAPE, VALUES, DEFAULT, PARTITIONS };

typedef enum partition {
    FIRST_DIM_SIZE,
    VALUE_ROWIDS,
    ROW_SPLITS,
    N_KNOWN
} partition;

/* Of the node. */
typedef struct manner {
    uint32_t n;       /* partitions, of which the first may be a size */
    bool begins_size; /* is it? */
    uint8_t kinds[];
} manner;

/* What is being laid out. */
typedef struct layout {
    eddy_kernel *kernel;
    eddy_shape shape;             /* of the output */
    int64_t steps[EDDY_MAX_RANK]; /* of its ragged dimensions, in rows */
    int64_t n_rows;               /* of a value's shape, in the output */
    int64_t *at;                  /* of each element of this level, or -1 */
    int64_t n;
} layout;

static uint32_t levels_of(const manner *m)
{
    return m->begins_size ? m->n - 1 : m->n;
}

/* The partition that splits level `i`, from 0. */
static eddy_view partition_of(const eddy_kernel *k, uint32_t i)
{
    const manner *m = eddy__state(k);

    return eddy__in_view(k, PARTITIONS + i + (m->begins_size ? 1 : 0));
}

static bool is_splits(const eddy_kernel *k, uint32_t i)
{
    const manner *m = eddy__state(k);

    return m->kinds[i + (m->begins_size ? 1 : 0)] == ROW_SPLITS;
}

static eddy_status refuse(eddy_kernel *k, const char *what)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%s", what);
}

/* ---- sizes ---- */

/* How many rows there are. */
static eddy_status count_rows(eddy_kernel *k, int64_t *out_n)
{
    const manner *m = eddy__state(k);
    const eddy_view first = eddy__in_view(k, PARTITIONS);

    *out_n = m->begins_size && first.count > 0 ? eddy__view_index(&first, 0)
                                               : first.count - 1;
    if (m->begins_size ? first.count > 0 && *out_n >= 0 : first.count > 0)
        return EDDY_OK;
    return refuse(k, "the first row partition says no number of rows");
}

/* Splits begin with 0 and never fall; row ids never fall. */
static eddy_status check_partition(eddy_kernel *k, uint32_t i)
{
    const eddy_view p = partition_of(k, i);
    int64_t before = 0;

    if (p.rank != 1)
        return refuse(k, "a row partition must be a vector");
    if (is_splits(k, i) && (p.count == 0 || eddy__view_index(&p, 0) != 0))
        return refuse(k, "row splits must begin with 0");
    for (int64_t j = 0; j < p.count; j++) {
        const int64_t now = eddy__view_index(&p, j);

        if (now < before)
            return refuse(k, "a row partition must not fall");
        before = now;
        if (eddy__spent_at(k, j))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* The longest row of a level. */
static int64_t widest(eddy_kernel *k, uint32_t i)
{
    const eddy_view p = partition_of(k, i);
    int64_t most = 0, now = 0;

    for (int64_t j = 1; is_splits(k, i) && j < p.count; j++) {
        now = eddy__view_index(&p, j) - eddy__view_index(&p, j - 1);
        most = now > most ? now : most;
        if (eddy__spent_at(k, j))
            return most;
    }
    for (int64_t j = 0; !is_splits(k, i) && j < p.count; j++) {
        const bool goes_on =
            j > 0 && eddy__view_index(&p, j) == eddy__view_index(&p, j - 1);

        now = goes_on ? now + 1 : 1;
        most = now > most ? now : most;
        if (eddy__spent_at(k, j))
            return most;
    }
    return most;
}

/* The shape that is asked for; unknown dimensions are -1. */
static eddy_status read_shape(eddy_kernel *k, int32_t rank, eddy_shape *out)
{
    const eddy_view view = eddy__in_view(k, SHAPE);

    *out = eddy__shape_of_rank(rank);
    if (view.rank == 0 && eddy__view_index(&view, 0) == -1)
        return EDDY_OK;
    if (view.rank == 0)
        return refuse(k, "a shape that is a scalar must be -1");
    EDDY_TRY(eddy__shape_from_view(k, &view, -1, out));
    if (out->rank == rank)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the shape has %d dimensions, but the ragged tensor has "
                       "%d",
                       out->rank, rank);
}

static eddy_status find_shape(layout *l, int64_t rows)
{
    eddy_kernel *k = l->kernel;
    const int32_t levels = (int32_t)levels_of(eddy__state(k));
    const eddy_shape *values = eddy__in_shape(k, VALUES);

    if (values->rank < 1)
        return refuse(k, "the values must not be a scalar");
    if (levels + values->rank > EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the output would have %d dimensions",
                           levels + values->rank);
    EDDY_TRY(read_shape(k, levels + values->rank, &l->shape));
    for (int32_t d = 0; d < l->shape.rank; d++) {
        const int64_t wanted = l->shape.dims[d];
        int64_t is = rows;

        if (d > levels)
            is = values->dims[d - levels];
        else if (d > 0 && wanted < 0)
            is = widest(k, (uint32_t)d - 1);
        if (d > levels && wanted >= 0 && wanted != is)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the values have shape %s, which does not fit "
                               "the shape %s",
                               eddy__shape_print(values).text,
                               eddy__shape_print(&l->shape).text);
        if (wanted < 0)
            l->shape.dims[d] = is;
    }
    return eddy__go_on(k, 0);
}

/* ---- places ---- */

static eddy_status misfit(eddy_kernel *k)
{
    return refuse(k, "a row partition does not fit that before it");
}

/* The elements of all rows, each behind the one before it in its row. */
static eddy_status place_splits(layout *l, const eddy_view *p, int64_t step,
                                int64_t most, int64_t *to)
{
    if (p->count - 1 != l->n)
        return misfit(l->kernel);
    for (int64_t row = 0; row < l->n; row++) {
        const int64_t n =
            eddy__view_index(p, row + 1) - eddy__view_index(p, row);

        for (int64_t j = 0; j < n; j++)
            *to++ = l->at[row] >= 0 && j < most ? l->at[row] + j * step : -1;
        EDDY_TRY(eddy__go_on(l->kernel, 4 + 2 * n));
    }
    return EDDY_OK;
}

static eddy_status place_ids(layout *l, const eddy_view *p, int64_t step,
                             int64_t most, int64_t *to)
{
    int64_t row = -1, j = 0;

    for (int64_t i = 0; i < p->count; i++) {
        const int64_t now = eddy__view_index(p, i);

        if (now < 0 || now >= l->n)
            return misfit(l->kernel);
        j = now == row ? j + 1 : 0;
        row = now;
        to[i] = l->at[row] >= 0 && j < most ? l->at[row] + j * step : -1;
        if (eddy__spent_at(l->kernel, i))
            return eddy__go_on(l->kernel, 0);
    }
    return EDDY_OK;
}

/* From the places of a level's rows to those of its elements. */
static eddy_status go_down(layout *l, uint32_t level, eddy_tensor **room)
{
    eddy_kernel *k = l->kernel;
    const eddy_view p = partition_of(k, level);
    const int64_t n =
        is_splits(k, level) ? eddy__view_index(&p, p.count - 1) : p.count;
    const int64_t most = l->shape.dims[level + 1];
    eddy_tensor *next = NULL;
    eddy_status status;

    EDDY_TRY(eddy__scratch(k, EDDY_INT64, n, &next));
    status = is_splits(k, level)
                 ? place_splits(l, &p, l->steps[level + 1], most, next->data)
                 : place_ids(l, &p, l->steps[level + 1], most, next->data);
    eddy__scratch_free(k, *room);
    *room = next;
    l->at = next->data;
    l->n = n;
    return status;
}

static eddy_status place_rows(layout *l, int64_t rows, eddy_tensor **room)
{
    EDDY_TRY(eddy__scratch(l->kernel, EDDY_INT64, rows, room));
    l->at = (*room)->data;
    l->n = rows;
    for (int64_t i = 0; i < rows; i++) {
        l->at[i] = i < l->shape.dims[0] ? i * l->steps[0] : -1;
        if (eddy__spent_at(l->kernel, i))
            return eddy__go_on(l->kernel, 0);
    }
    return EDDY_OK;
}

/* ---- moving ---- */

/* What a value is, in the output. */
static eddy_shape shape_of_value(const layout *l, int32_t levels)
{
    eddy_shape of = {.rank = l->shape.rank - levels - 1};

    for (int32_t d = 0; d < of.rank; d++)
        of.dims[d] = l->shape.dims[levels + 1 + d];
    return of;
}

/* The default must be broadcast to a value. */
static eddy_status check_default(eddy_kernel *k)
{
    const eddy_shape *is = eddy__in_shape(k, DEFAULT);
    const eddy_shape *values = eddy__in_shape(k, VALUES);
    bool fits = is->rank < values->rank;

    for (int32_t d = 1; fits && d <= is->rank; d++)
        fits = is->dims[is->rank - d] == 1 ||
               is->dims[is->rank - d] == values->dims[values->rank - d];
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a default of shape %s does not fit values of shape %s",
                       eddy__shape_print(is).text,
                       eddy__shape_print(values).text);
}

/* One value of defaults at `out`. */
static void put_default(eddy_kernel *k, const eddy_shape *value,
                        unsigned char *out, size_t size)
{
    const eddy_shape *const from[] = {eddy__in_shape(k, DEFAULT)};
    const unsigned char *elements = eddy__in_elements(k, DEFAULT);
    eddy__broadcast b;

    eddy__broadcast_init(&b, value, from, 1);
    do {
        memcpy(out, elements + (size_t)b.offsets[0] * size, size);
        out += size;
    } while (eddy__broadcast_next(&b, 0));
}

/* Values of `bytes` each where they belong. */
static void put_values(const layout *l, unsigned char *out, size_t bytes)
{
    eddy_kernel *k = l->kernel;
    eddy_kernel *asker = eddy__asker(k, eddy__in_dtype(k, VALUES));
    const unsigned char *from = eddy__in_elements(k, VALUES);

    for (int64_t i = 0; i < l->n; i++) {
        if (l->at[i] >= 0)
            memcpy(out + (size_t)l->at[i] * bytes, from + (size_t)i * bytes,
                   bytes);
        if (asker && eddy__spent(asker, 4 + (int64_t)(bytes / 16)))
            return;
    }
}

static eddy_status put_all(layout *l, int32_t levels)
{
    eddy_kernel *k = l->kernel;
    const eddy_dtype dtype = eddy__in_dtype(k, VALUES);
    const size_t size = eddy__element_size(dtype);
    const eddy_shape value = shape_of_value(l, levels);
    int64_t width = 0;
    unsigned char *out;

    EDDY_TRY(check_default(k));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &l->shape, &out));
    if (eddy__shape_count(&value, size, &width) && width > 0 && l->n_rows > 0) {
        const size_t bytes = (size_t)width * size;

        put_default(k, &value, out, size);
        eddy__repeat(eddy__asker(k, dtype), out + bytes, out, bytes,
                     l->n_rows - 1);
        put_values(l, out, bytes);
    }
    return eddy__elements_done(k, 0);
}

/* ---- all of it ---- */

static eddy_status lay_out(layout *l, eddy_tensor **room)
{
    eddy_kernel *k = l->kernel;
    const int32_t levels = (int32_t)levels_of(eddy__state(k));
    int64_t rows = 0, n = 1;

    EDDY_TRY(count_rows(k, &rows));
    for (int32_t i = 0; i < levels; i++)
        EDDY_TRY(check_partition(k, (uint32_t)i));
    EDDY_TRY(find_shape(l, rows));
    for (int32_t d = levels; d >= 0; d--) {
        l->steps[d] = n;
        if (__builtin_mul_overflow(n, l->shape.dims[d], &n))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the shape %s is too large",
                               eddy__shape_print(&l->shape).text);
    }
    l->n_rows = n;
    if (n > 0) {
        EDDY_TRY(place_rows(l, rows, room));
        for (int32_t i = 0; i < levels; i++)
            EDDY_TRY(go_down(l, (uint32_t)i, room));
        /* TensorFlow leaves out what is behind the last row. */
        if (l->n > eddy__in_shape(k, VALUES)->dims[0])
            return refuse(k, "the row partitions are of more values than "
                             "there are");
    }
    return put_all(l, levels);
}

static eddy_status run_dense(eddy_kernel *k)
{
    layout l = {.kernel = k};
    eddy_tensor *room = NULL;
    const eddy_status status = lay_out(&l, &room);

    eddy__scratch_free(k, room);
    return status;
}

/* ---- preparation ---- */

/* The kind of that name, N_KNOWN if there is none here. */
static partition kind_of(eddy_string name)
{
    static const char *const names[] = {"FIRST_DIM_SIZE", "VALUE_ROWIDS",
                                        "ROW_SPLITS"};
    int i = 0;

    while (i < N_KNOWN && (strlen(names[i]) != name.length ||
                           memcmp(names[i], name.data, name.length) != 0))
        i++;
    return (partition)i;
}

static eddy_status refuse_kinds(eddy_infer *infer)
{
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "row_partition_types must be FIRST_DIM_SIZE and "
                           "then VALUE_ROWIDS, or ROW_SPLITS, one a partition");
}

static eddy_status prepare_dense(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_inputs(infer) - PARTITIONS;
    eddy_attr kinds;
    manner *m;

    EDDY_TRY(eddy__prepare_movable(infer));
    m = eddy__prepare_state(infer, sizeof *m + n);
    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    if (!eddy_infer_attr(infer, "row_partition_types", &kinds) || kinds.n != n)
        return refuse_kinds(infer);
    m->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const partition kind = kind_of(kinds.as.strings[i]);

        if (kind == N_KNOWN || (kind == FIRST_DIM_SIZE && i > 0) ||
            (kind == VALUE_ROWIDS && i == 0))
            return refuse_kinds(infer);
        m->kinds[i] = (uint8_t)kind;
    }
    m->begins_size = m->kinds[0] == FIRST_DIM_SIZE;
    return EDDY_OK;
}

static eddy_status infer_dense(eddy_infer *infer)
{
    const eddy_shape *values = eddy_infer_input(infer, VALUES);
    const eddy_shape wanted = eddy__infer_shape_argument(infer, SHAPE);
    const uint32_t n = eddy_infer_inputs(infer) - PARTITIONS;
    eddy_shape shape = eddy__shape_unknown();
    eddy_attr kinds;

    if (values->rank > 0 &&
        eddy_infer_attr(infer, "row_partition_types", &kinds) && kinds.n == n) {
        const int32_t levels =
            (int32_t)n - (kind_of(kinds.as.strings[0]) == FIRST_DIM_SIZE);

        if (levels + values->rank > EDDY_MAX_RANK)
            return EDDY_OK;
        shape = eddy__shape_of_rank(levels + values->rank);
        for (int32_t d = 1; d < values->rank; d++)
            shape.dims[levels + d] = values->dims[d];
    }
    if (eddy_infer_input(infer, SHAPE)->rank == 1 &&
        !eddy__shape_merge(&shape, &wanted, &shape))
        return EDDY_OK;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("RaggedTensorToTensor",
                 .inputs = "shape: Tshape, values: T, default_value: T, "
                           "row_partition_tensors: num_row_partition_tensors "
                           "* Tindex",
                 .outputs = "result: T",
                 .attrs = "T: type, Tindex: index, Tshape: index, "
                          "num_row_partition_tensors: int >= 1, "
                          "row_partition_types: list(string)",
                 .infer = infer_dense, .kernel = run_dense,
                 .prepare = prepare_dense,
                 .doc = "Ragged rows as a tensor, cut to its shape and "
                        "followed by a default."),
};

const eddy__op_table eddy__ragged_dense_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};

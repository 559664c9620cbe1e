/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that put elements in another order or repeat them: Transpose,
 * ConjugateTranspose, ReverseV2, Roll, _Roll, Tile, BroadcastTo,
 * InvertPermutation.
 */
#include "ops/array/box.h"
#include "ops/chain.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* An output of `shape` that `box` and `start` fill from input 0. */
static eddy_status copy_box(eddy_kernel *k, const eddy_shape *shape,
                            eddy__box *box, int64_t start)
{
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, eddy__in_dtype(k, 0), shape, &out));
    if (eddy__out(k, 0)->kind == EDDY__SCALAR ||
        eddy__out(k, 0)->as.tensor->count > 0)
        eddy__box_copy(eddy__asker(k, eddy__in_dtype(k, 0)), box, out,
                       eddy__in_elements(k, 0) + start);
    return eddy__elements_done(k, 0);
}

/* ---- Transpose ---- */

/* Reads which input dimension each output dimension is; some may count from
   behind. */
static eddy_status read_permutation(eddy_kernel *k, int32_t rank, int32_t *perm)
{
    uint32_t seen = 0;
    eddy_view view;

    EDDY_TRY(eddy__vector_argument(k, 1, "perm", rank, &view));
    for (int32_t d = 0; d < rank; d++) {
        int64_t p = eddy__view_index(&view, d);

        if (p < -(int64_t)rank || p >= rank)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "perm[%d] = %" PRId64 " is not in [-%d, %d)", d,
                               p, rank, rank);
        p += p < 0 ? rank : 0;
        if (seen >> p & 1u)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "perm[%d] = %" PRId64 " is there twice", d, p);
        seen |= 1u << p;
        perm[d] = (int32_t)p;
    }
    return EDDY_OK;
}

/* Do the dimensions of more than one element stay in order? */
static bool keeps_order(const eddy_shape *of, const int32_t *perm)
{
    int32_t last = -1;

    for (int32_t d = 0; d < of->rank; d++) {
        if (of->dims[perm[d]] == 1)
            continue;
        if (perm[d] < last)
            return false;
        last = perm[d];
    }
    return true;
}

/* `may_share`: the output may be the input's own elements. */
static eddy_status transpose(eddy_kernel *k, bool may_share)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK];
    eddy_shape shape = {.rank = of->rank};
    eddy__box box = {.item = size};
    int32_t perm[EDDY_MAX_RANK] = {0};

    EDDY_TRY(read_permutation(k, of->rank, perm));
    for (int32_t d = 0; d < of->rank; d++)
        shape.dims[d] = of->dims[perm[d]];
    if (may_share && keeps_order(of, perm))
        return eddy__output_reshaped(k, 0, 0, &shape);
    eddy__box_dense_strides(of, size, from);
    eddy__box_dense_strides(&shape, size, to);
    for (int32_t d = 0; d < of->rank; d++)
        eddy__box_add(&box, shape.dims[d], from[perm[d]], to[d]);
    return copy_box(k, &shape, &box, 0);
}

static eddy_status run_transpose(eddy_kernel *k)
{
    return transpose(k, true);
}

static eddy_status run_conjugate_transpose(eddy_kernel *k)
{
    eddy__value *out = eddy__out(k, 0);
    void *elements;
    int64_t n = 1;

    EDDY_TRY(transpose(k, false));
    if (out->kind == EDDY__SCALAR) {
        elements = &out->as;
    } else {
        elements = out->as.tensor->data;
        n = out->as.tensor->count;
    }
    for (int64_t i = 0; i < n; i++) {
        if (out->dtype == EDDY_COMPLEX64)
            ((float *)elements)[2 * i + 1] = -((float *)elements)[2 * i + 1];
        else
            ((double *)elements)[2 * i + 1] = -((double *)elements)[2 * i + 1];
    }
    return EDDY_OK;
}

static eddy_status prepare_conjugate_transpose(eddy_infer *infer)
{
    EDDY_TRY(eddy__prepare_movable(infer));
    eddy_infer_set_kernel(
        infer, eddy__dtype_is_complex(eddy_infer_input_dtype(infer, 0))
                   ? run_conjugate_transpose
                   : run_transpose);
    return EDDY_OK;
}

static eddy_status infer_transpose(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape perm = eddy__infer_shape_argument(infer, 1);
    int32_t rank = of->rank >= 0 ? of->rank : perm.rank;
    eddy_shape shape;

    if (rank < 0)
        return EDDY_OK;
    shape = eddy__shape_of_rank(rank);
    for (int32_t d = 0; of->rank == perm.rank && d < rank; d++)
        if (perm.dims[d] >= 0 && perm.dims[d] < rank)
            shape.dims[d] = of->dims[perm.dims[d]];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- Reverse, ReverseV2 ---- */

static eddy_status read_axes(eddy_kernel *k, int32_t rank, uint32_t *out_mask)
{
    eddy_view view = eddy__in_view(k, 1);
    uint32_t mask = 0;
    int32_t axis;

    if (view.rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "axis must be a vector, but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    for (int64_t i = 0; i < view.count; i++) {
        EDDY_TRY(eddy__axis(k, eddy__view_index(&view, i), rank, &axis));
        if (mask >> axis & 1u)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "axis %d is there twice", axis);
        mask |= 1u << axis;
    }
    *out_mask = mask;
    return EDDY_OK;
}

/* Reverse says of each dimension whether it is turned. */
static eddy_status read_turned(eddy_kernel *k, int32_t rank, uint32_t *out_mask)
{
    const eddy_view view = eddy__in_view(k, 1);
    uint32_t mask = 0;

    if (view.rank != 1 || view.count != rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "dims must be a vector of %d, but it has shape %s",
                           (int)rank,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    for (int32_t d = 0; d < rank; d++)
        mask |= (uint32_t)((const bool *)view.data)[d] << d;
    *out_mask = mask;
    return EDDY_OK;
}

static eddy_status run_reverse(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    int64_t strides[EDDY_MAX_RANK], start = 0;
    eddy__box box = {.item = size};
    uint32_t mask = 0;

    /* As in TensorFlow, whatever the other input says. */
    if (of->rank == 0 || eddy__in_count(k, 0) == 0) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    if (eddy__in_dtype(k, 1) == EDDY_BOOL)
        EDDY_TRY(read_turned(k, of->rank, &mask));
    else
        EDDY_TRY(read_axes(k, of->rank, &mask));
    for (int32_t d = 0; d < of->rank; d++)
        if (of->dims[d] == 1)
            mask &= ~(1u << d);
    if (mask == 0) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    eddy__box_dense_strides(of, size, strides);
    for (int32_t d = 0; d < of->rank; d++) {
        bool turned = (mask >> d & 1u) != 0;

        if (turned)
            start += (of->dims[d] - 1) * strides[d];
        eddy__box_add(&box, of->dims[d], turned ? -strides[d] : strides[d],
                      strides[d]);
    }
    return copy_box(k, of, &box, start);
}

/* ---- Roll ---- */

/* How far each axis is rolled, in [0, dim). */
static eddy_status read_shifts(eddy_kernel *k, const eddy_shape *of,
                               int64_t *shifts)
{
    eddy_view shift = eddy__in_view(k, 1), axes = eddy__in_view(k, 2);
    int32_t axis;

    if (of->rank < 1 || shift.rank > 1 || shift.rank != axes.rank ||
        shift.count != axes.count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "shift and axis must be scalars, or vectors of one "
                           "length and the input at least a vector, but they "
                           "have shapes %s, %s and %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text,
                           eddy__shape_print(eddy__in_shape(k, 2)).text,
                           eddy__shape_print(of).text);
    memset(shifts, 0, EDDY_MAX_RANK * sizeof *shifts);
    for (int64_t i = 0; i < axes.count; i++) {
        int64_t dim, by;

        EDDY_TRY(eddy__axis(k, eddy__view_index(&axes, i), of->rank, &axis));
        dim = of->dims[axis] > 0 ? of->dims[axis] : 1;
        by = eddy__view_index(&shift, i) % dim;
        if (by < 0)
            by += dim;
        /* by < dim, and so is what is there: no overflow. */
        by -= dim - shifts[axis];
        shifts[axis] = by < 0 ? by + dim : by;
    }
    return EDDY_OK;
}

/*
 * A rolled axis is two pieces that change places; bit d of `piece` says which
 * one of axis d to copy.
 */
/* NOLINTNEXTLINE(readability-function-size): a kernel beside what it had. */
static void copy_piece(eddy_kernel *asker, const eddy_shape *of, size_t size,
                       const int64_t *shifts, uint32_t piece, unsigned char *to,
                       const unsigned char *from)
{
    eddy__box box = {.item = size};
    int64_t strides[EDDY_MAX_RANK];

    eddy__box_dense_strides(of, size, strides);
    for (int32_t d = 0; d < of->rank; d++) {
        int64_t tail = shifts[d], head = of->dims[d] - tail;

        if (piece >> d & 1u) {
            from += head * strides[d];
            eddy__box_add(&box, tail, strides[d], strides[d]);
        } else {
            to += tail * strides[d];
            eddy__box_add(&box, head, strides[d], strides[d]);
        }
    }
    eddy__box_copy(asker, &box, to, from);
}

static eddy_status run_roll(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    int64_t shifts[EDDY_MAX_RANK] = {0};
    uint32_t rolled = 0;
    unsigned char *out;

    EDDY_TRY(read_shifts(k, of, shifts));
    for (int32_t d = 0; d < of->rank; d++)
        if (shifts[d] > 0)
            rolled |= 1u << d;
    if (rolled == 0) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_elements(k, 0, dtype, of, &out));
    for (uint32_t piece = 0; piece < 1u << of->rank; piece++)
        if ((piece & ~rolled) == 0 && eddy__in_count(k, 0) > 0)
            copy_piece(eddy__asker(k, dtype), of, eddy__element_size(dtype),
                       shifts, piece, out, eddy__in_elements(k, 0));
    return eddy__elements_done(k, 0);
}

/* ---- _Roll ---- */

/* In bytes. */
typedef struct move {
    size_t block, shift;
} move;

typedef struct moving {
    unsigned char *to;
    const unsigned char *from;
    const move *by;
} moving;

static eddy_status prepare_moved(eddy_infer *infer)
{
    const int64_t block = eddy__infer_int(infer, "block");
    const int64_t shift = eddy__infer_int(infer, "shift");
    const size_t size = eddy_dtype_size(eddy_infer_input_dtype(infer, 0));
    move *made;

    if (size == 0 || block < 1 || block > INT32_MAX || shift < 0 ||
        shift > block)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "elements of no block of %" PRId64
                               " move on by %" PRId64,
                               block, shift);
    made = eddy__prepare_state(infer, sizeof *made);
    if (!made)
        return EDDY_RESOURCE_EXHAUSTED;
    *made = (move){(size_t)block * size, (size_t)shift * size};
    return EDDY_OK;
}

static eddy_status move_blocks(eddy_kernel *k, void *arg, int64_t begin,
                               int64_t end)
{
    const moving *m = arg;

    for (int64_t i = begin; i < end; i++) {
        const size_t rest = m->by->block - m->by->shift;
        unsigned char *to = m->to + (size_t)i * m->by->block;
        const unsigned char *from = m->from + (size_t)i * m->by->block;

        if (eddy__spent(k, (int64_t)(m->by->block / 8) + 8))
            break;
        memcpy(to, from + rest, m->by->shift);
        memcpy(to + m->by->shift, from, rest);
    }
    return EDDY_OK;
}

static eddy_status run_moved(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t n = (size_t)eddy__in_count(k, 0) * eddy_dtype_size(dtype);
    moving m = {.by = eddy__state(k), .from = eddy__in_elements(k, 0)};

    if (n % m.by->block != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%zu bytes are not blocks of %zu", n, m.by->block);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, eddy__in_shape(k, 0), &m.to));
    EDDY_TRY(eddy__parallel_for(k, (int64_t)(n / m.by->block),
                                eddy__grain((int64_t)(m.by->block / 8) + 8, 1),
                                move_blocks, &m));
    return eddy__elements_done(k, 0);
}

/* ---- Tile and BroadcastTo ---- */

static eddy_status tiled_shape(eddy_kernel *k, const eddy_shape *of,
                               const eddy_view *multiples, eddy_shape *out)
{
    out->rank = of->rank;
    for (int32_t d = 0; d < of->rank; d++) {
        int64_t m = eddy__view_index(multiples, d);

        if (m < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "expected multiples[%d] >= 0, but got %" PRId64,
                               d, m);
        if (__builtin_mul_overflow(of->dims[d], m, &out->dims[d]))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "dimension %d would be %" PRId64
                               " times %" PRId64 ", which is too long",
                               d, m, of->dims[d]);
    }
    return EDDY_OK;
}

static eddy_status run_tile(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK];
    eddy__box box = {.item = size};
    eddy_view multiples;
    eddy_shape shape = {.rank = 0};

    EDDY_TRY(eddy__vector_argument(k, 1, "multiples", of->rank, &multiples));
    EDDY_TRY(tiled_shape(k, of, &multiples, &shape));
    if (eddy__shape_equal(of, &shape)) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    eddy__box_dense_strides(of, size, from);
    eddy__box_dense_strides(&shape, size, to);
    for (int32_t d = 0; d < of->rank; d++) {
        if (of->dims[d] == 0)
            continue;
        eddy__box_add(&box, shape.dims[d] / of->dims[d], 0,
                      of->dims[d] * to[d]);
        eddy__box_add(&box, of->dims[d], from[d], to[d]);
    }
    return copy_box(k, &shape, &box, 0);
}

static eddy_status infer_tile(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__infer_shape_argument(infer, 1);

    if (shape.rank < 0 && of->rank >= 0)
        shape = eddy__shape_of_rank(of->rank);
    for (int32_t d = 0; d < shape.rank; d++)
        if (of->rank != shape.rank || of->dims[d] < 0 || shape.dims[d] < 0 ||
            __builtin_mul_overflow(shape.dims[d], of->dims[d], &shape.dims[d]))
            shape.dims[d] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static bool broadcasts_to(const eddy_shape *of, const eddy_shape *to)
{
    int32_t more = to->rank - of->rank;

    if (more < 0)
        return false;
    for (int32_t d = 0; d < of->rank; d++)
        if (of->dims[d] != 1 && of->dims[d] != to->dims[d + more])
            return false;
    return true;
}

static eddy_status run_broadcast(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK];
    eddy_view argument = eddy__in_view(k, 1);
    eddy__box box = {.item = size};
    eddy_shape shape;

    EDDY_TRY(eddy__shape_from_view(k, &argument, 0, &shape));
    if (!broadcasts_to(of, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "shape %s does not broadcast to %s",
                           eddy__shape_print(of).text,
                           eddy__shape_print(&shape).text);
    if (eddy__shape_equal(of, &shape)) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    eddy__box_dense_strides(of, size, from);
    eddy__box_dense_strides(&shape, size, to);
    for (int32_t d = 0; d < shape.rank; d++) {
        int32_t own = d - (shape.rank - of->rank);

        eddy__box_add(&box, shape.dims[d],
                      own < 0 || of->dims[own] == 1 ? 0 : from[own], to[d]);
    }
    return copy_box(k, &shape, &box, 0);
}

static eddy_status infer_broadcast_to(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 1);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- InvertPermutation ---- */

#define DEFINE_INVERT(type)                                                    \
    static eddy_status run_invert_##type(eddy_kernel *k)                       \
    {                                                                          \
        eddy_view x = eddy__in_view(k, 0);                                     \
        const type##_t *from = x.data;                                         \
        unsigned char *out;                                                    \
        type##_t *to;                                                          \
                                                                               \
        if (x.rank != 1)                                                       \
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,          \
                               "a permutation must be a vector");              \
        EDDY_TRY(                                                              \
            eddy__output_elements(k, 0, x.dtype, eddy__in_shape(k, 0), &out)); \
        to = (type##_t *)(void *)out;                                          \
        for (int64_t i = 0; i < x.count && !eddy__spent_at(k, i); i++)         \
            to[i] = -1;                                                        \
        EDDY_TRY(eddy__go_on(k, 0));                                           \
        for (int64_t i = 0; i < x.count; i++) {                                \
            int64_t at = from[i];                                              \
                                                                               \
            if (at < 0 || at >= x.count)                                       \
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,     \
                                   "x[%" PRId64 "] = %" PRId64                 \
                                   " is not in [0, %" PRId64 ")",              \
                                   i, at, x.count);                            \
            if (to[at] != -1)                                                  \
                return eddy__kfail(                                            \
                    k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,                    \
                    "x[%" PRId64 "] = %" PRId64 " is there twice", i, at);     \
            to[at] = (type##_t)i;                                              \
            if (eddy__spent_at(k, i))                                          \
                break;                                                         \
        }                                                                      \
        return EDDY_OK;                                                        \
    }

DEFINE_INVERT(int32)
DEFINE_INVERT(int64)

static eddy_status prepare_invert(eddy_infer *infer)
{
    eddy_infer_set_kernel(infer, eddy_infer_output_dtype(infer, 0) == EDDY_INT32
                                     ? run_invert_int32
                                     : run_invert_int64);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Transpose", .inputs = "x: T, perm: Tperm", .outputs = "y: T",
                 .attrs = "T: type, Tperm: index = int32",
                 .infer = infer_transpose, .kernel = run_transpose,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The input with its dimensions in another order."),
    EDDY__OP_ROW(
        "ConjugateTranspose", .inputs = "x: T, perm: Tperm", .outputs = "y: T",
        .attrs = "T: type, Tperm: index = int32", .infer = infer_transpose,
        .prepare = prepare_conjugate_transpose,
        .doc =
            "The conjugate of the input with its dimensions in another order."),
    EDDY__OP_ROW(
        "Reverse", .inputs = "tensor: T, dims: bool", .outputs = "output: T",
        .attrs = "T: type", .infer = eddy__infer_unchanged,
        .kernel = run_reverse, .prepare = eddy__prepare_arranged,
        .doc = "The input backwards along the dimensions that dims says."),
    EDDY__OP_ROW(
        "ReverseV2", .inputs = "tensor: T, axis: Tidx", .outputs = "output: T",
        .attrs = "Tidx: index = int32, T: type", .infer = eddy__infer_unchanged,
        .kernel = run_reverse, .prepare = eddy__prepare_arranged,
        .doc = "The input backwards along some dimensions."),
    EDDY__OP_ROW("Roll", .inputs = "input: T, shift: Tshift, axis: Taxis",
                 .outputs = "output: T",
                 .attrs = "T: type, Tshift: index, Taxis: index",
                 .infer = eddy__infer_unchanged, .kernel = run_roll,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The input moved on along dimensions, end to start."),
    EDDY__OP_ROW_OF(
        EDDY__ROLL, "eddy", .inputs = "input: T", .outputs = "output: T",
        .attrs = "T: type, block: int, shift: int, members: int = 1",
        .infer = eddy__infer_unchanged, .kernel = run_moved,
        .prepare = prepare_moved, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The input with the elements of each block moved on, "
               "end to start. Plans make it."),
    EDDY__OP_ROW("Tile", .inputs = "input: T, multiples: Tmultiples",
                 .outputs = "output: T",
                 .attrs = "T: type, Tmultiples: index = int32",
                 .infer = infer_tile, .kernel = run_tile,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The input repeated along each dimension."),
    EDDY__OP_ROW("BroadcastTo", .inputs = "input: T, shape: Tidx",
                 .outputs = "output: T",
                 .attrs = "T: type, Tidx: index = int32",
                 .infer = infer_broadcast_to, .kernel = run_broadcast,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The input repeated to a shape it broadcasts to."),
    EDDY__OP_ROW("InvertPermutation", .inputs = "x: T", .outputs = "y: T",
                 .attrs = "T: index = int32", .infer = eddy__infer_unchanged,
                 .prepare = prepare_invert, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The permutation that undoes x."),
};

const eddy__op_table eddy__permute_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of a tensor's space that go to its batch, and back: SpaceToBatchND,
 * SpaceToBatch and their inverses.
 *
 * Both directions are the same geometry: position q of block offset j along a
 * dimension of the batch side is position q * block + j of the space with its
 * edges, which are paddings on the way there and crops on the way back.
 */
#include "ops/array/box.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* `n` dimensions from 1 on are cut; `product` is that of the block. */
typedef struct blocks {
    int32_t n;
    int64_t block[EDDY_MAX_RANK], before[EDDY_MAX_RANK], behind[EDDY_MAX_RANK];
    int64_t product;
} blocks;

static eddy_status too_large(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                       "the blocks or the paddings are too large");
}

/* The block from an attribute, or from input 1. */
static eddy_status read_block(eddy_kernel *k, blocks *b)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const int64_t *size = eddy__state(k);
    const eddy_view view = eddy__in_view(k, 1);

    if (size ? of->rank != 4 : view.rank != 1 || view.count >= of->rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "an input of shape %s can't be cut by a block of "
                           "shape %s behind its first dimension",
                           eddy__shape_print(of).text,
                           size ? "[2]"
                                : eddy__shape_print(eddy__in_shape(k, 1)).text);
    b->n = size ? 2 : (int32_t)view.count;
    b->product = 1;
    for (int32_t d = 0; d < b->n; d++) {
        b->block[d] = size ? *size : eddy__view_index(&view, d);
        if (b->block[d] < 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "block_shape[%d] = %" PRId64 " is below 1", d,
                               b->block[d]);
        if (__builtin_mul_overflow(b->product, b->block[d], &b->product))
            return too_large(k);
    }
    return EDDY_OK;
}

/* What the last input says is before and behind each dimension that is cut. */
static eddy_status read_edges(eddy_kernel *k, const char *what, blocks *b)
{
    const uint32_t last = k->node->n_in - 1;
    const eddy_view view = eddy__in_view(k, last);

    if (view.rank != 2 || view.dims[0] != b->n || view.dims[1] != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%s must have shape [%d,2], but it has %s", what,
                           b->n,
                           eddy__shape_print(eddy__in_shape(k, last)).text);
    for (int32_t d = 0; d < b->n; d++) {
        b->before[d] = eddy__view_index(&view, 2 * (int64_t)d);
        b->behind[d] = eddy__view_index(&view, 2 * (int64_t)d + 1);
        if (b->before[d] < 0 || b->behind[d] < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "%s must not be negative, but those of "
                               "dimension %d are %" PRId64 " and %" PRId64,
                               what, d + 1, b->before[d], b->behind[d]);
    }
    return EDDY_OK;
}

/* The space with edges, in blocks: how many stand along a dimension. */
static eddy_status batch_shape(eddy_kernel *k, const blocks *b,
                               const eddy_shape *space, eddy_shape *out)
{
    *out = *space;
    if (__builtin_mul_overflow(space->dims[0], b->product, &out->dims[0]))
        return too_large(k);
    for (int32_t d = 0; d < b->n; d++) {
        int64_t *dim = &out->dims[d + 1];

        if (__builtin_add_overflow(*dim, b->before[d], dim) ||
            __builtin_add_overflow(*dim, b->behind[d], dim))
            return too_large(k);
        if (*dim % b->block[d] != 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "dimension %d is %" PRId64 " with its paddings, "
                               "which blocks of %" PRId64 " do not divide",
                               d + 1, *dim, b->block[d]);
        *dim /= b->block[d];
    }
    return EDDY_OK;
}

/* The same the other way round. */
static eddy_status space_shape(eddy_kernel *k, const blocks *b,
                               const eddy_shape *batch, eddy_shape *out)
{
    *out = *batch;
    if (batch->dims[0] % b->product != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "a batch of %" PRId64 " can't be dealt out to "
                           "blocks of %" PRId64,
                           batch->dims[0], b->product);
    out->dims[0] /= b->product;
    for (int32_t d = 0; d < b->n; d++) {
        int64_t *dim = &out->dims[d + 1];

        if (__builtin_mul_overflow(*dim, b->block[d], dim))
            return too_large(k);
        if (b->before[d] > *dim || b->behind[d] > *dim - b->before[d])
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "crops of %" PRId64 " and %" PRId64
                               " are more than dimension %d has, %" PRId64,
                               b->before[d], b->behind[d], d + 1, *dim);
        *dim -= b->before[d] + b->behind[d];
    }
    return EDDY_OK;
}

/* The two sides of a copy: shapes and strides of the space and the batch. */
typedef struct sides {
    const eddy_shape *space, *batch;
    int64_t in_space[EDDY_MAX_RANK], in_batch[EDDY_MAX_RANK];
    bool to_batch;
    unsigned char *to;
    const unsigned char *from;
} sides;

static void add(const sides *s, eddy__box *box, int64_t dim, int64_t space,
                int64_t batch)
{
    if (s->to_batch)
        eddy__box_add(box, dim, space, batch);
    else
        eddy__box_add(box, dim, batch, space);
}

/* The part of the space that block offset number `j` stands for. */
static void copy_offset(eddy_kernel *asker, const blocks *b, const sides *s,
                        size_t size, int64_t j)
{
    int64_t rest = j, product = b->product, space = 0;
    int64_t batch = j * s->space->dims[0] * s->in_batch[0];
    eddy__box box = {.item = size};

    add(s, &box, s->space->dims[0], s->in_space[0], s->in_batch[0]);
    for (int32_t d = 0; d < b->n; d++) {
        const int64_t block = b->block[d];
        int64_t edge, first, end;

        product /= block;
        edge = b->before[d] - rest / product; /* offset 0 is at -edge */
        rest %= product;
        first = edge > 0 ? (edge + block - 1) / block : 0;
        end = s->space->dims[d + 1] + edge;
        end = end > 0 ? (end + block - 1) / block : 0;
        if (end > s->batch->dims[d + 1])
            end = s->batch->dims[d + 1];
        if (end <= first)
            return;
        space += (first * block - edge) * s->in_space[d + 1];
        batch += first * s->in_batch[d + 1];
        add(s, &box, end - first, block * s->in_space[d + 1],
            s->in_batch[d + 1]);
    }
    for (int32_t d = b->n + 1; d < s->space->rank; d++)
        add(s, &box, s->space->dims[d], s->in_space[d], s->in_batch[d]);
    eddy__box_copy(asker, &box, s->to + (s->to_batch ? batch : space),
                   s->from + (s->to_batch ? space : batch));
}

static eddy_status copy_blocks(eddy_kernel *k, const blocks *b, sides *s)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    const eddy_tensor *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype,
                                   s->to_batch ? s->batch : s->space, &s->to));
    out = eddy__out(k, 0)->as.tensor;
    if (out->count > 0)
        eddy__zero_bytes(eddy__asker(k, dtype), s->to, /* the paddings */
                         (size_t)out->count * size);
    if (out->count > 0 && eddy__in_count(k, 0) > 0) {
        s->from = eddy__in_elements(k, 0);
        eddy__box_dense_strides(s->space, size, s->in_space);
        eddy__box_dense_strides(s->batch, size, s->in_batch);
        for (int64_t j = 0; j < b->product; j++)
            copy_offset(eddy__asker(k, dtype), b, s, size, j);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_to_batch(eddy_kernel *k)
{
    const eddy_shape *space = eddy__in_shape(k, 0);
    eddy_shape batch;
    sides s = {.space = space, .batch = &batch, .to_batch = true};
    blocks b = {.n = 0};

    EDDY_TRY(read_block(k, &b));
    EDDY_TRY(read_edges(k, "paddings", &b));
    EDDY_TRY(batch_shape(k, &b, space, &batch));
    return copy_blocks(k, &b, &s);
}

static eddy_status run_to_space(eddy_kernel *k)
{
    const eddy_shape *batch = eddy__in_shape(k, 0);
    eddy_shape space;
    sides s = {.space = &space, .batch = batch, .to_batch = false};
    blocks b = {.n = 0};

    EDDY_TRY(read_block(k, &b));
    EDDY_TRY(read_edges(k, "crops", &b));
    EDDY_TRY(space_shape(k, &b, batch, &space));
    return copy_blocks(k, &b, &s);
}

/* How many dimensions are cut; negative if that is unknown. */
static int32_t infer_cut(const eddy_infer *infer)
{
    const eddy_shape *block = eddy_infer_input(infer, 1);
    const int32_t rank = eddy_infer_input(infer, 0)->rank;

    if (eddy_infer_inputs(infer) == 2)
        return rank == 4 ? 2 : -1;
    if (block->rank != 1 || block->dims[0] < 0 || block->dims[0] >= rank)
        return -1;
    return (int32_t)block->dims[0];
}

static bool infer_block(const eddy_infer *infer, int32_t d, int64_t *out)
{
    if (eddy_infer_inputs(infer) > 2)
        return eddy__infer_constant_int(infer, 1, d, out) && *out >= 1;
    *out = eddy__infer_int(infer, "block_size");
    return *out >= 1;
}

/* A dimension with its edges, before and behind, added or taken away. */
static int64_t infer_dim(const eddy_infer *infer, int32_t d, int64_t dim,
                         bool to_batch)
{
    const uint32_t last = eddy_infer_inputs(infer) - 1;
    int64_t before, behind, block;

    if (dim < 0 || !infer_block(infer, d, &block) ||
        !eddy__infer_constant_int(infer, last, 2 * (int64_t)d, &before) ||
        !eddy__infer_constant_int(infer, last, 2 * (int64_t)d + 1, &behind) ||
        before < 0 || behind < 0 ||
        __builtin_add_overflow(before, behind, &before))
        return -1;
    if (to_batch)
        return __builtin_add_overflow(dim, before, &dim) ? -1 : dim / block;
    if (__builtin_mul_overflow(dim, block, &dim) || dim < before)
        return -1;
    return dim - before;
}

static eddy_status infer_blocks(eddy_infer *infer, bool to_batch)
{
    const int32_t n = infer_cut(infer);
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = *of;
    int64_t block, product = of->rank > 0 && of->dims[0] >= 0 ? 1 : -1;

    if (of->rank < 0)
        return EDDY_OK;
    if (n < 0) {
        shape = eddy__shape_of_rank(of->rank);
        eddy_infer_set_output(infer, 0, &shape);
        return EDDY_OK;
    }
    for (int32_t d = 0; d < n; d++) {
        shape.dims[d + 1] = infer_dim(infer, d, of->dims[d + 1], to_batch);
        if (product > 0 && (!infer_block(infer, d, &block) ||
                            __builtin_mul_overflow(product, block, &product)))
            product = -1;
    }
    if (product < 1 || (to_batch && __builtin_mul_overflow(product, of->dims[0],
                                                           &shape.dims[0])))
        shape.dims[0] = -1;
    else if (!to_batch)
        shape.dims[0] = of->dims[0] / product;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_to_batch(eddy_infer *infer)
{
    return infer_blocks(infer, true);
}

static eddy_status infer_to_space(eddy_infer *infer)
{
    return infer_blocks(infer, false);
}

/* The kernel reads the size of the block from the state. */
static eddy_status prepare_size(eddy_infer *infer)
{
    int64_t *size;

    EDDY_TRY(eddy__prepare_movable(infer));
    size = eddy__prepare_state(infer, sizeof *size);
    if (!size)
        return EDDY_RESOURCE_EXHAUSTED;
    *size = eddy__infer_int(infer, "block_size");
    return EDDY_OK;
}

#define INDEXED "T: type, Tblock_shape: index = int32, "

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "SpaceToBatchND",
        .inputs = "input: T, block_shape: Tblock_shape, paddings: Tpaddings",
        .outputs = "output: T", .attrs = INDEXED "Tpaddings: index = int32",
        .infer = infer_to_batch, .kernel = run_to_batch,
        .prepare = eddy__prepare_movable,
        .doc = "Each position in blocks of the padded space as a batch of its "
               "own."),
    EDDY__OP_ROW("BatchToSpaceND",
                 .inputs = "input: T, block_shape: Tblock_shape, crops: Tcrops",
                 .outputs = "output: T",
                 .attrs = INDEXED "Tcrops: index = int32",
                 .infer = infer_to_space, .kernel = run_to_space,
                 .prepare = eddy__prepare_movable,
                 .doc = "Batches as positions in blocks of a space, which is "
                        "then cropped."),
    EDDY__OP_ROW("SpaceToBatch", .inputs = "input: T, paddings: Tpaddings",
                 .outputs = "output: T",
                 .attrs =
                     "T: type, Tpaddings: index = int32, block_size: int >= 2",
                 .infer = infer_to_batch, .kernel = run_to_batch,
                 .prepare = prepare_size,
                 .doc = "SpaceToBatchND of images and square blocks."),
    EDDY__OP_ROW("BatchToSpace", .inputs = "input: T, crops: Tidx",
                 .outputs = "output: T",
                 .attrs = "T: type, block_size: int >= 2, Tidx: index = int32",
                 .infer = infer_to_space, .kernel = run_to_space,
                 .prepare = prepare_size,
                 .doc = "BatchToSpaceND of images and square blocks."),
};

const eddy__op_table eddy__blocks_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of an image that go to its depth, and back: SpaceToDepth and
 * DepthToSpace.
 */
#include "ops/array/box.h"
#include "ops/math/elements.h"
#include "ops/nn/window.h"
#include "ops/ops.h"

#include <inttypes.h>

/* The axes of an image by its format; the width's follows the height's. */
typedef struct state {
    int64_t block;
    int32_t height, channels;
} state;

/* The shape with blocks in the depth; false if they do not fit. */
static bool depth_shape(const eddy_shape *of, const state *s, eddy_shape *out)
{
    *out = *of;
    for (int32_t d = s->height; d < s->height + 2; d++) {
        if (of->dims[d] % s->block != 0)
            return false;
        out->dims[d] /= s->block;
    }
    return !__builtin_mul_overflow(of->dims[s->channels], s->block,
                                   &out->dims[s->channels]) &&
           !__builtin_mul_overflow(out->dims[s->channels], s->block,
                                   &out->dims[s->channels]);
}

static bool space_shape(const eddy_shape *of, const state *s, eddy_shape *out)
{
    int64_t *channels = &out->dims[s->channels];

    *out = *of;
    for (int32_t d = s->height; d < s->height + 2; d++)
        if (__builtin_mul_overflow(of->dims[d], s->block, &out->dims[d]))
            return false;
    if (*channels % s->block != 0 || *channels / s->block % s->block != 0)
        return false;
    *channels = *channels / s->block / s->block;
    return true;
}

typedef struct strides {
    int64_t of[EDDY_MAX_RANK];
} strides;

/*
 * Offset (i, j) in a block of `c` channels is channel (i * block + j) * c + its
 * own on the deep side.
 */
static void copy(const state *s, const eddy_shape *deep, const strides *in_deep,
                 const strides *in_space, bool to_deep, eddy__box *box)
{
    const int64_t b = s->block, c = deep->dims[s->channels] / b / b;
    const int64_t channel = in_deep->of[s->channels];
    const int32_t h = s->height, w = h + 1;
    const int64_t rows[6][3] = {
        {deep->dims[0], in_deep->of[0], in_space->of[0]},
        {deep->dims[h], in_deep->of[h], b * in_space->of[h]},
        {b, b * c * channel, in_space->of[h]},
        {deep->dims[w], in_deep->of[w], b * in_space->of[w]},
        {b, c * channel, in_space->of[w]},
        {c, channel, in_space->of[s->channels]},
    };

    for (int i = 0; i < 6; i++)
        eddy__box_add(box, rows[i][0], rows[i][to_deep ? 2 : 1],
                      rows[i][to_deep ? 1 : 2]);
}

static eddy_status run(eddy_kernel *k, bool to_deep)
{
    const state *s = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__box box = {.item = eddy__element_size(dtype)};
    strides from, to;
    unsigned char *out;
    eddy_shape shape;

    if (of->rank != 4 ||
        !(to_deep ? depth_shape(of, s, &shape) : space_shape(of, s, &shape)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "an input of shape %s can't be taken apart by "
                           "blocks of %" PRId64,
                           eddy__shape_print(of).text, s->block);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__in_count(k, 0) > 0) {
        eddy__box_dense_strides(of, box.item, from.of);
        eddy__box_dense_strides(&shape, box.item, to.of);
        if (to_deep)
            copy(s, &shape, &to, &from, true, &box);
        else
            copy(s, of, &from, &to, false, &box);
        eddy__box_copy(eddy__asker(k, dtype), &box, out,
                       eddy__in_elements(k, 0));
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_to_depth(eddy_kernel *k)
{
    return run(k, true);
}

static eddy_status run_to_space(eddy_kernel *k)
{
    return run(k, false);
}

static bool read_state(const eddy_infer *infer, state *s)
{
    bool is_nchw;

    s->block = eddy__infer_int(infer, "block_size");
    if (!eddy__window_read_format(infer, &is_nchw))
        return false;
    s->height = is_nchw ? 2 : 1;
    s->channels = is_nchw ? 1 : 3;
    return true;
}

static eddy_status prepare(eddy_infer *infer)
{
    state *s;

    EDDY_TRY(eddy__prepare_movable(infer));
    s = eddy__prepare_state(infer, sizeof *s);
    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    if (read_state(infer, s))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "data_format must be NHWC or NCHW");
}

/* Each dimension by itself; what does not fit is left to the kernel. */
static eddy_status infer_either(eddy_infer *infer, bool to_deep)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape whole, shape = eddy__shape_of_rank(4);
    state s;

    if (of->rank >= 0 && of->rank != 4)
        return EDDY_OK;
    if (of->rank == 4 && read_state(infer, &s)) {
        whole = *of;
        for (int32_t d = 0; d < 4; d++)
            if (of->dims[d] < 0)
                whole.dims[d] = 0;
        if (!(to_deep ? depth_shape(&whole, &s, &shape)
                      : space_shape(&whole, &s, &shape)))
            shape = eddy__shape_of_rank(4);
        for (int32_t d = 0; d < 4; d++)
            if (of->dims[d] < 0)
                shape.dims[d] = -1;
    }
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_to_depth(eddy_infer *infer)
{
    return infer_either(infer, true);
}

static eddy_status infer_to_space(eddy_infer *infer)
{
    return infer_either(infer, false);
}

#define DEPTH(name, shapes, run, text)                                         \
    EDDY__OP_ROW(                                                              \
        name, .inputs = "input: T", .outputs = "output: T",                    \
        .attrs =                                                               \
            "T: type, block_size: int >= 2, data_format: string = 'NHWC'",     \
        .infer = shapes, .kernel = run, .prepare = prepare, .doc = text)

static const eddy_op_spec specs[] = {
    DEPTH("SpaceToDepth", infer_to_depth, run_to_depth,
          "The positions in each square block of an image as channels."),
    DEPTH("DepthToSpace", infer_to_space, run_to_space,
          "Channels as the positions in square blocks of an image."),
};

const eddy__op_table eddy__depth_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

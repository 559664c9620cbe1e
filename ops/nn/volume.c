/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the windows of volumes from attributes, and says where they lie. */
#include "ops/nn/volume.h"

#include "ops/math/elements.h"

#include <inttypes.h>

/* Where TensorFlow's dimensions are: the batch, three sides, channels. */
enum { BATCH, FIRST_SIDE, CHANNELS = 4 };

static int32_t place_of(int32_t what, bool is_ncdhw)
{
    if (!is_ncdhw || what == BATCH)
        return what;
    return what == CHANNELS ? 1 : what + 1;
}

/* ---- attributes ---- */

/* Five positive numbers, in the order of the enumeration; ones if absent. */
static eddy_status read_five(eddy_infer *infer, const char *name, bool is_ncdhw,
                             int64_t out[EDDY__VOLUME_RANK])
{
    eddy_attr attr;
    const bool is_there = eddy_infer_attr(infer, name, &attr);

    if (is_there && attr.n != EDDY__VOLUME_RANK)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "%s must have 5 entries, but it has %zu", name,
                               attr.n);
    for (int32_t i = 0; i < EDDY__VOLUME_RANK; i++) {
        const int32_t at = place_of(i, is_ncdhw);

        out[i] = is_there ? attr.as.ints[at] : 1;
        if (out[i] < 1 || out[i] > INT32_MAX)
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                "entry %d of %s must be a positive int32, but it is %" PRId64,
                (int)at, name, out[i]);
    }
    if (out[BATCH] == 1 && out[CHANNELS] == 1)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
                           "%s over the batch or the channels are not "
                           "supported",
                           name);
}

static eddy_status read_texts(eddy_infer *infer, eddy__cubes *out)
{
    eddy_attr attr;

    *out = (eddy__cubes){.padding = EDDY__PADDING_VALID};
    if (eddy_infer_attr(infer, "data_format", &attr)) {
        out->is_ncdhw = eddy__window_text_is(attr.as.strings, "NCDHW");
        if (!out->is_ncdhw && !eddy__window_text_is(attr.as.strings, "NDHWC"))
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_ATTR_VALUE,
                                   "data_format must be NDHWC or NCDHW");
    }
    if (!eddy_infer_attr(infer, "padding", &attr) ||
        eddy__window_text_is(attr.as.strings, "VALID"))
        return EDDY_OK;
    out->padding = EDDY__PADDING_SAME;
    if (eddy__window_text_is(attr.as.strings, "SAME"))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "padding must be SAME or VALID");
}

eddy_status eddy__cubes_read(eddy_infer *infer, eddy__cubes *out)
{
    int64_t sizes[EDDY__VOLUME_RANK], strides[EDDY__VOLUME_RANK];
    int64_t dilations[EDDY__VOLUME_RANK];

    EDDY_TRY(read_texts(infer, out));
    EDDY_TRY(read_five(infer, "ksize", out->is_ncdhw, sizes));
    EDDY_TRY(read_five(infer, "strides", out->is_ncdhw, strides));
    EDDY_TRY(read_five(infer, "dilations", out->is_ncdhw, dilations));
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        out->sides[side] = (eddy__slide){
            .size = sizes[FIRST_SIDE + side],
            .stride = strides[FIRST_SIDE + side],
            .dilation = dilations[FIRST_SIDE + side],
        };
    return EDDY_OK;
}

eddy_status eddy__cubes_prepare(eddy_infer *infer)
{
    eddy__cubes *state = eddy__prepare_state(infer, sizeof *state);

    return state ? eddy__cubes_read(infer, state) : EDDY_RESOURCE_EXHAUSTED;
}

/* ---- shapes ---- */

/* Shapes that no tensor has are looked at too; then steps mean nothing. */
static int64_t wrapped_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

eddy__volumes eddy__volumes_of(const eddy_shape *shape, bool is_ncdhw)
{
    eddy__volumes v = {.n = shape->dims[BATCH],
                       .channels = shape->dims[place_of(CHANNELS, is_ncdhw)]};
    int64_t step;

    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        v.sides[side] = shape->dims[place_of(FIRST_SIDE + side, is_ncdhw)];
    step = is_ncdhw ? 1 : v.channels;
    for (int32_t side = EDDY__VOLUME_SIDES - 1; side >= 0; side--) {
        v.steps[side] = step;
        step = wrapped_product(step, v.sides[side]);
    }
    v.step_channel = is_ncdhw ? step : 1;
    v.step_volume = is_ncdhw ? wrapped_product(step, v.channels) : step;
    return v;
}

eddy_shape eddy__volumes_shape(int64_t n, const int64_t *sides,
                               int64_t channels, bool is_ncdhw)
{
    eddy_shape shape = {.rank = EDDY__VOLUME_RANK, .dims = {n}};

    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        shape.dims[place_of(FIRST_SIDE + side, is_ncdhw)] = sides[side];
    shape.dims[place_of(CHANNELS, is_ncdhw)] = channels;
    return shape;
}

/* ---- windows ---- */

static bool side_of(const eddy__cubes *cubes, int32_t side, int64_t in,
                    int64_t size, eddy__side *out)
{
    const eddy__windows one = {.padding = cubes->padding,
                               .sides = {cubes->sides[side]}};

    return eddy__side_of(&one, 0, in, size, out);
}

#define NEGATIVE                                                               \
    "there is no room for a window of size %" PRId64                           \
    " along dimension %d, of size %" PRId64

eddy_status eddy__cubes_lie(eddy_kernel *k, const eddy__cubes *cubes,
                            const eddy__volumes *in, const int64_t *sizes,
                            eddy__side *out)
{
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        if (!side_of(cubes, side, in->sides[side], sizes[side], &out[side]))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM, NEGATIVE, sizes[side],
                (int)place_of(FIRST_SIDE + side, cubes->is_ncdhw),
                in->sides[side]);
    return EDDY_OK;
}

eddy_status eddy__infer_cubes(eddy_infer *infer, const eddy__cubes *cubes,
                              const eddy__volumes *in, const int64_t *sizes,
                              int64_t *out)
{
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++) {
        eddy__side s;

        out[side] = -1;
        if (in->sides[side] < 0 || sizes[side] < 0)
            continue;
        if (!side_of(cubes, side, in->sides[side], sizes[side], &s))
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_DIM, NEGATIVE, sizes[side],
                (int)place_of(FIRST_SIDE + side, cubes->is_ncdhw),
                in->sides[side]);
        out[side] = s.out;
    }
    return EDDY_OK;
}

eddy__cube eddy__cube_at(const eddy__volumes *in, const eddy__volumes *out,
                         const eddy__side *sides, int64_t i)
{
    eddy__cube cube = {.origin = 0};

    for (int32_t side = EDDY__VOLUME_SIDES - 1; side >= 0; side--) {
        const int64_t at = i % sides[side].out;

        i /= sides[side].out;
        eddy__side_inside(&sides[side], at, &cube.first[side], &cube.end[side]);
        cube.origin += eddy__side_start(&sides[side], at) * in->steps[side];
        cube.out += at * out->steps[side];
    }
    cube.origin += i * in->step_volume;
    cube.out += i * out->step_volume;
    return cube;
}

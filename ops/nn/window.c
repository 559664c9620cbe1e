/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads strides, paddings and formats from attributes or inputs, and works out
 * where windows lie, in kernels and in shape functions.
 */
#include "ops/nn/window.h"

#include "ops/math/elements.h"

#include <inttypes.h>
#include <string.h>

/* ---- attributes ---- */

/* Where TensorFlow's dimensions are in lists of four. */
enum { BATCH, ROWS, COLUMNS, CHANNELS };

static int32_t place_of(int32_t what, bool is_nchw)
{
    static const int32_t nchw[] = {0, 2, 3, 1};

    return is_nchw ? nchw[what] : what;
}

bool eddy__window_text_is(const eddy_string *text, const char *what)
{
    return text->length == strlen(what) &&
           memcmp(text->data, what, text->length) == 0;
}

bool eddy__window_read_format(const eddy_infer *infer, bool *out_is_nchw)
{
    eddy_attr format;

    *out_is_nchw = false;
    if (!eddy_infer_attr(infer, "data_format", &format))
        return true;
    *out_is_nchw = eddy__window_text_is(format.as.strings, "NCHW");
    return *out_is_nchw || eddy__window_text_is(format.as.strings, "NHWC");
}

/* Four numbers, in the order of the enumeration. */
typedef struct quad {
    int64_t of[4];
} quad;

static quad in_order(const int64_t *values, bool is_nchw)
{
    quad q;

    for (int32_t i = 0; i < 4; i++)
        q.of[i] = values[place_of(i, is_nchw)];
    return q;
}

/* A list of four positive numbers; ones if the op has no such attribute. */
static eddy_status read_quad(eddy_infer *infer, const char *name, bool is_nchw,
                             quad *out)
{
    eddy_attr attr;

    *out = (quad){{1, 1, 1, 1}};
    if (!eddy_infer_attr(infer, name, &attr))
        return EDDY_OK;
    if (attr.n != 4)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "%s must have 4 entries, but it has %zu", name,
                               attr.n);
    *out = in_order(attr.as.ints, is_nchw);
    for (int32_t i = 0; i < 4; i++)
        if (out->of[i] < 1 || out->of[i] > INT32_MAX)
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                "entry %d of %s must be a positive int32, but it is %" PRId64,
                place_of(i, is_nchw), name, out->of[i]);
    return EDDY_OK;
}

static eddy_status read_explicit(eddy_infer *infer, eddy__windows *w)
{
    eddy_attr attr;
    bool is_given = eddy_infer_attr(infer, "explicit_paddings", &attr);
    const size_t want = w->padding == EDDY__PADDING_EXPLICIT ? 8 : 0;
    const size_t got = is_given ? attr.n : 0;

    if (got != want)
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
            "explicit_paddings must have %zu entries, but it has %zu", want,
            got);
    for (size_t i = 0; i < got; i++) {
        const bool is_side = i / 2 == (size_t)place_of(ROWS, w->is_nchw) ||
                             i / 2 == (size_t)place_of(COLUMNS, w->is_nchw);

        if (attr.as.ints[i] < 0 || attr.as.ints[i] > INT32_MAX ||
            (attr.as.ints[i] != 0 && !is_side))
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                "explicit_paddings must not be negative, and 0 but for rows "
                "and columns; entry %zu is %" PRId64,
                i, attr.as.ints[i]);
    }
    for (int32_t side = 0; got > 0 && side < 2; side++) {
        const int32_t at = 2 * place_of(ROWS + side, w->is_nchw);

        w->sides[side].before = attr.as.ints[at];
        w->sides[side].behind = attr.as.ints[at + 1];
    }
    return EDDY_OK;
}

static eddy_status read_padding(eddy_infer *infer, eddy__windows *w)
{
    eddy_attr attr;

    if (eddy_infer_attr(infer, "padding", &attr)) {
        if (eddy__window_text_is(attr.as.strings, "SAME"))
            w->padding = EDDY__PADDING_SAME;
        else if (eddy__window_text_is(attr.as.strings, "VALID"))
            w->padding = EDDY__PADDING_VALID;
        else if (eddy__window_text_is(attr.as.strings, "EXPLICIT"))
            w->padding = EDDY__PADDING_EXPLICIT;
        else
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_ATTR_VALUE,
                                   "padding must be SAME, VALID or EXPLICIT");
    }
    return read_explicit(infer, w);
}

#define WHOLE_BATCH                                                            \
    "windows over the batch are not supported, nor strides or dilations "      \
    "along "                                                                   \
    "the batch or the channels"

static eddy_status check_pool(eddy_infer *infer, const quad *size,
                              const quad *stride)
{
    if (size->of[BATCH] != 1 || stride->of[BATCH] != 1)
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
                               WHOLE_BATCH);
    if (size->of[CHANNELS] != stride->of[CHANNELS])
        return eddy_infer_fail(
            infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
            "a window over channels must be as long as its stride, but they "
            "are %" PRId64 " and %" PRId64,
            size->of[CHANNELS], stride->of[CHANNELS]);
    if (size->of[CHANNELS] != 1 &&
        (size->of[ROWS] != 1 || size->of[COLUMNS] != 1))
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
                               "a window is over channels, or over rows and "
                               "columns, not over both");
    return EDDY_OK;
}

/* The codes are TensorFlow's: a gradient has three inputs. */
static eddy_status check_convolution(eddy_infer *infer, const quad *stride,
                                     const quad *dilation)
{
    const bool is_strided = stride->of[BATCH] != 1 || stride->of[CHANNELS] != 1;
    const bool is_forward = eddy_infer_inputs(infer) < 3;

    if (!is_strided && dilation->of[BATCH] == 1 && dilation->of[CHANNELS] == 1)
        return EDDY_OK;
    return eddy_infer_fail(infer,
                           is_strided && is_forward ? EDDY_UNIMPLEMENTED
                                                    : EDDY_INVALID_ARGUMENT,
                           EDDY_E_ATTR_VALUE, WHOLE_BATCH);
}

static void set_slides(eddy__windows *w, const quad *size, const quad *stride,
                       const quad *dilation)
{
    for (int32_t side = 0; side < 2; side++) {
        w->sides[side].size = size->of[ROWS + side];
        w->sides[side].stride = stride->of[ROWS + side];
        w->sides[side].dilation = dilation->of[ROWS + side];
    }
    w->depth = size->of[CHANNELS];
}

eddy_status eddy__windows_read(eddy_infer *infer, eddy__windows *out)
{
    quad size, stride, dilation;
    eddy_attr attr;

    *out = (eddy__windows){.padding = EDDY__PADDING_VALID};
    if (!eddy__window_read_format(infer, &out->is_nchw))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "data_format must be NHWC or NCHW");
    EDDY_TRY(read_quad(infer, "ksize", out->is_nchw, &size));
    EDDY_TRY(read_quad(infer, "strides", out->is_nchw, &stride));
    EDDY_TRY(read_quad(infer, "dilations", out->is_nchw, &dilation));
    if (eddy_infer_attr(infer, "ksize", &attr))
        EDDY_TRY(check_pool(infer, &size, &stride));
    else
        EDDY_TRY(check_convolution(infer, &stride, &dilation));
    set_slides(out, &size, &stride, &dilation);
    return read_padding(infer, out);
}

static eddy_status input_quad(eddy_kernel *k, uint32_t i, const char *name,
                              bool is_nchw, quad *out)
{
    eddy_view view;
    int64_t values[4];

    EDDY_TRY(eddy__vector_argument(k, i, name, 4, &view));
    for (int32_t j = 0; j < 4; j++) {
        values[j] = eddy__index_at(&view, j);
        if (values[j] < 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "%s[%d] must be positive, but it is %" PRId64,
                               name, j, values[j]);
    }
    *out = in_order(values, is_nchw);
    return EDDY_OK;
}

eddy_status eddy__windows_input(eddy_kernel *k, uint32_t size_input,
                                eddy__windows *windows)
{
    const quad ones = {{1, 1, 1, 1}};
    quad size = ones, stride = ones;

    EDDY_TRY(input_quad(k, size_input, "ksize", windows->is_nchw, &size));
    EDDY_TRY(
        input_quad(k, size_input + 1, "strides", windows->is_nchw, &stride));
    if (size.of[BATCH] != 1 || stride.of[BATCH] != 1 ||
        size.of[CHANNELS] != stride.of[CHANNELS] ||
        (size.of[CHANNELS] != 1 &&
         (size.of[ROWS] != 1 || size.of[COLUMNS] != 1)))
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                           "a window is over rows and columns, or over "
                           "channels with a stride as long as it is");
    set_slides(windows, &size, &stride, &ones);
    return EDDY_OK;
}

/* ---- shapes ---- */

/* Shapes that no tensor has are looked at too; then steps mean nothing. */
static int64_t wrapped_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

eddy__images eddy__images_of(const eddy_shape *shape, bool is_nchw)
{
    const int32_t row = place_of(ROWS, is_nchw);
    const int32_t channel = place_of(CHANNELS, is_nchw);
    eddy__images images = {.n = shape->dims[0],
                           .sides = {shape->dims[row], shape->dims[row + 1]},
                           .channels = shape->dims[channel]};

    if (is_nchw) {
        images.steps[1] = 1;
        images.steps[0] = images.sides[1];
        images.step_channel = wrapped_product(images.sides[0], images.sides[1]);
        images.step_image =
            wrapped_product(images.step_channel, images.channels);
    } else {
        images.step_channel = 1;
        images.steps[1] = images.channels;
        images.steps[0] = wrapped_product(images.channels, images.sides[1]);
        images.step_image = wrapped_product(images.steps[0], images.sides[0]);
    }
    return images;
}

eddy_shape eddy__images_shape(int64_t n, const int64_t sides[2],
                              int64_t channels, bool is_nchw)
{
    eddy_shape shape = {.rank = 4, .dims = {n}};

    shape.dims[place_of(ROWS, is_nchw)] = sides[0];
    shape.dims[place_of(COLUMNS, is_nchw)] = sides[1];
    shape.dims[place_of(CHANNELS, is_nchw)] = channels;
    return shape;
}

/* ---- sides ---- */

/* `size` - 1 dilated, and one: the places from a window's first to its last. */
static bool reach_of(const eddy__slide *s, int64_t size, int64_t *out)
{
    return !__builtin_mul_overflow(size - 1, s->dilation, out) &&
           !__builtin_add_overflow(*out, 1, out);
}

bool eddy__side_of(const eddy__windows *w, int32_t side, int64_t in,
                   int64_t size, eddy__side *out)
{
    const eddy__slide *s = &w->sides[side];
    int64_t reach, room = in, needed;

    *out = (eddy__side){.in = in,
                        .size = size,
                        .stride = s->stride,
                        .dilation = s->dilation,
                        .before = s->before};
    if (in > INT64_MAX / 4 || !reach_of(s, size, &reach) ||
        reach > INT64_MAX / 4)
        return false;
    if (w->padding == EDDY__PADDING_SAME) {
        out->out = in / s->stride + (in % s->stride != 0);
        needed = (out->out - 1) * s->stride + reach - in;
        out->before = needed > 0 ? needed / 2 : 0;
        return true;
    }
    if (w->padding == EDDY__PADDING_EXPLICIT)
        room += s->before + s->behind;
    out->out = (room - reach + s->stride) / s->stride;
    return out->out >= 0;
}

#define NEGATIVE                                                               \
    "there is no room for a window of size %" PRId64                           \
    " along dimension %d, of size %" PRId64

eddy_status eddy__sides_of(eddy_kernel *k, const eddy__windows *w,
                           const eddy__images *in, const int64_t sizes[2],
                           eddy__side out[2])
{
    for (int32_t side = 0; side < 2; side++)
        if (!eddy__side_of(w, side, in->sides[side], sizes[side], &out[side]))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM, NEGATIVE,
                               sizes[side], place_of(ROWS + side, w->is_nchw),
                               in->sides[side]);
    return EDDY_OK;
}

eddy_status eddy__infer_side(eddy_infer *infer, const eddy__windows *w,
                             int32_t side, int64_t in, int64_t size,
                             int64_t *out)
{
    eddy__side s;

    *out = -1;
    if (in < 0 || size < 0)
        return EDDY_OK;
    if (!eddy__side_of(w, side, in, size, &s))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                               NEGATIVE, size,
                               place_of(ROWS + side, w->is_nchw), in);
    *out = s.out;
    return EDDY_OK;
}

eddy_status eddy__window_want_shape(eddy_kernel *k, uint32_t i,
                                    const char *name, const eddy_shape *want)
{
    if (eddy__shape_equal(eddy__in_shape(k, i), want))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must have shape %s, but it has %s", name,
                       eddy__shape_print(want).text,
                       eddy__shape_print(eddy__in_shape(k, i)).text);
}

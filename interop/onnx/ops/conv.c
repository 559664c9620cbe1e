/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's convolutions over one to three axes, by eddy's of images.
 *
 * One axis is an image of one row.  Of three, the windows along the first go
 * into the channels, so that one convolution of images does it all; back again,
 * what belongs to one place along that axis is summed.
 */
#include "interop/onnx/ops/quantized.h"
#include "interop/onnx/ops/windows.h"

#include <string.h>

/* Rows and columns: the last two of the axes, or one that is put on. */
typedef struct image {
    eddy_output x, filter; /* NCHW and OIHW */
    int64_t stride[2], dilation[2];
    eddy__onnx_size before[2], behind[2];
} image;

static void set_side(image *im, size_t side, const eddy__onnx_windows *w,
                     size_t i)
{
    im->stride[side] = w->stride[i];
    im->dilation[side] = w->dilation[i];
    im->before[side] = w->before[i];
    im->behind[side] = w->behind[i];
}

/* The sides of an image, of one or more axes. */
static image sides_of(const eddy__onnx_windows *w)
{
    image im = {.stride = {1, 1},
                .dilation = {1, 1},
                .before = {FIXED(0), FIXED(0)},
                .behind = {FIXED(0), FIXED(0)}};

    if (w->n > 1)
        set_side(&im, 0, w, w->n - 2);
    set_side(&im, 1, w, w->n - 1);
    return im;
}

/* eddy's filters are [rows, columns, in, out]. */
static eddy_output filter_of(eddy__onnx_op *op, eddy_output filter)
{
    return eddy__onnx_transpose(op, filter, (const int64_t[]){2, 3, 1, 0}, 4);
}

/* The attributes of a convolution; `sides` and `paddings` stay the caller's. */
typedef struct geometry {
    int64_t strides[4], dilations[4], paddings[8];
    eddy_string padding, format;
    eddy_attr attrs[5];
} geometry;

static void describe(const image *im, bool is_padded, geometry *g)
{
    *g = (geometry){.strides = {1, 1, im->stride[0], im->stride[1]},
                    .dilations = {1, 1, im->dilation[0], im->dilation[1]},
                    .format = {"NCHW", 4}};
    g->padding =
        is_padded ? (eddy_string){"EXPLICIT", 8} : (eddy_string){"VALID", 5};
    for (size_t side = 0; side < 2 && is_padded; side++) {
        g->paddings[4 + 2 * side] = im->before[side].value;
        g->paddings[5 + 2 * side] = im->behind[side].value;
    }
    g->attrs[0] = (eddy_attr){.name = "strides",
                              .kind = EDDY_ATTR_INT,
                              .is_list = true,
                              .n = 4,
                              .as.ints = g->strides};
    g->attrs[1] = (eddy_attr){.name = "dilations",
                              .kind = EDDY_ATTR_INT,
                              .is_list = true,
                              .n = 4,
                              .as.ints = g->dilations};
    g->attrs[2] = (eddy_attr){.name = "explicit_paddings",
                              .kind = EDDY_ATTR_INT,
                              .is_list = true,
                              .n = is_padded ? 8 : 0,
                              .as.ints = g->paddings};
    g->attrs[3] = eddy_attr_string("padding", &g->padding);
    g->attrs[4] = eddy_attr_string("data_format", &g->format);
}

static bool pads_known(const image *im)
{
    for (size_t side = 0; side < 2; side++)
        if (!im->before[side].is_known || !im->behind[side].is_known)
            return false;
    return true;
}

/* Pads the two sides in an op of its own. */
static eddy_output padded(eddy__onnx_op *op, const image *im)
{
    const int64_t axis = 1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    const eddy_output before =
        SIZES(FIXED(0), FIXED(0), im->before[0], im->before[1]);
    const eddy_output behind =
        SIZES(FIXED(0), FIXED(0), im->behind[0], im->behind[1]);

    return OP("Pad", im->x, OP_WITH("Pack", attrs, before, behind));
}

static eddy_output convolve(eddy__onnx_op *op, const image *im)
{
    const bool is_known = pads_known(im);
    geometry g;

    describe(im, is_known, &g);
    return OP_WITH("Conv2D", g.attrs, is_known ? im->x : padded(op, im),
                   filter_of(op, im->filter));
}

/* [N, C, D, H, W] as images of which each has the windows over D. */
static image fold_depth(eddy__onnx_op *op, eddy_output x, eddy_output filter,
                        eddy__onnx_windows *w)
{
    image im = sides_of(w);
    eddy__onnx_windows depth = *w;
    eddy_output all;

    for (size_t i = 1; i < 3; i++)
        depth.before[i] = depth.behind[i] = FIXED(0);
    all = eddy__onnx_windows_pad(op, x, &depth, LIKE(x, 0.0));
    all = eddy__onnx_windows_along(op, all, w, 0, 2);
    all = eddy__onnx_transpose(op, all, (const int64_t[]){0, 2, 1, 3, 4, 5}, 6);
    im.x = OP("Reshape", all,
              SIZES(TIMES(DIM(x, 0), w->out[0]), TIMES(DIM(x, 1), w->kernel[0]),
                    w->in[1], w->in[2]));
    im.filter = OP("Reshape", filter,
                   SIZES(DIM(filter, 0), TIMES(DIM(filter, 1), w->kernel[0]),
                         w->kernel[1], w->kernel[2]));
    return im;
}

static eddy_output convolve_all(eddy__onnx_op *op, eddy_output x,
                                eddy_output filter, eddy__onnx_windows *w)
{
    image im = sides_of(w);
    eddy_output y;

    if (w->n > 3) {
        eddy__onnx_refuse(op, "a convolution over %zu axes", w->n);
        return EDDY__NO_OUTPUT;
    }
    if (w->n == 3) {
        im = fold_depth(op, x, filter, w);
        y = convolve(op, &im);
        y = OP(
            "Reshape", y,
            SIZES(DIM(x, 0), w->out[0], DIM(filter, 0), w->out[1], w->out[2]));
        return eddy__onnx_transpose(op, y, (const int64_t[]){0, 2, 1, 3, 4}, 5);
    }
    im.x = w->n == 1 ? OP("ExpandDims", x, INT32(2)) : x;
    im.filter = w->n == 1 ? OP("ExpandDims", filter, INT32(2)) : filter;
    y = convolve(op, &im);
    if (w->n == 1) {
        const int64_t row = 2;
        const eddy_attr attrs[] = {{.name = "squeeze_dims",
                                    .kind = EDDY_ATTR_INT,
                                    .is_list = true,
                                    .n = 1,
                                    .as.ints = &row}};

        y = OP_WITH("Squeeze", attrs, y);
    }
    return y;
}

/* A bias by channel, of a result over `n` axes. */
static eddy_output with_bias(eddy__onnx_op *op, eddy_output y, size_t input,
                             size_t n)
{
    int64_t shape[EDDY_MAX_RANK] = {-1};

    if (!GIVEN(input))
        return y;
    for (size_t i = 0; i < n; i++)
        shape[1 + i] = 1;
    return OP("AddV2", y,
              OP("Reshape", IN(input), eddy__onnx_int64s(op, shape, n + 1)));
}

static void emit_conv(eddy__onnx_op *op)
{
    const eddy_output x = IN(0), filter = IN(1);
    eddy__onnx_windows w;

    /* The channels of image and filter say how many groups there are. */
    eddy__onnx_ignore(op, "group");
    if (eddy__onnx_windows_read(op, x, filter, &w))
        GIVE(0, with_bias(op, convolve_all(op, x, filter, &w), 2, w.n));
}

static void emit_conv_integer(eddy__onnx_op *op)
{
    eddy_output x = CAST(IN(0), EDDY_INT32), filter = CAST(IN(1), EDDY_INT32);
    eddy__onnx_windows w;

    eddy__onnx_ignore(op, "group");
    if (!eddy__onnx_windows_read(op, x, filter, &w))
        return;
    if (GIVEN(2))
        x = OP("Sub", x, eddy__onnx_as_scalar(op, CAST(IN(2), EDDY_INT32)));
    if (GIVEN(3))
        filter =
            OP("Sub", filter,
               eddy__onnx_by_channel(op, CAST(IN(3), EDDY_INT32), w.n + 2, 0));
    GIVE(0, convolve_all(op, x, filter, &w));
}

static void emit_qlinear_conv(eddy__onnx_op *op)
{
    eddy_output x = CAST(IN(0), EDDY_INT32), filter = CAST(IN(3), EDDY_INT32);
    eddy_output y, scale;
    eddy__onnx_windows w;

    eddy__onnx_ignore(op, "group");
    if (!eddy__onnx_windows_read(op, x, filter, &w))
        return;
    x = OP("Sub", x, eddy__onnx_as_scalar(op, CAST(IN(2), EDDY_INT32)));
    filter = OP("Sub", filter,
                eddy__onnx_by_channel(op, CAST(IN(5), EDDY_INT32), w.n + 2, 0));
    y = with_bias(op, convolve_all(op, x, filter, &w), 8, w.n);
    scale = eddy__onnx_by_channel(op, IN(4), w.n + 1, 0);
    scale = OP("RealDiv", OP("Mul", eddy__onnx_as_scalar(op, IN(1)), scale),
               eddy__onnx_as_scalar(op, IN(6)));
    GIVE(0,
         eddy__onnx_saturated(op, OP("Mul", CAST(y, EDDY_FLOAT32), scale),
                              eddy__onnx_as_scalar(op, IN(7)), DTYPE(IN(7))));
}

/* ---- ConvTranspose, Col2Im ---- */

/* How long an axis is on which all windows stand in full. */
static eddy__onnx_size full_length(eddy__onnx_op *op,
                                   const eddy__onnx_windows *w, size_t i)
{
    return PLUS(TIMES(MINUS(w->in[i], FIXED(1)), FIXED(w->stride[i])),
                eddy__onnx_reach(op, w, i));
}

/* Two axes of a tensor: windows, and the elements of each. */
typedef struct overlap {
    size_t rank, windows, elements;
} overlap;

/*
 * The two axes of `x` become one, where the windows were: each
 * element is added to what stands at its place.
 */
static eddy_output overlapped(eddy__onnx_op *op, eddy_output x, overlap axes,
                              const eddy__onnx_windows *w, size_t i)
{
    int64_t perm[EDDY_MAX_RANK], back[EDDY_MAX_RANK];
    const eddy_output first =
        OP("Mul", eddy__onnx_count(op, SIZED(DIM(x, (int64_t)axes.windows))),
           INT64(w->stride[i]));
    const eddy_output within =
        OP("Mul", eddy__onnx_count(op, SIZED(w->kernel[i])),
           INT64(w->dilation[i]));
    const eddy_output at =
        OP("AddV2", OP("ExpandDims", first, INT32(1)), within);
    const size_t place =
        axes.elements < axes.windows ? axes.windows - 1 : axes.windows;
    size_t n = 2;

    perm[0] = (int64_t)axes.windows;
    perm[1] = (int64_t)axes.elements;
    for (size_t axis = 0; axis < axes.rank; axis++)
        if (axis != axes.windows && axis != axes.elements)
            perm[n++] = (int64_t)axis;
    for (size_t axis = 0; axis + 1 < axes.rank; axis++)
        back[axis] = axis == place  ? 0
                     : axis < place ? (int64_t)axis + 1
                                    : (int64_t)axis;
    x = eddy__onnx_transpose(op, x, perm, axes.rank);
    x = OP("UnsortedSegmentSum", x, at, SIZED(full_length(op, w, i)));
    return eddy__onnx_transpose(op, x, back, axes.rank - 1);
}

static eddy_output spread_image(eddy__onnx_op *op, const image *im,
                                eddy__onnx_size n, eddy__onnx_size channels,
                                const eddy__onnx_size sides[2])
{
    const eddy_output sizes = SIZES(n, channels, sides[0], sides[1]);
    geometry g;

    describe(im, false, &g);
    return OP_WITH("Conv2DBackpropInput", g.attrs, CAST(sizes, EDDY_INT32),
                   filter_of(op, im->filter), im->x);
}

/* The transposed convolution of all windows in full, nothing cut off. */
static eddy_output spread_all(eddy__onnx_op *op, eddy_output x,
                              eddy_output filter, const eddy__onnx_windows *w,
                              eddy__onnx_size channels)
{
    image im = sides_of(w);
    eddy__onnx_size sides[2] = {FIXED(1), full_length(op, w, w->n - 1)};
    const eddy__onnx_size n = DIM(x, 0), c = DIM(x, 1);
    eddy_output y;

    if (w->n > 1)
        sides[0] = full_length(op, w, w->n - 2);
    if (w->n == 1) {
        im.x = OP("ExpandDims", x, INT32(2));
        im.filter = OP("ExpandDims", filter, INT32(2));
        y = spread_image(op, &im, n, channels, sides);
        return OP("Reshape", y, SIZES(n, channels, sides[1]));
    }
    if (w->n == 2) {
        im.x = x;
        im.filter = filter;
        return spread_image(op, &im, n, channels, sides);
    }
    im.x = OP("Reshape",
              eddy__onnx_transpose(op, x, (const int64_t[]){0, 2, 1, 3, 4}, 5),
              SIZES(TIMES(n, w->in[0]), c, w->in[1], w->in[2]));
    im.filter = OP("Reshape", filter,
                   SIZES(DIM(filter, 0), TIMES(DIM(filter, 1), w->kernel[0]),
                         w->kernel[1], w->kernel[2]));
    y = spread_image(op, &im, TIMES(n, w->in[0]), TIMES(channels, w->kernel[0]),
                     sides);
    y = OP("Reshape", y,
           SIZES(n, w->in[0], channels, w->kernel[0], sides[0], sides[1]));
    y = overlapped(op, y, (overlap){6, 1, 3}, w, 0);
    return eddy__onnx_transpose(op, y, (const int64_t[]){0, 2, 1, 3, 4}, 5);
}

/* What is cut off before each axis, and how long it is then. */
static bool read_result(eddy__onnx_op *op, eddy__onnx_windows *w)
{
    const char *auto_pad = eddy__onnx_text(op, "auto_pad", "NOTSET");
    eddy__onnx_ints want = {0}, more = {0};
    const bool has_shape = eddy__onnx_ints_of(op, "output_shape", &want);
    bool is_same, is_lower;

    eddy__onnx_ints_of(op, "output_padding", &more);
    if (!auto_pad || !eddy__onnx_ok(op))
        return false;
    is_same = strncmp(auto_pad, "SAME", 4) == 0;
    is_lower = strcmp(auto_pad, "SAME_LOWER") == 0;
    if ((has_shape && want.n != w->n) || (more.n != 0 && more.n != w->n)) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "output_shape or output_padding is not of %zu axes",
                        w->n);
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        const eddy__onnx_size all =
            PLUS(full_length(op, w, i), FIXED(more.n > 0 ? more.at[i] : 0));
        eddy__onnx_size cut, half;

        if (!has_shape && !is_same) {
            w->out[i] = MINUS(MINUS(all, w->before[i]), w->behind[i]);
            continue;
        }
        w->out[i] = has_shape ? FIXED(want.at[i])
                              : TIMES(w->in[i], FIXED(w->stride[i]));
        cut = eddy__onnx_larger(op, MINUS(all, w->out[i]), FIXED(0));
        half = OVER(cut, FIXED(2));
        w->before[i] = is_lower ? MINUS(cut, half) : half;
    }
    return true;
}

/* Cuts `y` to the result, or adds zeros behind. */
static eddy_output trimmed(eddy__onnx_op *op, eddy_output y,
                           const eddy__onnx_windows *w)
{
    const int64_t axis = 1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    eddy__onnx_size before[EDDY_MAX_RANK] = {FIXED(0), FIXED(0)};
    eddy__onnx_size behind[EDDY_MAX_RANK] = {FIXED(0), FIXED(0)};
    eddy__onnx_size size[EDDY_MAX_RANK] = {FIXED(-1), FIXED(-1)};
    bool cuts = false, adds = false;

    for (size_t i = 0; i < w->n; i++) {
        const eddy__onnx_size left = MINUS(full_length(op, w, i), w->before[i]);

        before[2 + i] = w->before[i];
        size[2 + i] = w->out[i];
        behind[2 + i] = eddy__onnx_larger(op, MINUS(w->out[i], left), FIXED(0));
        cuts = cuts || !left.is_known || !w->out[i].is_known ||
               w->before[i].value != 0 || left.value != w->out[i].value;
        adds = adds || !behind[2 + i].is_known || behind[2 + i].value != 0;
    }
    if (adds) {
        eddy__onnx_size none[EDDY_MAX_RANK];

        for (size_t i = 0; i < w->n + 2; i++)
            none[i] = FIXED(0);
        y = OP("Pad", y,
               OP_WITH("Pack", attrs, eddy__onnx_sizes(op, none, w->n + 2),
                       eddy__onnx_sizes(op, behind, w->n + 2)));
    }
    if (cuts)
        y = OP("Slice", y, eddy__onnx_sizes(op, before, w->n + 2),
               eddy__onnx_sizes(op, size, w->n + 2));
    return y;
}

static void emit_conv_transpose(eddy__onnx_op *op)
{
    const int64_t group = eddy__onnx_int(op, "group", 1);
    const eddy_output x = IN(0), filter = IN(1);
    eddy__onnx_windows w;
    eddy_output y;

    if (!eddy__onnx_windows_read(op, x, filter, &w) || !read_result(op, &w))
        return;
    if (w.n > 3) {
        eddy__onnx_refuse(op, "a convolution over %zu axes", w.n);
        return;
    }
    y = spread_all(op, x, filter, &w, TIMES(DIM(filter, 1), FIXED(group)));
    GIVE(0, with_bias(op, trimmed(op, y, &w), 2, w.n));
}

/* Element `i` of a vector that is input `input`. */
static eddy__onnx_size element(eddy__onnx_op *op, size_t input, size_t i)
{
    eddy__onnx_ints known;

    if (eddy__onnx_known_ints(op, input, &known) && i < known.n)
        return FIXED(known.at[i]);
    return (eddy__onnx_size){.at = OP("GatherV2", CAST(IN(input), EDDY_INT64),
                                      INT64((int64_t)i), INT32(0))};
}

/* How many axes the image has; how long its shape is says so. */
static bool count_image(eddy__onnx_op *op, eddy__onnx_windows *w)
{
    const eddy_shape sides = eddy__onnx_shape(op, IN(1));

    if (sides.rank != 1 || sides.dims[0] < 0) {
        eddy__onnx_refuse(op, "an image whose number of axes is not known");
        return false;
    }
    if (sides.dims[0] == 0 || sides.dims[0] > 3) {
        eddy__onnx_refuse(op, "an image of %lld axes",
                          (long long)sides.dims[0]);
        return false;
    }
    w->n = (size_t)sides.dims[0];
    return true;
}

static bool read_col2im(eddy__onnx_op *op, eddy__onnx_windows *w)
{
    eddy__onnx_ints pads = {0}, strides = {0}, dilations = {0};

    eddy__onnx_ints_of(op, "pads", &pads);
    eddy__onnx_ints_of(op, "strides", &strides);
    eddy__onnx_ints_of(op, "dilations", &dilations);
    if (!count_image(op, w))
        return false;
    if ((pads.n && pads.n != 2 * w->n) || (strides.n && strides.n != w->n) ||
        (dilations.n && dilations.n != w->n)) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "the attributes do not fit");
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        eddy__onnx_size room;

        w->out[i] = element(op, 1, i);
        w->kernel[i] = element(op, 2, i);
        w->stride[i] = strides.n ? strides.at[i] : 1;
        w->dilation[i] = dilations.n ? dilations.at[i] : 1;
        w->before[i] = FIXED(pads.n ? pads.at[i] : 0);
        w->behind[i] = FIXED(pads.n ? pads.at[w->n + i] : 0);
        if (w->stride[i] < 1 || w->dilation[i] < 1) {
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "a stride or dilation of 0");
            return false;
        }
        room = MINUS(PLUS(PLUS(w->out[i], w->before[i]), w->behind[i]),
                     eddy__onnx_reach(op, w, i));
        w->in[i] = PLUS(OVER(room, FIXED(w->stride[i])), FIXED(1));
    }
    return true;
}

/* [N, C * block, windows] to an image: sums over what overlaps. */
static void emit_col2im(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_size block = FIXED(1);
    eddy__onnx_size shape[EDDY_MAX_RANK];
    eddy__onnx_windows w;
    eddy_output y;

    if (!read_col2im(op, &w))
        return;
    for (size_t i = 0; i < w.n; i++) {
        block = TIMES(block, w.kernel[i]);
        shape[2 + i] = w.kernel[i];
        shape[2 + w.n + i] = w.in[i];
    }
    shape[0] = DIM(x, 0);
    shape[1] = OVER(DIM(x, 1), block);
    y = OP("Reshape", x, eddy__onnx_sizes(op, shape, 2 + 2 * w.n));
    /* The last axis first; its block is the last of those that are left. */
    for (size_t i = w.n; i-- > 0;) {
        const size_t rank = w.n + 3 + i, elements = 2 + i;
        const size_t windows = rank - (w.n - i);

        y = overlapped(op, y, (overlap){rank, windows, elements}, &w, i);
    }
    GIVE(0, trimmed(op, y, &w));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_conv[] = {
    {"Col2Im", 18, NEWEST, 3, 3, 1, 1, emit_col2im},
    {"Conv", 1, NEWEST, 2, 3, 1, 1, emit_conv},
    {"ConvInteger", 10, NEWEST, 2, 4, 1, 1, emit_conv_integer},
    {"ConvTranspose", 1, NEWEST, 2, 3, 1, 1, emit_conv_transpose},
    {"QLinearConv", 10, NEWEST, 8, 9, 1, 1, emit_qlinear_conv},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DepthwiseConv2dNative and its gradients: each channel of the images has
 * filters of its own, as many as the filter's last dimension says.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/window.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>
#include <string.h>

/* Inputs. */
enum { INPUT, FILTER, GRADIENT };

/* The filter has `multiplier` outputs for each channel. */
typedef struct depthwise {
    eddy__windows windows;
    eddy__images in, out;
    eddy__side sides[2];
    int64_t multiplier;
    eddy_dtype dtype;
    const void *input, *filter, *gradient; /* those that there are */
    void *to; /* of the dtype that is computed with, when it is summed in */
} depthwise;

/* One place of the filter on one place of the images. */
typedef struct tap {
    int64_t in, filter, out; /* elements before those of channel 0 */
} tap;

typedef void (*tap_fn)(const depthwise *d, const tap *t);

#define EACH "ops/nn/depthwise_taps.def"
#include "ops/each_float.def"
#undef EACH

#define ENTRY(D, name) [EDDY__DTYPE_##D] = name##_tap_##D,

static const tap_fn output_taps[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(ENTRY, output)};
static const tap_fn input_taps[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(ENTRY, input)};
static const tap_fn filter_taps[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(ENTRY, filter)};

/* The taps of one window. */
static void visit_window(const depthwise *d, int64_t image, int64_t row,
                         int64_t column, tap_fn visit)
{
    const int64_t start[] = {eddy__side_start(&d->sides[0], row),
                             eddy__side_start(&d->sides[1], column)};
    const int64_t channels = d->in.channels * d->multiplier;
    int64_t first[2], end[2];
    tap t = {.out = image * d->out.step_image + row * d->out.steps[0] +
                    column * d->out.steps[1]};

    eddy__side_inside(&d->sides[0], row, &first[0], &end[0]);
    eddy__side_inside(&d->sides[1], column, &first[1], &end[1]);
    for (int64_t i = first[0]; i < end[0]; i++)
        for (int64_t j = first[1]; j < end[1]; j++) {
            t.in = image * d->in.step_image +
                   (start[0] + i * d->sides[0].dilation) * d->in.steps[0] +
                   (start[1] + j * d->sides[1].dilation) * d->in.steps[1];
            t.filter = (i * d->sides[1].size + j) * channels;
            visit(d, &t);
        }
}

/* What workers may do rows of windows of. */
typedef struct tap_work {
    const depthwise *d;
    tap_fn visit;
} tap_work;

/* Rows are numbered image by image. */
static eddy_status visit_rows(eddy_kernel *k, void *arg, int64_t begin,
                              int64_t end)
{
    const tap_work *w = arg;
    const depthwise *d = w->d;
    const int64_t work =
        d->sides[0].size * d->sides[1].size * d->in.channels * d->multiplier;

    for (int64_t i = begin; i < end; i++)
        for (int64_t column = 0; column < d->sides[1].out; column++) {
            EDDY_TRY(eddy__go_on(k, work));
            visit_window(d, i / d->sides[0].out, i % d->sides[0].out, column,
                         w->visit);
        }
    return EDDY_OK;
}

/*
 * Rows of the output are independent of each other, gradients of images are so
 * one by one, and the filter's is a sum over all.
 */
static eddy_status visit_all(eddy_kernel *k, const depthwise *d, tap_fn visit)
{
    const int64_t rows = d->sides[0].out, n = d->in.n * rows;
    const int64_t work = d->sides[0].size * d->sides[1].size * d->sides[1].out *
                         d->in.channels * d->multiplier / 8;
    tap_work w = {.d = d, .visit = visit};

    if (n == 0)
        return EDDY_OK;
    if (visit == filter_taps[d->dtype])
        return visit_rows(k, &w, 0, n);
    return eddy__parallel_for(
        k, n, eddy__grain(work, visit == output_taps[d->dtype] ? 1 : rows),
        visit_rows, &w);
}

/* ---- kernels ---- */

#define NOT_FOUR                                                               \
    "images of shape %s and a filter of shape %s must both have four "         \
    "dimensions"
#define NO_DEPTH                                                               \
    "images with %" PRId64 " channels and a filter of shape %s do not fit"

static eddy_status describe(eddy_kernel *k, const eddy_shape *in,
                            const eddy_shape *filter, depthwise *d)
{
    eddy_shape out;

    *d = (depthwise){.windows = *(const eddy__windows *)eddy__state(k),
                     .dtype = (eddy_dtype)k->node->out_dtypes[0]};
    if (in->rank != 4 || filter->rank != 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FOUR,
                           eddy__shape_print(in).text,
                           eddy__shape_print(filter).text);
    d->in = eddy__images_of(in, d->windows.is_nchw);
    d->multiplier = filter->dims[3];
    if (d->in.channels != filter->dims[2] ||
        __builtin_mul_overflow(d->in.channels, d->multiplier,
                               &d->out.channels) ||
        filter->dims[0] < 1 || filter->dims[1] < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_DEPTH,
                           d->in.channels, eddy__shape_print(filter).text);
    EDDY_TRY(eddy__sides_of(k, &d->windows, &d->in, filter->dims, d->sides));
    out = eddy__images_shape(
        d->in.n, (const int64_t[]){d->sides[0].out, d->sides[1].out},
        d->out.channels, d->windows.is_nchw);
    d->out = eddy__images_of(&out, d->windows.is_nchw);
    return EDDY_OK;
}

static eddy_shape out_shape(const depthwise *d)
{
    return eddy__images_shape(d->out.n, d->out.sides, d->out.channels,
                              d->windows.is_nchw);
}

/* Halves are summed as float32 and stored once. */
static eddy_status sum_halves(eddy_kernel *k, depthwise *d, tap_fn visit,
                              uint16_t *out, int64_t n)
{
    const eddy_shape shape = eddy__shape_vector(n);
    eddy_tensor *sums = eddy__tensor_create(k->heap, k->account, k->allocator,
                                            EDDY_FLOAT32, &shape);
    eddy_status code;
    const float *sum;

    if (!sums)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for %" PRId64 " sums", n);
    sum = d->to = sums->data;
    eddy__zero_bytes(k, d->to, sums->bytes);
    code = visit_all(k, d, visit);
    if (d->dtype == EDDY_FLOAT16)
        EDDY__FOR_EACH(i, n, out[i] = EDDY__STORE_F16(sum[i]));
    else
        EDDY__FOR_EACH(i, n, out[i] = EDDY__STORE_BF16(sum[i]));
    eddy__tensor_recycle(k->heap, sums);
    return code;
}

/* Makes the output from the sums of what taps add to it. */
static eddy_status sum_up(eddy_kernel *k, depthwise *d, tap_fn visit,
                          const eddy_shape *shape)
{
    void *out;
    int64_t n;

    EDDY_TRY(eddy__output(k, 0, d->dtype, shape, &out));
    n = eddy__out(k, 0)->as.tensor->count;
    if (n == 0)
        return EDDY_OK;
    if (eddy__dtype_is_half(d->dtype))
        return sum_halves(k, d, visit, out, n);
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    d->to = out;
    return visit_all(k, d, visit);
}

static eddy_status run_output(eddy_kernel *k)
{
    eddy_shape shape;
    depthwise d;

    EDDY_TRY(
        describe(k, eddy__in_shape(k, INPUT), eddy__in_shape(k, FILTER), &d));
    d.input = eddy__in_elements(k, INPUT);
    d.filter = eddy__in_elements(k, FILTER);
    shape = out_shape(&d);
    return sum_up(k, &d, output_taps[d.dtype], &shape);
}

static eddy_status run_input_gradient(eddy_kernel *k)
{
    eddy_shape images, shape;
    eddy_view view;
    depthwise d;

    EDDY_TRY(eddy__vector_argument(k, INPUT, "input_sizes", 4, &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &images));
    EDDY_TRY(describe(k, &images, eddy__in_shape(k, FILTER), &d));
    shape = out_shape(&d);
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "out_backprop", &shape));
    d.filter = eddy__in_elements(k, FILTER);
    d.gradient = eddy__in_elements(k, GRADIENT);
    return sum_up(k, &d, input_taps[d.dtype], &images);
}

static eddy_status run_filter_gradient(eddy_kernel *k)
{
    eddy_shape filter, shape;
    eddy_view view;
    depthwise d;

    EDDY_TRY(eddy__vector_argument(k, FILTER, "filter_sizes", 4, &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &filter));
    EDDY_TRY(describe(k, eddy__in_shape(k, INPUT), &filter, &d));
    shape = out_shape(&d);
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "out_backprop", &shape));
    d.input = eddy__in_elements(k, INPUT);
    d.gradient = eddy__in_elements(k, GRADIENT);
    return sum_up(k, &d, filter_taps[d.dtype], &filter);
}

/* ---- for a plan ---- */

static eddy_status prepare_windows(eddy_infer *infer)
{
    eddy__windows *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    return eddy__windows_read(infer, state);
}

static eddy_status infer_output(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(4);
    eddy_shape in, filter, shape;
    int64_t sides[2], channels = -1;
    eddy__images images;
    eddy__windows w;

    EDDY_TRY(eddy__windows_read(infer, &w));
    if (!eddy__shape_merge(eddy_infer_input(infer, INPUT), &any, &in) ||
        !eddy__shape_merge(eddy_infer_input(infer, FILTER), &any, &filter))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FOUR,
            eddy__shape_print(eddy_infer_input(infer, INPUT)).text,
            eddy__shape_print(eddy_infer_input(infer, FILTER)).text);
    images = eddy__images_of(&in, w.is_nchw);
    if (images.channels >= 0 && filter.dims[2] >= 0 &&
        images.channels != filter.dims[2])
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NO_DEPTH, images.channels,
                               eddy__shape_print(&filter).text);
    if (filter.dims[2] >= 0)
        images.channels = filter.dims[2];
    if (images.channels >= 0 && filter.dims[3] >= 0 &&
        __builtin_mul_overflow(images.channels, filter.dims[3], &channels))
        channels = -1;
    for (int32_t side = 0; side < 2; side++)
        EDDY_TRY(eddy__infer_side(infer, &w, side, images.sides[side],
                                  filter.dims[side], &sides[side]));
    shape = eddy__images_shape(images.n, sides, channels, w.is_nchw);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_sizes(eddy_infer *infer, uint32_t input)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, input);

    if (shape.rank != 4)
        shape = eddy__shape_of_rank(4);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_input_gradient(eddy_infer *infer)
{
    return infer_sizes(infer, INPUT);
}

static eddy_status infer_filter_gradient(eddy_infer *infer)
{
    return infer_sizes(infer, FILTER);
}

#define DEPTHWISE(name, in, shapes, run, text)                                 \
    EDDY__OP_ROW(name, .inputs = in, .outputs = "output: T",                   \
                 .attrs =                                                      \
                     "T: float, strides: list(int), padding: string, "         \
                     "explicit_paddings: list(int) = [], data_format: string " \
                     "= 'NHWC', dilations: list(int) = [1, 1, 1, 1]",          \
                 .infer = shapes, .kernel = run, .prepare = prepare_windows,   \
                 .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    DEPTHWISE(
        "DepthwiseConv2dNative", "input: T, filter: T", infer_output,
        run_output,
        "The correlation of each channel of images with its own filters."),
    DEPTHWISE("DepthwiseConv2dNativeBackpropInput",
              "input_sizes: int32, filter: T, out_backprop: T",
              infer_input_gradient, run_input_gradient,
              "The gradient of DepthwiseConv2dNative by its images."),
    DEPTHWISE("DepthwiseConv2dNativeBackpropFilter",
              "input: T, filter_sizes: int32, out_backprop: T",
              infer_filter_gradient, run_filter_gradient,
              "The gradient of DepthwiseConv2dNative by its filter."),
};

const eddy__op_table eddy__depthwise_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

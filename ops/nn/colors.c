/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours: RGBToHSV and HSVToRGB, AdjustHue, AdjustSaturation and
 * AdjustContrastv2.
 *
 * Conversions are rounded to their dtype after each step, as in TensorFlow;
 * float64 holds every step of the smaller dtypes.  What is adjusted is float32.
 */
#include "ops/math/elements.h"
#include "ops/math/half.h"
#include "ops/ops.h"

#include <math.h>

#define CHANNELS 3

/* What a pixel counts, in about nanoseconds. */
#define PIXEL_WORK ((int64_t)32)

/* ---- elements ---- */

static double load(eddy_dtype dtype, const void *from, int64_t i)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        return (double)eddy__half_to_float(((const uint16_t *)from)[i]);
    case EDDY_BFLOAT16:
        return (double)eddy__bfloat_to_float(((const uint16_t *)from)[i]);
    case EDDY_FLOAT32:
        return (double)((const float *)from)[i];
    default:
        return ((const double *)from)[i];
    }
}

static void store(eddy_dtype dtype, void *to, int64_t i, double x)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        ((uint16_t *)to)[i] = eddy__half_from_float((float)x);
        break;
    case EDDY_BFLOAT16:
        ((uint16_t *)to)[i] = eddy__bfloat_from_float((float)x);
        break;
    case EDDY_FLOAT32:
        ((float *)to)[i] = (float)x;
        break;
    default:
        ((double *)to)[i] = x;
        break;
    }
}

/* `x` as a number of the dtype. */
static double in(eddy_dtype dtype, double x)
{
    double element;

    store(dtype, &element, 0, x);
    return load(dtype, &element, 0);
}

/* ---- conversions ---- */

static void to_hsv(eddy_dtype t, const double *rgb, double *hsv)
{
    const double r = rgb[0], g = rgb[1], b = rgb[2];
    const double sixth = in(t, 1.0 / 6);
    double most = r, least = r, range, norm, h;

    for (int c = 1; c < CHANNELS; c++) {
        most = most > rgb[c] ? most : rgb[c];
        least = least < rgb[c] ? least : rgb[c];
    }
    range = in(t, most - least);
    norm = in(t, in(t, 1 / range) * sixth);
    if (r == most)
        h = in(t, norm * in(t, g - b));
    else if (g == most)
        h = in(t, in(t, norm * in(t, b - r)) + in(t, 2.0 / 6));
    else
        h = in(t, in(t, norm * in(t, r - g)) + in(t, 4.0 / 6));
    h = range > 0 ? h : 0;
    hsv[0] = h < 0 ? in(t, h + 1) : h;
    hsv[1] = most > 0 ? in(t, range / most) : 0;
    hsv[2] = most;
}

/* Within [0, 1]; a NaN stays. */
static double clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void to_rgb(eddy_dtype t, const double *hsv, double *rgb)
{
    const double six = in(t, hsv[0] * 6), rest = in(t, 1 - hsv[1]);
    const double part[] = {
        clamp(in(t, fabs(in(t, six - 3)) - 1)),
        clamp(in(t, 2 - fabs(in(t, six - 2)))),
        clamp(in(t, 2 - fabs(in(t, six - 4)))),
    };

    for (int c = 0; c < CHANNELS; c++)
        rgb[c] = in(t, in(t, rest + in(t, hsv[1] * part[c])) * hsv[2]);
}

typedef void (*conversion)(eddy_dtype t, const double *from, double *to);

static eddy_status convert(eddy_kernel *k, conversion of_pixel)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const void *from = eddy__in_elements(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    double a[CHANNELS], b[CHANNELS];
    void *out;

    if (shape->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the images must not be a scalar");
    if (shape->dims[shape->rank - 1] != CHANNELS)
        return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_SHAPE,
                           "images of shape %s have not 3 channels",
                           eddy__shape_print(shape).text);
    EDDY_TRY(eddy__output(k, 0, dtype, shape, &out));
    for (int64_t i = 0; i < n; i += CHANNELS) {
        for (int c = 0; c < CHANNELS; c++)
            a[c] = load(dtype, from, i + c);
        of_pixel(dtype, a, b);
        for (int c = 0; c < CHANNELS; c++)
            store(dtype, out, i + c, b[c]);
        EDDY_TRY(eddy__go_on(k, 2 * PIXEL_WORK));
    }
    return EDDY_OK;
}

static eddy_status run_to_hsv(eddy_kernel *k)
{
    return convert(k, to_hsv);
}

static eddy_status run_to_rgb(eddy_kernel *k)
{
    return convert(k, to_rgb);
}

/* ---- adjusting ---- */

/* The images, at least of 3 dimensions, and a number, in input 1. */
static eddy_status read_adjusted(eddy_kernel *k, const char *what,
                                 bool has_colors, float *out_number)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    eddy_view number;

    EDDY_TRY(eddy__want_single(k, 1, 0, what));
    number = eddy__in_view(k, 1);
    *out_number = ((const float *)number.data)[0];
    if (shape->rank >= 3 &&
        (!has_colors || shape->dims[shape->rank - 1] == CHANNELS))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "images of shape %s have not 3 dimensions%s",
                       eddy__shape_print(shape).text,
                       has_colors ? " and 3 channels" : "");
}

/* Of each sixth of the hues the channels that are highest, between, lowest. */
static const uint8_t places[6][CHANNELS] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0},
                                            {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};

/* A pixel's channels from the least to the greatest. */
typedef struct range {
    float low, middle, high;
    int sector; /* of the six of a hue */
} range;

/* Comparisons in TensorFlow's order, by which a NaN goes somewhere. */
static range range_of(const float *p)
{
    const float r = p[0], g = p[1], b = p[2];

    if (r < g)
        return b < r   ? (range){b, r, g, 1}
               : b > g ? (range){r, g, b, 3}
                       : (range){r, b, g, 2};
    return b < g   ? (range){b, g, r, 0}
           : b > r ? (range){g, r, b, 4}
                   : (range){g, b, r, 5};
}

/* Where it is on a circle of 6. */
static float hue_of(const range *a)
{
    float ratio;

    if (a->high == a->low)
        return 0;
    ratio = (a->middle - a->low) / (a->high - a->low);
    return (float)a->sector + (a->sector % 2 == 0 ? ratio : 1 - ratio);
}

/* Within [0, 6); step by step if it is near, so that it is rounded so too. */
static float turn(float hue)
{
    if (!(fabsf(hue) < 6000))
        hue = fmodf(hue, 6);
    while (hue < 0)
        hue += 6;
    while (hue >= 6)
        hue -= 6;
    return hue;
}

static void set_hue(float hue, const range *a, float *p)
{
    const int sector = hue >= 0 && hue < 6 ? (int)hue : 5;
    float ratio = hue - (float)sector;

    if (sector % 2 == 1)
        ratio = 1 - ratio;
    p[places[sector][0]] = a->high;
    p[places[sector][1]] = a->low + ratio * (a->high - a->low);
    p[places[sector][2]] = a->low;
}

static eddy_status run_hue(eddy_kernel *k)
{
    const float *from = (const void *)eddy__in_elements(k, 0);
    float delta = 0;
    void *out;

    EDDY_TRY(read_adjusted(k, "delta", true, &delta));
    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < eddy__in_count(k, 0); i += CHANNELS) {
        const range a = range_of(from + i);

        set_hue(turn(hue_of(&a) + delta * 6), &a, (float *)out + i);
        EDDY_TRY(eddy__go_on(k, PIXEL_WORK));
    }
    return EDDY_OK;
}

/* As C++'s max and min, by which a NaN goes somewhere. */
static float greater(float a, float b)
{
    return a < b ? b : a;
}

static float smaller(float a, float b)
{
    return b < a ? b : a;
}

/* Hue, from 0 to 1, saturation and the greatest channel. */
static void split(const float *p, float *hsv)
{
    const float most = greater(p[0], greater(p[1], p[2]));
    const float spread = most - smaller(p[0], smaller(p[1], p[2]));
    const float norm = 1.0F / (6.0F * spread);
    float h;

    if (p[0] == most)
        h = norm * (p[1] - p[2]);
    else if (p[1] == most)
        h = (float)((double)(norm * (p[2] - p[0])) + 2.0 / 6);
    else
        h = (float)((double)(norm * (p[0] - p[1])) + 4.0 / 6);
    if (spread <= 0)
        h = 0;
    hsv[0] = h < 0 ? h + 1 : h;
    hsv[1] = most > 0 ? spread / most : 0;
    hsv[2] = most;
}

static void join(const float *hsv, float *p)
{
    const float chroma = hsv[1] * hsv[2], rest = hsv[2] - chroma;
    const float six = hsv[0] * 6;
    float fold = six;

    for (int c = 0; c < CHANNELS; c++)
        p[c] = rest;
    /* What is behind the last sector, or is none, has no hue. */
    if (!(six > -1 && six < 6))
        return;
    while (fold <= 0)
        fold += 2;
    while (fold >= 2)
        fold -= 2;
    p[places[(int)six][0]] = chroma + rest;
    p[places[(int)six][1]] = chroma * (1 - fabsf(fold - 1)) + rest;
}

static eddy_status run_saturation(eddy_kernel *k)
{
    const float *from = (const void *)eddy__in_elements(k, 0);
    float scale = 0, hsv[CHANNELS];
    void *out;

    EDDY_TRY(read_adjusted(k, "scale", true, &scale));
    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < eddy__in_count(k, 0); i += CHANNELS) {
        split(from + i, hsv);
        hsv[1] = smaller(1, greater(0, hsv[1] * scale));
        join(hsv, (float *)out + i);
        EDDY_TRY(eddy__go_on(k, PIXEL_WORK));
    }
    return EDDY_OK;
}

/* One channel of an image of `n` pixels: further from its mean, or nearer. */
static eddy_status spread_channel(eddy_kernel *k, const float *from, float *to,
                                  const int64_t counts[2], float factor)
{
    const int64_t n = counts[0], step = counts[1];
    double sum = 0;
    float mean;

    for (int64_t i = 0; i < n; i++) {
        sum += (double)from[i * step];
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; i++) {
        to[i * step] = from[i * step] * factor + mean * (1 - factor);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return eddy__go_on(k, 2 * n);
}

static eddy_status run_contrast(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const float *from = (const void *)eddy__in_elements(k, 0);
    const int64_t all = eddy__in_count(k, 0);
    int64_t counts[2]; /* pixels of an image, and channels */
    float factor = 0;
    void *out;

    EDDY_TRY(read_adjusted(k, "contrast_factor", false, &factor));
    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, shape, &out));
    counts[0] = shape->dims[shape->rank - 3] * shape->dims[shape->rank - 2];
    counts[1] = shape->dims[shape->rank - 1];
    for (int64_t image = 0; image < all; image += counts[0] * counts[1])
        for (int64_t c = image; c < image + counts[1]; c++)
            EDDY_TRY(
                spread_channel(k, from + c, (float *)out + c, counts, factor));
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status prepare_adjusted(eddy_infer *infer)
{
    if (eddy__infer_type(infer, "T") == EDDY_FLOAT32)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is a kernel for float32 alone");
}

#define COLOR_ROW(op, ...)                                                     \
    EDDY__OP_ROW(op, .outputs = "output: T", .infer = eddy__infer_unchanged,   \
                 __VA_ARGS__)
#define CONVERTED                                                              \
    .inputs = "images: T",                                                     \
    .attrs = "T: {float16, bfloat16, float32, float64} = float32"
#define ADJUSTED                                                               \
    .attrs = "T: {float16, float32} = float32", .prepare = prepare_adjusted

static const eddy_op_spec specs[] = {
    COLOR_ROW("RGBToHSV", CONVERTED, .kernel = run_to_hsv,
              .doc = "Hue, saturation and value of colours that are red, green "
                     "and blue."),
    COLOR_ROW("HSVToRGB", CONVERTED, .kernel = run_to_rgb,
              .doc = "Red, green and blue of colours that are hue, saturation "
                     "and value."),
    COLOR_ROW("AdjustHue", ADJUSTED, .inputs = "images: T, delta: float32",
              .kernel = run_hue,
              .doc = "The colours with delta added to "
                     "their hue."),
    COLOR_ROW("AdjustSaturation", ADJUSTED,
              .inputs = "images: T, scale: float32", .kernel = run_saturation,
              .doc = "The colours with their saturation scaled."),
    COLOR_ROW("AdjustContrastv2", ADJUSTED,
              .inputs = "images: T, contrast_factor: float32",
              .kernel = run_contrast,
              .doc = "Each channel of an image as many times as far from its "
                     "mean."),
};

const eddy__op_table eddy__colors_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

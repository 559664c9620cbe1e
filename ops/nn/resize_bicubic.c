/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResizeBicubic and its gradient: each element of the output is a sum of the
 * four by four around its place in the image, weighed by a cubic.
 *
 * As in TensorFlow the cubic is read at one of 1024 places between two
 * elements.  Where elements are at their centres it is Keys' (a = -1/2), and
 * what is outside the image has no weight; else a is -3/4, and the border's
 * elements stand for what is outside.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/nn/resize.h"
#include "ops/ops.h"

#include <math.h>

#define STEPS 1024
#define TAPS 4

/* The elements of a side around a place, and their weights. */
typedef struct taps {
    int64_t at[TAPS];
    float weight[TAPS];
} taps;

/* The cubic at a distance of at most 1, and from 1 to 2. */
static float near_by(double a, int64_t step)
{
    const float x = (float)((double)step / STEPS);

    return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
}

static float far_off(double a, int64_t step)
{
    const float x = (float)((double)step / STEPS) + 1.0f;

    return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x -
                   4 * a);
}

static int64_t within(int64_t i, int64_t limit)
{
    i = i < limit - 1 ? i : limit - 1;
    return i > 0 ? i : 0;
}

/* Takes the weight of what is outside away. */
static void drop_outside(taps *t, int64_t first)
{
    float sum = 0;

    for (int64_t i = 0; i < TAPS; i++) {
        if (t->at[i] != first + i)
            t->weight[i] = 0;
        sum += t->weight[i];
    }
    if (fabsf(sum) < 1000 * 0x1p-126f)
        return;
    for (int64_t i = 0; i < TAPS; i++)
        t->weight[i] *= 1 / sum;
}

static taps taps_at(const eddy__resized_side *s, int64_t i)
{
    const bool centres = s->modes.centres;
    const double a = centres ? -0.5 : -0.75;
    const float at =
        centres ? ((float)i + 0.5f) * s->scale - 0.5f : (float)i * s->scale;
    const float floor_of = floorf(at);
    const int64_t step = lrintf((at - floor_of) * STEPS);
    const int64_t first = (int64_t)floor_of - 1;
    taps t = {.weight = {far_off(a, step), near_by(a, step),
                         near_by(a, STEPS - step), far_off(a, STEPS - step)}};

    for (int64_t j = 0; j < TAPS; j++)
        t.at[j] = within(first + j, s->in);
    if (centres)
        drop_outside(&t, first);
    return t;
}

/* ---- forward ---- */

/* Row `i` of the output's rows, of all images. */
static void mix_row(const eddy__resizing *r, const void *from,
                    eddy__resize_load load, int64_t i, float *out)
{
    const int64_t image = i / r->rows.out;
    const taps rows = taps_at(&r->rows, i % r->rows.out);

    for (int64_t j = 0; j < r->columns.out; j++) {
        const taps columns = taps_at(&r->columns, j);

        for (int64_t c = 0; c < r->channels; c++) {
            float sum = 0;

            for (int x = 0; x < TAPS; x++) {
                float down = 0;

                for (int y = 0; y < TAPS; y++)
                    down += rows.weight[y] *
                            load(from, ((image * r->rows.in + rows.at[y]) *
                                            r->columns.in +
                                        columns.at[x]) *
                                               r->channels +
                                           c);
                sum += columns.weight[x] * down;
            }
            *out++ = sum;
        }
    }
}

static eddy_status run_bicubic(eddy_kernel *k)
{
    unsigned char *out;
    eddy__resizing r = {0};

    EDDY_TRY(eddy__resize_begin(k, EDDY_FLOAT32, &r, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    for (int64_t i = 0; i < r.n * r.rows.out; i++) {
        EDDY_TRY(eddy__go_on(k, r.columns.out * (32 + 32 * r.channels)));
        mix_row(&r, eddy__in_elements(k, 0),
                eddy__resize_loaders[eddy__in_dtype(k, 0)], i,
                (float *)(void *)out + i * r.columns.out * r.channels);
    }
    return EDDY_OK;
}

/* ---- back ---- */

/* Gives row `i` of the gradients to the elements it was made of. */
#define MIX_BACK(D)                                                            \
    static void mix_back_##D(const eddy__resizing *r, const float *from,       \
                             int64_t i, void *to)                              \
    {                                                                          \
        const int64_t image = i / r->rows.out;                                 \
        const taps rows = taps_at(&r->rows, i % r->rows.out);                  \
        eddy__stored_##D *out = to;                                            \
                                                                               \
        for (int64_t j = 0; j < r->columns.out; j++) {                         \
            const taps columns = taps_at(&r->columns, j);                      \
                                                                               \
            for (int64_t c = 0; c < r->channels; c++, from++)                  \
                for (int at = 0; at < TAPS * TAPS; at++) {                     \
                    const int64_t row =                                        \
                        image * r->rows.in + rows.at[at / TAPS];               \
                    const int64_t pixel =                                      \
                        row * r->columns.in + columns.at[at % TAPS];           \
                                                                               \
                    out[pixel * r->channels + c] +=                            \
                        (eddy__stored_##D)(*from * rows.weight[at / TAPS] *    \
                                           columns.weight[at % TAPS]);         \
                }                                                              \
        }                                                                      \
    }

MIX_BACK(F32)
MIX_BACK(F64)

static eddy_status run_back(eddy_kernel *k)
{
    const bool is_double = eddy__in_dtype(k, 1) == EDDY_FLOAT64;
    const float *from = (const void *)eddy__in_elements(k, 0);
    unsigned char *out;
    eddy__resizing r = {0};

    EDDY_TRY(eddy__resize_begin_back(k, &r, &out));
    if (eddy__in_count(k, 0) == 0)
        return EDDY_OK;
    for (int64_t i = 0; i < r.n * r.rows.out; i++) {
        EDDY_TRY(eddy__go_on(k, r.columns.out * (32 + 40 * r.channels)));
        (is_double ? mix_back_F64 : mix_back_F32)(&r, from, i, out);
        from += r.columns.out * r.channels;
    }
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "ResizeBicubic", .inputs = "images: T, size: int32",
        .outputs = "resized_images: float32",
        .attrs = "T: {int8, uint8, int16, uint16, int32, int64, float}, "
                 "align_corners: bool = false, half_pixel_centers: bool = "
                 "false",
        .infer = eddy__infer_resized, .kernel = run_bicubic,
        .prepare = eddy__resize_prepare,
        .doc = "Images of another size, each element a cubic's sum of the four "
               "by four around it."),
    EDDY__OP_ROW("ResizeBicubicGrad",
                 .inputs = "grads: float32, original_image: T",
                 .outputs = "output: T",
                 .attrs = "T: {float32, float64}, align_corners: bool = false, "
                          "half_pixel_centers: bool = false",
                 .infer = eddy__infer_resized_back, .kernel = run_back,
                 .prepare = eddy__resize_prepare,
                 .doc = "The gradient of ResizeBicubic by its images."),
};

const eddy__op_table eddy__resize_bicubic_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

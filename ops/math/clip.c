/* SPDX-License-Identifier: Apache-2.0 */
/* ClipByValue: elements brought between two bounds. */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/ops.h"

enum { VALUE, LOW, HIGH };

/* Steps are 0 for a bound that is one element, else 1. */
typedef void (*clip_loop)(void *out, const void *const *in, int64_t n,
                          int64_t low_step, int64_t high_step);

#define FLUSHED_F16(x) (x)
#define FLUSHED_BF16 eddy__flushed_float
#define FLUSHED_F32 eddy__flushed_float
#define FLUSHED_F64 eddy__flushed_double
#define FLUSHED_I8(x) (x)
#define FLUSHED_I16(x) (x)
#define FLUSHED_I32(x) (x)
#define FLUSHED_I64(x) (x)
#define FLUSHED_U8(x) (x)
#define FLUSHED_U16(x) (x)
#define FLUSHED_U32(x) (x)
#define FLUSHED_U64(x) (x)

/* NaN stays; where the bounds cross, the lower one counts. */
#define CLIP(D, ...)                                                           \
    static void clip_##D(void *to, const void *const *in, int64_t n,           \
                         int64_t low_step, int64_t high_step)                  \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *x = in[VALUE], *low = in[LOW];                 \
        const eddy__stored_##D *high = in[HIGH];                               \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            const eddy__computed_##D at = eddy__load_##D(x[i]);                \
            const eddy__computed_##D a = eddy__load_##D(low[i * low_step]);    \
            const eddy__computed_##D b = eddy__load_##D(high[i * high_step]);  \
            const eddy__computed_##D below = at > b ? b : at;                  \
                                                                               \
            out[i] = EDDY__STORE_##D(FLUSHED_##D(below < a ? a : below));      \
        }                                                                      \
    }

EDDY__EACH_FLOAT(CLIP, )
EDDY__EACH_SIGNED(CLIP, )
EDDY__EACH_UNSIGNED(CLIP, )

/* Of complex numbers, each part by itself; a bound has two as well. */
#define CLIP_PARTS(D, part, FLUSHED)                                           \
    static void clip_##D(void *to, const void *const *in, int64_t n,           \
                         int64_t low_step, int64_t high_step)                  \
    {                                                                          \
        part *out = to;                                                        \
        const part *x = in[VALUE], *low = in[LOW], *high = in[HIGH];           \
                                                                               \
        for (int64_t i = 0; i < 2 * n; i++) {                                  \
            const part a = low[low_step ? i : i & 1];                          \
            const part b = high[high_step ? i : i & 1];                        \
            const part below = x[i] > b ? b : x[i];                            \
                                                                               \
            out[i] = FLUSHED(below < a ? a : below);                           \
        }                                                                      \
    }

CLIP_PARTS(complex64, float, eddy__flushed_float)
CLIP_PARTS(complex128, double, eddy__flushed_double)

#define LOOP(D, ...) [EDDY__DTYPE_##D] = clip_##D,

static const clip_loop loops[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(LOOP, ) EDDY__EACH_SIGNED(LOOP, )
        EDDY__EACH_UNSIGNED(LOOP, )[EDDY_COMPLEX64] = clip_complex64,
    [EDDY_COMPLEX128] = clip_complex128};

static bool bound_fits(const eddy_shape *bound, const eddy_shape *value)
{
    return bound->rank == 0 || eddy__shape_compatible(bound, value);
}

/* Elements between two questions whether to stop. */
#define PART ((int64_t)1 << 16)

static eddy_status run_clip(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, VALUE);
    const size_t size = eddy_dtype_size(eddy__in_dtype(k, VALUE));
    const unsigned char *const in[] = {eddy__in_elements(k, VALUE),
                                       eddy__in_elements(k, LOW),
                                       eddy__in_elements(k, HIGH)};
    const clip_loop clip = loops[eddy__in(k, VALUE)->dtype];
    const int64_t n = eddy__in_count(k, VALUE);
    const int64_t low_step = eddy__in_shape(k, LOW)->rank > 0;
    const int64_t high_step = eddy__in_shape(k, HIGH)->rank > 0;
    void *out;

    for (uint32_t i = LOW; i <= HIGH; i++)
        if (!bound_fits(eddy__in_shape(k, i), shape))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "a bound of shape %s is neither one element "
                               "nor of the shape %s of what is clipped",
                               eddy__shape_print(eddy__in_shape(k, i)).text,
                               eddy__shape_print(shape).text);
    EDDY_TRY(eddy__output_reusing(k, 0, VALUE, eddy__in_dtype(k, VALUE), shape,
                                  &out));
    for (int64_t at = 0; at < n && !eddy__spent(k, PART); at += PART) {
        const void *const part[] = {in[VALUE] + (size_t)at * size,
                                    in[LOW] + (size_t)(at * low_step) * size,
                                    in[HIGH] + (size_t)(at * high_step) * size};

        clip((unsigned char *)out + (size_t)at * size, part,
             n - at < PART ? n - at : PART, low_step, high_step);
    }
    return EDDY_OK;
}

static eddy_status infer_clip(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, VALUE);

    for (uint32_t i = LOW; i <= HIGH; i++)
        if (!bound_fits(eddy_infer_input(infer, i), shape))
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "a bound of shape %s is neither one element nor of the shape "
                "%s of what is clipped",
                eddy__shape_print(eddy_infer_input(infer, i)).text,
                eddy__shape_print(shape).text);
    eddy_infer_set_output(infer, 0, shape);
    return EDDY_OK;
}

static eddy_status prepare_clip(eddy_infer *infer)
{
    const bool has = loops[eddy_infer_input_dtype(infer, VALUE)] != NULL;

    eddy_infer_set_kernel(infer, has ? run_clip : NULL);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("ClipByValue",
                 .inputs = "t: T, clip_value_min: T, clip_value_max: T",
                 .outputs = "output: T", .attrs = "T: number",
                 .infer = infer_clip, .prepare = prepare_clip,
                 .doc = "The elements, brought between two bounds."),
};

const eddy__op_table eddy__clip_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

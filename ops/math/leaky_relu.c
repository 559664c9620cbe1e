/* SPDX-License-Identifier: Apache-2.0 */
/* LeakyRelu and its gradient: negative features are scaled by `alpha`. */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/ops.h"

/*
 * The output where `x` is above 0 is `g`, elsewhere `g` times alpha: LeakyRelu
 * is that of x and x, its gradient that of the gradients and the features.
 */
typedef void (*leaky_loop)(void *out, const void *g, const void *x, int64_t n,
                           float alpha);

typedef struct leaky {
    leaky_loop loop, wide;
    float alpha; /* rounded to the dtype */
} leaky;

#define LOOP(target, loop, D)                                                  \
    target static void loop##_##D(void *to, const void *from, const void *at,  \
                                  int64_t n, float alpha)                      \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *g = from, *x = at;                             \
        const eddy__computed_##D by = (eddy__computed_##D)alpha;               \
                                                                               \
        EDDY__FOR_EACH(                                                        \
            i, n, const eddy__computed_##D y = eddy__load_##D(g[i]);           \
            const eddy__computed_##D scaled = y * by;                          \
            out[i] = EDDY__STORE_##D(eddy__load_##D(x[i]) > 0 ? y : scaled));  \
    }

#define LOOPS(D, ...)                                                          \
    LOOP(, loop, D)                                                            \
    LOOP(EDDY__WIDE, wide, D)
#define ENTRY(D, ...) [EDDY__DTYPE_##D] = {.loop = loop_##D, .wide = wide_##D},

EDDY__EACH_FLOAT(LOOPS, )

static const leaky kinds[EDDY_DTYPE_COUNT] = {EDDY__EACH_FLOAT(ENTRY, )};

/* Elements between two questions whether to stop. */
#define PART ((int64_t)1 << 16)

static void run_loop(eddy_kernel *k, unsigned char *out, const unsigned char *g,
                     const unsigned char *x, int64_t n)
{
    const leaky *l = eddy__state(k);
    const leaky_loop loop = EDDY__HAS_WIDE() ? l->wide : l->loop;
    const size_t size = eddy_dtype_size((eddy_dtype)eddy__out(k, 0)->dtype);

    for (int64_t at = 0; at < n && !eddy__spent(k, PART); at += PART) {
        const size_t offset = (size_t)at * size;

        loop(out + offset, g + offset, x + offset,
             n - at < PART ? n - at : PART, l->alpha);
    }
}

static eddy_status run_leaky(eddy_kernel *k)
{
    const void *in = eddy__in_elements(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    EDDY_TRY(eddy__output_reusing(k, 0, 0, eddy__in_dtype(k, 0),
                                  eddy__in_shape(k, 0), &out));
    run_loop(k, out, in, in, n);
    return EDDY_OK;
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const void *g = eddy__in_elements(k, 0), *x = eddy__in_elements(k, 1);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    if (!eddy__shape_equal(shape, eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "gradients of shape %s and features of shape %s "
                           "must have the same",
                           eddy__shape_print(shape).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(eddy__output_reusing(k, 0, 0, eddy__in_dtype(k, 0), shape, &out));
    run_loop(k, out, g, x, n);
    return EDDY_OK;
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape *a = eddy_infer_input(infer, 0);
    const eddy_shape *b = eddy_infer_input(infer, 1);
    eddy_shape shape;

    if (!eddy__shape_merge(a, b, &shape))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "gradients of shape %s and features of shape "
                               "%s must have the same",
                               eddy__shape_print(a).text,
                               eddy__shape_print(b).text);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 0);
    leaky *state = eddy__prepare_state(infer, sizeof *state);
    eddy_attr alpha;

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = kinds[dtype];
    if (eddy_infer_attr(infer, "alpha", &alpha))
        state->alpha = alpha.as.floats[0];
    if (dtype == EDDY_FLOAT16)
        state->alpha = eddy__half_to_float(eddy__half_from_float(state->alpha));
    if (dtype == EDDY_BFLOAT16)
        state->alpha =
            eddy__bfloat_to_float(eddy__bfloat_from_float(state->alpha));
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "LeakyRelu", .inputs = "features: T", .outputs = "activations: T",
        .attrs = "alpha: float = 0.2, T: float = float32",
        .infer = eddy__infer_unchanged, .kernel = run_leaky, .prepare = prepare,
        .doc = "the feature, times alpha unless it is above 0"),
    EDDY__OP_ROW(
        "LeakyReluGrad", .inputs = "gradients: T, features: T",
        .outputs = "backprops: T",
        .attrs = "alpha: float = 0.2, T: float = float32",
        .infer = infer_gradient, .kernel = run_gradient, .prepare = prepare,
        .doc = "the gradient, times alpha unless the feature is above 0"),
};

const eddy__op_table eddy__leaky_relu_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

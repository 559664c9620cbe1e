/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPool and its gradients of first and second order, with and without the
 * places of the maxima.
 *
 * As in TensorFlow the greatest is looked for from the least finite number on,
 * of 16 bits from -infinity, or, where a place is wanted, from the first one
 * on, and only what is greater replaces it.  So a NaN never wins but at the
 * first place, and there only in the gradients; of equal ones the first wins.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/pool.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Inputs of the gradients. */
enum { ORIGINAL, MAXIMA, GRADIENT, SIZES };

/* Indices of TensorFlow count the elements of an image, or of all of them. */
typedef struct places {
    eddy_dtype dtype;
    bool counts_batch;
    void *indices;
} places;

/* The number of a place of an image in the format NHWC. */
static int64_t number_of(const eddy__pool_window *w, int64_t place,
                         bool counts_batch)
{
    return counts_batch ? place : place - w->in;
}

static void put_number(const places *to, int64_t i, int64_t number)
{
    if (to->dtype == EDDY_INT32)
        ((int32_t *)to->indices)[i] = (int32_t)number;
    else
        ((int64_t *)to->indices)[i] = number;
}

#define EDDY__LEAST_F16 (-INFINITY)
#define EDDY__LEAST_BF16 (-INFINITY)
#define EDDY__LEAST_F32 (-FLT_MAX)
#define EDDY__LEAST_F64 (-DBL_MAX)

#define PLACE(p, i, j) ((i) * (p)->in.steps[0] + (j) * (p)->in.steps[1])

#define EACH "ops/nn/max_pool_loops.def"
#define SUM EDDY__COMPUTED
#include "ops/each_float.def"
#undef SUM
#define SUM EDDY__WRAPPED
#include "ops/each_signed.def"
#include "ops/each_unsigned.def"
#undef SUM
#undef EACH

/* Adds element `i` of a gradient at a place. */
typedef void (*add_fn)(void *to, const void *from, int64_t i, int64_t at);

static const struct {
    eddy__pool_fn max, first_order, second_order, with_places;
    add_fn by_places;
} loops[EDDY_DTYPE_COUNT] = {
#define ENTRY(D, ...)                                                          \
    [EDDY__DTYPE_##D] = {max_##D, first_order_##D, second_order_##D,           \
                         with_places_##D, by_places_##D},
    EDDY__EACH_FLOAT(ENTRY, ) EDDY__EACH_SIGNED(ENTRY, )
        EDDY__EACH_UNSIGNED(ENTRY, )
#undef ENTRY
};

/* ---- kernels ---- */

static eddy_status max_pool(eddy_kernel *k, uint32_t size_input)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_shape shape;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, 0), size_input, &p));
    shape = eddy__pool_shape(&p);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    p.is_forward = true;
    return eddy__pool_visit(k, &p, loops[dtype].max, eddy__in_elements(k, 0),
                            NULL, out);
}

static eddy_status run_max(eddy_kernel *k)
{
    return max_pool(k, 0);
}

static eddy_status run_max_v2(eddy_kernel *k)
{
    return max_pool(k, 1);
}

/* Zeros of the shape of the images. */
static eddy_status output_zeros(eddy_kernel *k, void **out)
{
    EDDY_TRY(eddy__output(k, 0, eddy__in_dtype(k, ORIGINAL),
                          eddy__in_shape(k, ORIGINAL), out));
    eddy__zero_bytes(k, *out, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

static eddy_status first_order(eddy_kernel *k, uint32_t size_input)
{
    const eddy_dtype dtype = eddy__in_dtype(k, ORIGINAL);
    eddy_shape windows;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, ORIGINAL), size_input, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    windows = eddy__pool_shape(&p);
    EDDY_TRY(eddy__window_want_shape(k, MAXIMA, "orig_output", &windows));
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "grad", &windows));
    EDDY_TRY(output_zeros(k, &out));
    if (eddy__in_count(k, GRADIENT) == 0)
        return EDDY_OK;
    return eddy__pool_visit(k, &p, loops[dtype].first_order,
                            eddy__in_elements(k, ORIGINAL),
                            eddy__in_elements(k, GRADIENT), out);
}

static eddy_status run_first_order(eddy_kernel *k)
{
    return first_order(k, 0);
}

static eddy_status run_first_order_v2(eddy_kernel *k)
{
    return first_order(k, SIZES);
}

static eddy_status second_order(eddy_kernel *k, uint32_t size_input)
{
    const eddy_dtype dtype = eddy__in_dtype(k, ORIGINAL);
    const void *const from[] = {eddy__in_elements(k, MAXIMA),
                                eddy__in_elements(k, GRADIENT)};
    eddy_shape windows;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, ORIGINAL), size_input, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    windows = eddy__pool_shape(&p);
    EDDY_TRY(eddy__window_want_shape(k, MAXIMA, "orig_output", &windows));
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "grad",
                                     eddy__in_shape(k, ORIGINAL)));
    EDDY_TRY(eddy__output(k, 0, dtype, &windows, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    return eddy__pool_visit(k, &p, loops[dtype].second_order,
                            eddy__in_elements(k, ORIGINAL), from, out);
}

static eddy_status run_second_order(eddy_kernel *k)
{
    return second_order(k, 0);
}

static eddy_status run_second_order_v2(eddy_kernel *k)
{
    return second_order(k, SIZES);
}

/* ---- with places ---- */

typedef struct state {
    eddy__windows windows; /* first, for eddy__pool_of */
    bool counts_batch;
} state;

static eddy_status prepare_places(eddy_infer *infer)
{
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->counts_batch = eddy__infer_bool(infer, "include_batch_in_index");
    return eddy__windows_read(infer, &s->windows);
}

static eddy_status run_with_places(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    places indices = {.dtype = (eddy_dtype)k->node->out_dtypes[1],
                      .counts_batch = s->counts_batch};
    eddy_shape shape;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, 0), 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    if (indices.dtype == EDDY_INT32 && eddy__in_count(k, 0) > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "places in images of shape %s do not fit in int32; "
                           "Targmax could be int64",
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    shape = eddy__pool_shape(&p);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &out));
    EDDY_TRY(eddy__output(k, 1, indices.dtype, &shape, &indices.indices));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    p.is_forward = true;
    return eddy__pool_visit(k, &p, loops[dtype].with_places,
                            eddy__in_elements(k, 0), &indices, out);
}

static eddy_status run_by_places(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const add_fn add = loops[eddy__in_dtype(k, ORIGINAL)].by_places;
    const eddy_view at = eddy__in_view(k, GRADIENT);
    const int64_t count = eddy__in_count(k, ORIGINAL);
    eddy_shape windows;
    int64_t per_image;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, ORIGINAL), 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    windows = eddy__pool_shape(&p);
    EDDY_TRY(eddy__window_want_shape(k, MAXIMA, "grad", &windows));
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "argmax", &windows));
    EDDY_TRY(output_zeros(k, &out));
    per_image = at.count > p.in.n ? at.count / p.in.n : 1;
    for (int64_t i = 0; i < at.count; i++) {
        const int64_t start =
            s->counts_batch ? 0 : i / per_image * p.in.step_image;
        const int64_t number = eddy__index_at(&at, i);

        if (number < 0 || number >= count - start)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                "argmax%s = %" PRId64 " is no place in images of shape %s",
                eddy__position(&windows, i).text, number,
                eddy__shape_print(eddy__in_shape(k, ORIGINAL)).text);
        add(out, eddy__in_elements(k, MAXIMA), i, start + number);
    }
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status infer_second_order(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, MAXIMA));
    return EDDY_OK;
}

/* What the windows are is an input. */
static eddy_status infer_max_v2(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(4);

    eddy_infer_set_output(infer, 0, &any);
    return EDDY_OK;
}

#define WINDOWS "ksize: list(int) >= 4, strides: list(int) >= 4, "
#define EXPLICIT "explicit_paddings: list(int) = [], "
#define PADDING "padding: string, "
#define FORMAT "data_format: string = 'NHWC', "
#define PLACES_OF                                                              \
    WINDOWS PADDING "include_batch_in_index: bool = false, T: real, "
#define POOLED "T: {float, int32, int64, uint8, int16, int8, uint16} = float32"
#define GRADIENTS "orig_input: T, orig_output: T, grad: T"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("MaxPool", .inputs = "input: T", .outputs = "output: T",
                 .attrs = WINDOWS PADDING EXPLICIT FORMAT POOLED,
                 .infer = eddy__pool_infer, .kernel = run_max,
                 .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "The greatest of each window over images."),
    EDDY__OP_ROW("MaxPoolV2",
                 .inputs = "input: T, ksize: int32, strides: int32",
                 .outputs = "output: T", .attrs = PADDING FORMAT POOLED,
                 .infer = infer_max_v2, .kernel = run_max_v2,
                 .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "MaxPool with windows that are inputs."),
    EDDY__OP_ROW("MaxPoolGrad", .inputs = GRADIENTS, .outputs = "output: T",
                 .attrs = WINDOWS PADDING EXPLICIT FORMAT "T: real = float32",
                 .infer = eddy__infer_unchanged, .kernel = run_first_order,
                 .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "The gradient of MaxPool by its images."),
    EDDY__OP_ROW(
        "MaxPoolGradV2", .inputs = GRADIENTS ", ksize: int32, strides: int32",
        .outputs = "output: T", .attrs = PADDING FORMAT "T: real = float32",
        .infer = eddy__infer_unchanged, .kernel = run_first_order_v2,
        .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
        .doc = "The gradient of MaxPoolV2 by its images."),
    EDDY__OP_ROW("MaxPoolGradGrad", .inputs = GRADIENTS, .outputs = "output: T",
                 .attrs = WINDOWS PADDING FORMAT "T: real",
                 .infer = infer_second_order, .kernel = run_second_order,
                 .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "What grad has where MaxPool found each maximum."),
    EDDY__OP_ROW("MaxPoolGradGradV2",
                 .inputs = GRADIENTS ", ksize: int32, strides: int32",
                 .outputs = "output: T", .attrs = PADDING FORMAT "T: real",
                 .infer = infer_second_order, .kernel = run_second_order_v2,
                 .prepare = eddy__pool_prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "What grad has where MaxPoolV2 found each maximum."),
    EDDY__OP_ROW("MaxPoolWithArgmax", .inputs = "input: T",
                 .outputs = "output: T, argmax: Targmax",
                 .attrs = PLACES_OF "Targmax: index = int64",
                 .infer = eddy__pool_infer, .kernel = run_with_places,
                 .prepare = prepare_places, .flags = EDDY_OP_HEAVY,
                 .doc = "MaxPool, and where each maximum is."),
    EDDY__OP_ROW("MaxPoolGradWithArgmax",
                 .inputs = "input: T, grad: T, argmax: Targmax",
                 .outputs = "output: T", .attrs = PLACES_OF "Targmax: index",
                 .infer = eddy__infer_unchanged, .kernel = run_by_places,
                 .prepare = prepare_places, .flags = EDDY_OP_HEAVY,
                 .doc = "The gradient of MaxPoolWithArgmax by its images."),
};

const eddy__op_table eddy__max_pool_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

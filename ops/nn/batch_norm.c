/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FusedBatchNorm and its gradient in their three versions, and L2Loss.
 *
 * Each channel of x is brought to mean 0 and variance 1, those of the batch
 * when training and given ones otherwise, then scaled and moved.  Sums are made
 * in double, in the order of the elements.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/window.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>
#include <math.h>

typedef struct state {
    double epsilon, factor; /* of the new in the running averages */
    bool is_training, is_channels_first;
} state;

/* x as `outer` times `channels` times `inner` elements. */
typedef struct batch {
    eddy_kernel *kernel; /* which is asked whether to stop */
    int64_t outer, channels, inner;
    double count; /* elements of a channel */
    const void *x, *gradient;
    void *out;
    /* Of each channel, in scratch memory. */
    double *mean, *variance, *sum, *product;
} batch;

/* ---- loops ---- */

/* The statement for each element `i` of each channel `c`. */
#define EACH(b, statement)                                                     \
    do {                                                                       \
        int64_t i = 0;                                                         \
                                                                               \
        for (int64_t outer_ = 0;                                               \
             outer_ < (b)->outer && !eddy__gave_up((b)->kernel); outer_++)     \
            for (int64_t c = 0;                                                \
                 c < (b)->channels && !eddy__spent((b)->kernel, (b)->inner);   \
                 c++)                                                          \
                for (int64_t end_ = i + (b)->inner; i < end_; i++)             \
                    statement;                                                 \
    } while (0)

#define D F16
#include "ops/nn/batch_norm_loops.def"
#define D BF16
#include "ops/nn/batch_norm_loops.def"
#define D F32
#include "ops/nn/batch_norm_loops.def"

static const struct {
    void (*measure)(const batch *b), (*normalise)(const batch *b);
    void (*sum)(const batch *b), (*combine)(const batch *b);
} loops[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = {measure_F16, normalise_F16, sum_F16, combine_F16},
    [EDDY_BFLOAT16] = {measure_BF16, normalise_BF16, sum_BF16, combine_BF16},
    [EDDY_FLOAT32] = {measure_F32, normalise_F32, sum_F32, combine_F32},
};

/* ---- what both have in common ---- */

static eddy_status describe(eddy_kernel *k, const eddy_shape *x, batch *b)
{
    const state *s = eddy__state(k);
    const int32_t axis = s->is_channels_first ? 1 : x->rank - 1;

    if (x->rank != 4 && x->rank != 5)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "x must have 4 or 5 dimensions, but it has shape %s",
                           eddy__shape_print(x).text);
    *b =
        (batch){.kernel = k, .outer = 1, .channels = x->dims[axis], .inner = 1};
    for (int32_t d = 0; d < axis; d++)
        b->outer *= x->dims[d];
    for (int32_t d = axis + 1; d < x->rank; d++)
        b->inner *= x->dims[d];
    b->count = (double)(b->outer * b->inner);
    return EDDY_OK;
}

/* Input `i` must have an element for each channel. */
static eddy_status channel_values(eddy_kernel *k, const batch *b, uint32_t i,
                                  const char *name, const float **out)
{
    const eddy_view view = eddy__in_view(k, i);

    *out = view.data;
    if (view.rank == 1 && view.count == b->channels)
        return EDDY_OK;
    return eddy__kfail(
        k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
        "%s must be a vector of %" PRId64 " channels, but it has shape %s",
        name, b->channels, eddy__shape_print(eddy__in_shape(k, i)).text);
}

static eddy_status make_scratch(eddy_kernel *k, batch *b, eddy_tensor **out)
{
    eddy_shape shape = eddy__shape_vector(0);
    double *values;

    *out = __builtin_mul_overflow(b->channels, 4, &shape.dims[0])
               ? NULL
               : eddy__tensor_create(k->heap, k->account, k->allocator,
                                     EDDY_FLOAT64, &shape);
    if (!*out)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for sums over %" PRId64 " channels",
                           b->channels);
    values = (*out)->data;
    for (int64_t i = 0; i < shape.dims[0]; i++)
        values[i] = 0;
    b->mean = values;
    b->variance = values + b->channels;
    b->sum = values + 2 * b->channels;
    b->product = values + 3 * b->channels;
    return EDDY_OK;
}

/* ---- FusedBatchNorm ---- */

/* Inputs and outputs. */
enum { X, SCALE, OFFSET, MEAN, VARIANCE };
enum { Y, BATCH_MEAN, BATCH_VARIANCE, RESERVE_1, RESERVE_2, RESERVE_3 };

/* One value a channel of each of four outputs. */
typedef struct statistics {
    float *of[4];
} statistics;

static eddy_status make_outputs(eddy_kernel *k, batch *b, statistics *out)
{
    const eddy_shape vector = eddy__shape_vector(b->channels);
    void *data;

    EDDY_TRY(eddy__output(k, Y, eddy__in_dtype(k, X), eddy__in_shape(k, X),
                          &b->out));
    for (uint32_t i = 0; i < 4; i++) {
        EDDY_TRY(eddy__output(k, BATCH_MEAN + i, EDDY_FLOAT32, &vector, &data));
        out->of[i] = data;
    }
    if (k->node->n_out > RESERVE_3)
        eddy__out_scalar(eddy__out(k, RESERVE_3), EDDY_FLOAT32, 0);
    return EDDY_OK;
}

/* A running average takes up a new value; `old` NULL: it is all new. */
static float average(double factor, const float *old, int64_t c, double value)
{
    if (!old)
        return (float)value;
    return (float)((1 - factor) * (double)old[c] + factor * value);
}

static void put_trained(double factor, const batch *b, const float *mean,
                        const float *variance, const statistics *out)
{
    const double rest = b->count > 1 ? b->count - 1 : 1;

    for (int64_t c = 0; c < b->channels; c++) {
        const bool is_empty = b->count == 0;

        out->of[0][c] = is_empty ? NAN : average(factor, mean, c, b->mean[c]);
        out->of[1][c] = is_empty ? NAN
                                 : average(factor, variance, c,
                                           b->variance[c] * b->count / rest);
        out->of[2][c] = is_empty ? 0 : (float)b->mean[c];
        out->of[3][c] = is_empty ? 0 : (float)b->variance[c];
    }
}

static void put_given(const batch *b, const float *mean, const float *variance,
                      const statistics *out)
{
    for (int64_t c = 0; c < b->channels; c++) {
        b->mean[c] = (double)mean[c];
        b->variance[c] = (double)variance[c];
        out->of[0][c] = out->of[2][c] = mean[c];
        out->of[1][c] = out->of[3][c] = variance[c];
    }
}

static eddy_status normalise(eddy_kernel *k, const state s, batch *b,
                             const float *values[5])
{
    const eddy_dtype dtype = eddy__in_dtype(k, X);
    eddy_tensor *scratch;
    statistics out;

    b->x = eddy__in_elements(k, X);
    EDDY_TRY(make_outputs(k, b, &out));
    EDDY_TRY(make_scratch(k, b, &scratch));
    if (s.is_training) {
        if (b->count > 0)
            loops[dtype].measure(b);
        put_trained(s.factor, b, values[MEAN], values[VARIANCE], &out);
    } else {
        put_given(b, values[MEAN], values[VARIANCE], &out);
    }
    for (int64_t c = 0; c < b->channels; c++) {
        b->sum[c] = (double)values[SCALE][c] / sqrt(b->variance[c] + s.epsilon);
        b->product[c] = (double)values[OFFSET][c];
    }
    loops[dtype].normalise(b);
    eddy__tensor_recycle(k->heap, scratch);
    return EDDY_OK;
}

static eddy_status run_norm(eddy_kernel *k)
{
    const state s = *(const state *)eddy__state(k);
    const float *values[5] = {NULL};
    batch b = {.outer = 0};

    EDDY_TRY(describe(k, eddy__in_shape(k, X), &b));
    EDDY_TRY(channel_values(k, &b, SCALE, "scale", &values[SCALE]));
    EDDY_TRY(channel_values(k, &b, OFFSET, "offset", &values[OFFSET]));
    if (!s.is_training || s.factor != 1) {
        EDDY_TRY(channel_values(k, &b, MEAN, "mean", &values[MEAN]));
        EDDY_TRY(
            channel_values(k, &b, VARIANCE, "variance", &values[VARIANCE]));
    }
    return normalise(k, s, &b, values);
}

/* ---- FusedBatchNormGrad ---- */

/* Inputs of the gradient: y_backprop, x, scale, mean, variance. */
enum { GRADIENT, GRADIENT_X, GRADIENT_SCALE, GRADIENT_MEAN, GRADIENT_VARIANCE };

/*
 * What combine takes of each channel: with r = 1 / sqrt(variance + epsilon),
 *   training: dx = scale * r * (g - mean(g) - (x - mean) * r^2 * mean(g * (x -
 *             mean)))
 *   else:     dx = scale * r * g
 */
static void prepare_combine(const state *s, const batch *b, const float *scale,
                            float *scale_gradient, float *offset_gradient)
{
    for (int64_t c = 0; c < b->channels; c++) {
        const double r = 1 / sqrt(b->variance[c] + s->epsilon);
        const double factor = (double)scale[c] * r;

        scale_gradient[c] = (float)(b->product[c] * r);
        offset_gradient[c] = (float)b->sum[c];
        b->variance[c] = factor;
        b->sum[c] = s->is_training ? factor * b->sum[c] / b->count : 0;
        b->product[c] =
            s->is_training ? factor * r * r * b->product[c] / b->count : 0;
    }
}

static eddy_status propagate(eddy_kernel *k, batch *b, const float *scale,
                             const float *mean, const float *variance)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT_X);
    const eddy_shape vector = eddy__shape_vector(b->channels);
    const eddy_shape none = eddy__shape_vector(0);
    void *scale_gradient, *offset_gradient, *unused;
    eddy_tensor *scratch;

    b->x = eddy__in_elements(k, GRADIENT_X);
    b->gradient = eddy__in_elements(k, GRADIENT);
    EDDY_TRY(eddy__output(k, 0, dtype, eddy__in_shape(k, GRADIENT_X), &b->out));
    EDDY_TRY(eddy__output(k, 1, EDDY_FLOAT32, &vector, &scale_gradient));
    EDDY_TRY(eddy__output(k, 2, EDDY_FLOAT32, &vector, &offset_gradient));
    EDDY_TRY(eddy__output(k, 3, EDDY_FLOAT32, &none, &unused));
    EDDY_TRY(eddy__output(k, 4, EDDY_FLOAT32, &none, &unused));
    EDDY_TRY(make_scratch(k, b, &scratch));
    for (int64_t c = 0; c < b->channels; c++) {
        b->mean[c] = (double)mean[c];
        b->variance[c] = (double)variance[c];
    }
    loops[dtype].sum(b);
    prepare_combine(eddy__state(k), b, scale, scale_gradient, offset_gradient);
    loops[dtype].combine(b);
    eddy__tensor_recycle(k->heap, scratch);
    return EDDY_OK;
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const float *scale, *mean, *variance;
    batch b = {.outer = 0};

    EDDY_TRY(describe(k, eddy__in_shape(k, GRADIENT_X), &b));
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "y_backprop",
                                     eddy__in_shape(k, GRADIENT_X)));
    EDDY_TRY(channel_values(k, &b, GRADIENT_SCALE, "scale", &scale));
    EDDY_TRY(channel_values(k, &b, GRADIENT_MEAN, "reserve_space_1", &mean));
    EDDY_TRY(
        channel_values(k, &b, GRADIENT_VARIANCE, "reserve_space_2", &variance));
    return propagate(k, &b, scale, mean, variance);
}

/* ---- L2Loss ---- */

#define L2_LOSS(D)                                                             \
    static double squares_##D(eddy_kernel *k, const void *data, int64_t n)     \
    {                                                                          \
        const eddy__stored_##D *x = data;                                      \
        double sum = 0;                                                        \
                                                                               \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {             \
            const double v = (double)eddy__load_##D(x[i]);                     \
                                                                               \
            sum += v * v;                                                      \
        }                                                                      \
        return sum;                                                            \
    }

L2_LOSS(F16)
L2_LOSS(BF16)
L2_LOSS(F32)
L2_LOSS(F64)

static eddy_status run_l2_loss(eddy_kernel *k)
{
    const eddy_view x = eddy__in_view(k, 0);
    eddy__value *out = eddy__out(k, 0);

    if (x.dtype == EDDY_FLOAT16)
        eddy__put_F16(out,
                      EDDY__STORE_F16(squares_F16(k, x.data, x.count) / 2));
    else if (x.dtype == EDDY_BFLOAT16)
        eddy__put_BF16(out,
                       EDDY__STORE_BF16(squares_BF16(k, x.data, x.count) / 2));
    else if (x.dtype == EDDY_FLOAT32)
        eddy__put_F32(out,
                      EDDY__STORE_F32(squares_F32(k, x.data, x.count) / 2));
    else
        eddy__put_F64(out, squares_F64(k, x.data, x.count) / 2);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static bool read_format(const eddy_infer *infer, bool *out_is_first)
{
    eddy_attr format;

    *out_is_first = false;
    if (!eddy_infer_attr(infer, "data_format", &format))
        return true;
    *out_is_first = eddy__window_text_is(format.as.strings, "NCHW") ||
                    eddy__window_text_is(format.as.strings, "NCDHW");
    return *out_is_first || eddy__window_text_is(format.as.strings, "NHWC") ||
           eddy__window_text_is(format.as.strings, "NDHWC");
}

static eddy_status prepare_norm(eddy_infer *infer)
{
    state *s = eddy__prepare_state(infer, sizeof *s);
    eddy_attr attr;

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->is_training = eddy__infer_bool(infer, "is_training");
    s->factor = 1;
    if (eddy_infer_attr(infer, "exponential_avg_factor", &attr))
        s->factor = (double)attr.as.floats[0];
    if (eddy_infer_attr(infer, "epsilon", &attr))
        s->epsilon = (double)attr.as.floats[0];
    if (read_format(infer, &s->is_channels_first))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "data_format must be NHWC, NCHW, NDHWC or NCDHW");
}

static eddy_shape infer_channels(const eddy_infer *infer, const eddy_shape *x)
{
    bool is_first;

    if (x->rank < 4 || !read_format(infer, &is_first))
        return eddy__shape_vector(-1);
    return eddy__shape_vector(x->dims[is_first ? 1 : x->rank - 1]);
}

static eddy_status infer_norm(eddy_infer *infer)
{
    const eddy_shape *x = eddy_infer_input(infer, X);
    const eddy_shape vector = infer_channels(infer, x);
    const eddy_shape scalar = eddy__shape_scalar();

    eddy_infer_set_output(infer, Y, x);
    for (uint32_t i = BATCH_MEAN; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, i == RESERVE_3 ? &scalar : &vector);
    return EDDY_OK;
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape *x = eddy_infer_input(infer, GRADIENT_X);
    const eddy_shape vector = infer_channels(infer, x);
    const eddy_shape none = eddy__shape_vector(0);

    eddy_infer_set_output(infer, 0, x);
    for (uint32_t i = 1; i < 5; i++)
        eddy_infer_set_output(infer, i, i < 3 ? &vector : &none);
    return EDDY_OK;
}

#define EPSILON "epsilon: float = 0.0001, "
#define FACTOR "exponential_avg_factor: float = 1.0, "
#define FORMAT "data_format: string = 'NHWC', is_training: bool = true"
#define HALVES "T: {float16, bfloat16, float32}, U: {float32}, "
#define IN(T, U)                                                               \
    "x: " T ", scale: " U ", offset: " U ", mean: " U ", "                     \
    "variance: " U
#define OUT(T, U)                                                              \
    "y: " T ", batch_mean: " U ", batch_variance: " U ", "                     \
    "reserve_space_1: " U ", reserve_space_2: " U
#define GRAD_IN(T, U, S)                                                       \
    "y_backprop: " T ", x: " T ", scale: " S ", reserve_space_1: " U ", "      \
    "reserve_space_2: " U
#define GRAD_OUT(T, U, a, b)                                                   \
    "x_backprop: " T ", scale_backprop: " U ", offset_backprop: " U ", "       \
    "reserve_space_" a ": " U ", reserve_space_" b ": " U
#define NORM "Each channel with mean 0 and variance 1, scaled and moved."
#define GRADIENT_OF "The gradient of FusedBatchNorm by x, scale and offset."

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "FusedBatchNorm", .inputs = IN("T", "T"), .outputs = OUT("T", "T"),
        .attrs = "T: {float32}, " EPSILON FACTOR FORMAT, .infer = infer_norm,
        .kernel = run_norm, .prepare = prepare_norm, .doc = NORM),
    EDDY__OP_ROW("FusedBatchNormV2", .inputs = IN("T", "U"),
                 .outputs = OUT("T", "U"),
                 .attrs = HALVES EPSILON FACTOR FORMAT, .infer = infer_norm,
                 .kernel = run_norm, .prepare = prepare_norm, .doc = NORM),
    EDDY__OP_ROW("FusedBatchNormV3", .inputs = IN("T", "U"),
                 .outputs = OUT("T", "U") ", reserve_space_3: U",
                 .attrs = HALVES EPSILON FACTOR FORMAT, .infer = infer_norm,
                 .kernel = run_norm, .prepare = prepare_norm, .doc = NORM),
    EDDY__OP_ROW("FusedBatchNormGrad", .inputs = GRAD_IN("T", "T", "T"),
                 .outputs = GRAD_OUT("T", "T", "3", "4"),
                 .attrs = "T: {float32}, " EPSILON FORMAT,
                 .infer = infer_gradient, .kernel = run_gradient,
                 .prepare = prepare_norm, .doc = GRADIENT_OF),
    EDDY__OP_ROW("FusedBatchNormGradV2", .inputs = GRAD_IN("T", "U", "float32"),
                 .outputs = GRAD_OUT("T", "U", "3", "4"),
                 .attrs = HALVES EPSILON FORMAT, .infer = infer_gradient,
                 .kernel = run_gradient, .prepare = prepare_norm,
                 .doc = GRADIENT_OF),
    EDDY__OP_ROW("FusedBatchNormGradV3",
                 .inputs = GRAD_IN("T", "U", "float32") ", reserve_space_3: U",
                 .outputs = GRAD_OUT("T", "U", "4", "5"),
                 .attrs = HALVES EPSILON FORMAT, .infer = infer_gradient,
                 .kernel = run_gradient, .prepare = prepare_norm,
                 .doc = GRADIENT_OF),
    EDDY__OP_ROW("L2Loss", .inputs = "t: T", .outputs = "output: T",
                 .attrs = "T: float", .infer = eddy__infer_scalar,
                 .kernel = run_l2_loss, .doc = "Half the sum of squares."),
};

const eddy__op_table eddy__batch_norm_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

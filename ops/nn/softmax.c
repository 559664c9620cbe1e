/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax along the last dimension. */
#include "ops/nn/softmax.h"

#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/math/vector_math.h"
#include "ops/ops.h"

#include <math.h>

#define LANES 16

/* ---- rows ---- */

/* A NaN may be passed over: its exponential makes the sum one all the same. */
#define ROW_MAX(D)                                                             \
    static eddy__computed_##D row_max_##D(const eddy__stored_##D *x,           \
                                          int64_t n)                           \
    {                                                                          \
        eddy__computed_##D lanes[LANES], max;                                  \
        int64_t at = 0;                                                        \
                                                                               \
        for (int64_t j = 0; j < LANES; j++)                                    \
            lanes[j] = -(eddy__computed_##D)INFINITY;                          \
        for (; n - at >= LANES; at += LANES) {                                 \
            EDDY__INDEPENDENT                                                  \
            for (int64_t j = 0; j < LANES; j++) {                              \
                const eddy__computed_##D v = eddy__load_##D(x[at + j]);        \
                                                                               \
                lanes[j] = v > lanes[j] ? v : lanes[j];                        \
            }                                                                  \
        }                                                                      \
        max = lanes[0];                                                        \
        for (int64_t j = 1; j < LANES; j++)                                    \
            max = lanes[j] > max ? lanes[j] : max;                             \
        for (; at < n; at++) {                                                 \
            const eddy__computed_##D v = eddy__load_##D(x[at]);                \
                                                                               \
            max = v > max ? v : max;                                           \
        }                                                                      \
        return max;                                                            \
    }

#define SUM_UP(D)                                                              \
    static eddy__computed_##D sum_up_##D(const eddy__computed_##D *x,          \
                                         int64_t n)                            \
    {                                                                          \
        eddy__computed_##D lanes[LANES] = {0}, sum = 0;                        \
        int64_t at = 0;                                                        \
                                                                               \
        for (; n - at >= LANES; at += LANES) {                                 \
            EDDY__INDEPENDENT                                                  \
            for (int64_t j = 0; j < LANES; j++)                                \
                lanes[j] += x[at + j];                                         \
        }                                                                      \
        for (int64_t half = LANES / 2; at > 0 && half > 0; half /= 2)          \
            for (int64_t j = 0; j < half; j++)                                 \
                lanes[j] += lanes[j + half];                                   \
        for (; at < n; at++)                                                   \
            sum += x[at];                                                      \
        return lanes[0] + sum;                                                 \
    }

/* x[i] = exp(x[i]), as the op Exp has it; `x` has room for whole vectors. */
static void exponentials(double *x, int64_t n)
{
    const int64_t end = (n + EDDY__MATH_LANES - 1) & -EDDY__MATH_LANES;

    for (int64_t i = n; i < end; i++)
        x[i] = 0;
    eddy__math_loops()[EDDY__MATH_exp](x, NULL, end);
}

#define EXP_ROWS(D)                                                            \
    ROW_MAX(D)                                                                 \
    SUM_UP(D)                                                                  \
    void eddy__exps_##D(const eddy__stored_##D *x, int64_t step, int64_t n,    \
                        const eddy__exp_row *row, eddy__computed_##D *exps)    \
    {                                                                          \
        const eddy__computed_##D max = (eddy__computed_##D)row->max;           \
        _Alignas(64) double shifted[EDDY__EXPS];                               \
                                                                               \
        if (step == 1)                                                         \
            EDDY__FOR_EACH(i, n,                                               \
                           shifted[i] = (double)(eddy__load_##D(x[i]) - max)); \
        else                                                                   \
            EDDY__FOR_EACH(i, n,                                               \
                           shifted[i] = (double)(eddy__load_##D(x[0]) - max)); \
        exponentials(shifted, n);                                              \
        EDDY__FOR_EACH(i, n, exps[i] = (eddy__computed_##D)shifted[i]);        \
    }                                                                          \
    eddy__exp_row eddy__exp_sum_##D(eddy_kernel *k, const eddy__stored_##D *x, \
                                    int64_t step, int64_t n,                   \
                                    eddy__computed_##D *kept)                  \
    {                                                                          \
        eddy__computed_##D own[EDDY__EXPS];                                    \
        eddy__exp_row row = {                                                  \
            .max = (double)row_max_##D(x, step == 1 || n == 0 ? n : 1)};       \
                                                                               \
        for (int64_t at = 0;                                                   \
             at < n && !eddy__spent(k, (int64_t)EDDY__EXPS * 8);               \
             at += EDDY__EXPS) {                                               \
            const int64_t left = n - at;                                       \
            const int64_t m = left < EDDY__EXPS ? left : EDDY__EXPS;           \
            eddy__computed_##D *exps = kept ? kept + at : own;                 \
                                                                               \
            eddy__exps_##D(x + at * step, step, m, &row, exps);                \
            row.sum += (double)sum_up_##D(exps, m);                            \
        }                                                                      \
        return row;                                                            \
    }

_Static_assert(EDDY__EXPS % EDDY__MATH_LANES == 0, "vectors are whole");

EXP_ROWS(F16)
EXP_ROWS(BF16)
EXP_ROWS(F32)
EXP_ROWS(F64)

/* ---- the kernels ---- */

typedef void (*row_function)(eddy_kernel *k, void *to, const void *from,
                             int64_t n);

#define SOFTMAX(D)                                                             \
    static void softmax_##D(eddy_kernel *k, void *to, const void *from,        \
                            int64_t n)                                         \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__exp_row row = eddy__exp_sum_##D(k, from, 1, n, out);       \
        const eddy__computed_##D scale = (eddy__computed_##D)(1 / row.sum);    \
                                                                               \
        EDDY__FOR_EACH(i, n, out[i] *= scale);                                 \
    }

SOFTMAX(F32)
SOFTMAX(F64)

/* NOLINTBEGIN(readability-function-size): the strips of a loop nest in it. */

/* Its exponentials are made twice, since a half does not hold one. */
#define SOFTMAX_HALF(D)                                                        \
    static void softmax_##D(eddy_kernel *k, void *to, const void *from,        \
                            int64_t n)                                         \
    {                                                                          \
        uint16_t *out = to;                                                    \
        const uint16_t *in = from;                                             \
        const eddy__exp_row row = eddy__exp_sum_##D(k, in, 1, n, NULL);        \
        const float scale = (float)(1 / row.sum);                              \
        float exps[EDDY__EXPS];                                                \
                                                                               \
        for (int64_t at = 0; at < n; at += EDDY__EXPS) {                       \
            const int64_t m = n - at < EDDY__EXPS ? n - at : EDDY__EXPS;       \
                                                                               \
            eddy__exps_##D(in + at, 1, m, &row, exps);                         \
            EDDY__FOR_EACH(i, m,                                               \
                           out[at + i] = EDDY__STORE_##D(exps[i] * scale));    \
        }                                                                      \
    }

SOFTMAX_HALF(F16)
SOFTMAX_HALF(BF16)
/* NOLINTEND(readability-function-size) */

#define LOG_SOFTMAX(D)                                                         \
    static void log_softmax_##D(eddy_kernel *k, void *to, const void *from,    \
                                int64_t n)                                     \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *in = from;                                     \
        const eddy__exp_row row = eddy__exp_sum_##D(k, in, 1, n, NULL);        \
        const eddy__computed_##D max = (eddy__computed_##D)row.max;            \
        const eddy__computed_##D log_sum = (eddy__computed_##D)log(row.sum);   \
                                                                               \
        EDDY__FOR_EACH(i, n,                                                   \
                       out[i] = EDDY__STORE_##D(                               \
                           (eddy__load_##D(in[i]) - max) - log_sum));          \
    }

LOG_SOFTMAX(F16)
LOG_SOFTMAX(BF16)
LOG_SOFTMAX(F32)
LOG_SOFTMAX(F64)

static const row_function softmax[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = softmax_F16,
    [EDDY_BFLOAT16] = softmax_BF16,
    [EDDY_FLOAT32] = softmax_F32,
    [EDDY_FLOAT64] = softmax_F64,
};

static const row_function log_softmax[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = log_softmax_F16,
    [EDDY_BFLOAT16] = log_softmax_BF16,
    [EDDY_FLOAT32] = log_softmax_F32,
    [EDDY_FLOAT64] = log_softmax_F64,
};

#define NO_CLASSES                                                             \
    "logits must have at least one dimension, but they are a scalar"

/* What workers may do rows of. */
typedef struct row_work {
    row_function function;
    unsigned char *out;
    const unsigned char *in;
    int64_t classes;
    size_t bytes; /* of a row */
} row_work;

static eddy_status run_some(eddy_kernel *k, void *arg, int64_t begin,
                            int64_t end)
{
    const row_work *w = arg;

    for (int64_t row = begin; row < end && !eddy__gave_up(k); row++)
        w->function(k, w->out + (size_t)row * w->bytes,
                    w->in + (size_t)row * w->bytes, w->classes);
    return EDDY_OK;
}

static eddy_status run_rows(eddy_kernel *k, const row_function *functions)
{
    const eddy_shape shape = *eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const unsigned char *in = eddy__in_elements(k, 0);
    const int64_t count = eddy__in_count(k, 0);
    row_work w = {.function = functions[dtype], .in = in};
    void *data;

    if (shape.rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_CLASSES);
    EDDY_TRY(eddy__output_reusing(k, 0, 0, dtype, &shape, &data));
    if (count == 0)
        return EDDY_OK;
    w.out = data;
    w.classes = shape.dims[shape.rank - 1];
    w.bytes = (size_t)w.classes * eddy_dtype_size(dtype);
    return eddy__parallel_for(k, count / w.classes,
                              eddy__grain(2 * w.classes, 1), run_some, &w);
}

static eddy_status run_softmax(eddy_kernel *k)
{
    return run_rows(k, softmax);
}

static eddy_status run_log_softmax(eddy_kernel *k)
{
    return run_rows(k, log_softmax);
}

static eddy_status infer_rows(eddy_infer *infer)
{
    if (eddy_infer_input(infer, 0)->rank == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               NO_CLASSES);
    return eddy__infer_unchanged(infer);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Softmax", .inputs = "logits: T", .outputs = "softmax: T",
                 .attrs = "T: float", .infer = infer_rows,
                 .kernel = run_softmax, .flags = EDDY_OP_HEAVY,
                 .doc = "exp(logits) over their sum along the last dimension."),
    EDDY__OP_ROW(
        "LogSoftmax", .inputs = "logits: T", .outputs = "logsoftmax: T",
        .attrs = "T: float", .infer = infer_rows, .kernel = run_log_softmax,
        .flags = EDDY_OP_HEAVY,
        .doc = "The logarithm of Softmax, without the loss of small terms."),
};

const eddy__op_table eddy__softmax_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

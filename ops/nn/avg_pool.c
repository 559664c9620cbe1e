/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AvgPool and AvgPoolGrad: what is outside the image does not count.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/pool.h"
#include "ops/ops.h"

#include <string.h>

#define TILE 64 /* channels that are summed at a time */

static int64_t places(const eddy__pool_window *w)
{
    return (w->end[0] - w->first[0]) * (w->end[1] - w->first[1]);
}

#define AVERAGE(D)                                                             \
    static void add_##D(eddy__computed_##D *sum, const eddy__stored_##D *x,    \
                        int64_t step, int64_t n)                               \
    {                                                                          \
        if (step == 1)                                                         \
            EDDY__FOR_EACH(i, n, sum[i] += eddy__load_##D(x[i]));              \
        else                                                                   \
            for (int64_t i = 0; i < n; i++)                                    \
                sum[i] += eddy__load_##D(x[i * step]);                         \
    }                                                                          \
    static void average_##D(const eddy__pool *p, const eddy__pool_window *w,   \
                            const void *a, const void *b, void *to)            \
    {                                                                          \
        const eddy__stored_##D *x = (const eddy__stored_##D *)a + w->in;       \
        eddy__stored_##D *out = (eddy__stored_##D *)to + w->out;               \
        const eddy__computed_##D count = (eddy__computed_##D)places(w);        \
        eddy__computed_##D sum[TILE];                                          \
                                                                               \
        (void)b;                                                               \
        for (int64_t c = 0; c < p->in.channels; c += TILE) {                   \
            const int64_t left = p->in.channels - c;                           \
            const int64_t n = left < TILE ? left : TILE;                       \
                                                                               \
            for (int64_t i = 0; i < n; i++)                                    \
                sum[i] = 0;                                                    \
            for (int64_t i = w->first[0]; i < w->end[0]; i++)                  \
                for (int64_t j = w->first[1]; j < w->end[1]; j++)              \
                    add_##D(sum,                                               \
                            x + i * p->in.steps[0] + j * p->in.steps[1] +      \
                                c * p->in.step_channel,                        \
                            p->in.step_channel, n);                            \
            for (int64_t i = 0; i < n; i++)                                    \
                out[(c + i) * p->out.step_channel] =                           \
                    EDDY__STORE_##D(sum[i] / count);                           \
        }                                                                      \
    }                                                                          \
    static void share_##D(const eddy__pool *p, const eddy__pool_window *w,     \
                          const void *a, const void *b, void *to)              \
    {                                                                          \
        const eddy__stored_##D *gradient =                                     \
            (const eddy__stored_##D *)a + w->out;                              \
        const eddy__computed_##D count = (eddy__computed_##D)places(w);        \
        const int64_t step = p->in.step_channel;                               \
                                                                               \
        (void)b;                                                               \
        for (int64_t i = w->first[0]; i < w->end[0]; i++)                      \
            for (int64_t j = w->first[1]; j < w->end[1]; j++) {                \
                eddy__stored_##D *out = (eddy__stored_##D *)to + w->in +       \
                                        i * p->in.steps[0] +                   \
                                        j * p->in.steps[1];                    \
                                                                               \
                for (int64_t c = 0; c < p->in.channels; c++)                   \
                    out[c * step] = EDDY__STORE_##D(                           \
                        eddy__load_##D(out[c * step]) +                        \
                        eddy__load_##D(gradient[c * p->out.step_channel]) /    \
                            count);                                            \
            }                                                                  \
    }

AVERAGE(F16)
AVERAGE(BF16)
AVERAGE(F32)
AVERAGE(F64)

static const eddy__pool_fn averages[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = average_F16,
    [EDDY_BFLOAT16] = average_BF16,
    [EDDY_FLOAT32] = average_F32,
    [EDDY_FLOAT64] = average_F64,
};

static const eddy__pool_fn shares[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = share_F16,
    [EDDY_BFLOAT16] = share_BF16,
    [EDDY_FLOAT32] = share_F32,
    [EDDY_FLOAT64] = share_F64,
};

static eddy_status run_average(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_shape shape;
    eddy__pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, 0), 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    shape = eddy__pool_shape(&p);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    return eddy__pool_visit(k, &p, averages[dtype], eddy__in_elements(k, 0),
                            NULL, out);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy_shape images, windows;
    eddy_view view;
    eddy__pool p;
    void *out;

    EDDY_TRY(eddy__vector_argument(k, 0, "orig_input_shape", 4, &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &images));
    EDDY_TRY(eddy__pool_of(k, &images, 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    windows = eddy__pool_shape(&p);
    EDDY_TRY(eddy__want_shape(k, 1, "grad", &windows));
    EDDY_TRY(eddy__output(k, 0, dtype, &images, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    memset(out, 0, eddy__out(k, 0)->as.tensor->bytes);
    return eddy__pool_visit(k, &p, shares[dtype], eddy__in_elements(k, 1), NULL,
                            out);
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    if (shape.rank != 4)
        shape = eddy__shape_of_rank(4);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define AVG_POOL(name, in, shapes, run, text)                                  \
    EDDY__OP_ROW(                                                              \
        name, .inputs = in, .outputs = "output: T",                            \
        .attrs = "ksize: list(int) >= 4, strides: list(int) >= 4, padding: "   \
                 "string, data_format: string = 'NHWC', T: float",             \
        .infer = shapes, .kernel = run, .prepare = eddy__pool_prepare,         \
        .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    AVG_POOL("AvgPool", "value: T", eddy__pool_infer, run_average,
             "The mean of what each window over images has inside them."),
    AVG_POOL("AvgPoolGrad", "orig_input_shape: int32, grad: T", infer_gradient,
             run_gradient, "The gradient of AvgPool by its images."),
};

const eddy__op_table eddy__avg_pool_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

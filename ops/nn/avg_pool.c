/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AvgPool and AvgPoolGrad: what is outside the image does not count.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/pool.h"
#include "ops/ops.h"
#include "ops/template.h"

#define TILE 64 /* channels that are summed at a time */

static int64_t places(const eddy__pool_window *w)
{
    return (w->end[0] - w->first[0]) * (w->end[1] - w->first[1]);
}

#define EACH "ops/nn/avg_pool_loops.def"
#include "ops/each_float.def"
#undef EACH

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
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__pool_of(k, eddy__in_shape(k, 0), 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    shape = eddy__pool_shape(&p);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    p.is_forward = true;
    return eddy__pool_visit(k, &p, averages[dtype], eddy__in_elements(k, 0),
                            NULL, out);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy_shape images, windows;
    eddy_view view;
    eddy__window_pool p;
    void *out;

    EDDY_TRY(eddy__vector_argument(k, 0, "orig_input_shape", 4, &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &images));
    EDDY_TRY(eddy__pool_of(k, &images, 0, &p));
    EDDY_TRY(eddy__pool_flat(k, &p));
    windows = eddy__pool_shape(&p);
    EDDY_TRY(eddy__window_want_shape(k, 1, "grad", &windows));
    EDDY_TRY(eddy__output(k, 0, dtype, &images, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
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

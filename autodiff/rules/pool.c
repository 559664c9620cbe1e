/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling.  Where the greatest are does not change with a small step, so
 * gradients are linear in what comes in and are each other's gradients.
 */
#include "autodiff/rule.h"

static eddy_output add(eddy_gradient *g, const char *op,
                       const eddy_output *inputs, size_t n_inputs,
                       bool has_explicit)
{
    static const char *const names[] = {"ksize",
                                        "strides",
                                        "padding",
                                        "data_format",
                                        "include_batch_in_index",
                                        "explicit_paddings"};
    eddy_attr attrs[6];
    const size_t n = eddy__rule_attrs(g, names, has_explicit ? 6 : 5, attrs);

    return eddy_gradient_add(g, op, inputs, n_inputs, attrs, n);
}

#define ADD(op, ...)                                                           \
    add(g, (op), (const eddy_output[]){__VA_ARGS__},                           \
        sizeof((const eddy_output[]){__VA_ARGS__}) / sizeof(eddy_output),      \
        false)

/* ---- means ---- */

eddy_status eddy__grad_avg_pool(eddy_gradient *g)
{
    DX(0, ADD("AvgPoolGrad", eddy_gradient_shape_of(g, 0), DY(0)));
    return EDDY_OK;
}

/* shape, dy */
eddy_status eddy__grad_avg_pool_grad(eddy_gradient *g)
{
    DX(1, ADD("AvgPool", DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_avg_pool3d(eddy_gradient *g)
{
    DX(0, ADD("AvgPool3DGrad", eddy_gradient_shape_of(g, 0), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_avg_pool3d_grad(eddy_gradient *g)
{
    DX(1, ADD("AvgPool3D", DY(0)));
    return EDDY_OK;
}

/* ---- maxima ---- */

eddy_status eddy__grad_max_pool(eddy_gradient *g)
{
    const eddy_output inputs[] = {X(0), Y(0), DY(0)};

    DX(0, add(g, "MaxPoolGrad", inputs, 3, true));
    return EDDY_OK;
}

/* x, y, dy */
eddy_status eddy__grad_max_pool_grad(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPoolGradGrad", X(0), X(1), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_max_pool_grad_grad(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPoolGrad", X(0), X(1), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_max_pool3d(eddy_gradient *g)
{
    DX(0, ADD("MaxPool3DGrad", X(0), Y(0), DY(0)));
    return EDDY_OK;
}

/* x, y, dy */
eddy_status eddy__grad_max_pool3d_grad(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPool3DGradGrad", X(0), X(1), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_max_pool3d_grad_grad(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPool3DGrad", X(0), X(1), DY(0)));
    return EDDY_OK;
}

/* x, ksize, strides */
eddy_status eddy__grad_max_pool_v2(eddy_gradient *g)
{
    DX(0, ADD("MaxPoolGradV2", X(0), Y(0), DY(0), X(1), X(2)));
    return EDDY_OK;
}

/* x, y, dy, ksize, strides */
eddy_status eddy__grad_max_pool_grad_v2(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPoolGradGradV2", X(0), X(1), DY(0), X(3), X(4)));
    return EDDY_OK;
}

eddy_status eddy__grad_max_pool_grad_grad_v2(eddy_gradient *g)
{
    if (WANTS(2))
        DX(2, ADD("MaxPoolGradV2", X(0), X(1), DY(0), X(3), X(4)));
    return EDDY_OK;
}

/* x -> y, places */
eddy_status eddy__grad_max_pool_with_argmax(eddy_gradient *g)
{
    DX(0, ADD("MaxPoolGradWithArgmax", X(0), DY(0), Y(1)));
    return EDDY_OK;
}

/* The places among all elements and not those of an image. */
static eddy_output all_places(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 2);
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output image =
        eddy__rule_count(g, eddy__rule_tail(g, shape, INT(1.0)));
    const eddy_output first = OP(
        "Mul",
        OP("Range", INT(0.0), eddy__rule_element(g, shape, INT(0.0)), INT(1.0)),
        image);

    if (eddy__rule_bool(g, "include_batch_in_index"))
        return X(2);
    return OP("AddV2", X(2),
              eddy__rule_cast(g, OP("Reshape", first, INTS(-1, 1, 1, 1)),
                              EDDY_INT32, dtype));
}

/* x, dy, places */
eddy_status eddy__grad_max_pool_grad_with_argmax(eddy_gradient *g)
{
    if (WANTS(1))
        DX(1, OP("GatherV2", OP("Reshape", DY(0), INTS(-1)), all_places(g),
                 INT(0.0)));
    return EDDY_OK;
}

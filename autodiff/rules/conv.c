/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions.  One is linear in each of its two inputs, and so are the ops
 * of its gradients: they are each other's gradients.
 */
#include "autodiff/rule.h"

/* The ops of a family, and the attributes that all of them have. */
typedef struct family {
    const char *forward, *by_input, *by_filter;
} family;

static const family plain = {"Conv2D", "Conv2DBackpropInput",
                             "Conv2DBackpropFilter"};
static const family solid = {"Conv3D", "Conv3DBackpropInputV2",
                             "Conv3DBackpropFilterV2"};
static const family depthwise = {"DepthwiseConv2dNative",
                                 "DepthwiseConv2dNativeBackpropInput",
                                 "DepthwiseConv2dNativeBackpropFilter"};

static eddy_output add(eddy_gradient *g, const char *op,
                       const eddy_output *inputs, size_t n_inputs)
{
    static const char *const names[] = {"strides",     "padding",
                                        "data_format", "explicit_paddings",
                                        "dilations",   "use_cudnn_on_gpu"};
    eddy_attr attrs[6];
    const size_t n = eddy__rule_attrs(g, names, 6, attrs);

    return eddy_gradient_add(g, op, inputs, n_inputs, attrs, n);
}

#define ADD(op, ...)                                                           \
    add(g, (op), (const eddy_output[]){__VA_ARGS__},                           \
        sizeof((const eddy_output[]){__VA_ARGS__}) / sizeof(eddy_output))

/* input, filter */
static eddy_status forward(eddy_gradient *g, const family *f)
{
    if (WANTS(0))
        DX(0, ADD(f->by_input, eddy_gradient_shape_of(g, 0), X(1), DY(0)));
    if (WANTS(1))
        DX(1, ADD(f->by_filter, X(0), eddy_gradient_shape_of(g, 1), DY(0)));
    return EDDY_OK;
}

/* input_sizes, filter, dy */
static eddy_status by_input(eddy_gradient *g, const family *f)
{
    if (WANTS(1))
        DX(1, ADD(f->by_filter, DY(0), eddy_gradient_shape_of(g, 1), X(2)));
    if (WANTS(2))
        DX(2, ADD(f->forward, DY(0), X(1)));
    return EDDY_OK;
}

/* input, filter_sizes, dy */
static eddy_status by_filter(eddy_gradient *g, const family *f)
{
    if (WANTS(0))
        DX(0, ADD(f->by_input, eddy_gradient_shape_of(g, 0), DY(0), X(2)));
    if (WANTS(2))
        DX(2, ADD(f->forward, X(0), DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_conv(eddy_gradient *g)
{
    return forward(g, &plain);
}

eddy_status eddy__grad_conv_by_input(eddy_gradient *g)
{
    return by_input(g, &plain);
}

eddy_status eddy__grad_conv_by_filter(eddy_gradient *g)
{
    return by_filter(g, &plain);
}

eddy_status eddy__grad_conv3d(eddy_gradient *g)
{
    return forward(g, &solid);
}

eddy_status eddy__grad_conv3d_by_input(eddy_gradient *g)
{
    return by_input(g, &solid);
}

eddy_status eddy__grad_conv3d_by_filter(eddy_gradient *g)
{
    return by_filter(g, &solid);
}

eddy_status eddy__grad_depthwise(eddy_gradient *g)
{
    return forward(g, &depthwise);
}

eddy_status eddy__grad_depthwise_by_input(eddy_gradient *g)
{
    return by_input(g, &depthwise);
}

eddy_status eddy__grad_depthwise_by_filter(eddy_gradient *g)
{
    return by_filter(g, &depthwise);
}

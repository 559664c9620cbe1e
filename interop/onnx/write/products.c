/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products, reductions, orderings and the ops of networks, as operators of
 * ONNX.  TensorFlow's images have their channels behind, ONNX's before: a
 * Transpose stands on each side of a convolution.
 */
#include "interop/onnx/write/kit.h"

#include <string.h>

/* ---- products ---- */

static const char *turned(eddy__onnx_writer *w, const char *x, int32_t rank)
{
    int64_t perm[EDDY_MAX_RANK];

    for (int32_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return NODE("Transpose", IN(x), ATTR_INTS("perm", perm, (size_t)rank));
}

static void write_matmul(eddy__onnx_writer *w)
{
    const char *a = X(0), *b = X(1);

    if (eddy__node_bool(THIS, "transpose_a"))
        a = turned(w, a, 2);
    if (eddy__node_bool(THIS, "transpose_b"))
        b = turned(w, b, 2);
    GIVE(0, OP("MatMul", a, b));
}

static void write_batch_matmul(eddy__onnx_writer *w)
{
    static const char *const flags[] = {"adj_x", "adj_y"};
    const char *sides[] = {X(0), X(1)};

    for (uint32_t i = 0; i < 2; i++) {
        const int32_t rank = SHAPE(i).rank;

        if (!eddy__node_bool(THIS, flags[i]))
            continue;
        if (rank < 2) {
            eddy__onnx_decline(w, "of an unknown rank");
            return;
        }
        sides[i] = turned(w, sides[i], rank);
    }
    GIVE(0, OP("MatMul", sides[0], sides[1]));
}

static void write_einsum(eddy__onnx_writer *w)
{
    const eddy_string equation = eddy__node_string(THIS, "equation");
    const char **names = eddy__onnx_take(w, THIS->n_inputs, sizeof *names);
    const eddy__onnx_attr attr =
        ATTR_TEXT("equation", eddy__onnx_print(w, "%.*s", (int)equation.length,
                                               equation.data));

    for (uint32_t i = 0; names && i < THIS->n_inputs; i++)
        names[i] = X(i);
    if (names)
        GIVE(0, eddy__onnx_node(w, "Einsum", names, THIS->n_inputs, &attr, 1));
}

/* ---- biases ---- */

static bool has_channels_behind(eddy__onnx_writer *w)
{
    const eddy_attr *format = eddy__node_attr(THIS, "data_format");

    return !format || format->as.strings[0].length < 2 ||
           format->as.strings[0].data[1] != 'C';
}

static void write_bias(eddy__onnx_writer *w)
{
    const eddy_shape shape = SHAPE(0);
    int64_t axes[EDDY_MAX_RANK];
    size_t n = 0;

    if (has_channels_behind(w)) {
        GIVE(0, OP("Add", X(0), X(1)));
        return;
    }
    if (shape.rank < 2) {
        eddy__onnx_decline(w, "of an unknown rank");
        return;
    }
    for (int64_t i = 1; i + 1 < shape.rank; i++)
        axes[n++] = i;
    GIVE(0, OP("Add", X(0), OP("Unsqueeze", X(1), INTS(axes, n))));
}

/* ---- reductions ---- */

/*
 * Axes are an attribute of most reductions before opset 18, an input since; of
 * ReduceSum since 13.  No axes are no reduction, in eddy.
 */
static const char *reduced(eddy__onnx_writer *w, const char *type,
                           const char *x, uint32_t axes_input, bool keeps)
{
    eddy__onnx_numbers axes;
    const bool is_known = eddy__onnx_known_numbers(w, axes_input, &axes);
    const bool is_input = w->opset >= 18 || strcmp(type, "ReduceSum") == 0;

    if (is_known && axes.n == 0)
        return x;
    if (is_input)
        return NODE(type, IN(x, eddy__onnx_vector(w, axes_input)),
                    ATTR_INT("keepdims", keeps),
                    ATTR_INT("noop_with_empty_axes", 1));
    if (!is_known) {
        eddy__onnx_decline(w, "of axes that are no constant, before opset 18");
        return "";
    }
    return NODE(type, IN(x), ATTR_INTS("axes", axes.at, axes.n),
                ATTR_INT("keepdims", keeps));
}

static void write_reduction(eddy__onnx_writer *w)
{
    GIVE(0, reduced(w, w->rule->type, X(0), 1,
                    eddy__node_bool(THIS, "keep_dims")));
}

/* How many are true; ONNX's extremes have no bools in most opsets. */
static const char *count(eddy__onnx_writer *w, const char *x)
{
    return reduced(w, "ReduceSum", CAST(x, EDDY_INT32), 1,
                   eddy__node_bool(THIS, "keep_dims"));
}

static void write_any(eddy__onnx_writer *w)
{
    GIVE(0, OP("Greater", count(w, X(0)), NUMBER(EDDY_INT32, 0)));
}

static void write_all(eddy__onnx_writer *w)
{
    GIVE(0, OP("Equal", count(w, OP("Not", X(0))), NUMBER(EDDY_INT32, 0)));
}

/* The sum over all axes but that of the channels. */
static void write_bias_grad(eddy__onnx_writer *w)
{
    const int32_t rank = SHAPE(0).rank;
    int64_t axes[EDDY_MAX_RANK];
    size_t n = 0;

    if (rank < 2) {
        eddy__onnx_decline(w, "of an unknown rank");
        return;
    }
    for (int64_t i = 0; i < rank; i++)
        if (i != (has_channels_behind(w) ? rank - 1 : 1))
            axes[n++] = i;
    GIVE(0,
         NODE("ReduceSum", IN(X(0), INTS(axes, n)), ATTR_INT("keepdims", 0)));
}

static void write_arg(eddy__onnx_writer *w)
{
    const int64_t axis = eddy__onnx_known_number(w, 1);
    const char *type = w->rule->type;

    GIVE(0, CAST(NODE(type, IN(X(0)), ATTR_INT("axis", axis),
                      ATTR_INT("keepdims", 0)),
                 (eddy_dtype)THIS->output_dtypes[0]));
}

static void write_top_k(eddy__onnx_writer *w)
{
    const char *inputs[] = {X(0), eddy__onnx_vector(w, 1)};
    const eddy__onnx_attr attrs[] = {ATTR_INT("axis", -1)};
    const char *outputs[] = {"", ""};
    const eddy__onnx_node_spec call = {.type = "TopK",
                                       .inputs = inputs,
                                       .n_inputs = 2,
                                       .attrs = attrs,
                                       .n_attrs = 1,
                                       .outputs = outputs,
                                       .n_outputs = 2};

    eddy__onnx_put(w, &call);
    GIVE(0, outputs[0]);
    GIVE(1, CAST(outputs[1], (eddy_dtype)THIS->output_dtypes[1]));
}

static void write_cumsum(eddy__onnx_writer *w)
{
    GIVE(0, NODE("CumSum", IN(X(0), eddy__onnx_scalar64(w, 1)),
                 ATTR_INT("exclusive", eddy__node_bool(THIS, "exclusive")),
                 ATTR_INT("reverse", eddy__node_bool(THIS, "reverse"))));
}

static void write_softmax(eddy__onnx_writer *w)
{
    GIVE(0, NODE(w->rule->type, IN(X(0)), ATTR_INT("axis", -1)));
}

/* ---- images ---- */

/* The two numbers of a list of four that are of rows and columns. */
static bool numbers_of(eddy__onnx_writer *w, const char *attr, int64_t out[2])
{
    const eddy_attr *from = eddy__node_attr(THIS, attr);
    const size_t at = has_channels_behind(w) ? 1 : 2;

    out[0] = out[1] = 1;
    if (!from)
        return true;
    if (from->n != 4 || from->as.ints[0] != 1 ||
        from->as.ints[at == 1 ? 3 : 1] != 1)
        return false;
    out[0] = from->as.ints[at];
    out[1] = from->as.ints[at + 1];
    return true;
}

static const char *channels_before(eddy__onnx_writer *w, const char *x)
{
    const int64_t perm[] = {0, 3, 1, 2};

    return has_channels_behind(w)
               ? NODE("Transpose", IN(x), ATTR_INTS("perm", perm, 4))
               : x;
}

static const char *channels_back(eddy__onnx_writer *w, const char *x)
{
    const int64_t perm[] = {0, 2, 3, 1};

    return has_channels_behind(w)
               ? NODE("Transpose", IN(x), ATTR_INTS("perm", perm, 4))
               : x;
}

/* "SAME_UPPER" or "VALID"; NULL: paddings that are given. */
static const char *padding_of(eddy__onnx_writer *w)
{
    const eddy_string padding = eddy__node_string(THIS, "padding");

    if (padding.length == 4)
        return "SAME_UPPER";
    return padding.length == 5 ? "VALID" : NULL;
}

static void put_conv(eddy__onnx_writer *w, const char *filter, int64_t group)
{
    int64_t strides[2], dilations[2];
    const char *padding = padding_of(w);

    if (!padding || !numbers_of(w, "strides", strides) ||
        !numbers_of(w, "dilations", dilations)) {
        eddy__onnx_decline(w, "with such strides or paddings");
        return;
    }
    GIVE(0, channels_back(w, NODE("Conv", IN(channels_before(w, X(0)), filter),
                                  ATTR_TEXT("auto_pad", padding),
                                  ATTR_INTS("strides", strides, 2),
                                  ATTR_INTS("dilations", dilations, 2),
                                  ATTR_INT("group", group))));
}

static int64_t channels_of(eddy__onnx_writer *w)
{
    const eddy_shape shape = SHAPE(0);

    return shape.rank == 4 ? shape.dims[has_channels_behind(w) ? 3 : 1] : -1;
}

static void write_conv(eddy__onnx_writer *w)
{
    const int64_t perm[] = {3, 2, 0, 1};
    const eddy_shape filter = SHAPE(1);
    const int64_t channels = channels_of(w);
    const int64_t of_filter = filter.rank == 4 ? filter.dims[2] : -1;

    if (channels <= 0 || of_filter <= 0 || channels % of_filter != 0)
        eddy__onnx_decline(w, "of an unknown number of channels");
    else
        put_conv(w, NODE("Transpose", IN(X(1)), ATTR_INTS("perm", perm, 4)),
                 channels / of_filter);
}

/* Each channel has filters of its own. */
static void write_depthwise(eddy__onnx_writer *w)
{
    const int64_t perm[] = {2, 3, 0, 1};
    const eddy_shape f = SHAPE(1);
    int64_t shape[] = {0, 1, 0, 0};
    const char *filter;

    for (int32_t i = 0; i < 4; i++)
        if (f.rank != 4 || f.dims[i] <= 0) {
            eddy__onnx_decline(w, "of a filter whose shape is not known");
            return;
        }
    shape[0] = f.dims[2] * f.dims[3];
    shape[2] = f.dims[0];
    shape[3] = f.dims[1];
    filter = NODE("Transpose", IN(X(1)), ATTR_INTS("perm", perm, 4));
    put_conv(w, OP("Reshape", filter, INTS(shape, 4)), f.dims[2]);
}

static void write_pool(eddy__onnx_writer *w)
{
    const char *type = w->rule->type;
    int64_t size[2], strides[2];
    const char *padding = padding_of(w);

    if (!padding || !numbers_of(w, "ksize", size) ||
        !numbers_of(w, "strides", strides)) {
        eddy__onnx_decline(w, "with such windows or paddings");
        return;
    }
    GIVE(0, channels_back(w, NODE(type, IN(channels_before(w, X(0))),
                                  ATTR_TEXT("auto_pad", padding),
                                  ATTR_INTS("kernel_shape", size, 2),
                                  ATTR_INTS("strides", strides, 2))));
}

#define SUMS                                                                   \
    (EDDY__FLOATS | EDDY__INDEXES | EDDY__DTYPE_BIT(EDDY_UINT32) |             \
     EDDY__DTYPE_BIT(EDDY_UINT64))
#define EXTREMES                                                               \
    (SUMS | EDDY__DTYPE_BIT(EDDY_INT8) | EDDY__DTYPE_BIT(EDDY_UINT8))
#define ORDERED (EDDY__FLOATS | EDDY__INTEGERS)

const eddy__onnx_rule eddy__onnx_write_products[] = {
    {"All", write_all},
    {"Any", write_any},
    {"ArgMax", write_arg, "ArgMax", ORDERED},
    {"ArgMin", write_arg, "ArgMin", ORDERED},
    {"AvgPool", write_pool, "AveragePool", EDDY__FLOATS},
    {"BatchMatMul", write_batch_matmul, NULL, SUMS},
    {"BatchMatMulV2", write_batch_matmul, NULL, SUMS},
    {"BiasAdd", write_bias, NULL, SUMS},
    {"BiasAddGrad", write_bias_grad, NULL, SUMS},
    {"Conv2D", write_conv, NULL, EDDY__FLOATS},
    {"Cumsum", write_cumsum, NULL, SUMS},
    {"DepthwiseConv2dNative", write_depthwise, NULL, EDDY__FLOATS},
    {"Einsum", write_einsum, NULL, SUMS},
    {"LogSoftmax", write_softmax, "LogSoftmax", EDDY__FLOATS},
    {"MatMul", write_matmul, NULL, SUMS},
    {"Max", write_reduction, "ReduceMax", EXTREMES},
    {"MaxPool", write_pool, "MaxPool", EDDY__FLOATS},
    {"Mean", write_reduction, "ReduceMean", EDDY__FLOATS},
    {"Min", write_reduction, "ReduceMin", EXTREMES},
    {"Prod", write_reduction, "ReduceProd", SUMS},
    {"Softmax", write_softmax, "Softmax", EDDY__FLOATS},
    {"Sum", write_reduction, "ReduceSum", SUMS},
    {"TopKV2", write_top_k, NULL, ORDERED},
    {.op = NULL},
};

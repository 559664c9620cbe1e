/* SPDX-License-Identifier: Apache-2.0 */
/* What those who write operators share: results, casts, whole numbers. */
#include "interop/onnx/loader.h"
#include "interop/onnx/write/kit.h"

#include <string.h>

void eddy__onnx_give_plain(eddy__onnx_writer *w, uint32_t i, const char *name)
{
    const eddy__node *node = &w->graph->nodes[w->node];

    eddy__onnx_bind(
        w, i,
        (eddy__onnx_written){.name = name, .dtype = node->output_dtypes[i]});
}

const char *eddy__onnx_cast_to(eddy__onnx_writer *w, const char *name,
                               eddy_dtype dtype)
{
    return NODE("Cast", IN(name), ATTR_INT("to", eddy__onnx_dtype_to(dtype)));
}

/* ---- whole numbers that are known ---- */

static bool read_numbers(const eddy_tensor *from, eddy__onnx_numbers *out)
{
    const eddy_dtype dtype = eddy_tensor_dtype(from);
    const size_t n = (size_t)eddy_tensor_count(from);

    if ((dtype != EDDY_INT32 && dtype != EDDY_INT64) ||
        n > EDDY__ONNX_MOST_NUMBERS)
        return false;
    out->n = n;
    for (size_t k = 0; k < n; k++)
        out->at[k] = dtype == EDDY_INT32
                         ? ((const int32_t *)eddy_tensor_data(from))[k]
                         : ((const int64_t *)eddy_tensor_data(from))[k];
    return true;
}

static bool is_op(const eddy__node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

/* What has the numbers of `value` in their order: its shape may be another. */
static eddy_output unshaped(const eddy__onnx_writer *w, eddy_output value)
{
    for (;;) {
        const eddy__node *node;

        value = eddy__onnx_origin(w, value);
        node = &w->graph->nodes[value.node];
        if (!is_op(node, "ExpandDims") && !is_op(node, "Reshape") &&
            !is_op(node, "Squeeze"))
            return value;
        value = node->inputs[0];
    }
}

/* A constant, or as many ones or zeros as the shape of an input says. */
static bool find_part(const eddy__onnx_writer *w, eddy_output value,
                      eddy__onnx_numbers *out)
{
    const eddy_output made = unshaped(w, value);
    const eddy_tensor *from = eddy__onnx_constant(w, made);
    const eddy_shape shape = eddy_graph_output_shape(w->graph, made);
    const eddy__node *node = &w->graph->nodes[made.node];

    if (from)
        return read_numbers(from, out);
    if ((!is_op(node, "OnesLike") && !is_op(node, "ZerosLike")) ||
        shape.rank < 0 || shape.rank > 1 ||
        (shape.rank == 1 &&
         (shape.dims[0] < 0 || shape.dims[0] > EDDY__ONNX_MOST_NUMBERS)))
        return false;
    out->n = shape.rank == 0 ? 1 : (size_t)shape.dims[0];
    for (size_t k = 0; k < out->n; k++)
        out->at[k] = is_op(node, "OnesLike");
    return true;
}

/* Parts one behind another. */
static bool join_parts(const eddy__onnx_writer *w, const eddy_output *parts,
                       uint32_t n, eddy__onnx_numbers *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        eddy__onnx_numbers part = {.n = 0};

        if (!find_part(w, parts[i], &part) ||
            part.n > EDDY__ONNX_MOST_NUMBERS - out->n)
            return false;
        memcpy(out->at + out->n, part.at, part.n * sizeof *part.at);
        out->n += part.n;
    }
    return true;
}

/* Constants, and what front ends make of them: x[:i] packs its step. */
bool eddy__onnx_known_numbers(const eddy__onnx_writer *w, uint32_t i,
                              eddy__onnx_numbers *out_numbers)
{
    const eddy_output value = w->graph->nodes[w->node].inputs[i];
    const eddy_output made = unshaped(w, value);
    const eddy__node *node = &w->graph->nodes[made.node];
    const int32_t rank = eddy_graph_output_shape(w->graph, made).rank;
    const eddy_tensor *from = eddy__onnx_constant(w, value);

    out_numbers->is_scalar = eddy_graph_output_shape(w->graph, value).rank == 0;
    if (from) {
        out_numbers->is_scalar = eddy_tensor_shape(from)->rank == 0;
        return read_numbers(from, out_numbers);
    }
    /* Of more dimensions an axis would mix the parts. */
    if (rank < 0 || rank > 1)
        return false;
    if (is_op(node, "Pack"))
        return join_parts(w, node->inputs, node->n_inputs, out_numbers);
    if (is_op(node, "ConcatV2"))
        return join_parts(w, node->inputs, node->n_inputs - 1, out_numbers);
    return find_part(w, made, out_numbers);
}

int64_t eddy__onnx_known_number(eddy__onnx_writer *w, uint32_t i)
{
    eddy__onnx_numbers numbers;

    if (eddy__onnx_known_numbers(w, i, &numbers) && numbers.n == 1)
        return numbers.at[0];
    eddy__onnx_decline(w, "with input %u that is no constant", (unsigned)i);
    return 0;
}

const char *eddy__onnx_vector(eddy__onnx_writer *w, uint32_t i)
{
    eddy__onnx_numbers numbers;
    const int64_t shape = -1;

    if (eddy__onnx_known_numbers(w, i, &numbers))
        return INTS(numbers.at, numbers.n);
    return NODE("Reshape", IN(CAST(X(i), EDDY_INT64), INTS(&shape, 1)),
                NO_ATTRS);
}

const char *eddy__onnx_scalar64(eddy__onnx_writer *w, uint32_t i)
{
    eddy__onnx_numbers numbers;

    if (eddy__onnx_known_numbers(w, i, &numbers) && numbers.n == 1)
        return INT(numbers.at[0]);
    return CAST(X(i), EDDY_INT64);
}

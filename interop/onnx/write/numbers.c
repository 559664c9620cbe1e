/* SPDX-License-Identifier: Apache-2.0 */
/* What those who write operators share: results, casts, whole numbers. */
#include "interop/onnx/loader.h"
#include "interop/onnx/write/kit.h"

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

bool eddy__onnx_known_numbers(const eddy__onnx_writer *w, uint32_t i,
                              eddy__onnx_numbers *out_numbers)
{
    const eddy_tensor *from =
        eddy__onnx_constant(w, w->graph->nodes[w->node].inputs[i]);
    const eddy_dtype dtype = from ? eddy_tensor_dtype(from) : EDDY_INVALID;
    const size_t n = from ? (size_t)eddy_tensor_count(from) : 0;

    if ((dtype != EDDY_INT32 && dtype != EDDY_INT64) ||
        n > EDDY__ONNX_MOST_NUMBERS)
        return false;
    out_numbers->n = n;
    out_numbers->is_scalar = eddy_tensor_shape(from)->rank == 0;
    for (size_t k = 0; k < n; k++)
        out_numbers->at[k] = dtype == EDDY_INT32
                                 ? ((const int32_t *)eddy_tensor_data(from))[k]
                                 : ((const int64_t *)eddy_tensor_data(from))[k];
    return true;
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a recorded tensor element by element, and refuses what would lose
 * digits.
 */
#include "tools/cast.h"

#include "tools/element.h"
#include "tools/format.h"
#include "tools/message.h"

static eddy_status fill(const eddy_tensor *from, eddy_tensor *to,
                        eddy_error *err)
{
    const eddy_dtype dtype = eddy_tensor_dtype(from);
    const void *data = eddy_tensor_data(from);
    const int64_t n = eddy_tensor_count(from);

    for (int64_t i = 0; i < n; i++) {
        const eddy__number number = eddy__element_load(dtype, data, i);
        const char *why = eddy__element_store(&number, eddy_tensor_dtype(to),
                                              eddy_tensor_mutable_data(to), i);
        char text[EDDY__ELEMENT_TEXT];
        char index[EDDY__INDEX_TEXT];

        if (why == NULL)
            continue;
        eddy__element_text(dtype, data, i, text);
        eddy__format_index(eddy_tensor_shape(from), i, index);
        return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                                   "element %s: %s %s", index, text, why);
    }
    return EDDY_OK;
}

eddy_status eddy__cast(const eddy_context *ctx, eddy_tensor *tensor,
                       eddy_dtype dtype, eddy_tensor **out_tensor,
                       eddy_error *err)
{
    const eddy_dtype from = eddy_tensor_dtype(tensor);
    eddy_tensor *result = NULL;
    eddy_status status;

    if (from == dtype) {
        *out_tensor = eddy_tensor_retain(tensor);
        return EDDY_OK;
    }
    if (!eddy__element_is_numeric(from) || !eddy__element_is_numeric(dtype))
        return eddy__message_raise(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, "%s cannot be made %s",
            eddy_dtype_name(from), eddy_dtype_name(dtype));
    status =
        eddy_tensor_create(ctx, dtype, eddy_tensor_shape(tensor), &result, err);
    if (status == EDDY_OK)
        status = fill(tensor, result, err);
    if (status == EDDY_OK)
        *out_tensor = result;
    else
        eddy_tensor_release(result);
    return status;
}

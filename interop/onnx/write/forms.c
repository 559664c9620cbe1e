/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and lists from one form to another. */
#include "interop/onnx/loader.h"
#include "interop/onnx/write/kit.h"

eddy__onnx_written eddy__onnx_as_items(eddy__onnx_writer *w,
                                       const eddy__onnx_written *value)
{
    eddy__onnx_written items = *value;

    if (value->form == EDDY__ONNX_FRESH)
        items.name = NODE(
            "SequenceEmpty", NONE,
            ATTR_INT("dtype", eddy__onnx_dtype_to((eddy_dtype)value->dtype)));
    else if (value->form == EDDY__ONNX_STACKED)
        items.name = NODE("SplitToSequence", IN(value->name),
                          ATTR_INT("axis", 0), ATTR_INT("keepdims", 0));
    items.form = EDDY__ONNX_ITEMS;
    return items;
}

const char *eddy__onnx_as_stack(eddy__onnx_writer *w,
                                const eddy__onnx_written *value)
{
    if (value->form == EDDY__ONNX_STACKED)
        return value->name;
    if (value->form == EDDY__ONNX_ITEMS)
        return NODE("ConcatFromSequence", IN(value->name), ATTR_INT("axis", 0),
                    ATTR_INT("new_axis", 1));
    eddy__onnx_decline(w, "of an array without items");
    return "";
}

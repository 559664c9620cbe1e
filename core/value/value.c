/* SPDX-License-Identifier: Apache-2.0 */
/* Moves between a value and the tensor that it is or holds. */
#include "core/value/value.h"

#include "core/value/dtype.h"
#include "core/value/shape.h"

#include <string.h>

bool eddy__value_of_element(const eddy_tensor *tensor, eddy__value *out)
{
    const eddy_dtype dtype = (eddy_dtype)tensor->dtype;

    if (eddy__dtype_is_inline(dtype)) {
        out->kind = EDDY__SCALAR;
        out->as.bits = 0;
        memcpy(&out->as, tensor->data, eddy_dtype_size(dtype));
        /* A byte of the host's other than 0 and 1 would not be a bool. */
        if (dtype == EDDY_BOOL)
            out->as.b = out->as.u8 != 0;
    } else if (eddy__dtype_in(dtype, EDDY__HELD)) {
        const eddy__value *element = tensor->data;

        out->kind = element->kind;
        out->as = eddy__value_copy(element).as;
    } else {
        return false;
    }
    out->dtype = (uint8_t)dtype;
    return true;
}

eddy__value eddy__value_take_tensor(eddy__heap *heap, eddy_tensor *tensor)
{
    eddy__value v = {.kind = EDDY__TENSOR, .dtype = tensor->dtype};

    if (tensor->shape.rank == 0 && eddy__value_of_element(tensor, &v))
        eddy__tensor_recycle(heap, tensor);
    else
        v.as.tensor = tensor;
    return v;
}

eddy_tensor *eddy__value_to_tensor(const eddy__value *v, eddy__heap *heap,
                                   eddy__account *account,
                                   const eddy_allocator *allocator)
{
    const eddy_dtype dtype = (eddy_dtype)v->dtype;
    const eddy_shape shape = eddy__shape_scalar();
    eddy_tensor *tensor;

    if (eddy__value_is_tensor(v))
        return eddy_tensor_retain(v->as.tensor);
    if (v->kind != EDDY__SCALAR)
        return NULL;
    tensor = eddy__tensor_create(heap, account, allocator, dtype, &shape);
    if (tensor)
        memcpy(tensor->data, &v->as, eddy_dtype_size(dtype));
    return tensor;
}

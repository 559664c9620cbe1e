/* SPDX-License-Identifier: Apache-2.0 */
/* TypeProto: what a value is declared to be. */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "interop/onnx/loader.h"

#include <string.h>

static eddy_status fail(const eddy__onnx_loader *loader, const char *name,
                        const char *what)
{
    return eddy__fail(loader->w.err, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                      "value '%.100s' is %s", name, what);
}

static eddy_status read_shape(const eddy__onnx_loader *loader, const char *name,
                              const Eddy__OnnxPb__TensorShapeProto *proto,
                              eddy_shape *out_shape)
{
    *out_shape = eddy__shape_unknown();
    if (!proto)
        return EDDY_OK;
    if (proto->n_dim > EDDY_MAX_RANK)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                          "value '%.100s' has rank %zu, more than %d", name,
                          proto->n_dim, EDDY_MAX_RANK);
    out_shape->rank = (int32_t)proto->n_dim;
    for (size_t i = 0; i < proto->n_dim; i++) {
        const Eddy__OnnxPb__TensorShapeProto__Dimension *dim = proto->dim[i];
        const bool is_known =
            dim->value_case ==
            EDDY__ONNX_PB__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;

        out_shape->dims[i] =
            is_known && dim->dim_value >= 0 ? dim->dim_value : -1;
    }
    return EDDY_OK;
}

static eddy_status read_dtype(const eddy__onnx_loader *loader, const char *name,
                              const Eddy__OnnxPb__TypeProto__Tensor *tensor,
                              eddy__onnx_value *out_value)
{
    const eddy_dtype dtype = eddy__onnx_storage_of(tensor->elem_type);

    out_value->dtype = (uint8_t)dtype;
    out_value->narrow = eddy__onnx_narrow_of(tensor->elem_type);
    if (dtype != EDDY_INVALID || tensor->elem_type == 0)
        return EDDY_OK;
    return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                      "value '%.100s' is of dtype %d (%s), which eddy has not",
                      name, (int)tensor->elem_type,
                      eddy__onnx_dtype_name(tensor->elem_type));
}

eddy_status eddy__onnx_read_type(eddy__onnx_loader *loader, const char *name,
                                 const Eddy__OnnxPb__TypeProto *type,
                                 eddy__onnx_value *out_value,
                                 eddy_shape *out_shape)
{
    bool is_optional = false, is_sequence = false;

    *out_value = (eddy__onnx_value){.output = {EDDY_NO_NODE, 0}};
    if (out_shape)
        *out_shape = eddy__shape_unknown();
    if (type &&
        type->value_case == EDDY__ONNX_PB__TYPE_PROTO__VALUE_OPTIONAL_TYPE) {
        is_optional = true;
        type = type->optional_type->elem_type;
    }
    if (type &&
        type->value_case == EDDY__ONNX_PB__TYPE_PROTO__VALUE_SEQUENCE_TYPE) {
        is_sequence = true;
        type = type->sequence_type->elem_type;
    }
    out_value->kind = is_optional && is_sequence ? EDDY__ONNX_OPTIONAL_SEQUENCE
                      : is_optional              ? EDDY__ONNX_OPTIONAL
                      : is_sequence              ? EDDY__ONNX_SEQUENCE
                                                 : EDDY__ONNX_TENSOR;
    if (!type || type->value_case == EDDY__ONNX_PB__TYPE_PROTO__VALUE__NOT_SET)
        return EDDY_OK;
    if (type->value_case != EDDY__ONNX_PB__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return fail(loader, name,
                    "neither a tensor nor a sequence of tensors, nor optional "
                    "as one of these");
    EDDY_TRY(read_dtype(loader, name, type->tensor_type, out_value));
    return out_shape
               ? read_shape(loader, name, type->tensor_type->shape, out_shape)
               : EDDY_OK;
}

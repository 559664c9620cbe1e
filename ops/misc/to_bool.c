/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ToBool: a tensor as a predicate, which is how If and While take one of any
 * dtype and shape.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

/* A numeric scalar.  The bits of a half tell it from both its zeros. */
static bool is_nonzero(const eddy__value *v)
{
    switch ((eddy_dtype)v->dtype) {
    case EDDY_FLOAT16:
    case EDDY_BFLOAT16:
        return (v->as.u16 & 0x7fff) != 0;
    case EDDY_FLOAT32:
        return v->as.f32 != 0;
    case EDDY_FLOAT64:
        return v->as.f64 != 0;
    case EDDY_COMPLEX64:
        return v->as.c64[0] != 0 || v->as.c64[1] != 0;
    case EDDY_BOOL:
    case EDDY_INT8:
    case EDDY_UINT8:
        return v->as.u8 != 0;
    case EDDY_INT16:
    case EDDY_UINT16:
        return v->as.u16 != 0;
    case EDDY_INT32:
    case EDDY_UINT32:
        return v->as.u32 != 0;
    default:
        return v->as.u64 != 0;
    }
}

static eddy_status run_to_bool(eddy_kernel *k)
{
    const eddy__value *in = eddy__in(k, 0);
    bool is_true;

    if (in->kind == EDDY__SCALAR) {
        is_true = is_nonzero(in);
    } else if (in->dtype == EDDY_COMPLEX128 && in->as.tensor->shape.rank == 0) {
        const double *parts = in->as.tensor->data;

        is_true = parts[0] != 0 || parts[1] != 0;
    } else if (in->as.tensor->shape.rank == 0) {
        const eddy__string *text = in->as.tensor->data;

        is_true = text->length > 0;
    } else {
        is_true = in->as.tensor->count > 0;
    }
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, is_true);
    return EDDY_OK;
}

static eddy_status run_unchanged(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

static eddy_status prepare_to_bool(eddy_infer *infer)
{
    if (eddy_infer_input_dtype(infer, 0) == EDDY_BOOL &&
        eddy_infer_input(infer, 0)->rank == 0)
        eddy_infer_set_kernel(infer, run_unchanged);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("ToBool", .inputs = "input: T", .outputs = "output: bool",
                 .attrs = "T: {number, bool, string}",
                 .infer = eddy__infer_scalar, .kernel = run_to_bool,
                 .prepare = prepare_to_bool,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Whether a scalar is neither zero nor empty, or a "
                        "tensor has elements."),
};

const eddy__op_table eddy__to_bool_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

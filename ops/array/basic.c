/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that pass values on: sources, identities, checks that let a value
 * through unchanged, and the two constant fillers ZerosLike and OnesLike.
 */
#include "ops/list/list_math.h"
#include "ops/math/elements.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <string.h>

/* ---- sources ---- */

static eddy_status infer_shape_attr(eddy_infer *infer)
{
    eddy_attr shape;

    if (eddy_infer_attr(infer, "shape", &shape))
        eddy_infer_set_output(infer, 0, &shape.as.shapes[0]);
    return EDDY_OK;
}

/* The plan refuses to leave a placeholder unfed, so this is never reached by
 * a run that it made. */
static eddy_status run_placeholder(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_NOT_FED,
                       "a value for this placeholder must be fed");
}

static eddy_status infer_default(eddy_infer *infer)
{
    const eddy_shape *input = eddy_infer_input(infer, 0);
    eddy_attr attr;

    if (eddy_infer_attr(infer, "shape", &attr) &&
        !eddy__shape_compatible(input, &attr.as.shapes[0]))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "the default has shape %s, which is not compatible with %s",
            eddy__shape_print(input).text,
            eddy__shape_print(&attr.as.shapes[0]).text);
    eddy_infer_set_output(infer, 0, input);
    return EDDY_OK;
}

static eddy_status infer_const(eddy_infer *infer)
{
    eddy_attr value;

    if (eddy_infer_attr(infer, "value", &value))
        eddy_infer_set_output(infer, 0, eddy_tensor_shape(value.as.tensors[0]));
    return EDDY_OK;
}

static eddy_status prepare_const(eddy_infer *infer)
{
    eddy_dtype want = eddy__infer_type(infer, "dtype"), got;
    eddy_attr value;

    if (!eddy_infer_attr(infer, "value", &value))
        return EDDY_OK;
    got = eddy_tensor_dtype(value.as.tensors[0]);
    if (got == want)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "the value is %s, but the attribute dtype is %s",
                           eddy_dtype_name(got), eddy_dtype_name(want));
}

static eddy_status run_const(eddy_kernel *k)
{
    eddy_attr value;

    if (!eddy_kernel_attr(k, "value", &value))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_MISSING,
                           "there is no attribute 'value'");
    return eddy_kernel_output_tensor(k, 0, value.as.tensors[0]);
}

/* ---- identities ---- */

static eddy_status run_identity(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

static eddy_status infer_each(eddy_infer *infer)
{
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, eddy_infer_input(infer, i));
    return EDDY_OK;
}

static eddy_status run_each(eddy_kernel *k)
{
    for (uint32_t i = 0; i < k->node->n_out; i++)
        eddy__output_forward(k, i, i);
    return EDDY_OK;
}

static eddy_status run_nothing(eddy_kernel *k)
{
    (void)k;
    return EDDY_OK;
}

/* ---- checks ---- */

static eddy_status infer_ensured(eddy_infer *infer)
{
    const eddy_shape *input = eddy_infer_input(infer, 0);
    eddy_shape merged = *input;
    eddy_attr attr;

    if (eddy_infer_attr(infer, "shape", &attr) &&
        !eddy__shape_merge(input, &attr.as.shapes[0], &merged))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "a tensor of shape %s is not compatible with the expected shape "
            "%s",
            eddy__shape_print(input).text,
            eddy__shape_print(&attr.as.shapes[0]).text);
    eddy_infer_set_output(infer, 0, &merged);
    return EDDY_OK;
}

static eddy_status prepare_ensured(eddy_infer *infer)
{
    eddy_shape *state = eddy__prepare_state(infer, sizeof *state);
    eddy_attr attr;

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__shape_unknown();
    if (eddy_infer_attr(infer, "shape", &attr))
        *state = attr.as.shapes[0];
    return EDDY_OK;
}

static eddy_status run_ensured(eddy_kernel *k)
{
    const eddy_shape *want = eddy__state(k);
    const eddy_shape *got = eddy__in_shape(k, 0);

    if (!eddy__shape_compatible(got, want))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "a tensor of shape %s is not compatible with the "
                           "expected shape %s",
                           eddy__shape_print(got).text,
                           eddy__shape_print(want).text);
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/*
 * Are there elements of `bits` bits whose exponent, selected by `exponent`, is
 * all ones, and which of the two kinds?  Bit 0 of the result: an infinity, bit
 * 1: a NaN.
 */
#define DEFINE_SCAN(name, bits, exponent, sign)                                \
    static uint32_t scan_##name(const void *data, int64_t n)                   \
    {                                                                          \
        const uint##bits##_t *v = data;                                        \
        uint32_t found = 0;                                                    \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            uint##bits##_t magnitude = v[i] & (uint##bits##_t)(sign - 1);      \
                                                                               \
            found |= (uint32_t)(magnitude == (exponent));                      \
            found |= (uint32_t)(magnitude > (exponent)) << 1;                  \
        }                                                                      \
        return found;                                                          \
    }

DEFINE_SCAN(half, 16, 0x7c00u, 0x8000u)
DEFINE_SCAN(bfloat, 16, 0x7f80u, 0x8000u)
DEFINE_SCAN(float, 32, 0x7f800000u, 0x80000000u)
DEFINE_SCAN(double, 64, 0x7ff0000000000000u, 0x8000000000000000u)

static uint32_t scan(eddy_dtype dtype, const void *data, int64_t n)
{
    if (dtype == EDDY_FLOAT32)
        return scan_float(data, n);
    if (dtype == EDDY_FLOAT64)
        return scan_double(data, n);
    return dtype == EDDY_BFLOAT16 ? scan_bfloat(data, n) : scan_half(data, n);
}

/* Elements between two questions whether to stop. */
#define SCANNED ((int64_t)1 << 18)

static uint32_t scan_all(eddy_kernel *k, const eddy_view *x)
{
    const unsigned char *data = x->data;
    const size_t size = eddy_dtype_size(x->dtype);
    uint32_t found = 0;

    for (int64_t i = 0; i < x->count; i += SCANNED) {
        const int64_t left = x->count - i;

        found |= scan(x->dtype, data + (size_t)i * size,
                      left < SCANNED ? left : SCANNED);
        if (eddy__spent(k, left < SCANNED ? left : SCANNED))
            break;
    }
    return found;
}

static eddy_status run_numerics(eddy_kernel *k)
{
    static const char *const names[] = {"", "Inf", "NaN", "Inf and NaN"};
    const eddy_view x = eddy__in_view(k, 0);
    const uint32_t found = scan_all(k, &x);
    const eddy_string message = *(const eddy_string *)eddy__state(k);
    int length;

    if (found == 0) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    length = message.length < 400 ? (int)message.length : 400;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_NUMERICS,
                       "%.*s : Tensor had %s values", length, message.data,
                       names[found]);
}

static eddy_status prepare_numerics(eddy_infer *infer)
{
    eddy_string message, *state;

    message.data = eddy__prepare_text(infer, "message", &message.length);
    state = message.data ? eddy__prepare_state(infer, sizeof *state) : NULL;
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = message;
    return EDDY_OK;
}

/* ---- fillers ---- */

static eddy_status run_zeros(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    void *data;

    if (eddy__in(k, 0)->kind == EDDY__SCALAR) {
        eddy__out_scalar(eddy__out(k, 0), dtype, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_reusing(k, 0, 0, dtype, eddy__in_shape(k, 0), &data));
    eddy__zero_bytes(k, data, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

/* Strings of a new tensor are empty. */
static eddy_status run_empty_strings(eddy_kernel *k)
{
    void *data;

    return eddy__output(k, 0, EDDY_STRING, eddy__in_shape(k, 0), &data);
}

static eddy_status prepare_zeros(eddy_infer *infer)
{
    if (eddy_infer_output_dtype(infer, 0) == EDDY_VARIANT) {
        eddy_infer_set_kernel(infer, eddy__run_list_zeros);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__prepare_movable(infer));
    if (eddy_infer_output_dtype(infer, 0) == EDDY_STRING)
        eddy_infer_set_kernel(infer, run_empty_strings);
    return EDDY_OK;
}

static eddy__value one(eddy_dtype dtype)
{
    eddy__value v = {.kind = EDDY__SCALAR, .dtype = (uint8_t)dtype};

    switch (dtype) {
    case EDDY_FLOAT16:
        v.as.u16 = 0x3c00;
        break;
    case EDDY_BFLOAT16:
        v.as.u16 = 0x3f80;
        break;
    case EDDY_FLOAT32:
        v.as.f32 = 1.0f;
        break;
    case EDDY_FLOAT64:
        v.as.f64 = 1.0;
        break;
    case EDDY_COMPLEX64:
        v.as.c64[0] = 1.0f;
        break;
    case EDDY_INT8:
    case EDDY_UINT8:
    case EDDY_BOOL:
        v.as.u8 = 1;
        break;
    case EDDY_INT16:
    case EDDY_UINT16:
        v.as.u16 = 1;
        break;
    case EDDY_INT32:
    case EDDY_UINT32:
        v.as.u32 = 1;
        break;
    default:
        v.as.u64 = 1;
        break;
    }
    return v;
}

static eddy_status run_ones(eddy_kernel *k)
{
    static const double long_one[2] = {1, 0};
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__value v = one(dtype);
    void *data;

    if (eddy__in(k, 0)->kind == EDDY__SCALAR) {
        eddy__out_scalar(eddy__out(k, 0), dtype, v.as.bits);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_reusing(k, 0, 0, dtype, eddy__in_shape(k, 0), &data));
    eddy__repeat(k, data,
                 dtype == EDDY_COMPLEX128 ? (const unsigned char *)long_one
                                          : eddy__value_elements(&v),
                 eddy_dtype_size(dtype), eddy__out(k, 0)->as.tensor->count);
    return EDDY_OK;
}

#define PASS(name, attributes, text)                                           \
    EDDY__OP_ROW(name, .inputs = "input: T", .outputs = "output: T",           \
                 .attrs = attributes, .infer = eddy__infer_unchanged,          \
                 .kernel = run_identity, .flags = EDDY_OP_CHEAP, .doc = text)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Placeholder", .outputs = "output: dtype",
                 .attrs = "dtype: type, shape: shape = ?",
                 .infer = infer_shape_attr, .kernel = run_placeholder,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A value that every run must be fed."),
    EDDY__OP_ROW(
        "PlaceholderV2", .outputs = "output: dtype",
        .attrs = "dtype: type, shape: shape", .infer = infer_shape_attr,
        .kernel = run_placeholder, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Placeholder as it was for a while; its shape must be given."),
    EDDY__OP_ROW("Const", .outputs = "output: dtype",
                 .attrs = "value: tensor, dtype: type", .infer = infer_const,
                 .kernel = run_const, .prepare = prepare_const,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The attribute value."),
    EDDY__OP_ROW("PlaceholderWithDefault", .inputs = "input: dtype",
                 .outputs = "output: dtype",
                 .attrs = "dtype: type, shape: shape", .infer = infer_default,
                 .kernel = run_identity, .flags = EDDY_OP_CHEAP,
                 .doc = "The input, unless a run feeds another value."),
    PASS("Identity", "T: type", "The input."),
    PASS("StopGradient", "T: type", "The input, as a constant to gradients."),
    PASS("PreventGradient", "T: type, message: string = ''",
         "The input, of which no gradient may be taken."),
    EDDY__OP_ROW("IdentityN", .inputs = "input: T", .outputs = "output: T",
                 .attrs = "T: list(type) >= 1", .infer = infer_each,
                 .kernel = run_each, .flags = EDDY_OP_CHEAP,
                 .doc = "The inputs."),
    EDDY__OP_ROW("NoOp", .kernel = run_nothing, .flags = EDDY_OP_CHEAP,
                 .doc = "Nothing; a place for control edges."),
    EDDY__OP_ROW("EnsureShape", .inputs = "input: T", .outputs = "output: T",
                 .attrs = "shape: shape, T: type", .infer = infer_ensured,
                 .kernel = run_ensured, .prepare = prepare_ensured,
                 .flags = EDDY_OP_CHEAP,
                 .doc = "The input, whose shape is checked."),
    EDDY__OP_ROW("CheckNumerics", .inputs = "tensor: T", .outputs = "output: T",
                 .attrs = "T: float, message: string",
                 .infer = eddy__infer_unchanged, .kernel = run_numerics,
                 .prepare = prepare_numerics, .flags = EDDY_OP_STATEFUL,
                 .doc = "The input, which must have no NaN and no infinity."),
    EDDY__OP_ROW("CheckNumericsV2", .inputs = "tensor: T",
                 .outputs = "output: T", .attrs = "T: float, message: string",
                 .infer = eddy__infer_unchanged, .kernel = run_numerics,
                 .prepare = prepare_numerics, .flags = EDDY_OP_STATEFUL,
                 .doc = "The input, which must have no NaN and no infinity."),
    PASS("Snapshot", "T: {number, bool}", "The input as it is now."),
    PASS("GuaranteeConst", "T: type",
         "The input, which the caller says never changes."),
    EDDY__OP_ROW("DeepCopy", .inputs = "x: T", .outputs = "y: T",
                 .attrs = "T: type", .infer = eddy__infer_unchanged,
                 .kernel = run_identity,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_STATEFUL,
                 .doc = "A copy of x that nothing changes."),
    EDDY__OP_ROW("ZerosLike", .inputs = "x: T", .outputs = "y: T",
                 .attrs = "T: type", .infer = eddy__infer_unchanged,
                 .kernel = run_zeros, .prepare = prepare_zeros,
                 .doc = "Zeros of the shape of x."),
    EDDY__OP_ROW("OnesLike", .inputs = "x: T", .outputs = "y: T",
                 .attrs = "T: {number, bool}", .infer = eddy__infer_unchanged,
                 .kernel = run_ones, .doc = "Ones of the shape of x."),
};

/* A value that may be fed in place of its default is not its input. */
static const eddy__role roles[sizeof specs / sizeof *specs] = {
    EDDY__ROLE_PLACEHOLDER, EDDY__ROLE_PLACEHOLDER, EDDY__ROLE_CONST,
    EDDY__ROLE_NONE,        EDDY__ROLE_FORWARD,     EDDY__ROLE_FORWARD,
    EDDY__ROLE_FORWARD,
};

const eddy__op_table eddy__basic_ops = {specs, roles,
                                        sizeof specs / sizeof *specs};

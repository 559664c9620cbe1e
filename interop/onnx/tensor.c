/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorProto.  The data of a tensor are raw bytes (little-endian), or values
 * in a field that depends on the dtype, or in a file beside the model; exactly
 * one of these, and exactly as many as the shape says.
 */
#include "core/value/tensor.h"
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "interop/onnx/loader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw_data is the memory of a little-endian machine"
#endif

/* X(number, ONNX's name, dtype, the field of its values, elements a value) */
#define DTYPES(X)                                                              \
    X(1, "float", FLOAT32, float_data)                                         \
    X(2, "uint8", UINT8, int32_data)                                           \
    X(3, "int8", INT8, int32_data)                                             \
    X(4, "uint16", UINT16, int32_data)                                         \
    X(5, "int16", INT16, int32_data)                                           \
    X(6, "int32", INT32, int32_data)                                           \
    X(7, "int64", INT64, int64_data)                                           \
    X(9, "bool", BOOL, int32_data)                                             \
    X(10, "float16", FLOAT16, int32_data)                                      \
    X(11, "double", FLOAT64, double_data)                                      \
    X(12, "uint32", UINT32, uint64_data)                                       \
    X(13, "uint64", UINT64, uint64_data)                                       \
    X(14, "complex64", COMPLEX64, float_data)                                  \
    X(15, "complex128", COMPLEX128, double_data)                               \
    X(16, "bfloat16", BFLOAT16, int32_data)

/* Numbers of dtypes whose codes eddy stores, a byte an element. */
static const char *const others[] = {
    [17] = "float8e4m3fn",   [18] = "float8e4m3fnuz", [19] = "float8e5m2",
    [20] = "float8e5m2fnuz", [21] = "uint4",          [22] = "int4",
    [23] = "float4e2m1",     [24] = "float8e8m0",     [25] = "uint2",
    [26] = "int2",           [27] = "float6e2m3",     [28] = "float6e3m2",
};

#define STRING_NUMBER 8
#define LOCATION_EXTERNAL 1

eddy_dtype eddy__onnx_dtype_from(int32_t number)
{
    switch (number) {
#define X(value, text, dtype, field)                                           \
    case value:                                                                \
        return EDDY_##dtype;
        DTYPES(X)
#undef X
    case STRING_NUMBER:
        return EDDY_STRING;
    default:
        return EDDY_INVALID;
    }
}

int32_t eddy__onnx_dtype_to(eddy_dtype dtype)
{
    switch (dtype) {
#define X(value, text, name, field)                                            \
    case EDDY_##name:                                                          \
        return value;
        DTYPES(X)
#undef X
    case EDDY_STRING:
        return STRING_NUMBER;
    default:
        return 0;
    }
}

const char *eddy__onnx_dtype_name(int32_t number)
{
    switch (number) {
#define X(value, text, dtype, field)                                           \
    case value:                                                                \
        return text;
        DTYPES(X)
#undef X
    case STRING_NUMBER:
        return "string";
    default:
        if (number < 0 || (size_t)number >= sizeof others / sizeof others[0] ||
            !others[number])
            return "no dtype of ONNX's";
        return others[number];
    }
}

uint8_t eddy__onnx_narrow_of(int32_t number)
{
    const int32_t n = (int32_t)(sizeof others / sizeof others[0]);

    return number > 0 && number < n && others[number] ? (uint8_t)number : 0;
}

/* int4 and int2 have a sign, and are kept with it. */
eddy_dtype eddy__onnx_storage_of(int32_t number)
{
    if (!eddy__onnx_narrow_of(number))
        return eddy__onnx_dtype_from(number);
    return strncmp(others[number], "int", 3) == 0 ? EDDY_INT8 : EDDY_UINT8;
}

/* The bits of an element as it stands in bytes. */
static unsigned bits_of(int32_t number)
{
    switch (number) {
    case 21: /* uint4, int4, float4e2m1 */
    case 22:
    case 23:
        return 4;
    case 25: /* uint2, int2 */
    case 26:
        return 2;
    case 27: /* float6e2m3, float6e3m2 */
    case 28:
        return 6;
    default:
        return 8;
    }
}

/*
 * Do the elements stand in bytes without a gap?  Those of six bits do so in
 * raw data alone.
 */
static bool is_packed(const Eddy__OnnxPb__TensorProto *proto)
{
    const unsigned n_bits = bits_of(proto->data_type);

    return n_bits == 6 ? proto->n_int32_data == 0 : n_bits < 8;
}

/* What a message says of the tensor that is read. */
typedef struct reading {
    eddy__onnx_loader *loader;
    const char *what, *name;
    const Eddy__OnnxPb__TensorProto *proto;
} reading;

static eddy_status fail(const reading *r, eddy_detail detail,
                        const char *format, ...) EDDY_PRINTF(3, 4);

static eddy_status fail(const reading *r, eddy_detail detail,
                        const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return eddy__fail(r->loader->w.err, EDDY_INVALID_ARGUMENT, detail,
                      "%s '%.100s': %s", r->what, r->name, text);
}

/* The values of one field. */
typedef struct values {
    const void *data;
    size_t n, stride;
} values;

/*
 * The field that holds the values of `number`; fails if another one, or raw
 * data beside it, has any.
 */
static eddy_status find_values(const reading *r, int32_t number,
                               values *out_values)
{
    const Eddy__OnnxPb__TensorProto *p = r->proto;
    const size_t n_all = p->n_float_data + p->n_int32_data + p->n_int64_data +
                         p->n_double_data + p->n_uint64_data + p->n_string_data;

    *out_values = (values){.n = p->n_string_data};
#define X(value, text, dtype, field)                                           \
    if (number == (value))                                                     \
        *out_values = (values){p->field, p->n_##field, sizeof *p->field};
    DTYPES(X)
#undef X
    if (eddy__onnx_narrow_of(number))
        *out_values =
            (values){p->int32_data, p->n_int32_data, sizeof *p->int32_data};
    if (n_all != out_values->n)
        return fail(r, EDDY_E_TENSOR_DATA,
                    "has values in a field that is not for %s",
                    eddy__onnx_dtype_name(number));
    if (n_all > 0 && p->raw_data.len > 0)
        return fail(r, EDDY_E_TENSOR_DATA, "has both raw data and values");
    return EDDY_OK;
}

/* Copies the low bytes of each value. */
static void copy_values(eddy_tensor *tensor, const values *from, size_t n)
{
    const size_t width = eddy_dtype_size(eddy_tensor_dtype(tensor));
    const size_t size = from->stride < width ? from->stride : width;
    const char *at = from->data;
    char *to = tensor->data;

    if (size == from->stride)
        memcpy(to, at, n * size);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * size, at + i * from->stride, size);
}

/* What check_amount has found to be enough. */
static eddy_status read_numbers(const reading *r, eddy_tensor *tensor)
{
    const ProtobufCBinaryData raw = r->proto->raw_data;
    values from;

    EDDY_TRY(find_values(r, r->proto->data_type, &from));
    if (from.n > 0 && from.data)
        copy_values(tensor, &from, from.n);
    else if (raw.len > 0)
        memcpy(tensor->data, raw.data, raw.len);
    return EDDY_OK;
}

/* A byte of a bool may only be 0 or 1, and files may say what they like. */
static void normalise(eddy_tensor *tensor)
{
    uint8_t *bytes = tensor->data;

    if (eddy_tensor_dtype(tensor) != EDDY_BOOL)
        return;
    for (int64_t i = 0; i < tensor->count; i++)
        bytes[i] = bytes[i] != 0;
}

static eddy_status read_shape(const reading *r, eddy_dtype dtype,
                              eddy_shape *out_shape)
{
    const Eddy__OnnxPb__TensorProto *p = r->proto;
    const size_t size = eddy_dtype_size(dtype);
    int64_t count;

    if (p->n_dims > EDDY_MAX_RANK)
        return fail(r, EDDY_E_RANK, "has rank %zu, more than %d", p->n_dims,
                    EDDY_MAX_RANK);
    out_shape->rank = (int32_t)p->n_dims;
    for (size_t i = 0; i < p->n_dims; i++) {
        if (p->dims[i] < 0)
            return fail(r, EDDY_E_DIM, "has dimension %zu of %lld", i,
                        (long long)p->dims[i]);
        out_shape->dims[i] = p->dims[i];
    }
    if (!eddy__shape_count(out_shape, size > 0 ? size : sizeof(eddy__string),
                           &count))
        return fail(r, EDDY_E_SIZE, "has the impossible shape %s",
                    eddy__shape_print(out_shape).text);
    return EDDY_OK;
}

static eddy_status read_texts(const reading *r, const eddy_shape *shape,
                              eddy_tensor **out_tensor)
{
    const Eddy__OnnxPb__TensorProto *p = r->proto;
    eddy__onnx_loader *loader = r->loader;
    eddy_string *texts;
    int64_t count = 0;
    values unused;

    EDDY_TRY(find_values(r, STRING_NUMBER, &unused));
    if (!eddy__shape_count(shape, 1, &count) ||
        (uint64_t)count != p->n_string_data || p->raw_data.len > 0)
        return fail(r, EDDY_E_TENSOR_DATA, "has %zu texts, where %s needs %lld",
                    p->n_string_data, eddy__shape_print(shape).text,
                    (long long)count);
    texts = eddy__scratch_allocate(&loader->scratch, p->n_string_data,
                                   sizeof *texts);
    if (!texts)
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    for (size_t i = 0; i < p->n_string_data; i++)
        texts[i] = (eddy_string){(const char *)p->string_data[i].data,
                                 p->string_data[i].len};
    return eddy_tensor_from_strings(loader->ctx, shape, texts, p->n_string_data,
                                    out_tensor, loader->w.err);
}

/* The bytes of the tensor are charged before there is one. */
static eddy_status make_tensor(const reading *r, eddy_dtype dtype,
                               const eddy_shape *shape, bool is_outside,
                               eddy_tensor **out_tensor)
{
    eddy__onnx_loader *loader = r->loader;
    int64_t count = 0;

    (void)eddy__shape_count(shape, 1, &count);
    if (!is_outside &&
        !eddy__scratch_charge(&loader->scratch,
                              (uint64_t)count * eddy_dtype_size(dtype)))
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    return eddy_tensor_create(loader->ctx, dtype, shape, out_tensor,
                              loader->w.err);
}

/*
 * What data there is, in bytes, is known before a tensor is made for it: a
 * small file must not ask for a large tensor.
 */
static eddy_status check_amount(const reading *r, eddy_dtype dtype,
                                const eddy_shape *shape)
{
    const Eddy__OnnxPb__TensorProto *p = r->proto;
    const size_t each = eddy__dtype_is_complex(dtype) ? 2 : 1;
    int64_t count = 0;
    values from;

    (void)eddy__shape_count(shape, 1, &count);
    EDDY_TRY(find_values(r, p->data_type, &from));
    if (from.n > 0
            ? from.n == (uint64_t)count * each
            : p->raw_data.len == (uint64_t)count * eddy_dtype_size(dtype))
        return EDDY_OK;
    return fail(r, EDDY_E_TENSOR_DATA,
                "has %zu values and %zu bytes of raw data, where %s %s has "
                "%lld elements",
                from.n, p->raw_data.len, eddy_dtype_name(dtype),
                eddy__shape_print(shape).text, (long long)count);
}

/* The elements, or the bytes that they stand in, from wherever they are. */
static eddy_status read_elements(const reading *r, eddy_dtype dtype,
                                 const eddy_shape *shape,
                                 eddy_tensor **out_tensor)
{
    const bool is_outside = r->proto->data_location == LOCATION_EXTERNAL;
    eddy_tensor *tensor = NULL;
    eddy_status status;

    if (!is_outside)
        EDDY_TRY(check_amount(r, dtype, shape));
    else
        EDDY_TRY(eddy__onnx_check_outside(r->loader, r->what, r->proto, dtype,
                                          shape));
    EDDY_TRY(make_tensor(r, dtype, shape, is_outside, &tensor));
    assert(tensor);
    status = is_outside ? eddy__onnx_read_outside(r->loader, r->what, r->proto,
                                                  tensor->data, tensor->bytes)
                        : read_numbers(r, tensor);
    if (status == EDDY_OK)
        *out_tensor = tensor;
    else
        eddy_tensor_release(tensor);
    return status;
}

/* Element `i` of the bytes, the first one lowest; may go on in the next. */
static uint8_t element_of(const eddy_tensor *packed, int64_t i, unsigned n_bits)
{
    const uint8_t *bytes = packed->data;
    const int64_t at = i * n_bits / 8;
    const unsigned shift = (unsigned)(i * n_bits % 8);
    unsigned both = bytes[at];

    if (shift + n_bits > 8)
        both |= (unsigned)bytes[at + 1] << 8;
    return (uint8_t)(both >> shift & ((1U << n_bits) - 1));
}

static eddy_status unpack(const reading *r, const eddy_shape *shape,
                          const eddy_tensor *packed, eddy_tensor **out_tensor)
{
    const unsigned n_bits = bits_of(r->proto->data_type);
    const uint8_t mask = (uint8_t)((1U << n_bits) - 1);
    const eddy_dtype dtype = eddy__onnx_storage_of(r->proto->data_type);
    eddy_tensor *tensor = NULL;
    uint8_t *to;

    EDDY_TRY(make_tensor(r, dtype, shape, false, &tensor));
    assert(tensor);
    to = tensor->data;
    for (int64_t i = 0; i < tensor->count; i++) {
        to[i] = element_of(packed, i, n_bits);
        if (dtype == EDDY_INT8 && to[i] >> (n_bits - 1))
            to[i] |= (uint8_t)~mask;
    }
    *out_tensor = tensor;
    return EDDY_OK;
}

/* Elements that are not whole bytes. */
static eddy_status read_packed(const reading *r, const eddy_shape *shape,
                               eddy_tensor **out_tensor)
{
    const int64_t n_bits = bits_of(r->proto->data_type);
    eddy_shape bytes = {.rank = 1};
    eddy_tensor *packed = NULL;
    eddy_status status;
    int64_t count = 0;

    (void)eddy__shape_count(shape, 1, &count);
    bytes.dims[0] = count / 8 * n_bits + (count % 8 * n_bits + 7) / 8;
    EDDY_TRY(read_elements(r, EDDY_UINT8, &bytes, &packed));
    assert(packed);
    status = unpack(r, shape, packed, out_tensor);
    eddy_tensor_release(packed);
    return status;
}

/* A code of six bits in a byte of its own has no others. */
static eddy_status check_codes(const reading *r, const eddy_tensor *tensor)
{
    const uint8_t *codes = tensor->data;

    if (bits_of(r->proto->data_type) != 6)
        return EDDY_OK;
    for (int64_t i = 0; i < tensor->count; i++)
        if (codes[i] >> 6)
            return fail(r, EDDY_E_TENSOR_DATA,
                        "has code %u of more than 6 bits as element %lld",
                        codes[i], (long long)i);
    return EDDY_OK;
}

eddy_status eddy__onnx_read_tensor(eddy__onnx_loader *loader, const char *what,
                                   const Eddy__OnnxPb__TensorProto *proto,
                                   eddy_tensor **out_tensor)
{
    const reading r = {loader, what, eddy__onnx_text_of(proto->name), proto};
    const eddy_dtype dtype = eddy__onnx_storage_of(proto->data_type);
    const bool is_outside = proto->data_location == LOCATION_EXTERNAL;
    eddy_shape shape = {.rank = 0};
    eddy_tensor *tensor = NULL;
    eddy_status status;

    if (dtype == EDDY_INVALID)
        return fail(&r, EDDY_E_DTYPE, "is of dtype %d (%s), which eddy has not",
                    (int)proto->data_type,
                    eddy__onnx_dtype_name(proto->data_type));
    EDDY_TRY(read_shape(&r, dtype, &shape));
    if (!is_outside && proto->n_external_data > 0)
        return fail(&r, EDDY_E_TENSOR_DATA,
                    "names a file, and does not say that its data are there");
    if (dtype == EDDY_STRING)
        return is_outside ? fail(&r, EDDY_E_DTYPE, "has texts in a file")
                          : read_texts(&r, &shape, out_tensor);
    if (is_packed(proto))
        return read_packed(&r, &shape, out_tensor);
    EDDY_TRY(read_elements(&r, dtype, &shape, &tensor));
    assert(tensor);
    normalise(tensor);
    status = check_codes(&r, tensor);
    if (status == EDDY_OK)
        *out_tensor = tensor;
    else
        eddy_tensor_release(tensor);
    return status;
}

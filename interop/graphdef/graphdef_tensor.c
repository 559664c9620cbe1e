/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorProto and TensorShapeProto, in and out.
 *
 * A tensor comes as raw bytes (`tensor_content`) or as values in a field that
 * depends on the dtype, of which the last one is repeated to fill the shape and
 * none at all means zeros.
 */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"

#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor_content is the memory of a little-endian machine"
#endif

#define BIT(name) EDDY__DTYPE_BIT(EDDY_##name)

/* X(field, elements of it a value, dtypes that keep their values there) */
#define NUMBER_FIELDS(X)                                                       \
    X(half_val, 1, BIT(FLOAT16) | BIT(BFLOAT16))                               \
    X(float_val, 1, BIT(FLOAT32))                                              \
    X(double_val, 1, BIT(FLOAT64))                                             \
    X(int_val, 1,                                                              \
      BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(UINT8) | BIT(UINT16))          \
    X(scomplex_val, 2, BIT(COMPLEX64))                                         \
    X(dcomplex_val, 2, BIT(COMPLEX128))                                        \
    X(int64_val, 1, BIT(INT64))                                                \
    X(bool_val, 1, BIT(BOOL))                                                  \
    X(uint32_val, 1, BIT(UINT32))                                              \
    X(uint64_val, 1, BIT(UINT64))

#define VALUE_FIELDS(X) NUMBER_FIELDS(X) X(string_val, 1, BIT(STRING))

/* The values of one field. */
typedef struct values {
    const void *data;
    size_t n;
    size_t stride;
} values;

eddy_status eddy__load_dtype(const eddy__loader *loader, const char *attr,
                             int32_t number, eddy_dtype *out_dtype,
                             bool *out_is_opaque)
{
    eddy_dtype dtype = eddy__dtype_from_tf(number);

    if (number > EDDY__TF_REF_OFFSET)
        return eddy__load_fail(loader, EDDY_E_DTYPE,
                               "attribute '%s' is a reference, dtype %d", attr,
                               (int)number);
    if (number < 0)
        return eddy__load_fail(loader, EDDY_E_DTYPE,
                               "attribute '%s' is dtype %d, which there is not",
                               attr, (int)number);
    *out_dtype = dtype;
    *out_is_opaque = dtype == EDDY_INVALID;
    return EDDY_OK;
}

eddy_status eddy__load_shape(const eddy__loader *loader, const char *attr,
                             const Eddy__Pb__TensorShapeProto *proto,
                             eddy_shape *out_shape)
{
    eddy_shape shape = eddy__shape_unknown();
    int64_t count;

    if (!proto || !proto->unknown_rank) {
        size_t rank = proto ? proto->n_dim : 0;

        if (rank > EDDY_MAX_RANK)
            return eddy__load_fail(loader, EDDY_E_RANK,
                                   "attribute '%s' has rank %zu, more than %d",
                                   attr, rank, EDDY_MAX_RANK);
        shape.rank = (int32_t)rank;
        for (size_t i = 0; i < rank; i++) {
            shape.dims[i] = proto->dim[i]->size;
            if (shape.dims[i] < -1)
                return eddy__load_fail(
                    loader, EDDY_E_DIM,
                    "attribute '%s' has dimension %zu of %lld", attr, i,
                    (long long)shape.dims[i]);
        }
    } else if (proto->n_dim > 0) {
        return eddy__load_fail(loader, EDDY_E_RANK,
                               "attribute '%s' has an unknown rank and %zu "
                               "dimensions",
                               attr, proto->n_dim);
    }
    if (eddy__shape_is_known(&shape) && !eddy__shape_count(&shape, 1, &count))
        return eddy__load_fail(loader, EDDY_E_SIZE,
                               "attribute '%s' has the impossible shape %s",
                               attr, eddy__shape_print(&shape).text);
    *out_shape = shape;
    return EDDY_OK;
}

/*
 * The one field that has values, if any has: fails if that is not the one for
 * the dtype.
 */
static eddy_status find_values(const eddy__loader *loader, const char *attr,
                               const Eddy__Pb__TensorProto *proto,
                               eddy_dtype dtype, values *out_values)
{
#define X(name, each, dtypes)                                                  \
    if (proto->n_##name > 0) {                                                 \
        if (!eddy__dtype_in(dtype, dtypes) || proto->tensor_content.len > 0)   \
            return eddy__load_fail(                                            \
                loader, EDDY_E_TENSOR_DATA,                                    \
                "attribute '%s' has values in %s, which a %s tensor%s has "    \
                "not",                                                         \
                attr, #name, eddy_dtype_name(dtype),                           \
                proto->tensor_content.len > 0 ? " with tensor_content" : "");  \
        if (proto->n_##name % (each) != 0)                                     \
            return eddy__load_fail(loader, EDDY_E_TENSOR_DATA,                 \
                                   "attribute '%s' has half a value in %s",    \
                                   attr, #name);                               \
        *out_values = (values){                                                \
            .data = proto->name,                                               \
            .n = proto->n_##name / (each),                                     \
            .stride = sizeof proto->name[0] * (each),                          \
        };                                                                     \
    }
    VALUE_FIELDS(X)
#undef X
    return EDDY_OK;
}

/* Copies the low `size` bytes of each value; the last one fills what is left.
 */
static void fill(char *to, size_t size, size_t count, const values *from)
{
    const char *at = from->data;
    size_t filled = from->n;

    if (filled == 0) {
        memset(to, 0, count * size);
        return;
    }
    if (from->stride == size)
        memcpy(to, at, filled * size);
    else
        for (size_t i = 0; i < filled; i++)
            memcpy(to + i * size, at + i * from->stride, size);
    /* The tail is copied from what is filled of it, so in ever longer steps. */
    to += (filled - 1) * size;
    count -= filled - 1;
    for (size_t done = 1; done < count;) {
        size_t step = done < count - done ? done : count - done;

        memcpy(to + done * size, to, step * size);
        done += step;
    }
}

static void normalise_bools(uint8_t *bools, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bools[i] = bools[i] != 0;
}

static eddy_status read_numbers(const eddy__loader *loader, const char *attr,
                                const Eddy__Pb__TensorProto *proto,
                                const values *from, eddy_tensor *tensor)
{
    size_t size = eddy_dtype_size(eddy_tensor_dtype(tensor));
    size_t count = (size_t)eddy_tensor_count(tensor);
    size_t length = proto->tensor_content.len;

    if (count == 0)
        return EDDY_OK;
    if (length > 0 && length != count * size)
        return eddy__load_fail(
            loader, EDDY_E_TENSOR_DATA,
            "attribute '%s' has %zu bytes of tensor_content, "
            "where %s needs %zu",
            attr, length, eddy__shape_print(&tensor->shape).text, count * size);
    if (length > 0)
        memcpy(tensor->data, proto->tensor_content.data, length);
    else
        fill(tensor->data, size, count, from);
    if (tensor->dtype == EDDY_BOOL)
        normalise_bools(tensor->data, count);
    return EDDY_OK;
}

/*
 * Texts in tensor_content: the length of each as a varint, then all of them.
 * False if the bytes are not that.
 */
static bool split_content(ProtobufCBinaryData content, size_t count,
                          eddy_string *out_strings)
{
    size_t at = 0, left;

    for (size_t i = 0; i < count; i++) {
        size_t length = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
            if (at == content.len || shift > 28)
                return false;
            byte = content.data[at++];
            length |= (size_t)(byte & 0x7f) << shift;
            shift += 7;
        } while (byte >= 0x80);
        out_strings[i].length = length;
    }
    left = content.len - at;
    for (size_t i = 0; i < count; i++) {
        if (out_strings[i].length > left)
            return false;
        out_strings[i].data = (const char *)content.data + at;
        at += out_strings[i].length;
        left -= out_strings[i].length;
    }
    return left == 0;
}

static eddy_status set_string(eddy__loader *loader, eddy_tensor *tensor,
                              size_t i, const void *data, size_t length)
{
    if (!eddy__scratch_charge(&loader->scratch, length))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    if (!eddy__tensor_set_string(tensor, (int64_t)i, length > 0 ? data : "",
                                 length))
        return eddy__fail_memory(loader->err);
    return EDDY_OK;
}

static eddy_status read_strings(eddy__loader *loader, const char *attr,
                                const Eddy__Pb__TensorProto *proto,
                                eddy_tensor *tensor)
{
    size_t count = (size_t)eddy_tensor_count(tensor);
    eddy_string *strings;

    if (count == 0)
        return EDDY_OK;
    if (proto->tensor_content.len == 0) {
        if (proto->n_string_val == 0)
            return EDDY_OK;
        for (size_t i = 0; i < count; i++) {
            size_t last = proto->n_string_val - 1;
            ProtobufCBinaryData from = proto->string_val[i < last ? i : last];

            EDDY_TRY(set_string(loader, tensor, i, from.data, from.len));
        }
        return EDDY_OK;
    }
    /* Each text has a byte of length at least. */
    if (count > proto->tensor_content.len)
        return eddy__load_fail(loader, EDDY_E_TENSOR_DATA,
                               "attribute '%s' has %zu bytes for %zu texts",
                               attr, proto->tensor_content.len, count);
    strings = eddy__scratch_allocate(&loader->scratch, count, sizeof *strings);
    if (!strings)
        return eddy__scratch_fail(&loader->scratch, loader->err);
    if (!split_content(proto->tensor_content, count, strings))
        return eddy__load_fail(loader, EDDY_E_TENSOR_DATA,
                               "attribute '%s' has tensor_content that does "
                               "not hold %zu texts",
                               attr, count);
    for (size_t i = 0; i < count; i++)
        EDDY_TRY(
            set_string(loader, tensor, i, strings[i].data, strings[i].length));
    return EDDY_OK;
}

/* The shape of a tensor has no unknowns, and its bytes can be counted. */
static eddy_status read_tensor_shape(const eddy__loader *loader,
                                     const char *attr,
                                     const Eddy__Pb__TensorProto *proto,
                                     size_t size, eddy_shape *out_shape,
                                     int64_t *out_count)
{
    EDDY_TRY(eddy__load_shape(loader, attr, proto->tensor_shape, out_shape));
    if (!eddy__shape_is_known(out_shape))
        return eddy__load_fail(loader, EDDY_E_DIM,
                               "attribute '%s' is a tensor of shape %s", attr,
                               eddy__shape_print(out_shape).text);
    if (!eddy__shape_count(out_shape, size, out_count))
        return eddy__load_fail(loader, EDDY_E_SIZE,
                               "attribute '%s' is a tensor of the impossible "
                               "shape %s",
                               attr, eddy__shape_print(out_shape).text);
    return EDDY_OK;
}

/*
 * As TensorFlow's Tensor::FromProto: nothing but the shape is looked at of a
 * tensor without elements, and values that are too many are left out.
 */
static eddy_status make_tensor(eddy__loader *loader, const char *attr,
                               const Eddy__Pb__TensorProto *proto,
                               eddy_dtype dtype, eddy_tensor **out_tensor)
{
    size_t size =
        dtype == EDDY_STRING ? sizeof(eddy__string) : eddy_dtype_size(dtype);
    values from = {.n = 0};
    eddy_shape shape;
    eddy_tensor *tensor = NULL;
    eddy_status status;
    int64_t count = 0;

    EDDY_TRY(read_tensor_shape(loader, attr, proto, size, &shape, &count));
    if (count > 0)
        EDDY_TRY(find_values(loader, attr, proto, dtype, &from));
    if (from.n > (size_t)count)
        from.n = (size_t)count;
    if (!eddy__scratch_charge(&loader->scratch,
                              (uint64_t)count * size + sizeof(eddy_tensor)))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    EDDY_TRY(
        eddy_tensor_create(loader->ctx, dtype, &shape, &tensor, loader->err));
    status = dtype == EDDY_STRING
                 ? read_strings(loader, attr, proto, tensor)
                 : read_numbers(loader, attr, proto, &from, tensor);
    if (status != EDDY_OK)
        eddy_tensor_release(tensor);
    else
        *out_tensor = tensor;
    return status;
}

eddy_status eddy__read_tensor(eddy__loader *loader, const char *attr,
                              const Eddy__Pb__TensorProto *proto,
                              eddy_tensor **out_tensor, bool *out_is_opaque)
{
    eddy_dtype dtype = EDDY_INVALID;

    *out_is_opaque = false;
    if (proto->dtype == 0)
        return eddy__load_fail(loader, EDDY_E_DTYPE,
                               "attribute '%s' is a tensor without a dtype",
                               attr);
    EDDY_TRY(
        eddy__load_dtype(loader, attr, proto->dtype, &dtype, out_is_opaque));
    if (dtype == EDDY_RESOURCE || dtype == EDDY_VARIANT)
        *out_is_opaque = true;
    if (*out_is_opaque)
        return EDDY_OK;
    return make_tensor(loader, attr, proto, dtype, out_tensor);
}

/* ---- writing ---- */

Eddy__Pb__TensorShapeProto *eddy__write_shape(eddy__scratch *scratch,
                                              const eddy_shape *shape)
{
    size_t rank = shape->rank > 0 ? (size_t)shape->rank : 0;
    Eddy__Pb__TensorShapeProto *to =
        eddy__scratch_allocate(scratch, 1, sizeof *to);
    Eddy__Pb__TensorShapeProto__Dim *dims =
        eddy__scratch_allocate(scratch, rank, sizeof *dims);

    if (!to || !dims)
        return NULL;
    eddy__pb__tensor_shape_proto__init(to);
    to->unknown_rank = shape->rank < 0;
    to->n_dim = rank;
    to->dim = eddy__scratch_allocate(scratch, rank,
                                     sizeof(Eddy__Pb__TensorShapeProto__Dim *));
    if (!to->dim)
        return NULL;
    for (size_t i = 0; i < rank; i++) {
        eddy__pb__tensor_shape_proto__dim__init(&dims[i]);
        dims[i].size = shape->dims[i];
        to->dim[i] = &dims[i];
    }
    return to;
}

static bool is_one_value(const eddy_tensor *tensor)
{
    size_t size = eddy_dtype_size((eddy_dtype)tensor->dtype);

    /* Every element equals the one before it. */
    return tensor->bytes == size ||
           memcmp(tensor->data, (const char *)tensor->data + size,
                  tensor->bytes - size) == 0;
}

/* Element 0 as the only value of the field for its dtype. */
static bool write_value(eddy__scratch *scratch, const eddy_tensor *tensor,
                        Eddy__Pb__TensorProto *to)
{
    size_t size = eddy_dtype_size((eddy_dtype)tensor->dtype);
    uint64_t bits = 0;

#define X(name, each, dtypes)                                                  \
    if (eddy__dtype_in((eddy_dtype)tensor->dtype, dtypes)) {                   \
        to->name =                                                             \
            eddy__scratch_allocate(scratch, (each), sizeof to->name[0]);       \
        if (!to->name)                                                         \
            return false;                                                      \
        to->n_##name = (each);                                                 \
        if (size < sizeof to->name[0])                                         \
            memcpy(to->name, &bits, sizeof to->name[0]);                       \
        else                                                                   \
            memcpy(to->name, tensor->data, size);                              \
    }
    /* A field that is wider than the dtype holds it with its sign. */
    if (size < sizeof bits)
        memcpy(&bits, tensor->data, size);
    if (eddy__dtype_in((eddy_dtype)tensor->dtype, BIT(INT8) | BIT(INT16)) &&
        (bits >> (8 * size - 1) & 1))
        bits |= UINT64_MAX << (8 * size);
    NUMBER_FIELDS(X)
#undef X
    return true;
}

static bool write_strings(eddy__scratch *scratch, const eddy_tensor *tensor,
                          Eddy__Pb__TensorProto *to)
{
    size_t n = (size_t)tensor->count;

    to->string_val =
        eddy__scratch_allocate(scratch, n, sizeof to->string_val[0]);
    if (!to->string_val)
        return false;
    for (size_t i = 0; i < n; i++) {
        eddy_string text = eddy_tensor_string(tensor, (int64_t)i);

        to->string_val[i].len = text.length;
        to->string_val[i].data = eddy__graphdef_borrow_bytes(text.data);
    }
    to->n_string_val = n;
    return true;
}

Eddy__Pb__TensorProto *eddy__write_tensor(eddy__scratch *scratch,
                                          const eddy_tensor *tensor)
{
    Eddy__Pb__TensorProto *to = eddy__scratch_allocate(scratch, 1, sizeof *to);

    if (!to)
        return NULL;
    eddy__pb__tensor_proto__init(to);
    to->dtype = eddy__dtype_to_tf((eddy_dtype)tensor->dtype);
    to->tensor_shape = eddy__write_shape(scratch, &tensor->shape);
    if (!to->tensor_shape)
        return NULL;
    if (tensor->count == 0)
        return to;
    if (tensor->dtype == EDDY_STRING)
        return write_strings(scratch, tensor, to) ? to : NULL;
    if (is_one_value(tensor))
        return write_value(scratch, tensor, to) ? to : NULL;
    to->tensor_content.len = tensor->bytes;
    to->tensor_content.data = tensor->data;
    return to;
}

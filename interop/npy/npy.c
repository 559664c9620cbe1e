/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes tensors as NumPy's .npy files: numbers in C or Fortran
 * order, and strings of a fixed width.
 */
#include "eddy/npy.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "interop/npy/npy_header.h"
#include "interop/shared/file.h"

#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are copied as they stand in a little-endian machine"
#endif

/* ---- reading ---- */

/* Walks a tensor in C order and says where each element is in the file. */
typedef struct order {
    int32_t rank;
    int64_t dims[EDDY_MAX_RANK];
    int64_t strides[EDDY_MAX_RANK]; /* in elements of the file */
    int64_t index[EDDY_MAX_RANK];
    int64_t at; /* element of the file */
} order;

static order begin_order(const eddy__npy_header *header)
{
    order o = {.rank = header->shape.rank};
    int64_t stride = 1;

    for (int32_t i = 0; i < o.rank; i++) {
        int32_t axis = header->fortran_order ? i : o.rank - 1 - i;

        o.dims[axis] = header->shape.dims[axis];
        o.strides[axis] = stride;
        stride *= o.dims[axis];
    }
    return o;
}

static void step(order *o)
{
    for (int32_t axis = o->rank - 1; axis >= 0; axis--) {
        o->at += o->strides[axis];
        if (++o->index[axis] < o->dims[axis])
            return;
        o->at -= o->strides[axis] * o->dims[axis];
        o->index[axis] = 0;
    }
}

static void read_numbers(const eddy__npy_header *header, const uint8_t *data,
                         eddy_tensor *tensor)
{
    size_t size = header->element_size;
    uint8_t *to = tensor->data;
    order o = begin_order(header);

    if (header->count == 0)
        return;
    if (!header->fortran_order || header->shape.rank < 2)
        memcpy(to, data, tensor->bytes);
    else
        for (int64_t i = 0; i < header->count; i++, step(&o))
            memcpy(to + (size_t)i * size, data + (size_t)o.at * size, size);
    if (header->dtype == EDDY_BOOL)
        for (int64_t i = 0; i < header->count; i++)
            to[i] = to[i] != 0;
}

/* Appends a code point as UTF-8; returns how many bytes, 0 if it is none. */
static size_t put_utf8(char *to, uint32_t point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xc0 | point >> 6);
        to[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point >= 0xd800 && point < 0xe000)
        return 0;
    if (point < 0x10000) {
        to[0] = (char)(0xe0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 0x3f));
        to[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    if (point >= 0x110000)
        return 0;
    to[0] = (char)(0xf0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 0x3f));
    to[2] = (char)(0x80 | (point >> 6 & 0x3f));
    to[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* One element of 'U' as UTF-8 in `to`, which has as many bytes. */
static bool convert_unicode(const uint8_t *from, size_t size, char *to,
                            size_t *out_length)
{
    size_t length = 0;
    uint32_t point;

    while (size >= 4) {
        memcpy(&point, from + size - 4, 4);
        if (point != 0)
            break;
        size -= 4;
    }
    for (size_t i = 0; i < size; i += 4) {
        size_t n;

        memcpy(&point, from + i, 4);
        n = put_utf8(to + length, point);
        if (n == 0)
            return false;
        length += n;
    }
    *out_length = length;
    return true;
}

static eddy_status read_string(const eddy__npy_header *header,
                               const uint8_t *from, char *room,
                               eddy_tensor *tensor, int64_t i, eddy_error *err)
{
    size_t length = header->element_size;
    const char *text = (const char *)from;

    if (header->kind == EDDY__NPY_UNICODE) {
        if (!convert_unicode(from, header->element_size, room, &length))
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                              "element %lld of the .npy file has a code point "
                              "that does not exist",
                              (long long)i);
        text = room;
    } else {
        while (length > 0 && text[length - 1] == '\0')
            length--;
    }
    return eddy__tensor_set_string(tensor, i, text, length)
               ? EDDY_OK
               : eddy__fail_memory(err);
}

static eddy_status read_strings(const eddy__npy_header *header,
                                const uint8_t *data, eddy_tensor *tensor,
                                eddy_error *err)
{
    order o = begin_order(header);
    eddy_status status = EDDY_OK;
    char *room;

    /* Without elements nothing bounds the size of one. */
    if (header->count == 0)
        return EDDY_OK;
    room = eddy__allocate(tensor->allocator, header->element_size, 1);
    if (!room)
        return eddy__fail_memory(err);
    for (int64_t i = 0; i < header->count && status == EDDY_OK; i++) {
        status = read_string(header, data + (size_t)o.at * header->element_size,
                             room, tensor, i, err);
        step(&o);
    }
    eddy__free(tensor->allocator, room, header->element_size, 1);
    return status;
}

eddy_status eddy_npy_read(const eddy_context *ctx, const void *bytes,
                          size_t length, eddy_tensor **out_tensor,
                          eddy_error *err)
{
    eddy__npy_header header = {.count = 0};
    eddy_tensor *tensor = NULL;
    eddy_status status = EDDY_OK;
    const uint8_t *data;

    EDDY_REFUSE_IF(!bytes, err, "no bytes");
    EDDY_REFUSE_IF(!out_tensor, err, "nowhere to put the tensor");
    EDDY_TRY(eddy__npy_read_header(bytes, length, &header, err));
    EDDY_TRY(
        eddy_tensor_create(ctx, header.dtype, &header.shape, &tensor, err));
    data = (const uint8_t *)bytes + header.data;
    if (header.dtype == EDDY_STRING)
        status = read_strings(&header, data, tensor, err);
    else
        read_numbers(&header, data, tensor);
    if (status != EDDY_OK)
        eddy_tensor_release(tensor);
    else
        *out_tensor = tensor;
    return status;
}

eddy_status eddy_npy_load(const eddy_context *ctx, const char *path,
                          eddy_tensor **out_tensor, eddy_error *err)
{
    return eddy_npy_load_limited(ctx, path, EDDY_NPY_MAX_BYTES, out_tensor,
                                 err);
}

eddy_status eddy_npy_load_limited(const eddy_context *ctx, const char *path,
                                  uint64_t max_bytes, eddy_tensor **out_tensor,
                                  eddy_error *err)
{
    const size_t most = SIZE_MAX / 4;
    const size_t max = max_bytes < most ? (size_t)max_bytes : most;
    eddy__file file = {.length = 0};
    eddy_status status;

    if (!path)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no path");
    EDDY_TRY(
        eddy__file_read(eddy__context_allocator(ctx), path, max, &file, err));
    status = eddy_npy_read(ctx, file.bytes, file.length, out_tensor, err);
    eddy__file_free(&file);
    return status;
}

/* ---- writing ---- */

/* The texts side by side, padded to the longest one. */
static eddy_status pad_strings(const eddy_tensor *tensor, eddy__file *out_data,
                               size_t *out_width, eddy_error *err)
{
    size_t n = (size_t)tensor->count, width = 1, bytes;

    for (size_t i = 0; i < n; i++) {
        size_t length = eddy_tensor_string(tensor, (int64_t)i).length;

        if (length > width)
            width = length;
    }
    if (!eddy__mul_size(n, width, &bytes))
        return eddy__fail_memory(err);
    *out_data = (eddy__file){.allocator = tensor->allocator, .length = bytes};
    out_data->bytes = eddy__allocate_zeroed(tensor->allocator, bytes, 1);
    if (!out_data->bytes)
        return eddy__fail_memory(err);
    out_data->capacity = bytes;
    for (size_t i = 0; i < n; i++) {
        eddy_string text = eddy_tensor_string(tensor, (int64_t)i);

        if (text.length > 0)
            memcpy(out_data->bytes + i * width, text.data, text.length);
    }
    *out_width = width;
    return EDDY_OK;
}

eddy_status eddy_npy_save(const eddy_tensor *tensor, const char *path,
                          eddy_error *err)
{
    char header[EDDY__NPY_MAX_HEADER];
    eddy__file padded = {.length = 0};
    eddy__file_part parts[2] = {{.bytes = header}};
    size_t width = 0;
    eddy_status status;

    EDDY_REFUSE_IF(!tensor, err, "no tensor");
    EDDY_REFUSE_IF(!path, err, "no path");
    if (tensor->dtype > EDDY_STRING)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "a %s tensor has no .npy form",
                          eddy_dtype_name((eddy_dtype)tensor->dtype));
    parts[1] = (eddy__file_part){tensor->data, tensor->bytes};
    if (tensor->dtype == EDDY_STRING) {
        EDDY_TRY(pad_strings(tensor, &padded, &width, err));
        parts[1] = (eddy__file_part){padded.bytes, padded.length};
    }
    parts[0].length = eddy__npy_write_header((eddy_dtype)tensor->dtype, width,
                                             &tensor->shape, header);
    status = eddy__file_write(path, parts, 2, err);
    if (padded.bytes)
        eddy__file_free(&padded);
    return status;
}

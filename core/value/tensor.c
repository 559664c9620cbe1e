/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor is one block: the header, then from the next cache line on the
 * elements.  A view and a wrapper of host memory are a header alone.  The base
 * of a view is never a view itself, so releasing one never goes deeper than
 * two tensors.
 */
#include "core/value/tensor.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "core/value/texts.h"
#include "core/value/value.h"

#include <assert.h>
#include <string.h>

#define LINE ((size_t)EDDY__CACHE_LINE)

/* Where the elements start. */
#define HEADER ((sizeof(eddy_tensor) + LINE - 1) & ~(LINE - 1))

static bool is_held(eddy_dtype dtype)
{
    return (unsigned)dtype < EDDY_DTYPE_COUNT &&
           eddy__dtype_in(dtype, EDDY__HELD);
}

/* Bytes of an element in memory; 0 for what no tensor holds. */
static size_t measure_element(eddy_dtype dtype)
{
    if (is_held(dtype))
        return sizeof(eddy__value);
    return dtype == EDDY_STRING ? sizeof(eddy__string) : eddy_dtype_size(dtype);
}

/* A block that starts with a header whose other members are zero. */
static eddy_tensor *allocate_header(eddy__heap *heap, eddy__account *account,
                                    const eddy_allocator *allocator,
                                    size_t size)
{
    eddy_tensor *tensor;

    if (heap) {
        tensor = eddy__heap_allocate(heap, size, &size);
        account = heap->account;
    } else if (account) {
        tensor = eddy__account_allocate(account, size);
    } else {
        tensor = eddy__allocate_aligned(allocator, size, LINE);
    }
    if (!tensor)
        return NULL;
    tensor->from_heap = heap != NULL;
    tensor->is_host = false;
    tensor->base = NULL;
    tensor->release = NULL;
    tensor->user = NULL;
    tensor->allocator = account ? account->allocator : allocator;
    tensor->account = account;
    tensor->block_size = size;
    atomic_init(&tensor->refs, 1);
    return tensor;
}

static void free_block(eddy__heap *heap, eddy_tensor *tensor)
{
    if (heap && tensor->from_heap && tensor->account == heap->account)
        eddy__heap_recycle(heap, tensor, tensor->block_size);
    else if (tensor->account)
        eddy__account_free(tensor->account, tensor, tensor->block_size);
    else
        eddy__free(tensor->allocator, tensor, 1, tensor->block_size);
}

static void set_shape(eddy_tensor *tensor, eddy_dtype dtype,
                      const eddy_shape *shape, int64_t count)
{
    tensor->dtype = (uint8_t)dtype;
    tensor->shape = *shape;
    tensor->count = count;
    tensor->bytes = (size_t)count * eddy_dtype_size(dtype);
}

eddy_tensor *eddy__tensor_create_raw(eddy__heap *heap, eddy__account *account,
                                     const eddy_allocator *allocator,
                                     eddy_dtype dtype, const eddy_shape *shape)
{
    const size_t element = measure_element(dtype);
    eddy_tensor *tensor;
    int64_t count;
    size_t size;

    if (element == 0 || !eddy__shape_count(shape, element, &count) ||
        !eddy__add_size((size_t)count * element, HEADER, &size))
        return NULL;
    tensor = allocate_header(heap, account, allocator, size);
    if (!tensor)
        return NULL;
    set_shape(tensor, dtype, shape, count);
    tensor->data = (char *)tensor + HEADER;
    return tensor;
}

size_t eddy__tensor_memory(const eddy_tensor *tensor)
{
    return (size_t)tensor->count * measure_element((eddy_dtype)tensor->dtype);
}

eddy_tensor *eddy__tensor_create(eddy__heap *heap, eddy__account *account,
                                 const eddy_allocator *allocator,
                                 eddy_dtype dtype, const eddy_shape *shape)
{
    eddy_tensor *tensor =
        eddy__tensor_create_raw(heap, account, allocator, dtype, shape);

    /* No string has no data, and EDDY__NONE is 0. */
    if (tensor && (dtype == EDDY_STRING || is_held(dtype)))
        memset(tensor->data, 0, eddy__tensor_memory(tensor));
    return tensor;
}

eddy_tensor *eddy__tensor_slice(eddy__heap *heap, eddy__account *account,
                                eddy_tensor *from, int64_t first,
                                const eddy_shape *shape)
{
    const eddy_dtype dtype = (eddy_dtype)from->dtype;
    eddy_tensor *base = from->base ? from->base : from;
    eddy_tensor *tensor =
        allocate_header(heap, account, from->allocator, sizeof *tensor);
    int64_t count = 1;

    if (!tensor)
        return NULL;
    for (int32_t d = 0; d < shape->rank; d++)
        count *= shape->dims[d];
    assert(first >= 0 && first <= from->count - count);
    set_shape(tensor, dtype, shape, count);
    tensor->data = (char *)from->data + (size_t)first * measure_element(dtype);
    tensor->base = eddy_tensor_retain(base);
    return tensor;
}

eddy_tensor *eddy__tensor_view(eddy__heap *heap, eddy__account *account,
                               eddy_tensor *from, const eddy_shape *shape)
{
    return eddy__tensor_slice(heap, account, from, 0, shape);
}

/* Acquire: who dropped the other references is done with the elements. */
static inline bool is_only_reference(const eddy_tensor *tensor)
{
    return atomic_load_explicit(&tensor->refs, memory_order_acquire) == 1;
}

bool eddy__tensor_is_exclusive(const eddy_tensor *tensor)
{
    const eddy_tensor *base = tensor->base ? tensor->base : tensor;

    return !base->is_host && is_only_reference(tensor) &&
           is_only_reference(base);
}

bool eddy__tensor_set_string(eddy_tensor *tensor, int64_t i, const char *data,
                             size_t length)
{
    eddy__string *string = (eddy__string *)tensor->data + i;
    char *copy = NULL;

    assert(tensor->dtype == EDDY_STRING && i >= 0 && i < tensor->count);
    if (length > 0) {
        copy = eddy__texts_allocate(tensor, length);
        if (!copy)
            return false;
        memcpy(copy, data, length);
        copy[length] = '\0';
    }
    eddy__texts_free(tensor, string);
    *string = (eddy__string){.data = copy, .length = length};
    return true;
}

/* Gives back all that the tensor holds except for its base. */
static void destroy(eddy__heap *heap, eddy_tensor *tensor)
{
    if (tensor->base) {
        free_block(heap, tensor);
        return;
    }
    if (is_held((eddy_dtype)tensor->dtype))
        eddy__values_clear(heap, tensor->data, tensor->count);
    if (tensor->dtype == EDDY_STRING)
        eddy__texts_destroy(tensor);
    /* A wrapper of no bytes points to itself. */
    if (tensor->release)
        tensor->release(tensor->data == tensor ? NULL : tensor->data,
                        tensor->user);
    free_block(heap, tensor);
}

/* True if that was the last reference. */
static bool drop_reference(eddy_tensor *tensor)
{
    /* Who holds the only reference needs no locked instruction. */
    return is_only_reference(tensor) ||
           atomic_fetch_sub_explicit(&tensor->refs, 1, memory_order_acq_rel) ==
               1;
}

eddy_tensor *eddy__tensor_drop(eddy__heap *heap, eddy_tensor *tensor)
{
    eddy_tensor *base = tensor->base;

    if (!drop_reference(tensor))
        return NULL;
    if (!base)
        return tensor;
    free_block(heap, tensor);
    return drop_reference(base) ? base : NULL;
}

void eddy__tensor_free(eddy__heap *heap, eddy_tensor *tensor)
{
    free_block(heap, tensor);
}

void eddy__tensor_recycle(eddy__heap *heap, eddy_tensor *tensor)
{
    while (tensor) {
        eddy_tensor *base = tensor->base;

        if (!drop_reference(tensor))
            return;
        destroy(heap, tensor);
        tensor = base;
    }
}

eddy_tensor *eddy_tensor_retain(eddy_tensor *tensor)
{
    if (tensor)
        atomic_fetch_add_explicit(&tensor->refs, 1, memory_order_relaxed);
    return tensor;
}

void eddy_tensor_release(eddy_tensor *tensor)
{
    eddy__tensor_recycle(NULL, tensor);
}

/* Checks what the host asks for before anything is allocated. */
static eddy_status check_request(eddy_dtype dtype, const eddy_shape *shape,
                                 int64_t *out_count, eddy_error *err)
{
    *out_count = 0;
    if (measure_element(dtype) == 0 || is_held(dtype))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "dtype %s has no elements of its own",
                          eddy_dtype_name(dtype));
    if (shape->rank < 0 || shape->rank > EDDY_MAX_RANK)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                          "rank %d is not in 0..%d", (int)shape->rank,
                          EDDY_MAX_RANK);
    if (!eddy__shape_is_known(shape))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                          "shape %s has an unknown or negative dimension",
                          eddy__shape_print(shape).text);
    if (!eddy__shape_count(shape, measure_element(dtype), out_count))
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "the size of %s%s overflows", eddy_dtype_name(dtype),
                          eddy__shape_print(shape).text);
    return EDDY_OK;
}

eddy_status eddy_tensor_create(const eddy_context *ctx, eddy_dtype dtype,
                               const eddy_shape *shape,
                               eddy_tensor **out_tensor, eddy_error *err)
{
    int64_t count;

    *out_tensor = NULL;
    EDDY_TRY(check_request(dtype, shape, &count, err));
    *out_tensor = eddy__tensor_create(NULL, NULL, eddy__context_allocator(ctx),
                                      dtype, shape);
    return *out_tensor ? EDDY_OK : eddy__fail_memory(err);
}

/* A complex number is two floats, and aligned as they are. */
static size_t find_alignment(eddy_dtype dtype)
{
    return eddy_dtype_size(eddy__dtype_of_parts(dtype));
}

/* NOLINTNEXTLINE(readability-function-size): what a host has to say. */
eddy_status eddy_tensor_wrap(const eddy_context *ctx, eddy_dtype dtype,
                             const eddy_shape *shape, void *data,
                             eddy_release_cb release, void *user,
                             eddy_tensor **out_tensor, eddy_error *err)
{
    eddy_tensor *tensor;
    int64_t count;

    *out_tensor = NULL;
    EDDY_TRY(check_request(dtype, shape, &count, err));
    if (dtype == EDDY_STRING)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "strings can't be wrapped, only copied");
    if (!data && count > 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no data for a tensor of shape %s",
                          eddy__shape_print(shape).text);
    if ((uintptr_t)data % find_alignment(dtype) != 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "data is not aligned for %s", eddy_dtype_name(dtype));
    tensor = allocate_header(NULL, NULL, eddy__context_allocator(ctx),
                             sizeof *tensor);
    if (!tensor)
        return eddy__fail_memory(err);
    set_shape(tensor, dtype, shape, count);
    tensor->is_host = true;
    tensor->data = data ? data : tensor;
    tensor->release = release;
    tensor->user = user;
    *out_tensor = tensor;
    return EDDY_OK;
}

eddy_status eddy_tensor_from_strings(const eddy_context *ctx,
                                     const eddy_shape *shape,
                                     const eddy_string *strings, size_t n,
                                     eddy_tensor **out_tensor, eddy_error *err)
{
    eddy_tensor *tensor;
    int64_t count;

    *out_tensor = NULL;
    EDDY_TRY(check_request(EDDY_STRING, shape, &count, err));
    if ((size_t)count != n)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_TENSOR_DATA,
                          "%zu strings for a tensor of shape %s", n,
                          eddy__shape_print(shape).text);
    EDDY_TRY(eddy_tensor_create(ctx, EDDY_STRING, shape, &tensor, err));
    for (size_t i = 0; i < n; i++) {
        if (!eddy__tensor_set_string(tensor, (int64_t)i, strings[i].data,
                                     strings[i].length)) {
            eddy_tensor_release(tensor);
            return eddy__fail_memory(err);
        }
    }
    *out_tensor = tensor;
    return EDDY_OK;
}

eddy_dtype eddy_tensor_dtype(const eddy_tensor *tensor)
{
    return (eddy_dtype)tensor->dtype;
}

const eddy_shape *eddy_tensor_shape(const eddy_tensor *tensor)
{
    return &tensor->shape;
}

int64_t eddy_tensor_count(const eddy_tensor *tensor)
{
    return tensor->count;
}

size_t eddy_tensor_bytes(const eddy_tensor *tensor)
{
    return tensor->bytes;
}

const void *eddy_tensor_data(const eddy_tensor *tensor)
{
    return eddy_dtype_size((eddy_dtype)tensor->dtype) > 0 ? tensor->data : NULL;
}

void *eddy_tensor_mutable_data(eddy_tensor *tensor)
{
    return eddy_dtype_size((eddy_dtype)tensor->dtype) > 0 ? tensor->data : NULL;
}

eddy_string eddy_tensor_string(const eddy_tensor *tensor, int64_t i)
{
    const eddy__string *string = (const eddy__string *)tensor->data + i;

    assert(tensor->dtype == EDDY_STRING && i >= 0 && i < tensor->count);
    return (eddy_string){
        .data = string->data ? string->data : "",
        .length = string->length,
    };
}

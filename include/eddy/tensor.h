/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: a reference-counted buffer, a dtype and a shape of rank 0 to 8.
 *
 * A tensor may be written only by the one who created it and only until it is
 * handed to anything else; from then on it is immutable and any number of
 * threads may read it and hold references.  Data is dense, in row-major order.
 */
#ifndef EDDY_TENSOR_H
#define EDDY_TENSOR_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stdint.h>

EDDY_BEGIN_DECLS

#define EDDY_MAX_RANK 8

/*
 * X(NAME, text, bytes an element, number in TensorFlow's types.proto).
 * bfloat16 is the upper half of a float32; complex64 is two float32, complex128
 * two float64; string elements are owned by the tensor; resource tensors exist
 * only inside runs.
 */
#define EDDY_DTYPE_MAP(X)                                                      \
    X(INVALID, "invalid", 0, 0)                                                \
    X(FLOAT16, "float16", 2, 19)                                               \
    X(FLOAT32, "float32", 4, 1)                                                \
    X(FLOAT64, "float64", 8, 2)                                                \
    X(INT8, "int8", 1, 6)                                                      \
    X(INT16, "int16", 2, 5)                                                    \
    X(INT32, "int32", 4, 3)                                                    \
    X(INT64, "int64", 8, 9)                                                    \
    X(UINT8, "uint8", 1, 4)                                                    \
    X(UINT16, "uint16", 2, 17)                                                 \
    X(UINT32, "uint32", 4, 22)                                                 \
    X(UINT64, "uint64", 8, 23)                                                 \
    X(BOOL, "bool", 1, 10)                                                     \
    X(BFLOAT16, "bfloat16", 2, 14)                                             \
    X(COMPLEX64, "complex64", 8, 8)                                            \
    X(COMPLEX128, "complex128", 16, 18)                                        \
    X(STRING, "string", 0, 7)                                                  \
    X(RESOURCE, "resource", 0, 20)                                             \
    X(VARIANT, "variant", 0, 21)

typedef enum eddy_dtype {
#define X(name, text, bytes, number) EDDY_##name,
    EDDY_DTYPE_MAP(X)
#undef X
        EDDY_DTYPE_COUNT
} eddy_dtype;

/* "float32" and so on; "invalid" for a number that is no dtype.  @thread any */
EDDY_API const char *eddy_dtype_name(eddy_dtype dtype);

/* Bytes an element; 0 for string, resource and variant.  @thread any */
EDDY_API size_t eddy_dtype_size(eddy_dtype dtype);

/*
 * A shape, possibly known only in part: rank -1 is an unknown rank, a dimension
 * of -1 an unknown dimension.  The shape of a tensor is always fully known.
 */
typedef struct eddy_shape {
    int32_t rank;
    int64_t dims[EDDY_MAX_RANK];
} eddy_shape;

/* Bytes that need not end in a NUL; borrowed unless the context says else. */
typedef struct eddy_string {
    const char *data;
    size_t length;
} eddy_string;

typedef struct eddy_context eddy_context; /* eddy/context.h */
typedef struct eddy_tensor eddy_tensor;

/*
 * A new tensor whose numeric elements are not initialised (strings are empty).
 * `ctx` gives the allocator and must outlive the tensor; NULL means malloc.
 * Errors: INVALID_ARGUMENT for a dtype without elements, a rank outside 0..8 or
 * a negative dimension; RESOURCE_EXHAUSTED when a size overflows or memory is
 * short.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_tensor_create(const eddy_context *ctx,
                                                      eddy_dtype dtype,
                                                      const eddy_shape *shape,
                                                      eddy_tensor **out_tensor,
                                                      eddy_error *err);

/* Called once, from any thread, when the last reference is gone. */
typedef void (*eddy_release_cb)(void *data, void *user);

/*
 * A tensor over the caller's memory, which is not copied and must hold
 * eddy_tensor_bytes() bytes, aligned for the dtype, unchanged until `release`
 * (may be NULL) is called.  Numeric dtypes only; bool bytes must be 0 or 1.
 * On failure `release` is not called.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_tensor_wrap(const eddy_context *ctx, eddy_dtype dtype,
                 const eddy_shape *shape, void *data, eddy_release_cb release,
                 void *user, eddy_tensor **out_tensor, eddy_error *err);

/* A string tensor with copies of `n` strings; `n` must equal the element count.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_tensor_from_strings(const eddy_context *ctx, const eddy_shape *shape,
                         const eddy_string *strings, size_t n,
                         eddy_tensor **out_tensor, eddy_error *err);

/* Adds and drops a reference; both accept NULL.  @thread any */
EDDY_API eddy_tensor *eddy_tensor_retain(eddy_tensor *tensor);
EDDY_API void eddy_tensor_release(eddy_tensor *tensor);

/* @thread any, for all of the following. */
EDDY_API eddy_dtype eddy_tensor_dtype(const eddy_tensor *tensor);
EDDY_API const eddy_shape *eddy_tensor_shape(const eddy_tensor *tensor);
EDDY_API int64_t eddy_tensor_count(const eddy_tensor *tensor);
EDDY_API size_t eddy_tensor_bytes(const eddy_tensor *tensor);

/* The elements, borrowed from the tensor; NULL for a string tensor. */
EDDY_API const void *eddy_tensor_data(const eddy_tensor *tensor);

/* The same for writing: only by its creator, before it is handed on. */
EDDY_API void *eddy_tensor_mutable_data(eddy_tensor *tensor);

/* Element `i` of a string tensor, borrowed from it. */
EDDY_API eddy_string eddy_tensor_string(const eddy_tensor *tensor, int64_t i);

/*
 * Converts between float32 and IEEE 754 binary16, rounding to nearest even.
 * @thread any
 */
EDDY_API float eddy_float16_to_float(uint16_t bits);
EDDY_API uint16_t eddy_float16_from_float(float value);

/* The same for bfloat16.  A NaN becomes the quiet one of its sign. */
EDDY_API float eddy_bfloat16_to_float(uint16_t bits);
EDDY_API uint16_t eddy_bfloat16_from_float(float value);

EDDY_END_DECLS

#endif

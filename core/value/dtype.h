/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of dtypes, and what the groups of op signatures hold. */
#ifndef EDDY_CORE_DTYPE_H
#define EDDY_CORE_DTYPE_H

#include "eddy/tensor.h"

typedef uint32_t eddy__dtype_set; /* bit d: dtype d is in it */

#define EDDY__DTYPE_BIT(d) ((eddy__dtype_set)1 << (d))

static inline bool eddy__dtype_in(eddy_dtype dtype, eddy__dtype_set set)
{
    return (set >> dtype & 1) != 0;
}

#define EDDY__FLOATS                                                           \
    (EDDY__DTYPE_BIT(EDDY_FLOAT16) | EDDY__DTYPE_BIT(EDDY_BFLOAT16) |          \
     EDDY__DTYPE_BIT(EDDY_FLOAT32) | EDDY__DTYPE_BIT(EDDY_FLOAT64))
#define EDDY__INTEGERS                                                         \
    (EDDY__DTYPE_BIT(EDDY_INT8) | EDDY__DTYPE_BIT(EDDY_INT16) |                \
     EDDY__DTYPE_BIT(EDDY_INT32) | EDDY__DTYPE_BIT(EDDY_INT64) |               \
     EDDY__DTYPE_BIT(EDDY_UINT8) | EDDY__DTYPE_BIT(EDDY_UINT16) |              \
     EDDY__DTYPE_BIT(EDDY_UINT32) | EDDY__DTYPE_BIT(EDDY_UINT64))
#define EDDY__REALS (EDDY__FLOATS | EDDY__INTEGERS)
#define EDDY__COMPLEXES                                                        \
    (EDDY__DTYPE_BIT(EDDY_COMPLEX64) | EDDY__DTYPE_BIT(EDDY_COMPLEX128))
#define EDDY__NUMBERS (EDDY__REALS | EDDY__COMPLEXES)
#define EDDY__INDEXES                                                          \
    (EDDY__DTYPE_BIT(EDDY_INT32) | EDDY__DTYPE_BIT(EDDY_INT64))
#define EDDY__ALL_DTYPES                                                       \
    ((EDDY__DTYPE_BIT(EDDY_DTYPE_COUNT) - 1) & ~EDDY__DTYPE_BIT(0))

static inline bool eddy__dtype_is_complex(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__COMPLEXES);
}

/* The dtype of a complex number's parts; any other dtype is its own. */
static inline eddy_dtype eddy__dtype_of_parts(eddy_dtype dtype)
{
    return dtype == EDDY_COMPLEX64    ? EDDY_FLOAT32
           : dtype == EDDY_COMPLEX128 ? EDDY_FLOAT64
                                      : dtype;
}

/* Is it one of those of two bytes, which are computed in float32? */
static inline bool eddy__dtype_is_half(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT16 || dtype == EDDY_BFLOAT16;
}

/* Can one element live inside a value in flight?  A complex128 cannot. */
static inline bool eddy__dtype_is_inline(eddy_dtype dtype)
{
    return dtype >= EDDY_FLOAT16 && dtype <= EDDY_COMPLEX64;
}

/* Dtypes whose elements are lists or handles, which are values themselves. */
#define EDDY__HELD                                                             \
    (EDDY__DTYPE_BIT(EDDY_RESOURCE) | EDDY__DTYPE_BIT(EDDY_VARIANT))

/* The dtype of TensorFlow's number, 0 (EDDY_INVALID) if eddy has none. */
eddy_dtype eddy__dtype_from_tf(int32_t number);
int32_t eddy__dtype_to_tf(eddy_dtype dtype);

/* The dtype of that name, EDDY_INVALID if there is none. */
eddy_dtype eddy__dtype_from_name(const char *name, size_t length);

#endif

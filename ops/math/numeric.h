/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numeric dtypes as C types: what the tables of elementwise kernels are
 * instantiated with.  A dtype D is one of F16 BF16 F32 F64 I8 I16 I32 I64 U8
 * U16 U32 U64 B (bool) C64 C128.  Of each there is
 *
 *   eddy__stored_D       what memory holds
 *   eddy__computed_D     what expressions see: float for F16 and BF16, else the
 *                        same
 *   eddy__wrapped_D      of integers: unsigned, at least 32 bits, so that no
 *                        expression over it overflows; narrowing it wraps
 *   EDDY__DTYPE_D        the eddy_dtype
 *   eddy__load_D(s)      stored to computed
 *   EDDY__STORE_D(e)     an expression's value to stored
 *   EDDY__IS_INLINE_D    whether a scalar fits in a value
 *   eddy__get_D(v), eddy__put_D(v, s)   the same for scalars in a value
 */
#ifndef EDDY_OPS_NUMERIC_H
#define EDDY_OPS_NUMERIC_H

#include "core/kernel.h"
#include "ops/math/half.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef float _Complex eddy__complex64;
typedef double _Complex eddy__complex128;

/* X(D, ...) for each dtype of a group. */
#define EDDY__EACH_HALF(X, ...) X(F16, __VA_ARGS__) X(BF16, __VA_ARGS__)
#define EDDY__EACH_FLOAT(X, ...)                                               \
    EDDY__EACH_HALF(X, __VA_ARGS__)                                            \
    X(F32, __VA_ARGS__) X(F64, __VA_ARGS__)
#define EDDY__EACH_SIGNED(X, ...)                                              \
    X(I8, __VA_ARGS__)                                                         \
    X(I16, __VA_ARGS__) X(I32, __VA_ARGS__) X(I64, __VA_ARGS__)
#define EDDY__EACH_UNSIGNED(X, ...)                                            \
    X(U8, __VA_ARGS__)                                                         \
    X(U16, __VA_ARGS__) X(U32, __VA_ARGS__) X(U64, __VA_ARGS__)
#define EDDY__EACH_COMPLEX(X, ...) X(C64, __VA_ARGS__) X(C128, __VA_ARGS__)

/* The least and the greatest integer of a dtype. */
#define EDDY__LEAST_I8 INT8_MIN
#define EDDY__LEAST_I16 INT16_MIN
#define EDDY__LEAST_I32 INT32_MIN
#define EDDY__LEAST_I64 INT64_MIN
#define EDDY__LEAST_U8 0
#define EDDY__LEAST_U16 0
#define EDDY__LEAST_U32 0
#define EDDY__LEAST_U64 0
#define EDDY__LEAST_B 0
#define EDDY__MOST_I8 INT8_MAX
#define EDDY__MOST_I16 INT16_MAX
#define EDDY__MOST_I32 INT32_MAX
#define EDDY__MOST_I64 INT64_MAX
#define EDDY__MOST_U8 UINT8_MAX
#define EDDY__MOST_U16 UINT16_MAX
#define EDDY__MOST_U32 UINT32_MAX
#define EDDY__MOST_U64 UINT64_MAX
#define EDDY__MOST_B 1

#define EDDY__DTYPE_F16 EDDY_FLOAT16
#define EDDY__DTYPE_BF16 EDDY_BFLOAT16
#define EDDY__DTYPE_F32 EDDY_FLOAT32
#define EDDY__DTYPE_F64 EDDY_FLOAT64
#define EDDY__DTYPE_I8 EDDY_INT8
#define EDDY__DTYPE_I16 EDDY_INT16
#define EDDY__DTYPE_I32 EDDY_INT32
#define EDDY__DTYPE_I64 EDDY_INT64
#define EDDY__DTYPE_U8 EDDY_UINT8
#define EDDY__DTYPE_U16 EDDY_UINT16
#define EDDY__DTYPE_U32 EDDY_UINT32
#define EDDY__DTYPE_U64 EDDY_UINT64
#define EDDY__DTYPE_B EDDY_BOOL
#define EDDY__DTYPE_C64 EDDY_COMPLEX64
#define EDDY__DTYPE_C128 EDDY_COMPLEX128

#define EDDY__IS_INLINE_F16 true
#define EDDY__IS_INLINE_BF16 true
#define EDDY__IS_INLINE_F32 true
#define EDDY__IS_INLINE_F64 true
#define EDDY__IS_INLINE_I8 true
#define EDDY__IS_INLINE_I16 true
#define EDDY__IS_INLINE_I32 true
#define EDDY__IS_INLINE_I64 true
#define EDDY__IS_INLINE_U8 true
#define EDDY__IS_INLINE_U16 true
#define EDDY__IS_INLINE_U32 true
#define EDDY__IS_INLINE_U64 true
#define EDDY__IS_INLINE_B true
#define EDDY__IS_INLINE_C64 true
#define EDDY__IS_INLINE_C128 false

typedef uint32_t eddy__wrapped_I8, eddy__wrapped_I16, eddy__wrapped_I32;
typedef uint32_t eddy__wrapped_U8, eddy__wrapped_U16, eddy__wrapped_U32;
typedef uint64_t eddy__wrapped_I64, eddy__wrapped_U64;

static inline eddy__complex64 eddy__complex(float real, float imaginary)
{
    return __builtin_complex(real, imaginary);
}

static inline eddy__complex128 eddy__long_complex(double real, double imaginary)
{
    return __builtin_complex(real, imaginary);
}

/* The types and accessors of a dtype that is computed as it is stored. */
#define EDDY__PLAIN_DTYPE(D, type, field)                                      \
    typedef type eddy__stored_##D, eddy__computed_##D;                         \
    static inline type eddy__load_##D(type stored)                             \
    {                                                                          \
        return stored;                                                         \
    }                                                                          \
    static inline type eddy__get_##D(const eddy__value *v)                     \
    {                                                                          \
        return v->as.field;                                                    \
    }                                                                          \
    static inline void eddy__put_##D(eddy__value *v, type stored)              \
    {                                                                          \
        v->kind = EDDY__SCALAR;                                                \
        v->dtype = EDDY__DTYPE_##D;                                            \
        v->as.field = stored;                                                  \
    }

EDDY__PLAIN_DTYPE(F32, float, f32)
EDDY__PLAIN_DTYPE(F64, double, f64)
EDDY__PLAIN_DTYPE(I8, int8_t, i8)
EDDY__PLAIN_DTYPE(I16, int16_t, i16)
EDDY__PLAIN_DTYPE(I32, int32_t, i32)
EDDY__PLAIN_DTYPE(I64, int64_t, i64)
EDDY__PLAIN_DTYPE(U8, uint8_t, u8)
EDDY__PLAIN_DTYPE(U16, uint16_t, u16)
EDDY__PLAIN_DTYPE(U32, uint32_t, u32)
EDDY__PLAIN_DTYPE(U64, uint64_t, u64)
/* A bool is read and written as the byte 0 or 1 that it is. */
EDDY__PLAIN_DTYPE(B, uint8_t, u8)

/* The types of a dtype of two bytes, which is computed as float. */
#define EDDY__HALF_DTYPE(D, to_float)                                          \
    typedef uint16_t eddy__stored_##D;                                         \
    typedef float eddy__computed_##D;                                          \
    static inline float eddy__load_##D(uint16_t stored)                        \
    {                                                                          \
        return to_float(stored);                                               \
    }                                                                          \
    static inline float eddy__get_##D(const eddy__value *v)                    \
    {                                                                          \
        return to_float(v->as.u16);                                            \
    }                                                                          \
    static inline void eddy__put_##D(eddy__value *v, uint16_t stored)          \
    {                                                                          \
        v->kind = EDDY__SCALAR;                                                \
        v->dtype = EDDY__DTYPE_##D;                                            \
        v->as.u16 = stored;                                                    \
    }

EDDY__HALF_DTYPE(F16, eddy__half_to_float)
EDDY__HALF_DTYPE(BF16, eddy__bfloat_to_float)

typedef eddy__complex64 eddy__stored_C64, eddy__computed_C64;

static inline eddy__complex64 eddy__load_C64(eddy__complex64 stored)
{
    return stored;
}

static inline eddy__complex64 eddy__get_C64(const eddy__value *v)
{
    return eddy__complex(v->as.c64[0], v->as.c64[1]);
}

static inline void eddy__put_C64(eddy__value *v, eddy__complex64 stored)
{
    v->kind = EDDY__SCALAR;
    v->dtype = EDDY_COMPLEX64;
    v->as.c64[0] = crealf(stored);
    v->as.c64[1] = cimagf(stored);
}

typedef eddy__complex128 eddy__stored_C128, eddy__computed_C128;

static inline eddy__complex128 eddy__load_C128(eddy__complex128 stored)
{
    return stored;
}

/* A complex128 does not fit in a value: its scalars are tensors. */
static inline eddy__complex128 eddy__get_C128(const eddy__value *v)
{
    return *(const eddy__complex128 *)v->as.tensor->data;
}

/* `v` has a tensor already: its one element is set. */
static inline void eddy__put_C128(eddy__value *v, eddy__complex128 stored)
{
    *(eddy__complex128 *)v->as.tensor->data = stored;
}

#define EDDY__STORE_F16(e) eddy__half_from_float((float)(e))
#define EDDY__STORE_BF16(e) eddy__bfloat_from_float((float)(e))
#define EDDY__STORE_F32(e) ((float)(e))
#define EDDY__STORE_F64(e) ((double)(e))
#define EDDY__STORE_I8(e) ((int8_t)(e))
#define EDDY__STORE_I16(e) ((int16_t)(e))
#define EDDY__STORE_I32(e) ((int32_t)(e))
#define EDDY__STORE_I64(e) ((int64_t)(e))
#define EDDY__STORE_U8(e) ((uint8_t)(e))
#define EDDY__STORE_U16(e) ((uint16_t)(e))
#define EDDY__STORE_U32(e) ((uint32_t)(e))
#define EDDY__STORE_U64(e) ((uint64_t)(e))
#define EDDY__STORE_B(e) ((uint8_t)(e))
#define EDDY__STORE_C64(e) ((eddy__complex64)(e))
#define EDDY__STORE_C128(e) ((eddy__complex128)(e))

/*
 * `x`, but a zero of its sign where denormals are flushed and `x` is one.  The
 * processor's maximum does that, a comparison and a choice do not, and which of
 * the two a compiler takes may differ between a loop and its tail.  Nothing
 * that compilers know to be `x` itself will do.
 */
static inline float eddy__flushed_float(float x)
{
    const uint32_t sign = UINT32_C(1) << 31;

    return eddy__float_of_bits(eddy__bits_of_float(x) &
                               (sign | (0 - (uint32_t)(x != 0))));
}

static inline double eddy__flushed_double(double x)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits &= sign | (0 - (uint64_t)(x != 0));
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define EDDY__FLUSHED(x)                                                       \
    _Generic((x), float : eddy__flushed_float, double : eddy__flushed_double)(x)

/* `result`, but `x` itself, whatever the mode, where that is denormal. */
static inline float eddy__kept_float(float x, float result)
{
    const uint32_t bits = eddy__bits_of_float(x);
    const bool is_small = (bits & 0x7fffffffu) < 0x00800000u;

    return eddy__float_of_bits(
        eddy__choose_bits(is_small, bits, eddy__bits_of_float(result)));
}

/*
 * Complex products and quotients are what the formulas say: C's own would go
 * out of their way to make infinities of some NaNs, which TensorFlow does not.
 * The type of `y` decides between float and double.
 */
#define eddy__complex_mul(x, y)                                                \
    _Generic((y), eddy__complex128                                             \
             : eddy__complex_mul_C128, default                                 \
             : eddy__complex_mul_C64)(x, y)
#define eddy__complex_div(x, y)                                                \
    _Generic((y), eddy__complex128                                             \
             : eddy__complex_div_C128, default                                 \
             : eddy__complex_div_C64)(x, y)

static inline eddy__complex64 eddy__complex_mul_C64(eddy__complex64 x,
                                                    eddy__complex64 y)
{
    const float a = crealf(x), b = cimagf(x);
    const float c = crealf(y), d = cimagf(y);

    return eddy__complex(a * c - b * d, a * d + b * c);
}

static inline eddy__complex128 eddy__complex_mul_C128(eddy__complex128 x,
                                                      eddy__complex128 y)
{
    const double a = creal(x), b = cimag(x);
    const double c = creal(y), d = cimag(y);

    return eddy__long_complex(a * c - b * d, a * d + b * c);
}

/* In double, where no product of floats overflows or underflows. */
static inline eddy__complex64 eddy__complex_div_C64(eddy__complex64 x,
                                                    eddy__complex64 y)
{
    const double a = (double)crealf(x), b = (double)cimagf(x);
    const double c = (double)crealf(y), d = (double)cimagf(y);
    const double norm = c * c + d * d;

    return eddy__complex((float)((a * c + b * d) / norm),
                         (float)((b * c - a * d) / norm));
}

/* The power of two that brings a number of this size near 1. */
static inline double eddy__scale_for(double size)
{
    uint64_t bits;
    int64_t exponent;

    memcpy(&bits, &size, sizeof bits);
    exponent = (int64_t)(bits >> 52 & 0x7ff) - 1023;
    exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
    bits = (uint64_t)(1023 - exponent) << 52;
    memcpy(&size, &bits, sizeof size);
    return size;
}

/* The divisor is scaled, so that its square neither overflows nor underflows.
 */
static inline eddy__complex128 eddy__complex_div_C128(eddy__complex128 x,
                                                      eddy__complex128 y)
{
    const double a = creal(x), b = cimag(x);
    const double scale = eddy__scale_for(fmax(fabs(creal(y)), fabs(cimag(y))));
    const double c = creal(y) * scale, d = cimag(y) * scale;
    const double norm = c * c + d * d;

    return eddy__long_complex((a * c + b * d) / norm * scale,
                              (b * c - a * d) / norm * scale);
}

/* `base` to the power of `exponent`, modulo 2^64. */
static inline uint64_t eddy__wrapped_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;

    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Cast makes of a number, for whoever makes code of it: cast.c, and the
 * linear executor, which has to give the same bits.
 *
 * Floats become integers as by x86's cvtt instructions, which TensorFlow uses
 * for single elements: towards zero, and what does not fit, NaN too, is the
 * least integer of 32 or 64 bits, of which narrower dtypes keep the low bits.
 */
#ifndef EDDY_OPS_CAST_ROWS_H
#define EDDY_OPS_CAST_ROWS_H

#include "ops/math/numeric.h"

/* ---- floats to integers ---- */

/* Only what fits is converted, without a branch, so that loops vectorise. */
#define CONVERSIONS(type)                                                      \
    static inline int32_t int32_of_##type(type x)                              \
    {                                                                          \
        const bool fits = x >= -(type)0x1p31 && x < (type)0x1p31;              \
        const int32_t converted = (int32_t)(fits ? x : 0);                     \
                                                                               \
        return fits ? converted : INT32_MIN;                                   \
    }                                                                          \
    static inline int64_t int64_of_##type(type x)                              \
    {                                                                          \
        const bool fits = x >= -(type)0x1p63 && x < (type)0x1p63;              \
        const int64_t converted = (int64_t)(fits ? x : 0);                     \
                                                                               \
        return fits ? converted : INT64_MIN;                                   \
    }                                                                          \
    static inline uint64_t uint64_of_##type(type x)                            \
    {                                                                          \
        const bool is_high = x >= (type)0x1p63 && x < (type)0x1p64;            \
        const int64_t low = int64_of_##type(is_high ? x - (type)0x1p63 : x);   \
                                                                               \
        return (uint64_t)low + ((uint64_t)is_high << 63);                      \
    }

CONVERSIONS(float)
CONVERSIONS(double)

#define TO_INTEGER(function, x)                                                \
    _Generic((x), float : function##_float, double : function##_double)(x)

/* ---- the value of `x` in each dtype; R: of a float, I: of an integer ---- */

#define R_TO_F16(x) (x)
#define R_TO_BF16(x) (x)
#define R_TO_F32(x) (x)
#define R_TO_F64(x) (x)
#define R_TO_I8(x) TO_INTEGER(int32_of, x)
#define R_TO_I16(x) TO_INTEGER(int32_of, x)
#define R_TO_I32(x) TO_INTEGER(int32_of, x)
#define R_TO_I64(x) TO_INTEGER(int64_of, x)
#define R_TO_U8(x) TO_INTEGER(int32_of, x)
#define R_TO_U16(x) TO_INTEGER(int32_of, x)
#define R_TO_U32(x) TO_INTEGER(int64_of, x)
#define R_TO_U64(x) TO_INTEGER(uint64_of, x)
#define R_TO_B(x) ((x) != 0)
#define R_TO_C64(x) eddy__complex((float)(x), 0)
#define R_TO_C128(x) eddy__long_complex((double)(x), 0)

#define I_TO_F16(x) (x)
#define I_TO_BF16(x) (x)
#define I_TO_F32(x) (x)
#define I_TO_F64(x) (x)
#define I_TO_I8(x) (x)
#define I_TO_I16(x) (x)
#define I_TO_I32(x) (x)
#define I_TO_I64(x) (x)
#define I_TO_U8(x) (x)
#define I_TO_U16(x) (x)
#define I_TO_U32(x) (x)
#define I_TO_U64(x) (x)
#define I_TO_B(x) ((x) != 0)
#define I_TO_C64(x) eddy__complex((float)(x), 0)
#define I_TO_C128(x) eddy__long_complex((double)(x), 0)

#endif

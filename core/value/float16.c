/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IEEE 754 binary16 and bfloat16 in integer arithmetic, so that the result
 * depends on no rounding mode and no flushing of subnormals.
 */
#include "eddy/tensor.h"

#include <string.h>

#define FLOAT_SIGN UINT32_C(0x80000000)
#define FLOAT_INFINITY UINT32_C(0x7f800000)
#define FLOAT_QUIET UINT32_C(0x00400000)
#define FLOAT_MANTISSA UINT32_C(0x007fffff)
#define FLOAT_IMPLICIT UINT32_C(0x00800000)

/* The least float32 that rounds to infinity: halfway past the largest half. */
#define FLOAT_OVERFLOW UINT32_C(0x477ff000)

/* 2^-14, the least normal half. */
#define FLOAT_NORMAL UINT32_C(0x38800000)

/* 2^-25, the largest float32 that rounds to zero. */
#define FLOAT_UNDERFLOW UINT32_C(0x33000000)

#define HALF_INFINITY UINT32_C(0x7c00)
#define HALF_QUIET UINT32_C(0x0200)
#define HALF_MANTISSA UINT32_C(0x03ff)

float eddy_float16_to_float(uint16_t bits)
{
    const uint32_t exponent = (bits & HALF_INFINITY) >> 10;
    uint32_t mantissa = bits & HALF_MANTISSA;
    uint32_t result = (uint32_t)(bits & 0x8000u) << 16;
    float value;

    if (exponent == 31) {
        result |= FLOAT_INFINITY | mantissa << 13;
        if (mantissa)
            result |= FLOAT_QUIET;
    } else if (exponent > 0) {
        result |= (exponent + 127 - 15) << 23 | mantissa << 13;
    } else if (mantissa) {
        uint32_t scale = 127 - 14;

        while (!(mantissa & 0x400)) {
            mantissa <<= 1;
            scale--;
        }
        result |= scale << 23 | (mantissa & HALF_MANTISSA) << 13;
    }
    memcpy(&value, &result, sizeof value);
    return value;
}

/* `value` / 2^`shift`, rounded to the nearest, to the even one of two. */
static uint32_t shift_rounded(uint32_t value, uint32_t shift)
{
    const uint32_t half = UINT32_C(1) << (shift - 1);
    const uint32_t rest = value & ((half << 1) - 1);
    const uint32_t result = value >> shift;

    return result + (rest > half || (rest == half && (result & 1)));
}

uint16_t eddy_float16_from_float(float value)
{
    uint32_t bits, magnitude, sign, result;

    memcpy(&bits, &value, sizeof bits);
    magnitude = bits & ~FLOAT_SIGN;
    sign = (bits & FLOAT_SIGN) >> 16;
    if (magnitude > FLOAT_INFINITY)
        result = HALF_INFINITY | HALF_QUIET | (magnitude >> 13 & HALF_MANTISSA);
    else if (magnitude >= FLOAT_OVERFLOW)
        result = HALF_INFINITY;
    else if (magnitude >= FLOAT_NORMAL)
        result = shift_rounded(magnitude - ((127u - 15u) << 23), 13);
    else if (magnitude > FLOAT_UNDERFLOW)
        /* Counted in the least subnormal, 2^-24. */
        result = shift_rounded((magnitude & FLOAT_MANTISSA) | FLOAT_IMPLICIT,
                               126 - (magnitude >> 23));
    else
        result = 0;
    return (uint16_t)(sign | result);
}

/* ---- bfloat16: the upper half of a float32 ---- */

#define BFLOAT_NAN UINT32_C(0x7fc0)

float eddy_bfloat16_to_float(uint16_t bits)
{
    const uint32_t whole = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &whole, sizeof value);
    return value;
}

uint16_t eddy_bfloat16_from_float(float value)
{
    uint32_t bits, sign;

    memcpy(&bits, &value, sizeof bits);
    sign = (bits & FLOAT_SIGN) >> 16;
    if ((bits & ~FLOAT_SIGN) > FLOAT_INFINITY)
        return (uint16_t)(sign | BFLOAT_NAN);
    return (uint16_t)(sign | shift_rounded(bits & ~FLOAT_SIGN, 16));
}

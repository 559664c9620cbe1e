/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float16 and bfloat16 to and from float32 without branches, so that loops can
 * be vectorised; what would be a choice is made with masks, since compilers
 * turn choices between floating-point results into branches.  Bit for bit the
 * same as eddy_float16_to_float, eddy_float16_from_float and those of bfloat16,
 * which a test holds against all halves.
 */
#ifndef EDDY_OPS_HALF_H
#define EDDY_OPS_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float eddy__float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t eddy__bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* `a` where the condition is true, else `b`. */
static inline uint32_t eddy__choose_bits(bool condition, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0 - (uint32_t)condition;

    return (a & mask) | (b & ~mask);
}

static inline float eddy__half_to_float(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fffu;
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    /* Rebias the exponent; what is 31 in a half is 255 in a float. */
    const uint32_t bias =
        eddy__choose_bits(magnitude >= 0x7c00u, 224u << 23, 112u << 23);
    const uint32_t quiet = (uint32_t)(magnitude > 0x7c00u) << 22;
    const uint32_t normal = ((magnitude << 13) + bias) | quiet;
    /* A subnormal half counts units of 2^-24. */
    const float small = (float)(int32_t)magnitude * 0x1p-24f;
    const uint32_t bits = eddy__choose_bits(magnitude < 0x0400u,
                                            eddy__bits_of_float(small), normal);

    return eddy__float_of_bits(bits | sign);
}

static inline uint16_t eddy__half_from_float(float value)
{
    const uint32_t bits = eddy__bits_of_float(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = bits >> 16 & 0x8000u;
    /* Half an ulp less one, and one more if that makes a tie even. */
    const uint32_t odd = magnitude >> 13 & 1;
    const uint32_t normal = (magnitude - (112u << 23) + 0x0fffu + odd) >> 13;
    /* Above 0.5 one ulp is 2^-24: adding it rounds to units of that. */
    const float shifted = eddy__float_of_bits(magnitude) + 0.5f;
    const uint32_t small = eddy__bits_of_float(shifted) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x03ffu);
    uint32_t result = eddy__choose_bits(magnitude < 0x38800000u, small, normal);

    result = eddy__choose_bits(magnitude >= 0x477ff000u, 0x7c00u, result);
    result = eddy__choose_bits(magnitude > 0x7f800000u, nan, result);
    return (uint16_t)(result | sign);
}

/* A bfloat16 is the upper half of a float32. */
static inline float eddy__bfloat_to_float(uint16_t stored)
{
    return eddy__float_of_bits((uint32_t)stored << 16);
}

static inline uint16_t eddy__bfloat_from_float(float value)
{
    const uint32_t bits = eddy__bits_of_float(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    /* Half an ulp less one, and one more if that makes a tie even. */
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;

    return (uint16_t)eddy__choose_bits((bits & 0x7fffffffu) > 0x7f800000u,
                                       0x7fc0u | sign, rounded);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "eddy/tensor.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

#define INFINITE_HALF 0x7c00

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What the bits of a finite half stand for, by the definition of binary16. */
static double define_half(unsigned half)
{
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 0x3ff;
    const double magnitude = exponent > 0
                                 ? ldexp(1024 + mantissa, exponent - 25)
                                 : ldexp(mantissa, -24);

    return half & 0x8000 ? -magnitude : magnitude;
}

START_TEST(every_half_has_its_value_and_leads_back)
{
    for (unsigned half = 0; half < 0x10000; half++) {
        const float value = eddy_float16_to_float((uint16_t)half);
        const uint16_t back = eddy_float16_from_float(value);

        if ((half & 0x7fff) < INFINITE_HALF) {
            ck_assert(define_half(half) == (double)value);
            ck_assert_uint_eq(back, half);
        } else if ((half & 0x7fff) == INFINITE_HALF) {
            ck_assert(isinf(value));
            ck_assert_uint_eq(back, half);
        } else {
            ck_assert(isnan(value));
            /* Quiet, with its sign and the rest of its payload. */
            ck_assert_uint_eq(back, half | 0x200);
        }
        ck_assert_int_eq(signbit(value) != 0, half >> 15);
    }
}
END_TEST

START_TEST(halfway_goes_to_the_even_one)
{
    for (unsigned half = 0; half < INFINITE_HALF; half++) {
        const double low = define_half(half);
        /* Past the largest half one goes on as if the next were finite. */
        const double high =
            half + 1 < INFINITE_HALF ? define_half(half + 1) : 65536.0;
        const float middle = (float)((low + high) / 2);
        const unsigned even = half + (half & 1);

        ck_assert((double)middle == (low + high) / 2);
        ck_assert_uint_eq(eddy_float16_from_float(middle), even);
        ck_assert_uint_eq(eddy_float16_from_float(-middle), even | 0x8000);
        ck_assert_uint_eq(eddy_float16_from_float(nextafterf(middle, 0)), half);
        ck_assert_uint_eq(eddy_float16_from_float(nextafterf(middle, INFINITY)),
                          half + 1);
        ck_assert_uint_eq(
            eddy_float16_from_float(nextafterf((float)low, INFINITY)), half);
        ck_assert_uint_eq(eddy_float16_from_float(nextafterf((float)high, 0)),
                          half + 1);
    }
}
END_TEST

START_TEST(the_ends_of_the_range)
{
    ck_assert_uint_eq(eddy_float16_from_float(0.0f), 0);
    ck_assert_uint_eq(eddy_float16_from_float(-0.0f), 0x8000);
    ck_assert_uint_eq(eddy_float16_from_float(float_of_bits(1)), 0);
    ck_assert_uint_eq(eddy_float16_from_float(65504.0f), 0x7bff);
    ck_assert_uint_eq(eddy_float16_from_float(3.4e38f), INFINITE_HALF);
    ck_assert_uint_eq(eddy_float16_from_float(-INFINITY), 0xfc00);
    ck_assert_uint_eq(bits_of_float(eddy_float16_to_float(0x8000)),
                      0x80000000u);
}
END_TEST

START_TEST(nans_stay_nans)
{
    /* The payload's upper bits stay; a signalling one becomes quiet. */
    ck_assert_uint_eq(eddy_float16_from_float(float_of_bits(0x7fc00000)),
                      0x7e00);
    ck_assert_uint_eq(eddy_float16_from_float(float_of_bits(0xffc00000)),
                      0xfe00);
    ck_assert_uint_eq(bits_of_float(eddy_float16_to_float(0x7c01)),
                      0x7fc02000u);
    ck_assert_uint_eq(bits_of_float(eddy_float16_to_float(0xfc01)),
                      0xffc02000u);
}
END_TEST

TCase *float16_tests(void)
{
    TCase *tests = tcase_create("float16");

    tcase_add_test(tests, every_half_has_its_value_and_leads_back);
    tcase_add_test(tests, halfway_goes_to_the_even_one);
    tcase_add_test(tests, the_ends_of_the_range);
    tcase_add_test(tests, nans_stay_nans);
    return tests;
}

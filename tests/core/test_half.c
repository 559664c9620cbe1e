/* SPDX-License-Identifier: Apache-2.0 */
#include "eddy/tensor.h"
#include "ops/math/half.h"
#include "tests/suites.h"

#include <math.h>

/* An assertion for each of millions of values would take long. */
static void check(float value)
{
    const uint16_t got = eddy__half_from_float(value);
    const uint16_t want = eddy_float16_from_float(value);

    if (got != want)
        ck_abort_msg("%a: got %04x, want %04x", value, got, want);
}

static void check_bfloat(float value)
{
    const uint16_t got = eddy__bfloat_from_float(value);
    const uint16_t want = eddy_bfloat16_from_float(value);

    if (got != want)
        ck_abort_msg("%a: got %04x, want %04x", value, got, want);
}

START_TEST(every_half_becomes_the_same_float)
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++)
        ck_assert_uint_eq(
            eddy__bits_of_float(eddy__half_to_float((uint16_t)half)),
            eddy__bits_of_float(eddy_float16_to_float((uint16_t)half)));
}
END_TEST

/* Around every half, its neighbours and the ties between them. */
START_TEST(floats_become_the_same_half)
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const uint32_t bits =
            eddy__bits_of_float(eddy_float16_to_float((uint16_t)half));

        for (uint32_t d = 0; d < 64; d++) {
            static const uint32_t steps[] = {0, 0x0800, 0x1000, 0x1800};
            const uint32_t near = bits + steps[d % 4] + d / 4 - 8;

            check(eddy__float_of_bits(near));
        }
    }
}
END_TEST

START_TEST(floats_of_every_magnitude_become_the_same_half)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < 2000000; i++) {
        check(eddy__float_of_bits(bits));
        bits += 2147; /* coprime to 2^32 */
    }
}
END_TEST

START_TEST(every_bfloat_becomes_the_same_float_and_leads_back)
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const float value = eddy__bfloat_to_float((uint16_t)half);

        ck_assert_uint_eq(
            eddy__bits_of_float(value),
            eddy__bits_of_float(eddy_bfloat16_to_float((uint16_t)half)));
        if (value == value)
            ck_assert_uint_eq(eddy__bfloat_from_float(value), half);
    }
}
END_TEST

START_TEST(floats_become_the_same_bfloat)
{
    uint32_t bits = 0;

    for (uint32_t half = 0; half <= UINT16_MAX; half++)
        for (uint32_t d = 0; d < 8; d++) {
            static const uint32_t near[] = {0,      1,      0x7fff, 0x8000,
                                            0x8001, 0xffff, 0x4000, 0xc000};

            check_bfloat(eddy__float_of_bits(half << 16 | near[d]));
        }
    for (uint32_t i = 0; i < 2000000; i++) {
        check_bfloat(eddy__float_of_bits(bits));
        bits += 2147; /* coprime to 2^32 */
    }
}
END_TEST

/* The bits are those that TensorFlow 2.21 casts these float32 to. */
START_TEST(bfloats_are_rounded_to_the_nearest_and_ties_to_even)
{
    static const struct {
        float value;
        uint16_t want;
    } cases[] = {
        {1.0f + 0x1p-8f, 0x3f80},
        {1.0f + 3 * 0x1p-8f, 0x3f82},
        {1.0f + 0x1p-8f + 0x1p-16f, 0x3f81},
        {-3.7f, 0xc06d},
        {65504.0f, 0x4780},
        {0x1.fffffep127f, 0x7f80},
        {0x1p-149f, 0x0000},
        {0x1p-133f, 0x0001},
        {-0.0f, 0x8000},
        {HUGE_VALF, 0x7f80},
        {NAN, 0x7fc0},
        {-NAN, 0xffc0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(eddy_bfloat16_from_float(cases[i].value),
                          cases[i].want);
}
END_TEST

TCase *half_tests(void)
{
    TCase *tc = tcase_create("half");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_half_becomes_the_same_float);
    tcase_add_test(tc, floats_become_the_same_half);
    tcase_add_test(tc, floats_of_every_magnitude_become_the_same_half);
    tcase_add_test(tc, every_bfloat_becomes_the_same_float_and_leads_back);
    tcase_add_test(tc, floats_become_the_same_bfloat);
    tcase_add_test(tc, bfloats_are_rounded_to_the_nearest_and_ties_to_even);
    return tc;
}

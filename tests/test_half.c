#include "eddy/tensor.h"
#include "ops/half.h"
#include "tests/suites.h"

/* An assertion for each of millions of values would take long. */
static void check(float value)
{
    const uint16_t got = eddy__half_from_float(value);
    const uint16_t want = eddy_float16_from_float(value);

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

TCase *half_tests(void)
{
    TCase *tc = tcase_create("half");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_half_becomes_the_same_float);
    tcase_add_test(tc, floats_become_the_same_half);
    tcase_add_test(tc, floats_of_every_magnitude_become_the_same_half);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/number.h"

#include <math.h>

START_TEST(counts_are_decimal_digits_and_nothing_else)
{
    static const char *const bad[] = {
        "",
        " 1",
        "1 ",
        "+1",
        "-1",
        "0x10",
        "1e3",
        "1.0",
        "one",
        "18446744073709551616",
        "99999999999999999999",
        "1\n",
    };
    uint64_t count = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!eddy__number_read_count(bad[i], UINT64_MAX, &count),
                      "'%s'", bad[i]);
    ck_assert_uint_eq(count, 77);
    ck_assert(eddy__number_read_count("0", UINT64_MAX, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert(
        eddy__number_read_count("18446744073709551615", UINT64_MAX, &count));
    ck_assert(count == UINT64_MAX);
    ck_assert(eddy__number_read_count("1024", 1024, &count));
    ck_assert_uint_eq(count, 1024);
    ck_assert(!eddy__number_read_count("1025", 1024, &count));
}
END_TEST

START_TEST(seconds_become_nanoseconds)
{
    uint64_t ns = 0;

    ck_assert(eddy__number_read_seconds("1.5", &ns));
    ck_assert_uint_eq(ns, 1500000000);
    ck_assert(eddy__number_read_seconds("2e-3", &ns));
    ck_assert_uint_eq(ns, 2000000);
    ck_assert(eddy__number_read_seconds("0", &ns));
    ck_assert_uint_eq(ns, 0);
    ck_assert(eddy__number_read_seconds("10", &ns));
    ck_assert(ns == UINT64_C(10000000000));
}
END_TEST

START_TEST(a_tiny_timeout_is_not_none)
{
    uint64_t ns = 0;

    ck_assert(eddy__number_read_seconds("1e-30", &ns));
    ck_assert_uint_eq(ns, 1);
}
END_TEST

START_TEST(seconds_that_are_no_time_are_refused)
{
    static const char *const bad[] = {
        "",      "-1",   "+1", "nan", "inf", "1s",  " 1",    "1 ",
        "0x1p3", "1e40", ".",  "e5",  "1e",  "--1", "1.2.3",
    };
    uint64_t ns = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!eddy__number_read_seconds(bad[i], &ns), "'%s'", bad[i]);
    ck_assert_uint_eq(ns, 77);
}
END_TEST

START_TEST(reals_may_be_named)
{
    double value = 0;

    ck_assert(eddy__number_read_real("-1.25e2", &value));
    ck_assert_double_eq(value, -125);
    ck_assert(eddy__number_read_real("Infinity", &value));
    ck_assert(isinf(value) && value > 0);
    ck_assert(eddy__number_read_real("-inf", &value));
    ck_assert(isinf(value) && value < 0);
    ck_assert(eddy__number_read_real("NaN", &value));
    ck_assert(isnan(value));
    ck_assert(!eddy__number_read_real("1e999", &value));
    ck_assert(!eddy__number_read_real("-1e999", &value));
    ck_assert(!eddy__number_read_real("1x", &value));
    ck_assert(!eddy__number_read_real("", &value));
    ck_assert(!eddy__number_read_real("0x10", &value));
    ck_assert(!eddy__number_read_real("nan(1)", &value));
}
END_TEST

START_TEST(complex_numbers_have_one_part_or_two)
{
    static const struct {
        const char *text;
        double re, im;
    } good[] = {
        {"1.5-2j", 1.5, -2}, {"-1+0.5j", -1, 0.5}, {"3j", 0, 3},
        {"-3j", 0, -3},      {"4", 4, 0},          {"1e2+1e-1j", 100, 0.1},
    };
    static const char *const bad[] = {"",      "j",     "1+j",  "1j2",   "1+2",
                                      "1 +2j", "1+2jj", "+-1j", "1.5-2i"};
    double re = 0, im = 0;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_msg(eddy__number_read_complex(good[i].text, &re, &im), "'%s'",
                      good[i].text);
        ck_assert_double_eq(re, good[i].re);
        ck_assert_double_eq(im, good[i].im);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!eddy__number_read_complex(bad[i], &re, &im), "'%s'",
                      bad[i]);
    ck_assert(eddy__number_read_complex("NaN-Infinityj", &re, &im));
    ck_assert(isnan(re) && isinf(im) && im < 0);
}
END_TEST

TCase *tools_number_tests(void)
{
    TCase *tc = tcase_create("tools_number");

    tcase_add_test(tc, counts_are_decimal_digits_and_nothing_else);
    tcase_add_test(tc, seconds_become_nanoseconds);
    tcase_add_test(tc, a_tiny_timeout_is_not_none);
    tcase_add_test(tc, seconds_that_are_no_time_are_refused);
    tcase_add_test(tc, reals_may_be_named);
    tcase_add_test(tc, complex_numbers_have_one_part_or_two);
    return tc;
}

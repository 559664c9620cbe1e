/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value/dtype.h"
#include "tests/suites.h"

#include <string.h>

START_TEST(names_and_sizes)
{
    ck_assert_str_eq(eddy_dtype_name(EDDY_FLOAT32), "float32");
    ck_assert_str_eq(eddy_dtype_name(EDDY_COMPLEX64), "complex64");
    ck_assert_str_eq(eddy_dtype_name(EDDY_BFLOAT16), "bfloat16");
    ck_assert_str_eq(eddy_dtype_name(EDDY_COMPLEX128), "complex128");
    ck_assert_str_eq(eddy_dtype_name(EDDY_INVALID), "invalid");
    ck_assert_str_eq(eddy_dtype_name(EDDY_DTYPE_COUNT), "invalid");
    ck_assert_str_eq(eddy_dtype_name((eddy_dtype)-1), "invalid");
    ck_assert_uint_eq(eddy_dtype_size(EDDY_FLOAT16), 2);
    ck_assert_uint_eq(eddy_dtype_size(EDDY_COMPLEX64), 8);
    ck_assert_uint_eq(eddy_dtype_size(EDDY_BFLOAT16), 2);
    ck_assert_uint_eq(eddy_dtype_size(EDDY_COMPLEX128), 16);
    ck_assert_uint_eq(eddy_dtype_size(EDDY_BOOL), 1);
    ck_assert_uint_eq(eddy_dtype_size(EDDY_STRING), 0);
    ck_assert_uint_eq(eddy_dtype_size((eddy_dtype)1000), 0);
}
END_TEST

START_TEST(every_name_and_number_leads_back)
{
    for (int d = EDDY_INVALID + 1; d < EDDY_DTYPE_COUNT; d++) {
        const eddy_dtype dtype = (eddy_dtype)d;
        const char *name = eddy_dtype_name(dtype);

        ck_assert_int_eq(eddy__dtype_from_name(name, strlen(name)), dtype);
        ck_assert_int_eq(eddy__dtype_from_tf(eddy__dtype_to_tf(dtype)), dtype);
    }
    ck_assert_int_eq(eddy__dtype_to_tf(EDDY_FLOAT32), 1);
    ck_assert_int_eq(eddy__dtype_to_tf(EDDY_INT64), 9);
    ck_assert_int_eq(eddy__dtype_to_tf(EDDY_FLOAT16), 19);
    ck_assert_int_eq(eddy__dtype_to_tf(EDDY_BFLOAT16), 14);
    ck_assert_int_eq(eddy__dtype_to_tf(EDDY_COMPLEX128), 18);
}
END_TEST

START_TEST(what_is_no_dtype)
{
    ck_assert_int_eq(eddy__dtype_from_name("float", 5), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_name("float32x", 7), EDDY_FLOAT32);
    ck_assert_int_eq(eddy__dtype_from_name("float32x", 8), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_name("", 0), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_name("invalid", 7), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_tf(0), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_tf(11), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_tf(101), EDDY_INVALID);
    ck_assert_int_eq(eddy__dtype_from_tf(-1), EDDY_INVALID);
}
END_TEST

static int count_members(eddy__dtype_set set)
{
    int n = 0;

    for (int d = 0; d < 32; d++)
        n += eddy__dtype_in((eddy_dtype)d, set);
    return n;
}

START_TEST(the_groups_of_signatures)
{
    ck_assert_int_eq(count_members(EDDY__FLOATS), 4);
    ck_assert_int_eq(count_members(EDDY__INTEGERS), 8);
    ck_assert_int_eq(count_members(EDDY__REALS), 12);
    ck_assert_int_eq(count_members(EDDY__NUMBERS), 14);
    ck_assert_int_eq(count_members(EDDY__COMPLEXES), 2);
    ck_assert_int_eq(count_members(EDDY__INDEXES), 2);
    ck_assert_int_eq(count_members(EDDY__ALL_DTYPES), EDDY_DTYPE_COUNT - 1);
    ck_assert(!eddy__dtype_in(EDDY_BOOL, EDDY__NUMBERS));
    ck_assert(!eddy__dtype_in(EDDY_INVALID, EDDY__ALL_DTYPES));
    for (int d = EDDY_INVALID; d < EDDY_DTYPE_COUNT; d++)
        ck_assert_int_eq(eddy__dtype_is_inline((eddy_dtype)d),
                         eddy_dtype_size((eddy_dtype)d) > 0 &&
                             eddy_dtype_size((eddy_dtype)d) <= 8);
}
END_TEST

TCase *dtype_tests(void)
{
    TCase *tests = tcase_create("dtype");

    tcase_add_test(tests, names_and_sizes);
    tcase_add_test(tests, every_name_and_number_leads_back);
    tcase_add_test(tests, what_is_no_dtype);
    tcase_add_test(tests, the_groups_of_signatures);
    return tests;
}

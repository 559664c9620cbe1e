/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/compare.h"
#include "tools/literal.h"

#include <stdlib.h>
#include <string.h>

static eddy_tensor *read(const char *literal, eddy_dtype dtype)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;

    ck_assert_msg(eddy__literal_read(NULL, literal, dtype, &tensor, &err) ==
                      EDDY_OK,
                  "%s: %s", literal, err.message);
    return tensor;
}

/* Compares two tensors and what is said of them; NULL where they agree. */
static void compare_tensors(eddy_tensor *got, eddy_tensor *want, double rtol,
                            double atol, const char *report)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool agree;

    ck_assert_ptr_nonnull(stream);
    agree = eddy__compare(got, want, rtol, atol, stream);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(text, report != NULL ? report : "");
    ck_assert(agree == (report == NULL));
    free(text);
    eddy_tensor_release(got);
    eddy_tensor_release(want);
}

static void compare(eddy_dtype dtype, const char *got, const char *want,
                    double rtol, double atol, const char *report)
{
    compare_tensors(read(got, dtype), read(want, dtype), rtol, atol, report);
}

START_TEST(tolerance_is_absolute_plus_relative)
{
    compare(EDDY_FLOAT64, "[1.5, 100]", "[1, 100]", 0, 0.5, NULL);
    compare(EDDY_FLOAT64, "[1, 110]", "[1, 100]", 0.1, 0, NULL);
    compare(EDDY_FLOAT64, "[1, 111]", "[1, 100]", 0.1, 0,
            "element [1]: got 111, want 100 (rtol 0.1, atol 0)");
    compare(EDDY_FLOAT32, "2", "1", 0.25, 0.5,
            "element []: got 2, want 1 (rtol 0.25, atol 0.5)");
    compare(EDDY_FLOAT16, "[0.5, 1]", "[0.5, 1.5]", 0, 0.5, NULL);
    compare(EDDY_FLOAT32, "-0.0", "0.0", 0, 0, NULL);
}
END_TEST

START_TEST(the_worst_element_is_named)
{
    compare(EDDY_FLOAT64, "[[1,2],[9,4],[6,6]]", "[[0,2],[3,4],[5,6]]", 0, 0,
            "element [1,0]: got 9, want 3 (rtol 0, atol 0); the worst of 3 "
            "that differ, of 6");
}
END_TEST

START_TEST(nan_and_infinity_equal_themselves_alone)
{
    compare(EDDY_FLOAT32, "[NaN, Infinity, -Infinity]",
            "[NaN, Infinity, -Infinity]", 0, 0, NULL);
    compare(EDDY_FLOAT32, "NaN", "1", 1e9, 1e9,
            "element []: got NaN, want 1 (rtol 1e+09, atol 1e+09)");
    compare(EDDY_FLOAT32, "1", "NaN", 1, 1,
            "element []: got 1, want NaN (rtol 1, atol 1)");
    compare(EDDY_FLOAT64, "Infinity", "-Infinity", 1, 1,
            "element []: got Infinity, want -Infinity (rtol 1, atol 1)");
    compare(EDDY_FLOAT64, "1e308", "Infinity", 1, 1,
            "element []: got 1e+308, want Infinity (rtol 1, atol 1)");
    compare(EDDY_FLOAT64, "Infinity", "1e308", 1, 1,
            "element []: got Infinity, want 1e+308 (rtol 1, atol 1)");
}
END_TEST

START_TEST(what_is_no_float_must_be_equal)
{
    compare(EDDY_INT32, "[1,2]", "[1,2]", 0, 0, NULL);
    compare(EDDY_INT32, "[1,2]", "[1,3]", 1, 10, "element [1]: got 2, want 3");
    compare(EDDY_UINT64, "18446744073709551615", "18446744073709551614", 1, 1,
            "element []: got 18446744073709551615, want 18446744073709551614");
    compare(EDDY_INT64, "-9223372036854775808", "9223372036854775807", 1, 1,
            "element []: got -9223372036854775808, want 9223372036854775807");
    compare(EDDY_BOOL, "[true,false]", "[true,true]", 1, 1,
            "element [1]: got false, want true");
    compare(EDDY_STRING, "[\"a\",\"b\"]", "[\"a\",\"b\"]", 0, 0, NULL);
    compare(EDDY_STRING, "[\"a\",\"b\"]", "[\"a\",\"c\"]", 0, 0,
            "element [1]: got \"b\", want \"c\"");
}
END_TEST

START_TEST(complex_numbers_differ_by_their_distance)
{
    compare(EDDY_COMPLEX64, "\"3+4j\"", "\"0+0j\"", 0, 5, NULL);
    compare(EDDY_COMPLEX64, "\"3+4j\"", "\"0+0j\"", 0, 4.75,
            "element []: got \"3+4j\", want \"0+0j\" (rtol 0, atol 4.75)");
    compare(EDDY_COMPLEX64, "\"NaN+1j\"", "\"NaN+1j\"", 0, 0, NULL);
    compare(EDDY_COMPLEX64, "\"NaN+1j\"", "\"NaN+2j\"", 0, 0,
            "element []: got \"NaN+1j\", want \"NaN+2j\" (rtol 0, atol 0)");
    compare(EDDY_COMPLEX64, "\"1+1j\"", "\"1+Infinityj\"", 1, 1,
            "element []: got \"1+1j\", want \"1+Infinityj\" (rtol 1, atol 1)");
}
END_TEST

START_TEST(dtype_and_shape_must_be_the_same)
{
    compare_tensors(read("1", EDDY_INT32), read("1", EDDY_INT64), 1, 1,
                    "got int32[], want int64[]");
    compare_tensors(read("[1]", EDDY_INT32), read("1", EDDY_INT32), 1, 1,
                    "got int32[1], want int32[]");
    compare_tensors(read("[[1,2]]", EDDY_FLOAT32),
                    read("[[1],[2]]", EDDY_FLOAT32), 1, 1,
                    "got float32[1,2], want float32[2,1]");
    compare_tensors(read("[]", EDDY_FLOAT32), read("[]", EDDY_FLOAT32), 0, 0,
                    NULL);
}
END_TEST

TCase *tools_compare_tests(void)
{
    TCase *tc = tcase_create("tools_compare");

    tcase_add_test(tc, tolerance_is_absolute_plus_relative);
    tcase_add_test(tc, the_worst_element_is_named);
    tcase_add_test(tc, nan_and_infinity_equal_themselves_alone);
    tcase_add_test(tc, what_is_no_float_must_be_equal);
    tcase_add_test(tc, complex_numbers_differ_by_their_distance);
    tcase_add_test(tc, dtype_and_shape_must_be_the_same);
    return tc;
}

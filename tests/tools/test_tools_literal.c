/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/format.h"
#include "tools/literal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What printing `tensor` gives, shape and values; to be freed. */
static char *print(const eddy_tensor *tensor)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(stream);
    eddy__format_shape(stream, eddy_tensor_shape(tensor));
    fputc(' ', stream);
    eddy__format_values(stream, tensor);
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

/* Reads a literal, which must succeed, and compares how it prints. */
static void check(const char *literal, eddy_dtype dtype, const char *want)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;
    char *text;

    ck_assert_msg(eddy__literal_read(NULL, literal, dtype, &tensor, &err) ==
                      EDDY_OK,
                  "%s: %s", literal, err.message);
    ck_assert_int_eq(eddy_tensor_dtype(tensor), dtype);
    text = print(tensor);
    ck_assert_str_eq(text, want);
    free(text);
    eddy_tensor_release(tensor);
}

/* The message of a literal that must be refused, in a static buffer. */
static const char *refuse(const char *literal, eddy_dtype dtype)
{
    static char message[sizeof(((eddy_error *)NULL)->message)];
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;

    ck_assert_msg(eddy__literal_read(NULL, literal, dtype, &tensor, &err) ==
                      EDDY_INVALID_ARGUMENT,
                  "%s", literal);
    ck_assert_ptr_null(tensor);
    memcpy(message, err.message, sizeof message);
    return message;
}

START_TEST(scalars_have_rank_nought)
{
    check("14", EDDY_INT32, "[] 14");
    check(" -3 ", EDDY_INT8, "[] -3");
    check("true", EDDY_BOOL, "[] true");
    check("0", EDDY_BOOL, "[] false");
    check("2.5", EDDY_FLOAT64, "[] 2.5");
    check("3", EDDY_FLOAT32, "[] 3");
    check("1e3", EDDY_INT32, "[] 1000");
    check("\"hi\"", EDDY_STRING, "[] \"hi\"");
}
END_TEST

START_TEST(nested_lists_give_the_shape)
{
    check("[1, 2, 3]", EDDY_INT64, "[3] [1,2,3]");
    check("[[1,2],[3,4],[5,6]]", EDDY_FLOAT32, "[3,2] [[1,2],[3,4],[5,6]]");
    check("[[[1]],[[2]]]", EDDY_INT32, "[2,1,1] [[[1]],[[2]]]");
    check("[]", EDDY_FLOAT32, "[0] []");
    check("[[],[]]", EDDY_FLOAT32, "[2,0] [[],[]]");
    check("[[\"a\",\"b\"]]", EDDY_STRING, "[1,2] [[\"a\",\"b\"]]");
    check("[[[[[[[[7]]]]]]]]", EDDY_INT32,
          "[1,1,1,1,1,1,1,1] [[[[[[[[7]]]]]]]]");
}
END_TEST

START_TEST(what_json_lacks_may_stand_bare_or_in_quotes)
{
    check("NaN", EDDY_FLOAT32, "[] NaN");
    check("[Infinity, -Infinity]", EDDY_FLOAT64, "[2] [Infinity,-Infinity]");
    check("[\"NaN\",\"Infinity\",\"-Infinity\"]", EDDY_FLOAT16,
          "[3] [NaN,Infinity,-Infinity]");
    check("\"1.5-2j\"", EDDY_COMPLEX64, "[] \"1.5-2j\"");
    check("[1, \"2j\"]", EDDY_COMPLEX64, "[2] [\"1+0j\",\"0+2j\"]");
    check("18446744073709551615", EDDY_UINT64, "[] 18446744073709551615");
    check("-9223372036854775808", EDDY_INT64, "[] -9223372036854775808");
    check("\"255\"", EDDY_UINT8, "[] 255");
    check("[\"NaN\", \"Infinity\"]", EDDY_STRING, "[2] [\"NaN\",\"Infinity\"]");
    check("\"say \\\"NaN\\\" [1]\"", EDDY_STRING, "[] \"say \\\"NaN\\\" [1]\"");
    check("\"a\\u0000b\"", EDDY_STRING, "[] \"a\\u0000b\"");
}
END_TEST

START_TEST(values_that_do_not_fit_are_refused)
{
    ck_assert_ptr_nonnull(strstr(refuse("128", EDDY_INT8), "range of int8"));
    ck_assert_ptr_nonnull(strstr(refuse("[1,-1]", EDDY_UINT32), "range"));
    ck_assert_ptr_nonnull(strstr(refuse("1.5", EDDY_INT32), "whole"));
    ck_assert_ptr_nonnull(strstr(refuse("1e39", EDDY_FLOAT32), "float32"));
    ck_assert_ptr_nonnull(strstr(refuse("65520", EDDY_FLOAT16), "float16"));
    refuse("18446744073709551616", EDDY_UINT64);
    refuse("NaN", EDDY_INT32);
    refuse("2", EDDY_BOOL);
    refuse("true", EDDY_FLOAT32);
    refuse("\"true\"", EDDY_BOOL);
    refuse("\"one\"", EDDY_INT32);
    refuse("\"1+2j\"", EDDY_FLOAT32);
    refuse("1", EDDY_STRING);
    refuse("[\"a\", 1]", EDDY_STRING);
    refuse("null", EDDY_INT32);
    refuse("[null]", EDDY_FLOAT32);
    refuse("{}", EDDY_INT32);
    refuse("\"1\\u0000\"", EDDY_INT32);
    refuse("1", EDDY_RESOURCE);
}
END_TEST

START_TEST(what_is_no_literal_is_refused)
{
    static const char *const bad[] = {
        "",    "[1,2", "1 2",   "[1,]", "01",     "one",
        "'a'", "[1]]", "1e999", "nan",  "\"open", "00000000000000000001",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_ptr_nonnull(
            strstr(refuse(bad[i], EDDY_FLOAT32), "not a JSON literal"));
}
END_TEST

START_TEST(ragged_lists_are_refused)
{
    ck_assert_ptr_nonnull(
        strstr(refuse("[[1,2],[3]]", EDDY_INT32), "another length"));
    ck_assert_ptr_nonnull(
        strstr(refuse("[1,[2]]", EDDY_INT32), "is a list where"));
    ck_assert_ptr_nonnull(
        strstr(refuse("[[1],2]", EDDY_INT32), "is a value where"));
    refuse("[[],[1]]", EDDY_INT32);
    refuse("[[[1]],[[2],[3]]]", EDDY_STRING);
    ck_assert_ptr_nonnull(
        strstr(refuse("[[[[[[[[[7]]]]]]]]]", EDDY_INT32), "deeper"));
}
END_TEST

/*
 * The shape is the one of the first lists, so a ragged literal may claim far
 * more elements than it has: 40 to the 8th here.
 */
START_TEST(ragged_lists_claim_no_memory)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(stream);
    for (int level = 0; level < 8; level++)
        fputc('[', stream);
    fputs("\"x\"", stream);
    for (int level = 0; level < 8; level++) {
        for (int i = 1; i < 40; i++)
            fputs(",0", stream);
        fputc(']', stream);
    }
    ck_assert_int_eq(fclose(stream), 0);
    refuse(text, EDDY_STRING);
    refuse(text, EDDY_FLOAT64);
    free(text);
}
END_TEST

START_TEST(what_prints_can_be_read)
{
    static const char *const literals[] = {"[[\"0.5+0j\",\"NaN-Infinityj\"]]",
                                           "[\"1e+30-1e-30j\",\"-0-0j\"]"};

    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        eddy_error err = {.code = EDDY_OK};
        eddy_tensor *tensor = NULL;
        char *text;

        ck_assert_int_eq(eddy__literal_read(NULL, literals[i], EDDY_COMPLEX64,
                                            &tensor, &err),
                         EDDY_OK);
        text = print(tensor);
        ck_assert_str_eq(strchr(text, ' ') + 1, literals[i]);
        free(text);
        eddy_tensor_release(tensor);
    }
}
END_TEST

TCase *tools_literal_tests(void)
{
    TCase *tc = tcase_create("tools_literal");

    tcase_add_test(tc, scalars_have_rank_nought);
    tcase_add_test(tc, nested_lists_give_the_shape);
    tcase_add_test(tc, what_json_lacks_may_stand_bare_or_in_quotes);
    tcase_add_test(tc, values_that_do_not_fit_are_refused);
    tcase_add_test(tc, what_is_no_literal_is_refused);
    tcase_add_test(tc, ragged_lists_are_refused);
    tcase_add_test(tc, ragged_lists_claim_no_memory);
    tcase_add_test(tc, what_prints_can_be_read);
    return tc;
}

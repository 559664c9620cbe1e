/* SPDX-License-Identifier: Apache-2.0 */
/* Also tools/cast.c, whose messages are made of formatted elements. */
#include "tests/suites.h"
#include "tools/cast.h"
#include "tools/format.h"

#include <stdlib.h>
#include <string.h>

/* A stream into memory that compare_text ends. */
typedef struct capture {
    FILE *stream;
    char *text;
    size_t length;
} capture;

static void begin(capture *c)
{
    *c = (capture){.stream = NULL};
    c->stream = open_memstream(&c->text, &c->length);
    ck_assert_ptr_nonnull(c->stream);
}

static void compare_text(capture *c, const char *want)
{
    ck_assert_int_eq(fclose(c->stream), 0);
    ck_assert_str_eq(c->text, want);
    free(c->text);
}

static eddy_tensor *make(eddy_dtype dtype, eddy_shape shape)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;

    ck_assert_int_eq(eddy_tensor_create(NULL, dtype, &shape, &tensor, &err),
                     EDDY_OK);
    return tensor;
}

START_TEST(shapes_may_be_unknown_in_part)
{
    static const struct {
        eddy_shape shape;
        const char *text;
    } rows[] = {
        {{.rank = 0}, "[]"},
        {{.rank = 2, .dims = {2, 3}}, "[2,3]"},
        {{.rank = 2, .dims = {-1, 3}}, "[?,3]"},
        {{.rank = -1}, "?"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        capture c;

        begin(&c);
        eddy__format_shape(c.stream, &rows[i].shape);
        compare_text(&c, rows[i].text);
    }
}
END_TEST

START_TEST(an_index_names_the_element)
{
    const eddy_shape shape = {.rank = 3, .dims = {2, 3, 4}};
    const eddy_shape scalar = {.rank = 0};
    char text[EDDY__INDEX_TEXT];

    eddy__format_index(&shape, 23, text);
    ck_assert_str_eq(text, "[1,2,3]");
    eddy__format_index(&shape, 4, text);
    ck_assert_str_eq(text, "[0,1,0]");
    eddy__format_index(&scalar, 0, text);
    ck_assert_str_eq(text, "[]");
}
END_TEST

START_TEST(values_without_elements_are_empty_lists)
{
    static const struct {
        eddy_shape shape;
        const char *text;
    } rows[] = {
        {{.rank = 1, .dims = {0}}, "[]"},
        {{.rank = 2, .dims = {2, 0}}, "[[],[]]"},
        {{.rank = 2, .dims = {0, 2}}, "[]"},
        {{.rank = 3, .dims = {1, 2, 0}}, "[[[],[]]]"},
        {{.rank = 4, .dims = {2, 0, 3, 4}}, "[[],[]]"},
        {{.rank = 3, .dims = {1000000, 1000000, 0}}, "[]"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eddy_tensor *tensor = make(EDDY_FLOAT32, rows[i].shape);
        capture c;

        begin(&c);
        eddy__format_values(c.stream, tensor);
        compare_text(&c, rows[i].text);
        eddy_tensor_release(tensor);
    }
}
END_TEST

START_TEST(strings_are_json_whatever_their_bytes)
{
    static const struct {
        eddy_string string;
        const char *text;
    } rows[] = {
        {{"", 0}, "\"\""},
        {{"a\"\\b", 4}, "\"a\\\"\\\\b\""},
        {{"\t\n\0\x7f", 4}, "\"\\u0009\\u000a\\u0000\\u007f\""},
        {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9},
         "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"\xff", 1}, "\"\\ufffd\""},                       /* never a byte */
        {{"\xc3", 1}, "\"\\ufffd\""},                       /* cut short */
        {{"\xc0\x80", 2}, "\"\\ufffd\\ufffd\""},            /* too long */
        {{"\xed\xa0\x80", 3}, "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {{"\xe2\x82x", 3}, "\"\\ufffd\\ufffdx\""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        capture c;

        begin(&c);
        eddy__format_string(c.stream, rows[i].string);
        compare_text(&c, rows[i].text);
    }
}
END_TEST

START_TEST(names_are_quoted_only_if_need_be)
{
    capture c;

    begin(&c);
    eddy__format_name(c.stream, "while/Exit_1");
    fputc(' ', c.stream);
    eddy__format_name(c.stream, "a b");
    fputc(' ', c.stream);
    eddy__format_name(c.stream, "\033[31m");
    fputc(' ', c.stream);
    eddy__format_name(c.stream, "");
    compare_text(&c, "while/Exit_1 \"a b\" \"\\u001b[31m\" \"\"");
}
END_TEST

START_TEST(a_cast_keeps_the_shape_and_checks_each_element)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 2}};
    eddy_tensor *doubles = make(EDDY_FLOAT64, shape);
    double *elements = eddy_tensor_mutable_data(doubles);
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *ints = NULL;

    for (int i = 0; i < 4; i++)
        elements[i] = i - 1;
    ck_assert_int_eq(eddy__cast(NULL, doubles, EDDY_INT16, &ints, &err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_tensor_dtype(ints), EDDY_INT16);
    ck_assert_int_eq(eddy_tensor_shape(ints)->rank, 2);
    ck_assert_int_eq(((const int16_t *)eddy_tensor_data(ints))[0], -1);
    ck_assert_int_eq(((const int16_t *)eddy_tensor_data(ints))[3], 2);
    eddy_tensor_release(ints);
    ints = NULL;
    ck_assert_int_eq(eddy__cast(NULL, doubles, EDDY_UINT8, &ints, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_null(ints);
    ck_assert_str_eq(err.message,
                     "element [0,0]: -1 is outside the range of uint8");
    ck_assert_int_eq(eddy__cast(NULL, doubles, EDDY_STRING, &ints, &err),
                     EDDY_INVALID_ARGUMENT);
    eddy_tensor_release(doubles);
}
END_TEST

START_TEST(a_cast_to_the_same_dtype_is_the_same_tensor)
{
    eddy_tensor *tensor = make(EDDY_FLOAT32, (eddy_shape){.rank = 0});
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *same = NULL;

    *(float *)eddy_tensor_mutable_data(tensor) = 1;
    ck_assert_int_eq(eddy__cast(NULL, tensor, EDDY_FLOAT32, &same, &err),
                     EDDY_OK);
    ck_assert_ptr_eq(same, tensor);
    eddy_tensor_release(same);
    eddy_tensor_release(tensor);
}
END_TEST

TCase *tools_format_tests(void)
{
    TCase *tc = tcase_create("tools_format");

    tcase_add_test(tc, shapes_may_be_unknown_in_part);
    tcase_add_test(tc, an_index_names_the_element);
    tcase_add_test(tc, values_without_elements_are_empty_lists);
    tcase_add_test(tc, strings_are_json_whatever_their_bytes);
    tcase_add_test(tc, names_are_quoted_only_if_need_be);
    tcase_add_test(tc, a_cast_keeps_the_shape_and_checks_each_element);
    tcase_add_test(tc, a_cast_to_the_same_dtype_is_the_same_tensor);
    return tc;
}

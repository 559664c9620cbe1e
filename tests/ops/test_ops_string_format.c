/* SPDX-License-Identifier: Apache-2.0 */
/* StringFormat: tensors in a template. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__string_format_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static eddy_tensor *text(const char *s)
{
    return harness_strings(&h, 0, NULL, &s);
}

/* Formats one tensor, which is the template's only placeholder. */
static void want_summary(eddy_tensor *x, int64_t summarize, const char *wanted)
{
    const eddy_dtype dtype = eddy_tensor_dtype(x);
    const eddy_attr attrs[] = {eddy_attr_int("summarize", &summarize),
                               {.name = "T",
                                .kind = EDDY_ATTR_TYPE,
                                .is_list = true,
                                .n = 1,
                                .as.types = &dtype}};

    layout_run(&h, "StringFormat", LAYOUT_INPUTS(x), attrs, 2);
    harness_want_texts(&h, 0, NULL, &wanted);
}

/* The texts are those of TensorFlow 2.21. */
START_TEST(tensors_are_summarized)
{
    const int64_t none[] = {3, 0}, empty[] = {0, 3};

    want_summary(layout_range(&h, EDDY_INT64, 0, HARNESS_DIMS(10)), 3,
                 "[0 1 2 ... 7 8 9]");
    want_summary(layout_range(&h, EDDY_INT8, 0, HARNESS_DIMS(6)), 3,
                 "[0 1 2 3 4 5]");
    want_summary(layout_range(&h, EDDY_INT32, 0, HARNESS_DIMS(7)), 0, "[ ...]");
    want_summary(layout_range(&h, EDDY_INT64, 0, HARNESS_DIMS(3, 4)), 2,
                 "[[0 1 2 3]\n [4 5 6 7]\n [8 9 10 11]]");
    want_summary(layout_range(&h, EDDY_INT64, 0, HARNESS_DIMS(8, 8)), 2,
                 "[[0 1 ... 6 7]\n [8 9 ... 14 15]\n ...\n [48 49 ... 54 55]"
                 "\n [56 57 ... 62 63]]");
    want_summary(layout_range(&h, EDDY_UINT8, 0, HARNESS_DIMS(2, 2, 2)), -1,
                 "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
    want_summary(layout_range(&h, EDDY_INT64, 0, HARNESS_DIMS(6, 6, 6)), 1,
                 "[[[0 ... 5]\n  ...\n  [30 ... 35]]\n\n ...\n\n [[180 ... 185"
                 "]\n  ...\n  [210 ... 215]]]");
    want_summary(layout_range(&h, EDDY_FLOAT32, 0, 2, none), 3, "[\n ...]");
    want_summary(layout_range(&h, EDDY_FLOAT32, 0, 2, empty), 3, "[]");
    want_summary(layout_range(&h, EDDY_COMPLEX64, 0, HARNESS_DIMS(2)), 3,
                 "[? ?]");
    want_summary(layout_range(&h, EDDY_COMPLEX128, 0, HARNESS_DIMS(1, 2)), 1,
                 "[?...]");
    want_summary(layout_range(&h, EDDY_COMPLEX64, 0, 2, none), 1, "[]");
    want_summary(layout_range(&h, EDDY_COMPLEX64, 0, 0, NULL), 0, "...");
    want_summary(layout_range(&h, EDDY_BOOL, 0, 2, none), 3, "");
    want_summary(layout_range(&h, EDDY_BOOL, 0, HARNESS_DIMS(1)), 0, "");
}
END_TEST

START_TEST(elements_are_written_so_that_they_can_be_read_back)
{
    const double values[] = {0, 1.5, 3.14159265, 1e10, 1e-10, 123456789};

    want_summary(harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(6), values), -1,
                 "[0 1.5 3.14159274 1e+10 1e-10 123456792]");
    want_summary(harness_numbers(&h, EDDY_FLOAT64, HARNESS_DIMS(6), values), -1,
                 "[0 1.5 3.14159265 10000000000 1e-10 123456789]");
    want_summary(harness_numbers(&h, EDDY_FLOAT16, HARNESS_DIMS(3), values), -1,
                 "[0 1.5 3.140625]");
    want_summary(harness_vector(&h, EDDY_BOOL, 1, 0), -1, "[1 0]");
    want_summary(harness_strings(&h, HARNESS_DIMS(3), TEXTS("a", "b c", "")),
                 -1, "[\"a\" \"b c\" \"\"]");
    want_summary(text("a\"\n'\\\xff\x01"), -1, "\"a\\\"\\n\\'\\\\\xff\\001\"");
}
END_TEST

START_TEST(placeholders_stand_for_inputs)
{
    const eddy_string template = {"a{}b{}c", 7}, mark = {"{}", 2};
    const eddy_string plain = {"no", 2}, none = {"", 0};
    const eddy_attr attrs[] = {eddy_attr_string("template", &template),
                               eddy_attr_string("placeholder", &mark)};
    const eddy_attr wrong[] = {eddy_attr_string("template", &plain)};
    const eddy_attr empty[] = {eddy_attr_string("placeholder", &none)};
    eddy_tensor *x = layout_int(&h, 1);

    layout_run(&h, "StringFormat", LAYOUT_INPUTS(x, layout_int(&h, 2)), attrs,
               2);
    harness_want_texts(&h, 0, NULL, TEXTS("a1b2c"));
    harness_want_error(
        &h, harness_run_attrs(&h, "StringFormat", LAYOUT_INPUTS(x), wrong, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, harness_run_attrs(&h, "StringFormat", LAYOUT_INPUTS(x), empty, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

/* Looking for a longer one at each byte of the template would take long. */
START_TEST(a_placeholder_has_a_longest)
{
    static char bytes[1026];
    const size_t n = 1024 + (size_t)_i;
    const eddy_string same = {bytes, n};
    const eddy_attr attrs[] = {eddy_attr_string("template", &same),
                               eddy_attr_string("placeholder", &same)};
    eddy_tensor *x = layout_int(&h, 7);

    memset(bytes, 'p', sizeof bytes);
    if (_i == 0) {
        layout_run(&h, "StringFormat", LAYOUT_INPUTS(x), attrs, 2);
        harness_want_texts(&h, 0, NULL, TEXTS("7"));
    } else {
        harness_want_error(
            &h,
            harness_run_attrs(&h, "StringFormat", LAYOUT_INPUTS(x), attrs, 2),
            EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE);
    }
}
END_TEST

TCase *ops_string_format_tests(void)
{
    TCase *tests = tcase_create("ops_string_format");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, tensors_are_summarized);
    tcase_add_test(tests, elements_are_written_so_that_they_can_be_read_back);
    tcase_add_test(tests, placeholders_stand_for_inputs);
    tcase_add_loop_test(tests, a_placeholder_has_a_longest, 0, 2);
    return tests;
}

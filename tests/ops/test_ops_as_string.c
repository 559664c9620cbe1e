/* SPDX-License-Identifier: Apache-2.0 */
/* AsString: numbers as texts. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__as_string_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static const double numbers[] = {0, -1.5, 3.14159265, 1e10, -0.0, 123456789};

/* As TensorFlow 2.21 writes them; `_i` 0 is float32, 1 is float64. */
START_TEST(floats_are_written_as_printf_does)
{
    static const struct {
        const char *fill;
        int64_t precision, width;
        bool is_scientific, is_shortest;
        const char *texts[6];
    } cases[] = {
        {"",
         -1,
         -1,
         false,
         false,
         {"0.000000", "-1.500000", "3.141593", "10000000000.000000",
          "-0.000000", "123456792.000000"}},
        {"",
         0,
         -1,
         false,
         false,
         {"0", "-2", "3", "10000000000", "-0", "123456792"}},
        {"",
         2,
         -1,
         true,
         false,
         {"0.00e+00", "-1.50e+00", "3.14e+00", "1.00e+10", "-0.00e+00",
          "1.23e+08"}},
        {"",
         -1,
         -1,
         false,
         true,
         {"0", "-1.5", "3.14159", "1e+10", "-0", "1.23457e+08"}},
        {"0",
         -1,
         10,
         false,
         false,
         {"000.000000", "-01.500000", "003.141593", "10000000000.000000",
          "-00.000000", "123456792.000000"}},
        {"-",
         1,
         6,
         false,
         false,
         {"0.0   ", "-1.5  ", "3.1   ", "10000000000.0", "-0.0  ",
          "123456792.0"}},
        {"+",
         1,
         6,
         false,
         false,
         {"  +0.0", "  -1.5", "  +3.1", "+10000000000.0", "  -0.0",
          "+123456792.0"}},
        {" ",
         1,
         -1,
         false,
         false,
         {" 0.0", "-1.5", " 3.1", " 10000000000.0", "-0.0", " 123456792.0"}},
    };
    const eddy_dtype dtype = _i == 0 ? EDDY_FLOAT32 : EDDY_FLOAT64;
    double values[6];

    for (size_t i = 0; i < 6; i++)
        values[i] = (double)(float)numbers[i];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eddy_string fill = {cases[i].fill, strlen(cases[i].fill)};
        const eddy_attr attrs[] = {
            eddy_attr_string("fill", &fill),
            eddy_attr_int("precision", &cases[i].precision),
            eddy_attr_int("width", &cases[i].width),
            eddy_attr_bool("scientific", &cases[i].is_scientific),
            eddy_attr_bool("shortest", &cases[i].is_shortest)};

        layout_run(
            &h, "AsString",
            LAYOUT_INPUTS(harness_numbers(&h, dtype, HARNESS_DIMS(6), values)),
            attrs, 5);
        harness_want_texts(&h, HARNESS_DIMS(6), cases[i].texts);
    }
}
END_TEST

START_TEST(what_is_no_number_is_padded_with_spaces)
{
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const eddy_string zero = {"0", 1};
    const int64_t width = 6;
    const eddy_attr attrs[] = {eddy_attr_string("fill", &zero),
                               eddy_attr_int("width", &width)};

    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_FLOAT64; d++) {
        layout_run(
            &h, "AsString",
            LAYOUT_INPUTS(harness_numbers(&h, d, HARNESS_DIMS(3), values)),
            attrs, 2);
        harness_want_texts(&h, HARNESS_DIMS(3),
                           TEXTS("   nan", "   inf", "  -inf"));
    }
}
END_TEST

/* _i is an integer dtype. */
START_TEST(integers_are_written)
{
    const eddy_dtype dtype = layout_dtype(3 + _i);
    const eddy_string zero = {"0", 1};
    const int64_t width = 5;
    const eddy_attr attrs[] = {eddy_attr_int("width", &width),
                               eddy_attr_string("fill", &zero)};
    const bool is_signed = _i < 4;
    eddy_tensor *x = harness_numbers(&h, dtype, HARNESS_DIMS(2),
                                     (const double[]){100, is_signed ? -7 : 7});

    layout_run(&h, "AsString", LAYOUT_INPUTS(x), NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(2),
                       TEXTS("100", is_signed ? "-7" : "7"));
    layout_run(&h, "AsString", LAYOUT_INPUTS(x), attrs, 2);
    harness_want_texts(&h, HARNESS_DIMS(2),
                       TEXTS("00100", is_signed ? "-0007" : "00007"));
}
END_TEST

START_TEST(the_ends_of_integers_are_written)
{
    const uint64_t largest = UINT64_MAX;
    const int64_t least = INT64_MIN;

    layout_run(
        &h, "AsString",
        LAYOUT_INPUTS(harness_tensor(&h, EDDY_UINT64, 0, NULL, &largest)), NULL,
        0);
    harness_want_texts(&h, 0, NULL, TEXTS("18446744073709551615"));
    layout_run(&h, "AsString",
               LAYOUT_INPUTS(harness_tensor(&h, EDDY_INT64, 0, NULL, &least)),
               NULL, 0);
    harness_want_texts(&h, 0, NULL, TEXTS("-9223372036854775808"));
}
END_TEST

START_TEST(bools_texts_and_complex_numbers_are_written)
{
    const float parts[] = {1, 2, -1.5f, -0.25f};
    const eddy_string minus = {"-", 1};
    const int64_t width = 4;
    const eddy_attr attrs[] = {eddy_attr_int("width", &width),
                               eddy_attr_string("fill", &minus)};

    layout_run(&h, "AsString",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_BOOL, 1, 0)), attrs, 2);
    harness_want_texts(&h, HARNESS_DIMS(2), TEXTS("true", "false"));
    layout_run(&h, "AsString",
               LAYOUT_INPUTS(
                   harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), parts)),
               NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(2),
                       TEXTS("(1.000000,2.000000)", "(-1.500000,-0.250000)"));
    layout_run(
        &h, "AsString",
        LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(2), TEXTS("a", "bc"))),
        attrs, 2);
    harness_want_texts(&h, HARNESS_DIMS(2), TEXTS("a   ", "bc  "));
}
END_TEST

START_TEST(forms_must_go_with_the_dtype)
{
    const bool yes = true;
    const int64_t two = 2, many = 1 << 20;
    const eddy_string wrong = {"x", 1}, more = {"00", 2};
    const eddy_attr attrs[] = {
        eddy_attr_int("precision", &two), eddy_attr_bool("scientific", &yes),
        eddy_attr_bool("shortest", &yes), eddy_attr_string("fill", &wrong),
        eddy_attr_string("fill", &more),  eddy_attr_int("width", &many)};
    const eddy_attr both[] = {eddy_attr_bool("scientific", &yes),
                              eddy_attr_bool("shortest", &yes)};
    eddy_tensor *x = layout_int(&h, 1);

    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        harness_want_error(
            &h,
            harness_run_attrs(&h, "AsString", LAYOUT_INPUTS(x), &attrs[i], 1),
            EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    x = harness_scalar(&h, EDDY_FLOAT32, 1);
    harness_want_error(
        &h, harness_run_attrs(&h, "AsString", LAYOUT_INPUTS(x), both, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

TCase *ops_as_string_tests(void)
{
    TCase *tests = tcase_create("ops_as_string");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, floats_are_written_as_printf_does, 0, 2);
    tcase_add_test(tests, what_is_no_number_is_padded_with_spaces);
    tcase_add_loop_test(tests, integers_are_written, 0, 8);
    tcase_add_test(tests, the_ends_of_integers_are_written);
    tcase_add_test(tests, bools_texts_and_complex_numbers_are_written);
    tcase_add_test(tests, forms_must_go_with_the_dtype);
    return tests;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/misc/summary.h"
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__debug_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *text(const char *s)
{
    return harness_strings(&h, 0, NULL, &s);
}

static eddy_tensor *truth(bool b)
{
    return harness_scalar(&h, EDDY_BOOL, b);
}

START_TEST(assert_passes_what_is_true)
{
    layout_run(&h, "Assert", LAYOUT_INPUTS(truth(true), text("not shown")),
               NULL, 0);
    ck_assert_uint_eq(h.n_outputs, 0);
}
END_TEST

START_TEST(assert_shows_its_data)
{
    harness_want_error(
        &h,
        harness_run(&h, "Assert", truth(false), text("s grew to"),
                    layout_int(&h, 6), harness_vector(&h, EDDY_BOOL, 1, 0, 1),
                    harness_vector(&h, EDDY_FLOAT32, 0.5, 1, 2, 3)),
        EDDY_INVALID_ARGUMENT, EDDY_E_ASSERTION);
    ck_assert_str_eq(h.err.message,
                     "assertion failed: [s grew to] [6] [1 0 1] [0.5 1 2...]");
}
END_TEST

START_TEST(assert_shows_as_much_as_it_is_told)
{
    const int64_t all = -1;
    const eddy_attr attr = eddy_attr_int("summarize", &all);

    harness_want_error(
        &h,
        harness_run_attrs(
            &h, "Assert",
            LAYOUT_INPUTS(truth(false),
                          harness_vector(&h, EDDY_INT64, 1, 2, 3, 4, 5)),
            &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ASSERTION);
    ck_assert_str_eq(h.err.message, "assertion failed: [1 2 3 4 5]");
}
END_TEST

START_TEST(assert_wants_a_scalar)
{
    harness_want_error(
        &h,
        harness_run(&h, "Assert", harness_vector(&h, EDDY_BOOL, 1), text("x")),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(print_logs_a_line_and_passes_its_input)
{
    const eddy_string message = {"x = \n", 5};
    const eddy_attr attr = eddy_attr_string("message", &message);
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 4, 0, NULL);

    layout_run(
        &h, "Print",
        LAYOUT_INPUTS(x, harness_vector(&h, EDDY_INT8, -1, 2), text("yes")),
        &attr, 1);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(4));
    ck_assert_str_eq(h.log, "x = \\x0a[-1 2][yes]");
}
END_TEST

/* The harness prepares anew for each of its runs, so each logs. */
START_TEST(print_stops_after_the_first_n)
{
    const int64_t none = 0, one = 1;
    eddy_attr attr = eddy_attr_int("first_n", &none);
    eddy_tensor *x = layout_int(&h, 1);

    layout_run(&h, "Print", LAYOUT_INPUTS(x, x), &attr, 1);
    ck_assert_str_eq(h.log, "");
    attr = eddy_attr_int("first_n", &one);
    layout_run(&h, "Print", LAYOUT_INPUTS(x, x), &attr, 1);
    ck_assert_str_eq(h.log, "[1]");
}
END_TEST

START_TEST(print_v2_logs_a_string)
{
    const eddy_string dot = {".", 1};
    const eddy_attr attr = eddy_attr_string("end", &dot);

    layout_run(&h, "PrintV2", LAYOUT_INPUTS(text("hello")), NULL, 0);
    ck_assert_str_eq(h.log, "hello");
    layout_run(&h, "PrintV2", LAYOUT_INPUTS(text("hello")), &attr, 1);
    ck_assert_str_eq(h.log, "hello.");
    harness_want_error(
        &h,
        harness_run(&h, "PrintV2",
                    layout_range(&h, EDDY_STRING, 0, 1, (const int64_t[]){2})),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(abort_ends_the_run_and_not_the_process)
{
    const eddy_string message = {"enough", 6};
    const bool quiet = true;
    eddy_attr attr = eddy_attr_string("error_msg", &message);

    harness_want_error(&h, harness_run_attrs(&h, "Abort", NULL, 0, &attr, 1),
                       EDDY_ABORTED, EDDY_E_ABORT_OP);
    ck_assert_ptr_nonnull(strstr(h.err.message, "enough"));
    attr = eddy_attr_bool("exit_without_error", &quiet);
    harness_want_error(&h, harness_run_attrs(&h, "Abort", NULL, 0, &attr, 1),
                       EDDY_ABORTED, EDDY_E_ABORT_OP);
}
END_TEST

/* ---- how values are shown ---- */

static const char *show(eddy__line *line, eddy_tensor *tensor, int64_t limit)
{
    eddy__value v = eddy__value_take_tensor(NULL, eddy_tensor_retain(tensor));

    line->length = 0;
    line->text[0] = '\0';
    eddy__line_add_value(line, &v, limit);
    eddy__value_clear(NULL, &v);
    return line->text;
}

START_TEST(values_show_their_dimensions)
{
    const int64_t dims[] = {2, 2, 2};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 3, dims);
    eddy__line line;

    ck_assert_str_eq(show(&line, x, -1), "[[1 2][3 4]][[5 6][7 8]]");
    ck_assert_str_eq(show(&line, x, 3), "[[1 2][3...]]...");
    ck_assert_str_eq(show(&line, x, 4), "[[1 2][3 4]]...");
    ck_assert_str_eq(show(&line, x, 2), "[[1 2]]...");
    ck_assert_str_eq(show(&line, x, 0), "...");
    ck_assert_str_eq(show(&line, layout_ints(&h, 0, NULL), 3), "");
    ck_assert_str_eq(show(&line, layout_int(&h, 7), 0), "...");
}
END_TEST

START_TEST(numbers_show_in_full)
{
    eddy__line line;
    const int64_t one = 1;
    const uint64_t most = UINT64_MAX;
    const float complex_value[] = {0.5f, -2};

    ck_assert_str_eq(
        show(&line, harness_vector(&h, EDDY_FLOAT32, 0.1, 1e10, 16777217), -1),
        "0.1 1e+10 16777216");
    ck_assert_str_eq(
        show(&line, harness_vector(&h, EDDY_FLOAT64, 0.1, 1.0 / 3), -1),
        "0.1 0.33333333333333331");
    ck_assert_str_eq(show(&line,
                          harness_vector(&h, EDDY_FLOAT64, (double)INFINITY,
                                         (double)-INFINITY),
                          -1),
                     "inf -inf");
    ck_assert_str_eq(show(&line, harness_vector(&h, EDDY_FLOAT16, -1.5), -1),
                     "-1.5");
    ck_assert_str_eq(
        show(&line, harness_tensor(&h, EDDY_UINT64, 1, &one, &most), -1),
        "18446744073709551615");
    ck_assert_str_eq(show(&line, harness_vector(&h, EDDY_UINT8, 255), -1),
                     "255");
    ck_assert_str_eq(
        show(&line, harness_tensor(&h, EDDY_COMPLEX64, 1, &one, complex_value),
             -1),
        "(0.5,-2)");
}
END_TEST

START_TEST(long_values_are_cut)
{
    const int64_t n = 100000;
    eddy__line line;

    show(&line, layout_range(&h, EDDY_INT32, 0, 1, &n), -1);
    ck_assert_uint_eq(line.length, sizeof line.text - 1);
    ck_assert_uint_eq(strlen(line.text), sizeof line.text - 1);
    ck_assert_int_eq(strncmp(line.text, "0 1 2 3 4 5 ", 12), 0);
}
END_TEST

/* ---- in a run, where no kernel sees the graph's attributes ---- */

static char logged[256];

static void keep_line(void *user, eddy_log_level level, const char *line)
{
    size_t *length = user;

    ck_assert_int_eq(level, EDDY_LOG_INFO);
    *length += (size_t)snprintf(logged + *length, sizeof logged - *length,
                                "%s|", line);
}

/* What a node of a graph logs in two runs, or the message that it fails with.
 */
static void want_words(const char *graph, bool fails, const char *words)
{
    size_t length = 0;
    const eddy_context_options options = {.logger = {keep_line, &length}};
    eddy_status status = EDDY_OK;
    program p;

    logged[0] = '\0';
    program_init_with(&p, &options);
    program_build(&p, graph);
    program_plan(&p, NULL, "^y");
    /* The plan has all that it needs. */
    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    for (int i = 0; i < 2; i++)
        status = program_execute(&p);
    ck_assert_int_eq(status != EDDY_OK, fails);
    ck_assert_str_eq(fails ? p.err.message : logged, words);
    program_deinit(&p);
}

START_TEST(attributes_of_texts_reach_their_kernels)
{
    static const struct {
        const char *graph, *words;
        bool fails;
    } rows[] = {
        {"x int64=7\nv int32[4]=1,2,3,4\n"
         "y Print x x v message='xv='",
         "xv=[7][1 2 3...]|xv=[7][1 2 3...]|", false},
        {"x int64=7\ny Print x x message='once' first_n=1", "once[7]|", false},
        {"x int64=7\nv int32[4]=1,2,3,4\ny Print x v summarize=2",
         "[1 2...]|"
         "[1 2...]|",
         false},
        {"x string=hello\ny PrintV2 x end='.'", "hello.|hello.|", false},
        {"y Abort error_msg='enough'", "Abort_op intentional failure; enough",
         true},
        {"y Abort error_msg='no' exit_without_error=true",
         "the graph asked to exit", true},
        {"z float32=0\nx Div z z\ny CheckNumerics x message='bad'",
         "bad : Tensor had NaN values", true},
    };

    want_words(rows[_i].graph, rows[_i].fails, rows[_i].words);
}
END_TEST

TCase *ops_debug_tests(void)
{
    TCase *tests = tcase_create("ops_debug");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, assert_passes_what_is_true);
    tcase_add_test(tests, assert_shows_its_data);
    tcase_add_test(tests, assert_shows_as_much_as_it_is_told);
    tcase_add_test(tests, assert_wants_a_scalar);
    tcase_add_loop_test(tests, print_logs_a_line_and_passes_its_input, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, print_stops_after_the_first_n);
    tcase_add_test(tests, print_v2_logs_a_string);
    tcase_add_test(tests, abort_ends_the_run_and_not_the_process);
    tcase_add_test(tests, values_show_their_dimensions);
    tcase_add_test(tests, numbers_show_in_full);
    tcase_add_test(tests, long_values_are_cut);
    tcase_add_loop_test(tests, attributes_of_texts_reach_their_kernels, 0, 7);
    return tests;
}

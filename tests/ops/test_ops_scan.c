/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__scan_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3};

static void scan(const char *op, eddy_tensor *x, int axis, bool exclusive,
                 bool reverse)
{
    layout_run(&h, op, LAYOUT_INPUTS(x, layout_int(&h, axis)),
               LAYOUT_ATTRS(eddy_attr_bool("exclusive", &exclusive),
                            eddy_attr_bool("reverse", &reverse)));
}

static void check_near(eddy_dtype dtype, double got, double want)
{
    const double part = dtype == EDDY_FLOAT16    ? 3e-3
                        : dtype == EDDY_BFLOAT16 ? 2e-2
                                                 : 3e-7;

    ck_assert_msg(got == want || (isnan(got) && isnan(want)) ||
                      fabs(got - want) <= part * fabs(want),
                  "%s: got %.9g, want %.9g", eddy_dtype_name(dtype), got, want);
}

/* The real dtypes in every direction: 1 2 3 / 4 5 6. */
START_TEST(sums_and_products_run_along_an_axis)
{
    static const struct {
        int axis;
        bool exclusive, reverse;
        int sums[6], products[6];
    } cases[] = {
        {1, false, false, {1, 3, 6, 4, 9, 15}, {1, 2, 6, 4, 20, 120}},
        {-1, true, false, {0, 1, 3, 0, 4, 9}, {1, 1, 2, 1, 4, 20}},
        {1, false, true, {6, 5, 3, 15, 11, 6}, {6, 6, 3, 120, 30, 6}},
        {1, true, true, {5, 3, 0, 11, 6, 0}, {6, 3, 1, 30, 6, 1}},
        {0, false, false, {1, 2, 3, 5, 7, 9}, {1, 2, 3, 4, 10, 18}},
        {0, true, true, {4, 5, 6, 0, 0, 0}, {4, 5, 6, 1, 1, 1}},
    };
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);

    for (int i = 0; i < 6; i++) {
        scan("Cumsum", x, cases[i].axis, cases[i].exclusive, cases[i].reverse);
        layout_want(&h, 0, dtype, 2, matrix, cases[i].sums);
        scan("Cumprod", x, cases[i].axis, cases[i].exclusive, cases[i].reverse);
        layout_want(&h, 0, dtype, 2, matrix, cases[i].products);
    }
}
END_TEST

/* More rows than are run through side by side, and rows of many elements. */
START_TEST(many_rows_run_at_once)
{
    static const eddy_shape shapes[] = {{2, {11, 7}}, {3, {2, 7, 40}}};
    double values[560];

    for (int i = 0; i < 560; i++)
        values[i] = i % 13 - 6;
    for (int s = 0; s < 2; s++) {
        const eddy_shape *shape = &shapes[s];
        const int64_t inner = s == 0 ? 1 : 40;
        eddy_tensor *x =
            harness_numbers(&h, EDDY_FLOAT32, shape->rank, shape->dims, values);

        for (int way = 0; way < 4; way++) {
            const bool exclusive = (way & 1) != 0, reverse = (way & 2) != 0;

            scan("Cumsum", x, 1, exclusive, reverse);
            for (int64_t i = 0; i < x->count; i++) {
                const int64_t row = i / inner % 7, first = i - row * inner;
                double want = 0;

                for (int64_t r = 0; r < 7; r++)
                    if ((r == row && !exclusive) ||
                        (reverse ? r > row : r < row))
                        want += values[first + r * inner];
                ck_assert_double_eq(harness_get(h.outputs[0], i), want);
            }
        }
    }
}
END_TEST

START_TEST(complex_numbers_run_too)
{
    const float values[] = {1, 2, 0, 1, -3, 0.5f};
    const float sums[] = {1, 2, 1, 3, -2, 3.5f};
    const float products[] = {1, 2, -2, 1, 5.5f, -4};
    const float before[] = {1, 0, 1, 2, -2, 1};
    const int64_t three = 3;
    eddy_tensor *x = harness_tensor(&h, EDDY_COMPLEX64, 1, &three, values);

    scan("Cumsum", x, 0, false, false);
    ck_assert_mem_eq(h.outputs[0]->data, sums, sizeof sums);
    scan("Cumprod", x, 0, false, false);
    ck_assert_mem_eq(h.outputs[0]->data, products, sizeof products);
    scan("Cumprod", x, 0, true, false);
    ck_assert_mem_eq(h.outputs[0]->data, before, sizeof before);
}
END_TEST

START_TEST(running_integers_wrap)
{
    const int64_t three = 3;

    scan("Cumprod", harness_vector(&h, EDDY_INT8, 100, 3, -128), 0, false,
         false);
    layout_want(&h, 0, EDDY_INT8, 1, &three, LAYOUT_NUMBERS(100, 44, 0));
    scan("Cumsum", harness_vector(&h, EDDY_INT32, 2147483647, 1, 1), 0, false,
         false);
    layout_want(&h, 0, EDDY_INT32, 1, &three,
                LAYOUT_NUMBERS(2147483647, -2147483647 - 1, -2147483647));
    scan("Cumprod", harness_vector(&h, EDDY_UINT16, 65535, 65535, 1), 0, false,
         false);
    layout_want(&h, 0, EDDY_UINT16, 1, &three, LAYOUT_NUMBERS(65535, 1, 1));
}
END_TEST

/* A NaN that is added counts as what was there, as in TensorFlow 2.21. */
START_TEST(logarithms_of_sums_run_along_an_axis)
{
    static const struct {
        double x[6];
        bool exclusive, reverse;
        double want[6];
    } cases[] = {
        {{1, 2, -INFINITY, 3, INFINITY, 1},
         false,
         false,
         {1, 2.3132617, 2.3132617, 3.4076061, INFINITY, INFINITY}},
        {{1, 2, -INFINITY, 3, 3, -INFINITY},
         true,
         false,
         {-INFINITY, 1, 2.3132617, 2.3132617, 3.4076061, 3.9175759}},
        {{-INFINITY, -INFINITY, 1, 2, -INFINITY, 3},
         true,
         true,
         {3.4076061, 3.4076061, 3.3132617, 3, 3, -INFINITY}},
        {{INFINITY, INFINITY, 1, 1, 1, 1},
         false,
         false,
         {INFINITY, NAN, NAN, NAN, NAN, NAN}},
        {{1, -INFINITY, NAN, NAN, -INFINITY, 1},
         false,
         false,
         {1, 1, 1.6931472, 2.3862944, 2.3862944, 2.6094379}},
        {{NAN, 1, 1, 1, 1, 1},
         false,
         false,
         {-INFINITY, 1, 1.6931472, 2.0986123, 2.3862944, 2.6094379}},
    };
    static const eddy_shape shapes[] = {{1, {6}}, {2, {6, 1}}, {3, {1, 6, 5}}};

    NUMBERS_EACH_FLOAT(d)
    {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            for (int s = 0; s < 3; s++) {
                const int inner = s == 2 ? 5 : 1;
                double values[30];

                for (int i = 0; i < 6 * inner; i++)
                    values[i] = cases[c].x[i / inner];
                scan("CumulativeLogsumexp",
                     harness_numbers(&h, d, shapes[s].rank, shapes[s].dims,
                                     values),
                     s == 2 ? 1 : 0, cases[c].exclusive, cases[c].reverse);
                harness_want(&h, 0, d, shapes[s].rank, shapes[s].dims);
                for (int i = 0; i < 6 * inner; i++)
                    check_near(d, harness_get(h.outputs[0], i),
                               cases[c].want[i / inner]);
            }
        }
    }
}
END_TEST

START_TEST(scans_check_their_axis)
{
    const int64_t empty[] = {2, 0};

    harness_want_error(&h,
                       harness_run(&h, "Cumsum",
                                   layout_range(&h, EDDY_INT32, 1, 2, matrix),
                                   layout_int(&h, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h, harness_run(&h, "Cumsum", layout_int(&h, 1), layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    scan("Cumprod", layout_range(&h, EDDY_INT32, 1, 2, empty), 1, true, true);
    layout_want(&h, 0, EDDY_INT32, 2, empty, NULL);
}
END_TEST

static eddy_status reverse(eddy_tensor *x, eddy_tensor *lengths, int64_t seq,
                           int64_t batch)
{
    const eddy_attr attrs[] = {eddy_attr_int("seq_dim", &seq),
                               eddy_attr_int("batch_dim", &batch)};

    return harness_run_attrs(&h, "ReverseSequence", LAYOUT_INPUTS(x, lengths),
                             attrs, 2);
}

START_TEST(sequences_of_every_dtype_are_reversed)
{
    const int64_t dims[] = {2, 4, 2};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 3, dims);

    ck_assert_int_eq(reverse(x, layout_ints(&h, 2, LAYOUT_NUMBERS(3, 0)), 1, 0),
                     EDDY_OK);
    layout_want(
        &h, 0, dtype, 3, dims,
        LAYOUT_NUMBERS(4, 5, 2, 3, 0, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    ck_assert_int_eq(reverse(x, harness_vector(&h, EDDY_INT64, 4, 2), 1, 2),
                     EDDY_OK);
    layout_want(
        &h, 0, dtype, 3, dims,
        LAYOUT_NUMBERS(6, 3, 4, 1, 2, 5, 0, 7, 14, 11, 12, 9, 10, 13, 8, 15));
}
END_TEST

START_TEST(reversals_check_their_arguments)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(
        &h, reverse(x, layout_ints(&h, 2, LAYOUT_NUMBERS(4, 0)), 1, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, reverse(x, layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 0)), 1, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, reverse(x, layout_ints(&h, 3, LAYOUT_NUMBERS(1, 1, 1)), 1, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, reverse(x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1)), 2, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h, reverse(x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1)), 0, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_scan_tests(void)
{
    TCase *tests = tcase_create("ops_scan");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, sums_and_products_run_along_an_axis, 0, 11);
    tcase_add_test(tests, many_rows_run_at_once);
    tcase_add_test(tests, complex_numbers_run_too);
    tcase_add_test(tests, running_integers_wrap);
    tcase_add_test(tests, logarithms_of_sums_run_along_an_axis);
    tcase_add_test(tests, scans_check_their_axis);
    tcase_add_loop_test(tests, sequences_of_every_dtype_are_reversed, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, reversals_check_their_arguments);
    return tests;
}

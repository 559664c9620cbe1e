/* SPDX-License-Identifier: Apache-2.0 */
/* Values are TensorFlow's: tests/conformance/tf/kernels/Sparse* has more. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    static const eddy__op_table *const tables[] = {
        &eddy__sparse_parts_ops, &eddy__sparse_union_ops,
        &eddy__sparse_fill_ops, &eddy__sparse_elements_ops};

    harness_init(&h, NULL);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        ck_assert_int_eq(
            eddy__registry_add_table(&h.ctx.registry, tables[i], NULL),
            EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static void want(size_t output, const double *values)
{
    const eddy_tensor *t = h.outputs[output];

    for (int64_t i = 0; i < t->count; i++)
        ck_assert_double_eq(harness_get(t, i), values[i]);
}

/* A 3x5 matrix with 1, -2, 3, 0.25 at (0,1), (1,0), (2,3), (2,4), ... */
static eddy_tensor *places(void)
{
    return harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(4, 2),
                           (const double[]){0, 1, 1, 0, 2, 3, 2, 4});
}

static eddy_tensor *values(void)
{
    return harness_vector(&h, EDDY_FLOAT64, 1, -2, 3, 0.25);
}

/* ... and one with 4, 5, -3 at (0,1), (1,2), (2,3). */
static eddy_tensor *other_places(void)
{
    return harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(3, 2),
                           (const double[]){0, 1, 1, 2, 2, 3});
}

static eddy_tensor *other_values(void)
{
    return harness_vector(&h, EDDY_FLOAT64, 4, 5, -3);
}

static eddy_tensor *size(void)
{
    return harness_vector(&h, EDDY_INT64, 3, 5);
}

static eddy_tensor *number(double value)
{
    return harness_scalar(&h, EDDY_FLOAT64, value);
}

static eddy_status concat(int64_t axis, eddy_tensor *second)
{
    const eddy_attr attr = eddy_attr_int("concat_dim", &axis);
    eddy_tensor *inputs[] = {places(),       other_places(), values(),
                             other_values(), size(),         second};

    return harness_run_attrs(&h, "SparseConcat", inputs, 6, &attr, 1);
}

START_TEST(sparse_tensors_are_joined_along_a_dimension)
{
    ck_assert_int_eq(concat(-1, size()), EDDY_OK);
    harness_want(&h, 0, EDDY_INT64, HARNESS_DIMS(7, 2));
    want(0, (const double[]){0, 1, 0, 6, 1, 0, 1, 7, 2, 3, 2, 4, 2, 8});
    want(1, (const double[]){1, 4, -2, 5, 3, 0.25, -3});
    want(2, (const double[]){3, 10});
    harness_want_error(&h, concat(1, harness_vector(&h, EDDY_INT64, 4, 5)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, concat(2, size()), EDDY_INVALID_ARGUMENT,
                       EDDY_E_INDEX);
}
END_TEST

START_TEST(strings_are_joined_too)
{
    static const char *const texts[] = {"a", "", "a longer one", "d"};
    const int64_t axis = 0;
    const eddy_attr attr = eddy_attr_int("concat_dim", &axis);
    eddy_tensor *text = harness_strings(&h, HARNESS_DIMS(4), texts);
    eddy_tensor *inputs[] = {places(), places(), text, text, size(), size()};

    ck_assert_int_eq(harness_run_attrs(&h, "SparseConcat", inputs, 6, &attr, 1),
                     EDDY_OK);
    harness_want(&h, 1, EDDY_STRING, HARNESS_DIMS(8));
    ck_assert_str_eq(eddy_tensor_string(h.outputs[1], 6).data, "a longer one");
}
END_TEST

static eddy_status split(int64_t n, double axis)
{
    const eddy_attr attr = eddy_attr_int("num_split", &n);
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT64, axis), places(),
                             values(), size()};

    return harness_run_attrs(&h, "SparseSplit", inputs, 4, &attr, 1);
}

START_TEST(the_first_parts_are_the_longer_ones)
{
    ck_assert_int_eq(split(2, 1), EDDY_OK);
    want(0, (const double[]){0, 1, 1, 0});
    want(1, (const double[]){2, 0, 2, 1});
    want(2, (const double[]){1, -2});
    want(3, (const double[]){3, 0.25});
    want(4, (const double[]){3, 3});
    want(5, (const double[]){3, 2});
    harness_want_error(&h, split(4, 0), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, split(2, 2), EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

static eddy_status slice(double start, double n)
{
    return harness_run(&h, "SparseSlice", places(), values(), size(),
                       harness_vector(&h, EDDY_INT64, start, 0),
                       harness_vector(&h, EDDY_INT64, n, 4));
}

START_TEST(a_window_is_cut_off_at_the_end)
{
    ck_assert_int_eq(slice(1, 9), EDDY_OK);
    want(0, (const double[]){0, 0, 1, 3});
    want(1, (const double[]){-2, 3});
    want(2, (const double[]){2, 4});
    ck_assert_int_eq(slice(-1, 3), EDDY_OK);
    want(0, (const double[]){1, 1, 2, 0});
    ck_assert_int_eq(slice(-9.2e18, 3), EDDY_OK);
    harness_want_error(&h, slice(0, -1), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    ck_assert_int_eq(
        harness_run(&h, "SparseSliceGrad", harness_vector(&h, EDDY_FLOAT64, 7),
                    places(), harness_vector(&h, EDDY_INT64, 1, 0),
                    harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(1, 2),
                                    (const double[]){1, 3})),
        EDDY_OK);
    want(0, (const double[]){0, 0, 7, 0});
    harness_want_error(
        &h,
        harness_run(&h, "SparseSliceGrad", harness_vector(&h, EDDY_FLOAT64, 7),
                    places(), harness_vector(&h, EDDY_INT64, 1, 0),
                    harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(1, 2),
                                    (const double[]){9, 3})),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

static eddy_status add(eddy_tensor *shape, double threshold)
{
    return harness_run(&h, "SparseAdd", places(), values(), size(),
                       other_places(), other_values(), shape,
                       number(threshold));
}

START_TEST(the_threshold_is_for_sums_of_two)
{
    ck_assert_int_eq(add(size(), 3), EDDY_OK);
    want(0, (const double[]){0, 1, 1, 0, 1, 2, 2, 4});
    want(1, (const double[]){5, -2, 5, 0.25});
    want(2, (const double[]){3, 5});
    harness_want_error(&h, add(harness_vector(&h, EDDY_INT64, 3, 6), 0),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_int_eq(
        harness_run(&h, "SparseAddGrad", harness_vector(&h, EDDY_FLOAT64, 7, 8),
                    places(), other_places(),
                    harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(2, 2),
                                    (const double[]){0, 1, 1, 2})),
        EDDY_OK);
    want(0, (const double[]){7, 0, 0, 0});
    want(1, (const double[]){7, 8, 0});
    harness_want_error(&h,
                       harness_run(&h, "SparseAddGrad", values(), places(),
                                   places(), other_places()),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(what_one_has_alone_meets_zero)
{
    ck_assert_int_eq(harness_run(&h, "SparseSparseMaximum", places(), values(),
                                 size(), other_places(), other_values(),
                                 size()),
                     EDDY_OK);
    want(1, (const double[]){4, 0, 5, 3, 0.25});
    ck_assert_int_eq(harness_run(&h, "SparseSparseMinimum", places(), values(),
                                 size(), other_places(), other_values(),
                                 size()),
                     EDDY_OK);
    want(1, (const double[]){1, -2, 0, -3, 0});
}
END_TEST

static eddy_status fill(double rows)
{
    return harness_run(&h, "SparseFillEmptyRows", other_places(),
                       other_values(), harness_vector(&h, EDDY_INT64, rows, 5),
                       number(9));
}

START_TEST(empty_rows_are_filled)
{
    static const char *const texts[] = {"a", "b", "c", "none"};

    ck_assert_int_eq(fill(5), EDDY_OK);
    want(0, (const double[]){0, 1, 1, 2, 2, 3, 3, 0, 4, 0});
    want(1, (const double[]){4, 5, -3, 9, 9});
    want(2, (const double[]){0, 0, 0, 1, 1});
    want(3, (const double[]){0, 1, 2});
    harness_want_error(&h, fill(2), EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_int_eq(harness_run(&h, "SparseFillEmptyRows", other_places(),
                                 harness_strings(&h, HARNESS_DIMS(3), texts),
                                 harness_vector(&h, EDDY_INT64, 4, 5),
                                 harness_strings(&h, 0, NULL, texts + 3)),
                     EDDY_OK);
    ck_assert_str_eq(eddy_tensor_string(h.outputs[1], 3).data, "none");
    ck_assert_int_eq(harness_run(&h, "SparseFillEmptyRowsGrad",
                                 harness_vector(&h, EDDY_INT64, 2, 0),
                                 values()),
                     EDDY_OK);
    want(0, (const double[]){3, 1});
    want(1, (const double[]){-1.75});
    harness_want_error(&h,
                       harness_run(&h, "SparseFillEmptyRowsGrad",
                                   harness_vector(&h, EDDY_INT64, 4), values()),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(a_softmax_is_of_one_row)
{
    ck_assert_int_eq(harness_run(&h, "SparseSoftmax", places(),
                                 harness_vector(&h, EDDY_FLOAT64, 7, 8, 2, 2),
                                 size()),
                     EDDY_OK);
    want(0, (const double[]){1, 1, 0.5, 0.5});
    harness_want_error(
        &h,
        harness_run(&h, "SparseSoftmax",
                    harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(1, 1),
                                    (const double[]){0}),
                    harness_vector(&h, EDDY_FLOAT64, 7),
                    harness_vector(&h, EDDY_INT64, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

/* A row of 1, 2, 3, 4, 5, and a column. */
static eddy_tensor *row(void)
{
    return harness_vector(&h, EDDY_FLOAT64, 1, 2, 3, 4, 5);
}

static eddy_tensor *column(void)
{
    return harness_numbers(&h, EDDY_FLOAT64, HARNESS_DIMS(3, 1),
                           (const double[]){1, 2, 4});
}

START_TEST(dense_elements_are_repeated)
{
    ck_assert_int_eq(harness_run(&h, "SparseDenseCwiseMul", places(), values(),
                                 size(), row()),
                     EDDY_OK);
    want(0, (const double[]){2, -2, 12, 1.25});
    ck_assert_int_eq(harness_run(&h, "SparseDenseCwiseDiv", places(), values(),
                                 size(), column()),
                     EDDY_OK);
    want(0, (const double[]){1, -1, 0.75, 0.0625});
    ck_assert_int_eq(harness_run(&h, "SparseDenseCwiseAdd", places(), values(),
                                 size(), number(1)),
                     EDDY_OK);
    want(0, (const double[]){2, -1, 4, 1.25});
    harness_want_error(&h,
                       harness_run(&h, "SparseDenseCwiseAdd", places(),
                                   values(), size(), values()),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "SparseDenseCwiseDiv", other_places(),
                                   harness_vector(&h, EDDY_INT32, 1, 2, 3),
                                   size(), harness_scalar(&h, EDDY_INT32, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO);
}
END_TEST

START_TEST(a_dense_sum_has_the_dense_shape)
{
    const double ones[15] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    ck_assert_int_eq(harness_run(&h, "SparseTensorDenseAdd", places(), values(),
                                 size(),
                                 harness_numbers(&h, EDDY_FLOAT64,
                                                 HARNESS_DIMS(3, 5), ones)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(3, 5));
    want(0, (const double[]){1, 2, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1, 4, 1.25});
    harness_want_error(&h,
                       harness_run(&h, "SparseTensorDenseAdd", places(),
                                   values(), size(), row()),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_sparse_parts_tests(void)
{
    TCase *tc = tcase_create("ops_sparse_parts");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, sparse_tensors_are_joined_along_a_dimension);
    tcase_add_test(tc, strings_are_joined_too);
    tcase_add_test(tc, the_first_parts_are_the_longer_ones);
    tcase_add_test(tc, a_window_is_cut_off_at_the_end);
    tcase_add_test(tc, the_threshold_is_for_sums_of_two);
    tcase_add_test(tc, what_one_has_alone_meets_zero);
    tcase_add_test(tc, empty_rows_are_filled);
    tcase_add_test(tc, a_softmax_is_of_one_row);
    tcase_add_test(tc, dense_elements_are_repeated);
    tcase_add_test(tc, a_dense_sum_has_the_dense_shape);
    return tc;
}

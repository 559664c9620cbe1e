/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, NULL);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__sparse_dense_ops, NULL),
                     EDDY_OK);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__sparse_order_ops, NULL),
                     EDDY_OK);
    ck_assert_int_eq(
        eddy__registry_add_table(&h.ctx.registry, &eddy__tensor_diag_ops, NULL),
        EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static void want(eddy_dtype dtype, int32_t rank, const int64_t *dims,
                 const double *values)
{
    int64_t n = 1;

    harness_want(&h, 0, dtype, rank, dims);
    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), values[i]);
}

/* The elements (2,1), (0,0) and (1,2) of a 3x3 matrix: 1, 2 and 3. */
static eddy_tensor *places(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(3, 2),
                           (const double[]){2, 1, 0, 0, 1, 2});
}

static eddy_tensor *size(void)
{
    return harness_vector(&h, EDDY_INT64, 3, 3);
}

static eddy_status to_dense(eddy_tensor *indices, eddy_tensor *shape,
                            eddy_tensor *values, eddy_tensor *other,
                            bool ordered)
{
    const eddy_attr attr = eddy_attr_bool("validate_indices", &ordered);
    eddy_tensor *inputs[] = {indices, shape, values, other};

    return harness_run_attrs(&h, "SparseToDense", inputs, 4, &attr, 1);
}

static eddy_tensor *zero(void)
{
    return harness_scalar(&h, EDDY_INT32, 0);
}

START_TEST(elements_are_put_where_they_belong)
{
    eddy_tensor *values = harness_vector(&h, EDDY_INT32, 1, 2, 3);

    ck_assert_int_eq(to_dense(places(EDDY_INT64), size(), values, zero(), 0),
                     EDDY_OK);
    want(EDDY_INT32, HARNESS_DIMS(3, 3),
         (const double[]){2, 0, 0, 0, 0, 3, 0, 1, 0});
    /* Coordinates of a vector, and one value for all. */
    ck_assert_int_eq(to_dense(harness_vector(&h, EDDY_INT32, 1, 3),
                              harness_vector(&h, EDDY_INT32, 4),
                              harness_scalar(&h, EDDY_INT32, 7),
                              harness_scalar(&h, EDDY_INT32, -1), true),
                     EDDY_OK);
    want(EDDY_INT32, HARNESS_DIMS(4), (const double[]){-1, 7, -1, 7});
    ck_assert_int_eq(to_dense(harness_scalar(&h, EDDY_INT32, 0),
                              harness_vector(&h, EDDY_INT32, 2),
                              harness_scalar(&h, EDDY_INT32, 7), zero(), true),
                     EDDY_OK);
    want(EDDY_INT32, HARNESS_DIMS(2), (const double[]){7, 0});
}
END_TEST

START_TEST(strings_are_put_as_well)
{
    static const char *const texts[] = {"a", "longer than a word"};

    ck_assert_int_eq(to_dense(harness_vector(&h, EDDY_INT64, 0, 2),
                              harness_vector(&h, EDDY_INT64, 3),
                              harness_strings(&h, HARNESS_DIMS(2), texts),
                              harness_strings(&h, 0, NULL, texts), true),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_STRING, HARNESS_DIMS(3));
}
END_TEST

START_TEST(coordinates_are_checked)
{
    eddy_tensor *values = harness_vector(&h, EDDY_INT32, 1, 2, 3);
    eddy_tensor *four = harness_vector(&h, EDDY_INT64, 4);
    eddy_tensor *two = harness_vector(&h, EDDY_INT32, 1, 2);

    harness_want_error(
        &h, to_dense(places(EDDY_INT64), size(), values, zero(), true),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message, "indices[1] is out of order");
    harness_want_error(
        &h,
        to_dense(harness_vector(&h, EDDY_INT64, 1, 1), four, two, zero(), true),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message, "indices[1] is repeated");
    harness_want_error(&h,
                       to_dense(harness_vector(&h, EDDY_INT64, 1, 4), four, two,
                                zero(), false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       to_dense(harness_vector(&h, EDDY_INT64, -1, 3), four,
                                two, zero(), false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       to_dense(harness_vector(&h, EDDY_INT64, 1, 3), four,
                                values, zero(), false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       to_dense(harness_vector(&h, EDDY_INT64, 1, 3), size(),
                                two, zero(), false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        to_dense(harness_vector(&h, EDDY_INT64, 1, 3), four, two, two, false),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_status sums(eddy_dtype dtype, eddy_tensor *axes, bool keep)
{
    const eddy_attr attr = eddy_attr_bool("keep_dims", &keep);
    eddy_tensor *inputs[] = {places(EDDY_INT64),
                             harness_vector(&h, dtype, 1, 2, 3), size(), axes};

    return harness_run_attrs(&h, "SparseReduceSum", inputs, 4, &attr, 1);
}

START_TEST(sums_go_along_dimensions)
{
    static const eddy_dtype dtypes[] = {
        EDDY_FLOAT16, EDDY_BFLOAT16, EDDY_FLOAT32,   EDDY_FLOAT64,
        EDDY_INT8,    EDDY_INT64,    EDDY_COMPLEX64, EDDY_COMPLEX128};

    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(
            sums(dtypes[i], harness_vector(&h, EDDY_INT32, 0), false), EDDY_OK);
        want(dtypes[i], HARNESS_DIMS(3), (const double[]){2, 1, 3});
        ck_assert_int_eq(
            sums(dtypes[i], harness_vector(&h, EDDY_INT32, -1), true), EDDY_OK);
        want(dtypes[i], HARNESS_DIMS(3, 1), (const double[]){2, 3, 1});
        ck_assert_int_eq(
            sums(dtypes[i], harness_vector(&h, EDDY_INT32, 0, 1), false),
            EDDY_OK);
        want(dtypes[i], 0, NULL, (const double[]){6});
    }
    harness_want_error(
        &h, sums(EDDY_FLOAT32, harness_vector(&h, EDDY_INT32, 2), false),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(matrices_are_multiplied)
{
    static const eddy_dtype dtypes[] = {EDDY_BFLOAT16,  EDDY_FLOAT32,
                                        EDDY_FLOAT64,   EDDY_INT32,
                                        EDDY_COMPLEX64, EDDY_COMPLEX128};
    static const double plain[] = {2, 4, 15, 18, 3, 4};
    static const double adjoint[] = {2, 4, 5, 6, 9, 12};
    const bool yes = true;
    const eddy_attr attr = eddy_attr_bool("adjoint_a", &yes);

    for (int i = 0; i < 6; i++) {
        eddy_tensor *inputs[] = {
            places(_i ? EDDY_INT32 : EDDY_INT64),
            harness_vector(&h, dtypes[i], 1, 2, 3), size(),
            harness_numbers(&h, dtypes[i], HARNESS_DIMS(3, 2),
                            (const double[]){1, 2, 3, 4, 5, 6})};

        ck_assert_int_eq(harness_run_attrs(&h, "SparseTensorDenseMatMul",
                                           inputs, 4, NULL, 0),
                         EDDY_OK);
        want(dtypes[i], HARNESS_DIMS(3, 2), plain);
        ck_assert_int_eq(harness_run_attrs(&h, "SparseTensorDenseMatMul",
                                           inputs, 4, &attr, 1),
                         EDDY_OK);
        want(dtypes[i], HARNESS_DIMS(3, 2), adjoint);
    }
}
END_TEST

START_TEST(what_has_no_product_is_refused)
{
    eddy_tensor *values = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    eddy_tensor *row = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 2),
                                       (const double[]){1, 2});

    harness_want_error(&h,
                       harness_run(&h, "SparseTensorDenseMatMul",
                                   places(EDDY_INT64), values, size(), row),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "SparseTensorDenseMatMul",
                                   places(EDDY_INT64), values, size(), values),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "SparseTensorDenseMatMul",
                                   places(EDDY_INT64), row, size(), row),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "SparseTensorDenseMatMul",
                                   places(EDDY_INT64), values,
                                   harness_vector(&h, EDDY_INT64, 3), row),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "SparseReorder", places(EDDY_INT64),
                                   values,
                                   harness_vector(&h, EDDY_INT64, 9e18, 9e18)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
}
END_TEST

START_TEST(elements_are_put_in_order)
{
    ck_assert_int_eq(harness_run(&h, "SparseReorder", places(EDDY_INT64),
                                 harness_vector(&h, EDDY_INT32, 1, 2, 3),
                                 size()),
                     EDDY_OK);
    want(EDDY_INT64, HARNESS_DIMS(3, 2), (const double[]){0, 0, 1, 2, 2, 1});
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(harness_get(h.outputs[1], i), (i + 1) % 3 + 1);
}
END_TEST

static eddy_status reshape(eddy_tensor *to)
{
    return harness_run(&h, "SparseReshape", places(EDDY_INT64), size(), to);
}

START_TEST(coordinates_follow_a_new_shape)
{
    ck_assert_int_eq(reshape(harness_vector(&h, EDDY_INT64, 1, -1, 1)),
                     EDDY_OK);
    want(EDDY_INT64, HARNESS_DIMS(3, 3),
         (const double[]){0, 7, 0, 0, 0, 0, 0, 5, 0});
    ck_assert_double_eq(harness_get(h.outputs[1], 1), 9);
    harness_want_error(&h, reshape(harness_vector(&h, EDDY_INT64, 2, -1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, reshape(harness_vector(&h, EDDY_INT64, -1, -1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, reshape(harness_vector(&h, EDDY_INT64, 9e18, 9e18)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    harness_want_error(&h,
                       harness_run(&h, "SparseReshape", places(EDDY_INT64),
                                   harness_vector(&h, EDDY_INT64, 9),
                                   harness_vector(&h, EDDY_INT64, 9)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(diagonals_of_twice_the_rank)
{
    eddy_tensor *of = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(1, 2),
                                      (const double[]){5, 6});

    ck_assert_int_eq(harness_run(&h, "Diag", of), EDDY_OK);
    want(EDDY_INT32, HARNESS_DIMS(1, 2, 1, 2), (const double[]){5, 0, 0, 6});
    ck_assert_int_eq(
        harness_run(&h, "DiagPart",
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 2, 1, 2),
                                    (const double[]){5, 1, 2, 6})),
        EDDY_OK);
    want(EDDY_FLOAT32, HARNESS_DIMS(1, 2), (const double[]){5, 6});
    harness_want_error(&h, harness_run(&h, "Diag", zero()),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "DiagPart", of),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run(&h, "DiagPart", harness_vector(&h, EDDY_INT32, 1, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_sparse_tests(void)
{
    TCase *tc = tcase_create("ops_sparse");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, elements_are_put_where_they_belong);
    tcase_add_test(tc, strings_are_put_as_well);
    tcase_add_test(tc, coordinates_are_checked);
    tcase_add_test(tc, sums_go_along_dimensions);
    tcase_add_loop_test(tc, matrices_are_multiplied, 0, 2);
    tcase_add_test(tc, what_has_no_product_is_refused);
    tcase_add_test(tc, elements_are_put_in_order);
    tcase_add_test(tc, coordinates_follow_a_new_shape);
    tcase_add_test(tc, diagonals_of_twice_the_rank);
    return tc;
}

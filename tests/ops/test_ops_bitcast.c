/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__bitcast_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_status cast(eddy_tensor *x, eddy_dtype to)
{
    return harness_run_attrs(&h, "Bitcast", &x, 1,
                             (eddy_attr[]){eddy_attr_type("type", &to)}, 1);
}

/* Output 0 must have that shape and the bytes of `from`. */
static void want(eddy_dtype dtype, int32_t rank, const int64_t *dims,
                 const eddy_tensor *from)
{
    harness_want(&h, 0, dtype, rank, dims);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), eddy_tensor_data(from),
                     from->bytes);
}

START_TEST(dtypes_of_one_size_keep_the_shape)
{
    const int64_t dims[] = {2, 3};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 1, 2, dims);

    ck_assert_int_eq(cast(x, EDDY_UINT32), EDDY_OK);
    want(EDDY_UINT32, 2, dims, x);
    ck_assert_int_eq(cast(x, EDDY_FLOAT32), EDDY_OK);
    want(EDDY_FLOAT32, 2, dims, x);
    ck_assert_int_eq(cast(harness_scalar(&h, EDDY_FLOAT32, 1), EDDY_INT32),
                     EDDY_OK);
    ck_assert(harness_get(h.outputs[0], 0) == 0x3f800000);
}
END_TEST

START_TEST(wide_elements_become_a_dimension_and_narrow_ones_join)
{
    const int64_t dims[] = {2, 4}, two = 2, four = 4, parts[] = {2, 2};
    eddy_tensor *bytes = layout_range(&h, EDDY_UINT8, 1, 2, dims);
    eddy_tensor *words = layout_range(&h, EDDY_INT32, 7, 1, &two);
    eddy_tensor *complex = layout_range(&h, EDDY_COMPLEX64, 7, 1, &two);

    ck_assert_int_eq(cast(bytes, EDDY_INT32), EDDY_OK);
    want(EDDY_INT32, 1, &two, bytes);
    ck_assert_int_eq(cast(words, EDDY_UINT8), EDDY_OK);
    want(EDDY_UINT8, 2, dims, words);
    ck_assert_int_eq(cast(words, EDDY_INT64), EDDY_OK);
    want(EDDY_INT64, 0, NULL, words);
    ck_assert_int_eq(cast(complex, EDDY_FLOAT32), EDDY_OK);
    want(EDDY_FLOAT32, 2, parts, complex);
    ck_assert_int_eq(cast(harness_scalar(&h, EDDY_FLOAT32, 1), EDDY_UINT8),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_UINT8, 1, &four);
}
END_TEST

START_TEST(empty_tensors_have_no_bytes)
{
    const int64_t dims[] = {0, 4}, none = 0;
    eddy_tensor *x = layout_range(&h, EDDY_UINT8, 1, 2, dims);

    ck_assert_int_eq(cast(x, EDDY_INT32), EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, 1, &none);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const int64_t three = 3, deep[] = {1, 1, 1, 1, 1, 1, 1, 1};

    harness_want_error(
        &h, cast(layout_range(&h, EDDY_UINT8, 1, 1, &three), EDDY_INT32),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, cast(harness_scalar(&h, EDDY_UINT8, 1), EDDY_INT32),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, cast(layout_range(&h, EDDY_INT32, 1, 8, deep), EDDY_INT16),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_bitcast_tests(void)
{
    TCase *tests = tcase_create("ops_bitcast");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, dtypes_of_one_size_keep_the_shape);
    tcase_add_test(tests,
                   wide_elements_become_a_dimension_and_narrow_ones_join);
    tcase_add_test(tests, empty_tensors_have_no_bytes);
    tcase_add_test(tests, shapes_that_do_not_fit_are_refused);
    return tests;
}

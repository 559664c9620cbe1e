/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/matrix_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__lu_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_COMPLEX64,
                                    EDDY_COMPLEX128};

static eddy_status lu(eddy_tensor *input, eddy_dtype index)
{
    const eddy_attr attr = eddy_attr_type("output_idx_type", &index);

    return harness_run_attrs(&h, "Lu", &input, 1, &attr, 1);
}

/* L and U of what the last run gave, and the rows of `a` in its order. */
static void take_apart(const matrices *a, matrices *l, matrices *u,
                       matrices *rows)
{
    const matrices both = matrices_of(h.outputs[0]);
    const int64_t n = a->rows;

    *l = *u = both;
    *rows = *a;
    for (int64_t b = 0; b < a->count; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t at = (b * n + i) * n + j;
                const int64_t from =
                    (int64_t)harness_get(h.outputs[1], b * n + i);

                l->x[at] = j < i ? both.x[at] : j == i;
                u->x[at] = j < i ? 0 : both.x[at];
                rows->x[at] = a->x[(b * n + from) * n + j];
            }
}

START_TEST(l_times_u_is_the_matrix_in_another_order)
{
    const eddy_dtype dtype = dtypes[_i];

    for (int64_t n = 1; n <= 6; n++) {
        const eddy_dtype index = n % 2 ? EDDY_INT32 : EDDY_INT64;
        const matrices a = matrices_random(2, n, n, dtype, (uint32_t)n);
        matrices l, u, rows, product;

        ck_assert_int_eq(lu(matrices_tensor(&h, dtype, &a, NULL), index),
                         EDDY_OK);
        harness_want(&h, 0, dtype, HARNESS_DIMS(2, n, n));
        harness_want(&h, 1, index, HARNESS_DIMS(2, n));
        take_apart(&a, &l, &u, &rows);
        for (int64_t i = 0; i < 2 * n * n; i++)
            ck_assert(cabs(l.x[i]) <= 1.0001);
        product = matrices_product(&l, &u);
        matrices_want(&product, &rows, dtype);
    }
}
END_TEST

START_TEST(a_singular_matrix_is_refused)
{
    const double numbers[] = {1, 2, 2, 4};

    for (int d = 0; d < 4; d++)
        harness_want_error(
            &h,
            lu(harness_numbers(&h, dtypes[d], HARNESS_DIMS(2, 2), numbers),
               EDDY_INT32),
            EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(no_matrices_have_no_parts)
{
    ck_assert_int_eq(
        lu(harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(0, 3, 3), NULL),
           EDDY_INT32),
        EDDY_OK);
    harness_want(&h, 1, EDDY_INT32, HARNESS_DIMS(0, 3));
    ck_assert_int_eq(
        lu(harness_numbers(&h, EDDY_COMPLEX64, HARNESS_DIMS(2, 0, 0), NULL),
           EDDY_INT64),
        EDDY_OK);
    harness_want(&h, 1, EDDY_INT64, HARNESS_DIMS(2, 0));
}
END_TEST

START_TEST(a_matrix_must_be_square)
{
    const double numbers[] = {1, 2, 3, 4, 5, 6};
    eddy_status status =
        lu(harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 3), numbers),
           EDDY_INT32);

    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    status = lu(harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(6), numbers),
                EDDY_INT32);
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *ops_lu_tests(void)
{
    TCase *tests = tcase_create("ops_lu");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, l_times_u_is_the_matrix_in_another_order, 0, 4);
    tcase_add_test(tests, a_singular_matrix_is_refused);
    tcase_add_test(tests, no_matrices_have_no_parts);
    tcase_add_test(tests, a_matrix_must_be_square);
    return tests;
}

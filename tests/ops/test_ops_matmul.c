/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/linalg/gemm.h"
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static eddy_status multiply(harness *h, eddy_tensor *a, eddy_tensor *b,
                            bool transpose_a, bool transpose_b)
{
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &transpose_a),
                               eddy_attr_bool("transpose_b", &transpose_b)};

    return harness_run_attrs(h, "MatMul", (eddy_tensor *[]){a, b}, 2, attrs, 2);
}

/* Small integers, so that every dtype is exact; `n` by `m` if transposed. */
static eddy_tensor *matrix(harness *h, eddy_dtype dtype, int64_t m, int64_t n,
                           bool transpose, int seed)
{
    double values[8192];

    ck_assert_int_le(m * n, 8192);
    for (int64_t i = 0; i < m * n; i++) {
        const int64_t row = i / n, column = i % n;
        const int64_t at = transpose ? column * m + row : i;

        values[at] = (double)((i * 7 + seed) % 4);
    }
    return transpose ? harness_numbers(h, dtype, HARNESS_DIMS(n, m), values)
                     : harness_numbers(h, dtype, HARNESS_DIMS(m, n), values);
}

/* Element (row, column) of what `matrix` made with `n` columns. */
static double element(int64_t n, int64_t row, int64_t column, int seed)
{
    return (double)(((row * n + column) * 7 + seed) % 4);
}

static void check(harness *h, eddy_dtype dtype, int64_t m, int64_t n, int64_t k,
                  unsigned transposes)
{
    const bool ta = transposes & 1, tb = (transposes & 2) != 0;

    ck_assert_int_eq(multiply(h, matrix(h, dtype, m, k, ta, 1),
                              matrix(h, dtype, k, n, tb, 2), ta, tb),
                     EDDY_OK);
    harness_want(h, 0, dtype, HARNESS_DIMS(m, n));
    ck_assert_int_eq(h->inferred[0].dims[0], m);
    ck_assert_int_eq(h->inferred[0].dims[1], n);
    for (int64_t i = 0; i < m * n; i++) {
        double want = 0;

        for (int64_t j = 0; j < k; j++)
            want += element(k, i / n, j, 1) * element(n, j, i % n, 2);
        if (dtype == EDDY_UINT8)
            want = fmod(want, 256);
        if (dtype == EDDY_BFLOAT16)
            want = (double)eddy_bfloat16_to_float(
                eddy_bfloat16_from_float((float)want));
        ck_assert_double_eq(harness_get(h->outputs[0], i), want);
    }
}

static const struct size_row {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1},  {2, 3, 4},  {5, 1, 7}, {1, 6, 3},   {1, 1, 9},
             {4, 70, 3}, {3, 5, 60}, {8, 8, 8}, {17, 9, 1},  {3, 4, 0},
             {0, 4, 3},  {3, 0, 2},  {1, 5, 0}, {33, 34, 35}};

static bool has_kernel(eddy_dtype dtype)
{
    return dtype != EDDY_BOOL && dtype != EDDY_INT8 && dtype != EDDY_INT16;
}

START_TEST(every_dtype_and_transpose_agrees_with_the_reference)
{
    const struct size_row *row = &sizes[_i];
    harness h;

    harness_init(&h, &eddy__matmul_ops);
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_COMPLEX128; d++)
        for (unsigned transposes = 0; transposes < 4; transposes++)
            if (has_kernel(d))
                check(&h, d, row->m, row->n, row->k, transposes);
    harness_deinit(&h);
}
END_TEST

/* Shapes on both sides of every choice between libraries. */
static const struct size_row choices[] = {
    {24, 24, 24},  {26, 26, 26},  {16, 70, 64},   {2, 100, 90}, {16, 128, 300},
    {33, 130, 64}, {9, 512, 300}, {16, 512, 256}, {7, 512, 65}, {20, 1024, 5},
};

static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 24) / 16 - 8;
    }
}

static eddy_tensor *filled(harness *h, int64_t rows, int64_t columns,
                           unsigned seed)
{
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    eddy_tensor *t;

    ck_assert_ptr_nonnull(x);
    fill(x, rows * columns, seed);
    t = harness_tensor(h, EDDY_FLOAT32, HARNESS_DIMS(rows, columns), x);
    free(x);
    return t;
}

static double product_at(const eddy_tensor *a, const eddy_tensor *b, bool ta,
                         bool tb, int64_t row, int64_t column)
{
    const float *x = a->data, *y = b->data;
    const int64_t k = a->shape.dims[!ta];
    double sum = 0;

    for (int64_t i = 0; i < k; i++)
        sum += (double)x[ta ? i * a->shape.dims[1] + row : row * k + i] *
               (double)y[tb ? column * k + i : i * b->shape.dims[1] + column];
    return sum;
}

/* Sixteenths times sixteenths are summed without rounding, by any library. */
START_TEST(every_library_gives_the_exact_sums)
{
    const struct size_row *r = &choices[_i / 4];
    const bool ta = _i & 1, tb = (_i & 2) != 0;
    eddy_tensor *a, *b;
    const float *got;
    harness h;

    harness_init(&h, &eddy__matmul_ops);
    a = filled(&h, ta ? r->k : r->m, ta ? r->m : r->k, 1);
    b = filled(&h, tb ? r->n : r->k, tb ? r->k : r->n, 2);
    ck_assert_int_eq(multiply(&h, a, b, ta, tb), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(r->m, r->n));
    got = h.outputs[0]->data;
    for (int64_t i = 0; i < r->m * r->n; i++)
        ck_assert_double_eq((double)got[i],
                            product_at(a, b, ta, tb, i / r->n, i % r->n));
    harness_deinit(&h);
}
END_TEST

START_TEST(complex_products_keep_imaginary_parts)
{
    const float a[] = {1, 1, 0, 2}, b[] = {2, 1, 3, -1};
    const float *got;
    harness h;

    harness_init(&h, &eddy__matmul_ops);
    ck_assert_int_eq(
        multiply(&h, harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(1, 2), a),
                 harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2, 1), b),
                 false, false),
        EDDY_OK);
    got = h.outputs[0]->data; /* (1+i)(2+i) + 2i(3-i) */
    ck_assert_float_eq(got[0], 3);
    ck_assert_float_eq(got[1], 9);
    harness_deinit(&h);
}
END_TEST

START_TEST(integers_wrap)
{
    harness h;

    harness_init(&h, &eddy__matmul_ops);
    ck_assert_int_eq(
        multiply(&h,
                 harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(1, 2),
                                 (const double[]){65536, 3}),
                 harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2, 1),
                                 (const double[]){65536, -1}),
                 false, false),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -3);
    harness_deinit(&h);
}
END_TEST

/* Infinity times zero is seen in every form that BLAS has for a product. */
START_TEST(nan_is_not_lost)
{
    double a[16] = {0}, b[16] = {0};
    harness h;

    a[0] = INFINITY;
    harness_init(&h, &eddy__matmul_ops);
    NUMBERS_EACH_FLOAT(d)
    {
        for (int64_t m = 1; m <= 4; m += 3) {
            for (int64_t n = 1; n <= 4; n += 3) {
                ck_assert_int_eq(
                    multiply(&h, harness_numbers(&h, d, HARNESS_DIMS(m, 4), a),
                             harness_numbers(&h, d, HARNESS_DIMS(4, n), b),
                             false, false),
                    EDDY_OK);
                for (int64_t i = 0; i < m * n; i++)
                    ck_assert(i < n ? isnan(harness_get(h.outputs[0], i))
                                    : harness_get(h.outputs[0], i) == 0);
            }
        }
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(halves_are_summed_in_float)
{
    double a[17], b[17];
    harness h;

    for (int i = 0; i < 17; i++) {
        a[i] = i == 0 ? 2048 : 1;
        b[i] = 1;
    }
    harness_init(&h, &eddy__matmul_ops);
    ck_assert_int_eq(
        multiply(&h, harness_numbers(&h, EDDY_FLOAT16, HARNESS_DIMS(1, 17), a),
                 harness_numbers(&h, EDDY_FLOAT16, HARNESS_DIMS(17, 1), b),
                 false, false),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 2064);
    harness_deinit(&h);
}
END_TEST

START_TEST(shapes_without_a_product_are_named)
{
    harness h;
    eddy_tensor *a;
    eddy_status status;

    harness_init(&h, &eddy__matmul_ops);
    a = matrix(&h, EDDY_FLOAT32, 2, 3, false, 1);
    status = multiply(&h, a, a, false, false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(h.err.message, "[2,3]"));
    status =
        multiply(&h, a, matrix(&h, EDDY_FLOAT32, 4, 3, false, 1), false, false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(h.err.message, "[2,3]"));
    ck_assert_ptr_nonnull(strstr(h.err.message, "[4,3]"));
    status = multiply(&h, a, a, true, true);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(h.err.message, "transposed"));
    status = multiply(&h, a, harness_vector(&h, EDDY_FLOAT32, 1, 2, 3), false,
                      false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = multiply(&h, harness_scalar(&h, EDDY_FLOAT32, 1), a, false, false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

/* Columns of a matrix whose rows are longer: nothing beside them is written. */
START_TEST(a_vector_times_part_of_a_matrix_is_that_part)
{
    const bool is_row = _i == 0;
    float matrix[6 * 8], x[6], out[8];
    const eddy__product p = {.m = is_row ? 1 : 3,
                             .n = is_row ? 3 : 1,
                             .k = 6,
                             .transpose_a = !is_row,
                             .a = is_row ? x : matrix,
                             .b = is_row ? matrix : x,
                             .row_a = is_row ? 0 : 8,
                             .row_b = is_row ? 8 : 0,
                             .out = out};

    for (int i = 0; i < 6 * 8; i++)
        matrix[i] = (float)(i % 7);
    for (int i = 0; i < 6; i++)
        x[i] = (float)(i + 1);
    for (int i = 0; i < 8; i++)
        out[i] = -1;
    ck_assert(eddy__gemm_float32(&p));
    for (int column = 0; column < 8; column++) {
        float want = 0;

        for (int i = 0; i < 6; i++)
            want += x[i] * matrix[i * 8 + column];
        ck_assert_float_eq(out[column], column < 3 ? want : -1);
    }
}
END_TEST

TCase *ops_matmul_tests(void)
{
    TCase *tc = tcase_create("ops_matmul");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_dtype_and_transpose_agrees_with_the_reference,
                        0, sizeof sizes / sizeof sizes[0]);
    tcase_add_loop_test(tc, every_library_gives_the_exact_sums, 0,
                        4 * sizeof choices / sizeof choices[0]);
    tcase_add_test(tc, complex_products_keep_imaginary_parts);
    tcase_add_test(tc, integers_wrap);
    tcase_add_test(tc, nan_is_not_lost);
    tcase_add_test(tc, halves_are_summed_in_float);
    tcase_add_test(tc, shapes_without_a_product_are_named);
    tcase_add_loop_test(tc, a_vector_times_part_of_a_matrix_is_that_part, 0, 2);
    return tc;
}

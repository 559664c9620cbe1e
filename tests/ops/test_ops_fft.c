/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms against the sums that they stand for. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#define TAU 6.28318530717958647692

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__fft_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Numbers that nothing makes simple. */
static double number(int64_t i)
{
    return sin((double)(i * i + 3 * i) * 0.7 + 0.1);
}

static eddy_tensor *complex_numbers(int32_t rank, const int64_t *dims,
                                    int64_t count)
{
    double *parts = calloc((size_t)(2 * count + 1), sizeof *parts);
    eddy_tensor *tensor;

    ck_assert_ptr_nonnull(parts);
    for (int64_t i = 0; i < 2 * count; i++)
        parts[i] = number(i);
    tensor = harness_tensor(&h, EDDY_COMPLEX128, rank, dims, parts);
    free(parts);
    return tensor;
}

static eddy_tensor *real_numbers(int64_t n)
{
    double *values = calloc((size_t)(n + 1), sizeof *values);
    eddy_tensor *tensor;

    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = number(i);
    tensor = harness_numbers(&h, EDDY_FLOAT64, 1, &n, values);
    free(values);
    return tensor;
}

/* The sum itself, of number `k` of a line of `n`. */
static double complex sum_of(const double complex *x, int64_t n, int64_t k,
                             double sign)
{
    double complex sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += x[j] * cexp(sign * I * TAU * (double)(j * k % n) / (double)n);
    return sum;
}

/* _i: the length, prime and not, below and above that of a stage. */
START_TEST(each_number_is_its_sum)
{
    const int64_t n = _i;
    eddy_tensor *x = complex_numbers(1, &n, n);
    const double complex *from = eddy_tensor_data(x);

    for (int inverse = 0; inverse < 2; inverse++) {
        const double complex *got;

        ck_assert_int_eq(harness_run(&h, inverse ? "IFFT" : "FFT", x), EDDY_OK);
        harness_want(&h, 0, EDDY_COMPLEX128, 1, &n);
        got = eddy_tensor_data(h.outputs[0]);
        for (int64_t k = 0; k < n; k++)
            ck_assert(cabs(got[k] * (inverse ? (double)n : 1) -
                           sum_of(from, n, k, inverse ? 1 : -1)) <
                      1e-13 * (double)n);
    }
}
END_TEST

START_TEST(a_half_says_all_of_real_numbers)
{
    const int64_t n = _i, half = n / 2 + 1;
    const int32_t length = (int32_t)n;
    const eddy_dtype wide = EDDY_COMPLEX128, real = EDDY_FLOAT64;
    const eddy_attr attrs[] = {eddy_attr_type("Treal", &real),
                               eddy_attr_type("Tcomplex", &wide)};
    eddy_tensor *x = real_numbers(n);
    eddy_tensor *lengths =
        harness_tensor(&h, EDDY_INT32, HARNESS_DIMS(1), &length);
    eddy_tensor *inputs[] = {x, lengths};
    double complex line[256];

    for (int64_t i = 0; i < n; i++)
        line[i] = number(i);
    ck_assert_int_eq(harness_run_attrs(&h, "RFFT", inputs, 2, attrs, 2),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX128, 1, &half);
    inputs[0] = harness_tensor(&h, EDDY_COMPLEX128, 1, &half,
                               eddy_tensor_data(h.outputs[0]));
    for (int64_t k = 0; k < half; k++)
        ck_assert(
            cabs(((const double complex *)eddy_tensor_data(inputs[0]))[k] -
                 sum_of(line, n, k, -1)) < 1e-13 * (double)n);
    ck_assert_int_eq(harness_run_attrs(&h, "IRFFT", inputs, 2, attrs, 2),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ck_assert(fabs(harness_get(h.outputs[0], i) - number(i)) < 1e-13);
}
END_TEST

/* Of more dimensions: one after the other, of each item of a batch. */
START_TEST(more_dimensions_come_one_after_the_other)
{
    const int64_t dims[] = {2, 3, 4, 5};
    eddy_tensor *x = complex_numbers(4, dims, 120);
    const double complex *from = eddy_tensor_data(x), *got;

    ck_assert_int_eq(harness_run(&h, "FFT3D", x), EDDY_OK);
    got = eddy_tensor_data(h.outputs[0]);
    for (int64_t i = 0; i < 120; i++) {
        const int64_t a = i / 20 % 3, b = i / 5 % 4, c = i % 5;
        double complex sum = 0;

        for (int64_t j = 0; j < 60; j++)
            sum += from[i / 60 * 60 + j] * cexp(-I * TAU *
                                                ((double)(a * (j / 20)) / 3 +
                                                 (double)(b * (j / 5 % 4)) / 4 +
                                                 (double)(c * (j % 5)) / 5));
        ck_assert(cabs(got[i] - sum) < 1e-12);
    }
    ck_assert_int_eq(harness_run(&h, "FFT2D", x), EDDY_OK);
    ck_assert_int_eq(
        harness_run(&h, "IFFT2D",
                    harness_tensor(&h, EDDY_COMPLEX128, 4, dims,
                                   eddy_tensor_data(h.outputs[0]))),
        EDDY_OK);
    got = eddy_tensor_data(h.outputs[0]);
    for (int64_t i = 0; i < 120; i++)
        ck_assert(cabs(got[i] - from[i]) < 1e-13);
}
END_TEST

START_TEST(nothing_has_no_transform)
{
    const int64_t dims[] = {3, 0};

    ck_assert_int_eq(harness_run(&h, "FFT", complex_numbers(2, dims, 0)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX128, 2, dims);
}
END_TEST

/* Lengths of a transform of three real numbers, and the mistake. */
static const struct {
    int32_t rank, length;
} bad[] = {{1, 4}, {1, -1}, {0, 3}};

START_TEST(lengths_must_fit)
{
    const int64_t one = 1, three = 3;
    const double values[] = {1, 2, 3};
    eddy_tensor *x = harness_numbers(&h, EDDY_FLOAT32, 1, &three, values);
    eddy_tensor *lengths =
        harness_tensor(&h, EDDY_INT32, bad[_i].rank, &one, &bad[_i].length);

    ck_assert_int_ne(harness_run(&h, "RFFT", x, lengths), EDDY_OK);
    ck_assert_int_eq(h.err.code, EDDY_INVALID_ARGUMENT);
}
END_TEST

START_TEST(there_must_be_as_many_dimensions)
{
    const int64_t dims[] = {2, 2};

    harness_want_error(&h,
                       harness_run(&h, "FFT3D", complex_numbers(2, dims, 4)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "FFT", complex_numbers(0, dims, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_fft_tests(void)
{
    TCase *tests = tcase_create("ops_fft");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, each_number_is_its_sum, 1, 80);
    tcase_add_loop_test(tests, a_half_says_all_of_real_numbers, 1, 45);
    tcase_add_test(tests, more_dimensions_come_one_after_the_other);
    tcase_add_test(tests, nothing_has_no_transform);
    tcase_add_loop_test(tests, lengths_must_fit, 0,
                        (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, there_must_be_as_many_dimensions);
    return tests;
}

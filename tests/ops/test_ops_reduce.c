/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static eddy_status reduce(harness *h, const char *op, eddy_tensor *x,
                          eddy_tensor *axes, bool keeps_dims)
{
    const eddy_attr attr = eddy_attr_bool("keep_dims", &keeps_dims);

    return harness_run_attrs(h, op, (eddy_tensor *[]){x, axes}, 2, &attr, 1);
}

/* The axes of a bit set, the odd ones counted from behind. */
static eddy_tensor *axes_tensor(harness *h, eddy_dtype dtype, int32_t rank,
                                unsigned set)
{
    double axes[EDDY_MAX_RANK];
    int64_t n = 0;

    for (int32_t d = 0; d < rank; d++)
        if (set >> d & 1)
            axes[n++] = d % 2 ? d - rank : d;
    return harness_numbers(h, dtype, 1, &n, axes);
}

/* ---- the reference: element by element into its place ---- */

typedef struct total {
    long double sum, product, largest, least, squares;
    uint64_t wrapped_sum, wrapped_product, wrapped_squares;
    bool has_nan;
    int64_t n;
} total;

static void add_element(total *t, const eddy_tensor *x, int64_t i)
{
    const long double value = harness_get(x, i);

    t->has_nan = t->has_nan || isnan(value);
    t->sum += value;
    t->squares += value * value;
    t->product *= value;
    t->largest = value > t->largest ? value : t->largest;
    t->least = value < t->least ? value : t->least;
    t->n++;
    if (numbers_is_float(eddy_tensor_dtype(x)) || x->dtype == EDDY_COMPLEX64)
        return;
    t->wrapped_sum += numbers_integer_at(x, i);
    t->wrapped_product *= numbers_integer_at(x, i);
    t->wrapped_squares += numbers_integer_at(x, i) * numbers_integer_at(x, i);
}

/* Where element `i` goes: the index of the output that keeps its dimensions. */
static int64_t place(const eddy_shape *shape, unsigned axes, int64_t i)
{
    int64_t at = 0, stride = 1;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (!(axes >> d & 1)) {
            at += i % shape->dims[d] * stride;
            stride *= shape->dims[d];
        }
        i /= shape->dims[d];
    }
    return at;
}

static long double want_float(const char *op, const total *t)
{
    if (t->has_nan)
        return (long double)NAN;
    return strcmp(op, "Sum") == 0    ? t->sum
           : strcmp(op, "Mean") == 0 ? t->sum / t->n
           : strcmp(op, "Prod") == 0 ? t->product
           : strcmp(op, "Max") == 0  ? t->largest
           : strcmp(op, "Min") == 0  ? t->least
                                     : sqrtl(t->squares);
}

/*
 * The root of a sum that wrapped in the dtype; where that went below 0, what
 * TensorFlow gives on x86.
 */
static uint64_t want_root(eddy_dtype dtype, uint64_t squares)
{
    const int width = numbers_width(dtype), shift = 64 - width;
    const uint64_t sum = squares << shift >> shift;

    if (numbers_is_signed(dtype) && sum >> (width - 1) != 0)
        return (uint64_t)(width > 32 ? INT64_MIN : INT32_MIN);
    return (uint64_t)sqrtl((long double)sum);
}

static uint64_t want_integer(const char *op, const total *t, eddy_dtype dtype)
{
    const bool with_sign = numbers_is_signed(dtype);

    if (strcmp(op, "Sum") == 0)
        return t->wrapped_sum;
    if (strcmp(op, "Prod") == 0)
        return t->wrapped_product;
    if (strcmp(op, "Mean") == 0)
        return with_sign ? (uint64_t)((int64_t)t->wrapped_sum / t->n)
                         : t->wrapped_sum / (uint64_t)t->n;
    if (strcmp(op, "EuclideanNorm") == 0)
        return want_root(dtype, t->wrapped_squares);
    return (uint64_t)(int64_t)(strcmp(op, "Max") == 0 ? t->largest : t->least);
}

static void check(const char *op, const eddy_tensor *x, const eddy_tensor *y,
                  unsigned axes)
{
    const eddy_dtype dtype = eddy_tensor_dtype(x);
    total *totals = calloc((size_t)y->count + 1, sizeof *totals);

    ck_assert_ptr_nonnull(totals);
    for (int64_t i = 0; i < y->count; i++)
        totals[i] = (total){.product = 1,
                            .largest = -INFINITY,
                            .least = INFINITY,
                            .wrapped_product = 1};
    for (int64_t i = 0; i < x->count; i++)
        add_element(&totals[place(&x->shape, axes, i)], x, i);
    for (int64_t i = 0; i < y->count; i++) {
        const double got = harness_get(y, i);
        const long double want = want_float(op, &totals[i]);

        if (numbers_is_float(dtype) || dtype == EDDY_COMPLEX64)
            ck_assert_msg(
                fabsl(got - want) <= 1e-5L * fabsl(want) ||
                    ((dtype == EDDY_FLOAT16 || dtype == EDDY_BFLOAT16) &&
                     numbers_nearly(dtype, got, want)) ||
                    (isnan(got) && isnan(want)) || got == want,
                "%s %s: got %g, want %Lg", op, eddy_dtype_name(dtype), got,
                want);
        else
            ck_assert_msg(
                (numbers_integer_at(y, i) ^ want_integer(op, &totals[i], dtype))
                        << (64 - numbers_width(dtype)) ==
                    0,
                "%s %s: got %g", op, eddy_dtype_name(dtype), got);
    }
    free(totals);
}

/* ---- every op, dtype, shape and set of axes ---- */

static const eddy_shape shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {7}},
    {1, {40}},
    {2, {5, 3}},
    {2, {1, 20}},
    {3, {4, 3, 5}},
    {3, {3, 70, 2}},
    {4, {2, 3, 4, 5}},
    {4, {2, 1, 3, 1}},
    {5, {2, 1, 2, 2, 3}},
    {8, {2, 1, 2, 1, 2, 2, 1, 3}},
};

static eddy_tensor *some_numbers(harness *h, eddy_dtype dtype,
                                 const eddy_shape *shape)
{
    double values[1024];
    int64_t n;

    ck_assert(eddy__shape_count(shape, 1, &n) && n <= 1024);
    for (int64_t i = 0; i < n; i++)
        values[i] = numbers_is_float(dtype) ? (double)(i * 37 % 11) / 8 + 0.5
                                            : (double)(i * 37 % 23);
    if (numbers_is_signed(dtype) || numbers_is_float(dtype))
        for (int64_t i = 0; i < n; i += 3)
            values[i] = -values[i];
    return harness_numbers(h, dtype, shape->rank, shape->dims, values);
}

static void check_axes(harness *h, const char *op, eddy_tensor *x,
                       unsigned axes)
{
    const eddy_shape *shape = &x->shape;
    eddy_shape dropped = {.rank = 0}, kept = *shape;

    for (int32_t d = 0; d < shape->rank; d++) {
        if (axes >> d & 1)
            kept.dims[d] = 1;
        else
            dropped.dims[dropped.rank++] = shape->dims[d];
    }
    ck_assert_int_eq(
        reduce(h, op, x, axes_tensor(h, EDDY_INT32, shape->rank, axes), false),
        EDDY_OK);
    harness_want(h, 0, eddy_tensor_dtype(x), dropped.rank, dropped.dims);
    check(op, x, h->outputs[0], axes);
    ck_assert_int_eq(
        reduce(h, op, x, axes_tensor(h, EDDY_INT64, shape->rank, axes), true),
        EDDY_OK);
    harness_want(h, 0, eddy_tensor_dtype(x), kept.rank, kept.dims);
    check(op, x, h->outputs[0], axes);
}

static const char *const ops[] = {"Sum", "Prod", "Max",
                                  "Min", "Mean", "EuclideanNorm"};

START_TEST(every_dtype_agrees_with_the_reference)
{
    harness h;

    harness_init(&h, &eddy__reduce_ops);
    NUMBERS_EACH_REAL(d)
    {
        eddy_tensor *x = some_numbers(&h, d, &shapes[8]);

        for (unsigned axes = 0; axes < 16; axes++)
            check_axes(&h, ops[_i], x, axes);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(every_set_of_axes_agrees_with_the_reference)
{
    const eddy_shape *shape = &shapes[_i];
    harness h;

    harness_init(&h, &eddy__reduce_ops);
    for (unsigned axes = 0; axes < 1u << shape->rank; axes++) {
        check_axes(&h, "Sum", some_numbers(&h, EDDY_FLOAT64, shape), axes);
        check_axes(&h, "Max", some_numbers(&h, EDDY_INT16, shape), axes);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(means_of_integers_do_not_wrap_in_the_middle)
{
    harness h;

    harness_init(&h, &eddy__reduce_ops);
    for (eddy_dtype d = EDDY_INT8; d <= EDDY_UINT64; d++) {
        if (d == EDDY_INT64 || d == EDDY_UINT64)
            continue;
        ck_assert_int_eq(reduce(&h, "Mean",
                                harness_vector(&h, d, 127, 127, 124),
                                harness_vector(&h, EDDY_INT32, 0), false),
                         EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 126);
    }
    ck_assert_int_eq(reduce(&h, "Mean",
                            harness_vector(&h, EDDY_INT8, -100, -100, -101),
                            harness_vector(&h, EDDY_INT32, 0), false),
                     EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -100);
    harness_deinit(&h);
}
END_TEST

/* What TensorFlow 2.21 gives for nothing. */
static const struct empty_row {
    const char *op;
    double of_float, of_int8, of_uint16, of_complex;
} empty_rows[] = {
    {"Sum", 0, 0, 0, 0},
    {"Prod", 1, 1, 1, 1},
    {"Max", -INFINITY, -128, 0, NAN},
    {"Min", INFINITY, 127, 65535, NAN},
    {"Mean", NAN, 0, 0, 0},
    {"EuclideanNorm", 0, 0, 0, 0},
};

static void check_empty(harness *h, const char *op, eddy_dtype dtype,
                        double want)
{
    eddy_tensor *x = harness_numbers(h, dtype, HARNESS_DIMS(3, 0, 2), NULL);

    ck_assert_int_eq(reduce(h, op, x, harness_vector(h, EDDY_INT32, 1), false),
                     EDDY_OK);
    harness_want(h, 0, dtype, HARNESS_DIMS(3, 2));
    for (int64_t i = 0; i < 6; i++) {
        const double got = harness_get(h->outputs[0], i);

        ck_assert(got == want || (isnan(got) && isnan(want)));
    }
    ck_assert_int_eq(
        reduce(h, op, x, harness_vector(h, EDDY_INT32, 0, 1, 2), false),
        EDDY_OK);
    harness_want(h, 0, dtype, 0, NULL);
    ck_assert_int_eq(reduce(h, op, x, harness_vector(h, EDDY_INT32, 0), true),
                     EDDY_OK);
    harness_want(h, 0, dtype, HARNESS_DIMS(1, 0, 2));
}

START_TEST(nothing_gives_the_identity)
{
    const struct empty_row *row = &empty_rows[_i];
    harness h;

    harness_init(&h, &eddy__reduce_ops);
    check_empty(&h, row->op, EDDY_FLOAT32, row->of_float);
    check_empty(&h, row->op, EDDY_FLOAT16, row->of_float);
    check_empty(&h, row->op, EDDY_INT8, row->of_int8);
    check_empty(&h, row->op, EDDY_UINT16, row->of_uint16);
    if (!isnan(row->of_complex))
        check_empty(&h, row->op, EDDY_COMPLEX64, row->of_complex);
    harness_deinit(&h);
}
END_TEST

START_TEST(bools_are_joined)
{
    static const double x[] = {1, 0, 1, 1, 1, 1};
    static const double all[] = {0, 1}, any[] = {1, 1};
    harness h;
    eddy_tensor *t, *axis;

    harness_init(&h, &eddy__reduce_ops);
    t = harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(2, 3), x);
    axis = harness_scalar(&h, EDDY_INT32, 1);
    ck_assert_int_eq(reduce(&h, "All", t, axis, false), EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(2));
    for (int64_t i = 0; i < 2; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), all[i]);
    ck_assert_int_eq(reduce(&h, "Any", t, axis, true), EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(2, 1));
    for (int64_t i = 0; i < 2; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), any[i]);
    t = harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(0), NULL);
    axis = harness_scalar(&h, EDDY_INT32, 0);
    ck_assert_int_eq(reduce(&h, "All", t, axis, false), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    ck_assert_int_eq(reduce(&h, "Any", t, axis, false), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0);
    harness_deinit(&h);
}
END_TEST

START_TEST(nan_wins_over_every_number)
{
    double x[50];
    harness h;

    for (int i = 0; i < 50; i++)
        x[i] = i;
    x[_i] = NAN;
    harness_init(&h, &eddy__reduce_ops);
    NUMBERS_EACH_FLOAT(d)
    {
        check_axes(&h, "Max", harness_numbers(&h, d, HARNESS_DIMS(50), x), 1);
        check_axes(&h, "Min", harness_numbers(&h, d, HARNESS_DIMS(50), x), 1);
        check_axes(&h, "Min", harness_numbers(&h, d, HARNESS_DIMS(10, 5), x),
                   1);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(complex_numbers_are_reduced)
{
    const float x[] = {1, 1, 2, 0, 3, 0, 0, 4};
    const float *got;
    harness h;
    eddy_tensor *z;

    harness_init(&h, &eddy__reduce_ops);
    z = harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2, 2), x);
    ck_assert_int_eq(
        reduce(&h, "Prod", z, harness_vector(&h, EDDY_INT32, 0, 1), false),
        EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert_float_eq(got[0], -24);
    ck_assert_float_eq(got[1], 24);
    ck_assert_int_eq(
        reduce(&h, "Mean", z, harness_vector(&h, EDDY_INT32, 0), false),
        EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert_float_eq(got[0], 2);
    ck_assert_float_eq(got[1], 0.5f);
    ck_assert_float_eq(got[2], 1);
    ck_assert_float_eq(got[3], 2);
    harness_deinit(&h);
}
END_TEST

/* TensorFlow 2.21: one element is not what it was, and sums of squares wrap. */
START_TEST(a_norm_is_no_identity)
{
    static const double x[] = {-5, 2, 0, -3};
    static const double narrow[] = {100, 100, 10, 10};
    static const float z[] = {3, 4, 0, -2};
    const float *got;
    harness h;
    eddy_tensor *none;

    harness_init(&h, &eddy__reduce_ops);
    none = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(0), NULL);
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_INT64; d++) {
        ck_assert_int_eq(
            reduce(&h, "EuclideanNorm",
                   harness_numbers(&h, d, HARNESS_DIMS(2, 1, 2), x),
                   harness_scalar(&h, EDDY_INT32, 1), false),
            EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(2, 2));
        for (int64_t i = 0; i < 4; i++)
            ck_assert_double_eq(harness_get(h.outputs[0], i), fabs(x[i]));
        ck_assert_int_eq(
            reduce(&h, "EuclideanNorm", harness_scalar(&h, d, -7), none, true),
            EDDY_OK);
        harness_want(&h, 0, d, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 7);
    }
    ck_assert_int_eq(
        reduce(&h, "EuclideanNorm",
               harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), z), none,
               false),
        EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert(got[0] == 5 && got[1] == 0 && got[2] == 2 && got[3] == 0);
    ck_assert_int_eq(
        reduce(&h, "EuclideanNorm",
               harness_numbers(&h, EDDY_INT8, HARNESS_DIMS(2, 2), narrow),
               harness_scalar(&h, EDDY_INT32, -1), false),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 5);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 0);
    harness_deinit(&h);
}
END_TEST

/* ---- accuracy: 3 million terms, along a row and along a column ---- */

START_TEST(long_sums_stay_accurate)
{
    const int64_t n = 3000000;
    double *values = malloc((size_t)n * sizeof *values);
    const double want = (double)0.1f * 1000000;
    harness h;
    eddy_tensor *x;

    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = 0.1;
    harness_init(&h, &eddy__reduce_ops);
    x = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(3, n / 3), values);
    ck_assert_int_eq(
        reduce(&h, "Sum", x, harness_scalar(&h, EDDY_INT32, 1), false),
        EDDY_OK);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(harness_get(h.outputs[0], i), want,
                                want * 2e-6);
    x = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(n / 3, 3), values);
    ck_assert_int_eq(
        reduce(&h, "Sum", x, harness_scalar(&h, EDDY_INT32, 0), false),
        EDDY_OK);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(harness_get(h.outputs[0], i), want,
                                want * 2e-5);
    harness_deinit(&h);
    free(values);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(bad_axes_are_refused)
{
    harness h;
    eddy_tensor *x;
    eddy_status status;

    harness_init(&h, &eddy__reduce_ops);
    x = some_numbers(&h, EDDY_FLOAT32, &shapes[6]);
    status = reduce(&h, "Sum", x, harness_vector(&h, EDDY_INT32, 5), false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_ptr_nonnull(strstr(h.err.message, "axis 5"));
    status = reduce(&h, "Sum", x, harness_vector(&h, EDDY_INT64, -4), false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    status = reduce(&h, "Sum", x, harness_vector(&h, EDDY_INT32, 0, -3), true);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    status = reduce(&h, "Sum", harness_scalar(&h, EDDY_FLOAT32, 1),
                    harness_scalar(&h, EDDY_INT32, 0), true);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    status = reduce(&h, "Sum", x,
                    harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(1, 1),
                                    (const double[]){3}),
                    false);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_deinit(&h);
}
END_TEST

TCase *ops_reduce_tests(void)
{
    TCase *tc = tcase_create("ops_reduce");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0,
                        sizeof ops / sizeof ops[0]);
    tcase_add_loop_test(tc, every_set_of_axes_agrees_with_the_reference, 0,
                        sizeof shapes / sizeof shapes[0]);
    tcase_add_test(tc, means_of_integers_do_not_wrap_in_the_middle);
    tcase_add_loop_test(tc, nothing_gives_the_identity, 0,
                        sizeof empty_rows / sizeof empty_rows[0]);
    tcase_add_test(tc, bools_are_joined);
    tcase_add_loop_test(tc, nan_wins_over_every_number, 0, 50);
    tcase_add_test(tc, complex_numbers_are_reduced);
    tcase_add_test(tc, a_norm_is_no_identity);
    tcase_add_test(tc, long_sums_stay_accurate);
    tcase_add_test(tc, bad_axes_are_refused);
    return tc;
}

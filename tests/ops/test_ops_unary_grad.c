/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* ---- references, from the definitions ---- */

static long double elu(long double g, long double x)
{
    return x < 0 ? g * (x + 1) : g;
}

static long double reciprocal(long double y, long double dy)
{
    return -dy * y * y;
}

static long double relu(long double g, long double x)
{
    return g * (long double)(x > 0);
}

static long double relu6(long double g, long double x)
{
    return g * (long double)(x > 0 && x < 6);
}

static long double rsqrt(long double y, long double dy)
{
    return dy * -y * y * y / 2;
}

static long double selu(long double g, long double x)
{
    const long double alpha = 1.6732632423543772848170429916717L;
    const long double scale = 1.0507009873554804934193349852946L;

    return x < 0 ? g * (x + scale * alpha) : g * scale;
}

static long double sigmoid(long double y, long double dy)
{
    return dy * y * (1 - y);
}

static long double softplus(long double g, long double x)
{
    return g / (1 + expl(-x));
}

static long double softsign(long double g, long double x)
{
    return g / ((1 + fabsl(x)) * (1 + fabsl(x)));
}

static long double square_root(long double y, long double dy)
{
    return dy / 2 / y;
}

static long double tangent(long double y, long double dy)
{
    return dy * (1 - y * y);
}

typedef struct op_row {
    const char *name;
    long double (*want)(long double a, long double b);
    bool takes_integers;
    bool is_flat;          /* looks at counts, not at shapes; takes complex64 */
    float real, imaginary; /* of 1+2i and 3-1i, from TensorFlow */
} op_row;

static const op_row ops[] = {
    {"EluGrad", elu, false, false, 0, 0},
    {"InvGrad", reciprocal, false, true, 13, 9},
    {"ReciprocalGrad", reciprocal, false, true, 13, 9},
    {"Relu6Grad", relu6, true, false, 0, 0},
    {"ReluGrad", relu, true, false, 0, 0},
    {"RsqrtGrad", rsqrt, false, true, 15.5f, -8.5f},
    {"SeluGrad", selu, false, false, 0, 0},
    {"SigmoidGrad", sigmoid, false, true, 10, -10},
    {"SoftplusGrad", softplus, false, false, 0, 0},
    {"SoftsignGrad", softsign, false, false, 0, 0},
    {"SqrtGrad", square_root, false, true, 0.5f, 0.5f},
    {"TanhGrad", tangent, false, true, 8, -16},
};

#define N_OPS ((int)(sizeof ops / sizeof ops[0]))

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__unary_grad_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const double floats[] = {-2.5,     -1,        -0.75, -0.3, -0.0, 0,
                                0.1,      0.5,       0.9,   1,    2.5,  6,
                                INFINITY, -INFINITY, NAN,   7};
static const double integers[] = {-128, -7, -2, -1, 0, 1, 2,  3,
                                  4,    5,  6,  7,  8, 9, 10, 127};

#define N 16

/* Every pair of values, more than a strip of a loop, and each pair alone. */
static void check_dtype(const op_row *op, eddy_dtype dtype)
{
    const bool is_float = numbers_is_float(dtype);
    const bool is_unsigned = !is_float && !numbers_is_signed(dtype);
    const double *values = is_float ? floats : integers;
    const size_t size = eddy_dtype_size(dtype);
    double a[N * N], b[N * N];
    eddy_tensor *x, *y, *z;

    for (int i = 0; i < N * N; i++) {
        a[i] = is_unsigned ? fabs(values[i / N]) : values[i / N];
        b[i] = is_unsigned ? fabs(values[i % N]) : values[i % N];
    }
    x = harness_numbers(&h, dtype, HARNESS_DIMS(N, 1, 1, N), a);
    y = harness_numbers(&h, dtype, HARNESS_DIMS(N, 1, 1, N), b);
    ck_assert_int_eq(harness_run(&h, op->name, x, y), EDDY_OK);
    harness_want(&h, 0, dtype, HARNESS_DIMS(N, 1, 1, N));
    z = eddy_tensor_retain(h.outputs[0]);
    for (int i = 0; i < N * N; i++) {
        const double got = harness_get(z, i);
        const long double want = op->want(harness_get(x, i), harness_get(y, i));

        ck_assert_msg(is_float ? numbers_nearly(dtype, got, want)
                               : got == (double)want,
                      "%s %s: %a, %a: got %a, want %La", op->name,
                      eddy_dtype_name(dtype), a[i], b[i], got, want);
        if (i % 3 != 0)
            continue;
        harness_run(&h, op->name, harness_scalar(&h, dtype, a[i]),
                    harness_scalar(&h, dtype, b[i]));
        harness_want(&h, 0, dtype, 0, NULL);
        ck_assert_mem_eq(h.outputs[0]->data,
                         (unsigned char *)z->data + (size_t)i * size, size);
    }
    eddy_tensor_release(z);
}

START_TEST(every_dtype_agrees_with_the_reference)
{
    const op_row *op = &ops[_i];

    NUMBERS_EACH_REAL(d)
    if (numbers_is_float(d) || op->takes_integers)
        check_dtype(op, d);
}
END_TEST

START_TEST(the_table_has_exactly_these_ops)
{
    ck_assert_uint_eq(eddy__unary_grad_ops.n, N_OPS);
}
END_TEST

START_TEST(complex_numbers_are_computed)
{
    const op_row *op = &ops[_i];
    const float y[] = {1, 2, 1, 2}, dy[] = {3, -1, 3, -1};
    const float *got;

    if (!op->is_flat) {
        const eddy_status status =
            harness_run(&h, op->name,
                        harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), y),
                        harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), y));

        ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
        return;
    }
    ck_assert_int_eq(
        harness_run(&h, op->name,
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), y),
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), dy)),
        EDDY_OK);
    got = h.outputs[0]->data;
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(got[i], i % 2 ? op->imaginary : op->real, 1e-5f);
}
END_TEST

START_TEST(shapes_that_differ_are_refused)
{
    const op_row *op = &ops[_i];
    const double six[6] = {0};
    eddy_status status =
        harness_run(&h, op->name,
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 3), six),
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(3, 2), six));

    if (op->is_flat) {
        ck_assert_int_eq(status, EDDY_OK);
        harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2, 3));
    } else {
        harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    }
    status =
        harness_run(&h, op->name,
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 3), six),
                    harness_scalar(&h, EDDY_FLOAT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    ck_assert_int_eq(
        harness_run(
            &h, ops[_i].name,
            harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 0), NULL),
            harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 0), NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2, 0));
}
END_TEST

TCase *ops_unary_grad_tests(void)
{
    TCase *tc = tcase_create("ops_unary_grad");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0, N_OPS);
    tcase_add_test(tc, the_table_has_exactly_these_ops);
    tcase_add_loop_test(tc, complex_numbers_are_computed, 0, N_OPS);
    tcase_add_loop_test(tc, shapes_that_differ_are_refused, 0, N_OPS);
    tcase_add_loop_test(tc, nothing_gives_nothing, 0, N_OPS);
    return tc;
}

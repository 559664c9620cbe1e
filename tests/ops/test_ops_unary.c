/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

typedef long double (*on_floats)(long double x);
typedef uint64_t (*on_integers)(uint64_t x);

/* ---- references, written without a look at the kernels ---- */

static long double sign(long double x)
{
    return isnan(x) ? x : (long double)((x > 0) - (x < 0));
}

static long double relu6(long double x)
{
    return isnan(x) ? x : fminl(fmaxl(x, 0), 6);
}

static long double elu(long double x)
{
    return x < 0 ? expm1l(x) : x;
}

static long double selu(long double x)
{
    const long double alpha = 1.6732632423543772848170429916717L;
    const long double scale = 1.0507009873554804934193349852946L;

    return x < 0 ? scale * alpha * expm1l(x) : scale * x;
}

static long double softplus(long double x)
{
    return x > 1000 ? x : log1pl(expl(x));
}

static long double softsign(long double x)
{
    return x / (1 + fabsl(x));
}

static long double sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double relu(long double x)
{
    return isnan(x) ? x : fmaxl(x, 0);
}

static long double negative(long double x)
{
    return -x;
}

static long double square(long double x)
{
    return x * x;
}

static long double reciprocal(long double x)
{
    return 1 / x;
}

static long double rsqrt(long double x)
{
    return 1 / sqrtl(x);
}

static long double is_nan(long double x)
{
    return isnan(x) != 0;
}

static long double is_inf(long double x)
{
    return isinf(x) != 0;
}

static long double is_finite(long double x)
{
    return isfinite(x) != 0;
}

/* From far out, where few terms are left, by the recurrence. */
static long double digamma(long double x)
{
    long double shift = 0;

    if (isinf(x) && x > 0)
        return x;
    if (isnan(x) || isinf(x) || (x <= 0 && x == floorl(x)))
        return NAN;
    if (x < 0)
        return digamma(1 - x) - acosl(-1) / tanl(acosl(-1) * (x - rintl(x)));
    for (; x < 1000; x++)
        shift += 1 / x;
    return logl(x) - 1 / (2 * x) - 1 / (12 * x * x) +
           1 / (120 * x * x * x * x) - 1 / (252 * powl(x, 6)) - shift;
}

/* Where a rising function is `y`, by halving; its ends are at -1 and 1. */
static long double invert_by(on_floats rising, long double y)
{
    long double low = -200, high = 200;

    for (int i = 0; i < 200; i++) {
        const long double middle = (low + high) / 2;

        *(rising(middle) < y ? &low : &high) = middle;
    }
    return high;
}

static long double erfinv(long double x)
{
    if (!(fabsl(x) <= 1))
        return NAN;
    return fabsl(x) == 1 ? x * INFINITY : x == 0 ? 0 : invert_by(erfl, x);
}

static long double normal(long double x)
{
    return erfcl(-x / sqrtl(2)) / 2;
}

static long double ndtri(long double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    return p == 0 ? -INFINITY : p == 1 ? INFINITY : invert_by(normal, p);
}

static uint64_t population(uint64_t x)
{
    uint64_t n = 0;

    for (; x != 0; x >>= 1)
        n += x & 1;
    return n;
}

/* Integers of any width as 64 bits of two's complement. */
static uint64_t wrap_abs(uint64_t x)
{
    return x >> 63 ? 0 - x : x;
}

static uint64_t wrap_negative(uint64_t x)
{
    return ~x + 1;
}

static uint64_t wrap_square(uint64_t x)
{
    return x * x;
}

static uint64_t wrap_sign(uint64_t x)
{
    return x >> 63 ? UINT64_MAX : x != 0;
}

static uint64_t wrap_relu(uint64_t x)
{
    return x >> 63 ? 0 : x;
}

static uint64_t wrap_relu6(uint64_t x)
{
    return x >> 63 ? 0 : x > 6 ? 6 : x;
}

static uint64_t unchanged(uint64_t x)
{
    return x;
}

static uint64_t least_of_6(uint64_t x)
{
    return x > 6 ? 6 : x;
}

static uint64_t invert(uint64_t x)
{
    return UINT64_MAX - x;
}

/* NULL: the op does not take the dtypes. */
typedef struct op_row {
    const char *name;
    on_floats floats;
    on_integers with_sign, without_sign;
    bool is_test;
} op_row;

static const op_row ops[] = {
    {"Abs", fabsl, wrap_abs, NULL, false},
    {"Acos", acosl, NULL, NULL, false},
    {"Acosh", acoshl, NULL, NULL, false},
    {"Asin", asinl, NULL, NULL, false},
    {"Asinh", asinhl, NULL, NULL, false},
    {"Atan", atanl, NULL, NULL, false},
    {"Atanh", atanhl, NULL, NULL, false},
    {"Ceil", ceill, NULL, NULL, false},
    {"Cos", cosl, NULL, NULL, false},
    {"Cosh", coshl, NULL, NULL, false},
    {"Digamma", digamma, NULL, NULL, false},
    {"Elu", elu, NULL, NULL, false},
    {"Erf", erfl, NULL, NULL, false},
    {"Erfc", erfcl, NULL, NULL, false},
    {"Erfinv", erfinv, NULL, NULL, false},
    {"Exp", expl, NULL, NULL, false},
    {"Expm1", expm1l, NULL, NULL, false},
    {"Floor", floorl, NULL, NULL, false},
    {"Inv", reciprocal, NULL, NULL, false},
    {"Invert", NULL, invert, invert, false},
    {"IsFinite", is_finite, NULL, NULL, true},
    {"IsInf", is_inf, NULL, NULL, true},
    {"IsNan", is_nan, NULL, NULL, true},
    {"Lgamma", lgammal, NULL, NULL, false},
    {"Log", logl, NULL, NULL, false},
    {"Log1p", log1pl, NULL, NULL, false},
    {"Ndtri", ndtri, NULL, NULL, false},
    {"Neg", negative, wrap_negative, NULL, false},
    {"Reciprocal", reciprocal, NULL, NULL, false},
    {"Relu", relu, wrap_relu, unchanged, false},
    {"Relu6", relu6, wrap_relu6, least_of_6, false},
    {"Rint", rintl, NULL, NULL, false},
    {"Round", rintl, unchanged, NULL, false},
    {"Rsqrt", rsqrt, NULL, NULL, false},
    {"Selu", selu, NULL, NULL, false},
    {"Sigmoid", sigmoid, NULL, NULL, false},
    {"Sign", sign, wrap_sign, NULL, false},
    {"Sin", sinl, NULL, NULL, false},
    {"Sinh", sinhl, NULL, NULL, false},
    {"Softplus", softplus, NULL, NULL, false},
    {"Softsign", softsign, NULL, NULL, false},
    {"Sqrt", sqrtl, NULL, NULL, false},
    {"Square", square, wrap_square, wrap_square, false},
    {"Tan", tanl, NULL, NULL, false},
    {"Tanh", tanhl, NULL, NULL, false},
};

#define N_OPS ((int)(sizeof ops / sizeof ops[0]))

/* Digamma is a difference of numbers near 3. */
static bool is_near_zero_of_psi(double got, long double want)
{
    return fabsl(got - want) <= 3 * 0x1p-51L;
}

static void check_element(const op_row *op, const eddy_tensor *x,
                          const eddy_tensor *y, int64_t i)
{
    const eddy_dtype dtype = eddy_tensor_dtype(x);
    const eddy_dtype out = op->is_test ? EDDY_BOOL : dtype;

    if (numbers_is_float(dtype)) {
        const double a = harness_get(x, i), got = harness_get(y, i);
        const long double want = op->floats(a);

        ck_assert_msg(op->is_test ? got == (double)want
                                  : numbers_nearly(out, got, want) ||
                                        (op->floats == digamma &&
                                         is_near_zero_of_psi(got, want)),
                      "%s %s of %a: got %a, want %La", op->name,
                      eddy_dtype_name(dtype), a, got, want);
    } else {
        const uint64_t a = numbers_integer_at(x, i);
        const uint64_t want =
            numbers_is_signed(dtype) ? op->with_sign(a) : op->without_sign(a);

        ck_assert_msg(
            (numbers_integer_at(y, i) ^ want) << (64 - numbers_width(dtype)) ==
                0,
            "%s %s of %lld", op->name, eddy_dtype_name(dtype), (long long)a);
    }
}

/* An array longer than any strip of a loop, and each of its elements alone. */
static void check_dtype(const op_row *op, eddy_dtype dtype)
{
    double values[3 * NUMBERS_MAX];
    const int64_t n = numbers_values_of(dtype, values), all = 3 * n;
    eddy_tensor *x, *y;
    size_t size;
    harness h;

    for (int64_t i = n; i < all; i++)
        values[i] = values[i % n];
    harness_init(&h, &eddy__unary_ops);
    x = harness_numbers(&h, dtype, HARNESS_DIMS(3, n), values);
    ck_assert_int_eq(harness_run(&h, op->name, x), EDDY_OK);
    harness_want(&h, 0, op->is_test ? EDDY_BOOL : dtype, HARNESS_DIMS(3, n));
    ck_assert(eddy__shape_equal(&h.inferred[0], &x->shape));
    y = eddy_tensor_retain(h.outputs[0]);
    size = eddy_dtype_size(eddy_tensor_dtype(y));
    for (int64_t i = 0; i < all; i++)
        check_element(op, x, y, i);
    for (int64_t i = 0; i < n; i++) {
        harness_run(&h, op->name, harness_scalar(&h, dtype, values[i]));
        harness_want(&h, 0, eddy_tensor_dtype(y), 0, NULL);
        for (int64_t j = i; j < all; j += n)
            ck_assert_mem_eq(h.outputs[0]->data,
                             (unsigned char *)y->data + (size_t)j * size, size);
    }
    eddy_tensor_release(y);
    harness_deinit(&h);
}

START_TEST(every_dtype_agrees_with_the_reference)
{
    const op_row *op = &ops[_i];

    NUMBERS_EACH_REAL(d)
    if (numbers_is_float(d)    ? op->floats != NULL
        : numbers_is_signed(d) ? op->with_sign != NULL
                               : op->without_sign != NULL)
        check_dtype(op, d);
}
END_TEST

START_TEST(the_table_has_these_ops_and_two_more)
{
    /* LogicalNot, PopulationCount and the Bessel functions are apart. */
    ck_assert_uint_eq(eddy__unary_ops.n, N_OPS + 14);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    harness h;

    harness_init(&h, &eddy__unary_ops);
    for (int i = 0; i < N_OPS; i++) {
        const eddy_dtype dtype = ops[i].floats ? EDDY_FLOAT32 : EDDY_INT32;

        ck_assert_int_eq(
            harness_run(&h, ops[i].name,
                        harness_numbers(&h, dtype, HARNESS_DIMS(2, 0), NULL)),
            EDDY_OK);
        harness_want(&h, 0, ops[i].is_test ? EDDY_BOOL : dtype,
                     HARNESS_DIMS(2, 0));
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(set_bits_are_counted)
{
    harness h;

    harness_init(&h, &eddy__unary_ops);
    for (eddy_dtype d = EDDY_INT8; d <= EDDY_UINT64; d++) {
        double values[NUMBERS_MAX];
        const int64_t n = numbers_values_of(d, values);
        const uint64_t mask = UINT64_MAX >> (64 - numbers_width(d));
        eddy_tensor *x = harness_numbers(&h, d, 1, &n, values);

        ck_assert_int_eq(harness_run(&h, "PopulationCount", x), EDDY_OK);
        harness_want(&h, 0, EDDY_UINT8, 1, &n);
        for (int64_t i = 0; i < n; i++)
            ck_assert_uint_eq(((uint8_t *)h.outputs[0]->data)[i],
                              population(numbers_integer_at(x, i) & mask));
        ck_assert_int_eq(
            harness_run(&h, "PopulationCount", harness_scalar(&h, d, 7)),
            EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 3);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(logical_not_turns_bools)
{
    double values[40];
    harness h;

    for (int i = 0; i < 40; i++)
        values[i] = i % 3 == 0;
    harness_init(&h, &eddy__unary_ops);
    ck_assert_int_eq(
        harness_run(&h, "LogicalNot",
                    harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(40), values)),
        EDDY_OK);
    for (int64_t i = 0; i < 40; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), i % 3 != 0);
    ck_assert_int_eq(
        harness_run(&h, "LogicalNot", harness_scalar(&h, EDDY_BOOL, 1)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0);
    harness_deinit(&h);
}
END_TEST

/* ---- complex64; what TensorFlow gives for 1+2i ---- */

static const struct complex_row {
    const char *op;
    float real, imaginary;
} complex_rows[] = {
    {"Acos", 1.1437178f, -1.5285710f},
    {"Acosh", 1.5285710f, 1.1437178f},
    {"Asin", 0.4270785f, 1.5285710f},
    {"Asinh", 1.4693517f, 1.0634401f},
    {"Atan", 1.3389726f, 0.4023595f},
    {"Atanh", 0.1732868f, 1.1780972f},
    {"Cos", 2.0327230f, -3.0518978f},
    {"Cosh", -0.6421481f, 1.0686073f},
    {"Exp", -1.1312042f, 2.4717267f},
    {"Expm1", -2.1312041f, 2.4717267f},
    {"Inv", 0.2f, -0.4f},
    {"Log", 0.8047190f, 1.1071488f},
    {"Log1p", 1.0397208f, 0.7853982f},
    {"Neg", -1.0f, -2.0f},
    {"Reciprocal", 0.2f, -0.4f},
    {"Rsqrt", 0.5688645f, -0.3515776f},
    {"Sigmoid", 1.0214154f, 0.4034387f},
    {"Sign", 0.4472136f, 0.8944272f},
    {"Sin", 3.1657786f, 1.9596009f},
    {"Sinh", -0.4890563f, 1.4031192f},
    {"Sqrt", 1.2720196f, 0.7861514f},
    {"Square", -3.0f, 4.0f},
    {"Tan", 0.0338128f, 1.0147936f},
    {"Tanh", 1.1667362f, -0.2434582f},
};

START_TEST(complex_numbers_are_computed)
{
    const struct complex_row *row = &complex_rows[_i];
    const float x[] = {1, 2, 1, 2, 1, 2};
    const float *got;
    harness h;

    harness_init(&h, &eddy__unary_ops);
    ck_assert_int_eq(
        harness_run(&h, row->op,
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(3), x)),
        EDDY_OK);
    got = h.outputs[0]->data;
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq_tol(got[i], i % 2 ? row->imaginary : row->real,
                               2e-6f);
    ck_assert_int_eq(
        harness_run(&h, row->op,
                    harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, x)),
        EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert_float_eq_tol(got[0], row->real, 2e-6f);
    ck_assert_float_eq_tol(got[1], row->imaginary, 2e-6f);
    harness_deinit(&h);
}
END_TEST

START_TEST(complex_sign_of_zero_is_zero)
{
    const float zero[] = {0, 0};
    harness h;

    harness_init(&h, &eddy__unary_ops);
    ck_assert_int_eq(
        harness_run(&h, "Sign",
                    harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, zero)),
        EDDY_OK);
    ck_assert_float_eq(((float *)h.outputs[0]->data)[0], 0);
    ck_assert_float_eq(((float *)h.outputs[0]->data)[1], 0);
    harness_deinit(&h);
}
END_TEST

START_TEST(dtypes_without_a_kernel_are_refused)
{
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__unary_ops);
    status = harness_run(&h, "Sqrt", harness_scalar(&h, EDDY_INT32, 4));
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    status = harness_run(&h, "Reciprocal", harness_scalar(&h, EDDY_INT32, 4));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    harness_deinit(&h);
}
END_TEST

/* ---- Bessel functions ---- */

/* Sums over equal steps of what is periodic, or falls fast, converge at once.
 */
static double over_circle(bool modified, int order, double x)
{
    const int n = 512;
    long double sum = 0;

    for (int i = 0; i < n; i++) {
        const long double t = 2 * acosl(-1) * i / n;

        sum += modified ? expl(x * (cosl(t) - 1)) * cosl(order * t)
                        : cosl(order * t - x * sinl(t));
    }
    return (double)(sum / n);
}

static double over_line(int order, double x)
{
    long double sum = 0.5L;

    for (int i = 1; i < 12 * 64; i++)
        sum += expl(x * (1 - coshl(i / 64.0L))) * coshl(order * i / 64.0L);
    return (double)(sum / 64);
}

static double bessel(harness *h, const char *op, double x)
{
    ck_assert_int_eq(harness_run(h, op, harness_scalar(h, EDDY_FLOAT64, x)),
                     EDDY_OK);
    return harness_get(h->outputs[0], 0);
}

static void want_near(double got, double want, double x)
{
    ck_assert_msg(fabs(got - want) <= 2e-14 * fabs(want) + 1e-15,
                  "of %g: got %.17g, want %.17g", x, got, want);
}

START_TEST(bessel_functions_agree_with_their_integrals)
{
    static const double at[] = {0.1, 0.7, 1.9, 2, 2.1, 5, 12, 29.9, 30, 60};
    static const char *const names[2][6] = {
        {"BesselI0", "BesselI0e", "BesselK0", "BesselK0e", "BesselJ0",
         "BesselY0"},
        {"BesselI1", "BesselI1e", "BesselK1", "BesselK1e", "BesselJ1",
         "BesselY1"}};
    harness h;

    harness_init(&h, &eddy__unary_ops);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        const double x = at[i];
        double j[2], y[2];

        for (int n = 0; n < 2; n++) {
            const double first = over_circle(true, n, x);
            const double second = over_line(n, x);

            want_near(bessel(&h, names[n][1], x), first, x);
            want_near(bessel(&h, names[n][0], x) / exp(x), first, x);
            want_near(bessel(&h, names[n][0], -x) / exp(x), n ? -first : first,
                      x);
            want_near(bessel(&h, names[n][3], x), second, x);
            want_near(bessel(&h, names[n][2], x) * exp(x), second, x);
            j[n] = bessel(&h, names[n][4], x);
            y[n] = bessel(&h, names[n][5], x);
            want_near(j[n], over_circle(false, n, x), x);
        }
        want_near(j[1] * y[0] - j[0] * y[1], 2 / (acos(-1) * x), x);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(bessel_functions_have_edges)
{
    harness h;

    harness_init(&h, &eddy__unary_ops);
    ck_assert_double_eq(bessel(&h, "BesselI0", 0), 1);
    ck_assert_double_eq(bessel(&h, "BesselI1", 0), 0);
    ck_assert_double_eq(bessel(&h, "BesselI0", 1000), HUGE_VAL);
    ck_assert_double_eq(bessel(&h, "BesselI1", -INFINITY), -HUGE_VAL);
    ck_assert_double_eq(bessel(&h, "BesselI0e", INFINITY), 0);
    ck_assert_double_eq(bessel(&h, "BesselK0", 0), HUGE_VAL);
    ck_assert_double_eq(bessel(&h, "BesselK1e", -1), HUGE_VAL);
    ck_assert_double_eq(bessel(&h, "BesselK1", INFINITY), 0);
    ck_assert(isnan(bessel(&h, "BesselI0", NAN)));
    ck_assert(isnan(bessel(&h, "BesselK0", NAN)));
    harness_deinit(&h);
}
END_TEST

TCase *ops_unary_tests(void)
{
    TCase *tc = tcase_create("ops_unary");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0, N_OPS);
    tcase_add_test(tc, the_table_has_these_ops_and_two_more);
    tcase_add_test(tc, nothing_gives_nothing);
    tcase_add_test(tc, set_bits_are_counted);
    tcase_add_test(tc, logical_not_turns_bools);
    tcase_add_loop_test(tc, complex_numbers_are_computed, 0,
                        sizeof complex_rows / sizeof complex_rows[0]);
    tcase_add_test(tc, complex_sign_of_zero_is_zero);
    tcase_add_test(tc, dtypes_without_a_kernel_are_refused);
    tcase_add_test(tc, bessel_functions_agree_with_their_integrals);
    tcase_add_test(tc, bessel_functions_have_edges);
    return tc;
}

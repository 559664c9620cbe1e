/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/cpu.h"
#include "ops/math/float_math.h"
#include "ops/math/squash.h"
#include "ops/math/vector_math.h"
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

#define N 512 /* a multiple of every width */

static const double specials[] = {
    NAN,     INFINITY, -INFINITY,  0.0,    -0.0,    1,      -1,      0.5,
    -0.5,    2,        -2,         5e-324, -5e-324, 1e-40,  -1e-310, 1e-20,
    1e-8,    -1e-8,    1e22,       -1e22,  1e30,    -3e38,  1e200,   -1e300,
    1.7e308, -745.2,   709.7,      -88.0,  88.5,    -104.0, 710.2,   0.9999,
    -0.9999, 1.0001,   3.14159265, 1.5708, 1e5,     7.25,   -3.7,    26.5,
};
#define N_SPECIALS (sizeof specials / sizeof specials[0])

/* Numbers of many sizes, the same every time. */
static void fill(double *values, size_t n)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < n; i++) {
        double unit;

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        unit = (double)(int64_t)state * 0x1p-63;
        values[i] = i < N_SPECIALS ? specials[i]
                    : i % 3 == 0   ? unit
                    : i % 3 == 1   ? unit * 20
                                   : ldexp(unit, (int)(state % 60) - 30);
    }
}

/* ---- vectors of every width ---- */

static double single(int function, double x, double y)
{
    switch (function) {
#define X(function, name, bound)                                               \
    case EDDY__MATH_##function:                                                \
        return eddy__math_##function(x);
        EDDY__MATH_UNARY_MAP(X)
#undef X
#define X(function, name, bound)                                               \
    case EDDY__MATH_##function:                                                \
        return eddy__math_##function(x, y);
        EDDY__MATH_BINARY_MAP(X)
#undef X
    default:
        ck_abort_msg("no function %d", function);
        return 0;
    }
}

/* NaNs count as one; the kernels see to that. */
static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Forwards and backwards, so that each number has other neighbours. */
START_TEST(every_width_gives_the_same_bits)
{
    _Alignas(64) double x[N], y[N], forth[N], back[N], back_y[N];

    fill(x, N);
    for (int i = 0; i < N; i++)
        y[i] = x[(i * 7 + 3) % N];
    for (int width = 0; width < EDDY__MATH_WIDTHS; width++) {
        const eddy__math_loop *loops = eddy__math_loops_of(width);

        if (!loops)
            continue;
        for (int i = 0; i < N; i++) {
            forth[i] = x[i];
            back[i] = x[N - 1 - i];
            back_y[i] = y[N - 1 - i];
        }
        loops[_i](forth, y, N);
        loops[_i](back, back_y, N);
        for (int i = 0; i < N; i++) {
            const double want = single(_i, x[i], y[i]);

            ck_assert_msg(
                same_bits(forth[i], want) && same_bits(back[N - 1 - i], want),
                "function %d, width %d: of %a, %a: %a and %a, not %a", _i,
                width, x[i], y[i], forth[i], back[N - 1 - i], want);
        }
    }
}
END_TEST

START_TEST(the_fastest_loops_are_among_them)
{
    bool found = false;

    for (int width = 0; width < EDDY__MATH_WIDTHS; width++)
        found |= eddy__math_loops() == eddy__math_loops_of(width);
    ck_assert(found);
}
END_TEST

/* ---- the kernels ---- */

static long double sigmoidl(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double softplusl(long double x)
{
    return x > 11000 ? x : log1pl(expl(x));
}

/* `ulps`: how far a float64 may be off, beside the long double. */
static const struct op_row {
    const char *name;
    long double (*want)(long double x);
    double ulps;
} ops[] = {
    {"Acos", acosl, 1},         {"Acosh", acoshl, 1}, {"Asin", asinl, 1},
    {"Asinh", asinhl, 1},       {"Atan", atanl, 1},   {"Atanh", atanhl, 1},
    {"Cos", cosl, 1},           {"Cosh", coshl, 1},   {"Erf", erfl, 1},
    {"Erfc", erfcl, 1.5},       {"Exp", expl, 1},     {"Expm1", expm1l, 1},
    {"Lgamma", lgammal, 4},     {"Log", logl, 1},     {"Log1p", log1pl, 1},
    {"Sigmoid", sigmoidl, 2.5}, {"Sin", sinl, 1},     {"Sinh", sinhl, 1},
    {"Softplus", softplusl, 2}, {"Tan", tanl, 1},     {"Tanh", tanhl, 1},
};

#define N_OPS ((int)(sizeof ops / sizeof ops[0]))

/* How far `got` is from `want`, in units of its last place. */
static double ulps_off(eddy_dtype dtype, double got, long double want)
{
    const bool is_double = dtype == EDDY_FLOAT64;
    const int least = is_double ? -1021 : -125;
    int exponent;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    if (isinf(got) || isinf(want) ||
        isinf(is_double ? (double)want : (float)want))
        return got == (is_double ? (double)want : (float)want) ? 0 : HUGE_VAL;
    frexpl(want, &exponent);
    exponent = exponent < least ? least : exponent;
    return (double)(fabsl(got - want) /
                    ldexpl(1, exponent - (is_double ? 53 : 24)));
}

START_TEST(errors_are_within_what_is_promised)
{
    const struct op_row *op = &ops[_i];
    double values[N];
    harness h;

    fill(values, N);
    harness_init(&h, &eddy__unary_ops);
    for (eddy_dtype d = EDDY_FLOAT32; d <= EDDY_FLOAT64; d++) {
        eddy_tensor *x = harness_numbers(&h, d, HARNESS_DIMS(N), values);
        const double most = d == EDDY_FLOAT64 ? op->ulps : 0.51;

        ck_assert_int_eq(harness_run(&h, op->name, x), EDDY_OK);
        for (int i = 0; i < N; i++) {
            const double at = harness_get(x, i);
            const double got = harness_get(h.outputs[0], i);
            const long double want = op->want(at);
            const double off = ulps_off(d, got, want);

            ck_assert_msg(off <= most, "%s %s of %a: %a, not %La (%g ulp)",
                          op->name, eddy_dtype_name(d), at, got, want, off);
            ck_assert_msg(isnan(got) || !signbit(got) == !signbit(want),
                          "the sign of %s of %a", op->name, at);
        }
    }
    harness_deinit(&h);
}
END_TEST

/* Odd ones too, so that strips, blocks and lanes are left over. */
START_TEST(lengths_and_positions_change_no_bit)
{
    double values[N];
    harness h;

    fill(values, N);
    harness_init(&h, &eddy__unary_ops);
    NUMBERS_EACH_FLOAT(d)
    {
        const size_t size = eddy_dtype_size(d);
        eddy_tensor *all;

        harness_run(&h, ops[_i].name,
                    harness_numbers(&h, d, HARNESS_DIMS(N), values));
        all = eddy_tensor_retain(h.outputs[0]);
        for (int64_t n = 1; n < 150; n += n < 20 ? 1 : 13) {
            const int64_t from = n * 5 % 100;

            harness_run(&h, ops[_i].name,
                        harness_numbers(&h, d, 1, &n, values + from));
            ck_assert_mem_eq(h.outputs[0]->data,
                             (unsigned char *)all->data + (size_t)from * size,
                             (size_t)n * size);
        }
        for (int64_t i = 0; i < N; i += 3) {
            harness_run(&h, ops[_i].name, harness_scalar(&h, d, values[i]));
            ck_assert_mem_eq(h.outputs[0]->data,
                             (unsigned char *)all->data + (size_t)i * size,
                             size);
        }
        eddy_tensor_release(all);
    }
    harness_deinit(&h);
}
END_TEST

/* ---- Sigmoid and Tanh by hand ---- */

#if defined(__x86_64__) && defined(__GNUC__)

/* Every so many float32: a prime, so that it comes to all kinds of bits. */
#define STRIDE 4099
#define AT_ONCE 1000 /* not a multiple of the lanes */

typedef void (*squash)(void *to, const void *from, int64_t n);

static const struct squash_row {
    double (*wanted)(float x);
    squash loops;
    eddy__vectors needs;
} squashes[] = {
    {eddy__float_sigmoid, eddy__squash_wide_Sigmoid, EDDY__VECTORS_AVX2},
    {eddy__float_tanh, eddy__squash_wide_Tanh, EDDY__VECTORS_AVX2},
    {eddy__float_sigmoid, eddy__squash_widest_Sigmoid, EDDY__VECTORS_AVX512},
    {eddy__float_tanh, eddy__squash_widest_Tanh, EDDY__VECTORS_AVX512},
};

#define N_SQUASHES ((int)(sizeof squashes / sizeof squashes[0]))

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void check_squash(const struct squash_row *row, const float *x,
                         int64_t n)
{
    float got[AT_ONCE];

    row->loops(got, x, n);
    for (int64_t i = 0; i < n; i++) {
        const float want = eddy__settle(row->wanted(x[i]));

        ck_assert_msg(bits_of(got[i]) == bits_of(want), "of %a: %a, not %a",
                      (double)x[i], (double)got[i], (double)want);
    }
}

START_TEST(squashed_numbers_have_the_bits_of_the_formulas)
{
    const struct squash_row *row = &squashes[_i];
    float x[AT_ONCE];
    int64_t n = 0;

    if (eddy__cpu_vectors() < row->needs)
        return;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        const uint32_t at = (uint32_t)bits;

        memcpy(&x[n++], &at, sizeof at);
        if (n == AT_ONCE) {
            check_squash(row, x, n);
            n = 0;
        }
    }
    check_squash(row, x, n);
}
END_TEST

#endif

TCase *vector_math_tests(void)
{
    TCase *tc = tcase_create("vector_math");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_width_gives_the_same_bits, 0,
                        EDDY__MATH_COUNT);
    tcase_add_test(tc, the_fastest_loops_are_among_them);
    tcase_add_loop_test(tc, errors_are_within_what_is_promised, 0, N_OPS);
    tcase_add_loop_test(tc, lengths_and_positions_change_no_bit, 0, N_OPS);
#ifdef N_SQUASHES
    tcase_add_loop_test(tc, squashed_numbers_have_the_bits_of_the_formulas, 0,
                        N_SQUASHES);
#endif
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- references, written without a look at the kernels ---- */

/* What the op is computed in: halves in float. */
static long double rounded(eddy_dtype dtype, long double value)
{
    return dtype == EDDY_FLOAT64 ? (long double)(double)value
                                 : (long double)(float)value;
}

static long double larger(long double x, long double y)
{
    return isnan(x) || isnan(y) ? (long double)NAN : x > y ? x : y;
}

static long double float_want(const char *op, eddy_dtype dtype, long double x,
                              long double y)
{
    const long double quotient = rounded(dtype, x / y);

    if (strcmp(op, "Add") == 0 || strcmp(op, "AddV2") == 0)
        return x + y;
    if (strcmp(op, "Sub") == 0)
        return x - y;
    if (strcmp(op, "Mul") == 0)
        return x * y;
    if (strcmp(op, "Div") == 0 || strcmp(op, "RealDiv") == 0)
        return quotient;
    if (strcmp(op, "DivNoNan") == 0)
        return y == 0 ? 0 : quotient;
    if (strcmp(op, "FloorDiv") == 0)
        return floorl(quotient);
    if (strcmp(op, "TruncateDiv") == 0)
        return truncl(quotient);
    if (strcmp(op, "TruncateMod") == 0 || strcmp(op, "Mod") == 0)
        return fmodl(x, y);
    if (strcmp(op, "FloorMod") == 0) {
        const long double rest = fmodl(x, y);

        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    }
    if (strcmp(op, "Maximum") == 0)
        return larger(x, y);
    if (strcmp(op, "Minimum") == 0)
        return -larger(-x, -y);
    if (strcmp(op, "Pow") == 0)
        return powl(x, y);
    if (strcmp(op, "SquaredDifference") == 0)
        return rounded(dtype, x - y) * rounded(dtype, x - y);
    if (strcmp(op, "Atan2") == 0)
        return atan2l(x, y);
    if (strcmp(op, "MulNoNan") == 0)
        return y == 0 ? 0 : x * y;
    if (strcmp(op, "NextAfter") == 0)
        return dtype == EDDY_FLOAT32 ? nextafterf((float)x, (float)y)
                                     : nextafter((double)x, (double)y);
    if (strcmp(op, "Xdivy") == 0)
        return x == 0 ? 0 : quotient;
    if (strcmp(op, "Xlogy") == 0)
        return x == 0 ? 0 : x * logl(y);
    if (strcmp(op, "Xlog1py") == 0)
        return x == 0 ? 0 : x * log1pl(y);
    ck_abort_msg("no reference for %s", op);
    return 0;
}

/*
 * Integers as two's complement in 64 bits; the caller keeps the low ones.
 * Division of magnitudes, then signs, so that nothing overflows.
 */
static uint64_t divide(uint64_t x, uint64_t y, bool with_sign, bool floors,
                       uint64_t *rest)
{
    const bool minus_x = with_sign && (x >> 63),
               minus_y = with_sign && (y >> 63);
    const uint64_t a = minus_x ? 0 - x : x, b = minus_y ? 0 - y : y;
    uint64_t q = a / b, r = a % b;

    if (floors && minus_x != minus_y && r != 0) {
        q++;
        r = b - r;
        *rest = minus_y ? 0 - r : r;
    } else {
        *rest = minus_x ? 0 - r : r;
    }
    return minus_x != minus_y ? 0 - q : q;
}

static uint64_t power(uint64_t x, uint64_t y)
{
    uint64_t result = 1;

    while (y-- > 0)
        result *= x;
    return result;
}

static bool less(uint64_t x, uint64_t y, bool with_sign)
{
    return with_sign ? (x ^ (UINT64_C(1) << 63)) < (y ^ (UINT64_C(1) << 63))
                     : x < y;
}

static uint64_t shift(const char *op, eddy_dtype dtype, uint64_t x, uint64_t y)
{
    const bool with_sign = numbers_is_signed(dtype);
    const uint64_t last = (uint64_t)numbers_width(dtype) - 1;

    if (with_sign && y >> 63)
        y = 0;
    else if (y > last)
        y = last;
    if (strcmp(op, "LeftShift") == 0)
        return power(2, y) * x;
    for (; y > 0; y--)
        x = x >> 1 | (with_sign ? x & UINT64_C(1) << 63 : 0);
    return x;
}

static uint64_t integer_want(const char *op, eddy_dtype dtype, uint64_t x,
                             uint64_t y)
{
    const bool with_sign = numbers_is_signed(dtype);
    uint64_t rest = 0;

    if (strcmp(op, "Add") == 0 || strcmp(op, "AddV2") == 0)
        return x + y;
    if (strcmp(op, "Sub") == 0)
        return x - y;
    if (strcmp(op, "Mul") == 0)
        return x * y;
    if (strcmp(op, "SquaredDifference") == 0)
        return (x - y) * (x - y);
    if (strcmp(op, "Div") == 0 || strcmp(op, "TruncateDiv") == 0)
        return divide(x, y, with_sign, false, &rest);
    if (strcmp(op, "FloorDiv") == 0)
        return divide(x, y, with_sign, true, &rest);
    if (strstr(op, "Mod") != NULL) {
        divide(x, y, with_sign, strcmp(op, "FloorMod") == 0, &rest);
        return rest;
    }
    if (strcmp(op, "Maximum") == 0)
        return less(x, y, with_sign) ? y : x;
    if (strcmp(op, "Minimum") == 0)
        return less(x, y, with_sign) ? x : y;
    if (strcmp(op, "Pow") == 0)
        return power(x, y);
    if (strcmp(op, "BitwiseAnd") == 0)
        return x & y;
    if (strcmp(op, "BitwiseOr") == 0)
        return x | y;
    if (strcmp(op, "BitwiseXor") == 0)
        return x ^ y;
    return shift(op, dtype, x, y);
}

static void check_element(const char *op, const eddy_tensor *x, int64_t i,
                          const eddy_tensor *y, int64_t j, const eddy_tensor *z,
                          int64_t at)
{
    const eddy_dtype dtype = (eddy_dtype)x->dtype;

    if (numbers_is_float(dtype)) {
        const double a = harness_get(x, i), b = harness_get(y, j);
        const long double want = float_want(op, dtype, a, b);

        ck_assert_msg(numbers_nearly(dtype, harness_get(z, at), want),
                      "%s %s: %a, %a: got %a, want %La", op,
                      eddy_dtype_name(dtype), a, b, harness_get(z, at), want);
    } else {
        const uint64_t a = numbers_integer_at(x, i),
                       b = numbers_integer_at(y, j);
        const uint64_t want = integer_want(op, dtype, a, b);
        const uint64_t got = numbers_integer_at(z, at);

        ck_assert_msg((got ^ want) << (64 - numbers_width(dtype)) == 0,
                      "%s %s: %lld, %lld: got %lld, want %lld", op,
                      eddy_dtype_name(dtype), (long long)a, (long long)b,
                      (long long)got, (long long)want);
    }
}

/* ---- every op on every dtype ---- */

/* Leaves the values that the op takes as `y`. */
static int64_t filter(const char *op, eddy_dtype dtype, double *values,
                      int64_t n)
{
    const bool divides = strstr(op, "Div") || strstr(op, "Mod");
    const bool raises = strcmp(op, "Pow") == 0;
    int64_t left = 0;

    if (numbers_is_float(dtype))
        return n;
    for (int64_t i = 0; i < n; i++)
        if (!(divides && values[i] == 0) &&
            !(raises && (values[i] < 0 || values[i] > 100)))
            values[left++] = values[i];
    return left;
}

/* The result of broadcasting must come out of every other path too. */
static void check_paths(harness *h, const char *op, eddy_dtype dtype,
                        const double *x, int64_t n_x, const double *y,
                        int64_t n_y, const eddy_tensor *want)
{
    const size_t size = eddy_dtype_size((eddy_dtype)want->dtype);
    const unsigned char *bytes = want->data;
    double all_x[1024], all_y[1024];
    const int64_t n = n_x * n_y, stride = 7;

    ck_assert_int_le(n, 1024);
    for (int64_t i = 0; i < n; i++) {
        all_x[i] = x[i / n_y];
        all_y[i] = y[i % n_y];
    }
    harness_run(h, op, harness_numbers(h, dtype, 1, &n, all_x),
                harness_numbers(h, dtype, 1, &n, all_y));
    ck_assert_mem_eq(h->outputs[0]->data, bytes, (size_t)n * size);
    for (int64_t i = 0; i < n_x; i++) {
        harness_run(h, op, harness_scalar(h, dtype, x[i]),
                    harness_numbers(h, dtype, 1, &n_y, y));
        ck_assert_mem_eq(h->outputs[0]->data, bytes + (size_t)(i * n_y) * size,
                         (size_t)n_y * size);
    }
    for (int64_t i = 0; i < n; i += stride) {
        harness_run(h, op, harness_scalar(h, dtype, all_x[i]),
                    harness_scalar(h, dtype, all_y[i]));
        ck_assert_int_eq(h->outputs[0]->shape.rank, 0);
        ck_assert_mem_eq(h->outputs[0]->data, bytes + (size_t)i * size, size);
    }
    for (int64_t j = 0; j < n_y; j++) {
        harness_run(h, op, harness_numbers(h, dtype, 1, &n_x, x),
                    harness_scalar(h, dtype, y[j]));
        for (int64_t i = 0; i < n_x; i++)
            ck_assert_mem_eq((unsigned char *)h->outputs[0]->data +
                                 (size_t)i * size,
                             bytes + (size_t)(i * n_y + j) * size, size);
    }
}

static void check_op(const char *op, eddy_dtype dtype)
{
    double x[32], y[32];
    harness h;
    eddy_tensor *a, *b, *z;
    int64_t n_x, n_y;

    harness_init(&h, &eddy__binary_ops);
    n_x = numbers_values_of(dtype, x);
    n_y = filter(op, dtype, y, numbers_values_of(dtype, y));
    a = harness_numbers(&h, dtype, HARNESS_DIMS(n_x, 1), x);
    b = harness_numbers(&h, dtype, 1, &n_y, y);
    ck_assert_int_eq(harness_run(&h, op, a, b), EDDY_OK);
    harness_want(&h, 0, dtype, HARNESS_DIMS(n_x, n_y));
    z = eddy_tensor_retain(h.outputs[0]);
    for (int64_t i = 0; i < n_x; i++)
        for (int64_t j = 0; j < n_y; j++)
            check_element(op, a, i, b, j, z, i * n_y + j);
    check_paths(&h, op, dtype, x, n_x, y, n_y, z);
    eddy_tensor_release(z);
    harness_deinit(&h);
}

typedef struct op_row {
    const char *name;
    eddy__dtype_set dtypes;
} op_row;

#define SIGNED                                                                 \
    (EDDY__DTYPE_BIT(EDDY_INT8) | EDDY__DTYPE_BIT(EDDY_INT16) | EDDY__INDEXES)

static const op_row ops[] = {
    {"Add", EDDY__FLOATS | SIGNED | EDDY__DTYPE_BIT(EDDY_UINT8)},
    {"AddV2", EDDY__REALS},
    {"Sub", EDDY__REALS},
    {"Mul", EDDY__REALS},
    {"Div", EDDY__REALS},
    {"RealDiv", EDDY__FLOATS},
    {"DivNoNan", EDDY__FLOATS},
    {"FloorDiv", EDDY__REALS},
    {"TruncateDiv", EDDY__REALS},
    {"FloorMod", EDDY__REALS},
    {"TruncateMod", (EDDY__FLOATS | EDDY__INDEXES)},
    {"Mod", (EDDY__FLOATS | EDDY__INDEXES)},
    {"Maximum", EDDY__REALS},
    {"Minimum", EDDY__REALS},
    {"Pow", EDDY__FLOATS | SIGNED},
    {"SquaredDifference", EDDY__FLOATS | SIGNED},
    {"Atan2", EDDY__FLOATS},
    {"MulNoNan", EDDY__FLOATS},
    {"NextAfter",
     EDDY__DTYPE_BIT(EDDY_FLOAT32) | EDDY__DTYPE_BIT(EDDY_FLOAT64)},
    {"Xdivy", EDDY__FLOATS},
    {"Xlog1py", EDDY__FLOATS},
    {"Xlogy", EDDY__FLOATS},
    {"BitwiseAnd", EDDY__INTEGERS},
    {"BitwiseOr", EDDY__INTEGERS},
    {"BitwiseXor", EDDY__INTEGERS},
    {"LeftShift", EDDY__INTEGERS},
    {"RightShift", EDDY__INTEGERS},
};

#define N_OPS ((int)(sizeof ops / sizeof ops[0]))

START_TEST(every_dtype_agrees_with_the_reference)
{
    NUMBERS_EACH_REAL(d)
    if (eddy__dtype_in(d, ops[_i].dtypes))
        check_op(ops[_i].name, d);
}
END_TEST

START_TEST(the_table_has_exactly_these_ops)
{
    ck_assert_uint_eq(eddy__binary_ops.n, N_OPS);
}
END_TEST

/* ---- complex64 ---- */

static void check_complex(harness *h, const char *op, float real, float imag)
{
    const float x[] = {1, 2, 1, 2}, y[] = {3, -1, 3, -1};
    const int64_t two = 2;
    const float *got;

    ck_assert_int_eq(harness_run(h, op,
                                 harness_tensor(h, EDDY_COMPLEX64, 1, &two, x),
                                 harness_tensor(h, EDDY_COMPLEX64, 1, &two, y)),
                     EDDY_OK);
    got = h->outputs[0]->data;
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(got[i], i % 2 ? imag : real, 1e-5f);
    ck_assert_int_eq(harness_run(h, op,
                                 harness_tensor(h, EDDY_COMPLEX64, 0, NULL, x),
                                 harness_tensor(h, EDDY_COMPLEX64, 0, NULL, y)),
                     EDDY_OK);
    got = h->outputs[0]->data;
    ck_assert_float_eq_tol(got[0], real, 1e-5f);
    ck_assert_float_eq_tol(got[1], imag, 1e-5f);
}

START_TEST(complex_numbers_are_computed)
{
    harness h;

    harness_init(&h, &eddy__binary_ops);
    check_complex(&h, "AddV2", 4, 1);
    check_complex(&h, "Sub", -2, 3);
    check_complex(&h, "Mul", 5, 5);
    check_complex(&h, "RealDiv", 0.1f, 0.7f);
    check_complex(&h, "Div", 0.1f, 0.7f);
    check_complex(&h, "DivNoNan", 0.1f, 0.7f);
    check_complex(&h, "MulNoNan", 5, 5);
    check_complex(&h, "Xdivy", 0.1f, 0.7f);
    check_complex(&h, "Xlogy", 1.7947929f, 1.9808345f);
    check_complex(&h, "Xlog1py", 1.9065654f, 2.5882340f);
    check_complex(&h, "SquaredDifference", 13, 0);
    check_complex(&h, "Pow", -27.436384f, 19.789300f);
    harness_deinit(&h);
}
END_TEST

/* ---- strings ---- */

static void want_string(const harness *h, int64_t i, const char *text)
{
    const eddy_string got = eddy_tensor_string(h->outputs[0], i);

    ck_assert_uint_eq(got.length, strlen(text));
    ck_assert_str_eq(got.data, text);
}

START_TEST(strings_are_joined)
{
    static const char *const x[] = {"a", "", "long enough"};
    static const char *const y[] = {"-", "z"};
    const int64_t column[] = {2, 1}, three = 3, none = 0;
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__binary_ops);
    ck_assert_int_eq(harness_run(&h, "Add", harness_strings(&h, 1, &three, x),
                                 harness_strings(&h, 2, column, y)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_STRING, HARNESS_DIMS(2, 3));
    want_string(&h, 0, "a-");
    want_string(&h, 1, "-");
    want_string(&h, 2, "long enough-");
    want_string(&h, 3, "az");
    want_string(&h, 4, "z");
    want_string(&h, 5, "long enoughz");
    ck_assert_int_eq(harness_run(&h, "Add", harness_strings(&h, 0, NULL, y),
                                 harness_strings(&h, 0, NULL, &x[1])),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_STRING, 0, NULL);
    want_string(&h, 0, "-");
    ck_assert_int_eq(harness_run(&h, "Add", harness_strings(&h, 1, &none, NULL),
                                 harness_strings(&h, 0, NULL, x)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_STRING, HARNESS_DIMS(0));
    status = harness_run(&h, "Add", harness_strings(&h, 1, &three, x),
                         harness_strings(&h, 1, column, y));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

/* ---- elements that are refused ---- */

static const char *const dividers[] = {"Div",      "FloorDiv",    "TruncateDiv",
                                       "FloorMod", "TruncateMod", "Mod"};

START_TEST(integer_division_by_zero_names_the_element)
{
    const bool few = _i >= 4;
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__binary_ops);
    for (eddy_dtype d = few ? EDDY_INT32 : EDDY_INT8;
         d <= (few ? EDDY_INT64 : EDDY_UINT64); d++) {
        status = harness_run(&h, dividers[_i], harness_vector(&h, d, 1, 2, 3),
                             harness_vector(&h, d, 1, 2, 0));
        harness_want_error(&h, status, EDDY_INVALID_ARGUMENT,
                           EDDY_E_DIVISION_BY_ZERO);
        ck_assert_ptr_nonnull(strstr(h.err.message, "element 2"));
        status = harness_run(&h, dividers[_i], harness_scalar(&h, d, 7),
                             harness_scalar(&h, d, 0));
        harness_want_error(&h, status, EDDY_INVALID_ARGUMENT,
                           EDDY_E_DIVISION_BY_ZERO);
        ck_assert_ptr_nonnull(strstr(h.err.message, "element 0"));
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(nothing_divided_by_zero_is_no_error)
{
    const int64_t none = 0;
    harness h;

    harness_init(&h, &eddy__binary_ops);
    ck_assert_int_eq(
        harness_run(&h, "FloorDiv",
                    harness_numbers(&h, EDDY_INT32, 1, &none, NULL),
                    harness_scalar(&h, EDDY_INT32, 0)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(0));
    harness_deinit(&h);
}
END_TEST

START_TEST(negative_integer_powers_are_refused)
{
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__binary_ops);
    for (eddy_dtype d = EDDY_INT8; d <= EDDY_INT64; d++) {
        status = harness_run(&h, "Pow", harness_scalar(&h, d, 1),
                             harness_vector(&h, d, 2, -1));
        harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
        ck_assert_ptr_nonnull(strstr(h.err.message, "element 1"));
    }
    harness_deinit(&h);
}
END_TEST

/* ---- squares and cubes ---- */

static double product_of(eddy_dtype dtype, double x, int n)
{
    const double product = n == 2 ? x * x : x * x * x;

    return dtype == EDDY_FLOAT32 ? (double)(float)product : product;
}

/* Wherever the exponent stands, and whoever else it is for. */
START_TEST(squares_and_cubes_are_products)
{
    const eddy_dtype dtype = _i % 2 ? EDDY_FLOAT32 : EDDY_FLOAT64;
    const int64_t n = 77;
    double x[77], y[77];
    harness h;

    harness_init(&h, &eddy__binary_ops);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (double)(float)((double)(i - 30) * 0.7310585786300049);
        y[i] = _i / 2 == 0 ? 2 : _i / 2 == 1 ? 3 : (double)(2 + i % 2);
    }
    for (int scalar = _i / 2 == 2; scalar < 2; scalar++) {
        harness_run(&h, "Pow", harness_numbers(&h, dtype, 1, &n, x),
                    scalar && _i / 2 < 2
                        ? harness_scalar(&h, dtype, y[0])
                        : harness_numbers(&h, dtype, 1, &n, y));
        harness_want(&h, 0, dtype, 1, &n);
        for (int64_t i = 0; i < n; i++)
            ck_assert_double_eq(harness_get(h.outputs[0], i),
                                product_of(dtype, x[i], (int)y[i]));
    }
    harness_run(&h, "Pow", harness_scalar(&h, dtype, x[3]),
                harness_scalar(&h, dtype, y[3]));
    ck_assert_double_eq(harness_get(h.outputs[0], 0),
                        product_of(dtype, x[3], (int)y[3]));
    harness_deinit(&h);
}
END_TEST

/* One exponent for all, or one base, in rows that are longer than a block. */
START_TEST(long_rows_of_one_side_are_as_pairs)
{
    const eddy_dtype dtype = _i % 2 ? EDDY_FLOAT32 : EDDY_FLOAT16;
    const bool one_base = _i / 2;
    enum { ROWS = 3, N = 601 };
    static double x[ROWS * N], y[ROWS * N];
    const int64_t all_dims[2] = {ROWS, N};
    double one[ROWS];
    unsigned char *want;
    size_t bytes;
    harness h;

    harness_init(&h, &eddy__binary_ops);
    for (int64_t i = 0; i < ROWS * N; i++) {
        const double moves = (double)(i - 400) * 0.0131;
        const int64_t row = i / N;

        one[row] = 0.7 * (double)(row + 1);
        x[i] = one_base ? one[row] : moves;
        y[i] = one_base ? moves : one[row];
    }
    harness_run(&h, "Pow", harness_numbers(&h, dtype, 2, all_dims, x),
                harness_numbers(&h, dtype, 2, all_dims, y));
    bytes = eddy_tensor_bytes(h.outputs[0]);
    want = malloc(bytes);
    ck_assert_ptr_nonnull(want);
    memcpy(want, h.outputs[0]->data, bytes);
    for (int rows = 1; rows <= ROWS; rows += ROWS - 1) {
        const int64_t dims[2] = {rows, N}, ones[2] = {rows, 1};
        eddy_tensor *all =
            harness_numbers(&h, dtype, 2, dims, one_base ? y : x);
        eddy_tensor *single = harness_numbers(&h, dtype, 2, ones, one);

        harness_run(&h, "Pow", one_base ? single : all,
                    one_base ? all : single);
        ck_assert_mem_eq(h.outputs[0]->data, want,
                         eddy_tensor_bytes(h.outputs[0]));
    }
    free(want);
    harness_deinit(&h);
}
END_TEST

/* ---- dtypes that are refused ---- */

START_TEST(dtypes_outside_the_signature_are_refused)
{
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__binary_ops);
    status = harness_run(&h, "Add", harness_scalar(&h, EDDY_UINT16, 1),
                         harness_scalar(&h, EDDY_UINT16, 1));
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    status = harness_run(&h, "AddV2", harness_scalar(&h, EDDY_INT32, 1),
                         harness_scalar(&h, EDDY_INT64, 1));
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    status = harness_run(&h, "RealDiv", harness_scalar(&h, EDDY_INT32, 1),
                         harness_scalar(&h, EDDY_INT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    harness_deinit(&h);
}
END_TEST

TCase *ops_binary_tests(void)
{
    TCase *tc = tcase_create("ops_binary");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0, N_OPS);
    tcase_add_test(tc, the_table_has_exactly_these_ops);
    tcase_add_test(tc, complex_numbers_are_computed);
    tcase_add_test(tc, strings_are_joined);
    tcase_add_loop_test(tc, integer_division_by_zero_names_the_element, 0,
                        sizeof dividers / sizeof dividers[0]);
    tcase_add_test(tc, nothing_divided_by_zero_is_no_error);
    tcase_add_test(tc, negative_integer_powers_are_refused);
    tcase_add_loop_test(tc, squares_and_cubes_are_products, 0, 6);
    tcase_add_loop_test(tc, long_rows_of_one_side_are_as_pairs, 0, 4);
    tcase_add_test(tc, dtypes_outside_the_signature_are_refused);
    return tc;
}

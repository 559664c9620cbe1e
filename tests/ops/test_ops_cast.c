/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static eddy_status cast(harness *h, eddy_tensor *x, eddy_dtype to,
                        bool truncate)
{
    const eddy_attr attrs[] = {eddy_attr_type("DstT", &to),
                               eddy_attr_bool("Truncate", &truncate)};

    return harness_run_attrs(h, "Cast", &x, 1, attrs, 2);
}

/* ---- the reference: bits of the result from a float or an integer ---- */

/* As cvttss2si and its like: what does not fit is the least integer. */
static uint64_t converted(double x, int bits)
{
    const double bound = ldexp(1, bits - 1);

    if (!(trunc(x) >= -bound && trunc(x) < bound))
        return 0 - (UINT64_C(1) << (bits - 1));
    return x < 0 ? 0 - (uint64_t)-trunc(x) : (uint64_t)trunc(x);
}

static uint64_t of_float(double x, eddy_dtype to)
{
    switch (to) {
    case EDDY_INT64:
    case EDDY_UINT32:
        return converted(x, 64);
    case EDDY_UINT64:
        return x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : converted(x, 64);
    default:
        return converted(x, 32);
    }
}

static double narrowed(double x, eddy_dtype to)
{
    if (to == EDDY_FLOAT16)
        return eddy_float16_to_float(eddy_float16_from_float((float)x));
    if (to == EDDY_BFLOAT16)
        return eddy_bfloat16_to_float(eddy_bfloat16_from_float((float)x));
    return to == EDDY_FLOAT64 || to == EDDY_COMPLEX128 ? x : (float)x;
}

/* An integer of 64 bits to float at once, not by way of double. */
static double of_integer(uint64_t x, bool with_sign, eddy_dtype to)
{
    if (to == EDDY_FLOAT64 || to == EDDY_COMPLEX128)
        return with_sign ? (double)(int64_t)x : (double)x;
    return narrowed(with_sign ? (float)(int64_t)x : (float)x, to);
}

static bool same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* Element `i` of a tensor cast to every dtype; `y` must hold it. */
static bool is_right(const eddy_tensor *x, const eddy_tensor *y, int64_t i)
{
    const eddy_dtype from = eddy_tensor_dtype(x), to = eddy_tensor_dtype(y);
    const bool is_float =
        numbers_is_float(from) || eddy__dtype_is_complex(from);
    const double real = harness_get(x, i);
    uint64_t want;

    if (to == EDDY_BOOL)
        return harness_get(y, i) == (real != 0);
    if (to == EDDY_COMPLEX64 && ((const float *)y->data)[2 * i + 1] != 0)
        return false;
    if (to == EDDY_COMPLEX128 && ((const double *)y->data)[2 * i + 1] != 0)
        return false;
    if (numbers_is_float(to) || eddy__dtype_is_complex(to))
        return same(harness_get(y, i),
                    is_float ? narrowed(real, to)
                             : of_integer(numbers_integer_at(x, i),
                                          numbers_is_signed(from), to));
    want = is_float ? of_float(real, to) : numbers_integer_at(x, i);
    return (numbers_integer_at(y, i) ^ want) << (64 - numbers_width(to)) == 0;
}

/* ---- every pair ---- */

static const double far[] = {
    NAN,     INFINITY, -INFINITY, -1.5,   1.9,     300.7,  -300.7,
    70000,   -7e4,     3e9,       -3e9,   5e9,     1e19,   -1e19,
    2e19,    65504,    -0.0,      1e300,  0.999,   -0.999, 0x1p31,
    -0x1p31, 0x1p63,   -0x1p63,   0x1p64, 65519.9, 65520,  1.0 / 3};

/* A complex tensor gets its imaginary parts from nowhere: they are 0. */
static eddy_tensor *source(harness *h, eddy_dtype from)
{
    const int64_t n = sizeof far / sizeof far[0];
    double values[NUMBERS_MAX];

    if (numbers_is_float(from) || eddy__dtype_is_complex(from))
        return harness_numbers(h, from, 1, &n, far);
    if (from == EDDY_BOOL)
        return harness_vector(h, EDDY_BOOL, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1,
                              0, 1, 1, 1, 0, 0);
    return harness_numbers(
        h, from, HARNESS_DIMS(numbers_values_of(from, values)), values);
}

static eddy_tensor *alone(harness *h, const eddy_tensor *x, int64_t i)
{
    const size_t size = eddy_dtype_size(eddy_tensor_dtype(x));

    return harness_tensor(h, eddy_tensor_dtype(x), 0, NULL,
                          (const unsigned char *)x->data + (size_t)i * size);
}

START_TEST(every_pair_of_dtypes_agrees_with_the_reference)
{
    const eddy_dtype from = (eddy_dtype)_i;
    harness h;
    eddy_tensor *x, *y;

    harness_init(&h, &eddy__cast_ops);
    x = source(&h, from);
    for (eddy_dtype to = EDDY_FLOAT16; to <= EDDY_COMPLEX128; to++) {
        ck_assert_int_eq(cast(&h, x, to, false), EDDY_OK);
        harness_want(&h, 0, to, 1, x->shape.dims);
        y = eddy_tensor_retain(h.outputs[0]);
        for (int64_t i = 0; i < x->count; i++) {
            ck_assert_msg(is_right(x, y, i), "%s of %g: %g",
                          eddy_dtype_name(to), harness_get(x, i),
                          harness_get(y, i));
            ck_assert_int_eq(cast(&h, alone(&h, x, i), to, false), EDDY_OK);
            harness_want(&h, 0, to, 0, NULL);
            ck_assert_mem_eq(h.outputs[0]->data,
                             (unsigned char *)y->data +
                                 (size_t)i * eddy_dtype_size(to),
                             eddy_dtype_size(to));
        }
        eddy_tensor_release(y);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(complex_numbers_lose_their_imaginary_part)
{
    const float x[] = {1.5f, 2, 0, 1};
    harness h;
    eddy_tensor *z;

    harness_init(&h, &eddy__cast_ops);
    z = harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), x);
    ck_assert_int_eq(cast(&h, z, EDDY_FLOAT32, false), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1.5);
    ck_assert_int_eq(cast(&h, z, EDDY_BOOL, false), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 0);
    ck_assert_int_eq(cast(&h, z, EDDY_COMPLEX64, false), EDDY_OK);
    ck_assert_mem_eq(h.outputs[0]->data, x, sizeof x);
    harness_deinit(&h);
}
END_TEST

/* What TensorFlow 2.21 gives. */
START_TEST(truncate_cuts_mantissas)
{
    static const double from64[] = {1.0000001, 1.9999999, 1.1,
                                    1e300,     NAN,       -1.9999999};
    static const double to32[] = {
        1.0, 1.9999998807907104, 1.0999999046325684, INFINITY,
        NAN, -1.9999998807907104};
    static const double from32[] = {1.0009, 65535, 1e-8, 70000, NAN, 1.0 / 3};
    static const double to16[] = {1.0, 65504, 0, INFINITY, NAN, 0.333251953125};
    harness h;
    eddy_tensor *x, *y;

    harness_init(&h, &eddy__cast_ops);
    x = harness_numbers(&h, EDDY_FLOAT64, HARNESS_DIMS(6), from64);
    ck_assert_int_eq(cast(&h, x, EDDY_FLOAT32, true), EDDY_OK);
    for (int64_t i = 0; i < 6; i++)
        ck_assert(same(harness_get(h.outputs[0], i), to32[i]));
    ck_assert_int_eq(cast(&h, x, EDDY_FLOAT16, true), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 1.9990234375);
    ck_assert_double_eq(harness_get(h.outputs[0], 2), 1.099609375);
    y = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(6), from32);
    ck_assert_int_eq(cast(&h, y, EDDY_FLOAT16, true), EDDY_OK);
    for (int64_t i = 0; i < 6; i++)
        ck_assert(same(harness_get(h.outputs[0], i), to16[i]));
    y = harness_numbers(&h, EDDY_COMPLEX64, HARNESS_DIMS(6), from32);
    ck_assert_int_eq(cast(&h, y, EDDY_FLOAT16, true), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1.0009765625);
    ck_assert_int_eq(cast(&h, x, EDDY_INT32, true), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 1);
    harness_deinit(&h);
}
END_TEST

START_TEST(strings_are_cast_to_strings_alone)
{
    const eddy_shape shape = {.rank = 1, .dims = {1}};
    const eddy_string text = {"a", 1};
    harness h;
    eddy_tensor *x;
    eddy_status status;

    harness_init(&h, &eddy__cast_ops);
    ck_assert_int_eq(
        eddy_tensor_from_strings(&h.ctx, &shape, &text, 1, &x, &h.err),
        EDDY_OK);
    status = cast(&h, x, EDDY_INT32, false);
    harness_want_error(&h, status, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL);
    ck_assert_ptr_nonnull(strstr(h.err.message, "string"));
    ck_assert_int_eq(cast(&h, x, EDDY_STRING, false), EDDY_OK);
    ck_assert_uint_eq(eddy_tensor_string(h.outputs[0], 0).length, 1);
    eddy_tensor_release(x);
    harness_deinit(&h);
}
END_TEST

TCase *ops_cast_tests(void)
{
    TCase *tc = tcase_create("ops_cast");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_pair_of_dtypes_agrees_with_the_reference,
                        EDDY_FLOAT16, EDDY_COMPLEX128 + 1);
    tcase_add_test(tc, complex_numbers_lose_their_imaginary_part);
    tcase_add_test(tc, truncate_cuts_mantissas);
    tcase_add_test(tc, strings_are_cast_to_strings_alone);
    return tc;
}

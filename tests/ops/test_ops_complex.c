/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <complex.h>
#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__complex_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const float parts[] = {
    3,   4, -1, 0,      -1,     -0.0f, 0,  2,   1e30f, 1e30f, INFINITY,
    NAN, 0, 0,  1e-30f, 1e-30f, -2,    -5, NAN, 1,     0.5f,  INFINITY};

#define N ((int)(sizeof parts / sizeof parts[0]) / 2)

/* Of float parts, so that nothing overflows; by the C library. */
static long double want_of(const char *op, long double complex x)
{
    if (op[0] == 'R')
        return creall(x);
    if (op[0] == 'I')
        return cimagl(x);
    return op[0] == 'A' ? cargl(x) : cabsl(x);
}

START_TEST(parts_are_taken)
{
    static const char *const ops[] = {"Real", "Imag", "Angle", "ComplexAbs"};
    const char *op = ops[_i];
    eddy_tensor *x =
        harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(N, 1), parts);
    eddy_tensor *y;

    ck_assert_int_eq(harness_run(&h, op, x), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(N, 1));
    y = eddy_tensor_retain(h.outputs[0]);
    for (int i = 0; i < N; i++) {
        const long double want =
            want_of(op, CMPLXL(parts[2 * i], parts[2 * i + 1]));
        const float got = ((float *)y->data)[i];

        ck_assert_msg(numbers_nearly(EDDY_FLOAT32, got, want),
                      "%s of %g + %g i: %g, not %Lg", op, parts[2 * i],
                      parts[2 * i + 1], got, want);
        harness_run(&h, op,
                    harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, &parts[2 * i]));
        harness_want(&h, 0, EDDY_FLOAT32, 0, NULL);
        ck_assert_mem_eq(h.outputs[0]->data, (float *)y->data + i,
                         sizeof(float));
    }
    eddy_tensor_release(y);
}
END_TEST

START_TEST(conj_turns_the_imaginary_part)
{
    const float *got;

    ck_assert_int_eq(
        harness_run(&h, "Conj",
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(N), parts)),
        EDDY_OK);
    got = h.outputs[0]->data;
    for (int i = 0; i < 2 * N; i++) {
        const float want = i % 2 ? -parts[i] : parts[i];

        ck_assert(got[i] == want || (isnan(got[i]) && isnan(want)));
    }
}
END_TEST

START_TEST(parts_are_joined_and_broadcast)
{
    const float *got;

    ck_assert_int_eq(
        harness_run(&h, "Complex",
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 1),
                                    (double[]){1, 2}),
                    harness_vector(&h, EDDY_FLOAT32, 3, 4, 5)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX64, HARNESS_DIMS(2, 3));
    got = h.outputs[0]->data;
    for (int i = 0; i < 6; i++) {
        ck_assert_float_eq(got[2 * i], (float)(1 + i / 3));
        ck_assert_float_eq(got[2 * i + 1], (float)(3 + i % 3));
    }
    ck_assert_int_eq(harness_run(&h, "Complex",
                                 harness_scalar(&h, EDDY_FLOAT32, 7),
                                 harness_scalar(&h, EDDY_FLOAT32, -8)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX64, 0, NULL);
    got = h.outputs[0]->data;
    ck_assert_float_eq(got[0], 7);
    ck_assert_float_eq(got[1], -8);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    eddy_tensor *none =
        harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(0), NULL);

    ck_assert_int_eq(harness_run(&h, "Real", none), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0));
    ck_assert_int_eq(harness_run(&h, "Conj", none), EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX64, HARNESS_DIMS(0));
}
END_TEST

START_TEST(other_dtypes_and_shapes_are_refused)
{
    const eddy_dtype wide = EDDY_FLOAT64;
    const eddy_attr attr = eddy_attr_type("Tout", &wide);
    eddy_tensor *x = harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(1), parts);
    eddy_status status =
        harness_run(&h, "Complex", harness_vector(&h, EDDY_FLOAT32, 1, 2),
                    harness_vector(&h, EDDY_FLOAT32, 1, 2, 3));

    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "Complex", harness_scalar(&h, EDDY_FLOAT64, 1),
                         harness_scalar(&h, EDDY_FLOAT64, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    status = harness_run_attrs(&h, "Imag", &x, 1, &attr, 1);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    status = harness_run(&h, "Real", harness_scalar(&h, EDDY_FLOAT32, 1));
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *ops_complex_tests(void)
{
    TCase *tc = tcase_create("ops_complex");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, parts_are_taken, 0, 4);
    tcase_add_test(tc, conj_turns_the_imaginary_part);
    tcase_add_test(tc, parts_are_joined_and_broadcast);
    tcase_add_test(tc, nothing_gives_nothing);
    tcase_add_test(tc, other_dtypes_and_shapes_are_refused);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#define BATCH 2
#define INPUTS 3
#define UNITS 2

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__gru_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *some(eddy_dtype dtype, int32_t rank, const int64_t *dims)
{
    double values[256];

    for (int i = 0; i < 256; i++)
        values[i] = (i * 37 % 19 - 9) / 8.0;
    return harness_numbers(&h, dtype, rank, dims, values);
}

#define SOME(dtype, ...) some((dtype), HARNESS_DIMS(__VA_ARGS__))

static eddy_tensor *keep(size_t i)
{
    const eddy_tensor *t = h.outputs[i];

    return harness_tensor(&h, (eddy_dtype)t->dtype, t->shape.rank,
                          t->shape.dims, t->data);
}

static void fill_gru(eddy_tensor **in)
{
    in[0] = SOME(EDDY_FLOAT32, BATCH, INPUTS);
    in[1] = SOME(EDDY_FLOAT32, BATCH, UNITS);
    in[2] = SOME(EDDY_FLOAT32, INPUTS + UNITS, 2 * UNITS);
    in[3] = SOME(EDDY_FLOAT32, INPUTS + UNITS, UNITS);
    in[4] = SOME(EDDY_FLOAT32, 2 * UNITS);
    in[5] = SOME(EDDY_FLOAT32, UNITS);
}

START_TEST(a_gru_mixes_its_state_and_a_candidate)
{
    eddy_tensor *in[10], *r, *u, *c, *out;

    fill_gru(in);
    ck_assert_int_eq(harness_run_attrs(&h, "GRUBlockCell", in, 6, NULL, 0),
                     EDDY_OK);
    r = in[6] = keep(0);
    u = in[7] = keep(1);
    c = in[8] = keep(2);
    out = keep(3);
    for (int64_t i = 0; i < BATCH * UNITS; i++) {
        const double at = harness_get(u, i);

        ck_assert(harness_get(r, i) > 0 && harness_get(r, i) < 1);
        ck_assert_double_eq_tol(
            harness_get(out, i),
            at * harness_get(in[1], i) + (1 - at) * harness_get(c, i), 1e-6);
    }
    in[9] = SOME(EDDY_FLOAT32, BATCH, UNITS);
    ck_assert_int_eq(harness_run_attrs(&h, "GRUBlockCellGrad", in, 10, NULL, 0),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(BATCH, INPUTS));
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(BATCH, UNITS));
    harness_want(&h, 3, EDDY_FLOAT32, HARNESS_DIMS(BATCH, 2 * UNITS));
}
END_TEST

START_TEST(shapes_that_do_not_fit_a_gru_are_refused)
{
    eddy_tensor *in[6];

    fill_gru(in);
    in[_i] = SOME(EDDY_FLOAT32, 7, 7);
    harness_want_error(&h,
                       harness_run_attrs(&h, "GRUBlockCell", in, 6, NULL, 0),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_gru_tests(void)
{
    TCase *tc = tcase_create("ops_gru");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_gru_mixes_its_state_and_a_candidate);
    tcase_add_loop_test(tc, shapes_that_do_not_fit_a_gru_are_refused, 0, 6);
    return tc;
}

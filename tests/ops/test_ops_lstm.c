/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

#define BATCH 2
#define INPUTS 3
#define UNITS 2
#define STEPS 4

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__lstm_ops);
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

/* x, cs_prev, h_prev, w, wci, wcf, wco, b; `steps` 0 for a cell. */
static void fill_lstm(eddy_dtype dtype, int64_t steps, eddy_tensor **in)
{
    in[0] = steps > 0 ? SOME(dtype, steps, BATCH, INPUTS)
                      : SOME(dtype, BATCH, INPUTS);
    in[1] = SOME(dtype, BATCH, UNITS);
    in[2] = SOME(dtype, BATCH, UNITS);
    in[3] = SOME(dtype, INPUTS + UNITS, 4 * UNITS);
    for (int i = 4; i < 7; i++)
        in[i] = SOME(dtype, UNITS);
    in[7] = SOME(dtype, 4 * UNITS);
}

static eddy_status run(const char *op, eddy_tensor *const *in, size_t n,
                       bool peephole)
{
    const eddy_attr attr = eddy_attr_bool("use_peephole", &peephole);

    return harness_run_attrs(&h, op, in, n, &attr, 1);
}

static eddy_tensor *keep(size_t i)
{
    const eddy_tensor *t = h.outputs[i];

    return harness_tensor(&h, (eddy_dtype)t->dtype, t->shape.rank,
                          t->shape.dims, t->data);
}

/* _i: float16 or float32, without or with peepholes. */
START_TEST(a_cell_and_its_gradient_have_the_shapes_of_their_inputs)
{
    const eddy_dtype dtype = _i % 2 ? EDDY_FLOAT32 : EDDY_FLOAT16;
    eddy_tensor *in[16];

    fill_lstm(dtype, 0, in);
    ck_assert_int_eq(run("LSTMBlockCell", in, 8, _i / 2), EDDY_OK);
    for (size_t i = 0; i < 7; i++)
        harness_want(&h, i, dtype, HARNESS_DIMS(BATCH, UNITS));
    for (size_t i = 0; i < 6; i++)
        in[8 + i] = keep(i);
    in[14] = in[15] = SOME(dtype, BATCH, UNITS);
    ck_assert_int_eq(run("LSTMBlockCellGrad", in, 16, _i / 2), EDDY_OK);
    harness_want(&h, 0, dtype, HARNESS_DIMS(BATCH, UNITS));
    harness_want(&h, 1, dtype, HARNESS_DIMS(BATCH, 4 * UNITS));
    for (size_t i = 2; i < 5; i++) {
        harness_want(&h, i, dtype, HARNESS_DIMS(UNITS));
        ck_assert_int_eq(harness_get(h.outputs[i], 0) != 0, _i / 2);
    }
}
END_TEST

/* A sequence is its cells, one after the other, and zeros behind its length. */
START_TEST(a_sequence_is_its_cells)
{
    static const float none[BATCH * UNITS] = {0};
    eddy_tensor *in[9], *cell[8];
    const float *x, *outputs[7];
    const int length = _i % 5;
    const bool peephole = _i >= 5;

    in[0] = harness_scalar(&h, EDDY_INT64, length);
    fill_lstm(EDDY_FLOAT32, STEPS, in + 1);
    ck_assert_int_eq(run("BlockLSTM", in, 9, peephole), EDDY_OK);
    for (int i = 0; i < 7; i++)
        outputs[i] = keep((size_t)i)->data;
    x = in[1]->data;
    memcpy(cell, in + 1, sizeof cell);
    for (int64_t t = 0; t < length; t++) {
        cell[0] = harness_tensor(&h, EDDY_FLOAT32, HARNESS_DIMS(BATCH, INPUTS),
                                 x + t * BATCH * INPUTS);
        ck_assert_int_eq(run("LSTMBlockCell", cell, 8, peephole), EDDY_OK);
        for (int i = 0; i < 7; i++)
            ck_assert_mem_eq(h.outputs[i]->data, outputs[i] + t * BATCH * UNITS,
                             sizeof none);
        cell[1] = keep(1);
        cell[2] = keep(6);
    }
    for (int64_t t = length; t < STEPS; t++)
        for (int i = 0; i < 7; i++)
            ck_assert_mem_eq(outputs[i] + t * BATCH * UNITS, none, sizeof none);
}
END_TEST

START_TEST(gradients_of_a_sequence_have_the_shapes_of_its_inputs)
{
    static const char *const ops[] = {"BlockLSTM", "BlockLSTMV2"};
    static const char *const gradients[] = {"BlockLSTMGrad", "BlockLSTMGradV2"};
    const eddy_dtype dtype = _i % 2 ? EDDY_FLOAT32 : EDDY_FLOAT16;
    const int which = _i / 2;
    eddy_tensor *in[18];

    in[0] = harness_scalar(&h, EDDY_INT64, 3);
    fill_lstm(dtype, STEPS, in + 1);
    ck_assert_int_eq(run(ops[which], in, 9, true), EDDY_OK);
    for (size_t i = 0; i < 7; i++)
        in[9 + i] = keep(i);
    in[16] = in[17] = SOME(dtype, STEPS, BATCH, UNITS);
    ck_assert_int_eq(run(gradients[which], in, 18, true), EDDY_OK);
    for (size_t i = 0; i < 8; i++)
        harness_want(&h, i, dtype, in[1 + i]->shape.rank,
                     in[1 + i]->shape.dims);
    /* What lies behind the length has no gradient. */
    for (int64_t i = 3 * BATCH * INPUTS; i < STEPS * BATCH * INPUTS; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), 0);
}
END_TEST

START_TEST(nothing_at_all_has_gates_too)
{
    eddy_tensor *in[] = {some(EDDY_FLOAT32, HARNESS_DIMS(0, 3)),
                         some(EDDY_FLOAT32, HARNESS_DIMS(0, 2)),
                         some(EDDY_FLOAT32, HARNESS_DIMS(0, 2)),
                         SOME(EDDY_FLOAT32, 5, 8),
                         SOME(EDDY_FLOAT32, 2),
                         SOME(EDDY_FLOAT32, 2),
                         SOME(EDDY_FLOAT32, 2),
                         SOME(EDDY_FLOAT32, 8)};

    ck_assert_int_eq(run("LSTMBlockCell", in, 8, true), EDDY_OK);
    harness_want(&h, 6, EDDY_FLOAT32, HARNESS_DIMS(0, 2));
}
END_TEST

/* _i: the input that has another shape. */
START_TEST(shapes_that_do_not_fit_are_refused)
{
    eddy_tensor *in[8];

    fill_lstm(EDDY_FLOAT32, 0, in);
    in[_i] = SOME(EDDY_FLOAT32, 7, 7);
    harness_want_error(&h, run("LSTMBlockCell", in, 8, true),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(a_length_beyond_the_sequence_is_refused)
{
    eddy_tensor *in[9];

    fill_lstm(EDDY_FLOAT32, STEPS, in + 1);
    in[0] = harness_scalar(&h, EDDY_INT64, _i ? STEPS + 1 : -1);
    harness_want_error(&h, run("BlockLSTM", in, 9, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_lstm_tests(void)
{
    TCase *tc = tcase_create("ops_lstm");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(
        tc, a_cell_and_its_gradient_have_the_shapes_of_their_inputs, 0, 4);
    tcase_add_loop_test(tc, a_sequence_is_its_cells, 0, 10);
    tcase_add_loop_test(
        tc, gradients_of_a_sequence_have_the_shapes_of_its_inputs, 0, 4);
    tcase_add_test(tc, nothing_at_all_has_gates_too);
    tcase_add_loop_test(tc, shapes_that_do_not_fit_are_refused, 0, 8);
    tcase_add_loop_test(tc, a_length_beyond_the_sequence_is_refused, 0, 2);
    return tc;
}

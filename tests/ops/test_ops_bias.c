/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__bias_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {
    EDDY_FLOAT16, EDDY_FLOAT32,   EDDY_FLOAT64,  EDDY_INT8,      EDDY_INT16,
    EDDY_INT32,   EDDY_INT64,     EDDY_UINT8,    EDDY_UINT16,    EDDY_UINT32,
    EDDY_UINT64,  EDDY_COMPLEX64, EDDY_BFLOAT16, EDDY_COMPLEX128};

static const eddy_string nchw = {"NCHW", 4}, odd = {"CHW", 3};

/* Runs an op of a data format. */
static eddy_status run(const char *op, bool is_nchw, eddy_tensor *x,
                       eddy_tensor *bias)
{
    const eddy_attr attr = eddy_attr_string("data_format", &nchw);
    eddy_tensor *inputs[] = {x, bias};

    return harness_run_attrs(&h, op, inputs, bias ? 2 : 1, &attr, is_nchw);
}

static eddy_tensor *range(eddy_dtype dtype, int32_t rank, const int64_t *dims)
{
    static double values[256];

    for (int i = 0; i < 256; i++)
        values[i] = i % 3;
    return harness_numbers(&h, dtype, rank, dims, values);
}

/* The channel of element `i`. */
static int64_t channel_of(int64_t i, int32_t rank, const int64_t *dims,
                          bool is_nchw)
{
    const int32_t axis = is_nchw ? 1 : rank - 1;

    for (int32_t d = rank - 1; d > axis; d--)
        i /= dims[d];
    return i % dims[axis];
}

static const struct {
    int32_t rank;
    int64_t dims[8];
} shapes[] = {{2, {3, 4}},       {2, {0, 4}},          {3, {2, 4, 3}},
              {4, {2, 3, 2, 4}}, {5, {1, 2, 3, 2, 2}}, {8, {1, 2, 1, 2, 1, 2}},
              {2, {4, 0}},       {2, {1, 40}},         {4, {1, 2, 0, 3}}};

#define N_SHAPES (sizeof shapes / sizeof shapes[0])

/* Dimensions that are 0 in the table of rank 8 are 1. */
static void fill_dims(size_t i, int64_t dims[8])
{
    memcpy(dims, shapes[i].dims, sizeof shapes[i].dims);
    if (shapes[i].rank == 8)
        dims[6] = dims[7] = 1;
}

START_TEST(each_channel_gets_its_bias)
{
    const double biases[] = {1, 4, 2, 5, 1, 3, 7, 2, 9, 1, 2, 3, 4, 5,
                             6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1,
                             2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4};

    for (size_t i = 0; i < 2 * N_SHAPES; i++) {
        const bool is_nchw = i % 2;
        const int32_t rank = shapes[i / 2].rank;
        int64_t dims[8], n;
        eddy_tensor *x;

        fill_dims(i / 2, dims);
        x = range(dtypes[_i], rank, dims);
        n = dims[is_nchw ? 1 : rank - 1];
        ck_assert_int_eq(run("BiasAdd", is_nchw, x,
                             harness_numbers(&h, dtypes[_i], 1, &n, biases)),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[_i], rank, dims);
        for (int64_t j = 0; j < eddy_tensor_count(x); j++)
            ck_assert_double_eq(harness_get(h.outputs[0], j),
                                (double)(j % 3) +
                                    biases[channel_of(j, rank, dims, is_nchw)]);
    }
}
END_TEST

START_TEST(each_channel_is_summed)
{
    for (size_t i = 0; i < 2 * N_SHAPES; i++) {
        const bool is_nchw = i % 2;
        const int32_t rank = shapes[i / 2].rank;
        double sums[40] = {0};
        int64_t dims[8], n;
        eddy_tensor *x;

        fill_dims(i / 2, dims);
        x = range(dtypes[_i], rank, dims);
        n = dims[is_nchw ? 1 : rank - 1];
        for (int64_t j = 0; j < eddy_tensor_count(x); j++)
            sums[channel_of(j, rank, dims, is_nchw)] += (double)(j % 3);
        ck_assert_int_eq(run("BiasAddGrad", is_nchw, x, NULL), EDDY_OK);
        harness_want(&h, 0, dtypes[_i], 1, &n);
        for (int64_t j = 0; j < n; j++)
            ck_assert_double_eq(harness_get(h.outputs[0], j), sums[j]);
    }
}
END_TEST

START_TEST(integers_wrap)
{
    const int64_t dims[] = {1, 2};
    const double x[] = {127, -128}, bias[] = {1, -1};
    const int64_t two = 2;

    ck_assert_int_eq(harness_run(&h, "BiasAddV1",
                                 harness_numbers(&h, EDDY_INT8, 2, dims, x),
                                 harness_numbers(&h, EDDY_INT8, 1, &two, bias)),
                     EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -128);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 127);
}
END_TEST

/* Halves are summed as floats: 4096 ones would stop at 2048 otherwise. */
START_TEST(halves_are_summed_as_floats)
{
    static double ones[4096];
    const int64_t dims[] = {4096, 1};

    for (int i = 0; i < 4096; i++)
        ones[i] = 1;
    ck_assert_int_eq(
        harness_run(&h, "BiasAddGrad",
                    harness_numbers(&h, EDDY_FLOAT16, 2, dims, ones)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 4096);
}
END_TEST

START_TEST(bad_inputs_are_refused)
{
    const int64_t dims[] = {2, 3};
    const eddy_attr attr = eddy_attr_string("data_format", &odd);
    eddy_tensor *x = range(EDDY_FLOAT32, 2, dims);
    eddy_tensor *vector = range(EDDY_FLOAT32, 1, dims);

    harness_want_error(&h, harness_run(&h, "BiasAdd", x, vector),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "BiasAdd", x, x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "BiasAdd", vector, vector),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "BiasAddGrad", vector),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run_attrs(&h, "BiasAddGrad", &x, 1, &attr, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

TCase *ops_bias_tests(void)
{
    const int n = sizeof dtypes / sizeof dtypes[0];
    TCase *tc = tcase_create("ops_bias");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, each_channel_gets_its_bias, 0, n);
    tcase_add_loop_test(tc, each_channel_is_summed, 0, n);
    tcase_add_test(tc, integers_wrap);
    tcase_add_test(tc, halves_are_summed_as_floats);
    tcase_add_test(tc, bad_inputs_are_refused);
    return tc;
}

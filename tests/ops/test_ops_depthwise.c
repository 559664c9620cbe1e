/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__depthwise_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_BFLOAT16};

/* Sizes are batch, rows, columns, channels; of the filter the last is new. */
typedef struct problem {
    int64_t in[4], filter[4], strides[2], dilations[2], before[2], behind[2];
    int64_t out[2];
} problem;

static const problem problems[] = {
    {{1, 3, 4, 2}, {2, 2, 2, 3}, {1, 1}, {1, 1}, {0}, {0}, {2, 3}},
    {{2, 4, 3, 17}, {3, 2, 17, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 1}, {2, 3}},
    {{1, 5, 5, 1}, {2, 2, 1, 2}, {1, 2}, {2, 3}, {0, 1}, {0}, {3, 2}},
    {{0, 3, 3, 2}, {2, 2, 2, 1}, {1, 1}, {1, 1}, {0}, {0}, {2, 2}},
    {{1, 3, 3, 2}, {2, 2, 2, 0}, {1, 1}, {1, 1}, {0}, {0}, {2, 2}},
};

#define N_PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static double value_at(int64_t i)
{
    return (double)(i * 7 % 3 - 1);
}

static int64_t at(const int64_t sizes[4], bool is_nchw, int64_t n, int64_t row,
                  int64_t column, int64_t c)
{
    return is_nchw ? ((n * sizes[3] + c) * sizes[1] + row) * sizes[2] + column
                   : ((n * sizes[1] + row) * sizes[2] + column) * sizes[3] + c;
}

static int64_t count_of(const int64_t sizes[4])
{
    return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

static double want_out[512], want_in[512], want_filter[512];

static void out_sizes(const problem *p, int64_t sizes[4])
{
    sizes[0] = p->in[0];
    sizes[1] = p->out[0];
    sizes[2] = p->out[1];
    sizes[3] = p->filter[2] * p->filter[3];
}

/* Adds what output element (n, row, column, channel) has to do with. */
static void add_output(const problem *p, bool is_nchw, const int64_t o[4])
{
    const int64_t c = o[3] / p->filter[3], m = o[3] % p->filter[3];
    int64_t sizes[4], to;

    out_sizes(p, sizes);
    to = at(sizes, is_nchw, o[0], o[1], o[2], o[3]);
    for (int64_t i = 0; i < p->filter[0]; i++)
        for (int64_t j = 0; j < p->filter[1]; j++) {
            const int64_t row =
                o[1] * p->strides[0] - p->before[0] + i * p->dilations[0];
            const int64_t column =
                o[2] * p->strides[1] - p->before[1] + j * p->dilations[1];
            const int64_t from = at(p->in, is_nchw, o[0], row, column, c);
            const int64_t f = at(p->filter, false, i, j, c, m);

            if (row < 0 || column < 0 || row >= p->in[1] || column >= p->in[2])
                continue;
            want_out[to] += value_at(from) * value_at(f);
            want_in[from] += value_at(to) * value_at(f);
            want_filter[f] += value_at(to) * value_at(from);
        }
}

static void make_wanted(const problem *p, bool is_nchw)
{
    int64_t sizes[4];

    memset(want_out, 0, sizeof want_out);
    memset(want_in, 0, sizeof want_in);
    memset(want_filter, 0, sizeof want_filter);
    out_sizes(p, sizes);
    for (int64_t i = 0; i < count_of(sizes); i++)
        add_output(p, is_nchw,
                   (const int64_t[]){i / (sizes[3] * sizes[2] * sizes[1]),
                                     i / (sizes[3] * sizes[2]) % sizes[1],
                                     i / sizes[3] % sizes[2], i % sizes[3]});
}

static void to_dims(const int64_t sizes[4], bool is_nchw, int64_t dims[4])
{
    dims[0] = sizes[0];
    dims[1] = is_nchw ? sizes[3] : sizes[1];
    dims[2] = is_nchw ? sizes[1] : sizes[2];
    dims[3] = is_nchw ? sizes[2] : sizes[3];
}

static eddy_tensor *tensor(eddy_dtype dtype, const int64_t dims[4])
{
    static double values[512];

    for (int64_t i = 0; i < 512; i++)
        values[i] = value_at(i);
    return harness_numbers(&h, dtype, 4, dims, values);
}

static eddy_tensor *sizes_tensor(const int64_t dims[4])
{
    const double values[] = {(double)dims[0], (double)dims[1], (double)dims[2],
                             (double)dims[3]};
    const int64_t four = 4;

    return harness_numbers(&h, EDDY_INT32, 1, &four, values);
}

static eddy_attr list_attr(const char *name, const int64_t *values, size_t n)
{
    return (eddy_attr){.name = name,
                       .kind = EDDY_ATTR_INT,
                       .is_list = true,
                       .n = n,
                       .as.ints = values};
}

static eddy_status run(const problem *p, bool is_nchw, const char *op,
                       eddy_tensor *const *inputs, size_t n)
{
    const int64_t quads[][4] = {{1, p->strides[0], p->strides[1], 1},
                                {1, p->dilations[0], p->dilations[1], 1},
                                {0, p->before[0], p->before[1], 0},
                                {0, p->behind[0], p->behind[1], 0}};
    const eddy_string padding = {"EXPLICIT", 8};
    const eddy_string format = {is_nchw ? "NCHW" : "NHWC", 4};
    int64_t dims[4][4], paddings[8];
    eddy_attr attrs[5];

    for (int i = 0; i < 4; i++)
        to_dims(quads[i], is_nchw, dims[i]);
    for (int i = 0; i < 8; i++)
        paddings[i] = dims[2 + i % 2][i / 2];
    attrs[0] = list_attr("strides", dims[0], 4);
    attrs[1] = list_attr("dilations", dims[1], 4);
    attrs[2] = list_attr("explicit_paddings", paddings, 8);
    attrs[3] = eddy_attr_string("padding", &padding);
    attrs[4] = eddy_attr_string("data_format", &format);
    return harness_run_attrs(&h, op, inputs, n, attrs, 5);
}

static void want_values(eddy_dtype dtype, const int64_t dims[4],
                        const double *values)
{
    harness_want(&h, 0, dtype, 4, dims);
    for (int64_t i = 0; i < count_of(dims); i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), values[i]);
}

#define OP "DepthwiseConv2dNative"

/* _i: dtype and problem. */
START_TEST(each_channel_meets_its_filters)
{
    const problem *p = &problems[_i % N_PROBLEMS];
    const eddy_dtype dtype = dtypes[_i / N_PROBLEMS];

    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        int64_t sizes[4], in[4], out[4];
        eddy_tensor *x, *filter, *gradient;

        out_sizes(p, sizes);
        to_dims(p->in, is_nchw, in);
        to_dims(sizes, is_nchw, out);
        make_wanted(p, is_nchw);
        x = tensor(dtype, in);
        filter = tensor(dtype, p->filter);
        gradient = tensor(dtype, out);
        ck_assert_int_eq(run(p, is_nchw, OP, (eddy_tensor *[]){x, filter}, 2),
                         EDDY_OK);
        want_values(dtype, out, want_out);
        ck_assert_int_eq(
            run(p, is_nchw, OP "BackpropInput",
                (eddy_tensor *[]){sizes_tensor(in), filter, gradient}, 3),
            EDDY_OK);
        want_values(dtype, in, want_in);
        ck_assert_int_eq(
            run(p, is_nchw, OP "BackpropFilter",
                (eddy_tensor *[]){x, sizes_tensor(p->filter), gradient}, 3),
            EDDY_OK);
        want_values(dtype, p->filter, want_filter);
    }
}
END_TEST

START_TEST(shapes_must_fit)
{
    const problem *p = &problems[0];
    const int64_t deep[] = {2, 2, 3, 1};
    eddy_tensor *x = tensor(EDDY_FLOAT32, p->in);
    eddy_tensor *filter = tensor(EDDY_FLOAT32, p->filter);
    eddy_tensor *cube =
        harness_numbers(&h, EDDY_FLOAT32, 3, deep, (const double[12]){0});

    harness_want_error(
        &h,
        run(p, false, OP, (eddy_tensor *[]){x, tensor(EDDY_FLOAT32, deep)}, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run(p, false, OP, (eddy_tensor *[]){cube, filter}, 2),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       run(p, false, OP "BackpropInput",
                           (eddy_tensor *[]){sizes_tensor(p->in), filter, x},
                           3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run(p, false, OP "BackpropFilter",
                           (eddy_tensor *[]){x, sizes_tensor(p->filter), x}, 3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_depthwise_tests(void)
{
    TCase *tc = tcase_create("ops_depthwise");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, each_channel_meets_its_filters, 0, 3 * N_PROBLEMS);
    tcase_add_test(tc, shapes_must_fit);
    return tc;
}

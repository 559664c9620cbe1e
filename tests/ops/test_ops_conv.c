/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__conv_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_INT32, EDDY_BFLOAT16};

/* One convolution; sizes are batch, rows, columns, channels. */
typedef struct problem {
    int64_t in[4], filter[4];
    int64_t strides[2], dilations[2];
    const char *padding;
    int64_t before[2], behind[2]; /* of EXPLICIT */
    int64_t out[2];
} problem;

static const problem problems[] = {
    {{1, 3, 4, 2}, {2, 2, 2, 3}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 3}},
    {{2, 3, 4, 1}, {2, 3, 1, 1}, {1, 1}, {1, 1}, "SAME", {0}, {0}, {3, 4}},
    {{2, 5, 6, 3}, {3, 2, 3, 2}, {2, 3}, {1, 1}, "SAME", {0}, {0}, {3, 2}},
    {{1, 5, 4, 2}, {3, 3, 2, 2}, {1, 1}, {2, 1}, "SAME", {0}, {0}, {5, 4}},
    {{1, 7, 6, 2}, {3, 2, 2, 1}, {2, 1}, {2, 3}, "VALID", {0}, {0}, {2, 3}},
    {{2, 3, 3, 2},
     {2, 2, 2, 3},
     {1, 2},
     {1, 1},
     "EXPLICIT",
     {1, 0},
     {2, 3},
     {5, 3}},
    {{1, 2, 2, 2},
     {2, 2, 2, 2},
     {1, 1},
     {1, 1},
     "EXPLICIT",
     {3, 0},
     {0, 2},
     {4, 3}},
    {{2, 3, 2, 4}, {2, 1, 2, 6}, {1, 1}, {1, 1}, "SAME", {0}, {0}, {3, 2}},
    {{1, 3, 3, 3}, {3, 3, 1, 6}, {1, 1}, {1, 1}, "SAME", {0}, {0}, {3, 3}},
    {{2, 3, 4, 5}, {1, 1, 5, 2}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {3, 4}},
    {{1, 3, 3, 2}, {1, 1, 2, 2}, {2, 2}, {1, 1}, "SAME", {0}, {0}, {2, 2}},
    {{1, 1, 1, 1}, {5, 5, 1, 1}, {1, 1}, {1, 1}, "SAME", {0}, {0}, {1, 1}},
    {{1, 2, 2, 1}, {3, 1, 1, 2}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {0, 2}},
    {{0, 3, 3, 1}, {2, 2, 1, 2}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
    {{1, 3, 3, 2}, {2, 2, 2, 0}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
    /* More than one block of patches. */
    {{1, 20, 20, 64},
     {3, 3, 64, 2},
     {1, 1},
     {1, 1},
     "SAME",
     {0},
     {0},
     {20, 20}},
};

#define N_PROBLEMS ((int)(sizeof problems / sizeof problems[0]))
#define MOST 26000 /* elements of a tensor here */

/* Values that no sum of rounds, in float16 neither. */
static double value_at(int64_t i)
{
    return (double)(i * 7 % 3 - 1);
}

/* Where element (n, row, column, channel) of images is. */
static int64_t at(const int64_t sizes[4], bool is_nchw, const int64_t where[4])
{
    return is_nchw ? ((where[0] * sizes[3] + where[3]) * sizes[1] + where[1]) *
                             sizes[2] +
                         where[2]
                   : ((where[0] * sizes[1] + where[1]) * sizes[2] + where[2]) *
                             sizes[3] +
                         where[3];
}

static int64_t count_of(const int64_t sizes[4])
{
    return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

/* What the three ops should give, from the definition. */
static double want_out[MOST], want_in[MOST], want_filter[MOST];

static int64_t place(const problem *p, int side, int64_t window, int64_t i)
{
    const int64_t reach = (p->filter[side] - 1) * p->dilations[side] + 1;
    int64_t before = p->before[side];

    if (strcmp(p->padding, "SAME") == 0) {
        before =
            (p->out[side] - 1) * p->strides[side] + reach - p->in[1 + side];
        before = before > 0 ? before / 2 : 0;
    }
    return window * p->strides[side] - before + i * p->dilations[side];
}

/* Adds what one element of the output takes from one place of the filter. */
static void add_place(const problem *p, bool is_nchw, const int64_t out[4],
                      const int64_t tap[2])
{
    const int64_t sizes[] = {p->in[0], p->out[0], p->out[1], p->filter[3]};
    const int64_t groups = p->in[3] / p->filter[2];
    const int64_t group = out[3] / (p->filter[3] / groups);
    const int64_t row = place(p, 0, out[1], tap[0]);
    const int64_t column = place(p, 1, out[2], tap[1]);

    if (row < 0 || row >= p->in[1] || column < 0 || column >= p->in[2])
        return;
    for (int64_t c = 0; c < p->filter[2]; c++) {
        const int64_t from[] = {out[0], row, column, group * p->filter[2] + c};
        const int64_t i = at(p->in, is_nchw, from);
        const int64_t o = at(sizes, is_nchw, out);
        const int64_t f =
            at(p->filter, false, (const int64_t[]){tap[0], tap[1], c, out[3]});

        want_out[o] += value_at(i) * value_at(f);
        want_in[i] += value_at(o) * value_at(f);
        want_filter[f] += value_at(o) * value_at(i);
    }
}

static void make_wanted(const problem *p, bool is_nchw)
{
    const int64_t sizes[] = {p->in[0], p->out[0], p->out[1], p->filter[3]};
    int64_t o[4], tap[2];

    memset(want_out, 0, sizeof want_out);
    memset(want_in, 0, sizeof want_in);
    memset(want_filter, 0, sizeof want_filter);
    for (int64_t i = 0; i < count_of(sizes); i++) {
        o[3] = i % sizes[3];
        o[2] = i / sizes[3] % sizes[2];
        o[1] = i / (sizes[3] * sizes[2]) % sizes[1];
        o[0] = i / (sizes[3] * sizes[2] * sizes[1]);
        for (tap[0] = 0; tap[0] < p->filter[0]; tap[0]++)
            for (tap[1] = 0; tap[1] < p->filter[1]; tap[1]++)
                add_place(p, is_nchw, o, tap);
    }
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
    static double values[MOST];

    for (int64_t i = 0; i < MOST; i++)
        values[i] = value_at(i);
    return harness_numbers(&h, dtype, 4, dims, values);
}

static eddy_tensor *sizes_tensor(const int64_t *dims, int64_t n)
{
    double values[8];

    for (int64_t i = 0; i < n; i++)
        values[i] = (double)dims[i];
    return harness_numbers(&h, EDDY_INT32, 1, &n, values);
}

static eddy_status run(const problem *p, bool is_nchw, const char *op,
                       eddy_tensor *const *inputs, size_t n)
{
    const int64_t strides[] = {1, p->strides[0], p->strides[1], 1};
    const int64_t dilations[] = {1, p->dilations[0], p->dilations[1], 1};
    const int64_t explicit[] = {
        0, 0, p->before[0], p->behind[0], p->before[1], p->behind[1], 0, 0};
    const eddy_string padding = {p->padding, strlen(p->padding)};
    const eddy_string format = {is_nchw ? "NCHW" : "NHWC", 4};
    int64_t lists[3][8];
    eddy_attr attrs[5] = {
        {.name = "strides", .kind = EDDY_ATTR_INT, .is_list = true, .n = 4},
        {.name = "dilations", .kind = EDDY_ATTR_INT, .is_list = true, .n = 4},
        {.name = "explicit_paddings",
         .kind = EDDY_ATTR_INT,
         .is_list = true,
         .n = strcmp(p->padding, "EXPLICIT") == 0 ? 8 : 0}};

    to_dims(strides, is_nchw, lists[0]);
    to_dims(dilations, is_nchw, lists[1]);
    for (int i = 0; i < 2; i++) {
        int64_t dims[4];
        const int64_t pairs[] = {explicit[i], explicit[2 + i], explicit[4 + i],
                                 explicit[6 + i]};

        to_dims(pairs, is_nchw, dims);
        for (int j = 0; j < 4; j++)
            lists[2][2 * j + i] = dims[j];
    }
    for (int i = 0; i < 3; i++)
        attrs[i].as.ints = lists[i];
    attrs[3] = eddy_attr_string("padding", &padding);
    attrs[4] = eddy_attr_string("data_format", &format);
    return harness_run_attrs(&h, op, inputs, n, attrs, 5);
}

static void want_values(eddy_dtype dtype, const int64_t dims[4],
                        const double *values)
{
    harness_want(&h, 0, dtype, 4, dims);
    for (int64_t i = 0; i < count_of(dims); i++)
        ck_assert_double_eq(
            harness_get(h.outputs[0], i),
            dtype == EDDY_BFLOAT16
                ? (double)eddy_bfloat16_to_float(
                      eddy_bfloat16_from_float((float)values[i]))
                : values[i]);
}

static void check(const problem *p, eddy_dtype dtype, bool is_nchw)
{
    const int64_t out_sizes[] = {p->in[0], p->out[0], p->out[1], p->filter[3]};
    int64_t in[4], out[4];
    eddy_tensor *x, *filter, *gradient;

    to_dims(p->in, is_nchw, in);
    to_dims(out_sizes, is_nchw, out);
    make_wanted(p, is_nchw);
    x = tensor(dtype, in);
    filter = tensor(dtype, p->filter);
    gradient = tensor(dtype, out);
    ck_assert_int_eq(run(p, is_nchw, "Conv2D", (eddy_tensor *[]){x, filter}, 2),
                     EDDY_OK);
    want_values(dtype, out, want_out);
    ck_assert_int_eq(
        run(p, is_nchw, "Conv2DBackpropInput",
            (eddy_tensor *[]){sizes_tensor(in, 4), filter, gradient}, 3),
        EDDY_OK);
    want_values(dtype, in, want_in);
    if (p->in[3] == p->filter[2]) {
        ck_assert_int_eq(
            run(p, is_nchw, "Conv2DBackpropInput",
                (eddy_tensor *[]){sizes_tensor(p->in + 1, 2), filter, gradient},
                3),
            EDDY_OK);
        want_values(dtype, in, want_in);
    }
    if (dtype == EDDY_INT32)
        return;
    ck_assert_int_eq(
        run(p, is_nchw, "Conv2DBackpropFilter",
            (eddy_tensor *[]){x, sizes_tensor(p->filter, 4), gradient}, 3),
        EDDY_OK);
    want_values(dtype, p->filter, want_filter);
}

/* _i: dtype and problem. */
START_TEST(convolutions_and_gradients_of_both_formats)
{
    const problem *p = &problems[_i % N_PROBLEMS];
    const eddy_dtype dtype = dtypes[_i / N_PROBLEMS];

    check(p, dtype, false);
    check(p, dtype, true);
}
END_TEST

START_TEST(integers_wrap)
{
    const int64_t ones[] = {1, 1, 1, 1};
    const double big = 65536;
    eddy_tensor *x = harness_numbers(&h, EDDY_INT32, 4, ones, &big);
    const problem p = {
        .strides = {1, 1}, .dilations = {1, 1}, .padding = "VALID"};

    ck_assert_int_eq(run(&p, false, "Conv2D", (eddy_tensor *[]){x, x}, 2),
                     EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0);
}
END_TEST

/* A change to a sound problem, and what is wrong with it. */
typedef struct mistake {
    problem p;
    eddy_status code;
    eddy_detail detail;
} mistake;

static const mistake mistakes[] = {
    {{{1, 3, 3, 2}, {2, 2, 3, 1}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_SHAPE},
    {{{1, 3, 3, 4}, {2, 2, 2, 3}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_SHAPE},
    {{{1, 3, 3, 2}, {2, 0, 2, 3}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_SHAPE},
    {{{1, 3, 3, 2}, {5, 2, 2, 3}, {1, 1}, {1, 1}, "VALID", {0}, {0}, {0, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_DIM},
    {{{1, 3, 3, 2}, {2, 2, 2, 3}, {0, 1}, {1, 1}, "VALID", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_ATTR_VALUE},
    {{{1, 3, 3, 2}, {2, 2, 2, 3}, {1, 1}, {1, -1}, "VALID", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_ATTR_VALUE},
    {{{1, 3, 3, 2}, {2, 2, 2, 3}, {1, 1}, {1, 1}, "HALF", {0}, {0}, {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_ATTR_VALUE},
    {{{1, 3, 3, 2},
      {2, 2, 2, 3},
      {1, 1},
      {1, 1},
      "EXPLICIT",
      {-1, 0},
      {0},
      {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_ATTR_VALUE},
    {{{1, 3, 3, 2},
      {2, 2, 2, 3},
      {1, 1},
      {1, INT64_MAX},
      "VALID",
      {0},
      {0},
      {2, 2}},
     EDDY_INVALID_ARGUMENT,
     EDDY_E_ATTR_VALUE},
};

START_TEST(what_makes_no_sense_is_refused)
{
    const mistake *m = &mistakes[_i];
    eddy_tensor *x = tensor(EDDY_FLOAT32, m->p.in);
    eddy_tensor *filter = tensor(EDDY_FLOAT32, m->p.filter);

    harness_want_error(
        &h, run(&m->p, false, "Conv2D", (eddy_tensor *[]){x, filter}, 2),
        m->code, m->detail);
}
END_TEST

START_TEST(ranks_and_gradients_must_fit)
{
    const problem *p = &problems[0];
    eddy_tensor *x = tensor(EDDY_FLOAT32, p->in);
    eddy_tensor *filter = tensor(EDDY_FLOAT32, p->filter);
    eddy_tensor *cube = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 3, 3),
                                        (const double[9]){0});

    harness_want_error(
        &h, run(p, false, "Conv2D", (eddy_tensor *[]){cube, filter}, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       run(p, false, "Conv2DBackpropInput",
                           (eddy_tensor *[]){sizes_tensor(p->in, 4), filter, x},
                           3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run(p, false, "Conv2DBackpropInput",
                           (eddy_tensor *[]){sizes_tensor(p->in, 3), filter, x},
                           3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run(p, false, "Conv2DBackpropFilter",
                           (eddy_tensor *[]){x, sizes_tensor(p->filter, 4), x},
                           3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run(p, false, "Conv2DBackpropFilter",
                           (eddy_tensor *[]){x, sizes_tensor(p->filter, 3), x},
                           3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(windows_over_batch_and_channels_are_not_supported)
{
    const int64_t lists[][4] = {{2, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 1}};
    const eddy_string padding = {"SAME", 4};
    const int64_t dims[] = {1, 2, 2, 1};
    eddy_tensor *x = tensor(EDDY_FLOAT32, dims);

    for (int i = 0; i < 3; i++) {
        const eddy_attr attrs[] = {{.name = i == 1 ? "dilations" : "strides",
                                    .kind = EDDY_ATTR_INT,
                                    .is_list = true,
                                    .n = i == 2 ? 3 : 4,
                                    .as.ints = lists[i]},
                                   {.name = i == 1 ? "strides" : "dilations",
                                    .kind = EDDY_ATTR_INT,
                                    .is_list = true,
                                    .n = 4,
                                    .as.ints = lists[2]},
                                   eddy_attr_string("padding", &padding)};

        harness_want_error(&h,
                           harness_run_attrs(&h, "Conv2D",
                                             (eddy_tensor *[]){x, x}, 2, attrs,
                                             3),
                           i == 0 ? EDDY_UNIMPLEMENTED : EDDY_INVALID_ARGUMENT,
                           EDDY_E_ATTR_VALUE);
    }
}
END_TEST

TCase *ops_conv_tests(void)
{
    const int n_dtypes = sizeof dtypes / sizeof dtypes[0];
    const int n_mistakes = sizeof mistakes / sizeof mistakes[0];
    TCase *tc = tcase_create("ops_conv");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, convolutions_and_gradients_of_both_formats, 0,
                        n_dtypes * N_PROBLEMS);
    tcase_add_test(tc, integers_wrap);
    tcase_add_loop_test(tc, what_makes_no_sense_is_refused, 0, n_mistakes);
    tcase_add_test(tc, ranks_and_gradients_must_fit);
    tcase_add_test(tc, windows_over_batch_and_channels_are_not_supported);
    ops_conv3d_add_tests(tc);
    return tc;
}

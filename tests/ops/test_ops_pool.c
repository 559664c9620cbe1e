/* SPDX-License-Identifier: Apache-2.0 */
/* The pools of ops/nn/max_pool.c and ops/nn/avg_pool.c. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/ops/parts.h"
#include "tests/suites.h"

#include <float.h>
#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__max_pool_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_INT8,    EDDY_INT16,   EDDY_INT32,
                                    EDDY_INT64,   EDDY_UINT8,   EDDY_UINT16,
                                    EDDY_UINT32,  EDDY_UINT64,  EDDY_BFLOAT16};

#define N_DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

/* Sizes are batch, rows, columns, channels. */
typedef struct problem {
    int64_t in[4], size[2], strides[2];
    const char *padding;
    int64_t before[2], behind[2], out[2];
} problem;

static const problem problems[] = {
    {{1, 3, 4, 2}, {2, 2}, {1, 1}, "VALID", {0}, {0}, {2, 3}},
    {{2, 5, 4, 3}, {2, 3}, {2, 2}, "SAME", {0}, {0}, {3, 2}},
    {{1, 4, 4, 1}, {7, 7}, {2, 2}, "SAME", {0}, {0}, {2, 2}},
    {{1, 4, 4, 17}, {1, 1}, {3, 3}, "SAME", {0}, {0}, {2, 2}},
    {{1, 3, 3, 2}, {5, 1}, {1, 1}, "SAME", {0}, {0}, {3, 3}},
    {{0, 4, 4, 1}, {2, 2}, {2, 2}, "VALID", {0}, {0}, {2, 2}},
    {{1, 4, 4, 1}, {5, 1}, {1, 1}, "VALID", {0}, {0}, {0, 4}},
    {{1, 2, 3, 70}, {2, 2}, {1, 1}, "VALID", {0}, {0}, {1, 2}},
    {{1, 3, 3, 2}, {2, 2}, {1, 1}, "EXPLICIT", {1, 0}, {0, 1}, {3, 3}},
};

#define N_PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static double value_at(int64_t i)
{
    return (double)(i * 11 % 7);
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

static int64_t start(const problem *p, int side, int64_t window)
{
    int64_t before = p->before[side];

    if (strcmp(p->padding, "SAME") == 0) {
        before = (p->out[side] - 1) * p->strides[side] + p->size[side] -
                 p->in[1 + side];
        before = before > 0 ? before / 2 : 0;
    }
    return window * p->strides[side] - before;
}

/* What a window has: maxima, where the first of them is, their mean. */
typedef struct content {
    double max, sum;
    int64_t place, count;
} content;

static content look(const problem *p, bool is_nchw, int64_t n, int64_t row,
                    int64_t column, int64_t c)
{
    content found = {.max = -DBL_MAX, .place = -1};
    const int64_t first[] = {start(p, 0, row), start(p, 1, column)};

    for (int64_t i = first[0]; i < first[0] + p->size[0]; i++)
        for (int64_t j = first[1]; j < first[1] + p->size[1]; j++) {
            const int64_t place = at(p->in, is_nchw, n, i, j, c);

            if (i < 0 || j < 0 || i >= p->in[1] || j >= p->in[2])
                continue;
            if (value_at(place) > found.max) {
                found.max = value_at(place);
                found.place = place;
            }
            found.sum += value_at(place);
            found.count++;
        }
    return found;
}

/* Attributes but the dtypes; `lists` must live as long as they. */
typedef struct attributes {
    int64_t lists[3][8];
    eddy_string padding, format;
    eddy_attr attrs[5];
} attributes;

static eddy_attr list_attr(const char *name, const int64_t *values, size_t n)
{
    return (eddy_attr){.name = name,
                       .kind = EDDY_ATTR_INT,
                       .is_list = true,
                       .n = n,
                       .as.ints = values};
}

static void make_attributes(const problem *p, bool is_nchw, attributes *a)
{
    const int64_t size[] = {1, p->size[0], p->size[1], 1};
    const int64_t strides[] = {1, p->strides[0], p->strides[1], 1};
    const int64_t before[] = {0, p->before[0], p->before[1], 0};
    const int64_t behind[] = {0, p->behind[0], p->behind[1], 0};
    int64_t dims[2][4];

    to_dims(size, is_nchw, a->lists[0]);
    to_dims(strides, is_nchw, a->lists[1]);
    to_dims(before, is_nchw, dims[0]);
    to_dims(behind, is_nchw, dims[1]);
    for (int i = 0; i < 8; i++)
        a->lists[2][i] = dims[i % 2][i / 2];
    a->padding = (eddy_string){p->padding, strlen(p->padding)};
    a->format = (eddy_string){is_nchw ? "NCHW" : "NHWC", 4};
    a->attrs[0] = eddy_attr_string("padding", &a->padding);
    a->attrs[1] = eddy_attr_string("data_format", &a->format);
    a->attrs[2] = list_attr("ksize", a->lists[0], 4);
    a->attrs[3] = list_attr("strides", a->lists[1], 4);
    a->attrs[4] = list_attr("explicit_paddings", a->lists[2], 8);
}

/* The windows as attributes, or for `V2` as two more inputs. */
static eddy_status run(const problem *p, bool is_nchw, const char *op,
                       eddy_tensor *const *inputs, size_t n)
{
    const bool is_explicit = strcmp(p->padding, "EXPLICIT") == 0;
    const size_t length = strlen(op);
    const bool is_v2 = strcmp(op + length - 2, "V2") == 0;
    eddy_tensor *all[5];
    attributes a;

    make_attributes(p, is_nchw, &a);
    memcpy(all, inputs, n * sizeof *inputs);
    if (is_v2) {
        for (int i = 0; i < 2; i++) {
            const double list[] = {(double)a.lists[i][0], (double)a.lists[i][1],
                                   (double)a.lists[i][2],
                                   (double)a.lists[i][3]};
            const int64_t four = 4;

            all[n++] = harness_numbers(&h, EDDY_INT32, 1, &four, list);
        }
        return harness_run_attrs(&h, op, all, n, a.attrs, 2);
    }
    return harness_run_attrs(&h, op, all, n, a.attrs, is_explicit ? 5 : 4);
}

static double want[512];

static void check(eddy_dtype dtype, const int64_t dims[4])
{
    harness_want(&h, 0, dtype, 4, dims);
    for (int64_t i = 0; i < count_of(dims); i++)
        ck_assert_double_eq_tol(harness_get(h.outputs[0], i), want[i],
                                dtype == EDDY_FLOAT16   ? 0.02
                                : dtype == EDDY_FLOAT32 ? 1e-5
                                                        : 1e-12);
}

typedef enum kind { MAX, MAX_GRAD, MAX_GRAD_GRAD, AVG, AVG_GRAD } wanted;

/* What an op of that kind gives. */
static void make_wanted(const problem *p, bool is_nchw, wanted kind)
{
    const int64_t out[] = {p->in[0], p->out[0], p->out[1], p->in[3]};

    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < count_of(out); i++) {
        const int64_t c = i % out[3], column = i / out[3] % out[2];
        const int64_t row = i / (out[3] * out[2]) % out[1];
        const int64_t n = i / (out[3] * out[2] * out[1]);
        const int64_t o = at(out, is_nchw, n, row, column, c);
        const content found = look(p, is_nchw, n, row, column, c);
        const int64_t first[] = {start(p, 0, row), start(p, 1, column)};

        if (kind == MAX)
            want[o] = found.max;
        else if (kind == MAX_GRAD)
            want[found.place] += value_at(o);
        else if (kind == MAX_GRAD_GRAD)
            want[o] = value_at(found.place);
        else if (kind == AVG)
            want[o] = found.sum / (double)found.count;
        for (int64_t j = 0; kind == AVG_GRAD && j < p->size[0] * p->size[1];
             j++) {
            const int64_t y = first[0] + j / p->size[1];
            const int64_t x = first[1] + j % p->size[1];

            if (y >= 0 && x >= 0 && y < p->in[1] && x < p->in[2])
                want[at(p->in, is_nchw, n, y, x, c)] +=
                    value_at(o) / (double)found.count;
        }
    }
}

static void shapes(const problem *p, bool is_nchw, int64_t in[4],
                   int64_t out[4])
{
    const int64_t sizes[] = {p->in[0], p->out[0], p->out[1], p->in[3]};

    to_dims(p->in, is_nchw, in);
    to_dims(sizes, is_nchw, out);
}

/* Is it a dtype of MaxPool, not only of its gradients? */
static bool is_pooled(eddy_dtype dtype)
{
    return dtype != EDDY_UINT32 && dtype != EDDY_UINT64;
}

/* _i: dtype and problem. */
START_TEST(maxima_and_their_gradients)
{
    const problem *p = &problems[_i % N_PROBLEMS];
    const eddy_dtype dtype = dtypes[_i / N_PROBLEMS];

    for (int i = 0; i < 4; i++) {
        const bool is_nchw = i % 2, is_v2 = i / 2;
        int64_t in[4], out[4];
        eddy_tensor *x, *maxima, *gradient;

        if (is_v2 && strcmp(p->padding, "EXPLICIT") == 0)
            continue;
        shapes(p, is_nchw, in, out);
        make_wanted(p, is_nchw, MAX);
        x = tensor(dtype, in);
        maxima = harness_numbers(&h, dtype, 4, out, want);
        gradient = tensor(dtype, out);
        if (is_pooled(dtype)) {
            ck_assert_int_eq(
                run(p, is_nchw, is_v2 ? "MaxPoolV2" : "MaxPool", &x, 1),
                EDDY_OK);
            check(dtype, out);
        }
        make_wanted(p, is_nchw, MAX_GRAD);
        ck_assert_int_eq(run(p, is_nchw,
                             is_v2 ? "MaxPoolGradV2" : "MaxPoolGrad",
                             (eddy_tensor *[]){x, maxima, gradient}, 3),
                         EDDY_OK);
        check(dtype, in);
        if (strcmp(p->padding, "EXPLICIT") == 0)
            continue;
        make_wanted(p, is_nchw, MAX_GRAD_GRAD);
        ck_assert_int_eq(run(p, is_nchw,
                             is_v2 ? "MaxPoolGradGradV2" : "MaxPoolGradGrad",
                             (eddy_tensor *[]){x, maxima, x}, 3),
                         EDDY_OK);
        check(dtype, out);
    }
}
END_TEST

/* _i: one of three dtypes and problem. */
START_TEST(means_and_their_gradients)
{
    const problem *p = &problems[_i % N_PROBLEMS];
    const eddy_dtype dtype = dtypes[_i / N_PROBLEMS];

    ck_assert_int_eq(
        eddy__registry_add_table(&h.ctx.registry, &eddy__avg_pool_ops, NULL),
        EDDY_OK);
    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        const int64_t four = 4;
        int64_t in[4], out[4];
        double sizes[4];
        eddy_tensor *x;

        if (strcmp(p->padding, "EXPLICIT") == 0)
            continue;
        shapes(p, is_nchw, in, out);
        x = tensor(dtype, in);
        make_wanted(p, is_nchw, AVG);
        ck_assert_int_eq(run(p, is_nchw, "AvgPool", &x, 1), EDDY_OK);
        check(dtype, out);
        for (int i = 0; i < 4; i++)
            sizes[i] = (double)in[i];
        make_wanted(p, is_nchw, AVG_GRAD);
        ck_assert_int_eq(run(p, is_nchw, "AvgPoolGrad",
                             (eddy_tensor *[]){harness_numbers(&h, EDDY_INT32,
                                                               1, &four, sizes),
                                               tensor(dtype, out)},
                             2),
                         EDDY_OK);
        check(dtype, in);
    }
}
END_TEST

static const int64_t square[] = {1, 2, 2, 1}, one[] = {1, 1, 1, 1};
static const problem whole = {{1, 2, 2, 1}, {2, 2}, {1, 1}, "VALID",
                              {0},          {0},    {1, 1}};

/* As TensorFlow 2.21: see ops/nn/max_pool.c. */
START_TEST(nans_lose_but_in_the_first_place)
{
    static const struct {
        double x[4], max;
        int64_t place;
        double second;
    } cases[] = {
        {{NAN, 1, 2, 3}, 3, 0, 4},
        {{1, NAN, 2, 3}, 3, 3, 4},
        {{NAN, NAN, NAN, NAN}, -FLT_MAX, 0, 0},
        {{3, 3, 3, 3}, 3, 0, 1},
        {{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, -FLT_MAX, 0, 0}};
    const double gradient[] = {1, 2, 3, 4};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        eddy_tensor *x =
            harness_numbers(&h, EDDY_FLOAT32, 4, square, cases[i].x);
        eddy_tensor *max =
            harness_numbers(&h, EDDY_FLOAT32, 4, one, &cases[i].max);

        ck_assert_int_eq(run(&whole, false, "MaxPool", &x, 1), EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), cases[i].max);
        ck_assert_int_eq(
            run(&whole, false, "MaxPoolGrad",
                (eddy_tensor *[]){
                    x, max,
                    harness_numbers(&h, EDDY_FLOAT32, 4, one, gradient + 3)},
                3),
            EDDY_OK);
        for (int64_t j = 0; j < 4; j++)
            ck_assert_double_eq(harness_get(h.outputs[0], j),
                                j == cases[i].place ? 4 : 0);
        ck_assert_int_eq(
            run(&whole, false, "MaxPoolGradGrad",
                (eddy_tensor *[]){
                    x, max,
                    harness_numbers(&h, EDDY_FLOAT32, 4, square, gradient)},
                3),
            EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), cases[i].second);
    }
}
END_TEST

START_TEST(maxima_over_channels)
{
    const int64_t dims[] = {1, 1, 2, 4}, lists[] = {1, 1, 1, 2};
    const double x[] = {1, 4, 3, 2, -1, -2, 0, 9};
    const double maxima[] = {4, 3, -1, 9};
    const eddy_string padding = {"VALID", 5};
    const eddy_attr attrs[] = {eddy_attr_string("padding", &padding),
                               list_attr("ksize", lists, 4),
                               list_attr("strides", lists, 4)};
    eddy_tensor *t = harness_numbers(&h, EDDY_FLOAT32, 4, dims, x);

    ck_assert_int_eq(harness_run_attrs(&h, "MaxPool", &t, 1, attrs, 3),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 2, 2));
    for (int64_t i = 0; i < 4; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), maxima[i]);
    t = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 1, 3), x);
    harness_want_error(&h, harness_run_attrs(&h, "MaxPool", &t, 1, attrs, 3),
                       EDDY_UNIMPLEMENTED, EDDY_E_SHAPE);
}
END_TEST

/* _i: whether indices count the batch.  Values from TensorFlow 2.21. */
START_TEST(places_of_maxima)
{
    const double image[] = {1, 2, 3, 6, 5, 4, 7, 9, 8,
                            1, 2, 3, 6, 5, 4, 7, 9, 8};
    const double places[] = {3, 5, 7, 8, 3, 5, 7, 8};
    const int64_t lists[][4] = {{1, 2, 2, 1}, {1, 2, 2, 1}};
    const eddy_string padding = {"SAME", 4};
    const bool counts_batch = _i == 1;
    const eddy_dtype dtype = _i == 1 ? EDDY_INT32 : EDDY_INT64;
    const eddy_attr attrs[] = {
        eddy_attr_string("padding", &padding), list_attr("ksize", lists[0], 4),
        list_attr("strides", lists[1], 4),
        eddy_attr_bool("include_batch_in_index", &counts_batch),
        eddy_attr_type("Targmax", &dtype)};
    eddy_tensor *x =
        harness_numbers(&h, EDDY_INT16, HARNESS_DIMS(2, 3, 3, 1), image);
    eddy_tensor *inputs[3] = {x};
    double numbers[8];

    ck_assert_int_eq(
        harness_run_attrs(&h, "MaxPoolWithArgmax", &x, 1, attrs, 5), EDDY_OK);
    harness_want(&h, 0, EDDY_INT16, HARNESS_DIMS(2, 2, 2, 1));
    harness_want(&h, 1, dtype, HARNESS_DIMS(2, 2, 2, 1));
    for (int64_t i = 0; i < 8; i++) {
        numbers[i] = places[i] + (double)(_i == 1 && i > 3 ? 9 : 0);
        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            image[(int)places[i]]);
        ck_assert_double_eq(harness_get(h.outputs[1], i), numbers[i]);
    }
    inputs[1] =
        harness_numbers(&h, EDDY_INT16, HARNESS_DIMS(2, 2, 2, 1), places);
    inputs[2] = harness_numbers(&h, dtype, HARNESS_DIMS(2, 2, 2, 1), numbers);
    ck_assert_int_eq(
        harness_run_attrs(&h, "MaxPoolGradWithArgmax", inputs, 3, attrs, 5),
        EDDY_OK);
    for (int64_t i = 0; i < 18; i++) {
        const double number = (double)(i % 9);
        const bool is_place =
            number == 3 || number == 5 || number == 7 || number == 8;

        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            is_place ? number : 0);
    }
    numbers[7] = 18;
    inputs[2] = harness_numbers(&h, dtype, HARNESS_DIMS(2, 2, 2, 1), numbers);
    harness_want_error(
        &h, harness_run_attrs(&h, "MaxPoolGradWithArgmax", inputs, 3, attrs, 5),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(bad_windows_are_refused)
{
    static const struct {
        problem p;
        eddy_detail detail;
    } cases[] = {
        {{{1, 2, 2, 1}, {0, 2}, {1, 1}, "VALID", {0}, {0}, {1, 1}},
         EDDY_E_ATTR_VALUE},
        {{{1, 2, 2, 1}, {2, 2}, {1, 0}, "VALID", {0}, {0}, {1, 1}},
         EDDY_E_ATTR_VALUE},
        {{{1, 2, 2, 1}, {4, 2}, {1, 1}, "VALID", {0}, {0}, {1, 1}}, EDDY_E_DIM},
        {{{1, 2, 2, 1}, {2, 2}, {1, 1}, "MOST", {0}, {0}, {1, 1}},
         EDDY_E_ATTR_VALUE},
        {{{1, 2, 2, 1}, {2, 2}, {1, 1}, "EXPLICIT", {2, 0}, {0}, {1, 1}},
         EDDY_E_ATTR_VALUE},
    };
    eddy_tensor *x = tensor(EDDY_FLOAT32, square);
    eddy_tensor *cube = harness_numbers(&h, EDDY_FLOAT32, 3, one, &(double){1});

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        harness_want_error(&h, run(&cases[i].p, false, "MaxPool", &x, 1),
                           EDDY_INVALID_ARGUMENT, cases[i].detail);
    harness_want_error(&h, run(&cases[0].p, false, "MaxPoolV2", &x, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, run(&whole, false, "MaxPool", &cube, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h, run(&whole, false, "MaxPoolGrad", (eddy_tensor *[]){x, x, x}, 3),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* _i: the entry that is not 1. */
START_TEST(windows_over_the_batch_are_not_supported)
{
    const int64_t bad[][4] = {{2, 1, 1, 1}, {1, 1, 1, 2}, {1, 2, 1, 2}};
    const int64_t ones[] = {1, 1, 1, 1};
    const eddy_string padding = {"VALID", 5};
    const eddy_attr attrs[] = {eddy_attr_string("padding", &padding),
                               list_attr("ksize", bad[_i], 4),
                               list_attr("strides", ones, 4)};
    eddy_tensor *x = tensor(EDDY_FLOAT32, square);

    harness_want_error(&h, harness_run_attrs(&h, "MaxPool", &x, 1, attrs, 3),
                       EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE);
}
END_TEST

TCase *ops_pool_tests(void)
{
    TCase *tc = tcase_create("ops_pool");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, maxima_and_their_gradients, 0,
                        N_DTYPES * N_PROBLEMS);
    tcase_add_loop_test(tc, means_and_their_gradients, 0, 3 * N_PROBLEMS);
    tcase_add_test(tc, nans_lose_but_in_the_first_place);
    tcase_add_test(tc, maxima_over_channels);
    tcase_add_loop_test(tc, places_of_maxima, 0, 2);
    tcase_add_test(tc, bad_windows_are_refused);
    tcase_add_loop_test(tc, windows_over_the_batch_are_not_supported, 0, 3);
    ops_pool3d_add_tests(tc);
    return tc;
}

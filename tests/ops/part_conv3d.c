/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of volumes against loops over all their sums; values of
 * TensorFlow are in tests/conformance/findings/conv3d.
 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__conv3d_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* An attribute that is a list of five. */
static eddy_attr ints(const char *name, const int64_t values[5])
{
    return (eddy_attr){.name = name,
                       .kind = EDDY_ATTR_INT,
                       .is_list = true,
                       .n = 5,
                       .as.ints = values};
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_BFLOAT16};

/* Sizes are batch, three sides, channels; `before` is what SAME adds. */
typedef struct problem {
    int64_t in[5], filter[5];
    int64_t strides[3], dilations[3];
    const char *padding;
    int64_t before[3], out[3];
} problem;

static const problem problems[] = {
    {{1, 3, 4, 2, 2},
     {2, 2, 2, 2, 3},
     {1, 1, 1},
     {1, 1, 1},
     "VALID",
     {0},
     {2, 3, 1}},
    {{2, 3, 4, 2, 1},
     {2, 3, 1, 1, 2},
     {1, 1, 1},
     {1, 1, 1},
     "SAME",
     {0, 1, 0},
     {3, 4, 2}},
    {{2, 4, 3, 5, 2},
     {3, 2, 2, 2, 1},
     {2, 1, 3},
     {1, 1, 1},
     "SAME",
     {0, 0, 0},
     {2, 3, 2}},
    {{1, 5, 4, 5, 2},
     {2, 2, 3, 2, 2},
     {1, 1, 1},
     {2, 1, 2},
     "VALID",
     {0},
     {3, 3, 1}},
    {{1, 2, 2, 2, 1},
     {3, 1, 1, 1, 2},
     {1, 1, 1},
     {1, 1, 1},
     "VALID",
     {0},
     {0, 2, 2}},
    {{0, 3, 3, 2, 1},
     {2, 2, 1, 1, 2},
     {1, 1, 1},
     {1, 1, 1},
     "VALID",
     {0},
     {2, 2, 2}},
    /* More than one block of patches. */
    {{1, 6, 14, 14, 16},
     {3, 3, 3, 16, 2},
     {1, 1, 1},
     {1, 1, 1},
     "SAME",
     {1, 1, 1},
     {6, 14, 14}},
};

#define N_PROBLEMS ((int)(sizeof problems / sizeof problems[0]))
#define MOST 20000 /* elements of a tensor here */

/* Values that no sum of rounds, in float16 neither. */
static double value_at(int64_t i)
{
    return (double)(i * 7 % 3 - 1);
}

static int64_t count_of(const int64_t dims[5])
{
    return dims[0] * dims[1] * dims[2] * dims[3] * dims[4];
}

static int64_t at(const int64_t dims[5], int64_t n, const int64_t p[3],
                  int64_t c)
{
    return (((n * dims[1] + p[0]) * dims[2] + p[1]) * dims[3] + p[2]) *
               dims[4] +
           c;
}

static void output_dims(const problem *p, int64_t out[5])
{
    out[0] = p->in[0];
    memcpy(out + 1, p->out, sizeof p->out);
    out[4] = p->filter[4];
}

/* Adds the product of each place and weight to what is asked for. */
typedef struct sums {
    const double *x, *w, *dy; /* the one that is NULL is `out` */
    double *out;
} sums;

static void add_term(const problem *p, const sums *s, int64_t n,
                     const int64_t to[3], const int64_t offset[3])
{
    int64_t from[3], out_dims[5];

    output_dims(p, out_dims);
    for (int d = 0; d < 3; d++) {
        from[d] =
            to[d] * p->strides[d] - p->before[d] + offset[d] * p->dilations[d];
        if (from[d] < 0 || from[d] >= p->in[1 + d])
            return;
    }
    for (int64_t c = 0; c < p->in[4]; c++)
        for (int64_t o = 0; o < p->filter[4]; o++) {
            const int64_t x = at(p->in, n, from, c);
            const int64_t y = at(out_dims, n, to, o);
            const int64_t w =
                (((offset[0] * p->filter[1] + offset[1]) * p->filter[2] +
                  offset[2]) *
                     p->filter[3] +
                 c) *
                    p->filter[4] +
                o;

            if (!s->dy)
                s->out[y] += s->x[x] * s->w[w];
            else if (!s->x)
                s->out[x] += s->dy[y] * s->w[w];
            else
                s->out[w] += s->dy[y] * s->x[x];
        }
}

static void add_all(const problem *p, const sums *s)
{
    const int64_t windows = p->in[0] * p->out[0] * p->out[1] * p->out[2];
    const int64_t places = p->filter[0] * p->filter[1] * p->filter[2];

    for (int64_t i = 0; i < windows; i++) {
        const int64_t to[] = {i / p->out[2] / p->out[1] % p->out[0],
                              i / p->out[2] % p->out[1], i % p->out[2]};
        const int64_t n = i / p->out[2] / p->out[1] / p->out[0];

        for (int64_t j = 0; j < places; j++) {
            const int64_t offset[] = {j / p->filter[2] / p->filter[1],
                                      j / p->filter[2] % p->filter[1],
                                      j % p->filter[2]};

            add_term(p, s, n, to, offset);
        }
    }
}

/* Elements of NDHWC in the other order, or back. */
static void turn(const int64_t dims[5], const double *from, bool back,
                 double *to)
{
    const int64_t places = dims[1] * dims[2] * dims[3];

    for (int64_t n = 0; n < dims[0]; n++)
        for (int64_t i = 0; i < places; i++)
            for (int64_t c = 0; c < dims[4]; c++) {
                const int64_t last = (n * places + i) * dims[4] + c;
                const int64_t first = (n * dims[4] + c) * places + i;

                to[back ? last : first] = from[back ? first : last];
            }
}

static eddy_tensor *volumes(eddy_dtype dtype, const int64_t dims[5],
                            const double *x, bool is_ncdhw)
{
    static double turned[MOST];
    const int64_t order[] = {dims[0], dims[4], dims[1], dims[2], dims[3]};

    if (!is_ncdhw)
        return harness_numbers(&h, dtype, 5, dims, x);
    turn(dims, x, false, turned);
    return harness_numbers(&h, dtype, 5, order, turned);
}

static eddy_status run(const problem *p, const char *op, bool is_ncdhw,
                       eddy_tensor *const *inputs, size_t n)
{
    const eddy_string format = {is_ncdhw ? "NCDHW" : "NDHWC", 5};
    const eddy_string padding = {p->padding, strlen(p->padding)};
    int64_t strides[5] = {1, 1, 1, 1, 1}, dilations[5] = {1, 1, 1, 1, 1};

    memcpy(strides + (is_ncdhw ? 2 : 1), p->strides, sizeof p->strides);
    memcpy(dilations + (is_ncdhw ? 2 : 1), p->dilations, sizeof p->dilations);
    {
        const eddy_attr attrs[] = {eddy_attr_string("data_format", &format),
                                   eddy_attr_string("padding", &padding),
                                   ints("strides", strides),
                                   ints("dilations", dilations)};

        return harness_run_attrs(&h, op, inputs, n, attrs, 4);
    }
}

static void want(const int64_t dims[5], const double *values, bool is_ncdhw)
{
    static double got[MOST], turned[MOST];
    const int64_t n = count_of(dims);
    /* Of 281 bfloat16 has no more than 8 bits. */
    const double slack = h.outputs[0]->dtype == EDDY_BFLOAT16 ? 0x1p-8 : 0;

    ck_assert_int_eq(h.outputs[0]->count, n);
    for (int64_t i = 0; i < n; i++)
        got[i] = harness_get(h.outputs[0], i);
    if (is_ncdhw)
        turn(dims, got, true, turned);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((is_ncdhw ? turned : got)[i] - values[i]) <=
                          fabs(values[i]) * slack,
                      "element %d: got %g, want %g", (int)i,
                      (is_ncdhw ? turned : got)[i], values[i]);
}

static double x[MOST], w[MOST], dy[MOST], sum[MOST];

static void fill(double *to, int64_t n, int64_t from)
{
    ck_assert_int_le(n, MOST);
    for (int64_t i = 0; i < n; i++)
        to[i] = value_at(i + from);
    memset(sum, 0, sizeof sum);
}

START_TEST(volumes_are_convolved)
{
    const problem *p = &problems[_i / 8];
    const eddy_dtype dtype = dtypes[_i / 2 % 4];
    const bool is_ncdhw = _i % 2;
    int64_t out[5];
    eddy_tensor *inputs[2];

    output_dims(p, out);
    fill(x, count_of(p->in), 0);
    fill(w, count_of(p->filter), 1);
    add_all(p, &(sums){.x = x, .w = w, .out = sum});
    inputs[0] = volumes(dtype, p->in, x, is_ncdhw);
    inputs[1] = harness_numbers(&h, dtype, 5, p->filter, w);
    ck_assert_int_eq(run(p, "Conv3D", is_ncdhw, inputs, 2), EDDY_OK);
    want(out, sum, is_ncdhw);
}
END_TEST

static eddy_tensor *sizes(const int64_t dims[5], bool is_ncdhw)
{
    const int32_t last[] = {(int32_t)dims[0], (int32_t)dims[1],
                            (int32_t)dims[2], (int32_t)dims[3],
                            (int32_t)dims[4]};
    const int32_t first[] = {last[0], last[4], last[1], last[2], last[3]};

    return harness_tensor(&h, EDDY_INT32, HARNESS_DIMS(5),
                          is_ncdhw ? first : last);
}

START_TEST(gradients_are_the_sums_that_they_should_be)
{
    const problem *p = &problems[_i / 8];
    const eddy_dtype dtype = dtypes[_i / 2 % 4];
    const bool is_ncdhw = _i % 2;
    int64_t out[5];
    eddy_tensor *inputs[3];

    output_dims(p, out);
    fill(x, count_of(p->in), 0);
    fill(w, count_of(p->filter), 1);
    fill(dy, count_of(out), 2);
    add_all(p, &(sums){.w = w, .dy = dy, .out = sum});
    inputs[0] = sizes(p->in, is_ncdhw);
    inputs[1] = harness_numbers(&h, dtype, 5, p->filter, w);
    inputs[2] = volumes(dtype, out, dy, is_ncdhw);
    ck_assert_int_eq(run(p, "Conv3DBackpropInputV2", is_ncdhw, inputs, 3),
                     EDDY_OK);
    want(p->in, sum, is_ncdhw);

    memset(sum, 0, sizeof sum);
    add_all(p, &(sums){.x = x, .dy = dy, .out = sum});
    inputs[0] = volumes(dtype, p->in, x, is_ncdhw);
    inputs[1] = sizes(p->filter, false);
    ck_assert_int_eq(run(p, "Conv3DBackpropFilterV2", is_ncdhw, inputs, 3),
                     EDDY_OK);
    want(p->filter, sum, false);
}
END_TEST

static const struct {
    int32_t rank;
    int64_t in[5], filter[5];
    eddy_detail detail;
} bad[] = {
    {4, {1, 2, 2, 2}, {1, 1, 1, 2, 1}, EDDY_E_RANK},
    {5, {1, 2, 2, 2, 3}, {1, 1, 1, 2, 1}, EDDY_E_SHAPE},
    {5, {1, 2, 2, 2, 3}, {1, 1, 1, 3, 0}, EDDY_E_SHAPE},
    {5, {1, 2, 2, 2, 3}, {4, 1, 1, 3, 1}, EDDY_E_DIM},
};

START_TEST(shapes_must_fit)
{
    eddy_tensor *inputs[2];

    fill(x, 64, 0);
    inputs[0] = harness_numbers(&h, EDDY_FLOAT32, bad[_i].rank, bad[_i].in, x);
    inputs[1] = harness_numbers(&h, EDDY_FLOAT32, 5, bad[_i].filter, x);
    harness_want_error(&h, run(&problems[0], "Conv3D", false, inputs, 2),
                       EDDY_INVALID_ARGUMENT, bad[_i].detail);
}
END_TEST

START_TEST(a_gradient_must_be_of_the_output)
{
    const int64_t one[] = {1, 1, 1, 1, 1}, three[] = {1, 3, 1, 1, 1};
    eddy_tensor *inputs[3];

    fill(x, 64, 0);
    inputs[0] = sizes(three, false);
    inputs[1] = harness_numbers(&h, EDDY_FLOAT32, 5, one, x);
    inputs[2] = harness_numbers(&h, EDDY_FLOAT32, 5, one, x);
    harness_want_error(
        &h, run(&problems[0], "Conv3DBackpropInputV2", false, inputs, 3),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(attributes_must_make_sense)
{
    const int64_t one[] = {1, 1, 1, 1, 1}, by_channel[] = {1, 1, 1, 1, 2};
    const eddy_string padding = {"SAME", 4}, no_padding = {"EXPLICIT", 8};
    const eddy_string no_format = {"NHWC", 4};
    const eddy_attr unsupported[] = {eddy_attr_string("padding", &padding),
                                     ints("strides", by_channel)};
    const eddy_attr bad_padding[] = {eddy_attr_string("padding", &no_padding),
                                     ints("strides", one)};
    const eddy_attr bad_format[] = {eddy_attr_string("padding", &padding),
                                    eddy_attr_string("data_format", &no_format),
                                    ints("strides", one)};
    eddy_tensor *inputs[2];

    fill(x, 64, 0);
    inputs[0] = inputs[1] = harness_numbers(&h, EDDY_FLOAT32, 5, one, x);
    harness_want_error(
        &h, harness_run_attrs(&h, "Conv3D", inputs, 2, unsupported, 2),
        EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, harness_run_attrs(&h, "Conv3D", inputs, 2, bad_padding, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, harness_run_attrs(&h, "Conv3D", inputs, 2, bad_format, 3),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

void ops_conv3d_add_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, volumes_are_convolved, 0, 8 * N_PROBLEMS);
    tcase_add_loop_test(tests, gradients_are_the_sums_that_they_should_be, 0,
                        8 * N_PROBLEMS);
    tcase_add_loop_test(tests, shapes_must_fit, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(tests, a_gradient_must_be_of_the_output);
    tcase_add_test(tests, attributes_must_make_sense);
}

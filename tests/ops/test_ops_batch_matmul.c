/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__batch_matmul_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

typedef struct sides {
    bool adjoint_x, adjoint_y;
} sides;

static eddy_status multiply(const char *op, eddy_tensor *x, eddy_tensor *y,
                            sides s)
{
    const eddy_dtype out = EDDY_INT32;
    const bool is_mixed = strcmp(op, "BatchMatMulV3") == 0;
    const eddy_dtype same = (eddy_dtype)x->dtype;
    const bool is_byte = same == EDDY_INT8 || same == EDDY_UINT8;
    const eddy_attr attrs[] = {
        eddy_attr_bool("adj_x", &s.adjoint_x),
        eddy_attr_bool("adj_y", &s.adjoint_y),
        eddy_attr_type("Tout", is_byte ? &out : &same),
    };

    return harness_run_attrs(&h, op, (eddy_tensor *[]){x, y}, 2, attrs,
                             is_mixed ? 3 : 2);
}

/* Elements 0 to 3, exact in every dtype. */
static double digit(int64_t i, int seed)
{
    return (double)((i * 7 + seed + i / 5) % 4);
}

static eddy_tensor *digits(eddy_dtype dtype, const eddy_shape *shape, int seed)
{
    double values[512];
    int64_t n = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    ck_assert_int_le(n, 512);
    for (int64_t i = 0; i < n; i++)
        values[i] = digit(i, seed);
    return harness_numbers(&h, dtype, shape->rank, shape->dims, values);
}

/* Where the matrix of output matrix `i` begins in an operand. */
static int64_t matrix_at(const eddy_shape *of, const eddy_shape *out, int64_t i)
{
    int64_t at = 0, step = of->dims[of->rank - 1] * of->dims[of->rank - 2];

    for (int32_t d = out->rank - 3, own = of->rank - 3; own >= 0; d--, own--) {
        at += (of->dims[own] == 1 ? 0 : i % out->dims[d]) * step;
        i /= out->dims[d];
        step *= of->dims[own];
    }
    return at;
}

typedef struct product_case {
    eddy_shape x, y, out; /* without adjoints */
} product_case;

static const product_case cases[] = {
    {{2, {2, 3}}, {2, {3, 4}}, {2, {2, 4}}},
    {{3, {3, 2, 3}}, {3, {3, 3, 2}}, {3, {3, 2, 2}}},
    {{3, {2, 1, 1}}, {3, {2, 1, 5}}, {3, {2, 1, 5}}},
    {{3, {0, 2, 3}}, {3, {0, 3, 2}}, {3, {0, 2, 2}}},
    {{3, {2, 2, 0}}, {3, {2, 0, 3}}, {3, {2, 2, 3}}},
    {{3, {2, 0, 2}}, {3, {2, 2, 3}}, {3, {2, 0, 3}}},
    {{8, {1, 2, 1, 2, 1, 2, 2, 3}},
     {8, {1, 2, 1, 2, 1, 2, 3, 2}},
     {8, {1, 2, 1, 2, 1, 2, 2, 2}}},
    /* From here on broadcast. */
    {{3, {4, 2, 3}}, {2, {3, 2}}, {3, {4, 2, 2}}},
    {{2, {2, 3}}, {3, {4, 3, 2}}, {3, {4, 2, 2}}},
    {{4, {2, 1, 2, 3}}, {3, {3, 3, 2}}, {4, {2, 3, 2, 2}}},
    {{4, {2, 3, 1, 2}}, {4, {1, 3, 2, 3}}, {4, {2, 3, 1, 3}}},
    {{4, {2, 3, 1, 2}}, {4, {2, 1, 2, 3}}, {4, {2, 3, 1, 3}}},
    {{3, {1, 2, 3}}, {3, {0, 3, 2}}, {3, {0, 2, 2}}},
    {{8, {1, 2, 1, 2, 1, 2, 2, 3}},
     {7, {2, 3, 1, 1, 2, 3, 1}},
     {8, {1, 2, 3, 2, 1, 2, 2, 1}}},
};

#define N_CASES (sizeof cases / sizeof cases[0])
#define FIRST_BROADCAST 7

static eddy_shape swapped(eddy_shape shape, bool is_adjoint)
{
    const int64_t last = shape.dims[shape.rank - 1];

    if (is_adjoint) {
        shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
        shape.dims[shape.rank - 2] = last;
    }
    return shape;
}

static double expected(const product_case *c, sides s, int64_t i)
{
    const int64_t m = c->out.dims[c->out.rank - 2];
    const int64_t n = c->out.dims[c->out.rank - 1];
    const int64_t inner = c->x.dims[c->x.rank - 1];
    const int64_t x = matrix_at(&c->x, &c->out, i / (m * n));
    const int64_t y = matrix_at(&c->y, &c->out, i / (m * n));
    const int64_t row = i / n % m, column = i % n;
    double sum = 0;

    for (int64_t j = 0; j < inner; j++)
        sum +=
            digit(x + (s.adjoint_x ? j * m + row : row * inner + j), 1) *
            digit(y + (s.adjoint_y ? column * inner + j : j * n + column), 2);
    return sum;
}

static void check(const char *op, eddy_dtype dtype, const product_case *c,
                  sides s)
{
    const eddy_shape x = swapped(c->x, s.adjoint_x);
    const eddy_shape y = swapped(c->y, s.adjoint_y);
    const bool is_byte = dtype == EDDY_INT8 || dtype == EDDY_UINT8;
    const bool is_mixed = strcmp(op, "BatchMatMulV3") == 0 && is_byte;

    ck_assert_int_eq(
        multiply(op, digits(dtype, &x, 1), digits(dtype, &y, 2), s), EDDY_OK);
    harness_want(&h, 0, is_mixed ? EDDY_INT32 : dtype, c->out.rank,
                 c->out.dims);
    for (int64_t i = 0; i < h.outputs[0]->count; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), expected(c, s, i));
}

/* _i: a case, and which factors are adjoint. */
START_TEST(every_dtype_agrees_with_the_reference)
{
    static const eddy_dtype first[] = {EDDY_FLOAT16, EDDY_FLOAT32,
                                       EDDY_FLOAT64, EDDY_INT32,
                                       EDDY_INT64,   EDDY_COMPLEX64};
    static const eddy_dtype second[] = {EDDY_INT16, EDDY_UINT8, EDDY_UINT16,
                                        EDDY_UINT32, EDDY_UINT64};
    static const eddy_dtype third[] = {EDDY_INT8, EDDY_UINT8, EDDY_INT16,
                                       EDDY_FLOAT32};
    const product_case *c = &cases[_i / 4];
    const sides s = {(_i & 1) != 0, (_i & 2) != 0};

    for (size_t d = 0; d < sizeof first / sizeof *first; d++) {
        check("BatchMatMulV2", first[d], c, s);
        if (_i / 4 < FIRST_BROADCAST)
            check("BatchMatMul", first[d], c, s);
    }
    for (size_t d = 0; d < sizeof second / sizeof *second; d++)
        check("BatchMatMulV2", second[d], c, s);
    for (size_t d = 0; d < sizeof third / sizeof *third; d++)
        check("BatchMatMulV3", third[d], c, s);
}
END_TEST

START_TEST(bytes_of_both_signs_meet)
{
    eddy_tensor *signed_bytes = harness_numbers(
        &h, EDDY_INT8, HARNESS_DIMS(1, 2), (const double[]){-100, 3});
    eddy_tensor *bytes = harness_numbers(&h, EDDY_UINT8, HARNESS_DIMS(2, 1),
                                         (const double[]){200, 7});

    ck_assert_int_eq(
        multiply("BatchMatMulV3", signed_bytes, bytes, (sides){false, false}),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -100 * 200 + 21);
    ck_assert_int_eq(
        multiply("BatchMatMulV3", bytes, signed_bytes, (sides){true, true}),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -100 * 200 + 21);
}
END_TEST

/* (1+2i) conj(3+i) + ... with each side adjoint. */
START_TEST(adjoints_are_conjugated)
{
    const float x[] = {1, 2, 0, 1}, y[] = {3, 1, 2, -1};
    static const float want[4][2] = {
        {2, 9},  /* x y */
        {4, -7}, /* x^H y */
        {4, 7},  /* x y^H */
        {2, -9}, /* x^H y^H */
    };
    const float *got;
    sides s = {(_i & 1) != 0, (_i & 2) != 0};
    const int64_t row[] = {1, 2}, column[] = {2, 1};

    ck_assert_int_eq(multiply("BatchMatMulV2",
                              harness_tensor(&h, EDDY_COMPLEX64, 2,
                                             s.adjoint_x ? column : row, x),
                              harness_tensor(&h, EDDY_COMPLEX64, 2,
                                             s.adjoint_y ? row : column, y),
                              s),
                     EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert_float_eq(got[0], want[_i][0]);
    ck_assert_float_eq(got[1], want[_i][1]);
}
END_TEST

static void want_misfit(const char *op, eddy_shape x, eddy_shape y,
                        const char *part)
{
    harness_want_error(&h,
                       multiply(op, digits(EDDY_FLOAT32, &x, 1),
                                digits(EDDY_FLOAT32, &y, 1),
                                (sides){false, false}),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_msg(strstr(h.err.message, part) != NULL, "%s", h.err.message);
}

START_TEST(shapes_that_do_not_fit_are_refused)
{
    want_misfit("BatchMatMul", (eddy_shape){3, {2, 2, 3}},
                (eddy_shape){2, {3, 2}}, "of one rank");
    want_misfit("BatchMatMul", (eddy_shape){3, {2, 2, 3}},
                (eddy_shape){3, {1, 3, 2}}, "not the same");
    want_misfit("BatchMatMul", (eddy_shape){2, {2, 3}}, (eddy_shape){2, {2, 2}},
                "x has shape [2,3] and y [2,2]");
    want_misfit("BatchMatMulV2", (eddy_shape){1, {3}}, (eddy_shape){2, {3, 2}},
                "at least matrices");
    want_misfit("BatchMatMulV2", (eddy_shape){3, {2, 2, 3}},
                (eddy_shape){3, {3, 3, 2}}, "don't broadcast");
    want_misfit("BatchMatMulV2", (eddy_shape){3, {2, 2, 3}},
                (eddy_shape){3, {2, 2, 2}}, "no product");
}
END_TEST

START_TEST(dtypes_without_a_product_are_refused)
{
    const eddy_shape x = {2, {1, 1}};
    const eddy_dtype out = EDDY_FLOAT32;
    const eddy_attr attr = eddy_attr_type("Tout", &out);
    eddy_tensor *bytes = digits(EDDY_INT8, &x, 1);

    harness_want_error(&h,
                       harness_run_attrs(&h, "BatchMatMulV3",
                                         (eddy_tensor *[]){bytes, bytes}, 2,
                                         &attr, 1),
                       EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL);
}
END_TEST

TCase *ops_batch_matmul_tests(void)
{
    TCase *tc = tcase_create("ops_batch_matmul");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0,
                        4 * N_CASES);
    tcase_add_test(tc, bytes_of_both_signs_meet);
    tcase_add_loop_test(tc, adjoints_are_conjugated, 0, 4);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused);
    tcase_add_test(tc, dtypes_without_a_product_are_refused);
    return tc;
}

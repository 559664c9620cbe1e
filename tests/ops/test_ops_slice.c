/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__slice_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t grid[] = {4, 5}, cube[] = {2, 3, 4};

START_TEST(slice_takes_a_box_of_every_dtype)
{
    const int64_t to[] = {2, 3};
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "Slice",
               LAYOUT_INPUTS(layout_range(&h, dtype, 0, 2, grid),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(1, 2)),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(2, -1))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(7, 8, 9, 12, 13, 14));
}
END_TEST

START_TEST(slice_of_everything_copies_nothing)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT64, 0, 2, grid);

    layout_run(&h, "Slice",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(0, 0)),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(4, -1))),
               NULL, 0);
    ck_assert_ptr_eq(h.outputs[0]->data, x->data);
    layout_run(&h, "Slice",
               LAYOUT_INPUTS(layout_int(&h, 3), layout_ints(&h, 0, NULL),
                             layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(3));
}
END_TEST

START_TEST(slice_may_be_empty)
{
    const int64_t to[] = {0, 5};

    layout_run(&h, "Slice",
               LAYOUT_INPUTS(layout_range(&h, EDDY_STRING, 0, 2, grid),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(4, 0)),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(0, 5))),
               NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 2, to, NULL);
}
END_TEST

START_TEST(slice_checks_its_bounds)
{
    static const struct {
        int n, begin[3], size[3];
        eddy_detail detail;
        const char *text;
    } cases[] = {
        {2, {0, -1}, {1, 1}, EDDY_E_INDEX, "begin[1] in [0, 5], but got -1"},
        {2, {5, 0}, {0, 1}, EDDY_E_INDEX, "begin[0] in [0, 4], but got 5"},
        {2, {3, 0}, {3, 1}, EDDY_E_INDEX, "size[0] in [0, 1], but got 3"},
        {2, {0, 0}, {0, -2}, EDDY_E_INDEX, "size[1] in [0, 5], but got -2"},
        {1, {0}, {0}, EDDY_E_SHAPE, "begin must be a vector of 2"},
        {3, {0}, {0}, EDDY_E_SHAPE, "begin must be a vector of 2"},
    };

    harness_want_error(
        &h,
        harness_run(&h, "Slice", layout_range(&h, EDDY_INT32, 0, 2, grid),
                    layout_ints(&h, cases[_i].n, cases[_i].begin),
                    layout_ints(&h, cases[_i].n, cases[_i].size)),
        EDDY_INVALID_ARGUMENT, cases[_i].detail);
    ck_assert_ptr_nonnull(strstr(h.err.message, cases[_i].text));
}
END_TEST

/* An index expression: entries, then the masks. */
typedef struct expression {
    int n, begin[6], end[6], strides[6];
    int64_t begin_mask, end_mask, ellipsis, new_axis, shrink;
} expression;

static eddy_status run(eddy_tensor *x, eddy_dtype index, const expression *e)
{
    const eddy_attr attrs[] = {eddy_attr_int("begin_mask", &e->begin_mask),
                               eddy_attr_int("end_mask", &e->end_mask),
                               eddy_attr_int("ellipsis_mask", &e->ellipsis),
                               eddy_attr_int("new_axis_mask", &e->new_axis),
                               eddy_attr_int("shrink_axis_mask", &e->shrink)};
    int64_t n = e->n;

    return harness_run_attrs(
        &h, "StridedSlice",
        LAYOUT_INPUTS(x, layout_tensor(&h, index, 1, &n, e->begin),
                      layout_tensor(&h, index, 1, &n, e->end),
                      layout_tensor(&h, index, 1, &n, e->strides)),
        attrs, 5);
}

typedef struct strided_case {
    int32_t rank; /* of the input: 1 is 0..6, 2 the grid, 3 the cube */
    expression e;
    int32_t to_rank;
    int64_t to[5];
    int numbers[20];
} strided_case;

static const strided_case strided[] = {
    /* x[1:3] */
    {2,
     {1, {1}, {3}, {1}, .shrink = 0},
     2,
     {2, 5},
     {5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
    /* x[:, ::2] */
    {2,
     {2, {0, 0}, {0, 0}, {1, 2}, .begin_mask = 3, .end_mask = 3},
     2,
     {4, 3},
     {0, 2, 4, 5, 7, 9, 10, 12, 14, 15, 17, 19}},
    /* x[::-1, 3:0:-1] */
    {2,
     {2, {0, 3}, {0, 0}, {-1, -1}, .begin_mask = 1, .end_mask = 1},
     2,
     {4, 3},
     {18, 17, 16, 13, 12, 11, 8, 7, 6, 3, 2, 1}},
    /* x[-1] */
    {2, {1, {-1}, {0}, {1}, .shrink = 1}, 1, {5}, {15, 16, 17, 18, 19}},
    /* x[3:1] */
    {2, {1, {3}, {1}, {1}, .shrink = 0}, 2, {0, 5}, {0}},
    /* x[2, -2] */
    {2, {2, {2, -2}, {0}, {1, 1}, .shrink = 3}, 0, {0}, {13}},
    /* x[..., tf.newaxis, 2:] */
    {2,
     {3,
      {0, 0, 2},
      {0},
      {1, 1, 1},
      .end_mask = 4,
      .ellipsis = 1,
      .new_axis = 2},
     3,
     {4, 1, 3},
     {2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19}},
    /* x[..., 1] */
    {3,
     {2, {0, 1}, {0}, {1, 1}, .ellipsis = 1, .shrink = 2},
     2,
     {2, 3},
     {1, 5, 9, 13, 17, 21}},
    /* x[1, :, 2:] */
    {3,
     {3,
      {1, 0, 2},
      {0},
      {1, 1, 1},
      .begin_mask = 2,
      .end_mask = 6,
      .shrink = 1},
     2,
     {3, 2},
     {14, 15, 18, 19, 22, 23}},
    /* x[tf.newaxis, :, 0] */
    {3,
     {3,
      {0, 0, 0},
      {0},
      {1, 1, 1},
      .begin_mask = 2,
      .end_mask = 2,
      .new_axis = 1,
      .shrink = 4},
     3,
     {1, 2, 4},
     {0, 1, 2, 3, 12, 13, 14, 15}},
    /* x[:, 5:9] */
    {3,
     {2, {0, 5}, {0, 9}, {1, 1}, .begin_mask = 1, .end_mask = 1},
     3,
     {2, 0, 4},
     {0}},
    /* x[tf.newaxis, ..., tf.newaxis, 0, tf.newaxis] */
    {3,
     {5,
      {0, 0, 0, 0, 0},
      {0},
      {1, 1, 1, 1, 1},
      .ellipsis = 2,
      .new_axis = 21,
      .shrink = 8},
     5,
     {1, 2, 3, 1, 1},
     {0, 4, 8, 12, 16, 20}},
    /* x[-100:100:3] and x[100:-100:-3] of a vector */
    {1, {1, {-100}, {100}, {3}, .shrink = 0}, 1, {3}, {0, 3, 6}},
    {1, {1, {100}, {-100}, {-3}, .shrink = 0}, 1, {3}, {6, 3, 0}},
    /* x[4], x[-7] */
    {1, {1, {4}, {5}, {1}, .shrink = 1}, 0, {0}, {4}},
    {1, {1, {-7}, {5}, {1}, .shrink = 1}, 0, {0}, {0}},
    /* A begin mask says nothing of an index: x[2]. */
    {1,
     {1, {2}, {0}, {1}, .begin_mask = 1, .end_mask = 1, .shrink = 1},
     0,
     {0},
     {2}},
    /* x[tf.newaxis] wins over the index. */
    {1,
     {1, {2}, {0}, {1}, .new_axis = 1, .shrink = 1},
     2,
     {1, 7},
     {0, 1, 2, 3, 4, 5, 6}},
    /* x[...] and x[] */
    {1, {1, {2}, {0}, {1}, .ellipsis = 1}, 1, {7}, {0, 1, 2, 3, 4, 5, 6}},
    {1, {0, {0}, {0}, {0}, .shrink = 0}, 1, {7}, {0, 1, 2, 3, 4, 5, 6}},
    /* A scalar takes new axes: x[tf.newaxis, ...]. */
    {0, {2, {0}, {0}, {1, 1}, .ellipsis = 2, .new_axis = 1}, 1, {1}, {0}},
    {0, {0, {0}, {0}, {0}, .shrink = 0}, 0, {0}, {0}},
};

#define N_STRIDED (int)(sizeof strided / sizeof *strided)

static eddy_tensor *input(eddy_dtype dtype, int32_t rank)
{
    static const int64_t seven[] = {7};

    return layout_range(&h, dtype, 0, rank,
                        rank == 3   ? cube
                        : rank == 2 ? grid
                                    : seven);
}

START_TEST(strided_slice_follows_the_expression)
{
    const strided_case *c = &strided[_i];

    for (int d = 0; d < LAYOUT_DTYPES; d++) {
        eddy_status status =
            run(input(layout_dtype(d), c->rank), EDDY_INT32, &c->e);

        ck_assert_msg(status == EDDY_OK, "%s", h.err.message);
        layout_want(&h, 0, layout_dtype(d), c->to_rank, c->to, c->numbers);
    }
}
END_TEST

START_TEST(strided_slice_takes_other_indices)
{
    const strided_case *c = &strided[2];

    ck_assert_int_eq(
        run(input(EDDY_INT32, 2), _i == 0 ? EDDY_INT16 : EDDY_INT64, &c->e),
        EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, c->to_rank, c->to, c->numbers);
}
END_TEST

/* The most that a stride can be; the offset that it would make overflows. */
START_TEST(strided_slice_takes_huge_numbers)
{
    const int64_t one = 1;
    eddy_tensor *low =
        harness_tensor(&h, EDDY_INT64, 1, &one, (const int64_t[]){INT64_MIN});
    eddy_tensor *high =
        harness_tensor(&h, EDDY_INT64, 1, &one, (const int64_t[]){INT64_MAX});
    eddy_tensor *x = input(EDDY_INT32, 1);

    layout_run(&h, "StridedSlice", LAYOUT_INPUTS(x, low, high, high), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &one, LAYOUT_NUMBERS(0));
    layout_run(&h, "StridedSlice", LAYOUT_INPUTS(x, high, low, low), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &one, LAYOUT_NUMBERS(6));
}
END_TEST

START_TEST(strided_slice_refuses_bad_expressions)
{
    static const struct {
        int32_t rank;
        expression e;
        eddy_detail detail;
        const char *text;
    } cases[] = {
        {2, {1, {0}, {2}, {0}, .shrink = 0}, EDDY_E_VALUE, "strides[0] is 0"},
        {2, {1, {0}, {2}, {-1}, .shrink = 1}, EDDY_E_VALUE, "must be 1"},
        {2,
         {1, {4}, {5}, {1}, .shrink = 1},
         EDDY_E_INDEX,
         "slice index 4 of dimension 0"},
        {1,
         {1, {-8}, {0}, {1}, .shrink = 1},
         EDDY_E_INDEX,
         "slice index -8 of dimension 0"},
        {2, {2, {0}, {0}, {1, 1}, .ellipsis = 3}, EDDY_E_VALUE, "ellipsis"},
        {1, {2, {0}, {1, 1}, {1, 1}, .shrink = 0}, EDDY_E_RANK, "one too many"},
        {0, {1, {0}, {1}, {1}, .shrink = 1}, EDDY_E_RANK, "one too many"},
        {3,
         {6, {0}, {0}, {1, 1, 1, 1, 1, 1}, .new_axis = 63},
         EDDY_E_RANK,
         "rank above 8"},
    };

    harness_want_error(
        &h, run(input(EDDY_INT32, cases[_i].rank), EDDY_INT32, &cases[_i].e),
        EDDY_INVALID_ARGUMENT, cases[_i].detail);
    ck_assert_ptr_nonnull(strstr(h.err.message, cases[_i].text));
}
END_TEST

START_TEST(strided_slice_wants_vectors_of_one_length)
{
    harness_want_error(&h,
                       harness_run(&h, "StridedSlice", input(EDDY_INT32, 2),
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(0)),
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 0)),
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(1))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "StridedSlice", input(EDDY_INT32, 2),
                                   layout_int(&h, 0), layout_int(&h, 0),
                                   layout_int(&h, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* The gradient of what a case takes: its elements at the numbers they had. */
START_TEST(strided_slice_grad_puts_elements_where_they_were_taken)
{
    const strided_case *c = &strided[_i % N_STRIDED];
    const eddy_dtype dtype = layout_dtype(_i / (int)N_STRIDED);
    const eddy_shape *of = eddy_tensor_shape(input(dtype, c->rank));
    const eddy_attr attrs[] = {eddy_attr_int("begin_mask", &c->e.begin_mask),
                               eddy_attr_int("end_mask", &c->e.end_mask),
                               eddy_attr_int("ellipsis_mask", &c->e.ellipsis),
                               eddy_attr_int("new_axis_mask", &c->e.new_axis),
                               eddy_attr_int("shrink_axis_mask", &c->e.shrink)};
    const int64_t n = c->e.n;
    int numbers[64] = {0}, dims[8];
    int64_t count = 1;

    for (int32_t d = 0; d < c->to_rank; d++)
        count *= c->to[d];
    for (int i = 0; i < count; i++)
        numbers[c->numbers[i]] = i + 1;
    for (int32_t d = 0; d < of->rank; d++)
        dims[d] = (int)of->dims[d];
    layout_run(&h, "StridedSliceGrad",
               LAYOUT_INPUTS(layout_ints(&h, of->rank, dims),
                             layout_tensor(&h, EDDY_INT32, 1, &n, c->e.begin),
                             layout_tensor(&h, EDDY_INT32, 1, &n, c->e.end),
                             layout_tensor(&h, EDDY_INT32, 1, &n, c->e.strides),
                             layout_range(&h, dtype, 1, c->to_rank, c->to)),
               attrs, 5);
    layout_want(&h, 0, dtype, of->rank, of->dims, numbers);
}
END_TEST

START_TEST(strided_slice_grad_of_a_scalar_is_it)
{
    layout_run(&h, "StridedSliceGrad",
               LAYOUT_INPUTS(layout_ints(&h, 0, NULL), layout_ints(&h, 0, NULL),
                             layout_ints(&h, 0, NULL), layout_ints(&h, 0, NULL),
                             layout_int(&h, 7)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(7));
}
END_TEST

START_TEST(strided_slice_grad_wants_what_was_taken)
{
    eddy_tensor *one = layout_ints(&h, 1, LAYOUT_NUMBERS(1));
    eddy_tensor *three = layout_ints(&h, 1, LAYOUT_NUMBERS(3));
    eddy_tensor *four = layout_ints(&h, 1, LAYOUT_NUMBERS(4));

    harness_want_error(&h,
                       harness_run(&h, "StridedSliceGrad", four, one, three,
                                   one, harness_vector(&h, EDDY_INT8, 1, 2, 3)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "StridedSliceGrad", four, one, three,
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(0)), one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       harness_run(&h, "StridedSliceGrad",
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(-1)), one,
                                   three, one, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
}
END_TEST

TCase *ops_slice_tests(void)
{
    TCase *tests = tcase_create("ops_slice");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, slice_takes_a_box_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, slice_of_everything_copies_nothing);
    tcase_add_test(tests, slice_may_be_empty);
    tcase_add_loop_test(tests, slice_checks_its_bounds, 0, 6);
    tcase_add_loop_test(tests, strided_slice_follows_the_expression, 0,
                        N_STRIDED);
    tcase_add_loop_test(tests, strided_slice_takes_other_indices, 0, 2);
    tcase_add_test(tests, strided_slice_takes_huge_numbers);
    tcase_add_loop_test(tests, strided_slice_refuses_bad_expressions, 0, 8);
    tcase_add_test(tests, strided_slice_wants_vectors_of_one_length);
    tcase_add_loop_test(tests,
                        strided_slice_grad_puts_elements_where_they_were_taken,
                        0, N_STRIDED * LAYOUT_DTYPES);
    tcase_add_test(tests, strided_slice_grad_of_a_scalar_is_it);
    tcase_add_test(tests, strided_slice_grad_wants_what_was_taken);
    return tests;
}

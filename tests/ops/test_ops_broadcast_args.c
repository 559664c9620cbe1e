/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__broadcast_args_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

typedef struct vector {
    int64_t n;
    int v[4];
} vector;

static const struct {
    vector a, b, both;   /* two shapes, and what they broadcast to */
    vector sum_a, sum_b; /* the axes that their gradients are summed over */
} cases[] = {
    {{2, {2, 3}}, {2, {2, 3}}, {2, {2, 3}}, {0, {0}}, {0, {0}}},
    {{2, {2, 3}}, {1, {3}}, {2, {2, 3}}, {0, {0}}, {1, {0}}},
    {{0, {0}}, {2, {2, 3}}, {2, {2, 3}}, {2, {0, 1}}, {0, {0}}},
    {{3, {2, 1, 4}}, {3, {1, 3, 1}}, {3, {2, 3, 4}}, {1, {1}}, {2, {0, 2}}},
    {{2, {1, 3}}, {3, {1, 1, 3}}, {3, {1, 1, 3}}, {2, {0, 1}}, {2, {0, 1}}},
    {{2, {1, 3}}, {2, {1, 3}}, {2, {1, 3}}, {0, {0}}, {0, {0}}},
    {{1, {0}}, {1, {1}}, {1, {0}}, {0, {0}}, {1, {0}}},
    {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}},
};

#define N_CASES (int)(sizeof cases / sizeof *cases)

static eddy_tensor *make(eddy_dtype dtype, const vector *v)
{
    return layout_tensor(&h, dtype, 1, &v->n, v->v);
}

START_TEST(shapes_broadcast)
{
    for (eddy_dtype d = EDDY_INT32; d <= EDDY_INT64; d++) {
        layout_run(&h, "BroadcastArgs",
                   LAYOUT_INPUTS(make(d, &cases[_i].a), make(d, &cases[_i].b)),
                   NULL, 0);
        layout_want(&h, 0, d, 1, &cases[_i].both.n, cases[_i].both.v);
    }
}
END_TEST

START_TEST(gradients_are_summed_over_axes)
{
    for (eddy_dtype d = EDDY_INT32; d <= EDDY_INT64; d++) {
        layout_run(&h, "BroadcastGradientArgs",
                   LAYOUT_INPUTS(make(d, &cases[_i].a), make(d, &cases[_i].b)),
                   NULL, 0);
        layout_want(&h, 0, d, 1, &cases[_i].sum_a.n, cases[_i].sum_a.v);
        layout_want(&h, 1, d, 1, &cases[_i].sum_b.n, cases[_i].sum_b.v);
    }
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_are_refused)
{
    static const char *const ops[] = {"BroadcastArgs", "BroadcastGradientArgs"};
    eddy_tensor *x = layout_ints(&h, 2, LAYOUT_NUMBERS(2, 3));

    harness_want_error(
        &h, harness_run(&h, ops[_i], x, layout_ints(&h, 1, LAYOUT_NUMBERS(2))),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, ops[_i], x, layout_int(&h, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_broadcast_args_tests(void)
{
    TCase *tests = tcase_create("ops_broadcast_args");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, shapes_broadcast, 0, N_CASES);
    tcase_add_loop_test(tests, gradients_are_summed_over_axes, 0, N_CASES);
    tcase_add_loop_test(tests, shapes_that_do_not_broadcast_are_refused, 0, 2);
    return tests;
}

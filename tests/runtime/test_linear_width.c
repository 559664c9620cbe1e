/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops stay tokens, since workers gain from them. */
#include "tests/aid/loops.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

/* How the body's products hang together. */
typedef enum shape_of_body { SIDE_BY_SIDE, IN_A_ROW, WAVES } shape_of_body;

/*
 * A loop over a counter and three matrices of `side` columns, each multiplied
 * once an iteration: by itself; the next by what the one before has become; or
 * the next by what the one before has become, and by itself.
 */
static void build_loop(program *p, int64_t side, shape_of_body how)
{
    const eddy_shape shape = {.rank = 2, .dims = {side, side}};
    eddy_output initial[4] = {program_int(p, 0)}, next[4], below;
    loop l = {.p = p, .frame = "f"};

    for (int i = 1; i < 4; i++)
        ck_assert_int_eq(eddy_graph_add_placeholder(p->graph, NULL,
                                                    EDDY_FLOAT32, &shape,
                                                    &initial[i], &p->err),
                         EDDY_OK);
    loop_begin(&l, initial, 4);
    loop_while(&l, program_binary(p, "Less", l.merge[0],
                                  loop_invariant(&l, program_int(p, 5))));
    next[0] = program_binary(p, "AddV2", l.inside[0],
                             loop_invariant(&l, program_int(p, 1)));
    below = l.inside[3];
    for (int i = 1; i < 4; i++) {
        if (how == SIDE_BY_SIDE)
            next[i] = program_binary(p, "MatMul", l.inside[i], l.inside[i]);
        else
            next[i] = program_binary(
                p, "MatMul", how == WAVES && i == 1 ? l.inside[1] : below,
                how == WAVES ? l.inside[i] : below);
        below = next[i];
    }
    if (how == IN_A_ROW) /* the first of an iteration waits for the last */
        next[1] = program_unary(p, "Neg", l.inside[1]);
    loop_end(&l, next);
    p->plan_options.feeds = initial + 1;
    p->plan_options.n_feeds = 3;
    p->plan_options.fetches = l.exit;
    p->plan_options.n_fetches = 4;
    ck_assert_int_eq(
        eddy_plan_create(p->graph, &p->plan_options, &p->plan, &p->err),
        EDDY_OK);
}

static uint32_t count_linear(uint32_t n_workers, int64_t side,
                             shape_of_body how, eddy_plan_executor executor)
{
    eddy_native_stats stats = {.size = sizeof stats};
    program p;

    program_init(&p, n_workers);
    p.plan_options.executor = executor;
    build_loop(&p, side, how);
    eddy_plan_native_stats(p.plan, &stats);
    program_deinit(&p);
    return stats.linear;
}

START_TEST(products_side_by_side_stay_tokens_where_two_can_work)
{
    ck_assert_uint_eq(count_linear(0, 256, SIDE_BY_SIDE, EDDY_EXECUTOR_AUTO),
                      1);
    ck_assert_uint_eq(count_linear(1, 256, SIDE_BY_SIDE, EDDY_EXECUTOR_AUTO),
                      1);
    ck_assert_uint_eq(count_linear(2, 256, SIDE_BY_SIDE, EDDY_EXECUTOR_AUTO),
                      0);
    ck_assert_uint_eq(count_linear(2, 256, SIDE_BY_SIDE, EDDY_EXECUTOR_LINEAR),
                      1);
}
END_TEST

START_TEST(small_products_are_code)
{
    ck_assert_uint_eq(count_linear(4, 16, SIDE_BY_SIDE, EDDY_EXECUTOR_AUTO), 1);
}
END_TEST

START_TEST(products_that_wait_for_each_other_are_code)
{
    ck_assert_uint_eq(count_linear(4, 128, IN_A_ROW, EDDY_EXECUTOR_AUTO), 1);
}
END_TEST

/* In one iteration they wait for each other, but iterations overlap. */
START_TEST(layers_over_time_stay_tokens)
{
    ck_assert_uint_eq(count_linear(2, 128, WAVES, EDDY_EXECUTOR_AUTO), 0);
}
END_TEST

TCase *linear_width_tests(void)
{
    TCase *tc = tcase_create("linear_width");

    tcase_add_test(tc, products_side_by_side_stay_tokens_where_two_can_work);
    tcase_add_test(tc, small_products_are_code);
    tcase_add_test(tc, products_that_wait_for_each_other_are_code);
    tcase_add_test(tc, layers_over_time_stay_tokens);
    return tc;
}

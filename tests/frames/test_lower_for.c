/* SPDX-License-Identifier: Apache-2.0 */
/* For: its numbers, its values, its effects, its gradients, its mistakes. */
#include "eddy/lower.h"
#include "tests/aid/functions.h"
#include "tests/suites.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static program p;
static int64_t n_said;

static eddy_status run_say(eddy_kernel *k)
{
    const eddy_view x = eddy_kernel_input(k, 0);

    n_said = n_said * 10 + *(const int32_t *)x.data;
    return EDDY_OK;
}

static void begin(void)
{
    const eddy_op_spec say = {.size = sizeof say,
                              .name = "Say",
                              .inputs = "x: int32",
                              .kernel = run_say,
                              .flags = EDDY_OP_STATEFUL};

    n_said = 0;
    program_init(&p, 0);
    ck_assert_int_eq(eddy_op_register(p.ctx, &say, &p.err), EDDY_OK);
    functions_add(&p, "step", "i=int32 v=float32 w=float32",
                  "two float32=2\n"
                  "f Cast i SrcT=int32 DstT=float32\n"
                  "d Mul v two T=float32\n"
                  "s AddV2 d f T=float32\n",
                  "s w");
}

static void end(void)
{
    program_deinit(&p);
}

static void build(int start, int limit, int delta)
{
    char text[512];

    snprintf(text, sizeof text,
             "start int32=%d\nlimit int32=%d\ndelta int32=%d\n"
             "v float32=1\nw float32=5\n"
             "f For start limit delta v w T=[float32,float32] body=@step\n",
             start, limit, delta);
    program_build(&p, text);
}

/* The values are those of TensorFlow 2.21. */
static const struct {
    int start, limit, delta;
    float v;
} loops[] = {
    {0, 3, 1, 12}, {3, 0, -1, 25}, {0, 0, 1, 1},
    {0, 3, 2, 6},  {0, 0, 0, 1},   {5, -5, -3, 58},
};

START_TEST(the_body_gets_every_number)
{
    build(loops[_i].start, loops[_i].limit, loops[_i].delta);
    program_plan(&p, NULL, "f f:1");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == loops[_i].v);
    ck_assert(program_fetch_float(&p, 1) == 5);
}
END_TEST

START_TEST(the_last_number_may_be_the_largest)
{
    build(INT_MAX - 7, INT_MAX, 5);
    program_plan(&p, NULL, "f:1");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 5);
}
END_TEST

static const int bad[][3] = {{3, 0, 1}, {0, 3, -1}, {0, 3, 0}};

START_TEST(numbers_must_lead_to_the_limit)
{
    build(bad[_i][0], bad[_i][1], bad[_i][2]);
    program_plan(&p, NULL, "f");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(effects_happen_in_order_though_no_value_is_wanted)
{
    functions_add(&p, "tell", "i=int32", "s Say i\n", " ^s");
    program_build(&p, "start int32=1\nlimit int32=6\ndelta int32=2\n"
                      "f For start limit delta T=[] body=@tell\n"
                      "g NoOp ^f\n");
    program_plan(&p, NULL, "^g");
    program_run(&p);
    ck_assert_int_eq(n_said, 135);
}
END_TEST

/* v' = 2 v + i, three times; w is handed on. */
START_TEST(gradients_go_through_the_loop)
{
    eddy_output xs[2], ys[2], dxs[2];
    eddy_graph *lowered;

    build(0, 3, 1);
    ck_assert_int_eq(eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
                     EDDY_OK);
    eddy_graph_destroy(p.graph);
    p.graph = lowered;
    xs[0] = program_output(&p, "v");
    xs[1] = program_output(&p, "w");
    ys[0] = program_output(&p, "f");
    ys[1] = program_output(&p, "f:1");
    ck_assert_int_eq(eddy_gradients(p.graph, ys, 2, xs, 2, NULL, dxs, &p.err),
                     EDDY_OK);
    program_plan_outputs(&p, dxs, 2);
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 8);
    ck_assert(program_fetch_float(&p, 1) == 1);
}
END_TEST

/* The inner loop has as many trips as the outer one's number says. */
START_TEST(loops_may_be_nested_and_called)
{
    functions_add(&p, "count", "j=int32 n=int32",
                  "one int32=1\ns AddV2 n one T=int32\n", "s");
    functions_add(&p, "outer", "i=int32 n=int32",
                  "zero int32=0\none int32=1\n"
                  "f For zero i one n T=[int32] body=@count\n",
                  "f=int32");
    functions_add(&p, "all", "n=int32",
                  "zero int32=0\none int32=1\nfour int32=4\n"
                  "f For zero four one n T=[int32] body=@outer\n",
                  "f=int32");
    program_build(&p, "n int32=100\n");
    functions_call(&p, "all", "c", "n");
    program_plan(&p, NULL, "c");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 106);
}
END_TEST

START_TEST(bodies_must_take_the_number)
{
    functions_add(&p, "less", "v=float32", "", "v");
    program_build(&p, "start int32=1\nlimit int32=6\ndelta int32=2\n"
                      "v float32=1\n"
                      "f For start limit delta v T=[float32] body=@less\n");
    program_want(&p, program_try_plan(&p, NULL, "f"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FUNCTION);
}
END_TEST

TCase *lower_for_tests(void)
{
    TCase *tests = tcase_create("lower_for");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, the_body_gets_every_number, 0,
                        (int)(sizeof loops / sizeof *loops));
    tcase_add_test(tests, the_last_number_may_be_the_largest);
    tcase_add_loop_test(tests, numbers_must_lead_to_the_limit, 0,
                        (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, effects_happen_in_order_though_no_value_is_wanted);
    tcase_add_test(tests, gradients_go_through_the_loop);
    tcase_add_test(tests, loops_may_be_nested_and_called);
    tcase_add_test(tests, bodies_must_take_the_number);
    return tests;
}

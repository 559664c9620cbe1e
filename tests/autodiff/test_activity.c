/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a walk goes through: between some x and some y. */
#include "autodiff/activity.h"

#include "tests/aid/studied.h"
#include "tests/suites.h"

#include <string.h>

static studied s;
static eddy__activity a;

static void setup(void)
{
    studied_init(&s);
}

static void teardown(void)
{
    studied_deinit(&s);
}

static void find(const char *text, const char *ys, const char *xs,
                 const char *stop)
{
    static eddy_output stopped;

    studied_build(&s, text, ys, xs);
    if (stop) {
        stopped = program_output(&s.p, stop);
        s.asked.stop = &stopped;
        s.asked.n_stop = 1;
    }
    program_want_ok(&s.p, eddy__activity_init(&a, &s.e, &s.study, 0, &s.asked));
    program_want_ok(
        &s.p, eddy__activity_find(&a, s.ys, s.asked.n_ys, s.xs, s.asked.n_xs));
}

/* Fails the test unless of the nodes named these alone are active. */
static void want_active(const char *active, const char *others)
{
    const char *const lists[] = {active, others};

    for (int i = 0; i < 2; i++) {
        char text[256], *rest = text, *name;

        strcpy(text, lists[i]);
        while ((name = strtok_r(rest, " ", &rest)) != NULL)
            ck_assert_msg(eddy__activity_has(&a, studied_node(&s, name)) ==
                              (i == 0),
                          "%s is%s active", name, i == 0 ? " not" : "");
    }
}

START_TEST(nodes_between_an_x_and_a_y_are_active)
{
    find("x float64=2\nc float64=3\n"
         "xc Mul x c\nside Neg xc\ny Exp xc\nonly Neg c\nz Add y only\n",
         "z", "x", NULL);
    want_active("xc y z", "side only c");
}
END_TEST

START_TEST(integers_and_comparisons_carry_no_gradient)
{
    find("x float64=2\ni Cast x SrcT=float64 DstT=int32\n"
         "f Cast i SrcT=int32 DstT=float64\nless Less x x\n"
         "picked SelectV2 less x f\ny Neg picked\n",
         "y", "x", NULL);
    want_active("picked y", "i f less");
    ck_assert(eddy__activity_may_carry(&s.study, program_output(&s.p, "x")));
    ck_assert(!eddy__activity_may_carry(&s.study, program_output(&s.p, "i")));
    ck_assert(
        !eddy__activity_may_carry(&s.study, program_output(&s.p, "less")));
}
END_TEST

START_TEST(what_is_before_a_stop_is_not_active)
{
    find("x float64=2\na Exp x\nb Neg a\nc Sin x\ny Mul b c\n", "y", "x", "b");
    want_active("c y", "a b");
    ck_assert(a.state[studied_node(&s, "b")] & EDDY__STOPPED);
}
END_TEST

START_TEST(stop_gradient_ends_the_way)
{
    find("x float64=2\na Exp x\ns StopGradient a\ny Mul s x\n", "y", "x", NULL);
    want_active("y", "a s");
}
END_TEST

START_TEST(a_value_goes_round_a_loop)
{
    find("x float64=2\n" PROGRAM_LOOP("v/b Mul v/s:1 v/s:1\n") "y Neg v/x\n",
         "y", "x", NULL);
    want_active("v/e v/m v/s v/b v/n v/x y", "i/a i/m less c");
}
END_TEST

START_TEST(a_tape_leads_from_push_to_pop)
{
    find("x float64=2\nsize int32=-1\n"
         "t StackV2 size elem_type=float64\n"
         "push StackPushV2 t x\n"
         "pop StackPopV2 t ^push elem_type=float64\n"
         "y Neg pop\n",
         "y", "x", NULL);
    want_active("push pop y", "t size");
}
END_TEST

START_TEST(a_stack_with_two_pops_is_refused_at_the_stack)
{
    studied_build(&s,
                  "x float64=2\nsize int32=-1\n"
                  "t StackV2 size elem_type=float64\n"
                  "push StackPushV2 t x\n"
                  "pop StackPopV2 t ^push elem_type=float64\n"
                  "pop2 StackPopV2 t ^pop elem_type=float64\n"
                  "y Add pop pop2\n",
                  "y", "x");
    program_want_ok(&s.p, eddy__activity_init(&a, &s.e, &s.study, 0, &s.asked));
    program_want(&s.p, eddy__activity_find(&a, s.ys, 1, s.xs, 1),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(s.p.err.node, "t");
}
END_TEST

TCase *activity_tests(void)
{
    TCase *tc = tcase_create("activity");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nodes_between_an_x_and_a_y_are_active);
    tcase_add_test(tc, integers_and_comparisons_carry_no_gradient);
    tcase_add_test(tc, what_is_before_a_stop_is_not_active);
    tcase_add_test(tc, stop_gradient_ends_the_way);
    tcase_add_test(tc, a_value_goes_round_a_loop);
    tcase_add_test(tc, a_tape_leads_from_push_to_pop);
    tcase_add_test(tc, a_stack_with_two_pops_is_refused_at_the_stack);
    return tc;
}

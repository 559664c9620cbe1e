/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of a loop's tape, and what is read where nothing is. */
#include "autodiff/policy.h"

#include "tests/aid/studied.h"
#include "tests/suites.h"

#include <string.h>

static studied s;

static void setup(void)
{
    studied_init(&s);
    studied_build(
        &s, "x float64=2\n" PROGRAM_LOOP("v/b Mul v/s:1 v/s:1\n") "y Neg v/x\n",
        "y", "x");
}

static void teardown(void)
{
    studied_deinit(&s);
}

static eddy_tape_policy policy(void)
{
    return eddy__policy_of(s.p.graph, studied_node(&s, "c"));
}

static eddy_status choose(eddy_gradient_options options, bool must_exist)
{
    options.size = sizeof options;
    return eddy__policy_choose(&s.study, &s.e, 0, &options, must_exist);
}

START_TEST(a_loop_keeps_if_nothing_is_noted)
{
    ck_assert_int_eq(policy(), EDDY_TAPE_KEEP);
    ck_assert_int_eq(eddy__policy_of(s.p.graph, EDDY_NO_NODE), EDDY_TAPE_KEEP);
    ck_assert(!eddy__policy_spills(s.p.graph, studied_node(&s, "c")));
}
END_TEST

/* `_i` is the policy. */
START_TEST(what_is_noted_is_read)
{
    eddy__policy_note(&s.e, studied_node(&s, "c"), (eddy_tape_policy)_i);
    ck_assert_int_eq(policy(), _i);
    ck_assert_int_eq(eddy__policy_spills(s.p.graph, studied_node(&s, "c")),
                     _i == EDDY_TAPE_SPILL || _i == EDDY_TAPE_AUTO);
    /* The default changes nothing. */
    eddy__policy_note(&s.e, studied_node(&s, "c"), EDDY_TAPE_DEFAULT);
    ck_assert_int_eq(policy(), _i);
}
END_TEST

START_TEST(a_policy_for_all_is_that_of_each_loop)
{
    program_want_ok(
        &s.p,
        choose((eddy_gradient_options){.tape = EDDY_TAPE_RECOMPUTE}, true));
    ck_assert_int_eq(policy(), EDDY_TAPE_RECOMPUTE);
}
END_TEST

START_TEST(a_loop_by_name_has_its_own)
{
    const eddy_loop_tape own = {.frame = "w", .policy = EDDY_TAPE_KEEP};

    program_want_ok(&s.p,
                    choose((eddy_gradient_options){.tape = EDDY_TAPE_RECOMPUTE,
                                                   .loop_tapes = &own,
                                                   .n_loop_tapes = 1},
                           true));
    ck_assert_int_eq(policy(), EDDY_TAPE_KEEP);
}
END_TEST

START_TEST(a_name_of_no_loop_is_refused_if_it_must_exist)
{
    const eddy_loop_tape own = {.frame = "nowhere", .policy = EDDY_TAPE_KEEP};
    const eddy_gradient_options options = {.loop_tapes = &own,
                                           .n_loop_tapes = 1};

    program_want_ok(&s.p, choose(options, false));
    program_want(&s.p, choose(options, true), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(s.p.err.message, "'nowhere'"));
}
END_TEST

START_TEST(a_number_that_is_no_policy_is_refused)
{
    program_want(
        &s.p,
        choose((eddy_gradient_options){.tape = (eddy_tape_policy)99}, true),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_int_eq(policy(), EDDY_TAPE_KEEP);
}
END_TEST

START_TEST(auto_keeps_a_tape_of_known_size_that_fits)
{
    /* Three trips of a float64 or two. */
    program_want_ok(
        &s.p, choose((eddy_gradient_options){.tape = EDDY_TAPE_AUTO}, true));
    ck_assert_int_eq(policy(), EDDY_TAPE_KEEP);
}
END_TEST

START_TEST(auto_leaves_a_tape_that_is_too_large)
{
    program_want_ok(&s.p, choose((eddy_gradient_options){.tape = EDDY_TAPE_AUTO,
                                                         .tape_bytes = 1},
                                 true));
    ck_assert_int_eq(policy(), EDDY_TAPE_AUTO);
}
END_TEST

TCase *policy_tests(void)
{
    TCase *tc = tcase_create("policy");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_loop_keeps_if_nothing_is_noted);
    tcase_add_loop_test(tc, what_is_noted_is_read, EDDY_TAPE_KEEP,
                        EDDY_TAPE_SPILL + 1);
    tcase_add_test(tc, a_policy_for_all_is_that_of_each_loop);
    tcase_add_test(tc, a_loop_by_name_has_its_own);
    tcase_add_test(tc, a_name_of_no_loop_is_refused_if_it_must_exist);
    tcase_add_test(tc, a_number_that_is_no_policy_is_refused);
    tcase_add_test(tc, auto_keeps_a_tape_of_known_size_that_fits);
    tcase_add_test(tc, auto_leaves_a_tape_that_is_too_large);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/functions.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

static void want_float(const char *feeds, const char *fetch, float value)
{
    program_plan(&p, feeds, fetch);
    program_make_run(&p);
    if (feeds)
        program_feed_int(&p, 0, 1);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), value);
}

static void refuse(const char *feeds, const char *what, eddy_detail detail)
{
    program_want(&p, program_try_plan(&p, feeds, what), EDDY_INVALID_ARGUMENT,
                 detail);
}

START_TEST(what_waits_for_a_fed_placeholder_waits_for_the_feed)
{
    program_build(&p, "p ?int64\n"
                      "p/fed float32=3\n"
                      "c float32=2\n"
                      "d Identity c ^p ^c\n"
                      "e Add d c ^d ^p\n");
    want_float("p", "e", 4);
    ck_assert_uint_eq(program_stats(&p).live_executions, 4);
    refuse(NULL, "e", EDDY_E_NOT_FED);
}
END_TEST

START_TEST(a_fed_placeholder_that_is_a_target_runs)
{
    program_build(&p, "p ?int64\n"
                      "c float32=2\n"
                      "d Identity c ^p\n");
    refuse("p", "d ^p", EDDY_E_NOT_FED);
}
END_TEST

START_TEST(other_ops_that_are_fed_must_run)
{
    program_build(&p, "p ?int64\n"
                      "q ?float32\n"
                      "n Neg q\n"
                      "c float32=2\n"
                      "d Identity c ^n\n"
                      "w PlaceholderWithDefault q dtype=float32 shape=()\n"
                      "e Identity c ^w\n"
                      "v PlaceholderV2 dtype=int64 shape=()\n"
                      "f Identity c ^v\n");
    refuse("n", "d", EDDY_E_NOT_FED);
    refuse("w", "e", EDDY_E_NOT_FED);
    want_float("v", "f", 2);
    refuse(NULL, "f", EDDY_E_NOT_FED);
}
END_TEST

START_TEST(a_feed_is_live_though_its_placeholder_waits_for_a_branch)
{
    program_build(&p, "yes bool=1\n"
                      "s Switch yes yes\n"
                      "untaken Identity s\n"
                      "p Placeholder dtype=int64 shape=() ^untaken\n"
                      "c float32=2 ^p\n"
                      "y Neg c\n");
    want_float("p", "y", -2);
    program_plan(&p, NULL, "y");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FETCH_DEAD);
}
END_TEST

START_TEST(no_control_edge_leads_from_a_feed_into_a_frame)
{
    program_build(&p, "p ?int64\n"
                      "c float32=2\n"
                      "enter Enter@f c\n"
                      "inside Neg enter ^p\n"
                      "y Exit inside\n");
    refuse("p", "y", EDDY_E_FRAME_MIXED);
}
END_TEST

START_TEST(calls_wait_for_feeds)
{
    functions_add(&p, "twice", "x=float32", "y Add x x T=float32\n",
                  "y=float32");
    program_build(&p, "p ?int64\n"
                      "yes bool=1\n"
                      "c float32=2\n"
                      "call PartitionedCall c ^p f=@twice Tin=[float32] "
                      "Tout=[float32]\n"
                      "if StatelessIf yes c ^p then_branch=@twice "
                      "else_branch=@twice Tcond=bool Tin=[float32] "
                      "Tout=[float32]\n"
                      "y Add call if ^p\n");
    want_float("p", "y", 8);
    refuse(NULL, "y", EDDY_E_NOT_FED);
}
END_TEST

/* Who waits for a call waits for all that it gives. */
START_TEST(a_function_may_give_back_what_is_fed)
{
    functions_add(&p, "keep", "x=int64",
                  "n NoOp\n"
                  "y Identity x ^n T=int64\n",
                  "y x ^n");
    program_build(&p, "p ?int64\n"
                      "call StatefulPartitionedCall p f=@keep "
                      "Tin=[int64] Tout=[int64,int64]\n"
                      "sum Add call call:1\n"
                      "y Identity sum ^call\n");
    program_plan(&p, "p", "y");
    program_make_run(&p);
    program_feed_int(&p, 0, 3);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 6);
}
END_TEST

START_TEST(without_memory_nothing_is_kept)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    program_build(&p, "p ?int64\n"
                      "c float32=2\n"
                      "d Identity c ^p\n");
    for (long long n = 0; status == EDDY_RESOURCE_EXHAUSTED; n++) {
        counting_allocator_fail(&p.counting, n);
        status = program_try_plan(&p, "p", "d");
        counting_allocator_fail(&p.counting, -1);
    }
    ck_assert_int_eq(status, EDDY_OK);
    want_float("p", "d", 2);
}
END_TEST

TCase *fed_controls_tests(void)
{
    TCase *tc = tcase_create("fed_controls");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, what_waits_for_a_fed_placeholder_waits_for_the_feed);
    tcase_add_test(tc, a_fed_placeholder_that_is_a_target_runs);
    tcase_add_test(tc, other_ops_that_are_fed_must_run);
    tcase_add_test(tc,
                   a_feed_is_live_though_its_placeholder_waits_for_a_branch);
    tcase_add_test(tc, no_control_edge_leads_from_a_feed_into_a_frame);
    tcase_add_test(tc, calls_wait_for_feeds);
    tcase_add_test(tc, a_function_may_give_back_what_is_fed);
    tcase_add_test(tc, without_memory_nothing_is_kept);
    return tc;
}

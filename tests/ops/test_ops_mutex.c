/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes: who holds one, who waits, and how waiting ends. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

/* A section that reads `v`, takes `steps` to change it, and writes it. */
#define SECTION(n, steps, last)                                                \
    "l" n " MutexLock m ^start\n"                                              \
    "r" n " ReadVariableOp v dtype=float32 ^l" n "\n" steps "s" n              \
    " AddV2 " last " one\n"                                                    \
    "w" n " AssignVariableOp v s" n " dtype=float32\n"                         \
    "u" n " ConsumeMutexLock l" n " ^w" n "\n"

START_TEST(sections_come_one_after_the_other)
{
    program_build(
        &p, "m MutexV2 shared_name='m'\n"
            "v VarHandleOp dtype=float32 shape=()\n"
            "zero float32=0\none float32=1\n"
            "start AssignVariableOp v zero dtype=float32\n" SECTION(
                "1", "a1 Neg r1\nb1 Neg a1\n", "b1") SECTION("2", "", "r2")
                SECTION("3", "a3 Identity r3\n", "a3") "y ReadVariableOp v "
                                                       "dtype=float32 ^u1 ^u2 "
                                                       "^u3\n");
    program_plan(&p, NULL, "y");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert(program_fetch_float(&p, 0) == 3);
    }
    ck_assert_uint_ge(program_stats(&p).peak_suspended, 1);
}
END_TEST

/* The lock is held for what comes between, in each trip of a loop. */
START_TEST(a_loop_locks_once_a_trip)
{
    program_build(
        &p, "m MutexV2\nx float64=1\n" PROGRAM_LOOP(
                "h Enter@w! m\nl MutexLock h ^v/s:1\nv/b AddV2 v/s:1 v/s:1 ^l\n"
                "u ConsumeMutexLock l ^v/b\n"));
    program_plan(&p, NULL, "v/x ^u");
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(8));
}
END_TEST

START_TEST(a_lock_that_never_comes_is_told)
{
    program_build(&p, "m MutexV2\na MutexLock m\nb MutexLock m ^a\n"
                      "u ConsumeMutexLock a ^b\n");
    program_plan(&p, NULL, "^u");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_FAILED_PRECONDITION,
                     EDDY_E_STUCK);
    ck_assert_str_eq(p.err.node, "b");
}
END_TEST

/* A run that fails lets go of its lock, and of its place in the line. */
START_TEST(a_failed_run_unlocks)
{
    program_renew_session(&p);
    program_build(&p, "m MutexV2\nno bool=0\nwhy string=why\n"
                      "a MutexLock m\nf Assert no why T=[string] ^a\n"
                      "u ConsumeMutexLock a ^f\nb MutexLock m\n"
                      "w ConsumeMutexLock b\nc MutexLock m ^a\n"
                      "z ConsumeMutexLock c ^f\n");
    program_plan(&p, NULL, "^u ^z");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ASSERTION);
    program_plan(&p, NULL, "^w");
    program_run(&p);
}
END_TEST

START_TEST(waiting_ends_with_a_cancel)
{
    program_renew_session(&p);
    program_build(&p, "m MutexV2\na MutexLock m\nb MutexLock m ^a\n"
                      "u ConsumeMutexLock a ^b\n");
    program_plan(&p, NULL, "^u");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    for (int i = 0; i < 3; i++)
        ck_assert(!eddy_run_poll(p.run));
    eddy_run_cancel(p.run);
    program_want(&p, eddy_run_wait(p.run, &p.err), EDDY_CANCELLED,
                 EDDY_E_CANCELLED);
}
END_TEST

/* One run holds the mutex of the session, another waits for it. */
START_TEST(one_run_waits_for_another)
{
    eddy_plan *holder;
    eddy_run *holding;

    program_renew_session(&p);
    program_build(&p, "m MutexV2 shared_name='m'\n"
                      "q FIFOQueueV2 component_types=[float32]\n"
                      "a MutexLock m\n"
                      "d QueueDequeueV2 q component_types=[float32] ^a\n"
                      "u ConsumeMutexLock a ^d\n"
                      "x float32=7\n"
                      "e QueueEnqueueV2 q x Tcomponents=[float32]\n"
                      "b MutexLock m\nw ConsumeMutexLock b\n");
    program_plan(&p, NULL, "^u");
    holder = p.plan;
    p.plan = NULL;
    ck_assert_int_eq(eddy_run_create(holder, &p.run_options, &holding, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_run_start(holding, &p.err), EDDY_OK);
    ck_assert(!eddy_run_poll(holding));
    program_plan(&p, NULL, "^w");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    ck_assert(!eddy_run_poll(p.run));
    eddy_run_cancel(holding);
    program_want(&p, eddy_run_wait(holding, &p.err), EDDY_CANCELLED,
                 EDDY_E_CANCELLED);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    eddy_run_destroy(holding);
    eddy_plan_release(holder);
}
END_TEST

START_TEST(what_is_no_lock_is_refused)
{
    program_build(&p, "m MutexV2\nn int32=1\ng StackV2 n elem_type=float32\n"
                      "o OptionalNone\nu ConsumeMutexLock o\n"
                      "a MutexLock g\nl MutexLock m\n"
                      "s AddN l l\nz ZerosLike l\n"
                      "h OptionalHasValue l\nt TensorListLength l\n");
    static const char *const wrong[] = {"^u", "h", "t"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        program_plan(&p, NULL, wrong[i]);
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_DTYPE);
    }
    program_plan(&p, NULL, "^a");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_RESOURCE);
    program_plan(&p, NULL, "^s");
    program_want(&p, program_execute(&p), EDDY_INTERNAL, EDDY_E_DTYPE);
    program_plan(&p, NULL, "^z");
    program_want(&p, program_execute(&p), EDDY_INTERNAL, EDDY_E_DTYPE);
}
END_TEST

TCase *ops_mutex_tests(void)
{
    TCase *tests = tcase_create("ops_mutex");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, sections_come_one_after_the_other);
    tcase_add_test(tests, a_loop_locks_once_a_trip);
    tcase_add_test(tests, a_lock_that_never_comes_is_told);
    tcase_add_test(tests, a_failed_run_unlocks);
    tcase_add_test(tests, waiting_ends_with_a_cancel);
    tcase_add_test(tests, one_run_waits_for_another);
    tcase_add_test(tests, what_is_no_lock_is_refused);
    return tests;
}

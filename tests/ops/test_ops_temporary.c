/* SPDX-License-Identifier: Apache-2.0 */
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

static void want(const char *what, float value)
{
    program_plan(&p, NULL, what);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), value);
}

static void refuse(const char *what, eddy_status code, eddy_detail detail)
{
    eddy_status status = program_try_plan(&p, NULL, what);

    if (status == EDDY_OK)
        status = program_execute(&p);
    program_want(&p, status, code, detail);
}

#define NUMBERS                                                                \
    "one float32=1\n"                                                          \
    "two float32=2\n"

START_TEST(a_temporary_variable_gives_its_last_value)
{
    program_build(&p, NUMBERS "v TemporaryVariable dtype=float32 shape=()\n"
                              "set Assign v one\n"
                              "add AssignAdd set two\n"
                              "y DestroyTemporaryVariable add var_name='v'\n"
                              "z Identity v ^y\n");
    want("y", 3);
    want("y", 3);
    /* The reference outlives the name. */
    want("z", 3);
}
END_TEST

START_TEST(a_name_is_taken_once)
{
    program_build(&p, NUMBERS
                  "v TemporaryVariable dtype=float32 shape=()\n"
                  "w TemporaryVariable dtype=float32 shape=() var_name='v'\n"
                  "x TemporaryVariable dtype=float32 shape=()\n"
                  "sv Assign v one\n"
                  "sw Assign w two\n"
                  "sx Assign x two\n"
                  "y Add sv sw\n"
                  "z Add sv sx\n");
    refuse("y", EDDY_ALREADY_EXISTS, EDDY_E_RESOURCE);
    want("z", 3);
}
END_TEST

START_TEST(a_name_that_is_given_back_is_free)
{
    program_build(&p, NUMBERS
                  "v TemporaryVariable dtype=float32 shape=() var_name='t'\n"
                  "sv Assign v one\n"
                  "a DestroyTemporaryVariable sv var_name='t'\n"
                  "w TemporaryVariable dtype=float32 shape=() var_name='t' ^a\n"
                  "sw Assign w two\n"
                  "b DestroyTemporaryVariable sw var_name='t'\n"
                  "y Add a b\n"
                  "c DestroyTemporaryVariable sw var_name='t' ^b\n");
    want("y", 3);
    refuse("y ^c", EDDY_NOT_FOUND, EDDY_E_RESOURCE);
}
END_TEST

START_TEST(a_name_that_nobody_took_is_not_found)
{
    program_build(&p, NUMBERS "v TemporaryVariable dtype=float32 shape=()\n"
                              "set Assign v one\n"
                              "y DestroyTemporaryVariable set var_name='w'\n"
                              "z DestroyTemporaryVariable set var_name=''\n");
    refuse("y", EDDY_NOT_FOUND, EDDY_E_RESOURCE);
    refuse("z", EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(each_iteration_has_names_of_its_own)
{
    program_build(&p, NUMBERS "five float32=5\n"
                              "e Enter@f one\n"
                              "m Merge e n\n"
                              "limit Enter@f! five\n"
                              "step Enter@f! one\n"
                              "less Less m limit\n"
                              "c LoopCond less\n"
                              "s Switch m c\n"
                              "i Identity s:1\n"
                              "v TemporaryVariable dtype=float32 shape=() "
                              "var_name='t' ^i\n"
                              "set Assign v i\n"
                              "add AssignAdd set step\n"
                              "n NextIteration add\n"
                              "x Exit s\n"
                              "w TemporaryVariable dtype=float32 shape=() "
                              "var_name='t'\n"
                              "y Assign w x\n"
                              "r RefEnter@g y\n"
                              "d DestroyTemporaryVariable r var_name='t'\n"
                              "z Exit d\n");
    /* Nobody gives the loop's names back, and the root's is another. */
    want("y", 5);
    refuse("z", EDDY_NOT_FOUND, EDDY_E_RESOURCE);
    ck_assert_str_eq(p.err.frame, "g[0]");
}
END_TEST

TCase *ops_temporary_tests(void)
{
    TCase *tc = tcase_create("ops_temporary");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_temporary_variable_gives_its_last_value);
    tcase_add_test(tc, a_name_is_taken_once);
    tcase_add_test(tc, a_name_that_is_given_back_is_free);
    tcase_add_test(tc, a_name_that_nobody_took_is_not_found);
    tcase_add_test(tc, each_iteration_has_names_of_its_own);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which Exit a message offers for a value that lives inside a loop. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

/* i = 0, s = 1; while (i < n) { i += 1; s = -(s * i) }, and an inner loop. */
#define LOOP                                                                   \
    "zero int64=0\n"                                                           \
    "one int64=1\n"                                                            \
    "n int64=5\n"                                                              \
    "i/enter Enter@w zero\n"                                                   \
    "s/enter Enter@w one\n"                                                    \
    "w/n Enter@w! n\n"                                                         \
    "w/one Enter@w! one\n"                                                     \
    "i/merge Merge i/enter i/next\n"                                           \
    "s/merge Merge s/enter s/next\n"                                           \
    "twice AddV2 i/merge i/merge\n"                                            \
    "less Less twice w/n\n"                                                    \
    "cond LoopCond less\n"                                                     \
    "i/switch Switch i/merge cond\n"                                           \
    "s/switch Switch s/merge cond\n"                                           \
    "i/add AddV2 i/switch:1 w/one\n"                                           \
    "s/mul Mul s/switch:1 i/add\n"

#define ENDS                                                                   \
    "i/next NextIteration i/add\n"                                             \
    "s/next NextIteration s/neg\n"                                             \
    "i/exit Exit i/switch\n"                                                   \
    "s/exit Exit s/switch\n"

#define PLAIN LOOP "s/neg Neg s/mul\n" ENDS

#define NESTED                                                                 \
    LOOP "v/enter Enter@inner s/mul\n"                                         \
         "v/limit Enter@inner! w/n\n"                                          \
         "v/merge Merge v/enter v/next\n"                                      \
         "v/less Less v/merge v/limit\n"                                       \
         "v/cond LoopCond v/less\n"                                            \
         "v/switch Switch v/merge v/cond\n"                                    \
         "v/twice AddV2 v/switch:1 v/switch:1\n"                               \
         "v/next NextIteration v/twice\n"                                      \
         "v/exit Exit v/switch\n"                                              \
         "s/neg Neg v/exit\n" ENDS

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static const struct {
    const char *text, *fetch, *loop, *exit;
} cases[] = {
    /* The nodes of a variable. */
    {PLAIN, "i/merge", "'w'", "'i/exit'"},
    {PLAIN, "s/merge", "'w'", "'s/exit'"},
    {PLAIN, "s/switch:1", "'w'", "'s/exit'"},
    {PLAIN, "i/next", "'w'", "'i/exit'"},
    /* What is carried on by one, though it also leads to another. */
    {PLAIN, "i/add", "'w'", "'i/exit'"},
    {PLAIN, "s/mul", "'w'", "'s/exit'"},
    {PLAIN, "s/neg", "'w'", "'s/exit'"},
    /* Nothing carries a predicate: what it is computed from. */
    {PLAIN, "less", "'w'", "'i/exit'"},
    {PLAIN, "cond", "'w'", "'i/exit'"},
    {PLAIN, "twice", "'w'", "'i/exit'"},
    /* Out of all loops. */
    {NESTED, "v/twice", "'inner'", "'s/exit'"},
    {NESTED, "v/exit", "'w'", "'s/exit'"},
    {NESTED, "v/less", "'inner'", "'s/exit'"},
    {NESTED, "i/add", "'w'", "'i/exit'"},
};

START_TEST(the_exit_is_that_of_the_variable)
{
    program_build(&p, cases[_i].text);
    program_want(&p, program_try_plan(&p, NULL, cases[_i].fetch),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_IN_LOOP);
    ck_assert_msg(strstr(p.err.message, cases[_i].loop) != NULL, "%s",
                  p.err.message);
    ck_assert_msg(strstr(p.err.message, cases[_i].exit) != NULL, "%s: %s",
                  cases[_i].fetch, p.err.message);
}
END_TEST

TCase *exits_tests(void)
{
    TCase *tcase = tcase_create("exits");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_exit_is_that_of_the_variable, 0,
                        sizeof cases / sizeof cases[0]);
    return tcase;
}

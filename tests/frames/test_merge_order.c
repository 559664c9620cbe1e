/* SPDX-License-Identifier: Apache-2.0 */
/* Merges that may have two live inputs: which one wins, and what is refused. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define BASE                                                                   \
    "p ?bool\n"                                                                \
    "x ?int64\n"                                                               \
    "yes bool=1\n"                                                             \
    "one int64=1\n"                                                            \
    "two int64=2\n"                                                            \
    "s Switch x p\n"

/* The fetches are m and, where `index` is not negative, value_index. */
typedef struct decided {
    const char *text;
    int64_t p; /* bool */
    int64_t value;
    int64_t index;
} decided;

static const decided rows[] = {
    /* Constants and feeds are there when the run starts. */
    {"m Merge one two", true, 1, 0},
    {"m Merge two one", true, 2, 0},
    {"m Merge x one", true, 7, 0},
    {"m Merge one x", true, 1, 0},
    {"n Neg x\nm Merge one n", true, 1, 0},
    {"n Neg s:1\nm Merge one n", true, 1, 0},
    {"n Neg s:1\nm Merge one n", false, 1, 0},
    /* And what is made of constants, whoever makes it. */
    {"n Neg x\nk Neg one\nm Merge k n", true, -1, 0},
    {"n Neg x\nk Neg one\nl Mul k two\nm Merge l n", true, -2, 0},
    {"n Neg s:1\no Neg n\nk Neg one\nm Merge o k", true, -1, 1},
    /* So is one behind what is two nodes away, or more. */
    {"n Neg s:1\no Neg n\nm Merge o one", true, 1, 1},
    {"n Neg s:1\no Neg n\nm Merge o one", false, 1, 1},
    /* One input depends on another one. */
    {"n Neg s:1\no Neg n\nm Merge n o", true, -7, 0},
    {"n Neg s:1\no Neg two ^n\nm Merge n o", true, -7, 0},
    {"n Neg s:1\nm Merge n n", true, -7, 0},
    {"n Neg s:1\no Neg n\ni Neg s\nm Merge n i o", true, -7, 0},
    {"n Neg s:1\no Neg n\ni Neg s\nm Merge n i o", false, -7, 1},
    /* Equal values. */
    {"n Neg x\no Neg x\nm Merge n o", true, -7, -1},
    {"t Switch x p\nm Merge s:1 t:1", true, 7, -1},
    {"t Switch x yes\nm Merge s:1 t:1", true, 7, -1},
    {"n Neg s:1\nk Sub x x\no Sub k x\nm Merge o n", true, -7, -1},
    {"n Neg s:1\nk Sub x x\no Sub k x\nm Merge o n", false, -7, -1},
    {"n Neg s:1\nk Sub x x\no Sub k x\nm Merge o n", false, -7, 0},
    /* In a branch, and with what nobody may take. */
    {"y Identity s:1\nc int64=-7 ^y\nn Neg y\nd Sub y y\nq Equal d n\n"
     "r Switch n q\nt Neg y\nm Merge r c",
     true, -7, -1},
};

#define N_ROWS (int)(sizeof rows / sizeof rows[0])

/* Feeds p and x, which is 7. */
static void feed(program *p, bool taken)
{
    eddy_tensor *t =
        program_tensor(p, EDDY_BOOL, &(eddy_shape){.rank = 0}, &taken);

    program_make_run(p);
    ck_assert_int_eq(eddy_run_feed(p->run, 0, t, &p->err), EDDY_OK);
    eddy_tensor_release(t);
    program_feed_int(p, 1, 7);
}

START_TEST(the_graph_decides_which_input_wins)
{
    const decided *row = &rows[_i / 3];
    const uint32_t workers[] = {0, 1, 4};
    program p;

    program_init(&p, workers[_i % 3]);
    p.plan_options.optimize =
        _i % 2 ? EDDY_OPTIMIZE_NONE : p.plan_options.optimize;
    program_build(&p, BASE);
    program_build(&p, row->text);
    program_plan(&p, "p x", row->index < 0 ? "m" : "m m:1");
    for (int again = 0; again < 3; again++) {
        feed(&p, row->p != 0);
        program_run(&p);
        ck_assert_msg(program_fetch_int(&p, 0) == row->value, "%s: %d",
                      row->text, (int)program_fetch_int(&p, 0));
        if (row->index >= 0)
            ck_assert_int_eq(program_fetch_int(&p, 1), row->index);
    }
    program_deinit(&p);
}
END_TEST

/* The graph and what is fetched. */
static const char *const races[][2] = {
    {"n Neg x\nm Merge n one", "m"},
    {"n Neg x\no Add x x\nm Merge n o", "m"},
    {"n Neg s:1\no Add s:1 s:1\nm Merge n o", "m"},
    {"n Neg s:1\no Neg n\nm Merge o n", "m"},
    {"n Neg x\nt Switch n yes\nm Merge s:1 t:1", "m"},
    /* Held back until both may be there. */
    {"n Neg s:1\no Neg n\nm Merge o one ^o", "m"},
    /* Equal, but the number of the input is wanted. */
    {"n Neg x\no Neg x\nm Merge n o", "m m:1"},
    /* Decided only if a pass makes one node of two. */
    {"n Neg x\no Neg x\nk Mul o two\nm Merge n k", "m"},
    {"t string=a\nu string=b\nv Identity t\nw Identity u\nm Merge v w", "m"},
};

#define N_RACES (int)(sizeof races / sizeof races[0])

START_TEST(a_race_is_refused)
{
    program p;

    program_init(&p, 0);
    p.plan_options.optimize =
        _i % 2 ? EDDY_OPTIMIZE_NONE : p.plan_options.optimize;
    program_build(&p, BASE);
    program_build(&p, races[_i / 2][0]);
    program_plan(&p, "p x", races[_i / 2][1]);
    feed(&p, true);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_MERGE_TWO_LIVE);
    ck_assert_str_eq(p.err.node, "m");
    program_deinit(&p);
}
END_TEST

START_TEST(equal_tensors_and_texts_are_one_value)
{
    program p;

    program_init(&p, 0);
    program_build(&p, BASE "a string[2]=abc\n"
                           "b string[2]=abc\n"
                           "c Identity a\n"
                           "d Identity b\n"
                           "m Merge c d\n"
                           "f float32[3]=1,2,3\n"
                           "g Neg f\n"
                           "h Neg f\n"
                           "k Merge g h\n"
                           "l Neg k\n");
    program_plan(&p, NULL, "m l");
    program_run(&p);
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 2, 3));
    program_deinit(&p);
}
END_TEST

/* In each iteration a constant of the body meets a value of a branch. */
START_TEST(an_input_is_always_live_in_a_loop)
{
    const uint32_t workers[] = {0, 1, 4};
    const int64_t parallel[] = {1, 10};
    program p;

    program_init(&p, workers[_i % 3]);
    p.plan_options.parallel_iterations = parallel[_i / 3];
    program_build(&p, "zero int64=0\n"
                      "one int64=1\n"
                      "nine int64=9\n"
                      "e Enter@w zero\n"
                      "te Enter@w zero\n"
                      "m Merge e n\n"
                      "tm Merge te tn\n"
                      "limit Enter@w! nine\n"
                      "step Enter@w! one\n"
                      "odd Enter@w! zero\n"
                      "less Less m limit\n"
                      "c LoopCond less\n"
                      "s Switch m c\n"
                      "ts Switch tm c\n"
                      "i Identity s:1\n"
                      "t Identity ts:1\n"
                      "four int64=4 ^i\n"
                      "low Less i four\n"
                      "b Switch four low\n"
                      "v Identity b:1\n"
                      "got Merge v four\n"
                      "sum Add t got\n"
                      "next Add i step\n"
                      "n NextIteration next\n"
                      "tn NextIteration sum\n"
                      "x Exit ts\n");
    program_plan(&p, NULL, "x");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 36);
    program_deinit(&p);
}
END_TEST

START_TEST(two_inputs_that_are_always_live_are_warned_of)
{
    program p;

    program_init(&p, 0);
    program_build(&p, BASE "n Neg x\no Neg x\nm Merge n o\n");
    program_plan(&p, "x", "m");
    ck_assert_ptr_nonnull(eddy_plan_warning(p.plan, 0));
    ck_assert_ptr_nonnull(strstr(eddy_plan_warning(p.plan, 0),
                                 "inputs 0 ('n') and 1 ('o') are both always "
                                 "live"));
    program_build(&p, "r Merge x n\n");
    program_plan(&p, "x", "r");
    ck_assert_ptr_null(eddy_plan_warning(p.plan, 0));
    program_deinit(&p);
}
END_TEST

/* Merges of many inputs, and chains that no walk comes to the end of. */
START_TEST(large_graphs_are_decided_in_time)
{
    program p;
    char line[64];

    program_init(&p, 0);
    program_build(&p, BASE "n0 Neg s:1\n");
    for (int i = 1; i < 2000; i++) {
        (void)snprintf(line, sizeof line, "n%d Neg n%d\nm%d Merge n%d n%d\n", i,
                       i - 1, i, i - 1, i);
        program_build(&p, line);
    }
    program_plan(&p, "p x", "m1 m1999");
    feed(&p, true);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -7);
    program_deinit(&p);
}
END_TEST

TCase *merge_order_tests(void)
{
    TCase *tc = tcase_create("merge_order");

    tcase_add_loop_test(tc, the_graph_decides_which_input_wins, 0, 3 * N_ROWS);
    tcase_add_loop_test(tc, a_race_is_refused, 0, 2 * N_RACES);
    tcase_add_test(tc, equal_tensors_and_texts_are_one_value);
    tcase_add_loop_test(tc, an_input_is_always_live_in_a_loop, 0, 6);
    tcase_add_test(tc, two_inputs_that_are_always_live_are_warned_of);
    tcase_add_test(tc, large_graphs_are_decided_in_time);
    return tc;
}

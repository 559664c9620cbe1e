/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks are tapes: one push and one pop, found from the handle. */
#include "autodiff/tape.h"

#include "core/context.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#define STACK                                                                  \
    "size int32=-1\n"                                                          \
    "s StackV2 size elem_type=int64\n"                                         \
    "x int64=1\n"

static program p;
static eddy__arena arena;
static eddy__flow flow;
static eddy__tapes tapes;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    program_deinit(&p);
}

static void find(const char *text)
{
    eddy__selection all = {0};

    program_build(&p, text);
    all.graph = p.graph;
    arena = (eddy__arena){.allocator = &p.ctx->allocator};
    tapes = (eddy__tapes){0};
    ck_assert_int_eq(eddy__flow_build(&flow, &all, &arena, &p.err), EDDY_OK);
    ck_assert_int_eq(eddy__tapes_find(&tapes, &flow, &arena, &p.err), EDDY_OK);
}

static eddy_node node(const char *name)
{
    return program_output(&p, name).node;
}

START_TEST(one_push_and_one_pop_are_a_tape)
{
    find(STACK "push StackPushV2 s x\n"
               "pop StackPopV2 s ^push elem_type=int64\n");
    ck_assert_uint_eq(tapes.n, 1);
    ck_assert(tapes.tapes[0].is_tape);
    ck_assert_uint_eq(tapes.tapes[0].stack, node("s"));
    ck_assert_uint_eq(tapes.tapes[0].push, node("push"));
    ck_assert_uint_eq(tapes.tapes[0].pop, node("pop"));
    ck_assert_ptr_eq(eddy__tape_of(&tapes, node("push")), &tapes.tapes[0]);
    ck_assert_ptr_eq(eddy__tape_of(&tapes, node("pop")), &tapes.tapes[0]);
    ck_assert_ptr_null(eddy__tape_of(&tapes, node("x")));
}
END_TEST

/* As gradients of loops have it: the handle is an invariant of both. */
START_TEST(a_handle_is_followed_into_loops_and_branches)
{
    find(STACK "b ?bool\n"
               "e Enter@f! s\n"
               "i Identity e\n"
               "in Enter@f x\n"
               "push StackPushV2 i in\n"
               "w Switch s b\n"
               "pop StackPopV2 w:1 elem_type=int64\n");
    ck_assert_uint_eq(tapes.n, 1);
    ck_assert(tapes.tapes[0].is_tape);
    ck_assert_uint_eq(tapes.tapes[0].push, node("push"));
    ck_assert_uint_eq(tapes.tapes[0].pop, node("pop"));
}
END_TEST

static const char *const others[] = {
    /* It is never read, or never written. */
    STACK "push StackPushV2 s x\n",
    STACK "pop StackPopV2 s elem_type=int64\n",
    /* Two of one kind. */
    STACK "push StackPushV2 s x\npush2 StackPushV2 s x\n"
          "pop StackPopV2 s elem_type=int64\n",
    STACK "push StackPushV2 s x\npop StackPopV2 s elem_type=int64\n"
          "pop2 StackPopV2 s elem_type=int64\n",
    /* The handle goes where it is not seen any more. */
    STACK "push StackPushV2 s x\npop StackPopV2 s elem_type=int64\n"
          "n IdentityN s x\n",
    STACK "push StackPushV2 s x\npop StackPopV2 s elem_type=int64\n"
          "e Enter@f s\nm Merge e m2\nm2 NextIteration m\n",
};

START_TEST(a_stack_with_other_uses_is_no_tape)
{
    find(others[_i]);
    ck_assert_uint_eq(tapes.n, 1);
    ck_assert(!tapes.tapes[0].is_tape);
}
END_TEST

START_TEST(each_stack_is_one_of_its_own)
{
    find(STACK "s2 StackV2 size elem_type=int64\n"
               "push StackPushV2 s x\n"
               "push2 StackPushV2 s2 push\n"
               "pop2 StackPopV2 s2 ^push2 elem_type=int64\n"
               "pop StackPopV2 s ^push elem_type=int64\n"
               "old Stack elem_type=int64\n");
    ck_assert_uint_eq(tapes.n, 3);
    ck_assert(eddy__tape_of(&tapes, node("push2"))->is_tape);
    ck_assert_uint_eq(eddy__tape_of(&tapes, node("push2"))->pop, node("pop2"));
    ck_assert_uint_eq(eddy__tape_of(&tapes, node("pop"))->stack, node("s"));
    ck_assert(!tapes.tapes[2].is_tape);
}
END_TEST

TCase *tape_tests(void)
{
    TCase *tc = tcase_create("tape");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_push_and_one_pop_are_a_tape);
    tcase_add_test(tc, a_handle_is_followed_into_loops_and_branches);
    tcase_add_loop_test(tc, a_stack_with_other_uses_is_no_tape, 0,
                        sizeof others / sizeof others[0]);
    tcase_add_test(tc, each_stack_is_one_of_its_own);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks and TensorArrays are stores, and what is known to be in them. */
#include "frames/analysis/stores.h"

#include "core/context.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;
static eddy__arena arena;
static eddy__flow flow;
static eddy__stores stores;

static void setup(void)
{
    program_init(&p, 0);
    stores = (eddy__stores){0};
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    program_deinit(&p);
}

static void find(const char *text)
{
    const eddy__selection all = {.graph = p.graph};

    program_build(&p, text);
    arena = (eddy__arena){.allocator = &p.ctx->allocator};
    program_want_ok(&p, eddy__flow_build(&flow, &all, &arena, &p.err));
    program_want_ok(&p, eddy__stores_find(&stores, &flow, &arena, &p.err));
}

static eddy_node node(const char *name)
{
    return program_output(&p, name).node;
}

static eddy__store *store_of(const char *name)
{
    return eddy__store_of(&stores, node(name));
}

#define STACK                                                                  \
    "size int32=-1\nx float64[2]=1\n"                                          \
    "s StackV2 size elem_type=float64\n"

START_TEST(push_and_pops_of_a_stack_have_one_store)
{
    find(STACK "push StackPushV2 s x\n"
               "pop StackPopV2 s elem_type=float64\n"
               "pop2 StackPopV2 s elem_type=float64\n");
    ck_assert_ptr_nonnull(store_of("push"));
    ck_assert_ptr_eq(store_of("push"), store_of("pop"));
    ck_assert_ptr_eq(store_of("push"), store_of("pop2"));
    ck_assert_ptr_null(store_of("x"));
    ck_assert(eddy__store_is_read(eddy__graph_node(p.graph, node("pop"))));
    ck_assert(!eddy__store_is_read(eddy__graph_node(p.graph, node("push"))));
}
END_TEST

START_TEST(the_readers_of_a_store_are_a_list)
{
    unsigned n = 0;

    find(STACK "push StackPushV2 s x\n"
               "pop StackPopV2 s elem_type=float64\n"
               "pop2 StackPopV2 s elem_type=float64\n");
    for (eddy_node v = store_of("push")->first_reader; v != EDDY_NO_NODE;
         v = stores.next_reader[v]) {
        ck_assert(v == node("pop") || v == node("pop2"));
        n++;
    }
    ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(a_handle_is_followed_through_primitives)
{
    find(STACK "b ?bool\nw Switch s b\ne Enter@f! w:1\nin Enter@f x\n"
               "push StackPushV2 e in\npop StackPopV2 w elem_type=float64\n");
    ck_assert_ptr_nonnull(store_of("push"));
    ck_assert_ptr_eq(store_of("push"), store_of("pop"));
}
END_TEST

START_TEST(a_handle_that_goes_elsewhere_makes_no_store)
{
    find(STACK "push StackPushV2 s x\npop StackPopV2 s elem_type=float64\n"
               "n IdentityN s x\n");
    ck_assert_ptr_null(store_of("push"));
    ck_assert_ptr_null(store_of("pop"));
}
END_TEST

START_TEST(two_stacks_are_two_stores)
{
    find(STACK "s2 StackV2 size elem_type=float64\n"
               "push StackPushV2 s x\npush2 StackPushV2 s2 x\n");
    ck_assert_ptr_nonnull(store_of("push"));
    ck_assert_ptr_nonnull(store_of("push2"));
    ck_assert_ptr_ne(store_of("push"), store_of("push2"));
}
END_TEST

START_TEST(what_is_put_in_is_joined)
{
    const eddy_shape handle = {.rank = 0};
    eddy_shape inputs[2] = {handle, {.rank = 1, .dims = {2}}};
    const eddy__node *push;
    eddy__store *store;

    find(STACK "push StackPushV2 s x\npop StackPopV2 s elem_type=float64\n");
    push = eddy__graph_node(p.graph, node("push"));
    store = store_of("push");
    ck_assert(!store->has_shape);
    ck_assert(eddy__store_put(store, push, inputs));
    ck_assert(store->has_shape);
    ck_assert_int_eq(store->shape.dims[0], 2);
    /* The same again is nothing new. */
    ck_assert(!eddy__store_put(store, push, inputs));
    inputs[1].dims[0] = 3;
    ck_assert(eddy__store_put(store, push, inputs));
    ck_assert_int_eq(store->shape.rank, 1);
    ck_assert_int_eq(store->shape.dims[0], -1);
    /* Any shape. */
    ck_assert(eddy__store_put(store, push, NULL));
    ck_assert_int_eq(store->shape.rank, -1);
    ck_assert(!eddy__store_put(store, push, inputs));
}
END_TEST

TCase *stores_tests(void)
{
    TCase *tc = tcase_create("stores");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, push_and_pops_of_a_stack_have_one_store);
    tcase_add_test(tc, the_readers_of_a_store_are_a_list);
    tcase_add_test(tc, a_handle_is_followed_through_primitives);
    tcase_add_test(tc, a_handle_that_goes_elsewhere_makes_no_store);
    tcase_add_test(tc, two_stacks_are_two_stores);
    tcase_add_test(tc, what_is_put_in_is_joined);
    return tc;
}

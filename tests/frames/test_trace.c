/* SPDX-License-Identifier: Apache-2.0 */
/* Where a value comes from, past what hands it on. */
#include "frames/analysis/trace.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;
static eddy__arena arena;
static eddy__flow flow;

static void setup(void)
{
    program_init(&p, 0);
    arena = (eddy__arena){.allocator = &p.counting.allocator};
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    program_deinit(&p);
}

static eddy_node node(const char *name)
{
    return eddy_graph_find(p.graph, name);
}

static void build(const char *text)
{
    static eddy__selection selection;

    program_build(&p, text);
    selection = (eddy__selection){.graph = p.graph};
    ck_assert_int_eq(eddy__flow_build(&flow, &selection, &arena, &p.err),
                     EDDY_OK);
}

static eddy_output at(const char *name, uint32_t index)
{
    return (eddy_output){node(name), index};
}

static void want(unsigned ways, eddy_output from, const char *name,
                 uint32_t index)
{
    const eddy_output found = eddy__trace(&flow, ways, from);

    ck_assert_str_eq(eddy_graph_node_name(p.graph, found.node), name);
    ck_assert_uint_eq(found.index, index);
}

#define ALL (EDDY__WAY_FORWARD | EDDY__WAY_TRIP | EDDY__WAY_BRANCH)

START_TEST(identities_hand_a_value_on)
{
    build("x ?int32\n"
          "a Identity x\n"
          "b Identity a\n"
          "c Neg b\n");
    want(EDDY__WAY_FORWARD, at("b", 0), "x", 0);
    want(EDDY__WAY_TRIP | EDDY__WAY_BRANCH, at("b", 0), "b", 0);
    want(ALL, at("c", 0), "c", 0);
}
END_TEST

static const char loop[] = "x ?int32\n"
                           "e Enter@frame x\n"
                           "m Merge e n\n"
                           "l Enter@frame! x\n"
                           "p Less m l\n"
                           "c LoopCond p\n"
                           "s Switch m c\n"
                           "i Identity s:1\n"
                           "n NextIteration i\n"
                           "out Exit s\n";

START_TEST(a_trip_hands_on_what_goes_on)
{
    build(loop);
    want(EDDY__WAY_FORWARD | EDDY__WAY_TRIP, at("i", 0), "m", 0);
    want(EDDY__WAY_FORWARD | EDDY__WAY_BRANCH, at("i", 0), "s", 1);
    /* What leaves the loop is of its last trip. */
    want(ALL, at("s", 0), "s", 0);
    ck_assert(eddy__trace_is_loop_merge(&flow, node("m")));
    ck_assert(!eddy__trace_is_branch_switch(&flow, node("s")));
}
END_TEST

START_TEST(a_branch_hands_on_on_both_sides)
{
    build("x ?int32\n"
          "p ?bool\n"
          "s Switch x p\n"
          "a Identity s:1\n"
          "b Neg s\n"
          "m Merge b a\n");
    want(EDDY__WAY_FORWARD | EDDY__WAY_BRANCH, at("a", 0), "x", 0);
    want(EDDY__WAY_BRANCH, at("s", 0), "x", 0);
    want(EDDY__WAY_FORWARD | EDDY__WAY_TRIP, at("a", 0), "s", 1);
    want(ALL, at("m", 0), "m", 0);
    ck_assert(!eddy__trace_is_loop_merge(&flow, node("m")));
    ck_assert(eddy__trace_is_branch_switch(&flow, node("s")));
}
END_TEST

TCase *trace_tests(void)
{
    TCase *tests = tcase_create("trace");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, identities_hand_a_value_on);
    tcase_add_test(tests, a_trip_hands_on_what_goes_on);
    tcase_add_test(tests, a_branch_hands_on_on_both_sides);
    return tests;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of a selection in both directions, and the order of its nodes. */
#include "frames/analysis/flow.h"

#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

#define LOOP                                                                   \
    "x Source\n"                                                               \
    "p Pred\n"                                                                 \
    "e Enter@f x\n"                                                            \
    "q Enter@f! p\n"                                                           \
    "m Merge e n\n"                                                            \
    "l LoopCond q\n"                                                           \
    "s Switch m l\n"                                                           \
    "a Add s:1 s:1 ^q\n"                                                       \
    "n NextIteration a\n"                                                      \
    "o Exit s\n"

static text_graph t;
static eddy__arena arena;
static uint8_t *keep;

static void setup(void)
{
    text_graph_init(&t);
    text_graph_build(&t, LOOP);
    arena = (eddy__arena){.allocator = &t.ctx.allocator};
    keep = NULL;
}

static void teardown(void)
{
    free(keep);
    eddy__arena_destroy(&arena);
    text_graph_deinit(&t);
}

static eddy_node node(const char *name)
{
    return text_graph_node(&t, name);
}

static eddy__flow build(const eddy__selection *selection)
{
    eddy__flow flow;

    ck_assert_msg(eddy__flow_build(&flow, selection, &arena, &t.err) == EDDY_OK,
                  "%s", t.err.message);
    return flow;
}

/* How often an edge from `from` to that input of `to` is in the out-edges. */
static size_t n_out(const eddy__flow *flow, const char *from, const char *to,
                    uint32_t input)
{
    const eddy_node v = node(from);
    size_t n = 0;

    for (size_t e = flow->first_out[v]; e < flow->first_out[v + 1]; e++)
        n += flow->edge[e].to == node(to) && flow->edge[e].input == input;
    return n;
}

START_TEST(in_edges_are_data_in_order_and_then_control)
{
    const eddy__selection all = {.graph = t.graph};
    const eddy__flow flow = build(&all);
    const eddy_node a = node("a");
    const size_t first = flow.first_in[a];

    ck_assert_uint_eq(flow.first_in[a + 1] - first, 3);
    ck_assert_uint_eq(flow.source[first], node("s"));
    ck_assert_uint_eq(flow.source[first + 1], node("s"));
    ck_assert_uint_eq(flow.source[first + 2], node("q"));
    ck_assert(eddy__flow_is_data(&flow, a, first + 1));
    ck_assert(!eddy__flow_is_data(&flow, a, first + 2));
    ck_assert_uint_eq(flow.n_selected, t.graph->n_nodes);
}
END_TEST

START_TEST(edges_keep_their_number_of_times)
{
    const eddy__selection all = {.graph = t.graph};
    const eddy__flow flow = build(&all);
    const eddy_node s = node("s");

    ck_assert_uint_eq(n_out(&flow, "s", "a", 0), 1);
    ck_assert_uint_eq(n_out(&flow, "s", "a", 1), 1);
    ck_assert_uint_eq(n_out(&flow, "s", "o", 0), 1);
    ck_assert_uint_eq(flow.first_out[s + 1] - flow.first_out[s], 3);
    ck_assert_uint_eq(n_out(&flow, "q", "a", EDDY__CONTROL), 1);
    ck_assert_uint_eq(n_out(&flow, "q", "l", 0), 1);
}
END_TEST

/* Both directions say the same. */
START_TEST(out_edges_are_the_in_edges)
{
    const eddy__selection all = {.graph = t.graph};
    const eddy__flow flow = build(&all);
    size_t n_in = 0;

    for (eddy_node v = 0; v < t.graph->n_nodes; v++)
        for (size_t i = flow.first_in[v]; i < flow.first_in[v + 1]; i++) {
            const eddy_node from = flow.source[i];
            const uint32_t input = eddy__flow_is_data(&flow, v, i)
                                       ? (uint32_t)(i - flow.first_in[v])
                                       : EDDY__CONTROL;
            size_t e = flow.first_out[from];

            while (e < flow.first_out[from + 1] &&
                   (flow.edge[e].to != v || flow.edge[e].input != input))
                e++;
            ck_assert_uint_lt(e, flow.first_out[from + 1]);
            n_in++;
        }
    ck_assert_uint_eq(n_in, flow.first_out[t.graph->n_nodes]);
}
END_TEST

START_TEST(a_fed_output_cuts_its_edges_and_no_others)
{
    const eddy_output feed = {node("s"), 1};
    uint8_t is_fed[16] = {0};
    const eddy__selection some = {
        .graph = t.graph, .is_fed = is_fed, .feeds = &feed, .n_feeds = 1};
    eddy__flow flow;

    is_fed[feed.node] = 1;
    flow = build(&some);
    ck_assert_uint_eq(flow.source[flow.first_in[node("a")]], EDDY__FED);
    ck_assert_uint_eq(flow.source[flow.first_in[node("a")] + 1], EDDY__FED);
    ck_assert_uint_eq(flow.source[flow.first_in[node("o")]], node("s"));
    ck_assert_uint_eq(n_out(&flow, "s", "a", 0), 0);
    ck_assert_uint_eq(n_out(&flow, "s", "o", 0), 1);
    ck_assert(!eddy__flow_is_node(EDDY__FED));
    ck_assert(!eddy__flow_is_node(EDDY_NO_NODE));
}
END_TEST

START_TEST(a_node_that_is_not_selected_has_no_edges)
{
    eddy__selection some = {.graph = t.graph};
    eddy__flow flow;

    keep = malloc(t.graph->n_nodes);
    ck_assert_ptr_nonnull(keep);
    memset(keep, 1, t.graph->n_nodes);
    keep[node("q")] = 0;
    some.keep = keep;
    flow = build(&some);
    ck_assert_uint_eq(flow.n_selected, t.graph->n_nodes - 1);
    ck_assert_uint_eq(flow.source[flow.first_in[node("l")]], EDDY_NO_NODE);
    ck_assert_uint_eq(flow.first_in[node("q")], flow.first_in[node("q") + 1]);
    ck_assert_uint_eq(flow.first_out[node("q")], flow.first_out[node("q") + 1]);
}
END_TEST

START_TEST(the_order_has_each_node_after_what_it_reads)
{
    const eddy__selection all = {.graph = t.graph};
    const eddy__flow flow = build(&all);
    eddy_node *order;
    size_t n, place[16];

    ck_assert_int_eq(eddy__flow_order(&flow, &arena, &order, &n, &t.err),
                     EDDY_OK);
    ck_assert_uint_eq(n, t.graph->n_nodes);
    for (size_t i = 0; i < n; i++)
        place[order[i]] = i;
    for (eddy_node v = 0; v < n; v++)
        for (size_t e = flow.first_out[v]; e < flow.first_out[v + 1]; e++) {
            const bool is_back = v == node("n") && flow.edge[e].to == node("m");

            ck_assert(eddy__flow_is_ordering(&flow, v, flow.edge[e]) !=
                      is_back);
            if (!is_back)
                ck_assert_uint_lt(place[v], place[flow.edge[e].to]);
        }
}
END_TEST

START_TEST(the_order_leaves_out_what_a_cycle_holds)
{
    eddy__selection selection = {.graph = NULL};
    eddy_node *order;
    eddy__flow flow;
    size_t n;

    text_graph_build(&t, "x Source\na Add x c\nb Neg a\nc Neg b\nd Neg x\n"
                         "e Neg c\n");
    selection.graph = t.graph;
    flow = build(&selection);
    ck_assert_int_eq(eddy__flow_order(&flow, &arena, &order, &n, &t.err),
                     EDDY_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(order[0] == node("x") && order[1] == node("d"));
}
END_TEST

START_TEST(building_survives_each_failing_allocation)
{
    const eddy__selection all = {.graph = t.graph};
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (long long n = 0; status != EDDY_OK; n++) {
        eddy__flow flow;

        eddy__arena_destroy(&arena);
        arena = (eddy__arena){.allocator = &t.ctx.allocator};
        counting_allocator_allow(&t.counting, n);
        status = eddy__flow_build(&flow, &all, &arena, &t.err);
        counting_allocator_allow(&t.counting, -1);
        if (status != EDDY_OK)
            ck_assert_int_eq(t.err.detail, EDDY_E_MEMORY);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

TCase *flow_tests(void)
{
    TCase *tc = tcase_create("flow");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, in_edges_are_data_in_order_and_then_control);
    tcase_add_test(tc, edges_keep_their_number_of_times);
    tcase_add_test(tc, out_edges_are_the_in_edges);
    tcase_add_test(tc, a_fed_output_cuts_its_edges_and_no_others);
    tcase_add_test(tc, a_node_that_is_not_selected_has_no_edges);
    tcase_add_test(tc, the_order_has_each_node_after_what_it_reads);
    tcase_add_test(tc, the_order_leaves_out_what_a_cycle_holds);
    tcase_add_test(tc, building_survives_each_failing_allocation);
    return tc;
}

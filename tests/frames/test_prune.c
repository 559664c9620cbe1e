/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes fetches and targets need, and which feeds make needless. */
#include "frames/analysis/prune.h"

#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

static text_graph t;
static uint8_t keep[64], is_fed[64];

static void setup(void)
{
    text_graph_init(&t);
    memset(keep, 0, sizeof keep);
    memset(is_fed, 0, sizeof is_fed);
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

static eddy_output output(const char *name, uint32_t index)
{
    return (eddy_output){text_graph_node(&t, name), index};
}

/* Prunes for one fetch and one target, each NULL or a name. */
static eddy_status prune(const char *fetch, const char *target,
                         const eddy_output *feed)
{
    eddy__selection all = {.graph = t.graph};
    eddy_output fetched;
    eddy_node wanted;
    eddy__wanted w = {.fetches = &fetched, .targets = &wanted};

    if (fetch) {
        fetched = output(fetch, 0);
        w.n_fetches = 1;
    }
    if (target) {
        wanted = text_graph_node(&t, target);
        w.n_targets = 1;
    }
    if (feed) {
        is_fed[feed->node] = 1;
        all.is_fed = is_fed;
        all.feeds = feed;
        all.n_feeds = 1;
    }
    return eddy__prune(&all, &w, keep, &t.err);
}

/* Fails the test unless these nodes are kept and no others. */
static void want_kept(const char *names)
{
    char text[256], *rest = text, *name;
    uint8_t wanted[64] = {0};

    strcpy(text, names);
    while ((name = strtok_r(rest, " ", &rest)) != NULL)
        wanted[text_graph_node(&t, name)] = 1;
    for (eddy_node v = 0; v < t.graph->n_nodes; v++)
        ck_assert_msg(keep[v] == wanted[v], "%s is%s kept",
                      eddy_graph_node_name(t.graph, v), keep[v] ? "" : " not");
}

START_TEST(a_fetch_needs_its_inputs_and_controls)
{
    text_graph_build(&t, "x Source\ny Neg x\nz Neg y ^w\nw Source\nu Neg y");
    ck_assert_int_eq(prune("z", NULL, NULL), EDDY_OK);
    want_kept("x y z w");
}
END_TEST

START_TEST(a_target_is_needed_as_a_fetch_is)
{
    text_graph_build(&t, "x Source\ny Neg x\nz Neg y");
    ck_assert_int_eq(prune(NULL, "y", NULL), EDDY_OK);
    want_kept("x y");
}
END_TEST

START_TEST(a_loop_is_needed_as_a_whole)
{
    text_graph_build(&t, TEXT_GRAPH_LOOP "y Neg o\nu Neg x");
    ck_assert_int_eq(prune("y", NULL, NULL), EDDY_OK);
    want_kept("x e m k c l s a n o y");
}
END_TEST

START_TEST(a_back_edge_alone_leads_to_the_body)
{
    text_graph_build(&t, TEXT_GRAPH_LOOP);
    ck_assert_int_eq(prune("m", NULL, NULL), EDDY_OK);
    want_kept("x e m k c l s a n");
}
END_TEST

START_TEST(what_makes_a_fed_output_is_not_needed)
{
    eddy_output feed;

    text_graph_build(&t, "x Source\ny Neg x\nz Neg y");
    feed = output("y", 0);
    ck_assert_int_eq(prune("z", NULL, &feed), EDDY_OK);
    want_kept("z");
}
END_TEST

START_TEST(a_fed_fetch_needs_nothing)
{
    eddy_output feed;

    text_graph_build(&t, "x Source\ny Neg x");
    feed = output("y", 0);
    ck_assert_int_eq(prune("y", NULL, &feed), EDDY_OK);
    want_kept("");
}
END_TEST

START_TEST(another_output_of_a_fed_node_needs_it)
{
    eddy_output feed;

    text_graph_build(&t, "x Source\np Pred\ns Switch x p\na Neg s\nb Neg s:1\n"
                         "c Add a b");
    feed = output("s", 0);
    ck_assert_int_eq(prune("c", NULL, &feed), EDDY_OK);
    want_kept("x p s a b c");
}
END_TEST

START_TEST(a_target_that_is_fed_runs_all_the_same)
{
    eddy_output feed;

    text_graph_build(&t, "x Source\ny Neg x");
    feed = output("y", 0);
    ck_assert_int_eq(prune(NULL, "y", &feed), EDDY_OK);
    want_kept("x y");
}
END_TEST

START_TEST(short_memory_is_said)
{
    text_graph_build(&t, "x Source\ny Neg x");
    counting_allocator_fail(&t.counting, 0);
    ck_assert_int_eq(prune("y", NULL, NULL), EDDY_RESOURCE_EXHAUSTED);
}
END_TEST

TCase *prune_tests(void)
{
    TCase *tc = tcase_create("prune");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_fetch_needs_its_inputs_and_controls);
    tcase_add_test(tc, a_target_is_needed_as_a_fetch_is);
    tcase_add_test(tc, a_loop_is_needed_as_a_whole);
    tcase_add_test(tc, a_back_edge_alone_leads_to_the_body);
    tcase_add_test(tc, what_makes_a_fed_output_is_not_needed);
    tcase_add_test(tc, a_fed_fetch_needs_nothing);
    tcase_add_test(tc, another_output_of_a_fed_node_needs_it);
    tcase_add_test(tc, a_target_that_is_fed_runs_all_the_same);
    tcase_add_test(tc, short_memory_is_said);
    return tc;
}

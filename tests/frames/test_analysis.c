/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis as a whole: of given graphs, of random ones, without memory. */
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static text_graph t;

static void setup(void)
{
    text_graph_init(&t);
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

START_TEST(an_analysis_is_made_of_a_whole_graph)
{
    text_graph_build(&t, TEXT_GRAPH_LOOP);
    ck_assert_int_eq(eddy_analysis_create(t.graph, &t.analysis, &t.err),
                     EDDY_OK);
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 2);
    text_graph_build(&t, "x Source\no Exit x");
    ck_assert_int_eq(eddy_analysis_create(t.graph, &t.analysis, NULL),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_null(t.analysis);
    eddy_analysis_destroy(NULL);
}
END_TEST

static const char *const to_starve[] = {
    TEXT_GRAPH_LOOP "e2 Enter@f#3 x\nm2 Merge e2\ny Neg o\nz Neg y",
    "a Neg b\nb Neg c\nc Neg a\nx Source\ny Neg x",
    TEXT_GRAPH_LOOP
    "e2 Enter@f x\nm2 Merge e2 n2\nc2 Less m2 k\ns2 Switch m2 c2\n"
    "n2 NextIteration s2:1\no2 Exit s2\ny Neg o",
};

START_TEST(every_allocation_may_fail)
{
    eddy_status status, wanted;
    long long n = 0;

    text_graph_build(&t, to_starve[_i]);
    wanted = text_graph_analyse(&t, "y");
    do {
        counting_allocator_allow(&t.counting, n++);
        status = text_graph_analyse(&t, "y");
        if (status == EDDY_RESOURCE_EXHAUSTED)
            ck_assert_int_eq(t.err.detail, EDDY_E_MEMORY);
    } while (status == EDDY_RESOURCE_EXHAUSTED);
    counting_allocator_allow(&t.counting, -1);
    ck_assert_int_gt(n, 3);
    ck_assert_int_eq(status, wanted);
}
END_TEST

/* ---- random graphs ---- */

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* A graph of int32 and bool nodes that are wired at random, back too. */
static void build_random(unsigned *seed)
{
    static const char *const ops[] = {
        "Add",  "Neg",  "Merge",    "Merge",     "NextIteration",
        "Exit", "Exit", "Switch",   "Switch",    "Enter@f",
        "Less", "Pred", "Enter@f!", "Enter@g",   "Enter@g!",
        "Neg",  "Id",   "LoopCond", "Enter@f#2", "Source",
    };
    const unsigned n = 3 + draw(seed, 12);
    char text[2048], *end = text;

    end += sprintf(end, "i0 Source\nb0 Pred\n");
    for (unsigned i = 1; i < n; i++) {
        const char *op = ops[draw(seed, sizeof ops / sizeof ops[0])];
        const bool is_bool = strcmp(op, "Less") == 0 ||
                             strcmp(op, "Pred") == 0 ||
                             strcmp(op, "LoopCond") == 0;
        const bool has_two = strcmp(op, "Add") == 0 ||
                             strcmp(op, "Merge") == 0 ||
                             strcmp(op, "Less") == 0;

        /* Both an int and a bool node of each number, so that all exist. */
        end += sprintf(end, "%c%u %s", is_bool ? 'b' : 'i', i, op);
        if (strcmp(op, "LoopCond") == 0)
            end += sprintf(end, " b%u", draw(seed, i));
        else if (strcmp(op, "Pred") != 0 && strcmp(op, "Source") != 0)
            end += sprintf(end, " i%u", draw(seed, draw(seed, 6) == 0 ? n : i));
        if (has_two)
            end += sprintf(end, " i%u", draw(seed, draw(seed, 2) == 0 ? n : i));
        if (strcmp(op, "Switch") == 0)
            end += sprintf(end, " b%u", draw(seed, i));
        if (draw(seed, 5) == 0)
            end += sprintf(end, " ^i%u", draw(seed, i));
        end += sprintf(end, "\n%c%u %s %c%u\n", is_bool ? 'i' : 'b', i, "Id",
                       is_bool ? 'i' : 'b', draw(seed, i));
    }
    text_graph_build(&t, text);
}

static void want_edge_inside_frame(eddy_node from, eddy_node to)
{
    ck_assert_uint_eq(t.analysis->output_frame[from],
                      t.analysis->node_frame[to]);
}

/* What must hold of any analysis. */
static void want_sound(void)
{
    const eddy_analysis *a = t.analysis;

    for (uint32_t f = 1; f < a->n_frames; f++) {
        ck_assert_uint_lt(a->frames[f].parent, f);
        ck_assert_uint_eq(a->frames[f].depth,
                          a->frames[a->frames[f].parent].depth + 1);
        ck_assert_uint_ge(a->n_enters[f], 1);
    }
    for (eddy_node v = 0; v < t.graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(t.graph, v);

        ck_assert_uint_lt(a->node_frame[v], a->n_frames);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            want_edge_inside_frame(node->inputs[i].node, v);
        for (uint32_t i = 0; i < node->n_controls; i++)
            want_edge_inside_frame(node->controls[i], v);
    }
}

START_TEST(random_graphs_are_analysed_or_refused)
{
    unsigned seed = 7 + (unsigned)_i, n_accepted = 0, n_refused = 0;

    for (int i = 0; i < 2000; i++) {
        build_random(&seed);
        if (text_graph_analyse(&t, NULL) == EDDY_OK) {
            want_sound();
            n_accepted += t.analysis->n_frames > 1;
        } else {
            ck_assert_int_eq(t.err.code, EDDY_INVALID_ARGUMENT);
            ck_assert_str_ne(t.err.node, "");
            n_refused++;
        }
    }
    ck_assert_uint_gt(n_accepted, 20);
    ck_assert_uint_gt(n_refused, 200);
}
END_TEST

TCase *analysis_tests(void)
{
    TCase *tc = tcase_create("analysis");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_analysis_is_made_of_a_whole_graph);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0,
                        sizeof to_starve / sizeof to_starve[0]);
    tcase_add_loop_test(tc, random_graphs_are_analysed_or_refused, 0, 2);
    return tc;
}

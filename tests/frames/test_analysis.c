/* SPDX-License-Identifier: Apache-2.0 */
/* Loop variables, feeds, and the analysis as a whole. */
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

static eddy_node node_of(const char *name)
{
    return strcmp(name, "-") == 0 ? EDDY_NO_NODE : text_graph_node(&t, name);
}

/* Variable `i` of the frame, written as its five nodes; "-": none. */
static void want_variable(size_t frame, size_t i, const char *text)
{
    const eddy_frame *f = eddy_analysis_frame(t.analysis, frame);
    const eddy_loop_variable *v = &f->variables[i];
    char enter[16], merge[16], switch_[16], next[16], exit[16];

    ck_assert_uint_lt(i, f->n_variables);
    ck_assert_int_eq(sscanf(text, "%15s %15s %15s %15s %15s", enter, merge,
                            switch_, next, exit),
                     5);
    ck_assert_uint_eq(v->enter, node_of(enter));
    ck_assert_uint_eq(v->merge, node_of(merge));
    ck_assert_uint_eq(v->switch_, node_of(switch_));
    ck_assert_uint_eq(v->next_iteration, node_of(next));
    ck_assert_uint_eq(v->exit, node_of(exit));
}

#define LOOP                                                                   \
    "x Source\n"                                                               \
    "e Enter@f x\n"                                                            \
    "m Merge e n\n"                                                            \
    "k Enter@f! x\n"                                                           \
    "c Less m k\n"                                                             \
    "l LoopCond c\n"                                                           \
    "s Switch m l\n"                                                           \
    "a Add s:1 k\n"                                                            \
    "n NextIteration a\n"                                                      \
    "o Exit s\n"

/* ---- loop variables ---- */

static const struct {
    const char *text, *variables[3]; /* of frame 1 */
} loops[] = {
    {LOOP, {"e m s n o"}},
    /* The back edge first. */
    {"x Source\ne Enter@f x\np Pred ^e\nl LoopCond p\nm Merge n e\n"
     "s Switch m l\nn NextIteration s:1\no Exit s",
     {"e m s n o"}},
    /* Two, the second pruned of its Exit. */
    {LOOP "e2 Enter@f x\nm2 Merge e2 n2\ns2 Switch m2 l\n"
          "n2 NextIteration s2:1",
     {"e m s n o", "e2 m2 s2 n2 -"}},
    /* An Exit on the other output is no Exit of the variable. */
    {"x Source\ne Enter@f x\np Pred ^e\nl LoopCond p\nm Merge e n\n"
     "s Switch m l\nn NextIteration s:1\no Exit s:1",
     {"e m s n -"}},
    /* A Switch of a branch reads the Merge too, before the loop's. */
    {"x Source\ne Enter@f x\nm Merge e n\nb Pred ^m\nr Switch m b\n"
     "l LoopCond b\ns Switch m l\nn NextIteration s:1\no Exit s",
     {"e m s n o"}},
    /* Two Switches by the LoopCond: the one with the Exit. */
    {"x Source\ne Enter@f x\nm Merge e n\nb Pred ^m\nl LoopCond b\n"
     "r Switch m l\ns Switch m l\nn NextIteration r:1\no Exit s",
     {"e m s n o"}},
    /* Without a LoopCond the Exit tells. */
    {"x Source\ne Enter@f x\nm Merge e n\nb Pred ^m\nr Switch m b\n"
     "s Switch m b\nn NextIteration r:1\no Exit s",
     {"e m s n o"}},
    /* One Enter for two variables, and one for none. */
    {"x Source\ne Enter@f x\nm Merge e n\nb Pred ^m\nl LoopCond b\n"
     "s Switch m l\nn NextIteration s:1\no Exit s\nm2 Merge e n2\n"
     "s2 Switch m2 l\nn2 NextIteration s2:1\no2 Exit s2\ne2 Enter@f x",
     {"e m s n o", "e m2 s2 n2 o2", "e2 - - - -"}},
    /* Two Enters for one variable. */
    {"x Source\np Pred\nw Switch x p\ne Enter@f w\ne2 Enter@f w:1\n"
     "m Merge e e2 n\nb Pred ^m\nl LoopCond b\ns Switch m l\n"
     "n NextIteration s:1\no Exit s",
     {"e m s n o", "e2 m s n o"}},
    /* The Merge as it is built first, and a control edge to it. */
    {"x Source\ne Enter@f x\nm Merge e e ^e\no Exit m", {"e m - - -"}},
    {"x Source\ne Enter@f x\no Exit e", {"e - - - -"}},
};

START_TEST(loop_variables_are_found)
{
    const eddy_frame *f;
    size_t n = 0;

    text_graph_accept(&t, loops[_i].text);
    f = eddy_analysis_frame(t.analysis, 1);
    for (; n < 3 && loops[_i].variables[n]; n++)
        want_variable(1, n, loops[_i].variables[n]);
    ck_assert_uint_eq(f->n_variables, n);
}
END_TEST

START_TEST(constant_enters_are_invariants)
{
    const eddy_frame *f;

    text_graph_accept(&t, LOOP "j Enter@f! x");
    f = eddy_analysis_frame(t.analysis, 1);
    ck_assert_uint_eq(f->n_invariants, 2);
    ck_assert_uint_eq(f->invariants[0], node_of("k"));
    ck_assert_uint_eq(f->invariants[1], node_of("j"));
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->n_variables, 0);
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->n_invariants, 0);
}
END_TEST

START_TEST(nested_loops_have_their_own_variables)
{
    text_graph_accept(&t, LOOP "ie Enter@g s:1\n"
                               "im Merge ie in\n"
                               "ik Enter@g! k\n"
                               "ic Less im ik\n"
                               "il LoopCond ic\n"
                               "is Switch im il\n"
                               "in NextIteration is:1\n"
                               "io Exit is\n");
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 3);
    want_variable(1, 0, "e m s n o");
    want_variable(2, 0, "ie im is in io");
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 2)->parent, 1);
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 2)->invariants[0],
                      node_of("ik"));
}
END_TEST

START_TEST(reference_forms_take_the_same_part)
{
    static const eddy_op_spec variable = {.size = sizeof variable,
                                          .name = "Variable",
                                          .outputs = "out: ref int32"};

    ck_assert_int_eq(
        eddy__registry_add(&t.ctx.registry, &variable, EDDY__ROLE_NONE, &t.err),
        EDDY_OK);
    text_graph_accept(&t, "x Variable\ne RefEnter@f x\nm RefMerge e n\n"
                          "b Pred ^m\nl LoopCond b\ns RefSwitch m l\n"
                          "n RefNextIteration s:1\no RefExit s");
    want_variable(1, 0, "e m s n o");
}
END_TEST

/* ---- feeds ---- */

static const struct {
    const char *feed;
    const char *refused_at; /* NULL: it may be fed */
} feeds[] = {
    {"x", NULL}, {"y", NULL},  {"o", NULL},  {"z", NULL},  {"e", "e"},
    {"k", "k"},  {"m", "m"},   {"m:1", "m"}, {"s:1", "s"}, {"n", "n"},
    {"i", "i"},  {"io", "io"}, {"u", NULL},
};

START_TEST(only_the_root_frame_can_be_fed)
{
    text_graph_build(&t, LOOP "y Neg x\nz Neg o\n"
                              "i Enter@g s:1\nio Exit i\nr Neg io\n"
                              "u Neg v\nv Neg u");
    ck_assert_int_eq(text_graph_analyse(&t, "u"), EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, feeds[_i].feed),
                     feeds[_i].refused_at || strcmp(feeds[_i].feed, "u") != 0
                         ? EDDY_INVALID_ARGUMENT
                         : EDDY_OK);
    if (feeds[_i].refused_at) {
        ck_assert_int_eq(t.err.detail, EDDY_E_FEED_IN_FRAME);
        ck_assert_str_eq(t.err.node, feeds[_i].refused_at);
    } else if (strcmp(feeds[_i].feed, "u") != 0) {
        ck_assert_int_eq(t.err.detail, EDDY_E_CYCLE);
    }
}
END_TEST

START_TEST(what_is_not_selected_still_has_a_frame_for_feeds)
{
    const uint8_t keep[] = {0, 0, 1, 0};
    const uint8_t is_fed[] = {0, 1, 0, 0};
    const eddy_output fed = {1, 0};
    eddy__selection s = {
        .keep = keep, .is_fed = is_fed, .feeds = &fed, .n_feeds = 1};

    text_graph_build(&t, "x Source\ne Enter@f x\ny Neg e\no Exit y");
    s.graph = t.graph;
    ck_assert_int_eq(eddy__check_feeds(&s, &t.err), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_FEED_IN_FRAME);
}
END_TEST

/* ---- the whole ---- */

START_TEST(an_analysis_is_made_of_a_whole_graph)
{
    text_graph_build(&t, LOOP);
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
    LOOP "e2 Enter@f#3 x\nm2 Merge e2\ny Neg o\nz Neg y",
    "a Neg b\nb Neg c\nc Neg a\nx Source\ny Neg x",
    LOOP "e2 Enter@f x\nm2 Merge e2 n2\nc2 Less m2 k\ns2 Switch m2 c2\n"
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
    tcase_add_loop_test(tc, loop_variables_are_found, 0,
                        sizeof loops / sizeof loops[0]);
    tcase_add_test(tc, constant_enters_are_invariants);
    tcase_add_test(tc, nested_loops_have_their_own_variables);
    tcase_add_test(tc, reference_forms_take_the_same_part);
    tcase_add_loop_test(tc, only_the_root_frame_can_be_fed, 0,
                        sizeof feeds / sizeof feeds[0]);
    tcase_add_test(tc, what_is_not_selected_still_has_a_frame_for_feeds);
    tcase_add_test(tc, an_analysis_is_made_of_a_whole_graph);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0,
                        sizeof to_starve / sizeof to_starve[0]);
    tcase_add_loop_test(tc, random_graphs_are_analysed_or_refused, 0, 2);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of nodes: attributes, open inputs, and how they are connected. */
#include "core/graph/copy.h"
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <string.h>

static text_graph t;
static eddy__arena arena;
static eddy__copier copier;

static void setup(void)
{
    text_graph_init(&t);
    arena = (eddy__arena){.allocator = &t.counting.allocator};
    copier = (eddy__copier){.arena = &arena};
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    text_graph_deinit(&t);
}

static const char loop[] = "x Source\n"
                           "e Enter@frame x\n"
                           "m Merge e n\n"
                           "p Pred ^m\n"
                           "c LoopCond p\n"
                           "s Switch m c\n"
                           "n NextIteration s:1\n";

static const eddy__node *node(const char *name)
{
    return eddy__graph_node(t.graph, text_graph_node(&t, name));
}

static eddy_string text_of(eddy_node id, const char *attr)
{
    return eddy__node_string(eddy__graph_node(t.graph, id), attr);
}

START_TEST(a_copy_has_the_attributes_and_open_inputs)
{
    eddy__node_copy copy = {.name = "copy"};
    eddy_node made;

    text_graph_build(&t, loop);
    copy.of = node("e");
    ck_assert_int_eq(eddy__copy_add(&copier, t.graph, &copy, &made, &t.err),
                     EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_op(t.graph, made), "Enter");
    ck_assert_str_eq(text_of(made, "frame_name").data, "frame");
    ck_assert_uint_eq(eddy__graph_node(t.graph, made)->inputs[0].node,
                      EDDY_NO_NODE);
    ck_assert_uint_eq(eddy__graph_node(t.graph, made)->n_controls, 0);
}
END_TEST

START_TEST(a_frame_can_have_another_name)
{
    eddy__node_copy copy = {.name = "copy", .frame_name = "other"};
    eddy_node made;

    text_graph_build(&t, loop);
    copy.of = node("e");
    ck_assert_int_eq(eddy__copy_add(&copier, t.graph, &copy, &made, &t.err),
                     EDDY_OK);
    ck_assert_str_eq(text_of(made, "frame_name").data, "other");
    /* The node that it is a copy of keeps its own. */
    ck_assert_str_eq(text_of(text_graph_node(&t, "e"), "frame_name").data,
                     "frame");
}
END_TEST

/* Of each old node, its copy. */
typedef struct part {
    eddy_node copy[16];
} part;

static eddy_status output_of_copy(void *owner, eddy_output from,
                                  eddy_output *out)
{
    *out = (eddy_output){((const part *)owner)->copy[from.node], from.index};
    return EDDY_OK;
}

static eddy_status control_of_copy(void *owner, eddy_node from, eddy_node *out)
{
    *out = ((const part *)owner)->copy[from];
    return EDDY_OK;
}

START_TEST(a_loop_is_copied_with_its_back_edge)
{
    static const char *const names[] = {"x2", "e2", "m2", "p2",
                                        "c2", "s2", "n2"};
    part p;
    const eddy__copy_ways ways = {output_of_copy, control_of_copy, &p};

    text_graph_build(&t, loop);
    for (eddy_node v = 0; v < 7; v++) {
        const eddy__node_copy copy = {.of = eddy__graph_node(t.graph, v),
                                      .name = names[v],
                                      .frame_name = v == 1 ? "two" : NULL};

        ck_assert_int_eq(
            eddy__copy_add(&copier, t.graph, &copy, &p.copy[v], &t.err),
            EDDY_OK);
    }
    for (eddy_node v = 0; v < 7; v++)
        ck_assert_int_eq(eddy__copy_connect(t.graph, p.copy[v],
                                            eddy__graph_node(t.graph, v), &ways,
                                            &t.err),
                         EDDY_OK);
    ck_assert_uint_eq(node("m2")->inputs[1].node, text_graph_node(&t, "n2"));
    ck_assert_uint_eq(node("p2")->controls[0], text_graph_node(&t, "m2"));
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_OK);
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 3);
}
END_TEST

START_TEST(without_memory_a_copy_fails_and_leaves_the_graph)
{
    eddy__node_copy copy = {.name = "copy"};
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_node made;

    text_graph_build(&t, loop);
    copy.of = node("e");
    for (long long n = 0; status != EDDY_OK; n++) {
        ck_assert_uint_eq(eddy_graph_size(t.graph), 7);
        counting_allocator_fail(&t.counting, n);
        status = eddy__copy_add(&copier, t.graph, &copy, &made, &t.err);
        if (status != EDDY_OK)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
    counting_allocator_fail(&t.counting, -1);
    ck_assert_uint_eq(eddy_graph_size(t.graph), 8);
}
END_TEST

TCase *copy_tests(void)
{
    TCase *tests = tcase_create("copy");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_copy_has_the_attributes_and_open_inputs);
    tcase_add_test(tests, a_frame_can_have_another_name);
    tcase_add_test(tests, a_loop_is_copied_with_its_back_edge);
    tcase_add_test(tests, without_memory_a_copy_fails_and_leaves_the_graph);
    return tests;
}

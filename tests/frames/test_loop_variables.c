/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes carry the variables of a loop, and which its invariants. */
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

static const struct {
    const char *text, *variables[3]; /* of frame 1 */
} loops[] = {
    {TEXT_GRAPH_LOOP, {"e m s n o"}},
    /* The back edge first. */
    {"x Source\ne Enter@f x\np Pred ^e\nl LoopCond p\nm Merge n e\n"
     "s Switch m l\nn NextIteration s:1\no Exit s",
     {"e m s n o"}},
    /* Two, the second pruned of its Exit. */
    {TEXT_GRAPH_LOOP "e2 Enter@f x\nm2 Merge e2 n2\ns2 Switch m2 l\n"
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

    text_graph_accept(&t, TEXT_GRAPH_LOOP "j Enter@f! x");
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
    text_graph_accept(&t, TEXT_GRAPH_LOOP "ie Enter@g s:1\n"
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

TCase *loop_variables_tests(void)
{
    TCase *tc = tcase_create("loop_variables");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, loop_variables_are_found, 0,
                        sizeof loops / sizeof loops[0]);
    tcase_add_test(tc, constant_enters_are_invariants);
    tcase_add_test(tc, nested_loops_have_their_own_variables);
    tcase_add_test(tc, reference_forms_take_the_same_part);
    return tc;
}

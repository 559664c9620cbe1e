/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames there are, how they nest, and what is refused about them. */
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
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

static uint32_t frame_of(const char *name)
{
    return eddy_analysis_node_frame(t.analysis, text_graph_node(&t, name));
}

static uint32_t output_frame_of(const char *name)
{
    return t.analysis->output_frame[text_graph_node(&t, name)];
}

#define LOOP TEXT_GRAPH_LOOP "y Neg o\n"

START_TEST(a_graph_without_enters_is_the_root_frame)
{
    text_graph_accept(&t, "x Source\ny Neg x\np Pred\ns Switch y p");
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 1);
    ck_assert_str_eq(eddy_analysis_frame(t.analysis, 0)->name, "");
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->depth, 0);
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->parent, 0);
    ck_assert_ptr_null(eddy_analysis_frame(t.analysis, 1));
    ck_assert_uint_eq(frame_of("s"), 0);
    ck_assert(!t.analysis->has_next[0]);
}
END_TEST

START_TEST(an_empty_graph_has_a_root_frame)
{
    text_graph_accept(&t, "");
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 1);
    ck_assert_uint_eq(eddy_analysis_node_frame(t.analysis, 0), EDDY__NOT_FOUND);
}
END_TEST

START_TEST(a_loop_is_a_frame)
{
    const eddy_frame *f;

    text_graph_accept(&t, LOOP);
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 2);
    f = eddy_analysis_frame(t.analysis, 1);
    ck_assert_str_eq(f->name, "f");
    ck_assert_uint_eq(f->parent, 0);
    ck_assert_uint_eq(f->depth, 1);
    ck_assert_int_eq(f->parallel_iterations, 10);
    ck_assert_uint_eq(f->loop_cond, text_graph_node(&t, "l"));
    ck_assert_uint_eq(t.analysis->n_enters[1], 2);
    ck_assert(t.analysis->has_next[1]);
    ck_assert_uint_eq(frame_of("e"), 0);
    ck_assert_uint_eq(output_frame_of("e"), 1);
    ck_assert_uint_eq(frame_of("m"), 1);
    ck_assert_uint_eq(frame_of("n"), 1);
    ck_assert_uint_eq(frame_of("o"), 1);
    ck_assert_uint_eq(output_frame_of("o"), 0);
    ck_assert_uint_eq(frame_of("y"), 0);
    ck_assert_uint_eq(eddy_analysis_node_frame(t.analysis, 11),
                      EDDY__NOT_FOUND);
}
END_TEST

/*
 * The Enters of b stand before those of a, and a's child before b's: numbers go
 * by the first Enter, a whole branch of the tree at a time.
 */
START_TEST(frames_are_numbered_in_preorder_of_their_first_enters)
{
    static const char *const names[] = {"", "b", "b1", "b2", "a", "a1"};
    static const uint32_t parents[] = {0, 0, 1, 1, 0, 4};

    text_graph_accept(&t, "a1 Enter@a1 a\n"
                          "b2 Enter@b1 b\n"
                          "b Enter@b x\n"
                          "b1 Enter@b2 b\n"
                          "a Enter@a x\n"
                          "x Source\n");
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 6);
    for (uint32_t i = 0; i < 6; i++) {
        const eddy_frame *f = eddy_analysis_frame(t.analysis, i);

        ck_assert_str_eq(f->name, names[i]);
        ck_assert_uint_eq(f->parent, parents[i]);
        ck_assert_uint_eq(f->depth,
                          i == 0 ? 0 : t.analysis->frames[f->parent].depth + 1);
    }
}
END_TEST

START_TEST(the_order_of_nodes_changes_no_frame)
{
    text_graph_accept(&t, "y Neg o\n"
                          "o Exit e\n"
                          "w Neg y ^o\n"
                          "e Enter@f i\n"
                          "i Enter@g z\n"
                          "q Exit y\n"
                          "z Source\n");
    ck_assert_str_eq(t.analysis->frames[frame_of("y")].name, "g");
    ck_assert_str_eq(t.analysis->frames[frame_of("o")].name, "f");
    ck_assert_str_eq(t.analysis->frames[frame_of("w")].name, "g");
    ck_assert_uint_eq(output_frame_of("q"), 0);
}
END_TEST

START_TEST(a_control_edge_puts_a_node_into_a_frame)
{
    text_graph_accept(&t, "x Source\ne Enter@f x\nk Source ^e\nr Add e k");
    ck_assert_uint_eq(frame_of("k"), 1);
}
END_TEST

START_TEST(a_fed_output_lives_in_the_root)
{
    text_graph_build(&t, "x Source\ny Neg x\nz Neg y\ne Enter@f z\no Exit e");
    ck_assert_int_eq(text_graph_analyse(&t, "y"), EDDY_OK);
    ck_assert_uint_eq(frame_of("z"), 0);
    ck_assert_uint_eq(frame_of("o"), 1);
}
END_TEST

START_TEST(nodes_that_are_not_selected_are_in_no_frame)
{
    const uint8_t keep[] = {1, 1, 0, 1};
    eddy__selection s = {.keep = keep};

    text_graph_build(&t, "x Source\ne Enter@f x\nbad Add e x\no Exit e");
    s.graph = t.graph;
    ck_assert_int_eq(eddy__analysis_build(&s, &t.analysis, &t.err), EDDY_OK);
    ck_assert_uint_eq(frame_of("bad"), EDDY__NOT_FOUND);
    ck_assert_uint_eq(output_frame_of("bad"), EDDY__NOT_FOUND);
    ck_assert_uint_eq(frame_of("o"), 1);
}
END_TEST

/* ---- parallel_iterations ---- */

static const struct {
    const char *number;
    int64_t used;
} parallel[] = {
    {"1", 1},       {"32", 32},           {"4096", 4096},
    {"4097", 4096}, {"2147483647", 4096}, {"9223372036854775807", 4096},
};

START_TEST(many_parallel_iterations_are_cut)
{
    char text[128];

    snprintf(text, sizeof text, "x Source\ne Enter@f#%s x",
             parallel[_i].number);
    text_graph_accept(&t, text);
    ck_assert_int_eq(eddy_analysis_frame(t.analysis, 1)->parallel_iterations,
                     parallel[_i].used);
    ck_assert_ptr_null(eddy_analysis_warning(t.analysis, 0));
}
END_TEST

START_TEST(the_first_enters_parallel_iterations_count)
{
    text_graph_accept(&t, "x Source\na Enter@f#3 x\nb Enter@f#7 x");
    ck_assert_int_eq(eddy_analysis_frame(t.analysis, 1)->parallel_iterations,
                     3);
    ck_assert_ptr_nonnull(
        strstr(eddy_analysis_warning(t.analysis, 0), "node 'b' (Enter)"));
    ck_assert_ptr_null(eddy_analysis_warning(t.analysis, 1));
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *text;
    eddy_detail detail;
    const char *node, *words;
} refused[] = {
    {"x Source\ne Enter@f x\nr Add e x", EDDY_E_FRAME_MIXED, "r",
     "'x' is in the root frame, 'e' is in frame 'f'; bring 'x' in through an "
     "Enter with frame_name 'f' and is_constant = true"},
    {"x Source\ne Enter@f x\nr Neg e ^x", EDDY_E_FRAME_MIXED, "r",
     "bring 'x' in"},
    {"x Source\ne Enter@f x\nr Neg x ^e", EDDY_E_FRAME_MIXED, "r",
     "bring 'x' in"},
    {"x Source\na Enter@f x\nb Enter@g x\nr Add a b", EDDY_E_FRAME_MIXED, "r",
     "'a' is in frame 'f', 'b' is in frame 'g'"},
    {"x Source\na Enter@f x\nb Enter@g a\nr Add b a", EDDY_E_FRAME_MIXED, "r",
     "bring 'a' in through an Enter with frame_name 'g'"},
    {"x Source\na Enter@f x\nb Enter@g a ^x", EDDY_E_FRAME_MIXED, "b",
     "'x' is in the root frame, 'a' is in frame 'f'"},
    {"x Source\ne Enter@f x\nk Source\nm Merge e n\np Pred ^m\n"
     "s Switch m p\nr Add s:1 k\nn NextIteration r\no Exit s",
     EDDY_E_FRAME_MIXED, "r", "bring 'k' in"},
    {"x Source\ne Enter@ x", EDDY_E_FRAME_NAME, "e", "must have a frame_name"},
    {"x Source\na Enter@f x\nb Enter@g x\nc Enter@f b", EDDY_E_FRAME_PARENTS,
     "c", "from frame 'g', but 'a' enters it from the root frame"},
    {"x Source\na Enter@f x\nb Enter@f a", EDDY_E_FRAME_PARENTS, "b",
     "from frame 'f', but 'a' enters it from the root frame"},
    {"x Source\no Exit x", EDDY_E_NOT_IN_FRAME, "o", "an Exit in the root"},
    {"x Source\ne Enter@f x\no Exit e\nq Exit o", EDDY_E_NOT_IN_FRAME, "q",
     "an Exit in the root"},
    {"x Source\nn NextIteration x", EDDY_E_NOT_IN_FRAME, "n",
     "a NextIteration in the root"},
    {"x Source\ne Enter@f#0 x", EDDY_E_PARALLEL_ITERATIONS, "e", "is 0"},
    {"x Source\ne Enter@f#-1 x", EDDY_E_PARALLEL_ITERATIONS, "e", "is -1"},
    {"x Source\ne Enter@f#-2147483648 x", EDDY_E_PARALLEL_ITERATIONS, "e",
     "at least 1"},
    {"p Pred\na LoopCond p\nb LoopCond p", EDDY_E_LOOP_CONDS, "b",
     "the root frame has two LoopConds, this one and 'a'"},
    {"x Source\np Pred\ne Enter@f x\nq Pred ^e\na LoopCond q\nb LoopCond q",
     EDDY_E_LOOP_CONDS, "b", "frame 'f' has two"},
    {"p Pred\na LoopCond p\nb LoopCond p\nLoopCounter LoopCond p",
     EDDY_E_LOOP_CONDS, "b", "'a'"},
};

#define N_REFUSED (sizeof refused / sizeof refused[0])

START_TEST(frames_that_make_no_sense_are_refused)
{
    text_graph_refuse(&t, refused[_i].text, refused[_i].detail,
                      refused[_i].node, refused[_i].words);
}
END_TEST

START_TEST(a_mixed_feed_is_named)
{
    text_graph_build(&t, "x Source\ny Neg x\ne Enter@f x\nr Add e y");
    ck_assert_int_eq(text_graph_analyse(&t, "y"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_FRAME_MIXED);
    ck_assert_ptr_nonnull(strstr(t.err.message, "the feed of 'y:0' is in the "
                                                "root frame"));
}
END_TEST

START_TEST(an_error_names_the_path_of_frames)
{
    text_graph_refuse(&t,
                      "x Source\na Enter@outer x\nb Enter@inner a\n"
                      "r Neg b ^x",
                      EDDY_E_FRAME_MIXED, "r", "bring 'x' in");
    ck_assert_str_eq(t.err.frame, "outer/inner");
}
END_TEST

START_TEST(a_frame_name_may_not_hold_nul)
{
    const eddy_string name = {"a\0b", 3};
    const eddy_attr attr = eddy_attr_string("frame_name", &name);
    const eddy_output x = {0, 0};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Enter",
                                 .name = "e",
                                 .inputs = &x,
                                 .n_inputs = 1,
                                 .attrs = &attr,
                                 .n_attrs = 1};

    text_graph_build(&t, "x Source");
    ck_assert_int_eq(eddy_graph_add(t.graph, &spec, &(eddy_node){0}, &t.err),
                     EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_FRAME_NAME);
}
END_TEST

START_TEST(a_loop_counter_may_have_its_own_loop_cond)
{
    text_graph_accept(&t, "p Pred\na LoopCond p\nxLoopCounter LoopCond p");
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->loop_cond,
                      text_graph_node(&t, "a"));
    text_graph_accept(&t, "p Pred\nxLoopCounter LoopCond p\na LoopCond p");
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 0)->loop_cond,
                      text_graph_node(&t, "a"));
    text_graph_accept(
        &t, "p Pred\na LoopCond p\nLoopCounter LoopCond p\nb LoopCond p");
}
END_TEST

/* ---- deep ---- */

static void build_nest(int depth)
{
    char *text = malloc((size_t)depth * 48 + 64), *end = text;

    ck_assert_ptr_nonnull(text);
    end += sprintf(end, "n0 Source\n");
    for (int i = 1; i <= depth; i++)
        end += sprintf(end, "n%d Enter@f%d n%d\n", i, i, i - 1);
    text_graph_build(&t, text);
    free(text);
}

START_TEST(frames_nest_1024_deep)
{
    build_nest(1024);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_OK);
    ck_assert_uint_eq(eddy_analysis_frames(t.analysis), 1025);
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 1024)->depth, 1024);
}
END_TEST

START_TEST(frames_nested_deeper_are_refused)
{
    build_nest(1025);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_FRAME_DEPTH);
    ck_assert_str_eq(t.err.node, "n1025");
    ck_assert_int_eq(strncmp(t.err.frame, "...", 3), 0);
    ck_assert_ptr_nonnull(strstr(t.err.frame, "/f1023/f1024"));
}
END_TEST

TCase *frame_tree_tests(void)
{
    TCase *tc = tcase_create("frame_tree");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_graph_without_enters_is_the_root_frame);
    tcase_add_test(tc, an_empty_graph_has_a_root_frame);
    tcase_add_test(tc, a_loop_is_a_frame);
    tcase_add_test(tc, frames_are_numbered_in_preorder_of_their_first_enters);
    tcase_add_test(tc, the_order_of_nodes_changes_no_frame);
    tcase_add_test(tc, a_control_edge_puts_a_node_into_a_frame);
    tcase_add_test(tc, a_fed_output_lives_in_the_root);
    tcase_add_test(tc, nodes_that_are_not_selected_are_in_no_frame);
    tcase_add_loop_test(tc, many_parallel_iterations_are_cut, 0,
                        sizeof parallel / sizeof parallel[0]);
    tcase_add_test(tc, the_first_enters_parallel_iterations_count);
    tcase_add_loop_test(tc, frames_that_make_no_sense_are_refused, 0,
                        N_REFUSED);
    tcase_add_test(tc, a_mixed_feed_is_named);
    tcase_add_test(tc, an_error_names_the_path_of_frames);
    tcase_add_test(tc, a_frame_name_may_not_hold_nul);
    tcase_add_test(tc, a_loop_counter_may_have_its_own_loop_cond);
    tcase_add_test(tc, frames_nest_1024_deep);
    tcase_add_test(tc, frames_nested_deeper_are_refused);
    return tc;
}

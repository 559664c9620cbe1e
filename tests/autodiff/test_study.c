/* SPDX-License-Identifier: Apache-2.0 */
/* The study of a graph: what is in it, frames, branches, shapes, checks. */
#include "tests/aid/studied.h"
#include "tests/suites.h"

#include <string.h>

static studied s;

static void setup(void)
{
    studied_init(&s);
}

static void teardown(void)
{
    studied_deinit(&s);
}

#define NESTED                                                                 \
    "x float64=2\nother float64=3\n"                                           \
    "e Enter@outer x\nm Merge e n\nl ?float64\nk Enter@outer! l\n"             \
    "c Less m k\nlc LoopCond c\ns Switch m lc\n"                               \
    "ie Enter@inner s:1\nim Merge ie in\nik Enter@inner! k\nic Less im ik\n"   \
    "ilc LoopCond ic\nis Switch im ilc\nim2 Mul is:1 is:1\n"                   \
    "in NextIteration im2\nix Exit is\nn NextIteration ix\nx2 Exit s\n"        \
    "y Neg x2\nunused Mul other other\n"

START_TEST(it_has_what_is_depended_on_and_no_more)
{
    studied_build(&s, NESTED, "y", "x");
    ck_assert(s.study.selection.keep[studied_node(&s, "im2")]);
    ck_assert(s.study.selection.keep[studied_node(&s, "x")]);
    ck_assert(!s.study.selection.keep[studied_node(&s, "unused")]);
    ck_assert(!s.study.selection.keep[studied_node(&s, "other")]);
    ck_assert_uint_eq(s.study.n_nodes, s.p.graph->n_nodes);
}
END_TEST

START_TEST(a_frame_is_around_itself_and_those_in_it)
{
    uint32_t outer, inner;

    studied_build(&s, NESTED, "y", "x");
    outer = studied_frame(&s, "outer");
    inner = eddy__study_frame(&s.study, program_output(&s.p, "im2"));
    ck_assert_uint_ne(inner, outer);
    ck_assert_uint_eq(eddy__study_frame(&s.study, program_output(&s.p, "m")),
                      outer);
    /* An Exit's output lives outside of its loop. */
    ck_assert_uint_eq(eddy__study_frame(&s.study, program_output(&s.p, "ix")),
                      outer);
    ck_assert(eddy__study_is_around(&s.study, outer, inner));
    ck_assert(eddy__study_is_around(&s.study, 0, inner));
    ck_assert(eddy__study_is_around(&s.study, inner, inner));
    ck_assert(!eddy__study_is_around(&s.study, inner, outer));
}
END_TEST

START_TEST(slots_number_the_outputs_of_what_is_depended_on)
{
    size_t n = 0;

    studied_build(&s, NESTED, "y", "x");
    for (eddy_node v = 0; v < s.study.n_nodes; v++)
        for (uint32_t i = 0; s.study.selection.keep[v] &&
                             i < eddy__graph_node(s.p.graph, v)->n_outputs;
             i++)
            ck_assert_uint_eq(eddy__study_slot(&s.study, (eddy_output){v, i}),
                              n++);
    /* As many have room; none is the number of two. */
    ck_assert_uint_ge(eddy__study_slots(&s.study), n);
}
END_TEST

START_TEST(a_popped_value_has_the_shape_of_the_pushed_one)
{
    studied_build(&s,
                  "x float64[2,3]=1\nsize int32=-1\n"
                  "t StackV2 size elem_type=float64\n"
                  "push StackPushV2 t x\n"
                  "pop StackPopV2 t ^push elem_type=float64\n"
                  "y Neg pop\n",
                  "y", "x");
    for (int i = 0; i < 2; i++) {
        const eddy_shape *shape = eddy__shape_at(
            &s.study.shapes, program_output(&s.p, i == 0 ? "pop" : "y"));

        ck_assert_int_eq(shape->rank, 2);
        ck_assert_int_eq(shape->dims[0], 2);
        ck_assert_int_eq(shape->dims[1], 3);
    }
}
END_TEST

START_TEST(a_handle_is_traced_to_its_variable)
{
    studied_build(&s,
                  "b ?bool\n"
                  "v VarHandleOp dtype=float64 shape=() shared_name='v'\n"
                  "w Switch v b\n"
                  "r ReadVariableOp w:1 dtype=float64\n",
                  "r", "v");
    ck_assert_uint_eq(
        eddy__study_variable(&s.study, program_output(&s.p, "w:1")),
        studied_node(&s, "v"));
    ck_assert_uint_eq(eddy__study_variable(&s.study, program_output(&s.p, "r")),
                      EDDY_NO_NODE);
    ck_assert_uint_eq(eddy__study_array(&s.study, program_output(&s.p, "w:1")),
                      EDDY_NO_NODE);
}
END_TEST

START_TEST(floats_and_complex_numbers_have_gradients)
{
    ck_assert(eddy__study_has_gradient(EDDY_FLOAT32));
    ck_assert(eddy__study_has_gradient(EDDY_BFLOAT16));
    ck_assert(eddy__study_has_gradient(EDDY_COMPLEX128));
    ck_assert(!eddy__study_has_gradient(EDDY_INT32));
    ck_assert(!eddy__study_has_gradient(EDDY_BOOL));
    ck_assert(!eddy__study_has_gradient(EDDY_STRING));
}
END_TEST

START_TEST(asked_outputs_must_be_there_and_real)
{
    eddy_output list[2];

    program_build(&s.p, "x float64=1\ni int32=1\n");
    list[0] = program_output(&s.p, "x");
    list[1] = (eddy_output){list[0].node, 1};
    program_want(&s.p, eddy__study_check(&s.e, "y", list, 2, true),
                 EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
    ck_assert_ptr_nonnull(strstr(s.p.err.message, "y 1"));
}
END_TEST

START_TEST(integers_are_refused_where_floats_are_meant)
{
    eddy_output i;

    program_build(&s.p, "i int32=1\n");
    i = program_output(&s.p, "i");
    program_want_ok(&s.p, eddy__study_check(&s.e, "y", &i, 1, false));
    program_want(&s.p, eddy__study_check(&s.e, "y", &i, 1, true),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

TCase *study_tests(void)
{
    TCase *tc = tcase_create("study");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, it_has_what_is_depended_on_and_no_more);
    tcase_add_test(tc, a_frame_is_around_itself_and_those_in_it);
    tcase_add_test(tc, slots_number_the_outputs_of_what_is_depended_on);
    tcase_add_test(tc, a_popped_value_has_the_shape_of_the_pushed_one);
    tcase_add_test(tc, a_handle_is_traced_to_its_variable);
    tcase_add_test(tc, floats_and_complex_numbers_have_gradients);
    tcase_add_test(tc, asked_outputs_must_be_there_and_real);
    tcase_add_test(tc, integers_are_refused_where_floats_are_meant);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of shapes while a graph is built, and what that refuses. */
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void want_shape(eddy_output output, int32_t rank, const int64_t *dims)
{
    const eddy_shape shape = eddy_graph_output_shape(p.graph, output);

    ck_assert_int_eq(shape.rank, rank);
    for (int32_t d = 0; d < rank; d++)
        ck_assert_int_eq(shape.dims[d], dims[d]);
}

static eddy_output named(const char *name)
{
    return program_output(&p, name);
}

static eddy_status try_op(const char *op, eddy_output x, eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy_graph_add_op(p.graph, op, NULL, inputs, 2, NULL, &p.err);
}

static void want_clash(eddy_status status)
{
    program_want(&p, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}

/* ---- asking ---- */

START_TEST(shapes_are_inferred_while_the_graph_is_built)
{
    program_build(&p, "x ?float32[2,3]\n"
                      "y ?float32[3,?]\n"
                      "any ?float32[?]\n"
                      "product MatMul x y\n"
                      "t float32[5,4]=1\n"
                      "size Shape t\n"
                      "like Reshape any size\n"
                      "sum AddV2 any product\n");
    want_shape(named("x"), PROGRAM_DIMS(2, 3));
    want_shape(named("y"), PROGRAM_DIMS(3, -1));
    want_shape(named("product"), PROGRAM_DIMS(2, -1));
    want_shape(named("size"), PROGRAM_DIMS(2));
    want_shape(named("sum"), PROGRAM_DIMS(2, -1));
    want_shape((eddy_output){named("x").node, 1}, -1, NULL);
    want_shape((eddy_output){1000, 0}, -1, NULL);
}
END_TEST

START_TEST(a_constant_is_seen_through_what_hands_it_on)
{
    program_build(&p, "any ?float32[?]\n"
                      "dims int32[2]=3,7\n"
                      "same Identity dims\n"
                      "y Reshape any same\n");
    want_shape(named("y"), PROGRAM_DIMS(3, 7));
}
END_TEST

START_TEST(a_branch_gives_what_both_sides_have)
{
    program_build(&p, "x ?float32[2,3]\n"
                      "y ?float32[4,3]\n"
                      "yes ?bool\n"
                      "a Switch x yes\n"
                      "b Switch y yes\n"
                      "m Merge a:0 b:1\n");
    want_shape(named("m"), PROGRAM_DIMS(-1, 3));
}
END_TEST

/* ---- loops ---- */

/* v = [2, 3] concatenated with itself, w = w * 2. */
static void begin(eddy_output *now)
{
    const eddy_output initial[] = {named("v"), named("w"), named("i")};

    construct_while(&p, initial, 3, now);
    construct_body(&p, program_binary(&p, "Less", now[2], named("n")), now);
}

START_TEST(of_an_open_loop_only_invariants_are_known)
{
    const eddy_shape invariants[] = {{.rank = 2, .dims = {-1, 3}}};
    eddy_output initial[1];
    eddy_while_spec spec = {.size = sizeof spec,
                            .initial = initial,
                            .n_variables = 1,
                            .shape_invariants = invariants};
    eddy_output now[1];

    program_build(&p, "v ?float32[2,3]\n"
                      "row ?float32[4]\n");
    initial[0] = named("v");
    construct_while_with(&p, &spec, now);
    want_shape(now[0], PROGRAM_DIMS(-1, 3));
    want_clash(try_op("AddV2", now[0], named("row")));
    want_clash(try_op("MatMul", now[0], named("v")));
    eddy_construct_abort(p.graph);
    spec.shape_invariants = NULL;
    construct_while_with(&p, &spec, now);
    want_shape(now[0], -1, NULL);
    ck_assert_int_eq(try_op("AddV2", now[0], named("row")), EDDY_OK);
}
END_TEST

START_TEST(a_loop_that_has_ended_is_known_as_a_whole)
{
    eddy_output now[3], next[3], results[3], parts[3];

    program_build(&p, "v ?float32[2,3]\n"
                      "w ?float32[5]\n"
                      "four ?float32[4]\n"
                      "axis int32=0\n"
                      "i int64=0\n"
                      "one int64=1\n"
                      "n ?int64\n");
    begin(now);
    want_shape(now[0], -1, NULL);
    parts[0] = parts[1] = now[0];
    parts[2] = named("axis");
    ck_assert_int_eq(eddy_graph_add_op(p.graph, "ConcatV2", NULL, parts, 3,
                                       &next[0], &p.err),
                     EDDY_OK);
    next[1] = program_binary(&p, "Mul", now[1], now[1]);
    next[2] = program_binary(&p, "AddV2", now[2], named("one"));
    construct_end(&p, next, 3, results);
    want_shape(results[0], PROGRAM_DIMS(-1, 3));
    want_shape(results[1], PROGRAM_DIMS(5));
    want_shape(results[2], 0, NULL);
    want_shape(next[1], PROGRAM_DIMS(5));
    want_clash(try_op("AddV2", results[1], named("four")));
}
END_TEST

START_TEST(loops_by_hand_are_known)
{
    program_build(&p, "x ?float32[4,4]\n"
                      "zero int32=1\n"
                      "ten int32=10\n"
                      "e Enter@w x\n"
                      "ce Enter@w zero\n"
                      "limit Enter@w! ten\n"
                      "m Merge e next\n"
                      "count Merge ce cn\n"
                      "less Less count limit\n"
                      "c LoopCond less\n"
                      "s Switch m c\n"
                      "cs Switch count c\n"
                      "plus AddV2 cs:1 cs:1\n"
                      "cn NextIteration plus\n"
                      "square MatMul s:1 s:1\n"
                      "next NextIteration square\n"
                      "exit Exit s\n");
    want_shape(named("exit"), PROGRAM_DIMS(4, 4));
    want_shape(named("plus"), 0, NULL);
}
END_TEST

START_TEST(a_new_edge_changes_what_follows)
{
    eddy_output y;

    program_build(&p, "x ?float32[4]\n"
                      "other ?float32[7]\n"
                      "y Neg x\n"
                      "z Neg y\n");
    want_shape(named("z"), PROGRAM_DIMS(4));
    y = named("y");
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, y.node, 0, named("other"), &p.err),
        EDDY_OK);
    want_shape(named("z"), PROGRAM_DIMS(7));
}
END_TEST

/* ---- refusing ---- */

START_TEST(shapes_that_clash_are_refused_when_a_node_is_added)
{
    size_t size;

    program_build(&p, "x ?float32[2,3]\n"
                      "y ?float32[2,3]\n"
                      "z ?float32[?,2]\n");
    size = eddy_graph_size(p.graph);
    want_clash(try_op("MatMul", named("x"), named("y")));
    ck_assert_str_eq(p.err.op, "MatMul");
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_int_eq(try_op("MatMul", named("z"), named("y")), EDDY_OK);
}
END_TEST

START_TEST(so_are_they_in_a_branch_and_through_one)
{
    program_build(&p, "x ?float32[2,3]\n"
                      "yes ?bool\n");
    construct_cond(&p, named("yes"));
    want_clash(try_op("MatMul", named("x"), named("x")));
    construct_else(&p, program_unary(&p, "Neg", named("x")));
    construct_end_cond(&p, program_unary(&p, "Exp", named("x")));
}
END_TEST

/* What a file says is refused where it is needed, and pruned where it isn't. */
START_TEST(a_graph_from_a_file_is_left_to_the_plan)
{
    eddy_output x;

    program_build(&p, "x ?float32[2,3]\n"
                      "y ?float32[3,2]\n"
                      "product MatMul x y\n"
                      "sum Neg x\n");
    x = named("x");
    /* MatMul(x, x): an edge that is changed is not looked at, either. */
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named("product").node, 1, x, &p.err),
        EDDY_OK);
    program_reload(&p);
    want_shape(named("product"), -1, NULL);
    want_shape(named("sum"), PROGRAM_DIMS(2, 3));
    ck_assert_int_eq(program_try_plan(&p, "x", "sum"), EDDY_OK);
    want_clash(program_try_plan(&p, "x", "product"));
}
END_TEST

TCase *known_shapes_tests(void)
{
    TCase *tcase = tcase_create("known_shapes");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, shapes_are_inferred_while_the_graph_is_built);
    tcase_add_test(tcase, a_constant_is_seen_through_what_hands_it_on);
    tcase_add_test(tcase, a_branch_gives_what_both_sides_have);
    tcase_add_test(tcase, of_an_open_loop_only_invariants_are_known);
    tcase_add_test(tcase, a_loop_that_has_ended_is_known_as_a_whole);
    tcase_add_test(tcase, loops_by_hand_are_known);
    tcase_add_test(tcase, a_new_edge_changes_what_follows);
    tcase_add_test(tcase, shapes_that_clash_are_refused_when_a_node_is_added);
    tcase_add_test(tcase, so_are_they_in_a_branch_and_through_one);
    tcase_add_test(tcase, a_graph_from_a_file_is_left_to_the_plan);
    return tcase;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs that lowering makes: names, frames, files. */
#include "eddy/graphdef.h"
#include "eddy/lower.h"
#include "frames/lower/functional.h"
#include "tests/aid/functions.h"
#include "tests/aid/graph_equal.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;
static eddy_graph *lowered;

static void setup(void)
{
    program_init(&p, 0);
    lowered = NULL;
}

static void teardown(void)
{
    eddy_graph_destroy(lowered);
    program_deinit(&p);
}

static void lower(void)
{
    char line[1024];

    eddy_graph_destroy(lowered);
    lowered = NULL;
    if (eddy_graph_lower(p.graph, NULL, &lowered, &p.err) == EDDY_OK)
        return;
    eddy_error_format(&p.err, line, sizeof line);
    ck_abort_msg("%s", line);
}

/* Plans, runs and compares in place of the graph what was made of it. */
static void take_lowered(void)
{
    eddy_graph_destroy(p.graph);
    p.graph = lowered;
    lowered = NULL;
}

static eddy_node want_node(const char *name, const char *op)
{
    eddy_node node = eddy_graph_find(lowered, name);

    ck_assert_msg(node != EDDY_NO_NODE, "no node '%s'", name);
    ck_assert_str_eq(eddy_graph_node_op(lowered, node), op);
    return node;
}

static void want_input(const char *name, uint32_t i, const char *from)
{
    size_t n;
    const eddy_output *inputs =
        eddy_graph_node_inputs(lowered, eddy_graph_find(lowered, name), &n);

    ck_assert_uint_lt(i, n);
    ck_assert_str_eq(eddy_graph_node_name(lowered, inputs[i].node), from);
}

static void add_functions(void)
{
    functions_add(&p, "less", "i=int64 n=int64", "z Less i n T=%int64\n", "z");
    functions_add(&p, "step", "i=int64 n=int64",
                  "one int64=1\n"
                  "z AddV2 i one T=%int64\n",
                  "z n");
    functions_add(&p, "minus", "x=int64", "z Neg x T=%int64\n", "z");
    functions_add(&p, "square", "x=int64", "z Square x T=%int64\n", "z");
    functions_add(&p, "outer", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@minus Tout=[int64]\n",
                  "c");
}

START_TEST(nodes_have_the_name_of_their_call_before_theirs)
{
    add_functions();
    program_build(&p, "p ?bool\n"
                      "x int64=3\n"
                      "i int32=1\n"
                      "a PartitionedCall x f=@outer Tout=[int64]\n"
                      "b If p x then_branch=@minus else_branch=@square "
                      "Tout=[int64]\n"
                      "c Case i x branches=[@minus,@square] Tout=[int64]\n"
                      "w While a x cond=@less body=@step\n");
    lower();
    want_node("x", "Const");
    want_node("a", "Identity");
    want_node("a/c/z", "Neg");
    want_input("a", 0, "a/c/z");
    want_node("b", "Identity");
    want_node("b/then/z", "Neg");
    want_node("b/else/z", "Square");
    want_input("b", 0, "b/Merge");
    want_node("c/branch0/z", "Neg");
    want_node("c/branch1/z", "Square");
    want_node("w", "IdentityN");
    want_node("w/cond/z", "Less");
    want_node("w/body/z", "AddV2");
    want_node("w/LoopCond", "LoopCond");
    want_input("w", 0, "w/Exit");
    /* The second input is an invariant. */
    want_input("w", 1, "x");
    ck_assert_uint_eq(lowered->n_functions, 0);
}
END_TEST

START_TEST(names_that_are_taken_get_a_number)
{
    add_functions();
    program_build(&p, "a/z int64=3\n"
                      "a/z_1 int64=4\n"
                      "a PartitionedCall a/z f=@minus Tout=[int64]\n"
                      "w/Enter int64=0\n"
                      "w While w/Enter a cond=@less body=@step\n");
    lower();
    want_node("a/z", "Const");
    want_node("a/z_1", "Const");
    want_node("a/z_2", "Neg");
    want_input("a", 0, "a/z_2");
    want_node("w/Enter", "Const");
    want_node("w/Enter_1", "Enter");
    want_node("w/Enter_2", "Enter");
}
END_TEST

/* The same names for two loops, one of them the graph's own. */
START_TEST(frames_that_are_taken_get_a_number)
{
    add_functions();
    program_build(&p, "zero int64=0\n"
                      "enter Enter@w zero\n"
                      "exit Exit enter\n"
                      "n int64=3\n"
                      "w While zero n cond=@less body=@step\n"
                      "sum AddV2 w exit\n");
    lower();
    take_lowered();
    program_plan(&p, NULL, "sum");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 3);
}
END_TEST

START_TEST(the_same_graph_gives_the_same_graph)
{
    eddy_graph *first;

    add_functions();
    program_build(&p, "zero int64=0\n"
                      "n int64=3\n"
                      "w While zero n cond=@less body=@step\n"
                      "a PartitionedCall w f=@outer Tout=[int64]\n"
                      "b PartitionedCall a f=@outer Tout=[int64] ^w\n");
    lower();
    first = lowered;
    lowered = NULL;
    lower();
    graph_want_equal(first, lowered);
    eddy_graph_destroy(first);
}
END_TEST

/* Lowering a graph without functions, or one that was lowered, is a copy. */
START_TEST(primitives_stay_as_they_are)
{
    eddy_graph *first;

    add_functions();
    program_build(&p, "zero int64=0\n"
                      "n int64=3\n"
                      "w While zero n cond=@less body=@step\n");
    lower();
    first = lowered;
    ck_assert_int_eq(eddy_graph_lower(first, NULL, &lowered, &p.err), EDDY_OK);
    graph_want_equal(first, lowered);
    eddy_graph_destroy(first);
}
END_TEST

START_TEST(no_node_of_a_lowered_graph_takes_a_function)
{
    add_functions();
    program_build(&p, "p ?bool\n"
                      "x int64=3\n"
                      "a StatefulPartitionedCall x f=@outer Tout=[int64]\n"
                      "b StatelessIf p x then_branch=@minus "
                      "else_branch=@square Tout=[int64]\n");
    functions_call(&p, "outer", "c", "b");
    lower();
    for (eddy_node id = 0; id < eddy_graph_size(lowered); id++) {
        const eddy__node *node = eddy__graph_node(lowered, id);

        ck_assert_int_eq(eddy__functional_role(p.graph, node), EDDY__ROLE_NONE);
        ck_assert_ptr_nonnull(node->op);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            ck_assert_uint_ne(node->inputs[i].node, EDDY_NO_NODE);
    }
}
END_TEST

START_TEST(a_lowered_graph_is_saved_and_read)
{
    eddy_graph *again;

    add_functions();
    program_build(&p, "x int64=3\n"
                      "a PartitionedCall x f=@outer Tout=[int64]\n"
                      "w While a x cond=@less body=@step\n"
                      "y AddV2 w:1 w\n");
    lower();
    again = program_save_and_load(&p, lowered);
    graph_want_equal(lowered, again);
    eddy_graph_destroy(lowered);
    lowered = again;
    take_lowered();
    program_plan(&p, NULL, "a w w:1 y");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -3);
    ck_assert_int_eq(program_fetch_int(&p, 1), 3);
    ck_assert_int_eq(program_fetch_int(&p, 2), 3);
    ck_assert_int_eq(program_fetch_int(&p, 3), 6);
}
END_TEST

/* Twenty of them make no more nodes than one. */
START_TEST(captured_values_cost_a_loop_nothing)
{
    char args[1024] = "i=int64", inputs[256] = "", results[256] = "z";
    char line[512];
    size_t few, many;

    functions_add(&p, "less", "i=int64 n=int64", "z Less i n T=%int64\n", "z");
    functions_add(&p, "step", "i=int64 n=int64",
                  "one int64=1\n"
                  "z AddV2 i one T=%int64\n",
                  "z n");
    program_build(&p, "i int64=0\n"
                      "n int64=3\n"
                      "w While i n cond=@less body=@step\n");
    program_plan(&p, NULL, "w");
    few = eddy_plan_nodes(p.plan);
    for (int k = 0; k < 20; k++) {
        snprintf(args + strlen(args), 32, " c%d=int64", k);
        snprintf(inputs + strlen(inputs), 32, " n");
        snprintf(results + strlen(results), 32, " c%d", k);
    }
    functions_add(&p, "less_many", args, "z Less i c19 T=%int64\n", "z");
    functions_add(&p, "step_many", args,
                  "one int64=1\n"
                  "z AddV2 i one T=%int64\n",
                  results);
    snprintf(line, sizeof line, "v While i%s cond=@less_many body=@step_many\n",
             inputs);
    program_build(&p, line);
    program_plan(&p, NULL, "v");
    many = eddy_plan_nodes(p.plan);
    ck_assert_uint_eq(few, many);
}
END_TEST

TCase *lower_graph_tests(void)
{
    TCase *tc = tcase_create("lower_graph");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nodes_have_the_name_of_their_call_before_theirs);
    tcase_add_test(tc, names_that_are_taken_get_a_number);
    tcase_add_test(tc, frames_that_are_taken_get_a_number);
    tcase_add_test(tc, the_same_graph_gives_the_same_graph);
    tcase_add_test(tc, primitives_stay_as_they_are);
    tcase_add_test(tc, no_node_of_a_lowered_graph_takes_a_function);
    tcase_add_test(tc, a_lowered_graph_is_saved_and_read);
    tcase_add_test(tc, captured_values_cost_a_loop_nothing);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What lowering refuses, and what it costs at most. */
#include "eddy/lower.h"
#include "tests/aid/functions.h"
#include "tests/suites.h"

#include <stdio.h>
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

static void add_id(const char *name, const char *dtype)
{
    char arg[32];

    snprintf(arg, sizeof arg, "x=%s", dtype);
    functions_add(&p, name, arg, "", "x");
}

/* Plan and lowering alike refuse it, at `node`, with `words`. */
static void want_refused(const char *fetch, eddy_status code,
                         eddy_detail detail, const char *node,
                         const char *words)
{
    eddy_graph *lowered = NULL;

    program_want(&p, eddy_graph_lower(p.graph, NULL, &lowered, &p.err), code,
                 detail);
    ck_assert_ptr_null(lowered);
    program_want(&p, program_try_plan(&p, NULL, fetch), code, detail);
    ck_assert_str_eq(p.err.node, node);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "'%s' has no '%s'",
                  p.err.message, words);
}

/* ---- functions that do not fit ---- */

START_TEST(a_function_must_exist)
{
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@nowhere Tout=[int64]\n");
    want_refused("y", EDDY_NOT_FOUND, EDDY_E_FUNCTION, "y",
                 "function 'nowhere' is not in the library");
}
END_TEST

START_TEST(a_function_of_a_function_must_exist)
{
    functions_add(&p, "f", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@nowhere Tout=[int64]\n",
                  "c");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[int64]\n");
    want_refused("y", EDDY_NOT_FOUND, EDDY_E_FUNCTION, "y/c", "'nowhere'");
}
END_TEST

START_TEST(a_call_gives_as_many_arguments_as_the_function_takes)
{
    add_id("f", "int64");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x x f=@f Tout=[int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "function 'f' takes 1 arguments, 2 are given");
}
END_TEST

START_TEST(a_call_by_name_gives_as_many_arguments_too)
{
    add_id("f", "int64");
    program_build(&p, "x int64=1\n");
    functions_call(&p, "f", "y", "x x");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, "y",
                 "op takes 1 inputs here, 2 are given");
}
END_TEST

START_TEST(a_call_by_name_gives_the_dtypes_that_the_function_takes)
{
    functions_add(&p, "f", "x=int64", "z Neg x T=%int64\n", "z");
    program_build(&p, "x float32=1\n");
    functions_call(&p, "f", "y", "x");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "y/z",
                 "float32");
}
END_TEST

START_TEST(a_call_has_the_outputs_of_the_function)
{
    const eddy_output third = {.index = 2};
    eddy_output fetch = third;
    eddy_plan_options options = {
        .size = sizeof options, .fetches = &fetch, .n_fetches = 1};

    add_id("f", "int64");
    program_build(&p, "x int64=1\n");
    functions_call(&p, "f", "y", "x");
    fetch.node = program_output(&p, "y").node;
    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
    ck_assert_str_eq(p.err.node, "y");
}
END_TEST

START_TEST(a_call_wants_as_many_results_as_the_function_gives)
{
    add_id("f", "int64");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[int64,int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "function 'f' gives 1 results, 2 are wanted");
}
END_TEST

START_TEST(arguments_have_the_dtypes_of_the_function)
{
    add_id("f", "int64");
    program_build(&p, "x float32=1\n"
                      "y PartitionedCall x f=@f Tout=[int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "argument 0 of function 'f' is int64, float32 is given");
}
END_TEST

START_TEST(results_have_the_dtypes_of_the_function)
{
    add_id("f", "int64");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[float32]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "result 0 of function 'f' is int64, float32 is wanted");
}
END_TEST

START_TEST(branches_fit_each_for_itself)
{
    add_id("f", "int64");
    add_id("g", "float32");
    program_build(&p, "p bool=1\n"
                      "x int64=1\n"
                      "y If p x then_branch=@f else_branch=@g Tout=[int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "argument 0 of function 'g' is float32, int64 is given");
}
END_TEST

START_TEST(a_condition_gives_one_result)
{
    functions_add(&p, "two", "x=int64", "", "x x");
    add_id("f", "int64");
    program_build(&p, "x int64=1\n"
                      "y While x cond=@two body=@f\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "function 'two' gives 2 results, 1 is wanted");
}
END_TEST

START_TEST(a_body_gives_what_it_takes)
{
    functions_add(&p, "less", "x=int64 y=int64", "z Less x y T=%int64\n", "z");
    functions_add(&p, "one", "x=int64 y=int64", "", "x");
    program_build(&p, "x int64=1\n"
                      "y While x x cond=@less body=@one\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, "y",
                 "function 'one' gives 1 results, 2 are wanted");
}
END_TEST

START_TEST(a_condition_may_not_be_a_resource)
{
    functions_add(&p, "c", "x=resource", "", "x");
    add_id("f", "resource");
    program_build(&p, "x ?resource\n"
                      "y While x cond=@c body=@f\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, "y/ToBool",
                 "resource");
}
END_TEST

START_TEST(unknown_ops_beside_functions_are_named)
{
    functions_add(&p, "f", "x=int64", "", "x");
    functions_add(&p, "g", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@f Tout=[int64]\n", "c");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@g Tout=[int64]\n");
    functions_call(&p, "Wonder", "z", "y");
    program_want(&p, program_try_plan(&p, NULL, "z"), EDDY_NOT_FOUND,
                 EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.node, "z");
}
END_TEST

/* ---- recursion ---- */

START_TEST(a_function_may_not_call_itself)
{
    functions_add(&p, "f", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@f Tout=[int64]\n", "c");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_RECURSION, "y/c",
                 "function 'f' calls itself: f -> f");
}
END_TEST

/* The way starts where the circle does. */
START_TEST(the_way_around_is_told)
{
    functions_add(&p, "outer", "x=int64",
                  "o PartitionedCall x Tin=[int64] f=@a Tout=[int64]\n", "o");
    functions_add(&p, "a", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@b Tout=[int64]\n", "c");
    functions_add(&p, "b", "x=int64",
                  "p bool=1\n"
                  "d If p x Tin=[int64] then_branch=@c else_branch=@c "
                  "Tout=[int64]\n",
                  "d");
    functions_add(&p, "c", "x=int64",
                  "e PartitionedCall x Tin=[int64] f=@a Tout=[int64]\n", "e");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@outer Tout=[int64]\n");
    want_refused("y", EDDY_INVALID_ARGUMENT, EDDY_E_RECURSION, "y/o/c/d/else/e",
                 "function 'a' calls itself: a -> b -> c -> a");
}
END_TEST

START_TEST(a_recursive_call_that_nothing_needs_is_no_mistake)
{
    functions_add(&p, "f", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@f Tout=[int64]\n", "x");
    functions_add(&p, "g", "x=int64",
                  "c PartitionedCall x Tin=[int64] f=@g Tout=[int64]\n", "c");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[int64]\n"
                      "z PartitionedCall x f=@g Tout=[int64]\n");
    program_plan(&p, NULL, "y");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
}
END_TEST

/* What a function gives is what it takes, and that is what it gives. */
START_TEST(a_circle_of_calls_is_refused)
{
    add_id("f", "int64");
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f Tout=[int64]\n"
                      "z PartitionedCall y f=@f Tout=[int64]\n");
    ck_assert_int_eq(eddy_graph_set_input(p.graph, program_output(&p, "y").node,
                                          0, program_output(&p, "z"), &p.err),
                     EDDY_OK);
    program_want(&p, program_try_plan(&p, NULL, "z"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_CYCLE);
}
END_TEST

/* ---- limits ---- */

/* Each function calls the one before twice: 2^n copies of the first. */
static void add_tower(int n)
{
    char name[32], body[256];

    functions_add(&p, "f0", "x=int64", "z Neg x T=%int64\n", "z");
    for (int i = 1; i <= n; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(body, sizeof body,
                 "a PartitionedCall x Tin=[int64] f=@f%d Tout=[int64]\n"
                 "b PartitionedCall a f=@f%d Tout=[int64]\n",
                 i - 1, i - 1);
        functions_add(&p, name, "x=int64", body, "b");
    }
    snprintf(body, sizeof body,
             "x int64=1\n"
             "y PartitionedCall x f=@f%d Tout=[int64]\n",
             n);
    program_build(&p, body);
}

START_TEST(copies_of_functions_are_bounded)
{
    eddy_lower_options options = {.size = sizeof options, .max_nodes = 1000};
    eddy_graph *lowered = NULL;

    add_tower(200);
    program_want(&p, eddy_graph_lower(p.graph, &options, &lowered, &p.err),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES);
    ck_assert_ptr_null(lowered);
    p.plan_options.max_nodes = 1000;
    program_want(&p, program_try_plan(&p, NULL, "y"), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_NODES);
    p.plan_options.max_nodes = 0;
    program_clear(&p);
    add_tower(5);
    options.max_nodes = 100;
    ck_assert_int_eq(eddy_graph_lower(p.graph, &options, &lowered, &p.err),
                     EDDY_OK);
    eddy_graph_destroy(lowered);
    program_plan(&p, NULL, "y");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 33);
}
END_TEST

START_TEST(functions_may_be_nested_only_so_deep)
{
    char name[32], body[128];

    functions_add(&p, "f0", "x=int64", "z Neg x T=%int64\n", "z");
    for (int i = 1; i <= 1024; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(body, sizeof body,
                 "a PartitionedCall x Tin=[int64] f=@f%d Tout=[int64]\n",
                 i - 1);
        functions_add(&p, name, "x=int64", body, "a");
    }
    program_build(&p, "x int64=1\n"
                      "y PartitionedCall x f=@f1023 Tout=[int64]\n"
                      "z PartitionedCall x f=@f1024 Tout=[int64]\n");
    program_plan(&p, NULL, "y");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 2);
    program_want(&p, program_try_plan(&p, NULL, "z"), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_TOO_DEEP);
}
END_TEST

START_TEST(options_have_a_size)
{
    eddy_lower_options options = {.size = sizeof options + 1};
    eddy_graph *lowered = NULL;

    program_build(&p, "x int64=1\n");
    program_want(&p, eddy_graph_lower(p.graph, &options, &lowered, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_graph_lower(NULL, NULL, &lowered, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_graph_lower(p.graph, NULL, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* ---- memory ---- */

/* _i: one allocation fails, or all from the n-th on. */
START_TEST(memory_may_run_short)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_graph *lowered = NULL;

    functions_add(&p, "more", "i=int64 s=int64 n=int64",
                  "z Less i n T=%int64\n", "z");
    functions_add(&p, "minus", "x=int64", "z Neg x T=%int64\n", "z");
    functions_add(&p, "same", "x=int64", "", "x");
    functions_add(&p, "step", "i=int64 s=int64 n=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n"
                  "p Less s i T=%int64\n"
                  "t If p s Tin=[int64] then_branch=@minus else_branch=@same "
                  "Tout=[int64] ^j ^one\n",
                  "j t n");
    program_build(&p, "i int64=0\n"
                      "n int64=3\n"
                      "v ?int64\n"
                      "a PartitionedCall v f=@minus Tout=[int64]\n"
                      "w While i a n cond=@more body=@step ^i ^n\n"
                      "z NoOp ^w\n");
    for (int n = 0; status != EDDY_OK; n++) {
        if (_i)
            counting_allocator_allow(&p.counting, n);
        else
            counting_allocator_fail(&p.counting, n);
        status = eddy_graph_lower(p.graph, NULL, &lowered, &p.err);
        if (status == EDDY_OK)
            status = program_try_plan(&p, "a", "w w:1 w:2 ^z");
        eddy_graph_destroy(lowered);
        lowered = NULL;
        counting_allocator_allow(&p.counting, -1);
        counting_allocator_fail(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
    }
    program_make_run(&p);
    program_feed_int(&p, 0, -2);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
    ck_assert_int_eq(program_fetch_int(&p, 1), 2);
    ck_assert_int_eq(program_fetch_int(&p, 2), 3);
}
END_TEST

TCase *lower_errors_tests(void)
{
    TCase *tc = tcase_create("lower_errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_function_must_exist);
    tcase_add_test(tc, a_function_of_a_function_must_exist);
    tcase_add_test(tc, a_call_gives_as_many_arguments_as_the_function_takes);
    tcase_add_test(tc, a_call_by_name_gives_as_many_arguments_too);
    tcase_add_test(tc, a_call_by_name_gives_the_dtypes_that_the_function_takes);
    tcase_add_test(tc, a_call_has_the_outputs_of_the_function);
    tcase_add_test(tc, a_call_wants_as_many_results_as_the_function_gives);
    tcase_add_test(tc, arguments_have_the_dtypes_of_the_function);
    tcase_add_test(tc, results_have_the_dtypes_of_the_function);
    tcase_add_test(tc, branches_fit_each_for_itself);
    tcase_add_test(tc, a_condition_gives_one_result);
    tcase_add_test(tc, a_body_gives_what_it_takes);
    tcase_add_test(tc, a_condition_may_not_be_a_resource);
    tcase_add_test(tc, unknown_ops_beside_functions_are_named);
    tcase_add_test(tc, a_function_may_not_call_itself);
    tcase_add_test(tc, the_way_around_is_told);
    tcase_add_test(tc, a_recursive_call_that_nothing_needs_is_no_mistake);
    tcase_add_test(tc, a_circle_of_calls_is_refused);
    tcase_add_test(tc, copies_of_functions_are_bounded);
    tcase_add_test(tc, functions_may_be_nested_only_so_deep);
    tcase_add_test(tc, options_have_a_size);
    tcase_add_loop_test(tc, memory_may_run_short, 0, 2);
    return tc;
}

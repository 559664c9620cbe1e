/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a GraphDef's library: read, kept as bytes, written back. */
#include "eddy/graphdef.h"
#include "tests/aid/core_fixture.h"
#include "tests/aid/graph_equal.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static wire_writer w;
static eddy_graph *graph;

static void setup(void)
{
    core_fixture_init(&f);
    memset(&w, 0, sizeof w);
    graph = NULL;
}

static void teardown(void)
{
    eddy_graph_destroy(graph);
    core_fixture_deinit(&f);
}

/* ---- making FunctionDefs ---- */

static void put_arg(uint32_t field, const char *name, int32_t number)
{
    wire_begin(&w, field);
    wire_text(&w, 1, name);
    wire_number(&w, 3, (uint64_t)number);
    wire_end(&w);
}

/* A library with a function of float32 x, y to float32 z; left open. */
static void begin_function(const char *name)
{
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, name);
    put_arg(2, "x", 1);
    put_arg(2, "y", 1);
    put_arg(3, "z", 1);
    wire_end(&w);
}

static void put_pair(uint32_t field, const char *key, const char *value)
{
    wire_begin(&w, field);
    wire_text(&w, 1, key);
    wire_text(&w, 2, value);
    wire_end(&w);
}

static void end_function(void)
{
    wire_end(&w);
    wire_end(&w);
}

static void put_node(const char *name, const char *op, const char *a,
                     const char *b, const char *type_attr)
{
    wire_begin_node(&w, 3, name, op);
    wire_input(&w, a);
    if (b)
        wire_input(&w, b);
    if (type_attr)
        wire_type(&w, type_attr, 1);
    wire_end(&w);
}

static eddy_status read_graph(void)
{
    return eddy_graphdef_read(&f.ctx, w.bytes, w.length, NULL, &graph, &f.err);
}

/* Reads the graph, which must have one function, and gives that. */
static const eddy__function *accept(void)
{
    eddy_status status = read_graph();

    ck_assert_msg(status == EDDY_OK, "%s: %s", eddy_detail_name(f.err.detail),
                  f.err.message);
    ck_assert_uint_eq(graph->n_functions, 1);
    return &graph->functions[0];
}

/* The function is there but could not be read, for that reason. */
static void want_problem(const char *words)
{
    const eddy__function *fun = accept();

    ck_assert_ptr_nonnull(fun->problem);
    ck_assert_msg(strstr(fun->problem, words) != NULL, "'%s' has no '%s'",
                  fun->problem, words);
    ck_assert_uint_eq(fun->body->n_nodes, 0);
    ck_assert_uint_eq(fun->n_args, 0);
}

/* Writes the graph and reads it again: the same comes back. */
static void want_same_again(void)
{
    eddy_graph *again = NULL;
    void *bytes = NULL;
    size_t length = 0;

    ck_assert_int_eq(eddy_graphdef_write(graph, &bytes, &length, &f.err),
                     EDDY_OK);
    ck_assert_int_eq(
        eddy_graphdef_read(&f.ctx, bytes, length, NULL, &again, &f.err),
        EDDY_OK);
    eddy_graphdef_free(graph, bytes, length);
    graph_want_equal(graph, again);
    eddy_graph_destroy(again);
}

/* ---- reading ---- */

START_TEST(reads_a_function)
{
    const eddy__function *fun;

    begin_function("fun");
    put_node("i", "Identity", "a:z:0", NULL, "T");
    put_node("a", "Add", "x", "y:0", "T");
    put_pair(4, "z", "i:output");
    end_function();
    fun = accept();
    ck_assert_ptr_null(fun->problem);
    ck_assert_str_eq(fun->name, "fun");
    ck_assert_uint_eq(fun->n_args, 2);
    ck_assert_str_eq(fun->arg_names[1], "y");
    ck_assert_uint_eq(fun->body->n_nodes, 4);
    ck_assert_str_eq(fun->body->nodes[fun->args[1]].op_name, "_Arg");
    ck_assert_str_eq(fun->body->nodes[fun->args[1]].name, "y");
    ck_assert_int_eq(eddy__node_int(&fun->body->nodes[fun->args[1]], "index"),
                     1);
    ck_assert_int_eq(eddy__node_type(&fun->body->nodes[fun->args[1]], "T"),
                     EDDY_FLOAT32);
    ck_assert_uint_eq(fun->n_results, 1);
    ck_assert_str_eq(fun->result_names[0], "z");
    ck_assert_uint_eq(fun->result_dtypes[0], EDDY_FLOAT32);
    ck_assert_str_eq(fun->body->nodes[fun->results[0].node].name, "i");
    ck_assert_uint_eq(fun->body->nodes[3].inputs[0].node, 0);
    ck_assert_uint_eq(fun->body->nodes[3].inputs[1].node, 1);
    ck_assert_ptr_eq(eddy__graph_find_function(graph, "fun"), fun);
    want_same_again();
}
END_TEST

START_TEST(finds_outputs_of_lists)
{
    const eddy__function *fun;

    begin_function("fun");
    wire_begin_node(&w, 3, "dim", "Const");
    wire_type(&w, "dtype", 3);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 3);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    wire_begin_node(&w, 3, "s", "Split");
    wire_input(&w, "dim:output:0");
    wire_input(&w, "x");
    wire_int(&w, "num_split", 3);
    wire_type(&w, "T", 1);
    wire_end(&w);
    wire_begin_node(&w, 3, "j", "Join");
    wire_input(&w, "s:out:2");
    wire_input(&w, "s:out:0");
    wire_int(&w, "N", 2);
    wire_type(&w, "T", 1);
    wire_end(&w);
    wire_begin_node(&w, 3, "i", "Identity");
    wire_input(&w, "j:index:0");
    wire_type(&w, "T", 3);
    wire_end(&w);
    put_pair(4, "z", "j:out:0");
    end_function();
    fun = accept();
    ck_assert_ptr_null(fun->problem);
    ck_assert_uint_eq(fun->body->nodes[4].inputs[0].index, 2);
    ck_assert_uint_eq(fun->body->nodes[4].inputs[1].index, 0);
    ck_assert_uint_eq(fun->body->nodes[5].inputs[0].index, 1);
    want_same_again();
}
END_TEST

START_TEST(numbers_the_outputs_of_opaque_nodes)
{
    const eddy__function *fun;
    eddy_attr attr;

    begin_function("fun");
    put_node("a", "Add", "u:second:0", "u:list:1", "T");
    put_node("u", "Unknown", "x", "v:out:0", NULL);
    put_node("v", "Unknown", "u:second", "u:list:0", NULL);
    put_pair(4, "z", "u:third:0");
    end_function();
    fun = accept();
    ck_assert_ptr_null(fun->problem);
    ck_assert_uint_eq(fun->body->nodes[2].inputs[0].index, 0);
    ck_assert_uint_eq(fun->body->nodes[2].inputs[1].index, 1);
    ck_assert_uint_eq(fun->body->nodes[4].inputs[0].index, 0);
    ck_assert_uint_eq(fun->body->nodes[4].inputs[1].index, 2);
    ck_assert_uint_eq(fun->results[0].index, 3);
    ck_assert_uint_eq(fun->body->nodes[3].n_assumed_outputs, 4);
    ck_assert(eddy_graph_node_attr(fun->body, 3, "_eddy_outputs", &attr));
    ck_assert_uint_eq(attr.n, 4);
    ck_assert_str_eq(attr.as.strings[1].data, "list:1");
    want_same_again();
}
END_TEST

START_TEST(replaces_output_names_that_a_file_has)
{
    begin_function("fun");
    wire_begin_node(&w, 3, "u", "Unknown");
    wire_input(&w, "x");
    wire_begin_attr(&w, "_eddy_outputs");
    wire_text(&w, 2, "lies");
    wire_end_attr(&w);
    wire_end(&w);
    put_pair(4, "z", "u:out:0");
    end_function();
    ck_assert_ptr_null(accept()->problem);
    want_same_again();
}
END_TEST

START_TEST(keeps_what_a_function_says_of_itself)
{
    const eddy__function *fun;
    eddy_attr attr;

    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, "fun");
    put_arg(2, "x", 20); /* a resource */
    wire_number(&w, 17, 1);
    wire_text(&w, 20, "done");
    wire_end(&w);
    wire_begin_node(&w, 3, "n", "NoOp");
    wire_input(&w, "^x");
    wire_end(&w);
    wire_type(&w, "_a", 1);
    wire_type(&w, "b", 12);
    wire_begin(&w, 5);
    wire_text(&w, 1, "c");
    wire_begin(&w, 2);
    wire_begin(&w, 8);
    wire_number(&w, 1, 1);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    put_pair(6, "done", "n");
    wire_begin(&w, 7);
    wire_number(&w, 1, 0);
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_text(&w, 1, "_shape");
    wire_begin(&w, 2);
    wire_number(&w, 3, 5);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_begin(&w, 8);
    wire_number(&w, 1, 0);
    wire_number(&w, 2, 77);
    wire_end(&w);
    wire_end(&w);
    wire_begin(&w, 2);
    wire_text(&w, 1, "fun");
    wire_text(&w, 2, "fun_grad");
    wire_end(&w);
    wire_end(&w);
    fun = accept();
    ck_assert_ptr_null(fun->problem);
    ck_assert(fun->is_stateful);
    ck_assert_uint_eq(fun->n_attrs, 3);
    ck_assert_int_eq(fun->attrs[1].kind, EDDY_ATTR_OPAQUE);
    ck_assert_int_eq(fun->attrs[2].kind, EDDY_ATTR_TENSOR);
    ck_assert_uint_eq(fun->n_control_results, 1);
    ck_assert_uint_eq(fun->control_results[0], 1);
    ck_assert(eddy_graph_node_attr(fun->body, 0, "_shape", &attr));
    ck_assert_int_eq(attr.as.ints[0], 5);
    ck_assert(
        eddy_graph_node_attr(fun->body, 0, "_resource_arg_unique_id", &attr));
    ck_assert_int_eq(attr.as.ints[0], 77);
    ck_assert_str_eq(fun->gradient, "fun_grad");
    want_same_again();
}
END_TEST

/* ---- what can't be read ---- */

START_TEST(keeps_a_function_with_parameters)
{
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, "poly");
    wire_begin(&w, 2);
    wire_text(&w, 1, "x");
    wire_text(&w, 4, "T");
    wire_end(&w);
    if (_i == 1) {
        wire_begin(&w, 4);
        wire_text(&w, 1, "T");
        wire_text(&w, 2, "type");
        wire_end(&w);
    }
    wire_end(&w);
    end_function();
    want_problem(_i == 1 ? "parameter 'T'" : "'x' is no single tensor");
    ck_assert_str_eq(graph->functions[0].name, "poly");
    want_same_again();
}
END_TEST

typedef struct bad_body {
    const char *input; /* of node "a", an Identity */
    const char *result;
    const char *words;
} bad_body;

static const bad_body bad_bodies[] = {
    {"nobody:out:0", "a:output:0", "'nobody'"},
    {"a", "a:output:0", "names no output"},
    {"a:other:0", "a:output:0", "no single output 'other:0'"},
    {"a:output:1", "a:output:0", "no single output 'output:1'"},
    {"a:output:x", "a:output:0", "no index"},
    {"x:1", "a:output:0", "names no output"},
    {"^x", "a:output:0", "1 inputs"},
    {"x", "a:other:0", "no single output 'other:0'"},
    {"x", "nobody", "'nobody'"},
};

START_TEST(keeps_a_function_with_a_bad_body)
{
    const bad_body *b = &bad_bodies[_i];

    begin_function("fun");
    put_node("a", "Identity", b->input, NULL, "T");
    put_pair(4, "z", b->result);
    end_function();
    want_problem(b->words);
    want_same_again();
}
END_TEST

START_TEST(keeps_a_function_that_does_not_return)
{
    begin_function("fun");
    end_function();
    want_problem("'z'");
}
END_TEST

START_TEST(keeps_a_function_that_returns_another_dtype)
{
    begin_function("fun");
    wire_begin_node(&w, 3, "p", "Placeholder");
    wire_type(&w, "dtype", 3);
    wire_end(&w);
    put_pair(4, "z", "p:output:0");
    end_function();
    want_problem("int32");
}
END_TEST

START_TEST(refuses_two_functions_of_one_name)
{
    wire_begin(&w, 2);
    for (int i = 0; i < 2; i++) {
        wire_begin(&w, 1);
        wire_begin(&w, 1);
        wire_text(&w, 1, "fun");
        wire_end(&w);
        wire_end(&w);
    }
    wire_end(&w);
    core_fixture_want(&f, read_graph(), EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    ck_assert_ptr_nonnull(strstr(f.err.message, "'fun'"));
}
END_TEST

START_TEST(refuses_a_function_without_a_name)
{
    begin_function("");
    put_pair(4, "z", "x");
    end_function();
    core_fixture_want(&f, read_graph(), EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
}
END_TEST

START_TEST(refuses_a_gradient_of_no_function)
{
    wire_begin(&w, 2);
    put_pair(2, "nobody", "g");
    wire_end(&w);
    core_fixture_want(&f, read_graph(), EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    long long live, n = 0;
    eddy_status status;

    begin_function("fun");
    put_node("a", "Add", "u:second:0", "u:list:1", "T");
    put_node("u", "Unknown", "x", "a:z:0", NULL);
    wire_type(&w, "_a", 1);
    if (_i == 0)
        put_pair(4, "z", "u:third:0");
    end_function();
    live = atomic_load(&f.counting.live_bytes);
    for (;; n++) {
        counting_allocator_allow(&f.counting, n);
        status = read_graph();
        counting_allocator_allow(&f.counting, -1);
        if (status == EDDY_OK)
            break;
        core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), live);
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(graph->functions[0].problem != NULL, _i == 1);
}
END_TEST

TCase *graphdef_function_tests(void)
{
    TCase *tc = tcase_create("graphdef_function");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, reads_a_function);
    tcase_add_test(tc, finds_outputs_of_lists);
    tcase_add_test(tc, numbers_the_outputs_of_opaque_nodes);
    tcase_add_test(tc, replaces_output_names_that_a_file_has);
    tcase_add_test(tc, keeps_what_a_function_says_of_itself);
    tcase_add_loop_test(tc, keeps_a_function_with_parameters, 0, 2);
    tcase_add_loop_test(tc, keeps_a_function_with_a_bad_body, 0,
                        (int)(sizeof bad_bodies / sizeof bad_bodies[0]));
    tcase_add_test(tc, keeps_a_function_that_does_not_return);
    tcase_add_test(tc, keeps_a_function_that_returns_another_dtype);
    tcase_add_test(tc, refuses_two_functions_of_one_name);
    tcase_add_test(tc, refuses_a_function_without_a_name);
    tcase_add_test(tc, refuses_a_gradient_of_no_function);
    tcase_add_loop_test(tc, survives_every_failed_allocation, 0, 2);
    return tc;
}

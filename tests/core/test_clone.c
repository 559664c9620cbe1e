/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs, and the library of functions. */
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;

static void setup(void)
{
    core_fixture_init(&f);
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static void want_ok(eddy_status status)
{
    ck_assert_msg(status == EDDY_OK, "%s", f.err.message);
}

/* x, c = 2, s = x + c after x, and an opaque node that reads s. */
static void build(eddy_graph *graph)
{
    const eddy__add_options loading = {
        .strict = true, .opaque = true, .device = "/cpu:1"};
    const int64_t number = 5;
    const float two = 2;
    const eddy_attr extra = eddy_attr_int("_n", &number);
    eddy_output in[2], sum;
    const eddy_node_spec strange = {.size = sizeof strange,
                                    .op = "Strange",
                                    .name = "q",
                                    .inputs = &sum,
                                    .n_inputs = 1,
                                    .attrs = &extra,
                                    .n_attrs = 1};

    want_ok(eddy_graph_add_placeholder(graph, "x", EDDY_FLOAT32, NULL, &in[0],
                                       &f.err));
    want_ok(
        eddy_graph_add_scalar(graph, "c", EDDY_FLOAT32, &two, &in[1], &f.err));
    want_ok(eddy_graph_add_op(graph, "Add", "s", in, 2, &sum, &f.err));
    want_ok(eddy_graph_add_control(graph, sum.node, in[0].node, &f.err));
    want_ok(eddy__graph_add(graph, &strange, &loading, NULL, &f.err));
    graph->producer = 1987;
    graph->min_consumer = 12;
}

static void want_same_attrs(const eddy__node *a, const eddy__node *b)
{
    ck_assert_uint_eq(a->n_attrs, b->n_attrs);
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        ck_assert_str_eq(a->attrs[i].name, b->attrs[i].name);
        ck_assert_int_eq(a->attrs[i].kind, b->attrs[i].kind);
        ck_assert_uint_eq(a->attrs[i].n, b->attrs[i].n);
        if (a->attrs[i].kind == EDDY_ATTR_INT)
            ck_assert_int_eq(a->attrs[i].as.ints[0], b->attrs[i].as.ints[0]);
        if (a->attrs[i].kind == EDDY_ATTR_TENSOR)
            ck_assert_ptr_eq(a->attrs[i].as.tensors[0],
                             b->attrs[i].as.tensors[0]);
    }
}

static void want_bytes(const void *a, const void *b, size_t n)
{
    if (n > 0)
        ck_assert_mem_eq(a, b, n);
}

static void want_same(const eddy_graph *g, const eddy_graph *h)
{
    ck_assert_uint_eq(g->n_nodes, h->n_nodes);
    ck_assert_int_eq(g->producer, h->producer);
    ck_assert_int_eq(g->min_consumer, h->min_consumer);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const eddy__node *a = &g->nodes[i], *b = &h->nodes[i];

        ck_assert_str_eq(a->name, b->name);
        ck_assert_str_eq(a->op_name, b->op_name);
        ck_assert_ptr_eq(a->op, b->op);
        ck_assert_uint_eq(a->n_inputs, b->n_inputs);
        want_bytes(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs);
        ck_assert_uint_eq(a->n_controls, b->n_controls);
        want_bytes(a->controls, b->controls,
                   a->n_controls * sizeof *a->controls);
        ck_assert_uint_eq(a->n_outputs, b->n_outputs);
        want_bytes(a->input_dtypes, b->input_dtypes, a->n_inputs);
        want_bytes(a->output_dtypes, b->output_dtypes, a->n_outputs);
        ck_assert_int_eq(a->device != NULL, b->device != NULL);
        ck_assert_uint_eq(eddy_graph_find(h, a->name), i);
        want_same_attrs(a, b);
    }
}

START_TEST(a_clone_is_the_same_and_outlives_the_original)
{
    eddy_graph *copy;

    build(f.graph);
    want_ok(eddy__graph_clone(f.graph, NULL, &copy, &f.err));
    want_same(f.graph, copy);
    eddy_graph_destroy(f.graph);
    f.graph = copy;
    ck_assert_str_eq(eddy_graph_node_name(copy, 2), "s");
    ck_assert_str_eq(copy->nodes[3].device, "/cpu:1");
}
END_TEST

START_TEST(a_clone_changes_by_itself)
{
    eddy_graph *copy;
    eddy_output x = {0, 0};

    build(f.graph);
    want_ok(eddy__graph_clone(f.graph, NULL, &copy, &f.err));
    want_ok(eddy_graph_set_input(copy, 2, 1, x, &f.err));
    want_ok(eddy_graph_add_control(copy, 2, 1, &f.err));
    want_ok(eddy_graph_add_op(copy, "Add", NULL, (eddy_output[]){x, x}, 2, NULL,
                              &f.err));
    ck_assert_uint_eq(f.graph->nodes[2].inputs[1].node, 1);
    ck_assert_uint_eq(f.graph->nodes[2].n_controls, 1);
    ck_assert_uint_eq(eddy_graph_size(f.graph), 4);
    ck_assert_uint_eq(eddy_graph_size(copy), 5);
    eddy_graph_destroy(copy);
}
END_TEST

START_TEST(an_empty_graph_is_cloned)
{
    eddy_graph *copy;

    want_ok(eddy__graph_clone(f.graph, NULL, &copy, &f.err));
    ck_assert_uint_eq(eddy_graph_size(copy), 0);
    want_ok(eddy_graph_add_op(copy, "NoOp", NULL, NULL, 0, NULL, &f.err));
    eddy_graph_destroy(copy);
}
END_TEST

/* ---- functions ---- */

static eddy_status add_function(eddy_graph *graph, const char *name,
                                bool with_problem)
{
    const eddy_node args[] = {0};
    const char *arg_names[] = {"a"}, *result_names[] = {"r"};
    const eddy_output results[] = {{2, 0}};
    const uint8_t result_dtypes[] = {EDDY_FLOAT32};
    const eddy_node control_results[] = {3};
    const eddy_string text = {"inline", 6};
    eddy_attr attrs[] = {eddy_attr_string("_how", &text)};
    eddy__function function = {.name = name,
                               .args = args,
                               .n_args = 1,
                               .arg_names = arg_names,
                               .results = results,
                               .n_results = 1,
                               .result_names = result_names,
                               .control_results = control_results,
                               .n_control_results = 1,
                               .result_dtypes = result_dtypes,
                               .is_stateful = true,
                               .attrs = attrs,
                               .n_attrs = 1,
                               .gradient = "grad"};
    eddy_status status = eddy_graph_create(&f.ctx, &function.body, &f.err);

    if (status != EDDY_OK)
        return status;
    if (with_problem) {
        function.n_args = function.n_results = function.n_control_results = 0;
        function.problem = "it is odd";
        function.bytes = (eddy_string){"\0bytes", 6};
    } else {
        counting_allocator_allow(&f.counting, -1);
        build(function.body);
    }
    status = eddy__graph_add_function(graph, &function, &f.err);
    if (status != EDDY_OK)
        eddy_graph_destroy(function.body);
    return status;
}

static void want_function(const eddy_graph *graph)
{
    const eddy__function *function = eddy__graph_find_function(graph, "f");

    ck_assert_ptr_nonnull(function);
    ck_assert_str_eq(function->name, "f");
    ck_assert_uint_eq(function->n_args, 1);
    ck_assert_uint_eq(function->args[0], 0);
    ck_assert_str_eq(function->arg_names[0], "a");
    ck_assert_uint_eq(function->results[0].node, 2);
    ck_assert_str_eq(function->result_names[0], "r");
    ck_assert_int_eq(function->result_dtypes[0], EDDY_FLOAT32);
    ck_assert_uint_eq(function->control_results[0], 3);
    ck_assert(function->is_stateful);
    ck_assert_str_eq(function->gradient, "grad");
    ck_assert_ptr_null(function->problem);
    ck_assert_str_eq(function->attrs[0].as.strings[0].data, "inline");
    ck_assert_uint_eq(eddy_graph_size(function->body), 4);
}

START_TEST(a_function_is_found_by_name)
{
    want_ok(add_function(f.graph, "f", false));
    want_ok(add_function(f.graph, "g", true));
    want_function(f.graph);
    ck_assert_str_eq(eddy__graph_find_function(f.graph, "g")->problem,
                     "it is odd");
    ck_assert_mem_eq(eddy__graph_find_function(f.graph, "g")->bytes.data,
                     "\0bytes", 6);
    ck_assert_ptr_null(eddy__graph_find_function(f.graph, "h"));
}
END_TEST

START_TEST(a_function_defined_twice_is_refused)
{
    want_ok(add_function(f.graph, "f", false));
    core_fixture_want(&f, add_function(f.graph, "f", true),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    ck_assert_uint_eq(f.graph->n_functions, 1);
    want_function(f.graph);
}
END_TEST

START_TEST(a_function_that_makes_no_sense_is_refused)
{
    const eddy_node far_node[] = {9};
    const eddy_output far_output[] = {{9, 0}};
    const char *names[] = {"a"};
    eddy__function function = {.name = "f"};

    core_fixture_want(&f, eddy__graph_add_function(f.graph, &function, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    want_ok(eddy_graph_create(&f.ctx, &function.body, &f.err));
    function.name = "";
    core_fixture_want(&f, eddy__graph_add_function(f.graph, &function, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    function = (eddy__function){.name = "f",
                                .body = function.body,
                                .args = far_node,
                                .n_args = 1,
                                .arg_names = names};
    core_fixture_want(&f, eddy__graph_add_function(f.graph, &function, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    function = (eddy__function){.name = "f",
                                .body = function.body,
                                .results = far_output,
                                .n_results = 1,
                                .result_names = names};
    core_fixture_want(&f, eddy__graph_add_function(f.graph, &function, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    want_ok(add_function(function.body, "inner", true));
    function.n_results = 0;
    core_fixture_want(&f, eddy__graph_add_function(f.graph, &function, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION);
    eddy_graph_destroy(function.body);
}
END_TEST

START_TEST(functions_are_cloned_too)
{
    eddy_graph *copy;

    build(f.graph);
    want_ok(add_function(f.graph, "f", false));
    want_ok(add_function(f.graph, "g", true));
    want_ok(eddy__graph_clone(f.graph, NULL, &copy, &f.err));
    eddy_graph_destroy(f.graph);
    f.graph = copy;
    want_function(copy);
    ck_assert_str_eq(eddy__graph_find_function(copy, "g")->problem,
                     "it is odd");
}
END_TEST

START_TEST(every_allocation_of_a_clone_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_graph *copy = NULL;

    build(f.graph);
    want_ok(add_function(f.graph, "f", false));
    for (long long n = 0; status != EDDY_OK; n++) {
        counting_allocator_allow(&f.counting, n);
        status = eddy__graph_clone(f.graph, NULL, &copy, &f.err);
        counting_allocator_allow(&f.counting, -1);
        if (status != EDDY_OK)
            core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED,
                              EDDY_E_MEMORY);
        ck_assert_int_lt(n, 200);
    }
    want_same(f.graph, copy);
    want_function(copy);
    eddy_graph_destroy(copy);
}
END_TEST

START_TEST(every_allocation_of_a_function_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (long long n = 0; status != EDDY_OK; n++) {
        counting_allocator_allow(&f.counting, n);
        status = add_function(f.graph, "g", true);
        counting_allocator_allow(&f.counting, -1);
        ck_assert_int_eq(eddy__graph_find_function(f.graph, "g") != NULL,
                         status == EDDY_OK);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

TCase *clone_tests(void)
{
    TCase *tc = tcase_create("clone");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_clone_is_the_same_and_outlives_the_original);
    tcase_add_test(tc, a_clone_changes_by_itself);
    tcase_add_test(tc, an_empty_graph_is_cloned);
    tcase_add_test(tc, a_function_is_found_by_name);
    tcase_add_test(tc, a_function_defined_twice_is_refused);
    tcase_add_test(tc, a_function_that_makes_no_sense_is_refused);
    tcase_add_test(tc, functions_are_cloned_too);
    tcase_add_test(tc, every_allocation_of_a_clone_may_fail);
    tcase_add_test(tc, every_allocation_of_a_function_may_fail);
    return tc;
}

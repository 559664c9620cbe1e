/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a graph, and changing its edges. */
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>
#include <time.h>

static core_fixture f;
static eddy_output x, i;

static void setup(void)
{
    core_fixture_init(&f);
    x = core_fixture_source(&f, "x", EDDY_FLOAT32);
    i = core_fixture_source(&f, "i", EDDY_INT32);
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static eddy_output add(const char *op, const char *name,
                       const eddy_output *inputs, size_t n)
{
    eddy_output out = {EDDY_NO_NODE, 0};

    ck_assert_msg(eddy_graph_add_op(f.graph, op, name, inputs, n, &out,
                                    &f.err) == EDDY_OK,
                  "%s", f.err.message);
    return out;
}

START_TEST(a_graph_needs_a_context)
{
    eddy_graph *graph;

    core_fixture_want(&f, eddy_graph_create(NULL, &graph, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    eddy_graph_destroy(NULL);
}
END_TEST

START_TEST(queries_say_what_was_added)
{
    const eddy_output sum = add("Add", "s", (eddy_output[]){x, x}, 2);
    const eddy_output *inputs;
    size_t n = 99;
    eddy_attr attr;

    ck_assert_uint_eq(eddy_graph_size(f.graph), 3);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, sum.node), "s");
    ck_assert_str_eq(eddy_graph_node_op(f.graph, sum.node), "Add");
    ck_assert_uint_eq(eddy_graph_node_outputs(f.graph, sum.node), 1);
    inputs = eddy_graph_node_inputs(f.graph, sum.node, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(inputs[1].node, x.node);
    eddy_graph_node_controls(f.graph, sum.node, &n);
    ck_assert_uint_eq(n, 0);
    ck_assert(eddy_graph_node_attr(f.graph, sum.node, "T", &attr));
    ck_assert_int_eq(attr.as.types[0], EDDY_FLOAT32);
    ck_assert(!eddy_graph_node_attr(f.graph, sum.node, "U", &attr));
}
END_TEST

START_TEST(a_node_that_is_not_there_has_nothing)
{
    size_t n = 99;
    eddy_attr attr;

    ck_assert_ptr_null(eddy_graph_node_name(f.graph, 2));
    ck_assert_ptr_null(eddy_graph_node_op(f.graph, EDDY_NO_NODE));
    ck_assert_ptr_null(eddy_graph_node_inputs(f.graph, 2, &n));
    ck_assert_uint_eq(n, 0);
    n = 99;
    ck_assert_ptr_null(eddy_graph_node_controls(f.graph, 2, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(eddy_graph_node_outputs(f.graph, 2), 0);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, (eddy_output){2, 0}),
                     EDDY_INVALID);
    ck_assert(!eddy_graph_node_attr(f.graph, 2, "T", &attr));
}
END_TEST

/* ---- shorthands ---- */

START_TEST(a_scalar_is_a_const_with_its_value)
{
    const int64_t value = -7;
    eddy_output out;
    eddy_attr attr;

    ck_assert_int_eq(
        eddy_graph_add_scalar(f.graph, "c", EDDY_INT64, &value, &out, &f.err),
        EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_op(f.graph, out.node), "Const");
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, out), EDDY_INT64);
    ck_assert(eddy_graph_node_attr(f.graph, out.node, "value", &attr));
    ck_assert_int_eq(eddy_tensor_shape(attr.as.tensors[0])->rank, 0);
    ck_assert_int_eq(*(const int64_t *)eddy_tensor_data(attr.as.tensors[0]),
                     -7);
}
END_TEST

START_TEST(a_scalar_needs_a_numeric_dtype_and_a_value)
{
    const int32_t value = 1;
    eddy_output out;

    core_fixture_want(
        &f,
        eddy_graph_add_scalar(f.graph, "c", EDDY_STRING, &value, &out, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(
        &f, eddy_graph_add_scalar(f.graph, "c", EDDY_INT32, NULL, &out, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f,
                      eddy_graph_add_const(f.graph, "c", NULL, &out, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(a_const_outlives_the_callers_reference)
{
    const eddy_shape shape = {.rank = 1, .dims = {1}};
    const eddy_string text = {"hello", 5};
    eddy_tensor *tensor;
    eddy_output out;
    eddy_attr attr;

    ck_assert_int_eq(
        eddy_tensor_from_strings(&f.ctx, &shape, &text, 1, &tensor, &f.err),
        EDDY_OK);
    ck_assert_int_eq(eddy_graph_add_const(f.graph, NULL, tensor, &out, &f.err),
                     EDDY_OK);
    eddy_tensor_release(tensor);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, out), EDDY_STRING);
    ck_assert(eddy_graph_node_attr(f.graph, out.node, "value", &attr));
    ck_assert_mem_eq(eddy_tensor_string(attr.as.tensors[0], 0).data, "hello",
                     5);
}
END_TEST

START_TEST(a_placeholder_has_its_shape)
{
    const eddy_shape shape = {.rank = 2, .dims = {-1, 3}};
    const eddy_shape bad = {.rank = 9};
    eddy_output out;
    eddy_attr attr;

    ck_assert_int_eq(eddy_graph_add_placeholder(f.graph, "p", EDDY_BOOL, &shape,
                                                &out, &f.err),
                     EDDY_OK);
    ck_assert(eddy_graph_node_attr(f.graph, out.node, "shape", &attr));
    ck_assert_int_eq(attr.as.shapes[0].dims[1], 3);
    ck_assert(eddy_graph_node_attr(f.graph, x.node, "shape", &attr));
    ck_assert_int_eq(attr.as.shapes[0].rank, -1);
    core_fixture_want(
        &f,
        eddy_graph_add_placeholder(f.graph, "q", EDDY_BOOL, &bad, &out, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    core_fixture_want(&f,
                      eddy_graph_add_placeholder(f.graph, "q", EDDY_INVALID,
                                                 NULL, &out, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

/* ---- edges ---- */

START_TEST(an_input_can_be_replaced)
{
    const eddy_output merge = add("Join", "m", (eddy_output[]){x, x}, 2);
    const eddy_output next = add("Identity", "next", &merge, 1);
    size_t n;

    ck_assert_int_eq(eddy_graph_set_input(f.graph, merge.node, 1, next, &f.err),
                     EDDY_OK);
    ck_assert_uint_eq(eddy_graph_node_inputs(f.graph, merge.node, &n)[1].node,
                      next.node);
    ck_assert_uint_eq(eddy_graph_node_inputs(f.graph, merge.node, &n)[0].node,
                      x.node);
}
END_TEST

START_TEST(a_bad_replacement_is_refused_and_changes_nothing)
{
    const eddy_output sum = add("Add", "s", (eddy_output[]){x, x}, 2);
    eddy_graph *g = f.graph;
    size_t n;

    core_fixture_want(&f, eddy_graph_set_input(g, sum.node, 0, i, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    ck_assert_str_eq(f.err.node, "s");
    ck_assert_ptr_nonnull(strstr(
        f.err.message, "input 0 is int32 from 'i:0', float32 is wanted"));
    core_fixture_want(&f, eddy_graph_set_input(g, sum.node, 2, x, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
    core_fixture_want(&f, eddy_graph_set_input(g, 99, 0, x, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(
        &f, eddy_graph_set_input(g, sum.node, 0, (eddy_output){99, 0}, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
    core_fixture_want(
        &f,
        eddy_graph_set_input(g, sum.node, 0, (eddy_output){x.node, 1}, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
    ck_assert_uint_eq(eddy_graph_node_inputs(g, sum.node, &n)[0].node, x.node);
}
END_TEST

START_TEST(a_control_edge_is_added_once)
{
    const eddy_node *controls;
    size_t n;

    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(
            eddy_graph_add_control(f.graph, i.node, x.node, &f.err), EDDY_OK);
        ck_assert_int_eq(
            eddy_graph_add_control(f.graph, i.node, i.node, &f.err), EDDY_OK);
    }
    controls = eddy_graph_node_controls(f.graph, i.node, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(controls[0], x.node);
    ck_assert_uint_eq(controls[1], i.node);
    core_fixture_want(&f, eddy_graph_add_control(f.graph, 7, 0, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_graph_add_control(f.graph, 0, 7, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(very_many_control_edges_are_quick_and_counted_once)
{
    const uint32_t many = 100000;
    const clock_t begin = clock();
    clock_t middle;
    const eddy_node *controls;
    size_t n;

    for (uint32_t k = 2; k < many; k++)
        add("NoOp", NULL, NULL, 0);
    middle = clock();
    for (int round = 0; round < 2; round++)
        for (uint32_t k = 0; k < many; k++)
            ck_assert_int_eq(
                eddy_graph_add_control(f.graph, x.node, many - 1 - k, &f.err),
                EDDY_OK);
    ck_assert_msg(clock() - middle < 3 * (middle - begin),
                  "the edges took far longer than the nodes");
    controls = eddy_graph_node_controls(f.graph, x.node, &n);
    ck_assert_uint_eq(n, many);
    for (uint32_t k = 0; k < many; k++)
        ck_assert_uint_eq(controls[k], many - 1 - k);
}
END_TEST

START_TEST(a_failed_allocation_adds_no_control_edge)
{
    for (int k = 0; k < 200; k++)
        add("NoOp", NULL, NULL, 0);
    for (uint32_t k = 0; k < 200; k++) {
        eddy_status status = EDDY_RESOURCE_EXHAUSTED;

        for (long long n = 0; status != EDDY_OK; n++) {
            size_t before, after;

            eddy_graph_node_controls(f.graph, x.node, &before);
            counting_allocator_allow(&f.counting, n);
            status = eddy_graph_add_control(f.graph, x.node, k, &f.err);
            counting_allocator_allow(&f.counting, -1);
            eddy_graph_node_controls(f.graph, x.node, &after);
            ck_assert_uint_eq(after, before + (status == EDDY_OK));
            ck_assert_int_lt(n, 10);
        }
    }
}
END_TEST

START_TEST(errors_at_a_node_name_it)
{
    const eddy__node *node = eddy__graph_node(f.graph, x.node);

    ck_assert_int_eq(eddy__graph_fail_at(&f.err, EDDY_UNIMPLEMENTED,
                                         EDDY_E_NO_KERNEL, node, "no %s here",
                                         "kernel"),
                     EDDY_UNIMPLEMENTED);
    ck_assert_int_eq(f.err.detail, EDDY_E_NO_KERNEL);
    ck_assert_str_eq(f.err.node, "x");
    ck_assert_str_eq(f.err.op, "Placeholder");
    ck_assert_str_eq(f.err.message, "no kernel here");
    ck_assert_int_eq(
        eddy__graph_fail_at(NULL, EDDY_UNKNOWN, EDDY_E_NONE, node, "nowhere"),
        EDDY_UNKNOWN);
}
END_TEST

TCase *graph_tests(void)
{
    TCase *tc = tcase_create("graph");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_graph_needs_a_context);
    tcase_add_test(tc, queries_say_what_was_added);
    tcase_add_test(tc, a_node_that_is_not_there_has_nothing);
    tcase_add_test(tc, a_scalar_is_a_const_with_its_value);
    tcase_add_test(tc, a_scalar_needs_a_numeric_dtype_and_a_value);
    tcase_add_test(tc, a_const_outlives_the_callers_reference);
    tcase_add_test(tc, a_placeholder_has_its_shape);
    tcase_add_test(tc, an_input_can_be_replaced);
    tcase_add_test(tc, a_bad_replacement_is_refused_and_changes_nothing);
    tcase_add_test(tc, a_control_edge_is_added_once);
    tcase_add_test(tc, very_many_control_edges_are_quick_and_counted_once);
    tcase_add_test(tc, a_failed_allocation_adds_no_control_edge);
    tcase_add_test(tc, errors_at_a_node_name_it);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that rewrites add: names, hooks, and the failure that sticks. */
#include "core/base/status.h"
#include "core/graph/emit.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static eddy__emitter e;

static void setup(void)
{
    core_fixture_init(&f);
    e = (eddy__emitter){.graph = f.graph, .err = &f.err};
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static const eddy_node_spec nothing = {.op = "NoOp"};

START_TEST(nodes_are_named_after_a_base)
{
    const eddy_output a = eddy__emitter_add_as(&e, "p/n", &nothing);
    const eddy_output b = eddy__emitter_add_as(&e, "p/n", &nothing);

    ck_assert_int_eq(e.status, EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, a.node), "p/n");
    ck_assert_str_eq(eddy_graph_node_name(f.graph, b.node), "p/n_1");
}
END_TEST

START_TEST(constants_hold_what_they_are_given)
{
    const int32_t elements[] = {3, 4};
    const eddy_shape two = {.rank = 1, .dims = {2}};
    const eddy_node_spec named = {.name = "c"};
    const eddy_output c =
        eddy__emitter_elements(&e, &named, EDDY_INT32, &two, elements);
    eddy_attr value;

    ck_assert_int_eq(e.status, EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, c.node), "c");
    ck_assert(eddy_graph_node_attr(f.graph, c.node, "value", &value));
    ck_assert_mem_eq(eddy_tensor_data(value.as.tensors[0]), elements,
                     sizeof elements);
}
END_TEST

START_TEST(the_first_failure_sticks)
{
    const eddy_node_spec unknown = {.op = "NoSuchOp", .name = "bad"};

    ck_assert_uint_eq(eddy__emitter_add(&e, &unknown).node, EDDY_NO_NODE);
    ck_assert_int_eq(e.status, EDDY_NOT_FOUND);
    ck_assert_uint_eq(eddy__emitter_add(&e, &nothing).node, EDDY_NO_NODE);
    eddy__emitter_connect(&e, 0, 0, EDDY__NO_OUTPUT);
    eddy__emitter_control(&e, 0, 0);
    ck_assert(!eddy__emitter_keep(&e, EDDY_UNKNOWN));
    ck_assert(!eddy__emitter_need(&e, NULL));
    ck_assert_int_eq(e.status, EDDY_NOT_FOUND);
    ck_assert_str_eq(f.err.node, "bad");
    ck_assert_uint_eq(eddy_graph_size(f.graph), 0);
}
END_TEST

static eddy_node last_noted;

static eddy_status allow_two(void *owner, eddy_error *err)
{
    const eddy_graph *graph = owner;

    return eddy_graph_size(graph) < 2
               ? EDDY_OK
               : eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                            "two are enough");
}

static eddy_status note(void *owner, eddy_node node, eddy_error *err)
{
    (void)owner;
    (void)err;
    last_noted = node;
    return EDDY_OK;
}

START_TEST(hooks_are_asked_before_and_told_after)
{
    e.check = allow_two;
    e.note = note;
    e.owner = f.graph;
    eddy__emitter_add_as(&e, "a", &nothing);
    eddy__emitter_add_as(&e, "b", &nothing);
    ck_assert_int_eq(e.status, EDDY_OK);
    ck_assert_uint_eq(last_noted, 1);
    eddy__emitter_add_as(&e, "c", &nothing);
    ck_assert_int_eq(e.status, EDDY_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(eddy_graph_size(f.graph), 2);
    ck_assert_uint_eq(last_noted, 1);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    const eddy_node_spec spec = {.op = "NoOp"};
    const int32_t seven = 7;

    for (long long n = 0;; n++) {
        e.status = EDDY_OK;
        counting_allocator_fail(&f.counting, n);
        eddy__emitter_scalar(&e, &spec, EDDY_INT32, &seven);
        eddy__emitter_add_as(&e, "base", &spec);
        if (e.status == EDDY_OK)
            break;
        ck_assert_int_eq(e.status, EDDY_RESOURCE_EXHAUSTED);
    }
    counting_allocator_fail(&f.counting, -1);
}
END_TEST

TCase *emitter_tests(void)
{
    TCase *tests = tcase_create("emitter");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, nodes_are_named_after_a_base);
    tcase_add_test(tests, constants_hold_what_they_are_given);
    tcase_add_test(tests, the_first_failure_sticks);
    tcase_add_test(tests, hooks_are_asked_before_and_told_after);
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to nodes that are there. */
#include "core/graph/edit.h"
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

static eddy_tensor *new_tensor(int32_t value)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = NULL;

    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_INT32, &scalar, &tensor, &f.err),
        EDDY_OK);
    memcpy(eddy_tensor_mutable_data(tensor), &value, sizeof value);
    return tensor;
}

static eddy_node add_const(const char *name, int32_t value)
{
    eddy_tensor *tensor = new_tensor(value);
    eddy_output out;

    ck_assert_int_eq(eddy_graph_add_const(f.graph, name, tensor, &out, &f.err),
                     EDDY_OK);
    eddy_tensor_release(tensor);
    return out.node;
}

static int32_t value_of(eddy_node node)
{
    eddy_attr attr;

    ck_assert(eddy_graph_node_attr(f.graph, node, "value", &attr));
    return *(const int32_t *)eddy_tensor_data(attr.as.tensors[0]);
}

START_TEST(an_attribute_is_replaced_with_its_tensors)
{
    const eddy_node node = add_const("c", 3);
    eddy_tensor *four = new_tensor(4);
    const eddy_attr value = eddy_attr_tensor("value", &four);

    ck_assert_int_eq(eddy__edit_attr(f.graph, node, &value, &f.err), EDDY_OK);
    eddy_tensor_release(four);
    ck_assert_int_eq(value_of(node), 4);
}
END_TEST

START_TEST(one_that_the_node_lacks_is_left_out)
{
    const eddy_node node = add_const("c", 3);
    const int64_t seven = 7;
    const eddy_attr attr = eddy_attr_int("other", &seven);
    eddy_attr found;

    ck_assert_int_eq(eddy__edit_attr(f.graph, node, &attr, &f.err), EDDY_OK);
    ck_assert(!eddy_graph_node_attr(f.graph, node, "other", &found));
    ck_assert(eddy__edit_adopt_attr(f.graph, node, &attr));
    ck_assert(eddy_graph_node_attr(f.graph, node, "other", &found));
    ck_assert_int_eq(found.as.ints[0], 7);
    ck_assert_int_eq(value_of(node), 3);
}
END_TEST

START_TEST(without_memory_a_node_is_as_it_was)
{
    const eddy_node node = add_const("c", 3);
    eddy_tensor *four = new_tensor(4);
    const eddy_attr value = eddy_attr_tensor("value", &four);
    eddy_status status = EDDY_OK;

    /* Arenas have room of their own, so use that up. */
    counting_allocator_allow(&f.counting, 0);
    for (int i = 0; i < 100000 && status == EDDY_OK; i++)
        status = eddy__edit_device(f.graph, node, "a device", &f.err);
    ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(eddy__edit_attr(f.graph, node, &value, &f.err),
                     EDDY_RESOURCE_EXHAUSTED);
    counting_allocator_allow(&f.counting, -1);
    ck_assert_int_eq(value_of(node), 3);
    eddy_tensor_release(four);
}
END_TEST

START_TEST(a_node_becomes_the_last_and_keeps_its_name)
{
    const eddy_node node = add_const("c", 3);
    const eddy_node last = add_const("d", 4);

    ck_assert_int_eq(eddy__edit_device(f.graph, node, "cpu", &f.err), EDDY_OK);
    eddy__edit_become_last(f.graph, node);
    ck_assert_uint_eq(eddy_graph_size(f.graph), last);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, node), "c");
    ck_assert_str_eq(eddy__graph_node(f.graph, node)->device, "cpu");
    ck_assert_int_eq(value_of(node), 4);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "d"), EDDY_NO_NODE);
}
END_TEST

/* Its name, and its number, are free for others. */
START_TEST(what_is_taken_out_is_found_no_more)
{
    const size_t n = eddy_graph_size(f.graph);
    eddy_output found;

    (void)add_const("c", 3);
    (void)add_const("d", 4);
    eddy__graph_truncate(f.graph, n);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "c"), EDDY_NO_NODE);
    ck_assert_int_eq(eddy_graph_find_output(f.graph, "d:0", &found, &f.err),
                     EDDY_NOT_FOUND);
    ck_assert_uint_eq(add_const("d", 5), n);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "c"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "d"), n);
    ck_assert_uint_eq(add_const("c", 6), n + 1);
    ck_assert_int_eq(value_of(eddy_graph_find(f.graph, "c")), 6);
    ck_assert_int_eq(value_of(eddy_graph_find(f.graph, "d")), 5);
}
END_TEST

TCase *edit_tests(void)
{
    TCase *tests = tcase_create("edit");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_attribute_is_replaced_with_its_tensors);
    tcase_add_test(tests, one_that_the_node_lacks_is_left_out);
    tcase_add_test(tests, without_memory_a_node_is_as_it_was);
    tcase_add_test(tests, a_node_becomes_the_last_and_keeps_its_name);
    tcase_add_test(tests, what_is_taken_out_is_found_no_more);
    return tests;
}

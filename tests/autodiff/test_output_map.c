/* SPDX-License-Identifier: Apache-2.0 */
/* The table from an output and a number to an output. */
#include "autodiff/output_map.h"

#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

static counting_allocator counting;
static eddy__output_map map;

static void setup(void)
{
    counting_allocator_init(&counting);
    map = (eddy__output_map){.allocator = &counting.allocator};
}

static void teardown(void)
{
    eddy__output_map_deinit(&map);
    counting_allocator_want_none(&counting);
}

static eddy_output at(uint32_t node, uint32_t index)
{
    return (eddy_output){node, index};
}

START_TEST(an_empty_map_has_nothing)
{
    ck_assert_uint_eq(eddy__output_map_find(&map, at(0, 0), 0).node,
                      EDDY_NO_NODE);
}
END_TEST

START_TEST(node_index_and_number_tell_entries_apart)
{
    ck_assert(eddy__output_map_add(&map, at(1, 0), 0, at(10, 1)));
    ck_assert(eddy__output_map_add(&map, at(1, 1), 0, at(11, 2)));
    ck_assert(eddy__output_map_add(&map, at(1, 0), 7, at(12, 3)));
    ck_assert_uint_eq(eddy__output_map_find(&map, at(1, 0), 0).node, 10);
    ck_assert_uint_eq(eddy__output_map_find(&map, at(1, 1), 0).node, 11);
    ck_assert_uint_eq(eddy__output_map_find(&map, at(1, 0), 7).node, 12);
    ck_assert_uint_eq(eddy__output_map_find(&map, at(1, 0), 7).index, 3);
    ck_assert_uint_eq(eddy__output_map_find(&map, at(0, 1), 0).node,
                      EDDY_NO_NODE);
    ck_assert_uint_eq(eddy__output_map_find(&map, at(1, 1), 7).node,
                      EDDY_NO_NODE);
}
END_TEST

/* Against an array: value (n, i) stands for node n, index i, tag n + i. */
START_TEST(what_was_added_is_found_however_many_there_are)
{
    enum { NODES = 500, PORTS = 3 };

    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t i = 0; i < PORTS; i++)
            ck_assert(eddy__output_map_add(&map, at(n * 64, i), n % 5,
                                           at(n + 1, PORTS - i)));
    ck_assert_uint_eq(map.size, NODES * PORTS);
    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t i = 0; i < PORTS; i++) {
            const eddy_output got =
                eddy__output_map_find(&map, at(n * 64, i), n % 5);

            ck_assert_uint_eq(got.node, n + 1);
            ck_assert_uint_eq(got.index, PORTS - i);
            ck_assert_uint_eq(
                eddy__output_map_find(&map, at(n * 64, i), 5).node,
                EDDY_NO_NODE);
        }
}
END_TEST

START_TEST(a_map_that_cannot_grow_keeps_what_it_has)
{
    uint32_t n = 0;

    ck_assert(eddy__output_map_add(&map, at(n, 0), 0, at(n + 1, 0)));
    counting_allocator_allow(&counting, 0);
    while (eddy__output_map_add(&map, at(n + 1, 0), 0, at(n + 2, 0)))
        ck_assert_uint_lt(++n, 1000);
    counting_allocator_allow(&counting, -1);
    for (uint32_t i = 0; i <= n; i++)
        ck_assert_uint_eq(eddy__output_map_find(&map, at(i, 0), 0).node, i + 1);
    ck_assert(eddy__output_map_add(&map, at(n + 1, 0), 0, at(n + 2, 0)));
    ck_assert_uint_eq(eddy__output_map_find(&map, at(n + 1, 0), 0).node, n + 2);
}
END_TEST

TCase *output_map_tests(void)
{
    TCase *tc = tcase_create("output_map");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_empty_map_has_nothing);
    tcase_add_test(tc, node_index_and_number_tell_entries_apart);
    tcase_add_test(tc, what_was_added_is_found_however_many_there_are);
    tcase_add_test(tc, a_map_that_cannot_grow_keeps_what_it_has);
    return tc;
}

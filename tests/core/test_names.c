/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are made up, for nodes and for what else needs some. */
#include "core/graph/names.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static eddy__arena arena;

static void setup(void)
{
    core_fixture_init(&f);
    arena = (eddy__arena){.allocator = &f.counting.allocator};
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    core_fixture_deinit(&f);
}

static void add(const char *name)
{
    ck_assert_int_eq(
        eddy_graph_add_op(f.graph, "NoOp", name, NULL, 0, NULL, &f.err),
        EDDY_OK);
}

START_TEST(a_base_that_is_free_is_the_name)
{
    const eddy__names nodes = eddy__names_of_nodes(f.graph);

    ck_assert_str_eq(eddy__names_free(&nodes, &arena, "a", NULL), "a");
}
END_TEST

START_TEST(one_that_is_taken_gets_the_first_free_number)
{
    const eddy__names nodes = eddy__names_of_nodes(f.graph);

    add("a");
    add("a_1");
    add("a_3");
    ck_assert_str_eq(eddy__names_free(&nodes, &arena, "a", NULL), "a_2");
    add("a_2");
    ck_assert_str_eq(eddy__names_free(&nodes, &arena, "a", NULL), "a_4");
}
END_TEST

static int n_questions;

static bool count_question(const void *owner, const char *name)
{
    n_questions++;
    return eddy_graph_find(owner, name) != EDDY_NO_NODE;
}

START_TEST(numbers_go_on_where_they_were)
{
    const eddy__names nodes = {.is_taken = count_question, .owner = f.graph};
    eddy__map next = {.allocator = &f.counting.allocator};

    n_questions = 0;
    for (int i = 0; i < 1000; i++)
        add(eddy__names_free(&nodes, &arena, "a", &next));
    ck_assert_uint_ne(eddy_graph_find(f.graph, "a_999"), EDDY_NO_NODE);
    ck_assert_int_le(n_questions, 2000);
    eddy__map_deinit(&next);
}
END_TEST

START_TEST(keys_of_a_map_are_names_too)
{
    eddy__map taken = {.allocator = &f.counting.allocator};
    const eddy__names names = eddy__names_of_map(&taken);

    ck_assert(eddy__map_set(&taken, "frame", 1));
    ck_assert_str_eq(eddy__names_free(&names, &arena, "frame", NULL),
                     "frame_1");
    eddy__map_deinit(&taken);
}
END_TEST

START_TEST(texts_are_printed_into_an_arena)
{
    const char *text = eddy__names_print(&arena, "%s/read%d", "node", 7);

    ck_assert_str_eq(text, "node/read7");
    ck_assert_str_eq(eddy__names_print(&arena, "%s", ""), "");
}
END_TEST

START_TEST(a_name_that_is_taken_is_not_made_again)
{
    ck_assert_str_eq(eddy__name_take(f.graph, "_Op"), "Op");
    /* No node has it, but it is spoken for. */
    ck_assert_str_eq(eddy__name_take(f.graph, "_Op"), "Op_1");
}
END_TEST

START_TEST(without_memory_there_is_no_name)
{
    const eddy__names nodes = eddy__names_of_nodes(f.graph);

    add("a");
    counting_allocator_allow(&f.counting, 0);
    ck_assert_ptr_null(eddy__names_free(&nodes, &arena, "a", NULL));
    ck_assert_ptr_null(eddy__names_free(&nodes, &arena, NULL, NULL));
    ck_assert_ptr_null(eddy__names_print(&arena, "%s", "text"));
    counting_allocator_allow(&f.counting, -1);
}
END_TEST

TCase *names_tests(void)
{
    TCase *tests = tcase_create("names");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_base_that_is_free_is_the_name);
    tcase_add_test(tests, one_that_is_taken_gets_the_first_free_number);
    tcase_add_test(tests, numbers_go_on_where_they_were);
    tcase_add_test(tests, keys_of_a_map_are_names_too);
    tcase_add_test(tests, texts_are_printed_into_an_arena);
    tcase_add_test(tests, a_name_that_is_taken_is_not_made_again);
    tcase_add_test(tests, without_memory_there_is_no_name);
    return tests;
}

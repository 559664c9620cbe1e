/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes, and finding nodes and outputs by them. */
#include "core/graph/name.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static core_fixture f;

static void setup(void)
{
    core_fixture_init(&f);
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static eddy_status add(const char *name)
{
    return eddy_graph_add_op(f.graph, "NoOp", name, NULL, 0, NULL, &f.err);
}

static const char *const legal[] = {
    "a", "A.b-c_d\\e>f/g", "0", ".hidden", "while/Merge_1", "a..",
};

START_TEST(tensorflows_names_are_legal)
{
    ck_assert_int_eq(add(legal[_i]), EDDY_OK);
    ck_assert_uint_eq(eddy_graph_find(f.graph, legal[_i]), 0);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, 0), legal[_i]);
}
END_TEST

static const char *const illegal[] = {
    "_a", "-a", "/a", "a b", "a:0", "^a", "a\n", "\x01", "n\xc3\xa4me", "%n%s",
};

START_TEST(other_names_are_refused)
{
    core_fixture_want(&f, add(illegal[_i]), EDDY_INVALID_ARGUMENT,
                      EDDY_E_BAD_NAME);
    ck_assert_uint_eq(eddy_graph_size(f.graph), 0);
}
END_TEST

START_TEST(a_refused_name_is_escaped_in_the_error)
{
    core_fixture_want(&f, add("a\nb"), EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME);
    ck_assert_str_eq(f.err.node, "a\\x0ab");
    ck_assert_ptr_nonnull(strstr(f.err.message, "byte 0x0a at 1"));
}
END_TEST

START_TEST(a_name_may_have_a_mebibyte_and_no_more)
{
    char *name = malloc(EDDY__MAX_NAME + 2);

    ck_assert_ptr_nonnull(name);
    memset(name, 'x', EDDY__MAX_NAME + 1);
    name[EDDY__MAX_NAME + 1] = '\0';
    core_fixture_want(&f, add(name), EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME);
    name[EDDY__MAX_NAME] = '\0';
    ck_assert_int_eq(add(name), EDDY_OK);
    ck_assert_uint_eq(eddy_graph_find(f.graph, name), 0);
    free(name);
}
END_TEST

START_TEST(a_name_is_used_once)
{
    ck_assert_int_eq(add("a"), EDDY_OK);
    core_fixture_want(&f, add("a"), EDDY_INVALID_ARGUMENT,
                      EDDY_E_DUPLICATE_NODE);
    ck_assert_ptr_nonnull(strstr(f.err.message, "nodes 0 and 1"));
    ck_assert_uint_eq(eddy_graph_size(f.graph), 1);
}
END_TEST

START_TEST(a_name_is_made_from_the_op_and_avoids_others)
{
    ck_assert_int_eq(add("NoOp_1"), EDDY_OK);
    ck_assert_int_eq(add(NULL), EDDY_OK);
    ck_assert_int_eq(add(""), EDDY_OK);
    ck_assert_int_eq(add("NoOp_3"), EDDY_OK);
    ck_assert_int_eq(add(NULL), EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, 1), "NoOp");
    ck_assert_str_eq(eddy_graph_node_name(f.graph, 2), "NoOp_2");
    ck_assert_str_eq(eddy_graph_node_name(f.graph, 4), "NoOp_4");
}
END_TEST

START_TEST(a_made_name_drops_leading_underscores)
{
    const eddy_op_spec spec = {.size = sizeof spec, .name = "__Arg"};

    ck_assert_int_eq(
        eddy__registry_add(&f.ctx.registry, &spec, EDDY__ROLE_NONE, &f.err),
        EDDY_OK);
    ck_assert_int_eq(
        eddy_graph_add_op(f.graph, "__Arg", NULL, NULL, 0, NULL, &f.err),
        EDDY_OK);
    ck_assert_str_eq(eddy_graph_node_name(f.graph, 0), "Arg");
}
END_TEST

START_TEST(a_name_that_nobody_has_is_no_node)
{
    ck_assert_int_eq(add("ab"), EDDY_OK);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "a"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "abc"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(f.graph, ""), EDDY_NO_NODE);
}
END_TEST

/* ---- outputs ---- */

static void build_join(void)
{
    const eddy_output a = core_fixture_source(&f, "a", EDDY_FLOAT32);

    ck_assert_int_eq(eddy_graph_add_op(f.graph, "Join", "w/join",
                                       (eddy_output[]){a, a}, 2, NULL, &f.err),
                     EDDY_OK);
    ck_assert_int_eq(add("idle"), EDDY_OK);
}

static const struct {
    const char *text;
    eddy_node node;
    uint32_t index;
} outputs[] = {
    {"a", 0, 0},        {"a:0", 0, 0},        {"w/join", 1, 0},
    {"w/join:1", 1, 1}, {"w/join:001", 1, 1},
};

START_TEST(an_output_is_found_by_name_and_index)
{
    eddy_output out;

    build_join();
    ck_assert_int_eq(
        eddy_graph_find_output(f.graph, outputs[_i].text, &out, &f.err),
        EDDY_OK);
    ck_assert_uint_eq(out.node, outputs[_i].node);
    ck_assert_uint_eq(out.index, outputs[_i].index);
}
END_TEST

static const struct {
    const char *text;
    eddy_status code;
    eddy_detail detail;
} no_outputs[] = {
    {"a:1", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"w/join:2", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"idle", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:99", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:-1", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:+1", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a: 0", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:0x0", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:x", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:4294967296", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:18446744073709551616", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"a:36893488147419103232", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX},
    {"b:0", EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME},
    {"a:0:0", EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME},
    {"", EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME},
    {":0", EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME},
    {"^a", EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME},
};

START_TEST(an_output_that_is_not_there_is_refused)
{
    eddy_output out = {77, 78};

    build_join();
    core_fixture_want(
        &f, eddy_graph_find_output(f.graph, no_outputs[_i].text, &out, &f.err),
        no_outputs[_i].code, no_outputs[_i].detail);
    ck_assert_uint_eq(out.node, 77);
    ck_assert_uint_eq(out.index, 78);
}
END_TEST

/* ---- names that come close ---- */

static const struct {
    const char *asked, *closest;
} asked[] = {
    {"while/Exit_2", "while/Exit_1"},
    {"while/Exit1", "while/Exit"},
    {"whle/Exit_1", "while/Exit_1"},
    {"while/Exitt_1", "while/Exit_1"},
    {"outptu", "output"},
    {"utput", "output"},
    {"outputs", "output"},
    {"x", NULL},
    {"loss", NULL},
    {"something/else/entirely", NULL},
    {"", NULL},
};

START_TEST(the_closest_name_is_suggested)
{
    const char *found;
    eddy_output out;

    ck_assert_int_eq(add("output"), EDDY_OK);
    ck_assert_int_eq(add("while/Exit"), EDDY_OK);
    ck_assert_int_eq(add("while/Exit_1"), EDDY_OK);
    ck_assert_int_eq(add("y"), EDDY_OK);
    found =
        eddy__name_closest(f.graph, asked[_i].asked, strlen(asked[_i].asked));
    if (asked[_i].closest)
        ck_assert_str_eq(found, asked[_i].closest);
    else
        ck_assert_ptr_null(found);
    core_fixture_want(
        &f, eddy_graph_find_output(f.graph, asked[_i].asked, &out, &f.err),
        EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
    ck_assert_int_eq(strstr(f.err.message, "did you mean") != NULL,
                     asked[_i].closest != NULL);
}
END_TEST

/* Compares with a table of all distances that has no band and no limit. */
static size_t plain_distance(const char *a, const char *b)
{
    size_t row[32], n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[n];
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void random_word(uint32_t *state, char *word, size_t longest)
{
    size_t n = 1 + next_random(state) % longest;

    for (size_t i = 0; i < n; i++)
        word[i] = (char)('a' + next_random(state) % 2);
    word[n] = '\0';
}

START_TEST(closeness_is_the_edit_distance)
{
    uint32_t state = 12345;

    for (int i = 0; i < 300; i++) {
        char name[32];

        random_word(&state, name, 20);
        if (eddy_graph_find(f.graph, name) == EDDY_NO_NODE)
            ck_assert_int_eq(add(name), EDDY_OK);
    }
    for (int i = 0; i < 300; i++) {
        char name[32];
        const char *found;
        size_t least = 5, limit;

        random_word(&state, name, 20);
        limit = (strlen(name) + 1) / 3;
        for (eddy_node v = 0; v < eddy_graph_size(f.graph); v++) {
            size_t d = plain_distance(name, eddy_graph_node_name(f.graph, v));

            least = d < least ? d : least;
        }
        found = eddy__name_closest(f.graph, name, strlen(name));
        if (least > limit || least > 4)
            ck_assert_ptr_null(found);
        else if (least > 0)
            ck_assert_uint_eq(plain_distance(name, found), least);
    }
}
END_TEST

START_TEST(looking_for_a_close_name_in_a_large_graph_is_quick)
{
    const clock_t begin = clock();
    clock_t middle;
    char name[128];

    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "a/long/scope/of/a/large/model/node_%d", i);
        ck_assert_int_eq(add(name), EDDY_OK);
    }
    middle = clock();
    for (int i = 0; i < 30; i++)
        ck_assert_ptr_null(eddy__name_closest(
            f.graph, "a/long/scope/of/a/large/model/zzzzzzzzzz", 40));
    ck_assert_msg(clock() - middle < 8 * (middle - begin),
                  "the questions took far longer than the graph");
}
END_TEST

#define N(table) (int)(sizeof(table) / sizeof((table)[0]))

TCase *name_tests(void)
{
    TCase *tc = tcase_create("name");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, tensorflows_names_are_legal, 0, N(legal));
    tcase_add_loop_test(tc, other_names_are_refused, 0, N(illegal));
    tcase_add_test(tc, a_refused_name_is_escaped_in_the_error);
    tcase_add_test(tc, a_name_may_have_a_mebibyte_and_no_more);
    tcase_add_test(tc, a_name_is_used_once);
    tcase_add_test(tc, a_name_is_made_from_the_op_and_avoids_others);
    tcase_add_test(tc, a_made_name_drops_leading_underscores);
    tcase_add_test(tc, a_name_that_nobody_has_is_no_node);
    tcase_add_loop_test(tc, an_output_is_found_by_name_and_index, 0,
                        N(outputs));
    tcase_add_loop_test(tc, an_output_that_is_not_there_is_refused, 0,
                        N(no_outputs));
    tcase_add_loop_test(tc, the_closest_name_is_suggested, 0, N(asked));
    tcase_add_test(tc, closeness_is_the_edit_distance);
    tcase_add_test(tc, looking_for_a_close_name_in_a_large_graph_is_quick);
    return tc;
}

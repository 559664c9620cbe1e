/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every recorded graph: it loads, or is refused as TensorFlow refused it, and
 * comes back from its own bytes.
 */
#include "core/graph/graph.h"
#include "eddy/context.h"
#include "eddy/graphdef.h"
#include "tests/aid/graph_equal.h"
#include "tests/suites.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define CASES "tests/conformance/tf"

/* Found when the graph is loaded; all other mistakes come later. */
static const struct {
    const char *name;
    eddy_detail detail;
    const char *node;
} refused[] = {
    {"bad_attr_type", EDDY_E_ATTR_KIND, "a"},
    {"duplicate_node", EDDY_E_DUPLICATE_NODE, "a"},
    {"invalid_wire", EDDY_E_MALFORMED, ""},
    {"merge_no_inputs", EDDY_E_ATTR_VALUE, "m"},
    {"missing_attr", EDDY_E_ATTR_MISSING, "a"},
    {"missing_input_node", EDDY_E_UNKNOWN_INPUT, "a"},
    {"output_index", EDDY_E_OUTPUT_INDEX, "a"},
    {"too_few_inputs", EDDY_E_INPUT_COUNT, "a"},
    {"wrong_dtype_attr", EDDY_E_INPUT_DTYPE, "a"},
};

static const char *const groups[] = {
    "primitives", "cond",      "while",  "tensor_arrays",
    "functional", "gradients", "models", "programs",
    "errors",     "kernels",   "dtypes",
};

static eddy_context *ctx;
static eddy_error err;

static void setup(void)
{
    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
}

static void teardown(void)
{
    eddy_context_destroy(ctx);
}

static void round_trip(const char *name, const eddy_graph *graph)
{
    eddy_graph *again = NULL;
    void *bytes = NULL;
    size_t length = 0;

    ck_assert_msg(
        eddy_graphdef_write(graph, &bytes, &length, &err) == EDDY_OK &&
            eddy_graphdef_read(ctx, bytes, length, NULL, &again, &err) ==
                EDDY_OK,
        "%s: %s: %s", name, err.node, err.message);
    graph_want_equal(graph, again);
    eddy_graphdef_free(graph, bytes, length);
    eddy_graph_destroy(again);
}

/* All functions that TensorFlow wrote can be read. */
static void want_functions(const char *name, const eddy_graph *graph)
{
    for (size_t i = 0; i < graph->n_functions; i++)
        ck_assert_msg(graph->functions[i].problem == NULL, "%s: %s: %s", name,
                      graph->functions[i].name, graph->functions[i].problem);
}

static void try_case(const char *group, const char *name)
{
    char path[512];
    eddy_graph *graph = NULL;
    eddy_status status;

    snprintf(path, sizeof path, CASES "/%s/%s/graph.pb", group, name);
    status = eddy_graphdef_load(ctx, path, NULL, &graph, &err);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i].name, name) == 0) {
            ck_assert_msg(status == EDDY_INVALID_ARGUMENT &&
                              err.detail == refused[i].detail &&
                              strcmp(err.node, refused[i].node) == 0,
                          "%s: %s at '%s': %s", name,
                          eddy_detail_name(err.detail), err.node, err.message);
            return;
        }
    ck_assert_msg(status == EDDY_OK, "%s: %s at '%s': %s", name,
                  eddy_detail_name(err.detail), err.node, err.message);
    want_functions(name, graph);
    round_trip(name, graph);
    eddy_graph_destroy(graph);
}

START_TEST(loads_every_recorded_graph)
{
    char path[256];
    const struct dirent *entry;
    size_t n = 0;
    DIR *folder;

    snprintf(path, sizeof path, CASES "/%s", groups[_i]);
    folder = opendir(path);
    ck_assert_msg(folder != NULL, "%s is not there", path);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        try_case(groups[_i], entry->d_name);
        n++;
    }
    closedir(folder);
    ck_assert_uint_ge(n, 5);
}
END_TEST

TCase *graphdef_cases_tests(void)
{
    TCase *tc = tcase_create("graphdef_cases");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, loads_every_recorded_graph, 0,
                        (int)(sizeof groups / sizeof groups[0]));
    return tc;
}

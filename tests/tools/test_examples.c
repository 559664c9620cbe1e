/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every example runs, prints what it should, and saves a graph that can be
 * loaded if it takes the name of a file.
 */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include "eddy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRAPHS "tests/conformance/tf"

static const struct example {
    const char *name;
    bool saves; /* its last argument is a file to save a graph in */
    const char *arguments[4]; /* up to a NULL */
    const char *prints;       /* a part of what it prints */
} examples[] = {
    {"beam_search", false, {NULL}, "  -5.654  gram\n"},
    {"builder", true, {NULL}, "27: 111 steps"},
    {"caffe2", true, {NULL}, "h: 1 2.5 4.25 6.125\nlast: 6.125\n"},
    {"char_lstm", false, {NULL}, "step 199  loss 0.717\n"},
    {"char_lstm_ranks", true, {NULL}, "step  48    2.575    2.575    2.575\n"},
    {"cntk", true, {NULL}, "from the past 1 2.5 4.25 6.125\n"},
    {"data_parallel",
     true,
     {NULL},
     "1 ranks: 1.500000 -2.000000 0.250000\n"
     "4 ranks: 1.500000 -2.000000 0.250000\n"},
    {"demo", false, {NULL}, "v1 = 14, v2 = 14"},
    {"gradient", true, {NULL}, "1024\n3584\n10752\n"},
    {"life", false, {NULL}, "generation 32\n  . # . . . . . .\n"},
    {"load_graphdef",
     false,
     {"benchmarks/graphs/counter.pb", "while/Exit"},
     "100000"},
    {"lower_functions",
     true,
     {GRAPHS "/functional/if_in_function_in_while/graph.pb"},
     "NextIteration"},
    {"onnx_loop", true, {NULL}, "h: 1 2.5 4.25 6.125\nlast: 6.125\n"},
    {"tensorflow_loops",
     true,
     {NULL},
     "h: 1 2.5 4.25 6.125\nlast: 6.125\nsquares: 1 4 9 16\n"
     "while: 6.125\n"},
    {"mandelbrot", false, {NULL}, "186162 trips of the inner loop\n"},
    {"mxnet", true, {NULL}, "at once, h: 1 2.5 4.25 6.125\nlast: 6.125\n"},
    {"newton",
     false,
     {NULL},
     " 0.5  0.90      7  1.384413   1.20016   1.20016 "},
    {"nnc",
     true,
     {NULL},
     "is there another after 4?\nh: 1 2.5 4.25 6.125\nlast: 6.125\n"
     "d last / d decay: 5.75\n"},
    {"theano", true, {NULL}, "h: 1 2.5 4.25 6.125\nlast: 6.125\n"},
    {"train_loop",
     true,
     {NULL},
     "decay: 0.500000\nd decay / d target: 0.173913\n"},
    {"train_variable", false, {NULL}, "largest eigenvalue 4.7321"},
    {"unroll", true, {NULL}, "no loop, n = 4: h = 6.125, 0 iterations\n"},
    {"wavefront",
     false,
     {NULL},
     "h of layer 3: 0.475273 -0.600039 0.745576 ...\n"
     "on four ranks: 64 of 64 the same\n"},
    {"while_loop", false, {NULL}, "1 + ... + 100 = 5050"},
};

#define N_EXAMPLES (sizeof examples / sizeof examples[0])

static command_result run(const struct example *e, const char *path)
{
    const char *a[5] = {NULL};
    size_t n = 0;

    while (e->arguments[n]) {
        a[n] = e->arguments[n];
        n++;
    }
    a[n] = path;
    return command_run_example(e->name, a[0], a[1], a[2], a[3], NULL);
}

static void want_graph(const char *path)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_graph *graph = NULL;
    eddy_context *ctx = NULL;

    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
    ck_assert_msg(eddy_graphdef_load(ctx, path, NULL, &graph, &err) == EDDY_OK,
                  "%s", err.message);
    ck_assert_uint_gt(eddy_graph_size(graph), 0);
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
}

START_TEST(an_example_does_what_it_says)
{
    const struct example *e = &examples[_i];
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    command_result result;

    scratch_folder_create(folder);
    snprintf(path, sizeof path, "%s/saved.pb", folder);
    result = run(e, e->saves ? path : NULL);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", e->name,
                  result.status, result.err);
    ck_assert_msg(strstr(result.out, e->prints) != NULL, "%s printed: %s",
                  e->name, result.out);
    if (e->saves)
        want_graph(path);
    command_result_free(&result);
    scratch_folder_remove(folder);
}
END_TEST

static bool is_listed(const char *file)
{
    const size_t length = strlen(file) - strlen(".c");

    for (size_t i = 0; i < N_EXAMPLES; i++)
        if (strlen(examples[i].name) == length &&
            strncmp(examples[i].name, file, length) == 0)
            return true;
    return false;
}

START_TEST(every_example_is_run)
{
    DIR *folder = opendir("examples");
    struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');

        if (!dot || strcmp(dot, ".c") != 0)
            continue;
        ck_assert_msg(is_listed(entry->d_name), "nobody runs examples/%s",
                      entry->d_name);
        n++;
    }
    closedir(folder);
    ck_assert_uint_eq(n, N_EXAMPLES);
}
END_TEST

TCase *examples_tests(void)
{
    TCase *tc = tcase_create("examples");

    tcase_add_loop_test(tc, an_example_does_what_it_says, 0, (int)N_EXAMPLES);
    tcase_add_test(tc, every_example_is_run);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a line for each way to rewrite a graph without running it: how long
 * the GraphDef is that comes of it and a hash of its bytes, or the error.  For
 * scripts/compare_builds.sh, which runs it with the library of each build.
 *
 *     usage: rewrites GRAPH.pb
 */
#include "eddy.h"

#include <inttypes.h>
#include <stdio.h>

/* FNV-1a. */
static uint64_t hash(const unsigned char *bytes, size_t n)
{
    uint64_t value = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < n; i++)
        value = (value ^ bytes[i]) * UINT64_C(1099511628211);
    return value;
}

static void report(const char *what, eddy_status status, const eddy_error *err)
{
    if (status != EDDY_OK)
        printf("%s: %d.%d at '%s': %s\n", what, (int)status, (int)err->detail,
               err->node, err->message);
}

/* The graph as it is saved. */
static void save(const char *what, const eddy_graph *graph)
{
    eddy_error err = {.code = EDDY_OK};
    void *bytes = NULL;
    size_t length = 0;
    const eddy_status status =
        eddy_graphdef_write(graph, &bytes, &length, &err);

    report(what, status, &err);
    if (status != EDDY_OK)
        return;
    printf("%s: %zu bytes, %016" PRIx64 "\n", what, length,
           hash(bytes, length));
    eddy_graphdef_free(graph, bytes, length);
}

static void lower(const eddy_graph *graph)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_graph *made = NULL;
    const eddy_status status = eddy_graph_lower(graph, NULL, &made, &err);

    report("lower", status, &err);
    if (status == EDDY_OK)
        save("lower", made);
    eddy_graph_destroy(made);
}

static void unroll(const eddy_graph *graph, uint64_t trips, bool reassociates)
{
    const eddy_unroll_options options = {.size = sizeof options,
                                         .trips = trips,
                                         .max_nodes = 20000,
                                         .reassociate_gradients = reassociates};
    eddy_error err = {.code = EDDY_OK};
    eddy_graph *made = NULL;
    eddy_status status;
    char what[64];

    (void)snprintf(what, sizeof what, "unroll by %d%s", (int)trips,
                   reassociates ? ", sums in any order" : "");
    status = eddy_graph_unroll(graph, &options, &made, &err);
    report(what, status, &err);
    if (status == EDDY_OK)
        save(what, made);
    eddy_graph_destroy(made);
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_graph *graph = NULL;
    eddy_status status;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: rewrites GRAPH.pb\n");
        return 2;
    }
    status = eddy_context_create(NULL, &ctx, &err);
    if (status == EDDY_OK)
        status = eddy_graphdef_load(ctx, argv[1], NULL, &graph, &err);
    report("load", status, &err);
    if (status == EDDY_OK) {
        save("save", graph);
        lower(graph);
        unroll(graph, 0, false);
        unroll(graph, 2, false);
        unroll(graph, 3, true);
    }
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
    return status != EDDY_OK;
}

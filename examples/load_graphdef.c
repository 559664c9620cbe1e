/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a TensorFlow GraphDef, feeds one of its placeholders a vector of
 * numbers or a scalar, and prints what it fetches:
 *
 *   cc load_graphdef.c $(pkg-config --cflags --libs eddy) -o load_graphdef
 *   ./load_graphdef counter.pb while/Exit
 *   ./load_graphdef model.pb y x 1 2.5 3
 *
 * A graph from a file can be anything, so it runs within limits.
 */
#include <eddy.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Everything between the file and the result. */
typedef struct program {
    eddy_context *ctx;
    eddy_graph *graph;
    eddy_plan *plan;
    eddy_run *run;
    eddy_tensor *feed; /* NULL if nothing is fed */
    eddy_error err;
} program;

/* A float32 tensor of the numbers: a scalar if there is one. */
static eddy_status make_feed(program *p, char *const *numbers, int n)
{
    const eddy_shape shape = {.rank = n == 1 ? 0 : 1, .dims = {n}};
    eddy_status status =
        eddy_tensor_create(p->ctx, EDDY_FLOAT32, &shape, &p->feed, &p->err);
    float *elements;

    if (status != EDDY_OK)
        return status;
    elements = eddy_tensor_mutable_data(p->feed);
    for (int i = 0; i < n; i++)
        elements[i] = strtof(numbers[i], NULL);
    return EDDY_OK;
}

/* Compiles the graph for this fetch and, if there is one, this feed. */
static eddy_status make_plan(program *p, const char *fetch, const char *feed)
{
    eddy_output from = {0, 0}, to = {0, 0};
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = &to,
        .n_feeds = feed != NULL ? 1 : 0,
        .fetches = &from,
        .n_fetches = 1,
    };
    eddy_status status =
        eddy_graph_find_output(p->graph, fetch, &from, &p->err);

    if (status == EDDY_OK && feed != NULL)
        status = eddy_graph_find_output(p->graph, feed, &to, &p->err);
    if (status == EDDY_OK)
        status = eddy_plan_create(p->graph, &options, &p->plan, &p->err);
    return status;
}

static eddy_status execute(program *p)
{
    eddy_run_options options = {.size = sizeof options};
    eddy_status status;

    eddy_run_options_untrusted(&options);
    status = eddy_run_create(p->plan, &options, &p->run, &p->err);
    if (status == EDDY_OK && p->feed != NULL)
        status = eddy_run_feed(p->run, 0, p->feed, &p->err);
    if (status == EDDY_OK)
        status = eddy_run_execute(p->run, &p->err);
    return status;
}

static void print_result(const eddy_tensor *tensor)
{
    const void *data = eddy_tensor_data(tensor);

    printf("%s:", eddy_dtype_name(eddy_tensor_dtype(tensor)));
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++) {
        switch (eddy_tensor_dtype(tensor)) {
        case EDDY_FLOAT32:
            printf(" %g", (double)((const float *)data)[i]);
            break;
        case EDDY_FLOAT64:
            printf(" %g", ((const double *)data)[i]);
            break;
        case EDDY_INT32:
            printf(" %" PRId32, ((const int32_t *)data)[i]);
            break;
        case EDDY_INT64:
            printf(" %" PRId64, ((const int64_t *)data)[i]);
            break;
        case EDDY_BOOL:
            printf(((const unsigned char *)data)[i] ? " true" : " false");
            break;
        default:
            printf(" ?");
        }
    }
    printf("\n");
}

static void print_counts(const eddy_run *run)
{
    const eddy_stats stats = eddy_run_stats(run);

    printf("%" PRIu64 " iterations, %" PRIu64 " nodes ran, %" PRIu64
           " were dead, %" PRIu64 " bytes at the most\n",
           stats.iterations, stats.live_executions, stats.dead_executions,
           stats.peak_bytes);
}

static eddy_status load_and_run(program *p, int argc, char **argv)
{
    eddy_status status = eddy_context_create(NULL, &p->ctx, &p->err);

    if (status == EDDY_OK)
        status = eddy_graphdef_load(p->ctx, argv[1], NULL, &p->graph, &p->err);
    if (status == EDDY_OK && argc > 4)
        status = make_feed(p, argv + 4, argc - 4);
    if (status == EDDY_OK)
        status = make_plan(p, argv[2], argc > 4 ? argv[3] : NULL);
    if (status == EDDY_OK)
        status = execute(p);
    if (status != EDDY_OK)
        return status;
    print_result(eddy_run_fetch(p->run, 0));
    print_counts(p->run);
    return EDDY_OK;
}

int main(int argc, char **argv)
{
    program p = {.ctx = NULL};
    eddy_status status;

    if (argc != 3 && argc < 5) {
        fprintf(stderr, "usage: %s GRAPH FETCH [FEED NUMBER...]\n", argv[0]);
        return 2;
    }
    status = load_and_run(&p, argc, argv);
    if (status != EDDY_OK) {
        char line[1024];

        eddy_error_format(&p.err, line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
    eddy_run_destroy(p.run);
    eddy_plan_release(p.plan);
    eddy_graph_destroy(p.graph);
    eddy_tensor_release(p.feed);
    eddy_context_destroy(p.ctx);
    return status == EDDY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorder costs: the recorded graphs by the dynamic executor and by the
 * linear one, with a recorder and without, as every node stands in the graph;
 * and by the fastest executor there is.  Nanoseconds a node, of the thread's
 * processor time, least of all executions.
 */
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/suite.h"
#include "benchmarks/table.h"

#include "eddy/trace.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIES 20
#define RING 20000

static const column columns[] = {
    {"nodes", "nodes", "nodes", 8, 0},
    {"best ns", "best", "ns", 8, 2},
    {"off ns", "off", "ns", 8, 2},
    {"tokens ns", "tokens", "ns", 9, 2},
    {"values ns", "values", "ns", 9, 2},
    {"ring ns", "ring", "ns", 8, 2},
    {"first ns", "first", "ns", 8, 2},
    {"values/off", "ratio", "values/off", 10, 2},
    {"first/off", "first_ratio", "first/off", 9, 2},
    {"linear ns", "linear", "ns", 9, 2},
    {"its tokens", "linear_tokens", "ns", 10, 2},
    {"its values", "linear_values", "ns", 10, 2},
    {"values/off", "linear_ratio", "its values/linear", 10, 2},
    {"of dynamic", "linear_of_dynamic", "its values/values", 10, 2},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* A way to run a graph; `how` is NULL where nobody records. */
typedef struct way {
    eddy_plan_executor executor;
    const eddy_trace_options *how;
} way;

typedef struct times {
    double first_ns, least_ns; /* a node */
    double n_nodes;
} times;

static eddy_status run_often(eddy_run *run, times *out, eddy_error *err)
{
    eddy_stats stats;

    *out = (times){.first_ns = 0};
    for (int i = 0; i < TRIES; i++) {
        const uint64_t begin = thread_cpu_ns();
        const eddy_status status = eddy_run_execute(run, err);
        const double ns = (double)(thread_cpu_ns() - begin);

        if (status != EDDY_OK)
            return status;
        out->first_ns = i == 0 ? ns : out->first_ns;
        out->least_ns = i == 0 || ns < out->least_ns ? ns : out->least_ns;
    }
    stats = eddy_run_stats(run);
    out->n_nodes = (double)(stats.live_executions + stats.dead_executions);
    out->first_ns /= out->n_nodes;
    out->least_ns /= out->n_nodes;
    return EDDY_OK;
}

static eddy_status measure(const recording *r, const way *w, times *out,
                           eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .fetches = r->fetches,
        .n_fetches = r->n_fetches,
        .optimize = EDDY_OPTIMIZE_NONE,
        .executor = w->executor,
    };
    eddy_run_options how = {.size = sizeof how};
    eddy_plan *plan = NULL;
    eddy_trace *trace = NULL;
    eddy_run *run = NULL;
    eddy_status status = eddy_plan_create(r->graph, &options, &plan, err);

    if (status == EDDY_OK && w->how)
        status = eddy_trace_create(plan, w->how, &trace, err);
    how.recorder = trace;
    if (status == EDDY_OK)
        status = eddy_run_create(plan, &how, &run, err);
    if (status == EDDY_OK)
        status = run_often(run, out, err);
    eddy_run_destroy(run);
    eddy_trace_destroy(trace);
    eddy_plan_release(plan);
    return status;
}

static eddy_status measure_all(const recording *r, double *row, eddy_error *err)
{
    const eddy_trace_options tokens = {.size = sizeof tokens,
                                       .max_records = 4000000};
    const eddy_trace_options values = {
        .size = sizeof values, .max_records = 4000000, .values = true};
    const eddy_trace_options ring = {.size = sizeof ring,
                                     .max_records = RING,
                                     .keep_last = true,
                                     .values = true};
    const way ways[] = {
        {EDDY_EXECUTOR_AUTO, NULL},       {EDDY_EXECUTOR_DYNAMIC, NULL},
        {EDDY_EXECUTOR_DYNAMIC, &tokens}, {EDDY_EXECUTOR_DYNAMIC, &values},
        {EDDY_EXECUTOR_DYNAMIC, &ring},   {EDDY_EXECUTOR_LINEAR, NULL},
        {EDDY_EXECUTOR_LINEAR, &tokens},  {EDDY_EXECUTOR_LINEAR, &values}};
    times t[sizeof ways / sizeof ways[0]];

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const eddy_status status = measure(r, &ways[i], &t[i], err);

        if (status != EDDY_OK)
            return status;
        row[i < 5 ? 1 + i : 4 + i] = t[i].least_ns;
    }
    row[0] = t[1].n_nodes;
    row[6] = t[3].first_ns;
    row[7] = t[3].least_ns / t[1].least_ns;
    row[8] = t[3].first_ns / t[1].least_ns;
    row[12] = t[7].least_ns / t[5].least_ns;
    row[13] = t[7].least_ns / t[3].least_ns;
    return EDDY_OK;
}

static bool measure_graph(bench_options *o, const table *t, eddy_context *ctx,
                          const char *name, const json_t *entry)
{
    eddy_error err = {.code = EDDY_OK};
    double row[N_COLUMNS];
    recording r;
    bool is_good;

    if (!options_want(o, name))
        return true;
    if (recording_load(&r, ctx, o->graphs, name, entry, &err) != EDDY_OK) {
        complain(name, &err);
        return false;
    }
    is_good = measure_all(&r, row, &err) == EDDY_OK;
    if (is_good)
        table_row(t, name, row);
    else
        table_refusal(t, name, &err);
    recording_deinit(&r);
    return is_good;
}

int main(int argc, char **argv)
{
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bool is_good = true;
    const char *name;
    bench_options o;
    json_t *list, *entry;

    options_parse(&o, argc, argv, "What recording a run costs.");
    t.is_tsv = o.is_tsv;
    list = suite_read(o.graphs);
    if (!list)
        return EXIT_FAILURE;
    if (eddy_context_create(NULL, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        json_decref(list);
        return EXIT_FAILURE;
    }
    table_begin(&t, "What recording a run costs");
    json_object_foreach(list, name, entry) is_good =
        measure_graph(&o, &t, ctx, name, entry) && is_good;
    eddy_context_destroy(ctx);
    json_decref(list);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

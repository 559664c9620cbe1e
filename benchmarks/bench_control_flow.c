/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches, on one thread: the recorded graphs, and the same kinds of
 * loop at other depths, trip counts and numbers of variables.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/suite.h"
#include "benchmarks/table.h"

#include "eddy/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REPEATS 7

/* X(member, title, unit, width, decimals): the columns, in this order. */
#define COLUMN_MAP(X)                                                          \
    X(depth, "depth", "levels", 5, 0)                                          \
    X(trips, "trips", "trips", 7, 0)                                           \
    X(variables, "vars", "variables", 4, 0)                                    \
    X(ns_iteration, "ns/trip", "ns", 8, 1)                                     \
    X(cpu_ns_iteration, "cpu", "ns", 8, 1)                                     \
    X(ns_node, "ns/node", "ns", 7, 1)                                          \
    X(live, "live", "nodes", 8, 0)                                             \
    X(dead, "dead", "nodes", 7, 0)                                             \
    X(allocations, "allocs", "calls", 6, 0)                                    \
    X(peak_bytes, "peak bytes", "bytes", 10, 0)                                \
    X(limit, "limit", "ns", 5, 0)                                              \
    X(ratio, "ratio", "measured/limit", 5, 2)                                  \
    X(cpu_ratio, "cpu/l.", "cpu/limit", 6, 2)

typedef struct row {
#define X(member, title, unit, width, decimals) double member;
    COLUMN_MAP(X)
#undef X
} row;

static const column columns[] = {
#define X(member, title, unit, width, decimals)                                \
    {title, #member, unit, width, decimals},
    COLUMN_MAP(X)
#undef X
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* What issue 3 allows the dynamic executor for one iteration. */
static const struct {
    const char *name;
    double ns;
} limits[] = {
    {"counter", 110},
    {"nested2", 160},
    {"cond_in_loop", 350},
};

/* A program to measure, and what its fetches must be if that is known. */
typedef struct program {
    const char *name;
    const eddy_graph *graph;
    const eddy_output *fetches;
    size_t n_fetches;
    uint64_t iterations; /* of the innermost body, in one execution */
    bool is_checked;
    int32_t last_count;                    /* fetch 0 */
    float last_floats[LOOP_MAX_VARIABLES]; /* fetch i, from 1 */
} program;

typedef struct bench_state {
    bench_options *options;
    const table *table;
    eddy_context *ctx;
    bool has_failed;
} bench_state;

/* ---- one program ---- */

static double find_limit(const char *name)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strcmp(limits[i].name, name) == 0)
            return limits[i].ns;
    return (double)NAN;
}

/* The deepest frames, and the most variables that one of them has. */
static eddy_status look_at_loops(const eddy_graph *graph, row *r,
                                 eddy_error *err)
{
    eddy_analysis *analysis = NULL;
    eddy_status status = eddy_analysis_create(graph, &analysis, err);

    if (status != EDDY_OK)
        return status;
    for (size_t i = 0; i < eddy_analysis_frames(analysis); i++) {
        const eddy_frame *frame = eddy_analysis_frame(analysis, i);
        const double depth = frame->depth;
        const double n = (double)frame->n_variables;

        if (depth > r->depth || (depth >= r->depth && n > r->variables))
            r->variables = n;
        if (depth > r->depth)
            r->depth = depth;
    }
    eddy_analysis_destroy(analysis);
    return EDDY_OK;
}

static eddy_status check_values(const program *p, const eddy_run *run,
                                eddy_error *err)
{
    const int32_t *count = eddy_tensor_data(eddy_run_fetch(run, 0));
    bool is_right = *count == p->last_count;

    for (size_t i = 1; i < p->n_fetches; i++) {
        const float *x = eddy_tensor_data(eddy_run_fetch(run, i));

        is_right = is_right && *x == p->last_floats[i];
    }
    if (is_right)
        return EDDY_OK;
    *err = (eddy_error){.code = EDDY_INTERNAL};
    snprintf(err->message, sizeof err->message, "the fetched values are wrong");
    return err->code;
}

static void fill_row(row *r, const program *p, const timing *t,
                     const eddy_run *run)
{
    const eddy_stats stats = eddy_run_stats(run);
    const double trips = (double)p->iterations;
    const double nodes =
        (double)(stats.live_executions + stats.dead_executions);

    r->trips = trips;
    r->ns_iteration = (double)t->median_ns / trips;
    r->cpu_ns_iteration = (double)t->cpu_ns / trips;
    r->ns_node = (double)t->median_ns / nodes;
    r->live = (double)stats.live_executions;
    r->dead = (double)stats.dead_executions;
    r->allocations = (double)stats.allocations;
    r->peak_bytes = (double)stats.peak_bytes;
    r->limit = find_limit(p->name);
    r->ratio = r->ns_iteration / r->limit;
    r->cpu_ratio = r->cpu_ns_iteration / r->limit;
}

static eddy_status execute(const program *p, row *r, eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .fetches = p->fetches,
        .n_fetches = p->n_fetches,
    };
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    timing t;
    eddy_status status = eddy_plan_create(p->graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, err);
    if (status == EDDY_OK)
        status = measure_run(run, LEAST_REPEATS, &t, err);
    if (status == EDDY_OK && p->is_checked)
        status = check_values(p, run, err);
    if (status == EDDY_OK)
        fill_row(r, p, &t, run);
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    return status;
}

/* An op that eddy lacks is no failure: the table shows it. */
static void refuse(bench_state *bench, const char *name, const eddy_error *err)
{
    table_refusal(bench->table, name, err);
    if (err->detail != EDDY_E_UNKNOWN_OP && err->detail != EDDY_E_NO_KERNEL)
        bench->has_failed = true;
}

static void measure(bench_state *bench, const program *p)
{
    eddy_error err = {.code = EDDY_OK};
    double values[N_COLUMNS];
    row r = {.depth = 0};
    size_t n = 0;
    eddy_status status = look_at_loops(p->graph, &r, &err);

    if (status == EDDY_OK)
        status = execute(p, &r, &err);
    if (status != EDDY_OK) {
        refuse(bench, p->name, &err);
        return;
    }
#define X(member, title, unit, width, decimals) values[n++] = r.member;
    COLUMN_MAP(X)
#undef X
    table_row(bench->table, p->name, values);
}

/* ---- the recorded graphs ---- */

static void measure_recording(bench_state *bench, const char *name,
                              const json_t *entry)
{
    eddy_error err = {.code = EDDY_OK};
    recording r;
    eddy_status status = recording_load(&r, bench->ctx, bench->options->graphs,
                                        name, entry, &err);

    if (status == EDDY_OK)
        measure(bench, &(program){.name = name,
                                  .graph = r.graph,
                                  .fetches = r.fetches,
                                  .n_fetches = r.n_fetches,
                                  .iterations = r.iterations});
    else
        refuse(bench, name, &err);
    recording_deinit(&r);
}

static void measure_recordings(bench_state *bench)
{
    json_t *listing = suite_read(bench->options->graphs);
    json_t *entry;
    const char *name;

    if (listing == NULL)
        bench->has_failed = true;
    json_object_foreach(listing, name,
                        entry) if (options_want(bench->options, name))
        measure_recording(bench, name, entry);
    json_decref(listing);
}

/* ---- loops of other sizes ---- */

static uint64_t count_trips(const nest *shape)
{
    uint64_t trips = 1;

    for (uint32_t i = 0; i < shape->depth; i++)
        trips *= (uint64_t)shape->trips;
    return trips;
}

static void measure_nest(bench_state *bench, const nest *shape)
{
    eddy_output fetches[LOOP_MAX_VARIABLES];
    program p = {.fetches = fetches,
                 .n_fetches = shape->variables,
                 .iterations = count_trips(shape),
                 .is_checked = true,
                 .last_count = shape->trips};
    char name[64];
    builder b;

    snprintf(name, sizeof name, "depth%u_trips%d_vars%u", shape->depth,
             shape->trips, shape->variables);
    if (!options_want(bench->options, name))
        return;
    for (uint32_t i = 1; i < shape->variables; i++)
        p.last_floats[i] = nest_step(i) * (float)p.iterations;
    p.name = name;
    builder_init(&b, bench->ctx);
    nest_build(&b, shape, fetches);
    p.graph = b.e.graph;
    if (b.e.status == EDDY_OK)
        measure(bench, &p);
    else
        refuse(bench, name, &b.err);
    builder_deinit(&b);
}

/* About 10,000 trips of the innermost body at every depth. */
static void measure_nests(bench_state *bench)
{
    static const nest shapes[] = {
        {1, 10000, 2}, {2, 100, 2},   {3, 22, 2},   {4, 10, 2},
        {1, 10, 2},    {1, 100, 2},   {1, 1000, 2}, {1, 100000, 2},
        {1, 1000, 1},  {1, 1000, 4},  {1, 1000, 8}, {1, 1000, 16},
        {1, 1000, 32}, {1, 1000, 64},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        measure_nest(bench, &shapes[i]);
}

static float cond_result(int32_t trips)
{
    float x = 0;

    for (int32_t i = 0; i < trips; i++)
        x = i % 2 == 0 ? x + 1 : x * 0.5F;
    return x;
}

static void measure_cond(bench_state *bench, int32_t trips)
{
    eddy_output fetches[2];
    char name[64];
    program p = {.name = name,
                 .fetches = fetches,
                 .n_fetches = 2,
                 .iterations = (uint64_t)trips,
                 .is_checked = true,
                 .last_count = trips,
                 .last_floats = {0, cond_result(trips)}};
    builder b;

    snprintf(name, sizeof name, "cond_trips%d", trips);
    if (!options_want(bench->options, name))
        return;
    builder_init(&b, bench->ctx);
    cond_in_loop_build(&b, trips, fetches);
    p.graph = b.e.graph;
    if (b.e.status == EDDY_OK)
        measure(bench, &p);
    else
        refuse(bench, name, &b.err);
    builder_deinit(&b);
}

int main(int argc, char **argv)
{
    static const int32_t cond_trips[] = {10, 1000, 30000};
    eddy_error err = {.code = EDDY_OK};
    bench_options o;
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bench_state bench = {.options = &o, .table = &t};

    options_parse(&o, argc, argv, "Loops and branches on one thread.");
    t.is_tsv = o.is_tsv;
    if (eddy_context_create(NULL, &bench.ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "Loops and branches: one thread, medians");
    measure_recordings(&bench);
    measure_nests(&bench);
    for (size_t i = 0; i < sizeof cond_trips / sizeof cond_trips[0]; i++)
        measure_cond(&bench, cond_trips[i]);
    eddy_context_destroy(bench.ctx);
    return bench.has_failed || !options_found(&o) ? EXIT_FAILURE : EXIT_SUCCESS;
}

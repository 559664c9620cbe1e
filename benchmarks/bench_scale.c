/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are large: a chain of a million nodes, a thousand loops one in
 * the other, and ten million iterations of one.
 */
#include "benchmarks/account.h"
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS 5
#define CHAIN_NODES 1000000
#define NEST_FRAMES 1000
#define WARM_UP_TRIPS 1000
#define TRIPS 10000000

/* What issue 3 allows. */
#define LIMIT_CHAIN_MS 5000.0 /* to plan the chain and run it once */
#define LIMIT_NODE_BYTES 1024.0
#define LIMIT_GROWTH_KIB 1024.0

static const column graph_columns[] = {
    {"nodes", "nodes", "nodes", 8, 0},
    {"frames", "frames", "frames", 7, 0},
    {"build", "build", "ms", 7, 1},
    {"plan", "plan", "ms", 7, 1},
    {"first", "first_run", "ms", 7, 1},
    {"again", "run", "ms", 7, 1},
    {"sum/limit", "time_ratio", "measured/limit", 9, 2},
    {"graph B", "graph_bytes", "bytes a node", 8, 0},
    {"plan B", "plan_bytes", "bytes a node", 8, 0},
    {"run B", "run_bytes", "bytes a node", 8, 0},
    {"peak B", "peak_bytes", "bytes a node", 8, 0},
    {"peak/limit", "bytes_ratio", "measured/limit", 10, 2},
};

#define N_GRAPH_COLUMNS (sizeof graph_columns / sizeof graph_columns[0])

static const column growth_columns[] = {
    {"trips", "trips", "trips", 9, 0},
    {"ns/trip", "ns_iteration", "ns", 8, 1},
    {"run bytes", "peak_bytes", "bytes", 10, 0},
    {"growth KiB", "growth", "KiB", 10, 0},
    {"limit KiB", "limit", "KiB", 9, 0},
    {"ratio", "ratio", "measured/limit", 6, 3},
};

#define N_GROWTH_COLUMNS (sizeof growth_columns / sizeof growth_columns[0])

typedef struct bench_state {
    bench_options *options;
    account account;
    eddy_context *ctx;
} bench_state;

/* A graph that is large, and the one float32 that comes out of it. */
typedef struct large {
    const char *name;
    /* `*out_feed` stays EDDY_NO_NODE where nothing is fed. */
    void (*build)(builder *b, eddy_output *out_feed, eddy_output *out_fetch);
    float result;
    double limit_ms, limit_bytes; /* NAN: none */
} large;

/* One such graph, from its first node to its last run: ns and bytes. */
typedef struct life {
    uint64_t build_ns, plan_ns, first_ns, again_ns;
    size_t n_nodes;
    uint64_t n_frames; /* entered in one execution */
    size_t graph_bytes, plan_bytes, run_bytes, peak_bytes;
} life;

static eddy_status fail(eddy_error *err, const char *message)
{
    *err = (eddy_error){.code = EDDY_INTERNAL};
    snprintf(err->message, sizeof err->message, "%s", message);
    return err->code;
}

/* ---- the graphs ---- */

/* What is fed is no constant, so nobody computes the chain ahead. */
static void build_chain(builder *b, eddy_output *out_feed,
                        eddy_output *out_fetch)
{
    const eddy_output one = builder_float(b, 1, EDDY_NO_NODE);
    eddy_output x = builder_feed(b, EDDY_FLOAT32);

    *out_feed = x;
    for (uint32_t i = 2; i < CHAIN_NODES; i++)
        x = eddy_emit_binary(&b->e, "AddV2", x, one);
    *out_fetch = x;
}

static void build_nest(builder *b, eddy_output *out_feed,
                       eddy_output *out_fetch)
{
    const nest shape = {.depth = NEST_FRAMES, .trips = 1, .variables = 2};
    eddy_output exits[2] = {{0, 0}, {0, 0}};

    (void)out_feed;
    nest_build(b, &shape, exits);
    *out_fetch = exits[1];
}

/* ---- a life ---- */

static eddy_status make_plan(const builder *b, eddy_output feed,
                             eddy_output fetch, eddy_plan **out_plan,
                             eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = &feed,
        .n_feeds = feed.node == EDDY_NO_NODE ? 0 : 1,
        .fetches = &fetch,
        .n_fetches = 1,
    };

    return eddy_plan_create(b->e.graph, &options, out_plan, err);
}

/* Binds feed 0 to a scalar with a copy of `value`. */
static eddy_status bind_scalar(bench_state *bench, eddy_run *run,
                               eddy_dtype dtype, const void *value,
                               eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = NULL;
    eddy_status status =
        eddy_tensor_create(bench->ctx, dtype, &scalar, &tensor, err);

    if (status != EDDY_OK)
        return status;
    memcpy(eddy_tensor_mutable_data(tensor), value, eddy_dtype_size(dtype));
    status = eddy_run_feed(run, 0, tensor, err);
    eddy_tensor_release(tensor);
    return status;
}

/* Executes once to warm up and once more, both timed. */
static eddy_status execute_twice(const large *l, eddy_run *run, life *out,
                                 eddy_error *err)
{
    const uint64_t begin = clock_ns();
    eddy_status status = eddy_run_execute(run, err);
    const uint64_t middle = clock_ns();
    const float *value;

    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    out->first_ns = middle - begin;
    out->again_ns = clock_ns() - middle;
    if (status != EDDY_OK)
        return status;
    out->n_frames = eddy_run_stats(run).frames;
    value = eddy_tensor_data(eddy_run_fetch(run, 0));
    if (*value != l->result)
        return fail(err, "the fetched value is wrong");
    return EDDY_OK;
}

static eddy_status run_plan(bench_state *bench, const large *l, eddy_plan *plan,
                            bool is_fed, life *out, eddy_error *err)
{
    const size_t before = account_live(&bench->account);
    const float zero = 0;
    eddy_run *run = NULL;
    eddy_status status = eddy_run_create(plan, NULL, &run, err);

    if (status == EDDY_OK && is_fed)
        status = bind_scalar(bench, run, EDDY_FLOAT32, &zero, err);
    if (status == EDDY_OK)
        status = execute_twice(l, run, out, err);
    out->run_bytes = account_live(&bench->account) - before;
    eddy_run_destroy(run);
    return status;
}

/* From no graph at all to the second execution of its plan. */
static eddy_status live(bench_state *bench, const large *l, life *out,
                        eddy_error *err)
{
    eddy_output feed = {EDDY_NO_NODE, 0}, fetch = {0, 0};
    const size_t before = account_live(&bench->account);
    const uint64_t begin = clock_ns();
    eddy_plan *plan = NULL;
    eddy_status status;
    uint64_t built;
    builder b;

    account_restart(&bench->account);
    builder_init(&b, bench->ctx);
    l->build(&b, &feed, &fetch);
    status = b.e.status;
    *err = b.err;
    built = clock_ns();
    out->graph_bytes = account_live(&bench->account) - before;
    if (status == EDDY_OK)
        status = make_plan(&b, feed, fetch, &plan, err);
    out->build_ns = built - begin;
    out->plan_ns = clock_ns() - built;
    out->plan_bytes = account_live(&bench->account) - before - out->graph_bytes;
    if (status == EDDY_OK) {
        out->n_nodes = eddy_plan_nodes(plan);
        status = run_plan(bench, l, plan, feed.node != EDDY_NO_NODE, out, err);
    }
    out->peak_bytes = account_peak(&bench->account) - before;
    eddy_plan_release(plan);
    builder_deinit(&b);
    return status;
}

/* ---- the rows ---- */

/* Sorts the times of the lives, each on its own. */
static life summarise(const life *lives)
{
    uint64_t build[REPEATS], plan[REPEATS], first[REPEATS], again[REPEATS];
    life middle = lives[0];

    for (size_t i = 0; i < REPEATS; i++) {
        build[i] = lives[i].build_ns;
        plan[i] = lives[i].plan_ns;
        first[i] = lives[i].first_ns;
        again[i] = lives[i].again_ns;
    }
    middle.build_ns = percentile(build, REPEATS, 50);
    middle.plan_ns = percentile(plan, REPEATS, 50);
    middle.first_ns = percentile(first, REPEATS, 50);
    middle.again_ns = percentile(again, REPEATS, 50);
    return middle;
}

static void print_life(const table *t, const large *l, const life *m)
{
    const double nodes = (double)m->n_nodes;
    const double plan = (double)m->plan_ns / 1e6;
    const double first = (double)m->first_ns / 1e6;
    const double peak = (double)m->peak_bytes / nodes;

    table_row(t, l->name,
              (const double[N_GRAPH_COLUMNS]){
                  nodes, (double)m->n_frames, (double)m->build_ns / 1e6, plan,
                  first, (double)m->again_ns / 1e6,
                  (plan + first) / l->limit_ms, (double)m->graph_bytes / nodes,
                  (double)m->plan_bytes / nodes, (double)m->run_bytes / nodes,
                  peak, peak / l->limit_bytes});
}

static bool measure_large(bench_state *bench, const table *t, const large *l)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_status status = EDDY_OK;
    life lives[REPEATS] = {{0}}, middle;

    for (size_t i = 0; i < REPEATS && status == EDDY_OK; i++)
        status = live(bench, l, &lives[i], &err);
    if (status != EDDY_OK) {
        table_refusal(t, l->name, &err);
        return false;
    }
    middle = summarise(lives);
    print_life(t, l, &middle);
    return true;
}

static bool measure_graphs(bench_state *bench)
{
    const large graphs[] = {
        {"chain", build_chain, CHAIN_NODES - 2, LIMIT_CHAIN_MS,
         LIMIT_NODE_BYTES},
        {"nested_frames", build_nest, nest_step(1), (double)NAN, (double)NAN},
    };
    const table t = {.columns = graph_columns,
                     .n_columns = N_GRAPH_COLUMNS,
                     .is_tsv = bench->options->is_tsv};
    bool is_good = true;

    table_begin(&t, "Large graphs: milliseconds, and bytes a node");
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        if (options_want(bench->options, graphs[i].name))
            is_good = measure_large(bench, &t, &graphs[i]) && is_good;
    return is_good;
}

/* ---- many iterations ---- */

/* while i < feed: i = i + 1 */
static void build_counter(builder *b, eddy_output *out_feed,
                          eddy_output *out_fetch)
{
    const eddy_output first = builder_int(b, 0, EDDY_NO_NODE);
    eddy_output limit, next;
    loop l;

    *out_feed = builder_feed(b, EDDY_INT32);
    limit = builder_enter(b, "loop", *out_feed, true);
    loop_open(b, &l, "loop", &first, 1);
    loop_test(
        b, &l,
        eddy_emit_unary(&b->e, "LoopCond",
                        eddy_emit_binary(&b->e, "Less", l.merges[0], limit)));
    next = loop_next_count(b, &l);
    loop_close(b, &l, &next, out_fetch);
}

static eddy_status count_to(bench_state *bench, eddy_run *run, int32_t trips,
                            eddy_error *err)
{
    eddy_status status = bind_scalar(bench, run, EDDY_INT32, &trips, err);
    const int32_t *value;

    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    if (status != EDDY_OK)
        return status;
    value = eddy_tensor_data(eddy_run_fetch(run, 0));
    if (*value != trips)
        return fail(err, "the fetched value is wrong");
    return EDDY_OK;
}

/* A short execution first, so that what any run needs does not count. */
static eddy_status count_far(bench_state *bench, eddy_run *run, const table *t,
                             const char *name, eddy_error *err)
{
    uint64_t times[REPEATS];
    eddy_status status = count_to(bench, run, WARM_UP_TRIPS, err);
    const size_t before = process_peak_bytes();
    double growth = (double)NAN;

    for (size_t i = 0; i < REPEATS && status == EDDY_OK; i++) {
        const uint64_t begin = clock_ns();

        status = count_to(bench, run, TRIPS, err);
        times[i] = clock_ns() - begin;
    }
    if (status != EDDY_OK)
        return status;
    if (before > 0)
        growth = (double)(process_peak_bytes() - before) / 1024;
    table_row(t, name,
              (const double[N_GROWTH_COLUMNS]){
                  TRIPS, (double)percentile(times, REPEATS, 50) / TRIPS,
                  (double)eddy_run_stats(run).peak_bytes, growth,
                  LIMIT_GROWTH_KIB, growth / LIMIT_GROWTH_KIB});
    return EDDY_OK;
}

static bool measure_growth(bench_state *bench)
{
    const table t = {.columns = growth_columns,
                     .n_columns = N_GROWTH_COLUMNS,
                     .is_tsv = bench->options->is_tsv};
    const char *name = "counter";
    eddy_output feed = {0, 0}, fetch = {0, 0};
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status;
    builder b;

    if (!options_want(bench->options, name))
        return true;
    table_begin(&t, "Ten million iterations: growth of the process");
    builder_init(&b, bench->ctx);
    build_counter(&b, &feed, &fetch);
    status = b.e.status;
    if (status == EDDY_OK)
        status = make_plan(&b, feed, fetch, &plan, &b.err);
    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, &b.err);
    if (status == EDDY_OK)
        status = count_far(bench, run, &t, name, &b.err);
    if (status != EDDY_OK)
        table_refusal(&t, name, &b.err);
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    builder_deinit(&b);
    return status == EDDY_OK;
}

/* The counter goes first: what a process once had, it may keep. */
int main(int argc, char **argv)
{
    eddy_context_options options = {.size = sizeof options};
    eddy_error err = {.code = EDDY_OK};
    bench_options o;
    bench_state bench = {.options = &o};
    bool is_good;

    options_parse(&o, argc, argv, "Large graphs and long loops.");
    options.allocator = account_allocator(&bench.account);
    if (eddy_context_create(&options, &bench.ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    is_good = measure_growth(&bench);
    is_good = measure_graphs(&bench) && is_good;
    eddy_context_destroy(bench.ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

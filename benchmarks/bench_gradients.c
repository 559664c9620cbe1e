/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and their gradients, on one thread: what the backward pass costs beside
 * the forward one, on gradient graphs that eddy makes and on those that
 * TensorFlow made of the same programs.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/suite.h"
#include "benchmarks/table.h"

#include "eddy/gradients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REPEATS 7
#define SCALAR_TRIPS 10000

/* What tapes that spill hold in memory. */
#define SPILL_ABOVE ((uint64_t)1 << 20)

/* X(member, title, unit, width, decimals): the columns, in this order. */
#define COLUMN_MAP(X)                                                          \
    X(trips, "trips", "trips", 7, 0)                                           \
    X(ns_iteration, "ns/trip", "ns", 9, 1)                                     \
    X(cpu_ns_iteration, "cpu", "ns", 9, 1)                                     \
    X(by_forward, "by fwd", "measured/forward", 6, 2)                          \
    X(nodes, "nodes", "executions/trip", 6, 1)                                 \
    X(allocations, "allocs", "calls", 6, 0)                                    \
    X(tape_bytes, "tape", "bytes/trip", 8, 1)                                  \
    X(limit, "limit", "ns", 7, 0)                                              \
    X(ratio, "ratio", "measured/limit", 5, 2)

typedef struct row {
#define X(member, title, unit, width, decimals) double member;
    COLUMN_MAP(X)
#undef X
    double peak_bytes; /* the most that the run held */
} row;

static const column columns[] = {
#define X(member, title, unit, width, decimals)                                \
    {title, #member, unit, width, decimals},
    COLUMN_MAP(X)
#undef X
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct bench_state {
    bench_options *options;
    const table *table;
    eddy_context *ctx;
    bool has_failed;
} bench_state;

/* What to run, and what it is held against. */
typedef struct program {
    const char *name;
    const eddy_graph *graph;
    const eddy_output *fetches;
    size_t n_fetches;
    uint64_t trips;
    eddy_optimize optimize;
    double limit;       /* ns a trip; NAN: none */
    const row *forward; /* the row of its forward pass, or NULL */
} program;

/* ---- one program ---- */

static void fill_row(row *r, const program *p, const timing *t,
                     const eddy_stats *stats)
{
    const double trips = (double)p->trips;

    r->trips = trips;
    r->ns_iteration = (double)t->median_ns / trips;
    r->cpu_ns_iteration = (double)t->cpu_ns / trips;
    r->nodes =
        (double)(stats->live_executions + stats->dead_executions) / trips;
    r->allocations = (double)stats->allocations;
    r->limit = p->limit;
    r->ratio = r->ns_iteration / p->limit;
    r->peak_bytes = (double)stats->peak_bytes;
    r->by_forward = (double)NAN;
    r->tape_bytes = (double)NAN;
    if (p->forward) {
        r->by_forward = r->ns_iteration / p->forward->ns_iteration;
        r->tape_bytes = (r->peak_bytes - p->forward->peak_bytes) / trips;
    }
}

static eddy_status execute(const program *p, row *r, eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .fetches = p->fetches,
        .n_fetches = p->n_fetches,
        .optimize = p->optimize,
    };
    const eddy_run_options how = {.size = sizeof how,
                                  .spill_above = SPILL_ABOVE};
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    timing t;
    eddy_status status = eddy_plan_create(p->graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_run_create(plan, &how, &run, err);
    if (status == EDDY_OK)
        status = measure_run(run, LEAST_REPEATS, &t, err);
    if (status == EDDY_OK) {
        const eddy_stats stats = eddy_run_stats(run);

        fill_row(r, p, &t, &stats);
    }
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    return status;
}

static void fail(bench_state *bench, const char *name, const eddy_error *err)
{
    table_refusal(bench->table, name, err);
    bench->has_failed = true;
}

/* Measures and prints; false if it did not run. */
static bool measure(bench_state *bench, const program *p, row *r)
{
    eddy_error err = {.code = EDDY_OK};
    double values[N_COLUMNS];
    size_t n = 0;

    if (execute(p, r, &err) != EDDY_OK) {
        fail(bench, p->name, &err);
        return false;
    }
#define X(member, title, unit, width, decimals) values[n++] = r->member;
    COLUMN_MAP(X)
#undef X
    if (options_want(bench->options, p->name))
        table_row(bench->table, p->name, values);
    return true;
}

/* ---- the scalar loop ---- */

/* y = y * x, so many times. */
static eddy_output build_scalar(builder *b, int32_t trips, eddy_output *x,
                                eddy_output *y)
{
    const eddy_output zero = builder_int(b, 0, EDDY_NO_NODE);
    eddy_output firsts[2], nexts[2], exits[2] = {{EDDY_NO_NODE, 0}};
    loop l;

    *x = builder_float(b, 1.0001F, EDDY_NO_NODE);
    *y = builder_float(b, 1, EDDY_NO_NODE);
    firsts[0] = zero;
    firsts[1] = *y;
    loop_open(b, &l, "while", firsts, 2);
    loop_test_trips(b, &l, trips);
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = eddy_emit_binary(&b->e, "Mul", l.body[1],
                                builder_enter(b, "while", *x, true));
    loop_close(b, &l, nexts, exits);
    return exits[1];
}

static void measure_scalar(bench_state *bench)
{
    eddy_output fetches[3] = {{EDDY_NO_NODE, 0}}, xs[2];
    row forward = {.trips = 0}, backward = {.trips = 0};
    builder b;
    program p = {.name = "scalar_fwd",
                 .fetches = fetches,
                 .n_fetches = 1,
                 .trips = SCALAR_TRIPS,
                 .limit = (double)NAN};

    builder_init(&b, bench->ctx);
    fetches[0] = build_scalar(&b, SCALAR_TRIPS, &xs[0], &xs[1]);
    if (b.e.status == EDDY_OK)
        b.e.status = eddy_gradients(b.e.graph, fetches, 1, xs, 2, NULL,
                                    fetches + 1, &b.err);
    p.graph = b.e.graph;
    if (b.e.status != EDDY_OK) {
        fail(bench, p.name, &b.err);
    } else if (measure(bench, &p, &forward)) {
        p.name = "scalar_fwd_bwd";
        p.n_fetches = 3;
        p.limit = 900;
        p.forward = &forward;
        measure(bench, &p, &backward);
    }
    builder_deinit(&b);
}

/* ---- an LSTM ---- */

enum { LSTM_SIZE = 64, LSTM_BATCH = 8, LSTM_GATES = 4 * LSTM_SIZE };

static eddy_output make_floats(builder *b, int64_t rows, int64_t width,
                               float scale)
{
    static float values[LSTM_SIZE * LSTM_GATES];
    const eddy_shape shape = {.rank = 2, .dims = {rows, width}};

    for (int64_t i = 0; i < rows * width; i++)
        values[i] = scale * sinf((float)(i * i % 1009));
    return eddy_emit_elements(&b->e, NULL, EDDY_FLOAT32, &shape, values);
}

/* The next h and c of h and the weights. */
static void lstm_cell(builder *b, eddy_output h, eddy_output weights,
                      eddy_output bias, eddy_output hc[2])
{
    eddy_emitter *e = &b->e;
    const int64_t n = 4;
    const eddy_attr attr = eddy_attr_int("num_split", &n);
    const eddy_output split_of[] = {
        builder_int(b, 1, h.node),
        eddy_emit_binary(e, "AddV2", eddy_emit_binary(e, "MatMul", h, weights),
                         bias)};
    const eddy_node z = eddy_emit_op(e, "Split", split_of, 2, &attr, 1).node;
    const eddy_output i = eddy_emit_unary(e, "Sigmoid", (eddy_output){z, 0});
    const eddy_output f = eddy_emit_unary(e, "Sigmoid", (eddy_output){z, 1});
    const eddy_output o = eddy_emit_unary(e, "Sigmoid", (eddy_output){z, 2});
    const eddy_output u = eddy_emit_unary(e, "Tanh", (eddy_output){z, 3});

    hc[1] = eddy_emit_binary(e, "AddV2", eddy_emit_binary(e, "Mul", f, hc[1]),
                             eddy_emit_binary(e, "Mul", i, u));
    hc[0] = eddy_emit_binary(e, "Mul", o, eddy_emit_unary(e, "Tanh", hc[1]));
}

/* So many steps; the last h, by the weights and the bias. */
static eddy_output build_lstm(builder *b, int32_t trips, eddy_output *x,
                              eddy_output *y)
{
    const eddy_output firsts[3] = {builder_int(b, 0, EDDY_NO_NODE),
                                   make_floats(b, LSTM_BATCH, LSTM_SIZE, 0.1F),
                                   make_floats(b, LSTM_BATCH, LSTM_SIZE, 0.2F)};
    eddy_output nexts[3], exits[3] = {{EDDY_NO_NODE, 0}};
    loop l;

    *x = make_floats(b, LSTM_SIZE, LSTM_GATES, 0.1F);
    *y = make_floats(b, 1, LSTM_GATES, 0.1F);
    loop_open(b, &l, "while", firsts, 3);
    loop_test_trips(b, &l, trips);
    nexts[0] = loop_next_count(b, &l);
    nexts[2] = l.body[2];
    lstm_cell(b, l.body[1], builder_enter(b, "while", *x, true),
              builder_enter(b, "while", *y, true), nexts + 1);
    loop_close(b, &l, nexts, exits);
    return exits[1];
}

/* ---- policies of tapes ---- */

/* Builds a loop of so many trips; what it ends with, and two inputs. */
typedef eddy_output (*build_loop)(builder *b, int32_t trips, eddy_output *x,
                                  eddy_output *y);

typedef struct policy_row {
    const char *name;
    build_loop build;
    int32_t trips;
    eddy_tape_policy policy;
    uint64_t bytes; /* of the options */
} policy_row;

/* What `auto` may keep: the tapes of the shorter loops. */
#define AUTO_BYTES ((uint64_t)16 << 20)

/* A loop and its gradient of one policy. */
static void measure_policy(bench_state *bench, const policy_row *of)
{
    const char *name = of->name;
    const eddy_gradient_options how = {
        .size = sizeof how, .tape = of->policy, .tape_bytes = of->bytes};
    eddy_output fetches[3] = {{EDDY_NO_NODE, 0}}, xs[2];
    row forward = {.trips = 0}, backward;
    program p = {.name = name,
                 .fetches = fetches,
                 .n_fetches = 1,
                 .trips = (uint64_t)of->trips,
                 .limit = (double)NAN};
    builder b;

    if (!options_want(bench->options, name))
        return;
    builder_init(&b, bench->ctx);
    fetches[0] = of->build(&b, of->trips, &xs[0], &xs[1]);
    p.graph = b.e.graph;
    if (b.e.status == EDDY_OK)
        b.e.status = execute(&p, &forward, &b.err);
    if (b.e.status == EDDY_OK)
        b.e.status = eddy_gradients(b.e.graph, fetches, 1, xs, 2, &how,
                                    fetches + 1, &b.err);
    p.n_fetches = 3;
    p.forward = &forward;
    if (b.e.status != EDDY_OK)
        fail(bench, name, &b.err);
    else
        measure(bench, &p, &backward);
    builder_deinit(&b);
}

static void measure_policies(bench_state *bench)
{
    static const policy_row rows[] = {
        {"tape_keep_1e4", build_scalar, 10000, EDDY_TAPE_KEEP, 0},
        {"tape_recompute_1e4", build_scalar, 10000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_spill_1e4", build_scalar, 10000, EDDY_TAPE_SPILL, 0},
        {"tape_keep_1e5", build_scalar, 100000, EDDY_TAPE_KEEP, 0},
        {"tape_recompute_1e5", build_scalar, 100000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_spill_1e5", build_scalar, 100000, EDDY_TAPE_SPILL, 0},
        {"tape_keep_1e6", build_scalar, 1000000, EDDY_TAPE_KEEP, 0},
        {"tape_recompute_1e6", build_scalar, 1000000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_spill_1e6", build_scalar, 1000000, EDDY_TAPE_SPILL, 0},
        {"tape_keep_1e7", build_scalar, 10000000, EDDY_TAPE_KEEP, 0},
        {"tape_recompute_1e7", build_scalar, 10000000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_spill_1e7", build_scalar, 10000000, EDDY_TAPE_SPILL, 0},
        {"tape_binomial_1e4", build_scalar, 10000, EDDY_TAPE_RECOMPUTE, 512},
        {"tape_binomial_1e6", build_scalar, 1000000, EDDY_TAPE_RECOMPUTE, 4096},
        {"tape_keep_1e8", build_scalar, 100000000, EDDY_TAPE_KEEP, 0},
        {"tape_recompute_1e8", build_scalar, 100000000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_spill_1e8", build_scalar, 100000000, EDDY_TAPE_SPILL, 0},
        {"tape_lstm_keep_200", build_lstm, 200, EDDY_TAPE_KEEP, 0},
        {"tape_lstm_recompute_200", build_lstm, 200, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_lstm_spill_200", build_lstm, 200, EDDY_TAPE_SPILL, 0},
        {"tape_lstm_auto_200", build_lstm, 200, EDDY_TAPE_AUTO, AUTO_BYTES},
        {"tape_lstm_keep_2000", build_lstm, 2000, EDDY_TAPE_KEEP, 0},
        {"tape_lstm_recompute_2000", build_lstm, 2000, EDDY_TAPE_RECOMPUTE, 0},
        {"tape_lstm_spill_2000", build_lstm, 2000, EDDY_TAPE_SPILL, 0},
        {"tape_lstm_binomial_2000", build_lstm, 2000, EDDY_TAPE_RECOMPUTE,
         256 << 10},
        {"tape_lstm_auto_2000", build_lstm, 2000, EDDY_TAPE_AUTO, AUTO_BYTES},
        {"tape_lstm_keep_20000", build_lstm, 20000, EDDY_TAPE_KEEP, 0},
        {"tape_lstm_recompute_20000", build_lstm, 20000, EDDY_TAPE_RECOMPUTE,
         0},
        {"tape_lstm_spill_20000", build_lstm, 20000, EDDY_TAPE_SPILL, 0},
        {"tape_lstm_auto_20000", build_lstm, 20000, EDDY_TAPE_AUTO, AUTO_BYTES},
        {"tape_lstm_binomial_20000", build_lstm, 20000, EDDY_TAPE_RECOMPUTE,
         1 << 20},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        measure_policy(bench, &rows[i]);
}

/* ---- recorded graphs ---- */

/* The graph as it was recorded. */
static void measure_recording(bench_state *bench, const json_t *listing,
                              const char *name, double limit,
                              const row *forward)
{
    eddy_error err = {.code = EDDY_OK};
    row r = {.trips = 0};
    recording g;

    if (recording_load(&g, bench->ctx, bench->options->graphs, name,
                       json_object_get(listing, name), &err) == EDDY_OK)
        measure(bench,
                &(program){.name = name,
                           .graph = g.graph,
                           .fetches = g.fetches,
                           .n_fetches = g.n_fetches,
                           .trips = g.iterations,
                           .limit = limit,
                           .forward = forward},
                &r);
    else
        fail(bench, name, &err);
    recording_deinit(&g);
}

/* The forward graph with gradients of eddy's, for the weights and the bias, at
 * both levels. */
static bool measure_lstm(bench_state *bench, const json_t *listing,
                         row *forward)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_output fetches[3], xs[2] = {{0, 0}};
    row r = {.trips = 0};
    recording g;
    bool is_done = false;
    program p = {.name = "lstm_fwd", .fetches = fetches, .limit = (double)NAN};
    eddy_status status =
        recording_load(&g, bench->ctx, bench->options->graphs, "lstm_fwd",
                       json_object_get(listing, "lstm_fwd"), &err);

    if (status == EDDY_OK) {
        xs[0].node = eddy_graph_find(g.graph, "Const");
        xs[1].node = eddy_graph_find(g.graph, "Const_1");
        fetches[0] = g.fetches[0];
        status =
            eddy_gradients(g.graph, fetches, 1, xs, 2, NULL, fetches + 1, &err);
    }
    p.graph = g.graph;
    p.trips = g.iterations;
    p.n_fetches = 1;
    if (status != EDDY_OK) {
        fail(bench, p.name, &err);
    } else if (measure(bench, &p, forward)) {
        p.name = "lstm_fwd_bwd_own";
        p.n_fetches = 3;
        p.limit = 160000;
        p.forward = forward;
        is_done = measure(bench, &p, &r);
        p.name = "lstm_fwd_bwd_own_full";
        p.optimize = EDDY_OPTIMIZE_FULL;
        is_done = measure(bench, &p, &r) && is_done;
    }
    recording_deinit(&g);
    return is_done;
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    row forward = {.trips = 0};
    bench_options o;
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bench_state bench = {.options = &o, .table = &t};
    json_t *listing;

    options_parse(&o, argc, argv, "Loops and their gradients on one thread.");
    t.is_tsv = o.is_tsv;
    if (eddy_context_create(NULL, &bench.ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "Gradients of loops: one thread, medians");
    measure_scalar(&bench);
    measure_policies(&bench);
    listing = suite_read(o.graphs);
    if (listing) {
        measure_recording(&bench, listing, "grad_loop", 1100, NULL);
        if (measure_lstm(&bench, listing, &forward))
            measure_recording(&bench, listing, "lstm_fwd_bwd", (double)NAN,
                              &forward);
    }
    json_decref(listing);
    eddy_context_destroy(bench.ctx);
    return bench.has_failed || !listing || !options_found(&o) ? EXIT_FAILURE
                                                              : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine code costs before it gains: loops of so many operations are
 * planned anew again and again and run for so many trips, by the interpreter
 * alone and with machine code as soon as they are warm.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 40

static const column columns[] = {
    {"operations", "operations", "operations", 10, 0},
    {"trips", "trips", "trips", 7, 0},
    {"code us", "code", "us", 8, 1},
    {"linear us", "linear", "us", 9, 1},
    {"first us", "first", "us", 9, 1},
    {"behind us", "behind", "us", 9, 1},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

static const struct size {
    uint32_t n_ops;
    int32_t trips;
} sizes[] = {
    {20, 100},   {20, 1000},   {20, 1100},   {20, 10000},  {200, 100},
    {200, 1100}, {200, 10000}, {2000, 1100}, {2000, 3000},
};

/* Sums and products of two floats by turns. */
static eddy_output build(builder *b, const struct size *size)
{
    const eddy_output firsts[] = {builder_int(b, 0, EDDY_NO_NODE),
                                  builder_float(b, 1, EDDY_NO_NODE),
                                  builder_float(b, 0.5F, EDDY_NO_NODE)};
    static const char *const ops[] = {"AddV2", "Mul", "Sub"};
    eddy_output nexts[3], exits[3];
    loop l;

    loop_open(b, &l, "loop", firsts, 3);
    loop_test_trips(b, &l, size->trips);
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = l.body[1];
    nexts[2] = l.body[2];
    for (uint32_t i = 2; i < size->n_ops; i++)
        nexts[1 + i % 2] =
            eddy_emit_binary(&b->e, ops[i % 3], nexts[1], nexts[2]);
    loop_close(b, &l, nexts, exits);
    return exits[1];
}

/* The least of all tries, of plans of their own; NAN: no code. */
typedef struct times {
    double run_us, code_us;
} times;

static eddy_status try_once(const eddy_graph *graph, const eddy_output *fetch,
                            eddy_plan_executor executor, times *least,
                            eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .fetches = fetch,
        .n_fetches = 1,
        .executor = executor,
    };
    eddy_native_stats stats = {.size = sizeof stats};
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status = eddy_plan_create(graph, &options, &plan, err);
    uint64_t begun, ns;

    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, err);
    begun = clock_ns();
    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    ns = clock_ns() - begun;
    if (status == EDDY_OK) {
        eddy_plan_native_stats(plan, &stats);
        least->run_us = fmin(least->run_us, (double)ns / 1e3);
        if (stats.compiled > 0)
            least->code_us =
                fmin(least->code_us, (double)stats.compile_ns / 1e3);
    }
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    return status;
}

static bool measure(const table *t, eddy_context *ctx, const struct size *size,
                    const char *name)
{
    times linear = {INFINITY, NAN}, native = linear;
    eddy_output fetch;
    eddy_status status;
    builder b;

    builder_init(&b, ctx);
    fetch = build(&b, size);
    status = b.e.status;
    for (int i = 0; i < TRIES && status == EDDY_OK; i++) {
        status =
            try_once(b.e.graph, &fetch, EDDY_EXECUTOR_LINEAR, &linear, &b.err);
        if (status == EDDY_OK)
            status = try_once(b.e.graph, &fetch, EDDY_EXECUTOR_AUTO, &native,
                              &b.err);
    }
    if (status == EDDY_OK)
        table_row(t, name,
                  (const double[N_COLUMNS]){
                      size->n_ops, size->trips, native.code_us, linear.run_us,
                      native.run_us, native.run_us - linear.run_us});
    else
        table_refusal(t, name, &b.err);
    builder_deinit(&b);
    return status == EDDY_OK;
}

int main(int argc, char **argv)
{
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    eddy_context *ctx = NULL;
    eddy_error err = {.code = EDDY_OK};
    bool is_good = true;
    bench_options o;

    options_parse(&o, argc, argv, "What machine code of loops costs.");
    t.is_tsv = o.is_tsv;
    if (eddy_context_create(NULL, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "First results, with machine code and without");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char name[48];

        snprintf(name, sizeof name, "ops%u_trips%d", sizes[i].n_ops,
                 (int)sizes[i].trips);
        if (options_want(&o, name))
            is_good = measure(&t, ctx, &sizes[i], name) && is_good;
    }
    eddy_context_destroy(ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

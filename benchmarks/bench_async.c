/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many iterations of a loop really run at once: an asynchronous op that
 * takes 10 ms and depends on nothing but the loop's counter, with one worker.
 *
 *     for i in 0 .. 319: sum = sum + delayed(i)
 */
#include "benchmarks/delay.h"
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIPS 320
#define REPEATS 5

/* What issue 3 allows at that many parallel iterations. */
#define LIMIT_MS 200.0
#define LIMIT_PARALLEL 32

static const column columns[] = {
    {"in flight", "in_flight", "nodes", 9, 0},  {"ms", "time", "ms", 8, 1},
    {"at least", "bound", "ms", 8, 0},          {"limit", "limit", "ms", 5, 0},
    {"ratio", "ratio", "measured/limit", 5, 2},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

static void build(builder *b, eddy_output *out_sum)
{
    const eddy_output firsts[] = {builder_int(b, 0, EDDY_NO_NODE),
                                  builder_int(b, 0, EDDY_NO_NODE)};
    eddy_output nexts[2], exits[2];
    loop l;

    loop_open(b, &l, "loop", firsts, 2);
    loop_test_trips(b, &l, TRIPS);
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = eddy_emit_binary(&b->e, "AddV2", l.body[1],
                                eddy_emit_unary(&b->e, DELAY_OP, l.body[0]));
    loop_close(b, &l, nexts, exits);
    *out_sum = exits[1];
}

static eddy_status check_sum(const eddy_run *run, eddy_error *err)
{
    const int32_t *sum = eddy_tensor_data(eddy_run_fetch(run, 0));

    if (*sum == TRIPS * (TRIPS - 1) / 2)
        return EDDY_OK;
    *err = (eddy_error){.code = EDDY_INTERNAL};
    snprintf(err->message, sizeof err->message, "the sum is %d", *sum);
    return err->code;
}

static eddy_status execute(const builder *b, eddy_output sum, int64_t parallel,
                           timing *out_timing, eddy_stats *out_stats,
                           eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .fetches = &sum,
        .n_fetches = 1,
        .parallel_iterations = parallel,
    };
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status = eddy_plan_create(b->e.graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, err);
    if (status == EDDY_OK)
        status = measure_run(run, REPEATS, out_timing, err);
    if (status == EDDY_OK)
        status = check_sum(run, err);
    if (status == EDDY_OK)
        *out_stats = eddy_run_stats(run);
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    return status;
}

static bool measure(const table *t, const builder *b, eddy_output sum,
                    int64_t parallel, const char *name)
{
    const double rounds = ceil((double)TRIPS / (double)parallel);
    const double bound = rounds * (double)DELAY_NS / 1e6;
    const double limit = parallel == LIMIT_PARALLEL ? LIMIT_MS : (double)NAN;
    eddy_error err = {.code = EDDY_OK};
    eddy_stats stats;
    timing time;
    double ms;

    if (execute(b, sum, parallel, &time, &stats, &err) != EDDY_OK) {
        table_refusal(t, name, &err);
        return false;
    }
    ms = (double)time.median_ns / 1e6;
    table_row(t, name,
              (const double[N_COLUMNS]){(double)stats.peak_suspended, ms, bound,
                                        limit, ms / limit});
    return true;
}

static bool measure_all(bench_options *o, const table *t, eddy_context *ctx)
{
    static const int64_t parallels[] = {1, 8, 32};
    eddy_output sum = {0, 0};
    bool is_good;
    builder b;

    builder_init(&b, ctx);
    build(&b, &sum);
    is_good = b.e.status == EDDY_OK;
    if (!is_good)
        complain("building", &b.err);
    for (size_t i = 0; i < sizeof parallels / sizeof parallels[0]; i++) {
        char name[32];

        snprintf(name, sizeof name, "parallel%d", (int)parallels[i]);
        if (is_good && options_want(o, name))
            is_good = measure(t, &b, sum, parallels[i], name);
    }
    builder_deinit(&b);
    return is_good;
}

int main(int argc, char **argv)
{
    const eddy_context_options context = {.size = sizeof context,
                                          .n_workers = 1};
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bench_options o;
    bool is_good = false;

    options_parse(&o, argc, argv, "Asynchronous nodes of a loop in flight.");
    t.is_tsv = o.is_tsv;
    if (!delay_start()) {
        fprintf(stderr, "bench: the timer's thread cannot be started\n");
        return EXIT_FAILURE;
    }
    if (eddy_context_create(&context, &ctx, &err) != EDDY_OK ||
        delay_register(ctx, &err) != EDDY_OK) {
        complain("context", &err);
    } else {
        table_begin(&t, "320 iterations with a node of 10 ms, one worker");
        is_good = measure_all(&o, &t, ctx);
    }
    eddy_context_destroy(ctx);
    delay_stop();
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

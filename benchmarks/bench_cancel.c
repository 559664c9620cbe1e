/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long endless loops go on after a cancel: from eddy_run_cancel, on another
 * thread, until eddy_run_wait returns and everything is freed.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 100
#define LIMIT_US 100000.0 /* what issue 3 allows */

/* How long a loop has run when it is cancelled. */
#define HEAD_START_NS ((uint64_t)2 * 1000 * 1000)

static const column columns[] = {
    {"tries", "tries", "tries", 5, 0},
    {"p50 us", "p50", "us", 9, 1},
    {"p99 us", "p99", "us", 9, 1},
    {"max us", "max", "us", 9, 1},
    {"limit us", "limit", "us", 8, 0},
    {"max/limit", "ratio", "measured/limit", 9, 4},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* An endless loop of one variable. */
typedef struct endless {
    const char *name;
    bool has_loop_cond;
    bool has_body; /* counts */
} endless;

static const endless loops[] = {
    {"counter", true, true},
    {"empty", true, false},
    {"no_loop_cond", false, false},
};

static eddy_output build(builder *b, const endless *kind)
{
    const eddy_output first = builder_int(b, 0, EDDY_NO_NODE);
    eddy_output go_on =
        builder_enter(b, "loop", eddy_emit_bool(&b->e, true), true);
    eddy_output next, exit;
    loop l;

    loop_open(b, &l, "loop", &first, 1);
    if (kind->has_loop_cond)
        go_on = eddy_emit_unary(&b->e, "LoopCond", go_on);
    loop_test(b, &l, go_on);
    if (kind->has_body)
        next = loop_next_count(b, &l);
    else
        next = (eddy_output){l.switches[0].node, 1};
    loop_close(b, &l, &next, &exit);
    return exit;
}

typedef struct canceller {
    eddy_run *run;
    uint64_t begin_ns; /* when it called eddy_run_cancel */
} canceller;

static void *cancel(void *arg)
{
    canceller *c = arg;

    pause_ns(HEAD_START_NS);
    c->begin_ns = clock_ns();
    eddy_run_cancel(c->run);
    return NULL;
}

static eddy_status fail(eddy_error *err, const char *message)
{
    *err = (eddy_error){.code = EDDY_INTERNAL};
    snprintf(err->message, sizeof err->message, "%s", message);
    return err->code;
}

/* One try; with no workers this thread is the one that drives the run. */
static eddy_status try_once(eddy_run *run, uint64_t *out_ns, eddy_error *err)
{
    canceller c = {.run = run};
    eddy_status status = eddy_run_start(run, err);
    pthread_t thread;
    uint64_t end;

    if (status != EDDY_OK)
        return status;
    if (pthread_create(&thread, NULL, cancel, &c) != 0)
        return fail(err, "no thread to cancel from");
    status = eddy_run_wait(run, err);
    end = clock_ns();
    pthread_join(thread, NULL);
    *out_ns = end - c.begin_ns;
    if (status == EDDY_OK)
        return fail(err, "the endless loop has ended by itself");
    return status == EDDY_CANCELLED ? EDDY_OK : status;
}

static eddy_status try_often(eddy_context *ctx, const endless *kind,
                             uint64_t *times, eddy_error *err)
{
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_output exit;
    eddy_status status;
    builder b;

    builder_init(&b, ctx);
    exit = build(&b, kind);
    status = b.e.status;
    if (status == EDDY_OK) {
        const eddy_plan_options options = {
            .size = sizeof options,
            .fetches = &exit,
            .n_fetches = 1,
        };

        status = eddy_plan_create(b.e.graph, &options, &plan, &b.err);
    }
    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, &b.err);
    for (size_t i = 0; i < TRIES && status == EDDY_OK; i++)
        status = try_once(run, &times[i], &b.err);
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    builder_deinit(&b);
    *err = b.err;
    return status;
}

static bool measure(const table *t, eddy_context *ctx, const endless *kind,
                    const char *name)
{
    eddy_error err = {.code = EDDY_OK};
    uint64_t times[TRIES];
    double p50, p99, max;

    if (try_often(ctx, kind, times, &err) != EDDY_OK) {
        table_refusal(t, name, &err);
        return false;
    }
    p50 = (double)percentile(times, TRIES, 50) / 1e3;
    p99 = (double)percentile(times, TRIES, 99) / 1e3;
    max = (double)times[TRIES - 1] / 1e3;
    table_row(t, name,
              (const double[N_COLUMNS]){TRIES, p50, p99, max, LIMIT_US,
                                        max / LIMIT_US});
    return true;
}

/* All loops with that many workers. */
static bool measure_with(bench_options *o, const table *t, uint32_t n_workers)
{
    const eddy_context_options options = {.size = sizeof options,
                                          .n_workers = n_workers};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bool is_good = true;

    if (eddy_context_create(&options, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return false;
    }
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        char name[48];

        snprintf(name, sizeof name, "%s_workers%u", loops[i].name, n_workers);
        if (options_want(o, name))
            is_good = measure(t, ctx, &loops[i], name) && is_good;
    }
    eddy_context_destroy(ctx);
    return is_good;
}

int main(int argc, char **argv)
{
    static const uint32_t workers[] = {0, 1, 4};
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bool is_good = true;
    bench_options o;

    options_parse(&o, argc, argv,
                  "From the cancel of an endless loop to its "
                  "end.");
    t.is_tsv = o.is_tsv;
    table_begin(&t, "From the cancel of an endless loop to its end");
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
        is_good = measure_with(&o, &t, workers[i]) && is_good;
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

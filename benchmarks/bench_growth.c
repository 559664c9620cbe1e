/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the work on a graph before it runs grows with the graph: every family at
 * an eighth, a quarter, a half and the whole of a file of one MiB, and that
 * file under the limits for graphs of unknown origin.
 */
#include "benchmarks/account.h"
#include "benchmarks/families.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/gradients.h"
#include "eddy/graphdef.h"
#include "eddy/lower.h"
#include "eddy/plan.h"
#include "eddy/unroll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES (1024.0 * 1024.0)
#define N_SIZES 4 /* each twice the one before */
#define REPEATS 5
#define SHORT_NS                                                               \
    (UINT64_C(50) * 1000 * 1000) /* what takes less is repeated                \
                                  */
#define MIB (1024.0 * 1024.0)

/* What a file of unknown origin may cost. */
#define LIMIT_PLAN_MS 1000.0
#define LIMIT_GRADIENT_MS 2000.0
#define LIMIT_MIB 256.0

typedef enum phase {
    LOAD,
    PLAN,
    LOWER,
    UNROLL,
    GRADIENT,
    PLAN_GRADIENT,
    SECOND,
    N_PHASES,
} phase;

static const char *const phase_names[N_PHASES] = {
    "load", "plan", "lower", "unroll", "gradient", "plan_gradient", "second",
};

/* So that what grows too fast ends: such a size has no figure. */
static const eddy_limits patience = {
    .size = sizeof patience,
    .max_bytes = UINT64_C(3) << 30,
    .timeout_ns = UINT64_C(10) * 1000 * 1000 * 1000,
};

typedef struct cost {
    double ns, bytes;
} cost;

typedef struct bench_state {
    bench_options *options;
    account account;
    eddy_context *ctx;
} bench_state;

/* One graph on its way. */
typedef struct subject {
    bench_state *bench;
    const family *family;
    graph_writer file;
    bool is_limited; /* by the presets */
    eddy_graph *graph, *lowered;
    eddy_output *xs, *ys, *gradients, *seconds;
    size_t n_xs, n_ys;
    cost costs[N_PHASES];
    uint64_t begin_ns;
    size_t before; /* bytes */
    eddy_error err;
} subject;

/* ---- the phases ---- */

static void subject_deinit(subject *s)
{
    eddy_graph_destroy(s->graph);
    eddy_graph_destroy(s->lowered);
    graph_writer_deinit(&s->file);
    free(s->xs);
    free(s->ys);
    free(s->gradients);
    free(s->seconds);
}

static void phase_begin(subject *s)
{
    account_restart(&s->bench->account);
    s->before = account_live(&s->bench->account);
    s->begin_ns = s->is_limited ? clock_ns() : thread_cpu_ns();
}

/*
 * The least time of several: of the clock where a limit is on that, else what
 * was computed.
 */
static eddy_status phase_end(subject *s, phase p, eddy_status status)
{
    const uint64_t now = s->is_limited ? clock_ns() : thread_cpu_ns();
    const double ns = (double)(now - s->begin_ns);
    const double bytes = (double)(account_peak(&s->bench->account) - s->before);
    cost *c = &s->costs[p];

    if (isnan(c->ns) || ns < c->ns)
        c->ns = ns;
    c->bytes = bytes;
    return status;
}

static eddy_status load(subject *s)
{
    eddy_graphdef_options options = {.size = sizeof options,
                                     .limits = &patience};
    eddy_graph *graph = NULL;
    eddy_status status;

    if (s->is_limited)
        eddy_graphdef_options_untrusted(&options);
    phase_begin(s);
    status = eddy_graphdef_read(s->bench->ctx, s->file.out.bytes,
                                s->file.out.length, &options, &graph, &s->err);
    status = phase_end(s, LOAD, status);
    eddy_graph_destroy(s->graph);
    s->graph = graph;
    return status;
}

static eddy_status plan(subject *s, phase p, const eddy_graph *graph,
                        const eddy_output *fetches, size_t n_fetches)
{
    eddy_plan_options options = {.size = sizeof options,
                                 .feeds = s->xs,
                                 .n_feeds = s->n_xs,
                                 .fetches = fetches,
                                 .n_fetches = n_fetches,
                                 .limits = &patience};
    eddy_plan *made = NULL;
    eddy_status status;

    if (s->is_limited)
        eddy_plan_options_untrusted(&options);
    phase_begin(s);
    status = eddy_plan_create(graph, &options, &made, &s->err);
    status = phase_end(s, p, status);
    eddy_plan_release(made);
    return status;
}

static eddy_status lower(subject *s)
{
    eddy_lower_options options = {.size = sizeof options, .limits = &patience};
    eddy_status status;

    if (s->is_limited)
        eddy_lower_options_untrusted(&options);
    eddy_graph_destroy(s->lowered);
    s->lowered = NULL;
    phase_begin(s);
    status = eddy_graph_lower(s->graph, &options, &s->lowered, &s->err);
    return phase_end(s, LOWER, status);
}

static eddy_status unroll(subject *s)
{
    eddy_unroll_options options = {
        .size = sizeof options, .trips = 2, .limits = &patience};
    eddy_graph *unrolled = NULL;
    eddy_status status;

    if (s->is_limited)
        eddy_unroll_options_untrusted(&options);
    phase_begin(s);
    status = eddy_graph_unroll(s->graph, &options, &unrolled, &s->err);
    status = phase_end(s, UNROLL, status);
    eddy_graph_destroy(unrolled);
    return status;
}

/* Of the outputs at `ys`; NONE among the results are taken out. */
static eddy_status differentiate(subject *s, phase p, const eddy_output *ys,
                                 size_t n_ys, eddy_output *out)
{
    eddy_gradient_options options = {.size = sizeof options,
                                     .zeros_if_unconnected = true,
                                     .limits = &patience};

    if (s->is_limited)
        eddy_gradient_options_untrusted(&options);
    phase_begin(s);
    return phase_end(s, p,
                     eddy_gradients(s->lowered, ys, n_ys, s->xs, s->n_xs,
                                    &options, out, &s->err));
}

/* ---- one size ---- */

static void find_outputs(const eddy_graph *graph, const char *name, size_t n,
                         eddy_output *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (eddy_output){
            eddy_graph_find(graph, n == 1 ? name : textf("%s%zu", name, i).s),
            0};
}

static void find_ends(subject *s, const eddy_graph *graph, size_t n)
{
    s->n_xs = s->family->has_many_xs ? n : 1;
    s->n_ys = s->family->has_many_ys ? n : 1;
    find_outputs(graph, "x", s->n_xs, s->xs);
    find_outputs(graph, "y", s->n_ys, s->ys);
}

static void reset_costs(subject *s)
{
    for (int i = 0; i < N_PHASES; i++)
        s->costs[i] = (cost){(double)NAN, (double)NAN};
}

/* What fails has no figure, and what is after it. */
static void go_once(subject *s, size_t n)
{
    if (load(s) != EDDY_OK)
        return;
    find_ends(s, s->graph, n);
    if (plan(s, PLAN, s->graph, s->ys, s->n_ys) != EDDY_OK)
        s->costs[PLAN].ns = (double)NAN;
    if (unroll(s) != EDDY_OK)
        s->costs[UNROLL].ns = (double)NAN;
    if (lower(s) != EDDY_OK) {
        s->costs[LOWER].ns = (double)NAN;
        return;
    }
    find_ends(s, s->lowered, n);
    if (differentiate(s, GRADIENT, s->ys, s->n_ys, s->gradients) != EDDY_OK) {
        s->costs[GRADIENT].ns = (double)NAN;
        return;
    }
    if (plan(s, PLAN_GRADIENT, s->lowered, s->gradients, s->n_xs) != EDDY_OK)
        s->costs[PLAN_GRADIENT].ns = (double)NAN;
    if (differentiate(s, SECOND, s->gradients, s->n_xs, s->seconds) != EDDY_OK)
        s->costs[SECOND].ns = (double)NAN;
}

static void subject_init(subject *s, bench_state *bench, const family *f,
                         size_t n)
{
    *s = (subject){.bench = bench, .family = f};
    f->write(&s->file, n);
    s->xs = calloc(n, sizeof *s->xs);
    s->ys = calloc(n, sizeof *s->ys);
    s->gradients = calloc(n, sizeof *s->gradients);
    s->seconds = calloc(n, sizeof *s->seconds);
    if (!s->xs || !s->ys || !s->gradients || !s->seconds)
        abort();
    reset_costs(s);
}

static void measure_size(bench_state *bench, const family *f, size_t n,
                         cost out[N_PHASES], eddy_error *err)
{
    subject s;
    uint64_t begin;

    subject_init(&s, bench, f, n);
    for (size_t i = 0; i < REPEATS; i++) {
        begin = clock_ns();
        go_once(&s, n);
        if (clock_ns() - begin > SHORT_NS)
            break;
    }
    memcpy(out, s.costs, sizeof s.costs);
    *err = s.err;
    subject_deinit(&s);
}

/* ---- growth ---- */

static const column growth_columns[] = {
    {"n", "n", "n", 7, 0},
    {"ms n/8", "time_8", "ms", 8, 2},
    {"ms n/4", "time_4", "ms", 8, 2},
    {"ms n/2", "time_2", "ms", 8, 2},
    {"ms n", "time", "ms", 8, 2},
    {"power", "power", "exponent", 6, 2},
    {"MiB n", "peak", "MiB", 8, 1},
    {"power", "peak_power", "exponent", 6, 2},
};

#define N_GROWTH_COLUMNS (sizeof growth_columns / sizeof growth_columns[0])

/* Between a quarter and the whole. */
static double exponent(double quarter, double whole)
{
    return log(whole / quarter) / log(4);
}

static void print_phase(const table *t, const family *f, size_t n, phase p,
                        cost costs[N_SIZES][N_PHASES])
{
    const cost *quarter = &costs[1][p], *whole = &costs[N_SIZES - 1][p];
    double row[N_GROWTH_COLUMNS] = {(double)n};

    for (size_t i = 0; i < N_SIZES; i++)
        row[1 + i] = costs[i][p].ns / 1e6;
    row[5] = exponent(quarter->ns, whole->ns);
    row[6] = whole->bytes / MIB;
    row[7] = exponent(quarter->bytes, whole->bytes);
    table_row(t, textf("%s/%s", f->name, phase_names[p]).s, row);
}

static void measure_growth(bench_state *bench, const table *t, const family *f)
{
    const size_t n = family_size(f, FILE_BYTES);
    cost costs[N_SIZES][N_PHASES];
    eddy_error err = {.code = EDDY_OK};

    for (size_t i = 0; i < N_SIZES; i++)
        measure_size(bench, f, n >> (N_SIZES - 1 - i), costs[i], &err);
    for (int p = 0; p < N_PHASES; p++)
        print_phase(t, f, n, (phase)p, costs);
    if (err.code != EDDY_OK)
        complain(f->name, &err);
}

/* ---- the presets ---- */

static const column preset_columns[] = {
    {"plan ms", "plan", "ms", 8, 1},
    {"ratio", "plan_ratio", "measured/limit", 6, 2},
    {"grad ms", "gradient", "ms", 8, 1},
    {"ratio", "gradient_ratio", "measured/limit", 6, 2},
    {"MiB", "peak", "MiB", 8, 1},
    {"ratio", "peak_ratio", "measured/limit", 6, 2},
    {"done", "done", "of 2", 5, 0},
};

#define N_PRESET_COLUMNS (sizeof preset_columns / sizeof preset_columns[0])

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Loads and plans, and then lowers and differentiates. */
static void measure_preset(bench_state *bench, const table *t, const family *f)
{
    const size_t n = family_size(f, FILE_BYTES);
    double planned, differentiated = (double)NAN, peak, done = 0;
    eddy_error err = {.code = EDDY_OK};
    eddy_status status;
    subject s;

    subject_init(&s, bench, f, n);
    s.is_limited = true;
    status = load(&s);
    planned = s.costs[LOAD].ns;
    peak = s.costs[LOAD].bytes;
    if (status == EDDY_OK) {
        find_ends(&s, s.graph, n);
        done += plan(&s, PLAN, s.graph, s.ys, s.n_ys) == EDDY_OK;
        planned += s.costs[PLAN].ns;
        peak = larger(peak, s.costs[PLAN].bytes);
        err = s.err;
        status = lower(&s);
        peak = larger(peak, s.costs[LOWER].bytes);
        differentiated = s.costs[LOWER].ns;
    }
    if (status == EDDY_OK) {
        find_ends(&s, s.lowered, n);
        done +=
            differentiate(&s, GRADIENT, s.ys, s.n_ys, s.gradients) == EDDY_OK;
        differentiated += s.costs[GRADIENT].ns;
        peak = larger(peak, s.costs[GRADIENT].bytes);
    }
    table_row(t, f->name,
              (const double[N_PRESET_COLUMNS]){
                  planned / 1e6, planned / 1e6 / LIMIT_PLAN_MS,
                  differentiated / 1e6,
                  differentiated / 1e6 / LIMIT_GRADIENT_MS, peak / MIB,
                  peak / MIB / LIMIT_MIB, done});
    if (s.err.code != EDDY_OK)
        complain(f->name, &s.err);
    else if (err.code != EDDY_OK)
        complain(f->name, &err);
    subject_deinit(&s);
}

/* ---- all ---- */

static void measure_families(bench_state *bench)
{
    const table growth = {.columns = growth_columns,
                          .n_columns = N_GROWTH_COLUMNS,
                          .is_tsv = bench->options->is_tsv};
    const table presets = {.columns = preset_columns,
                           .n_columns = N_PRESET_COLUMNS,
                           .is_tsv = bench->options->is_tsv};

    table_begin(&growth, "Growth: least times, and bytes at the most");
    for (size_t i = 0; i < n_families; i++)
        if (options_want(bench->options, families[i].name))
            measure_growth(bench, &growth, &families[i]);
    table_begin(&presets, "Files of one MiB and of unknown origin");
    for (size_t i = 0; i < n_families; i++)
        if (options_want(bench->options, families[i].name))
            measure_preset(bench, &presets, &families[i]);
}

int main(int argc, char **argv)
{
    eddy_context_options options = {.size = sizeof options};
    eddy_error err = {.code = EDDY_OK};
    bench_options o;
    bench_state bench = {.options = &o};

    options_parse(&o, argc, argv, "Growth of the work before a run.");
    options.allocator = account_allocator(&bench.account);
    if (eddy_context_create(&options, &bench.ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    measure_families(&bench);
    eddy_context_destroy(bench.ctx);
    return options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

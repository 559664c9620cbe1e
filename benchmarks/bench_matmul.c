/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul on float32 in a plan against the libraries below it, called by hand on
 * matrices of the same sizes, by turns, in one thread.
 *
 * The plan is a loop whose body multiplies FACTORS matrices, one after the
 * other, by one more; the calls by hand go round the same number of them.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef EDDY_ONEDNN
#include <dnnl.h>
void omp_set_num_threads(int n);
#endif

#define FACTORS 4
#define ROUNDS 15
#define ROUND_NS 2e6 /* of products in a round */

static const column columns[] = {
    {"eddy us", "eddy", "us", 10, 2},
    {"OpenBLAS", "openblas", "us", 10, 2},
    {"oneDNN", "onednn", "us", 10, 2},
    {"GFLOP/s", "rate", "GFLOP/s", 8, 1},
    {"ratio", "ratio", "eddy/faster", 6, 3},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct size_row {
    int m, n, k;
} size_row;

static const size_row rows[] = {
    {16, 16, 16},    {32, 32, 32},    {64, 64, 64},   {128, 128, 128},
    {256, 256, 256}, {512, 512, 512}, {16, 512, 256}, {16, 256, 512},
    {32, 512, 256},  {256, 512, 16},  {64, 10, 784},  {1, 512, 256},
};

typedef struct matrices {
    size_row size;
    eddy_tensor *a[FACTORS], *b, *first[FACTORS];
    float *out[FACTORS]; /* of the calls by hand */
} matrices;

/* ---- calls by hand ---- */

static void call_openblas(const matrices *m, int i)
{
    const size_row s = m->size;
    const float *a = eddy_tensor_data(m->a[i]), *b = eddy_tensor_data(m->b);
    float *out = m->out[i];

    if (s.m == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, s.k, s.n, 1, b, s.n, a, 1, 0,
                    out, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.m, s.n, s.k, 1,
                    a, s.k, b, s.n, 0, out, s.n);
}

#ifdef EDDY_ONEDNN
static void call_onednn(const matrices *m, int i)
{
    const size_row s = m->size;

    dnnl_sgemm('N', 'N', s.m, s.n, s.k, 1, eddy_tensor_data(m->a[i]), s.k,
               eddy_tensor_data(m->b), s.n, 0, m->out[i], s.n);
}
#endif

typedef void (*call)(const matrices *m, int i);

/* CPU time of this thread: waiting for a turn is no part of it. */
static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_calls(call function, const matrices *m, int trips)
{
    const double begin = cpu_ns();

    for (int t = 0; t < trips; t++)
        for (int i = 0; i < FACTORS; i++)
            function(m, i);
    return (cpu_ns() - begin) / trips / FACTORS;
}

/* ---- the plan ---- */

static eddy_output constant(builder *b, eddy_tensor *value)
{
    return eddy_emit_const(&b->e, NULL, value);
}

static void build(builder *b, const matrices *m, int32_t trips,
                  eddy_output *exits)
{
    eddy_output firsts[FACTORS + 1], nexts[FACTORS + 1], factors[FACTORS];
    eddy_output other;
    loop l;

    firsts[0] = builder_int(b, 0, EDDY_NO_NODE);
    for (int i = 0; i < FACTORS; i++)
        firsts[i + 1] = constant(b, m->first[i]);
    loop_open(b, &l, "loop", firsts, FACTORS + 1);
    other = builder_enter(b, "loop", constant(b, m->b), true);
    for (int i = 0; i < FACTORS; i++)
        factors[i] = builder_enter(b, "loop", constant(b, m->a[i]), true);
    loop_test_trips(b, &l, trips);
    nexts[0] = loop_next_count(b, &l);
    for (int i = 0; i < FACTORS; i++) {
        nexts[i + 1] = eddy_emit_binary(&b->e, "MatMul", factors[i], other);
        /* The factors alone are there in the last iteration too. */
        eddy_emit_control(&b->e, nexts[i + 1].node, l.body[0].node);
    }
    loop_close(b, &l, nexts, exits);
}

static eddy_status make_run(eddy_context *ctx, const matrices *m, int32_t trips,
                            eddy_run **out_run, eddy_error *err)
{
    eddy_output exits[FACTORS + 1];
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = exits, .n_fetches = FACTORS + 1};
    eddy_plan *plan = NULL;
    eddy_status status;
    builder b;

    builder_init(&b, ctx);
    build(&b, m, trips, exits);
    status = b.e.status;
    if (status == EDDY_OK)
        status = eddy_plan_create(b.e.graph, &options, &plan, err);
    else
        *err = b.err;
    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, out_run, err);
    eddy_plan_release(plan);
    builder_deinit(&b);
    return status;
}

/* ---- rows ---- */

static void free_matrices(matrices *m)
{
    for (int i = 0; i < FACTORS; i++) {
        eddy_tensor_release(m->a[i]);
        eddy_tensor_release(m->first[i]);
        free(m->out[i]);
    }
    eddy_tensor_release(m->b);
}

static eddy_status make_matrix(eddy_context *ctx, int height, int width,
                               eddy_tensor **out, eddy_error *err)
{
    const eddy_shape shape = {.rank = 2, .dims = {height, width}};
    eddy_status status =
        eddy_tensor_create(ctx, EDDY_FLOAT32, &shape, out, err);
    float *x = status == EDDY_OK ? eddy_tensor_mutable_data(*out) : NULL;

    for (int i = 0; x && i < height * width; i++)
        x[i] = (float)(i % 7) * 0.125F;
    return status;
}

static eddy_status make_matrices(eddy_context *ctx, size_row size, matrices *m,
                                 eddy_error *err)
{
    eddy_status status;

    *m = (matrices){.size = size};
    status = make_matrix(ctx, size.k, size.n, &m->b, err);
    for (int i = 0; i < FACTORS && status == EDDY_OK; i++) {
        status = make_matrix(ctx, size.m, size.k, &m->a[i], err);
        if (status == EDDY_OK)
            status = make_matrix(ctx, size.m, size.n, &m->first[i], err);
        m->out[i] = malloc((size_t)size.m * (size_t)size.n * sizeof(float));
        if (status == EDDY_OK && !m->out[i])
            status = err->code = EDDY_RESOURCE_EXHAUSTED;
    }
    return status;
}

/* The fastest of the rounds: what else the machine does only adds to one. */
static eddy_status measure(const matrices *m, eddy_run *run, int trips,
                           double best[3], eddy_error *err)
{
    eddy_status status = eddy_run_execute(run, err);

    for (int i = 0; i < 3; i++)
        best[i] = (double)INFINITY;
    for (int round = 0; round < ROUNDS && status == EDDY_OK; round++) {
        const double begin = cpu_ns();

        status = eddy_run_execute(run, err);
        best[0] = fmin(best[0], (cpu_ns() - begin) / trips / FACTORS);
        best[1] = fmin(best[1], time_calls(call_openblas, m, trips));
#ifdef EDDY_ONEDNN
        best[2] = fmin(best[2], time_calls(call_onednn, m, trips));
#endif
    }
    return status;
}

static bool measure_row(eddy_context *ctx, const table *t, size_row size,
                        const char *name)
{
    const double flop = 2.0 * size.m * size.n * size.k;
    eddy_error err = {.code = EDDY_OK};
    eddy_run *run = NULL;
    eddy_status status;
    double best[3];
    matrices m;
    int trips;

    status = make_matrices(ctx, size, &m, &err);
    if (status == EDDY_OK) {
        trips = 1 + (int)(ROUND_NS / FACTORS /
                          fmax(time_calls(call_openblas, &m, 1), 1));
        status = make_run(ctx, &m, trips, &run, &err);
        if (status == EDDY_OK)
            status = measure(&m, run, trips, best, &err);
    }
    if (status == EDDY_OK)
        table_row(t, name,
                  (const double[N_COLUMNS]){
                      best[0] / 1e3, best[1] / 1e3,
                      isinf(best[2]) ? (double)NAN : best[2] / 1e3,
                      flop / best[0], best[0] / fmin(best[1], best[2])});
    else
        table_refusal(t, name, &err);
    eddy_run_destroy(run);
    free_matrices(&m);
    return status == EDDY_OK;
}

int main(int argc, char **argv)
{
    const eddy_context_options options = {.size = sizeof options};
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bool is_good = true;
    bench_options o;

    options_parse(&o, argc, argv, "MatMul against the libraries below it.");
    t.is_tsv = o.is_tsv;
    openblas_set_num_threads(1);
#ifdef EDDY_ONEDNN
    omp_set_num_threads(1);
#endif
    if (eddy_context_create(&options, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "float32 products, m x n x k, one thread");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[32];

        snprintf(name, sizeof name, "%dx%dx%d", rows[i].m, rows[i].n,
                 rows[i].k);
        if (options_want(&o, name))
            is_good = measure_row(ctx, &t, rows[i], name) && is_good;
    }
    eddy_context_destroy(ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

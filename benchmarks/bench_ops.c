/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise ops, each beside what it can't beat: large tensors
 * beside a copy of the same size, functions beside the C library's, and scalars
 * beside their arithmetic.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE ((int64_t)1 << 20)  /* elements of 4 bytes: beyond the caches */
#define MIDDLE ((int64_t)1 << 14) /* within them */
#define REPEATS 101

/* What issue 4 allows. */
#define LEAST_BANDWIDTH 0.8 /* of a copy's */
#define LIMIT_SCALAR_NS 15.0

typedef struct bench_state {
    bench_options *options;
    eddy_context *ctx;
    float *from, *to; /* LARGE elements each, of the copy */
} bench_state;

/* A plan of one op on what is fed, and its run. */
typedef struct job {
    eddy_tensor *feeds[2];
    size_t n_feeds;
    eddy_plan *plan;
    eddy_run *run;
} job;

/* ---- a run of one op ---- */

static eddy_output add_input(bench_state *bench, builder *b, job *j,
                             const eddy_shape *shape)
{
    eddy_tensor *tensor = NULL;
    eddy_output out = {0, 0};
    float *elements;

    EDDY_EMIT(&b->e, eddy_tensor_create(bench->ctx, EDDY_FLOAT32, shape,
                                        &tensor, &b->err));
    if (b->e.status != EDDY_OK)
        return out;
    j->feeds[j->n_feeds++] = tensor;
    elements = eddy_tensor_mutable_data(tensor);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        elements[i] = (float)(i % 1000) / 250 - 2;
    return eddy_emit_placeholder(&b->e, NULL, EDDY_FLOAT32, shape);
}

static eddy_status make_run(builder *b, job *j, const eddy_output *inputs,
                            eddy_output fetch)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = inputs,
        .n_feeds = j->n_feeds,
        .fetches = &fetch,
        .n_fetches = 1,
    };

    EDDY_EMIT(&b->e, eddy_plan_create(b->e.graph, &options, &j->plan, &b->err));
    EDDY_EMIT(&b->e, eddy_run_create(j->plan, NULL, &j->run, &b->err));
    for (size_t i = 0; i < j->n_feeds && b->e.status == EDDY_OK; i++)
        b->e.status = eddy_run_feed(j->run, i, j->feeds[i], &b->err);
    return b->e.status;
}

/* What an op is given. */
typedef enum operands { ONE_TENSOR, TWO_TENSORS, TENSOR_AND_SCALAR } operands;

/* `op` of tensors of `n` elements. */
static eddy_status make_job(bench_state *bench, const char *op, int64_t n,
                            operands given, job *out, eddy_error *err)
{
    const eddy_shape vector = {.rank = 1, .dims = {n}}, scalar = {.rank = 0};
    eddy_output inputs[2] = {{0, 0}, {0, 0}}, fetch;
    eddy_status status;
    builder b;

    *out = (job){.n_feeds = 0};
    builder_init(&b, bench->ctx);
    inputs[0] = add_input(bench, &b, out, &vector);
    if (given != ONE_TENSOR)
        inputs[1] =
            add_input(bench, &b, out, given == TWO_TENSORS ? &vector : &scalar);
    fetch = given == ONE_TENSOR
                ? eddy_emit_unary(&b.e, op, inputs[0])
                : eddy_emit_binary(&b.e, op, inputs[0], inputs[1]);
    status = make_run(&b, out, inputs, fetch);
    *err = b.err;
    builder_deinit(&b);
    return status;
}

static void drop_job(job *j)
{
    eddy_run_destroy(j->run);
    eddy_plan_release(j->plan);
    for (size_t i = 0; i < j->n_feeds; i++)
        eddy_tensor_release(j->feeds[i]);
}

/* ---- large tensors ---- */

static const column bandwidth_columns[] = {
    {"us", "time", "us", 8, 1},
    {"copy us", "copy_time", "us", 8, 1},
    {"GB/s", "bandwidth", "GB/s", 7, 2},
    {"copy GB/s", "copy_bandwidth", "GB/s", 10, 2},
    {"ratio", "bandwidth_ratio", "op/copy", 6, 2},
    {"least", "least_ratio", "op/copy", 6, 2},
};

static const struct bandwidth_row {
    const char *name, *op;
    operands given;
} bandwidth_rows[] = {
    {"AddV2", "AddV2", TWO_TENSORS},
    {"Mul", "Mul", TWO_TENSORS},
    {"Maximum", "Maximum", TWO_TENSORS},
    {"AddV2_scalar", "AddV2", TENSOR_AND_SCALAR},
    {"Mul_scalar", "Mul", TENSOR_AND_SCALAR},
    {"Maximum_scalar", "Maximum", TENSOR_AND_SCALAR},
    {"Relu", "Relu", ONE_TENSOR},
    {"Neg", "Neg", ONE_TENSOR},
    {"Sqrt", "Sqrt", ONE_TENSOR},
};

/* Copies in between, so that both find the machine in the same state. */
static eddy_status measure_bandwidth(bench_state *bench, job *j,
                                     uint64_t *out_ns, uint64_t *out_copy_ns,
                                     eddy_error *err)
{
    uint64_t times[REPEATS], copies[REPEATS];
    eddy_status status = eddy_run_execute(j->run, err);

    for (size_t i = 0; i < REPEATS && status == EDDY_OK; i++) {
        const uint64_t begin = clock_ns();
        uint64_t middle;

        status = eddy_run_execute(j->run, err);
        middle = clock_ns();
        memcpy(bench->to, bench->from, (size_t)LARGE * sizeof(float));
        copies[i] = clock_ns() - middle;
        times[i] = middle - begin;
    }
    if (status != EDDY_OK)
        return status;
    *out_ns = percentile(times, REPEATS, 50);
    *out_copy_ns = percentile(copies, REPEATS, 50);
    return EDDY_OK;
}

static bool bandwidth_section(bench_state *bench)
{
    const table t = {.columns = bandwidth_columns,
                     .n_columns = sizeof bandwidth_columns / sizeof(column),
                     .is_tsv = bench->options->is_tsv};
    bool is_good = true;

    table_begin(&t, "A million float32: memory bandwidth beside memcpy's");
    for (size_t i = 0; i < sizeof bandwidth_rows / sizeof *bandwidth_rows;
         i++) {
        const struct bandwidth_row *row = &bandwidth_rows[i];
        const double copied = 2 * (double)LARGE * sizeof(float);
        const double moved = row->given == TWO_TENSORS ? copied * 1.5 : copied;
        eddy_error err = {.code = EDDY_OK};
        uint64_t ns = 0, copy_ns = 0;
        eddy_status status;
        job j;

        if (!options_want(bench->options, row->name))
            continue;
        status = make_job(bench, row->op, LARGE, row->given, &j, &err);
        if (status == EDDY_OK)
            status = measure_bandwidth(bench, &j, &ns, &copy_ns, &err);
        drop_job(&j);
        if (status != EDDY_OK) {
            table_refusal(&t, row->name, &err);
            is_good = false;
            continue;
        }
        table_row(
            &t, row->name,
            (const double[]){(double)ns / 1e3, (double)copy_ns / 1e3,
                             moved / (double)ns, copied / (double)copy_ns,
                             moved / copied * (double)copy_ns / (double)ns,
                             LEAST_BANDWIDTH});
    }
    return is_good;
}

/* ---- functions ---- */

static const column function_columns[] = {
    {"ns", "element", "ns", 8, 2},
    {"libm ns", "libm_element", "ns", 8, 2},
    {"ratio", "time_ratio", "eddy/libm", 6, 2},
};

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static float softplus(float x)
{
    return log1pf(expf(x));
}

static const struct function_row {
    const char *op;
    float (*libm)(float x);
} function_rows[] = {
    {"Exp", expf},          {"Expm1", expm1f}, {"Log", logf},
    {"Sin", sinf},          {"Tanh", tanhf},   {"Sigmoid", sigmoid},
    {"Softplus", softplus}, {"Erf", erff},     {"Atan", atanf},
};

static uint64_t time_libm(bench_state *bench, float (*function)(float x))
{
    const uint64_t begin = clock_ns();

    for (int64_t i = 0; i < MIDDLE; i++)
        bench->to[i] = function(bench->from[i]);
    return clock_ns() - begin;
}

static eddy_status measure_function(bench_state *bench,
                                    const struct function_row *row, job *j,
                                    double out_ns[2], eddy_error *err)
{
    uint64_t times[REPEATS], libm[REPEATS];
    eddy_status status = EDDY_OK;

    memcpy(bench->from, eddy_tensor_data(j->feeds[0]),
           (size_t)MIDDLE * sizeof(float));
    for (size_t i = 0; i < REPEATS && status == EDDY_OK; i++) {
        const uint64_t begin = clock_ns();

        status = eddy_run_execute(j->run, err);
        times[i] = clock_ns() - begin;
        libm[i] = time_libm(bench, row->libm);
    }
    if (status != EDDY_OK)
        return status;
    out_ns[0] = (double)percentile(times, REPEATS, 50) / (double)MIDDLE;
    out_ns[1] = (double)percentile(libm, REPEATS, 50) / (double)MIDDLE;
    return EDDY_OK;
}

static bool function_section(bench_state *bench)
{
    const table t = {.columns = function_columns,
                     .n_columns = sizeof function_columns / sizeof(column),
                     .is_tsv = bench->options->is_tsv};
    bool is_good = true;

    table_begin(&t, "Functions of 16384 float32: an element, beside libm");
    for (size_t i = 0; i < sizeof function_rows / sizeof *function_rows; i++) {
        const struct function_row *row = &function_rows[i];
        eddy_error err = {.code = EDDY_OK};
        double ns[2] = {0, 0};
        eddy_status status;
        job j;

        if (!options_want(bench->options, row->op))
            continue;
        status = make_job(bench, row->op, MIDDLE, ONE_TENSOR, &j, &err);
        if (status == EDDY_OK)
            status = measure_function(bench, row, &j, ns, &err);
        drop_job(&j);
        if (status == EDDY_OK)
            table_row(&t, row->op,
                      (const double[]){ns[0], ns[1], ns[0] / ns[1]});
        else
            table_refusal(&t, row->op, &err);
        is_good = is_good && status == EDDY_OK;
    }
    return is_good;
}

/* ---- scalars ---- */

#define CHAIN 32 /* ops in the loop's body, each on the one before */
#define TRIPS 2000

static const column scalar_columns[] = {
    {"ns", "node", "ns", 8, 2},
    {"arithmetic ns", "arithmetic", "ns", 14, 2},
    {"beyond", "beyond", "ns", 8, 2},
    {"limit", "limit", "ns", 6, 1},
};

static float add(float x, float y)
{
    return x + y;
}

static float multiply(float x, float y)
{
    return x * y;
}

static float larger(float x, float y)
{
    return x > y ? x : y;
}

static float tangent(float x, float y)
{
    (void)y;
    return tanhf(x);
}

static const struct scalar_row {
    const char *name, *op;
    bool is_binary;
    float (*arithmetic)(float x, float y);
} scalar_rows[] = {
    {"scalar_AddV2", "AddV2", true, add},
    {"scalar_Mul", "Mul", true, multiply},
    {"scalar_Maximum", "Maximum", true, larger},
    {"scalar_Tanh", "Tanh", false, tangent},
};

/* while i < TRIPS: x = op(... op(x, y)), `n` times. */
static void build_chain(builder *b, const struct scalar_row *row, int n,
                        eddy_output *out_exits)
{
    const eddy_output firsts[] = {builder_int(b, 0, EDDY_NO_NODE),
                                  builder_float(b, 0.5f, EDDY_NO_NODE)};
    eddy_output nexts[2], y;
    loop l;

    loop_open(b, &l, "loop", firsts, 2);
    loop_test_trips(b, &l, TRIPS);
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = l.body[1];
    y = builder_float(b, 1.0f, l.body[0].node);
    for (int i = 0; i < n; i++)
        nexts[1] = row->is_binary
                       ? eddy_emit_binary(&b->e, row->op, nexts[1], y)
                       : eddy_emit_unary(&b->e, row->op, nexts[1]);
    loop_close(b, &l, nexts, out_exits);
}

static eddy_status time_chain(bench_state *bench, const struct scalar_row *row,
                              int n, double *out_ns, eddy_error *err)
{
    eddy_output exits[2] = {{0, 0}, {0, 0}};
    job j = {.n_feeds = 0};
    eddy_status status;
    timing median;
    builder b;

    builder_init(&b, bench->ctx);
    build_chain(&b, row, n, exits);
    status = make_run(&b, &j, NULL, exits[1]);
    *err = b.err;
    builder_deinit(&b);
    if (status == EDDY_OK)
        status = measure_run(j.run, REPEATS, &median, err);
    if (status == EDDY_OK)
        *out_ns = (double)median.median_ns;
    drop_job(&j);
    return status;
}

/* A chain as long, through a pointer that the compiler does not see through. */
static double time_arithmetic(float (*volatile arithmetic)(float x, float y))
{
    uint64_t times[REPEATS];
    volatile float sink;

    for (size_t i = 0; i < REPEATS; i++) {
        const uint64_t begin = clock_ns();
        float x = 0.5f;

        for (int trip = 0; trip < TRIPS; trip++)
            x = arithmetic(x, 1.0f);
        sink = x;
        times[i] = clock_ns() - begin;
    }
    (void)sink;
    return (double)percentile(times, REPEATS, 50) / TRIPS;
}

static bool scalar_section(bench_state *bench)
{
    const table t = {.columns = scalar_columns,
                     .n_columns = sizeof scalar_columns / sizeof(column),
                     .is_tsv = bench->options->is_tsv};
    bool is_good = true;

    table_begin(&t, "An op on scalars in a loop, beside its arithmetic");
    for (size_t i = 0; i < sizeof scalar_rows / sizeof *scalar_rows; i++) {
        const struct scalar_row *row = &scalar_rows[i];
        double with = 0, without = 0, node, arithmetic;
        eddy_error err = {.code = EDDY_OK};
        eddy_status status;

        if (!options_want(bench->options, row->name))
            continue;
        status = time_chain(bench, row, CHAIN, &with, &err);
        if (status == EDDY_OK)
            status = time_chain(bench, row, 0, &without, &err);
        if (status != EDDY_OK) {
            table_refusal(&t, row->name, &err);
            is_good = false;
            continue;
        }
        node = (with - without) / ((double)CHAIN * TRIPS);
        arithmetic = time_arithmetic(row->arithmetic);
        table_row(&t, row->name,
                  (const double[]){node, arithmetic, node - arithmetic,
                                   LIMIT_SCALAR_NS});
    }
    return is_good;
}

/* ---- all sections ---- */

static bool (*const sections[])(bench_state *bench) = {
    bandwidth_section,
    function_section,
    scalar_section,
};

static bool run_sections(bench_state *bench)
{
    const size_t size = (size_t)LARGE * sizeof(float);
    bool is_good = true;

    bench->from = malloc(size);
    bench->to = malloc(size);
    if (bench->from && bench->to) {
        memset(bench->from, 0, size);
        memset(bench->to, 0, size);
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
            is_good = sections[i](bench) && is_good;
    } else {
        fputs("bench: no memory\n", stderr);
        is_good = false;
    }
    free(bench->from);
    free(bench->to);
    return is_good;
}

int main(int argc, char **argv)
{
    const eddy_context_options options = {.size = sizeof options};
    eddy_error err = {.code = EDDY_OK};
    bench_options o;
    bench_state bench = {.options = &o};
    bool is_good;

    options_parse(&o, argc, argv, "Elementwise ops, large and small.");
    if (eddy_context_create(&options, &bench.ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    is_good = run_sections(&bench);
    eddy_context_destroy(bench.ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

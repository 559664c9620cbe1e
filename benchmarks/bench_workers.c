/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with 0, 1 and 2 workers, the three by turns so that what else the
 * machine does meets all of them, and the least time of each: where workers
 * pay, and that they cost nothing where they do not.
 */
#include "benchmarks/builder.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/control_flow.h"
#include "eddy/run.h"

#include <stdio.h>
#include <stdlib.h>

#define N_ROUNDS 201
#define MOST_VARIABLES 5

static const column columns[] = {
    {"0 workers", "w0", "us", 11, 1},
    {"1 worker", "w1", "us", 11, 1},
    {"2 workers", "w2", "us", 11, 1},
    {"0 / 2", "zero_by_two", "times as fast", 8, 2},
    {"1 / 2", "one_by_two", "times as fast", 8, 2},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

static const uint32_t worker_counts[] = {0, 1, 2};
#define N_COUNTS (sizeof worker_counts / sizeof worker_counts[0])

/* A loop of so many trips over variables of one shape. */
typedef struct workload {
    const char *name;
    int32_t trips;
    uint32_t n_variables;
    eddy_shape shape;
    void (*body)(builder *b, const eddy_output *now, eddy_output *next);
} workload;

/* ---- constants ---- */

/* Small numbers of both signs, the same in every run. */
static eddy_output numbers(builder *b, eddy_shape shape, float scale)
{
    eddy_output out = {.node = EDDY_NO_NODE};
    int64_t n = 1;
    float *x;

    for (int32_t d = 0; d < shape.rank; d++)
        n *= shape.dims[d];
    x = malloc((size_t)n * sizeof *x);
    if (!x) {
        builder_fail(b, "no memory for numbers");
        return out;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * ((float)(i * 7919 % 2003) / 1001.5F - 1);
    out = eddy_emit_elements(&b->e, NULL, EDDY_FLOAT32, &shape, x);
    free(x);
    return out;
}

#define SHAPE(...)                                                             \
    ((eddy_shape){.rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),  \
                  .dims = {__VA_ARGS__}})

/* ---- bodies ---- */

static void products(builder *b, const eddy_output *now, eddy_output *next)
{
    const eddy_output w = numbers(b, SHAPE(128, 128), 0.1F);

    for (int i = 0; i < 4; i++)
        next[i] = eddy_emit_binary(&b->e, "MatMul", now[i], w);
}

static void product_512(builder *b, const eddy_output *now, eddy_output *next)
{
    next[0] = eddy_emit_binary(&b->e, "MatMul", now[0],
                               numbers(b, SHAPE(512, 512), 0.05F));
}

static void product_few_rows(builder *b, const eddy_output *now,
                             eddy_output *next)
{
    next[0] = eddy_emit_binary(&b->e, "MatMul", now[0],
                               numbers(b, SHAPE(1024, 1024), 0.03F));
}

static void batch(builder *b, const eddy_output *now, eddy_output *next)
{
    next[0] = eddy_emit_binary(&b->e, "BatchMatMulV2", now[0],
                               numbers(b, SHAPE(32, 64, 64), 0.2F));
}

static void layers(builder *b, const eddy_output *now, eddy_output *next)
{
    eddy_output below = now[0];

    for (int i = 0; i < 4; i++) {
        const eddy_output w = numbers(b, SHAPE(128, 128), 0.1F);
        const eddy_output u = numbers(b, SHAPE(128, 128), 0.08F);
        const eddy_output sum = eddy_emit_binary(
            &b->e, "AddV2", eddy_emit_binary(&b->e, "MatMul", below, w),
            eddy_emit_binary(&b->e, "MatMul", now[i + 1], u));

        below = next[i + 1] = eddy_emit_unary(&b->e, "Tanh", sum);
    }
    next[0] = now[0];
}

static void chain(builder *b, const eddy_output *now, eddy_output *next)
{
    const eddy_output half = eddy_emit_float(&b->e, 0.5F);
    const eddy_output tenth = eddy_emit_float(&b->e, 0.1F);
    eddy_output x = eddy_emit_binary(&b->e, "Mul", now[0], half);

    x = eddy_emit_binary(&b->e, "AddV2", x, tenth);
    x = eddy_emit_unary(&b->e, "Tanh", x);
    x = eddy_emit_binary(&b->e, "Mul", x, now[0]);
    x = eddy_emit_unary(&b->e, "Sigmoid", x);
    next[0] = eddy_emit_binary(&b->e, "Sub", x, half);
}

static void one_op(builder *b, const eddy_output *now, eddy_output *next)
{
    next[0] = eddy_emit_unary(&b->e, "Neg", now[0]);
}

static void sums(builder *b, const eddy_output *now, eddy_output *next)
{
    const eddy_output rows = eddy_emit_elements(
        &b->e, NULL, EDDY_INT32, &SHAPE(1), (const int32_t[]){1});
    const eddy_output all = eddy_emit_elements(
        &b->e, NULL, EDDY_INT32, &SHAPE(2), (const int32_t[]){0, 1});
    const eddy_output sum = eddy_emit_binary(
        &b->e, "AddV2", eddy_emit_binary(&b->e, "Sum", now[0], rows),
        eddy_emit_binary(&b->e, "Max", now[0], all));

    /* Nothing but a number of it goes on, or the sum would have no reader. */
    next[1] =
        eddy_emit_binary(&b->e, "Sum", sum,
                         eddy_emit_elements(&b->e, NULL, EDDY_INT32, &SHAPE(1),
                                            (const int32_t[]){0}));
    next[0] = now[0];
}

static void softmax(builder *b, const eddy_output *now, eddy_output *next)
{
    next[0] = eddy_emit_unary(&b->e, "Softmax", now[0]);
}

static void conv(builder *b, const eddy_output *now, eddy_output *next)
{
    const eddy_string same = {"SAME", 4};
    const eddy_output in[] = {now[0], numbers(b, SHAPE(3, 3, 32, 32), 0.05F)};
    const eddy_attr attrs[] = {
        {.name = "strides",
         .kind = EDDY_ATTR_INT,
         .is_list = true,
         .n = 4,
         .as.ints = (const int64_t[]){1, 1, 1, 1}},
        eddy_attr_string("padding", &same),
    };

    next[0] = eddy_emit_op(&b->e, "Conv2D", in, 2, attrs, 2);
}

static void transpose(builder *b, const eddy_output *now, eddy_output *next)
{
    next[0] =
        eddy_emit_binary(&b->e, "Transpose", now[0],
                         eddy_emit_elements(&b->e, NULL, EDDY_INT32, &SHAPE(2),
                                            (const int32_t[]){1, 0}));
}

static const workload workloads[] = {
    {"4 products of 128^3", 20, 4, {2, {128, 128}}, products},
    {"4 layers of an RNN", 20, 5, {2, {16, 128}}, layers},
    {"4 layers, batch 64", 10, 5, {2, {64, 128}}, layers},
    {"product of 512^3", 2, 1, {2, {512, 512}}, product_512},
    {"product of 16 rows", 20, 1, {2, {16, 1024}}, product_few_rows},
    {"32 products of 64^3", 10, 1, {3, {32, 64, 64}}, batch},
    {"chain of 6, 1e6", 3, 1, {1, {1000000}}, chain},
    {"chain of 6, 1e5", 20, 1, {1, {100000}}, chain},
    {"chain of 6, 1e4", 200, 1, {1, {10000}}, chain},
    {"chain of 6, 100", 2000, 1, {1, {100}}, chain},
    {"one op, 1e6", 5, 1, {1, {1000000}}, one_op},
    {"one op, 3e4", 500, 1, {1, {30000}}, one_op},
    {"sums of 1024^2", 5, 2, {2, {1024, 1024}}, sums},
    {"softmax of 512^2", 5, 1, {2, {512, 512}}, softmax},
    {"convolution", 2, 1, {4, {8, 32, 32, 32}}, conv},
    {"transposition", 3, 1, {2, {1024, 1024}}, transpose},
};

/* ---- measuring ---- */

/* A counter and the variables go round. */
static void build(builder *b, const workload *w, eddy_output *last)
{
    eddy_output now[MOST_VARIABLES + 1] = {{0, 0}};
    eddy_output next[MOST_VARIABLES + 1] = {{0, 0}};
    eddy_output first[MOST_VARIABLES + 1];
    const uint32_t n = w->n_variables + 1;
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = first,
                                  .n_variables = n,
                                  .parallel_iterations = 10};

    first[0] = eddy_emit_int32(&b->e, 0);
    for (uint32_t i = 1; i < n; i++)
        first[i] = w->body == sums && i == 2 ? eddy_emit_float(&b->e, 0)
                                             : numbers(b, w->shape, 1);
    EDDY_EMIT(&b->e, eddy_while_begin(b->e.graph, &spec, now, &b->err));
    EDDY_EMIT(&b->e, eddy_while_body(
                         b->e.graph,
                         eddy_emit_binary(&b->e, "Less", now[0],
                                          eddy_emit_int32(&b->e, w->trips)),
                         now, &b->err));
    if (b->e.status == EDDY_OK)
        w->body(b, now + 1, next + 1);
    next[0] =
        eddy_emit_binary(&b->e, "AddV2", now[0], eddy_emit_int32(&b->e, 1));
    EDDY_EMIT(&b->e, eddy_while_end(b->e.graph, next, n, last, &b->err));
}

/* One program in one context. */
typedef struct subject {
    eddy_context *ctx;
    eddy_plan *plan;
    eddy_run *run;
    uint64_t least_ns;
} subject;

static eddy_status make_subject(subject *s, const workload *w,
                                uint32_t n_workers, eddy_error *err)
{
    const eddy_context_options options = {
        .size = sizeof options, .n_workers = n_workers, .blas_threads = 1};
    eddy_output fetches[MOST_VARIABLES + 1];
    eddy_status status = eddy_context_create(&options, &s->ctx, err);
    builder b;

    s->least_ns = UINT64_MAX;
    if (status != EDDY_OK)
        return status;
    builder_init(&b, s->ctx);
    build(&b, w, fetches);
    status = b.e.status;
    if (status == EDDY_OK) {
        const eddy_plan_options what = {.size = sizeof what,
                                        .fetches = fetches,
                                        .n_fetches = w->n_variables + 1};

        status = eddy_plan_create(b.e.graph, &what, &s->plan, &b.err);
    }
    if (status == EDDY_OK)
        status = eddy_run_create(s->plan, NULL, &s->run, &b.err);
    builder_deinit(&b);
    *err = b.err;
    return status;
}

static void free_subject(subject *s)
{
    eddy_run_destroy(s->run);
    eddy_plan_release(s->plan);
    if (s->ctx)
        eddy_context_destroy(s->ctx);
}

/* Two to warm up, and to measure what kernels take. */
static eddy_status time_subjects(subject *s, eddy_error *err)
{
    for (int round = -2; round < N_ROUNDS; round++)
        for (size_t i = 0; i < N_COUNTS; i++) {
            const uint64_t begin = clock_ns();
            const eddy_status status = eddy_run_execute(s[i].run, err);
            const uint64_t ns = clock_ns() - begin;

            if (status != EDDY_OK)
                return status;
            if (round >= 0 && ns < s[i].least_ns)
                s[i].least_ns = ns;
        }
    return EDDY_OK;
}

static bool measure(const table *t, const workload *w)
{
    subject s[N_COUNTS] = {{0}};
    eddy_error err = {.code = EDDY_OK};
    eddy_status status = EDDY_OK;

    for (size_t i = 0; i < N_COUNTS && status == EDDY_OK; i++)
        status = make_subject(&s[i], w, worker_counts[i], &err);
    if (status == EDDY_OK)
        status = time_subjects(s, &err);
    if (status == EDDY_OK) {
        const double ns[] = {(double)s[0].least_ns, (double)s[1].least_ns,
                             (double)s[2].least_ns};

        table_row(t, w->name,
                  (const double[N_COLUMNS]){ns[0] / 1e3, ns[1] / 1e3,
                                            ns[2] / 1e3, ns[0] / ns[2],
                                            ns[1] / ns[2]});
    } else {
        table_refusal(t, w->name, &err);
    }
    for (size_t i = 0; i < N_COUNTS; i++)
        free_subject(&s[i]);
    return status == EDDY_OK;
}

int main(int argc, char **argv)
{
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bool is_good = true;
    bench_options o;

    options_parse(&o, argc, argv,
                  "Programs with 0, 1 and 2 workers, by turns.");
    t.is_tsv = o.is_tsv;
    table_begin(&t, "Loops with workers, least of many runs");
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (options_want(&o, workloads[i].name))
            is_good = measure(&t, &workloads[i]) && is_good;
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

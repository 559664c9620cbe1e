/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a million elements against a plain read of the same bytes: how
 * much of the memory's speed they keep.
 */
#include "benchmarks/builder.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 1024 /* of the matrix */
#define N_ELEMENTS ((size_t)SIDE * SIDE)
#define N_READS 101
#define N_TIMES 31

static const column columns[] = {
    {"us", "time", "us", 9, 1},
    {"GB/s", "rate", "GB/s", 8, 2},
    {"read us", "read", "us", 9, 1},
    {"read/op", "ratio", "of the speed of reading", 8, 2},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct reduction {
    const char *name, *op;
    eddy_dtype dtype;
    int32_t n_axes, axes[2];
} reduction;

static const reduction reductions[] = {
    {"sum_all", "Sum", EDDY_FLOAT32, 2, {0, 1}},
    {"sum_rows", "Sum", EDDY_FLOAT32, 1, {1}},
    {"sum_columns", "Sum", EDDY_FLOAT32, 1, {0}},
    {"mean_all", "Mean", EDDY_FLOAT32, 2, {0, 1}},
    {"max_all", "Max", EDDY_FLOAT32, 2, {0, 1}},
    {"max_columns", "Max", EDDY_FLOAT32, 1, {0}},
    {"norm_all", "EuclideanNorm", EDDY_FLOAT32, 2, {0, 1}},
    {"sum_double", "Sum", EDDY_FLOAT64, 2, {0, 1}},
    {"sum_half", "Sum", EDDY_FLOAT16, 2, {0, 1}},
    {"sum_int32", "Sum", EDDY_INT32, 2, {0, 1}},
    {"mean_int8", "Mean", EDDY_INT8, 2, {0, 1}},
    {"all_bool", "All", EDDY_BOOL, 2, {0, 1}},
    {"argmax_rows", "ArgMax", EDDY_FLOAT32, 0, {1}},
    {"argmax_columns", "ArgMax", EDDY_FLOAT32, 0, {0}},
    {"cumsum_rows", "Cumsum", EDDY_FLOAT32, 0, {1}},
    {"cumsum_columns", "Cumsum", EDDY_FLOAT32, 0, {0}},
};

/* A byte that no element has: to look for it is to read all of them. */
#define NO_BYTE 0xff

/* 1 to 8 in turn, and 16 somewhere in each row. */
static int value_at(size_t i)
{
    return i % SIDE == (i / SIDE * 389 + 517) % SIDE ? 16
                                                     : (int)(i * 7 % 8) + 1;
}

/* Elements of which no byte is NO_BYTE. */
static void fill(void *data, eddy_dtype dtype)
{
    for (size_t i = 0; i < N_ELEMENTS; i++) {
        const int value = value_at(i);

        switch (dtype) {
        case EDDY_FLOAT64:
            ((double *)data)[i] = value;
            break;
        case EDDY_FLOAT32:
            ((float *)data)[i] = (float)value;
            break;
        case EDDY_FLOAT16:
            ((uint16_t *)data)[i] = eddy_float16_from_float((float)value);
            break;
        case EDDY_INT32:
            ((int32_t *)data)[i] = value;
            break;
        case EDDY_BOOL:
            ((bool *)data)[i] = true;
            break;
        default:
            ((uint8_t *)data)[i] = (uint8_t)value;
            break;
        }
    }
}

/* The median time to read the tensor. */
static double read_ns(const eddy_tensor *tensor)
{
    uint64_t times[N_READS];

    for (size_t i = 0; i < N_READS; i++) {
        const uint64_t begin = clock_ns();

        if (memchr(eddy_tensor_data(tensor), NO_BYTE,
                   eddy_tensor_bytes(tensor)))
            fputs("bench_reduce: a byte that should not be there\n", stderr);
        times[i] = clock_ns() - begin;
    }
    return (double)percentile(times, N_READS, 50);
}

static const eddy_shape matrix = {.rank = 2, .dims = {SIDE, SIDE}};

/* The op on a feed; its axes are a scalar where `n_axes` is 0. */
static eddy_output build(builder *b, eddy_context *ctx, const reduction *r,
                         eddy_output *out_feed)
{
    const eddy_shape of_axes = {.rank = r->n_axes > 0, .dims = {r->n_axes}};
    eddy_output axes = {.node = EDDY_NO_NODE};
    eddy_tensor *tensor = NULL;

    *out_feed = eddy_emit_placeholder(&b->e, NULL, r->dtype, &matrix);
    EDDY_EMIT(&b->e,
              eddy_tensor_create(ctx, EDDY_INT32, &of_axes, &tensor, &b->err));
    if (b->e.status == EDDY_OK) {
        memcpy(eddy_tensor_mutable_data(tensor), r->axes,
               eddy_tensor_bytes(tensor));
        axes = eddy_emit_const(&b->e, NULL, tensor);
    }
    eddy_tensor_release(tensor);
    return eddy_emit_binary(&b->e, r->op, *out_feed, axes);
}

static eddy_status time_op(eddy_context *ctx, const reduction *r,
                           eddy_tensor *input, timing *out_timing,
                           eddy_error *err)
{
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_output feed, fetch;
    eddy_status status;
    builder b;

    builder_init(&b, ctx);
    fetch = build(&b, ctx, r, &feed);
    status = b.e.status;
    if (status == EDDY_OK) {
        const eddy_plan_options options = {.size = sizeof options,
                                           .feeds = &feed,
                                           .n_feeds = 1,
                                           .fetches = &fetch,
                                           .n_fetches = 1};

        status = eddy_plan_create(b.e.graph, &options, &plan, &b.err);
    }
    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, &b.err);
    if (status == EDDY_OK)
        status = eddy_run_feed(run, 0, input, &b.err);
    if (status == EDDY_OK)
        status = measure_run(run, N_TIMES, out_timing, &b.err);
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    builder_deinit(&b);
    *err = b.err;
    return status;
}

static bool measure(const table *t, eddy_context *ctx, const reduction *r)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *input = NULL;
    timing op;
    double bytes, read;
    bool is_good = true;

    if (eddy_tensor_create(ctx, r->dtype, &matrix, &input, &err) != EDDY_OK) {
        table_refusal(t, r->name, &err);
        return false;
    }
    fill(eddy_tensor_mutable_data(input), r->dtype);
    bytes = (double)eddy_tensor_bytes(input);
    read = read_ns(input);
    if (time_op(ctx, r, input, &op, &err) == EDDY_OK) {
        const double ns = (double)op.median_ns;

        table_row(t, r->name,
                  (const double[N_COLUMNS]){ns / 1e3, bytes / ns, read / 1e3,
                                            read / ns});
    } else {
        table_refusal(t, r->name, &err);
        is_good = false;
    }
    eddy_tensor_release(input);
    return is_good;
}

int main(int argc, char **argv)
{
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bool is_good = true;
    bench_options o;

    options_parse(&o, argc, argv,
                  "Reductions of a million elements against a read of them.");
    t.is_tsv = o.is_tsv;
    if (eddy_context_create(NULL, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "Reductions of a million elements");
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (options_want(&o, reductions[i].name))
            is_good = measure(&t, ctx, &reductions[i]) && is_good;
    eddy_context_destroy(ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

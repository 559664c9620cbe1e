/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that write to a TensorArray, a TensorList or a stack, for growing
 * numbers of items: what an item costs must not depend on how many there are.
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
#define ROW_SIZE 16

/* No item may cost more at the largest number than so often the smallest. */
#define LIMIT_RATIO 3.0

static const int32_t sizes[] = {1000, 10000, 100000, 1000000};

#define N_SIZES (sizeof sizes / sizeof sizes[0])

static const column columns[] = {
    {"1e3 ns", "ns_1e3", "ns an item", 8, 1},
    {"1e4 ns", "ns_1e4", "ns an item", 8, 1},
    {"1e5 ns", "ns_1e5", "ns an item", 8, 1},
    {"1e6 ns", "ns_1e6", "ns an item", 8, 1},
    {"ratio", "ratio", "most items/fewest", 7, 2},
    {"bytes", "peak_bytes", "bytes an item", 8, 1},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* ---- nodes ---- */

/* A loop `name` of `trips` trips over `value`, opened up to its body. */
typedef struct walk {
    builder *b;
    const char *name;
    loop l;
    eddy_output item; /* what is written: the counter, or a row of it */
} walk;

static eddy_output add(builder *b, const char *op, const eddy_output *inputs,
                       size_t n, const eddy_attr *attr)
{
    return eddy_emit_op(&b->e, op, inputs, n, attr, attr ? 1 : 0);
}

#define ADD(b, op, attr, ...)                                                  \
    add((b), (op), (eddy_output[]){__VA_ARGS__},                               \
        sizeof((eddy_output[]){__VA_ARGS__}) / sizeof(eddy_output), (attr))

static eddy_attr dtype_attr(const char *name)
{
    static const eddy_dtype dtype = EDDY_INT32;

    return eddy_attr_type(name, &dtype);
}

/* Output `i` of the node. */
static eddy_output output_of(eddy_output of, uint32_t i)
{
    return (eddy_output){of.node, i};
}

/* A vector of `n` zeros of int32. */
static eddy_output add_zeros(builder *b, eddy_context *ctx, int64_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    eddy_output out = {0, 0};
    eddy_tensor *tensor = NULL;

    EDDY_EMIT(&b->e,
              eddy_tensor_create(ctx, EDDY_INT32, &shape, &tensor, &b->err));
    if (b->e.status != EDDY_OK)
        return out;
    memset(eddy_tensor_mutable_data(tensor), 0, eddy_tensor_bytes(tensor));
    out = eddy_emit_const(&b->e, NULL, tensor);
    eddy_tensor_release(tensor);
    return out;
}

/* ---- loops ---- */

/* What a program is built from. */
typedef struct setting {
    builder *b;
    eddy_context *ctx;
    int32_t n;
    bool has_rows; /* items are vectors, not scalars */
} setting;

static void begin_walk(const setting *s, walk *w, const char *name,
                       eddy_output value)
{
    const eddy_output firsts[] = {builder_int(s->b, 0, value.node), value};

    w->b = s->b;
    w->name = name;
    loop_open(s->b, &w->l, name, firsts, 2);
    loop_test_trips(s->b, &w->l, s->n);
    w->item = w->l.body[0];
    if (s->has_rows)
        w->item = eddy_emit_binary(
            &s->b->e, "AddV2",
            builder_enter(s->b, name, add_zeros(s->b, s->ctx, ROW_SIZE), true),
            w->item);
}

static eddy_output invariant(walk *w, eddy_output value)
{
    return builder_enter(w->b, w->name, value, true);
}

static void add_control(builder *b, eddy_output to, eddy_output from)
{
    eddy_emit_control(&b->e, to.node, from.node);
}

/*
 * `next` goes round; the last value.  The next iteration waits for it too, as
 * it does in the loops that gradients are made of.
 */
static eddy_output end_walk(walk *w, eddy_output next)
{
    const eddy_output nexts[] = {loop_next_count(w->b, &w->l), next};
    eddy_output exits[2] = {{0, 0}, {0, 0}};

    add_control(w->b, nexts[0], next);
    loop_close(w->b, &w->l, nexts, exits);
    return exits[1];
}

/* ---- the programs: each gives the item that was written last ---- */

static eddy_output build_array(const setting *s)
{
    const eddy_attr dtype = dtype_attr("dtype");
    const eddy_output array = ADD(s->b, "TensorArrayV3", &dtype,
                                  builder_int(s->b, s->n, EDDY_NO_NODE));
    eddy_output write, flow;
    walk w;

    begin_walk(s, &w, "write", output_of(array, 1));
    write = ADD(s->b, "TensorArrayWriteV3", NULL, invariant(&w, array),
                w.l.body[0], w.item, w.l.body[1]);
    flow = end_walk(&w, write);
    return ADD(s->b, "TensorArrayReadV3", &dtype, array,
               builder_int(s->b, s->n - 1, EDDY_NO_NODE), flow);
}

static eddy_output read_last(const setting *s, eddy_output list)
{
    const eddy_attr dtype = dtype_attr("element_dtype");

    return ADD(s->b, "TensorListGetItem", &dtype, list,
               builder_int(s->b, s->n - 1, EDDY_NO_NODE),
               builder_int(s->b, -1, EDDY_NO_NODE));
}

static eddy_output build_set(const setting *s)
{
    const eddy_attr dtype = dtype_attr("element_dtype");
    const eddy_output list = ADD(s->b, "TensorListReserve", &dtype,
                                 builder_int(s->b, -1, EDDY_NO_NODE),
                                 builder_int(s->b, s->n, EDDY_NO_NODE));
    eddy_output set;
    walk w;

    begin_walk(s, &w, "set", list);
    set =
        ADD(s->b, "TensorListSetItem", NULL, w.l.body[1], w.l.body[0], w.item);
    return read_last(s, end_walk(&w, set));
}

static eddy_output build_push(const setting *s)
{
    const eddy_attr dtype = dtype_attr("element_dtype");
    const eddy_output list = ADD(s->b, "EmptyTensorList", &dtype,
                                 builder_int(s->b, -1, EDDY_NO_NODE),
                                 builder_int(s->b, -1, EDDY_NO_NODE));
    eddy_output push;
    walk w;

    begin_walk(s, &w, "push", list);
    push = ADD(s->b, "TensorListPushBack", NULL, w.l.body[1], w.item);
    return read_last(s, end_walk(&w, push));
}

/*
 * Pushes in one loop and pops in another, of which the last is what was pushed
 * first.
 */
static eddy_output build_stack(const setting *s)
{
    const eddy_attr type = dtype_attr("elem_type");
    const eddy_output start = s->has_rows ? add_zeros(s->b, s->ctx, ROW_SIZE)
                                          : builder_int(s->b, 0, EDDY_NO_NODE);
    const eddy_output stack =
        ADD(s->b, "StackV2", &type, builder_int(s->b, -1, EDDY_NO_NODE));
    eddy_output push, pop;
    walk w;

    begin_walk(s, &w, "push", start);
    push = ADD(s->b, "StackPushV2", NULL, invariant(&w, stack), w.item);
    begin_walk(s, &w, "pop", end_walk(&w, push));
    pop = ADD(s->b, "StackPopV2", &type, invariant(&w, stack));
    add_control(s->b, pop, w.l.body[0]);
    return end_walk(&w, pop);
}

typedef struct program {
    const char *name;
    eddy_output (*build)(const setting *s);
    bool has_rows;
    bool ends_at_first; /* the result is item 0, not item n - 1 */
} program;

static const program programs[] = {
    {"array_write", build_array, false, false},
    {"list_set", build_set, false, false},
    {"list_push", build_push, false, false},
    {"stack_push_pop", build_stack, false, true},
    {"array_write_rows", build_array, true, false},
    {"list_set_rows", build_set, true, false},
    {"list_push_rows", build_push, true, false},
    {"stack_push_pop_rows", build_stack, true, true},
};

/* ---- measuring ---- */

static eddy_status check_result(const eddy_run *run, int32_t want,
                                eddy_error *err)
{
    const int32_t *value = eddy_tensor_data(eddy_run_fetch(run, 0));

    if (*value == want)
        return EDDY_OK;
    *err = (eddy_error){.code = EDDY_INTERNAL};
    snprintf(err->message, sizeof err->message, "the result is %d, not %d",
             (int)*value, (int)want);
    return err->code;
}

/* Nanoseconds and bytes an item. */
static eddy_status measure(eddy_context *ctx, const program *p, int32_t n,
                           double *out_ns, double *out_bytes, eddy_error *err)
{
    builder b;
    const setting s = {&b, ctx, n, p->has_rows};
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_output fetch;
    eddy_plan_options options = {
        .size = sizeof options, .fetches = &fetch, .n_fetches = 1};
    timing t = {0, 0};
    eddy_status status;

    builder_init(&b, ctx);
    fetch = p->build(&s);
    status = b.e.status;
    *err = b.err;
    if (status == EDDY_OK)
        status = eddy_plan_create(b.e.graph, &options, &plan, err);
    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, err);
    if (status == EDDY_OK)
        status = measure_run(run, REPEATS, &t, err);
    if (status == EDDY_OK)
        status = check_result(run, p->ends_at_first ? 0 : n - 1, err);
    if (status == EDDY_OK) {
        *out_ns = (double)t.cpu_ns / n;
        *out_bytes = (double)eddy_run_stats(run).peak_bytes / n;
    }
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    builder_deinit(&b);
    return status;
}

static bool measure_row(eddy_context *ctx, const table *t, const program *p)
{
    double cells[N_COLUMNS] = {0};
    eddy_error err;

    for (size_t i = 0; i < N_SIZES; i++) {
        double *bytes = &cells[N_COLUMNS - 1];

        if (measure(ctx, p, sizes[i], &cells[i], bytes, &err) != EDDY_OK) {
            table_refusal(t, p->name, &err);
            return false;
        }
    }
    cells[N_SIZES] = cells[N_SIZES - 1] / cells[0];
    table_row(t, p->name, cells);
    return cells[N_SIZES] < LIMIT_RATIO;
}

int main(int argc, char **argv)
{
    eddy_context_options options = {.size = sizeof options};
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    bench_options o;
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bool is_good = true;

    options_parse(&o, argc, argv, "Loops that write to arrays and stacks.");
    t.is_tsv = o.is_tsv;
    if (eddy_context_create(&options, &ctx, &err) != EDDY_OK) {
        complain("context", &err);
        return EXIT_FAILURE;
    }
    table_begin(&t, "Arrays, lists and stacks: an item of a loop");
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (options_want(&o, programs[i].name))
            is_good = measure_row(ctx, &t, &programs[i]) && is_good;
    eddy_context_destroy(ctx);
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}

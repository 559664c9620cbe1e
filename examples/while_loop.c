/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a loop from the five primitives and runs it:
 *
 *     i = 1, sum = 0
 *     while i <= n: sum = sum + i, i = i + 1
 *
 *   cc while_loop.c $(pkg-config --cflags --libs eddy) -o while_loop
 *   ./while_loop
 */
#include <eddy.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static eddy_output constant(eddy_emitter *b, const char *name, int64_t value)
{
    return eddy_emit_scalar(b, name, EDDY_INT64, &value);
}

static eddy_output unary(eddy_emitter *b, const char *op, const char *name,
                         eddy_output x)
{
    return eddy_emit_named(b, op, name, &x, 1);
}

static eddy_output binary(eddy_emitter *b, const char *op, const char *name,
                          eddy_output x, eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy_emit_named(b, op, name, inputs, 2);
}

/*
 * Brings a value into the frame of the loop: as the first value of a loop
 * variable, or as an invariant, which is there in every iteration.
 */
static eddy_output enter(eddy_emitter *b, const char *name, eddy_output value,
                         bool is_invariant)
{
    static const eddy_string frame = {"loop", 4};
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &frame),
        eddy_attr_bool("is_constant", &is_invariant),
    };
    const eddy_node_spec spec = {
        .op = "Enter",
        .name = name,
        .inputs = &value,
        .n_inputs = 1,
        .attrs = attrs,
        .n_attrs = sizeof attrs / sizeof attrs[0],
    };

    return eddy_emit(b, &spec);
}

/* Closes a loop: the value goes round to the Merge, its second input. */
static void close_loop(eddy_emitter *b, const char *name, eddy_output merge,
                       eddy_output value)
{
    const eddy_output next = unary(b, "NextIteration", name, value);

    eddy_emit_set_input(b, merge.node, 1, next);
}

/* Builds the program; its feed is n, its fetch the sum. */
static void build(eddy_emitter *b, eddy_output *out_n, eddy_output *out_sum)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output one, limit, i_enter, sum_enter, i, sum, go_on;
    eddy_output i_switch, sum_switch, i_body, sum_body;

    *out_n = eddy_emit_placeholder(b, "n", EDDY_INT64, &scalar);

    /* Into the frame. */
    one = enter(b, "one", constant(b, "one/value", 1), true);
    limit = enter(b, "limit", *out_n, true);
    i_enter = enter(b, "i/enter", constant(b, "i/first", 1), false);
    sum_enter = enter(b, "sum/enter", constant(b, "sum/first", 0), false);

    /* What a variable is now: what came in, or what went round. */
    i = binary(b, "Merge", "i", i_enter, i_enter);
    sum = binary(b, "Merge", "sum", sum_enter, sum_enter);

    /* While the predicate holds, values go to output 1, else to output 0. */
    go_on = unary(b, "LoopCond", "go_on",
                  binary(b, "LessEqual", "predicate", i, limit));
    i_switch = binary(b, "Switch", "i/switch", i, go_on);
    sum_switch = binary(b, "Switch", "sum/switch", sum, go_on);
    i_body = (eddy_output){i_switch.node, 1};
    sum_body = (eddy_output){sum_switch.node, 1};

    /* The body, and back to the Merges. */
    close_loop(b, "sum/next", sum,
               binary(b, "AddV2", "sum/add", sum_body, i_body));
    close_loop(b, "i/next", i, binary(b, "AddV2", "i/add", i_body, one));

    /* Out of the frame. */
    *out_sum = unary(b, "Exit", "result", sum_switch);
}

/* Runs the plan with one value of n and prints the sum. */
static eddy_status run(eddy_context *ctx, eddy_plan *plan, int64_t n,
                       eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feed = NULL;
    eddy_tensor *sum = NULL;
    eddy_status status;

    /* Over our own memory: nothing is copied. */
    status =
        eddy_tensor_wrap(ctx, EDDY_INT64, &scalar, &n, NULL, NULL, &feed, err);
    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, &feed, &sum, err);
    if (status == EDDY_OK)
        printf("1 + ... + %" PRId64 " = %" PRId64 "\n", n,
               *(const int64_t *)eddy_tensor_data(sum));
    eddy_tensor_release(sum);
    eddy_tensor_release(feed);
    return status;
}

static eddy_status build_and_run(eddy_context *ctx, eddy_error *err)
{
    eddy_emitter b = eddy_emitter_of(NULL, err);
    eddy_output n, sum;
    eddy_plan *plan = NULL;

    b.status = eddy_graph_create(ctx, &b.graph, b.err);
    build(&b, &n, &sum);
    if (b.status == EDDY_OK) {
        const eddy_plan_options options = {
            .size = sizeof options,
            .feeds = &n,
            .n_feeds = 1,
            .fetches = &sum,
            .n_fetches = 1,
        };

        b.status = eddy_plan_create(b.graph, &options, &plan, b.err);
    }
    /* One plan, any number of runs. */
    for (int64_t i = 10; i <= 100000 && b.status == EDDY_OK; i *= 10)
        b.status = run(ctx, plan, i, b.err);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    return b.status;
}

int main(void)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    if (status == EDDY_OK)
        status = build_and_run(ctx, &err);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three programs made of the primitives, run and counted: the well-known
 * walk-through of while_loop, a loop in a loop, and a branch.
 *
 *   demo [DIRECTORY]     also saves each as a GraphDef in the directory
 */
#include <eddy.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FETCHES 2

/* What a program shows: its text, how to build it, how to run it. */
typedef struct program {
    const char *name; /* of its file, too */
    const char *text;
    void (*build)(eddy_emitter *b);
    const char *feed;  /* NULL: nothing is fed */
    int32_t values[2]; /* the feed of each run */
    size_t n_runs;
    const char *fetches[MOST_FETCHES];
    size_t n_fetches;
} program;

static eddy_output constant(eddy_emitter *b, const char *name, int32_t value)
{
    return eddy_emit_scalar(b, name, EDDY_INT32, &value);
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

/* Another output of the node that `output` is of. */
static eddy_output other(eddy_output output, uint32_t index)
{
    return (eddy_output){output.node, index};
}

static eddy_output enter(eddy_emitter *b, const char *frame, const char *name,
                         eddy_output value, bool is_invariant)
{
    const eddy_string frame_name = {frame, strlen(frame)};
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &frame_name),
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

/* A loop variable: its Merge, which is closed by go_round. */
static eddy_output variable(eddy_emitter *b, const char *frame,
                            const char *name, const char *enter_name,
                            eddy_output first)
{
    const eddy_output from = enter(b, frame, enter_name, first, false);

    return binary(b, "Merge", name, from, from);
}

static void go_round(eddy_emitter *b, const char *name, eddy_output merge,
                     eddy_output value)
{
    const eddy_output next = unary(b, "NextIteration", name, value);

    eddy_emit_set_input(b, merge.node, 1, next);
}

/*
 * i, n = while_loop(lambda a, b: a < b, lambda a, b: (a + 2, b), [1, 10]).
 */
static void build_walk_through(eddy_emitter *b)
{
    const char *frame = "while";
    const eddy_output two =
        enter(b, frame, "two", constant(b, "two/value", 2), true);
    const eddy_output a_now =
        variable(b, frame, "a", "a/enter", constant(b, "i", 1));
    const eddy_output b_now =
        variable(b, frame, "b", "b/enter", constant(b, "n", 10));
    const eddy_output go_on = unary(
        b, "LoopCond", "go_on", binary(b, "Less", "a_less_b", a_now, b_now));
    const eddy_output a_switch = binary(b, "Switch", "a/switch", a_now, go_on);
    const eddy_output b_switch = binary(b, "Switch", "b/switch", b_now, go_on);
    eddy_output ii, nn;

    go_round(b, "a/next", a_now,
             binary(b, "AddV2", "a_plus_2", other(a_switch, 1), two));
    go_round(b, "b/next", b_now,
             unary(b, "Identity", "b_same", other(b_switch, 1)));
    ii = unary(b, "Exit", "ii", a_switch);
    nn = unary(b, "Exit", "nn", b_switch);
    binary(b, "AddV2", "v1", ii, constant(b, "three", 3));
    binary(b, "AddV2", "v2", nn, constant(b, "four", 4));
}

/*
 * The inner loop, in the frame of the outer one: for j in range(20): total =
 * total + 1.  Takes and returns the total; `one` and `first` are of the outer
 * frame.
 */
static eddy_output build_inner(eddy_emitter *b, eddy_output total,
                               eddy_output one, eddy_output first,
                               eddy_output limit)
{
    const char *frame = "inner";
    const eddy_output step = enter(b, frame, "inner/one", one, true);
    const eddy_output end = enter(b, frame, "inner/limit", limit, true);
    const eddy_output j = variable(b, frame, "j", "j/enter", first);
    const eddy_output sum =
        variable(b, frame, "inner/total", "inner/total/enter", total);
    const eddy_output go_on = unary(b, "LoopCond", "inner/go_on",
                                    binary(b, "Less", "j_less", j, end));
    const eddy_output j_switch = binary(b, "Switch", "j/switch", j, go_on);
    const eddy_output sum_switch =
        binary(b, "Switch", "inner/total/switch", sum, go_on);

    go_round(b, "j/next", j,
             binary(b, "AddV2", "j/add", other(j_switch, 1), step));
    go_round(b, "inner/total/next", sum,
             binary(b, "AddV2", "total/add", other(sum_switch, 1), step));
    return unary(b, "Exit", "inner/exit", sum_switch);
}

static void build_nested(eddy_emitter *b)
{
    const char *frame = "outer";
    const eddy_output zero = constant(b, "zero", 0);
    const eddy_output one =
        enter(b, frame, "outer/one", constant(b, "one", 1), true);
    const eddy_output first = enter(b, frame, "outer/zero", zero, true);
    const eddy_output inner_limit =
        enter(b, frame, "outer/inner_limit", constant(b, "columns", 20), true);
    const eddy_output limit =
        enter(b, frame, "outer/limit", constant(b, "rows", 10), true);
    const eddy_output i = variable(b, frame, "i", "i/enter", zero);
    const eddy_output total = variable(b, frame, "total", "total/enter", zero);
    const eddy_output go_on = unary(b, "LoopCond", "outer/go_on",
                                    binary(b, "Less", "i_less", i, limit));
    const eddy_output i_switch = binary(b, "Switch", "i/switch", i, go_on);
    const eddy_output total_switch =
        binary(b, "Switch", "total/switch", total, go_on);

    go_round(b, "i/next", i,
             binary(b, "AddV2", "i/add", other(i_switch, 1), one));
    go_round(b, "total/next", total,
             build_inner(b, other(total_switch, 1), one, first, inner_limit));
    unary(b, "Exit", "result", total_switch);
}

static void build_branch(eddy_emitter *b)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output x = {0, 0}, is_positive, x_switch, arms[2];

    x = eddy_emit_placeholder(b, "x", EDDY_INT32, &scalar);
    is_positive =
        binary(b, "Greater", "is_positive", x, constant(b, "zero", 0));
    x_switch = binary(b, "Switch", "x/switch", x, is_positive);
    arms[0] = unary(b, "Neg", "negated", x_switch);
    arms[1] = unary(b, "Square", "squared", other(x_switch, 1));
    eddy_emit_named(b, "Merge", "y", arms, 2);
}

static const program programs[] = {
    {
        .name = "walk_through",
        .text = "The walk-through of while_loop\n"
                "    i = 1, n = 10\n"
                "    ii, nn = while_loop(a < b, (a + 2, b), [i, n])\n"
                "    v1 = ii + 3, v2 = nn + 4\n",
        .build = build_walk_through,
        .n_runs = 1,
        .fetches = {"v1", "v2"},
        .n_fetches = 2,
    },
    {
        .name = "nested",
        .text = "A loop in a loop\n"
                "    total = 0\n"
                "    for i in range(10): for j in range(20): total += 1\n",
        .build = build_nested,
        .n_runs = 1,
        .fetches = {"result"},
        .n_fetches = 1,
    },
    {
        .name = "branch",
        .text = "A branch; the arm that is not taken is dead\n"
                "    y = x * x if x > 0 else -x\n",
        .build = build_branch,
        .feed = "x",
        .values = {7, -7},
        .n_runs = 2,
        .fetches = {"y"},
        .n_fetches = 1,
    },
};

static void print_result(const program *p, const eddy_run *run)
{
    const eddy_stats stats = eddy_run_stats(run);

    for (size_t i = 0; i < p->n_fetches; i++) {
        const int32_t *value = eddy_tensor_data(eddy_run_fetch(run, i));

        printf("%s%s = %" PRId32, i > 0 ? ", " : "", p->fetches[i], *value);
    }
    printf("\n      node executions %" PRIu64 ", of them dead %" PRIu64
           "; iterations %" PRIu64 "\n",
           stats.live_executions + stats.dead_executions, stats.dead_executions,
           stats.iterations);
}

static eddy_status execute(const program *p, eddy_run *run, size_t i,
                           eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *value = NULL;
    eddy_status status = EDDY_OK;

    printf("  ->  ");
    if (p->feed != NULL) {
        printf("%s = %" PRId32 ": ", p->feed, p->values[i]);
        status = eddy_tensor_create(NULL, EDDY_INT32, &scalar, &value, err);
        if (status == EDDY_OK) {
            *(int32_t *)eddy_tensor_mutable_data(value) = p->values[i];
            status = eddy_run_feed(run, 0, value, err);
        }
        /* The run holds on to it. */
        eddy_tensor_release(value);
    }
    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    if (status == EDDY_OK)
        print_result(p, run);
    return status;
}

static eddy_status make_plan(const program *p, const eddy_graph *graph,
                             eddy_plan **out_plan, eddy_error *err)
{
    eddy_output feed = {0, 0}, fetches[MOST_FETCHES];
    eddy_status status = EDDY_OK;
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = &feed,
        .n_feeds = p->feed != NULL ? 1 : 0,
        .fetches = fetches,
        .n_fetches = p->n_fetches,
    };

    if (p->feed != NULL)
        status = eddy_graph_find_output(graph, p->feed, &feed, err);
    for (size_t i = 0; i < p->n_fetches && status == EDDY_OK; i++)
        status = eddy_graph_find_output(graph, p->fetches[i], &fetches[i], err);
    if (status == EDDY_OK)
        status = eddy_plan_create(graph, &options, out_plan, err);
    return status;
}

static eddy_status save(const program *p, const eddy_graph *graph,
                        const char *directory, eddy_error *err)
{
    const size_t size = strlen(directory) + strlen(p->name) + sizeof "/.pb";
    char *path = malloc(size);
    eddy_status status;

    if (path == NULL) {
        *err = (eddy_error){.code = EDDY_RESOURCE_EXHAUSTED,
                            .message = "out of memory"};
        return err->code;
    }
    snprintf(path, size, "%s/%s.pb", directory, p->name);
    status = eddy_graphdef_save(graph, path, err);
    free(path);
    return status;
}

static eddy_status show(const program *p, eddy_context *ctx,
                        const char *directory, eddy_error *err)
{
    eddy_emitter b = eddy_emitter_of(NULL, err);
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;

    fputs(p->text, stdout);
    b.status = eddy_graph_create(ctx, &b.graph, b.err);
    if (b.status == EDDY_OK)
        p->build(&b);
    if (b.status == EDDY_OK && directory != NULL)
        b.status = save(p, b.graph, directory, b.err);
    EDDY_EMIT(&b, make_plan(p, b.graph, &plan, b.err));
    EDDY_EMIT(&b, eddy_run_create(plan, NULL, &run, b.err));
    for (size_t i = 0; i < p->n_runs && b.status == EDDY_OK; i++)
        b.status = execute(p, run, i, b.err);
    putchar('\n');
    eddy_run_destroy(run);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    return b.status;
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (status == EDDY_OK)
            status = show(&programs[i], ctx, argc > 1 ? argv[1] : NULL, &err);
    }
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is certain of a shape while a graph is being built: the shape functions
 * of the nodes that it comes from, without the walk over the whole graph that a
 * plan makes.
 *
 * The nodes are visited inputs first.  The Merge of a loop that is open has its
 * Enter's shape, which it has in the first iteration, or its invariant; that of
 * a loop that has ended has none that is certain.
 */
#include "core/base/status.h"
#include "core/graph/infer.h"
#include "frames/build/builder.h"

#include <string.h>

/*
 * So many nodes are looked at for one question; of those behind them the graph
 * knows what is certain without the assumptions.
 */
#define MOST_NODES 1024

#define N_SLOTS ((size_t)4 * MOST_NODES)

typedef struct visit {
    eddy_node node;
    bool is_done;
    eddy_shape *outputs; /* NULL: nothing is known of them */
    /* The node whose output 0 all of them are, or, with `is_maker`, output 0
     * is; NULL: that is not certain. */
    const eddy__node *maker;
    bool is_maker;
} visit;

typedef struct inquiry {
    const eddy_graph *graph;
    const eddy__assumed *assumed;
    size_t n_assumed;
    bool in_every; /* iteration; else in the first of the open loops */
    eddy__arena arena;
    visit *visits;
    size_t n_visits;
    uint32_t *slots; /* a hash table: a number in `visits`, plus 1; 0: empty */
    uint32_t *stack; /* numbers in `visits` */
    size_t n_stack;
} inquiry;

/* The slot of a node, or the empty one where it would go. */
static uint32_t *seek(const inquiry *q, eddy_node node)
{
    size_t i = (node * (size_t)2654435761u) & (N_SLOTS - 1);

    while (q->slots[i] != 0 && q->visits[q->slots[i] - 1].node != node)
        i = (i + 1) & (N_SLOTS - 1);
    return &q->slots[i];
}

static const visit *find(const inquiry *q, eddy_node node)
{
    const uint32_t slot = *seek(q, node);

    return slot != 0 ? &q->visits[slot - 1] : NULL;
}

/* Puts a node on the stack, unless it has been there or there is no room. */
static void push(inquiry *q, eddy_node node)
{
    uint32_t *slot = seek(q, node);

    if (*slot != 0 || q->n_visits == MOST_NODES)
        return;
    q->visits[q->n_visits++] = (visit){.node = node};
    *slot = (uint32_t)q->n_visits;
    q->stack[q->n_stack++] = *slot - 1;
}

static const eddy_shape *assumed_shape(const inquiry *q, eddy_node merge)
{
    for (size_t a = 0; a < q->n_assumed; a++) {
        const eddy__assumed *assumed = &q->assumed[a];

        for (size_t i = 0; i < assumed->n; i++)
            if (assumed->merges[i].node == merge)
                return &assumed->shapes[i];
    }
    return NULL;
}

/* Has the Merge an edge from behind it, a loop's that has ended? */
static bool is_closed_merge(const inquiry *q, eddy_node id)
{
    const eddy__node *node = &q->graph->nodes[id];

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node >= id)
            return true;
    return false;
}

/* Of a node that is not looked at, what holds whatever the open loops are. */
static eddy_shape input_shape(const inquiry *q, eddy_output input)
{
    const visit *v = find(q, input.node);

    if (!v)
        return eddy_graph_output_shape(q->graph, input);
    return v->is_done && v->outputs ? v->outputs[input.index]
                                    : eddy__shape_unknown();
}

/* The node that made an input, seen through those that hand it on. */
static const eddy__node *maker(const inquiry *q, eddy_output input)
{
    const visit *v = find(q, input.node);

    return v && v->is_done && (input.index == 0 || !v->is_maker) ? v->maker
                                                                 : NULL;
}

static const eddy_tensor *constant(const inquiry *q, eddy_output input)
{
    const eddy__node *node = &q->graph->nodes[input.node];
    const eddy_attr *value = NULL;

    if (eddy__node_role(node) == EDDY__ROLE_CONST)
        value = eddy__node_attr(node, "value");
    return value ? value->as.tensors[0] : NULL;
}

/* Calls the shape function; what fails will fail in the plan, with its words.
 */
static void infer(inquiry *q, visit *v)
{
    const eddy__node *node = &q->graph->nodes[v->node];
    eddy_shape *outputs =
        eddy__arena_allocate(&q->arena, node->n_outputs, sizeof *outputs);
    eddy_shape *inputs =
        eddy__arena_allocate(&q->arena, node->n_inputs, sizeof *inputs);
    const eddy_tensor **constants = eddy__arena_allocate(
        &q->arena, node->n_inputs, sizeof(const eddy_tensor *));
    const eddy__node **makers = eddy__arena_allocate(
        &q->arena, node->n_inputs, sizeof(const eddy__node *));
    eddy_infer context = {.node = node,
                          .inputs = inputs,
                          .constants = constants,
                          .makers = makers,
                          .outputs = outputs,
                          .arena = &q->arena};

    if (!outputs || !inputs || !constants || !makers)
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = input_shape(q, node->inputs[i]);
        constants[i] = constant(q, node->inputs[i]);
        makers[i] = maker(q, node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        outputs[i] = eddy__shape_unknown();
    if (node->op->infer(&context) == EDDY_OK)
        v->outputs = outputs;
}

/*
 * Nobody has said that a variable of an open loop keeps its shape, and the body
 * that could tell is not there.  A scalar is taken to stay one: counters and
 * sums are, and most that is computed from a variable would be unknown with it.
 */
static void forget_changing(const inquiry *q, visit *v)
{
    const eddy__node *merge = &q->graph->nodes[v->node];
    const eddy_output *inputs = merge->inputs;

    if (q->in_every && v->outputs && v->outputs[0].rank > 0 &&
        inputs[0].node == inputs[1].node && inputs[0].index == inputs[1].index)
        v->outputs[0] = eddy__shape_unknown();
}

static void finish(inquiry *q, visit *v)
{
    const eddy__node *node = &q->graph->nodes[v->node];
    const bool is_merge = eddy__node_role(node) == EDDY__ROLE_MERGE;
    const eddy_shape *given = is_merge ? assumed_shape(q, v->node) : NULL;

    v->is_done = true;
    v->is_maker = !eddy__op_hands_on(eddy__node_role(node));
    if (v->is_maker)
        v->maker = node;
    else if (node->n_inputs > 0)
        v->maker = maker(q, node->inputs[0]);
    if (given) {
        v->outputs = eddy__arena_allocate(&q->arena, 2, sizeof *v->outputs);
        if (!v->outputs)
            return;
        v->outputs[0] = *given;
        v->outputs[1] = eddy__shape_scalar();
    } else if (node->op && node->op->infer &&
               !(is_merge && is_closed_merge(q, v->node))) {
        infer(q, v);
        if (is_merge)
            forget_changing(q, v);
    }
}

/* Visits the top of the stack: its inputs first, then the node. */
static void step(inquiry *q)
{
    const uint32_t number = q->stack[q->n_stack - 1];
    const eddy__node *node = &q->graph->nodes[q->visits[number].node];
    const size_t before = q->n_stack;

    /* Edges go back to earlier nodes, but for those of ended loops. */
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node < q->visits[number].node)
            push(q, node->inputs[i].node);
    if (q->n_stack > before)
        return;
    q->n_stack--;
    finish(q, &q->visits[number]);
}

static eddy_shape inquire(const eddy_graph *graph, const eddy__assumed *assumed,
                          size_t n_assumed, bool in_every, eddy_output output)
{
    inquiry q = {.graph = graph,
                 .assumed = assumed,
                 .n_assumed = n_assumed,
                 .in_every = in_every,
                 .arena.allocator = graph->arena.allocator};
    eddy_shape shape = eddy__shape_unknown();

    q.visits = eddy__arena_allocate(&q.arena, MOST_NODES, sizeof *q.visits);
    q.slots = eddy__arena_allocate_zeroed(&q.arena, N_SLOTS, sizeof *q.slots);
    q.stack = eddy__arena_allocate(&q.arena, MOST_NODES, sizeof *q.stack);
    if (q.visits && q.slots && q.stack) {
        push(&q, output.node);
        while (q.n_stack > 0)
            step(&q);
        shape = input_shape(&q, output);
    }
    eddy__arena_destroy(&q.arena);
    return shape;
}

eddy_shape eddy__known_shape(const eddy_graph *graph,
                             const eddy__assumed *assumed, eddy_output output)
{
    return inquire(graph, assumed, 1, false, output);
}

/* Puts down the invariants of the open loops that have any; how many do. */
static size_t list_invariants(const eddy__builder *b, eddy__assumed *list)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_open; i++) {
        const eddy__construct *c = &b->open[i];

        if (c->kind == EDDY__WHILE && c->invariants)
            list[n++] = (eddy__assumed){.merges = c->merges + c->has_counter,
                                        .shapes = c->invariants,
                                        .n = c->n_variables - c->has_counter};
    }
    return n;
}

eddy_shape eddy__open_shape(const eddy_graph *graph, eddy_output output)
{
    const eddy__builder *b = graph->builder;
    const size_t n = b ? b->n_open : 0;
    eddy_shape shape = eddy__shape_unknown();
    eddy__assumed *list;

    if (n == 0)
        return inquire(graph, NULL, 0, true, output);
    list = eddy__allocate(b->allocator, n, sizeof *list);
    if (!list)
        return shape;
    shape = inquire(graph, list, list_invariants(b, list), true, output);
    eddy__free(b->allocator, list, n, sizeof *list);
    return shape;
}

/* ---- what holds in every iteration ---- */

/* So often the variables of a loop are looked at; then nothing is known. */
#define MOST_ROUNDS 16

/*
 * The shapes of the variables of loop `n` of the list, the innermost: at first
 * those of their Enters, then what these and the next values have in common,
 * until it stays so.
 */
static bool settle(const eddy_graph *graph, eddy__assumed *list, size_t n,
                   eddy_shape *shapes, const eddy_output *next)
{
    eddy__assumed *own = &list[n];
    bool is_stable = false;

    for (size_t i = 0; i < own->n; i++) {
        const eddy__node *merge = &graph->nodes[own->merges[i].node];

        shapes[i] = inquire(graph, list, n, true, merge->inputs[0]);
    }
    own->shapes = shapes;
    for (int round = 0; !is_stable && round < MOST_ROUNDS; round++) {
        is_stable = true;
        for (size_t i = 0; i < own->n; i++) {
            const eddy_shape shape = inquire(graph, list, n + 1, true, next[i]);
            const eddy_shape both = eddy__shape_join(&shapes[i], &shape);

            is_stable = is_stable && eddy__shape_equal(&both, &shapes[i]);
            shapes[i] = both;
        }
    }
    return is_stable;
}

void eddy__settled_shapes(const eddy_graph *graph, const eddy_output *next,
                          const eddy_output *values, size_t n,
                          eddy_shape *out_shapes)
{
    const eddy__builder *b = graph->builder;
    const eddy__construct *c = eddy__builder_top(b);
    const size_t n_variables = c->n_variables - c->has_counter;
    eddy__arena arena = {.allocator = b->allocator};
    eddy__assumed *list =
        eddy__arena_allocate(&arena, b->n_open + 1, sizeof *list);
    eddy_shape *shapes =
        eddy__arena_allocate(&arena, n_variables, sizeof *shapes);
    bool is_known = list && shapes;
    size_t n_list = 0;

    if (is_known)
        n_list = list_invariants(b, list);
    if (is_known && !c->invariants) {
        list[n_list] = (eddy__assumed){.merges = c->merges + c->has_counter,
                                       .n = n_variables};
        is_known = settle(graph, list, n_list++, shapes, next);
    }
    for (size_t i = 0; i < n; i++)
        out_shapes[i] = is_known ? inquire(graph, list, n_list, true, values[i])
                                 : eddy__shape_unknown();
    eddy__arena_destroy(&arena);
}

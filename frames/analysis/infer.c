/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes are visited in topological order, back edges left out, and then
 * those again whose inputs have changed, until nothing changes.
 *
 * Invariants: the shape of an output only ever gets less known once it has one;
 * when a node's inputs have changed since its last visit, it is in the queue.
 * So at the end each output's shape covers what the shape function says of the
 * final inputs.
 *
 * The queue is a heap ordered by sweep, then by place in the topological order:
 * a change runs down a loop once and comes back over its back edge in the next
 * sweep, so that a node with many inputs is not visited for each of them.
 *
 * Nodes that read a stack or a TensorArray wait for those that put something
 * into it (stores.h) as for an input, of which, as with a Merge, one is enough.
 */
#include "frames/analysis/infer.h"

#include "core/base/status.h"
#include "frames/analysis/flow.h"
#include "frames/analysis/stores.h"

#include <assert.h>
#include <string.h>

/*
 * A shape changes at most ten times.  Only graphs made for it have a node that
 * is visited more often than this; its shapes are then unknown.
 */
#define MOST_VISITS 64

/* Where a node is in the inference; stands in `state`. */
enum {
    IS_QUEUED = 1 << 0,
    HAS_SHAPES = 1 << 1, /* its outputs have been set */
    IS_CERTAIN = 1 << 2, /* it runs live if the run does not fail first */
};

typedef struct inference {
    const eddy__selection *selection;
    const eddy_analysis *analysis;
    const eddy_shape *feed_shapes;
    eddy__shapes *result;
    eddy__flow flow;
    eddy__stores stores;
    uint32_t *place;  /* of a node in the order */
    eddy_node *order; /* n_selected of them */
    uint8_t *state, *visits;
    uint64_t *heap; /* sweep << 32 | place; no node is in it twice */
    size_t n_heap;
    uint32_t sweep;
    uint32_t here; /* the place that is being visited */
    /* Of the node that is being visited; large enough for any. */
    eddy_shape *inputs, *outputs;
    const eddy_tensor **constants;
    const eddy__node **makers;
    /* As the constants of `result`: the node whose output 0 an output is. */
    const eddy__node **maker_of;
    eddy_error *err;
} inference;

/* The analysis has seen to it that the order reaches every node. */
static eddy_status order_nodes(inference *f, eddy__arena *scratch)
{
    size_t n;

    EDDY_TRY(eddy__flow_order(&f->flow, scratch, &f->order, &n, f->err));
    assert(n == f->flow.n_selected);
    for (size_t i = 0; i < n; i++)
        f->place[f->order[i]] = (uint32_t)i;
    return EDDY_OK;
}

/* ---- the queue ---- */

static void push(inference *f, uint64_t key)
{
    size_t i = f->n_heap++;

    while (i > 0 && f->heap[(i - 1) / 2] > key) {
        f->heap[i] = f->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    f->heap[i] = key;
}

static uint64_t pop(inference *f)
{
    uint64_t least = f->heap[0], key = f->heap[--f->n_heap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < f->n_heap) {
        if (child + 1 < f->n_heap && f->heap[child + 1] < f->heap[child])
            child++;
        if (f->heap[child] >= key)
            break;
        f->heap[i] = f->heap[child];
        i = child;
    }
    f->heap[i] = key;
    return least;
}

/* The first sweep visits every node anyway, so only what lies behind counts. */
static void enqueue(inference *f, eddy_node node)
{
    uint32_t place = f->place[node];
    bool is_behind = place <= f->here;

    if ((f->state[node] & IS_QUEUED) || (f->sweep == 0 && !is_behind))
        return;
    f->state[node] |= IS_QUEUED;
    push(f, (uint64_t)(f->sweep + is_behind) << 32 | place);
}

static void enqueue_readers(inference *f, eddy_node node)
{
    const eddy__flow *flow = &f->flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++)
        if (flow->edge[e].input != EDDY__CONTROL)
            enqueue(f, flow->edge[e].to);
}

/* What a node puts into its store; those that read it are like it. */
static void put(inference *f, eddy_node id, const eddy_shape *inputs)
{
    eddy__store *store = eddy__store_of(&f->stores, id);
    const eddy__node *node = eddy__flow_node(&f->flow, id);

    if (!store || !eddy__store_put(store, node, inputs))
        return;
    for (eddy_node v = store->first_reader; v != EDDY_NO_NODE;
         v = f->stores.next_reader[v])
        enqueue(f, v);
}

/* ---- what a node sees ---- */

/* The source of input `i` of a node, EDDY__FED or EDDY_NO_NODE if it has none.
 */
static eddy_node source(const inference *f, eddy_node node, uint32_t i)
{
    return f->flow.source[f->flow.first_in[node] + i];
}

static void see_input(inference *f, const eddy__node *node, eddy_node id,
                      uint32_t i)
{
    eddy_node from = source(f, id, i);

    f->constants[i] = NULL;
    f->makers[i] = NULL;
    if (from == EDDY__FED) {
        f->inputs[i] = f->feed_shapes[eddy__selection_feed_of(f->selection,
                                                              node->inputs[i])];
    } else if (from == EDDY_NO_NODE) {
        f->inputs[i] = eddy__shape_unknown();
    } else {
        f->inputs[i] = *eddy__shape_at(f->result, node->inputs[i]);
        f->constants[i] = eddy__infer_constant_at(f->result, node->inputs[i]);
        f->makers[i] = f->maker_of[f->result->first[node->inputs[i].node] +
                                   node->inputs[i].index];
    }
}

static bool has_shape(const inference *f, eddy_node id, uint32_t i)
{
    eddy_node from = source(f, id, i);

    return !eddy__flow_is_node(from) || (f->state[from] & HAS_SHAPES);
}

/*
 * Looks at the inputs.  False if it is too early for that: some input has no
 * shape yet.  A Merge needs but one: the others are taken to be like it.
 */
static bool see_inputs(inference *f, const eddy__node *node, eddy_node id)
{
    bool is_merge = f->flow.role[id] == EDDY__ROLE_MERGE;
    uint32_t first = node->n_inputs;

    for (uint32_t i = node->n_inputs; i-- > 0;) {
        if (has_shape(f, id, i)) {
            see_input(f, node, id, i);
            first = i;
        } else if (!is_merge) {
            return false;
        }
    }
    if (first == node->n_inputs)
        return node->n_inputs == 0;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!has_shape(f, id, i)) {
            f->inputs[i] = f->inputs[first];
            f->constants[i] = NULL;
            f->makers[i] = NULL;
        }
    return true;
}

/* ---- constants, and what made a value ---- */

/*
 * Once is enough: a constant reaches a node along edges that the order goes by,
 * and through a Merge nothing is constant.  The same holds for the node that
 * made a value.
 */
static void find_origin(inference *f, const eddy__node *node, eddy_node id)
{
    const size_t first = f->result->first[id];
    const eddy_tensor *constant = NULL;
    const eddy__node *maker = NULL;

    if (f->flow.role[id] == EDDY__ROLE_CONST) {
        const eddy_attr *value = eddy__node_attr(node, "value");

        constant = value ? value->as.tensors[0] : NULL;
    } else if (eddy__op_hands_on((eddy__role)f->flow.role[id]) &&
               node->n_inputs > 0) {
        see_input(f, node, id, 0);
        constant = f->constants[0];
        maker = f->makers[0];
    } else if (node->n_outputs > 0) {
        f->maker_of[first] = node;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        f->result->constants[first + i] = constant;
        if (maker)
            f->maker_of[first + i] = maker;
    }
}

/* ---- visiting ---- */

/*
 * A node of the root frame all of whose inputs are certain; what comes out of a
 * Switch is not.
 */
static bool is_certain(const inference *f, eddy_node id)
{
    const eddy__flow *flow = &f->flow;

    if (f->analysis->node_frame[id] != 0)
        return false;
    for (size_t i = flow->first_in[id]; i < flow->first_in[id + 1]; i++) {
        eddy_node from = flow->source[i];

        if (eddy__flow_is_node(from) && (!(f->state[from] & IS_CERTAIN) ||
                                         flow->role[from] == EDDY__ROLE_SWITCH))
            return false;
    }
    return true;
}

/* Joins what was found with what was known; true if that changed anything. */
static bool widen(inference *f, const eddy__node *node, eddy_node id)
{
    eddy_shape *known = &f->result->shapes[f->result->first[id]];
    bool changed = !(f->state[id] & HAS_SHAPES);

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        eddy_shape joined = f->outputs[i];

        if (f->state[id] & HAS_SHAPES)
            joined = eddy__shape_join(&known[i], &f->outputs[i]);
        changed = changed || !eddy__shape_equal(&known[i], &joined);
        known[i] = joined;
    }
    f->state[id] |= HAS_SHAPES;
    return changed;
}

static void forget_outputs(inference *f, const eddy__node *node)
{
    for (uint32_t i = 0; i < node->n_outputs; i++)
        f->outputs[i] = eddy__shape_unknown();
}

static eddy_status call_function(inference *f, const eddy__node *node,
                                 eddy_node id)
{
    eddy_infer infer = {
        .node = node,
        .inputs = f->inputs,
        .constants = f->constants,
        .makers = f->makers,
        .outputs = f->outputs,
        .err = (f->state[id] & IS_CERTAIN) ? f->err : NULL,
    };

    forget_outputs(f, node);
    return node->op->infer ? node->op->infer(&infer) : EDDY_OK;
}

/* Has nothing been put into the store that the node reads? */
static bool is_too_early(const inference *f, const eddy__node *node,
                         eddy_node id)
{
    const eddy__store *store = eddy__store_of(&f->stores, id);

    return store && eddy__store_is_read(node) && !store->has_shape;
}

/* What comes out of a store is like what has been put in. */
static void see_store(inference *f, const eddy__node *node, eddy_node id)
{
    const eddy__store *store = eddy__store_of(&f->stores, id);
    eddy_shape merged;

    if (store && eddy__store_is_read(node) &&
        eddy__shape_merge(&f->outputs[0], &store->shape, &merged))
        f->outputs[0] = merged;
}

/*
 * Visits a node.  One that fails and is not certain to run keeps its outputs
 * without shapes until its inputs change, or until nothing else is left to do.
 */
static eddy_status visit(inference *f, eddy_node id)
{
    const eddy__node *node = eddy__flow_node(&f->flow, id);
    eddy_status status;
    bool is_last;

    f->here = f->place[id];
    f->state[id] &= (uint8_t)~IS_QUEUED;
    if (f->visits[id] == MOST_VISITS || !see_inputs(f, node, id) ||
        is_too_early(f, node, id))
        return EDDY_OK;
    put(f, id, f->inputs);
    status = call_function(f, node, id);
    if (status != EDDY_OK && (f->state[id] & IS_CERTAIN))
        return status;
    if (status == EDDY_OK)
        see_store(f, node, id);
    is_last = ++f->visits[id] == MOST_VISITS;
    if (is_last)
        put(f, id, NULL);
    if (status != EDDY_OK && !(f->state[id] & HAS_SHAPES) && !is_last)
        return EDDY_OK;
    if (status != EDDY_OK || is_last)
        forget_outputs(f, node);
    if (widen(f, node, id))
        enqueue_readers(f, id);
    return EDDY_OK;
}

/* A large graph is visited without a request for memory, which would look. */
static eddy_status keep_on(const inference *f)
{
    eddy__budget *budget = eddy__selection_budget(f->selection);

    return !budget || eddy__budget_lasts(budget) ? EDDY_OK
                                                 : eddy__fail_memory(f->err);
}

static eddy_status visit_all(inference *f)
{
    for (size_t i = 0; i < f->flow.n_selected; i++) {
        eddy_node id = f->order[i];
        const eddy__node *node = eddy__flow_node(&f->flow, id);

        EDDY_TRY(keep_on(f));
        if (is_certain(f, id))
            f->state[id] |= IS_CERTAIN;
        EDDY_TRY(visit(f, id));
        find_origin(f, node, id);
    }
    return EDDY_OK;
}

static eddy_status visit_queued(inference *f)
{
    while (f->n_heap > 0) {
        uint64_t key = pop(f);

        EDDY_TRY(keep_on(f));
        f->sweep = (uint32_t)(key >> 32);
        EDDY_TRY(visit(f, f->order[(uint32_t)key]));
    }
    return EDDY_OK;
}

/* Nodes that never had shapes: they failed, or were behind one that did. */
static eddy_status give_up(inference *f)
{
    for (size_t i = 0; i < f->flow.n_selected; i++) {
        eddy_node id = f->order[i];
        const eddy__node *node = eddy__flow_node(&f->flow, id);

        if (f->state[id] & HAS_SHAPES)
            continue;
        f->here = (uint32_t)i;
        put(f, id, NULL);
        forget_outputs(f, node);
        if (widen(f, node, id))
            enqueue_readers(f, id);
        EDDY_TRY(visit_queued(f));
    }
    return EDDY_OK;
}

/* ---- memory ---- */

/* Numbers the outputs and makes their shapes, unknown for now. */
static bool make_result(inference *f, eddy__arena *scratch, eddy__arena *arena)
{
    const eddy_graph *graph = f->selection->graph;
    eddy__shapes *result = f->result;
    size_t n = 0;

    result->first =
        eddy__arena_allocate(arena, graph->n_nodes, sizeof *result->first);
    if (!result->first)
        return false;
    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        result->first[v] = n;
        if (eddy__selected(f->selection, v))
            n += graph->nodes[v].n_outputs;
    }
    result->shapes = eddy__arena_allocate(arena, n, sizeof *result->shapes);
    result->constants =
        eddy__arena_allocate_zeroed(arena, n, sizeof(eddy_tensor *));
    f->maker_of = eddy__arena_allocate_zeroed(scratch, n, sizeof(eddy__node *));
    for (size_t i = 0; i < n && result->shapes; i++)
        result->shapes[i] = eddy__shape_unknown();
    return result->shapes && result->constants && f->maker_of;
}

static bool make_lists(inference *f, eddy__arena *scratch)
{
    const eddy_graph *graph = f->selection->graph;
    size_t n_inputs = 0, n_outputs = 0;

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = &graph->nodes[v];

        if (!eddy__selected(f->selection, v))
            continue;
        n_inputs = node->n_inputs > n_inputs ? node->n_inputs : n_inputs;
        n_outputs = node->n_outputs > n_outputs ? node->n_outputs : n_outputs;
    }
    f->inputs = eddy__arena_allocate(scratch, n_inputs, sizeof *f->inputs);
    f->constants =
        eddy__arena_allocate(scratch, n_inputs, sizeof(eddy_tensor *));
    f->makers = eddy__arena_allocate(scratch, n_inputs, sizeof(eddy__node *));
    f->outputs = eddy__arena_allocate(scratch, n_outputs, sizeof *f->outputs);
    return f->inputs && f->constants && f->makers && f->outputs;
}

static bool make_state(inference *f, eddy__arena *scratch)
{
    size_t n = f->selection->graph->n_nodes, n_selected = f->flow.n_selected;

    f->place = eddy__arena_allocate_zeroed(scratch, n, sizeof *f->place);
    f->state = eddy__arena_allocate_zeroed(scratch, n, sizeof *f->state);
    f->visits = eddy__arena_allocate_zeroed(scratch, n, sizeof *f->visits);
    f->heap = eddy__arena_allocate(scratch, n_selected, sizeof *f->heap);
    return f->place && f->state && f->visits && f->heap;
}

static eddy_status infer(inference *f, eddy__arena *scratch, eddy__arena *arena)
{
    EDDY_TRY(eddy__flow_build(&f->flow, f->selection, scratch, f->err));
    EDDY_TRY(eddy__stores_find(&f->stores, &f->flow, scratch, f->err));
    if (!make_result(f, scratch, arena) || !make_lists(f, scratch) ||
        !make_state(f, scratch))
        return eddy__fail_memory(f->err);
    EDDY_TRY(order_nodes(f, scratch));
    EDDY_TRY(visit_all(f));
    f->sweep = 1;
    EDDY_TRY(visit_queued(f));
    return give_up(f);
}

eddy_status eddy__infer_shapes(const eddy__selection *selection,
                               const eddy_analysis *analysis,
                               const eddy_shape *feed_shapes,
                               eddy__arena *arena, eddy__shapes *out_shapes,
                               eddy_error *err)
{
    eddy__arena scratch = {.allocator = arena->allocator};
    inference f = {
        .selection = selection,
        .analysis = analysis,
        .feed_shapes = feed_shapes,
        .result = out_shapes,
        .err = err,
    };
    eddy_status status = infer(&f, &scratch, arena);

    eddy__arena_destroy(&scratch);
    return status;
}

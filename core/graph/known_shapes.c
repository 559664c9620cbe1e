/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most nodes read only nodes before them and are done in one step.  From the
 * first that does not on, as in loops that have ended and graphs from files, a
 * walk orders the rest inputs first and goes over it until nothing changes: a
 * Merge joins what is known of its inputs so far, so that shapes only ever get
 * less known.
 */
#include "core/graph/known_shapes.h"

#include "core/base/status.h"
#include "core/graph/infer.h"

#include <string.h>

/* So often the rest is gone over; then nothing is known of it. */
#define MOST_ROUNDS 24

#define UNKNOWN 0          /* in `ids` */
#define NOT_YET UINT32_MAX /* in `ids`: the node was not reached */
#define LEAST_SLOTS 64

/* ---- shapes, each once ---- */

static size_t hash(const eddy_shape *shape)
{
    uint64_t h = (uint64_t)(shape->rank + 1) * UINT64_C(0x9e3779b97f4a7c15);

    for (int32_t d = 0; d < shape->rank; d++)
        h = (h ^ (uint64_t)shape->dims[d]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 29);
}

/* The slot of a shape, or the empty one where it would go. */
static uint32_t *seek(const eddy__known_shapes *k, const eddy_shape *shape)
{
    size_t i = hash(shape) & (k->n_slots - 1);

    while (k->slots[i] != 0 &&
           !eddy__shape_equal(&k->shapes[k->slots[i] - 1], shape))
        i = (i + 1) & (k->n_slots - 1);
    return &k->slots[i];
}

static bool grow_slots(eddy__known_shapes *k, const eddy_allocator *allocator)
{
    const size_t before = k->n_slots;
    const size_t after = before > 0 ? 2 * before : LEAST_SLOTS;
    uint32_t *slots;

    if (k->n_shapes < before / 2)
        return true;
    slots = eddy__allocate_zeroed(allocator, after, sizeof *slots);
    if (!slots)
        return false;
    eddy__free(allocator, k->slots, before, sizeof *slots);
    k->slots = slots;
    k->n_slots = after;
    for (size_t i = 0; i < k->n_shapes; i++)
        *seek(k, &k->shapes[i]) = (uint32_t)i + 1;
    return true;
}

static bool add_shape(eddy__known_shapes *k, const eddy_allocator *allocator,
                      const eddy_shape *shape, uint32_t *out_id)
{
    uint32_t *slot;

    if (!grow_slots(k, allocator))
        return false;
    slot = seek(k, shape);
    if (*slot == 0) {
        if (!eddy__grow(allocator, (void **)&k->shapes, &k->shapes_capacity,
                        k->n_shapes + 1, sizeof *k->shapes))
            return false;
        k->shapes[k->n_shapes++] = *shape;
        *slot = (uint32_t)k->n_shapes;
    }
    *out_id = *slot - 1;
    return true;
}

/* ---- what a node sees ---- */

typedef struct view {
    eddy__arena arena; /* of what one node sees */
    eddy_shape *inputs, *outputs;
    const eddy_tensor **constants;
    const eddy__node **makers;
    bool is_ready; /* every input has been reached */
} view;

static uint32_t id_of(const eddy_graph *graph, eddy_output output)
{
    const eddy__known_shapes *k = graph->known_shapes;

    if (output.node >= k->n_done ||
        output.index >= graph->nodes[output.node].n_outputs)
        return UNKNOWN;
    return k->ids[k->first[output.node] + output.index];
}

static const eddy__node *maker_of(const eddy_graph *graph, eddy_output output)
{
    const eddy__known_shapes *k = graph->known_shapes;
    const uint32_t maker =
        output.node < k->n_done ? k->maker[output.node] : EDDY_NO_NODE;

    if (maker == EDDY_NO_NODE || (maker == output.node && output.index > 0))
        return NULL;
    return &graph->nodes[maker];
}

static const eddy_tensor *constant_of(const eddy__node *maker)
{
    const eddy_attr *value = NULL;

    if (maker && eddy__node_role(maker) == EDDY__ROLE_CONST)
        value = eddy__node_attr(maker, "value");
    return value ? value->as.tensors[0] : NULL;
}

/* A Merge takes inputs that were not reached yet to be like one that was. */
static void see_inputs(const eddy_graph *graph, const eddy__node *node, view *v)
{
    const bool is_merge = eddy__node_role(node) == EDDY__ROLE_MERGE;
    uint32_t reached = node->n_inputs;

    v->is_ready = true;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t id = id_of(graph, node->inputs[i]);

        v->makers[i] = maker_of(graph, node->inputs[i]);
        v->constants[i] = constant_of(v->makers[i]);
        v->inputs[i] = id == NOT_YET ? eddy__shape_unknown()
                                     : graph->known_shapes->shapes[id];
        if (id != NOT_YET)
            reached = i;
        else if (!is_merge)
            v->is_ready = false;
    }
    if (is_merge && reached == node->n_inputs)
        v->is_ready = node->n_inputs == 0;
    for (uint32_t i = 0; is_merge && v->is_ready && i < node->n_inputs; i++)
        if (id_of(graph, node->inputs[i]) == NOT_YET)
            v->inputs[i] = v->inputs[reached];
}

static bool make_view(const eddy_graph *graph, const eddy__node *node, view *v)
{
    eddy__arena *a = &v->arena;

    a->allocator = graph->arena.allocator;
    v->inputs = eddy__arena_allocate(a, node->n_inputs, sizeof *v->inputs);
    v->outputs = eddy__arena_allocate(a, node->n_outputs, sizeof *v->outputs);
    v->constants =
        eddy__arena_allocate(a, node->n_inputs, sizeof(const eddy_tensor *));
    v->makers =
        eddy__arena_allocate(a, node->n_inputs, sizeof(const eddy__node *));
    if (!v->inputs || !v->outputs || !v->constants || !v->makers)
        return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        v->outputs[i] = eddy__shape_unknown();
    see_inputs(graph, node, v);
    return true;
}

/* A Merge that has one input twice: the back edge of its loop is to come. */
static bool is_open_merge(const eddy__node *node)
{
    return eddy__node_role(node) == EDDY__ROLE_MERGE && node->n_inputs == 2 &&
           node->inputs[0].node == node->inputs[1].node &&
           node->inputs[0].index == node->inputs[1].index;
}

static eddy_status call_function(const eddy__node *node, view *v,
                                 eddy_error *err)
{
    eddy_infer infer = {.node = node,
                        .inputs = v->inputs,
                        .constants = v->constants,
                        .makers = v->makers,
                        .outputs = v->outputs,
                        .arena = &v->arena,
                        .err = err};
    eddy_status status = EDDY_OK;

    if (node->op && node->op->infer && !is_open_merge(node))
        status = node->op->infer(&infer);
    for (uint32_t i = 0; status != EDDY_OK && i < node->n_outputs; i++)
        v->outputs[i] = eddy__shape_unknown();
    return status;
}

/* ---- the nodes that are done ---- */

/* Room for one more node, whose outputs nobody has reached. */
static bool begin_node(const eddy_graph *graph, eddy_node id)
{
    const eddy_allocator *a = graph->arena.allocator;
    eddy__known_shapes *k = graph->known_shapes;
    const uint32_t n = graph->nodes[id].n_outputs;
    const eddy_shape unknown = eddy__shape_unknown();
    uint32_t first_id;

    if ((k->n_shapes == 0 && !add_shape(k, a, &unknown, &first_id)) ||
        !eddy__grow(a, (void **)&k->first, &k->first_capacity, (size_t)id + 1,
                    sizeof *k->first) ||
        !eddy__grow(a, (void **)&k->maker, &k->maker_capacity, (size_t)id + 1,
                    sizeof *k->maker) ||
        !eddy__grow(a, (void **)&k->ids, &k->ids_capacity, k->n_ids + n,
                    sizeof *k->ids))
        return false;
    k->first[id] = k->n_ids;
    k->maker[id] = EDDY_NO_NODE;
    if (n > 0)
        memset(k->ids + k->n_ids, 0xff, n * sizeof *k->ids);
    k->n_ids += n;
    k->n_done = (size_t)id + 1;
    return true;
}

static void find_maker(const eddy_graph *graph, eddy_node id)
{
    const eddy__node *node = &graph->nodes[id];
    const eddy__node *maker = node;

    if (eddy__op_hands_on(eddy__node_role(node)))
        maker = node->n_inputs > 0 ? maker_of(graph, node->inputs[0]) : NULL;
    graph->known_shapes->maker[id] =
        maker ? (eddy_node)(maker - graph->nodes) : EDDY_NO_NODE;
}

/* Joins what a visit has found with what was known; false without memory. */
static bool widen(const eddy_graph *graph, eddy_node id, const view *v,
                  bool *out_changed)
{
    eddy__known_shapes *k = graph->known_shapes;

    for (uint32_t i = 0; i < graph->nodes[id].n_outputs; i++) {
        const size_t at = k->first[id] + i;
        const uint32_t before = k->ids[at];
        eddy_shape shape = v->outputs[i];

        if (before != NOT_YET)
            shape = eddy__shape_join(&k->shapes[before], &shape);
        if (!add_shape(k, graph->arena.allocator, &shape, &k->ids[at]))
            return false;
        *out_changed = *out_changed || k->ids[at] != before;
    }
    return true;
}

static bool visit(const eddy_graph *graph, eddy_node id, bool *out_changed)
{
    const eddy__node *node = &graph->nodes[id];
    view v = {.inputs = NULL};
    bool ok = make_view(graph, node, &v);

    if (ok && v.is_ready) {
        /* What fails will fail in the plan, with its words, if it must. */
        (void)call_function(node, &v, NULL);
        ok = widen(graph, id, &v, out_changed);
    }
    eddy__arena_destroy(&v.arena);
    return ok;
}

/* ---- graphs whose nodes are in any order ---- */

typedef struct walk {
    eddy_node from; /* nodes before it are done */
    eddy_node *order, *stack;
    uint32_t *seen; /* 0: not yet; else inputs that were looked at, plus 1 */
    size_t n_order;
} walk;

/* The next input of the node that is not done and was not seen, or none. */
static eddy_node next_input(const eddy_graph *graph, walk *w, eddy_node id)
{
    const eddy__node *node = &graph->nodes[id];
    uint32_t *seen = &w->seen[id - w->from];

    while (*seen <= node->n_inputs) {
        const eddy_node input = node->inputs[(*seen)++ - 1].node;

        if (input != EDDY_NO_NODE && input >= w->from &&
            w->seen[input - w->from] == 0)
            return input;
    }
    return EDDY_NO_NODE;
}

/* Inputs come first, but for those over which a cycle closes. */
static void order_from(const eddy_graph *graph, walk *w, eddy_node start)
{
    size_t n = 0;

    w->seen[start - w->from] = 1;
    w->stack[n++] = start;
    while (n > 0) {
        const eddy_node input = next_input(graph, w, w->stack[n - 1]);

        if (input == EDDY_NO_NODE) {
            w->order[w->n_order++] = w->stack[--n];
        } else {
            w->seen[input - w->from] = 1;
            w->stack[n++] = input;
        }
    }
}

static bool go_over(const eddy_graph *graph, const walk *w)
{
    bool changed = true;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (size_t i = 0; i < w->n_order; i++)
            if (!visit(graph, w->order[i], &changed))
                return false;
    }
    for (size_t i = 0; i < w->n_order; i++) {
        eddy__known_shapes *k = graph->known_shapes;
        const eddy_node id = w->order[i];
        uint32_t *ids = k->ids + k->first[id];

        for (uint32_t o = 0; o < graph->nodes[id].n_outputs; o++)
            if (changed || ids[o] == NOT_YET)
                ids[o] = UNKNOWN;
    }
    return true;
}

static bool finish_rest(const eddy_graph *graph, eddy_node from)
{
    const size_t n = graph->n_nodes - from;
    eddy__arena arena = {.allocator = graph->arena.allocator};
    walk w = {.from = from};
    bool ok;

    w.order = eddy__arena_allocate(&arena, n, sizeof *w.order);
    w.stack = eddy__arena_allocate(&arena, n, sizeof *w.stack);
    w.seen = eddy__arena_allocate_zeroed(&arena, n, sizeof *w.seen);
    ok = w.order && w.stack && w.seen;
    for (eddy_node id = from; ok && id < graph->n_nodes; id++) {
        ok = begin_node(graph, id);
        if (ok && w.seen[id - from] == 0)
            order_from(graph, &w, id);
    }
    for (size_t i = 0; ok && i < w.n_order; i++)
        find_maker(graph, w.order[i]);
    ok = ok && go_over(graph, &w);
    eddy__arena_destroy(&arena);
    if (!ok)
        eddy__known_shapes_forget(graph, from);
    return ok;
}

/* ---- reaching ---- */

static bool reads_ahead(const eddy__node *node, eddy_node id)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node >= id)
            return true;
    return false;
}

static bool finish_node(const eddy_graph *graph, eddy_node id)
{
    eddy__known_shapes *k = graph->known_shapes;
    bool changed = false;

    if (!begin_node(graph, id))
        return false;
    find_maker(graph, id);
    if (visit(graph, id, &changed))
        return true;
    k->n_ids = k->first[id];
    k->n_done = id;
    return false;
}

/* Sees to it that all nodes are done; false without memory. */
static bool reach_all(const eddy_graph *graph)
{
    const eddy__known_shapes *k = graph->known_shapes;

    while (k->n_done < graph->n_nodes) {
        const eddy_node id = (eddy_node)k->n_done;

        if (reads_ahead(&graph->nodes[id], id))
            return finish_rest(graph, id);
        if (!finish_node(graph, id))
            return false;
    }
    return true;
}

/*
 * Can its shape function fail?  Of nodes that only carry values it cannot: so a
 * loop that is closed by hand, an edge and an Exit at a time, is looked at once
 * and not for each of them.
 */
static bool may_clash(const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_FORWARD:
        return false;
    default:
        return node->op && node->op->infer && node->n_inputs > 0;
    }
}

eddy_status eddy__known_shapes_check(const eddy_graph *graph,
                                     const eddy__node *node, eddy_error *err)
{
    view v = {.inputs = NULL};
    eddy_status status;

    if (!may_clash(node))
        return EDDY_OK;
    if (reach_all(graph) && make_view(graph, node, &v))
        status = call_function(node, &v, err);
    else
        status = eddy__fail_memory(err);
    eddy__arena_destroy(&v.arena);
    return status;
}

eddy_shape eddy__known_shapes_of(const eddy_graph *graph, eddy_output output)
{
    if (!reach_all(graph))
        return eddy__shape_unknown();
    return graph->known_shapes->shapes[id_of(graph, output)];
}

bool eddy__known_shapes_assume(const eddy_graph *graph, eddy_output output,
                               const eddy_shape *shape)
{
    eddy__known_shapes *k = graph->known_shapes;

    return reach_all(graph) &&
           add_shape(k, graph->arena.allocator, shape,
                     &k->ids[k->first[output.node] + output.index]);
}

void eddy__known_shapes_forget(const eddy_graph *graph, eddy_node node)
{
    eddy__known_shapes *k = graph->known_shapes;

    if (node >= k->n_done)
        return;
    k->n_ids = k->first[node];
    k->n_done = node;
}

void eddy__known_shapes_destroy(eddy__known_shapes *k,
                                const eddy_allocator *allocator)
{
    eddy__free(allocator, k->first, k->first_capacity, sizeof *k->first);
    eddy__free(allocator, k->maker, k->maker_capacity, sizeof *k->maker);
    eddy__free(allocator, k->ids, k->ids_capacity, sizeof *k->ids);
    eddy__free(allocator, k->shapes, k->shapes_capacity, sizeof *k->shapes);
    eddy__free(allocator, k->slots, k->n_slots, sizeof *k->slots);
    eddy__free(allocator, k, 1, sizeof *k);
}

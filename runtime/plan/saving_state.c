/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows each handle that a loop uses back to the node that makes it.  What is
 * made in the loop is gone with its trip, or carried; variables are saved by
 * their names.  What else is changed, TensorArrays, stacks, queues and lookup
 * tables, is saved
 * as it stands between two trips, which is what it will be when the loop goes
 * on only if nobody outside touches it meanwhile: who else changes it must come
 * before the loop, or after.
 */
#include "runtime/plan/saving_state.h"

#include "core/base/status.h"
#include "core/graph/graph.h"

#include <string.h>

typedef eddy__saving_state state;

/* Where a node runs, seen from the loop. */
enum { BEFORE = 1, AFTER = 2 };

static const eddy__node *node_of(const state *s, eddy_node v)
{
    return eddy__graph_node(s->build->selection->graph, v);
}

static bool is_selected(const state *s, eddy_node v)
{
    return eddy__selected(s->build->selection, v);
}

static bool is_inside(const state *s, eddy_node v)
{
    return s->is_in[s->build->analysis->node_frame[v]];
}

eddy_status eddy__saving_refuse(const eddy__plan_build *build, eddy_node node,
                                const char *why)
{
    return eddy__graph_fail_at(build->err, EDDY_UNIMPLEMENTED,
                               EDDY_E_CHECKPOINT,
                               eddy__graph_node(build->selection->graph, node),
                               "the loop can't be saved: %s", why);
}

/* ---- ops ---- */

static bool is_one_of(const char *op, const char *const *ops, size_t n)
{
    size_t i = 0;

    while (i < n && strcmp(op, ops[i]) != 0)
        i++;
    return i < n;
}

#define IS_ONE_OF(op, ops) is_one_of(op, ops, sizeof(ops) / sizeof *(ops))

bool eddy__saving_is_variable(const eddy__node *node)
{
    static const char *const ops[] = {"VarHandleOp", "VariableV2", "Variable"};

    return IS_ONE_OF(node->op_name, ops);
}

/* Has it a name in the table of the run or the session? */
bool eddy__saving_is_shared(const eddy__node *node)
{
    static const char *const ops[] = {"FIFOQueue",
                                      "FIFOQueueV2",
                                      "PaddingFIFOQueue",
                                      "PaddingFIFOQueueV2",
                                      "PriorityQueue",
                                      "PriorityQueueV2",
                                      "RandomShuffleQueue",
                                      "RandomShuffleQueueV2",
                                      "HashTable",
                                      "HashTableV2",
                                      "MutableHashTable",
                                      "MutableHashTableV2",
                                      "MutableHashTableOfTensors",
                                      "MutableHashTableOfTensorsV2",
                                      "MutableDenseHashTable",
                                      "MutableDenseHashTableV2"};

    return IS_ONE_OF(node->op_name, ops);
}

static bool makes_handle(const eddy__node *node)
{
    static const char *const ops[] = {"TensorArrayV3",
                                      "TensorArray",
                                      "TensorArrayGradV3",
                                      "TensorArrayGradWithShape",
                                      "Stack",
                                      "StackV2"};

    return IS_ONE_OF(node->op_name, ops) || eddy__saving_is_shared(node);
}

/* Does it leave what it has a handle of as it is? */
static bool only_reads(const eddy__node *node)
{
    static const char *const ops[] = {
        "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayConcatV3",
        "TensorArraySizeV3", "TensorArrayReadV2",   "TensorArrayGatherV2",
        "TensorArraySizeV2", "TensorArrayConcatV2", "QueueSize",
        "QueueSizeV2",       "QueueIsClosed",       "QueueIsClosedV2",
        "LookupTableFind",   "LookupTableFindV2",   "LookupTableSize",
        "LookupTableSizeV2", "LookupTableExport",   "LookupTableExportV2"};

    return IS_ONE_OF(node->op_name, ops);
}

/* Is a handle of it two texts? */
static bool has_names(const eddy__node *node)
{
    static const char *const ops[] = {
        "TensorArrayWriteV2", "TensorArrayScatterV2", "TensorArraySplitV2",
        "TensorArrayGradV2",  "TensorArrayUnpackV2",  "TensorArrayCloseV2"};

    return IS_ONE_OF(node->op_name, ops);
}

static bool hands_on(const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_FORWARD:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
        return true;
    default:
        return false;
    }
}

/* ---- who made a handle ---- */

/* Nodes that are still to be followed back. */
typedef struct way {
    eddy_node *nodes;
    uint8_t *is_seen; /* a node */
    size_t n;
} way;

static void go_to(way *w, eddy_node v)
{
    if (w->is_seen[v])
        return;
    w->is_seen[v] = 1;
    w->nodes[w->n++] = v;
}

static void forget(way *w)
{
    while (w->n > 0)
        w->is_seen[w->nodes[--w->n]] = 0;
}

/*
 * Leaves in `w`, among those that hand it on, the nodes that may have made what
 * `from` hands on.
 */
static void trace(const state *s, way *w, eddy_node from)
{
    forget(w);
    go_to(w, from);
    for (size_t i = 0; i < w->n; i++) {
        const eddy__node *node = node_of(s, w->nodes[i]);
        const bool is_merge = eddy__node_role(node) == EDDY__ROLE_MERGE;

        /* A predicate hands nothing on. */
        for (uint32_t k = 0; hands_on(node) && k < node->n_inputs; k++)
            if (k == 0 || is_merge)
                go_to(w, node->inputs[k].node);
    }
}

/* Is what the handle is of neither a variable nor gone with its trip? */
static bool is_outside(const state *s, eddy_node v)
{
    const eddy__node *node = node_of(s, v);

    return !hands_on(node) && !eddy__saving_is_variable(node) &&
           (!is_inside(s, v) || eddy__node_attr(node, "shared_name"));
}

/* Node `user` changes what `w` was traced to: notes who has made that. */
static eddy_status note(const state *s, const way *w, eddy_node user,
                        uint8_t *is_maker)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const eddy_node v = w->nodes[i];

        if (!is_outside(s, v))
            continue;
        if (!makes_handle(node_of(s, v)) ||
            s->build->analysis->node_frame[v] != 0)
            return eddy__saving_refuse(
                s->build, user,
                "the node uses a state that is not saved, of neither a "
                "variable, a TensorArray, a stack, a queue or a lookup table "
                "with a name, nor something made in the trip");
        if (n++ > 0)
            return eddy__saving_refuse(
                s->build, user,
                "the node uses one of several states, and which one is known "
                "only when it runs");
        is_maker[v] = 1;
    }
    return EDDY_OK;
}

/* Does the node change what is behind its input `i`? */
static bool changes(const state *s, eddy_node v, uint32_t i)
{
    const eddy__node *node = node_of(s, v);
    const eddy_output from = node->inputs[i];

    return !hands_on(node) && !only_reads(node) &&
           node_of(s, from.node)->output_dtypes[from.index] == EDDY_RESOURCE;
}

static eddy_status note_inputs(const state *s, way *w, eddy_node v,
                               uint8_t *is_maker)
{
    const eddy__node *node = node_of(s, v);

    if (has_names(node) && !is_inside(s, node->inputs[0].node))
        return eddy__saving_refuse(s->build, v,
                                   "the node uses a state that is not saved: "
                                   "a TensorArray with names, without a "
                                   "handle");
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (!changes(s, v, i))
            continue;
        trace(s, w, node->inputs[i].node);
        EDDY_TRY(note(s, w, v, is_maker));
    }
    return EDDY_OK;
}

/* ---- who else changes it ---- */

/* All that must be through before the loop begins. */
static void mark_before(const state *s, way *w, uint8_t *where)
{
    const size_t n = s->build->selection->graph->n_nodes;

    forget(w);
    for (eddy_node v = 0; v < n; v++)
        if (is_selected(s, v) &&
            s->build->analysis->output_frame[v] == s->loop &&
            eddy__node_role(node_of(s, v)) == EDDY__ROLE_ENTER)
            go_to(w, v);
    for (size_t i = 0; i < w->n; i++) {
        const eddy__node *node = node_of(s, w->nodes[i]);

        for (uint32_t k = 0; k < node->n_inputs; k++)
            go_to(w, node->inputs[k].node);
        for (uint32_t k = 0; k < node->n_controls; k++)
            go_to(w, node->controls[k]);
    }
    for (size_t i = 0; i < w->n; i++)
        where[w->nodes[i]] |= BEFORE;
}

static bool reads_after(const state *s, eddy_node v, const uint8_t *where)
{
    const eddy__node *node = node_of(s, v);
    bool any = is_inside(s, v);

    for (uint32_t k = 0; k < node->n_inputs; k++)
        any = any || where[node->inputs[k].node] & AFTER;
    for (uint32_t k = 0; k < node->n_controls; k++)
        any = any || where[node->controls[k]] & AFTER;
    return any;
}

/* The loop, and all that waits for something of it. */
static void mark_after(const state *s, uint8_t *where)
{
    const size_t n = s->build->selection->graph->n_nodes;
    bool any = true;

    while (any) {
        any = false;
        for (eddy_node v = 0; v < n; v++)
            if (is_selected(s, v) && !(where[v] & AFTER) &&
                reads_after(s, v, where)) {
                where[v] |= AFTER;
                any = true;
            }
    }
}

static bool changes_any(const state *s, way *w, eddy_node v,
                        const uint8_t *is_maker)
{
    bool any = false;

    for (uint32_t i = 0; i < node_of(s, v)->n_inputs && !any; i++) {
        if (!changes(s, v, i))
            continue;
        trace(s, w, node_of(s, v)->inputs[i].node);
        for (size_t k = 0; k < w->n; k++)
            any = any || is_maker[w->nodes[k]];
    }
    return any;
}

/* Nobody changes what is saved at the same time. */
static eddy_status check_others(const state *s, way *w, const uint8_t *is_maker)
{
    const size_t n = s->build->selection->graph->n_nodes;
    uint8_t *where = eddy__arena_allocate_zeroed(s->scratch, n, 1);

    if (!where)
        return eddy__fail_memory(s->build->err);
    mark_before(s, w, where);
    mark_after(s, where);
    for (eddy_node v = 0; v < n; v++)
        if (is_selected(s, v) && where[v] == 0 &&
            changes_any(s, w, v, is_maker))
            return eddy__saving_refuse(
                s->build, v,
                "the node changes a state that the loop changes, too, and runs "
                "neither before nor after it");
    return EDDY_OK;
}

/* ---- all ---- */

eddy_status eddy__saving_state_find(eddy__saving_state *s)
{
    eddy__arena *scratch = s->scratch;
    const size_t n = s->build->selection->graph->n_nodes;
    way w = {.nodes = eddy__arena_allocate(scratch, n, sizeof *w.nodes),
             .is_seen = eddy__arena_allocate_zeroed(scratch, n, 1)};
    uint8_t *is_maker = eddy__arena_allocate_zeroed(scratch, n, 1);

    s->makers = eddy__arena_allocate(scratch, n, sizeof *s->makers);
    s->n_makers = 0;
    if (!w.nodes || !w.is_seen || !is_maker || !s->makers)
        return eddy__fail_memory(s->build->err);
    for (eddy_node v = 0; v < n; v++)
        if (is_selected(s, v) && is_inside(s, v))
            EDDY_TRY(note_inputs(s, &w, v, is_maker));
    for (eddy_node v = 0; v < n; v++)
        if (is_maker[v])
            s->makers[s->n_makers++] = v;
    return s->n_makers > 0 ? check_others(s, &w, is_maker) : EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks and TensorArrays are stores: their handles are followed. */
#include "frames/analysis/stores.h"

#include "core/base/status.h"
#include "core/value/shape.h"

#include <string.h>

/* What a node does with the handle that is its input 0. */
typedef enum use {
    USE_OTHER,
    USE_NOTHING, /* of values */
    USE_READ,    /* gives one out as output 0 */
    USE_PUT,     /* takes one in as input `value` */
    USE_SCATTER, /* takes in the rows of it */
    USE_SPLIT,   /* takes in parts of it */
    USE_STATE,   /* says what items are that nobody has put in */
    USE_PASS,    /* gives a handle out as output 0 */
} use;

typedef struct row {
    const char *op;
    use use;
    uint32_t value;
} row;

static const row rows[] = {
    {"StackPush", USE_PUT, 1},
    {"StackPushV2", USE_PUT, 1},
    {"StackPop", USE_READ, 0},
    {"StackPopV2", USE_READ, 0},
    {"StackClose", USE_NOTHING, 0},
    {"StackCloseV2", USE_NOTHING, 0},
    {"TensorArrayWriteV3", USE_PUT, 2},
    {"TensorArrayReadV3", USE_READ, 0},
    {"TensorArrayScatterV3", USE_SCATTER, 2},
    {"TensorArraySplitV3", USE_SPLIT, 1},
    {"TensorArrayGatherV3", USE_STATE, 0},
    {"TensorArrayConcatV3", USE_NOTHING, 0},
    {"TensorArraySizeV3", USE_NOTHING, 0},
    {"TensorArrayCloseV3", USE_NOTHING, 0},
    {"TensorArrayGradV3", USE_PASS, 0},
    {"_WriteRow", USE_PUT, 2},
    {"_ReadRow", USE_READ, 0},
    {"_RowsEnd", USE_STATE, 0},
};

/* What makes them, of which a TensorArray may say of what shape 0s are. */
static const char *const makers[] = {"Stack", "StackV2", "TensorArrayV3"};

#define N_ROWS (sizeof rows / sizeof rows[0])
#define N_MAKERS (sizeof makers / sizeof makers[0])

static const row *find_row(const eddy__node *node)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].op, node->op_name) == 0)
            return &rows[i];
    return NULL;
}

static bool is_maker(const eddy__flow *flow, eddy_node node)
{
    for (size_t i = 0; i < N_MAKERS; i++)
        if (eddy__selected(flow->selection, node) &&
            strcmp(makers[i], eddy__flow_node(flow, node)->op_name) == 0)
            return true;
    return false;
}

/* ---- following a handle ---- */

typedef struct walk {
    eddy__stores *stores;
    const eddy__flow *flow;
    eddy_node *way; /* room for every node */
    size_t n;
} walk;

/* Is it the handle that the edge carries, not another output of its node? */
static bool is_handle(const walk *w, eddy_node from, eddy__flow_edge edge)
{
    const eddy__node *to = eddy__flow_node(w->flow, edge.to);

    return edge.input != EDDY__CONTROL &&
           (w->flow->role[from] == EDDY__ROLE_SWITCH ||
            to->inputs[edge.input].index == 0);
}

/*
 * Notes that the handle goes along an edge; false if nothing is known then of
 * the store.
 */
static bool note(walk *w, uint32_t store, eddy__flow_edge edge)
{
    const row *r;

    if (edge.input != 0)
        return false;
    if (w->stores->of_node[edge.to])
        return w->stores->of_node[edge.to] == store;
    r = find_row(eddy__flow_node(w->flow, edge.to));
    if (!r && !eddy__op_hands_on((eddy__role)w->flow->role[edge.to]))
        return false;
    w->stores->of_node[edge.to] = store;
    w->way[w->n++] = edge.to;
    return true;
}

/* Does the node have its input's handle as an output? */
static bool hands_on(const walk *w, eddy_node node)
{
    const row *r = find_row(eddy__flow_node(w->flow, node));

    return r ? r->use == USE_PASS : true;
}

/* All that the handle of `maker` reaches; false if it is no store. */
static bool follow(walk *w, eddy_node maker, uint32_t store)
{
    w->n = 0;
    w->way[w->n++] = maker;
    for (size_t i = 0; i < w->n; i++) {
        const eddy_node from = w->way[i];

        if (i > 0 && !hands_on(w, from))
            continue;
        for (size_t e = w->flow->first_out[from];
             e < w->flow->first_out[from + 1]; e++)
            if (is_handle(w, from, w->flow->edge[e]) &&
                !note(w, store, w->flow->edge[e]))
                return false;
    }
    return true;
}

static void forget(walk *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->stores->of_node[w->way[i]] = 0;
}

/* Makes a list of the readers; of others only those stay that put in. */
static void close_store(walk *w, eddy__store *store)
{
    for (size_t i = 1; i < w->n; i++) {
        const eddy_node node = w->way[i];
        const row *r = find_row(eddy__flow_node(w->flow, node));

        if (!r || r->use == USE_NOTHING || r->use == USE_PASS) {
            w->stores->of_node[node] = 0;
        } else if (r->use == USE_READ) {
            w->stores->next_reader[node] = store->first_reader;
            store->first_reader = node;
        }
    }
}

eddy_status eddy__stores_find(eddy__stores *stores, const eddy__flow *flow,
                              eddy__arena *arena, eddy_error *err)
{
    walk w = {.stores = stores, .flow = flow};
    size_t n = 0;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        n += is_maker(flow, v);
    w.way = eddy__arena_allocate(arena, flow->n_nodes, sizeof *w.way);
    stores->stores =
        eddy__arena_allocate_zeroed(arena, n, sizeof *stores->stores);
    stores->of_node = eddy__arena_allocate_zeroed(arena, flow->n_nodes,
                                                  sizeof *stores->of_node);
    stores->next_reader =
        eddy__arena_allocate(arena, flow->n_nodes, sizeof *stores->next_reader);
    if (!w.way || !stores->stores || !stores->of_node || !stores->next_reader)
        return eddy__fail_memory(err);
    for (eddy_node v = 0; v < flow->n_nodes && n > 0; v++) {
        eddy__store *store = &stores->stores[stores->n];

        if (!is_maker(flow, v))
            continue;
        store->first_reader = EDDY_NO_NODE;
        if (follow(&w, v, (uint32_t)stores->n + 1)) {
            close_store(&w, store);
            (void)eddy__store_put(store, eddy__flow_node(flow, v), NULL);
            stores->n++;
        } else {
            forget(&w);
        }
    }
    return EDDY_OK;
}

/* ---- shapes ---- */

/* Joins it with what was known; true if that changed anything. */
static bool join(eddy__store *store, const eddy_shape *shape)
{
    const eddy_shape joined =
        store->has_shape ? eddy__shape_join(&store->shape, shape) : *shape;

    if (store->has_shape && eddy__shape_equal(&store->shape, &joined))
        return false;
    store->shape = joined;
    store->has_shape = true;
    return true;
}

/* Items that nobody has put in are 0s of a shape that is stated. */
static bool join_stated(eddy__store *store, const eddy__node *node)
{
    const eddy_attr *stated = eddy__node_attr(node, "element_shape");

    return stated && stated->as.shapes[0].rank >= 0 &&
           join(store, &stated->as.shapes[0]);
}

bool eddy__store_put(eddy__store *store, const eddy__node *node,
                     const eddy_shape *inputs)
{
    const eddy_shape unknown = eddy__shape_unknown();
    const row *r = find_row(node);
    eddy_shape rows_shape;

    if (!r || r->use == USE_STATE)
        return join_stated(store, node);
    if (r->use == USE_READ)
        return false;
    if (!inputs || r->use == USE_SPLIT || inputs[r->value].rank < 0)
        return join(store, &unknown);
    if (r->use == USE_PUT)
        return join(store, &inputs[r->value]);
    if (inputs[r->value].rank == 0)
        return false; /* it will fail */
    rows_shape = eddy__shape_rest(&inputs[r->value]);
    return join(store, &rows_shape);
}

bool eddy__store_is_read(const eddy__node *node)
{
    const row *r = find_row(node);

    return r && r->use == USE_READ;
}

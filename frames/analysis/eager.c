/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the last node to the first: a node is wanted where its consumers are,
 * and could be moved into the innermost branch around them all.  A Switch hands
 * a value on to where its outputs are wanted, so the wish goes up through it;
 * it ends at whatever can't be moved into a branch: a node with effects, the
 * other primitives, and a node that nobody reads, which may be fetched.
 */
#include "frames/analysis/eager.h"

#include "core/base/status.h"
#include "frames/analysis/branches.h"

typedef struct finder {
    const eddy__flow *flow;
    const eddy_analysis *analysis;
    const eddy__branches *b;
    uint32_t *wanted; /* a node: the branch in which its outputs are */
} finder;

/* Could it as well be computed later, in a branch? */
static bool is_movable(const finder *f, eddy_node node)
{
    const eddy__node *n = eddy__flow_node(f->flow, node);
    const uint8_t role = f->flow->role[node];

    return n->op && n->n_outputs > 0 &&
           (role == EDDY__ROLE_NONE || role == EDDY__ROLE_FORWARD ||
            role == EDDY__ROLE_CONST) &&
           !(n->op->flags & (EDDY_OP_STATEFUL | EDDY_OP_ASYNC)) &&
           !n->op->has_references;
}

/* Is it worth a word?  Constants and what only hands on are cheap ops. */
static bool is_worth_moving(const finder *f, eddy_node node)
{
    return is_movable(f, node) && f->flow->role[node] == EDDY__ROLE_NONE &&
           !(eddy__flow_node(f->flow, node)->op->flags & EDDY_OP_CHEAP);
}

/* Where the consumer at the end of an edge wants what comes over it. */
static uint32_t wish_of(const finder *f, eddy_node from, eddy__flow_edge edge)
{
    const eddy_node to = edge.to;

    if (edge.input == EDDY__CONTROL)
        return f->b->of_node[to];
    if (eddy__trace_is_branch_switch(f->flow, to))
        return edge.input == 0 ? f->wanted[to] : f->b->of_node[to];
    if (f->flow->role[to] == EDDY__ROLE_MERGE)
        return f->b->of_node[from];
    return is_movable(f, to) ? f->wanted[to] : f->b->of_node[to];
}

static uint32_t around(const finder *f, uint32_t branch, uint32_t other)
{
    return branch == EDDY__NOT_FOUND ? other
                                     : eddy__branch_around(f->b, branch, other);
}

/*
 * Of a Switch: a value is wanted on the side that leads to the consumer, or
 * further in.
 */
static uint32_t wish_through(const finder *f, eddy_node from,
                             eddy__flow_edge edge)
{
    const eddy_output read =
        eddy__flow_node(f->flow, edge.to)->inputs[edge.input];
    const uint32_t side = f->b->certain[from] == read.index + 1
                              ? f->b->of_node[from]
                              : f->b->first_side[from] + read.index;
    const uint32_t wish = f->flow->role[edge.to] == EDDY__ROLE_MERGE
                              ? side
                              : wish_of(f, from, edge);

    return eddy__branch_is_within(f->b, wish, side) ? wish : side;
}

static uint32_t find_wanted(const finder *f, eddy_node node)
{
    const bool is_switch = eddy__trace_is_branch_switch(f->flow, node);
    uint32_t wanted = EDDY__NOT_FOUND;

    if (!is_switch && !is_movable(f, node))
        return f->b->of_node[node];
    for (size_t e = f->flow->first_out[node]; e < f->flow->first_out[node + 1];
         e++) {
        const eddy__flow_edge edge = f->flow->edge[e];
        const bool is_through = is_switch && edge.input != EDDY__CONTROL;

        wanted = around(f, wanted,
                        is_through  ? wish_through(f, node, edge)
                        : is_switch ? f->b->of_node[node]
                                    : wish_of(f, node, edge));
    }
    return wanted == EDDY__NOT_FOUND ||
                   !eddy__branch_is_within(f->b, wanted, f->b->of_node[node])
               ? f->b->of_node[node]
               : wanted;
}

static eddy_status list_eager(const finder *f, eddy_analysis *analysis,
                              eddy_error *err)
{
    size_t n = 0;

    for (eddy_node v = 0; v < f->flow->n_nodes; v++)
        n += f->wanted[v] != f->b->of_node[v] && is_worth_moving(f, v);
    analysis->eager =
        eddy__arena_allocate(&analysis->arena, n, sizeof *analysis->eager);
    if (!analysis->eager)
        return eddy__fail_memory(err);
    for (eddy_node v = 0; v < f->flow->n_nodes; v++)
        if (f->wanted[v] != f->b->of_node[v] && is_worth_moving(f, v))
            analysis->eager[analysis->n_eager++] =
                (eddy_eager_node){.node = v, .branch = f->wanted[v]};
    return EDDY_OK;
}

eddy_status eddy__find_eager(const eddy__flow *flow, eddy_analysis *analysis,
                             eddy__arena *scratch, eddy_error *err)
{
    finder f = {.flow = flow, .analysis = analysis, .b = &analysis->branches};
    eddy_node *order;
    size_t n;

    EDDY_TRY(eddy__flow_order(flow, scratch, &order, &n, err));
    f.wanted =
        eddy__arena_allocate_zeroed(scratch, flow->n_nodes, sizeof(uint32_t));
    if (!f.wanted)
        return eddy__fail_memory(err);
    while (n-- > 0)
        f.wanted[order[n]] = find_wanted(&f, order[n]);
    return list_eager(&f, analysis, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the copies of a replicated graph may go different ways: a collective
 * there would wait for ranks that never come to it, so it is refused.
 *
 * A value may differ between ranks if it depends on the rank's number, or on
 * numbers that a rank draws without a seed; feeds are the same everywhere, and
 * so is what most collectives give: not those of which each rank gets a part,
 * nor the sender of a broadcast, which has its own.  A state that something
 * different was put into gives what differs.
 *
 * What comes after no Switch by such a value is live and dead alike everywhere.
 */
#include "core/base/status.h"
#include "frames/analysis/flow.h"
#include "frames/lower/collective.h"
#include "frames/partition/replicate.h"

#include <string.h>

typedef struct agreement {
    eddy__partitioning *p;
    eddy_analysis *analysis;
    uint8_t *differs; /* a node: what it gives, or holds */
    eddy_node *left;  /* those whose readers are still to be marked */
    size_t n_left;
} agreement;

static bool is_handle(const eddy__node *from, uint32_t index)
{
    return index < from->n_outputs &&
           (from->output_dtypes[index] == EDDY_RESOURCE ||
            eddy__node_gives_reference(from, index));
}

/* Does it draw numbers that no seed fixes? */
static bool is_drawn(const eddy__node *node)
{
    const eddy_attr *seed = eddy__node_attr(node, "seed");
    const eddy_attr *seed2 = eddy__node_attr(node, "seed2");

    return seed && seed2 && seed->as.ints[0] == 0 && seed2->as.ints[0] == 0;
}

/* Does it give each rank something of its own? */
static bool gives_parts(const eddy__node *node)
{
    return eddy__collective_join(node) == EDDY__JOIN_EXCHANGE ||
           (node->op && eddy__collective_scatters(node));
}

/* Does it give the same on all ranks, whatever it reads there? */
static bool makes_alike(const eddy__node *node)
{
    return eddy__replicate_is_collective(node) &&
           eddy__collective_join(node) != EDDY__JOIN_SEND;
}

/* Marks the node, and notes that it is to be looked at. */
static void mark(agreement *a, eddy_node v)
{
    if (a->differs[v])
        return;
    a->differs[v] = 1;
    a->left[a->n_left++] = v;
}

/*
 * What differs goes on to all that reads it, past which only a collective makes
 * it alike, and into what such a node has a handle of.
 */
static void spread(agreement *a, const eddy__flow *flow, eddy_node v)
{
    const eddy__node *node = eddy__partition_node(a->p, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output in = node->inputs[i];

        if (is_handle(eddy__partition_node(a->p, in.node), in.index))
            mark(a, in.node);
    }
    for (size_t e = flow->first_out[v]; e < flow->first_out[v + 1]; e++) {
        const eddy__flow_edge edge = flow->edge[e];

        if (edge.input != EDDY__CONTROL &&
            !makes_alike(eddy__partition_node(a->p, edge.to)))
            mark(a, edge.to);
    }
}

/* Each node is looked at once: when it is found to differ. */
static eddy_status find_differing(agreement *a,
                                  const eddy__selection *selection)
{
    eddy__arena *arena = &a->p->arena;
    const eddy_graph *whole = a->p->whole;
    eddy__flow flow;

    a->left = eddy__arena_allocate(arena, whole->n_nodes, sizeof *a->left);
    if (!a->left)
        return eddy__fail_memory(a->p->err);
    EDDY_TRY(eddy__flow_build(&flow, selection, arena, a->p->err));
    for (eddy_node v = 0; v < whole->n_nodes; v++) {
        const eddy__node *node = eddy__partition_node(a->p, v);

        if (a->p->placed[v].is_needed &&
            (strcmp(node->op_name, EDDY__RANK) == 0 || is_drawn(node) ||
             gives_parts(node)))
            mark(a, v);
    }
    while (a->n_left > 0)
        spread(a, &flow, a->left[--a->n_left]);
    return EDDY_OK;
}

/* A choice between sides, or of what goes into a loop again. */
static bool is_uneven_switch(const agreement *a, const eddy__node *node)
{
    return eddy__node_role(node) == EDDY__ROLE_SWITCH &&
           a->differs[node->inputs[node->n_inputs - 1].node];
}

/* Marks what may be live on one rank and dead on another: all that comes after
 * a Switch which may go different ways. */
static eddy_status find_uneven(agreement *a, const eddy__selection *selection)
{
    const size_t n = a->p->whole->n_nodes;
    uint8_t *uneven = eddy__arena_allocate_zeroed(&a->p->arena, n, 1);
    eddy__flow flow;

    a->p->is_uneven = uneven;
    if (!uneven)
        return eddy__fail_memory(a->p->err);
    EDDY_TRY(eddy__flow_build(&flow, selection, &a->p->arena, a->p->err));
    for (eddy_node v = 0; v < n; v++)
        if (a->p->placed[v].is_needed &&
            is_uneven_switch(a, eddy__partition_node(a->p, v))) {
            uneven[v] = 1;
            a->left[a->n_left++] = v;
        }
    while (a->n_left > 0) {
        const eddy_node v = a->left[--a->n_left];

        for (size_t e = flow.first_out[v]; e < flow.first_out[v + 1]; e++) {
            const eddy_node to = flow.edge[e].to;

            if (uneven[to])
                continue;
            uneven[to] = 1;
            a->left[a->n_left++] = to;
        }
    }
    return EDDY_OK;
}

static eddy_status refuse(const agreement *a, eddy_node v, eddy_node by)
{
    return eddy__graph_fail_at(
        a->p->err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE,
        eddy__partition_node(a->p, v),
        "whether this collective runs is up to '%.120s', which may say "
        "otherwise on another rank: that would wait for ever",
        eddy__partition_node(a->p, by)->name);
}

/* A broadcast whose ends are two nodes is dead where its sender is. */
static bool may_be_in_a_branch(const eddy__node *node)
{
    const eddy__join join = eddy__collective_join(node);

    return join == EDDY__JOIN_SEND || join == EDDY__JOIN_RECEIVE;
}

/* The predicates of the branches and loops around a collective. */
static eddy_status check(const agreement *a, eddy_node v)
{
    uint32_t f = eddy_analysis_node_frame(a->analysis, v);
    uint32_t branch = may_be_in_a_branch(eddy__partition_node(a->p, v))
                          ? 0
                          : eddy_analysis_node_branch(a->analysis, v);

    for (;;) {
        const eddy_frame *frame = eddy_analysis_frame(a->analysis, f);

        for (; branch != 0;
             branch = eddy_analysis_branch(a->analysis, branch)->outer) {
            const eddy_node by =
                eddy_analysis_branch(a->analysis, branch)->predicate.node;

            if (a->differs[by])
                return refuse(a, v, by);
        }
        if (f == 0)
            return EDDY_OK;
        if (frame->loop_cond != EDDY_NO_NODE && a->differs[frame->loop_cond])
            return refuse(a, v, frame->loop_cond);
        branch = frame->branch;
        f = frame->parent;
    }
}

static eddy_status check_all(agreement *a)
{
    const size_t n = a->p->whole->n_nodes;
    eddy__selection selection = {.graph = a->p->whole, .budget = a->p->budget};
    uint8_t *keep = eddy__arena_allocate(&a->p->arena, n, 1);

    if (!keep)
        return eddy__fail_memory(a->p->err);
    for (eddy_node v = 0; v < n; v++)
        keep[v] = a->p->placed[v].is_needed;
    selection.keep = keep;
    EDDY_TRY(find_differing(a, &selection));
    EDDY_TRY(find_uneven(a, &selection));
    EDDY_TRY(eddy__analysis_build_whole(&selection, &a->analysis, a->p->err));
    for (eddy_node v = 0; v < n; v++)
        if (keep[v] &&
            eddy__replicate_is_collective(eddy__partition_node(a->p, v)))
            EDDY_TRY(check(a, v));
    return EDDY_OK;
}

eddy_status eddy__partition_agree(eddy__partitioning *p)
{
    agreement a = {.p = p,
                   .differs = eddy__arena_allocate_zeroed(
                       &p->arena, p->whole->n_nodes, 1)};
    eddy_status status;

    if (!a.differs)
        return eddy__fail_memory(p->err);
    status = check_all(&a);
    eddy_analysis_destroy(a.analysis);
    return status;
}

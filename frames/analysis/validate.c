/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is steady if, whenever all Enters of its frame are live, it fires live
 * in every iteration of the frame that there is, from the first on.  Constant
 * Enters are steady; a Switch is not, nor is what comes out of an inner frame;
 * a Merge is if its Enter starts it and its NextIteration is steady; any other
 * node is if all its sources are.  What is not steady by this rule may well be
 * so in truth: the checks only refuse what is certain to go wrong.
 */
#include "frames/analysis/validate.h"

#include "core/base/status.h"
#include "frames/analysis/merge_order.h"
#include "frames/analysis/report.h"

typedef struct steady {
    const eddy__flow *flow;
    uint8_t *is_unsteady;
    eddy_node *stack;
    size_t n;
} steady;

static void mark(steady *s, eddy_node node)
{
    if (s->is_unsteady[node])
        return;
    s->is_unsteady[node] = 1;
    s->stack[s->n++] = node;
}

/* May the edge bring a token in each iteration, if its source is steady? */
static bool may_be_steady(const eddy__flow *flow, eddy_node from, eddy_node to,
                          bool is_data)
{
    const bool to_merge = is_data && flow->role[to] == EDDY__ROLE_MERGE;

    switch (flow->role[from]) {
    case EDDY__ROLE_EXIT:
        return false;
    case EDDY__ROLE_ENTER:
        return to_merge || flow->is_constant[from];
    case EDDY__ROLE_NEXT_ITERATION:
        return to_merge;
    default:
        return true;
    }
}

/* Has a Merge data for the first iteration, and for those that follow? */
static bool merge_may_be_steady(const eddy__flow *flow, eddy_node merge)
{
    const size_t begin = flow->first_in[merge];
    const size_t end = begin + eddy__flow_node(flow, merge)->n_inputs;
    bool first = false, others = false;

    for (size_t i = begin; i < end; i++) {
        const eddy_node from = flow->source[i];
        const int role =
            eddy__flow_is_node(from) ? flow->role[from] : EDDY__ROLE_NONE;

        first = first || role != EDDY__ROLE_NEXT_ITERATION;
        others = others || role != EDDY__ROLE_ENTER || flow->is_constant[from];
    }
    return first && others;
}

/* Unsteady by itself or by the kind of its sources. */
static bool starts_unsteady(const eddy__flow *flow, eddy_node node)
{
    if (flow->role[node] == EDDY__ROLE_ENTER)
        return false;
    if (flow->role[node] == EDDY__ROLE_SWITCH ||
        !eddy__flow_node(flow, node)->op)
        return true;
    if (flow->role[node] == EDDY__ROLE_MERGE &&
        !merge_may_be_steady(flow, node))
        return true;
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            !may_be_steady(flow, flow->source[i], node,
                           eddy__flow_is_data(flow, node, i)))
            return true;
    return false;
}

static void spread(steady *s)
{
    const eddy__flow *flow = s->flow;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (eddy__selected(flow->selection, v) && starts_unsteady(flow, v))
            mark(s, v);
    while (s->n > 0) {
        eddy_node v = s->stack[--s->n];

        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            if (flow->role[flow->edge[i].to] != EDDY__ROLE_ENTER)
                mark(s, flow->edge[i].to);
    }
}

/* ---- what a steady node makes wrong ---- */

static eddy_status refuse_at(const eddy__flow *flow, const eddy_analysis *a,
                             eddy_node node, eddy_detail detail,
                             const char *text, eddy_error *err)
{
    return eddy__report_refuse(err, detail, eddy__flow_node(flow, node),
                               a->frames, a->node_frame[node], "%s", text);
}

static eddy_status check_steady(const steady *s, const eddy_analysis *a,
                                eddy_node node, eddy_error *err)
{
    const bool is_steady = !s->is_unsteady[node];

    switch (s->flow->role[node]) {
    case EDDY__ROLE_NEXT_ITERATION:
        if (is_steady)
            return refuse_at(s->flow, a, node, EDDY_E_NEVER_ENDS,
                             "fires in every iteration, so the loop never "
                             "ends; it must depend on a Switch of its frame",
                             err);
        return EDDY_OK;
    case EDDY__ROLE_EXIT:
        if (is_steady && a->has_next[a->node_frame[node]])
            return refuse_at(s->flow, a, node, EDDY_E_EXIT_TWICE,
                             "would fire in every iteration of its loop; an "
                             "Exit must depend on a Switch of its frame",
                             err);
        return EDDY_OK;
    default:
        return EDDY_OK;
    }
}

/*
 * Two inputs of a Merge in the root frame that are always live, and neither of
 * which is certain to be first; elsewhere one of two Enters may be dead.  The
 * same output given twice counts as two.
 */
static eddy_status warn_race(const steady *s, eddy_analysis *a,
                             const eddy__contest *contest, eddy_error *err)
{
    const eddy__flow *flow = s->flow;
    const eddy__node *node = eddy__flow_node(flow, contest->merge);
    uint32_t first = UINT32_MAX;

    if (a->node_frame[contest->merge] != 0)
        return EDDY_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = flow->source[flow->first_in[contest->merge] + i];

        if (contest->is_late[i] ||
            (eddy__flow_is_node(from) &&
             (s->is_unsteady[from] || flow->role[from] == EDDY__ROLE_EXIT)))
            continue;
        if (first == UINT32_MAX) {
            first = i;
            continue;
        }
        if (eddy__contest_decides(contest, first, i))
            continue;
        return eddy__report_warn(
            a, err,
            "node '%s' (%s): inputs %u ('%s') and %u ('%s') are both always "
            "live; a run fails unless they are equal",
            eddy__shorten(node->name).text, node->op_name, first,
            eddy__shorten(eddy__flow_node(flow, node->inputs[first].node)->name)
                .text,
            i,
            eddy__shorten(eddy__flow_node(flow, node->inputs[i].node)->name)
                .text);
    }
    return EDDY_OK;
}

static eddy_status check_firing(const eddy__flow *flow, eddy_analysis *a,
                                eddy__arena *scratch, eddy_error *err)
{
    steady s = {.flow = flow};

    s.is_unsteady = eddy__arena_allocate_zeroed(scratch, flow->n_nodes, 1);
    s.stack = eddy__arena_allocate(scratch, flow->n_nodes, sizeof *s.stack);
    if (!s.is_unsteady || !s.stack)
        return eddy__fail_memory(err);
    spread(&s);
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        EDDY_TRY(check_steady(&s, a, v, err));
    for (size_t i = 0; i < a->n_contests; i++)
        EDDY_TRY(warn_race(&s, a, &a->contests[i], err));
    return EDDY_OK;
}

/* ---- odd but legal ---- */

/*
 * What a NextIteration puts out is not there in iteration 0: TensorFlow runs
 * such a node from iteration 1 on.
 */
static eddy_status warn_next_iteration(const eddy__flow *flow, eddy_analysis *a,
                                       eddy_node node, eddy_error *err)
{
    for (size_t i = flow->first_out[node]; i < flow->first_out[node + 1]; i++) {
        const eddy__flow_edge edge = flow->edge[i];
        const eddy__node *to = eddy__flow_node(flow, edge.to);

        if (!eddy__is_back_edge(flow, node, edge.to,
                                edge.input != EDDY__CONTROL))
            return eddy__report_warn(
                a, err,
                "node '%s' (%s): feeds '%s' (%s) other than as a Merge's "
                "data, so that this never runs in iteration 0",
                eddy__shorten(eddy__flow_node(flow, node)->name).text,
                eddy__flow_node(flow, node)->op_name,
                eddy__shorten(to->name).text, eddy__shorten(to->op_name).text);
    }
    return EDDY_OK;
}

static eddy_status warn_frames(eddy_analysis *a, eddy_error *err)
{
    for (size_t f = 1; f < a->n_frames; f++)
        if (a->has_next[f] && a->frames[f].loop_cond == EDDY_NO_NODE)
            EDDY_TRY(
                eddy__report_warn(a, err,
                                  "%s is a loop without a LoopCond, and has no "
                                  "gradient",
                                  eddy__name_frame(&a->frames[f]).text));
    return EDDY_OK;
}

static eddy_status warn_nodes(const eddy__flow *flow, eddy_analysis *a,
                              eddy_error *err)
{
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        const eddy__node *node = eddy__flow_node(flow, v);

        if (flow->role[v] == EDDY__ROLE_NEXT_ITERATION)
            EDDY_TRY(warn_next_iteration(flow, a, v, err));
        else if (flow->role[v] == EDDY__ROLE_MERGE && node->n_inputs == 1)
            EDDY_TRY(eddy__report_warn(
                a, err, "node '%s' (%s): a Merge of one input",
                eddy__shorten(node->name).text, node->op_name));
    }
    return EDDY_OK;
}

eddy_status eddy__validate(const eddy__flow *flow, eddy_analysis *analysis,
                           eddy__arena *scratch, eddy_error *err)
{
    EDDY_TRY(check_firing(flow, analysis, scratch, err));
    EDDY_TRY(eddy__check_shared_frames(flow, analysis, scratch, err));
    EDDY_TRY(warn_frames(analysis, err));
    return warn_nodes(flow, analysis, err);
}

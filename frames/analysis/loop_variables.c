/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables and invariants of each frame, found from its Enters along the
 * edges.
 */
#include "frames/analysis/loop_variables.h"

#include "core/base/status.h"

static eddy_node find_exit(const eddy__flow *flow, eddy_node switch_)
{
    for (size_t i = flow->first_out[switch_]; i < flow->first_out[switch_ + 1];
         i++) {
        const eddy__flow_edge edge = flow->edge[i];

        if (flow->role[edge.to] == EDDY__ROLE_EXIT && edge.input == 0 &&
            eddy__flow_node(flow, edge.to)->inputs[0].index == 0)
            return edge.to;
    }
    return EDDY_NO_NODE;
}

static bool reads_loop_cond(const eddy__flow *flow, eddy_node switch_)
{
    const eddy_node predicate = flow->source[flow->first_in[switch_] + 1];

    return eddy__flow_is_node(predicate) &&
           flow->role[predicate] == EDDY__ROLE_LOOP_COND;
}

/*
 * The Switch of the variable reads the Merge and is ruled by the LoopCond; of
 * several, the one that has the Exit.  In a loop without LoopCond the Exit
 * alone tells it from the Switches of branches.
 */
static void find_switch(const eddy__flow *flow, bool has_loop_cond,
                        eddy_loop_variable *v)
{
    for (size_t i = flow->first_out[v->merge];
         i < flow->first_out[v->merge + 1]; i++) {
        const eddy__flow_edge edge = flow->edge[i];
        eddy_node exit;

        if (flow->role[edge.to] != EDDY__ROLE_SWITCH || edge.input != 0 ||
            eddy__flow_node(flow, edge.to)->inputs[0].index != 0 ||
            (has_loop_cond && !reads_loop_cond(flow, edge.to)))
            continue;
        exit = find_exit(flow, edge.to);
        if (exit != EDDY_NO_NODE ||
            (has_loop_cond && v->switch_ == EDDY_NO_NODE)) {
            v->switch_ = edge.to;
            v->exit = exit;
        }
        if (exit != EDDY_NO_NODE)
            return;
    }
}

static eddy_node find_next_iteration(const eddy__flow *flow, eddy_node merge)
{
    const size_t begin = flow->first_in[merge];
    const size_t end = begin + eddy__flow_node(flow, merge)->n_inputs;

    for (size_t i = begin; i < end; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            flow->role[flow->source[i]] == EDDY__ROLE_NEXT_ITERATION)
            return flow->source[i];
    return EDDY_NO_NODE;
}

/*
 * The next Merge that `enter` feeds, from the edge at `*at` on; each once,
 * since the edges to one node lie together.
 */
static eddy_node next_merge(const eddy__flow *flow, eddy_node enter, size_t *at)
{
    while (*at < flow->first_out[enter + 1]) {
        const size_t i = (*at)++;
        const eddy__flow_edge edge = flow->edge[i];

        if (flow->role[edge.to] == EDDY__ROLE_MERGE &&
            edge.input != EDDY__CONTROL &&
            (i == flow->first_out[enter] || flow->edge[i - 1].to != edge.to))
            return edge.to;
    }
    return EDDY_NO_NODE;
}

/* One a Merge that the Enter feeds, or one without a Merge. */
static size_t count_variables(const eddy__flow *flow, eddy_node enter)
{
    size_t at = flow->first_out[enter], n = 0;

    while (next_merge(flow, enter, &at) != EDDY_NO_NODE)
        n++;
    return n > 0 ? n : 1;
}

/* The lists of a frame while they are filled in. */
typedef struct lists {
    eddy_loop_variable *variables;
    eddy_node *invariants;
} lists;

typedef struct finder {
    const eddy__flow *flow;
    eddy_analysis *analysis;
    lists *lists;
    /* A Merge: the first variable found with it, which others may copy. */
    const eddy_loop_variable **found;
} finder;

static void add_variable(finder *f, uint32_t frame, eddy_node enter,
                         eddy_node merge)
{
    const bool has_loop_cond =
        f->analysis->frames[frame].loop_cond != EDDY_NO_NODE;
    eddy_loop_variable *v = f->lists[frame].variables++;

    *v = (eddy_loop_variable){enter, merge, EDDY_NO_NODE, EDDY_NO_NODE,
                              EDDY_NO_NODE};
    if (merge == EDDY_NO_NODE)
        return;
    if (f->found[merge]) {
        *v = *f->found[merge];
        v->enter = enter;
        return;
    }
    v->next_iteration = find_next_iteration(f->flow, merge);
    find_switch(f->flow, has_loop_cond, v);
    f->found[merge] = v;
}

static void add_variables(finder *f, uint32_t frame, eddy_node enter)
{
    size_t at = f->flow->first_out[enter];
    eddy_node merge = next_merge(f->flow, enter, &at);

    do {
        add_variable(f, frame, enter, merge);
        merge = next_merge(f->flow, enter, &at);
    } while (merge != EDDY_NO_NODE);
}

static void count_lists(const eddy__flow *flow, eddy_analysis *a)
{
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        eddy_frame *frame;

        if (flow->role[v] != EDDY__ROLE_ENTER)
            continue;
        frame = &a->frames[a->output_frame[v]];
        if (flow->is_constant[v])
            frame->n_invariants++;
        else
            frame->n_variables += count_variables(flow, v);
    }
}

static eddy_status allocate_lists(eddy_analysis *a, lists *all, eddy_error *err)
{
    for (size_t f = 0; f < a->n_frames; f++) {
        eddy_frame *frame = &a->frames[f];

        all[f].variables = eddy__arena_allocate(&a->arena, frame->n_variables,
                                                sizeof(eddy_loop_variable));
        all[f].invariants = eddy__arena_allocate(&a->arena, frame->n_invariants,
                                                 sizeof(eddy_node));
        if (!all[f].variables || !all[f].invariants)
            return eddy__fail_memory(err);
        frame->variables = all[f].variables;
        frame->invariants = all[f].invariants;
    }
    return EDDY_OK;
}

eddy_status eddy__find_loop_variables(const eddy__flow *flow, eddy_analysis *a,
                                      eddy__arena *scratch, eddy_error *err)
{
    finder f = {.flow = flow, .analysis = a};

    f.lists = eddy__arena_allocate(scratch, a->n_frames, sizeof *f.lists);
    f.found = eddy__arena_allocate_zeroed(scratch,
                                          a->n_frames > 1 ? flow->n_nodes : 0,
                                          sizeof(eddy_loop_variable *));
    if (!f.lists || !f.found)
        return eddy__fail_memory(err);
    count_lists(flow, a);
    EDDY_TRY(allocate_lists(a, f.lists, err));
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        const uint32_t frame = a->output_frame[v];

        if (flow->role[v] != EDDY__ROLE_ENTER)
            continue;
        if (flow->is_constant[v])
            *f.lists[frame].invariants++ = v;
        else
            add_variables(&f, frame, v);
    }
    return EDDY_OK;
}

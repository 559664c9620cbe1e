#include "autodiff/branches.h"

bool eddy__is_branch_switch(const eddy__flow *flow, eddy_node node)
{
    eddy_node predicate;

    if (flow->role[node] != EDDY__ROLE_SWITCH)
        return false;
    predicate = flow->source[flow->first_in[node] + 1];
    return !eddy__is_node(predicate) ||
           flow->role[predicate] != EDDY__ROLE_LOOP_COND;
}

/* Identities hand the predicate on; what they hand on is what decides. */
static eddy_output find_predicate(const eddy__flow *flow, eddy_output output)
{
    while (flow->role[output.node] == EDDY__ROLE_FORWARD && output.index == 0 &&
           eddy__is_node(flow->source[flow->first_in[output.node]]))
        output = eddy__flow_node(flow, output.node)->inputs[0];
    return output;
}

static uint32_t find_branch(const eddy__branches *b, uint32_t outer,
                            eddy_output predicate, uint32_t side,
                            uint32_t n_sides)
{
    for (uint32_t i = b->first[predicate.node]; i > 0; i = b->branches[i].next)
        if (b->branches[i].outer == outer && b->branches[i].side == side &&
            b->branches[i].n_sides == n_sides &&
            b->branches[i].predicate.index == predicate.index)
            return i;
    return 0;
}

static bool add_branch(eddy__branches *b, eddy__branch added)
{
    void *branches = b->branches;
    const bool ok = eddy__grow(b->allocator, &branches, &b->capacity, b->n + 1,
                               sizeof *b->branches);

    b->branches = branches;
    if (!ok)
        return false;
    added.depth = b->branches[added.outer].depth + 1;
    added.next = b->first[added.predicate.node];
    b->branches[b->n] = added;
    b->first[added.predicate.node] = (uint32_t)b->n++;
    return true;
}

/* The branches that the outputs of a Switch open. */
static bool add_sides(eddy__branches *b, const eddy__flow *flow,
                      const eddy_analysis *analysis, eddy_node node)
{
    const eddy__node *n = eddy__flow_node(flow, node);
    const eddy_output predicate = find_predicate(flow, n->inputs[1]);
    const uint32_t outer = b->of_node[node];

    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (find_branch(b, outer, predicate, i, n->n_outputs) == 0 &&
            !add_branch(b, (eddy__branch){.outer = outer,
                                          .predicate = predicate,
                                          .side = i,
                                          .n_sides = n->n_outputs,
                                          .frame = analysis->node_frame[node]}))
            return false;
    return true;
}

bool eddy__branch_is_within(const eddy__branches *b, uint32_t inner,
                            uint32_t outer)
{
    while (b->branches[inner].depth > b->branches[outer].depth)
        inner = b->branches[inner].outer;
    return inner == outer;
}

static uint32_t common(const eddy__branches *b, uint32_t x, uint32_t y)
{
    while (x != y) {
        if (b->branches[x].depth >= b->branches[y].depth)
            x = b->branches[x].outer;
        else
            y = b->branches[y].outer;
    }
    return x;
}

uint32_t eddy__branches_output(const eddy__branches *b, const eddy__flow *flow,
                               const eddy_analysis *analysis,
                               eddy_output output)
{
    const eddy_node node = output.node;

    switch ((eddy__role)flow->role[node]) {
    case EDDY__ROLE_ENTER:
        return 0;
    case EDDY__ROLE_EXIT:
        return b->of_frame[analysis->node_frame[node]];
    case EDDY__ROLE_SWITCH:
        if (!eddy__is_branch_switch(flow, node))
            return 0;
        return find_branch(
            b, b->of_node[node],
            find_predicate(flow, eddy__flow_node(flow, node)->inputs[1]),
            output.index, eddy__flow_node(flow, node)->n_outputs);
    default:
        return b->of_node[node];
    }
}

/* A control edge from a Switch says only that it ran. */
static uint32_t control_branch(const eddy__branches *b, const eddy__flow *flow,
                               const eddy_analysis *analysis, eddy_node from)
{
    if (flow->role[from] == EDDY__ROLE_SWITCH)
        return b->of_node[from];
    if (flow->role[from] == EDDY__ROLE_CONTROL_TRIGGER)
        return 0;
    return eddy__branches_output(b, flow, analysis, (eddy_output){from, 0});
}

static uint32_t input_branch(const eddy__branches *b, const eddy__flow *flow,
                             const eddy_analysis *analysis, eddy_node node,
                             size_t i)
{
    const eddy_node from = flow->source[i];

    if (!eddy__is_node(from))
        return 0;
    if (!eddy__is_data(flow, node, i))
        return control_branch(b, flow, analysis, from);
    return eddy__branches_output(
        b, flow, analysis,
        eddy__flow_node(flow, node)->inputs[i - flow->first_in[node]]);
}

/* The innermost branch of all that a node waits for. */
static uint32_t join_inputs(const eddy__branches *b, const eddy__flow *flow,
                            const eddy_analysis *analysis, eddy_node node)
{
    uint32_t deepest = 0;

    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++) {
        const uint32_t branch = input_branch(b, flow, analysis, node, i);

        if (eddy__branch_is_within(b, branch, deepest))
            deepest = branch;
    }
    return deepest;
}

/* A Merge is live where the branches that meet in it have come from. */
static uint32_t meet_inputs(const eddy__branches *b, const eddy__flow *flow,
                            const eddy_analysis *analysis, eddy_node node)
{
    const size_t begin = flow->first_in[node];
    const size_t end = begin + eddy__flow_node(flow, node)->n_inputs;
    uint32_t met = input_branch(b, flow, analysis, node, begin);

    if (end - begin == 1)
        return met;
    for (size_t i = begin + 1; i < end; i++)
        met = common(b, met, input_branch(b, flow, analysis, node, i));
    return met;
}

static void note_frame(eddy__branches *b, const eddy_analysis *analysis,
                       eddy_node enter)
{
    uint32_t *of_frame = &b->of_frame[analysis->output_frame[enter]];

    if (eddy__branch_is_within(b, b->of_node[enter], *of_frame))
        *of_frame = b->of_node[enter];
}

static bool is_loop_merge(const eddy__flow *flow, eddy_node node)
{
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (eddy__is_node(flow->source[i]) &&
            (flow->role[flow->source[i]] == EDDY__ROLE_ENTER ||
             flow->role[flow->source[i]] == EDDY__ROLE_NEXT_ITERATION))
            return true;
    return false;
}

static bool visit(eddy__branches *b, const eddy__flow *flow,
                  const eddy_analysis *analysis, eddy_node node)
{
    const eddy__role role = (eddy__role)flow->role[node];

    if (role == EDDY__ROLE_MERGE)
        b->of_node[node] = is_loop_merge(flow, node)
                               ? 0
                               : meet_inputs(b, flow, analysis, node);
    else if (role != EDDY__ROLE_CONTROL_TRIGGER)
        b->of_node[node] = join_inputs(b, flow, analysis, node);
    if (role == EDDY__ROLE_ENTER)
        note_frame(b, analysis, node);
    return !eddy__is_branch_switch(flow, node) ||
           add_sides(b, flow, analysis, node);
}

bool eddy__branches_find(eddy__branches *b, const eddy__flow *flow,
                         const eddy_analysis *analysis, const eddy_node *order,
                         size_t n_order, eddy__arena *arena)
{
    void *branches = NULL;

    *b = (eddy__branches){.allocator = arena->allocator};
    b->of_node =
        eddy__arena_allocate_zeroed(arena, flow->n_nodes, sizeof *b->of_node);
    b->first =
        eddy__arena_allocate_zeroed(arena, flow->n_nodes, sizeof *b->first);
    b->of_frame = eddy__arena_allocate_zeroed(arena, analysis->n_frames,
                                              sizeof *b->of_frame);
    if (!b->of_node || !b->first || !b->of_frame ||
        !eddy__grow(b->allocator, &branches, &b->capacity, 1,
                    sizeof *b->branches))
        return false;
    b->branches = branches;
    b->branches[b->n++] = (eddy__branch){.outer = 0};
    for (size_t i = 0; i < n_order; i++)
        if (!visit(b, flow, analysis, order[i]))
            return false;
    return true;
}

void eddy__branches_deinit(eddy__branches *b)
{
    eddy__free(b->allocator, b->branches, b->capacity, sizeof *b->branches);
}

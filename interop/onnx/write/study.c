/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ONNX writer must know before it writes: which nodes the outputs
 * need, which Merges are variables of loops, and which nodes of the sides of a
 * predicate hang together.
 *
 * One predicate may stand before many conditionals (a flag that says training),
 * each of which uses what the last one gave.  To the analysis they are all one
 * branch; as one If they would need themselves.  So an If is made of those
 * nodes of a branch that edges within it join, with the Merges behind them.
 *
 * A gradient's branch reads what is within the branch of the forward graph, so
 * these are one group, and yet it needs what that If gives.  Where the first
 * try ends so, groups are split by rank, how many Merges of branches are on the
 * way to a node: no node of a group needs a Merge of it then.  What a side
 * needs of another group is computed in it once more.
 */
#include "core/base/status.h"
#include "interop/onnx/write/writer.h"

#include <string.h>

static const eddy__node *node_of(const eddy__onnx_writer *w, eddy_node node)
{
    return &w->graph->nodes[node];
}

/* ---- where values come from ---- */

bool eddy__onnx_is_loop_switch(const eddy__onnx_writer *w, eddy_node node)
{
    const eddy__node *at = node_of(w, node);

    if (eddy__node_role(at) != EDDY__ROLE_SWITCH || at->n_inputs < 2)
        return false;
    at = node_of(w, at->inputs[1].node);
    for (size_t i = 0; i < w->graph->n_nodes; i++) {
        if (eddy__node_role(at) != EDDY__ROLE_FORWARD || at->n_inputs == 0)
            break;
        at = node_of(w, at->inputs[0].node);
    }
    return eddy__node_role(at) == EDDY__ROLE_LOOP_COND;
}

/* Does the node put out its input, of the same frame and iteration? */
static bool hands_on(eddy__role role)
{
    return role == EDDY__ROLE_FORWARD || role == EDDY__ROLE_SWITCH ||
           role == EDDY__ROLE_LOOP_COND;
}

eddy_output eddy__onnx_origin(const eddy__onnx_writer *w, eddy_output value)
{
    const eddy__node *at = node_of(w, value.node);

    while (hands_on(eddy__node_role(at)) && at->n_inputs > 0) {
        value = at->inputs[0];
        at = node_of(w, value.node);
    }
    return value;
}

eddy_output eddy__onnx_maker(const eddy__onnx_writer *w, eddy_output value)
{
    for (;;) {
        const eddy__node *at;

        value = eddy__onnx_origin(w, value);
        at = node_of(w, value.node);
        /* What a loop carries of an array is still that array. */
        if (eddy__node_role(at) != EDDY__ROLE_ENTER &&
            eddy__node_role(at) != EDDY__ROLE_EXIT &&
            (eddy__node_role(at) != EDDY__ROLE_MERGE ||
             w->variable_of[value.node] == 0))
            return value;
        value = at->inputs[0];
    }
}

const eddy_tensor *eddy__onnx_constant(const eddy__onnx_writer *w,
                                       eddy_output value)
{
    for (;;) {
        const eddy__node *at;

        value = eddy__onnx_origin(w, value);
        at = node_of(w, value.node);
        if (eddy__node_role(at) == EDDY__ROLE_CONST) {
            const eddy_attr *attr = eddy__node_attr(at, "value");

            return attr ? attr->as.tensors[0] : NULL;
        }
        if (eddy__node_role(at) != EDDY__ROLE_ENTER ||
            !eddy__node_bool(at, "is_constant"))
            return NULL;
        value = at->inputs[0];
    }
}

/* ---- what is needed ---- */

static size_t mark_one(eddy__onnx_writer *w, eddy_node node, eddy_node *stack,
                       size_t depth)
{
    if (!w->is_needed[node]) {
        w->is_needed[node] = 1;
        stack[depth++] = node;
    }
    return depth;
}

/* What decides whether a node runs: predicates, and the loop it is in. */
static size_t mark_around(eddy__onnx_writer *w, eddy_node node,
                          eddy_node *stack, size_t depth)
{
    const uint32_t f = eddy_analysis_node_frame(w->analysis, node);
    const eddy_frame *frame = eddy_analysis_frame(w->analysis, f);
    uint32_t b = eddy_analysis_node_branch(w->analysis, node);

    if (frame->loop_cond != EDDY_NO_NODE)
        depth = mark_one(w, frame->loop_cond, stack, depth);
    while (b > 0) {
        const eddy_branch_info *branch = eddy_analysis_branch(w->analysis, b);

        if (branch->predicate.node != EDDY_NO_NODE)
            depth = mark_one(w, branch->predicate.node, stack, depth);
        b = branch->outer;
    }
    return depth;
}

static void mark(eddy__onnx_writer *w, const eddy_output *fetches, size_t n)
{
    eddy_node *stack = eddy__onnx_take(w, w->graph->n_nodes, sizeof *stack);
    size_t depth = 0;

    for (size_t i = 0; stack && i < n; i++)
        depth = mark_one(w, fetches[i].node, stack, depth);
    while (depth > 0) {
        const eddy_node at = stack[--depth];
        const eddy__node *node = node_of(w, at);

        depth = mark_around(w, at, stack, depth);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            depth = mark_one(w, node->inputs[i].node, stack, depth);
    }
}

/*
 * A push is not needed by any value; it is by the pops.  True if a push was
 * marked, so that what it needs must be looked for.
 */
static bool mark_pushes(eddy__onnx_writer *w)
{
    bool has_more = false;

    for (size_t i = 0; i < w->graph->n_nodes; i++) {
        const eddy__node *node = node_of(w, (eddy_node)i);
        eddy_output maker;

        if (w->is_needed[i] || strcmp(node->op_name, "StackPushV2") != 0)
            continue;
        maker = eddy__onnx_maker(w, node->inputs[0]);
        /* The handle is needed where a pop is. */
        if (w->is_needed[maker.node]) {
            const eddy_output at = {(eddy_node)i, 0};

            mark(w, &at, 1);
            has_more = true;
        }
    }
    return has_more;
}

/* ---- variables of loops ---- */

static void find_variables(eddy__onnx_writer *w)
{
    const size_t n = eddy_analysis_frames(w->analysis);

    for (size_t f = 1; f < n; f++) {
        const eddy_frame *frame = eddy_analysis_frame(w->analysis, f);

        for (size_t k = 0; k < frame->n_variables; k++)
            if (frame->variables[k].merge != EDDY_NO_NODE)
                w->variable_of[frame->variables[k].merge] = (uint32_t)k + 1;
    }
}

static void count_uses(eddy__onnx_writer *w)
{
    for (size_t i = 0; i < w->graph->n_nodes; i++) {
        const eddy__node *node = node_of(w, (eddy_node)i);
        const eddy__role role = eddy__node_role(node);

        if (!w->is_needed[i] || hands_on(role) || role == EDDY__ROLE_EXIT)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            const eddy_output from = eddy__onnx_origin(w, node->inputs[k]);

            if (from.index == 0)
                w->n_uses[from.node]++;
        }
    }
}

/* ---- depths ---- */

/* How many branches of one frame are around a branch, itself included. */
static uint32_t count_around(const eddy__onnx_writer *w, uint32_t branch)
{
    uint32_t n = 0;

    for (; branch > 0;
         branch = eddy_analysis_branch(w->analysis, branch)->outer)
        n++;
    return n;
}

/* Frames come after those around them, branches likewise. */
static void find_depths(eddy__onnx_writer *w)
{
    const size_t n = eddy_analysis_frames(w->analysis);
    const size_t n_branches = eddy_analysis_branches(w->analysis);
    uint32_t most = 0;

    for (size_t f = 1; f < n; f++) {
        const eddy_frame *frame = eddy_analysis_frame(w->analysis, f);

        w->frame_depth[f] =
            1 + w->frame_depth[frame->parent] + count_around(w, frame->branch);
    }
    for (size_t b = 1; b < n_branches; b++) {
        const eddy_branch_info *branch = eddy_analysis_branch(w->analysis, b);

        w->region_depth[b] =
            1 + (branch->outer > 0 ? w->region_depth[branch->outer]
                                   : w->frame_depth[branch->frame]);
        most = w->region_depth[b] > most ? w->region_depth[b] : most;
    }
    w->n_groups = (size_t)most + 1;
    if (most > EDDY__ONNX_WRITE_MAX_DEPTH)
        w->status = eddy__fail(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_TOO_DEEP,
                               "branches are nested %u deep, more than %d",
                               most, EDDY__ONNX_WRITE_MAX_DEPTH);
}

/* ---- ranks ---- */

static bool is_way_back(const eddy__onnx_writer *w, eddy_output from)
{
    return eddy__node_role(node_of(w, from.node)) == EDDY__ROLE_NEXT_ITERATION;
}

/* Who reads each node, needed ones only: the k-th of `first[i]` to
 * `first[i+1]`. */
typedef struct readers {
    size_t *first;
    eddy_node *at;
    uint32_t *n_open; /* inputs of a node whose rank is not known yet */
} readers;

static bool find_readers(eddy__onnx_writer *w, readers *r)
{
    const size_t n = w->graph->n_nodes;

    r->first = eddy__onnx_take(w, n + 2, sizeof *r->first);
    r->n_open = eddy__onnx_take(w, n, sizeof *r->n_open);
    if (!eddy__onnx_well(w))
        return false;
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0;
             w->is_needed[i] && k < node_of(w, (eddy_node)i)->n_inputs; k++)
            if (!is_way_back(w, node_of(w, (eddy_node)i)->inputs[k])) {
                r->first[node_of(w, (eddy_node)i)->inputs[k].node + 2]++;
                r->n_open[i]++;
            }
    for (size_t i = 1; i < n + 2; i++)
        r->first[i] += r->first[i - 1];
    r->at = eddy__onnx_take(w, r->first[n + 1], sizeof *r->at);
    if (!r->at)
        return false;
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0;
             w->is_needed[i] && k < node_of(w, (eddy_node)i)->n_inputs; k++) {
            const eddy_output from = node_of(w, (eddy_node)i)->inputs[k];

            if (!is_way_back(w, from))
                r->at[r->first[from.node + 1]++] = (eddy_node)i;
        }
    return true;
}

/* How many Merges of branches are on the longest way to each node. */
static void find_ranks(eddy__onnx_writer *w)
{
    const size_t n = w->graph->n_nodes;
    eddy_node *ready = eddy__onnx_take(w, n, sizeof *ready);
    readers r = {.first = NULL};
    size_t n_ready = 0;

    w->rank = eddy__onnx_take(w, n, sizeof *w->rank);
    if (!ready || !find_readers(w, &r))
        return;
    for (size_t i = 0; i < n; i++)
        if (w->is_needed[i] && r.n_open[i] == 0)
            ready[n_ready++] = (eddy_node)i;
    while (n_ready > 0) {
        const eddy_node at = ready[--n_ready];

        if (eddy__node_role(node_of(w, at)) == EDDY__ROLE_MERGE &&
            w->variable_of[at] == 0)
            w->rank[at]++;
        for (size_t k = r.first[at]; k < r.first[at + 1]; k++) {
            const eddy_node to = r.at[k];

            if (w->rank[to] < w->rank[at])
                w->rank[to] = w->rank[at];
            if (--r.n_open[to] == 0)
                ready[n_ready++] = to;
        }
    }
}

/* ---- groups ---- */

static eddy_node find_root(eddy__onnx_groups *groups, eddy_node node)
{
    while (groups->parent[node] != node) {
        groups->parent[node] = groups->parent[groups->parent[node]];
        node = groups->parent[node];
    }
    return node;
}

static void join(eddy__onnx_groups *groups, eddy_node a, eddy_node b)
{
    a = find_root(groups, a);
    b = find_root(groups, b);
    if (a < b)
        groups->parent[b] = a;
    else
        groups->parent[a] = b;
}

/* A place of the nest of frames and branches. */
typedef struct region {
    uint32_t frame, branch;
} region;

static uint32_t depth_of(const eddy__onnx_writer *w, region r)
{
    return r.branch > 0 ? w->region_depth[r.branch] : w->frame_depth[r.frame];
}

static region around(const eddy__onnx_writer *w, region r)
{
    if (r.branch > 0)
        return (region){r.frame,
                        eddy_analysis_branch(w->analysis, r.branch)->outer};
    return (region){
        eddy_analysis_frame(w->analysis, r.frame)->parent,
        eddy_analysis_frame(w->analysis, r.frame)->branch,
    };
}

static region region_of(const eddy__onnx_writer *w, eddy_node node)
{
    return (region){eddy_analysis_node_frame(w->analysis, node),
                    eddy_analysis_node_branch(w->analysis, node)};
}

/* Joins the ends of an edge in every branch that both are within. */
static void join_edge(eddy__onnx_writer *w, eddy_node from, eddy_node to)
{
    region a = region_of(w, from), b = region_of(w, to);

    if (w->rank && w->rank[from] != w->rank[to])
        return;
    while (a.frame != b.frame || a.branch != b.branch) {
        const bool is_deeper = depth_of(w, a) >= depth_of(w, b);

        if (is_deeper)
            a = around(w, a);
        else
            b = around(w, b);
    }
    for (; depth_of(w, a) > 0; a = around(w, a))
        if (a.branch > 0)
            join(&w->groups[depth_of(w, a)], from, to);
}

/* A Merge belongs to what it reads from within the sides. */
static void join_merge(eddy__onnx_writer *w, eddy_node merge)
{
    const eddy__node *node = node_of(w, merge);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = node->inputs[i];
        const uint32_t side = eddy_analysis_output_branch(w->analysis, from);

        if (side > 0 &&
            eddy_analysis_node_branch(w->analysis, from.node) == side &&
            (!w->rank || w->rank[from.node] + 1 == w->rank[merge]))
            join(&w->groups[w->region_depth[side]], merge, from.node);
    }
}

static bool make_groups(eddy__onnx_writer *w)
{
    const size_t n = w->graph->n_nodes;

    w->groups = eddy__onnx_take(w, w->n_groups, sizeof *w->groups);
    for (size_t d = 0; d < w->n_groups && eddy__onnx_well(w); d++) {
        eddy__onnx_groups *groups = &w->groups[d];

        groups->parent = eddy__onnx_take(w, n, sizeof *groups->parent);
        groups->first = eddy__onnx_take(w, n, sizeof *groups->first);
        groups->next = eddy__onnx_take(w, n, sizeof *groups->next);
        for (size_t i = 0; i < n && eddy__onnx_well(w); i++) {
            groups->parent[i] = (uint32_t)i;
            groups->first[i] = groups->next[i] = EDDY_NO_NODE;
        }
    }
    return eddy__onnx_well(w);
}

/* Each group as a list, in the order of the graph. */
static void list_groups(eddy__onnx_writer *w)
{
    for (size_t d = 0; d < w->n_groups; d++) {
        eddy__onnx_groups *groups = &w->groups[d];

        for (size_t i = w->graph->n_nodes; i-- > 0;) {
            const eddy_node root = find_root(groups, (eddy_node)i);

            groups->parent[i] = root;
            if (!w->is_needed[i])
                continue;
            groups->next[i] = groups->first[root];
            groups->first[root] = (eddy_node)i;
        }
    }
}

/*
 * A push in a branch of what comes from outside hangs together with nothing: it
 * goes with the first Merge of its branch's predicate.
 */
static void join_pushes(eddy__onnx_writer *w)
{
    const size_t n = eddy_analysis_branches(w->analysis);
    eddy_node *merges = eddy__onnx_take(w, n, sizeof *merges);

    for (size_t i = w->graph->n_nodes; merges && i-- > 0;) {
        const eddy__node *node = node_of(w, (eddy_node)i);
        uint32_t side;

        if (!w->is_needed[i] || w->variable_of[i] > 0 ||
            eddy__node_role(node) != EDDY__ROLE_MERGE || node->n_inputs == 0)
            continue;
        side = eddy_analysis_output_branch(w->analysis, node->inputs[0]);
        if (side == 0)
            continue;
        side -= eddy_analysis_branch(w->analysis, side)->side;
        merges[side] = (eddy_node)i + 1;
    }
    for (size_t i = 0; merges && i < w->graph->n_nodes; i++) {
        region r = region_of(w, (eddy_node)i);

        if (!w->is_needed[i] ||
            strcmp(node_of(w, (eddy_node)i)->op_name, "StackPushV2") != 0)
            continue;
        for (; depth_of(w, r) > 0; r = around(w, r)) {
            const eddy_branch_info *branch =
                eddy_analysis_branch(w->analysis, r.branch);

            if (r.branch > 0 && merges[r.branch - branch->side] > 0)
                join(&w->groups[depth_of(w, r)], (eddy_node)i,
                     merges[r.branch - branch->side] - 1);
        }
    }
}

static void find_groups(eddy__onnx_writer *w)
{
    if (!make_groups(w))
        return;
    for (size_t i = 0; i < w->graph->n_nodes; i++) {
        const eddy__node *node = node_of(w, (eddy_node)i);

        if (!w->is_needed[i])
            continue;
        if (eddy__node_role(node) == EDDY__ROLE_MERGE && w->variable_of[i] == 0)
            join_merge(w, (eddy_node)i);
        for (uint32_t k = 0; k < node->n_inputs; k++)
            join_edge(w, node->inputs[k].node, (eddy_node)i);
    }
    join_pushes(w);
    list_groups(w);
}

void eddy__onnx_study(eddy__onnx_writer *w, const eddy_output *fetches,
                      size_t n_fetches)
{
    const size_t n = w->graph->n_nodes;

    w->is_needed = eddy__onnx_take(w, n, 1);
    w->n_uses = eddy__onnx_take(w, n, sizeof *w->n_uses);
    w->variable_of = eddy__onnx_take(w, n, sizeof *w->variable_of);
    w->visited = eddy__onnx_take(w, n, sizeof *w->visited);
    w->bindings = eddy__onnx_take(w, n, sizeof(void *));
    w->region_depth = eddy__onnx_take(w, eddy_analysis_branches(w->analysis),
                                      sizeof *w->region_depth);
    w->frame_depth = eddy__onnx_take(w, eddy_analysis_frames(w->analysis),
                                     sizeof *w->frame_depth);
    if (!eddy__onnx_well(w))
        return;
    find_variables(w);
    mark(w, fetches, n_fetches);
    while (eddy__onnx_well(w) && mark_pushes(w))
        continue;
    find_depths(w);
    if (!eddy__onnx_well(w))
        return;
    count_uses(w);
    if (w->is_split)
        find_ranks(w);
    if (eddy__onnx_well(w))
        find_groups(w);
}

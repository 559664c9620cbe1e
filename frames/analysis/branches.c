/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are visited in topological order, back edges left out.  A Switch of a
 * predicate that is new in its branch opens the branches of all its sides; a
 * Merge in which all sides of a predicate meet is back in the branch around
 * them.  Branches are found again by a table, and climbed by jumps: each knows
 * one far around it, so that a climb takes time logarithmic in its depth.
 */
#include "frames/analysis/branches.h"

#include "core/base/status.h"
#include "frames/analysis/branch_doubt.h"

#include <string.h>

/* Places where one predicate opens branches: so many are looked at. */
#define MOST_OPENED 64

/* Predicates of one branch that are led into another. */
#define MOST_JOINED 64

typedef struct finder {
    const eddy__flow *flow;
    eddy_analysis *analysis;
    eddy__branches *b;
    /* The first side of what (outer, predicate, number of sides) opens. */
    uint32_t *table;
    size_t table_size; /* a power of two; 0 is an empty slot */
    /*
     * By node: the last first side that its outputs have opened as predicates,
     * and by first side the one before.
     */
    uint32_t *last_opened, *opened_before;
    size_t capacity; /* of branches */
    /* Of the Merge that was met last with a branch: see cover. */
    eddy_node *covered_by, *counted_by;
    uint32_t *n_covered;
    uint32_t *stack;
} finder;

/* ---- the tree ---- */

uint32_t eddy__branch_at_depth(const eddy__branches *b, uint32_t x,
                               uint32_t depth)
{
    while (b->branches[x].depth > depth)
        x = b->branches[b->jump[x]].depth >= depth ? b->jump[x]
                                                   : b->branches[x].outer;
    return x;
}

bool eddy__branch_is_within(const eddy__branches *b, uint32_t inner,
                            uint32_t outer)
{
    return inner == outer ||
           eddy__branch_at_depth(b, inner, b->branches[outer].depth) == outer;
}

/* Two of one depth jump to one depth. */
uint32_t eddy__branch_around(const eddy__branches *b, uint32_t x, uint32_t y)
{
    if (b->branches[x].depth > b->branches[y].depth)
        x = eddy__branch_at_depth(b, x, b->branches[y].depth);
    else
        y = eddy__branch_at_depth(b, y, b->branches[x].depth);
    while (x != y) {
        const bool far = b->jump[x] != b->jump[y];

        x = far ? b->jump[x] : b->branches[x].outer;
        y = far ? b->jump[y] : b->branches[y].outer;
    }
    return x;
}

/* Is that side taken somewhere from `x` up to `end`? */
static bool is_on_way(const eddy__branches *b, uint32_t x, uint32_t end,
                      const eddy_branch_info *side)
{
    while (x != end &&
           (b->branches[x].predicate.node != side->predicate.node ||
            b->branches[x].predicate.index != side->predicate.index ||
            b->branches[x].n_sides != side->n_sides ||
            b->branches[x].side != side->side))
        x = b->branches[x].outer;
    return x != end;
}

bool eddy__branch_implies(const eddy__branches *b, uint32_t x, uint32_t y)
{
    const uint32_t common = eddy__branch_around(b, x, y);

    if (b->branches[y].depth - b->branches[common].depth > MOST_JOINED)
        return false;
    while (y != common && is_on_way(b, x, common, &b->branches[y]))
        y = b->branches[y].outer;
    return y == common;
}

/* A branch in one at `outer`: the jumps double with the depth. */
static uint32_t jump_of(const eddy__branches *b, uint32_t outer)
{
    const uint32_t near = b->jump[outer], far = b->jump[near];
    const uint32_t depth = b->branches[near].depth;

    return b->branches[outer].depth - depth == depth - b->branches[far].depth
               ? far
               : outer;
}

/* ---- finding what a Switch opens ---- */

static bool opens(const eddy_branch_info *first, uint32_t outer,
                  eddy_output predicate, uint32_t n_sides)
{
    return first->outer == outer && first->n_sides == n_sides &&
           first->predicate.node == predicate.node &&
           first->predicate.index == predicate.index;
}

/* Where in the table the sides are, or would go. */
static uint32_t *seek(const finder *f, uint32_t outer, eddy_output predicate,
                      uint32_t n_sides)
{
    const uint64_t key = ((uint64_t)outer << 32 | predicate.node) +
                         ((uint64_t)predicate.index << 40) + n_sides;
    const uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (f->table_size - 1);

    while (f->table[i] != 0 &&
           !opens(&f->b->branches[f->table[i]], outer, predicate, n_sides))
        i = (i + 1) & (f->table_size - 1);
    return &f->table[i];
}

/*
 * Is the branch within a side of that predicate?  Gives the side's number in
 * it, plus 1, or 0; of very many that it has opened the last ones are looked
 * at.
 */
static uint32_t find_certain(const finder *f, uint32_t branch,
                             eddy_output predicate, uint32_t n_sides)
{
    const eddy_branch_info *branches = f->b->branches;
    uint32_t first = f->last_opened[predicate.node];

    for (int i = 0; i < MOST_OPENED && first != 0; i++) {
        const eddy_branch_info *side = &branches[first];
        const uint32_t at = eddy__branch_at_depth(f->b, branch, side->depth);

        if (side->predicate.index == predicate.index &&
            side->n_sides == n_sides && at >= first && at - first < n_sides)
            return at - first + 1;
        first = f->opened_before[first];
    }
    return 0;
}

/* The first of the sides of a predicate in `outer`, which may be new. */
static uint32_t open_sides(finder *f, uint32_t outer, eddy_output predicate,
                           uint32_t n_sides, uint32_t frame)
{
    uint32_t *slot = seek(f, outer, predicate, n_sides);
    eddy__branches *b = f->b;

    if (*slot != 0)
        return *slot;
    *slot = (uint32_t)b->n;
    f->opened_before[b->n] = f->last_opened[predicate.node];
    f->last_opened[predicate.node] = (uint32_t)b->n;
    for (uint32_t i = 0; i < n_sides; i++) {
        b->jump[b->n] = jump_of(b, outer);
        b->branches[b->n++] =
            (eddy_branch_info){.predicate = predicate,
                               .side = i,
                               .n_sides = n_sides,
                               .outer = outer,
                               .depth = b->branches[outer].depth + 1,
                               .frame = frame};
    }
    return *slot;
}

/* The branches that the outputs of a Switch open. */
static void add_sides(finder *f, eddy_node node)
{
    const eddy__node *n = eddy__flow_node(f->flow, node);
    /* Identities hand the predicate on; what they hand on is what decides. */
    const eddy_output predicate =
        eddy__trace(f->flow, EDDY__WAY_FORWARD, n->inputs[1]);
    eddy__branches *b = f->b;
    const uint32_t outer = b->of_node[node];

    b->certain[node] = find_certain(f, outer, predicate, n->n_outputs);
    b->first_side[node] = open_sides(f, outer, predicate, n->n_outputs,
                                     f->analysis->node_frame[node]);
}

/* ---- the branch of a node ---- */

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
        return b->first_side[node] && b->certain[node] != output.index + 1
                   ? b->first_side[node] + output.index
                   : b->of_node[node];
    default:
        return b->of_node[node];
    }
}

/* A control edge from a Switch says only that it ran. */
static uint32_t control_branch(const finder *f, eddy_node from)
{
    if (f->flow->role[from] == EDDY__ROLE_SWITCH)
        return f->b->of_node[from];
    return eddy__branches_output(f->b, f->flow, f->analysis,
                                 (eddy_output){from, 0});
}

static uint32_t input_branch(const finder *f, eddy_node node, size_t i)
{
    const eddy__flow *flow = f->flow;

    if (!eddy__flow_is_node(flow->source[i]))
        return 0;
    if (!eddy__flow_is_data(flow, node, i))
        return control_branch(f, flow->source[i]);
    return eddy__branches_output(
        f->b, flow, f->analysis,
        eddy__flow_node(flow, node)->inputs[i - flow->first_in[node]]);
}

/*
 * The branch in which both are taken: in the deeper one the sides of the other
 * from where they part.  0: neither is ever with the other, or that would take
 * too many branches.
 */
static uint32_t join(finder *f, uint32_t x, uint32_t y)
{
    const eddy_branch_info *branches = f->b->branches;
    uint32_t path[MOST_JOINED], n = 0, common;

    if (branches[x].depth < branches[y].depth) {
        const uint32_t deep = y;

        y = x;
        x = deep;
    }
    common = eddy__branch_around(f->b, x, y);
    for (; y != common && n < MOST_JOINED; y = branches[y].outer)
        path[n++] = y;
    if (y != common)
        return 0;
    while (n > 0) {
        const eddy_branch_info side = branches[path[--n]];
        const uint32_t certain =
            find_certain(f, x, side.predicate, side.n_sides);

        if (certain == side.side + 1)
            continue;
        if (certain != 0 || side.n_sides > f->capacity - f->b->n)
            return 0;
        x = open_sides(f, x, side.predicate, side.n_sides, side.frame) +
            side.side;
    }
    return x;
}

/* The innermost branch of all that a node waits for. */
static uint32_t join_inputs(finder *f, eddy_node node)
{
    uint32_t deepest = 0;

    for (size_t i = f->flow->first_in[node]; i < f->flow->first_in[node + 1];
         i++) {
        const uint32_t branch = input_branch(f, node, i);
        uint32_t joint;

        if (eddy__branch_is_within(f->b, deepest, branch))
            continue;
        joint = eddy__branch_is_within(f->b, branch, deepest)
                    ? branch
                    : join(f, deepest, branch);
        if (joint == 0)
            f->b->is_exact[node] = 0;
        else
            deepest = joint;
    }
    return deepest;
}

static void push_covered(finder *f, eddy_node merge, uint32_t branch, size_t *n)
{
    if (f->covered_by[branch] == merge)
        return;
    f->covered_by[branch] = merge;
    f->stack[(*n)++] = branch;
}

/*
 * Marks `branch` as one in which the Merge is live, and what is around it once
 * all its sides are.
 */
static void cover(finder *f, eddy_node merge, uint32_t branch)
{
    size_t n = 0;

    push_covered(f, merge, branch, &n);
    while (n > 0) {
        const uint32_t at = f->stack[--n];
        const eddy_branch_info *side = &f->b->branches[at];
        const uint32_t first = at - side->side;

        if (at == 0)
            continue;
        if (f->counted_by[first] != merge) {
            f->counted_by[first] = merge;
            f->n_covered[first] = 0;
        }
        if (++f->n_covered[first] == side->n_sides)
            push_covered(f, merge, side->outer, &n);
    }
}

/* A Merge is live where the branches that meet in it have come from. */
static uint32_t meet_inputs(finder *f, eddy_node node)
{
    const size_t begin = f->flow->first_in[node];
    const size_t end = begin + eddy__flow_node(f->flow, node)->n_inputs;
    uint32_t met = input_branch(f, node, begin);

    cover(f, node, met);
    for (size_t i = begin + 1; i < end; i++) {
        const uint32_t branch = input_branch(f, node, i);

        cover(f, node, branch);
        met = eddy__branch_around(f->b, met, branch);
    }
    if (f->covered_by[met] != node)
        f->b->is_exact[node] = 0;
    return met;
}

/* The loop is where the innermost of its Enters is. */
static void note_frame(finder *f, eddy_node enter)
{
    uint32_t *of_frame = &f->b->of_frame[f->analysis->output_frame[enter]];

    if (eddy__branch_is_within(f->b, f->b->of_node[enter], *of_frame))
        *of_frame = f->b->of_node[enter];
}

static void visit(finder *f, eddy_node node)
{
    const eddy__role role = (eddy__role)f->flow->role[node];

    if (role == EDDY__ROLE_MERGE)
        f->b->of_node[node] =
            eddy__trace_is_loop_merge(f->flow, node) ? 0 : meet_inputs(f, node);
    else if (role != EDDY__ROLE_CONTROL_TRIGGER)
        f->b->of_node[node] = join_inputs(f, node);
    if (role == EDDY__ROLE_ENTER)
        note_frame(f, node);
    if (eddy__trace_is_branch_switch(f->flow, node))
        add_sides(f, node);
}

/* ---- as a whole ---- */

/* How many Switches open branches, and how many those may be with branch 0. */
static size_t count_switches(const eddy__flow *flow, size_t *out_branches)
{
    size_t n = 0;

    *out_branches = 1;
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (eddy__trace_is_branch_switch(flow, v)) {
            *out_branches += eddy__flow_node(flow, v)->n_outputs;
            n++;
        }
    return n;
}

static bool allocate(finder *f, eddy__arena *scratch)
{
    eddy__branches *b = f->b;
    eddy__arena *arena = &f->analysis->arena;
    const size_t n_nodes = f->flow->n_nodes;
    size_t n;
    const size_t n_switches = count_switches(f->flow, &n);

    /* As many again, and more, for nodes that are in several branches. */
    for (f->table_size = 2; f->table_size < 2 * (n_switches + n);)
        f->table_size *= 2;
    n = n > 1 ? 3 * n : n;
    f->capacity = n;
    if (n > UINT32_MAX)
        return false;
    b->of_node = eddy__arena_allocate_zeroed(arena, n_nodes, sizeof(uint32_t));
    b->first_side =
        eddy__arena_allocate_zeroed(arena, n_nodes, sizeof(uint32_t));
    b->certain = eddy__arena_allocate_zeroed(arena, n_nodes, sizeof(uint32_t));
    b->is_exact = eddy__arena_allocate(arena, n_nodes, 1);
    b->of_frame = eddy__arena_allocate_zeroed(arena, f->analysis->n_frames,
                                              sizeof(uint32_t));
    b->branches = eddy__arena_allocate_zeroed(arena, n, sizeof *b->branches);
    b->jump = eddy__arena_allocate_zeroed(arena, n, sizeof *b->jump);
    f->table =
        eddy__arena_allocate_zeroed(scratch, f->table_size, sizeof *f->table);
    f->last_opened =
        eddy__arena_allocate_zeroed(scratch, n_nodes, sizeof(uint32_t));
    f->opened_before = eddy__arena_allocate(scratch, n, sizeof(uint32_t));
    f->covered_by = eddy__arena_allocate(scratch, n, sizeof(eddy_node));
    f->counted_by = eddy__arena_allocate(scratch, n, sizeof(eddy_node));
    f->n_covered = eddy__arena_allocate(scratch, n, sizeof *f->n_covered);
    f->stack = eddy__arena_allocate(scratch, n, sizeof *f->stack);
    if (!b->of_node || !b->first_side || !b->certain || !b->is_exact ||
        !b->of_frame || !b->branches || !b->jump || !f->table ||
        !f->last_opened || !f->opened_before || !f->covered_by ||
        !f->counted_by || !f->n_covered || !f->stack)
        return false;
    memset(b->is_exact, 1, n_nodes);
    memset(f->covered_by, 0xff, n * sizeof(eddy_node));
    memset(f->counted_by, 0xff, n * sizeof(eddy_node));
    b->n = 1;
    return true;
}

eddy_status eddy__find_branches(const eddy__flow *flow, eddy_analysis *analysis,
                                eddy__arena *scratch, eddy_error *err)
{
    finder f = {.flow = flow, .analysis = analysis, .b = &analysis->branches};
    eddy_node *order;
    size_t n;

    EDDY_TRY(eddy__flow_order(flow, scratch, &order, &n, err));
    if (!allocate(&f, scratch))
        return eddy__fail_memory(err);
    f.b->branches[0].predicate.node = EDDY_NO_NODE;
    for (size_t i = 0; i < n; i++)
        visit(&f, order[i]);
    for (size_t i = 0; i < analysis->n_frames; i++)
        analysis->frames[i].branch = f.b->of_frame[i];
    return eddy__spread_doubt(flow, analysis, scratch, err);
}

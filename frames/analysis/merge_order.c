/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Merges that may get two live inputs, by the branches that each input is
 * in: two that some predicate sets apart are never live together.
 */
#include "frames/analysis/merge_order.h"

#include "core/base/map.h"
#include "core/base/status.h"
#include "frames/analysis/flow.h"

#include <stdio.h>
#include <string.h>

/* Edges that are walked for one input, and nodes that are looked past. */
#define MAX_WALK 4096

/* Edges that are walked in all, for each node. */
#define WALKS_A_NODE 64

/*
 * A side of a predicate within another one.  What runs in a side runs only if
 * that is taken.  `jump` is a side far around it, so that the way out takes
 * logarithmic time.
 */
typedef struct side {
    uint32_t parent, jump, depth;
    uint32_t predicate; /* sides of one that are in one side share it */
} side;

typedef struct finder {
    const eddy__flow *flow;
    eddy_analysis *analysis;
    eddy__arena *scratch;
    const eddy_allocator *allocator;
    side *sides; /* 0: of no predicate */
    size_t n_sides, capacity;
    eddy__map numbers; /* of sides, by what is around, predicate and output */
    uint32_t *side_of; /* a node: the innermost side that it runs in */
    uint32_t *frame_side; /* a frame: the innermost side of its Enters */
    uint32_t *level;      /* a node: how many are before it, at the most */
    uint8_t *is_constant; /* a node: made of constants that wait for nothing */
    eddy_node *stack;     /* of a walk */
    uint32_t *met;        /* a node: the number of the walk that met it */
    uint32_t n_walks;
    uint64_t budget; /* edges that may still be walked */
    eddy_error *err;
} finder;

/* ---- sides ---- */

static eddy_status add_side(finder *f, uint32_t parent, uint32_t predicate,
                            uint32_t *out_side)
{
    side s = {.parent = parent, .jump = parent, .predicate = predicate};

    if (!eddy__grow(f->allocator, (void **)&f->sides, &f->capacity,
                    f->n_sides + 1, sizeof *f->sides))
        return eddy__fail_memory(f->err);
    if (f->n_sides > 0) {
        const side *p = &f->sides[parent], *far = &f->sides[p->jump];

        s.depth = p->depth + 1;
        if (p->depth - far->depth == far->depth - f->sides[far->jump].depth)
            s.jump = far->jump;
    }
    *out_side = (uint32_t)f->n_sides;
    f->sides[f->n_sides++] = s;
    return EDDY_OK;
}

/* The innermost side that both are in. */
static uint32_t find_common(const finder *f, uint32_t a, uint32_t b)
{
    const side *s = f->sides;

    while (a != b) {
        uint32_t *deep = s[a].depth >= s[b].depth ? &a : &b;
        const uint32_t least = s[deep == &a ? b : a].depth;

        if (s[a].depth == s[b].depth) {
            const bool far = s[a].jump != s[b].jump;

            a = far ? s[a].jump : s[a].parent;
            b = far ? s[b].jump : s[b].parent;
        } else {
            *deep = s[s[*deep].jump].depth >= least ? s[*deep].jump
                                                    : s[*deep].parent;
        }
    }
    return a;
}

static uint32_t inner_side(const finder *f, uint32_t a, uint32_t b)
{
    return f->sides[a].depth >= f->sides[b].depth ? a : b;
}

/* The output that a predicate is, past nodes that hand on what they read. */
static eddy_output find_predicate(const finder *f, eddy_output output)
{
    for (size_t i = 0; i < MAX_WALK; i++) {
        const uint8_t role = f->flow->role[output.node];

        if ((role != EDDY__ROLE_FORWARD && role != EDDY__ROLE_LOOP_COND) ||
            !eddy__flow_is_node(
                f->flow->source[f->flow->first_in[output.node]]))
            break;
        output = eddy__flow_node(f->flow, output.node)->inputs[0];
    }
    return output;
}

/* The number that stands for a text; `number` if it has none yet. */
static eddy_status find_number(finder *f, const char *text, uint32_t number,
                               uint32_t *out_number)
{
    const size_t length = strlen(text);
    char *key;

    *out_number = eddy__map_find(&f->numbers, text, length);
    if (*out_number != EDDY__NOT_FOUND)
        return EDDY_OK;
    *out_number = number;
    key = eddy__arena_text(f->scratch, text, length);
    return key && eddy__map_set(&f->numbers, key, number)
               ? EDDY_OK
               : eddy__fail_memory(f->err);
}

/* The side that output `output` of a Switch is live in. */
static eddy_status find_side(finder *f, eddy_node node, uint32_t output,
                             uint32_t *out_side)
{
    const eddy_output of =
        find_predicate(f, eddy__flow_node(f->flow, node)->inputs[1]);
    const uint32_t next = (uint32_t)f->n_sides;
    uint32_t predicate;
    char text[64];

    (void)snprintf(text, sizeof text, "%u %u:%u", f->side_of[node], of.node,
                   of.index);
    EDDY_TRY(find_number(f, text, next, &predicate));
    (void)snprintf(text, sizeof text, "%u %u:%u %u", f->side_of[node], of.node,
                   of.index, output);
    EDDY_TRY(find_number(f, text, next, out_side));
    return *out_side == next
               ? add_side(f, f->side_of[node], predicate, out_side)
               : EDDY_OK;
}

/* The side that the value, or the token, of in-edge `i` of `node` comes from.
 */
static eddy_status side_of_edge(finder *f, eddy_node node, size_t i,
                                uint32_t *out_side)
{
    const eddy__flow *flow = f->flow;
    const size_t input = i - flow->first_in[node];
    const eddy_node from = flow->source[i];

    *out_side = 0;
    if (!eddy__flow_is_node(from))
        return EDDY_OK;
    if (flow->role[from] == EDDY__ROLE_SWITCH &&
        eddy__flow_is_data(flow, node, i))
        return find_side(f, from,
                         eddy__flow_node(flow, node)->inputs[input].index,
                         out_side);
    if (flow->role[from] == EDDY__ROLE_EXIT)
        *out_side = f->frame_side[f->analysis->node_frame[from]];
    else if (flow->role[from] != EDDY__ROLE_ENTER &&
             flow->role[from] != EDDY__ROLE_CONTROL_TRIGGER)
        *out_side = f->side_of[from];
    return EDDY_OK;
}

/*
 * A Merge runs in what is around all its inputs, any other node in the
 * innermost side of what it waits for; back edges are left out.
 */
static eddy_status place(finder *f, eddy_node node)
{
    const eddy__flow *flow = f->flow;
    const bool is_merge = flow->role[node] == EDDY__ROLE_MERGE;
    uint32_t at = 0, in;
    bool is_first = true;

    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++) {
        const bool is_data = eddy__flow_is_data(flow, node, i);
        const eddy_node from = flow->source[i];

        if ((is_merge && !is_data) ||
            (eddy__flow_is_node(from) &&
             eddy__is_back_edge(flow, from, node, is_data)))
            continue;
        EDDY_TRY(side_of_edge(f, node, i, &in));
        if (is_first)
            at = in;
        else
            at = is_merge ? find_common(f, at, in) : inner_side(f, at, in);
        is_first = false;
    }
    f->side_of[node] = at;
    if (flow->role[node] == EDDY__ROLE_ENTER) {
        uint32_t *outer = &f->frame_side[f->analysis->output_frame[node]];

        *outer = inner_side(f, *outer, at);
    }
    return EDDY_OK;
}

/* The longest way to an ordinary node, the shortest to a Merge. */
static uint32_t find_level(const finder *f, eddy_node node)
{
    const eddy__flow *flow = f->flow;
    const bool is_merge = flow->role[node] == EDDY__ROLE_MERGE;
    uint32_t level = is_merge ? UINT32_MAX - 1 : 0;

    if (flow->first_in[node] == flow->first_in[node + 1])
        return 0;
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++) {
        const eddy_node from = flow->source[i];
        const uint32_t before = eddy__flow_is_node(from) ? f->level[from] : 0;

        if (is_merge && !eddy__flow_is_data(flow, node, i))
            continue;
        if (is_merge ? before < level : before > level)
            level = before;
    }
    return level + 1;
}

/* Is it a constant, or would it be one once constants are folded? */
static bool find_constant(const finder *f, eddy_node node)
{
    const eddy__flow *flow = f->flow;
    const eddy__node *n = eddy__flow_node(flow, node);

    if (flow->first_in[node] == flow->first_in[node + 1])
        return flow->role[node] == EDDY__ROLE_CONST;
    if (!n->op || n->n_outputs != 1 || n->n_controls > 0 ||
        flow->role[node] != EDDY__ROLE_NONE ||
        (n->op->flags & (EDDY_OP_STATEFUL | EDDY__OP_HOST)))
        return false;
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (!eddy__flow_is_node(flow->source[i]) ||
            !f->is_constant[flow->source[i]])
            return false;
    return true;
}

/* ---- which Merges ---- */

/*
 * The Merge of a loop gets one value in the first iteration and another one in
 * all that follow.
 */
static bool is_of_loop(const eddy__flow *flow, eddy_node merge)
{
    const size_t begin = flow->first_in[merge];
    const size_t end = begin + eddy__flow_node(flow, merge)->n_inputs;

    for (size_t i = begin; i < end; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            (flow->role[flow->source[i]] == EDDY__ROLE_NEXT_ITERATION ||
             flow->role[flow->source[i]] == EDDY__ROLE_ENTER))
            return true;
    return false;
}

/* The side around `inner`, or itself, that is just within `outer`. */
static uint32_t within(const finder *f, uint32_t outer, uint32_t inner)
{
    const side *s = f->sides;

    while (s[inner].depth > s[outer].depth + 1)
        inner = s[s[inner].jump].depth > s[outer].depth ? s[inner].jump
                                                        : s[inner].parent;
    return inner;
}

/*
 * May what is live in side `a` be live together with what is in side `b`?  Not
 * if they are in different sides of one predicate.
 */
static bool may_meet(const finder *f, uint32_t a, uint32_t b)
{
    const uint32_t common = find_common(f, a, b);

    return common == a || common == b ||
           f->sides[within(f, common, a)].predicate !=
               f->sides[within(f, common, b)].predicate;
}

/*
 * Fills `sides` with those of the inputs, and says whether two may be live.  Of
 * very many inputs each is held against the first one and what is around all.
 */
static eddy_status may_have_two(finder *f, eddy_node merge, uint32_t *sides,
                                bool *out_may)
{
    const uint32_t n = eddy__flow_node(f->flow, merge)->n_inputs;

    *out_may = false;
    for (uint32_t i = 0; i < n; i++)
        EDDY_TRY(
            side_of_edge(f, merge, f->flow->first_in[merge] + i, &sides[i]));
    for (uint32_t i = 1; i < n && !*out_may; i++) {
        *out_may =
            sides[i] == f->side_of[merge] || may_meet(f, sides[0], sides[i]);
        for (uint32_t j = 1; j < i && n <= EDDY__MAX_ORDERED_INPUTS; j++)
            *out_may |= may_meet(f, sides[j], sides[i]);
    }
    return EDDY_OK;
}

/* ---- which input comes first ---- */

/*
 * There when the run starts: a feed, or what constants that wait for nothing
 * are made into, whether a pass has done so or not.
 */
static bool is_at_start(const finder *f, eddy_node from)
{
    return eddy__flow_is_node(from) ? f->is_constant[from] : from == EDDY__FED;
}

static void find_late(const finder *f, eddy_node merge, uint8_t *is_late)
{
    const eddy__node *node = eddy__flow_node(f->flow, merge);
    const eddy_node *from = f->flow->source + f->flow->first_in[merge];
    uint32_t first = 0;

    if (f->analysis->node_frame[merge] != 0)
        return;
    while (first < node->n_inputs && !is_at_start(f, from[first]))
        first++;
    if (first == node->n_inputs)
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        is_late[i] = i > first || (i < first && node->n_controls == 0 &&
                                   f->level[from[i]] >= 2);
}

static void meet(finder *f, eddy_node node, size_t *n)
{
    if (f->met[node] == f->n_walks)
        return;
    f->met[node] = f->n_walks;
    f->stack[(*n)++] = node;
}

/*
 * Meets what fires before `start` in the same iteration, as far as a walk goes:
 * not what a Merge reads, nor what is on the other side of a frame.
 */
static void walk_back(finder *f, eddy_node start)
{
    const eddy__flow *flow = f->flow;
    const uint64_t most = f->budget < MAX_WALK ? f->budget : MAX_WALK;
    uint64_t walked = 0;
    size_t n = 0;

    f->n_walks++;
    meet(f, start, &n);
    while (n > 0) {
        const eddy_node node = f->stack[--n];
        const uint8_t role = flow->role[node];
        size_t i = flow->first_in[node];

        if (role == EDDY__ROLE_ENTER || role == EDDY__ROLE_EXIT ||
            role == EDDY__ROLE_NEXT_ITERATION)
            continue;
        if (role == EDDY__ROLE_MERGE)
            i += eddy__flow_node(flow, node)->n_inputs;
        for (; i < flow->first_in[node + 1] && walked < most; i++) {
            if (eddy__flow_is_node(flow->source[i]))
                meet(f, flow->source[i], &n);
            walked++;
        }
    }
    f->budget -= walked;
}

static void find_behind(finder *f, eddy_node merge, uint64_t *behind)
{
    const uint32_t n = eddy__flow_node(f->flow, merge)->n_inputs;
    const eddy_node *from = f->flow->source + f->flow->first_in[merge];

    for (uint32_t i = 1; i < n; i++) {
        if (!eddy__flow_is_node(from[i]))
            continue;
        walk_back(f, from[i]);
        for (uint32_t j = 0; j < i; j++)
            if (eddy__flow_is_node(from[j]) && f->met[from[j]] == f->n_walks)
                behind[i] |= (uint64_t)1 << j;
    }
}

static eddy_status add_contest(finder *f, eddy_node merge)
{
    eddy_analysis *a = f->analysis;
    const uint32_t n = eddy__flow_node(f->flow, merge)->n_inputs;
    uint8_t *is_late = eddy__arena_allocate_zeroed(&a->arena, n, 1);
    uint64_t *behind = NULL;

    if (n <= EDDY__MAX_ORDERED_INPUTS)
        behind = eddy__arena_allocate_zeroed(&a->arena, n, sizeof *behind);
    if (!is_late || (n <= EDDY__MAX_ORDERED_INPUTS && !behind) ||
        !eddy__grow(f->allocator, (void **)&a->contests, &a->contests_capacity,
                    a->n_contests + 1, sizeof *a->contests))
        return eddy__fail_memory(f->err);
    find_late(f, merge, is_late);
    if (behind)
        find_behind(f, merge, behind);
    a->contests[a->n_contests++] = (eddy__contest){
        .merge = merge, .n = n, .is_late = is_late, .behind = behind};
    return EDDY_OK;
}

/* ---- the whole ---- */

/* The most inputs that a Merge of no loop has; 0 if there is none. */
static size_t most_inputs(const eddy__flow *flow)
{
    size_t most = 0;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (flow->role[v] == EDDY__ROLE_MERGE && !is_of_loop(flow, v) &&
            eddy__flow_node(flow, v)->n_inputs > most)
            most = eddy__flow_node(flow, v)->n_inputs;
    return most;
}

static eddy_status find_all(finder *f)
{
    const size_t n = f->flow->n_nodes;
    eddy_node *order;
    size_t n_order;
    uint32_t root, *sides;
    bool may;

    f->side_of = eddy__arena_allocate_zeroed(f->scratch, n, sizeof(uint32_t));
    f->level = eddy__arena_allocate_zeroed(f->scratch, n, sizeof(uint32_t));
    f->is_constant = eddy__arena_allocate_zeroed(f->scratch, n, 1);
    f->met = eddy__arena_allocate_zeroed(f->scratch, n, sizeof(uint32_t));
    f->stack = eddy__arena_allocate(f->scratch, n, sizeof(eddy_node));
    f->frame_side = eddy__arena_allocate_zeroed(
        f->scratch, f->analysis->n_frames, sizeof(uint32_t));
    if (!f->side_of || !f->level || !f->is_constant || !f->met || !f->stack ||
        !f->frame_side)
        return eddy__fail_memory(f->err);
    sides =
        eddy__arena_allocate(f->scratch, most_inputs(f->flow), sizeof *sides);
    if (!sides)
        return eddy__fail_memory(f->err);
    EDDY_TRY(eddy__flow_order(f->flow, f->scratch, &order, &n_order, f->err));
    EDDY_TRY(add_side(f, 0, 0, &root));
    f->budget = (uint64_t)n * WALKS_A_NODE + MAX_WALK;
    for (size_t i = 0; i < n_order; i++) {
        EDDY_TRY(place(f, order[i]));
        f->level[order[i]] = find_level(f, order[i]);
        f->is_constant[order[i]] = find_constant(f, order[i]);
    }
    for (eddy_node v = 0; v < n; v++) {
        if (f->flow->role[v] != EDDY__ROLE_MERGE || is_of_loop(f->flow, v))
            continue;
        EDDY_TRY(may_have_two(f, v, sides, &may));
        if (may)
            EDDY_TRY(add_contest(f, v));
    }
    return EDDY_OK;
}

eddy_status eddy__find_contests(const eddy__flow *flow, eddy_analysis *analysis,
                                eddy__arena *scratch, eddy_error *err)
{
    finder f = {
        .flow = flow,
        .analysis = analysis,
        .scratch = scratch,
        .allocator = analysis->arena.allocator,
        .numbers = {.allocator = analysis->arena.allocator},
        .err = err,
    };
    eddy_status status;

    if (most_inputs(flow) < 2)
        return EDDY_OK;
    status = find_all(&f);
    eddy__free(f.allocator, f.sides, f.capacity, sizeof *f.sides);
    eddy__map_deinit(&f.numbers);
    return status;
}

const eddy__contest *eddy__find_contest(const eddy_analysis *analysis,
                                        eddy_node merge)
{
    size_t low = 0, high = analysis->n_contests;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (analysis->contests[middle].merge < merge)
            low = middle + 1;
        else
            high = middle;
    }
    return low < analysis->n_contests && analysis->contests[low].merge == merge
               ? &analysis->contests[low]
               : NULL;
}

void eddy__narrow_contests(eddy_analysis *analysis, const eddy_analysis *before)
{
    for (size_t c = 0; c < analysis->n_contests; c++) {
        eddy__contest *now = &analysis->contests[c];
        const eddy__contest *was = eddy__find_contest(before, now->merge);

        for (uint32_t i = 0; was && i < now->n; i++) {
            now->is_late[i] &= was->is_late[i];
            if (now->behind)
                now->behind[i] &= was->behind[i];
        }
    }
}

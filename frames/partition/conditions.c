/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What known_dead.c has found, and the branches whose nodes it follows: which
 * predicate each goes by, under which condition that is asked, and on which
 * ranks it is there.  A condition is a side of a predicate, and that of the
 * branch around it.
 *
 * A rank has a predicate where it has the node or a copy of it (copies.c), or
 * has a Switch that goes by it, to which it is sent anyway.
 */
#include "core/base/status.h"
#include "frames/partition/partitioning.h"

#include <string.h>

/* Branches that are nested deeper are not followed. */
#define MOST_DEPTH 16

/* Nor are more than these, with all of their sides. */
#define MOST_BRANCHES (UINT32_C(1) << 20)
#define MOST_CONDITIONS (UINT32_C(1) << 23)

static uint32_t at_most(size_t n, uint32_t most)
{
    return n < most ? (uint32_t)n : most;
}

eddy_status eddy__branches_begin(eddy__partitioning *p)
{
    const size_t n = p->whole->n_nodes;
    eddy__branches_known *b = &p->branches;
    size_t n_switches = 0, n_sides = 0;

    for (eddy_node v = 0; v < n; v++) {
        const eddy__node *node = eddy__partition_node(p, v);

        if (!p->placed[v].is_needed ||
            eddy__node_role(node) != EDDY__ROLE_SWITCH)
            continue;
        n_switches++;
        n_sides += node->n_outputs;
    }
    /* What a round takes for granted may turn out otherwise in the next. */
    *b = (eddy__branches_known){
        .n = 1,
        .capacity = at_most(2 * n_switches, MOST_BRANCHES) + 1,
        .n_conditions = 1,
        .most_conditions = at_most(2 * n_sides, MOST_CONDITIONS) + 1};
    b->items =
        eddy__arena_allocate_zeroed(&p->arena, b->capacity, sizeof *b->items);
    b->item_of = eddy__arena_allocate_zeroed(&p->arena, b->most_conditions,
                                             sizeof *b->item_of);
    b->first = eddy__arena_allocate_zeroed(&p->arena, n, sizeof *b->first);
    b->witness =
        eddy__arena_allocate_zeroed(&p->arena, n, sizeof(eddy__witness *));
    return b->items && b->item_of && b->first && b->witness
               ? EDDY_OK
               : eddy__fail_memory(p->err);
}

uint32_t eddy__branches_sides(eddy__partitioning *p, uint32_t outer,
                              eddy_output predicate, uint32_t n_sides)
{
    eddy__branches_known *b = &p->branches;
    const uint32_t depth =
        outer > 0 ? eddy__branches_at(p, outer)->depth + 1 : 1;
    const uint32_t first = b->n_conditions;

    for (uint32_t i = b->first[predicate.node]; i > 0; i = b->items[i].next)
        if (b->items[i].outer == outer && b->items[i].n_sides == n_sides &&
            b->items[i].predicate.index == predicate.index)
            return b->items[i].first;
    if (depth > MOST_DEPTH || b->n == b->capacity ||
        n_sides > b->most_conditions - first)
        return 0;
    b->items[b->n] = (eddy__branch){.outer = outer,
                                    .depth = depth,
                                    .predicate = predicate,
                                    .first = first,
                                    .n_sides = n_sides,
                                    .next = b->first[predicate.node]};
    for (uint32_t side = 0; side < n_sides; side++)
        b->item_of[first + side] = b->n;
    b->n_conditions += n_sides;
    b->first[predicate.node] = b->n++;
    return first;
}

/* Is `inner` the condition `outer`, or in it? */
static bool is_in(const eddy__partitioning *p, uint32_t inner, uint32_t outer)
{
    while (inner != outer && inner > 0)
        inner = eddy__branches_at(p, inner)->outer;
    return inner == outer;
}

bool eddy__branches_both(const eddy__partitioning *p, uint32_t a, uint32_t b,
                         uint32_t *out)
{
    *out = is_in(p, a, b) ? a : b;
    return is_in(p, a, b) || is_in(p, b, a);
}

/* ---- what is known of an edge ---- */

static eddy__known plain(uint8_t when)
{
    return (eddy__known){.when = when};
}

eddy__known eddy__partition_known_output(const eddy__partitioning *p,
                                         eddy_output of)
{
    eddy__known known;

    if (of.node >= p->n_known)
        return plain(EDDY__UNKNOWN);
    known = p->known[of.node];
    if (known.is_turn)
        return of.index == 1 ? plain(EDDY__IN_BODY) : plain(EDDY__UNKNOWN);
    if (known.sides > 0 &&
        of.index < eddy__branches_at(p, known.sides)->n_sides)
        known.condition = known.sides + of.index;
    return known;
}

/* A Switch runs on whichever side. */
eddy__known eddy__partition_known_control(const eddy__partitioning *p,
                                          eddy_node of)
{
    if (of >= p->n_known)
        return plain(EDDY__UNKNOWN);
    return p->known[of].is_turn ? plain(EDDY__EXACTLY) : p->known[of];
}

/* ---- where predicates are ---- */

eddy_output eddy__branches_witness(const eddy__partitioning *p,
                                   eddy_output predicate, uint32_t rank)
{
    for (const eddy__witness *w = p->branches.witness[predicate.node]; w;
         w = w->next)
        if (w->rank == rank && w->predicate.index == predicate.index)
            return w->source;
    return EDDY__NO_OUTPUT;
}

/* Is it live wherever the branch may be asked for? */
static bool is_there(const eddy__partitioning *p, const eddy__branch *branch,
                     eddy_output source)
{
    const eddy__known known = eddy__partition_known_output(p, source);

    return known.when != EDDY__UNKNOWN &&
           is_in(p, branch->outer, known.condition);
}

/* The rank has that predicate as `source`, in all branches that go by it. */
static eddy_status add_witness(eddy__partitioning *p, eddy_output predicate,
                               uint32_t rank, eddy_output source)
{
    eddy__branches_known *b = &p->branches;
    eddy__witness *w;

    if (eddy__branches_witness(p, predicate, rank).node != EDDY_NO_NODE)
        return EDDY_OK;
    for (uint32_t i = b->first[predicate.node]; i > 0; i = b->items[i].next)
        if (b->items[i].predicate.index == predicate.index &&
            !is_there(p, &b->items[i], source))
            return EDDY_OK;
    w = eddy__arena_allocate(&p->arena, 1, sizeof *w);
    if (!w)
        return eddy__fail_memory(p->err);
    *w = (eddy__witness){.rank = rank,
                         .predicate = predicate,
                         .source = source,
                         .next = b->witness[predicate.node]};
    b->witness[predicate.node] = w;
    return EDDY_OK;
}

/* Of the node itself, or of another rank's copy. */
static eddy_status look_at_node(eddy__partitioning *p, eddy_node v)
{
    const eddy__placed placed = p->placed[v];
    const eddy_node of = placed.is_copy ? placed.original : v;

    for (uint32_t i = p->branches.first[of]; i > 0;
         i = p->branches.items[i].next) {
        const eddy_output predicate = p->branches.items[i].predicate;

        EDDY_TRY(add_witness(p, predicate, placed.rank,
                             (eddy_output){v, predicate.index}));
    }
    return EDDY_OK;
}

eddy_status eddy__branches_find_witnesses(eddy__partitioning *p)
{
    for (eddy_node v = 0; v < p->n_known; v++)
        if (p->placed[v].is_needed)
            EDDY_TRY(look_at_node(p, v));
    for (eddy_node v = 0; v < p->n_known; v++) {
        const eddy__known known = p->known[v];

        if (p->placed[v].is_needed && known.sides > 0)
            EDDY_TRY(add_witness(
                p, eddy__branches_at(p, known.sides)->predicate,
                p->placed[v].rank, eddy__partition_node(p, v)->inputs[1]));
    }
    return EDDY_OK;
}

/* ---- what a rank knows ---- */

/* Does it have all predicates of the condition? */
static bool has_predicates(const eddy__partitioning *p, uint32_t condition,
                           uint32_t rank)
{
    while (condition > 0) {
        const eddy__branch *branch = eddy__branches_at(p, condition);

        if (eddy__branches_witness(p, branch->predicate, rank).node ==
            EDDY_NO_NODE)
            return false;
        condition = branch->outer;
    }
    return true;
}

bool eddy__known_is_exact(eddy__known known, bool is_root)
{
    return is_root ? known.when == EDDY__EXACTLY && known.condition > 0
                   : known.when == EDDY__IN_BODY;
}

bool eddy__partition_is_gated(const eddy__partitioning *p, uint32_t frame,
                              uint32_t rank)
{
    return p->n_known > 0 && frame != 0 && p->entry[frame] != EDDY__NOT_FOUND &&
           (p->entry[frame] > 0 || p->analysis->frames[frame].parent != 0) &&
           has_predicates(p, p->entry[frame], rank);
}

static bool is_known(const eddy__partitioning *p, eddy__known known,
                     uint32_t frame, uint32_t rank)
{
    if (known.when == EDDY__EXACTLY && known.condition == 0)
        return eddy__partition_is_gated(p, frame, rank);
    return eddy__known_is_exact(known, frame == 0) &&
           has_predicates(p, known.condition, rank);
}

bool eddy__partition_is_known(const eddy__partitioning *p, eddy_output of,
                              uint32_t rank, eddy__known *out_known)
{
    *out_known = eddy__partition_known_output(p, of);
    return is_known(p, *out_known, p->placed[of.node].output_frame, rank);
}

bool eddy__partition_control_is_known(const eddy__partitioning *p, eddy_node of,
                                      uint32_t rank, eddy__known *out_known)
{
    *out_known = eddy__partition_known_control(p, of);
    return is_known(p, *out_known, p->placed[of].output_frame, rank);
}

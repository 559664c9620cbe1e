/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants and Enters on the ranks that read them: the third step of a
 * partition.  A constant need not be sent.  What an Enter puts into a loop is
 * sent in the frame around the loop, once each time that it is entered, to an
 * Enter of the rank's own; inside of the loop it would be sent in every
 * iteration, and what is no invariant would not even be there after the first.
 * So is what makes the predicate of a loop that counts its trips, and of a
 * branch that goes by such a counter (counting.c).
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "frames/analysis/prune.h"
#include "frames/partition/partitioning.h"

#include <stdio.h>
#include <string.h>

typedef struct copying {
    eddy__partitioning *p;
    eddy__map copies; /* "node rank" to the copy */
} copying;

/* Is it as well on another rank? */
static bool is_copied(const eddy__partitioning *p, eddy_node v)
{
    const eddy__node *node = eddy__partition_node(p, v);
    const eddy__role role = eddy__node_role(node);

    if (v < p->n_analysed && p->is_counting[v])
        return true;
    return role == EDDY__ROLE_ENTER
               ? !eddy__node_gives_reference(node, 0)
               : role == EDDY__ROLE_CONST && node->n_controls == 0;
}

/* A copy of `of` on `rank`, which reads what that reads. */
static eddy_status add_copy(const copying *c, eddy_node of, uint32_t rank,
                            eddy_node *out)
{
    eddy__partitioning *p = c->p;
    const eddy__names names = eddy__names_of_nodes(p->whole);
    const char *name = eddy__names_free(
        &names, &p->arena,
        eddy__names_print(&p->arena, "%s/rank%u",
                          eddy__partition_node(p, of)->name, (unsigned)rank),
        NULL);
    const eddy__node_copy copy = {.of = eddy__partition_node(p, of),
                                  .name = name};
    eddy__placed placed = p->placed[of];

    if (!name)
        return eddy__fail_memory(p->err);
    placed.rank = rank;
    placed.has_copy = false;
    placed.is_copy = true;
    placed.original = of;
    p->placed[of].has_copy = true;
    EDDY_TRY(eddy__copy_add(&p->copier, p->whole, &copy, out, p->err));
    for (uint32_t i = 0; i < eddy__partition_node(p, of)->n_inputs; i++)
        EDDY_TRY(eddy__graph_connect(
            p->whole, *out, i, eddy__partition_node(p, of)->inputs[i], p->err));
    for (uint32_t i = 0; i < eddy__partition_node(p, of)->n_controls; i++)
        EDDY_TRY(eddy__graph_add_control(
            p->whole, *out, eddy__partition_node(p, of)->controls[i], p->err));
    return eddy__partition_note(p, *out, placed);
}

/* The copy on `rank`, or EDDY__NOT_FOUND. */
static eddy_node known_copy(const eddy__map *copies, eddy_node of,
                            uint32_t rank)
{
    char key[32];
    const int n =
        snprintf(key, sizeof key, "%u %u", (unsigned)of, (unsigned)rank);

    return eddy__map_find(copies, key, (size_t)n);
}

/* The copy on `rank`, made when it is first asked for. */
static eddy_status find_copy(copying *c, eddy_node of, uint32_t rank,
                             eddy_node *out)
{
    const char *key;
    uint32_t frame;

    *out = known_copy(&c->copies, of, rank);
    if (*out != EDDY__NOT_FOUND)
        return EDDY_OK;
    key =
        eddy__names_print(&c->p->arena, "%u %u", (unsigned)of, (unsigned)rank);
    if (!key)
        return eddy__fail_memory(c->p->err);
    EDDY_TRY(add_copy(c, of, rank, out));
    frame = c->p->placed[of].frame;
    if (c->p->analysis->frames[frame].loop_cond == of)
        c->p->predicate_copy[eddy__partition_at(c->p, frame, rank)] = *out;
    return eddy__map_set(&c->copies, key, *out) ? EDDY_OK
                                                : eddy__fail_memory(c->p->err);
}

/* What `v` reads in place of `from`, which is on another rank, or of a copy. */
static eddy_status find_near(copying *c, eddy_node from, eddy_node v,
                             eddy_node *out)
{
    const eddy__partitioning *p = c->p;
    const eddy_node of =
        p->placed[from].is_copy ? p->placed[from].original : from;

    *out = of;
    if (!is_copied(p, of))
        *out = from;
    else if (eddy__partition_crosses(p, of, v))
        EDDY_TRY(find_copy(c, of, p->placed[v].rank, out));
    return EDDY_OK;
}

/* The edges into `v` come from copies, where there is to be one. */
static eddy_status read_copies(copying *c, eddy_node v)
{
    eddy__partitioning *p = c->p;

    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_inputs; i++) {
        const eddy_output in = eddy__partition_node(p, v)->inputs[i];
        eddy_node near = in.node;

        if (!eddy__partition_crosses(p, in.node, v))
            continue;
        EDDY_TRY(find_near(c, in.node, v, &near));
        eddy__edit_input(p->whole, v, i, (eddy_output){near, in.index});
    }
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++) {
        const eddy_node from = eddy__partition_node(p, v)->controls[i];
        eddy_node near = from;

        if (!eddy__partition_crosses(p, from, v))
            continue;
        EDDY_TRY(find_near(c, from, v, &near));
        eddy__edit_control(p->whole, v, i, near);
    }
    return EDDY_OK;
}

/* Will the rank have all predicates of the condition? */
static bool can_have(const eddy__partitioning *p, uint32_t condition,
                     uint32_t rank)
{
    for (; condition > 0; condition = eddy__branches_at(p, condition)->outer) {
        const eddy_node v = eddy__branches_at(p, condition)->predicate.node;

        if (p->placed[v].rank != rank &&
            (v >= p->n_analysed || !p->is_counting[v]))
            return false;
    }
    return true;
}

/* Gives the rank the predicates of the condition, if it can have all. */
static eddy_status copy_condition(copying *c, uint32_t condition, uint32_t rank)
{
    const eddy__partitioning *p = c->p;
    eddy_node copy;

    if (!can_have(p, condition, rank))
        return EDDY_OK;
    for (; condition > 0; condition = eddy__branches_at(p, condition)->outer) {
        const eddy_node of = eddy__branches_at(p, condition)->predicate.node;

        if (p->placed[of].rank != rank)
            EDDY_TRY(find_copy(c, of, rank, &copy));
    }
    return EDDY_OK;
}

/* Where the loop is entered, if that is known. */
static uint32_t entry_of(const eddy__partitioning *p, uint32_t frame)
{
    return p->entry[frame] == EDDY__NOT_FOUND ? 0 : p->entry[frame];
}

/* Makes predicates of its own, from the frame outwards, for a rank: of loops,
 * and of the branches that those are in. */
static eddy_status copy_to(copying *c, uint32_t frame, uint32_t rank)
{
    eddy__partitioning *p = c->p;

    for (uint32_t f = frame; f != 0; f = p->analysis->frames[f].parent) {
        const eddy_node predicate = p->analysis->frames[f].loop_cond;
        eddy_node copy;

        if (p->is_counted[f] && p->placed[predicate].rank != rank)
            EDDY_TRY(find_copy(c, predicate, rank, &copy));
        EDDY_TRY(copy_condition(c, entry_of(p, f), rank));
    }
    return EDDY_OK;
}

/* Of a rank that receives in a loop, and of one that needs a control loop to
 * send there. */
static eddy_status copy_predicates(copying *c, eddy_node from, eddy_node v)
{
    const eddy__partitioning *p = c->p;
    const uint32_t frame = p->placed[from].output_frame;

    if (!eddy__partition_crosses(p, from, v))
        return EDDY_OK;
    EDDY_TRY(copy_to(c, frame, p->placed[v].rank));
    return p->placed[from].frame != frame || eddy__partition_iterates(p, from)
               ? EDDY_OK
               : copy_to(c, frame, p->placed[from].rank);
}

/*
 * The condition under which `known`, of a frame, is dead on both sides of an
 * edge if the other rank has its predicates; 0: none is of use.
 */
static uint32_t condition_of(const eddy__partitioning *p, eddy__known known,
                             eddy_node from)
{
    const bool is_root = p->placed[from].output_frame == 0;

    return eddy__known_is_exact(known, is_root) ? known.condition : 0;
}

/* Gives the rank of `v` the predicates that `from` is dead by. */
static eddy_status copy_branches(copying *c, eddy__known known, eddy_node from,
                                 eddy_node v)
{
    const eddy__partitioning *p = c->p;

    return eddy__partition_crosses(p, from, v)
               ? copy_condition(c, condition_of(p, known, from),
                                p->placed[v].rank)
               : EDDY_OK;
}

static eddy_status copy_for(copying *c, eddy_node v)
{
    eddy__partitioning *p = c->p;

    EDDY_TRY(read_copies(c, v));
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_inputs; i++) {
        const eddy_output in = eddy__partition_node(p, v)->inputs[i];

        EDDY_TRY(copy_predicates(c, in.node, v));
        EDDY_TRY(
            copy_branches(c, eddy__partition_known_output(p, in), in.node, v));
    }
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++) {
        const eddy_node from = eddy__partition_node(p, v)->controls[i];

        EDDY_TRY(copy_predicates(c, from, v));
        EDDY_TRY(
            copy_branches(c, eddy__partition_known_control(p, from), from, v));
    }
    return EDDY_OK;
}

/* ---- what is needed now ---- */

/* Nodes that are wanted, and what that needs. */
typedef struct needing {
    eddy__partitioning *p;
    const eddy__map *copies;
    eddy__wanted wanted;
    eddy_node *targets;
    uint8_t *keep, *is_target;
} needing;

static void want(needing *n, eddy_node v)
{
    if (!n->is_target[v])
        n->targets[n->wanted.n_targets++] = v;
    n->is_target[v] = 1;
}

/*
 * What is wanted of the graph with its copies: what was asked for, and where
 * that was nothing, every node but originals and copies.
 */
static void want_first(needing *n)
{
    const eddy__partitioning *p = n->p;

    n->wanted = (eddy__wanted){.fetches = p->fetches,
                               .n_fetches = p->options->n_fetches,
                               .targets = n->targets};
    for (size_t i = 0; i < p->n_targets; i++)
        want(n, p->targets[i]);
    if (n->wanted.n_fetches + n->wanted.n_targets > 0)
        return;
    for (eddy_node v = 0; v < p->n_analysed; v++)
        if (p->placed[v].is_needed && !p->placed[v].has_copy &&
            !p->is_counting[v])
            want(n, v);
}

/* The rank's copies of the predicates of a condition. */
static void want_condition(needing *n, uint32_t condition, uint32_t rank)
{
    eddy__partitioning *p = n->p;

    for (; condition > 0; condition = eddy__branches_at(p, condition)->outer) {
        const eddy_node copy = known_copy(
            n->copies, eddy__branches_at(p, condition)->predicate.node, rank);

        if (copy == EDDY__NOT_FOUND)
            continue;
        want(n, copy);
        p->placed[copy].is_asked = true;
    }
}

/* A control loop wants its predicate there, and those around it. */
static void want_on(needing *n, uint32_t frame, uint32_t rank)
{
    const eddy__partitioning *p = n->p;

    for (uint32_t f = frame; f != 0; f = p->analysis->frames[f].parent) {
        const eddy_node copy =
            p->predicate_copy[eddy__partition_at(p, f, rank)];
        const eddy_node own = p->analysis->frames[f].loop_cond;

        if (copy != EDDY_NO_NODE || own != EDDY_NO_NODE)
            want(n, copy != EDDY_NO_NODE ? copy : own);
        want_condition(n, entry_of(p, f), rank);
    }
}

static void want_predicates(needing *n, eddy_node from, eddy_node v)
{
    const eddy__partitioning *p = n->p;
    const uint32_t frame = p->placed[from].output_frame;

    if (!eddy__partition_crosses(p, from, v))
        return;
    want_on(n, frame, p->placed[v].rank);
    if (p->placed[from].frame == frame && !eddy__partition_iterates(p, from))
        want_on(n, frame, p->placed[from].rank);
}

/* The other rank's copies of predicates that `from` is dead by. */
static void want_branches(needing *n, eddy__known known, eddy_node from,
                          eddy_node v)
{
    if (eddy__partition_crosses(n->p, from, v))
        want_condition(n, condition_of(n->p, known, from),
                       n->p->placed[v].rank);
}

static void want_for(needing *n, eddy_node v)
{
    const eddy__partitioning *p = n->p;
    const eddy__node *node = eddy__partition_node(p, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output in = node->inputs[i];

        want_predicates(n, in.node, v);
        want_branches(n, eddy__partition_known_output(p, in), in.node, v);
    }
    for (uint32_t i = 0; i < node->n_controls; i++) {
        const eddy_node from = node->controls[i];

        want_predicates(n, from, v);
        want_branches(n, eddy__partition_known_control(p, from), from, v);
    }
}

/* Marks what is needed, until that needs nothing more; a round a frame. */
static eddy_status find_needed(needing *n)
{
    eddy__partitioning *p = n->p;
    const eddy__selection all = {.graph = p->whole, .budget = p->budget};
    size_t n_before, n_first = n->wanted.n_targets;

    do {
        n_before = n->wanted.n_targets;
        memset(n->keep, 0, p->whole->n_nodes);
        EDDY_TRY(eddy__prune(&all, &n->wanted, n->keep, p->err));
        /* A rank runs a predicate only for what waits for its control loop. */
        if (n_before == n_first)
            EDDY_TRY(eddy__partition_find_begun(p, n->keep));
        for (eddy_node v = 0; v < p->whole->n_nodes; v++)
            if (n->keep[v])
                want_for(n, v);
    } while (n->wanted.n_targets > n_before);
    return EDDY_OK;
}

/*
 * An original whose last reader has gone is not needed, nor is what only it
 * reads: a rank would not run what receives that, and it would be sent.
 */
static eddy_status drop_unneeded(const copying *c)
{
    eddy__partitioning *p = c->p;
    const size_t n_nodes = p->whole->n_nodes;
    needing n = {
        .p = p,
        .copies = &c->copies,
        .targets = eddy__arena_allocate(&p->arena, n_nodes, sizeof *n.targets),
        .keep = eddy__arena_allocate(&p->arena, n_nodes, 1),
        .is_target = eddy__arena_allocate_zeroed(&p->arena, n_nodes, 1)};

    if (!n.targets || !n.keep || !n.is_target)
        return eddy__fail_memory(p->err);
    want_first(&n);
    EDDY_TRY(find_needed(&n));
    for (eddy_node v = 0; v < n_nodes; v++)
        p->placed[v].is_needed = p->placed[v].is_needed && n.keep[v];
    return EDDY_OK;
}

eddy_status eddy__partition_copy(eddy__partitioning *p)
{
    copying c = {.p = p, .copies = {.allocator = &p->budget->allocator}};
    eddy_status status = EDDY_OK;

    status = eddy__partition_find_begun(p, NULL);
    /* Copies stand at the end, and what they read is looked at in its turn. */
    for (eddy_node v = 0; v < p->whole->n_nodes && status == EDDY_OK; v++)
        if (p->placed[v].is_needed)
            status = copy_for(&c, v);
    if (status == EDDY_OK)
        status = drop_unneeded(&c);
    eddy__map_deinit(&c.copies);
    return status;
}

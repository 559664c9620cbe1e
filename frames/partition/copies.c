/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants and Enters on the ranks that read them: the third step of a
 * partition.  A constant need not be sent.  What an Enter puts into a loop is
 * sent in the frame around the loop, once each time that it is entered, to an
 * Enter of the rank's own; inside of the loop it would be sent in every
 * iteration, and what is no invariant would not even be there after the first.
 * So is what makes the predicate of a loop that counts its trips (counting.c).
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "frames/analysis/prune.h"
#include "frames/partition/partitioning.h"

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

/* The copy on `rank`, made when it is first asked for. */
static eddy_status find_copy(copying *c, eddy_node of, uint32_t rank,
                             eddy_node *out)
{
    eddy__arena *arena = &c->p->arena;
    const char *key =
        eddy__names_print(arena, "%u %u", (unsigned)of, (unsigned)rank);
    uint32_t frame;

    if (!key)
        return eddy__fail_memory(c->p->err);
    *out = eddy__map_find(&c->copies, key, strlen(key));
    if (*out != EDDY__NOT_FOUND)
        return EDDY_OK;
    EDDY_TRY(add_copy(c, of, rank, out));
    frame = c->p->placed[of].frame;
    if (c->p->analysis->frames[frame].loop_cond == of)
        c->p->predicate_copy[eddy__partition_at(c->p, frame, rank)] = *out;
    return eddy__map_set(&c->copies, key, *out) ? EDDY_OK
                                                : eddy__fail_memory(c->p->err);
}

/* The edges into `v` come from copies, where there is to be one. */
static eddy_status read_copies(copying *c, eddy_node v)
{
    eddy__partitioning *p = c->p;

    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_inputs; i++) {
        const eddy_output in = eddy__partition_node(p, v)->inputs[i];
        eddy_node copy = EDDY_NO_NODE;

        if (!eddy__partition_crosses(p, in.node, v) || !is_copied(p, in.node))
            continue;
        EDDY_TRY(find_copy(c, in.node, p->placed[v].rank, &copy));
        eddy__edit_input(p->whole, v, i, (eddy_output){copy, in.index});
    }
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++) {
        const eddy_node from = eddy__partition_node(p, v)->controls[i];
        eddy_node copy = EDDY_NO_NODE;

        if (!eddy__partition_crosses(p, from, v) || !is_copied(p, from))
            continue;
        EDDY_TRY(find_copy(c, from, p->placed[v].rank, &copy));
        eddy__edit_control(p->whole, v, i, copy);
    }
    return EDDY_OK;
}

/* Makes predicates of its own, from the frame outwards, for a rank. */
static eddy_status copy_to(copying *c, uint32_t frame, uint32_t rank)
{
    eddy__partitioning *p = c->p;

    for (uint32_t f = frame; f != 0; f = p->analysis->frames[f].parent) {
        const eddy_node predicate = p->analysis->frames[f].loop_cond;
        eddy_node copy;

        if (p->is_counted[f] && p->placed[predicate].rank != rank)
            EDDY_TRY(find_copy(c, predicate, rank, &copy));
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

static eddy_status copy_for(copying *c, eddy_node v)
{
    EDDY_TRY(read_copies(c, v));
    for (uint32_t i = 0; i < eddy__partition_node(c->p, v)->n_inputs; i++)
        EDDY_TRY(copy_predicates(
            c, eddy__partition_node(c->p, v)->inputs[i].node, v));
    for (uint32_t i = 0; i < eddy__partition_node(c->p, v)->n_controls; i++)
        EDDY_TRY(
            copy_predicates(c, eddy__partition_node(c->p, v)->controls[i], v));
    return EDDY_OK;
}

/* ---- what is needed now ---- */

/* Nodes that are wanted, and what that needs. */
typedef struct needing {
    eddy__partitioning *p;
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
        for (eddy_node v = 0; v < p->whole->n_nodes; v++) {
            const eddy__node *node = eddy__partition_node(p, v);

            for (uint32_t i = 0; n->keep[v] && i < node->n_inputs; i++)
                want_predicates(n, node->inputs[i].node, v);
            for (uint32_t i = 0; n->keep[v] && i < node->n_controls; i++)
                want_predicates(n, node->controls[i], v);
        }
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

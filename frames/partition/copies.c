/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants and Enters on the ranks that read them: the third step of a
 * partition.  A constant need not be sent.  What an Enter puts into a loop is
 * sent in the frame around the loop, once each time that it is entered, to an
 * Enter of the rank's own; inside of the loop it would be sent in every
 * iteration, and what is no invariant would not even be there after the first.
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
static bool is_copied(const eddy__node *node)
{
    const eddy__role role = eddy__node_role(node);

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

    if (!key)
        return eddy__fail_memory(c->p->err);
    *out = eddy__map_find(&c->copies, key, strlen(key));
    if (*out != EDDY__NOT_FOUND)
        return EDDY_OK;
    EDDY_TRY(add_copy(c, of, rank, out));
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

        if (!eddy__partition_crosses(p, in.node, v) ||
            !is_copied(eddy__partition_node(p, in.node)))
            continue;
        EDDY_TRY(find_copy(c, in.node, p->placed[v].rank, &copy));
        eddy__edit_input(p->whole, v, i, (eddy_output){copy, in.index});
    }
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++) {
        const eddy_node from = eddy__partition_node(p, v)->controls[i];
        eddy_node copy = EDDY_NO_NODE;

        if (!eddy__partition_crosses(p, from, v) ||
            !is_copied(eddy__partition_node(p, from)))
            continue;
        EDDY_TRY(find_copy(c, from, p->placed[v].rank, &copy));
        eddy__edit_control(p->whole, v, i, copy);
    }
    return EDDY_OK;
}

/* ---- originals that nothing reads any more ---- */

/*
 * What is wanted of the graph with its copies: what was asked for, and where
 * that was nothing, every node but the originals.
 */
static eddy_status find_wanted(const copying *c, eddy__wanted *wanted)
{
    eddy__partitioning *p = c->p;
    const size_t n = p->whole->n_nodes;
    eddy_node *targets;

    *wanted = (eddy__wanted){.fetches = p->fetches,
                             .n_fetches = p->options->n_fetches,
                             .targets = p->targets,
                             .n_targets = p->n_targets};
    if (wanted->n_fetches + wanted->n_targets > 0)
        return EDDY_OK;
    targets = eddy__arena_allocate(&p->arena, n, sizeof *targets);
    if (!targets)
        return eddy__fail_memory(p->err);
    wanted->targets = targets;
    for (eddy_node v = 0; v < n; v++)
        if (p->placed[v].is_needed && !p->placed[v].has_copy)
            targets[wanted->n_targets++] = v;
    return EDDY_OK;
}

/* An original whose last reader has gone is not needed, nor what only it reads.
 */
static eddy_status drop_originals(const copying *c)
{
    eddy__partitioning *p = c->p;
    const eddy__selection all = {.graph = p->whole, .budget = p->budget};
    uint8_t *keep =
        eddy__arena_allocate_zeroed(&p->arena, p->whole->n_nodes, 1);
    eddy__wanted wanted;

    if (!keep)
        return eddy__fail_memory(p->err);
    EDDY_TRY(find_wanted(c, &wanted));
    EDDY_TRY(eddy__prune(&all, &wanted, keep, p->err));
    for (eddy_node v = 0; v < p->whole->n_nodes; v++)
        if (p->placed[v].has_copy)
            p->placed[v].is_needed = keep[v];
    return EDDY_OK;
}

eddy_status eddy__partition_copy(eddy__partitioning *p)
{
    copying c = {.p = p, .copies = {.allocator = &p->budget->allocator}};
    eddy_status status = EDDY_OK;

    /* Copies stand at the end, and what they read is looked at in its turn. */
    for (eddy_node v = 0; v < p->whole->n_nodes && status == EDDY_OK; v++)
        if (p->placed[v].is_needed)
            status = read_copies(&c, v);
    if (status == EDDY_OK)
        status = drop_originals(&c);
    eddy__map_deinit(&c.copies);
    return status;
}

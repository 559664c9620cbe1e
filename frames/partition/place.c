/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank for each node: the second step of a partition.
 *
 * Places and devices say where a node is wished.  Nodes that share a handle or
 * a reference, or what may be another name of a variable, go where the first of
 * them is; the handle of a TensorArrayV2 is a text, and is followed as well.
 * Then control flow, as in TensorFlow's OptimizeControlFlowColocation: an Enter
 * and a NextIteration go to their first consumer, a Switch and an Exit to what
 * they pass on; so no edge of a loop variable's own nodes is cut.
 */
#include "core/base/status.h"
#include "frames/analysis/groups.h"
#include "frames/partition/partitioning.h"

#include <stdlib.h>
#include <string.h>

typedef struct placing {
    eddy__partitioning *p;
    eddy__map prefixes; /* to an index in the places */
    uint32_t *group;    /* a node: one that it stays with, or itself */
    uint8_t *is_grouped;
    uint8_t *is_alias; /* it may hand on a variable's buffer, or a handle */
    eddy_node *order;  /* topological, back edges left out */
    size_t n_order;
} placing;

/* ---- wishes ---- */

/* The place with the longest prefix of `name`, or EDDY__NOT_FOUND. */
static uint32_t find_place(const placing *pl, const char *name)
{
    for (size_t n = strlen(name);; n--) {
        const uint32_t i = eddy__map_find(&pl->prefixes, name, n);

        if (i != EDDY__NOT_FOUND || n == 0)
            return i;
    }
}

/* The number at the start of `text`; false if it has none that fits. */
static bool read_rank(const char *text, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return end - text < 10;
}

/* Is it a device that names a rank? */
static bool device_rank(const char *device, uint64_t *out)
{
    const char *task = strstr(device, "/task:");
    const char *colon = strrchr(device, ':');

    if (task)
        return read_rank(task + strlen("/task:"), out);
    return colon && read_rank(colon + 1, out);
}

static eddy_status wish(const placing *pl, eddy_node v)
{
    eddy__partitioning *p = pl->p;
    const eddy__node *node = eddy__partition_node(p, v);
    const uint32_t place = find_place(pl, node->name);
    uint64_t rank = 0;

    if (place != EDDY__NOT_FOUND)
        rank = p->options->places[place].rank;
    else if (!node->device || !device_rank(node->device, &rank))
        rank = 0;
    if (rank >= p->options->n_ranks)
        return eddy__graph_fail_at(
            p->err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE, node,
            "its device '%.64s' is that of rank %llu; there "
            "are %u",
            node->device, (unsigned long long)rank,
            (unsigned)p->options->n_ranks);
    p->placed[v].rank = (uint32_t)rank;
    return EDDY_OK;
}

static eddy_status wish_all(placing *pl)
{
    const eddy_partition_options *o = pl->p->options;

    for (size_t i = 0; i < o->n_places; i++)
        if (!eddy__map_set(&pl->prefixes, o->places[i].prefix, (uint32_t)i))
            return eddy__fail_memory(pl->p->err);
    for (eddy_node v = 0; v < pl->p->whole->n_nodes; v++)
        if (pl->p->placed[v].is_needed)
            EDDY_TRY(wish(pl, v));
    return EDDY_OK;
}

/* ---- handles and references ---- */

static bool is_shared(const placing *pl, eddy_output output)
{
    const eddy__node *from = eddy__partition_node(pl->p, output.node);

    return pl->is_alias[output.node] ||
           eddy__node_gives_reference(from, output.index) ||
           (output.index < from->n_outputs &&
            from->output_dtypes[output.index] == EDDY_RESOURCE);
}

static void join_inputs(const placing *pl, eddy_node v)
{
    const eddy__node *node = eddy__partition_node(pl->p, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (!is_shared(pl, node->inputs[i]))
            continue;
        eddy__group_join(pl->group, v, node->inputs[i].node);
        pl->is_grouped[v] = pl->is_grouped[node->inputs[i].node] = 1;
    }
}

/* Is it a Merge, or what puts out its input 0? */
static bool may_alias(const eddy__node *node)
{
    const eddy__role role = eddy__node_role(node);

    return eddy__op_hands_on(role) || role == EDDY__ROLE_MERGE;
}

/* A handle whose dtype does not tell that it is one: it is a text. */
static bool makes_text_handle(const eddy__node *node)
{
    return strcmp(node->op_name, "TensorArrayV2") == 0 ||
           strcmp(node->op_name, "TensorArrayGradV2") == 0;
}

/*
 * Does it put out a variable's buffer, as TensorFlow's Identity does, or a
 * handle that is a text?
 */
static bool is_alias(const placing *pl, eddy_node v)
{
    const eddy__node *node = eddy__partition_node(pl->p, v);
    const uint32_t n =
        eddy__node_role(node) == EDDY__ROLE_MERGE ? node->n_inputs : 1;

    if (!may_alias(node))
        return makes_text_handle(node);
    for (uint32_t i = 0; i < n && i < node->n_inputs; i++) {
        const eddy_output in = node->inputs[i];

        if (pl->is_alias[in.node] ||
            eddy__node_gives_reference(eddy__partition_node(pl->p, in.node),
                                       in.index))
            return true;
    }
    return false;
}

/* Twice: what comes round a loop is there the second time. */
static void find_aliases(const placing *pl)
{
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < pl->n_order; i++)
            pl->is_alias[pl->order[i]] = is_alias(pl, pl->order[i]);
}

/* What goes by one name is one thing of the session. */
static eddy_status join_names(const placing *pl, eddy__map *names, eddy_node v)
{
    eddy__partitioning *p = pl->p;
    const eddy__node *node = eddy__partition_node(p, v);
    const eddy_attr *attr = eddy__node_attr(node, "shared_name");
    const char *name;
    uint32_t first;

    if (!attr || attr->kind != EDDY_ATTR_STRING || attr->n != 1)
        return EDDY_OK;
    name = attr->as.strings[0].length > 0
               ? eddy__arena_text(&p->arena, attr->as.strings[0].data,
                                  attr->as.strings[0].length)
               : node->name;
    if (!name)
        return eddy__fail_memory(p->err);
    first = eddy__map_find(names, name, strlen(name));
    pl->is_grouped[v] = 1;
    if (first != EDDY__NOT_FOUND) {
        eddy__group_join(pl->group, v, first);
        return EDDY_OK;
    }
    return eddy__map_set(names, name, v) ? EDDY_OK : eddy__fail_memory(p->err);
}

static eddy_status join_all(const placing *pl)
{
    eddy__partitioning *p = pl->p;
    eddy__map names = {.allocator = &p->budget->allocator};
    eddy_status status = EDDY_OK;

    find_aliases(pl);
    for (uint32_t v = 0; v < p->whole->n_nodes; v++)
        pl->group[v] = v;
    for (eddy_node v = 0; v < p->whole->n_nodes && status == EDDY_OK; v++) {
        if (!p->placed[v].is_needed)
            continue;
        join_inputs(pl, v);
        status = join_names(pl, &names, v);
    }
    eddy__map_deinit(&names);
    for (eddy_node v = 0; v < p->whole->n_nodes; v++)
        p->placed[v].rank = p->placed[eddy__group_find(pl->group, v)].rank;
    return status;
}

/* ---- control flow ---- */

/* Puts `from`, of which `v` reads an output, where its first consumer is. */
static void follow_consumer(const placing *pl, uint8_t *is_done,
                            const uint32_t *wished, eddy_node v)
{
    const eddy__node *node = eddy__partition_node(pl->p, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;
        const eddy__role role =
            eddy__node_role(eddy__partition_node(pl->p, from));

        if (is_done[from] || pl->is_grouped[from] ||
            (role != EDDY__ROLE_ENTER && role != EDDY__ROLE_NEXT_ITERATION))
            continue;
        pl->p->placed[from].rank = wished[v];
        is_done[from] = 1;
    }
}

/* The node whose value `v` passes on, past Switches and Exits. */
static eddy_node passed_on(const placing *pl, eddy_node v)
{
    for (;;) {
        const eddy__node *node = eddy__partition_node(pl->p, v);
        const eddy__role role = eddy__node_role(node);

        if ((role != EDDY__ROLE_SWITCH && role != EDDY__ROLE_EXIT) ||
            pl->is_grouped[v])
            return v;
        v = node->inputs[0].node;
    }
}

static eddy_status follow_control_flow(const placing *pl)
{
    eddy__partitioning *p = pl->p;
    const size_t n = p->whole->n_nodes;
    uint32_t *wished = eddy__arena_allocate(&p->arena, n, sizeof *wished);
    uint8_t *is_done = eddy__arena_allocate_zeroed(&p->arena, n, 1);

    if (!wished || !is_done)
        return eddy__fail_memory(p->err);
    for (size_t v = 0; v < n; v++)
        wished[v] = p->placed[v].rank;
    for (eddy_node v = 0; v < n; v++)
        if (p->placed[v].is_needed)
            follow_consumer(pl, is_done, wished, v);
    for (eddy_node v = 0; v < n; v++)
        if (p->placed[v].is_needed)
            p->placed[v].rank = p->placed[passed_on(pl, v)].rank;
    return EDDY_OK;
}

/* ---- what runs in the first iteration alone ---- */

/* Does `v` read what a loop is entered with, past its Merges? */
static bool runs_once(const eddy__partitioning *p, const uint8_t *once,
                      eddy_node v)
{
    const eddy__node *node = eddy__partition_node(p, v);

    if (eddy__node_role(node) == EDDY__ROLE_MERGE)
        return false;
    if (eddy__node_role(node) == EDDY__ROLE_ENTER)
        return !eddy__node_bool(node, "is_constant");
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (once[node->inputs[i].node])
            return true;
    for (uint32_t i = 0; i < node->n_controls; i++)
        if (once[node->controls[i]])
            return true;
    return false;
}

static eddy_status check_edge(const eddy__partitioning *p, const uint8_t *once,
                              eddy_node from, eddy_node to)
{
    const eddy__node *node = eddy__partition_node(p, from);

    if (!once[from] || !eddy__partition_crosses(p, from, to) ||
        (eddy__node_role(node) == EDDY__ROLE_ENTER && !p->options->is_literal))
        return EDDY_OK;
    return eddy__graph_fail_at(
        p->err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE, node,
        "it runs in the first iteration of its loop alone, "
        "and another rank would wait for it in the others");
}

/* No rank may wait in every iteration for what is sent in one. */
static eddy_status check_once(const placing *pl)
{
    eddy__partitioning *p = pl->p;
    uint8_t *once =
        eddy__arena_allocate_zeroed(&p->arena, p->whole->n_nodes, 1);

    if (!once)
        return eddy__fail_memory(p->err);
    for (size_t k = 0; k < pl->n_order; k++) {
        const eddy_node v = pl->order[k];
        const eddy__node *node = eddy__partition_node(p, v);

        /* An Exit comes once in the frame around it, which is all there is. */
        once[v] =
            eddy__node_role(node) != EDDY__ROLE_EXIT && runs_once(p, once, v);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            EDDY_TRY(check_edge(p, once, node->inputs[i].node, v));
        for (uint32_t i = 0; i < node->n_controls; i++)
            EDDY_TRY(check_edge(p, once, node->controls[i], v));
    }
    return EDDY_OK;
}

eddy_status eddy__partition_place(eddy__partitioning *p)
{
    const size_t n = p->whole->n_nodes;
    placing pl = {
        .p = p,
        .prefixes = {.allocator = &p->budget->allocator},
        .group = eddy__arena_allocate(&p->arena, n, sizeof *pl.group),
        .is_grouped = eddy__arena_allocate_zeroed(&p->arena, n, 1),
        .is_alias = eddy__arena_allocate_zeroed(&p->arena, n, 1),
    };
    eddy_status status;

    if (!pl.group || !pl.is_grouped || !pl.is_alias)
        return eddy__fail_memory(p->err);
    EDDY_TRY(eddy__partition_order(p, &pl.order, &pl.n_order));
    status = wish_all(&pl);
    eddy__map_deinit(&pl.prefixes);
    EDDY_TRY(status);
    EDDY_TRY(join_all(&pl));
    EDDY_TRY(follow_control_flow(&pl));
    return check_once(&pl);
}

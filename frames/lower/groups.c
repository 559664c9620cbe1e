/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the members of each group, holds them against each other, and puts
 * edges in their place, in a copy of the graph.
 */
#include "frames/lower/groups.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/edit.h"
#include "frames/lower/collective.h"

#include <stdlib.h>
#include <string.h>

typedef struct member {
    eddy_node node;
    eddy__join join;
    bool scatters;
    eddy__collective_keys keys;
    const eddy__node *of;
} member;

typedef struct joining {
    const eddy__selection *selection;
    eddy_graph *copy;
    eddy__arena arena;
    eddy__flow flow;
    eddy__emitter emitter;
    member *members;
    size_t n;
    eddy_error *err;
} joining;

static bool is_member(const eddy__selection *s, eddy_node v)
{
    return eddy__selected(s, v) && !(s->is_fed && s->is_fed[v]) &&
           eddy__collective_join(eddy__graph_node(s->graph, v)) !=
               EDDY__JOIN_NONE;
}

bool eddy__has_groups(const eddy__selection *selection)
{
    for (eddy_node v = 0; v < selection->graph->n_nodes; v++)
        if (is_member(selection, v))
            return true;
    return false;
}

static const eddy__node *node_of(const joining *j, const member *m)
{
    return eddy__graph_node(j->selection->graph, m->node);
}

/* ---- members ---- */

/*
 * 0: reductions, 1: rows, 2: broadcasts, 3: exchanges, 4: parts of reductions.
 * Groups of each have their own keys.
 */
static int family(const member *m)
{
    return m->join == EDDY__JOIN_ROWS                                    ? 1
           : m->join == EDDY__JOIN_SEND || m->join == EDDY__JOIN_RECEIVE ? 2
           : m->join == EDDY__JOIN_EXCHANGE                              ? 3
           : m->scatters                                                 ? 4
                                                                         : 0;
}

static bool reduces(const member *m)
{
    return family(m) == 0 || family(m) == 4;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_groups(const member *a, const member *b)
{
    int c = compare_numbers(family(a), family(b));

    if (c == 0)
        c = compare_numbers(a->keys.group, b->keys.group);
    return c != 0 ? c : compare_numbers(a->keys.instance, b->keys.instance);
}

static int compare_members(const void *left, const void *right)
{
    const member *a = left, *b = right;
    int c = compare_groups(a, b);

    if (c == 0)
        c = eddy__collective_compare(a->of, b->of);
    return c != 0 ? c : compare_numbers(a->node, b->node);
}

static eddy_status find_members(joining *j)
{
    const eddy__selection *s = j->selection;
    size_t n = 0;

    for (eddy_node v = 0; v < s->graph->n_nodes; v++)
        n += is_member(s, v);
    j->members = eddy__arena_allocate(&j->arena, n, sizeof *j->members);
    if (!j->members)
        return eddy__fail_memory(j->err);
    EDDY_TRY(eddy__flow_build(&j->flow, s, &j->arena, j->err));
    for (eddy_node v = 0; v < s->graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(s->graph, v);
        member *m = &j->members[j->n];

        if (!is_member(s, v))
            continue;
        *m = (member){.node = v,
                      .join = eddy__collective_join(node),
                      .scatters = eddy__collective_scatters(node),
                      .keys = eddy__collective_keys_of(&j->flow, v),
                      .of = node};
        if (m->keys.size > 1 && m->keys.group >= 0 && m->keys.instance >= 0)
            j->n++;
    }
    qsort(j->members, j->n, sizeof *j->members, compare_members);
    return EDDY_OK;
}

/* ---- a group ---- */

static eddy_status refuse(const joining *j, const member *m, const char *why)
{
    return eddy__graph_fail_at(
        j->err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE, node_of(j, m),
        "%s: group_key %lld, instance_key %lld", why, (long long)m->keys.group,
        (long long)m->keys.instance);
}

/* Who sends; there is one. */
static const member *find_sender(const member *group, size_t n)
{
    const member *sender = NULL;
    size_t n_senders = 0;

    for (size_t i = 0; i < n; i++)
        if (group[i].join == EDDY__JOIN_SEND) {
            sender = &group[i];
            n_senders++;
        }
    return n_senders == 1 ? sender : NULL;
}

static eddy_status check(const joining *j, const member *group, size_t n)
{
    const eddy__node *first = node_of(j, &group[0]);

    for (size_t i = 0; i < n; i++) {
        const eddy__node *node = node_of(j, &group[i]);

        if (group[i].keys.size != group[0].keys.size)
            return refuse(j, &group[i], "members do not agree on group_size");
        if (node->output_dtypes[0] != first->output_dtypes[0])
            return refuse(j, &group[i], "members have different dtypes");
        if (group[i].join == EDDY__JOIN_UNKNOWN)
            return refuse(j, &group[i], "no such reduction is known");
        if (group[i].join == EDDY__JOIN_MEAN &&
            eddy__dtype_in((eddy_dtype)node->output_dtypes[0], EDDY__INTEGERS))
            return refuse(j, &group[i], "integers have no mean that is one");
        if (reduces(&group[i]) && group[i].join != group[0].join)
            return refuse(j, &group[i], "members reduce in different ways");
    }
    if ((int64_t)n > group[0].keys.size)
        return refuse(j, &group[n - 1],
                      "there are more members than group_size says");
    return EDDY_OK;
}

/* What each member gets; NULL without memory. */
static eddy_output *join_values(joining *j, const member *group, size_t n)
{
    const eddy__joining where = {.emitter = &j->emitter,
                                 .arena = &j->arena,
                                 .of = node_of(j, &group[0])};
    eddy_output *x = eddy__arena_allocate(&j->arena, n, sizeof *x);
    eddy_output *y = eddy__arena_allocate(&j->arena, n, sizeof *y);
    const eddy__joined of = {
        .how = group[0].join, .x = x, .n = (uint32_t)n, .home = 0};

    if (!eddy__emitter_need(&j->emitter, x) ||
        !eddy__emitter_need(&j->emitter, y))
        return NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = node_of(j, &group[i])->inputs[0];
    j->emitter.options.device = where.of->device;
    eddy__collective_share(&where, &of, y);
    return y;
}

static eddy_status replace(joining *j, const member *m, eddy_output value)
{
    const eddy__joining where = {
        .emitter = &j->emitter, .arena = &j->arena, .of = node_of(j, m)};
    const eddy_shape shape = m->join == EDDY__JOIN_RECEIVE
                                 ? eddy__collective_shape(&j->flow, m->node)
                                 : (eddy_shape){.rank = -1};
    const eddy_node node =
        eddy__collective_result(&where, NULL, &value, &shape);

    for (uint32_t i = 0; i < where.of->n_controls; i++)
        eddy__emitter_control(&j->emitter, node, where.of->controls[i]);
    EDDY_TRY(j->emitter.status);
    eddy__edit_become_last(j->copy, m->node);
    return EDDY_OK;
}

static eddy_status join(joining *j, const member *group, size_t n)
{
    const bool is_broadcast = family(&group[0]) == 2;
    const member *sender = find_sender(group, n);
    const eddy_output *values;

    EDDY_TRY(check(j, group, n));
    if ((int64_t)n < group[0].keys.size)
        return EDDY_OK;
    if (is_broadcast && !sender)
        return refuse(j, &group[0], "a broadcast has one sender");
    values =
        is_broadcast ? node_of(j, sender)->inputs : join_values(j, group, n);
    EDDY_TRY(j->emitter.status);
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(replace(j, &group[i], values[is_broadcast ? 0 : i]));
    return EDDY_OK;
}

static eddy_status join_all(joining *j)
{
    size_t end;

    EDDY_TRY(find_members(j));
    for (size_t begin = 0; begin < j->n; begin = end) {
        end = begin + 1;
        while (end < j->n &&
               compare_groups(&j->members[begin], &j->members[end]) == 0)
            end++;
        EDDY_TRY(join(j, &j->members[begin], end - begin));
    }
    return EDDY_OK;
}

eddy_status eddy__join_groups(const eddy__selection *selection,
                              eddy_graph **out_graph, eddy_error *err)
{
    joining j = {.selection = selection,
                 .arena = {.allocator = eddy__selection_allocator(selection)},
                 .err = err};
    eddy_status status = eddy__graph_clone(
        selection->graph, eddy__selection_budget(selection), &j.copy, err);

    if (status != EDDY_OK)
        return status;
    j.emitter = (eddy__emitter){
        .graph = j.copy, .err = err, .options = {.forward_edges = true}};
    status = join_all(&j);
    eddy__arena_destroy(&j.arena);
    if (status == EDDY_OK)
        *out_graph = j.copy;
    else
        eddy_graph_destroy(j.copy);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a loop of nodes that a graph has, in a new graph, in this order: what
 * does not depend on the loop; the loop, whose parts are copies of the nodes
 * inside; a node for each outgoing one, of its name; what depends on those.
 *
 * Within the loop, what the part after reads of the part before are internals
 * of the loop that eddy_nnc_while makes.
 */
#include "frontends/nnc/nnc_copy.h"

#include "core/base/status.h"
#include "core/graph/draft.h"
#include "core/graph/name.h"
#include "frames/build/builder.h"

#include <stdio.h>
#include <string.h>

/* ---- the parts of the loop ---- */

/* The condition, which waits for all that the loop waits for at this point. */
static eddy_status copy_condition(eddy__nnc_copier *c, eddy_output *out_go)
{
    const eddy_nnc_split_spec *spec = c->r->spec;
    eddy_output *asked =
        eddy__arena_allocate(&c->arena, 1 + spec->n_tensors, sizeof *asked);
    eddy_node *controls =
        eddy__arena_allocate(&c->arena, 1 + c->n_awaited, sizeof *controls);
    eddy_node_spec node = {.size = sizeof node, .op = "Identity"};
    eddy_host_spec host = {.size = sizeof host, .user = spec->condition_user};
    size_t n = 0;

    if (!asked || !controls)
        return eddy__fail_memory(c->err);
    for (size_t i = 0; i < c->n_awaited; i++)
        controls[n++] = c->made[c->awaited[i]];
    if (c->trip_end != EDDY_NO_NODE)
        controls[n++] = c->trip_end;
    asked[0] = c->count;
    for (size_t i = 0; i < spec->n_tensors; i++)
        asked[1 + i] = eddy__nnc_look_up(c, spec->tensors[i]);
    host.controls = node.controls = controls;
    host.n_controls = node.n_controls = n;
    host.inputs = asked;
    host.n_inputs = 1 + spec->n_tensors;
    if (spec->condition) {
        EDDY_TRY(eddy_graph_add_host_predicate(c->to, &host, spec->condition,
                                               out_go, c->err));
        eddy__host_table_note_trip(&c->to->host);
        return EDDY_OK;
    }
    node.inputs = asked + 1;
    node.n_inputs = 1;
    out_go->index = 0;
    return eddy_graph_add(c->to, &node, &out_go->node, c->err);
}

static void begin_part(eddy__nnc_copier *c, const eddy_output *inputs)
{
    c->count = inputs[0];
    c->parameters = inputs + 1;
}

static eddy_status copy_before(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    eddy__nnc_copier *c = user;
    const eddy_nnc_split_spec *spec = c->r->spec;
    size_t n_results = 0;

    (void)graph;
    (void)n;
    (void)err;
    begin_part(c, inputs);
    EDDY_TRY(eddy__nnc_copy_part(c, c->r->before, c->r->n_before));
    for (size_t i = 0; i < spec->n_outgoing; i++) {
        const eddy_node v = spec->outgoing[i];

        for (uint32_t j = 0; j < eddy__nnc_old(c, v)->n_outputs; j++)
            out_results[n_results++] =
                eddy__nnc_look_up(c, (eddy_output){v, j});
    }
    for (size_t i = 0; i < c->n_internals; i++)
        out_results[n_results++] = eddy__nnc_look_up(c, c->internals[i]);
    return copy_condition(c, &out_results[n_results]);
}

/* Waits for the ends that have been copied now. */
static eddy_status end_trip(eddy__nnc_copier *c)
{
    const eddy_nnc_split_spec *spec = c->r->spec;
    eddy_node *ends =
        eddy__arena_allocate(&c->arena, spec->n_ends, sizeof *ends);
    eddy_node_spec node = {.size = sizeof node, .op = "NoOp", .controls = ends};

    if (!ends)
        return eddy__fail_memory(c->err);
    for (size_t i = 0; i < spec->n_ends; i++)
        if (!eddy__nnc_is(c->r, spec->ends[i], EDDY__NNC_BEFORE))
            ends[node.n_controls++] = c->made[spec->ends[i]];
    return node.n_controls > 0
               ? eddy_graph_add(c->to, &node, &c->trip_end, c->err)
               : EDDY_OK;
}

static eddy_status copy_after(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    eddy__nnc_copier *c = user;
    const eddy_nnc_split_spec *spec = c->r->spec;

    (void)graph;
    (void)n;
    (void)err;
    begin_part(c, inputs);
    for (size_t i = 0; i < c->n_internals; i++) {
        const eddy_output old = c->internals[i];

        c->seen[c->first_output[old.node] + old.index] =
            inputs[1 + spec->n_carried + i];
    }
    EDDY_TRY(eddy__nnc_copy_part(c, c->r->after, c->r->n_after));
    for (size_t i = 0; i < spec->n_carried; i++)
        out_results[i] = eddy__nnc_look_up(c, spec->carried[i].from);
    return end_trip(c);
}

/* ---- what the loop is made of ---- */

/* Notes an output of the part before that the part after needs, once. */
static void need(eddy__nnc_copier *c, eddy_output old, bool *is_needed)
{
    const size_t at = c->first_output[old.node] + old.index;

    if (!eddy__nnc_is(c->r, old.node, EDDY__NNC_BEFORE) || is_needed[at])
        return;
    is_needed[at] = true;
    c->internals[c->n_internals++] = old;
}

static void await(eddy__nnc_copier *c, eddy_node node)
{
    for (size_t i = 0; i < c->n_awaited; i++)
        if (c->awaited[i] == node)
            return;
    c->awaited[c->n_awaited++] = node;
}

static void find_internals(eddy__nnc_copier *c, bool *is_needed)
{
    const eddy_nnc_split_spec *spec = c->r->spec;

    for (size_t i = 0; i < c->r->n_after; i++) {
        const eddy__node *node = eddy__nnc_old(c, c->r->after[i]);

        for (uint32_t j = 0; j < node->n_inputs; j++)
            need(c, node->inputs[j], is_needed);
        for (uint32_t j = 0; j < node->n_controls; j++)
            if (eddy__nnc_is(c->r, node->controls[j], EDDY__NNC_BEFORE))
                await(c, node->controls[j]);
    }
    for (size_t i = 0; i < spec->n_carried; i++)
        need(c, spec->carried[i].from, is_needed);
    for (size_t i = 0; i < spec->n_outgoing; i++)
        await(c, spec->outgoing[i]);
    for (size_t i = 0; i < spec->n_ends; i++)
        if (eddy__nnc_is(c->r, spec->ends[i], EDDY__NNC_BEFORE))
            await(c, spec->ends[i]);
}

/* Room for the node with most inputs, and that with most controls. */
static bool make_room(eddy__nnc_copier *c)
{
    size_t n_inputs = 0, n_controls = 0;

    for (eddy_node v = 0; v < c->r->graph->n_nodes; v++) {
        const eddy__node *node = eddy__nnc_old(c, v);

        n_inputs = node->n_inputs > n_inputs ? node->n_inputs : n_inputs;
        n_controls =
            node->n_controls > n_controls ? node->n_controls : n_controls;
    }
    c->inputs = eddy__arena_allocate(&c->arena, n_inputs, sizeof *c->inputs);
    c->controls =
        eddy__arena_allocate(&c->arena, n_controls + 1, sizeof *c->controls);
    return c->inputs && c->controls;
}

static eddy_status prepare(eddy__nnc_copier *c)
{
    const size_t n = c->r->graph->n_nodes;
    size_t n_seen = 0;
    bool *is_needed;

    c->made = eddy__arena_allocate(&c->arena, n, sizeof *c->made);
    c->first_output =
        eddy__arena_allocate(&c->arena, n, sizeof *c->first_output);
    c->awaited = eddy__arena_allocate(&c->arena, n, sizeof *c->awaited);
    if (!c->made || !c->first_output || !c->awaited || !make_room(c))
        return eddy__fail_memory(c->err);
    for (eddy_node v = 0; v < n; v++) {
        c->made[v] = EDDY_NO_NODE;
        c->first_output[v] = n_seen;
        n_seen += eddy__nnc_is(c->r, v, EDDY__NNC_INSIDE)
                      ? eddy__nnc_old(c, v)->n_outputs
                      : 0;
    }
    c->seen = eddy__arena_allocate(&c->arena, n_seen, sizeof *c->seen);
    c->internals =
        eddy__arena_allocate(&c->arena, n_seen, sizeof *c->internals);
    is_needed = eddy__arena_allocate_zeroed(&c->arena, n_seen, 1);
    if (!c->seen || !c->internals || !is_needed)
        return eddy__fail_memory(c->err);
    find_internals(c, is_needed);
    for (size_t i = 0; i < c->r->spec->n_outgoing; i++)
        c->n_outputs += eddy__nnc_old(c, c->r->spec->outgoing[i])->n_outputs;
    c->trip_end = EDDY_NO_NODE;
    return EDDY_OK;
}

/* Is there a node of that name, or one in a scope of that name? */
static bool is_taken(const eddy_graph *graph, const char *name)
{
    const size_t length = strlen(name);

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const char *other = graph->nodes[v].name;

        if (strncmp(other, name, length) == 0 &&
            (other[length] == '\0' || other[length] == '/'))
            return true;
    }
    return false;
}

/* Names of the loop and of the copies ahead of it that nothing has. */
static eddy_status choose_names(eddy__nnc_copier *c)
{
    const char *name = c->r->spec->name;
    const eddy_graph *graph = c->r->graph;
    int length;
    size_t n = 0;

    if (!name || !*name)
        name = "while";
    EDDY_TRY(eddy__name_check(name, c->err));
    if (strlen(name) > EDDY__NNC_MAX_NAME - 32)
        return eddy__fail(c->err, EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME,
                          "the name of a loop has more than %d bytes",
                          EDDY__NNC_MAX_NAME - 32);
    length = snprintf(c->name, sizeof c->name, "%s", name);
    do {
        if (n > 0)
            (void)snprintf(c->name + length, sizeof c->name - (size_t)length,
                           "_%zu", n);
        (void)snprintf(c->first, sizeof c->first, "%.*s_first",
                       EDDY__NNC_MAX_NAME - 8, c->name);
        n++;
    } while (is_taken(graph, c->name) || is_taken(graph, c->first));
    return EDDY_OK;
}

/* ---- the whole ---- */

/* In place of each outgoing node, one of its name that has its values. */
static eddy_status name_outputs(eddy__nnc_copier *c, const eddy_output *values)
{
    const eddy_nnc_split_spec *spec = c->r->spec;

    for (size_t i = 0; i < spec->n_outgoing; i++) {
        const eddy__node *from = eddy__nnc_old(c, spec->outgoing[i]);
        const eddy_node_spec node = {
            .size = sizeof node,
            .op = from->n_outputs == 1 ? "Identity" : "IdentityN",
            .name = from->name,
            .inputs = values,
            .n_inputs = from->n_outputs,
        };

        EDDY_TRY(
            eddy_graph_add(c->to, &node, &c->made[spec->outgoing[i]], c->err));
        values += from->n_outputs;
    }
    return EDDY_OK;
}

static eddy_status build_loop(eddy__nnc_copier *c, eddy_output *initial,
                              eddy_output *outputs)
{
    const eddy_nnc_split_spec *split = c->r->spec;
    const eddy_nnc_while_spec spec = {
        .size = sizeof spec,
        .name = c->name,
        .initial = initial,
        .n_parameters = split->n_carried,
        .n_outputs = c->n_outputs,
        .n_internals = c->n_internals,
        .before = copy_before,
        .after = copy_after,
        .user = c,
        .changes_shape = split->changes_shape,
        .parallel_iterations = split->parallel_iterations,
        .accumulates = split->accumulates,
    };

    for (size_t i = 0; i < split->n_carried; i++) {
        const eddy_output old =
            split->initial ? split->initial[i] : split->carried[i].to;

        initial[i] = (eddy_output){c->made[old.node], old.index};
    }
    EDDY_TRY(eddy_nnc_while(c->to, &spec, outputs, NULL, c->err));
    return name_outputs(c, outputs);
}

/* Of nodes inside only the outgoing ones have something in their place. */
static void report(const eddy__nnc_copier *c, eddy_node *out_nodes)
{
    for (eddy_node v = 0; out_nodes && v < c->r->graph->n_nodes; v++)
        out_nodes[v] = eddy__nnc_is(c->r, v, EDDY__NNC_INSIDE) &&
                               !eddy__nnc_is(c->r, v, EDDY__NNC_OUTGOING)
                           ? EDDY_NO_NODE
                           : c->made[v];
}

static eddy_status copy_all(eddy__nnc_copier *c)
{
    const size_t n = c->r->spec->n_carried;
    eddy_output *initial = eddy__arena_allocate(&c->arena, n, sizeof *initial);
    eddy_output *outputs;

    EDDY_TRY(prepare(c));
    EDDY_TRY(choose_names(c));
    outputs = eddy__arena_allocate(&c->arena, c->n_outputs, sizeof *outputs);
    if (!initial || !outputs)
        return eddy__fail_memory(c->err);
    EDDY_TRY(eddy__nnc_copy_outside(c, false));
    EDDY_TRY(build_loop(c, initial, outputs));
    return eddy__nnc_copy_outside(c, true);
}

static eddy_status split(const eddy__nnc_region *r, eddy_graph **out_graph,
                         eddy_node *out_nodes, eddy_error *err)
{
    eddy__nnc_copier c = {
        .r = r, .arena = {.allocator = r->graph->arena.allocator}, .err = err};
    eddy_status status = eddy__graph_clone_empty(r->graph, NULL, &c.to, err);

    c.copier.arena = &c.arena;
    if (status != EDDY_OK)
        return status;
    status = copy_all(&c);
    if (status == EDDY_OK) {
        report(&c, out_nodes);
        *out_graph = c.to;
    } else {
        eddy_graph_destroy(c.to);
    }
    eddy__arena_destroy(&c.arena);
    return status;
}

/* ---- checks ---- */

static eddy_status want_arrays(const eddy_nnc_split_spec *spec, eddy_error *err)
{
    EDDY_REFUSE_IF(!spec->incoming, err, "NULL for the incoming nodes");
    EDDY_REFUSE_IF(!spec->outgoing, err, "NULL for the outgoing nodes");
    EDDY_REFUSE_IF(!spec->ends, err, "NULL for the ends");
    EDDY_REFUSE_IF(spec->n_carried > 0 && !spec->carried, err,
                   "NULL for the parameter map");
    EDDY_REFUSE_IF(spec->n_tensors > 0 && !spec->tensors, err,
                   "NULL for the tensors of the condition");
    return EDDY_OK;
}

static eddy_status check_nodes(const eddy_graph *graph, const eddy_node *nodes,
                               size_t n, eddy_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i] >= graph->n_nodes)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                              "the graph has %zu nodes, none has number %u",
                              graph->n_nodes, (unsigned)nodes[i]);
    return EDDY_OK;
}

/* Each is to have a node in its place, with its values. */
static eddy_status check_outgoing(const eddy_graph *graph,
                                  const eddy_nnc_split_spec *spec,
                                  eddy_error *err)
{
    for (size_t i = 0; i < spec->n_outgoing; i++) {
        const eddy__node *node = &graph->nodes[spec->outgoing[i]];
        bool is_again = false;

        for (size_t j = 0; j < i; j++)
            is_again = is_again || spec->outgoing[j] == spec->outgoing[i];
        if (is_again || node->n_outputs == 0)
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_SUBGRAPH, node,
                "outgoing node '%.64s' %s", node->name,
                is_again ? "is named twice" : "has no outputs");
    }
    return EDDY_OK;
}

static eddy_status check_outputs(const eddy_graph *graph,
                                 const eddy_nnc_split_spec *spec,
                                 eddy_error *err)
{
    for (size_t i = 0; i < spec->n_carried; i++) {
        EDDY_TRY(eddy__graph_check_output(graph, spec->carried[i].from, err));
        EDDY_TRY(eddy__graph_check_output(graph, spec->carried[i].to, err));
    }
    for (size_t i = 0; spec->initial && i < spec->n_carried; i++)
        EDDY_TRY(eddy__graph_check_output(graph, spec->initial[i], err));
    if (spec->counter)
        EDDY_TRY(eddy__graph_check_output(graph, *spec->counter, err));
    EDDY_TRY(
        eddy__builder_want_values(graph, spec->tensors, spec->n_tensors, err));
    if (spec->condition)
        return EDDY_OK;
    if (spec->n_tensors != 1)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "%zu tensors for the condition; one bool is wanted, "
                          "or a function of the host",
                          spec->n_tensors);
    return eddy__builder_want_predicate(
        graph, spec->name && *spec->name ? spec->name : "while",
        spec->tensors[0], err);
}

static eddy_status check(const eddy_graph *graph,
                         const eddy_nnc_split_spec *spec, eddy_error *err)
{
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    EDDY_TRY(check_nodes(graph, spec->incoming, spec->n_incoming, err));
    EDDY_TRY(check_nodes(graph, spec->outgoing, spec->n_outgoing, err));
    EDDY_TRY(check_nodes(graph, spec->ends, spec->n_ends, err));
    EDDY_TRY(check_outgoing(graph, spec, err));
    return check_outputs(graph, spec, err);
}

eddy_status eddy_nnc_split(const eddy_graph *graph,
                           const eddy_nnc_split_spec *spec,
                           eddy_graph **out_graph, eddy_node *out_nodes,
                           eddy_error *err)
{
    eddy__nnc_region region;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the loop has the wrong size");
    EDDY_REFUSE_IF(!out_graph, err, "nowhere to put the graph that is made");
    EDDY_REFUSE_IF(spec->n_incoming == 0, err, "no incoming nodes");
    EDDY_REFUSE_IF(spec->n_outgoing == 0, err, "no outgoing nodes");
    EDDY_REFUSE_IF(spec->n_ends == 0, err, "no ends");
    EDDY_TRY(want_arrays(spec, err));
    EDDY_TRY(check(graph, spec, err));
    status = eddy__nnc_region_init(&region, graph, spec, err);
    if (status == EDDY_OK)
        status = split(&region, out_graph, out_nodes, err);
    eddy__nnc_region_deinit(&region);
    return status;
}

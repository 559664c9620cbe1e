/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a body are needed, and what they are to lowering. */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/functional.h"
#include "frames/lower/lowering.h"

#include <string.h>

/* ---- which nodes are needed ---- */

typedef struct walk {
    const eddy_graph *graph;
    uint8_t *kind; /* EDDY__PLAIN: met */
    eddy_node *stack;
    size_t n;
} walk;

static void reach(walk *w, eddy_node node)
{
    if (w->kind[node] != EDDY__DROPPED)
        return;
    w->kind[node] = EDDY__PLAIN;
    w->stack[w->n++] = node;
}

/* The op, also of a node that is opaque for the sake of its attributes. */
static const eddy__op *op_of(const eddy_graph *graph, const eddy__node *node)
{
    return node->op ? node->op
                    : eddy__registry_find(&graph->ctx->registry, node->op_name);
}

/* Does running the node do more than give its outputs? */
static bool is_stateful(const eddy__lowering *l, const eddy__node *node)
{
    const eddy__op *op = op_of(l->graph, node);
    const eddy__function *function;

    if (op)
        return (op->flags & EDDY_OP_STATEFUL) != 0;
    function = eddy__graph_find_function(l->graph, node->op_name);
    return function && function->is_stateful;
}

/* As TensorFlow: what is returned, what must run, and what is stateful. */
static void reach_all(const eddy__lowering *l, const eddy__function *function,
                      walk *w)
{
    for (size_t i = 0; i < function->n_results; i++)
        reach(w, function->results[i].node);
    for (size_t i = 0; i < function->n_control_results; i++)
        reach(w, function->control_results[i]);
    for (eddy_node id = 0; id < w->graph->n_nodes; id++)
        if (is_stateful(l, eddy__graph_node(w->graph, id)))
            reach(w, id);
    while (w->n > 0) {
        const eddy__node *node = eddy__graph_node(w->graph, w->stack[--w->n]);

        for (uint32_t i = 0; i < node->n_inputs; i++)
            reach(w, node->inputs[i].node);
        for (uint32_t i = 0; i < node->n_controls; i++)
            reach(w, node->controls[i]);
    }
}

static eddy_status reach_needed(eddy__lowering *l, eddy__routine *r)
{
    const eddy__selection *selection = l->request->selection;
    const size_t n = r->graph->n_nodes;
    walk w = {.graph = r->graph, .kind = r->kind};

    if (!r->function) {
        for (eddy_node id = 0; id < n; id++)
            if (eddy__selected(selection, id))
                r->kind[id] = EDDY__PLAIN;
        return EDDY_OK;
    }
    w.stack = eddy__allocate(l->arena.allocator, n, sizeof *w.stack);
    if (!w.stack)
        return eddy__fail_memory(l->err);
    reach_all(l, r->function, &w);
    eddy__free(l->arena.allocator, w.stack, n, sizeof *w.stack);
    return EDDY_OK;
}

/* ---- what they are ---- */

static bool is_primitive(const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
        return true;
    default:
        return false;
    }
}

static void sort_nodes(const eddy__lowering *l, eddy__routine *r)
{
    for (eddy_node id = 0; id < r->graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(r->graph, id);

        if (r->kind[id] != EDDY__PLAIN)
            continue;
        if (eddy__functional_role(l->graph, node) != EDDY__ROLE_NONE) {
            r->kind[id] = EDDY__CALLED;
            r->number[id] = r->n_calls;
            r->calls[r->n_calls++] = id;
            continue;
        }
        r->has_primitives |= is_primitive(node);
        if (r->function && is_stateful(l, node))
            r->effects[r->n_effects++] = id;
    }
}

/* How many of the needed nodes may be calls, or have effects. */
static size_t count_needed(const eddy__routine *r)
{
    size_t n = 0;

    for (eddy_node id = 0; id < r->graph->n_nodes; id++)
        n += r->kind[id] == EDDY__PLAIN;
    return n;
}

static eddy_status look_at(eddy__lowering *l, eddy__routine *r)
{
    const size_t n = r->graph->n_nodes;
    size_t n_needed;

    r->kind = eddy__arena_allocate_zeroed(&l->arena, n, 1);
    r->number = eddy__arena_allocate_zeroed(&l->arena, n, sizeof *r->number);
    if (!r->kind || !r->number)
        return eddy__fail_memory(l->err);
    EDDY_TRY(reach_needed(l, r));
    for (size_t i = 0; r->function && i < r->function->n_args; i++) {
        const eddy_node arg = r->function->args[i];

        if (r->kind[arg] == EDDY__PLAIN)
            r->kind[arg] = EDDY__ARGUMENT;
        r->number[arg] = (uint32_t)i;
    }
    n_needed = count_needed(r);
    r->calls = eddy__arena_allocate(&l->arena, n_needed, sizeof *r->calls);
    r->effects = eddy__arena_allocate(&l->arena, n_needed, sizeof *r->effects);
    if (!r->calls || !r->effects)
        return eddy__fail_memory(l->err);
    sort_nodes(l, r);
    return EDDY_OK;
}

eddy_status eddy__routine_root(eddy__lowering *l)
{
    l->root = (eddy__routine){.name = "", .graph = l->graph};
    return look_at(l, &l->root);
}

/* ---- finding one ---- */

/* Puts a routine of function `id` before those that it has. */
static eddy_status add_routine(eddy__lowering *l, uint32_t id,
                               const eddy__function *function,
                               eddy__routine **out_routine)
{
    eddy__routine *r = eddy__arena_allocate_zeroed(&l->arena, 1, sizeof *r);

    if (!r)
        return eddy__fail_memory(l->err);
    r->name = function->name;
    r->graph = function->body;
    r->function = function;
    r->next = l->routines[id];
    l->routines[id] = r;
    *out_routine = r;
    return look_at(l, r);
}

eddy_status eddy__routine_derived(eddy__lowering *l, eddy__routine *of,
                                  eddy_graph *library)
{
    eddy__routine *r = eddy__arena_allocate_zeroed(&l->arena, 1, sizeof *r);

    if (!r) {
        eddy_graph_destroy(library);
        return eddy__fail_memory(l->err);
    }
    r->function = &library->functions[0];
    r->name = r->function->name;
    r->graph = r->function->body;
    r->library = library;
    of->derived = r;
    return look_at(l, r);
}

/* The routine of function `id` that was made of the same bytes. */
static eddy__routine *find_same(const eddy__lowering *l, uint32_t id,
                                eddy_string bytes)
{
    eddy__routine *r = l->routines[id];

    while (r && (r->bytes.length != bytes.length ||
                 memcmp(r->bytes.data, bytes.data, bytes.length) != 0))
        r = r->next;
    return r;
}

/* Reads the bytes, which are kept, as a function. */
static eddy_status read_routine(eddy__lowering *l, uint32_t id,
                                eddy_string bytes, eddy__routine **out_routine)
{
    eddy_string copy = {eddy__arena_text(&l->arena, bytes.data, bytes.length),
                        bytes.length};
    eddy_graph *library = NULL;
    const eddy__function *function;
    eddy_status status;

    if (!copy.data)
        return eddy__fail_memory(l->err);
    EDDY_TRY(l->graph->reader->read(l->graph, copy, l->request->budget,
                                    &library, l->err));
    function = &library->functions[0];
    status = function->problem
                 ? eddy__fail(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                              "function '%.64s' could not be read: %s",
                              function->name, function->problem)
                 : add_routine(l, id, function, out_routine);
    /* Whatever has been added holds the library. */
    if (l->routines[id] && l->routines[id]->function == function) {
        l->routines[id]->library = library;
        l->routines[id]->bytes = copy;
    } else {
        eddy_graph_destroy(library);
    }
    return status;
}

/* A function that had to be kept as bytes, with values for its parameters. */
static eddy_status bind_routine(eddy__lowering *l, uint32_t id,
                                const eddy__function_ref *ref,
                                eddy__routine **out_routine)
{
    const eddy__function *function = &l->graph->functions[id];
    eddy__arena scratch = {.allocator = l->arena.allocator};
    eddy_string bytes = {.length = 0};
    eddy_status status;

    if (!l->graph->reader)
        return eddy__fail(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "function '%.64s' could not be read: %s",
                          function->name, function->problem);
    status = l->graph->reader->bind(function, ref, &scratch, &bytes, l->err);
    if (status == EDDY_OK) {
        *out_routine = find_same(l, id, bytes);
        if (!*out_routine)
            status = read_routine(l, id, bytes, out_routine);
    }
    eddy__arena_destroy(&scratch);
    return status;
}

eddy_status eddy__routine_plain(eddy__lowering *l, const char *name,
                                size_t length, eddy__routine **out_routine)
{
    const uint32_t id = eddy__map_find(&l->graph->function_names, name, length);

    *out_routine = NULL;
    if (id == EDDY__NOT_FOUND || l->graph->functions[id].problem)
        return EDDY_OK;
    *out_routine = l->routines[id];
    return *out_routine
               ? EDDY_OK
               : add_routine(l, id, &l->graph->functions[id], out_routine);
}

eddy_status eddy__routine_find(eddy__lowering *l, const eddy__call *call,
                               const eddy__function_ref *ref,
                               eddy__routine **out_routine)
{
    const uint32_t id = eddy__map_find(&l->graph->function_names,
                                       ref->name.data, ref->name.length);
    char name[96];
    eddy_status status = EDDY_OK;

    if (id == EDDY__NOT_FOUND) {
        eddy__copy_text(name, sizeof name, ref->name.data, ref->name.length);
        return eddy__lower_fail(l, call, EDDY_NOT_FOUND, EDDY_E_FUNCTION,
                                "function '%s' is not in the library, which "
                                "has %zu",
                                name, l->graph->n_functions);
    }
    *out_routine = l->routines[id];
    if (l->graph->functions[id].problem)
        status = bind_routine(l, id, ref, out_routine);
    else if (!*out_routine)
        status = add_routine(l, id, &l->graph->functions[id], out_routine);
    if (status != EDDY_OK)
        eddy__graph_error_at(l->err, call->name,
                             eddy__call_node(call)->op_name);
    return status;
}

void eddy__routines_free(eddy__lowering *l)
{
    for (size_t i = 0; l->routines && i < l->graph->n_functions; i++)
        for (eddy__routine *r = l->routines[i]; r; r = r->next) {
            eddy_graph_destroy(r->library);
            if (r->derived)
                eddy_graph_destroy(r->derived->library);
        }
}

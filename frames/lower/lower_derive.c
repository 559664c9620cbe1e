/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a function, for SymbolicGradient: a routine whose arguments
 * are those of the function and then the gradients of its results, and whose
 * results are the gradients of its arguments.
 *
 * A function that names its gradient in the library has that.  Of another one,
 * a call stands alone in a graph, which is lowered and then differentiated, and
 * so becomes the body.  How to differentiate is known above this layer alone:
 * the context has it (core/context.h).
 */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/lowering.h"

#include <stdio.h>
#include <string.h>

typedef struct derivation {
    eddy__lowering *l;
    const eddy__call *call;
    const eddy__function *function;
    eddy_graph *graph; /* that becomes the body */
    eddy_node *args;   /* of the function, then one a result */
    const char **arg_names, **result_names;
    eddy_output *ys;  /* one a result */
    eddy_output *dxs; /* one an argument of the function */
    uint8_t *dx_dtypes;
    eddy_output *of_x, *of_y, *of_dy; /* those that are differentiated */
    size_t n_x, n_y;
} derivation;

static eddy_dtype arg_dtype(const eddy__function *f, size_t i)
{
    return eddy__node_type(eddy__graph_node(f->body, f->args[i]), "T");
}

static bool is_differentiable(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__FLOATS | EDDY__COMPLEXES);
}

static eddy_status make_room(derivation *d)
{
    eddy__arena *arena = &d->l->arena;
    const size_t n_in = d->function->n_args, n_out = d->function->n_results;

    d->args = eddy__arena_allocate(arena, n_in + n_out, sizeof *d->args);
    d->arg_names =
        eddy__arena_allocate(arena, n_in + n_out, sizeof *d->arg_names);
    d->result_names =
        eddy__arena_allocate(arena, n_in, sizeof *d->result_names);
    d->ys = eddy__arena_allocate(arena, n_out, sizeof *d->ys);
    d->dxs = eddy__arena_allocate(arena, n_in, sizeof *d->dxs);
    d->dx_dtypes = eddy__arena_allocate(arena, n_in, 1);
    d->of_x = eddy__arena_allocate(arena, n_in, sizeof *d->of_x);
    d->of_y = eddy__arena_allocate(arena, n_out, sizeof *d->of_y);
    d->of_dy = eddy__arena_allocate(arena, n_out, sizeof *d->of_dy);
    return d->args && d->arg_names && d->result_names && d->ys && d->dxs &&
                   d->dx_dtypes && d->of_x && d->of_y && d->of_dy
               ? EDDY_OK
               : eddy__fail_memory(d->l->err);
}

/* An argument of the body, which as such has the attribute T. */
static eddy_status add_argument(derivation *d, eddy_graph *graph, size_t i,
                                eddy_dtype dtype)
{
    const eddy__add_options options = {.strict = true};
    const eddy_shape unknown = {.rank = -1};
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_shape("shape", &unknown),
                               eddy_attr_type("T", &dtype)};
    char name[32];
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Placeholder",
                                 .name = name,
                                 .attrs = attrs,
                                 .n_attrs = 3};

    (void)snprintf(name, sizeof name, "arg%zu", i);
    d->arg_names[i] = eddy__arena_text(&d->l->arena, name, strlen(name));
    if (!d->arg_names[i])
        return eddy__fail_memory(d->l->err);
    return eddy__graph_add(graph, &spec, &options, &d->args[i], d->l->err);
}

/* A graph with the library, and nothing but a call of the function. */
static eddy_status add_call(derivation *d, eddy_graph *graph, eddy_node *out)
{
    const eddy__add_options options = {.strict = true, .opaque = true};
    const size_t n = d->function->n_args;
    const eddy__node *from = eddy__call_node(d->call);
    const eddy_attr *f = eddy__node_attr(from, "f");
    eddy_dtype *dtypes = eddy__arena_allocate(
        &d->l->arena, n + d->function->n_results, sizeof *dtypes);
    eddy_output *inputs = eddy__arena_allocate(&d->l->arena, n, sizeof *inputs);
    eddy_attr attrs[] = {{.name = "Tin",
                          .kind = EDDY_ATTR_TYPE,
                          .is_list = true,
                          .n = n,
                          .as.types = dtypes},
                         {.name = "Tout",
                          .kind = EDDY_ATTR_TYPE,
                          .is_list = true,
                          .n = d->function->n_results,
                          .as.types = dtypes + n},
                         *f};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "PartitionedCall",
                                 .name = "call",
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .attrs = attrs,
                                 .n_attrs = 3};

    if (!dtypes || !inputs)
        return eddy__fail_memory(d->l->err);
    for (size_t i = 0; i < n; i++) {
        dtypes[i] = arg_dtype(d->function, i);
        EDDY_TRY(add_argument(d, graph, i, dtypes[i]));
        inputs[i] = (eddy_output){d->args[i], 0};
    }
    for (size_t i = 0; i < d->function->n_results; i++)
        dtypes[n + i] = (eddy_dtype)d->function->result_dtypes[i];
    return eddy__graph_add(graph, &spec, &options, out, d->l->err);
}

/* Makes d->graph: the call, lowered. */
static eddy_status lower_call(derivation *d, eddy_graph *graph)
{
    const eddy__lower_request *from = d->l->request;
    const eddy__selection all = {.graph = graph, .budget = from->budget};
    const eddy__lower_request request = {
        .selection = &all,
        .fetches = d->ys,
        .n_fetches = d->function->n_results,
        .targets = d->args,
        .n_targets = d->function->n_args,
        .max_nodes = d->l->max_nodes,
        .budget = from->budget,
        .depth = from->depth + 1,
    };
    eddy__lowered lowered = {.graph = NULL};
    eddy_node call;

    EDDY_TRY(add_call(d, graph, &call));
    for (size_t i = 0; i < d->function->n_results; i++)
        d->ys[i] = (eddy_output){call, (uint32_t)i};
    EDDY_TRY(d->l->lower(&request, &d->l->arena, &lowered, d->l->err));
    d->graph = lowered.graph;
    for (size_t i = 0; i < d->function->n_args; i++)
        d->args[i] = lowered.targets[i];
    for (size_t i = 0; i < d->function->n_results; i++)
        d->ys[i] = lowered.fetches[i];
    return EDDY_OK;
}

/* An argument that nothing is differentiated by has zeros for a gradient. */
static eddy_status add_zeros(derivation *d, size_t i)
{
    const eddy_output x = {d->args[i], 0};
    const eddy_node_spec spec = {
        .size = sizeof spec, .op = "ZerosLike", .inputs = &x, .n_inputs = 1};

    d->dxs[i] = (eddy_output){.index = 0};
    return eddy_graph_add(d->graph, &spec, &d->dxs[i].node, d->l->err);
}

static eddy_status add_gradients(derivation *d)
{
    const eddy__function *f = d->function;
    const eddy_gradient_options options = {.size = sizeof options,
                                           .grad_ys = d->of_dy,
                                           .zeros_if_unconnected = true};
    eddy_output *dxs =
        eddy__arena_allocate(&d->l->arena, f->n_args, sizeof *dxs);
    size_t n = 0;

    if (!dxs)
        return eddy__fail_memory(d->l->err);
    for (size_t i = 0; i < f->n_results; i++) {
        EDDY_TRY(add_argument(d, d->graph, f->n_args + i,
                              (eddy_dtype)f->result_dtypes[i]));
        if (!is_differentiable((eddy_dtype)f->result_dtypes[i]))
            continue;
        d->of_y[d->n_y] = d->ys[i];
        d->of_dy[d->n_y++] = (eddy_output){d->args[f->n_args + i], 0};
    }
    for (size_t i = 0; i < f->n_args; i++)
        if (d->n_y > 0 && is_differentiable(arg_dtype(f, i)))
            d->of_x[d->n_x++] = (eddy_output){d->args[i], 0};
    if (d->n_x > 0)
        EDDY_TRY(d->graph->ctx->differentiate(d->graph, d->of_y, d->n_y,
                                              d->of_x, d->n_x, &options, dxs,
                                              d->l->err));
    for (size_t i = 0; i < f->n_args; i++) {
        d->dx_dtypes[i] = (uint8_t)arg_dtype(f, i);
        d->result_names[i] = d->arg_names[i];
        if (d->n_y > 0 && is_differentiable(arg_dtype(f, i)))
            d->dxs[i] = dxs[n++];
        else
            EDDY_TRY(add_zeros(d, i));
    }
    return EDDY_OK;
}

/* A library of its own for the body, which that takes over. */
static eddy_status put_in_library(derivation *d, eddy_graph **out_library)
{
    const eddy__function made = {
        .name = d->function->name,
        .body = d->graph,
        .args = d->args,
        .n_args = d->function->n_args + d->function->n_results,
        .arg_names = d->arg_names,
        .results = d->dxs,
        .n_results = d->function->n_args,
        .result_names = d->result_names,
        .result_dtypes = d->dx_dtypes,
        .attrs = NULL,
    };
    eddy_graph *library = NULL;
    eddy_status status;

    EDDY_TRY(eddy__graph_create(d->graph->ctx, d->l->request->budget, &library,
                                d->l->err));
    status = eddy__graph_add_function(library, &made, d->l->err);
    if (status != EDDY_OK) {
        eddy_graph_destroy(library);
        return status;
    }
    d->graph = NULL;
    *out_library = library;
    return EDDY_OK;
}

static eddy_status derive(derivation *d, eddy_graph **out_library)
{
    eddy_graph *graph = NULL;
    eddy_status status;

    EDDY_TRY(make_room(d));
    EDDY_TRY(eddy__graph_clone_empty(d->l->graph, d->l->request->budget, &graph,
                                     d->l->err));
    status = lower_call(d, graph);
    eddy_graph_destroy(graph);
    if (status == EDDY_OK)
        status = add_gradients(d);
    if (status == EDDY_OK)
        status = put_in_library(d, out_library);
    eddy_graph_destroy(d->graph);
    return status;
}

static eddy_status check_depth(const eddy__lowering *l, const eddy__call *call,
                               const eddy__routine *of)
{
    if (l->request->depth < EDDY__MAX_DERIVATIONS)
        return EDDY_OK;
    return eddy__lower_fail(l, call, EDDY_RESOURCE_EXHAUSTED, EDDY_E_TOO_DEEP,
                            "gradients of functions such as '%.64s' ask for "
                            "each other more than %d deep",
                            of->name, EDDY__MAX_DERIVATIONS);
}

eddy_status eddy__lower_derive(eddy__lowering *l, const eddy__call *call,
                               const eddy__function_ref *ref,
                               eddy__routine **out_routine)
{
    derivation d = {.l = l, .call = call};
    eddy__function_ref own = *ref;
    eddy_graph *library = NULL;
    eddy__routine *of;
    eddy_status status;

    EDDY_TRY(eddy__routine_find(l, call, ref, &of));
    d.function = of->function;
    if (of->function->gradient) {
        own.name = (eddy_string){of->function->gradient,
                                 strlen(of->function->gradient)};
        return eddy__routine_find(l, call, &own, out_routine);
    }
    if (!of->derived) {
        EDDY_TRY(check_depth(l, call, of));
        status = derive(&d, &library);
        if (status == EDDY_OK)
            status = eddy__routine_derived(l, of, library);
        if (status != EDDY_OK) {
            eddy__graph_error_at(l->err, call->name,
                                 eddy__call_node(call)->op_name);
            return status;
        }
    }
    *out_routine = of->derived;
    return EDDY_OK;
}

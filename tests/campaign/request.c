/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which placeholders are fed and which outputs are fetched: all by name, so
 * that the same request can be made of a graph that was rewritten.
 */
#include "tests/campaign/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *output_name(const eddy_graph *graph, eddy_output output)
{
    const char *node = eddy_graph_node_name(graph, output.node);
    const size_t size = strlen(node) + 16;
    char *name = malloc(size);

    if (name == NULL)
        abort();
    snprintf(name, size, "%s:%u", node, output.index);
    return name;
}

static char *copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    if (copy == NULL)
        abort();
    memcpy(copy, text, size);
    return copy;
}

bool request_is_value(eddy_dtype dtype)
{
    return dtype != EDDY_INVALID && dtype != EDDY_RESOURCE &&
           dtype != EDDY_VARIANT;
}

bool *request_read_nodes(const eddy_graph *graph)
{
    const size_t n = eddy_graph_size(graph);
    bool *is_read = calloc(n + 1, sizeof *is_read);

    if (is_read == NULL)
        abort();
    for (eddy_node node = 0; node < n; node++) {
        size_t n_inputs;
        const eddy_output *inputs =
            eddy_graph_node_inputs(graph, node, &n_inputs);

        for (size_t i = 0; i < n_inputs; i++)
            if (inputs[i].node < n)
                is_read[inputs[i].node] = true;
    }
    return is_read;
}

static void choose_fetches(request *r, const eddy_graph *graph)
{
    bool *is_read = request_read_nodes(graph);
    const size_t n = eddy_graph_size(graph);

    for (size_t back = 0; back < n && r->n_fetches < REQUEST_FETCHES; back++) {
        const eddy_output output = {(eddy_node)(n - 1 - back), 0};

        if (!is_read[output.node] &&
            request_is_value(eddy_graph_output_dtype(graph, output)))
            r->fetches[r->n_fetches++] = output_name(graph, output);
    }
    free(is_read);
}

/* The shape of a Placeholder's value: 2 where a dimension is not known. */
static eddy_shape feed_shape(const eddy_graph *graph, eddy_node node)
{
    eddy_shape shape = {.rank = 0};
    eddy_attr attr;
    int64_t size = 1;

    if (!eddy_graph_node_attr(graph, node, "shape", &attr) ||
        attr.kind != EDDY_ATTR_SHAPE || attr.is_list ||
        attr.as.shapes[0].rank < 0)
        return shape;
    shape = attr.as.shapes[0];
    for (int32_t i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = 2;
        if (shape.dims[i] > 4096 || (size *= shape.dims[i]) > 65536)
            return (eddy_shape){.rank = 0};
        size += size == 0;
    }
    return shape;
}

static void feed_placeholders(request *r, eddy_context *ctx,
                              const eddy_graph *graph)
{
    const size_t n = eddy_graph_size(graph);

    for (eddy_node node = 0; node < n && r->n_feeds < REQUEST_FEEDS; node++) {
        const eddy_output output = {node, 0};
        const eddy_dtype dtype = eddy_graph_output_dtype(graph, output);
        const eddy_shape shape = feed_shape(graph, node);

        if (strcmp(eddy_graph_node_op(graph, node), "Placeholder") != 0 ||
            !request_is_value(dtype))
            continue;
        r->values[r->n_feeds] = outcome_value(ctx, dtype, &shape);
        if (r->values[r->n_feeds] != NULL)
            r->feeds[r->n_feeds++] = output_name(graph, output);
    }
}

void request_init(request *r, eddy_context *ctx, const eddy_graph *graph)
{
    *r = (request){.n_feeds = 0};
    feed_placeholders(r, ctx, graph);
    choose_fetches(r, graph);
}

void request_deinit(request *r)
{
    for (size_t i = 0; i < r->n_feeds; i++) {
        free(r->feeds[i]);
        eddy_tensor_release(r->values[i]);
    }
    for (size_t i = 0; i < r->n_fetches; i++)
        free(r->fetches[i]);
    *r = (request){.n_feeds = 0};
}

/* ---- plans ---- */

static bool find_outputs(const eddy_graph *graph, char *const *names, size_t n,
                         eddy_output *out, eddy_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (eddy_graph_find_output(graph, names[i], &out[i], err) != EDDY_OK)
            return false;
    return true;
}

eddy_plan *request_plan(const request *r, const eddy_graph *graph,
                        eddy_optimize level, eddy_error *err)
{
    eddy_output feeds[REQUEST_FEEDS], fetches[REQUEST_FETCHES];
    eddy_plan_options options = {.size = sizeof options,
                                 .feeds = feeds,
                                 .n_feeds = r->n_feeds,
                                 .fetches = fetches,
                                 .n_fetches = r->n_fetches,
                                 .optimize = level,
                                 .max_nodes = REQUEST_NODES};
    eddy_plan *plan = NULL;

    if (!find_outputs(graph, r->feeds, r->n_feeds, feeds, err) ||
        !find_outputs(graph, r->fetches, r->n_fetches, fetches, err) ||
        eddy_plan_create(graph, &options, &plan, err) != EDDY_OK)
        return NULL;
    return plan;
}

eddy_plan *request_plan_any(request *r, const eddy_graph *graph)
{
    eddy_error err;
    eddy_plan *plan = request_plan(r, graph, EDDY_OPTIMIZE_EXACT, &err);
    size_t n = 0;

    if (plan != NULL || err.detail == EDDY_E_MEMORY)
        return plan;
    for (size_t i = 0; i < r->n_fetches; i++) {
        request one = *r;

        one.fetches[0] = r->fetches[i];
        one.n_fetches = 1;
        plan = request_plan(&one, graph, EDDY_OPTIMIZE_EXACT, &err);
        if (plan != NULL)
            r->fetches[n++] = r->fetches[i];
        else
            free(r->fetches[i]);
        eddy_plan_release(plan);
    }
    r->n_fetches = n;
    return n == 0 ? NULL : request_plan(r, graph, EDDY_OPTIMIZE_EXACT, &err);
}

/* ---- gradients ---- */

static bool is_real(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64;
}

static size_t find_ys(const request *r, const eddy_graph *graph,
                      eddy_output *ys)
{
    eddy_error err;
    size_t n = 0;

    for (size_t i = 0; i < r->n_fetches; i++)
        if (eddy_graph_find_output(graph, r->fetches[i], &ys[n], &err) ==
                EDDY_OK &&
            is_real(eddy_graph_output_dtype(graph, ys[n])))
            n++;
    return n;
}

static size_t find_xs(const request *r, const eddy_graph *graph,
                      eddy_output *xs)
{
    const size_t n_nodes = r->n_own > 0 ? r->n_own : eddy_graph_size(graph);
    size_t n = 0;

    for (eddy_node node = 0; node < n_nodes && n < REQUEST_GRADIENTS; node++) {
        const char *op = eddy_graph_node_op(graph, node);
        const eddy_output output = {node, 0};

        if ((strcmp(op, "Placeholder") == 0 || strcmp(op, "Const") == 0) &&
            is_real(eddy_graph_output_dtype(graph, output)))
            xs[n++] = output;
    }
    return n;
}

/* What is differentiated, by what, and what came of it. */
typedef struct derivation {
    eddy_output ys[REQUEST_FETCHES], xs[REQUEST_GRADIENTS];
    size_t n_ys, n_xs;
    eddy_output results[REQUEST_FETCHES];
    size_t n_results;
} derivation;

static eddy_status reverse(derivation *d, eddy_graph *graph,
                           eddy_tape_policy tape, eddy_error *err)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .tape = tape};

    d->n_results = d->n_xs;
    return eddy_gradients(graph, d->ys, d->n_ys, d->xs, d->n_xs, &options,
                          d->results, err);
}

/* The gradients of those of the first order that there are. */
static eddy_status reverse_twice(derivation *d, eddy_graph *graph,
                                 eddy_error *err)
{
    const eddy_status status = reverse(d, graph, EDDY_TAPE_DEFAULT, err);

    if (status != EDDY_OK)
        return status;
    d->n_ys = 0;
    for (size_t i = 0; i < d->n_results; i++)
        if (d->results[i].node != EDDY_NO_NODE)
            d->ys[d->n_ys++] = d->results[i];
    if (d->n_ys == 0)
        return EDDY_NOT_FOUND;
    return reverse(d, graph, EDDY_TAPE_DEFAULT, err);
}

/* Along the xs themselves, which have the right shapes. */
static eddy_status forward(derivation *d, eddy_graph *graph, eddy_error *err)
{
    d->n_results = d->n_ys;
    return eddy_jvp(graph, d->ys, d->n_ys, d->xs, d->n_xs, d->xs, NULL,
                    d->results, err);
}

static eddy_status derive(derivation *d, request_way way, eddy_graph *graph,
                          eddy_error *err)
{
    switch (way) {
    case REQUEST_TWICE:
        return reverse_twice(d, graph, err);
    case REQUEST_FORWARD:
        return forward(d, graph, err);
    case REQUEST_RECOMPUTE:
        return reverse(d, graph, EDDY_TAPE_RECOMPUTE, err);
    case REQUEST_SPILL:
        return reverse(d, graph, EDDY_TAPE_SPILL, err);
    default:
        return reverse(d, graph, EDDY_TAPE_DEFAULT, err);
    }
}

eddy_status request_gradients(const request *r, request_way way,
                              eddy_graph *graph, request *out_request,
                              eddy_error *err)
{
    derivation d = {.n_results = 0};
    eddy_status status;

    d.n_ys = find_ys(r, graph, d.ys);
    d.n_xs = find_xs(r, graph, d.xs);
    *out_request = (request){.n_feeds = 0};
    *err = (eddy_error){.code = EDDY_NOT_FOUND};
    if (d.n_ys == 0 || d.n_xs == 0)
        return EDDY_NOT_FOUND;
    status = derive(&d, way, graph, err);
    if (status != EDDY_OK)
        return status;
    for (size_t i = 0; i < r->n_feeds; i++) {
        out_request->feeds[i] = copy_text(r->feeds[i]);
        out_request->values[i] = eddy_tensor_retain(r->values[i]);
    }
    out_request->n_feeds = r->n_feeds;
    for (size_t i = 0; i < d.n_results; i++)
        if (d.results[i].node != EDDY_NO_NODE)
            out_request->fetches[out_request->n_fetches++] =
                output_name(graph, d.results[i]);
    return out_request->n_fetches > 0 ? EDDY_OK : EDDY_NOT_FOUND;
}

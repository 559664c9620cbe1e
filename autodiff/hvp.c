/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eddy_hvp: forward mode over the gradient, a Hessian times a vector.  It calls
 * both entries and knows nothing of what is below them.
 */
#include "autodiff/bounded.h"
#include "autodiff/output.h"
#include "core/base/status.h"
#include "eddy/gradients.h"

/* The gradients that there are, one after the other, and whose they are. */
static size_t compact(const eddy_output *gradients, size_t n, eddy_output *out,
                      size_t *whose)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (eddy__output_exists(gradients[i])) {
            whose[count] = i;
            out[count++] = gradients[i];
        }
    return count;
}

static eddy_status fill_zeros(eddy_graph *graph, const eddy_output *xs,
                              size_t n, eddy_output *products, eddy_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!eddy__output_exists(products[i]))
            EDDY_TRY(eddy_graph_add_op(graph, "ZerosLike", NULL, &xs[i], 1,
                                       &products[i], err));
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): parameters of the API. */
static eddy_status multiply(eddy_graph *graph, const eddy_output *ys,
                            size_t n_ys, const eddy_output *xs, size_t n_xs,
                            const eddy_output *vectors,
                            const eddy_gradient_options *options,
                            eddy_output *out_products, eddy_error *err)
{
    eddy__arena arena = {.allocator = graph->arena.allocator};
    eddy_output *list = eddy__arena_allocate(&arena, n_xs + 1, sizeof *list);
    eddy_output *made = eddy__arena_allocate(&arena, n_xs + 1, sizeof *made);
    size_t *whose = eddy__arena_allocate(&arena, n_xs + 1, sizeof *whose);
    eddy_gradient_options own = *options;
    eddy_status status;
    size_t n;

    if (!list || !made || !whose) {
        eddy__arena_destroy(&arena);
        return eddy__fail_memory(err);
    }
    own.zeros_if_unconnected = false;
    status = eddy_gradients(graph, ys, n_ys, xs, n_xs, &own, out_products, err);
    if (status == EDDY_OK) {
        n = compact(out_products, n_xs, list, whose);
        own.grad_ys = NULL;
        own.prefix = NULL;
        status = eddy_jvp(graph, list, n, xs, n_xs, vectors, &own, made, err);
        for (size_t i = 0; i < n_xs; i++)
            out_products[i] = EDDY__NO_OUTPUT;
        for (size_t i = 0; i < n && status == EDDY_OK; i++)
            out_products[whose[i]] = made[i];
    }
    if (status == EDDY_OK && options->zeros_if_unconnected)
        status = fill_zeros(graph, xs, n_xs, out_products, err);
    for (size_t i = 0; i < n_xs && status != EDDY_OK; i++)
        out_products[i] = EDDY__NO_OUTPUT;
    eddy__arena_destroy(&arena);
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): parameters of the API. */
eddy_status eddy_hvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
                     const eddy_output *xs, size_t n_xs,
                     const eddy_output *vectors,
                     const eddy_gradient_options *options,
                     eddy_output *out_products, eddy_error *err)
{
    eddy__bounded bounded;

    for (size_t i = 0; i < n_xs; i++)
        out_products[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(eddy__bounded_begin(&bounded, graph,
                                 "the product with the Hessian", options, err));
    return eddy__bounded_end(&bounded,
                             multiply(graph, ys, n_ys, xs, n_xs, vectors,
                                      &bounded.options, out_products, err),
                             err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/differentiate.h"

#include "tools/message.h"

#include "eddy/gradients.h"

#include <stdlib.h>

eddy_status eddy__differentiate(eddy_graph *graph,
                                const eddy__differentiation *asked,
                                eddy_output *out_results, eddy_error *err)
{
    eddy_limits limits = eddy__options_limits(asked->options);
    eddy_gradient_options options = {.size = sizeof options,
                                     .grad_ys = asked->grad_ys,
                                     .stop = asked->stop,
                                     .n_stop = asked->n_stop,
                                     .limits = &limits};
    eddy_output *ys = calloc(asked->n_xs + 1, sizeof *ys);
    eddy_status status;

    if (ys == NULL)
        return eddy__raise_memory(err);
    status = eddy_gradients(graph, asked->ys, asked->n_ys, asked->xs,
                            asked->n_xs, &options, out_results, err);
    options.grad_ys = NULL;
    for (uint64_t k = 1; k < asked->order && status == EDDY_OK; k++) {
        size_t n = 0;

        limits = eddy__options_limits(asked->options);
        for (size_t i = 0; i < asked->n_xs; i++)
            if (out_results[i].node != EDDY_NO_NODE)
                ys[n++] = out_results[i];
        status = eddy_gradients(graph, ys, n, asked->xs, asked->n_xs, &options,
                                out_results, err);
    }
    free(ys);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes gradients of an order: what one call gives is what the next one
 * differentiates.
 */
#include "tools/differentiate.h"

#include "tools/message.h"

#include "eddy/gradients.h"

#include <stdlib.h>
#include <string.h>

/* ---- policies of tapes ---- */

static eddy_status parse_policy(const char *text, eddy_tape_policy *out,
                                eddy_error *err)
{
    static const struct {
        const char *name;
        eddy_tape_policy policy;
    } policies[] = {{"keep", EDDY_TAPE_KEEP},
                    {"recompute", EDDY_TAPE_RECOMPUTE},
                    {"spill", EDDY_TAPE_SPILL},
                    {"auto", EDDY_TAPE_AUTO}};

    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        if (strcmp(text, policies[i].name) == 0) {
            *out = policies[i].policy;
            return EDDY_OK;
        }
    return eddy__message_raise(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
        "--tape: '%s' is none of keep, recompute, spill and "
        "auto",
        text);
}

/* `out_names`, the loops' frames, and `out_tapes` have room for all of them. */
static eddy_status parse_tapes(const eddy__texts *texts,
                               eddy_gradient_options *options,
                               eddy_loop_tape *out_tapes, char **out_names,
                               eddy_error *err)
{
    eddy_status status = EDDY_OK;

    options->loop_tapes = out_tapes;
    for (size_t i = 0; i < texts->n && status == EDDY_OK; i++) {
        const char *text = texts->items[i];
        const char *policy = strrchr(text, '=');
        const size_t n = options->n_loop_tapes;

        if (policy == NULL) {
            status = parse_policy(text, &options->tape, err);
            continue;
        }
        out_names[n] = strndup(text, (size_t)(policy - text));
        if (out_names[n] == NULL)
            return eddy__message_raise_memory(err);
        out_tapes[n].frame = out_names[n];
        options->n_loop_tapes++;
        status = parse_policy(policy + 1, &out_tapes[n].policy, err);
    }
    return status;
}

/* ---- orders ---- */

static eddy_status take_orders(eddy_graph *graph,
                               const eddy__differentiation *asked,
                               eddy_gradient_options *options, eddy_output *ys,
                               eddy_output *out_results, eddy_error *err)
{
    eddy_limits limits = eddy__options_limits(asked->options);
    const uint64_t bytes = options->tape_bytes;
    eddy_status status;

    options->limits = &limits;
    /* What makes trips again by bytes has no gradient itself. */
    if (asked->order > 1 && options->tape != EDDY_TAPE_AUTO)
        options->tape_bytes = 0;
    status = eddy_gradients(graph, asked->ys, asked->n_ys, asked->xs,
                            asked->n_xs, options, out_results, err);
    options->grad_ys = NULL;
    for (uint64_t k = 1; k < asked->order && status == EDDY_OK; k++) {
        size_t n = 0;

        limits = eddy__options_limits(asked->options);
        for (size_t i = 0; i < asked->n_xs; i++)
            if (out_results[i].node != EDDY_NO_NODE)
                ys[n++] = out_results[i];
        if (k + 1 == asked->order)
            options->tape_bytes = bytes;
        status = eddy_gradients(graph, ys, n, asked->xs, asked->n_xs, options,
                                out_results, err);
    }
    options->limits = NULL;
    return status;
}

eddy_status eddy__differentiate(eddy_graph *graph,
                                const eddy__differentiation *asked,
                                eddy_output *out_results, eddy_error *err)
{
    eddy_gradient_options options = {.size = sizeof options,
                                     .grad_ys = asked->grad_ys,
                                     .stop = asked->stop,
                                     .n_stop = asked->n_stop,
                                     .tape_bytes = asked->options->tape_bytes};
    const eddy__texts *texts = &asked->options->tapes;
    eddy_output *ys = calloc(asked->n_xs + 1, sizeof *ys);
    eddy_loop_tape *tapes = calloc(texts->n + 1, sizeof *tapes);
    char **names = calloc(texts->n + 1, sizeof *names);
    eddy_status status;

    if (options.tape_bytes == 0)
        options.tape_bytes = asked->options->max_bytes / 2;
    if (ys == NULL || tapes == NULL || names == NULL) {
        status = eddy__message_raise_memory(err);
    } else {
        status = parse_tapes(texts, &options, tapes, names, err);
        if (status == EDDY_OK)
            status = take_orders(graph, asked, &options, ys, out_results, err);
    }
    for (size_t i = 0; names != NULL && i < texts->n; i++)
        free(names[i]);
    free(names);
    free(tapes);
    free(ys);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round of eddy_gradients: what it needs before its walk, and with what that
 * starts.  The order is init, study, begin, activity, start.
 */
#include "autodiff/reverse.h"

#include "core/base/status.h"

#include <string.h>

void eddy__round_init(eddy__reverse *r, eddy_graph *graph, const char *prefix,
                      eddy_error *err)
{
    memset(r, 0, sizeof *r);
    eddy__emit_init(&r->e, graph, prefix, err);
    r->study.graph = graph;
    eddy__value_shapes_init(&r->shapes, &r->e, &r->study);
    eddy__places_init(&r->places, &r->e, &r->study);
    eddy__primals_init(&r->primals, &r->shapes, &r->places);
    /* The graph has grown since any other call. */
    eddy__rule_host_source(r->source, graph->n_nodes);
}

void eddy__round_deinit(eddy__reverse *r)
{
    eddy__walk_deinit(r);
    eddy__primals_deinit(&r->primals);
    eddy__places_deinit(&r->places);
    eddy__value_shapes_deinit(&r->shapes);
    eddy__study_deinit(&r->study);
    eddy__emit_deinit(&r->e);
}

eddy_status eddy__round_study(eddy__reverse *r)
{
    EDDY_TRY(eddy__study_build(&r->study, &r->e, &r->asked));
    EDDY_TRY(eddy__primals_begin(&r->primals));
    return r->is_inner
               ? EDDY_OK
               : eddy__base_find(&r->places, r->asked.ys, r->asked.n_ys);
}

eddy_status eddy__round_begin(eddy__reverse *r, const uint32_t *bases,
                              size_t n_bases)
{
    EDDY_TRY(eddy__places_build(&r->places, bases, n_bases));
    EDDY_TRY(eddy__activity_init(&r->activity, &r->e, &r->study, bases[0],
                                 &r->asked));
    for (size_t i = 1; i < n_bases; i++)
        eddy__activity_add_base(&r->activity, bases[i]);
    EDDY_TRY(eddy__contribution_begin(&r->sums, &r->activity, &r->primals));
    return eddy__walk_init(r);
}

static eddy_output start_of(eddy__reverse *r, size_t i)
{
    const eddy_output y = r->asked.ys[i];

    r->e.at = y.node;
    eddy__places_enter(&r->places, eddy__place_scope(&r->places, y));
    if (r->asked.starts && eddy__output_exists(r->asked.starts[i]))
        return eddy__primal_bring(&r->primals, r->asked.starts[i], y);
    return eddy__emit_op(&r->e, "OnesLike", y);
}

void eddy__round_start(eddy__reverse *r)
{
    const eddy__asked *asked = &r->asked;

    for (size_t i = 0; i < asked->n_ys && r->e.core.status == EDDY_OK; i++)
        eddy__contribution_add_whole(&r->sums, asked->ys[i], start_of(r, i));
}

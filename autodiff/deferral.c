/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients that are asked for in the body of a loop which is still open, with
 * respect to what is outside of it.  They count what x did in the trips before,
 * and how a trip leads to the next is known only when the loop ends.  So an
 * Identity stands for each until then; frames/build/builder_deferred.c has them
 * asked for once more.
 */
#include "autodiff/deferral.h"

#include "autodiff/waits.h"
#include "core/base/status.h"
#include "frames/build/builder.h"

#include <string.h>

/* ---- asking once more ---- */

/* Which loops count for one trip: those that all xs are in. */
static uint8_t *find_cuts(eddy__gradient_emitter *e, const eddy__study *study,
                          const eddy__question *q)
{
    const eddy_frame *frames = study->analysis->frames;
    uint8_t *is_cut = eddy__emit_zeroed_room(e, study->analysis->n_frames, 1);
    uint32_t outermost = eddy__study_frame(study, q->xs[0]);

    if (!is_cut)
        return NULL;
    for (size_t i = 1; i < q->n_xs; i++) {
        const uint32_t frame = eddy__study_frame(study, q->xs[i]);

        if (frames[frame].depth < frames[outermost].depth)
            outermost = frame;
    }
    for (uint32_t f = outermost; f != 0; f = frames[f].parent)
        is_cut[f] = 1;
    return is_cut;
}

/* Does what is asked depend on something that is deferred, too? */
static eddy_status find_waits(eddy__gradient_emitter *e, eddy__study *study,
                              const eddy__question *q, eddy__waits *out_waits)
{
    const eddy__asked asked = {.ys = q->ys,
                               .n_ys = q->n_ys,
                               .xs = q->xs,
                               .n_xs = q->n_xs,
                               .stop = q->options ? q->options->stop : NULL,
                               .n_stop = q->options ? q->options->n_stop : 0};
    eddy__activity activity;
    const uint8_t *is_cut;

    EDDY_TRY(eddy__study_build(study, e, &asked));
    EDDY_TRY(eddy__activity_init(&activity, e, study, 0, &asked));
    is_cut = find_cuts(e, study, q);
    return is_cut
               ? eddy__waits_find(&activity, q->ys, q->n_ys, is_cut, out_waits)
               : e->core.status;
}

static eddy_status ask(eddy_graph *graph, const void *data,
                       eddy_output *out_answers, uint32_t *out_waits_for,
                       eddy_error *err)
{
    const eddy__question *q = data;
    eddy__waits waits = {.level = EDDY__NOT_FOUND};
    eddy__study study = {.graph = graph};
    eddy__gradient_emitter e;
    eddy_error own;
    eddy_status status;

    if (!err)
        err = &own;
    eddy__emit_init(&e, graph, "", err);
    status = find_waits(&e, &study, q, &waits);
    eddy__study_deinit(&study);
    eddy__emit_deinit(&e);
    EDDY_TRY(status);
    *out_waits_for = waits.level;
    if (waits.level != EDDY__NOT_FOUND)
        return EDDY_OK;
    return q->again(graph, q, out_answers, err);
}

/* ---- deferring ---- */

static const eddy_output *copy_outputs(eddy__gradient_emitter *e,
                                       const eddy_output *list, size_t n)
{
    return list ? eddy__arena_copy(&e->core.graph->arena, list, n, sizeof *list)
                : NULL;
}

static eddy__question *copy_question(eddy__gradient_emitter *e,
                                     const eddy__question *q)
{
    eddy__arena *arena = &e->core.graph->arena;
    eddy__question *copy = eddy__arena_allocate_zeroed(arena, 1, sizeof *copy);
    eddy_gradient_options *options =
        eddy__arena_allocate_zeroed(arena, 1, sizeof *options);

    if (!copy || !options)
        return NULL;
    *copy = *q;
    copy->ys = copy_outputs(e, q->ys, q->n_ys);
    copy->xs = copy_outputs(e, q->xs, q->n_xs);
    copy->starts =
        copy_outputs(e, q->starts, q->is_forward ? q->n_xs : q->n_ys);
    options->size = sizeof *options;
    options->prefix = eddy__arena_text(arena, e->prefix, strlen(e->prefix));
    if (q->options && q->options->size == sizeof *options &&
        q->options->limits) {
        options->limits = eddy__arena_copy(arena, q->options->limits, 1,
                                           sizeof *q->options->limits);
        if (!options->limits)
            return NULL;
    }
    if (q->options) {
        options->stop = copy_outputs(e, q->options->stop, q->options->n_stop);
        options->n_stop = q->options->n_stop;
    }
    if (!q->is_forward)
        options->grad_ys = copy->starts;
    copy->options = options;
    return copy->ys && copy->xs && options->prefix &&
                   (options->stop || options->n_stop == 0) &&
                   (copy->starts || !q->starts)
               ? copy
               : NULL;
}

void eddy__deferral_make(eddy__gradient_emitter *e,
                         const eddy__question *question, uint32_t level,
                         eddy_output *stand_ins, size_t n)
{
    eddy__deferred d = {.level = level, .n_places = n, .ask = ask};
    eddy_output *places;

    for (size_t i = 0; i < n; i++)
        stand_ins[i] = eddy__emit_after(
            e, question->is_forward ? EDDY_NO_NODE : e->control, "Identity",
            &stand_ins[i], 1);
    if (e->core.status != EDDY_OK)
        return;
    places = eddy__arena_copy(&e->core.graph->arena, stand_ins, n,
                              sizeof *stand_ins);
    d.places = places;
    d.data = copy_question(e, question);
    if (!places || !d.data)
        e->core.status = eddy__fail_memory(e->core.err);
    else
        e->core.status =
            eddy__builder_defer(e->core.graph->builder, &d, e->core.err);
}

uint32_t eddy__deferral_level(eddy__gradient_emitter *e,
                              const eddy__study *study, uint32_t frame)
{
    const eddy__builder *b = e->core.graph->builder;
    const char *name = study->analysis->frames[frame].name;

    for (size_t i = 0; b && i < b->n_open; i++)
        if (b->open[i].kind == EDDY__WHILE &&
            strcmp(b->levels[b->open[i].level].frame_name, name) == 0)
            return b->open[i].level;
    eddy__emit_fail(e, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, EDDY_NO_NODE,
                    "what is asked depends on the trips before in the loop "
                    "'%s', whose variables have no next values yet",
                    name);
    return EDDY__NOT_FOUND;
}

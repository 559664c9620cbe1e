/*
 * Gradients that are asked for in the body of a loop which is still open, with
 * respect to what is outside of it.  They count what x did in the trips before,
 * and how a trip leads to the next is known only when the loop ends.  So an
 * Identity stands for each until then; frames/build/builder_deferred.c has them
 * asked for once more.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"
#include "frames/build/builder.h"

#include <string.h>

/* ---- asking once more ---- */

/* Which loops count for one trip: those that all xs are in. */
static eddy_status find_cuts(eddy__walk *w, const eddy__question *q,
                             uint8_t **out_is_cut)
{
    const eddy_frame *frames = w->analysis->frames;
    uint8_t *is_cut =
        eddy__arena_allocate_zeroed(&w->arena, w->analysis->n_frames, 1);
    uint32_t outermost = eddy__frame_of(w, q->xs[0]);

    if (!is_cut)
        return eddy__fail_memory(w->err);
    for (size_t i = 1; i < q->n_xs; i++)
        if (frames[eddy__frame_of(w, q->xs[i])].depth < frames[outermost].depth)
            outermost = eddy__frame_of(w, q->xs[i]);
    for (uint32_t f = outermost; f != 0; f = frames[f].parent)
        is_cut[f] = 1;
    *out_is_cut = is_cut;
    return EDDY_OK;
}

/* Does what is asked depend on something that is deferred, too? */
static eddy_status find_waits(eddy__walk *w, const eddy__question *q,
                              eddy__waits *out_waits)
{
    uint8_t *is_cut = NULL;

    EDDY_TRY(eddy__walk_study(w, q->ys, q->n_ys, q->xs, q->n_xs));
    w->state = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    if (!w->state)
        return eddy__fail_memory(w->err);
    EDDY_TRY(find_cuts(w, q, &is_cut));
    return eddy__find_waits(w, q->ys, q->n_ys, is_cut, out_waits);
}

static eddy_status ask(eddy_graph *graph, const void *data,
                       eddy_output *out_answers, uint32_t *out_waits_for,
                       eddy_error *err)
{
    const eddy__question *q = data;
    eddy__waits waits = {.level = EDDY__NOT_FOUND};
    eddy_error own;
    eddy__walk w;
    eddy_status status;

    if (!err)
        err = &own;
    eddy__walk_init(&w, graph, "", err);
    w.options = q->options;
    status = find_waits(&w, q, &waits);
    eddy__walk_deinit(&w);
    EDDY_TRY(status);
    *out_waits_for = waits.level;
    if (waits.level != EDDY__NOT_FOUND)
        return EDDY_OK;
    return q->again(graph, q, out_answers, err);
}

/* ---- deferring ---- */

static const eddy_output *copy_outputs(eddy__walk *w, const eddy_output *list,
                                       size_t n)
{
    return list ? eddy__arena_copy(&w->graph->arena, list, n, sizeof *list)
                : NULL;
}

static eddy__question *copy_question(eddy__walk *w, const eddy__question *q)
{
    eddy__arena *arena = &w->graph->arena;
    eddy__question *copy = eddy__arena_allocate_zeroed(arena, 1, sizeof *copy);
    eddy_gradient_options *options =
        eddy__arena_allocate_zeroed(arena, 1, sizeof *options);

    if (!copy || !options)
        return NULL;
    *copy = *q;
    copy->ys = copy_outputs(w, q->ys, q->n_ys);
    copy->xs = copy_outputs(w, q->xs, q->n_xs);
    copy->starts =
        copy_outputs(w, q->starts, q->is_forward ? q->n_xs : q->n_ys);
    options->size = sizeof *options;
    options->prefix = eddy__arena_text(arena, w->prefix, strlen(w->prefix));
    if (q->options && q->options->size == sizeof *options &&
        q->options->limits) {
        options->limits = eddy__arena_copy(arena, q->options->limits, 1,
                                           sizeof *q->options->limits);
        if (!options->limits)
            return NULL;
    }
    if (q->options) {
        options->stop = copy_outputs(w, q->options->stop, q->options->n_stop);
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

void eddy__defer(eddy__walk *w, const eddy__question *question, uint32_t level,
                 eddy_output *stand_ins, size_t n)
{
    eddy__deferred d = {.level = level, .n_places = n, .ask = ask};
    eddy_output *places;

    for (size_t i = 0; i < n; i++)
        stand_ins[i] =
            eddy__emit_after(w, question->is_forward ? EDDY_NO_NODE : w->anchor,
                             "Identity", &stand_ins[i], 1);
    if (w->status != EDDY_OK)
        return;
    places =
        eddy__arena_copy(&w->graph->arena, stand_ins, n, sizeof *stand_ins);
    d.places = places;
    d.data = copy_question(w, question);
    if (!places || !d.data)
        w->status = eddy__fail_memory(w->err);
    else
        w->status = eddy__builder_defer(w->graph->builder, &d, w->err);
}

uint32_t eddy__open_level(eddy__walk *w, uint32_t frame)
{
    const eddy__builder *b = w->graph->builder;
    const char *name = w->analysis->frames[frame].name;

    for (size_t i = 0; b && i < b->n_open; i++)
        if (b->open[i].kind == EDDY__WHILE &&
            strcmp(b->levels[b->open[i].level].frame_name, name) == 0)
            return b->open[i].level;
    eddy__walk_fail(w, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, EDDY_NO_NODE,
                    "what is asked depends on the trips before in the loop "
                    "'%s', whose variables have no next values yet",
                    name);
    return EDDY__NOT_FOUND;
}

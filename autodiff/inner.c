/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions within a round: gradients of the replicas of loops that make their
 * trips again.  Each is asked in the body of a gradient loop of its own, none
 * of which is within another, so that one study and one walk answer all those
 * of a round.  Their replicas may have loops that do the same; what is asked
 * for these is a round more.  So there are as many studies as loops within
 * loops, however many loops there are.
 */
#include "autodiff/reverse.h"

#include "core/base/status.h"

#include <string.h>

/* ---- all in one ---- */

/* The questions of a round, one after the other. */
typedef struct questions {
    eddy_output *ys, *starts, *xs, *sums, *stop;
    size_t n_ys, n_xs, n_stop;
    uint32_t *bases; /* a question: its frame */
    size_t n;        /* questions */
} questions;

static eddy_status allocate(eddy__gradient_emitter *e, questions *all,
                            const eddy__inner *list)
{
    size_t n = 0, n_ys = 0, n_xs = 0, n_stop = 0;

    for (const eddy__inner *q = list; q; q = q->next) {
        n++;
        n_ys += q->n_ys;
        n_xs += q->n_xs;
        n_stop += q->n_stop;
    }
    *all = (questions){
        .ys = eddy__emit_room(e, n_ys, sizeof *all->ys),
        .starts = eddy__emit_room(e, n_ys, sizeof *all->starts),
        .xs = eddy__emit_room(e, n_xs, sizeof *all->xs),
        .sums = eddy__emit_room(e, n_xs, sizeof *all->sums),
        .stop = eddy__emit_room(e, n_stop, sizeof *all->stop),
        .bases = eddy__emit_room(e, n, sizeof *all->bases),
    };
    return e->core.status;
}

static void append(eddy_output *to, size_t *n, const eddy_output *from,
                   size_t n_from)
{
    if (n_from > 0)
        memcpy(to + *n, from, n_from * sizeof *from);
    *n += n_from;
}

static eddy_status gather(eddy__gradient_emitter *e, questions *all,
                          const eddy__inner *list)
{
    EDDY_TRY(allocate(e, all, list));
    for (const eddy__inner *q = list; q; q = q->next) {
        size_t n = all->n_ys;

        append(all->starts, &n, q->starts, q->n_ys);
        append(all->ys, &all->n_ys, q->ys, q->n_ys);
        n = all->n_xs;
        append(all->sums, &n, q->sums, q->n_xs);
        append(all->xs, &all->n_xs, q->xs, q->n_xs);
        append(all->stop, &all->n_stop, q->stop, q->n_stop);
    }
    return EDDY_OK;
}

/* The frame of each, and what constants wait for in it. */
static eddy_status set_bases(eddy__reverse *r, questions *all,
                             const eddy__inner *list)
{
    for (const eddy__inner *q = list; q; q = q->next)
        all->bases[all->n++] = eddy__study_frame(&r->study, q->ys[0]);
    EDDY_TRY(eddy__round_begin(r, all->bases, all->n));
    all->n = 0;
    for (const eddy__inner *q = list; q; q = q->next)
        r->places.bases[all->n++].control = q->control;
    r->e.control = r->places.at->control;
    return EDDY_OK;
}

static eddy_status note_writes(eddy__reverse *r, const eddy__inner *list)
{
    r->is_write = eddy__emit_zeroed_room(&r->e, r->study.n_nodes, 1);
    for (const eddy__inner *q = list; q && r->is_write; q = q->next)
        for (size_t i = 0; i < q->n_writes; i++)
            r->is_write[q->writes[i]] = 1;
    return r->e.core.status;
}

static void take_answers(eddy__reverse *r, const eddy__inner *list)
{
    for (const eddy__inner *q = list; q; q = q->next)
        for (size_t i = 0; i < q->n_xs && r->e.core.status == EDDY_OK; i++) {
            r->e.at = q->xs[i].node;
            eddy__places_enter(&r->places,
                               eddy__place_scope(&r->places, q->xs[i]));
            q->out[i] = eddy__sum_make(&r->sums, q->xs[i]);
        }
}

/* No x is outside of the frame of the ys, so there is no history. */
static eddy_status answer(eddy__reverse *r, const eddy__inner *list)
{
    questions all;

    EDDY_TRY(gather(&r->e, &all, list));
    r->asked = (eddy__asked){.ys = all.ys,
                             .n_ys = all.n_ys,
                             .xs = all.xs,
                             .n_xs = all.n_xs,
                             .stop = all.stop,
                             .n_stop = all.n_stop,
                             .starts = all.starts,
                             .n_starts = all.n_ys};
    r->sums_of_xs = all.sums;
    EDDY_TRY(eddy__round_study(r));
    EDDY_TRY(set_bases(r, &all, list));
    EDDY_TRY(note_writes(r, list));
    EDDY_TRY(
        eddy__activity_find(&r->activity, all.ys, all.n_ys, all.xs, all.n_xs));
    eddy__round_start(r);
    eddy__walk_all(r);
    take_answers(r, list);
    return r->e.core.status;
}

/* Questions of `asker` are answered by `r`, which may have some itself. */
static eddy_status answer_round(eddy__reverse *r, eddy__reverse *asker)
{
    eddy_status status;

    eddy__round_init(r, asker->e.core.graph, asker->e.prefix,
                     asker->e.core.err);
    r->is_inner = true;
    memcpy(r->source, asker->source, sizeof r->source);
    status = answer(r, asker->first_inner);
    for (const eddy__inner *q = asker->first_inner; q && status == EDDY_OK;
         q = q->next) {
        eddy__segments_close(asker, q);
        status = asker->e.core.status;
    }
    asker->first_inner = asker->last_inner = NULL;
    return status;
}

eddy_status eddy__inner_answer(eddy__reverse *first)
{
    eddy__reverse rounds[2], *asker = first;
    eddy_status status = first->e.core.status;

    for (size_t i = 0; asker->first_inner && status == EDDY_OK; i++) {
        eddy__reverse *r = &rounds[i % 2];

        status = answer_round(r, asker);
        if (asker != first)
            eddy__round_deinit(asker);
        asker = r;
    }
    if (asker != first)
        eddy__round_deinit(asker);
    return status;
}

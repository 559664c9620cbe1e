/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that wait for the end of a loop that is open.
 *
 * What depends on all trips of a loop can be computed only once its body is
 * whole.  An Identity stands in for it until then, so that the body can use it;
 * eddy_while_end has the answers made, in an order in which none needs another
 * that is still to come, and lets the Identities read them.
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "frames/build/builder.h"

eddy_status eddy__builder_defer(eddy__builder *b,
                                const eddy__deferred *deferred, eddy_error *err)
{
    eddy__deferred copy = *deferred;

    copy.stand_ins = eddy__arena_allocate(&b->graph->arena, copy.n_places,
                                          sizeof *copy.stand_ins);
    if (!copy.stand_ins ||
        !eddy__grow(b->allocator, (void **)&b->deferred, &b->deferred_capacity,
                    b->n_deferred + 1, sizeof *b->deferred))
        return eddy__fail_memory(err);
    for (size_t i = 0; i < copy.n_places; i++)
        copy.stand_ins[i] = b->graph->nodes[copy.places[i].node].inputs[0];
    b->deferred[b->n_deferred++] = copy;
    return EDDY_OK;
}

void eddy__deferred_truncate(eddy__builder *b, size_t n_nodes)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_deferred; i++)
        if (b->deferred[i].places[0].node < n_nodes)
            b->deferred[n++] = b->deferred[i];
    b->n_deferred = n;
}

const eddy__deferred *eddy__deferred_of(const eddy__builder *b, eddy_node node)
{
    for (size_t i = 0; i < b->n_deferred; i++)
        for (size_t k = 0; k < b->deferred[i].n_places; k++)
            if (b->deferred[i].places[k].node == node &&
                !b->deferred[i].is_done)
                return &b->deferred[i];
    return NULL;
}

static void let_read(eddy__builder *b, const eddy__deferred *d,
                     const eddy_output *from)
{
    for (size_t i = 0; i < d->n_places; i++)
        if (from[i].node != EDDY_NO_NODE)
            eddy__edit_input(b->graph, d->places[i].node, 0, from[i]);
}

/* Has the answer to number `i` made, unless it waits for another. */
static eddy_status answer(eddy__builder *b, size_t i, eddy_output *answers,
                          eddy_error *err)
{
    eddy__deferred d = b->deferred[i];
    uint32_t waits_for = EDDY__NOT_FOUND;

    EDDY_TRY(d.ask(b->graph, d.data, answers, &waits_for, err));
    /* That may have moved the list, and added to it. */
    if (waits_for != EDDY__NOT_FOUND) {
        b->deferred[i].level = waits_for;
        return EDDY_OK;
    }
    let_read(b, &d, answers);
    b->deferred[i].is_done = true;
    return EDDY_OK;
}

/* One pass over those that wait for the loop of `level`. */
static eddy_status answer_some(eddy__builder *b, uint32_t level,
                               size_t *out_n_left, size_t *out_n_done,
                               eddy_error *err)
{
    eddy_status status = EDDY_OK;

    *out_n_left = *out_n_done = 0;
    for (size_t i = 0; i < b->n_deferred && status == EDDY_OK; i++) {
        const eddy__deferred *d = &b->deferred[i];
        const size_t n = d->n_places;
        eddy_output *answers;

        if (d->level != level || d->is_done)
            continue;
        answers = eddy__allocate(b->allocator, n, sizeof *answers);
        if (!answers)
            return eddy__fail_memory(err);
        status = answer(b, i, answers, err);
        eddy__free(b->allocator, answers, n, sizeof *answers);
        if (b->deferred[i].is_done)
            ++*out_n_done;
        else
            *out_n_left += b->deferred[i].level == level;
    }
    return status;
}

static eddy_status refuse(const eddy__builder *b, uint32_t level,
                          eddy_error *err)
{
    size_t i = 0;

    while (b->deferred[i].level != level || b->deferred[i].is_done)
        i++;
    return eddy__graph_fail_at(
        err, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
        &b->graph->nodes[b->deferred[i].places[0].node],
        "it counts what trips of the loop '%.64s' did that are over, and these "
        "depend on it in turn",
        b->levels[level].scope);
}

/* Takes those that are done off the list; if that failed, undoes them. */
static void settle(eddy__builder *b, bool has_failed)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_deferred; i++) {
        eddy__deferred *d = &b->deferred[i];

        if (d->is_done && has_failed)
            let_read(b, d, d->stand_ins);
        if (!d->is_done || has_failed) {
            b->deferred[n] = *d;
            b->deferred[n++].is_done = false;
        }
    }
    b->n_deferred = n;
}

eddy_status eddy__builder_answer(eddy__builder *b, uint32_t level,
                                 eddy_error *err)
{
    size_t n_left, n_done;
    eddy_status status;

    do
        status = answer_some(b, level, &n_left, &n_done, err);
    while (status == EDDY_OK && n_left > 0 && n_done > 0);
    if (status == EDDY_OK && n_left > 0)
        status = refuse(b, level, err);
    settle(b, status != EDDY_OK);
    return status;
}

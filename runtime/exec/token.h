/*
 * Moving values and tokens: what a node does when it has run.  Inline, since a
 * node's whole cost is a few of these.  @thread the driver
 */
#ifndef EDDY_EXEC_TOKEN_H
#define EDDY_EXEC_TOKEN_H

#include "runtime/exec/drive.h"

/* ---- the queue ---- */

bool eddy__queue_grow(eddy_run *run);

static inline void eddy__push(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it, bool dead)
{
    eddy__queue *q = &run->queue;

    if (__builtin_expect(q->tail - q->head == q->capacity, 0) &&
        !eddy__queue_grow(run))
        return;
    q->tokens[q->tail++ & (q->capacity - 1)] = (eddy__token){
        .step = (uintptr_t)step | (uintptr_t)dead, .iteration = it};
}

/* ---- values ---- */

/* Drops this consumer's claim on a slot. */
static inline void eddy__consume(eddy_run *run, eddy__value *slot)
{
    if (!eddy__value_is_counted(slot))
        return;
    if (slot->uses > 1)
        slot->uses--;
    else
        eddy__value_clear(&run->heap, slot);
}

/* The value of a slot for this consumer, who owns it from now on. */
static inline eddy__value eddy__take(eddy__value *slot)
{
    eddy__value value = *slot;

    if (!eddy__value_is_counted(slot))
        return value;
    if (slot->uses > 1) {
        slot->uses--;
        return eddy__value_copy(&value);
    }
    slot->kind = EDDY__NONE;
    return value;
}

/* The same, and what it borrows from its frame becomes its own. */
static inline eddy__value eddy__take_out(eddy__value *slot)
{
    eddy__value value = eddy__take(slot);

    if (value.kind == EDDY__CONSTANT) {
        value.kind = EDDY__TENSOR;
        atomic_fetch_add_explicit(&value.as.tensor->refs, 1,
                                  memory_order_relaxed);
    }
    return value;
}

/* Puts an owned value into output `i` of `step`, in `values`. */
static inline void eddy__put(eddy_run *run, const eddy__step *step, uint32_t i,
                             eddy__value *values, eddy__value value)
{
    eddy__value *slot = &values[step->out[i]];

    value.uses = step->out[step->node->n_out + i];
    *slot = value;
    if (value.uses == 0)
        eddy__value_clear(&run->heap, slot);
}

/* ---- edges ---- */

/*
 * The edges of `step` to Merges and ControlTriggers, `taken` being the one live
 * output (any, if UINT32_MAX) of a live node.  Returns the consumers made ready.
 */
uint32_t eddy__send_special(eddy_run *run, const eddy__step *step,
                            eddy__iteration *it, bool dead, uint32_t taken);

/*
 * A token on every edge of `step`, in the iteration where its outputs appear.
 * The consumers made ready are queued and counted in the iteration.
 */
static inline void eddy__send(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it, bool dead)
{
    const eddy__edge *edge = step->edges, *end = edge + step->n_plain;
    const eddy__step *steps = run->plan->steps;
    uint32_t n = 0;

    for (; edge < end; edge++) {
        eddy__liveness *l = &it->liveness[edge->local];

        if (eddy__arrive(l, dead)) {
            eddy__push(run, &steps[edge->step], it, l->dead != 0);
            n++;
        }
    }
    if (step->n_edges > step->n_plain)
        n += eddy__send_special(run, step, it, dead, UINT32_MAX);
    it->outstanding += n;
}

/* The same for a live Switch: only output `taken` and control edges are live. */
static inline void eddy__send_taken(eddy_run *run, const eddy__step *step,
                                    eddy__iteration *it, uint32_t taken)
{
    const eddy__edge *edge = step->edges, *end = edge + step->n_plain;
    const eddy__step *steps = run->plan->steps;
    uint32_t n = 0;

    for (; edge < end; edge++) {
        eddy__liveness *l = &it->liveness[edge->local];
        bool dead = edge->output != taken && edge->output != EDDY__CONTROL_PORT;

        if (eddy__arrive(l, dead)) {
            eddy__push(run, &steps[edge->step], it, l->dead != 0);
            n++;
        }
    }
    if (step->n_edges > step->n_plain)
        n += eddy__send_special(run, step, it, false, taken);
    it->outstanding += n;
}

/* A node of `it` is done. */
static inline void eddy__leave(eddy_run *run, eddy__iteration *it)
{
    if (--it->outstanding == 0)
        eddy__frame_retire(run, it->frame);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving values and tokens: what a node does when it has run.  Inline, since a
 * node's whole cost is a few of these.  @thread the driver
 */
#ifndef EDDY_EXEC_DYNAMIC_TOKEN_H
#define EDDY_EXEC_DYNAMIC_TOKEN_H

#include "runtime/exec/check.h"
#include "runtime/exec/dynamic/drive.h"

/* ---- the queue ---- */

/* Called when the ring is full, with `tail` on `head`; false: raised. */
bool eddy__queue_grow(eddy_run *run);

static inline void eddy__queue_push(eddy_run *run, const eddy__step *step,
                                    eddy__iteration *it, bool dead)
{
    eddy__queue *q = &eddy__dynamic_of(run)->queue;
    eddy__token *at = q->tail, *next = at + 1;

    *at = eddy__token_of(step, it, dead);
    if (__builtin_expect(next == q->end, 0))
        next = q->base;
    q->tail = next;
    if (__builtin_expect(next == q->head, 0))
        eddy__queue_grow(run);
}

static inline eddy__token eddy__queue_pop(eddy__queue *q)
{
    eddy__token *at = q->head, *next = at + 1;

    q->head = __builtin_expect(next == q->end, 0) ? q->base : next;
    return *at;
}

/* Puts a token before all others. */
static inline void eddy__queue_unpop(eddy_run *run, eddy__token token)
{
    eddy__queue *q = &eddy__dynamic_of(run)->queue;

    q->head = q->head == q->base ? q->end - 1 : q->head - 1;
    *q->head = token;
    if (q->head == q->tail)
        eddy__queue_grow(run);
}

/* ---- values ---- */

/* eddy__run_take, and what it borrows from its frame becomes its own. */
static inline eddy__value eddy__token_take_out(eddy__value *slot)
{
    eddy__value value = eddy__run_take(slot);

    eddy__value_keep(&value);
    return value;
}

/* Puts an owned value into output `i` of `step`, which appears in `it`. */
static inline void eddy__token_put(eddy_run *run, const eddy__step *step,
                                   uint32_t i, eddy__iteration *it,
                                   eddy__value value)
{
    eddy__value *slot = &it->values[step->out[i]];

    if (!eddy__check_value(run, step, i, &value, &it->place))
        eddy__value_clear(&run->heap, &value);
    *slot = value;
    if (step->flags & EDDY__STEP_INLINE_OUT)
        return;
    slot->uses = eddy__step_uses(step, i);
    if (slot->uses == 0)
        eddy__value_clear(&run->heap, slot);
}

/* Moves what `step` reads from `slot` into its output `i`, in `it`. */
static inline void eddy__token_pass(eddy_run *run, const eddy__step *step,
                                    uint32_t i, eddy__value *slot,
                                    eddy__iteration *it)
{
    if (step->flags & EDDY__STEP_INLINE_OUT) {
        if (eddy__check_value(run, step, i, slot, &it->place))
            it->values[step->out[i]] = *slot;
    } else {
        eddy__token_put(run, step, i, it, eddy__run_take(slot));
    }
}

/* ---- edges ---- */

/*
 * Where consumers go that become ready.  When nothing else is ready, the first
 * goes on in `next` instead of through the queue: the order is the same.
 */
typedef struct eddy__outlet {
    eddy__token next;
    bool is_direct; /* `next` is free, and the queue empty */
} eddy__outlet;

static inline eddy__outlet eddy__outlet_open(eddy_run *run)
{
    const eddy__queue *q = &eddy__dynamic_of(run)->queue;

    return (eddy__outlet){.is_direct = q->head == q->tail};
}

static inline void eddy__token_make_ready(eddy_run *run, const eddy__step *step,
                                          eddy__iteration *it, bool dead,
                                          eddy__outlet *outlet)
{
    if (outlet->is_direct) {
        outlet->next = eddy__token_of(step, it, dead);
        outlet->is_direct = false;
    } else {
        eddy__queue_push(run, step, it, dead);
    }
}

/*
 * The edges of `step` to Merges and ControlTriggers, `taken` being the one live
 * output (any, if EDDY__ALL_OUTPUTS) of a live node.  Returns how many
 * consumers it made ready.
 */
#define EDDY__ALL_OUTPUTS UINT32_MAX

uint32_t eddy__token_send_special(eddy_run *run, const eddy__step *step,
                                  eddy__iteration *it, bool dead,
                                  uint32_t taken, eddy__outlet *outlet);

/* A token on a plain edge: true if its consumer is ready, and how. */
static inline bool eddy__token_arrive_plain(eddy__iteration *it,
                                            const eddy__edge *edge, bool *dead)
{
    eddy__liveness *l;

    if (edge->port == EDDY__SOLE_PORT)
        return true;
    l = &it->liveness[edge->local];
    if (!eddy__liveness_arrive(l, *dead))
        return false;
    *dead = l->dead != 0;
    return true;
}

/*
 * A token on every edge of `step`, in the iteration where its outputs appear.
 * Returns how many consumers it made ready.
 */
static inline uint32_t eddy__token_send_all(eddy_run *run,
                                            const eddy__step *step,
                                            eddy__iteration *it, bool dead,
                                            eddy__outlet *outlet)
{
    const eddy__edge *edge = step->edges, *end = edge + step->n_plain;
    const eddy__step *steps = run->steps;
    uint32_t n = 0;

    for (; edge < end; edge++) {
        bool is_dead = dead;

        if (eddy__token_arrive_plain(it, edge, &is_dead)) {
            eddy__token_make_ready(run, &steps[edge->step], it, is_dead,
                                   outlet);
            n++;
        }
    }
    if (step->n_edges > step->n_plain) {
        /* A copy, so that the outlet itself stays in registers. */
        eddy__outlet copy = *outlet;

        n += eddy__token_send_special(run, step, it, dead, EDDY__ALL_OUTPUTS,
                                      &copy);
        *outlet = copy;
    }
    return n;
}

/* The same into any iteration, all through the queue, and counted there. */
static inline void eddy__token_send(eddy_run *run, const eddy__step *step,
                                    eddy__iteration *it, bool dead)
{
    eddy__outlet queue = {.is_direct = false};

    it->outstanding += eddy__token_send_all(run, step, it, dead, &queue);
}

/* A node of `it` is done and has made `n` others of it ready. */
static inline void eddy__token_leave(eddy_run *run, eddy__iteration *it,
                                     uint32_t n)
{
    it->outstanding += n - 1;
    if (it->outstanding == 0)
        eddy__frame_retire(run, it->frame);
}

#endif

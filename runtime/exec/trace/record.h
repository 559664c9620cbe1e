/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loop of a recorded run does for each token.  Inline, since a node's
 * own cost is a few times this; whatever is not plain goes to record.c.
 * @thread the driver
 */
#ifndef EDDY_EXEC_TRACE_RECORD_H
#define EDDY_EXEC_TRACE_RECORD_H

#include "runtime/exec/trace/trace.h"

static inline int64_t eddy__trace_bytes(const eddy_run *run)
{
    const int64_t held = (int64_t)atomic_load_explicit(&run->heap.account->held,
                                                       memory_order_relaxed);

    return held - EDDY__ACCOUNT_BIAS - (int64_t)run->heap.cached;
}

static inline uint64_t eddy__trace_resource(const eddy__value *value)
{
    return eddy__value_is_resource(value)
               ? (uint64_t)(uintptr_t)value->as.resource
               : 0;
}

static inline uint64_t eddy__trace_frame_of(const eddy__place *at)
{
    return at->instance->number;
}

static inline void eddy__trace_count(eddy_trace *trace, uint32_t weight,
                                     eddy_trace_state state)
{
    trace->totals.n_seen++;
    if (state == EDDY_TRACE_LIVE)
        trace->totals.live += weight;
    else if (state == EDDY_TRACE_DEAD)
        trace->totals.dead += weight;
}

/*
 * A kernel is about to run that may take long: it has a time of its own.  Nodes
 * of which nobody says so share theirs with those around.
 */
static inline void eddy__trace_may_last(eddy_run *run)
{
    if (run->trace->n_pending > 0)
        eddy__trace_tell_time(run->trace);
    run->trace->clock_at = 1;
}

/* A kernel is about to run on those of `values`, `n` of them. */
static inline void eddy__trace_before(eddy_run *run, const eddy__value *values,
                                      const uint32_t *slots, uint32_t n,
                                      uint64_t *out_resource)
{
    *out_resource = n > 0 ? eddy__trace_resource(&values[slots[0]]) : 0;
    if (run->trace->options.check_numerics)
        eddy__trace_check_inputs(run->trace, values, slots, n);
}

/* Was the last token there too? */
static inline bool eddy__trace_is_there(const eddy_trace *trace,
                                        const eddy__place *at)
{
    return trace->told.iteration == at->index &&
           trace->told.frame == eddy__trace_frame_of(at);
}

/*
 * The same, or it was in another iteration of a frame that is told of now;
 * there is room for that.
 */
static inline bool eddy__trace_moves(eddy_trace *trace, const eddy__place *at)
{
    const uint64_t frame = eddy__trace_frame_of(at);

    if (trace->told.frame == frame && trace->told.iteration == at->index)
        return true;
    if (frame >= trace->n_frames || !trace->frames[frame].is_known)
        return false;
    eddy__trace_put_place(trace, (uint32_t)frame, at->index);
    return true;
}

/*
 * A node of `at`: its outputs are at `slots` of `values`, `n` of them; `output`
 * is what a Switch took or which input a Merge has.
 *
 * Inline wherever it is called: most of its arguments are constants there.
 */
/* NOLINTBEGIN(readability-function-size): what a record is made of. */
__attribute__((always_inline)) static inline void
eddy__trace_add(eddy_run *run, const eddy__step *step, const eddy__place *at,
                eddy_trace_state state, const eddy__value *values,
                const uint32_t *slots, uint32_t n, uint32_t output,
                uint64_t resource)
{
    eddy_trace *trace = run->trace;
    unsigned char *next;
    const eddy__value *value = n == 1 ? &values[slots[0]] : NULL;
    eddy__trace_item item = {.what = (uint32_t)(step - run->steps),
                             .kind = (uint8_t)state,
                             .output = (uint8_t)output};

    if (__builtin_expect(
            trace->next >= trace->limit || resource != 0 ||
                !eddy__trace_is_there(trace, at) || n > 1 ||
                (value && value->kind != EDDY__SCALAR &&
                 (trace->options.values || eddy__value_is_resource(value))) ||
                (output >= EDDY__ITEM_NO_OUTPUT && output != EDDY_TRACE_NONE),
            0)) {
        eddy__trace_add_any(run, step, at, state, values, slots, n, output,
                            resource);
        return;
    }
    next = trace->next;
    if (value && trace->options.values) {
        item.flags = EDDY__ITEM_SCALAR;
        item.dtype = value->dtype;
        memcpy(next + sizeof item, &value->as, sizeof value->as);
        trace->next = next + sizeof item + eddy__item_scalar_bytes(item.dtype);
    } else {
        trace->next = next + sizeof item;
    }
    memcpy(next, &item, sizeof item);
    trace->n_pending++;
    trace->open = true;
    eddy__trace_count(trace, eddy__trace_weight(step), state);
}

/* NOLINTEND(readability-function-size) */

/* The token is through. */
static inline void eddy__trace_done(eddy_run *run)
{
    eddy_trace *trace = run->trace;
    const int64_t in_use = eddy__trace_bytes(run);

    if (__builtin_expect(
            trace->n_pending >= trace->clock_at || in_use != trace->in_use, 0))
        eddy__trace_done_any(run, in_use);
    trace->open = false;
}

#endif

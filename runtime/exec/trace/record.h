/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loop of a recorded run does for each token.  Inline, since a node's
 * own cost is a few times this; whatever is not plain goes to record.c.
 * @thread the driver
 */
#ifndef EDDY_EXEC_TRACE_RECORD_H
#define EDDY_EXEC_TRACE_RECORD_H

#include "runtime/exec/dynamic/state.h"
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

/* A recorded run is the dynamic executor's, whose frames have numbers. */
static inline uint64_t eddy__trace_frame_of(const eddy__place *at)
{
    return ((const eddy__frame *)(const void *)at->instance)->number;
}

/* For how many of the statistics' nodes a step stands. */
static inline uint32_t eddy__trace_weight(const eddy__step *step)
{
    if (step->kind == EDDY__STEP_KERNEL)
        return 1 + step->aux;
    return step->kind != EDDY__STEP_FEED && step->kind != EDDY__STEP_FETCH;
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

/* A kernel is about to run on `values`. */
static inline void eddy__trace_before(eddy_run *run, const eddy__step *step,
                                      const eddy__value *values,
                                      uint64_t *out_resource)
{
    *out_resource =
        step->node->n_in > 0 ? eddy__trace_resource(&values[step->in[0]]) : 0;
    if (run->trace->options.check_numerics)
        eddy__trace_check_inputs(run, step, values);
}

/*
 * A node of `at`: its outputs are at `slots` of `values`, `n` of them; `output`
 * is what a Switch took or which input a Merge has.
 */
/* NOLINTNEXTLINE(readability-function-size): what a record is made of. */
static inline void eddy__trace_add(eddy_run *run, const eddy__step *step,
                                   const eddy__place *at,
                                   eddy_trace_state state,
                                   const eddy__value *values,
                                   const uint32_t *slots, uint32_t n,
                                   uint32_t output, uint64_t resource)
{
    eddy_trace *trace = run->trace;
    eddy_trace_record *record = trace->next;
    const uint64_t frame = eddy__trace_frame_of(at);
    const uint32_t weight = eddy__trace_weight(step);

    if (__builtin_expect(record == trace->limit || frame >= trace->n_frames ||
                             !trace->frames[frame].is_known,
                         0)) {
        eddy__trace_add_any(run, step, at, state, values, slots, n, output,
                            resource);
        return;
    }
    if (resource == 0 && n > 0)
        resource = eddy__trace_resource(&values[slots[0]]);
    trace->next = record + 1;
    trace->open = record;
    record->number = trace->totals.n_seen;
    record->start_ns = trace->mark_ns - trace->began_ns;
    record->resource = resource;
    record->iteration = at->index;
    record->frame = (uint32_t)frame;
    record->node = (uint32_t)(step - run->steps);
    record->n_nodes = weight;
    record->output = output;
    record->worker = trace->worker;
    record->n_values = 0;
    record->state = (uint8_t)state;
    record->is_non_finite = false;
    eddy__trace_count(trace, weight, state);
}

/* The record that is open, if one is, has taken from `began` to `now`. */
static inline void eddy__trace_close(eddy_run *run, uint64_t began,
                                     uint64_t now)
{
    eddy_trace *trace = run->trace;
    eddy_trace_record *record = trace->open;
    const int64_t in_use = eddy__trace_bytes(run);

    if (record) {
        record->duration_ns = now > began ? now - began : 0;
        record->bytes = in_use > 0 ? (uint64_t)in_use : 0;
        record->allocated = in_use - trace->in_use;
        trace->open = NULL;
        if (!trace->is_plain)
            eddy__trace_tell(trace, record);
    }
    trace->in_use = in_use;
}

/* The token is through. */
static inline void eddy__trace_done(eddy_run *run)
{
    eddy_trace *trace = run->trace;
    const uint64_t now = eddy__ticks_now(&trace->ticks);

    eddy__trace_close(run, trace->mark_ns, now);
    if (now > trace->mark_ns)
        trace->mark_ns = now;
}

#endif

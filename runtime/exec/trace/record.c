/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: what engines tell becomes records.
 *
 * The clock is read once a token: a token begins when the one before it ended.
 * Recording never fails a run; what there is no memory for is counted.
 */
#include "runtime/exec/dynamic/state.h"
#include "runtime/exec/trace/trace.h"

#include "core/base/status.h"

#include <string.h>

/* ---- which ---- */

/* The iteration that the limits speak of; NULL: none is around. */
static const eddy__place *limited_place(const eddy_trace *trace,
                                        const eddy__place *at)
{
    const eddy__plan_frame *frame;

    if (trace->frame == EDDY_TRACE_NONE)
        return at->instance->parent ? at : NULL;
    frame = &trace->plan->frames[trace->frame];
    while (at && at->instance->plan != frame)
        at = at->instance->parent;
    return at;
}

static bool is_wanted(const eddy_trace *trace, const eddy__step *step,
                      const eddy__place *at)
{
    const eddy_trace_options *o = &trace->options;
    const eddy__place *place;

    if (!trace->wanted[step - trace->plan->steps])
        return false;
    if (o->first_iteration == 0 && o->last_iteration == 0)
        return true;
    place = limited_place(trace, at);
    return !place ||
           (place->index >= o->first_iteration &&
            (o->last_iteration == 0 || place->index <= o->last_iteration));
}

/* ---- where ---- */

/* A recorded run is the dynamic executor's, whose frames have numbers. */
static uint64_t number_of(const eddy__instance *frame)
{
    return ((const eddy__frame *)(const void *)frame)->number;
}

/* Makes the frames of an iteration known; false without memory. */
static bool note_frames(eddy_trace *trace, const eddy__place *at)
{
    for (; at; at = at->instance->parent) {
        const eddy__instance *frame = at->instance;
        const uint64_t number = number_of(frame);
        const size_t n = (size_t)number + 1, room = trace->frames_room;

        if (number >= EDDY_TRACE_NONE ||
            !eddy__grow(trace->allocator, (void **)&trace->frames,
                        &trace->frames_room, n, sizeof *trace->frames))
            return false;
        if (trace->frames_room > room)
            memset(trace->frames + room, 0,
                   (trace->frames_room - room) * sizeof *trace->frames);
        if (trace->n_frames < n)
            trace->n_frames = n;
        if (trace->frames[number].is_known)
            return true;
        trace->frames[number] = (eddy_trace_frame){
            .static_frame = (uint32_t)(frame->plan - trace->plan->frames),
            .parent = frame->parent
                          ? (uint32_t)number_of(frame->parent->instance)
                          : 0,
            .parent_iteration = frame->parent ? frame->parent->index : 0,
            .is_known = true};
    }
    return true;
}

/* The number of a thread, by appearance. */
static uint32_t worker_of(eddy_trace *trace, eddy__thread thread)
{
    uint32_t n = trace->totals.n_workers;

    for (uint32_t i = 0; i < n; i++)
        if (uv_thread_equal(&trace->threads[i], &thread))
            return i;
    if (n == EDDY__TRACE_THREADS)
        return n - 1;
    trace->threads[n] = thread;
    trace->totals.n_workers++;
    return n;
}

static int64_t bytes_in_use(const eddy_run *run)
{
    const int64_t held = (int64_t)atomic_load_explicit(&run->heap.account->held,
                                                       memory_order_relaxed);

    return held - EDDY__ACCOUNT_BIAS - (int64_t)run->heap.cached;
}

/* ---- room ---- */

static void free_values(const eddy_trace *trace, size_t i)
{
    eddy__free(trace->allocator, trace->values[i], trace->records[i].n_values,
               sizeof(eddy_trace_value));
    trace->values[i] = NULL;
}

/* Where the next record goes; NULL: nowhere. */
static eddy_trace_record *make_room(eddy_trace *trace)
{
    const size_t n = trace->n_records;
    size_t at;

    if (n < trace->max_records) {
        if (!eddy__grow(trace->allocator, (void **)&trace->records,
                        &trace->records_room, n + 1, sizeof *trace->records) ||
            !eddy__grow(trace->allocator, (void **)&trace->values,
                        &trace->values_room, n + 1, sizeof(eddy__trace_values)))
            return NULL;
        trace->values[n] = NULL;
        trace->n_records++;
        return &trace->records[n];
    }
    if (!trace->options.keep_last)
        return NULL;
    at = trace->oldest;
    free_values(trace, at);
    trace->oldest = at + 1 == trace->max_records ? 0 : at + 1;
    trace->totals.n_dropped++;
    return &trace->records[at];
}

static void keep_values(eddy_trace *trace, eddy_trace_record *record,
                        const eddy__value *values, const uint32_t *slots,
                        uint32_t n)
{
    eddy_trace_value *kept = eddy__allocate(trace->allocator, n, sizeof *kept);

    if (!kept)
        return;
    for (uint32_t i = 0; i < n; i++) {
        eddy__trace_summarise(&values[slots[i]], &kept[i]);
        record->is_non_finite = record->is_non_finite || kept[i].n_nan > 0 ||
                                kept[i].n_infinite > 0;
    }
    record->n_values = (uint16_t)n;
    trace->told = kept;
    if (record != &trace->passing)
        trace->values[record - trace->records] = kept;
}

/* ---- numerics ---- */

static void check_numerics(eddy_run *run, const eddy__step *step,
                           const eddy__place *at, const eddy__value *values,
                           const uint32_t *slots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        eddy_trace_value value;

        if (!eddy__trace_is_non_finite(&values[slots[i]]))
            continue;
        eddy__trace_summarise(&values[slots[i]], &value);
        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_NUMERICS, step, at,
                        "output %u has %llu NaN and %llu infinite elements of "
                        "%lld, from finite inputs",
                        i, (unsigned long long)value.n_nan,
                        (unsigned long long)value.n_infinite,
                        (long long)value.count);
        return;
    }
}

static bool makes_values(const eddy__step *step)
{
    return step->kind == EDDY__STEP_KERNEL || step->kind == EDDY__STEP_SCALAR;
}

/* ---- what engines tell ---- */

static uint64_t resource_of(const eddy__value *value)
{
    return eddy__value_is_resource(value)
               ? (uint64_t)(uintptr_t)value->as.resource
               : 0;
}

void eddy__trace_before(eddy_run *run, const eddy__step *step,
                        const eddy__value *values, uint64_t *out_resource)
{
    eddy_trace *trace = run->trace;
    const eddy__kernel_node *node = step->node;

    *out_resource = node->n_in > 0 ? resource_of(&values[step->in[0]]) : 0;
    trace->inputs_are_finite = true;
    for (uint32_t i = 0; trace->options.check_numerics && i < node->n_in; i++)
        if (eddy__trace_is_non_finite(&values[step->in[i]]))
            trace->inputs_are_finite = false;
}

static uint32_t nodes_of(const eddy__step *step)
{
    if (step->kind == EDDY__STEP_FEED || step->kind == EDDY__STEP_FETCH)
        return 0;
    return step->kind == EDDY__STEP_KERNEL ? 1 + step->aux : 1;
}

static void count(eddy_trace *trace, const eddy_trace_record *record)
{
    trace->totals.n_seen++;
    if (record->state == EDDY_TRACE_LIVE)
        trace->totals.live += record->n_nodes;
    else if (record->state == EDDY_TRACE_DEAD)
        trace->totals.dead += record->n_nodes;
}

/* One that was told and is not kept goes. */
static void drop_passing(eddy_trace *trace, const eddy_trace_record *record)
{
    if (record == &trace->passing)
        eddy__free(trace->allocator, trace->told, record->n_values,
                   sizeof *trace->told);
    trace->told = NULL;
}

/* Gives the record that is open its end, and tells the host. */
static void close_record(eddy_run *run, uint64_t now)
{
    eddy_trace *trace = run->trace;
    eddy_trace_record *record = trace->open;
    const int64_t in_use = bytes_in_use(run);

    trace->open = NULL;
    record->duration_ns = now > trace->mark_ns ? now - trace->mark_ns : 0;
    record->bytes = in_use > 0 ? (uint64_t)in_use : 0;
    record->allocated = in_use - trace->in_use;
    if (trace->options.record)
        trace->options.record(trace->options.user, trace, record, trace->told);
    drop_passing(trace, record);
}

/* NOLINTNEXTLINE(readability-function-size): what a record is made of. */
void eddy__trace_add(eddy_run *run, const eddy__step *step,
                     const eddy__place *at, eddy_trace_state state,
                     const eddy__value *values, const uint32_t *slots,
                     uint32_t n, uint32_t output, uint64_t resource)
{
    eddy_trace *trace = run->trace;
    eddy_trace_record made, *record;

    if (!is_wanted(trace, step, at))
        return;
    if (resource == 0 && n > 0)
        resource = resource_of(&values[slots[0]]);
    made = (eddy_trace_record){.number = trace->totals.n_seen,
                               .start_ns = trace->mark_ns - trace->began_ns,
                               .resource = resource,
                               .iteration = at->index,
                               .frame = (uint32_t)number_of(at->instance),
                               .node = (uint32_t)(step - trace->plan->steps),
                               .n_nodes = nodes_of(step),
                               .output = output,
                               .worker = worker_of(trace, uv_thread_self()),
                               .state = (uint8_t)state};
    count(trace, &made);
    record = note_frames(trace, at) ? make_room(trace) : NULL;
    if (!record) {
        trace->totals.n_dropped++;
        record = trace->options.record ? &trace->passing : NULL;
    }
    if (record) {
        *record = made;
        trace->open = record;
        if (trace->options.values && n > 0 && n <= UINT16_MAX)
            keep_values(trace, record, values, slots, n);
    }
    if (trace->options.check_numerics && trace->inputs_are_finite &&
        makes_values(step))
        check_numerics(run, step, at, values, slots, n);
}

void eddy__trace_done(eddy_run *run)
{
    eddy_trace *trace = run->trace;
    const uint64_t now = eddy__now_ns();

    if (trace->open)
        close_record(run, now);
    trace->in_use = bytes_in_use(run);
    trace->mark_ns = now;
}

/* Its start is that of the kernel, on the thread that ran it. */
void eddy__trace_add_task(eddy_run *run, const eddy__task *task,
                          eddy_trace_state state)
{
    eddy_trace *trace = run->trace;
    const eddy__step *step = task->step;
    const uint32_t n_in = step->node->n_in;
    uint64_t resource = 0;

    trace->inputs_are_finite = true;
    if (n_in > 0)
        resource = resource_of(&task->values[0]);
    for (uint32_t i = 0; trace->options.check_numerics && i < n_in; i++)
        if (eddy__trace_is_non_finite(&task->values[i]))
            trace->inputs_are_finite = false;
    eddy__trace_resume(run);
    eddy__trace_add(run, step, task->at, state, task->values, task->kernel.out,
                    state == EDDY_TRACE_LIVE ? step->node->n_out : 0,
                    EDDY_TRACE_NONE, resource);
    if (!trace->open)
        return;
    trace->open->start_ns = task->begin_ns - trace->began_ns;
    trace->open->worker = worker_of(trace, task->thread);
    trace->mark_ns = task->begin_ns;
    close_record(run, task->end_ns);
    trace->mark_ns = eddy__now_ns();
}

void eddy__trace_resume(eddy_run *run)
{
    run->trace->mark_ns = eddy__now_ns();
}

void eddy__trace_begin(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    for (size_t i = 0; i < trace->n_records; i++)
        free_values(trace, i);
    if (trace->frames)
        memset(trace->frames, 0, trace->n_frames * sizeof *trace->frames);
    eddy__trace_drop_index(trace);
    trace->n_records = trace->oldest = trace->n_frames = 0;
    trace->totals = (eddy_trace_totals){.n_seen = 0};
    trace->open = NULL;
    trace->began_ns = trace->mark_ns = eddy__now_ns();
    trace->in_use = bytes_in_use(run);
    trace->inputs_are_finite = true;
}

void eddy__trace_end(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    if (trace->open)
        eddy__trace_done(run);
    trace->totals.duration_ns = eddy__now_ns() - trace->began_ns;
    trace->totals.stats = run->stats;
    trace->totals.status = run->status;
}

/* ---- making and freeing ---- */

static bool is_meant(const char *pattern, const char *name)
{
    const size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return strncmp(pattern, name, n - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool is_in_frame(const eddy_trace *trace, uint32_t frame)
{
    while (frame != trace->frame && frame != 0)
        frame = trace->static_frames[frame].parent;
    return frame == trace->frame;
}

static eddy_status choose_frame(eddy_trace *trace, eddy_error *err)
{
    const char *name = trace->options.frame;

    trace->frame = EDDY_TRACE_NONE;
    if (!name)
        return EDDY_OK;
    for (uint32_t f = 0; f < trace->plan->n_frames; f++)
        if (strcmp(trace->static_frames[f].name, name) == 0)
            trace->frame = f;
    if (trace->frame == EDDY_TRACE_NONE)
        return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                          "the plan has no frame '%s' to record", name);
    return EDDY_OK;
}

/* How many nodes a name stands for, which are wanted then. */
static size_t choose_name(eddy_trace *trace, const char *pattern)
{
    size_t n = 0;

    for (uint32_t id = 0; id < trace->plan->n_steps; id++)
        if (is_meant(pattern, trace->nodes[id].name)) {
            trace->wanted[id] = 1;
            n++;
        }
    return n;
}

static eddy_status choose_nodes(eddy_trace *trace, eddy_error *err)
{
    const eddy_trace_options *o = &trace->options;

    for (size_t i = 0; i < o->n_nodes; i++)
        if (choose_name(trace, o->nodes[i]) == 0)
            return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                              "the plan has no node '%s' to record",
                              o->nodes[i]);
    if (o->n_nodes == 0)
        memset(trace->wanted, 1, trace->plan->n_steps);
    for (uint32_t id = 0; id < trace->plan->n_steps; id++)
        if (trace->frame != EDDY_TRACE_NONE &&
            !is_in_frame(trace, trace->nodes[id].frame))
            trace->wanted[id] = 0;
    return EDDY_OK;
}

static eddy_status init(eddy_trace *trace, eddy_error *err)
{
    eddy_trace_options *o = &trace->options;

    EDDY_TRY(eddy__trace_describe(trace, err));
    EDDY_TRY(choose_frame(trace, err));
    EDDY_TRY(choose_nodes(trace, err));
    o->values = o->values || o->check_numerics;
    o->frame = NULL; /* the caller's, as are the names */
    o->nodes = NULL;
    o->n_nodes = 0;
    trace->max_records = o->max_records > 0 ? (size_t)o->max_records : 1000000;
    if (trace->max_records >= EDDY_TRACE_NONE)
        trace->max_records = EDDY_TRACE_NONE - 1;
    return EDDY_OK;
}

eddy_status eddy_trace_create(eddy_plan *plan,
                              const eddy_trace_options *options,
                              eddy_trace **out_trace, eddy_error *err)
{
    const eddy_allocator *allocator = &plan->ctx->allocator;
    eddy_trace *trace;
    eddy_status status;

    *out_trace = NULL;
    EDDY_REFUSE_IF(options &&
                       (options->size == 0 || options->size > sizeof *options),
                   err, "trace options of %zu bytes, wanted up to %zu",
                   options->size, sizeof *options);
    trace = eddy__allocate_zeroed(allocator, 1, sizeof *trace);
    if (!trace)
        return eddy__fail_memory(err);
    trace->plan = eddy_plan_retain(plan);
    trace->allocator = allocator;
    trace->arena.allocator = allocator;
    if (options)
        memcpy(&trace->options, options, options->size);
    status = init(trace, err);
    if (status == EDDY_OK)
        *out_trace = trace;
    else
        eddy_trace_destroy(trace);
    return status;
}

void eddy_trace_destroy(eddy_trace *trace)
{
    const eddy_allocator *a;

    if (!trace)
        return;
    a = trace->allocator;
    for (size_t i = 0; i < trace->n_records; i++)
        free_values(trace, i);
    eddy__trace_drop_index(trace);
    eddy__free(a, trace->records, trace->records_room, sizeof *trace->records);
    eddy__free(a, trace->values, trace->values_room,
               sizeof(eddy__trace_values));
    eddy__free(a, trace->frames, trace->frames_room, sizeof *trace->frames);
    eddy__arena_destroy(&trace->arena);
    eddy_plan_release(trace->plan);
    eddy__free(a, trace, 1, sizeof *trace);
}

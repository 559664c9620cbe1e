/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: what engines tell becomes records.
 *
 * The clock is read once a token: a token begins when the one before it ended.
 * Recording never fails a run; what there is no memory for is counted.
 */
#include "runtime/exec/trace/record.h"

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

/* Makes the frames of an iteration known; false without memory. */
static bool note_frames(eddy_trace *trace, const eddy__place *at)
{
    for (; at; at = at->instance->parent) {
        const eddy__frame_instance *frame = at->instance;
        const uint64_t number = eddy__trace_frame_of(at);
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
                          ? (uint32_t)eddy__trace_frame_of(frame->parent)
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

/* ---- room ---- */

/* Summaries that a block holds, if those of one record are not more. */
#define BLOCK 256

/* The block has one user less; NULL: there is none. */
static void release_block(eddy_trace *trace, eddy__trace_block *block)
{
    if (!block || --block->n_users > 0)
        return;
    block->used = 0;
    if (block == trace->block)
        return;
    block->spare = trace->spares;
    trace->spares = block;
}

static eddy__trace_block *make_block(eddy_trace *trace, uint32_t n)
{
    const uint32_t room = n > BLOCK ? n : BLOCK;
    eddy__trace_block *block = trace->spares;

    if (block && block->room >= n) {
        trace->spares = block->spare;
        return block;
    }
    block = eddy__allocate(trace->allocator, 1,
                           sizeof *block + room * sizeof *block->values);
    if (block)
        *block = (eddy__trace_block){.room = room};
    return block;
}

/* Room for `n` summaries, the caller being a user of it; none without memory.
 */
static eddy__trace_values take_values(eddy_trace *trace, uint32_t n)
{
    eddy__trace_block *block = trace->block;

    if (!block || block->room - block->used < n) {
        block = make_block(trace, n);
        if (!block)
            return (eddy__trace_values){.block = NULL};
        if (trace->block && trace->block->n_users == 0) {
            trace->block->spare = trace->spares;
            trace->spares = trace->block;
        }
        trace->block = block;
    }
    block->n_users++;
    block->used += n;
    return (eddy__trace_values){.block = block,
                                .first = &block->values[block->used - n]};
}

static void free_block(const eddy_trace *trace, eddy__trace_block *block)
{
    eddy__free(trace->allocator, block, 1,
               sizeof *block + block->room * sizeof *block->values);
}

static void free_values(eddy_trace *trace, size_t i)
{
    eddy_trace_record *record = eddy__trace_place(trace, i);

    if (record->n_values > 0)
        release_block(trace, eddy__trace_kept(trace, i)->block);
    record->n_values = 0;
}

/* Chunks up to that of place `at`; false without memory. */
static bool make_chunk(eddy_trace *trace, size_t at)
{
    eddy__trace_chunk *chunk;

    if (at / EDDY__TRACE_CHUNK < trace->n_chunks)
        return true;
    if (!eddy__grow(trace->allocator, (void **)&trace->chunks,
                    &trace->chunks_room, trace->n_chunks + 1,
                    sizeof(eddy__trace_chunk *)))
        return false;
    chunk = eddy__allocate(trace->allocator, 1, sizeof *chunk);
    if (chunk)
        trace->chunks[trace->n_chunks++] = chunk;
    return chunk != NULL;
}

/* Where the next record goes; NONE: nowhere. */
static size_t make_room(eddy_trace *trace)
{
    size_t at = trace->n_records;

    if (at < trace->max_records) {
        if (!make_chunk(trace, at))
            return EDDY_TRACE_NONE;
        trace->n_records++;
        eddy__trace_place(trace, at)->n_values = 0;
        return at;
    }
    if (!trace->options.keep_last)
        return EDDY_TRACE_NONE;
    at = trace->oldest;
    free_values(trace, at);
    trace->oldest = at + 1 == trace->max_records ? 0 : at + 1;
    trace->totals.n_dropped++;
    return at;
}

/* Counts the records of the window that have been written. */
static void close_window(eddy_trace *trace)
{
    const size_t n = (size_t)(trace->next - trace->window);

    trace->window = trace->next = trace->limit = NULL;
    if (trace->n_records < trace->max_records) {
        trace->n_records += n;
        return;
    }
    trace->oldest += n;
    if (trace->oldest == trace->max_records)
        trace->oldest = 0;
    trace->totals.n_dropped += n;
}

/* Opens it on what is left of the chunk where the next record goes. */
static void open_window(eddy_trace *trace)
{
    const bool is_full = trace->n_records == trace->max_records;
    const size_t at = is_full ? trace->oldest : trace->n_records;
    size_t n = EDDY__TRACE_CHUNK - at % EDDY__TRACE_CHUNK;

    if ((is_full && !trace->options.keep_last) ||
        at / EDDY__TRACE_CHUNK >= trace->n_chunks)
        return;
    if (n > trace->max_records - at)
        n = trace->max_records - at;
    trace->window = trace->next = eddy__trace_place(trace, at);
    trace->limit = trace->next + n;
}

static void keep_values(eddy_trace *trace, eddy_trace_record *record,
                        const eddy__value *values, const uint32_t *slots,
                        uint32_t n)
{
    const eddy__trace_values kept = take_values(trace, n);

    if (!kept.block)
        return;
    for (uint32_t i = 0; i < n; i++) {
        eddy_trace_value *value = &kept.first[i];

        eddy__trace_summarise(&values[slots[i]], value);
        record->is_non_finite =
            record->is_non_finite || value->n_nan > 0 || value->n_infinite > 0;
    }
    record->n_values = (uint16_t)n;
    trace->told = kept;
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

void eddy__trace_check_inputs(eddy_run *run, const eddy__step *step,
                              const eddy__value *values)
{
    const eddy__kernel_node *node = step->node;

    run->trace->inputs_are_finite = true;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (eddy__trace_is_non_finite(&values[step->in[i]]))
            run->trace->inputs_are_finite = false;
}

void eddy__trace_tell(eddy_trace *trace, eddy_trace_record *record)
{
    if (trace->options.record)
        trace->options.record(trace->options.user, trace, record,
                              trace->told.first);
    if (record == &trace->passing)
        release_block(trace, trace->told.block);
    trace->told = (eddy__trace_values){.block = NULL};
}

/* Where a record goes that is made; NULL: nobody wants to see it. */
static eddy_trace_record *place_record(eddy_trace *trace, const eddy__place *at,
                                       size_t *out_place)
{
    *out_place = note_frames(trace, at) ? make_room(trace) : EDDY_TRACE_NONE;
    if (*out_place != EDDY_TRACE_NONE)
        return eddy__trace_place(trace, *out_place);
    trace->totals.n_dropped++;
    return trace->options.record ? &trace->passing : NULL;
}

/* NOLINTNEXTLINE(readability-function-size): what a record is made of. */
void eddy__trace_add_any(eddy_run *run, const eddy__step *step,
                         const eddy__place *at, eddy_trace_state state,
                         const eddy__value *values, const uint32_t *slots,
                         uint32_t n, uint32_t output, uint64_t resource)
{
    eddy_trace *trace = run->trace;
    eddy_trace_record *record;
    size_t place;

    if (!is_wanted(trace, step, at))
        return;
    close_window(trace);
    if (resource == 0 && n > 0)
        resource = eddy__trace_resource(&values[slots[0]]);
    record = place_record(trace, at, &place);
    if (record) {
        *record =
            (eddy_trace_record){.number = trace->totals.n_seen,
                                .start_ns = trace->mark_ns - trace->began_ns,
                                .resource = resource,
                                .iteration = at->index,
                                .frame = (uint32_t)eddy__trace_frame_of(at),
                                .node = (uint32_t)(step - run->steps),
                                .n_nodes = eddy__trace_weight(step),
                                .output = output,
                                .worker = trace->worker,
                                .state = (uint8_t)state};
        trace->open = record;
        if (trace->options.values && n > 0 && n <= UINT16_MAX)
            keep_values(trace, record, values, slots, n);
        if (place != EDDY_TRACE_NONE && record->n_values > 0)
            *eddy__trace_kept(trace, place) = trace->told;
    }
    eddy__trace_count(trace, eddy__trace_weight(step), state);
    if (trace->is_plain)
        open_window(trace);
    if (trace->options.check_numerics && trace->inputs_are_finite &&
        makes_values(step))
        check_numerics(run, step, at, values, slots, n);
}

/* Its start is that of the kernel, on the thread that ran it. */
void eddy__trace_add_task(eddy_run *run, const eddy__task *task,
                          eddy_trace_state state)
{
    eddy_trace *trace = run->trace;
    const eddy__step *step = task->step;
    const uint32_t n_in = step->node->n_in;
    eddy_trace_record *record;
    uint64_t resource = 0;

    trace->inputs_are_finite = true;
    if (n_in > 0)
        resource = eddy__trace_resource(&task->values[0]);
    for (uint32_t i = 0; trace->options.check_numerics && i < n_in; i++)
        if (eddy__trace_is_non_finite(&task->values[i]))
            trace->inputs_are_finite = false;
    eddy__trace_resume(run);
    eddy__trace_add_any(run, step, task->at, state, task->values,
                        task->kernel.out,
                        state == EDDY_TRACE_LIVE ? step->node->n_out : 0,
                        EDDY_TRACE_NONE, resource);
    record = trace->open;
    if (!record)
        return;
    record->start_ns = task->begin_ns - trace->began_ns;
    record->worker = worker_of(trace, task->thread);
    eddy__trace_close(run, task->begin_ns, task->end_ns);
}

void eddy__trace_resume(eddy_run *run)
{
    eddy_trace *trace = run->trace;
    const uint64_t now = eddy__ticks_set(&trace->ticks);

    if (now > trace->mark_ns)
        trace->mark_ns = now;
    trace->worker = worker_of(trace, uv_thread_self());
}

/* Nothing is kept, of the values neither. */
static void forget_records(eddy_trace *trace)
{
    if (trace->open == &trace->passing)
        release_block(trace, trace->told.block);
    for (size_t i = 0; trace->options.values && i < trace->n_records; i++)
        free_values(trace, i);
    trace->open = NULL;
    trace->n_records = trace->oldest = 0;
    trace->window = trace->next = trace->limit = NULL;
    trace->told = (eddy__trace_values){.block = NULL};
}

void eddy__trace_begin(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    forget_records(trace);
    if (trace->frames)
        memset(trace->frames, 0, trace->n_frames * sizeof *trace->frames);
    eddy__trace_drop_index(trace);
    trace->n_frames = 0;
    trace->totals = (eddy_trace_totals){.n_seen = 0};
    eddy__ticks_begin(&trace->ticks);
    trace->began_ns = trace->mark_ns = eddy__ticks_set(&trace->ticks);
    trace->in_use = eddy__trace_bytes(run);
    trace->inputs_are_finite = true;
}

void eddy__trace_end(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    if (trace->open)
        eddy__trace_done(run);
    close_window(trace);
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
    trace->is_plain = !o->values && !o->record && !o->frame &&
                      o->n_nodes == 0 && o->first_iteration == 0 &&
                      o->last_iteration == 0;
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
    forget_records(trace);
    if (trace->block)
        free_block(trace, trace->block);
    while (trace->spares) {
        eddy__trace_block *block = trace->spares;

        trace->spares = block->spare;
        free_block(trace, block);
    }
    eddy__trace_drop_index(trace);
    for (size_t i = 0; i < trace->n_chunks; i++)
        eddy__free(a, trace->chunks[i], 1, sizeof *trace->chunks[i]);
    eddy__free(a, trace->chunks, trace->chunks_room,
               sizeof(eddy__trace_chunk *));
    eddy__free(a, trace->frames, trace->frames_room, sizeof *trace->frames);
    eddy__arena_destroy(&trace->arena);
    eddy_plan_release(trace->plan);
    eddy__free(a, trace, 1, sizeof *trace);
}

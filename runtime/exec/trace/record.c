/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: what engines tell becomes records.
 *
 * A token begins when the one before it ended.  The clock, which takes longer
 * to read than a scalar's kernel runs, is read around kernels that may take
 * long, and else once in EDDY__TRACE_PERIOD tokens, which share the time.
 * Recording never fails a run; what there is no memory for is counted.
 */
#include "runtime/exec/trace/record.h"

#include "core/base/status.h"

#include <string.h>

/* Tokens of which none may take long share the time between two readings. */
#define EDDY__TRACE_PERIOD 32

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
            .is_known = true,
            .is_linear = frame->is_linear};
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

/* ---- items ---- */

static void put(eddy_trace *trace, const void *bytes, size_t n)
{
    trace->next = eddy__item_put(trace->next, bytes, n);
}

static void put_item(eddy_trace *trace, eddy__trace_item_kind kind,
                     uint32_t what, uint8_t flags)
{
    const eddy__trace_item item = {
        .what = what, .kind = (uint8_t)kind, .flags = flags};

    put(trace, &item, sizeof item);
}

static uint64_t now_of(const eddy_trace *trace)
{
    const uint64_t now = eddy__ticks_now(&trace->ticks);

    return now > trace->began_ns ? now - trace->began_ns : 0;
}

/* What is pending has taken until `mark_ns`. */
static void put_time(eddy_trace *trace)
{
    const uint64_t ns = trace->mark_ns - trace->told.ns;
    const bool is_long = ns > UINT32_MAX;

    put_item(trace, EDDY__ITEM_TIME, is_long ? 0 : (uint32_t)ns,
             is_long ? EDDY__ITEM_LONG : 0);
    if (is_long)
        put(trace, &ns, sizeof ns);
    trace->told.ns = trace->mark_ns;
    trace->n_pending = 0;
    trace->clock_at = trace->is_plain ? EDDY__TRACE_PERIOD : 0;
}

void eddy__trace_tell_time(eddy_trace *trace)
{
    const uint64_t now = now_of(trace);

    if (now > trace->mark_ns)
        trace->mark_ns = now;
    if (trace->n_pending > 0)
        put_time(trace);
}

/* When and where what comes next is, as far as that has not been told. */
static void put_where(eddy_trace *trace, const eddy__place *at)
{
    const uint64_t frame = eddy__trace_frame_of(at);

    if (trace->n_pending == 0 && (trace->mark_ns != trace->told.ns ||
                                  trace->worker != trace->told.worker)) {
        put_item(trace, EDDY__ITEM_JUMP, trace->worker, 0);
        put(trace, &trace->mark_ns, sizeof trace->mark_ns);
        trace->told.ns = trace->mark_ns;
        trace->told.worker = trace->worker;
    }
    if (!eddy__trace_is_there(trace, at))
        eddy__trace_put_place(trace, (uint32_t)frame, at->index);
}

/* What the last token has left in use, and how much more that is. */
static void put_memory(eddy_trace *trace, int64_t in_use)
{
    const int64_t more = in_use - trace->in_use;
    const bool is_long = more > INT32_MAX || more < INT32_MIN;

    if (more == 0 && in_use == trace->told.in_use)
        return;
    put_item(trace, EDDY__ITEM_MEMORY, (uint32_t)(uint64_t)more,
             is_long ? EDDY__ITEM_LONG : 0);
    if (is_long)
        put(trace, &more, sizeof more);
    put(trace, &in_use, sizeof in_use);
    trace->told.in_use = in_use;
}

static void put_sum(eddy_trace *trace, const eddy_trace_value *value)
{
    const eddy__trace_sum sum = {.dtype = (int32_t)value->dtype,
                                 .rank = value->shape.rank,
                                 .count = value->count,
                                 .min = value->min,
                                 .max = value->max,
                                 .mean = value->mean,
                                 .n_nan = value->n_nan,
                                 .n_infinite = value->n_infinite,
                                 .hash = value->hash,
                                 .bits = value->bits};

    put(trace, &sum, sizeof sum);
    if (sum.rank > 0)
        put(trace, value->shape.dims,
            (size_t)sum.rank * sizeof *value->shape.dims);
}

/* The host hears of them when the token is through. */
static void pass_value(eddy_trace *trace, uint32_t i,
                       const eddy_trace_value *value)
{
    if (i == trace->passing.n_values &&
        eddy__grow(trace->allocator, (void **)&trace->passed,
                   &trace->passed_room, (size_t)i + 1, sizeof *trace->passed)) {
        trace->passed[trace->passing.n_values++] = *value;
        trace->passing.is_non_finite = trace->passing.is_non_finite ||
                                       value->n_nan > 0 ||
                                       value->n_infinite > 0;
    }
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

void eddy__trace_check_inputs(eddy_trace *trace, const eddy__value *values,
                              const uint32_t *slots, uint32_t n)
{
    trace->inputs_are_finite = true;
    for (uint32_t i = 0; i < n; i++)
        if (eddy__trace_is_non_finite(&values[slots[i]]))
            trace->inputs_are_finite = false;
}

/* A token, as the engine tells it. */
typedef struct token {
    const eddy__step *step;
    const eddy__place *at;
    eddy_trace_state state;
    const eddy__value *values;
    const uint32_t *slots;
    uint32_t n, output;
    uint64_t resource;
    const eddy__trace_task *task; /* NULL: the driver ran it */
} token;

static bool is_scalar(const token *t)
{
    return t->n == 1 && t->values[t->slots[0]].kind == EDDY__SCALAR;
}

/* The record that the host will see, but for its end. */
static void pass_record(eddy_trace *trace, const token *t)
{
    trace->passing = (eddy_trace_record){
        .number = trace->totals.n_seen,
        .start_ns = t->task ? t->task->start_ns : trace->mark_ns,
        .resource = t->resource,
        .iteration = t->at->index,
        .frame = (uint32_t)eddy__trace_frame_of(t->at),
        .node = (uint32_t)(t->step - trace->plan->steps),
        .n_nodes = eddy__trace_weight(t->step),
        .output = t->output,
        .worker = t->task ? t->task->worker : trace->worker,
        .state = (uint8_t)t->state};
    for (uint32_t i = 0; trace->options.values && i < t->n; i++) {
        eddy_trace_value value;

        eddy__trace_summarise(&t->values[t->slots[i]], &value);
        pass_value(trace, i, &value);
    }
}

static uint8_t flags_of(const eddy_trace *trace, const token *t)
{
    const bool has_values = trace->options.values && t->n > 0;
    uint8_t flags = 0;

    if (has_values)
        flags = is_scalar(t) ? EDDY__ITEM_SCALAR : EDDY__ITEM_VALUES;
    if (t->output != EDDY_TRACE_NONE && t->output >= EDDY__ITEM_NO_OUTPUT)
        flags |= EDDY__ITEM_OUTPUT;
    if (t->resource != 0)
        flags |= EDDY__ITEM_RESOURCE;
    if (t->task)
        flags |= EDDY__ITEM_TASK;
    return flags;
}

/* Does it put out what it reads? */
static bool is_pass(const eddy__step *step)
{
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_FORWARD:
    case EDDY__STEP_SWITCH:
    case EDDY__STEP_MERGE:
    case EDDY__STEP_ENTER:
    case EDDY__STEP_EXIT:
    case EDDY__STEP_NEXT_ITERATION:
    case EDDY__STEP_CONST:
    case EDDY__STEP_FETCH:
        return true;
    default:
        return false;
    }
}

/*
 * A tensor is looked at where it is made, and not again by each node that hands
 * it on: it is not changed as long as one of them has it, and where all tokens
 * are put, the last summary for its address is its own.
 */
static void summarise(eddy_trace *trace, const token *t, uint32_t i,
                      eddy_trace_value *out)
{
    const eddy__value *value = &t->values[t->slots[i]];
    eddy__trace_seen *seen;

    if (!eddy__value_is_tensor(value) || !trace->is_plain ||
        trace->n_lost > 0) {
        eddy__trace_summarise(value, out);
        return;
    }
    seen = &trace->seen[((uintptr_t)value->as.tensor >> 4) % EDDY__TRACE_SEEN];
    if (seen->tensor != value->as.tensor || !is_pass(t->step)) {
        seen->tensor = value->as.tensor;
        eddy__trace_summarise(value, &seen->value);
    }
    *out = seen->value;
}

static void put_values(eddy_trace *trace, const token *t)
{
    put(trace, &t->n, sizeof t->n);
    for (uint32_t i = 0; i < t->n; i++) {
        eddy_trace_value value;

        summarise(trace, t, i, &value);
        put_sum(trace, &value);
    }
}

static void put_token(eddy_trace *trace, const token *t)
{
    const eddy__value *value = t->n > 0 ? &t->values[t->slots[0]] : NULL;
    const eddy__trace_item item = {
        .what = (uint32_t)(t->step - trace->plan->steps),
        .kind = (uint8_t)t->state,
        .flags = flags_of(trace, t),
        .output = t->output < EDDY__ITEM_NO_OUTPUT ? (uint8_t)t->output
                                                   : EDDY__ITEM_NO_OUTPUT,
        .dtype = value && is_scalar(t) ? value->dtype : 0};

    put(trace, &item, sizeof item);
    if (item.flags & EDDY__ITEM_SCALAR)
        put(trace, &value->as, eddy__item_scalar_bytes(item.dtype));
    if (item.flags & EDDY__ITEM_OUTPUT)
        put(trace, &t->output, sizeof t->output);
    if (item.flags & EDDY__ITEM_RESOURCE)
        put(trace, &t->resource, sizeof t->resource);
    if (item.flags & EDDY__ITEM_TASK)
        put(trace, t->task, sizeof *t->task);
    if (item.flags & EDDY__ITEM_VALUES)
        put_values(trace, t);
}

/* Is it among those to be kept, and is there room for it? */
static bool may_put(eddy_trace *trace, const token *t)
{
    const size_t n = trace->options.values ? t->n : 0;
    const size_t most = EDDY__ITEM_MOST + n * (sizeof(eddy__trace_sum) +
                                               EDDY_MAX_RANK * sizeof(int64_t));

    if (!trace->options.keep_last &&
        eddy__trace_held(trace) >= trace->max_records)
        return false;
    if (!note_frames(trace, t->at))
        return false;
    if (eddy__trace_is_gapless(trace) && eddy__trace_room(trace) >= most)
        return true;
    eddy__trace_tell_time(trace);
    return eddy__trace_make_room(trace, most);
}

static void add(eddy_trace *trace, const token *t)
{
    trace->open = may_put(trace, t);
    trace->is_passing = trace->options.record != NULL;
    if (trace->is_passing)
        pass_record(trace, t);
    if (trace->open) {
        put_where(trace, t->at);
        put_token(trace, t);
        trace->n_pending += t->task == NULL;
    } else {
        trace->n_lost++;
    }
    eddy__trace_count(trace, eddy__trace_weight(t->step), t->state);
    eddy__trace_set_limit(trace);
}

/* NOLINTNEXTLINE(readability-function-size): what a record is made of. */
void eddy__trace_add_any(eddy_run *run, const eddy__step *step,
                         const eddy__place *at, eddy_trace_state state,
                         const eddy__value *values, const uint32_t *slots,
                         uint32_t n, uint32_t output, uint64_t resource)
{
    eddy_trace *trace = run->trace;
    token t = {.step = step,
               .at = at,
               .state = state,
               .values = values,
               .slots = slots,
               .n = n,
               .output = output,
               .resource = resource};

    if (!is_wanted(trace, step, at))
        return;
    if (resource == 0 && n > 0)
        t.resource = eddy__trace_resource(&values[slots[0]]);
    add(trace, &t);
    if (trace->options.check_numerics && trace->inputs_are_finite &&
        makes_values(step))
        check_numerics(run, step, at, values, slots, n);
}

/* The host hears of the open record, which has taken `ns`. */
static void tell_host(eddy_trace *trace, uint64_t ns, int64_t in_use)
{
    trace->passing.duration_ns = ns;
    trace->passing.bytes = in_use > 0 ? (uint64_t)in_use : 0;
    trace->passing.allocated = in_use - trace->in_use;
    trace->is_passing = false;
    trace->options.record(trace->options.user, trace, &trace->passing,
                          trace->passing.n_values > 0 ? trace->passed : NULL);
}

void eddy__trace_done_any(eddy_run *run, int64_t in_use)
{
    eddy_trace *trace = run->trace;
    const uint64_t began = trace->mark_ns;

    if (trace->open)
        put_memory(trace, in_use);
    if (trace->n_pending >= trace->clock_at)
        eddy__trace_tell_time(trace);
    if (trace->is_passing)
        tell_host(trace, trace->mark_ns - began, in_use);
    /* What nobody told, the next token does. */
    if (trace->told.in_use != in_use)
        trace->clock_at = 0;
    trace->in_use = in_use;
}

/*
 * The start is that of the kernel, on the thread that ran it.  What has waited
 * for another rank takes no time when it has come.
 */
static eddy__trace_task times_of(eddy_trace *trace, const eddy__task *task)
{
    if (task->step->kind == EDDY__STEP_TRANSFER)
        return (eddy__trace_task){.start_ns = trace->mark_ns,
                                  .worker = trace->worker};
    return (eddy__trace_task){.start_ns = task->begin_ns - trace->began_ns,
                              .duration_ns = task->end_ns > task->begin_ns
                                                 ? task->end_ns - task->begin_ns
                                                 : 0,
                              .worker = worker_of(trace, task->thread)};
}

void eddy__trace_add_task(eddy_run *run, const eddy__task *task,
                          eddy_trace_state state)
{
    eddy_trace *trace = run->trace;
    const eddy__step *step = task->step;
    const uint32_t n_in = step->node->n_in;
    const int64_t in_use = eddy__trace_bytes(run);
    eddy__trace_task times;
    token t = {.step = step,
               .at = task->at,
               .state = state,
               .values = task->values,
               .slots = task->kernel.out,
               .n = state == EDDY_TRACE_LIVE ? step->node->n_out : 0,
               .output = EDDY_TRACE_NONE,
               .task = &times};

    if (n_in > 0)
        t.resource = eddy__trace_resource(&task->values[0]);
    if (t.resource == 0 && t.n > 0)
        t.resource = eddy__trace_resource(&task->values[t.slots[0]]);
    trace->inputs_are_finite = true;
    for (uint32_t i = 0; trace->options.check_numerics && i < n_in; i++)
        if (eddy__trace_is_non_finite(&task->values[i]))
            trace->inputs_are_finite = false;
    eddy__trace_resume(run);
    times = times_of(trace, task);
    if (!is_wanted(trace, step, task->at))
        return;
    add(trace, &t);
    if (trace->open)
        put_memory(trace, in_use);
    if (trace->is_passing)
        tell_host(trace, times.duration_ns, in_use);
    trace->in_use = in_use;
    trace->open = false;
    if (trace->options.check_numerics && trace->inputs_are_finite &&
        makes_values(step))
        check_numerics(run, step, task->at, t.values, t.slots, t.n);
}

void eddy__trace_resume(eddy_run *run)
{
    eddy_trace *trace = run->trace;
    const uint64_t now = eddy__ticks_set(&trace->ticks) - trace->began_ns;

    if (trace->n_pending > 0)
        put_time(trace);
    if (now > trace->mark_ns)
        trace->mark_ns = now;
    trace->worker = worker_of(trace, uv_thread_self());
}

void eddy__trace_pause(eddy_run *run)
{
    eddy__trace_tell_time(run->trace);
}

void eddy__trace_begin(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    eddy__trace_forget(trace);
    if (trace->frames)
        memset(trace->frames, 0, trace->n_frames * sizeof *trace->frames);
    eddy__trace_drop_index(trace);
    trace->n_frames = 0;
    trace->totals = (eddy_trace_totals){.n_seen = 0};
    trace->n_lost = 0;
    memset(trace->seen, 0, sizeof trace->seen);
    eddy__ticks_begin(&trace->ticks);
    trace->began_ns = eddy__ticks_set(&trace->ticks);
    trace->mark_ns = 0;
    trace->in_use = eddy__trace_bytes(run);
    trace->told =
        (eddy__trace_told){.in_use = trace->in_use, .frame = EDDY_TRACE_NONE};
    trace->n_pending = 0;
    trace->clock_at = trace->is_plain ? EDDY__TRACE_PERIOD : 0;
    trace->open = trace->is_passing = false;
    trace->inputs_are_finite = true;
}

void eddy__trace_end(eddy_run *run)
{
    eddy_trace *trace = run->trace;

    if (trace->open || trace->is_passing)
        eddy__trace_done_any(run, eddy__trace_bytes(run));
    eddy__trace_tell_time(trace);
    trace->open = false;
    trace->limit = trace->next;
    trace->totals.duration_ns = eddy__clock_now_ns() - trace->began_ns;
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
    return frame == trace->frame; /* NONE: of a part that has no such frame */
}

static eddy_status choose_frame(eddy_trace *trace, eddy_error *err)
{
    const char *name = trace->options.frame;

    trace->frame = EDDY_TRACE_NONE;
    if (!name)
        return EDDY_OK;
    for (uint32_t f = 0; f < trace->n_static_frames; f++)
        if (strcmp(trace->static_frames[f].name, name) == 0)
            trace->frame = f;
    if (trace->frame == EDDY_TRACE_NONE && !trace->is_part)
        return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                          "the plan has no frame '%s' to record", name);
    return EDDY_OK;
}

/* Are there such nodes?  They are wanted then. */
static bool choose_name(eddy_trace *trace, const char *pattern)
{
    bool is_there = false;

    for (uint32_t id = 0; id < trace->n_nodes; id++)
        if (is_meant(pattern, trace->nodes[id].name)) {
            trace->wanted[id] = 1;
            is_there = true;
        }
    return is_there;
}

static eddy_status choose_nodes(eddy_trace *trace, eddy_error *err)
{
    const eddy_trace_options *o = &trace->options;

    for (size_t i = 0; i < o->n_nodes; i++)
        if (!choose_name(trace, o->nodes[i]) && !trace->is_part)
            return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                              "the plan has no node '%s' to record",
                              o->nodes[i]);
    if (o->n_nodes == 0)
        memset(trace->wanted, 1, trace->n_nodes);
    for (uint32_t id = 0; id < trace->n_nodes; id++)
        if (o->frame && !is_in_frame(trace, trace->nodes[id].frame))
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
    trace->is_plain = !o->record && !o->check_numerics && !o->frame &&
                      o->n_nodes == 0 && o->first_iteration == 0 &&
                      o->last_iteration == 0;
    o->frame = NULL; /* the caller's, as are the names */
    o->nodes = NULL;
    o->n_nodes = 0;
    trace->max_records = o->max_records > 0 ? o->max_records : 1000000;
    if (trace->max_records >= EDDY_TRACE_NONE)
        trace->max_records = EDDY_TRACE_NONE - 1;
    return EDDY_OK;
}

static eddy_status create(eddy_plan *plan, const eddy_trace_options *options,
                          bool is_part, eddy_trace **out_trace, eddy_error *err)
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
    trace->is_part = is_part;
    if (options)
        memcpy(&trace->options, options, options->size);
    status = init(trace, err);
    if (status == EDDY_OK)
        *out_trace = trace;
    else
        eddy_trace_destroy(trace);
    return status;
}

eddy_status eddy_trace_create(eddy_plan *plan,
                              const eddy_trace_options *options,
                              eddy_trace **out_trace, eddy_error *err)
{
    return create(plan, options, false, out_trace, err);
}

eddy_status eddy__trace_create_part(eddy_plan *plan,
                                    const eddy_trace_options *options,
                                    eddy_trace **out_trace, eddy_error *err)
{
    return create(plan, options, true, out_trace, err);
}

void eddy_trace_destroy(eddy_trace *trace)
{
    const eddy_allocator *a;

    if (!trace)
        return;
    a = trace->allocator;
    eddy__trace_free_chunks(trace);
    eddy__trace_free_decoded(trace);
    eddy__trace_drop_index(trace);
    eddy__free(a, trace->passed, trace->passed_room, sizeof *trace->passed);
    eddy__free(a, trace->frames, trace->frames_room, sizeof *trace->frames);
    eddy__arena_destroy(&trace->arena);
    eddy_plan_release(trace->plan);
    eddy__free(a, trace, 1, sizeof *trace);
}

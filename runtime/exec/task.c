/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels outside the driver: those handed to a worker because they are large,
 * and those that suspend themselves.
 *
 * A task owns its inputs from the moment it is made, so that the driver may go
 * on changing the iteration; its outputs wait in it until the driver collects
 * it.  While it is under way its node counts as outstanding, which keeps its
 * iteration alive, and with it what a borrowed input points to.
 */
#include "runtime/exec/trace/trace.h"

#include "core/base/float_mode.h"
#include "core/base/status.h"
#include "runtime/native/native.h"

#include <string.h>

/* Input bytes from which a kernel is worth a hand-over, about 10 us of work. */
#define LARGE_BYTES ((int64_t)64 << 10)
#define LARGE_HEAVY_BYTES ((int64_t)16 << 10)

static eddy__task *task_of(eddy_kernel *kernel)
{
    return (eddy__task *)(void *)((char *)kernel -
                                  offsetof(eddy__task, kernel));
}

static bool task_size(const eddy__kernel_node *node, size_t *out_size)
{
    size_t n = (size_t)node->n_in + node->n_out;
    size_t each = sizeof(eddy__value) + sizeof(uint32_t);

    return eddy__mul_size(n, each, &n) &&
           eddy__add_size(n, sizeof(eddy__task), out_size);
}

/* Moves the inputs into the task; the slots lose this node's claim. */
static void claim_inputs(eddy__task *task, eddy__value *values)
{
    const eddy__step *step = task->step;
    uint32_t n_in = step->node->n_in, n_out = step->node->n_out;
    uint32_t *indices;

    task->values = (eddy__value *)(void *)(task + 1);
    indices = (uint32_t *)(void *)(task->values + n_in + n_out);
    for (uint32_t i = 0; i < n_in + n_out; i++)
        indices[i] = i;
    for (uint32_t i = 0; i < n_in; i++) {
        task->values[i] = eddy__run_take(&values[step->in[i]]);
        task->values[i].uses = 1;
    }
    memset(task->values + n_in, 0, n_out * sizeof *task->values);
    task->kernel.values = task->values;
    task->kernel.in = indices;
    task->kernel.out = indices + n_in;
}

static eddy__task *new_task(eddy_run *run, const eddy__step *step,
                            eddy__value *values, const eddy__place *at)
{
    eddy__task *task;
    size_t size;

    if (!task_size(step->node, &size))
        return NULL;
    task = eddy__heap_allocate(&run->heap, size, &size);
    if (!task)
        return NULL;
    memset(task, 0, offsetof(eddy__task, error));
    task->error.code = EDDY_OK;
    task->block_size = size;
    task->run = run;
    task->step = step;
    task->at = at;
    task->kernel = run->kernel;
    task->kernel.node = step->node;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): nobody writes to it. */
    task->kernel.iteration = (void *)(uintptr_t)at;
    task->kernel.heap = NULL;
    task->kernel.resources = NULL;
    task->kernel.err = &task->error;
    claim_inputs(task, values);
    run->n_tasks++;
    return task;
}

/* It waits no longer for other nodes. */
static void unlink_wait(eddy_run *run, eddy__task *task)
{
    *task->wait_link = task->next_wait;
    if (task->next_wait)
        task->next_wait->wait_link = task->wait_link;
    run->n_waits--;
}

static void free_task(eddy_run *run, eddy__task *task)
{
    uint32_t n = task->step->node->n_in + task->step->node->n_out;

    if (task->give_up)
        unlink_wait(run, task);
    for (uint32_t i = 0; i < n; i++)
        eddy__value_clear(&run->heap, &task->values[i]);
    eddy__heap_recycle(&run->heap, task, task->block_size);
    run->n_tasks--;
}

/* ---- handing over ---- */

static bool is_large(const eddy__step *step, const eddy__value *values)
{
    int64_t wanted =
        step->flags & EDDY__STEP_HEAVY ? LARGE_HEAVY_BYTES : LARGE_BYTES;

    for (uint32_t i = 0; i < step->node->n_in; i++) {
        const eddy__value *v = &values[step->in[i]];

        if (v->kind == EDDY__CONSTANT || v->kind == EDDY__TENSOR)
            wanted -= (int64_t)v->as.tensor->bytes;
        if (wanted <= 0)
            return true;
    }
    return false;
}

/* Measured nanoseconds from which a hand-over pays. */
#define WORTH_NS 8000
#define WORTH_WAKING_NS 20000

/* One that was measured is judged by that. */
static bool is_worth(const eddy_run *run, const eddy__step *step)
{
    const eddy__pool *pool = run->ctx->pool;
    const uint32_t ns =
        eddy__profile_get(&pool->profile, eddy__profile_key(step->node, 0));
    const bool is_awake =
        atomic_load_explicit(&pool->n_looking, memory_order_relaxed) > 0;

    return ns == 0 || ns >= (is_awake ? WORTH_NS : WORTH_WAKING_NS);
}

void eddy__task_measured(eddy_run *run, const eddy__step *step,
                         uint64_t begun_ns)
{
    eddy__profile_add(&run->ctx->pool->profile,
                      eddy__profile_key(step->node, 0),
                      eddy__clock_now_ns() - begun_ns);
}

/* Its end, for who records the run. */
static void stamp(eddy__task *task)
{
    if (!task->run->trace)
        return;
    task->end_ns = eddy__clock_now_ns();
    task->thread = uv_thread_self();
}

/* Runs on a worker; the run may be gone once the task is delivered. */
static void work(eddy__job *job)
{
    eddy__task *task =
        (eddy__task *)(void *)((char *)job - offsetof(eddy__task, job));
    const eddy__float_mode mode =
        eddy__float_mode_enter(task->run->options.keep_denormals);
    const uint64_t begun_ns = eddy__clock_now_ns();

    task->begin_ns = begun_ns;
    if (atomic_load_explicit(&task->run->stop, memory_order_relaxed))
        task->status = EDDY_CANCELLED;
    else
        task->status = task->step->kernel(&task->kernel);
    eddy__float_mode_leave(mode);
    if (task->status == EDDY_OK)
        eddy__task_measured(task->run, task->step, begun_ns);
    stamp(task);
    eddy__run_deliver(task);
}

bool eddy__task_offload(eddy_run *run, const eddy__step *step,
                        eddy__value *values, const eddy__place *at, bool alone)
{
    eddy__task *task;

    if (!is_large(step, values))
        return false;
    eddy__task_flush(run);
    if (!run->may_offload)
        return false;
    if (alone || !is_worth(run, step)) {
        run->begun_ns = eddy__clock_now_ns();
        return false;
    }
    task = new_task(run, step, values, at);
    if (!task) {
        eddy__run_raise_memory(run, step, at);
        return true;
    }
    task->job.work = work;
    if (!eddy__pool_submit(run->ctx->pool, &task->job, false))
        work(&task->job);
    return true;
}

/* ---- suspending ---- */

static eddy_kernel *suspend(eddy_kernel *kernel)
{
    eddy_run *run = kernel->run;
    const eddy__step *step = run->current;
    eddy__task *task;

    if (kernel != &run->kernel || run->suspended ||
        !(step->flags & EDDY__STEP_ASYNC))
        return NULL;
    task = new_task(run, step, kernel->values, kernel->iteration);
    if (!task)
        return NULL;
    task->is_suspended = true;
    if (run->trace)
        task->begin_ns = eddy__clock_now_ns();
    run->suspended = task;
    run->n_suspended++;
    if (run->n_suspended > run->stats.peak_suspended)
        run->stats.peak_suspended = run->n_suspended;
    return &task->kernel;
}

static void await(eddy_kernel *suspended,
                  void (*give_up)(eddy_kernel *suspended, void *arg), void *arg)
{
    eddy__task *task = task_of(suspended);
    eddy_run *run = task->run;

    task->give_up = give_up;
    task->give_up_arg = arg;
    task->next_wait = run->waits;
    task->wait_link = &run->waits;
    if (run->waits)
        run->waits->wait_link = &task->next_wait;
    run->waits = task;
    run->n_waits++;
}

/* Nobody but the run's own nodes could end the waiting, and all wait. */
static bool is_stuck(const eddy_run *run)
{
    return run->n_waits == run->n_tasks && !run->options.session &&
           !run->exchange;
}

#define LOOKS 16 /* between two readings of the clock */

static bool is_worth_a_look(eddy_run *run)
{
    return !eddy__run_has_mail(run) &&
           !atomic_load_explicit(&run->stop, memory_order_relaxed);
}

/* Ranks are threads: a message may come before it is worth to sleep. */
static bool look_for_mail(eddy_run *run)
{
    eddy__patience *p = &run->patience;
    bool found = false;

    if (!p->is_allowed || !eddy__patience_begin(p, eddy__clock_now_ns()))
        return false;
    do
        for (int i = 0; i < LOOKS && is_worth_a_look(run); i++)
            eddy__thread_relax();
    while (is_worth_a_look(run) &&
           eddy__patience_goes_on(p, eddy__clock_now_ns()));
    found = eddy__run_has_mail(run);
    eddy__patience_end(p, eddy__clock_now_ns(), found);
    return found;
}

bool eddy__task_idle(eddy_run *run)
{
    const uint64_t deadline_ns = run->deadline_ns;
    int go = EDDY__GO;

    if (run->failed)
        return false;
    if (!run->carrier)
        return run->exchange && look_for_mail(run);
    run->carrier->wait(run->carrier, deadline_ns);
    if (deadline_ns > 0 && eddy__clock_now_ns() >= deadline_ns)
        atomic_compare_exchange_strong_explicit(
            &run->stop, &go, EDDY__STOP_DEADLINE, memory_order_relaxed,
            memory_order_relaxed);
    return true;
}

void eddy__task_settle_waits(eddy_run *run)
{
    eddy__task *first = run->waits;

    if (!run->failed && is_stuck(run))
        eddy__run_raise(run, EDDY_FAILED_PRECONDITION, EDDY_E_STUCK,
                        first->step, first->at,
                        "it waits for what no other node of the run can change "
                        "any more");
    if (!run->failed && run->exchange && !run->carrier)
        run->exchange->idle(run->exchange);
    for (eddy__task *task = first; run->failed && task; task = task->next_wait)
        task->give_up(&task->kernel, task->give_up_arg);
}

static void complete(eddy_kernel *suspended, eddy_status code)
{
    eddy__task *task = task_of(suspended);

    task->status = code;
    stamp(task);
    eddy__run_deliver(task);
}

/*
 * Also once the deadline has passed, which the driver may be too busy to see:
 * with this kernel.  A cancel that came first stays what stopped the run.
 */
static bool is_cancelled(const eddy_kernel *kernel)
{
    eddy_run *run = kernel->run;
    int go = EDDY__GO;

    if (atomic_load_explicit(&run->stop, memory_order_relaxed))
        return true;
    if (run->deadline_ns == 0 || eddy__clock_recent_ns() < run->deadline_ns)
        return false;
    atomic_compare_exchange_strong_explicit(
        &run->stop, &go, EDDY__STOP_DEADLINE, memory_order_relaxed,
        memory_order_relaxed);
    return true;
}

static bool forbids_files(const eddy_kernel *kernel)
{
    const eddy_run *run = kernel->run;

    return run->options.no_files;
}

static eddy__exchange *exchange_of(const eddy_kernel *kernel)
{
    const eddy_run *run = kernel->run;

    return run->exchange;
}

/* A step of FNV-1a, and the mixing that its low bits lack. */
static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/*
 * TensorFlow's frame id is a hash of the frame's name, the iteration around it
 * and the parent's id; this goes the same way from the inside out.
 */
static eddy__tag tag_of(const eddy_kernel *kernel)
{
    const eddy__place *at = kernel->iteration;
    eddy__tag tag = {.iteration = at->index};

    for (; at->instance->parent; at = at->instance->parent) {
        const char *name = at->instance->plan->name;

        if (tag.frame == 0)
            tag.frame = UINT64_C(0xcbf29ce484222325);
        for (; *name; name++)
            tag.frame = mix(tag.frame, (unsigned char)*name);
        tag.frame = mix(tag.frame, (uint64_t)at->instance->parent->index);
    }
    return tag;
}

static int64_t iteration_of(const eddy_kernel *kernel)
{
    const eddy__place *at = kernel->iteration;

    return at->index;
}

static uint8_t *mark_of(const eddy_kernel *kernel, uint32_t mark)
{
    const eddy__place *at = kernel->iteration;

    return &at->marks[mark];
}

static void log_line(const eddy_kernel *kernel, eddy_log_level level,
                     const char *line)
{
    const eddy_run *run = kernel->run;

    eddy__context_log(run->ctx, level, "%s", line);
}

static eddy__resource_table *table_of(const eddy_kernel *kernel)
{
    eddy_run *run = kernel->run;

    return run->options.session ? &run->options.session->resources
                                : &run->named;
}

const eddy__services eddy__run_services = {
    .suspend = suspend,
    .await = await,
    .complete = complete,
    .cancelled = is_cancelled,
    .forbids_files = forbids_files,
    .exchange = exchange_of,
    .tag = tag_of,
    .iteration = iteration_of,
    .mark = mark_of,
    .log = log_line,
    .table = table_of,
    .parallel_for = eddy__share_run,
    .vector_maker = eddy__native_vector_maker,
};

/* ---- coming back ---- */

static void collect(eddy_run *run, eddy__task *task)
{
    run->n_suspended -= task->is_suspended;
    /* A kernel that gave up may have left anything in its outputs. */
    if (!run->failed && task->status == EDDY_OK &&
        atomic_load_explicit(&run->stop, memory_order_relaxed))
        eddy__run_raise_stop(run);
    else if (!run->failed && task->status == EDDY_OK)
        run->engine->settle(run, task);
    else if (!run->failed) {
        if (run->trace)
            eddy__trace_add_task(run, task, EDDY_TRACE_FAILED);
        eddy__run_raise_kernel(run, task->status, &task->error, task->step,
                               task->at);
    }
    free_task(run, task);
}

void eddy__task_collect(eddy_run *run, eddy__task *list)
{
    eddy__task *first = NULL;

    /* The inbox has the newest first; what came first goes first. */
    while (list) {
        eddy__task *task = list;

        list = task->next;
        task->next = first;
        first = task;
    }
    while (first) {
        eddy__task *task = first;

        first = task->next;
        collect(run, task);
    }
}

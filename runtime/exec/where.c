/* SPDX-License-Identifier: Apache-2.0 */
/* Where and why: errors of a run, and the frame path of an iteration. */
#include "runtime/exec/run.h"

#include "core/base/status.h"
#include "core/edge.h"

#include <stdio.h>
#include <string.h>

/* Segments of a path that are written at each end of a very long one. */
#define SHOWN_SEGMENTS 12

static uint32_t depth_of(const eddy__place *at)
{
    uint32_t depth = 0;

    for (; at->instance->parent; at = at->instance->parent)
        depth++;
    return depth;
}

static const eddy__place *ancestor(const eddy__place *at, uint32_t levels)
{
    while (levels-- > 0)
        at = at->instance->parent;
    return at;
}

void eddy__run_write_path(char *to, size_t size, const eddy__place *at)
{
    char text[2 * SHOWN_SEGMENTS * 96 + 8];
    uint32_t depth = depth_of(at);
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < depth; i++) {
        const eddy__place *place;
        char name[64];

        if (depth > 2 * SHOWN_SEGMENTS && i == SHOWN_SEGMENTS) {
            n += (size_t)snprintf(text + n, sizeof text - n, "/...");
            i = depth - SHOWN_SEGMENTS;
        }
        place = ancestor(at, depth - 1 - i);
        eddy__copy_text(name, sizeof name, place->instance->plan->name,
                        strlen(place->instance->plan->name));
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s[%lld]",
                              i > 0 ? "/" : "", name, (long long)place->index);
    }
    eddy__copy_text(to, size, text, n);
}

static void set_location(eddy_error *err, const eddy__step *step,
                         const eddy__place *at)
{
    if (step && step->node->name) {
        eddy__copy_text(err->node, sizeof err->node, step->node->name,
                        strlen(step->node->name));
        eddy__copy_text(err->op, sizeof err->op, step->node->op_name,
                        strlen(step->node->op_name));
    }
    if (at)
        eddy__run_write_path(err->frame, sizeof err->frame, at);
}

static void mark_failed(eddy_run *run, eddy_status code)
{
    run->failed = true;
    run->status = code;
    run->error.code = code;
}

void eddy__run_raise(eddy_run *run, eddy_status code, eddy_detail detail,
                     const eddy__step *step, const eddy__place *at,
                     const char *format, ...)
{
    va_list args;

    if (run->failed)
        return;
    va_start(args, format);
    eddy__fail_v(&run->error, code, detail, format, args);
    va_end(args);
    set_location(&run->error, step, at);
    mark_failed(run, code);
}

/* Of several nodes that wait, the one that has waited longest. */
static const eddy__task *longest_wait(const eddy_run *run)
{
    const eddy__task *task = run->waits;

    while (task && task->next_wait)
        task = task->next_wait;
    return task;
}

/* What a _Recv waits for, and from where. */
static void describe_edge(const eddy__edge_state *state, char *text,
                          size_t size)
{
    const char *edge = state->text;
    const char *name = strrchr(edge, ';');

    snprintf(text, size, " for '%.80s' from '%.*s'", name ? name + 1 : edge,
             (int)strcspn(edge, ";"), edge);
}

void eddy__run_raise_stop(eddy_run *run)
{
    const eddy__task *wait = longest_wait(run);
    char what[256] = "";

    if (wait && (strcmp(wait->step->node->op_name, "_Recv") == 0 ||
                 strcmp(wait->step->node->op_name, "_HostRecv") == 0))
        describe_edge(wait->step->node->state, what, sizeof what);
    if (atomic_load_explicit(&run->stop, memory_order_relaxed) ==
        EDDY__STOP_CANCEL)
        eddy__run_raise(run, EDDY_CANCELLED, EDDY_E_CANCELLED, NULL, NULL,
                        "the run was cancelled");
    else
        eddy__run_raise(run, EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE,
                        wait ? wait->step : NULL, wait ? wait->at : NULL,
                        "the run took longer than %llu ns%s%s",
                        (unsigned long long)run->options.timeout_ns,
                        wait ? "; the node waits" : "", what);
}

void eddy__run_raise_kernel(eddy_run *run, eddy_status code,
                            const eddy_error *from, const eddy__step *step,
                            const eddy__place *at)
{
    if (run->failed)
        return;
    /* A kernel that gave up since at was told to: by whom is what counts. */
    if (code == EDDY_CANCELLED &&
        atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        eddy__run_raise_stop(run);
        return;
    }
    if (from->code == EDDY_OK)
        eddy__fail(&run->error, code, EDDY_E_NONE,
                   "the kernel failed and gave no reason");
    else if (from != &run->error)
        run->error = *from;
    set_location(&run->error, step, at);
    mark_failed(run, code);
}

void eddy__run_raise_memory(eddy_run *run, const eddy__step *step,
                            const eddy__place *at)
{
    int64_t limit = run->heap.account->limit;

    if (run->heap.limit_hit)
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES, step,
                        at, "the limit of %lld bytes is reached",
                        (long long)limit);
    else
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY, step, at,
                        "out of memory");
}

void eddy__run_raise_dead_fetch(eddy_run *run, uint32_t i)
{
    const eddy_plan *plan = run->plan;
    const eddy__plan_fetch *fetch = &plan->fetches[i];

    if (run->failed)
        return;
    eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_DEAD, NULL, NULL,
                    "fetch %u, '%s', is dead", i, fetch->name);
    eddy__copy_text(run->error.node, sizeof run->error.node, fetch->node,
                    strlen(fetch->node));
    eddy__copy_text(run->error.op, sizeof run->error.op, fetch->op,
                    strlen(fetch->op));
    run->engine->where(run, i, &run->error);
}

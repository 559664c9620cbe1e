/* Where and why: the frame path of an iteration, and who killed a fetch. */
#include "runtime/exec/run.h"

#include "core/base/status.h"

#include <stdio.h>
#include <string.h>

/* Segments of a path that are written at each end of a very long one. */
#define SHOWN_SEGMENTS 12

static uint32_t depth_of(const eddy__iteration *it)
{
    uint32_t depth = 0;

    for (; it->frame->parent; it = it->frame->parent)
        depth++;
    return depth;
}

static const eddy__iteration *ancestor(const eddy__iteration *it,
                                       uint32_t levels)
{
    while (levels-- > 0)
        it = it->frame->parent;
    return it;
}

/* outer[3]/inner[17]; a long path loses its middle. */
static void write_path(char *to, size_t size, const eddy__iteration *it)
{
    char text[2 * SHOWN_SEGMENTS * 96 + 8];
    uint32_t depth = depth_of(it);
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < depth; i++) {
        const eddy__iteration *at;
        char name[64];

        if (depth > 2 * SHOWN_SEGMENTS && i == SHOWN_SEGMENTS) {
            n += (size_t)snprintf(text + n, sizeof text - n, "/...");
            i = depth - SHOWN_SEGMENTS;
        }
        at = ancestor(it, depth - 1 - i);
        eddy__copy_text(name, sizeof name, at->frame->plan->name,
                        strlen(at->frame->plan->name));
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s[%lld]",
                              i > 0 ? "/" : "", name, (long long)at->index);
    }
    eddy__copy_text(to, size, text, n);
}

static void set_location(eddy_error *err, const eddy__step *step,
                         const eddy__iteration *it)
{
    if (step && step->node->name) {
        eddy__copy_text(err->node, sizeof err->node, step->node->name,
                        strlen(step->node->name));
        eddy__copy_text(err->op, sizeof err->op, step->node->op_name,
                        strlen(step->node->op_name));
    }
    if (it)
        write_path(err->frame, sizeof err->frame, it);
}

static void mark_failed(eddy_run *run, eddy_status code)
{
    run->failed = true;
    run->status = code;
    run->error.code = code;
}

void eddy__run_raise(eddy_run *run, eddy_status code, eddy_detail detail,
                     const eddy__step *step, const eddy__iteration *it,
                     const char *format, ...)
{
    va_list args;

    if (run->failed)
        return;
    va_start(args, format);
    eddy__fail_v(&run->error, code, detail, format, args);
    va_end(args);
    set_location(&run->error, step, it);
    mark_failed(run, code);
}

void eddy__run_raise_stop(eddy_run *run)
{
    if (atomic_load_explicit(&run->stop, memory_order_relaxed) ==
        EDDY__STOP_CANCEL)
        eddy__run_raise(run, EDDY_CANCELLED, EDDY_E_CANCELLED, NULL, NULL,
                        "the run was cancelled");
    else
        eddy__run_raise(run, EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE, NULL,
                        NULL, "the run took longer than %llu ns",
                        (unsigned long long)run->options.timeout_ns);
}

void eddy__run_raise_kernel(eddy_run *run, eddy_status code,
                            const eddy_error *from, const eddy__step *step,
                            const eddy__iteration *it)
{
    if (run->failed)
        return;
    /* A kernel that gave up since it was told to: by whom is what counts. */
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
    set_location(&run->error, step, it);
    mark_failed(run, code);
}

void eddy__run_raise_memory(eddy_run *run, const eddy__step *step,
                            const eddy__iteration *it)
{
    int64_t limit = run->heap.account->limit;

    if (run->heap.limit_hit)
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES, step,
                        it, "the limit of %lld bytes is reached",
                        (long long)limit);
    else
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY, step, it,
                        "out of memory");
}

/* ---- why a fetch is dead ---- */

/*
 * Death spreads along edges, and steps stand in plan order, so one pass over
 * the steps finds for each dead one the Switch where its death began.  Only the
 * root frame is looked at, which still has the counters of the execution; what
 * dies on its way through another frame died at an Enter of it.
 */
typedef struct trace {
    const eddy_run *run;
    const eddy__iteration *root;
    uint32_t *killer; /* a step: the Switch that killed it, plus 1; 0: none */
    uint32_t *frame_killer; /* a frame: that of its first dead Enter */
} trace;

/* A Merge dies only of all its tokens, any other step of one. */
static bool died(const trace *t, const eddy__step *step)
{
    if (step->frame != 0)
        return false;
    if (step->kind == EDDY__STEP_MERGE)
        return t->root->liveness[step->local].dead == EDDY__MERGE_FIRED;
    return t->killer[step - t->run->plan->steps] != 0;
}

/* Which output a live Switch chose; its predicate is still in its slot. */
static uint32_t chosen(const trace *t, const eddy__step *step)
{
    const eddy__value *pred = &t->root->values[step->in[1]];
    uint32_t last = step->node->n_out - 1;

    if (pred->dtype == EDDY_BOOL)
        return pred->as.b ? 1 : 0;
    return pred->as.i32 < 0 || (uint32_t)pred->as.i32 > last
               ? last
               : (uint32_t)pred->as.i32;
}

/* A frame with a dead Enter may still have live Exits. */
static uint32_t brought_by_exit(const trace *t, const eddy__step *step,
                                const eddy__edge *edge)
{
    if (t->run->steps[edge->step].frame != 0 ||
        t->root->liveness[edge->local].dead == 0)
        return 0;
    return t->frame_killer[step->frame];
}

/* The killer that a token on `edge` of `step` brought, 0 if it was live. */
static uint32_t brought(const trace *t, const eddy__step *step,
                        const eddy__edge *edge)
{
    uint32_t id = (uint32_t)(step - t->run->plan->steps);

    if (step->kind == EDDY__STEP_EXIT)
        return brought_by_exit(t, step, edge);
    if (step->frame != 0 || died(t, step))
        return t->killer[id];
    if (step->kind == EDDY__STEP_SWITCH && edge->output != EDDY__CONTROL_PORT &&
        edge->output != chosen(t, step))
        return id + 1;
    return 0;
}

static void spread(const trace *t, uint32_t id)
{
    const eddy__step *steps = t->run->plan->steps, *step = &steps[id];

    if (step->kind == EDDY__STEP_ENTER && died(t, step)) {
        if (t->frame_killer[step->aux] == 0)
            t->frame_killer[step->aux] = t->killer[id];
        return;
    }
    for (uint32_t i = 0; i < step->n_edges; i++) {
        const eddy__edge *edge = &step->edges[i];
        uint32_t killer = brought(t, step, edge);

        if (killer != 0 && t->killer[edge->step] == 0)
            t->killer[edge->step] = killer;
    }
}

static void name_killer(const trace *t, uint32_t fetch, eddy_error *err)
{
    const eddy__step *killer;
    char name[96];

    for (uint32_t id = 0; id < fetch; id++)
        spread(t, id);
    if (t->killer[fetch] == 0)
        return;
    killer = &t->run->plan->steps[t->killer[fetch] - 1];
    eddy__copy_text(name, sizeof name, killer->node->name,
                    strlen(killer->node->name));
    snprintf(err->cause, sizeof err->cause, "Switch '%s' took port %u", name,
             chosen(t, killer));
}

/* Without memory for the search the error goes without a cause. */
static void find_cause(const eddy_run *run, uint32_t fetch, eddy_error *err)
{
    const eddy_allocator *allocator = &run->ctx->allocator;
    size_t n = run->plan->n_steps, n_frames = run->plan->n_frames;
    trace t = {.run = run, .root = run->root->oldest};

    t.killer = eddy__allocate_zeroed(allocator, n, sizeof *t.killer);
    t.frame_killer =
        eddy__allocate_zeroed(allocator, n_frames, sizeof *t.frame_killer);
    if (t.killer && t.frame_killer)
        name_killer(&t, fetch, err);
    eddy__free(allocator, t.killer, n, sizeof *t.killer);
    eddy__free(allocator, t.frame_killer, n_frames, sizeof *t.frame_killer);
}

void eddy__run_raise_dead_fetch(eddy_run *run, uint32_t i)
{
    const eddy_plan *plan = run->plan;
    const eddy__plan_fetch *fetch = &plan->fetches[i];
    uint32_t step = plan->n_steps - (uint32_t)plan->n_fetches + i;

    if (run->failed)
        return;
    eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_DEAD, NULL, NULL,
                    "fetch %u, '%s', is dead", i, fetch->name);
    eddy__copy_text(run->error.node, sizeof run->error.node, fetch->node,
                    strlen(fetch->node));
    eddy__copy_text(run->error.op, sizeof run->error.op, fetch->op,
                    strlen(fetch->op));
    if (plan->steps[step].frame == 0)
        find_cause(run, step, &run->error);
}

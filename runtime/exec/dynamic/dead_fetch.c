/* SPDX-License-Identifier: Apache-2.0 */
/* Why a fetch is dead: the Switch that killed it. */
#include "core/base/status.h"
#include "runtime/exec/dynamic/drive.h"

#include <stdio.h>
#include <string.h>

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
    trace t = {.run = run,
               .root =
                   ((const eddy__dynamic *)(const void *)run)->root->oldest};

    t.killer = eddy__allocate_zeroed(allocator, n, sizeof *t.killer);
    t.frame_killer =
        eddy__allocate_zeroed(allocator, n_frames, sizeof *t.frame_killer);
    if (t.killer && t.frame_killer)
        name_killer(&t, fetch, err);
    eddy__free(allocator, t.killer, n, sizeof *t.killer);
    eddy__free(allocator, t.frame_killer, n_frames, sizeof *t.frame_killer);
}

void eddy__dynamic_where(const eddy_run *run, uint32_t i, eddy_error *err)
{
    const eddy_plan *plan = run->plan;
    const uint32_t step = plan->n_steps - (uint32_t)plan->n_fetches + i;

    if (plan->steps[step].frame == 0)
        find_cause(run, step, err);
}

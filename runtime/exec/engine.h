/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between a run and what executes its plan.  Run control, tasks,
 * sessions and the pool (run.c, task.c, session.c, pool.c) know of an engine
 * what stands here, and of an iteration its place.
 */
#ifndef EDDY_EXEC_ENGINE_H
#define EDDY_EXEC_ENGINE_H

#include "eddy/run.h"
#include "runtime/plan/plan.h"

typedef struct eddy__place eddy__place;
struct eddy__task;

/* What all engines say of one execution of a frame. */
typedef struct eddy__frame_instance {
    const eddy__plan_frame *plan;
    const eddy__place *parent; /* where it was entered; NULL: the root */
    uint64_t number; /* of the frames that began before it; linear: recorded */
    bool is_linear;  /* the linear executor runs it */
} eddy__frame_instance;

/*
 * An iteration of it, as kernels and errors see it: each engine's own begins
 * with one.
 */
struct eddy__place {
    const eddy__frame_instance *instance;
    int64_t index;
    uint8_t *marks; /* n_marks of the frame */
};

/* @thread the driver, but for init and deinit: whoever makes and frees */
typedef struct eddy__engine {
    const char *name;
    size_t run_size; /* of eddy_run and what the engine keeps behind it */
    /* What the engine keeps, zeroed, is made ready; false: no memory. */
    bool (*init)(eddy_run *run);
    /* Frees what it keeps between executions; also after init has failed. */
    void (*deinit)(eddy_run *run);
    /* Puts what is ready at the start in order; failing, it raises. */
    void (*begin)(eddy_run *run);
    /*
     * Runs what is ready until there is nothing, the run has failed, or about
     * `budget` nodes have run.  False in the last case.
     */
    bool (*drive)(eddy_run *run, uint64_t budget);
    /* A kernel that ran outside is done: moves its outputs, and goes on. */
    void (*settle)(eddy_run *run, struct eddy__task *task);
    /* Frees all that an execution has left. */
    void (*end)(eddy_run *run);
    /* Says in err->cause where the death of fetch `i` began, if it knows. */
    void (*where)(const eddy_run *run, uint32_t i, eddy_error *err);
    /* A step that is about to run, and in which iteration; false: none is. */
    bool (*at)(const eddy_run *run, const eddy__step **out_step,
               const eddy__place **out_place);
} eddy__engine;

extern const eddy__engine eddy__dynamic_engine;

#endif

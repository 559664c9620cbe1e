/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear executor: runs a region (runtime/plan/linear.h) for the engine
 * that owns the graph around it.  @thread the driver
 */
#ifndef EDDY_EXEC_LINEAR_LINEAR_H
#define EDDY_EXEC_LINEAR_LINEAR_H

#include "runtime/exec/run.h"
#include "runtime/native/native.h"
#include "runtime/plan/linear.h"

/* Iterations that may begin, of those that were let in. */
typedef struct eddy__tank {
    int64_t fuel, filled;
} eddy__tank;

/* What machine code knows of an execution, and what it is asked for. */
typedef struct eddy__linear_runner {
    eddy__native_state state; /* first: code hands it back */
    eddy_run *run;
    struct eddy__linear_run *l;
    eddy__tank *tank;
    int64_t *budget;
} eddy__linear_runner;

/* One execution of a region; its arrays stand behind it in the same block. */
typedef struct eddy__linear_run {
    const eddy__linear *region;
    struct eddy__linear_run *next, *previous; /* for its owner */
    void *owner;                              /* likewise */
    eddy__linear_runner *runner;
    eddy__value *registers;
    eddy__frame_instance *instances; /* one a frame of the region */
    eddy__place *places;             /* likewise: its iteration */
    uint64_t *iterations;            /* likewise: of those that have ended */
    uint64_t *counters;
    uint64_t *live;    /* at the end, a guard: how often */
    uint64_t *entered; /* at the end, a frame: how often live */
    size_t block_size;
    uint64_t wanted; /* iterations of the plan, at least, before code is made */
    uint32_t at;     /* the next instruction */
    bool is_on;      /* it has begun and not been counted */
} eddy__linear_run;

typedef enum eddy__linear_verdict {
    EDDY__LINEAR_ENDED, /* its Exits have values */
    EDDY__LINEAR_PAUSED,
    EDDY__LINEAR_FAILED, /* raised */
    EDDY__LINEAR_WARM,   /* within: machine code may go on */
} eddy__linear_verdict;

/* A run of the region in an iteration at `parent`; NULL: raised. */
eddy__linear_run *eddy__linear_create(eddy_run *run, const eddy__linear *region,
                                      const eddy__place *parent);

/* What entry `i` brings in: takes `value` over. */
void eddy__linear_enter(eddy_run *run, eddy__linear_run *l, uint32_t i,
                        eddy__value value);

/* Each element of `value`, a tensor of `n`, into a raw register. */
void eddy__linear_put_elements(eddy__linear_run *l, const eddy__value *value,
                               const uint32_t *registers, uint32_t n);

/*
 * Goes on until the region is done, the run has failed or is to stop, or about
 * `*budget` nodes have run, of which it takes off those that have.
 */
eddy__linear_verdict eddy__linear_run_on(eddy_run *run, eddy__linear_run *l,
                                         int64_t *budget);

/* ---- interpret.c, for machine code too ---- */

/*
 * The same by the interpreter; ends as WARM, with fuel, where an iteration is
 * to begin and `l` is warm.
 */
eddy__linear_verdict eddy__linear_interpret(eddy_run *run, eddy__linear_run *l,
                                            eddy__tank *tank, int64_t *budget,
                                            bool may_warm);

/* Fuel for instruction `at`, with which an iteration begins. */
eddy__linear_verdict eddy__linear_refuel(eddy_run *run, eddy__linear_run *l,
                                         eddy__tank *tank, uint32_t at,
                                         int64_t most, int64_t *budget);

/*
 * Does instruction `at`, which does not jump, or lets it fail.  WARM: it is
 * done, and the next one may follow.
 */
eddy__linear_verdict eddy__linear_perform(eddy_run *run, eddy__linear_run *l,
                                          eddy__tank *tank, uint32_t at,
                                          int64_t *budget);

/* Iterations that have begun are counted; the tank is as full as before. */
void eddy__linear_drain(eddy_run *run, const eddy__linear_run *l,
                        eddy__tank *tank);

/*
 * Goes over to the form that code is made of, if there is another one, where an
 * iteration is to begin.  (linear.c)
 */
void eddy__linear_go_over(eddy_run *run, eddy__linear_run *l);

/* ---- tell.c: in regions of recorded runs ---- */

/* What a TELL says; false: it is not to be (check_numerics), and raised. */
bool eddy__linear_tell(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_code *c);

/* The instruction at which `l` has failed, if it was a kernel on scalars. */
void eddy__linear_tell_failure(eddy_run *run, eddy__linear_run *l);

/*
 * Around a kernel: before it; when it has put its outputs out, which may be
 * refused as above; and when nothing is left to do for it.
 */
void eddy__linear_watch_begin(eddy_run *run, eddy__linear_run *l,
                              const eddy__linear_call *call,
                              uint64_t *out_resource);
void eddy__linear_watch_end(eddy_run *run, eddy__linear_run *l,
                            const eddy__linear_call *call, eddy_status status,
                            uint64_t resource);
void eddy__linear_watch_done(eddy_run *run);

/* ---- functions.c ---- */

/* By operation; NULL where it is no typed one, or a jump. */
extern const eddy__native_function eddy__linear_functions[EDDY__LINEAR_N_OPS];

/* ---- tier.c ---- */

/* Where things stand in an execution of the region (linear.c). */
eddy__native_layout eddy__linear_layout(const eddy__linear *region);

/* Iterations of all executions after which code may be made in this one. */
static inline uint64_t eddy__linear_threshold(const eddy__linear_run *l)
{
    const uint64_t least = l->region->tier->threshold;

    return l->wanted > least ? l->wanted : least;
}

static inline bool eddy__linear_is_warm(const eddy__linear_run *l)
{
    const eddy__linear_tier *tier = l->region->tier;

    return tier &&
           !atomic_load_explicit(&tier->is_refused, memory_order_relaxed) &&
           (atomic_load_explicit(&tier->machine, memory_order_relaxed) ||
            atomic_load_explicit(&tier->spent, memory_order_relaxed) >=
                eddy__linear_threshold(l));
}

/* After the end: the value of exit `i`, which is the caller's. */
eddy__value eddy__linear_take_exit(eddy__linear_run *l, uint32_t i);

/*
 * Adds what has been executed to the statistics and to `run->n_executed`, and
 * frees what is held.
 */
void eddy__linear_destroy(eddy_run *run, eddy__linear_run *l);

#endif

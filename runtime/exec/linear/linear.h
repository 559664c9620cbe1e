/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear executor: runs a region (runtime/plan/linear.h) for the engine
 * that owns the graph around it.  @thread the driver
 */
#ifndef EDDY_EXEC_LINEAR_LINEAR_H
#define EDDY_EXEC_LINEAR_LINEAR_H

#include "runtime/exec/run.h"
#include "runtime/plan/linear.h"

/* One execution of a region; its arrays stand behind it in the same block. */
typedef struct eddy__linear_run {
    const eddy__linear *region;
    struct eddy__linear_run *next, *previous; /* for its owner */
    void *owner;                              /* likewise */
    eddy__value *registers;
    eddy__instance *instances; /* one a frame of the region */
    eddy__place *places;       /* likewise: its iteration */
    uint64_t *iterations;      /* likewise: of those that have ended */
    uint64_t *counters;
    uint64_t *live;    /* at the end, a guard: how often */
    uint64_t *entered; /* at the end, a frame: how often live */
    size_t block_size;
    uint32_t at; /* the next instruction */
    bool is_on;  /* it has begun and not been counted */
} eddy__linear_run;

typedef enum eddy__linear_verdict {
    EDDY__LINEAR_ENDED, /* its Exits have values */
    EDDY__LINEAR_PAUSED,
    EDDY__LINEAR_FAILED, /* raised */
} eddy__linear_verdict;

/* Of an iteration at `parent`; NULL: raised. */
eddy__linear_run *eddy__linear_create(eddy_run *run, const eddy__linear *region,
                                      const eddy__place *parent);

/* What entry `i` brings in: takes `value` over. */
void eddy__linear_enter(eddy_run *run, eddy__linear_run *l, uint32_t i,
                        eddy__value value);

/*
 * Goes on until the region is done, the run has failed or is to stop, or about
 * `*budget` nodes have run, of which it takes off those that have.
 */
eddy__linear_verdict eddy__linear_run_on(eddy_run *run, eddy__linear_run *l,
                                         int64_t *budget);

/* After the end: the value of exit `i`, which is the caller's. */
eddy__value eddy__linear_take_exit(eddy__linear_run *l, uint32_t i);

/*
 * Adds what has been executed to the statistics and to `run->n_executed`, and
 * frees what is held.
 */
void eddy__linear_destroy(eddy_run *run, eddy__linear_run *l);

#endif

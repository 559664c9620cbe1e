/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the dynamic executor that call each other: its loop, and frames.
 * @thread the driver
 */
#ifndef EDDY_EXEC_DYNAMIC_DRIVE_H
#define EDDY_EXEC_DYNAMIC_DRIVE_H

#include "runtime/exec/dynamic/state.h"

#ifdef EDDY_CHECKED
/*
 * From the next start on, ready nodes are taken in a random order drawn from
 * `seed`, not first in, first out; 0: as always.  Results must not depend on
 * it: dataflow is confluent.
 */
void eddy__drive_shuffle(eddy_run *run, uint64_t seed);
#endif

/* ---- recorded.c ---- */

/* As drive_some of dynamic.c, of a run with a trace. */
uint64_t eddy__drive_recorded(eddy_run *run, uint64_t n);

/* ---- frame.c ---- */

/* The root's frame, or the one that `enter` leads to from `it`; NULL: raised.
 */
eddy__frame *eddy__frame_root(eddy_run *run);
eddy__frame *eddy__frame_enter(eddy_run *run, eddy__iteration *it,
                               const eddy__step *enter);

/*
 * The next iteration of `frame`, whatever already is ready in it queued; NULL:
 * raised.
 */
eddy__iteration *eddy__frame_iterate(eddy_run *run, eddy__frame *frame);

/*
 * Retires, in order, the iterations of `frame` that are done, starts parked
 * ones, and ends the frame and its ancestors where they are done.
 */
void eddy__frame_retire(eddy_run *run, eddy__frame *frame);
void eddy__frame_destroy(eddy_run *run, eddy__frame *frame);
void eddy__frame_free_spares(eddy_run *run);

/* ---- dead_fetch.c ---- */

/* The engine's `where`. */
void eddy__dynamic_where(const eddy_run *run, uint32_t i, eddy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops through which tests look into a run.  Each puts its input out again, of
 * any dtype.  What they note is global to the process, and is forgotten when
 * they are registered.
 *
 *     Tick    counts its executions
 *     Hold    asynchronous: stays suspended until the test lets it go
 *     Later   asynchronous: a thread completes it after a while
 */
#ifndef EDDY_TESTS_PROBE_OPS_H
#define EDDY_TESTS_PROBE_OPS_H

#include "tests/aid/program.h"

void probe_ops_register(program *p);

uint32_t tick_count(void);

/* How many Holds have started, and how many of those are suspended now. */
uint32_t hold_started(void);
uint32_t hold_open(void);

/* Of the i-th that started: the iteration that it runs in. */
int64_t hold_iteration(uint32_t i);

/* Does the i-th, which is suspended, see that its run is to stop? */
bool hold_is_cancelled(uint32_t i);

/* Waits, up to a minute, until `n` have started. */
void hold_await(uint32_t n);

/* Lets the i-th that started go: with its input, or failing with `code`. */
void hold_complete(uint32_t i, eddy_status code);

/* The same for the last that started of those that are suspended. */
void hold_complete_newest(eddy_status code);

/* Lets all go that are suspended now; returns how many. */
uint32_t hold_complete_all(eddy_status code);

/*
 * Starts the thread behind Later, which completes each node after at least
 * `min_ns` and, at random, up to `max_ns`.  later_stop ends it.
 */
void later_start(uint64_t min_ns, uint64_t max_ns);
void later_stop(void);

/* Of the Laters since then: how many started, and the most at one time. */
uint32_t later_started(void);
uint32_t later_peak(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An asynchronous op, y = x a while later.  Its kernel suspends and returns;
 * one thread completes each node when its time has come, so that any number of
 * them wait at once.  Kernels are given nothing of their host's, so there is
 * one timer in the process.
 */
#ifndef EDDY_BENCHMARKS_DELAY_H
#define EDDY_BENCHMARKS_DELAY_H

#include "eddy/op.h"

#define DELAY_OP "BenchDelay" /* x: int32 -> y: int32 */
#define DELAY_NS ((uint64_t)10 * 1000 * 1000)

/* Starts the thread; false if it cannot be started. */
bool delay_start(void);

/* Ends the thread.  Nothing may be suspended any more. */
void delay_stop(void);

EDDY_MUST_USE eddy_status delay_register(eddy_context *ctx, eddy_error *err);

#endif

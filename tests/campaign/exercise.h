/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a host may do with a graph of unknown origin, done to one
 * graph: analyse, plan, run without and with workers, lower, unroll,
 * differentiate, save and load again.  Results of what must agree are compared
 * bit for bit; a contradiction is written to stderr and ends the process by
 * abort(), as a fuzzer wants it.
 */
#ifndef EDDY_TESTS_CAMPAIGN_EXERCISE_H
#define EDDY_TESTS_CAMPAIGN_EXERCISE_H

#include "eddy.h"

typedef struct exercise {
    eddy_context *inline_ctx;  /* no workers */
    eddy_context *workers_ctx; /* four */
} exercise;

/* Makes the contexts; ends the process where that fails. */
void exercise_init(exercise *e);
void exercise_deinit(exercise *e);

/* Does everything to the GraphDef in `bytes`; false if it does not load. */
bool exercise_graph(const exercise *e, const void *bytes, size_t length);

/* The same to the ONNX model in `bytes`. */
bool exercise_onnx(const exercise *e, const void *bytes, size_t length);

#endif

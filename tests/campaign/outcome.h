/* SPDX-License-Identifier: Apache-2.0 */
/* What a run came to, and what two runs of the same program must share. */
#ifndef EDDY_TESTS_CAMPAIGN_OUTCOME_H
#define EDDY_TESTS_CAMPAIGN_OUTCOME_H

#include "eddy.h"

#define OUTCOME_VALUES 8

typedef struct outcome {
    eddy_status code;
    eddy_error err;
    eddy_tensor *values[OUTCOME_VALUES]; /* owned */
    size_t n;
} outcome;

void outcome_deinit(outcome *o);

/* A tensor of small values that differ from each other, or NULL. */
eddy_tensor *outcome_value(eddy_context *ctx, eddy_dtype dtype,
                           const eddy_shape *shape);

/*
 * Whether the results of the graph are settled by it: nothing in it draws
 * random numbers or changes a state in an order of its own.
 */
bool outcome_is_settled(const eddy_graph *graph);

/*
 * Whether both runs failed, or both gave the same bits (any NaN equals any).  A
 * run that met a limit agrees with everything.
 */
bool outcome_agree(const outcome *want, const outcome *got);

/* Ends the process unless they agree. */
void outcome_compare(const outcome *want, const outcome *got, const char *what);

/* Writes what is wrong, and ends the process. */
_Noreturn void outcome_fail(const char *what, const char *message);

#endif

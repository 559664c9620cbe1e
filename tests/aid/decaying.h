/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theano's scan on the running example: h = decay * h + x over x = 1, 2, 3,
 * ..., with decay 0.5, which the step captures, from 0 on; where it is asked
 * to, it stops once h is more than `most`.
 */
#ifndef EDDY_TESTS_DECAYING_H
#define EDDY_TESTS_DECAYING_H

#include "tests/aid/trial.h"

#define DECAYING_MAX 6

typedef struct decaying {
    trial_feed feeds[3]; /* x, h before step 0, decay */
    eddy_output most;
    eddy_theano_sequence x;
    eddy_theano_output h;
    eddy_theano_spec spec; /* may be changed before the scan */
    eddy_output outputs, last, n_steps;
} decaying;

/* What h is in each step. */
extern const double decaying_values[DECAYING_MAX];

/* float64 feeds in the graph of `p`, a constant, and the specification. */
void decaying_init(decaying *d, program *p, int64_t n, double most);
eddy_status decaying_scan(decaying *d, program *p);

/* Runs it, also saved and loaded. */
trial_result decaying_run(const decaying *d, program *p, eddy_output fetch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe2's recurrent networks for tests: step nets, and the running example,
 * h = decay * h + x over x = 1, 2, 3, ... from 0 on.
 */
#ifndef EDDY_TESTS_RECURRENT_H
#define EDDY_TESTS_RECURRENT_H

#include "tests/aid/trial.h"

/* What is built with the calls for `p` between these two is in a new graph. */
void recurrent_begin_net(program *p);
eddy_graph *recurrent_end_net(program *p);

/* A Placeholder of any shape; a node of two inputs. */
eddy_output recurrent_blob(program *p, const char *name, eddy_dtype dtype);
eddy_output recurrent_named(program *p, const char *op, const char *name,
                            eddy_output x, eddy_output y);

typedef struct recurrent {
    trial_feed feeds[3]; /* x, h before step 0, decay */
    eddy_graph *net;     /* the caller's */
    eddy_caffe2_blob x, decay;
    eddy_caffe2_state h;
    eddy_caffe2_link links[3];    /* x_t, h_prev, h_next */
    eddy_caffe2_alias aliases[4]; /* offsets -2, -1, 0 (`hidden`), 1 */
    eddy_caffe2_spec spec;        /* may be changed */
} recurrent;

void recurrent_init(recurrent *d, program *p, eddy_dtype dtype, int64_t n,
                    double decay);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe2's recurrent network as a loop with taps: an input is a sequence whose
 * taps are the rows that links read ahead, a state is an output whose taps are
 * its initial rows, and the step is a copy of the step net.
 */
#ifndef EDDY_FRONTENDS_CAFFE2_H
#define EDDY_FRONTENDS_CAFFE2_H

#include "eddy/caffe2.h"
#include "frontends/theano/taps.h"

/* How far ahead of a step its links may read. */
#define EDDY__MAX_AHEAD 1024

/* A link, once both of its ends are found. */
typedef struct eddy__joint {
    eddy_output internal;
    bool is_read, is_state;
    bool is_late;    /* it reads the row that the same step writes */
    size_t external; /* among the inputs, or the states */
} eddy__joint;

typedef struct eddy__recurrent {
    const eddy_caffe2_spec *spec;
    const char *name;
    const eddy_graph *net; /* the step net, without functions */
    eddy__arena arena;
    eddy__joint *joints;
    size_t *writes;                  /* of each state, the link */
    eddy_node timestep;              /* or EDDY_NO_NODE */
    size_t *input_args, *state_args; /* where those of each begin */
    eddy_output n_steps;
    eddy__taps t;
} eddy__recurrent;

/* In `writes`: there is none. */
#define EDDY__NO_LINK SIZE_MAX

/* How many rows a state has before the first step. */
static inline size_t eddy__caffe2_initial_rows(const eddy_caffe2_state *state)
{
    if (!state->initial)
        return 0;
    return state->n_initial > 0 ? state->n_initial : 1;
}

/* ---- caffe2_links.c ---- */

/* Is the specification sound, but for what only the step net can say? */
eddy_status eddy__recurrent_check(eddy_graph *graph, const eddy__recurrent *n,
                                  eddy_error *err);

/* Finds the ends of all links, and the Placeholder of the step's number. */
eddy_status eddy__recurrent_join(eddy__recurrent *n, eddy_error *err);

/* The input or state of that name. */
eddy_status eddy__recurrent_find(const eddy__recurrent *n, const char *name,
                                 eddy__joint *out, eddy_error *err);

/* ---- caffe2_step.c ---- */

/* An eddy__taps_step, whose `user` is an eddy__recurrent. */
eddy_status eddy__recurrent_step(eddy_graph *graph, void *user,
                                 const eddy__taps_now *now,
                                 eddy_output *out_outputs,
                                 eddy_output *out_until, eddy_error *err);

#endif

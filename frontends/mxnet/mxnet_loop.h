/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's loops in graphs: what foreach and while_loop share.
 *
 * Both are one while: its variables are the number of steps taken, an array for
 * each output, and the states.  A foreach reads its items from arrays by that
 * number.
 */
#ifndef EDDY_FRONTENDS_MXNET_LOOP_H
#define EDDY_FRONTENDS_MXNET_LOOP_H

#include "eddy/mxnet.h"
#include "frontends/shared/writer.h"

/* A loop that is being built: what both kinds of specification come to. */
typedef struct eddy__mxnet_loop {
    const char *name;
    const eddy_output *inputs; /* none in a while_loop */
    size_t n_inputs;
    const eddy_output *states;
    size_t n_states;
    size_t n_outputs;
    eddy_part_fn condition; /* NULL: as long as there are items */
    eddy_part_fn body;
    void *user;
    const eddy_mxnet_item *output_items;
    bool changes_shape;
    int64_t parallel_iterations;
    eddy_output limit; /* of steps, int32; EDDY_NO_NODE: none */
    eddy__sequence *items, *outputs;
    eddy_shape *rows;     /* what is known of one of each output */
    bool has_effects;     /* a step has a state or an effect */
    eddy_output *scratch; /* what the body gets, and what it gives */
} eddy__mxnet_loop;

/*
 * Writes it.  `items`, `outputs`, `rows` and `scratch` are its own; `out_steps`
 * may be NULL.
 */
eddy_status eddy__mxnet_write(eddy_emitter *w, eddy__mxnet_loop *loop,
                              eddy_output *out_outputs, eddy_output *out_states,
                              eddy_output *out_steps);

/* A bool scalar out of what stands for one. */
eddy_output eddy__mxnet_predicate(eddy_emitter *w, eddy_output value);

#endif

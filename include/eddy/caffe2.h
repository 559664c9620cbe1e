/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe2's recurrent network: a step net, which is a graph of its own, run once
 * for each step of its input sequences.
 *
 * The blobs of the step net are internal: its Placeholders are what it reads,
 * and any of its outputs may be what it writes.  External blobs live through
 * all the steps: input sequences, and states, whose rows are what they were in
 * each step.  A link joins the two: in step t the internal blob is row
 * t + offset of the external one.
 *
 *     state "h" with one initial row; links:
 *         h_prev = h[t + 0]     read: h_prev is a Placeholder
 *         h_next = h[t + 1]     written
 *         x_t    = x[t + 0]
 *
 * There are as many steps as the first input has rows.  Aliases make outputs of
 * the states: all rows from an offset on.
 *
 * The step net is copied into a while loop (eddy/control_flow.h), loops of its
 * own included, so it may hold another recurrent network.  What comes out can
 * be differentiated, and saved for TensorFlow.  docs/control_flow/caffe2.md
 * says what differs from Caffe2.
 *
 * A call that fails leaves the graph as it was, but that names made up
 * afterwards may have other numbers.
 */
#ifndef EDDY_CAFFE2_H
#define EDDY_CAFFE2_H

#include "eddy/control_flow.h"

EDDY_BEGIN_DECLS

/* A value of the graph and its name among the blobs. */
typedef struct eddy_caffe2_blob {
    const char *name;
    eddy_output value;
} eddy_caffe2_blob;

/*
 * A state, an external blob.  Its first rows come from `initial`: with
 * n_initial 0 that is one row without a dimension of time, else a tensor with
 * exactly so many rows.  Without `initial` there are none, and nothing reads
 * it.
 */
typedef struct eddy_caffe2_state {
    const char *name;
    const eddy_output *initial; /* NULL: none */
    size_t n_initial;           /* up to 1024 */
} eddy_caffe2_state;

/*
 * Internal blob `internal` is row t + offset of `external`.  A Placeholder of
 * the step net reads it: of a state rows up to the one that this step writes,
 * which what it writes may then not depend on (EDDY_E_CYCLE), of an input 0 to
 * 1024 rows ahead.  With `window` 0 it is the row itself; else
 * `window` rows from there on, with a dimension of time.  Any other blob of the
 * step net, `node` or `node:index`, is written to it: a state has exactly one
 * such link, whose offset is the number of initial rows and whose window is 0,
 * or 1 if the blob has a first dimension of 1 for the time.
 */
typedef struct eddy_caffe2_link {
    const char *internal, *external;
    int64_t offset;
    size_t window;
} eddy_caffe2_link;

/*
 * An output: the rows of state `src` from `offset` on, which counts from the
 * end if it is negative: -1 is the last row, with a dimension of time of 1.
 */
typedef struct eddy_caffe2_alias {
    const char *src;
    const char *dst; /* NULL, or a name for the node that gives it */
    int64_t offset;
} eddy_caffe2_alias;

typedef struct eddy_caffe2_spec {
    size_t size;      /* sizeof(eddy_caffe2_spec) */
    const char *name; /* NULL or "": `recurrent` */
    /* A graph of the same context; it is copied, and may be destroyed
     * afterwards. */
    const eddy_graph *step_net;
    const eddy_caffe2_blob *inputs; /* sequences; the first says the length */
    size_t n_inputs;
    const eddy_caffe2_state *states;
    size_t n_states;
    /*
     * What Placeholders of the step net are in every step, such as weights. One
     * that nothing is linked to is the node of its name in the graph.
     */
    const eddy_caffe2_blob *params;
    size_t n_params;
    const eddy_caffe2_link *links;
    size_t n_links;
    const eddy_caffe2_alias *aliases;
    size_t n_aliases;
    /*
     * The Placeholder that is the number of the step, int32 or int64, a scalar
     * or of shape [1]; NULL: `timestep`, if there is one.
     */
    const char *timestep;
    /* NULL: all.  Which outputs pass gradients on; the others are constants. */
    const size_t *outputs_with_grads;
    size_t n_outputs_with_grads;
    int64_t parallel_iterations; /* 0: 10 */
} eddy_caffe2_spec;

/*
 * Caffe2's operator RecurrentNetwork.  `out_outputs` gets one value for each
 * alias.
 *
 * Errors: NOT_FOUND (EDDY_E_UNKNOWN_NAME) for a blob that does not exist;
 * INVALID_ARGUMENT: EDDY_E_ARGUMENT for a malformed specification or links that
 * do not fit together, _INPUT_COUNT without inputs, _INDEX for offsets and
 * windows that reach outside, _INPUT_DTYPE and _SHAPE for what is linked and
 * differs.  A run fails (EDDY_E_ASSERTION) if an input has too few rows.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_caffe2_recurrent_network(eddy_graph *graph, const eddy_caffe2_spec *spec,
                              eddy_output *out_outputs, eddy_error *err);

/* A cell input, what it is in step 0, and the cell output that it is next. */
typedef struct eddy_caffe2_cell_state {
    const char *input;
    eddy_output initial; /* without a dimension of time */
    const char *output;
} eddy_caffe2_cell_state;

typedef struct eddy_caffe2_net_spec {
    size_t size;      /* sizeof(eddy_caffe2_net_spec) */
    const char *name; /* Caffe2's scope; NULL or "": `recurrent` */
    const eddy_graph *cell_net;
    const eddy_caffe2_blob *inputs; /* cell inputs and their sequences */
    size_t n_inputs;
    const eddy_caffe2_cell_state *states;
    size_t n_states;
    const char *timestep; /* as above, and so the rest */
    const size_t *outputs_with_grads;
    size_t n_outputs_with_grads;
} eddy_caffe2_net_spec;

/*
 * Caffe2's recurrent.recurrent_net: the links of a cell, written for it.
 * `out_outputs` gets for each state all its rows but the initial one, and then
 * the last, with a dimension of time of 1: 2 * n_states values.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_caffe2_recurrent_net(eddy_graph *graph, const eddy_caffe2_net_spec *spec,
                          eddy_output *out_outputs, eddy_error *err);

EDDY_END_DECLS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's loops at once: what foreach and while_loop on tensors share.
 */
#ifndef EDDY_FRONTENDS_MXNET_NOW_LOOP_H
#define EDDY_FRONTENDS_MXNET_NOW_LOOP_H

#include "eddy/mxnet.h"
#include "frontends/shared/rows.h"

/* A loop that runs: what both kinds of specification come to. */
typedef struct eddy__mxnet_now {
    eddy_immediate *now;
    const eddy_allocator *allocator;
    const char *name;
    eddy_tensor *const *inputs; /* none in a while_loop */
    size_t n_inputs;
    eddy_tensor *const *states; /* the first ones */
    size_t n_states;
    size_t n_outputs;
    eddy_immediate_fn condition; /* NULL: as long as there are items */
    eddy_immediate_fn body;
    void *user;
    const eddy_mxnet_item *output_items;
    bool changes_shape;
    int64_t limit; /* of steps */
    int64_t step;  /* how many have been taken */
    /* References: items of the step and states; what the body gives. */
    eddy_tensor **args, **results;
    eddy__host_rows *rows; /* one an output */
    eddy_error *err;
} eddy__mxnet_now;

/*
 * Runs it, from step 0 on.  `args`, `results` and `rows` are its own.  On
 * failure no result is set.
 */
eddy_status eddy__mxnet_now_run(eddy__mxnet_now *loop,
                                eddy_tensor **out_outputs,
                                eddy_tensor **out_states);

/* Calls a function; afterwards `results` are all there or all NULL. */
eddy_status eddy__mxnet_now_call(const eddy__mxnet_now *l, eddy_immediate_fn fn,
                                 eddy_tensor *const *inputs, size_t n,
                                 eddy_tensor **results, size_t n_results);

/* Does a predicate hold?  EDDY_E_PREDICATE if it is none. */
eddy_status eddy__mxnet_now_judge(const eddy__mxnet_now *l,
                                  const eddy_tensor *predicate,
                                  bool *out_holds);

#endif

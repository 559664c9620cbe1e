/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorFlow has for going over the items of tensors, its slices along the
 * first dimension: map_fn, foldl, foldr and scan.  (Its while_loop, cond, case
 * and switch_case are in eddy/control_flow.h.)
 *
 *     eddy_map_fn   result_t = step(item_t)                    all results
 *     eddy_foldl    a = step(a, item_t), t = 0, 1, ...         the last a
 *     eddy_foldr    a = step(a, item_t), t = n - 1, n - 2, ... the last a
 *     eddy_scan     a = step(a, item_t)                        all a
 *
 * Each becomes one while loop over an int32 counter, with TensorArrays of the
 * items and of the results, as TensorFlow 1 makes it; so a saved graph runs
 * there.  The step may use any value from outside; it is captured.
 *
 * All elems have the same first dimension n, which may be known only when the
 * graph runs: a run in which they differ fails (EDDY_E_SHAPE).  For n = 0
 * results that are stacked have a first dimension of 0, if the rest of their
 * shape can be known from the graph; else the run fails (EDDY_E_SHAPE).
 *
 * A call that fails leaves the graph and its open constructs as they were.  All
 * fail with EDDY_E_ARGUMENT for a specification of the wrong size, a missing
 * step or NULL for an array; EDDY_E_INPUT_COUNT without elems; EDDY_E_RANK for
 * one that is known to be a scalar; EDDY_E_SHAPE where first dimensions are
 * known to differ; EDDY_E_INPUT_DTYPE for a result of another dtype than was
 * announced; EDDY_E_VALUE_SCOPE for values of constructs that have ended; with
 * what the step fails with; and RESOURCE_EXHAUSTED without memory.
 */
#ifndef EDDY_TENSORFLOW_H
#define EDDY_TENSORFLOW_H

#include "eddy/control_flow.h"

EDDY_BEGIN_DECLS

/* How the loop runs; all zero is what TensorFlow does by default. */
typedef struct eddy_loop_options {
    int64_t parallel_iterations; /* 0: 10 */
    bool no_back_prop;           /* as in eddy_while_spec */
    bool swap_memory;
    /*
     * The loop also gets n as its maximum_iterations, with a counter for that
     * beside its own.  TensorFlow always does so, for the sake of XLA; here it
     * only takes time.
     */
    bool bounds_trips;
} eddy_loop_options;

typedef struct eddy_map_spec {
    size_t size;              /* sizeof(eddy_map_spec) */
    const char *name;         /* the loop's scope; NULL or "": `map` */
    const eddy_output *elems; /* of rank 1 or more */
    size_t n_elems;
    /* What the step gives; NULL: as many values as elems, of their dtypes. */
    const eddy_dtype *dtypes;
    size_t n_results; /* not looked at without dtypes */
    /* Gets one item of each of the elems, gives the results. */
    eddy_part_fn step;
    void *user; /* handed to it */
    /* The step's results need not be alike in shape until they are stacked. */
    bool no_infer_shape;
    eddy_loop_options options;
} eddy_map_spec;

/*
 * The results of all items, each stacked along a new first dimension, into
 * `out_results`.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_map_fn(eddy_graph *graph,
                                               const eddy_map_spec *spec,
                                               eddy_output *out_results,
                                               eddy_error *err);

typedef struct eddy_fold_spec {
    size_t size;      /* sizeof(eddy_fold_spec) */
    const char *name; /* NULL or "": `foldl`, `foldr` or `scan` */
    const eddy_output *elems;
    size_t n_elems;
    /*
     * The first accumulated values; their dtypes are those of the results.
     * NULL: the first item of each of the elems (for foldr and a reversed scan
     * the last), which the step then does not see as an item; n must be 1 or
     * more (EDDY_E_VALUE, in a run EDDY_E_INDEX).
     */
    const eddy_output *initializer;
    size_t n_initializers; /* not looked at without initializer */
    /*
     * Gets the accumulated values, then one item of each of the elems; gives
     * the next accumulated values.
     */
    eddy_part_fn step;
    void *user;
    /* For eddy_scan alone: from the last item to the first; as above. */
    bool reverse;
    bool no_infer_shape;
    eddy_loop_options options;
} eddy_fold_spec;

/*
 * The accumulated values after the last item, into `out_results`: as many as
 * there are initializers, or elems.  They may change their shape.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_foldl(eddy_graph *graph,
                                              const eddy_fold_spec *spec,
                                              eddy_output *out_results,
                                              eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_foldr(eddy_graph *graph,
                                              const eddy_fold_spec *spec,
                                              eddy_output *out_results,
                                              eddy_error *err);

/*
 * The accumulated values after every item, stacked: row t of a result belongs
 * to item t, also in reverse.  Their shape must stay that of the initializer
 * (EDDY_E_SHAPE), unless `no_infer_shape`.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_scan(eddy_graph *graph,
                                             const eddy_fold_spec *spec,
                                             eddy_output *out_results,
                                             eddy_error *err);

EDDY_END_DECLS

#endif

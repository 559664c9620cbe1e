/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primitives of a loop, for what lowers to one (While and For): each call
 * makes one of them, named after the loop, with its inputs open.
 */
#ifndef EDDY_FRAMES_LOWER_LOOP_H
#define EDDY_FRAMES_LOWER_LOOP_H

#include "frames/lower/lowering.h"

/* A loop while it is made; its arrays have room for a node a variable. */
typedef struct eddy__lower_loop {
    eddy__lowering *l;
    eddy__call *call;
    eddy__instance *body;
    eddy_string frame;
    int64_t parallel_iterations; /* TensorFlow's default, 10 */
    eddy_node *merges, *switches;
} eddy__lower_loop;

/* `n` is the most variables that there will be. */
eddy_status eddy__lower_loop_init(eddy__lower_loop *w, eddy__lowering *l,
                                  eddy__call *call, size_t n);

/* A scalar beside the loop, that is there when the loop starts. */
eddy_status eddy__lower_loop_const(const eddy__lower_loop *w, const char *name,
                                   eddy_dtype dtype, const void *element,
                                   eddy__ref *out_ref);

/* An Enter, and if it is constant a loop invariant. */
eddy_status eddy__lower_loop_enter(const eddy__lower_loop *w, eddy_dtype dtype,
                                   bool is_constant, eddy__ref from,
                                   eddy_node *out_node);

/* For variable `i`: the Merge of `enter` and what eddy__lower_loop_ends adds.
 */
eddy_status eddy__lower_loop_merge(const eddy__lower_loop *w, size_t i,
                                   eddy_dtype dtype, eddy_node enter);

/* The LoopCond, in the instance `home`, or NULL if nothing is. */
eddy_status eddy__lower_loop_cond(const eddy__lower_loop *w,
                                  eddy__instance *home, eddy__ref predicate);

/* For variable `i`: the Switch, and later the ways out of the loop and round.
 */
eddy_status eddy__lower_loop_switch(const eddy__lower_loop *w, size_t i,
                                    eddy_dtype dtype);
eddy_status eddy__lower_loop_ends(const eddy__lower_loop *w, size_t i,
                                  eddy_dtype dtype, eddy__ref round);

/* Until there is something to wait for, variable `i` guards the body. */
eddy_status eddy__lower_loop_pivot(const eddy__lower_loop *w, size_t i,
                                   eddy_dtype dtype);

#endif

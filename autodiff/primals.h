/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primals: forward values where gradients are computed.
 *
 * Every forward value has a value in the scope of its frame: itself in the base
 * frame, brought there if it does not change in its loop, else off a tape or
 * computed again.  It is made when it is asked for, and once.
 */
#ifndef EDDY_AUTODIFF_PRIMALS_H
#define EDDY_AUTODIFF_PRIMALS_H

#include "autodiff/places.h"
#include "autodiff/value_shapes.h"
#include "core/base/map.h"

/* The things that the map has of a forward value, in a base frame. */
enum {
    EDDY__PRIMAL_VALUE,
    EDDY__PRIMAL_SHAPE,
    EDDY__PRIMAL_ZEROS,
    EDDY__PRIMAL_LENGTH
};

typedef struct eddy__primals {
    eddy__gradient_emitter *e;
    const eddy__study *study;
    const eddy__value_shapes *shapes;
    eddy__places *places;
    eddy__output_map values; /* by what is asked of them, and where */
    eddy__map zeros;         /* nodes by base frame, dtype and shape */
    /* A branch: the base frame in which its predicate has a primal, plus 1. */
    uint32_t *ready_in;
} eddy__primals;

/* The tag of one of those things in `values`. */
static inline uint64_t eddy__primal_tag(const eddy__primals *p, uint64_t thing)
{
    return (uint64_t)p->places->base << 2 | thing;
}

void eddy__primals_init(eddy__primals *p, const eddy__value_shapes *shapes,
                        eddy__places *places);
void eddy__primals_deinit(eddy__primals *p);

/* After the study; before anything below. */
eddy_status eddy__primals_begin(eddy__primals *p);

/* ---- stack.c: over a tape ---- */

/*
 * A stack in the body of a scope, and what is done with it; one that `spills`
 * may put what it has into a file.
 */
eddy_output eddy__stack_emit(eddy__primals *p, eddy__scope *scope,
                             eddy_dtype dtype);
eddy_output eddy__stack_push(eddy__gradient_emitter *e, eddy_node after,
                             eddy_output stack, eddy_output value, bool spills);
eddy_output eddy__stack_pop(eddy__gradient_emitter *e, eddy_node after,
                            eddy_output stack, eddy_dtype dtype);

/*
 * Puts a value of a forward frame and branch, which may be new, on a tape of
 * its own and gives it in the frame's scope.
 */
eddy_output eddy__stack_save(eddy__primals *p, eddy_output value,
                             uint32_t frame, uint32_t branch);

/* ---- recount.c: counted again ---- */

/*
 * A forward value that counts trips, out of the gradient loop's own counter;
 * node EDDY_NO_NODE if it is no such value.
 */
eddy_output eddy__recount_value(eddy__places *p, eddy_output v);

/* ---- primal.c ---- */

/*
 * Makes primals of the predicates that rule a branch of a forward frame and the
 * loops around it, outermost first.  What brings a value there needs them.
 */
void eddy__primal_prepare(eddy__primals *p, uint32_t frame, uint32_t branch);

/* The forward value `v` in the scope of its frame. */
eddy_output eddy__primal_value(eddy__primals *p, eddy_output v);

/* A value that is live in branch `from`, live in branch `to` of it alone. */
eddy_output eddy__primal_guard(eddy__primals *p, eddy_output value,
                               uint32_t from, uint32_t to);

/*
 * A value that is given, in the frame and branch of `to`, a value of the base
 * frame; fails unless it is there or in a frame around it.
 */
eddy_output eddy__primal_bring(eddy__primals *p, eddy_output given,
                               eddy_output to);

/* ---- primal_shape.c ---- */

/* The shape of a forward value in the scope, a vector of int32. */
eddy_output eddy__primal_shape(eddy__primals *p, eddy_output v);

/* The number of items of a list there. */
eddy_output eddy__primal_length(eddy__primals *p, eddy_output v);

/* ---- zeros.c ---- */

/* Zeros of the shape and dtype of `v`, and the branch where they are live. */
eddy_output eddy__zeros_like(eddy__primals *p, eddy_output v,
                             uint32_t *out_branch);

/*
 * Zeros of the shape and dtype of a value that was added to a forward frame and
 * branch, there in the frame's scope.
 */
eddy_output eddy__zeros_of_new(eddy__primals *p, eddy_output value,
                               uint32_t frame, uint32_t branch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What front ends write graphs with beside eddy/emit.h: lengths, ranges, and
 * sequences, whose items are the slices of a tensor along its first dimension.
 * A failure sticks here as it does there.
 */
#ifndef EDDY_FRONTENDS_WRITER_H
#define EDDY_FRONTENDS_WRITER_H

#include "eddy/control_flow.h"
#include "eddy/emit.h"

/*
 * The first dimension of `value`, an int32 scalar: a constant where no loop is
 * open that might change it and it is known.
 */
eddy_output eddy__write_length(eddy_emitter *w, eddy_output value);

/* int32 0, 1, ..., n - 1. */
eddy_output eddy__write_range(eddy_emitter *w, eddy_output n);

/*
 * A TensorArray that is read or written step by step in a loop.  `handle` is
 * captured by loops as an invariant.  `flow` is one too for a sequence that is
 * read; for one that is written it is a loop variable.
 */
typedef struct eddy__sequence {
    eddy_output handle, flow;
    eddy_dtype dtype;
} eddy__sequence;

/*
 * The slices of `value`, of rank 1 or more, to be read any number of times.
 * What is known of their shape is known of every item that is read.
 */
eddy__sequence eddy__sequence_of(eddy_emitter *w, eddy_output value);

/*
 * The same for `n` of them, an int32 scalar, each to be read once; a run in
 * which there are more or less fails.
 */
eddy__sequence eddy__sequence_of_n(eddy_emitter *w, eddy_output value,
                                   eddy_output n);

/* Item `index`, an int32 scalar. */
eddy_output eddy__sequence_read(eddy_emitter *w, const eddy__sequence *s,
                                eddy_output index);

/*
 * One to write to, each item once: `n` of them, an int32 scalar; with
 * `is_dynamic` it grows.
 */
eddy__sequence eddy__sequence_new(eddy_emitter *w, eddy_dtype dtype,
                                  eddy_output n, bool is_dynamic);

/*
 * Says what the items of a new sequence are, which is often known only once the
 * body of the loop that writes them is there: until then it may have been made
 * with any dtype.  `item` is their shape as far as it is known; all of them are
 * to have the same.
 */
void eddy__sequence_settle(eddy_emitter *w, eddy__sequence *s, eddy_dtype dtype,
                           const eddy_shape *item);

/* Writes an item; gives the flow after it. */
eddy_output eddy__sequence_write(eddy_emitter *w, const eddy__sequence *s,
                                 eddy_output flow, eddy_output index,
                                 eddy_output value);

/*
 * Items 0 to n - 1 as one tensor, of what `flow` has seen written.  `item` is
 * the shape of one as far as it is known; it must be known in full for n = 0 to
 * have a result.
 */
eddy_output eddy__sequence_stack(eddy_emitter *w, const eddy__sequence *s,
                                 eddy_output flow, eddy_output n,
                                 const eddy_shape *item);

/*
 * What is known of the shape of an output that has been built, in every
 * iteration of the loops that are open: so give loops shape invariants.  A
 * variable without one is taken to stay a scalar, if it starts as one.
 */
eddy_shape eddy__writer_shape_of(const eddy_emitter *w, eddy_output output);

/* The same of a slice of it along its first dimension. */
eddy_shape eddy__writer_item_shape_of(const eddy_emitter *w, eddy_output value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX's loops and branches have in common. */
#ifndef EDDY_FRONTENDS_ONNX_H
#define EDDY_FRONTENDS_ONNX_H

#include "eddy/onnx_loop.h"
#include "frontends/shared/writer.h"

/*
 * `value`, of shape [] or [1], as a scalar.  Fails with EDDY_E_SHAPE if it is
 * known to have another shape; `what` is for the message.
 */
eddy_output eddy__onnx_scalar(eddy_emitter *w, eddy_output value,
                              const char *what);

/* A condition as a scalar; fails with EDDY_E_PREDICATE if it is no bool. */
eddy_output eddy__onnx_condition(eddy_emitter *w, eddy_output value,
                                 const char *what);

/*
 * Moves `axis` of `value` to the front, or with `is_back` the other way; a
 * negative axis counts from the last one, -1, on.
 */
eddy_output eddy__onnx_move_axis(eddy_emitter *w, eddy_output value,
                                 int64_t axis, bool is_back);

/* What is known of a scan output's items while the body is built. */
typedef struct eddy__onnx_item {
    eddy_shape certain; /* of all of them */
    eddy_shape guess;   /* in the first iteration; what none look like */
} eddy__onnx_item;

/*
 * The items of a body that is about to be ended with `next`.  Dimensions that
 * are `declared`, if it is not NULL, take precedence in the guess.
 */
void eddy__onnx_items(eddy_emitter *w, const eddy_output *next,
                      const eddy_output *values, size_t n,
                      const eddy_shape *declared, eddy__onnx_item *out_items);

/*
 * eddy_onnx_loop and eddy_onnx_scan for a model whose bodies declare shapes:
 * `declared` has one for each scan output, or is NULL.  They say what no items
 * look like, and are not held against those that there are.
 */
EDDY_MUST_USE eddy_status eddy__onnx_loop_declared(
    eddy_graph *graph, const eddy_onnx_loop_spec *spec,
    const eddy_shape *declared, eddy_output *out_results, eddy_error *err);
EDDY_MUST_USE eddy_status eddy__onnx_scan_declared(
    eddy_graph *graph, const eddy_onnx_scan_spec *spec,
    const eddy_shape *declared, eddy_output *out_results, eddy_error *err);

/*
 * As eddy__sequence_stack, but that there is always a result: without items one
 * with the dimensions of the guess, 0 where they are not known.
 */
eddy_output eddy__onnx_stack(eddy_emitter *w, const eddy__sequence *s,
                             eddy_output flow, eddy_output n,
                             const eddy__onnx_item *item);

/*
 * Checks the `n` values that a body gives for those that are like `like`, with
 * EDDY_E_INPUT_DTYPE.
 */
void eddy__onnx_check(eddy_emitter *w, const eddy_output *values,
                      const eddy_output *like, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The study of the part of a graph that is differentiated, made before the
 * first node is added: frames, branches, tapes, shapes.
 *
 * Forward nodes are those that the graph had when the study was made, with
 * numbers below `n_nodes`; all that follows speaks of these alone.  Nothing in
 * the study changes after eddy__study_build, though the graph grows.
 */
#ifndef EDDY_AUTODIFF_STUDY_H
#define EDDY_AUTODIFF_STUDY_H

#include "autodiff/broadcasts.h"
#include "autodiff/emit.h"
#include "autodiff/tape.h"
#include "frames/analysis/branches.h"
#include "frames/analysis/infer.h"

/* The outputs that a call was given; all of them are borrowed. */
typedef struct eddy__asked {
    const eddy_output *ys, *xs, *stop;
    size_t n_ys, n_xs, n_stop;
    const eddy_output *starts; /* grad_ys or tangents, or NULL */
    size_t n_starts;
} eddy__asked;

typedef struct eddy__study {
    eddy_graph *graph;
    size_t n_nodes;
    eddy__selection selection; /* what the ys, xs and starts depend on */
    eddy_analysis *analysis;
    eddy__flow flow;
    eddy__branches branches; /* those of the analysis */
    eddy__tapes tapes;
    eddy__broadcasts broadcasts;
    eddy__shapes shapes;
} eddy__study;

/* Studies all that the ys, the xs and the starts depend on. */
eddy_status eddy__study_build(eddy__study *study, eddy__gradient_emitter *e,
                              const eddy__asked *asked);
void eddy__study_deinit(eddy__study *study);

/* ---- checks of what is asked ---- */

/* Fails with `what` and a number unless all are outputs, if real of floats. */
eddy_status eddy__study_check(eddy__gradient_emitter *e, const char *what,
                              const eddy_output *list, size_t n, bool real);

/* Fails if what is `given` for `output` is known to have another shape. */
eddy_status eddy__study_check_shape(eddy__gradient_emitter *e, const char *what,
                                    eddy_output given, const char *of,
                                    eddy_output output, size_t i);

/* ---- questions ---- */

bool eddy__study_has_gradient(eddy_dtype dtype);

/* How many outputs the forward nodes have; a slot is the number of one. */
size_t eddy__study_slots(const eddy__study *study);

static inline size_t eddy__study_slot(const eddy__study *study, eddy_output v)
{
    return study->shapes.first[v.node] + v.index;
}

/* The frame and branch in which an output of a forward node lives. */
static inline uint32_t eddy__study_frame(const eddy__study *study,
                                         eddy_output output)
{
    return study->analysis->output_frame[output.node];
}

uint32_t eddy__study_branch(const eddy__study *study, eddy_output output);

/* Is `frame` the frame `inner` or one around it? */
bool eddy__study_is_around(const eddy__study *study, uint32_t frame,
                           uint32_t inner);

/* The VarHandleOp whose handle `v` is; NO_NODE if it is none. */
eddy_node eddy__study_variable(const eddy__study *study, eddy_output v);
/* Likewise the TensorArrayV3. */
eddy_node eddy__study_array(const eddy__study *study, eddy_output v);

/* Is it the Merge of a loop whose body is still being built?  Is that such? */
bool eddy__study_is_open_merge(const eddy__study *study, eddy_node node);
bool eddy__study_is_open_frame(const eddy__study *study, uint32_t frame);

#endif

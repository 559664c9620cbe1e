/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients and tangents that wait for the end of a loop which is open. */
#ifndef EDDY_AUTODIFF_DEFERRAL_H
#define EDDY_AUTODIFF_DEFERRAL_H

#include "autodiff/study.h"
#include "eddy/gradients.h"

/* A question to eddy_gradients or eddy_jvp. */
typedef struct eddy__question {
    const eddy_output *ys, *xs;
    size_t n_ys, n_xs;
    const eddy_output *starts; /* tangents or grad_ys, or NULL */
    bool is_forward;
    const eddy_gradient_options *options;
    eddy_status (*again)(eddy_graph *graph,
                         const struct eddy__question *question,
                         eddy_output *out_answers, eddy_error *err);
} eddy__question;

/*
 * Identities in the place of answers, out of `stand_ins`, which will be made
 * once the loop of `level` has ended; `question` is copied.
 */
void eddy__deferral_make(eddy__gradient_emitter *e,
                         const eddy__question *question, uint32_t level,
                         eddy_output *stand_ins, size_t n);

/* The level of the loop in `frame`, which is open; fails if none is. */
uint32_t eddy__deferral_level(eddy__gradient_emitter *e,
                              const eddy__study *study, uint32_t frame);

#endif

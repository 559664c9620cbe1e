/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which value an input or an output of a step is, and why a frame is no region:
 * what all files that look at a region ask.
 */
#include "runtime/plan/linear_build.h"

void eddy__linear_refuse(eddy__linear_build *w, uint32_t frame, uint32_t step,
                         const char *why)
{
    eddy__linear_doubt *doubt = &w->loops[frame].doubt;

    if (frame == 0 || doubt->why)
        return;
    doubt->why = why;
    doubt->node = step == EDDY__NO || !w->plan->steps[step].node->name
                      ? w->plan->frames[frame].name
                      : w->plan->steps[step].node->name;
}

static uint32_t output_frame(const eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (step->kind == EDDY__STEP_ENTER)
        return step->aux;
    return step->kind == EDDY__STEP_EXIT ? w->plan->frames[step->frame].parent
                                         : step->frame;
}

uint32_t eddy__linear_input(const eddy__linear_build *w, uint32_t step,
                            uint32_t i)
{
    const eddy__step *s = &w->plan->steps[step];

    return w->loops[s->frame].first_value + s->in[i];
}

uint32_t eddy__linear_output(const eddy__linear_build *w, uint32_t step,
                             uint32_t i)
{
    return w->loops[output_frame(w, step)].first_value +
           w->plan->steps[step].out[i];
}

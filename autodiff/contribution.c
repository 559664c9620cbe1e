/* SPDX-License-Identifier: Apache-2.0 */
/* The contributions to the gradient of each forward output, a list for each. */
#include "autodiff/sums.h"

eddy_status eddy__contribution_begin(eddy__sums *s,
                                     const eddy__activity *activity,
                                     eddy__primals *primals)
{
    *s = (eddy__sums){.e = primals->e,
                      .study = primals->study,
                      .activity = activity,
                      .places = primals->places,
                      .primals = primals};
    s->contributions = eddy__emit_zeroed_room(s->e, eddy__study_slots(s->study),
                                              sizeof(eddy__contribution *));
    return s->e->core.status;
}

void eddy__contribution_add(eddy__sums *s, eddy_output v,
                            eddy__contribution value)
{
    eddy__contribution **first =
        &s->contributions[eddy__study_slot(s->study, v)];
    eddy__contribution *added;

    if (s->e->core.status != EDDY_OK || !eddy__output_exists(value.gradient))
        return;
    added = eddy__emit_room(s->e, 1, sizeof *added);
    if (!added)
        return;
    *added = value;
    added->next = NULL;
    added->last = added;
    if (*first) {
        (*first)->last->next = added;
        (*first)->last = added;
    } else {
        *first = added;
    }
}

void eddy__contribution_add_whole(eddy__sums *s, eddy_output v,
                                  eddy_output gradient)
{
    eddy__contribution_add(
        s, v,
        (eddy__contribution){.gradient = gradient, .item = EDDY__NO_OUTPUT});
}

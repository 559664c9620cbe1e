/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trips after each other: what the next value of each variable is, and what a
 * trip reads of invariants.
 */
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "frames/unroll/unrolling.h"

#include <stdio.h>

/* ---- invariants ---- */

bool eddy__unroll_is_summed(const eddy__unrolling *u, eddy_node enter)
{
    const eddy_dtype dtype =
        (eddy_dtype)eddy__unroll_node(u, enter)->output_dtypes[0];

    return !u->reassociates &&
           eddy__dtype_in(dtype, EDDY__FLOATS | EDDY__COMPLEXES);
}

/* What trip reads of invariants, of which some pass on to the next. */
static eddy_status find_uses(eddy__unrolling *u)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        u->use[enter] = u->brought[enter];
        if (eddy__unroll_is_summed(u, enter) && u->bits[enter] & EDDY__SEVERAL)
            EDDY_TRY(eddy__unroll_identity(u, enter, u->suffix,
                                           u->brought[enter], &u->use[enter]));
    }
    return EDDY_OK;
}

static eddy_status pass_invariants(eddy__unrolling *u)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        if (eddy__unroll_is_summed(u, enter))
            EDDY_TRY(eddy__unroll_identity(
                u, enter, u->suffix, u->brought[enter], &u->brought[enter]));
    }
    return EDDY_OK;
}

/* ---- trips ---- */

/*
 * The next value of variable `i`: what its NextIteration reads, or, if that
 * waits for something or the next iteration begins, a node in its place.
 */
static eddy_status find_next(eddy__unrolling *u, uint32_t i, bool is_last,
                             eddy_output *out)
{
    const eddy_node id = u->frame->variables[i].next_iteration;
    const eddy__node node = *eddy__unroll_node(u, id);
    eddy__added added = {
        .op = is_last ? "NextIteration" : "Identity",
        .name = node.name,
        .suffix = u->suffix,
        .inputs = out,
        .n_inputs = 1,
        .n_controls = node.n_controls,
    };
    eddy_node *controls =
        eddy__arena_allocate(&u->arena, node.n_controls, sizeof *controls);

    if (!controls)
        return eddy__fail_memory(u->err);
    EDDY_TRY(eddy__unroll_resolve(u, EDDY__TRIP, node.inputs[0], out));
    for (uint32_t k = 0; k < node.n_controls; k++)
        EDDY_TRY(
            eddy__unroll_waited(u, EDDY__TRIP, node.controls[k], &controls[k]));
    added.controls = controls;
    if (!is_last && node.n_controls == 0)
        return EDDY_OK;
    return eddy__unroll_add(u, &added, out);
}

eddy_status eddy__unroll_trips(eddy__unrolling *u, uint64_t n,
                               bool has_next_iteration)
{
    for (uint64_t k = 0; k < n; k++) {
        const bool is_last = k + 1 == n;
        eddy_output *next = u->next;

        (void)snprintf(u->suffix, sizeof u->suffix, "trip%llu",
                       (unsigned long long)k);
        EDDY_TRY(find_uses(u));
        EDDY_TRY(eddy__unroll_copy(u, EDDY__TRIP));
        for (uint32_t i = 0; i < u->frame->n_variables; i++)
            EDDY_TRY(find_next(u, i, is_last && has_next_iteration, &next[i]));
        if (!is_last || !has_next_iteration)
            EDDY_TRY(pass_invariants(u));
        u->next = u->now;
        u->now = next;
    }
    return EDDY_OK;
}

eddy_status eddy__unroll_trip(eddy__unrolling *u)
{
    eddy_output *next = u->next;

    EDDY_TRY(find_uses(u));
    EDDY_TRY(eddy__unroll_copy(u, EDDY__TRIP));
    for (uint32_t i = 0; i < u->frame->n_variables; i++)
        EDDY_TRY(find_next(u, i, false, &next[i]));
    EDDY_TRY(pass_invariants(u));
    u->next = u->now;
    u->now = next;
    return EDDY_OK;
}

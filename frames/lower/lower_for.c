/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For: a loop over numbers, which the body gets before the values that it
 * carries.
 *
 * How many trips there are is found before the first, as 64 bits, since int32
 * may hold neither that nor the number after the last.
 */
#include "core/base/status.h"
#include "frames/lower/lower_loop.h"

#include <string.h>

/* Inputs: where the numbers begin and end, and how far apart they are. */
enum { START, LIMIT, DELTA, N_RANGE };

/* Variables: what is still the number of trips done, the number, the values. */
enum { TRIP, NUMBER, FIRST_VALUE };

typedef struct loop {
    eddy__lower_loop made;
    size_t n;               /* variables */
    eddy_node trips, delta; /* constant Enters */
    eddy_node one;          /* a constant Enter of int64 */
} loop;

static eddy_dtype dtype_of(const loop *w, size_t i)
{
    return i == TRIP ? EDDY_INT64 : w->made.call->in[i - 1];
}

/* ---- what comes before the loop ---- */

static eddy_status make_trips(const eddy__lower_loop *w, eddy__ref *out_ref)
{
    const eddy__make make = {
        .op = "_Trips",
        .scope = w->call->name,
        .name = "trips",
        .n_inputs = N_RANGE,
        .home = w->call->host,
    };
    eddy_node node = EDDY_NO_NODE;

    EDDY_TRY(eddy__lower_make(w->l, &make, &node));
    for (uint32_t i = START; i < N_RANGE; i++)
        EDDY_TRY(
            eddy__lower_input(w->l, node, i, eddy__call_input(w->call, i)));
    *out_ref = eddy__lower_made(node, 0);
    return eddy__lower_gate(w->l, w->call, node);
}

static eddy_status make_invariants(loop *w)
{
    static const int64_t one = 1;
    const eddy__lower_loop *made = &w->made;
    eddy__ref trips, step;

    EDDY_TRY(make_trips(made, &trips));
    EDDY_TRY(eddy__lower_loop_const(made, "one", EDDY_INT64, &one, &step));
    EDDY_TRY(eddy__lower_loop_enter(made, EDDY_INT64, true, trips, &w->trips));
    EDDY_TRY(eddy__lower_loop_enter(made, EDDY_INT64, true, step, &w->one));
    return eddy__lower_loop_enter(
        made, EDDY_INT32, true, eddy__call_input(made->call, DELTA), &w->delta);
}

/* ---- the loop ---- */

/* What variable `i` starts with. */
static eddy_status find_first(const eddy__lower_loop *w, size_t i,
                              eddy__ref *out_ref)
{
    static const int64_t zero = 0;

    if (i == TRIP)
        return eddy__lower_loop_const(w, "zero", EDDY_INT64, &zero, out_ref);
    *out_ref = eddy__call_input(
        w->call,
        (uint32_t)(i == NUMBER ? (size_t)START : i - FIRST_VALUE + N_RANGE));
    return EDDY_OK;
}

static eddy_status make_merge(const loop *w, size_t i)
{
    const eddy_dtype dtype = dtype_of(w, i);
    eddy_node enter;
    eddy__ref first;

    EDDY_TRY(find_first(&w->made, i, &first));
    EDDY_TRY(eddy__lower_loop_enter(&w->made, dtype, false, first, &enter));
    return eddy__lower_loop_merge(&w->made, i, dtype, enter);
}

static eddy_status make_binary(const eddy__lower_loop *w, const char *op,
                               eddy_dtype dtype, eddy_output x, eddy_output y,
                               eddy_node *out_node)
{
    const eddy_attr attr = eddy_attr_type("T", &dtype);
    const eddy__make make = {
        .op = op,
        .scope = w->call->name,
        .name = op,
        .attrs = &attr,
        .n_attrs = 1,
        .n_inputs = 2,
    };

    EDDY_TRY(eddy__lower_make(w->l, &make, out_node));
    EDDY_TRY(eddy__lower_input(w->l, *out_node, 0,
                               eddy__lower_made(x.node, x.index)));
    return eddy__lower_input(w->l, *out_node, 1,
                             eddy__lower_made(y.node, y.index));
}

static eddy_status make_loop_cond(const loop *w)
{
    eddy_node less;

    EDDY_TRY(make_binary(&w->made, "Less", EDDY_INT64,
                         (eddy_output){w->made.merges[TRIP], 0},
                         (eddy_output){w->trips, 0}, &less));
    return eddy__lower_loop_cond(&w->made, NULL, eddy__lower_made(less, 0));
}

/* What variable `i` is in the next trip. */
static eddy_status find_next(const loop *w, size_t i, eddy__ref *out_ref)
{
    const eddy_node by = i == TRIP ? w->one : w->delta;
    eddy_node sum;

    if (i >= FIRST_VALUE) {
        *out_ref = eddy__lower_result(w->made.body, i - FIRST_VALUE);
        return EDDY_OK;
    }
    EDDY_TRY(make_binary(&w->made, "AddV2", dtype_of(w, i),
                         (eddy_output){w->made.switches[i], 1},
                         (eddy_output){by, 0}, &sum));
    *out_ref = eddy__lower_made(sum, 0);
    return EDDY_OK;
}

eddy_status eddy__lower_for(eddy__lowering *l, eddy__call *call)
{
    loop w = {.n = call->n_in + 1};
    eddy__lower_loop *made = &w.made;

    EDDY_TRY(eddy__lower_loop_init(made, l, call, w.n));
    made->body = call->parts[0];
    EDDY_TRY(make_invariants(&w));
    for (size_t i = 0; i < w.n; i++)
        EDDY_TRY(make_merge(&w, i));
    EDDY_TRY(make_loop_cond(&w));
    for (size_t i = 0; i < w.n; i++)
        EDDY_TRY(eddy__lower_loop_switch(made, i, dtype_of(&w, i)));
    EDDY_TRY(eddy__lower_loop_pivot(made, TRIP, EDDY_INT64));
    for (size_t i = NUMBER; i < w.n; i++)
        made->body->args[i - NUMBER] = eddy__lower_made(made->switches[i], 1);
    for (size_t i = 0; i < w.n; i++) {
        eddy__ref round;

        EDDY_TRY(find_next(&w, i, &round));
        EDDY_TRY(eddy__lower_loop_ends(made, i, dtype_of(&w, i), round));
    }
    for (size_t i = FIRST_VALUE; i < w.n; i++)
        call->values[i - FIRST_VALUE] = eddy__lower_made(call->exits[i], 0);
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While: its inputs become loop variables, and those that the body gives back
 * as they came, loop invariants.
 *
 * TensorFlow does the latter for resources alone.  Captured values are most of
 * what its While carries, and an invariant costs an iteration nothing.
 */
#include "core/base/status.h"
#include "frames/lower/lower_loop.h"

#include <string.h>

typedef struct loop {
    eddy__lower_loop made; /* of what is not carried, only the Enter is */
    eddy__instance *cond;
    size_t n;         /* inputs, and the one that is added if none */
    bool *is_carried; /* n */
    eddy_node *enters;
    eddy_dtype *dtypes;
} loop;

/* ---- what is carried ---- */

/* Does the body give argument `i` back as result `i`? */
static bool is_returned(const eddy__function *f, size_t i)
{
    eddy_node at = f->results[i].node;

    /* A body may be malformed: its Identities may go in circles. */
    for (size_t steps = 0; steps < f->body->n_nodes; steps++) {
        const eddy__node *node = eddy__graph_node(f->body, at);

        if (at == f->args[i])
            return true;
        if (!node->op || strcmp(node->op_name, "Identity") != 0 ||
            node->n_controls > 0)
            return false;
        at = node->inputs[0].node;
    }
    return false;
}

/* Something has to go round; a loop of nothing but invariants takes one. */
static void choose_carried(loop *w)
{
    const eddy__function *f = w->made.body->routine->function;
    bool is_any = false;

    for (size_t i = 0; i < w->made.call->n_in; i++) {
        w->is_carried[i] = !is_returned(f, i);
        is_any |= w->is_carried[i];
    }
    if (!is_any)
        w->is_carried[0] = true;
}

static eddy_status make_room(loop *w, const eddy__call *call)
{
    eddy__arena *arena = &w->made.l->arena;

    w->is_carried = eddy__arena_allocate_zeroed(arena, w->n, 1);
    w->enters = eddy__arena_allocate(arena, w->n, sizeof *w->enters);
    w->dtypes = eddy__arena_allocate(arena, w->n, sizeof *w->dtypes);
    if (!w->is_carried || !w->enters || !w->dtypes)
        return eddy__fail_memory(w->made.l->err);
    w->dtypes[0] = EDDY_BOOL;
    if (call->n_in > 0)
        memcpy(w->dtypes, call->in, call->n_in * sizeof *w->dtypes);
    return EDDY_OK;
}

/* ---- the whole ---- */

static eddy_status make_enter(const loop *w, size_t i)
{
    /* What a loop without variables carries in place of one. */
    static const bool token = false;
    const eddy__call *call = w->made.call;
    eddy__ref from;

    if (call->n_in > 0)
        from = eddy__call_input(call, (uint32_t)i);
    else
        EDDY_TRY(eddy__lower_loop_const(&w->made, "token", EDDY_BOOL, &token,
                                        &from));
    return eddy__lower_loop_enter(&w->made, w->dtypes[i], !w->is_carried[i],
                                  from, &w->enters[i]);
}

static eddy_status make_loop_cond(const loop *w)
{
    const eddy__routine *r = w->cond->routine;
    eddy__ref predicate = eddy__lower_result(w->cond, 0);

    EDDY_TRY(eddy__lower_predicate(w->made.l, w->made.call,
                                   (eddy_dtype)r->function->result_dtypes[0],
                                   w->cond, &predicate));
    return eddy__lower_loop_cond(&w->made, w->cond, predicate);
}

/* Until there is something to wait for, what runs in each iteration. */
static eddy_status set_guards(const loop *w, size_t first)
{
    w->cond->guard = EDDY__GUARD_KNOWN;
    w->cond->guard_node = w->made.merges[first];
    return eddy__lower_loop_pivot(&w->made, first, w->dtypes[first]);
}

static eddy_status make_ends(const loop *w, size_t i)
{
    const eddy__ref round = w->made.call->n_in > 0
                                ? eddy__lower_result(w->made.body, i)
                                : eddy__lower_made(w->made.switches[i], 1);

    return eddy__lower_loop_ends(&w->made, i, w->dtypes[i], round);
}

static void set_values(const loop *w)
{
    const eddy__lower_loop *made = &w->made;
    eddy__call *call = made->call;
    size_t k = 0;

    for (uint32_t i = 0; i < call->n_in; i++) {
        const bool is_carried = w->is_carried[i];

        w->cond->args[i] =
            eddy__lower_made(is_carried ? made->merges[i] : w->enters[i], 0);
        made->body->args[i] = is_carried
                                  ? eddy__lower_made(made->switches[i], 1)
                                  : eddy__lower_made(w->enters[i], 0);
        call->values[i] = is_carried ? eddy__lower_made(call->exits[k++], 0)
                                     : eddy__call_input(call, i);
    }
}

static eddy_status make_all(loop *w)
{
    size_t first = 0;

    while (!w->is_carried[first])
        first++;
    for (size_t i = 0; i < w->n; i++)
        EDDY_TRY(make_enter(w, i));
    for (size_t i = 0; i < w->n; i++)
        if (w->is_carried[i])
            EDDY_TRY(eddy__lower_loop_merge(&w->made, i, w->dtypes[i],
                                            w->enters[i]));
    EDDY_TRY(make_loop_cond(w));
    for (size_t i = 0; i < w->n; i++)
        if (w->is_carried[i])
            EDDY_TRY(eddy__lower_loop_switch(&w->made, i, w->dtypes[i]));
    EDDY_TRY(set_guards(w, first));
    for (size_t i = 0; i < w->n; i++)
        if (w->is_carried[i])
            EDDY_TRY(make_ends(w, i));
    set_values(w);
    return EDDY_OK;
}

eddy_status eddy__lower_while(eddy__lowering *l, eddy__call *call)
{
    const eddy_attr *parallel =
        eddy__node_attr(eddy__call_node(call), "parallel_iterations");
    loop w = {.cond = call->parts[0], .n = call->n_in > 0 ? call->n_in : 1};

    EDDY_TRY(eddy__lower_loop_init(&w.made, l, call, w.n));
    w.made.body = call->parts[1];
    if (parallel && parallel->kind == EDDY_ATTR_INT && parallel->n == 1)
        w.made.parallel_iterations = parallel->as.ints[0];
    EDDY_TRY(make_room(&w, call));
    choose_carried(&w);
    return make_all(&w);
}

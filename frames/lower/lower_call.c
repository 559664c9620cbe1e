/*
 * Calls of one function: its nodes stand where the call stood.
 *
 * Arguments are what the call reads; only where it waits for other nodes does
 * each get an Identity that waits for them too.
 */
#include "core/base/status.h"
#include "frames/lower/lowering.h"

static eddy_status make_argument(eddy__lowering *l, eddy__call *call,
                                 uint32_t i)
{
    eddy__instance *in = call->parts[0];
    const eddy__function *f = in->routine->function;
    const eddy__make make = {
        .op = "Identity",
        .scope = in->scope,
        .name = eddy__graph_node(f->body, f->args[i])->name,
        .home = call->host,
    };

    EDDY_TRY(eddy__lower_make_unary(
        l, &make, call->in[i], eddy__call_input(call, i), &in->arg_nodes[i]));
    EDDY_TRY(eddy__lower_gate(l, call, in->arg_nodes[i]));
    in->args[i] = eddy__made(in->arg_nodes[i], 0);
    return EDDY_OK;
}

eddy_status eddy__lower_plain_call(eddy__lowering *l, eddy__call *call)
{
    const bool waits = eddy__call_node(call)->n_controls > 0;
    eddy__instance *in = call->parts[0];
    const eddy__routine *r = in->routine;

    for (uint32_t i = 0; i < call->n_in; i++) {
        in->args[i] = eddy__call_input(call, i);
        if (waits && r->kind[r->function->args[i]] == EDDY__ARGUMENT)
            EDDY_TRY(make_argument(l, call, i));
    }
    for (size_t i = 0; i < call->n_out; i++)
        call->values[i] = eddy__result(in, i);
    if (call->host->routine->has_primitives && call->n_in > 0)
        in->guard = EDDY__GUARD_INPUTS;
    else if (waits)
        in->guard = EDDY__GUARD_CONTROL;
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If and Case: what the branches take goes through Switches, what they give
 * through Merges.  Output k of every Switch is for branch k; the branches of an
 * If are `else`, `then`.
 */
#include "core/base/status.h"
#include "frames/lower/lowering.h"

#include <string.h>

typedef struct branching {
    eddy__lowering *l;
    eddy__call *call;
    bool is_case;
    eddy__ref predicate;
} branching;

static eddy_status make_switch(const branching *b, const char *name,
                               eddy_dtype dtype, eddy__ref data,
                               eddy_node *out_switch)
{
    const int64_t n = (int64_t)b->call->n_parts;
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_int("num_outs", &n)};
    const eddy__make make = {
        .op = b->is_case ? "_SwitchN" : "Switch",
        .scope = b->call->name,
        .name = name,
        .attrs = attrs,
        .n_attrs = b->is_case ? 2 : 1,
        .n_inputs = 2,
        .home = b->call->host,
    };

    EDDY_TRY(eddy__lower_make(b->l, &make, out_switch));
    EDDY_TRY(eddy__lower_input(b->l, *out_switch, 0, data));
    EDDY_TRY(eddy__lower_input(b->l, *out_switch, 1, b->predicate));
    return eddy__lower_gate(b->l, b->call, *out_switch);
}

/* A node a branch that runs if the branch is taken. */
static eddy_status make_pivots(const branching *b)
{
    const eddy_dtype dtype = b->is_case ? EDDY_INT32 : EDDY_BOOL;
    eddy__call *call = b->call;
    eddy_node from;

    EDDY_TRY(make_switch(b, "switch_pred", dtype, b->predicate, &from));
    call->pivots =
        eddy__arena_allocate(&b->l->arena, call->n_parts, sizeof *call->pivots);
    if (!call->pivots)
        return eddy__fail_memory(b->l->err);
    for (uint32_t i = 0; i < call->n_parts; i++) {
        const eddy__make make = {
            .op = "Identity", .scope = call->parts[i]->scope, .name = "pivot"};

        EDDY_TRY(eddy__lower_make_unary(
            b->l, &make, dtype, eddy__lower_made(from, i), &call->pivots[i]));
        call->parts[i]->guard = EDDY__GUARD_KNOWN;
        call->parts[i]->guard_node = call->pivots[i];
    }
    return EDDY_OK;
}

static bool is_used(const eddy__call *call, uint32_t i)
{
    for (size_t k = 0; k < call->n_parts; k++) {
        const eddy__routine *r = call->parts[k]->routine;

        if (r->kind[r->function->args[i]] == EDDY__ARGUMENT)
            return true;
    }
    return false;
}

static eddy_status make_inputs(const branching *b)
{
    eddy__call *call = b->call;

    for (uint32_t i = 0; i < call->n_in; i++) {
        eddy_node from;

        if (!is_used(call, i))
            continue;
        EDDY_TRY(make_switch(b, "Switch", call->in[i],
                             eddy__call_input(call, i + 1), &from));
        for (uint32_t k = 0; k < call->n_parts; k++)
            call->parts[k]->args[i] = eddy__lower_made(from, k);
    }
    return EDDY_OK;
}

static eddy_status make_outputs(const branching *b)
{
    eddy__call *call = b->call;
    const int64_t n = (int64_t)call->n_parts;

    for (size_t i = 0; i < call->n_out; i++) {
        const eddy_attr attrs[] = {eddy_attr_type("T", &call->out[i]),
                                   eddy_attr_int("N", &n)};
        const eddy__make make = {
            .op = "Merge",
            .scope = call->name,
            .name = "Merge",
            .attrs = attrs,
            .n_attrs = 2,
            .n_inputs = call->n_parts,
        };
        eddy_node merge;

        EDDY_TRY(eddy__lower_make(b->l, &make, &merge));
        for (uint32_t k = 0; k < call->n_parts; k++)
            EDDY_TRY(eddy__lower_input(b->l, merge, k,
                                       eddy__lower_result(call->parts[k], i)));
        call->values[i] = eddy__lower_made(merge, 0);
    }
    return EDDY_OK;
}

eddy_status eddy__lower_predicate(eddy__lowering *l, const eddy__call *call,
                                  eddy_dtype dtype, eddy__instance *home,
                                  eddy__ref *predicate)
{
    const eddy_attr *attr =
        eddy__node_attr(eddy__call_node(call), "_lower_using_switch_merge");
    const eddy__make make = {
        .op = "ToBool", .scope = call->name, .name = "ToBool", .home = home};
    eddy_node node;

    if (dtype == EDDY_BOOL && attr && attr->kind == EDDY_ATTR_BOOL &&
        attr->n == 1 && attr->as.bools[0])
        return EDDY_OK;
    EDDY_TRY(eddy__lower_make_unary(l, &make, dtype, *predicate, &node));
    *predicate = eddy__lower_made(node, 0);
    return EDDY_OK;
}

eddy_status eddy__lower_branch(eddy__lowering *l, eddy__call *call)
{
    branching b = {
        .l = l,
        .call = call,
        .is_case = strstr(eddy__call_node(call)->op_name, "Case") != NULL,
        .predicate = eddy__call_input(call, 0),
    };
    const eddy_attr *dtype;

    if (!b.is_case) {
        EDDY_TRY(eddy__lower_attr(l, call, "Tcond", EDDY_ATTR_TYPE, &dtype));
        if (dtype->n != 1)
            return eddy__lower_fail(l, call, EDDY_INVALID_ARGUMENT,
                                    EDDY_E_ATTR_VALUE,
                                    "attribute 'Tcond' is no single dtype");
        EDDY_TRY(eddy__lower_predicate(l, call, dtype->as.types[0], call->host,
                                       &b.predicate));
    }
    EDDY_TRY(make_pivots(&b));
    EDDY_TRY(make_inputs(&b));
    return make_outputs(&b);
}

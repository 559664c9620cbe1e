/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What While and For share: the five primitives of a variable, the LoopCond,
 * and the constants that a loop starts from.
 */
#include "frames/lower/lower_loop.h"

#include "core/base/status.h"

#include <string.h>

eddy_status eddy__lower_loop_init(eddy__lower_loop *w, eddy__lowering *l,
                                  eddy__call *call, size_t n)
{
    const char *frame = eddy__lower_frame_name(l, call->name);
    eddy__arena *arena = &l->arena;

    *w = (eddy__lower_loop){.l = l, .call = call, .parallel_iterations = 10};
    w->merges = eddy__arena_allocate(arena, n, sizeof *w->merges);
    w->switches = eddy__arena_allocate(arena, n, sizeof *w->switches);
    call->nexts = eddy__arena_allocate(arena, n, sizeof *call->nexts);
    call->exits = eddy__arena_allocate(arena, n, sizeof *call->exits);
    if (!frame || !w->merges || !w->switches || !call->nexts || !call->exits)
        return eddy__fail_memory(l->err);
    w->frame = (eddy_string){frame, strlen(frame)};
    return EDDY_OK;
}

eddy_status eddy__lower_loop_const(const eddy__lower_loop *w, const char *name,
                                   eddy_dtype dtype, const void *element,
                                   eddy__ref *out_ref)
{
    const eddy_shape shape = {.rank = 0};
    eddy_tensor *value;
    eddy_attr attrs[2] = {eddy_attr_type("dtype", &dtype)};
    const eddy__make make = {
        .op = "Const",
        .scope = w->call->name,
        .name = name,
        .attrs = attrs,
        .n_attrs = 2,
        .home = w->call->host,
    };
    eddy_node node = EDDY_NO_NODE;
    eddy_status status;

    EDDY_TRY(
        eddy_tensor_create(w->l->graph->ctx, dtype, &shape, &value, w->l->err));
    memcpy(eddy_tensor_mutable_data(value), element, eddy_dtype_size(dtype));
    attrs[1] = eddy_attr_tensor("value", &value);
    status = eddy__lower_make(w->l, &make, &node);
    eddy_tensor_release(value);
    if (status == EDDY_OK)
        status = eddy__lower_gate(w->l, w->call, node);
    *out_ref = eddy__lower_made(node, 0);
    return status;
}

static eddy_status mark_invariant(eddy__lowering *l, eddy_node node)
{
    size_t had = l->invariants_capacity;

    if (!eddy__grow(l->arena.allocator, (void **)&l->is_invariant,
                    &l->invariants_capacity, (size_t)node + 1, 1))
        return eddy__fail_memory(l->err);
    memset(l->is_invariant + had, 0, l->invariants_capacity - had);
    l->is_invariant[node] = 1;
    return EDDY_OK;
}

eddy_status eddy__lower_loop_enter(const eddy__lower_loop *w, eddy_dtype dtype,
                                   bool is_constant, eddy__ref from,
                                   eddy_node *out_node)
{
    const eddy_attr attrs[] = {
        eddy_attr_type("T", &dtype),
        eddy_attr_string("frame_name", &w->frame),
        eddy_attr_bool("is_constant", &is_constant),
        eddy_attr_int("parallel_iterations", &w->parallel_iterations),
    };
    const eddy__make make = {
        .op = "Enter",
        .scope = w->call->name,
        .name = "Enter",
        .attrs = attrs,
        .n_attrs = 4,
        .n_inputs = 1,
        .home = w->call->host,
    };

    EDDY_TRY(eddy__lower_make(w->l, &make, out_node));
    EDDY_TRY(eddy__lower_input(w->l, *out_node, 0, from));
    EDDY_TRY(eddy__lower_gate(w->l, w->call, *out_node));
    return is_constant ? mark_invariant(w->l, *out_node) : EDDY_OK;
}

eddy_status eddy__lower_loop_merge(const eddy__lower_loop *w, size_t i,
                                   eddy_dtype dtype, eddy_node enter)
{
    const int64_t two = 2;
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_int("N", &two)};
    const eddy__make make = {
        .op = "Merge",
        .scope = w->call->name,
        .name = "Merge",
        .attrs = attrs,
        .n_attrs = 2,
        .n_inputs = 2,
    };

    EDDY_TRY(eddy__lower_make(w->l, &make, &w->merges[i]));
    return eddy__lower_input(w->l, w->merges[i], 0, eddy__lower_made(enter, 0));
}

eddy_status eddy__lower_loop_cond(const eddy__lower_loop *w,
                                  eddy__instance *home, eddy__ref predicate)
{
    const eddy__make make = {
        .op = "LoopCond",
        .scope = w->call->name,
        .name = "LoopCond",
        .n_inputs = 1,
        .home = home,
    };

    EDDY_TRY(eddy__lower_make(w->l, &make, &w->call->loop_cond));
    return eddy__lower_input(w->l, w->call->loop_cond, 0, predicate);
}

eddy_status eddy__lower_loop_switch(const eddy__lower_loop *w, size_t i,
                                    eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("T", &dtype);
    const eddy__make make = {
        .op = "Switch",
        .scope = w->call->name,
        .name = "Switch",
        .attrs = &attr,
        .n_attrs = 1,
        .n_inputs = 2,
    };

    EDDY_TRY(eddy__lower_make(w->l, &make, &w->switches[i]));
    EDDY_TRY(eddy__lower_input(w->l, w->switches[i], 0,
                               eddy__lower_made(w->merges[i], 0)));
    return eddy__lower_input(w->l, w->switches[i], 1,
                             eddy__lower_made(w->call->loop_cond, 0));
}

eddy_status eddy__lower_loop_ends(const eddy__lower_loop *w, size_t i,
                                  eddy_dtype dtype, eddy__ref round)
{
    eddy__call *call = w->call;
    const size_t k = call->n_variables++;
    const eddy__make exit = {.op = "Exit", .scope = call->name, .name = "Exit"};
    const eddy__make next = {.op = "NextIteration",
                             .scope = call->name,
                             .name = "NextIteration",
                             .home = w->body};

    EDDY_TRY(eddy__lower_make_unary(w->l, &exit, dtype,
                                    eddy__lower_made(w->switches[i], 0),
                                    &call->exits[k]));
    EDDY_TRY(
        eddy__lower_make_unary(w->l, &next, dtype, round, &call->nexts[k]));
    return eddy__lower_input(w->l, w->merges[i], 1,
                             eddy__lower_made(call->nexts[k], 0));
}

eddy_status eddy__lower_loop_pivot(const eddy__lower_loop *w, size_t i,
                                   eddy_dtype dtype)
{
    const eddy__make pivot = {
        .op = "Identity", .scope = w->body->scope, .name = "pivot"};

    w->body->guard = EDDY__GUARD_KNOWN;
    return eddy__lower_make_unary(w->l, &pivot, dtype,
                                  eddy__lower_made(w->switches[i], 1),
                                  &w->body->guard_node);
}

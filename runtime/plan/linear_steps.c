/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for single steps of a region: kernels, typed operations, Switch, Enter
 * and Exit.  What stands around them is linear_build.c's.
 */
#include "core/base/status.h"
#include "runtime/plan/linear_spread.h"
#include "runtime/plan/linear_write.h"

#include <string.h>

eddy_status eddy__linear_emit_pass(eddy__linear_writer *r, uint32_t op,
                                   uint32_t to, uint32_t from, uint32_t uses)
{
    uint32_t a, b;

    if (eddy__linear_is_only_spread(r->w, to))
        return eddy__linear_emit_part_moves(r, to, from);
    EDDY_TRY(eddy__linear_offset(r, to, &b));
    EDDY_TRY(eddy__linear_offset(r, from, &a));
    if (a == b)
        return EDDY_OK;
    if (r->w->values[to].is_raw)
        return eddy__linear_emit3(r, EDDY__LINEAR_MOVE, b, a, 0);
    return eddy__linear_emit3(r, op, b, a, uses);
}

/* ---- kernels ---- */

/* The operation of a step on one or two scalars; DONE: there is none. */
static uint32_t find_typed(const eddy__linear_writer *r, uint32_t id)
{
    const eddy__node *node = eddy__layout_node(r->w->l, id);
    const eddy__kernel_node *kernel = r->w->plan->steps[id].node;
    eddy_dtype from, to;

    if (kernel->n_in < 1 || kernel->n_in > 2 || kernel->n_out != 1)
        return EDDY__LINEAR_DONE;
    from = (eddy_dtype)kernel->in_dtypes[0];
    to = (eddy_dtype)r->w->values[eddy__linear_output(r->w, id, 0)].dtype;
    if (strcmp(kernel->op_name, "Cast") == 0)
        return !node || eddy__node_bool(node, "Truncate")
                   ? (uint32_t)EDDY__LINEAR_DONE
                   : eddy__linear_find_cast(from, to);
    if (strcmp(kernel->op_name, "ToBool") == 0)
        return eddy__linear_find_cast(from, EDDY_BOOL);
    return eddy__linear_find(kernel->op_name, from);
}

/* x + y + ..., of so many that AddN's kernel adds them from left to right. */
#define MOST_ADDED 9

/* AddN; `*out_done`: code has been written. */
static eddy_status emit_sum(eddy__linear_writer *r, uint32_t id, bool *out_done)
{
    const eddy__kernel_node *node = r->w->plan->steps[id].node;
    uint32_t op, to = 0, a = 0, b = 0;

    *out_done = false;
    if (strcmp(node->op_name, "AddN") != 0 || node->n_in < 2 ||
        node->n_in > MOST_ADDED)
        return EDDY_OK;
    op = eddy__linear_find("AddV2", (eddy_dtype)node->in_dtypes[0]);
    if (op == EDDY__LINEAR_DONE)
        return EDDY_OK;
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_output(r->w, id, 0), &to));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(r->w, id, 0), &a));
    for (uint32_t i = 1; i < node->n_in; i++, a = to) {
        EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(r->w, id, i), &b));
        EDDY_TRY(eddy__linear_emit3(r, op, to, a, b));
    }
    *out_done = true;
    return EDDY_OK;
}

/* Select and SelectV2; `*out_done`: code has been written. */
static eddy_status emit_select(eddy__linear_writer *r, uint32_t id,
                               bool *out_done)
{
    const eddy__kernel_node *node = r->w->plan->steps[id].node;
    eddy__linear_code code = {.op = EDDY__LINEAR_DONE};
    uint32_t condition = 0;

    *out_done = false;
    if (strcmp(node->op_name, "SelectV2") != 0 &&
        strcmp(node->op_name, "Select") != 0)
        return EDDY_OK;
    EDDY_TRY(eddy__linear_register_of(r, eddy__linear_input(r->w, id, 0),
                                      &condition));
    if (condition > UINT16_MAX)
        return EDDY_OK;
    code.op = (uint16_t)eddy__spread_select_of((eddy_dtype)node->in_dtypes[1]);
    code.aux = (uint16_t)condition;
    EDDY_TRY(
        eddy__linear_offset(r, eddy__linear_output(r->w, id, 0), &code.to));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(r->w, id, 1), &code.a));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(r->w, id, 2), &code.b));
    *out_done = true;
    return eddy__linear_emit(r, code);
}

/* Typed operations if there are, else a call. */
static eddy_status emit_scalar(eddy__linear_writer *r, uint32_t id)
{
    const eddy__kernel_node *node = r->w->plan->steps[id].node;
    eddy__linear_code code = {.op = (uint16_t)find_typed(r, id)};
    const uint32_t n = node->n_in;
    uint32_t call = 0;
    bool is_done = n == 0 && strcmp(node->op_name, "NoOp") == 0;

    if (!is_done)
        EDDY_TRY(emit_sum(r, id, &is_done));
    if (!is_done)
        EDDY_TRY(emit_select(r, id, &is_done));
    if (is_done)
        return EDDY_OK;
    if (code.op == EDDY__LINEAR_DONE) {
        EDDY_TRY(eddy__linear_add_call(r, id, &call));
        return eddy__linear_emit3(r, EDDY__LINEAR_SCALARS, 0, call, 0);
    }
    if (eddy__linear_has_aux_call(code.op)) {
        EDDY_TRY(eddy__linear_add_call(r, id, &call));
        if (call > UINT16_MAX)
            return eddy__linear_emit3(r, EDDY__LINEAR_SCALARS, 0, call, 0);
        code.aux = (uint16_t)call;
    }
    EDDY_TRY(
        eddy__linear_offset(r, eddy__linear_output(r->w, id, 0), &code.to));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(r->w, id, 0), &code.a));
    if (n == 2)
        EDDY_TRY(
            eddy__linear_offset(r, eddy__linear_input(r->w, id, 1), &code.b));
    return eddy__linear_emit(r, code);
}

/* A push, pop, read or write on a stack or an array of bare scalars. */
static eddy_status emit_store(eddy__linear_writer *r, uint32_t id)
{
    eddy__linear_build *w = r->w;
    eddy__linear_code code = {.op = w->store_op[id]};
    const char *operands = eddy__linear_operands(code.op);
    uint32_t call = 0;

    EDDY_TRY(eddy__linear_add_call(r, id, &call));
    /* Not a CALL: that would clear what is passed on before it is read. */
    if (call > UINT16_MAX)
        return eddy__linear_emit3(r, EDDY__LINEAR_SCALARS, 0, call, 0);
    code.aux = (uint16_t)call;
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(w, id, 0), &code.a));
    if (operands[0] == 'w')
        EDDY_TRY(
            eddy__linear_offset(r, eddy__linear_output(w, id, 0), &code.to));
    else if (operands[0] == 'r')
        EDDY_TRY(
            eddy__linear_offset(r, eddy__linear_input(w, id, 2), &code.to));
    if (operands[2] == 'r')
        EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(w, id, 1), &code.b));
    return eddy__linear_emit(r, code);
}

/* What the kernel has made of values that are spread. */
static eddy_status emit_splits(eddy__linear_writer *r, uint32_t id,
                               uint32_t call)
{
    const eddy__step *step = &r->w->plan->steps[id];

    for (uint32_t i = 0; i < step->node->n_out; i++) {
        const uint32_t v = eddy__linear_output(r->w, id, i);

        if (eddy__linear_is_only_spread(r->w, v) &&
            eddy__step_uses(step, i) > 0)
            EDDY_TRY(eddy__linear_emit_split(r, id, v,
                                             r->text.calls[call].out[i], true));
    }
    return EDDY_OK;
}

static eddy_status emit_kernel(eddy__linear_writer *r, uint32_t id)
{
    uint32_t call = 0;

    if (r->w->store_op[id] != EDDY__LINEAR_DONE)
        return emit_store(r, id);
    if (r->w->spreads[id])
        return eddy__linear_emit_spread(r, id);
    EDDY_TRY(eddy__linear_add_call(r, id, &call));
    EDDY_TRY(eddy__linear_emit3(
        r, r->w->is_recorded ? EDDY__LINEAR_WATCH : EDDY__LINEAR_CALL, 0, call,
        0));
    return emit_splits(r, id, call);
}

/* ---- Switch, Enter, Exit ---- */

/* Are they one register? */
static bool is_same(const eddy__linear_build *w, uint32_t a, uint32_t b)
{
    return w->values[a].alias == w->values[b].alias;
}

static eddy_status emit_switch(eddy__linear_writer *r, uint32_t id)
{
    eddy__linear_build *w = r->w;
    const eddy__step *step = &w->plan->steps[id];
    const uint32_t from = eddy__linear_input(w, id, 0);
    uint32_t a, b, outs[2];

    if (is_same(w, eddy__linear_output(w, id, 0), from) &&
        is_same(w, eddy__linear_output(w, id, 1), from))
        return EDDY_OK;
    EDDY_TRY(eddy__linear_offset(r, from, &a));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_input(w, id, 1), &b));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_output(w, id, 0), &outs[0]));
    EDDY_TRY(eddy__linear_offset(r, eddy__linear_output(w, id, 1), &outs[1]));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_CHOOSE, 0, a, b));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_OUTPUTS,
                                eddy__step_uses(step, 0), outs[0], outs[1]));
    r->text.code[r->text.n - 2].to = eddy__step_uses(step, 1);
    return EDDY_OK;
}

/* What is in register `a`, an offset, to the constant `v` of a loop. */
static eddy_status lend(eddy__linear_writer *r, uint32_t v, uint32_t a)
{
    uint32_t to = 0, held = 0;

    EDDY_TRY(eddy__linear_offset(r, v, &to));
    EDDY_TRY(eddy__linear_new_register(r, false, 0, &held));
    /* Where it is to be dropped, `maker` tells from now on. */
    r->w->values[v].maker = held;
    return eddy__linear_emit3(r, EDDY__LINEAR_LEND, to, a,
                              eddy__linear_offset_of(held));
}

/* The same of what is spread, as elements and as a tensor if one is read. */
static eddy_status lend_spread(eddy__linear_writer *r, uint32_t id,
                               uint32_t from, uint32_t v)
{
    const uint32_t *parts = NULL;
    uint32_t joined = 0;

    if (r->w->values[v].is_spread) {
        EDDY_TRY(eddy__linear_parts_of(r, from, &parts));
        EDDY_TRY(eddy__linear_give_parts(r, v, parts));
    }
    if (!r->w->values[v].is_whole)
        return EDDY_OK;
    EDDY_TRY(eddy__linear_emit_join(r, id, from, &joined));
    return lend(r, v, eddy__linear_offset_of(joined));
}

/* Into the loop: a constant is lent, a variable goes to its Merge. */
static eddy_status emit_enter(eddy__linear_writer *r, uint32_t id)
{
    eddy__linear_build *w = r->w;
    const eddy__step *step = &w->plan->steps[id], *merge;
    const uint32_t from = eddy__linear_input(w, id, 0);
    const uint32_t v = eddy__linear_output(w, id, 0);
    uint32_t a = 0;

    if (!(step->flags & EDDY__STEP_CONSTANT)) {
        merge = &w->plan->steps[step->edges[0].step];
        return eddy__linear_emit_pass(
            r, EDDY__LINEAR_PASS,
            eddy__linear_output(w, step->edges[0].step, 0), from,
            eddy__step_uses(merge, 0));
    }
    if (w->values[v].is_raw || is_same(w, v, from))
        return EDDY_OK;
    if (eddy__linear_is_only_spread(w, from))
        return lend_spread(r, id, from, v);
    EDDY_TRY(eddy__linear_offset(r, from, &a));
    EDDY_TRY(lend(r, v, a));
    return w->values[v].is_spread
               ? eddy__linear_emit_split(r, id, v, w->values[v].reg, false)
               : EDDY_OK;
}

/* Is Enter `id` of a loop within one whose value a register holds? */
static bool is_held(const eddy__linear_build *w, uint32_t id)
{
    const uint32_t from = eddy__linear_input(w, id, 0);
    const uint32_t v = eddy__linear_output(w, id, 0);

    return (w->plan->steps[id].flags & EDDY__STEP_CONSTANT) &&
           !w->values[v].is_raw && !is_same(w, v, from) &&
           (!eddy__linear_is_only_spread(w, from) || w->values[v].is_whole);
}

eddy_status eddy__linear_drop_held(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    const eddy__linear_build_loop *loop = &w->loops[frame];

    for (uint32_t i = 0; i < loop->n_enters; i++)
        if (is_held(w, loop->enters[i]))
            EDDY_TRY(eddy__linear_emit3(
                r, EDDY__LINEAR_DROP, 0,
                eddy__linear_offset_of(
                    w->values[eddy__linear_output(w, loop->enters[i], 0)]
                        .maker),
                0));
    return EDDY_OK;
}

static eddy_status emit_exit(eddy__linear_writer *r, uint32_t id, uint32_t top)
{
    eddy__linear_build *w = r->w;
    const eddy__step *step = &w->plan->steps[id];
    const uint32_t from = eddy__linear_input(w, id, 0);
    eddy__linear_exit *exit = &r->text.exits[r->text.n_exits];

    if (step->frame != top)
        return eddy__linear_emit_pass(r, EDDY__LINEAR_TAKE_OUT,
                                      eddy__linear_output(w, id, 0), from,
                                      eddy__step_uses(step, 0));
    exit->step = id;
    r->text.n_exits++;
    return eddy__linear_is_only_spread(w, from)
               ? eddy__linear_emit_join(r, id, from, &exit->from)
               : eddy__linear_register_of(r, from, &exit->from);
}

static eddy_status emit_constant(eddy__linear_writer *r, uint32_t id)
{
    const eddy__step *step = &r->w->plan->steps[id];

    return eddy__linear_preset(r, eddy__linear_output(r->w, id, 0),
                               &r->w->plan->constants[step->aux]);
}

eddy_status eddy__linear_emit_step(eddy__linear_writer *r, uint32_t id,
                                   uint32_t top)
{
    const eddy__step *step = &r->w->plan->steps[id];

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_SCALAR:
        return emit_scalar(r, id);
    case EDDY__STEP_KERNEL:
        return emit_kernel(r, id);
    case EDDY__STEP_FORWARD:
        return eddy__linear_emit_pass(
            r, EDDY__LINEAR_PASS, eddy__linear_output(r->w, id, 0),
            eddy__linear_input(r->w, id, 0), eddy__step_uses(step, 0));
    case EDDY__STEP_CONST:
        return emit_constant(r, id);
    case EDDY__STEP_SWITCH:
        return emit_switch(r, id);
    case EDDY__STEP_ENTER:
        return emit_enter(r, id);
    case EDDY__STEP_EXIT:
        return emit_exit(r, id, top);
    default: /* Merge and NextIteration: moves elsewhere */
        return EDDY_OK;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for a region: the steps of an outermost frame are put into a row
 * (linear_order.c), written here, and tidied up (linear_tidy.c).
 *
 * A raw value that is another one
 * (of Switch, Identity, Enter, Exit) has its register.  Values that may hold
 * references keep to the rule of the dynamic executor: an output has a count of
 * readers, each reader takes or consumes it, and so does a reader that is dead,
 * on the sides of branches on which it is.
 */
#include "runtime/plan/linear_write.h"

#include "core/base/cpu.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "runtime/plan/linear_spread.h"

#include <assert.h>
#include <string.h>

/* A region has at most so many instructions and registers. */
#define MOST_CODE 100000
#define MOST_REGISTERS 100000

/* What `to` reads from `from`, with so many readers of its own. */
static eddy_status emit_pass(eddy__linear_writer *r, uint32_t op, uint32_t to,
                             uint32_t from, uint32_t uses)
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
        return emit_pass(r, EDDY__LINEAR_PASS,
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

static eddy_status drop_held(eddy__linear_writer *r, uint32_t frame)
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
        return emit_pass(r, EDDY__LINEAR_TAKE_OUT,
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

static eddy_status emit_step(eddy__linear_writer *r, uint32_t id, uint32_t top)
{
    const eddy__step *step = &r->w->plan->steps[id];

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_SCALAR:
        return emit_scalar(r, id);
    case EDDY__STEP_KERNEL:
        return emit_kernel(r, id);
    case EDDY__STEP_FORWARD:
        return emit_pass(r, EDDY__LINEAR_PASS, eddy__linear_output(r->w, id, 0),
                         eddy__linear_input(r->w, id, 0),
                         eddy__step_uses(step, 0));
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

/* ---- branches ---- */

/* May a reader have to drop a reference to it? */
static bool is_counted(const eddy__held *v)
{
    return !v->is_raw && !v->is_lent && !v->is_spread;
}

/*
 * A side of `p` begins: what stands between events `from` and `to`, on the
 * other side, is dead, and consumes what has come live.
 */
static eddy_status begin_side(eddy__linear_writer *r, uint32_t p, uint32_t from,
                              uint32_t to)
{
    eddy__linear_build *w = r->w;
    const uint32_t around = w->predicates[p].guard;
    uint32_t n_loops = 0, first = 0;

    for (uint32_t e = from + 1; e < to; e++) {
        const eddy__event *event = &w->events[e];
        const eddy__step *step;

        if (event->kind == EDDY__EVENT_LOOP && n_loops++ == 0)
            first = w->loops[event->at].number;
        if (event->kind != EDDY__EVENT_STEP)
            continue;
        step = &w->plan->steps[event->step];
        if (step->kind == EDDY__STEP_MERGE)
            continue;
        for (uint32_t i = 0; i < step->node->n_in; i++) {
            const uint32_t v = eddy__linear_input(w, event->step, i);
            uint32_t a;

            if (!is_counted(&w->values[v]) ||
                !eddy__linear_is_within(w, around, w->values[v].guard))
                continue;
            EDDY_TRY(eddy__linear_offset(r, v, &a));
            EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_CONSUME, 0, a, 0));
        }
    }
    if (n_loops > 0)
        EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_SKIP, n_loops, first, 0));
    return eddy__linear_tell_side(r, from, to, n_loops);
}

static eddy_status emit_true(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->events[e].at, other = w->events[e].next;
    uint32_t a;

    EDDY_TRY(eddy__linear_offset(r, w->predicates[p].value, &a));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_UNLESS, 0, a, 0));
    w->events[e].step = (uint32_t)r->text.n - 1; /* to be told its target */
    r->guard = w->predicates[p].sides[1];
    if (w->predicates[p].counter == EDDY__NO) {
        w->predicates[p].counter = r->n_counters++;
        EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_COUNT,
                                    w->predicates[p].counter, 0, 0));
    }
    return begin_side(r, p, other, w->events[other].next);
}

static eddy_status emit_false(eddy__linear_writer *r, uint32_t e,
                              uint32_t begin)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->events[e].at;

    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_JUMP, 0, 0, 0));
    r->text.code[w->events[begin].step].to = (uint32_t)r->text.n;
    w->events[e].step = (uint32_t)r->text.n - 1;
    r->guard = w->predicates[p].sides[0];
    return begin_side(r, p, begin, e);
}

/* ---- loops ---- */

typedef struct move {
    uint32_t to, from; /* registers */
    uint32_t uses;
    bool is_raw, is_done;
} move;

static eddy_status emit_move(eddy__linear_writer *r, const move *m)
{
    return eddy__linear_emit3(r,
                              m->is_raw ? EDDY__LINEAR_MOVE : EDDY__LINEAR_PASS,
                              eddy__linear_offset_of(m->to),
                              eddy__linear_offset_of(m->from), m->uses);
}

/* Does a move that is not done, but `i`, read what `i` would write? */
static bool is_read(const move *moves, uint32_t n, uint32_t i)
{
    for (uint32_t j = 0; j < n; j++)
        if (j != i && !moves[j].is_done && moves[j].from == moves[i].to)
            return true;
    return false;
}

/* All at once: those first whose target nobody reads, and round by a spare. */
static eddy_status emit_moves(eddy__linear_writer *r, move *moves, uint32_t n)
{
    uint32_t n_done = 0;

    while (n_done < n) {
        uint32_t first = n, before = n_done;

        for (uint32_t i = 0; i < n; i++) {
            if (moves[i].is_done)
                continue;
            if (is_read(moves, n, i)) {
                first = first == n ? i : first;
                continue;
            }
            EDDY_TRY(emit_move(r, &moves[i]));
            moves[i].is_done = true;
            n_done++;
        }
        if (n_done == before) {
            /* What `first` reads waits in a spare register. */
            move m = moves[first];

            EDDY_TRY(eddy__linear_new_register(r, m.is_raw,
                                               r->start[m.from].dtype, &m.to));
            m.uses = 1;
            EDDY_TRY(emit_move(r, &m));
            moves[first].from = m.to;
        }
    }
    return EDDY_OK;
}

/* Of a loop variable: one move, or one an element. */
static eddy_status list_moves(eddy__linear_writer *r, uint32_t id, move *moves,
                              uint32_t *n)
{
    eddy__linear_build *w = r->w;
    const uint32_t merge = w->plan->steps[id].edges[0].step;
    const uint32_t v = eddy__linear_output(w, merge, 0);
    const uint32_t from = eddy__linear_input(w, id, 0);
    const uint32_t *tos = NULL, *froms = NULL;
    move one = {.is_raw = w->values[v].is_raw,
                .uses = eddy__step_uses(&w->plan->steps[merge], 0)};

    if (!eddy__linear_is_only_spread(w, v)) {
        EDDY_TRY(eddy__linear_register_of(r, v, &one.to));
        EDDY_TRY(eddy__linear_register_of(r, from, &one.from));
        if (!one.is_raw || one.to != one.from)
            moves[(*n)++] = one;
        return EDDY_OK;
    }
    EDDY_TRY(eddy__linear_parts_of(r, v, &tos));
    EDDY_TRY(eddy__linear_parts_of(r, from, &froms));
    for (uint32_t i = 0; i < w->values[v].n_parts; i++)
        if (tos[i] != froms[i])
            moves[(*n)++] =
                (move){.to = tos[i], .from = froms[i], .is_raw = true};
    return EDDY_OK;
}

/* From what the NextIterations read to the Merges. */
static eddy_status emit_back_moves(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan = &w->plan->frames[frame];
    move *moves;
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->is_loop_merge[plan->steps[i]])
            n += 1 +
                 w->values[eddy__linear_output(w, plan->steps[i], 0)].n_parts;
    moves = eddy__arena_allocate(&w->scratch, n, sizeof *moves);
    if (!moves)
        return eddy__fail_memory(w->err);
    n = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->plan->steps[plan->steps[i]].kind == EDDY__STEP_NEXT_ITERATION)
            EDDY_TRY(list_moves(r, plan->steps[i], moves, &n));
    return emit_moves(r, moves, n);
}

static eddy_status emit_loop(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    eddy__linear_build_loop *loop = &w->loops[w->events[e].at];

    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_ENTER, loop->number, 0, 0));
    EDDY_TRY(eddy__linear_tell_entry(r, w->events[e].at));
    w->events[e].step = (uint32_t)r->text.n; /* where it goes back to */
    r->guard = loop->root;
    return eddy__linear_tell_iteration(r, w->events[e].at);
}

static eddy_status emit_test(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->loops[w->events[e].at].predicate;
    const uint32_t end = w->events[e].next;
    uint32_t a;

    EDDY_TRY(eddy__linear_offset(r, w->predicates[p].value, &a));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_UNLESS, 0, a, 0));
    w->events[e].step = (uint32_t)r->text.n - 1;
    r->guard = w->predicates[p].sides[1];
    return begin_side(r, p, end, w->events[end].next);
}

static eddy_status emit_back(eddy__linear_writer *r, uint32_t e, uint32_t test,
                             uint32_t begin)
{
    eddy__linear_build *w = r->w;
    const eddy__linear_build_loop *loop = &w->loops[w->events[e].at];
    eddy__linear_code back = {.op = EDDY__LINEAR_BACK,
                              .aux = (uint16_t)loop->number,
                              .to = w->events[begin].step};

    EDDY_TRY(emit_back_moves(r, w->events[e].at));
    EDDY_TRY(eddy__linear_emit(r, back));
    r->text.code[w->events[test].step].to = (uint32_t)r->text.n;
    r->guard = w->predicates[loop->predicate].sides[0];
    return begin_side(r, loop->predicate, test, e);
}

/*
 * What the outermost loop holds stays until its Exits have been read: they may
 * have it lent.
 */
static eddy_status emit_end(eddy__linear_writer *r, uint32_t frame,
                            uint32_t top)
{
    if (frame != top)
        EDDY_TRY(drop_held(r, frame));
    return eddy__linear_emit3(r, EDDY__LINEAR_LEAVE, r->w->loops[frame].number,
                              0, 0);
}

/* ---- the events of a region ---- */

typedef struct nesting {
    uint32_t *begins; /* events that are open */
    size_t n, room;
} nesting;

static eddy_status emit_input(eddy__linear_writer *r, const eddy__event *event)
{
    const eddy__step *merge = &r->w->plan->steps[event->step];

    return emit_pass(r, EDDY__LINEAR_PASS,
                     eddy__linear_output(r->w, event->step, 0),
                     eddy__linear_input(r->w, event->step, event->at),
                     eddy__step_uses(merge, 0));
}

/* The guard of what stands around the part that has just ended. */
static uint32_t guard_around(const eddy__linear_writer *r, uint32_t guard)
{
    const eddy__linear_build *w = r->w;

    return w->guards[guard].parent != EDDY__NO
               ? w->guards[guard].parent
               : w->loops[w->guards[guard].frame].entered;
}

static eddy_status emit_event(eddy__linear_writer *r, nesting *open, uint32_t e,
                              uint32_t top)
{
    eddy__linear_build *w = r->w;
    const eddy__event *event = &w->events[e];
    const uint32_t begin = open->n > 0 ? open->begins[open->n - 1] : 0;

    r->step =
        event->kind == EDDY__EVENT_STEP || event->kind == EDDY__EVENT_INPUT
            ? event->step
            : EDDY__NO;
    switch ((eddy__event_kind)event->kind) {
    case EDDY__EVENT_STEP:
        EDDY_TRY(eddy__linear_tell_before(r, event->step));
        EDDY_TRY(emit_step(r, event->step, top));
        return eddy__linear_tell_after(r, event->step);
    case EDDY__EVENT_INPUT:
        EDDY_TRY(eddy__linear_tell_input(r, event->step, event->at));
        return emit_input(r, event);
    case EDDY__EVENT_LOOP:
        open->begins[open->n++] = e;
        return emit_loop(r, e);
    case EDDY__EVENT_TEST:
        return emit_test(r, e);
    case EDDY__EVENT_BACK:
        return emit_back(r, e, w->events[begin].next, begin);
    case EDDY__EVENT_END:
        open->n--;
        EDDY_TRY(emit_end(r, event->at, top));
        r->guard = w->loops[event->at].entered;
        return EDDY_OK;
    case EDDY__EVENT_TRUE:
        open->begins[open->n++] = e;
        return emit_true(r, e);
    case EDDY__EVENT_FALSE:
        return emit_false(r, e, begin);
    case EDDY__EVENT_CLOSE:
        open->n--;
        r->text.code[w->events[w->events[begin].next].step].to =
            (uint32_t)r->text.n;
        r->guard = guard_around(r, r->guard);
        return EDDY_OK;
    }
    return EDDY_OK;
}

/* Constants stand in their registers from the start. */
static eddy_status preset_dissolved(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan = &w->plan->frames[frame];

    for (uint32_t i = 0; i < plan->n_invariants; i++)
        if (plan->invariants[i].kind != EDDY__NONE)
            EDDY_TRY(eddy__linear_preset(r, w->loops[frame].first_value + i,
                                         &plan->invariants[i]));
    return EDDY_OK;
}

static eddy_status write_code(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;
    nesting open = {.room = w->n_events};
    eddy_status status = EDDY_OK;

    open.begins =
        eddy__allocate(w->scratch.allocator, open.room, sizeof *open.begins);
    if (!open.begins)
        return eddy__fail_memory(w->err);
    for (uint32_t e = 0; e < w->n_events && status == EDDY_OK; e++)
        status = emit_event(r, &open, e, top);
    eddy__free(w->scratch.allocator, open.begins, open.room,
               sizeof *open.begins);
    EDDY_TRY(status);
    return eddy__linear_emit3(r, EDDY__LINEAR_DONE, 0, 0, 0);
}

/* ---- the outside of a region ---- */

/* The elements of what comes in are put into registers. */
static eddy_status enter_parts(eddy__linear_writer *r, uint32_t v,
                               eddy__linear_entry *entry)
{
    const uint32_t n = r->w->values[v].n_parts, *parts = NULL;

    EDDY_TRY(eddy__linear_parts_of(r, v, &parts));
    entry->parts =
        eddy__arena_copy(&r->w->plan->arena, parts, n, sizeof *parts);
    entry->n_parts = n;
    entry->to = EDDY__NO;
    return entry->parts ? EDDY_OK : eddy__fail_memory(r->w->err);
}

static eddy_status list_entries(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;
    const eddy__linear_build_loop *loop = &w->loops[top];
    eddy__linear_entry *entries = eddy__arena_allocate_zeroed(
        &w->plan->arena, loop->n_enters, sizeof *entries);

    if (!entries)
        return eddy__fail_memory(w->err);
    for (uint32_t i = 0; i < loop->n_enters; i++) {
        const uint32_t id = loop->enters[i];
        const eddy__step *step = &w->plan->steps[id];
        const bool is_constant = (step->flags & EDDY__STEP_CONSTANT) != 0;
        uint32_t v = eddy__linear_output(w, id, 0);

        if (!is_constant) {
            entries[i].uses =
                eddy__step_uses(&w->plan->steps[step->edges[0].step], 0);
            v = eddy__linear_output(w, step->edges[0].step, 0);
        }
        entries[i].step = id;
        entries[i].is_raw = w->values[v].is_raw;
        entries[i].held = EDDY__NO;
        if (w->values[w->values[v].alias].is_spread)
            EDDY_TRY(enter_parts(r, v, &entries[i]));
        if (eddy__linear_is_only_spread(w, v))
            continue;
        EDDY_TRY(eddy__linear_register_of(r, v, &entries[i].to));
        if (is_constant && !entries[i].is_raw) {
            EDDY_TRY(eddy__linear_new_register(r, false, 0, &entries[i].held));
            w->values[v].maker = entries[i].held;
        }
    }
    r->out->entries = entries;
    r->out->n_entries = loop->n_enters;
    return EDDY_OK;
}

/* Numbers the loops in the order in which they begin: parents first. */
static eddy_status number_loops(eddy__linear_writer *r)
{
    eddy__linear_build *w = r->w;
    uint32_t n = 0;
    eddy__linear_frame *frames;

    for (size_t e = 0; e < w->n_events; e++)
        if (w->events[e].kind == EDDY__EVENT_LOOP)
            w->loops[w->events[e].at].number = n++;
    frames = eddy__arena_allocate_zeroed(&w->plan->arena, n, sizeof *frames);
    if (!frames)
        return eddy__fail_memory(w->err);
    r->frames = frames;
    r->out->frames = frames;
    r->out->n_frames = n;
    for (size_t e = 0; e < w->n_events; e++) {
        const uint32_t f = w->events[e].at; /* of a loop: its frame */
        eddy__linear_frame *frame;

        if (w->events[e].kind != EDDY__EVENT_LOOP)
            continue;
        frame = &frames[w->loops[f].number];
        frame->frame = f;
        frame->enter = w->loops[f].enters[0];
        frame->parent = w->loops[f].number == 0
                            ? EDDY__NO
                            : w->loops[w->plan->frames[f].parent].number;
        frame->guard = w->loops[f].number == 0 ? EDDY__NO : w->loops[f].entered;
        EDDY_TRY(preset_dissolved(r, f));
    }
    return EDDY_OK;
}

/* Gives the guards of a frame numbers, parents and true sides first. */
static eddy_status number_guards(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    size_t first = r->n_guards;
    uint32_t next = w->loops[frame].root;

    while (next != EDDY__NO) {
        uint32_t p;

        if (!eddy__grow(w->scratch.allocator, (void **)&r->guards,
                        &r->guards_room, r->n_guards + 1, sizeof *r->guards))
            return eddy__fail_memory(w->err);
        w->guards[next].number = (uint32_t)r->n_guards;
        r->guards[r->n_guards++] = next;
        /* The next one that has not got a number, under those that have. */
        for (next = EDDY__NO; first < r->n_guards && next == EDDY__NO;) {
            p = w->guards[r->guards[first]].first_predicate;
            while (p != EDDY__NO && next == EDDY__NO) {
                const eddy__predicate *pred = &w->predicates[p];

                if (w->guards[pred->sides[1]].number == EDDY__NO)
                    next = pred->sides[1];
                else if (w->guards[pred->sides[0]].number == EDDY__NO)
                    next = pred->sides[0];
                p = pred->next;
            }
            first += next == EDDY__NO;
        }
    }
    return EDDY_OK;
}

static eddy__linear_guard_kind kind_of(const eddy__linear_build *w,
                                       const eddy__linear_build_guard *g)
{
    if (g->predicate == EDDY__NO)
        return EDDY__GUARD_ALWAYS;
    if (w->predicates[g->predicate].is_loop)
        return g->side == 1 ? EDDY__GUARD_BODY : EDDY__GUARD_END;
    return g->side == 1 ? EDDY__GUARD_TRUE : EDDY__GUARD_FALSE;
}

static eddy_status list_guards(eddy__linear_writer *r)
{
    eddy__linear_build *w = r->w;
    eddy__linear_frame *frames = r->frames;
    eddy__linear_guard *guards;

    assert(frames != NULL); /* number_loops has made them */
    for (uint32_t f = 0; f < r->out->n_frames; f++)
        EDDY_TRY(number_guards(r, frames[f].frame));
    guards = eddy__arena_allocate_zeroed(&w->plan->arena, r->n_guards,
                                         sizeof *guards);
    if (!guards)
        return eddy__fail_memory(w->err);
    r->out->guards = guards;
    r->out->n_guards = (uint32_t)r->n_guards;
    for (size_t i = 0; i < r->n_guards; i++) {
        const eddy__linear_build_guard *g = &w->guards[r->guards[i]];
        const eddy__predicate *p =
            g->predicate == EDDY__NO ? NULL : &w->predicates[g->predicate];

        guards[i] = (eddy__linear_guard){
            .kind = kind_of(w, g),
            .frame = w->loops[g->frame].number,
            .parent = p ? w->guards[g->parent].number : EDDY__NO,
            .other = p ? w->guards[p->sides[1]].number : EDDY__NO,
            .counter = p ? p->counter : EDDY__NO,
            .own = g->own};
        frames[guards[i].frame].n_dead += g->own;
    }
    for (uint32_t f = 0; f < r->out->n_frames; f++) {
        frames[f].n_live = w->loops[frames[f].frame].n_triggers;
        frames[f].n_dead -= frames[f].n_live;
    }
    for (uint32_t f = 0; f < r->out->n_frames; f++)
        if (frames[f].guard != EDDY__NO)
            frames[f].guard = w->guards[frames[f].guard].number;
    /* Entered dead, a frame enters those in it dead. */
    for (uint32_t f = r->out->n_frames - 1; f > 0; f--) {
        frames[frames[f].parent].n_dead += frames[f].n_dead;
        frames[frames[f].parent].n_live += frames[f].n_live;
    }
    eddy__linear_count_reach(w, frames, r->out->n_frames);
    return EDDY_OK;
}

/* ---- as a whole ---- */

static eddy_status list_owned(eddy__linear_writer *r)
{
    uint32_t *owned =
        eddy__arena_allocate(&r->w->plan->arena, r->n_registers, sizeof *owned);
    uint32_t n = 0;

    if (!owned)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < r->n_registers; i++)
        if (r->start[i].kind == EDDY__NONE)
            owned[n++] = i;
    r->out->owned = owned;
    r->out->n_owned = n;
    return EDDY_OK;
}

/* Iterations after which what interpreting cost is about what code costs. */
#define WARM 1024

/* Iterations of machine code between two looks, however little they do. */
#define MOST_CHUNK 8192

uint64_t eddy__linear_work(const eddy__linear *linear)
{
    uint64_t work = 1 + (uint64_t)linear->n_code;

    for (uint32_t i = 0; i < linear->n_code; i++)
        if (eddy__linear_is_call(linear->code[i].op))
            work += EDDY__LINEAR_CALL_WORK;
    return work;
}

static int64_t chunk_of(const eddy__linear *linear)
{
    const uint64_t n = EDDY__LINEAR_MOST_WORK / eddy__linear_work(linear);

    return n < 1 ? 1 : n > MOST_CHUNK ? MOST_CHUNK : (int64_t)n;
}

static eddy_status add_tier(eddy__linear_writer *r)
{
    const eddy_plan_options *options = r->w->l->options;
    eddy__linear_tier *tier;

    if (options->executor == EDDY_EXECUTOR_LINEAR || options->no_native ||
        r->w->is_recorded)
        return EDDY_OK;
    tier = eddy__arena_allocate_zeroed(&r->w->plan->arena, 1, sizeof *tier);
    if (!tier)
        return eddy__fail_memory(r->w->err);
    atomic_init(&tier->machine, NULL);
    atomic_init(&tier->spent, 0);
    atomic_init(&tier->is_refused, false);
    atomic_init(&tier->compile_ns, 0);
    atomic_init(&tier->n_bytes, 0);
    tier->vectors = (uint32_t)eddy__cpu_vectors();
    tier->threshold = options->executor == EDDY_EXECUTOR_NATIVE ? 0 : WARM;
    tier->chunk = chunk_of(r->out);
    r->out->tier = tier;
    return EDDY_OK;
}

void eddy__linear_release(eddy_plan *plan)
{
    for (uint32_t f = 1; plan->frames && f < plan->n_frames; f++) {
        const eddy__linear *linear = plan->frames[f].linear;
        eddy__linear_machine *machine =
            linear && linear->tier
                ? atomic_load_explicit(&linear->tier->machine,
                                       memory_order_acquire)
                : NULL;

        if (machine)
            machine->release(machine);
    }
}

static eddy_status keep_all(eddy__linear_writer *r)
{
    eddy__arena *arena = &r->w->plan->arena;
    eddy__linear *out = r->out;
    const eddy__linear_text *t = &r->text;

    out->n_code = (uint32_t)t->n;
    out->n_calls = (uint32_t)t->n_calls;
    out->n_exits = t->n_exits;
    out->n_registers = (uint32_t)r->n_registers;
    out->n_counters = r->n_counters;
    out->code = eddy__arena_copy(arena, t->code, t->n, sizeof *t->code);
    out->calls =
        eddy__arena_copy(arena, t->calls, t->n_calls, sizeof *t->calls);
    out->exits =
        eddy__arena_copy(arena, t->exits, t->n_exits, sizeof *t->exits);
    out->start =
        eddy__arena_copy(arena, r->start, r->n_registers, sizeof *r->start);
    out->step_of =
        eddy__arena_copy(arena, t->step_of, t->n, sizeof *t->step_of);
    if (!out->code || !out->calls || !out->exits || !out->start ||
        !out->step_of)
        return eddy__fail_memory(r->w->err);
    EDDY_TRY(add_tier(r));
    return list_owned(r);
}

static eddy_status write_region(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;

    r->text.exits = eddy__arena_allocate_zeroed(
        &w->scratch, w->plan->frames[top].n_exits, sizeof *r->text.exits);
    if (!r->text.exits)
        return eddy__fail_memory(w->err);
    r->guard = w->loops[top].root;
    EDDY_TRY(number_loops(r));
    EDDY_TRY(list_entries(r, top));
    EDDY_TRY(write_code(r, top));
    if (r->text.n > MOST_CODE || r->n_registers > MOST_REGISTERS ||
        r->out->n_frames > UINT16_MAX) {
        eddy__linear_refuse(w, top, EDDY__NO, "it is too large");
        return EDDY_OK;
    }
    if (!w->is_recorded)
        EDDY_TRY(
            eddy__linear_tidy(&w->scratch, &r->text, r->n_registers, w->err));
    EDDY_TRY(list_guards(r));
    return keep_all(r);
}

static void free_writer(eddy__linear_writer *r)
{
    const eddy_allocator *a = r->w->scratch.allocator;

    for (size_t i = 0; i < r->n_touched; i++) {
        r->w->values[r->touched[i]].reg = EDDY__NO;
        r->w->values[r->touched[i]].parts = NULL;
    }
    eddy__free(a, r->start, r->registers_room, sizeof *r->start);
    eddy__free(a, r->touched, r->touched_room, sizeof *r->touched);
    eddy__free(a, r->constants, r->constants_room, sizeof *r->constants);
    eddy__free(a, r->guards, r->guards_room, sizeof *r->guards);
    eddy__free(a, r->text.code, r->text.room, sizeof *r->text.code);
    eddy__free(a, r->text.guard_of, r->text.guards_room,
               sizeof *r->text.guard_of);
    eddy__free(a, r->text.step_of, r->text.steps_room, sizeof *r->text.step_of);
    eddy__free(a, r->text.calls, r->text.calls_room, sizeof *r->text.calls);
}

/* Puts a step on the stack of a search, unless it has been there. */
static void reach(eddy__linear_build *w, uint32_t step, uint32_t *n)
{
    if (w->seen_by[step] == w->n_searches)
        return;
    w->seen_by[step] = w->n_searches;
    w->stack[(*n)++] = step;
}

/*
 * Is `frame` reached again from its own Exits, without leaving the iteration
 * around it?  Its Enters could not wait for each other then.  `*budget` steps
 * may be looked at.
 */
static bool reaches_itself(eddy__linear_build *w, uint32_t frame,
                           uint64_t *budget)
{
    const eddy_plan *plan = w->plan;
    const uint32_t around = plan->frames[frame].parent;
    uint32_t n = 0;

    w->n_searches++;
    for (uint32_t i = 0; i < plan->frames[frame].n_exits; i++)
        reach(w, plan->frames[frame].exits[i], &n);
    while (n > 0) {
        const eddy__step *step = &plan->steps[w->stack[--n]];
        const bool is_inside = step->kind == EDDY__STEP_ENTER;
        const eddy__plan_frame *child =
            is_inside ? &plan->frames[step->aux] : NULL;
        const uint32_t n_next = is_inside ? child->n_exits : step->n_edges;

        if ((is_inside && step->aux == frame) || *budget < n_next)
            return true;
        *budget -= n_next;
        for (uint32_t i = 0; i < n_next; i++) {
            const uint32_t to =
                is_inside ? child->exits[i] : step->edges[i].step;
            const eddy__step *next = &plan->steps[to];

            /* The next iteration around, and what is around that, is past. */
            if (next->frame != around ||
                (next->kind != EDDY__STEP_NEXT_ITERATION &&
                 next->kind != EDDY__STEP_EXIT))
                reach(w, to, &n);
        }
    }
    return false;
}

eddy_status eddy__linear_make_region(eddy__linear_build *w, uint32_t frame,
                                     uint64_t *budget,
                                     eddy__linear **out_region)
{
    eddy__linear_writer r = {.w = w};
    bool is_done = false;
    eddy_status status;

    *out_region = NULL;
    if (reaches_itself(w, frame, budget)) {
        eddy__linear_refuse(w, frame, EDDY__NO,
                            "what it puts out may come in again");
        return EDDY_OK;
    }
    EDDY_TRY(eddy__linear_order(w, frame, &is_done));
    if (!is_done)
        return EDDY_OK;
    r.out = eddy__arena_allocate_zeroed(&w->plan->arena, 1, sizeof *r.out);
    if (!r.out)
        return eddy__fail_memory(w->err);
    r.out->step.kind = EDDY__STEP_REGION;
    r.out->step.frame = w->plan->frames[frame].parent;
    r.out->step.aux = frame;
    status = write_region(&r, frame);
    if (status == EDDY_OK && !w->loops[frame].doubt.why)
        *out_region = r.out;
    for (size_t i = 0; i < w->n_predicates && w->loops[frame].doubt.why; i++)
        w->predicates[i].counter = EDDY__NO;
    free_writer(&r);
    return status;
}

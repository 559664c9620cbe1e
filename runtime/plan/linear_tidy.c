/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a region can do without: a move from a register that could
 * have been the target from the start, a comparison that only a jump reads, and
 * the way back to a test that can be made at once.
 *
 * Only typed operations are changed, and raw registers renamed.
 */
#include "core/base/status.h"
#include "runtime/plan/linear_build.h"

/* Instructions that may be looked at for the moves of one region: those of a
 * code of 20,000 take some tens of milliseconds, in which nobody is asked
 * whether the plan is still wanted. */
#define MOST_LOOKS ((uint64_t)1 << 21)

/* How far before a jump its comparison is looked for. */
#define MOST_BETWEEN 16

typedef struct tidy {
    eddy__linear_text *t;
    uint32_t *n_reads, *n_writes; /* a register, by number */
    uint32_t *n_listed; /* of the writes: by operations that have a call too */
    uint8_t *is_target; /* an instruction: something jumps there */
    uint8_t *is_gone;
    uint32_t *moved; /* an instruction: where it is in the end */
    uint64_t n_looks;
} tidy;

static uint32_t number_of(uint32_t offset)
{
    return offset / (uint32_t)sizeof(eddy__value);
}

static uint32_t *operand(eddy__linear_code *c, uint32_t i)
{
    return i == 0 ? &c->to : i == 1 ? &c->a : &c->b;
}

/* Is a register (an offset) among those of this kind, 'r' or 'w'? */
static bool has_operand(eddy__linear_code *c, uint32_t reg, char kind)
{
    const char *operands = eddy__linear_operands(c->op);

    for (uint32_t i = 0; i < 3; i++)
        if (operands[i] == kind && *operand(c, i) == reg)
            return true;
    return kind == 'r' && eddy__linear_is_select(c->op) &&
           c->aux == number_of(reg);
}

static bool is_listed(const uint32_t *list, uint32_t n, uint32_t number)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == number)
            return true;
    return false;
}

static bool touches(const tidy *d, eddy__linear_code *c, uint32_t reg)
{
    const eddy__linear_call *call;

    if (has_operand(c, reg, 'r') || has_operand(c, reg, 'w'))
        return true;
    if (!eddy__linear_is_call(c->op) && !eddy__linear_has_aux_call(c->op))
        return false;
    call = &d->t->calls[eddy__linear_is_call(c->op) ? c->a : c->aux];
    return is_listed(call->in, call->n_in, number_of(reg)) ||
           is_listed(call->out, call->n_out, number_of(reg));
}

/* ---- how often registers are read and written ---- */

static void count_code(tidy *d)
{
    eddy__linear_text *t = d->t;

    for (size_t i = 0; i < t->n; i++) {
        const char *operands = eddy__linear_operands(t->code[i].op);

        for (uint32_t j = 0; j < 3; j++) {
            const uint32_t value = *operand(&t->code[i], j);

            if (operands[j] == 'r')
                d->n_reads[number_of(value)]++;
            else if (operands[j] == 'w')
                d->n_writes[number_of(value)]++;
            else if (operands[j] == 't')
                d->is_target[value] = 1;
        }
        if (eddy__linear_is_select(t->code[i].op))
            d->n_reads[t->code[i].aux]++;
    }
    for (size_t i = 0; i < t->n_calls; i++) {
        for (uint32_t j = 0; j < t->calls[i].n_in; j++)
            d->n_reads[t->calls[i].in[j]]++;
        for (uint32_t j = 0; j < t->calls[i].n_out; j++)
            d->n_writes[t->calls[i].out[j]]++;
    }
    for (uint32_t i = 0; i < t->n_exits; i++)
        d->n_reads[t->exits[i].from]++;
}

/* ---- moves ---- */

/* Whoever reads or writes `from` does so with `to`. */
static void rename_register(tidy *d, uint32_t from, uint32_t to)
{
    /* spare_move has seen to it that a number fits where one stands. */
    eddy__linear_text *t = d->t;
    const uint32_t old = number_of(from), number = number_of(to);

    d->n_looks += t->n;
    d->n_listed[number] += d->n_listed[old];
    d->n_listed[old] = 0;
    for (size_t i = 0; i < t->n; i++) {
        const char *operands = eddy__linear_operands(t->code[i].op);

        for (uint32_t j = 0; j < 3; j++)
            if ((operands[j] == 'r' || operands[j] == 'w') &&
                *operand(&t->code[i], j) == from)
                *operand(&t->code[i], j) = to;
        if (eddy__linear_is_select(t->code[i].op) && t->code[i].aux == old)
            t->code[i].aux = (uint16_t)number;
    }
    for (size_t i = 0; i < t->n_calls; i++) {
        for (uint32_t j = 0; j < t->calls[i].n_in; j++)
            if (t->calls[i].in[j] == old)
                t->calls[i].in[j] = number;
        for (uint32_t j = 0; j < t->calls[i].n_out; j++)
            if (t->calls[i].out[j] == old)
                t->calls[i].out[j] = number;
    }
    for (uint32_t i = 0; i < t->n_exits; i++)
        if (t->exits[i].from == old)
            t->exits[i].from = number;
    d->n_looks += t->n + t->n_calls;
}

/* How often an instruction reads a register, as count_code counts it. */
static uint32_t reads_of(const tidy *d, eddy__linear_code *c, uint32_t reg)
{
    const char *operands = eddy__linear_operands(c->op);
    const eddy__linear_call *call = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < 3; i++)
        n += operands[i] == 'r' && *operand(c, i) == reg;
    n += eddy__linear_is_select(c->op) && c->aux == number_of(reg);
    if (eddy__linear_is_call(c->op) || eddy__linear_has_aux_call(c->op))
        call = &d->t->calls[eddy__linear_is_call(c->op) ? c->a : c->aux];
    for (uint32_t i = 0; call && i < call->n_in; i++)
        n += call->in[i] == number_of(reg);
    return n;
}

/*
 * Is what is made at `from` and moved at `at` read by nobody who may see
 * another value in the move's target?  So by those in between, and by those
 * that follow in a row until that is written again.
 */
static bool is_read_near(tidy *d, size_t from, size_t at)
{
    eddy__linear_text *t = d->t;
    const eddy__linear_code move = t->code[at];
    uint32_t left = d->n_reads[number_of(move.a)];

    for (size_t i = from + 1; i < t->n && d->n_looks++ < MOST_LOOKS; i++) {
        eddy__linear_code *c = &t->code[i];

        if (d->is_gone[i])
            continue;
        if (i > at && (d->is_target[i] || has_operand(c, move.to, 'w')))
            break;
        left -= reads_of(d, c, move.a);
        if (i > at && eddy__linear_operands(c->op)[0] == 't')
            break;
    }
    return left == 0;
}

/*
 * A move in the part of the code where its source was made, by an operation
 * that could as well have made the target: nobody looks at that in between.
 */
static void spare_move(tidy *d, size_t at)
{
    eddy__linear_text *t = d->t;
    const eddy__linear_code move = t->code[at];
    size_t i = at;

    while (i-- > 0 && d->n_looks++ < MOST_LOOKS) {
        eddy__linear_code *c = &t->code[i];

        if (d->is_gone[i])
            continue;
        if (has_operand(c, move.a, 'w')) {
            if (c->op > EDDY__LINEAR_CALL && number_of(move.to) <= UINT16_MAX &&
                t->guard_of[i] == t->guard_of[at] && is_read_near(d, i, at)) {
                rename_register(d, move.a, move.to);
                d->is_gone[at] = 1;
                /* It has another value before: never to be renamed itself. */
                d->n_writes[number_of(move.to)] += 2;
            }
            return;
        }
        if (touches(d, c, move.to) ||
            (eddy__linear_is_call(c->op) && touches(d, c, move.a)))
            return;
    }
}

/*
 * The source may have been written by an operation that has a call in which it
 * is listed too.
 */
static bool is_written_once(const tidy *d, uint32_t reg)
{
    const uint32_t n = d->n_writes[number_of(reg)];

    return n == 1 || (n == 2 && d->n_listed[number_of(reg)] > 0);
}

static void count_listed(tidy *d)
{
    for (size_t i = 0; i < d->t->n; i++)
        if (eddy__linear_has_aux_call(d->t->code[i].op))
            d->n_listed[number_of(d->t->code[i].to)]++;
}

static void spare_moves(tidy *d)
{
    eddy__linear_text *t = d->t;

    for (size_t i = 0; i < t->n && d->n_looks < MOST_LOOKS; i++)
        if (t->code[i].op == EDDY__LINEAR_MOVE &&
            is_written_once(d, t->code[i].a))
            spare_move(d, i);
}

/* ---- comparisons and jumps ---- */

/* The comparison that a jump alone reads, some way before it; or `at`. */
static size_t find_comparison(tidy *d, size_t at)
{
    eddy__linear_text *t = d->t;
    const uint32_t reg = t->code[at].a;

    if (d->n_reads[number_of(reg)] != 1 || d->n_writes[number_of(reg)] != 1)
        return at;
    for (size_t i = at, n = 0; i > 0 && n < MOST_BETWEEN; n++) {
        eddy__linear_code *c = &t->code[--i];

        if (d->is_target[i + 1])
            return at;
        if (d->is_gone[i])
            continue;
        if (c->op > EDDY__LINEAR_CALL && has_operand(c, reg, 'w'))
            return eddy__linear_unless(c->op) != 0 ? i : at;
        if (eddy__linear_operands(c->op)[0] == 't' ||
            eddy__linear_is_call(c->op))
            return at;
    }
    return at;
}

/* Is one of its operands written between it and the jump? */
static bool is_overtaken(tidy *d, size_t from, size_t at)
{
    eddy__linear_text *t = d->t;

    for (size_t i = from + 1; i < at; i++)
        if (!d->is_gone[i] && (has_operand(&t->code[i], t->code[from].a, 'w') ||
                               has_operand(&t->code[i], t->code[from].b, 'w')))
            return true;
    return false;
}

static void fuse_comparisons(tidy *d)
{
    eddy__linear_text *t = d->t;

    for (size_t i = 0; i < t->n; i++) {
        size_t from;

        if (t->code[i].op != EDDY__LINEAR_UNLESS)
            continue;
        from = find_comparison(d, i);
        if (from == i || is_overtaken(d, from, i))
            continue;
        t->code[i].op = (uint16_t)eddy__linear_unless(t->code[from].op);
        t->code[i].a = t->code[from].a;
        t->code[i].b = t->code[from].b;
        d->is_gone[from] = 1;
    }
}

static size_t next_kept(const tidy *d, size_t at)
{
    while (at < d->t->n && d->is_gone[at])
        at++;
    return at;
}

/* Back to a comparison whose jump leads just behind the way back. */
static void invert_loops(tidy *d)
{
    eddy__linear_text *t = d->t;

    for (size_t i = 0; i < t->n; i++) {
        eddy__linear_code *back = &t->code[i];
        const eddy__linear_code *test;
        size_t head;

        if (back->op != EDDY__LINEAR_BACK)
            continue;
        head = next_kept(d, back->to);
        test = &t->code[head];
        if (test->op <= EDDY__LINEAR_CALL ||
            eddy__linear_back_if(test->op) == 0 || test->to != i + 1)
            continue;
        back->op = (uint16_t)eddy__linear_back_if(test->op);
        back->a = test->a;
        back->b = test->b;
        back->to = (uint32_t)head + 1;
    }
}

/* ---- what is left ---- */

static void close_ranks(tidy *d)
{
    eddy__linear_text *t = d->t;
    uint32_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        d->moved[i] = n;
        n += !d->is_gone[i];
    }
    for (size_t i = 0; i < t->n; i++) {
        if (d->is_gone[i])
            continue;
        if (eddy__linear_operands(t->code[i].op)[0] == 't')
            t->code[i].to = d->moved[t->code[i].to];
        t->code[d->moved[i]] = t->code[i];
        t->step_of[d->moved[i]] = t->step_of[i];
    }
    t->n = n;
}

eddy_status eddy__linear_tidy(eddy__arena *scratch, eddy__linear_text *text,
                              size_t n_registers, eddy_error *err)
{
    tidy d = {.t = text};

    d.n_reads =
        eddy__arena_allocate_zeroed(scratch, n_registers, sizeof *d.n_reads);
    d.n_writes =
        eddy__arena_allocate_zeroed(scratch, n_registers, sizeof *d.n_writes);
    d.n_listed =
        eddy__arena_allocate_zeroed(scratch, n_registers, sizeof *d.n_listed);
    d.is_target = eddy__arena_allocate_zeroed(scratch, text->n + 1, 1);
    d.is_gone = eddy__arena_allocate_zeroed(scratch, text->n + 1, 1);
    d.moved = eddy__arena_allocate(scratch, text->n, sizeof *d.moved);
    if (!d.n_reads || !d.n_writes || !d.n_listed || !d.is_target ||
        !d.is_gone || !d.moved)
        return eddy__fail_memory(err);
    count_code(&d);
    count_listed(&d);
    spare_moves(&d);
    fuse_comparisons(&d);
    invert_loops(&d);
    close_ranks(&d);
    return EDDY_OK;
}

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

/* What has been seen of a register, up to where the walk is. */
typedef struct seen {
    uint32_t name;      /* the register that it is now, by number */
    uint32_t write;     /* the last instructions, plus 1; 0: none */
    uint32_t touch;     /* likewise, of any kind */
    uint32_t call;      /* likewise, of calls of kernels alone */
    uint32_t n_reads;   /* so far */
    uint32_t n_earlier; /* of those, up to the last write */
} seen;

typedef struct tidy {
    eddy__linear_text *t;
    uint32_t *n_reads, *n_writes; /* a register, by number */
    uint32_t *n_listed; /* of the writes: by operations that have a call too */
    seen *seen;         /* a register, by number */
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

/* The register that operand `i` is by now, by number. */
static uint32_t named(const tidy *d, eddy__linear_code *c, uint32_t i)
{
    return d->seen[number_of(*operand(c, i))].name;
}

/* Is a register among those of this kind, 'r' or 'w'? */
static bool has_operand(const tidy *d, eddy__linear_code *c, uint32_t number,
                        char kind)
{
    const char *operands = eddy__linear_operands(c->op);

    for (uint32_t i = 0; i < 3; i++)
        if (operands[i] == kind && named(d, c, i) == number)
            return true;
    return kind == 'r' && eddy__linear_is_select(c->op) &&
           d->seen[c->aux].name == number;
}

/* The call that it is, or that may be made in its place; or NULL. */
static const eddy__linear_call *call_of(const tidy *d,
                                        const eddy__linear_code *c)
{
    if (eddy__linear_is_call(c->op))
        return &d->t->calls[c->a];
    return eddy__linear_has_aux_call(c->op) ? &d->t->calls[c->aux] : NULL;
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

/* Whoever reads or writes `from` does so with `to`, both by number. */
static void rename_register(tidy *d, uint32_t from, uint32_t to)
{
    seen *old = &d->seen[from], *now = &d->seen[to];

    d->n_listed[to] += d->n_listed[from];
    d->n_listed[from] = 0;
    old->name = to;
    now->write = old->write > now->write ? old->write : now->write;
    now->touch = old->touch > now->touch ? old->touch : now->touch;
    now->call = old->call > now->call ? old->call : now->call;
}

/* Writes the names that registers have come to. */
static void write_names(tidy *d)
{
    eddy__linear_text *t = d->t;

    for (size_t i = 0; i < t->n; i++) {
        const char *operands = eddy__linear_operands(t->code[i].op);

        for (uint32_t j = 0; j < 3; j++)
            if (operands[j] == 'r' || operands[j] == 'w')
                *operand(&t->code[i], j) =
                    named(d, &t->code[i], j) * (uint32_t)sizeof(eddy__value);
        /* spare_move has seen to it that a number fits where one stands. */
        if (eddy__linear_is_select(t->code[i].op))
            t->code[i].aux = (uint16_t)d->seen[t->code[i].aux].name;
    }
    for (size_t i = 0; i < t->n_calls; i++) {
        for (uint32_t j = 0; j < t->calls[i].n_in; j++)
            t->calls[i].in[j] = d->seen[t->calls[i].in[j]].name;
        for (uint32_t j = 0; j < t->calls[i].n_out; j++)
            t->calls[i].out[j] = d->seen[t->calls[i].out[j]].name;
    }
    for (uint32_t i = 0; i < t->n_exits; i++)
        t->exits[i].from = d->seen[t->exits[i].from].name;
}

static void see(tidy *d, uint32_t number, size_t at, bool is_call, bool is_read)
{
    seen *s = &d->seen[d->seen[number].name];

    s->touch = (uint32_t)at + 1;
    if (is_call)
        s->call = (uint32_t)at + 1;
    s->n_reads += is_read;
}

/* The walk goes past instruction `at`. */
static void see_all(tidy *d, size_t at)
{
    eddy__linear_code *c = &d->t->code[at];
    const char *operands = eddy__linear_operands(c->op);
    const eddy__linear_call *call = call_of(d, c);
    const bool is_call = eddy__linear_is_call(c->op);

    for (uint32_t j = 0; j < 3; j++)
        if (operands[j] == 'r' || operands[j] == 'w')
            see(d, number_of(*operand(c, j)), at, false, operands[j] == 'r');
    if (eddy__linear_is_select(c->op))
        see(d, c->aux, at, false, true);
    for (uint32_t j = 0; call && j < call->n_in; j++)
        see(d, call->in[j], at, is_call, true);
    for (uint32_t j = 0; call && j < call->n_out; j++)
        see(d, call->out[j], at, is_call, false);
    for (uint32_t j = 0; j < 3; j++)
        if (operands[j] == 'w') {
            seen *s = &d->seen[named(d, c, j)];

            s->write = (uint32_t)at + 1;
            s->n_earlier = s->n_reads;
        }
}

/* How often an instruction reads a register, as count_code counts it. */
static uint32_t reads_of(const tidy *d, eddy__linear_code *c, uint32_t number)
{
    const char *operands = eddy__linear_operands(c->op);
    const eddy__linear_call *call = call_of(d, c);
    uint32_t n = 0;

    for (uint32_t i = 0; i < 3; i++)
        n += operands[i] == 'r' && named(d, c, i) == number;
    n += eddy__linear_is_select(c->op) && d->seen[c->aux].name == number;
    for (uint32_t i = 0; call && i < call->n_in; i++)
        n += d->seen[call->in[i]].name == number;
    return n;
}

/*
 * Is register `from`, which the walk has seen written and which is moved to
 * `to` at `at`, read by nobody who may see another value in `to`?  So by those
 * in between, and by those that follow in a row until `to` is written again.
 */
static bool is_read_near(tidy *d, size_t at, uint32_t from, uint32_t to)
{
    eddy__linear_text *t = d->t;
    const seen *s = &d->seen[from];
    /* The move is one of those that read it. */
    uint32_t left = d->n_reads[from] - (s->n_reads - s->n_earlier) - 1;

    for (size_t i = at + 1; left > 0 && i < t->n && d->n_looks++ < MOST_LOOKS;
         i++) {
        eddy__linear_code *c = &t->code[i];

        if (d->is_target[i] || has_operand(d, c, to, 'w'))
            break;
        left -= reads_of(d, c, from);
        if (eddy__linear_operands(c->op)[0] == 't')
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
    const uint32_t to = named(d, &t->code[at], 0);
    const uint32_t from = named(d, &t->code[at], 1);
    const seen *s = &d->seen[from];
    const uint32_t write = s->write; /* of which it is behind */

    if (write == 0 || d->seen[to].touch > write || s->call > write ||
        t->code[write - 1].op <= EDDY__LINEAR_CALL || to > UINT16_MAX ||
        t->guard_of[write - 1] != t->guard_of[at] ||
        !is_read_near(d, at, from, to))
        return;
    rename_register(d, from, to);
    d->is_gone[at] = 1;
    /* It has another value before: never to be renamed itself. */
    d->n_writes[to] += 2;
}

/*
 * The source may have been written by an operation that has a call in which it
 * is listed too.
 */
static bool is_written_once(const tidy *d, uint32_t number)
{
    const uint32_t n = d->n_writes[number];

    return n == 1 || (n == 2 && d->n_listed[number] > 0);
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

    for (size_t i = 0; i < t->n; i++) {
        if (t->code[i].op == EDDY__LINEAR_MOVE && d->n_looks < MOST_LOOKS &&
            is_written_once(d, named(d, &t->code[i], 1)))
            spare_move(d, i);
        if (!d->is_gone[i])
            see_all(d, i);
    }
    write_names(d);
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
        if (c->op > EDDY__LINEAR_CALL && has_operand(d, c, number_of(reg), 'w'))
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
        if (!d->is_gone[i] &&
            (has_operand(d, &t->code[i], number_of(t->code[from].a), 'w') ||
             has_operand(d, &t->code[i], number_of(t->code[from].b), 'w')))
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
    d.seen = eddy__arena_allocate_zeroed(scratch, n_registers, sizeof *d.seen);
    d.is_target = eddy__arena_allocate_zeroed(scratch, text->n + 1, 1);
    d.is_gone = eddy__arena_allocate_zeroed(scratch, text->n + 1, 1);
    d.moved = eddy__arena_allocate(scratch, text->n, sizeof *d.moved);
    if (!d.n_reads || !d.n_writes || !d.n_listed || !d.seen || !d.is_target ||
        !d.is_gone || !d.moved)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n_registers; i++)
        d.seen[i].name = (uint32_t)i;
    count_code(&d);
    count_listed(&d);
    spare_moves(&d);
    fuse_comparisons(&d);
    invert_loops(&d);
    close_ranks(&d);
    return EDDY_OK;
}

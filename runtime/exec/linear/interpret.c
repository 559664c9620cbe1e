/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of linear code: an operation jumps to the next one's.
 *
 * Fuel counts the iterations down that may begin before the slow path is taken,
 * which sees to cancel, deadline, limits and the budget, and fills it up: with
 * no more than the limit on iterations leaves, so that the exact one is hit.
 * Operations that need more fuel than there is are done again after that.
 */
#include "ops/math/binary_rows.h"
#include "ops/math/cast_rows.h"
#include "runtime/exec/check.h"
#include "runtime/exec/linear/linear.h"
#include "runtime/exec/linear/payload.h"

#include "core/base/status.h"
#include "core/value/tape.h"

#include <tgmath.h>

/* An address for each operation, and jumps to it, are not of the standard. */
#pragma GCC diagnostic ignored "-Wpedantic"

/* Iterations between two looks at the clock. */
#define CHUNK 1024

/* What an iteration and a call are taken to cost of a budget of nodes. */
#define COST 8

typedef eddy__tank tank;

/* ---- the slow path ---- */

/* What has been used up is what has begun. */
static void drain(eddy_run *run, const eddy__linear_run *l, tank *t)
{
    const uint64_t spent = (uint64_t)(t->filled - t->fuel);
    eddy__linear_tier *tier = l->region->tier;

    run->stats.iterations += spent;
    t->filled = t->fuel;
    if (tier && !eddy__linear_is_warm(l))
        atomic_fetch_add_explicit(&tier->spent, spent, memory_order_relaxed);
}

void eddy__linear_drain(eddy_run *run, const eddy__linear_run *l, tank *t)
{
    drain(run, l, t);
}

static bool must_stop(eddy_run *run)
{
    if (run->deadline_ns > 0 && eddy__clock_recent_ns() >= run->deadline_ns)
        atomic_store_explicit(&run->stop, EDDY__STOP_DEADLINE,
                              memory_order_relaxed);
    if (atomic_load_explicit(&run->stop, memory_order_relaxed) == EDDY__GO)
        return false;
    eddy__run_raise_stop(run);
    return true;
}

static bool raise_iterations(eddy_run *run, const eddy__place *at,
                             const eddy__frame_instance *frame)
{
    eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_ITERATIONS, NULL,
                    at, "the limit of %llu iterations is reached in frame '%s'",
                    (unsigned long long)run->options.max_iterations,
                    frame->plan->name);
    return false;
}

/* How many iterations may begin, at most `chunk`. */
static int64_t most_fuel(const eddy_run *run, int64_t chunk)
{
    const uint64_t limit = run->options.max_iterations;
    uint64_t left;

    if (limit == 0)
        return chunk;
    left = limit > run->stats.iterations ? limit - run->stats.iterations : 0;
    return left < (uint64_t)chunk ? (int64_t)left : chunk;
}

/* More than a chunk of the interpreter's is so fast that it costs no more. */
static int64_t cost_of(int64_t spent, int64_t most)
{
    return most > CHUNK ? spent * COST * CHUNK / most : spent * COST;
}

/* Instruction `at`, ENTER or one that goes back, has no fuel. */
eddy__linear_verdict eddy__linear_refuel(eddy_run *run, eddy__linear_run *l,
                                         tank *t, uint32_t at, int64_t most,
                                         int64_t *budget)
{
    const eddy__linear_code *c = &l->region->code[at];
    const uint32_t f = c->op == EDDY__LINEAR_ENTER ? c->to : c->aux;
    const eddy__place *place =
        l->places[f].index < 0 ? l->instances[f].parent : &l->places[f];

    l->at = at;
    *budget -= cost_of(t->filled - t->fuel, most);
    drain(run, l, t);
    if (must_stop(run))
        return EDDY__LINEAR_FAILED;
    t->fuel = t->filled = most_fuel(run, most);
    if (t->fuel == 0) {
        raise_iterations(run, place, &l->instances[f]);
        return EDDY__LINEAR_FAILED;
    }
    return *budget > 0 ? EDDY__LINEAR_WARM : EDDY__LINEAR_PAUSED;
}

/* So many frames begin from `f` on, each with an iteration, all of them dead.
 */
static bool skip(eddy_run *run, const eddy__linear_run *l, tank *t, uint32_t n,
                 uint32_t f)
{
    const uint64_t most = run->options.max_frames;
    const uint64_t limit = run->options.max_iterations;

    drain(run, l, t);
    if (most > 0 && run->stats.frames + n > most) {
        eddy__run_raise(
            run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_FRAMES,
            &run->steps[l->region->frames[f].enter], l->instances[f].parent,
            "the limit of %llu frames is reached", (unsigned long long)most);
        return false;
    }
    if (limit > 0 && run->stats.iterations + n > limit)
        return raise_iterations(run, &l->places[0], &l->instances[0]);
    run->stats.frames += n;
    run->stats.iterations += n;
    t->fuel = t->filled = most_fuel(run, CHUNK);
    return true;
}

static bool begin_frame(eddy_run *run, eddy__linear_run *l, uint32_t f)
{
    const uint64_t most = run->options.max_frames;

    if (most > 0 && run->stats.frames >= most) {
        eddy__run_raise(
            run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_FRAMES,
            &run->steps[l->region->frames[f].enter], l->instances[f].parent,
            "the limit of %llu frames is reached", (unsigned long long)most);
        return false;
    }
    run->stats.frames++;
    l->places[f].index = 0;
    return true;
}

/* ---- kernels ---- */

static void aim(eddy_kernel *k, const eddy__linear_call *call,
                const eddy__step *step)
{
    k->in = call->in;
    k->out = call->out;
    k->node = step->node;
}

/* What a kernel on scalars has put out, in checked builds. */
static bool check_scalars(eddy_run *run, eddy__linear_run *l,
                          const eddy__linear_call *call)
{
    for (uint32_t i = 0; i < call->n_out; i++)
        if (!eddy__check_value(run, &run->steps[call->step], i,
                               &l->registers[call->out[i]],
                               &l->places[call->frame]))
            return false;
    return true;
}

static bool run_scalars(eddy_run *run, eddy__linear_run *l,
                        const eddy__linear_call *call)
{
    const eddy__step *step = &run->steps[call->step];
    eddy_kernel *k = &run->kernel;
    eddy_status status;

    aim(k, call, step);
    status = step->kernel(k);
    if (__builtin_expect(status != EDDY_OK, 0)) {
        eddy__run_raise_kernel(run, status, k->err, step,
                               &l->places[call->frame]);
        return false;
    }
    return !EDDY__IS_CHECKED || check_scalars(run, l, call);
}

static bool settle_outputs(eddy_run *run, eddy__linear_run *l,
                           const eddy__linear_call *call)
{
    const eddy__step *step = &run->steps[call->step];
    const eddy__place *at = &l->places[call->frame];

    for (uint32_t i = 0; i < call->n_out; i++)
        if (!eddy__settle_output(run, step, i, &l->registers[call->out[i]], at))
            return false;
    return true;
}

static eddy_status call_kernel(eddy_run *run, eddy__linear_run *l,
                               const eddy__linear_call *call)
{
    const eddy__step *step = &run->steps[call->step];
    eddy_kernel *k = &run->kernel;

    aim(k, call, step);
    k->iteration = &l->places[call->frame];
    run->current = step;
    run->suspended = NULL;
    for (uint32_t i = 0; i < call->n_out; i++)
        l->registers[call->out[i]].kind = EDDY__NONE;
    return step->kernel(k);
}

static bool finish_kernel(eddy_run *run, eddy__linear_run *l,
                          const eddy__linear_call *call, eddy_status status)
{
    const eddy__step *step = &run->steps[call->step];

    if (status != EDDY_OK) {
        eddy__run_raise_kernel(run, status, run->kernel.err, step,
                               &l->places[call->frame]);
        return false;
    }
    /* The kernel may have given up half way. */
    if (atomic_load_explicit(&run->stop, memory_order_relaxed) != EDDY__GO) {
        eddy__run_raise_stop(run);
        return false;
    }
    if (!(step->flags & EDDY__STEP_INLINE_IN))
        for (uint32_t i = 0; i < call->n_in; i++)
            eddy__run_consume(run, &l->registers[call->in[i]]);
    return settle_outputs(run, l, call);
}

/* As the dynamic executor's run_kernel, on registers. */
static bool run_kernel(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_call *call)
{
    return !must_stop(run) &&
           finish_kernel(run, l, call, call_kernel(run, l, call));
}

/* The same in a recorded region; what it makes may be refused then. */
static bool watch_kernel(eddy_run *run, eddy__linear_run *l,
                         const eddy__linear_call *call)
{
    uint64_t resource = 0;
    eddy_status status;
    bool is_done;

    if (must_stop(run))
        return false;
    eddy__linear_watch_begin(run, l, call, &resource);
    status = call_kernel(run, l, call);
    eddy__linear_watch_end(run, l, call, status, resource);
    is_done = !run->failed && finish_kernel(run, l, call, status);
    eddy__linear_watch_done(run);
    return is_done;
}

/* ---- tensors and their elements ---- */

/* A tensor of raw registers, for the step that reads it. */
static bool join(eddy_run *run, eddy__linear_run *l,
                 const eddy__linear_call *call)
{
    const eddy__step *step = &run->steps[call->step];
    const eddy_dtype dtype = (eddy_dtype)l->registers[call->in[0]].dtype;
    const size_t size = eddy_dtype_size(dtype);
    eddy_kernel *k = &run->kernel;
    void *data = NULL;
    eddy_status status;

    aim(k, call, step);
    status = eddy__output(k, 0, dtype, call->shape, &data);
    if (status != EDDY_OK) {
        eddy__run_raise_kernel(run, status, k->err, step,
                               &l->places[call->frame]);
        return false;
    }
    for (uint32_t i = 0; i < call->n_in; i++)
        memcpy((unsigned char *)data + i * size, &l->registers[call->in[i]].as,
               size);
    l->registers[call->out[0]].uses = 1;
    return true;
}

static void split(eddy_run *run, eddy__linear_run *l,
                  const eddy__linear_call *call, bool is_taken)
{
    eddy__value *from = &l->registers[call->in[0]];

    eddy__linear_put_elements(l, from, call->out, call->n_out);
    if (is_taken)
        eddy__value_clear(&run->heap, from);
}

/* ---- values ---- */

static inline void put(eddy_run *run, eddy__value *to, eddy__value value,
                       uint32_t uses)
{
    *to = value;
    to->uses = uses;
    if (uses == 0)
        eddy__value_clear(&run->heap, to);
}

static void lend(eddy_run *run, eddy__value *to, eddy__value *from,
                 eddy__value *held)
{
    const eddy__value value = eddy__run_take(from);

    eddy__value_clear(&run->heap, held);
    *held = value;
    *to = eddy__value_lend(held);
}

static void choose(eddy_run *run, eddy__linear_run *l,
                   const eddy__linear_code *c)
{
    char *const base = (char *)l->registers;

    if (((eddy__value *)(void *)(base + c->b))->as.u8)
        put(run, (eddy__value *)(void *)(base + c[1].b),
            eddy__run_take((eddy__value *)(void *)(base + c->a)), c->to);
    else
        put(run, (eddy__value *)(void *)(base + c[1].a),
            eddy__run_take((eddy__value *)(void *)(base + c->a)), c[1].to);
}

static void take_out(eddy_run *run, eddy__value *to, eddy__value *from,
                     uint32_t uses)
{
    eddy__value value = eddy__run_take(from);

    eddy__value_keep(&value);
    put(run, to, value, uses);
}

/* ---- one instruction, for machine code ---- */

static bool perform(eddy_run *run, eddy__linear_run *l, tank *t,
                    const eddy__linear_code *c)
{
    char *const base = (char *)l->registers;

#define R(at) ((eddy__value *)(void *)(base + (at)))
    switch (c->op) {
    case EDDY__LINEAR_PASS:
        put(run, R(c->to), eddy__run_take(R(c->a)), c->b);
        return true;
    case EDDY__LINEAR_CHOOSE:
        choose(run, l, c);
        return true;
    case EDDY__LINEAR_TAKE_OUT:
        take_out(run, R(c->to), R(c->a), c->b);
        return true;
    case EDDY__LINEAR_LEND:
        lend(run, R(c->to), R(c->a), R(c->b));
        return true;
    case EDDY__LINEAR_DROP:
        eddy__value_clear(&run->heap, R(c->a));
        return true;
    case EDDY__LINEAR_CONSUME:
        eddy__run_consume(run, R(c->a));
        return true;
    case EDDY__LINEAR_SKIP:
        return skip(run, l, t, c->to, c->a);
    case EDDY__LINEAR_ENTER: /* there may be no more frames */
        return begin_frame(run, l, c->to);
    case EDDY__LINEAR_JOIN:
        return join(run, l, &l->region->calls[c->a]);
    case EDDY__LINEAR_SPLIT:
        split(run, l, &l->region->calls[c->a], c->to == 1);
        return true;
    case EDDY__LINEAR_SCALARS:
        return run_scalars(run, l, &l->region->calls[c->a]);
    case EDDY__LINEAR_CALL:
        return run_kernel(run, l, &l->region->calls[c->a]);
    default: /* what a kernel does, or says is wrong */
        return run_scalars(run, l, &l->region->calls[c->aux]);
    }
#undef R
}

eddy__linear_verdict eddy__linear_perform(eddy_run *run, eddy__linear_run *l,
                                          tank *t, uint32_t at, int64_t *budget)
{
    const eddy__linear_code *c = &l->region->code[at];

    l->at = at;
    if (!perform(run, l, t, c))
        return EDDY__LINEAR_FAILED;
    if (c->op != EDDY__LINEAR_CALL)
        return EDDY__LINEAR_WARM;
    *budget -= COST;
    l->at = at + 1;
    return *budget > 0 ? EDDY__LINEAR_WARM : EDDY__LINEAR_PAUSED;
}

/* ---- typed operations: functions of their elements ---- */

#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    EDDY__UNARY_ELEMENT(name, D, OUT, LOCALS, e)
#define BINARY_OP(name, D, OUT, LOCALS, e)                                     \
    EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)
#define CHECKED_OP(name, D, BAD, e)                                            \
    EDDY__BINARY_ELEMENT(name, D, D, CHECKED_LOCALS, e)
#define COMPARE_OP(name, D, e)                                                 \
    EDDY__BINARY_ELEMENT(name, D, B, EDDY__NO_LOCALS, e)
#include "runtime/plan/linear_ops.def"

/* ---- bare items ---- */

static inline bool may_read(unsigned state)
{
    return (state & (EDDY__ITEM_FILLED | EDDY__ITEM_CLEARED)) ==
           EDDY__ITEM_FILLED;
}

static inline bool may_write(unsigned state)
{
    return (state & (EDDY__ITEM_FILLED | EDDY__ITEM_READ)) == 0;
}

/* ---- the loop ---- */

/* Iterations to the next look around: no more than until the region is warm. */
static int64_t cold_chunk(const eddy__linear_run *l, const tank *t)
{
    const eddy__linear_tier *tier = l->region->tier;
    uint64_t spent, threshold;

    if (!tier)
        return CHUNK;
    threshold = eddy__linear_threshold(l);
    spent = atomic_load_explicit(&tier->spent, memory_order_relaxed) +
            (uint64_t)(t->filled - t->fuel);
    return spent < threshold && threshold - spent < CHUNK
               ? (int64_t)(threshold - spent)
               : CHUNK;
}

/* NOLINTNEXTLINE(readability-function-size): the one dispatch loop */
eddy__linear_verdict eddy__linear_interpret(eddy_run *run, eddy__linear_run *l,
                                            tank *left, int64_t *budget,
                                            bool may_warm)
{
    static const void *const labels[] = {
#define X(name, operands, doc) &&on_##name,
        EDDY__LINEAR_MAP(X)
#undef X
#define UNARY_OP(name, D, OUT, LOCALS, e) &&on_##name##_##D,
#define BINARY_OP UNARY_OP
#define CHECKED_OP(name, D, BAD, e) &&on_##name##_##D,
#define COMPARE_OP(name, D, e)                                                 \
    &&on_##name##_##D, &&on_UNLESS_##name##_##D, &&on_BACK_IF_##name##_##D,
#include "runtime/plan/linear_ops.def"
    };
    const eddy__linear_code *const code = l->region->code, *ip = code + l->at;
    const eddy__linear_call *const calls = l->region->calls;
    char *const base = (char *)l->registers;
    eddy__place *const places = l->places;
    tank t = *left;
    int64_t fuel = t.fuel;
    eddy__linear_verdict verdict;

#define R(at) ((eddy__value *)(void *)(base + (at)))
#define TAPE(at) ((eddy__tape *)(void *)R(at)->as.resource)
#define CELLS(at) ((eddy__cells *)(void *)R(at)->as.resource)
#define GO goto *labels[ip->op]
#define NEXT                                                                   \
    do {                                                                       \
        ip++;                                                                  \
        GO;                                                                    \
    } while (0)
#define JUMP                                                                   \
    do {                                                                       \
        ip = code + ip->to;                                                    \
        GO;                                                                    \
    } while (0)
#define BACK                                                                   \
    do {                                                                       \
        if (__builtin_expect(fuel == 0, 0))                                    \
            goto starved;                                                      \
        fuel--;                                                                \
        places[ip->aux].index++;                                               \
        JUMP;                                                                  \
    } while (0)

    GO;

on_DONE:
    verdict = EDDY__LINEAR_ENDED;
    goto out;
on_JUMP:
    JUMP;
on_UNLESS:
    if (R(ip->a)->as.u8)
        NEXT;
    JUMP;
on_MOVE:
    R(ip->to)->as.bits = R(ip->a)->as.bits;
    NEXT;
on_PASS:
    put(run, R(ip->to), eddy__run_take(R(ip->a)), ip->b);
    NEXT;
on_CHOOSE:
    choose(run, l, ip);
    ip++;
    NEXT;
on_OUTPUTS:
    NEXT;
on_TAKE_OUT:
    take_out(run, R(ip->to), R(ip->a), ip->b);
    NEXT;
on_LEND:
    lend(run, R(ip->to), R(ip->a), R(ip->b));
    NEXT;
on_DROP:
    eddy__value_clear(&run->heap, R(ip->a));
    NEXT;
on_CONSUME:
    eddy__run_consume(run, R(ip->a));
    NEXT;
on_COUNT:
    l->counters[ip->to]++;
    NEXT;
on_SKIP:
    t.fuel = fuel;
    if (!skip(run, l, &t, ip->to, ip->a))
        goto failed;
    fuel = t.fuel;
    NEXT;
on_ENTER:
    if (fuel == 0)
        goto starved;
    if (!begin_frame(run, l, ip->to))
        goto failed;
    fuel--;
    NEXT;
on_BACK:
    BACK;
on_LEAVE:
    l->iterations[ip->to] += (uint64_t)(places[ip->to].index + 1);
    places[ip->to].index = -1;
    NEXT;
on_JOIN:
    if (!join(run, l, &calls[ip->a]))
        goto failed;
    NEXT;
on_SPLIT:
    split(run, l, &calls[ip->a], ip->to == 1);
    NEXT;
on_SCALARS:
    if (!run_scalars(run, l, &calls[ip->a]))
        goto failed;
    NEXT;
on_TELL:
    if (!eddy__linear_tell(run, l, ip))
        goto failed;
    NEXT;
on_WATCH:
    if (!watch_kernel(run, l, &calls[ip->a]))
        goto failed;
    goto called;
on_CALL:
    if (!run_kernel(run, l, &calls[ip->a]))
        goto failed;
called:
    *budget -= COST;
    if (*budget <= 0) {
        ip++;
        goto paused;
    }
    NEXT;

/* What the tape does not allow, the kernel does, or says what is wrong. */
#define STORE_OPS(bits)                                                        \
    on_PUSH_##bits:                                                            \
    {                                                                          \
        eddy__tape *tape = TAPE(ip->a);                                        \
                                                                               \
        if (__builtin_expect(tape->next == tape->end, 0))                      \
            goto by_kernel;                                                    \
        memcpy(tape->next, &R(ip->b)->as, (bits) / 8);                         \
        tape->next += (bits) / 8;                                              \
        NEXT;                                                                  \
    }                                                                          \
    on_POP_##bits:                                                             \
    {                                                                          \
        eddy__tape *tape = TAPE(ip->a);                                        \
                                                                               \
        if (__builtin_expect(tape->next == tape->first, 0))                    \
            goto by_kernel;                                                    \
        tape->next -= (bits) / 8;                                              \
        memcpy(&R(ip->to)->as, tape->next, (bits) / 8);                        \
        NEXT;                                                                  \
    }                                                                          \
    on_READ_##bits:                                                            \
    {                                                                          \
        eddy__cells *cells = CELLS(ip->a);                                     \
        const size_t i = R(ip->b)->as.u32;                                     \
                                                                               \
        if (__builtin_expect(i >= cells->n || !may_read(cells->states[i]), 0)) \
            goto by_kernel;                                                    \
        cells->states[i] |= cells->after_read;                                 \
        memcpy(&R(ip->to)->as, cells->items + i * ((bits) / 8), (bits) / 8);   \
        NEXT;                                                                  \
    }                                                                          \
    on_WRITE_##bits:                                                           \
    {                                                                          \
        eddy__cells *cells = CELLS(ip->a);                                     \
        const size_t i = R(ip->b)->as.u32;                                     \
                                                                               \
        if (__builtin_expect(i >= cells->n || !may_write(cells->states[i]),    \
                             0))                                               \
            goto by_kernel;                                                    \
        cells->states[i] |= EDDY__ITEM_WRITTEN | EDDY__ITEM_FILLED;            \
        memcpy(cells->items + i * ((bits) / 8), &R(ip->to)->as, (bits) / 8);   \
        NEXT;                                                                  \
    }

    STORE_OPS(8)
    STORE_OPS(16)
    STORE_OPS(32)
    STORE_OPS(64)

on_SELECT_8:
on_SELECT_16:
on_SELECT_32:
on_SELECT_64:
    R(ip->to)->as.bits = R(R(0)[ip->aux].as.u8 ? ip->a : ip->b)->as.bits;
    NEXT;

by_kernel:
    if (!run_scalars(run, l, &calls[ip->aux]))
        goto failed;
    NEXT;

#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    on_##name##_##D : R(ip->to)->as.FIELD(OUT) =                               \
        element_##name##_##D(R(ip->a)->as.FIELD(D));                           \
    NEXT;
#define BINARY_OP(name, D, OUT, LOCALS, e)                                     \
    on_##name##_##D : R(ip->to)->as.FIELD(OUT) =                               \
        element_##name##_##D(R(ip->a)->as.FIELD(D), R(ip->b)->as.FIELD(D));    \
    NEXT;
/* The kernel itself says what is wrong. */
#define CHECKED_OP(name, D, BAD, e)                                            \
    on_##name##_##D : if (__builtin_expect(BAD(R(ip->b)->as.FIELD(D)), 0))     \
    {                                                                          \
        run_scalars(run, l, &calls[ip->aux]);                                  \
        goto failed;                                                           \
    }                                                                          \
    R(ip->to)->as.FIELD(D) =                                                   \
        element_##name##_##D(R(ip->a)->as.FIELD(D), R(ip->b)->as.FIELD(D));    \
    NEXT;
#define COMPARE_OP(name, D, e)                                                 \
    on_##name##_##D : R(ip->to)->as.u8 =                                       \
        element_##name##_##D(R(ip->a)->as.FIELD(D), R(ip->b)->as.FIELD(D));    \
    NEXT;                                                                      \
    on_UNLESS_##name##_##D : if (element_##name##_##D(R(ip->a)->as.FIELD(D),   \
                                                      R(ip->b)->as.FIELD(D)))  \
                                 NEXT;                                         \
    JUMP;                                                                      \
    on_BACK_IF_##name##_##D : if (element_##name##_##D(R(ip->a)->as.FIELD(D),  \
                                                       R(ip->b)->as.FIELD(D))) \
                                  BACK;                                        \
    /* The test that fails is that of an iteration, too. */                    \
    goto last;
#include "runtime/plan/linear_ops.def"

last:
    if (fuel == 0)
        goto starved;
    fuel--;
    places[ip->aux].index++;
    NEXT;

starved:
    t.fuel = fuel;
    verdict = eddy__linear_refuel(run, l, &t, (uint32_t)(ip - code),
                                  cold_chunk(l, &t), budget);
    fuel = t.fuel;
    if (verdict == EDDY__LINEAR_WARM && !(may_warm && eddy__linear_is_warm(l)))
        GO;
    goto out;
paused:
    verdict = EDDY__LINEAR_PAUSED;
    goto out;
failed:
    verdict = EDDY__LINEAR_FAILED;
out:
    t.fuel = fuel;
    l->at = (uint32_t)(ip - code);
    *left = t;
    return verdict;
}

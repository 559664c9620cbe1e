/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions as code for x86-64: the instructions in their order, and what stands
 * behind them: how the code is entered, where fuel is got, and faults.
 *
 * The index of an innermost loop's iteration is not counted: while such a loop
 * is on, its place holds the index plus the fuel, which goes down by as much as
 * the index goes up.  Before anybody else may look, it is made the index.
 */
#include "runtime/native/x86_64.h"

#include "core/base/status.h"
#include "runtime/native/pages.h"

#include <string.h>

#if EDDY_NATIVE && defined(__x86_64__)

static const eddy__native_file files[] = {
    {.n_ints = 10, .n_floats = 13, .n_kept = 4},
    {.n_ints = 9, .n_floats = 13, .n_kept = 3}, /* with tapes */
};

_Static_assert(10 <= EDDY__MOST_HOMES && 13 <= EDDY__MOST_HOMES, "homes");

#define N_HOMES 23

/* Loops begin at such an address. */
#define ALIGNMENT 16

/* Regions of more instructions are left to the interpreter. */
#define MOST_CODE 20000

/* Bytes of an instruction, in general, and of what stands around all. */
#define USUAL_SIZE 48
#define USUAL_REST 512

/* A jump to an instruction whose code is not known yet. */
typedef struct jump {
    size_t from;
    uint32_t to;
} jump;

/* What stands behind the code, for an instruction. */
typedef enum stub_kind {
    STUB_FUEL,   /* there is none; and here code is entered */
    STUB_FRAMES, /* there may be no more */
    STUB_FAULT,
    STUB_KERNEL, /* does it in place of the code, which goes on behind */
} stub_kind;

/* Registers that are live, by home. */
typedef struct live_set {
    uint32_t homes; /* a bit each */
    uint32_t numbers[N_HOMES];
} live_set;

_Static_assert(N_HOMES < 32, "a bit a home");

typedef struct stub {
    uint32_t kind, at;
    size_t from, other; /* the jumps that lead there; 0: no other */
    live_set live;
} stub;

typedef struct maker {
    eddy__x86_maker base;
    eddy__arena arena;
    live_set live; /* before the instruction that is on */
    uint32_t next; /* of homes.by_start */
    uint32_t at;
    uint32_t frame;  /* the innermost loop that is on, or none */
    uint32_t *tapes; /* a frame: the register whose tape r15 is for, or none */
    jump *jumps;
    size_t n_jumps, jumps_room;
    stub *stubs;
    size_t n_stubs, stubs_room;
    size_t *exits; /* jumps to the exit */
    size_t n_exits, exits_room;
    uint32_t *starts, *entries;
    bool failed;
} maker;

static eddy__x86 *code_of(maker *m)
{
    return &m->base.x;
}

static const eddy__linear *linear_of(const maker *m)
{
    return m->base.linear;
}

static const eddy__native_file *file_of(const maker *m)
{
    return &files[m->base.has_tapes];
}

/* ---- notes ---- */

static void note_jump(maker *m, size_t from, uint32_t to)
{
    if (!eddy__grow(m->arena.allocator, (void **)&m->jumps, &m->jumps_room,
                    m->n_jumps + 1, sizeof *m->jumps)) {
        m->failed = true;
        return;
    }
    m->jumps[m->n_jumps++] = (jump){from, to};
}

static void note_exit(maker *m, size_t from)
{
    if (!eddy__grow(m->arena.allocator, (void **)&m->exits, &m->exits_room,
                    m->n_exits + 1, sizeof *m->exits)) {
        m->failed = true;
        return;
    }
    m->exits[m->n_exits++] = from;
}

static void note_stub(maker *m, stub_kind kind, size_t from)
{
    stub *s;

    if (!eddy__grow(m->arena.allocator, (void **)&m->stubs, &m->stubs_room,
                    m->n_stubs + 1, sizeof *m->stubs)) {
        m->failed = true;
        return;
    }
    s = &m->stubs[m->n_stubs++];
    s->kind = kind;
    s->at = m->at;
    s->from = from;
    s->other = 0;
    s->live = m->live;
}

/* ---- what is live ---- */

/* By home: integers first. */
static uint32_t slot_of(const maker *m, const eddy__native_range *r)
{
    return r->class == EDDY__CLASS_FLOAT ? file_of(m)->n_ints + r->home
                                         : r->home;
}

static const eddy__native_range *range_of(const maker *m, uint32_t number)
{
    return &m->base.homes.ranges[number];
}

/* Takes the first home out of a set that is not empty. */
static inline uint32_t take_home(uint32_t *homes)
{
    const uint32_t first = (uint32_t)__builtin_ctz(*homes);

    *homes &= *homes - 1;
    return first;
}

/* Those that have ended by `at` go; then those that start before it come. */
static void bring_live_to(maker *m, uint32_t at)
{
    const eddy__native_homes *homes = &m->base.homes;

    for (uint32_t left = m->live.homes; left != 0;) {
        const uint32_t h = take_home(&left);

        if (range_of(m, m->live.numbers[h])->end < (int32_t)at)
            m->live.homes &= ~((uint32_t)1 << h);
    }
    while (m->next < homes->n_by_start &&
           range_of(m, homes->by_start[m->next])->start < (int32_t)at) {
        const uint32_t number = homes->by_start[m->next++];

        if (range_of(m, number)->end >= (int32_t)at) {
            const uint32_t h = slot_of(m, range_of(m, number));

            m->live.homes |= (uint32_t)1 << h;
            m->live.numbers[h] = number;
        }
    }
}

/* To memory, what is live and not there already. */
static void store_live(maker *m, const live_set *live)
{
    for (uint32_t left = live->homes; left != 0;) {
        const uint32_t number = live->numbers[take_home(&left)];

        if (range_of(m, number)->is_written)
            eddy__x86_store(&m->base, number);
    }
}

static void load_live(maker *m, const live_set *live)
{
    for (uint32_t left = live->homes; left != 0;)
        eddy__x86_load(&m->base, live->numbers[take_home(&left)]);
}

/* Those that a call of C does not leave alone. */
static uint32_t lost_homes(const maker *m, const live_set *live)
{
    return live->homes & ~(((uint32_t)1 << file_of(m)->n_kept) - 1);
}

/* After instruction `at`, which has made a call. */
static void load_lost(maker *m, const live_set *live, uint32_t at)
{
    for (uint32_t left = lost_homes(m, live); left != 0;) {
        const uint32_t number = live->numbers[take_home(&left)];

        if (range_of(m, number)->end > (int32_t)at)
            eddy__x86_load(&m->base, number);
    }
}

/* ---- the index of an innermost loop ---- */

static int32_t index_at(const maker *m, uint32_t frame)
{
    return m->base.layout.indexes +
           (int32_t)frame * m->base.layout.index_stride;
}

/* The frame whose place holds the fuel too, at an instruction; or none. */
static uint32_t frame_with_fuel(const maker *m)
{
    return m->frame != EDDY__LINEAR_NONE &&
                   m->base.homes.frames[m->frame].is_innermost
               ? m->frame
               : EDDY__LINEAR_NONE;
}

static void change_index(maker *m, uint32_t frame, eddy__x86_op op)
{
    const eddy__x86_place at = eddy__x86_memory(index_at(m, frame));

    if (frame == EDDY__LINEAR_NONE)
        return;
    eddy__x86_emit(code_of(m), EDDY__X86_MOV, true, EDDY__RAX, at);
    eddy__x86_emit(code_of(m), op, true, EDDY__RAX, eddy__x86_reg(EDDY__R14));
    eddy__x86_emit(code_of(m), EDDY__X86_STORE, true, EDDY__RAX, at);
}

/* ---- calls ---- */

static int32_t state_at(const maker *m, size_t offset)
{
    return m->base.layout.state + (int32_t)offset;
}

#define STATE(m, member) state_at(m, offsetof(eddy__native_state, member))

static void store_fuel(maker *m)
{
    eddy__x86_emit(code_of(m), EDDY__X86_STORE, true, EDDY__R14,
                   eddy__x86_memory(STATE(m, fuel)));
}

static void load_fuel(maker *m)
{
    eddy__x86_emit(code_of(m), EDDY__X86_MOV, true, EDDY__R14,
                   eddy__x86_memory(STATE(m, fuel)));
}

/* Calls a function of the state, and leaves if it says so. */
static void ask(maker *m, int32_t helper, uint32_t at)
{
    eddy__x86 *x = code_of(m);

    store_fuel(m);
    eddy__x86_emit(x, EDDY__X86_LEA, true, EDDY__RDI,
                   eddy__x86_memory(m->base.layout.state));
    eddy__x86_emit_mov_number(x, EDDY__RSI, at);
    eddy__x86_emit_call_memory(x, EDDY__RBP, helper);
    eddy__x86_emit(x, EDDY__X86_TEST, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    note_exit(m, eddy__x86_emit_jump_if(x, EDDY__IF_NOT_EQUAL));
}

static void load_written(void *user, uint32_t number, bool is_written)
{
    maker *m = user;

    if (is_written && range_of(m, number)->home != EDDY__NO_HOME)
        eddy__x86_load(&m->base, number);
}

/*
 * The runner does instruction `at`, with everything where it looks for it;
 * `live` is what is live before.
 */
static void perform(maker *m, uint32_t at, const live_set *live)
{
    store_live(m, live);
    eddy__x86_store_tape(&m->base);
    change_index(m, frame_with_fuel(m), EDDY__X86_SUB);
    ask(m, STATE(m, perform), at);
    load_fuel(m);
    change_index(m, frame_with_fuel(m), EDDY__X86_ADD);
    eddy__x86_load_tape(&m->base);
    load_lost(m, live, at);
    eddy__native_each_register(linear_of(m), at, load_written, m);
    if (linear_of(m)->code[at].op == EDDY__LINEAR_CHOOSE)
        eddy__native_each_register(linear_of(m), at + 1, load_written, m);
}

static void store_read(void *user, uint32_t number, bool is_written)
{
    maker *m = user;
    const eddy__native_range *r = range_of(m, number);

    if (!is_written && r->home != EDDY__NO_HOME && r->is_written)
        eddy__x86_store(&m->base, number);
}

static void address(maker *m, uint32_t reg, uint32_t offset)
{
    eddy__x86_emit(code_of(m), EDDY__X86_LEA, true, reg,
                   eddy__x86_memory((int32_t)offset));
}

/* A typed operation by its function in C, which knows the file alone. */
static void emit_function(maker *m)
{
    eddy__x86 *x = code_of(m);
    const eddy__linear_code *c = &linear_of(m)->code[m->at];

    for (uint32_t left = lost_homes(m, &m->live); left != 0;) {
        const uint32_t number = m->live.numbers[take_home(&left)];

        if (range_of(m, number)->is_written &&
            range_of(m, number)->end > (int32_t)m->at)
            eddy__x86_store(&m->base, number);
    }
    eddy__native_each_register(linear_of(m), m->at, store_read, m);
    address(m, EDDY__RDI, c->to);
    address(m, EDDY__RSI, c->a);
    address(m, EDDY__RDX, eddy__linear_operands(c->op)[2] == 'r' ? c->b : c->a);
    eddy__x86_emit(x, EDDY__X86_MOV, true, EDDY__RAX,
                   eddy__x86_memory(STATE(m, functions)));
    eddy__x86_emit_call_memory(
        x, EDDY__RAX, (int32_t)(c->op * sizeof(eddy__native_function)));
    load_lost(m, &m->live, m->at);
    eddy__native_each_register(linear_of(m), m->at, load_written, m);
}

/* ---- jumps ---- */

static void jump_to(maker *m, uint32_t to)
{
    note_jump(m, eddy__x86_emit_jump(code_of(m)), to);
}

static void jump_on(maker *m, uint32_t condition, uint32_t to)
{
    note_jump(m, eddy__x86_emit_jump_if(code_of(m), condition), to);
}

static void jump_past(maker *m, size_t from)
{
    eddy__x86_aim(code_of(m), from, code_of(m)->n);
}

/* If the answer is no. */
static void jump_unless(maker *m, eddy__x86_answer answer, uint32_t to)
{
    if (answer.is_equal) {
        jump_on(m, EDDY__IF_PARITY, to);
        jump_on(m, EDDY__IF_NOT_EQUAL, to);
    } else if (answer.is_not_equal) {
        const size_t is_nan =
            eddy__x86_emit_jump_if(code_of(m), EDDY__IF_PARITY);

        jump_on(m, EDDY__IF_EQUAL, to);
        jump_past(m, is_nan);
    } else {
        jump_on(m, answer.condition ^ 1u, to);
    }
}

static void jump_if(maker *m, eddy__x86_answer answer, uint32_t to)
{
    if (answer.is_equal) {
        const size_t is_nan =
            eddy__x86_emit_jump_if(code_of(m), EDDY__IF_PARITY);

        jump_on(m, EDDY__IF_EQUAL, to);
        jump_past(m, is_nan);
    } else if (answer.is_not_equal) {
        jump_on(m, EDDY__IF_PARITY, to);
        jump_on(m, EDDY__IF_NOT_EQUAL, to);
    } else {
        jump_on(m, answer.condition, to);
    }
}

static void emit_unless(maker *m, const eddy__linear_code *c)
{
    const uint32_t number = c->a / (uint32_t)sizeof(eddy__value);
    const eddy__native_range *r = range_of(m, number);

    if (r->home == EDDY__NO_HOME) {
        eddy__x86_emit_is_zero8(code_of(m),
                                (int32_t)(c->a + offsetof(eddy__value, as)));
    } else {
        const uint32_t home = eddy__x86_home(&m->base, r);

        eddy__x86_emit(code_of(m), EDDY__X86_TEST, false, home,
                       eddy__x86_reg(home));
    }
    jump_on(m, EDDY__IF_EQUAL, c->to);
}

/* ---- loops ---- */

/* One iteration less may begin. */
static void burn(maker *m)
{
    eddy__x86_emit_number(code_of(m), EDDY__X86_SUB, true,
                          eddy__x86_reg(EDDY__R14), 1);
    note_stub(m, STUB_FUEL, eddy__x86_emit_jump_if(code_of(m), EDDY__IF_BELOW));
}

/* From here on code is for an iteration of `frame`, or of none. */
static void be_in(maker *m, uint32_t frame)
{
    m->frame = frame;
    m->base.tape =
        frame == EDDY__LINEAR_NONE ? EDDY__LINEAR_NONE : m->tapes[frame];
}

static void emit_enter(maker *m, uint32_t frame)
{
    eddy__x86 *x = code_of(m);

    burn(m);
    eddy__x86_emit(x, EDDY__X86_MOV, true, EDDY__RAX,
                   eddy__x86_memory(STATE(m, frames)));
    eddy__x86_emit(x, EDDY__X86_CMP, true, EDDY__RAX,
                   eddy__x86_memory(STATE(m, most_frames)));
    note_stub(m, STUB_FRAMES, eddy__x86_emit_jump_if(x, EDDY__IF_NOT_BELOW));
    eddy__x86_emit_number(x, EDDY__X86_ADD, true,
                          eddy__x86_memory(STATE(m, frames)), 1);
    if (m->base.homes.frames[frame].is_innermost)
        eddy__x86_emit(x, EDDY__X86_STORE, true, EDDY__R14,
                       eddy__x86_memory(index_at(m, frame)));
    else
        eddy__x86_emit_store_number(x, true, index_at(m, frame), 0);
    be_in(m, frame);
    eddy__x86_load_tape(&m->base);
}

/* The index is that of the last iteration: one more have been. */
static void emit_leave(maker *m, uint32_t frame)
{
    eddy__x86 *x = code_of(m);
    const uint32_t parent = linear_of(m)->frames[frame].parent;

    eddy__x86_store_tape(&m->base);
    eddy__x86_emit(x, EDDY__X86_MOV, true, EDDY__RAX,
                   eddy__x86_memory(index_at(m, frame)));
    if (m->base.homes.frames[frame].is_innermost)
        eddy__x86_emit(x, EDDY__X86_SUB, true, EDDY__RAX,
                       eddy__x86_reg(EDDY__R14));
    eddy__x86_emit_number(x, EDDY__X86_ADD, true, eddy__x86_reg(EDDY__RAX), 1);
    eddy__x86_emit(
        x, EDDY__X86_ADD, true, EDDY__RAX,
        eddy__x86_memory(m->base.layout.iterations + (int32_t)frame * 8));
    eddy__x86_emit(
        x, EDDY__X86_STORE, true, EDDY__RAX,
        eddy__x86_memory(m->base.layout.iterations + (int32_t)frame * 8));
    eddy__x86_emit_store_number(x, true, index_at(m, frame), -1);
    be_in(m, parent);
}

/* The next iteration, with the test that is made there, if it has one. */
static void emit_back(maker *m, const eddy__linear_code *c)
{
    const uint32_t frame = c->aux;

    burn(m);
    if (!m->base.homes.frames[frame].is_innermost)
        eddy__x86_emit_number(code_of(m), EDDY__X86_ADD, true,
                              eddy__x86_memory(index_at(m, frame)), 1);
    if (c->op == EDDY__LINEAR_BACK)
        jump_to(m, c->to);
    else
        jump_if(m, eddy__x86_emit_test(&m->base, c), c->to);
}

/* ---- instructions ---- */

static eddy__native_way way_of(uint32_t op)
{
    switch (op) {
    case EDDY__LINEAR_DONE:
    case EDDY__LINEAR_JUMP:
    case EDDY__LINEAR_UNLESS:
    case EDDY__LINEAR_MOVE:
    case EDDY__LINEAR_COUNT:
    case EDDY__LINEAR_ENTER:
    case EDDY__LINEAR_BACK:
    case EDDY__LINEAR_LEAVE:
        return EDDY__WAY_INLINE;
    case EDDY__LINEAR_OUTPUTS:
        return EDDY__WAY_NOTHING;
    default:
        if (op <= EDDY__LINEAR_WRITE_64)
            return eddy__x86_has_store(op) ? EDDY__WAY_INLINE
                                           : EDDY__WAY_PERFORM;
        return eddy__x86_has(op) ? EDDY__WAY_INLINE : EDDY__WAY_FUNCTION;
    }
}

static void emit_done(maker *m)
{
    store_live(m, &m->live);
    store_fuel(m);
    eddy__x86_emit_mov_number(code_of(m), EDDY__RAX, EDDY__NATIVE_ENDED);
    note_exit(m, eddy__x86_emit_jump(code_of(m)));
}

static void emit_typed(maker *m, const eddy__linear_code *c)
{
    size_t fault;

    eddy__x86_emit_op(&m->base, c, &fault);
    if (fault)
        note_stub(m, STUB_FAULT, fault);
}

static void emit_bare(maker *m, const eddy__linear_code *c)
{
    size_t slow[2];

    eddy__x86_emit_store(&m->base, c, slow);
    note_stub(m, STUB_KERNEL, slow[0]);
    if (!m->failed)
        m->stubs[m->n_stubs - 1].other = slow[1];
}

static void emit_code(maker *m, const eddy__linear_code *c)
{
    if (way_of(c->op) == EDDY__WAY_PERFORM) {
        perform(m, m->at, &m->live);
        return;
    }
    switch (c->op) {
    case EDDY__LINEAR_DONE:
        emit_done(m);
        return;
    case EDDY__LINEAR_JUMP:
        jump_to(m, c->to);
        return;
    case EDDY__LINEAR_UNLESS:
        emit_unless(m, c);
        return;
    case EDDY__LINEAR_COUNT:
        eddy__x86_emit_number(
            code_of(m), EDDY__X86_ADD, true,
            eddy__x86_memory(m->base.layout.counters + (int32_t)c->to * 8), 1);
        return;
    case EDDY__LINEAR_ENTER:
        emit_enter(m, c->to);
        return;
    case EDDY__LINEAR_BACK:
        emit_back(m, c);
        return;
    case EDDY__LINEAR_LEAVE:
        emit_leave(m, c->to);
        return;
    case EDDY__LINEAR_OUTPUTS:
        return;
    default:
        break;
    }
    if (eddy__linear_is_back_if(c->op))
        emit_back(m, c);
    else if (eddy__x86_has_store(c->op))
        emit_bare(m, c);
    else if (way_of(c->op) == EDDY__WAY_FUNCTION)
        emit_function(m);
    else if (eddy__linear_operands(c->op)[0] == 't')
        jump_unless(m, eddy__x86_emit_test(&m->base, c), c->to);
    else
        emit_typed(m, c);
}

/* ---- what stands around them ---- */

static const uint8_t kept[] = {EDDY__RBP, EDDY__RBX, 12, 13, EDDY__R14, 15};

#define N_KEPT (sizeof kept / sizeof kept[0])

/* The first byte: a function of the file and of where to go on. */
static void emit_prologue(maker *m)
{
    eddy__x86 *x = code_of(m);

    for (size_t i = 0; i < N_KEPT; i++)
        eddy__x86_emit_push(x, kept[i]);
    /* Sixteen bytes are asked for where a function is called. */
    eddy__x86_emit_push(x, EDDY__RAX);
    eddy__x86_emit(x, EDDY__X86_MOV, true, EDDY__RBP, eddy__x86_reg(EDDY__RDI));
    load_fuel(m);
    eddy__x86_emit_jump_reg(x, EDDY__RSI);
}

static void emit_epilogue(maker *m)
{
    eddy__x86 *x = code_of(m);

    for (size_t i = 0; i < m->n_exits; i++)
        eddy__x86_aim(x, m->exits[i], x->n);
    eddy__x86_emit_pop(x, EDDY__RCX);
    for (size_t i = N_KEPT; i-- > 0;)
        eddy__x86_emit_pop(x, kept[i]);
    eddy__x86_emit_return(x);
}

/* The innermost frame that is on before an instruction. */
static uint32_t frame_before(const maker *m, uint32_t at)
{
    const eddy__native_frame *frames = m->base.homes.frames;
    uint32_t found = EDDY__LINEAR_NONE;

    for (uint32_t f = 0; f < linear_of(m)->n_frames; f++)
        if (frames[f].enter < at && at <= frames[f].leave)
            found = f;
    return found;
}

static void emit_stub(maker *m, const stub *s)
{
    eddy__x86 *x = code_of(m);
    uint32_t frame;

    be_in(m, frame_before(m, s->at));
    frame = frame_with_fuel(m);
    eddy__x86_aim(x, s->from, x->n);
    if (s->other > 0)
        eddy__x86_aim(x, s->other, x->n);
    if (s->kind == STUB_KERNEL) {
        perform(m, s->at, &s->live);
        eddy__x86_aim(x, eddy__x86_emit_jump(x), m->starts[s->at + 1]);
        return;
    }
    if (s->kind != STUB_FAULT)
        eddy__x86_emit_number(x, EDDY__X86_ADD, true, eddy__x86_reg(EDDY__R14),
                              1);
    store_live(m, &s->live);
    eddy__x86_store_tape(&m->base);
    change_index(m, frame, EDDY__X86_SUB);
    if (s->kind != STUB_FUEL) {
        /* It fails: there is no way back. */
        ask(m, STATE(m, perform), s->at);
        return;
    }
    ask(m, STATE(m, refuel), s->at);
    m->entries[s->at] = (uint32_t)x->n;
    load_fuel(m);
    change_index(m, frame, EDDY__X86_ADD);
    eddy__x86_load_tape(&m->base);
    load_live(m, &s->live);
    eddy__x86_aim(x, eddy__x86_emit_jump(x), m->starts[s->at]);
}

static void emit_all(maker *m)
{
    const eddy__linear *linear = linear_of(m);
    eddy__x86 *x = code_of(m);

    emit_prologue(m);
    for (uint32_t i = 0; i < linear->n_code && !x->failed && !m->failed; i++) {
        bring_live_to(m, i);
        m->at = i;
        if (m->base.homes.is_head[i])
            eddy__x86_emit_nothing(x,
                                   (ALIGNMENT - x->n % ALIGNMENT) % ALIGNMENT);
        m->starts[i] = (uint32_t)x->n;
        emit_code(m, &linear->code[i]);
    }
    m->starts[linear->n_code] = (uint32_t)x->n;
    for (size_t i = 0; i < m->n_stubs && !x->failed && !m->failed; i++)
        emit_stub(m, &m->stubs[i]);
    if (x->failed || m->failed)
        return;
    emit_epilogue(m);
    for (size_t i = 0; i < m->n_jumps; i++)
        eddy__x86_aim(x, m->jumps[i].from, m->starts[m->jumps[i].to]);
}

/* ---- the provider ---- */

static void release(eddy__linear_machine *machine)
{
    eddy__native_code *code = (eddy__native_code *)(void *)machine;
    const eddy_allocator *a = code->allocator;

    eddy__pages_release(code->bytes, code->n_mapped);
    eddy__free(a, code->starts, code->n_code + 1, sizeof *code->starts);
    eddy__free(a, code->entries, code->n_code, sizeof *code->entries);
    eddy__free(a, code, 1, sizeof *code);
}

/* Takes over the arrays of `m`. */
static eddy_status finish(maker *m, eddy__native_code **out_code)
{
    const eddy__x86 *x = code_of(m);
    eddy__native_code *code =
        eddy__allocate_zeroed(m->arena.allocator, 1, sizeof *code);

    if (!code)
        return EDDY_RESOURCE_EXHAUSTED;
    code->bytes = eddy__pages_of_code(x->code, x->n, &code->n_mapped);
    if (!code->bytes) {
        eddy__free(m->arena.allocator, code, 1, sizeof *code);
        return EDDY_UNAVAILABLE;
    }
    code->machine.release = release;
    code->allocator = m->arena.allocator;
    code->n_bytes = x->n;
    code->n_code = linear_of(m)->n_code;
    code->starts = m->starts;
    code->entries = m->entries;
    m->starts = m->entries = NULL;
    *out_code = code;
    return EDDY_OK;
}

/* ---- tapes ---- */

static bool is_tape_op(uint32_t op)
{
    const char *operands = eddy__linear_operands(op);

    /* Of no index: PUSH has no `to`, POP no b. */
    return eddy__x86_has_store(op) &&
           (operands[0] == '-' || operands[2] == '-');
}

static bool has_tapes(const eddy__linear *linear)
{
    for (uint32_t i = 0; i < linear->n_code; i++)
        if (is_tape_op(linear->code[i].op))
            return true;
    return false;
}

/*
 * The one tape of an innermost loop: two that are one would not know of each
 * other's items.  Its register is the same all the time.
 */
static uint32_t tape_of(const maker *m, const eddy__native_frame *frame)
{
    uint32_t found = EDDY__LINEAR_NONE;

    for (uint32_t i = frame->enter; i < frame->leave; i++) {
        const eddy__linear_code *c = &linear_of(m)->code[i];
        const uint32_t number = c->a / (uint32_t)sizeof(eddy__value);

        if (!is_tape_op(c->op))
            continue;
        if ((found != EDDY__LINEAR_NONE && number != found) ||
            range_of(m, number)->is_written)
            return EDDY__LINEAR_NONE;
        found = number;
    }
    return found;
}

static bool find_tapes(maker *m)
{
    const uint32_t n = linear_of(m)->n_frames;
    const eddy__native_frame *frames = m->base.homes.frames;

    m->tapes = eddy__arena_allocate(&m->arena, n, sizeof *m->tapes);
    if (!m->tapes)
        return false;
    for (uint32_t f = 0; f < n; f++)
        m->tapes[f] = m->base.has_tapes && frames[f].is_innermost
                          ? tape_of(m, &frames[f])
                          : EDDY__LINEAR_NONE;
    return true;
}

/* For code of the usual size, so that it need not grow in many steps. */
static bool make_room(maker *m)
{
    eddy__x86 *x = code_of(m);

    return eddy__grow(x->allocator, (void **)&x->code, &x->room,
                      (size_t)linear_of(m)->n_code * USUAL_SIZE + USUAL_REST,
                      1);
}

static eddy_status make(maker *m, eddy__native_code **out_code)
{
    const eddy__linear *linear = linear_of(m);
    const eddy_allocator *a = m->arena.allocator;

    m->starts = eddy__allocate(a, linear->n_code + 1, sizeof *m->starts);
    m->entries = eddy__allocate_zeroed(a, linear->n_code, sizeof *m->entries);
    if (!m->starts || !m->entries || !make_room(m) ||
        !eddy__native_allocate(linear, file_of(m), way_of, &m->arena,
                               &m->base.homes) ||
        !find_tapes(m))
        return EDDY_RESOURCE_EXHAUSTED;
    emit_all(m);
    if (m->failed || code_of(m)->failed)
        return EDDY_RESOURCE_EXHAUSTED;
    return finish(m, out_code);
}

static eddy_status compile(const eddy__native_request *request,
                           eddy__native_code **out_code)
{
    const eddy_allocator *a = request->allocator;
    maker m = {.base = {.x = {.allocator = a},
                        .linear = request->linear,
                        .layout = request->layout,
                        .has_tapes = has_tapes(request->linear),
                        .tape = EDDY__LINEAR_NONE},
               .arena = {.allocator = a},
               .frame = EDDY__LINEAR_NONE};
    eddy_status status;

    *out_code = NULL;
    if (request->linear->n_code > MOST_CODE)
        return EDDY_UNIMPLEMENTED;
    status = make(&m, out_code);
    eddy__free(a, m.base.x.code, m.base.x.room, 1);
    eddy__free(a, m.jumps, m.jumps_room, sizeof *m.jumps);
    eddy__free(a, m.stubs, m.stubs_room, sizeof *m.stubs);
    eddy__free(a, m.exits, m.exits_room, sizeof *m.exits);
    eddy__free(a, m.starts, request->linear->n_code + 1, sizeof *m.starts);
    eddy__free(a, m.entries, request->linear->n_code, sizeof *m.entries);
    eddy__arena_destroy(&m.arena);
    return status;
}

const eddy__native_provider eddy__native_x86_64 = {
    .version = EDDY__NATIVE_VERSION,
    .name = "i386:x86-64",
    .compile = compile,
};

#else

/* So that the file has something in it. */
typedef int eddy__native_x86_64_is_elsewhere;

#endif

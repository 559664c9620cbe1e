/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear form: what a loop nest does, as code in a row over registers.
 *
 * A register is a value of sixteen bytes.  One that inference proves to hold a
 * numeric scalar is raw: its kind and dtype are set once, typed operations read
 * and write its payload alone, and any kernel may still be called on it. Enter,
 * Merge, Switch, NextIteration, Exit, LoopCond and Identity of raw values are
 * moves at most; where branches are structured, they are jumps.
 *
 * A loop nest that is proved to allow it (linear_guard.c) is one region: it is
 * entered when the inputs of all its Enters have come live, and runs to its
 * Exits (runtime/exec/linear).  Everything else of the plan stays as it is, and
 * the nest's own steps do, for an entry some of whose inputs are dead.
 *
 * PUSH, POP, READ and WRITE work on stacks and TensorArrays of bare scalars.
 * Register a holds the handle, which never changes while the region runs: its
 * as.resource points at an eddy__tape (PUSH, POP) or eddy__cells (READ, WRITE)
 * of items of the size that stands behind the name, in bits; plan time has
 * proved both kind and dtype.  core/value/tape.h says what is laid out how and
 * when the few members there allow the operation; in all other cases (no room,
 * nothing there, an index out of bounds, ...) call `aux` does it instead: its
 * kernel runs on the same registers, and either does all of the operation or
 * fails.  Before that call, and when the region stops or ends, `next` and the
 * states must be in memory; after it, all members may have changed.  No other
 * operation but CALL, SCALARS and these changes them.
 */
#ifndef EDDY_PLAN_LINEAR_H
#define EDDY_PLAN_LINEAR_H

#include "runtime/plan/plan.h"

/*
 * X(name, operands, what it does).  Operands, in the order of `to`, a and b:
 * w a register that is written, r one that is read, t a target, - another
 * number or nothing.
 */
#define EDDY__LINEAR_MAP(X)                                                    \
    X(DONE, "---", "the region has reached its Exits")                         \
    X(JUMP, "t--", "")                                                         \
    X(UNLESS, "tr-", "jump if a is false")                                     \
    X(MOVE, "wr-", "the payload of a raw register")                            \
    X(PASS, "wr-", "take a's value for b readers")                             \
    X(CHOOSE, "-rr", "a's value to an output by b; the next word tells where") \
    X(OUTPUTS, "---", "of CHOOSE: of false, of true, their readers")           \
    X(TAKE_OUT, "wr-", "the same of an Exit: what is lent becomes its own")    \
    X(LEND, "wr-", "hold a's value in b, lend it to the loop")                 \
    X(DROP, "-r-", "what was held")                                            \
    X(CONSUME, "-r-", "a reader that is dead")                                 \
    X(COUNT, "---", "this side was taken")                                     \
    X(SKIP, "---", "so many frames are dead, frame a first")                   \
    X(ENTER, "---", "begin a loop")                                            \
    X(BACK, "t--", "the next iteration")                                       \
    X(LEAVE, "---", "end a loop")                                              \
    X(JOIN, "---", "a tensor of raw registers")                                \
    X(SPLIT, "---", "raw registers of a tensor, which goes if `to` is 1")      \
    X(SCALARS, "---", "call a kernel on scalars")                              \
    X(CALL, "---", "call a kernel")                                            \
    EDDY__LINEAR_STORE_MAP(X, 8)                                               \
    EDDY__LINEAR_STORE_MAP(X, 16)                                              \
    EDDY__LINEAR_STORE_MAP(X, 32)                                              \
    EDDY__LINEAR_STORE_MAP(X, 64)                                              \
    X(SELECT_8, "wrr", "a if aux, a register by number, else b: 8 bits")       \
    X(SELECT_16, "wrr", "")                                                    \
    X(SELECT_32, "wrr", "")                                                    \
    X(SELECT_64, "wrr", "")                                                    \
    X(WATCH, "---", "CALL, and the node is recorded")                          \
    X(TELL, "---", "call `a`, or what `aux` says, is recorded")

/* Stores of items of so many bits; a is the handle. */
#define EDDY__LINEAR_STORE_MAP(X, bits)                                        \
    X(PUSH_##bits, "-rr", "b")                                                 \
    X(POP_##bits, "wr-", "")                                                   \
    X(READ_##bits, "wrr", "item b, an int32")                                  \
    X(WRITE_##bits, "rrr", "`to` as item b, an int32")

typedef enum eddy__linear_op {
#define X(name, operands, doc) EDDY__LINEAR_##name,
    EDDY__LINEAR_MAP(X)
#undef X
#define UNARY_OP(name, D, OUT, LOCALS, e) EDDY__LINEAR_##name##_##D,
#define BINARY_OP UNARY_OP
#define CHECKED_OP(name, D, BAD, e) EDDY__LINEAR_##name##_##D,
/* Jump unless; the next iteration if. */
#define COMPARE_OP(name, D, e)                                                 \
    EDDY__LINEAR_##name##_##D, EDDY__LINEAR_UNLESS_##name##_##D,               \
        EDDY__LINEAR_BACK_IF_##name##_##D,
#include "runtime/plan/linear_ops.def"
        EDDY__LINEAR_N_OPS
} eddy__linear_op;

/*
 * What a TELL, which stands in code of recorded runs alone, says of the node of
 * its call; `in` and `out` of that are where the node's values are.
 */
typedef enum eddy__linear_tale {
    EDDY__TALE_MADE,     /* it has run: its outputs */
    EDDY__TALE_PASSED,   /* it hands its input on; `b` is the record's output */
    EDDY__TALE_CHOSE,    /* a Switch of input 0, by input 1 */
    EDDY__TALE_MERGED,   /* a loop's Merge: input `to` at first, then `b` */
    EDDY__TALE_CONSTANT, /* the plan's constant */
    EDDY__TALE_DEAD,     /* not of a call: step `a` of frame `to` is dead */
    EDDY__TALE_BEGIN,    /* not of a node: `to` frames from `a` on begin */
    EDDY__TALE_END,      /* likewise: those, which were dead, are over */
} eddy__linear_tale;

/* Registers are byte offsets, targets numbers of instructions. */
typedef struct eddy__linear_code {
    uint16_t op; /* eddy__linear_op */
    /* BACK: the frame; CHECKED, PUSH, ...: a call; SELECT: a register; TELL:
     * an eddy__linear_tale */
    uint16_t aux;
    uint32_t to, a, b;
} eddy__linear_code;

_Static_assert(sizeof(eddy__linear_code) == 16, "four to a cache line");

typedef struct eddy__linear_call {
    uint32_t step;
    uint32_t frame; /* of the region */
    uint32_t n_in, n_out;
    uint32_t *in, *out;      /* registers, by number */
    const eddy_shape *shape; /* of JOIN: what it makes */
} eddy__linear_call;

#define EDDY__LINEAR_NONE UINT32_MAX

/* A frame of the region; 0 is the outermost, parents first. */
typedef struct eddy__linear_frame {
    uint32_t frame;  /* static */
    uint32_t parent; /* of the region; the outermost: EDDY__LINEAR_NONE */
    uint32_t enter;  /* its first Enter, a step */
    uint32_t guard;  /* under which it is entered, if it has a parent */
    /* Executions of an entry that is dead, of which some are live. */
    uint64_t n_dead, n_live;
} eddy__linear_frame;

/* How often what stands under a guard was live, from what code counts. */
typedef enum eddy__linear_guard_kind {
    EDDY__GUARD_ALWAYS, /* in every iteration */
    EDDY__GUARD_BODY,   /* in all but the last */
    EDDY__GUARD_END,    /* in the last */
    EDDY__GUARD_TRUE,   /* as often as its counter says */
    EDDY__GUARD_FALSE,  /* when `other` was not, but `parent` was */
} eddy__linear_guard_kind;

typedef struct eddy__linear_guard {
    uint32_t kind;   /* eddy__linear_guard_kind */
    uint32_t frame;  /* of the region */
    uint32_t parent; /* guards come after their parents and `other` */
    uint32_t other;
    uint32_t counter;
    uint32_t own; /* steps */
} eddy__linear_guard;

/* What comes in through an Enter of the outermost frame. */
typedef struct eddy__linear_entry {
    uint32_t step;
    uint32_t to;   /* a register, or none: nobody reads it */
    uint32_t held; /* a register that holds what `to` is lent, or none */
    uint32_t uses; /* of `to`, unless it is raw or lent */
    bool is_raw;
    uint32_t n_parts;      /* registers of its elements, besides */
    const uint32_t *parts; /* those, or NULL */
} eddy__linear_entry;

typedef struct eddy__linear_exit {
    uint32_t step;
    uint32_t from; /* a register */
} eddy__linear_exit;

/* Machine code of a region begins with what frees it. */
typedef struct eddy__linear_machine {
    void (*release)(struct eddy__linear_machine *machine);
} eddy__linear_machine;

/*
 * Machine code is made by whoever runs a region when it has run long enough
 * (runtime/exec/linear).  It is the plan's: all its runs share it.
 */
typedef struct eddy__linear_tier {
    /* atomic: set once, released to whoever reads it; NULL: not yet. */
    _Atomic(eddy__linear_machine *) machine;
    /* atomic, relaxed: iterations so far; a guess is enough. */
    atomic_uint_fast64_t spent;
    /* atomic, relaxed: nobody need try, or try again. */
    atomic_bool is_refused;
    atomic_uint_fast64_t compile_ns, n_bytes; /* of the code */
    uint64_t threshold;                       /* iterations before it is made */
    int64_t chunk; /* iterations of it between two looks at clock and cancel */
    uint32_t vectors; /* that code may use: eddy__vectors */
    /*
     * Iterations before code is made that takes longer, while nobody knows how
     * many there will be; 0: it is not weighed.  Estimates: how long it takes,
     * and what an iteration then saves.
     */
    uint64_t patience, made_ns, saved_ns;
} eddy__linear_tier;

/*
 * How a region of one loop counts, if its code says so: as long as `counter` is
 * below `limit`, or above it, `step` is added, or subtracted.
 */
typedef struct eddy__linear_trips {
    uint32_t counter, limit, step; /* registers, by number */
    bool is_known;
    bool is_down;  /* above */
    bool has_last; /* or equal */
    bool is_less;  /* subtracted */
} eddy__linear_trips;

typedef struct eddy__linear {
    eddy__step step; /* whose token runs the region; its node is NULL */
    const eddy__linear_code *code;
    uint32_t n_code, n_registers, n_owned, n_calls, n_frames, n_guards;
    uint32_t n_counters, n_entries, n_exits;
    const eddy__value *start; /* registers at first */
    const uint32_t *owned;    /* registers that may hold references */
    const eddy__linear_call *calls;
    const eddy__linear_frame *frames;
    const eddy__linear_guard *guards;
    const eddy__linear_entry *entries;
    const eddy__linear_exit *exits;
    const uint32_t *step_of; /* an instruction: for whom it is, or none */
    eddy__linear_tier *tier; /* NULL: it is only interpreted */
    /*
     * The same loop with more tensors spread, for machine code alone, which
     * shares `tier`; NULL: code is made of this form.  An execution goes over
     * to it where an iteration begins (runtime/exec/linear).
     */
    const struct eddy__linear *later;
    /* Registers of the other form: an execution has room for both. */
    uint32_t n_before, n_behind;
    eddy__linear_trips trips;
} eddy__linear;

/* The form that machine code is made of. */
static inline const eddy__linear *
eddy__linear_code_form(const eddy__linear *linear)
{
    return linear->later ? linear->later : linear;
}

/* Why a frame is not linear: a node, and in words; both NULL if it is. */
typedef struct eddy__linear_doubt {
    const char *node;
    const char *why;
} eddy__linear_doubt;

/*
 * At most so much is done between two looks: instructions, and calls, each of
 * which is taken for EDDY__LINEAR_CALL_WORK of them.  That is 0.1 ms or so.
 */
#define EDDY__LINEAR_MOST_WORK 100000
#define EDDY__LINEAR_CALL_WORK 64

/* What an iteration of all loops of a region may be, at most. */
uint64_t eddy__linear_work(const eddy__linear *linear);

/*
 * How many iterations will begin, of a region that is about to begin one, if
 * nothing stops it; UINT64_MAX: nobody knows.
 */
uint64_t eddy__linear_trips_left(const eddy__linear *linear,
                                 const eddy__value *registers);

/* Frees what hangs on a plan's regions. */
void eddy__linear_release(eddy_plan *plan);

/* The pass: fills `linear` and `doubt` of the plan's frames. */
eddy_status eddy__plan_make_linear(eddy__plan_build *b);

/* Writes it a line at a time; false as soon as `write` says so. */
bool eddy__linear_print(const eddy_plan *plan, const eddy__linear *linear,
                        bool (*write)(void *user, const char *text,
                                      size_t length),
                        void *user);

/* The name and the operands of an operation, as EDDY__LINEAR_MAP has them. */
const char *eddy__linear_name(uint32_t op);
const char *eddy__linear_operands(uint32_t op);

/* The operation of a node on scalars of a dtype; DONE if there is none. */
uint32_t eddy__linear_find(const char *op_name, eddy_dtype dtype);

/* Comparisons alone: what jumps by them.  Else DONE. */
uint32_t eddy__linear_unless(uint32_t op);
uint32_t eddy__linear_back_if(uint32_t unless);

/* Is `a` the number of a call? */
static inline bool eddy__linear_is_call(uint32_t op)
{
    return op >= EDDY__LINEAR_JOIN && op <= EDDY__LINEAR_CALL;
}

/* Has it, as `aux`, a call that may be made in its place? */
bool eddy__linear_has_aux_call(uint32_t op);
bool eddy__linear_is_back_if(uint32_t op);

/* Is `aux` the number of a register that is read? */
static inline bool eddy__linear_is_select(uint32_t op)
{
    return op >= EDDY__LINEAR_SELECT_8 && op <= EDDY__LINEAR_SELECT_64;
}

/* The cast of a numeric scalar; DONE if there is none. */
uint32_t eddy__linear_find_cast(eddy_dtype from, eddy_dtype to);

#endif

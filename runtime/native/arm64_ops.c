/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for the typed operations of the linear form on arm64, with the bits of
 * their expressions in the tables of ops/math.  An operation that has no row
 * here is a call of its function.
 *
 * The home of what is written may be that of an operand, so all operands have
 * been read by the time it is.
 */
#include "runtime/native/arm64_operands.h"

#include "runtime/native/ops_table.h"

#if EDDY_NATIVE && defined(__aarch64__)

/* Registers for use within an instruction. */
enum {
    T0 = EDDY__ARM64_T0,
    T1 = EDDY__ARM64_T1,
    T2 = EDDY__ARM64_T2,
    T3 = EDDY__ARM64_T3,
    ZERO = EDDY__ARM64_ZERO,
    F0 = 0,
    F1,
    F2
};

/* Numbers that the processor has bits for. */
enum { FLOAT_ONE = 0x70, FLOAT_SIX = 0x18, FLOAT_MINUS_ONE = 0xf0 };

typedef eddy__arm64_maker maker;

/* ---- operations ---- */

/* One that is to be done: its operands, their type, and what its row says. */
typedef struct job {
    eddy__arm64_place to, a, b;
    const eddy__arm64_type *t;
    uint8_t detail;
    /* b is an integer that is known, and which one. */
    bool is_known;
    int64_t known;
    bool may_fail;
    size_t fault; /* from where it jumps then */
} job;

typedef void (*emit_fn)(maker *m, job *j);

static void emit3(maker *m, const job *j, eddy__arm64_op op, uint32_t d,
                  uint32_t n, uint32_t k)
{
    eddy__arm64_emit(&m->x, op, eddy__arm64_is_wide(j->t), d, n, k);
}

static void compare_regs(maker *m, const job *j, uint32_t n, uint32_t k)
{
    emit3(m, j, EDDY__ARM64_SUBS, ZERO, n, k);
}

static void compare_number(maker *m, const job *j, uint32_t n, uint32_t number)
{
    eddy__arm64_emit_subs_number(&m->x, eddy__arm64_is_wide(j->t), ZERO, n,
                                 number);
}

static void choose(maker *m, const job *j, uint32_t d, uint32_t n, uint32_t k,
                   uint32_t condition)
{
    eddy__arm64_emit_choice(&m->x, EDDY__ARM64_CSEL + condition,
                            eddy__arm64_is_wide(j->t), d, n, k);
}

/* `detail`: the instruction.  x op y */
static void emit_pair(maker *m, job *j)
{
    const uint32_t a =
        eddy__arm64_hold(m, j->t, j->a, j->t->is_float ? F0 : T0);
    const uint32_t b =
        eddy__arm64_hold(m, j->t, j->b, j->t->is_float ? F1 : T1);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, (eddy__arm64_op)j->detail, to, a, b);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* The same of one of floats. */
static void emit_one(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, (eddy__arm64_op)j->detail, to, a, 0);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* The same of zero and x. */
static void emit_of_zero(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, (eddy__arm64_op)j->detail, to, ZERO, a);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* The same of x and x. */
static void emit_square(maker *m, job *j)
{
    j->b = j->a;
    emit_pair(m, j);
}

static void emit_squared_difference(maker *m, job *j)
{
    const bool is_float = j->t->is_float;
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, is_float ? F0 : T0);
    const uint32_t b = eddy__arm64_hold(m, j->t, j->b, is_float ? F1 : T1);
    const uint32_t difference = is_float ? F0 : T0;
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, is_float ? EDDY__ARM64_FSUB : EDDY__ARM64_SUB, difference, a,
          b);
    emit3(m, j, is_float ? EDDY__ARM64_FMUL : EDDY__ARM64_MUL, to, difference,
          difference);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* ---- integers ---- */

static void emit_int_abs(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_number(m, j, a, 0);
    eddy__arm64_emit_choice(&m->x, EDDY__ARM64_CSNEG + EDDY__ARM64_GE,
                            eddy__arm64_is_wide(j->t), to, a, a);
    eddy__arm64_put(m, j->t, j->to, to);
}

static void emit_int_sign(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_number(m, j, a, 0);
    eddy__arm64_emit_set(&m->x, T1, EDDY__ARM64_GT);
    eddy__arm64_emit_choice(&m->x, EDDY__ARM64_CSINV + EDDY__ARM64_GE,
                            eddy__arm64_is_wide(j->t), to, T1, ZERO);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* `detail`: when a is taken. */
static void emit_int_choice(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);
    const uint32_t b = eddy__arm64_hold(m, j->t, j->b, T1);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_regs(m, j, a, b);
    choose(m, j, to, a, b, j->detail);
    eddy__arm64_put(m, j->t, j->to, to);
}

static void emit_int_relu(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_number(m, j, a, 0);
    choose(m, j, to, a, ZERO, EDDY__ARM64_GT);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* The least of relu and 6. */
static void emit_int_relu6(maker *m, job *j)
{
    const uint32_t to = eddy__arm64_target(j->t, j->to);
    uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);

    if (j->t->is_signed) {
        compare_number(m, j, a, 0);
        choose(m, j, T0, a, ZERO, EDDY__ARM64_GT);
        a = T0;
    }
    eddy__arm64_emit_mov_number(&m->x, T1, 6);
    compare_regs(m, j, a, T1);
    choose(m, j, to, a, T1, j->t->is_signed ? EDDY__ARM64_LT : EDDY__ARM64_LO);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* `detail`: the instruction; how far is brought to what the width has. */
static void emit_int_shift(maker *m, job *j)
{
    const eddy__arm64_type *t = j->t;
    const uint32_t a = eddy__arm64_hold(m, t, j->a, T0);
    const uint32_t to = eddy__arm64_target(t, j->to);
    uint32_t by = eddy__arm64_hold(m, t, j->b, T1);

    if (t->is_signed) {
        compare_number(m, j, by, 0);
        choose(m, j, T1, by, ZERO, EDDY__ARM64_GT);
        by = T1;
    }
    eddy__arm64_emit_mov_number(&m->x, T2, t->size * 8u - 1);
    compare_regs(m, j, by, T2);
    choose(m, j, T1, by, T2, t->is_signed ? EDDY__ARM64_LT : EDDY__ARM64_LO);
    emit3(m, j, (eddy__arm64_op)j->detail, to, a, T1);
    eddy__arm64_put(m, t, j->to, to);
}

/* `detail` of quotients and remainders. */
enum { TRUNCATED = 0, FLOORED = 1, REST = 2 };

/* By a power of two, rounded down: by bits alone. */
static bool emit_power_of_two(maker *m, job *j)
{
    const bool wide = eddy__arm64_is_wide(j->t);
    const uint32_t to = eddy__arm64_target(j->t, j->to);
    uint32_t n = 0, a;

    if (!j->is_known || j->known <= 0 || j->known > 1 << 30 ||
        (j->known & (j->known - 1)) != 0 ||
        (j->t->is_signed && !(j->detail & FLOORED)))
        return false;
    while (j->known >> (n + 1) != 0)
        n++;
    a = eddy__arm64_hold(m, j->t, j->a, T0);
    if (!(j->detail & REST))
        eddy__arm64_emit_shift(
            &m->x, j->t->is_signed ? EDDY__ARM64_ASR : EDDY__ARM64_LSR, wide,
            to, a, n);
    else if (n == 0)
        eddy__arm64_emit_mov_number(&m->x, to, 0);
    else
        eddy__arm64_emit_extend(&m->x, wide, false, to, a, n);
    eddy__arm64_put(m, j->t, j->to, to);
    return true;
}

/*
 * Rounds down a quotient in T0 of a by b, whose rest, with the sign of a, is in
 * T1; or gives that rest the sign of b.
 */
static void emit_floor(maker *m, job *j, uint32_t b)
{
    const bool wide = eddy__arm64_is_wide(j->t);

    /* All ones where there is a rest, and its sign is not that of b. */
    emit3(m, j, EDDY__ARM64_EOR, T2, T1, b);
    compare_number(m, j, T1, 0);
    choose(m, j, T2, ZERO, T2, EDDY__ARM64_EQ);
    eddy__arm64_emit_shift(&m->x, EDDY__ARM64_ASR, wide, T2, T2,
                           wide ? 63 : 31);
    if (j->detail & REST) {
        emit3(m, j, EDDY__ARM64_AND, T2, T2, b);
        emit3(m, j, EDDY__ARM64_ADD, T1, T1, T2);
    } else {
        emit3(m, j, EDDY__ARM64_ADD, T0, T0, T2);
    }
}

/*
 * `detail`: the above.  The least number by -1 is itself, as the expressions
 * have it; a quotient of few bits is narrowed.
 */
static void emit_int_quotient(maker *m, job *j)
{
    const bool wide = eddy__arm64_is_wide(j->t),
               is_rest = (j->detail & REST) != 0;
    const bool is_floored = j->t->is_signed && (j->detail & FLOORED) != 0;
    uint32_t a, b;

    if (emit_power_of_two(m, j))
        return;
    /* Both are read once more behind the quotient. */
    a = eddy__arm64_hold(m, j->t, j->a, T2);
    b = eddy__arm64_hold(m, j->t, j->b, T3);
    if (!j->is_known || j->known == 0) {
        j->fault = eddy__arm64_emit_jump_if_zero(&m->x, wide, true, b);
        j->may_fail = true;
    }
    emit3(m, j, j->t->is_signed ? EDDY__ARM64_SDIV : EDDY__ARM64_UDIV, T0, a,
          b);
    if (is_rest || is_floored)
        eddy__arm64_emit_msub(&m->x, wide, T1, T0, b, a);
    if (is_floored)
        emit_floor(m, j, b);
    eddy__arm64_put(m, j->t, j->to, is_rest ? T1 : T0);
}

static void emit_move_of(maker *m, const eddy__arm64_type *t,
                         eddy__arm64_place to, eddy__arm64_place from)
{
    if (to.is_memory)
        eddy__arm64_touch(m, t->store,
                          eddy__arm64_hold(m, t, from, t->is_float ? F0 : T0),
                          to);
    else
        eddy__arm64_get(m, t, to.reg, from);
}

static void emit_same(maker *m, job *j)
{
    emit_move_of(m, j->t, j->to, j->a);
}

/* 1 or 0, by flags. */
static void put_answer(maker *m, const job *j, uint32_t condition)
{
    const uint32_t to = j->to.is_memory ? T0 : j->to.reg;

    eddy__arm64_emit_set(&m->x, to, condition);
    if (j->to.is_memory)
        eddy__arm64_touch(m, EDDY__ARM64_STRB, to, j->to);
}

static void emit_not(maker *m, job *j)
{
    compare_number(m, j, eddy__arm64_hold(m, j->t, j->a, T0), 0);
    put_answer(m, j, EDDY__ARM64_EQ);
}

/* ---- floats ---- */

static void set_zero(maker *m, const job *j, uint32_t to)
{
    eddy__arm64_emit_cross(&m->x, EDDY__ARM64_OF_BITS,
                           eddy__arm64_is_wide(j->t), eddy__arm64_is_wide(j->t),
                           to, ZERO);
}

static void set_float(maker *m, const job *j, uint32_t to, uint32_t number)
{
    eddy__arm64_emit_float(&m->x, eddy__arm64_is_wide(j->t), to, number);
}

static void compare_zero(maker *m, const job *j, uint32_t n)
{
    eddy__arm64_emit_compare_zero(&m->x, eddy__arm64_is_wide(j->t), n);
}

static void choose_float(maker *m, const job *j, uint32_t d, uint32_t n,
                         uint32_t k, uint32_t condition)
{
    eddy__arm64_emit_choose_float(&m->x, eddy__arm64_is_wide(j->t), d, n, k,
                                  condition);
}

/* 1 by x, or by its root: `detail`. */
enum { BY_ITSELF, BY_ROOT };

static void emit_inverse(maker *m, job *j)
{
    uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    if (j->detail == BY_ROOT) {
        emit3(m, j, EDDY__ARM64_FSQRT, F0, a, 0);
        a = F0;
    }
    set_float(m, j, F1, FLOAT_ONE);
    emit3(m, j, EDDY__ARM64_FDIV, to, F1, a);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* `detail`: which operand is looked at. */
enum { BY_A, BY_B };

/* x op y, and 0 where one of them is 0. */
static void emit_unless_zero(maker *m, job *j, eddy__arm64_op op)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t b = eddy__arm64_hold(m, j->t, j->b, F1);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_zero(m, j, j->detail == BY_A ? a : b);
    emit3(m, j, op, F0, a, b);
    set_zero(m, j, F1);
    choose_float(m, j, to, F1, F0, EDDY__ARM64_EQ);
    eddy__arm64_put(m, j->t, j->to, to);
}

static void emit_quotient_or_zero(maker *m, job *j)
{
    emit_unless_zero(m, j, EDDY__ARM64_FDIV);
}

static void emit_product_or_zero(maker *m, job *j)
{
    emit_unless_zero(m, j, EDDY__ARM64_FMUL);
}

/* `detail`: the rounding. */
static void emit_rounded_quotient(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t b = eddy__arm64_hold(m, j->t, j->b, F1);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, EDDY__ARM64_FDIV, F0, a, b);
    emit3(m, j, (eddy__arm64_op)j->detail, to, F0, 0);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* 1 with the sign of x where that is not 0, else |x|, which may be NaN. */
static void emit_float_sign(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    compare_zero(m, j, a);
    emit3(m, j, EDDY__ARM64_FABS, F0, a, 0);
    set_float(m, j, F1, FLOAT_ONE);
    choose_float(m, j, F0, F1, F0, EDDY__ARM64_GT);
    set_float(m, j, F1, FLOAT_MINUS_ONE);
    choose_float(m, j, to, F1, F0, EDDY__ARM64_MI);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* x / (|x| + 1) */
static void emit_softsign(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, EDDY__ARM64_FABS, F1, a, 0);
    set_float(m, j, F2, FLOAT_ONE);
    emit3(m, j, EDDY__ARM64_FADD, F1, F1, F2);
    emit3(m, j, EDDY__ARM64_FDIV, to, a, F1);
    eddy__arm64_put(m, j->t, j->to, to);
}

/*
 * What is chosen here is made a 0 of its sign if it counts as 0: the greater of
 * two that are the same is that, and all else stays.
 */
static void put_flushed(maker *m, job *j, uint32_t from)
{
    const uint32_t to = eddy__arm64_target(j->t, j->to);

    emit3(m, j, EDDY__ARM64_FMAX, to, from, from);
    eddy__arm64_put(m, j->t, j->to, to);
}

/* x where it is not below 0, which NaN is not either. */
static void emit_float_relu(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

    compare_zero(m, j, a);
    set_zero(m, j, F1);
    choose_float(m, j, F1, F1, a, EDDY__ARM64_MI);
    put_flushed(m, j, F1);
}

/* The same, and no more than 6. */
static void emit_float_relu6(maker *m, job *j)
{
    const bool wide = eddy__arm64_is_wide(j->t);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

    compare_zero(m, j, a);
    set_zero(m, j, F1);
    choose_float(m, j, F1, F1, a, EDDY__ARM64_MI);
    set_float(m, j, F2, FLOAT_SIX);
    eddy__arm64_emit_compare_floats(&m->x, wide, F1, F2);
    choose_float(m, j, F1, F2, F1, EDDY__ARM64_GT);
    put_flushed(m, j, F1);
}

/* `detail`: when x is taken; and if it is NaN. */
static void emit_float_choice(maker *m, job *j)
{
    const bool wide = eddy__arm64_is_wide(j->t);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);
    const uint32_t b = eddy__arm64_hold(m, j->t, j->b, F1);

    eddy__arm64_emit_compare_floats(&m->x, wide, a, b);
    choose_float(m, j, F1, a, b, j->detail);
    eddy__arm64_emit_compare_floats(&m->x, wide, a, a);
    choose_float(m, j, F1, a, F1, EDDY__ARM64_VS);
    put_flushed(m, j, F1);
}

static void emit_is_nan(maker *m, job *j)
{
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

    eddy__arm64_emit_compare_floats(&m->x, eddy__arm64_is_wide(j->t), a, a);
    put_answer(m, j, EDDY__ARM64_VS);
}

/*
 * The bits of x without the sign, moved up by one, against those of infinity;
 * `detail`: when it is.
 */
static void emit_by_exponent(maker *m, job *j)
{
    const bool wide = eddy__arm64_is_wide(j->t);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

    eddy__arm64_emit_cross(&m->x, EDDY__ARM64_AS_BITS, wide, wide, T0, a);
    eddy__arm64_emit_shift(&m->x, EDDY__ARM64_LSL, wide, T0, T0, 1);
    eddy__arm64_emit_mov_number(
        &m->x, T1, wide ? UINT64_C(0xffe0) << 48 : UINT64_C(0xff00) << 16);
    compare_regs(m, j, T0, T1);
    put_answer(m, j, j->detail);
}

/* ---- casts: `t` is what is cast, `detail` the dtype that it becomes ---- */

/* x != 0 */
static void emit_to_bool(maker *m, job *j)
{
    if (j->t->is_float)
        compare_zero(m, j, eddy__arm64_hold(m, j->t, j->a, F0));
    else
        compare_number(m, j, eddy__arm64_hold(m, j->t, j->a, T0), 0);
    put_answer(m, j, EDDY__ARM64_NE);
}

static void emit_int_to_float(maker *m, job *j)
{
    const eddy__arm64_type *to = eddy__arm64_type_of(j->detail);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0),
                   f = eddy__arm64_target(to, j->to);

    eddy__arm64_emit_cross(
        &m->x, j->t->is_signed ? EDDY__ARM64_SCVTF : EDDY__ARM64_UCVTF,
        eddy__arm64_is_wide(j->t), eddy__arm64_is_wide(to), f, a);
    eddy__arm64_put(m, to, j->to, f);
}

/* 2^n, in F1. */
static void set_power(maker *m, const job *j, uint32_t n)
{
    const bool wide = eddy__arm64_is_wide(j->t);

    eddy__arm64_emit_mov_number(&m->x, T1,
                                wide ? (uint64_t)(1023 + n) << 52
                                     : (uint64_t)(127 + n) << 23);
    eddy__arm64_emit_cross(&m->x, EDDY__ARM64_OF_BITS, wide, wide, F1, T1);
}

/*
 * What does not fit is the least integer of the width that is converted to.
 * The processor gives that for what is too small; for what is too large, and
 * for NaN, it is put in place of what the processor gives.
 */
static void emit_float_to_int(maker *m, job *j)
{
    const eddy__arm64_type *to = eddy__arm64_type_of(j->detail);
    const bool is_long = to->size == 8 || (to->size == 4 && !to->is_signed);
    const bool has_high = to->size == 8 && !to->is_signed;
    const bool wide = eddy__arm64_is_wide(j->t);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

    eddy__arm64_emit_cross(&m->x, EDDY__ARM64_FCVTZS, is_long, wide, T0, a);
    if (has_high) {
        /* With the upper bit, too. */
        eddy__arm64_emit_cross(&m->x, EDDY__ARM64_FCVTZU, true, wide, T2, a);
        compare_zero(m, j, a);
        eddy__arm64_emit_choice(&m->x, EDDY__ARM64_CSEL + EDDY__ARM64_GE, true,
                                T0, T2, T0);
    }
    set_power(m, j, has_high ? 64 : is_long ? 63 : 31);
    eddy__arm64_emit_compare_floats(&m->x, wide, a, F1);
    eddy__arm64_emit_mov_number(&m->x, T1, UINT64_C(1) << (is_long ? 63 : 31));
    eddy__arm64_emit_choice(&m->x, EDDY__ARM64_CSEL + EDDY__ARM64_MI, is_long,
                            T0, T0, T1);
    eddy__arm64_put(m, to, j->to, T0);
}

static void emit_float_to_float(maker *m, job *j)
{
    const eddy__arm64_type *to = eddy__arm64_type_of(j->detail);
    const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0),
                   f = eddy__arm64_target(to, j->to);

    if (to->size != j->t->size)
        eddy__arm64_emit_convert(&m->x, eddy__arm64_is_wide(to), f, a);
    else
        eddy__arm64_move_to(m, to, f, a);
    eddy__arm64_put(m, to, j->to, f);
}

static void emit_int_to_int(maker *m, job *j)
{
    const eddy__arm64_type *to = eddy__arm64_type_of(j->detail);
    uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);

    if (to->size == 8 && j->t->size < 8 && j->t->is_signed) {
        eddy__arm64_emit_extend(&m->x, true, true, T0, a, 32);
        a = T0;
    } else if (to->size == 4 && j->t->size == 8) {
        /* Even to itself: what is above becomes 0. */
        eddy__arm64_emit_mov(&m->x, false, T0, a);
        a = T0;
    }
    eddy__arm64_put(m, to, j->to, a);
}

static void emit_cast(maker *m, job *j)
{
    const eddy__arm64_type *to = eddy__arm64_type_of(j->detail);

    if (j->detail == EDDY_BOOL)
        emit_to_bool(m, j);
    else if (j->t->is_float && to->is_float)
        emit_float_to_float(m, j);
    else if (j->t->is_float)
        emit_float_to_int(m, j);
    else if (to->is_float)
        emit_int_to_float(m, j);
    else
        emit_int_to_int(m, j);
}

/* ---- comparisons ---- */

/* Those of floats are false for NaN, but for the last. */
static uint32_t compare(maker *m, const job *j)
{
    static const uint8_t with_sign[] = {EDDY__ARM64_LT, EDDY__ARM64_LE,
                                        EDDY__ARM64_GT, EDDY__ARM64_GE,
                                        EDDY__ARM64_EQ, EDDY__ARM64_NE};
    static const uint8_t without[] = {EDDY__ARM64_LO, EDDY__ARM64_LS,
                                      EDDY__ARM64_HI, EDDY__ARM64_HS,
                                      EDDY__ARM64_EQ, EDDY__ARM64_NE};
    static const uint8_t of_floats[] = {EDDY__ARM64_MI, EDDY__ARM64_LS,
                                        EDDY__ARM64_GT, EDDY__ARM64_GE,
                                        EDDY__ARM64_EQ, EDDY__ARM64_NE};

    if (j->t->is_float) {
        const uint32_t a = eddy__arm64_hold(m, j->t, j->a, F0);

        eddy__arm64_emit_compare_floats(&m->x, eddy__arm64_is_wide(j->t), a,
                                        eddy__arm64_hold(m, j->t, j->b, F1));
        return of_floats[j->detail];
    } else {
        const uint32_t a = eddy__arm64_hold(m, j->t, j->a, T0);

        compare_regs(m, j, a, eddy__arm64_hold(m, j->t, j->b, T1));
        return (j->t->is_signed ? with_sign : without)[j->detail];
    }
}

static void emit_comparison(maker *m, job *j)
{
    put_answer(m, j, compare(m, j));
}

/* ---- the table ---- */

typedef struct row {
    emit_fn emit; /* NULL: a call of its function */
    uint8_t detail;
    uint8_t dtype; /* of the operands */
} row;

/* clang-format off */
static const row rows[EDDY__LINEAR_N_OPS] = {
    CAST_INT(F32, EDDY_FLOAT32)
    CAST_INT(F64, EDDY_FLOAT64)
    CAST_INT(I8, EDDY_INT8)
    CAST_INT(I16, EDDY_INT16)
    CAST_INT(I32, EDDY_INT32)
    CAST_INT(I64, EDDY_INT64)
    CAST_INT(U8, EDDY_UINT8)
    CAST_INT(U16, EDDY_UINT16)
    CAST_INT(U32, EDDY_UINT32)
    CAST_INT(U64, EDDY_UINT64)
    CAST_INT(B, EDDY_BOOL)
    FLOATS(DivNoNan, emit_quotient_or_zero, BY_B)
    FLOATS(Xdivy, emit_quotient_or_zero, BY_A)
    FLOATS(MulNoNan, emit_product_or_zero, BY_B)
    FLOATS(Floor, emit_one, EDDY__ARM64_FRINTM)
    FLOATS(Ceil, emit_one, EDDY__ARM64_FRINTP)
    FLOATS(Round, emit_one, EDDY__ARM64_FRINTI)
    FLOATS(FloorDiv, emit_rounded_quotient, EDDY__ARM64_FRINTM)
    FLOATS(TruncateDiv, emit_rounded_quotient, EDDY__ARM64_FRINTZ)
    FLOATS(Sign, emit_float_sign, 0)
    FLOATS(Softsign, emit_softsign, 0)
    FLOATS(Relu6, emit_float_relu6, 0)
    INTS(Relu6, emit_int_relu6, 0)
    FLOATS(IsFinite, emit_by_exponent, EDDY__ARM64_LO)
    FLOATS(IsInf, emit_by_exponent, EDDY__ARM64_EQ)
    INTS(AddV2, emit_pair, EDDY__ARM64_ADD)
    FLOATS(AddV2, emit_pair, EDDY__ARM64_FADD)
    INTS(Sub, emit_pair, EDDY__ARM64_SUB)
    FLOATS(Sub, emit_pair, EDDY__ARM64_FSUB)
    INTS(Mul, emit_pair, EDDY__ARM64_MUL)
    FLOATS(Mul, emit_pair, EDDY__ARM64_FMUL)
    INTS(Div, emit_int_quotient, TRUNCATED)
    FLOATS(Div, emit_pair, EDDY__ARM64_FDIV)
    FLOATS(RealDiv, emit_pair, EDDY__ARM64_FDIV)
    INTS(FloorDiv, emit_int_quotient, FLOORED)
    INTS(FloorMod, emit_int_quotient, FLOORED | REST)
    INTS(TruncateDiv, emit_int_quotient, TRUNCATED)
    SIGNED(TruncateMod, emit_int_quotient, REST)
    INTS(BitwiseAnd, emit_pair, EDDY__ARM64_AND)
    INTS(BitwiseOr, emit_pair, EDDY__ARM64_ORR)
    INTS(BitwiseXor, emit_pair, EDDY__ARM64_EOR)
    INTS(LeftShift, emit_int_shift, EDDY__ARM64_LSLV)
    SIGNED(RightShift, emit_int_shift, EDDY__ARM64_ASRV)
    UNSIGNED(RightShift, emit_int_shift, EDDY__ARM64_LSRV)
    SIGNED(Maximum, emit_int_choice, EDDY__ARM64_GT)
    UNSIGNED(Maximum, emit_int_choice, EDDY__ARM64_HI)
    FLOATS(Maximum, emit_float_choice, EDDY__ARM64_GT)
    SIGNED(Minimum, emit_int_choice, EDDY__ARM64_LT)
    UNSIGNED(Minimum, emit_int_choice, EDDY__ARM64_LO)
    FLOATS(Minimum, emit_float_choice, EDDY__ARM64_MI)
    SIGNED(SquaredDifference, emit_squared_difference, 0)
    FLOATS(SquaredDifference, emit_squared_difference, 0)
    SIGNED(Abs, emit_int_abs, 0)
    FLOATS(Abs, emit_one, EDDY__ARM64_FABS)
    SIGNED(Neg, emit_of_zero, EDDY__ARM64_SUB)
    FLOATS(Neg, emit_one, EDDY__ARM64_FNEG)
    INTS(Invert, emit_of_zero, EDDY__ARM64_ORN)
    FLOATS(Reciprocal, emit_inverse, BY_ITSELF)
    SIGNED(Relu, emit_int_relu, 0)
    UNSIGNED(Relu, emit_same, 0)
    FLOATS(Relu, emit_float_relu, 0)
    SIGNED(Round, emit_same, 0)
    FLOATS(Rsqrt, emit_inverse, BY_ROOT)
    SIGNED(Sign, emit_int_sign, 0)
    FLOATS(Sqrt, emit_one, EDDY__ARM64_FSQRT)
    INTS(Square, emit_square, EDDY__ARM64_MUL)
    FLOATS(Square, emit_square, EDDY__ARM64_FMUL)
    FLOATS(IsNan, emit_is_nan, 0)
    ROW(LogicalAnd, B, EDDY_BOOL, emit_pair, EDDY__ARM64_AND)
    ROW(LogicalOr, B, EDDY_BOOL, emit_pair, EDDY__ARM64_ORR)
    ROW(LogicalNot, B, EDDY_BOOL, emit_not, 0)
    COMPARISON(Less, LESS)
    COMPARISON(LessEqual, LESS_EQUAL)
    COMPARISON(Greater, GREATER)
    COMPARISON(GreaterEqual, GREATER_EQUAL)
    COMPARISON(Equal, EQUAL)
    COMPARISON(NotEqual, NOT_EQUAL)
    BOTH_ROWS(Equal, B, EDDY_BOOL, EQUAL)
    BOTH_ROWS(NotEqual, B, EDDY_BOOL, NOT_EQUAL)
};
/* clang-format on */

/* ---- moves and choices ---- */

bool eddy__arm64_has(uint32_t op)
{
    return op == EDDY__LINEAR_MOVE || eddy__linear_is_select(op) ||
           rows[op].emit;
}

/* a if the condition is true, else b: without a branch. */
static void emit_select(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));
    const eddy__arm64_type *t =
        r->class < EDDY__CLASS_INT
            ? eddy__arm64_bits_of(1u << (c->op - EDDY__LINEAR_SELECT_8))
            : eddy__arm64_type_of(r->dtype);
    const eddy__arm64_place to = eddy__arm64_operand_at(m, c->to);
    const uint32_t a = eddy__arm64_hold(m, t, eddy__arm64_operand_at(m, c->a),
                                        t->is_float ? F0 : T0);
    const uint32_t b = eddy__arm64_hold(m, t, eddy__arm64_operand_at(m, c->b),
                                        t->is_float ? F1 : T1);
    const uint32_t condition = eddy__arm64_hold(
        m, &eddy__arm64_u8,
        eddy__arm64_operand_at(m, c->aux * (uint32_t)sizeof(eddy__value)), T2);
    const uint32_t reg = eddy__arm64_target(t, to);
    const job j = {.t = t};

    eddy__arm64_emit_subs_number(&m->x, false, ZERO, condition, 0);
    if (t->is_float)
        choose_float(m, &j, reg, a, b, EDDY__ARM64_NE);
    else
        choose(m, &j, reg, a, b, EDDY__ARM64_NE);
    eddy__arm64_put(m, t, to, reg);
}

/* Of eight bytes, whatever they are. */
static void emit_move(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));

    emit_move_of(m,
                 r->class == EDDY__CLASS_WORD ? &eddy__arm64_u64
                                              : eddy__arm64_type_of(r->dtype),
                 eddy__arm64_operand_at(m, c->to),
                 eddy__arm64_operand_at(m, c->a));
}

/* ---- jobs ---- */

/* The value of an integer, extended as it is in registers. */
static int64_t value_of(const eddy__arm64_type *t, const eddy__value *v)
{
    switch (t->size) {
    case 1:
        return t->is_signed ? v->as.i8 : v->as.u8;
    case 2:
        return t->is_signed ? v->as.i16 : v->as.u16;
    case 4:
        return t->is_signed ? (int64_t)v->as.i32 : (int64_t)v->as.u32;
    default:
        return v->as.i64;
    }
}

static job job_of(const maker *m, const eddy__linear_code *c)
{
    const char *operands = eddy__linear_operands(c->op);
    const row *r = &rows[c->op];
    job j = {.t = eddy__arm64_type_of(r->dtype), .detail = r->detail};

    if (operands[0] == 'w')
        j.to = eddy__arm64_operand_at(m, c->to);
    j.a = eddy__arm64_operand_at(m, c->a);
    if (operands[2] != 'r')
        return j;
    j.b = eddy__arm64_operand_at(m, c->b);
    if (!j.t->is_float &&
        eddy__native_range_of(&m->region, eddy__native_number_of(c->b))
            ->is_constant) {
        j.is_known = true;
        j.known = value_of(
            j.t, &m->region.linear->start[eddy__native_number_of(c->b)]);
    }
    return j;
}

bool eddy__arm64_emit_op(eddy__arm64_maker *m, const eddy__linear_code *c,
                         size_t *out_fault)
{
    job j;

    if (c->op == EDDY__LINEAR_MOVE) {
        emit_move(m, c);
        return false;
    }
    if (eddy__linear_is_select(c->op)) {
        emit_select(m, c);
        return false;
    }
    j = job_of(m, c);
    rows[c->op].emit(m, &j);
    *out_fault = j.fault;
    return j.may_fail;
}

uint32_t eddy__arm64_emit_test(eddy__arm64_maker *m, const eddy__linear_code *c)
{
    const job j = job_of(m, c);

    return compare(m, &j);
}

#else

/* So that the file has something in it. */
typedef int eddy__native_arm64_ops_are_elsewhere;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for the typed operations of the linear form on x86-64, with the bits of
 * their expressions in the tables of ops/math.  An operation that has no row
 * here is a call of its function.
 *
 * The home of what is written may be that of an operand, so all operands have
 * been read by the time it is.
 */
#include "runtime/native/x86_64_packs.h"

#include "core/value/tape.h"
#include "runtime/native/ops_table.h"

/* Registers for use within an instruction. */
enum { XMM0, XMM1, XMM2 };

typedef struct type {
    uint8_t size;
    bool is_signed, is_float;
    eddy__x86_op load, store; /* of floats */
} type;

static const type I8 = {1, true, false, 0, 0};
static const type I16 = {2, true, false, 0, 0};
static const type I32 = {4, true, false, 0, 0};
static const type I64 = {8, true, false, 0, 0};
static const type U8 = {1, false, false, 0, 0};
static const type U16 = {2, false, false, 0, 0};
static const type U32 = {4, false, false, 0, 0};
static const type U64 = {8, false, false, 0, 0};
static const type F32 = {4, true, true, EDDY__X86_LOAD_F32,
                         EDDY__X86_STORE_F32};
static const type F64 = {8, true, true, EDDY__X86_LOAD_F64,
                         EDDY__X86_STORE_F64};

static const type *type_of(uint32_t dtype)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return &F32;
    case EDDY_FLOAT64:
        return &F64;
    case EDDY_INT8:
        return &I8;
    case EDDY_INT16:
        return &I16;
    case EDDY_INT32:
        return &I32;
    case EDDY_INT64:
        return &I64;
    case EDDY_BOOL:
    case EDDY_UINT8:
        return &U8;
    case EDDY_UINT16:
        return &U16;
    case EDDY_UINT32:
        return &U32;
    default:
        return &U64;
    }
}

typedef eddy__x86_maker maker;

static bool is_wide(const type *t)
{
    return t->size == 8;
}

/* ---- where registers are ---- */

/* The payload in the file. */
static eddy__x86_place memory_of(uint32_t number)
{
    return eddy__x86_memory(
        (int32_t)(number * sizeof(eddy__value) + offsetof(eddy__value, as)));
}

static eddy__x86_place place_of(const maker *m, uint32_t offset)
{
    return eddy__x86_place_of(m, eddy__native_number_of(offset));
}

static bool is_at(eddy__x86_place place, uint32_t reg)
{
    return !place.is_memory && place.reg == reg;
}

/* ---- integers: load, store, extend ---- */

static void move_int(maker *m, uint32_t to, uint32_t from)
{
    if (to != from)
        eddy__x86_emit(&m->x, EDDY__X86_MOV, true, to, eddy__x86_reg(from));
}

/* `place`, extended to at least four bytes. */
static void extend(maker *m, const type *t, uint32_t to, eddy__x86_place place)
{
    static const eddy__x86_op ops[2][2] = {
        {EDDY__X86_MOVZX8, EDDY__X86_MOVZX16},
        {EDDY__X86_MOVSX8, EDDY__X86_MOVSX16}};

    if (t->size < 4)
        eddy__x86_emit(&m->x, ops[t->is_signed][t->size == 2], false, to,
                       place);
    else if (!is_at(place, to))
        eddy__x86_emit(&m->x, EDDY__X86_MOV, is_wide(t), to, place);
}

/* What stands in a home is extended already. */
static void get_int(maker *m, const type *t, uint32_t to, eddy__x86_place from)
{
    if (from.is_memory)
        extend(m, t, to, from);
    else
        move_int(m, to, from.reg);
}

/* A register that holds it: its home, or `spare`. */
static uint32_t hold_int(maker *m, const type *t, eddy__x86_place from,
                         uint32_t spare)
{
    if (!from.is_memory)
        return from.reg;
    extend(m, t, spare, from);
    return spare;
}

/* What may stand as the last operand: memory of its whole width will do. */
static eddy__x86_place last_int(maker *m, const type *t, eddy__x86_place from,
                                uint32_t spare)
{
    if (from.is_memory && t->size < 4)
        return eddy__x86_reg(hold_int(m, t, from, spare));
    return from;
}

static void store_int(maker *m, const type *t, eddy__x86_place to, uint32_t reg)
{
    static const eddy__x86_op ops[] = {
        [1] = EDDY__X86_STORE8,
        [2] = EDDY__X86_STORE16,
        [4] = EDDY__X86_STORE,
        [8] = EDDY__X86_STORE,
    };

    eddy__x86_emit(&m->x, ops[t->size], is_wide(t), reg, to);
}

/* What has been computed in `reg`, at four bytes at least, is narrowed. */
static void put_int(maker *m, const type *t, eddy__x86_place to, uint32_t reg)
{
    if (to.is_memory)
        store_int(m, t, to, reg);
    else
        extend(m, t, to.reg, eddy__x86_reg(reg));
}

/* ---- floats ---- */

static void get_float(maker *m, const type *t, uint32_t to,
                      eddy__x86_place from)
{
    if (from.is_memory)
        eddy__x86_emit(&m->x, t->load, false, to, from);
    else if (from.reg != to)
        eddy__x86_emit(&m->x, EDDY__X86_MOVAPS, false, to, from);
}

static void put_float(maker *m, const type *t, eddy__x86_place to, uint32_t reg)
{
    if (to.is_memory)
        eddy__x86_emit(&m->x, t->store, false, reg, to);
    else
        get_float(m, t, to.reg, eddy__x86_reg(reg));
}

static uint32_t hold_float(maker *m, const type *t, eddy__x86_place from,
                           uint32_t spare)
{
    if (!from.is_memory)
        return from.reg;
    get_float(m, t, spare, from);
    return spare;
}

static void between(maker *m, eddy__x86_op op, uint32_t to, uint32_t from)
{
    eddy__x86_emit(&m->x, op, false, to, eddy__x86_reg(from));
}

void eddy__x86_load(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_range *r = eddy__native_range_of(&m->region, number);
    const type *t = type_of(r->dtype);

    if (r->class >= EDDY__CLASS_PACK)
        eddy__x86_load_pack(m, number);
    else if (t->is_float)
        get_float(m, t, eddy__x86_home(m, r), memory_of(number));
    else
        get_int(m, t, eddy__x86_home(m, r), memory_of(number));
}

void eddy__x86_store(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_range *r = eddy__native_range_of(&m->region, number);
    const type *t = type_of(r->dtype);

    if (r->class >= EDDY__CLASS_PACK)
        eddy__x86_store_pack(m, number);
    else if (t->is_float)
        put_float(m, t, memory_of(number), eddy__x86_home(m, r));
    else
        store_int(m, t, memory_of(number), eddy__x86_home(m, r));
}

/* ---- operations ---- */

/* One that is to be done: its operands, their type, and what its row says. */
typedef struct job {
    eddy__x86_place to, a, b;
    const type *t;
    uint8_t detail;
    /* b is an integer that is known, and which one. */
    bool is_known;
    int64_t known;
    size_t fault;
} job;

typedef void (*emit_fn)(maker *m, job *j);

/* Where the result is made: at home, unless that is still to be read. */
static uint32_t target(const job *j, uint32_t spare)
{
    return j->to.is_memory || is_at(j->b, j->to.reg) ? spare : j->to.reg;
}

/* Where the home of the result is that of b, which may as well come first. */
static void swap_for_home(job *j)
{
    const eddy__x86_place a = j->a;

    if (j->to.is_memory || !is_at(j->b, j->to.reg))
        return;
    j->a = j->b;
    j->b = a;
}

/* `detail`: the instruction.  x op y */
static void emit_int(maker *m, job *j)
{
    const eddy__x86_op op = (eddy__x86_op)j->detail;
    uint32_t to;
    eddy__x86_place b;

    if (op != EDDY__X86_SUB)
        swap_for_home(j);
    to = target(j, EDDY__RAX);
    b = last_int(m, j->t, j->b, EDDY__RCX);
    if (is_at(b, to) && !is_at(j->a, to))
        to = EDDY__RAX;
    get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, op, is_wide(j->t), to, b);
    if (to == EDDY__RAX || j->t->size < 4)
        put_int(m, j->t, j->to, to);
}

/* `detail`: the instruction. */
static void emit_int_alone(maker *m, job *j)
{
    get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit_alone(&m->x, (eddy__x86_op)j->detail, is_wide(j->t),
                         eddy__x86_reg(EDDY__RAX));
    put_int(m, j->t, j->to, EDDY__RAX);
}

/* The negative one, unless that is negative. */
static void emit_int_abs(maker *m, job *j)
{
    const uint32_t a = hold_int(m, j->t, j->a, EDDY__RCX);

    move_int(m, EDDY__RAX, a);
    eddy__x86_emit_alone(&m->x, EDDY__X86_NEG, is_wide(j->t),
                         eddy__x86_reg(EDDY__RAX));
    eddy__x86_emit(&m->x, EDDY__X86_CMOVS, is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(a));
    put_int(m, j->t, j->to, EDDY__RAX);
}

static void emit_int_square(maker *m, job *j)
{
    get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    put_int(m, j->t, j->to, EDDY__RAX);
}

static void emit_int_squared_difference(maker *m, job *j)
{
    const eddy__x86_place b = last_int(m, j->t, j->b, EDDY__RCX);

    get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_SUB, is_wide(j->t), EDDY__RAX, b);
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    put_int(m, j->t, j->to, EDDY__RAX);
}

static void emit_int_sign(maker *m, job *j)
{
    const uint32_t a = hold_int(m, j->t, j->a, EDDY__RAX);

    eddy__x86_emit(&m->x, EDDY__X86_TEST, is_wide(j->t), a, eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_GREATER, EDDY__RCX);
    eddy__x86_emit_set(&m->x, EDDY__IF_SIGN, EDDY__RDX);
    extend(m, &U8, EDDY__RAX, eddy__x86_reg(EDDY__RCX));
    extend(m, &U8, EDDY__RDX, eddy__x86_reg(EDDY__RDX));
    /* Eight bytes, so that -1 is that in all of them. */
    eddy__x86_emit(&m->x, EDDY__X86_SUB, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RDX));
    put_int(m, j->t, j->to, EDDY__RAX);
}

/* `detail`: when b is taken; by the sign, or not. */
static void emit_int_choice(maker *m, job *j)
{
    eddy__x86_place b;
    uint32_t to;

    swap_for_home(j);
    to = target(j, EDDY__RAX);
    b = last_int(m, j->t, j->b, EDDY__RCX);
    get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_CMP, is_wide(j->t), to, b);
    eddy__x86_emit(&m->x, (eddy__x86_op)j->detail, is_wide(j->t), to, b);
    if (to == EDDY__RAX)
        put_int(m, j->t, j->to, to);
}

/* The least of relu and 6. */
static void emit_int_relu6(maker *m, job *j)
{
    const bool wide = is_wide(j->t);

    get_int(m, j->t, EDDY__RCX, j->a);
    if (j->t->is_signed) {
        eddy__x86_emit_mov_number(&m->x, EDDY__RAX, 0);
        eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RCX));
        eddy__x86_emit(&m->x, EDDY__X86_CMOVS, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RAX));
    }
    eddy__x86_emit_mov_number(&m->x, EDDY__RAX, 6);
    eddy__x86_emit(&m->x, EDDY__X86_CMP, wide, EDDY__RCX,
                   eddy__x86_reg(EDDY__RAX));
    eddy__x86_emit(&m->x, j->t->is_signed ? EDDY__X86_CMOVL : EDDY__X86_CMOVB,
                   wide, EDDY__RAX, eddy__x86_reg(EDDY__RCX));
    put_int(m, j->t, j->to, EDDY__RAX);
}

static void emit_int_relu(maker *m, job *j)
{
    const uint32_t a = hold_int(m, j->t, j->a, EDDY__RCX);

    eddy__x86_emit_mov_number(&m->x, EDDY__RAX, 0);
    eddy__x86_emit(&m->x, EDDY__X86_TEST, is_wide(j->t), a, eddy__x86_reg(a));
    eddy__x86_emit(&m->x, EDDY__X86_CMOVG, is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(a));
    put_int(m, j->t, j->to, EDDY__RAX);
}

/* `detail`: the instruction; how far is brought to what the width has. */
static void emit_int_shift(maker *m, job *j)
{
    const type *t = j->t;
    const bool wide = is_wide(t);

    get_int(m, t, EDDY__RCX, j->b);
    if (t->is_signed) {
        eddy__x86_emit_mov_number(&m->x, EDDY__RDX, 0);
        eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RCX));
        eddy__x86_emit(&m->x, EDDY__X86_CMOVS, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RDX));
    }
    eddy__x86_emit_mov_number(&m->x, EDDY__RDX, t->size * 8u - 1);
    eddy__x86_emit(&m->x, EDDY__X86_CMP, wide, EDDY__RCX,
                   eddy__x86_reg(EDDY__RDX));
    eddy__x86_emit(&m->x, t->is_signed ? EDDY__X86_CMOVG : EDDY__X86_CMOVA,
                   wide, EDDY__RCX, eddy__x86_reg(EDDY__RDX));
    get_int(m, t, EDDY__RAX, j->a);
    eddy__x86_emit_alone(&m->x, (eddy__x86_op)j->detail, wide,
                         eddy__x86_reg(EDDY__RAX));
    put_int(m, t, j->to, EDDY__RAX);
}

/* `detail` of quotients and remainders. */
enum { TRUNCATED = 0, FLOORED = 1, REST = 2 };

/*
 * Behind a division of numbers with signs: the quotient in rax, the rest, which
 * has the sign of x, in rdx, y in rcx.
 */
static void emit_floor(maker *m, job *j)
{
    const bool wide = is_wide(j->t), is_rest = (j->detail & REST) != 0;
    size_t is_whole, is_same;

    eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RDX,
                   eddy__x86_reg(EDDY__RDX));
    is_whole = eddy__x86_emit_jump_if(&m->x, EDDY__IF_EQUAL);
    if (is_rest) {
        move_int(m, EDDY__RAX, EDDY__RDX);
        eddy__x86_emit(&m->x, EDDY__X86_XOR, wide, EDDY__RAX,
                       eddy__x86_reg(EDDY__RCX));
    } else {
        eddy__x86_emit(&m->x, EDDY__X86_XOR, wide, EDDY__RDX,
                       eddy__x86_reg(EDDY__RCX));
    }
    is_same = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_SIGN);
    if (is_rest)
        eddy__x86_emit(&m->x, EDDY__X86_ADD, wide, EDDY__RDX,
                       eddy__x86_reg(EDDY__RCX));
    else
        eddy__x86_emit_number(&m->x, EDDY__X86_SUB, wide,
                              eddy__x86_reg(EDDY__RAX), 1);
    eddy__x86_aim(&m->x, is_whole, m->x.n);
    eddy__x86_aim(&m->x, is_same, m->x.n);
}

/* The least number by -1 is no quotient: the processor would stop there. */
static size_t emit_by_minus_one(maker *m, job *j)
{
    const bool wide = is_wide(j->t);
    size_t is_other, done;

    eddy__x86_emit_number(&m->x, EDDY__X86_CMP, wide, eddy__x86_reg(EDDY__RCX),
                          -1);
    is_other = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_EQUAL);
    if (j->detail & REST)
        eddy__x86_emit_mov_number(&m->x, EDDY__RDX, 0);
    else
        eddy__x86_emit_alone(&m->x, EDDY__X86_NEG, wide,
                             eddy__x86_reg(EDDY__RAX));
    done = eddy__x86_emit_jump(&m->x);
    eddy__x86_aim(&m->x, is_other, m->x.n);
    return done;
}

/* By a power of two, rounded down: by bits alone. */
static bool emit_power_of_two(maker *m, job *j)
{
    const bool wide = is_wide(j->t), is_rest = (j->detail & REST) != 0;
    uint32_t n = 0;

    if (!j->is_known || j->known <= 0 || j->known > 1 << 30 ||
        (j->known & (j->known - 1)) != 0 ||
        (j->t->is_signed && !(j->detail & FLOORED)))
        return false;
    while (j->known >> (n + 1) != 0)
        n++;
    get_int(m, j->t, EDDY__RAX, j->a);
    if (is_rest) {
        eddy__x86_emit_number(&m->x, EDDY__X86_AND, wide,
                              eddy__x86_reg(EDDY__RAX),
                              (int32_t)(j->known - 1));
    } else {
        eddy__x86_emit_mov_number(&m->x, EDDY__RCX, n);
        eddy__x86_emit_alone(&m->x,
                             j->t->is_signed ? EDDY__X86_SAR : EDDY__X86_SHR,
                             wide, eddy__x86_reg(EDDY__RAX));
    }
    put_int(m, j->t, j->to, EDDY__RAX);
    return true;
}

/* Divisors that are given with the graph say no more of the code than this. */
#define MOST_DIVISOR 1024

/* The quotient by a known number is in rax; or the rest is wanted. */
static void put_quotient(maker *m, job *j)
{
    const bool is_rest = (j->detail & REST) != 0;
    const bool is_home = !j->to.is_memory && j->t->size == 4;
    const uint32_t to = is_home ? j->to.reg : EDDY__RAX;

    if (!is_rest) {
        put_int(m, j->t, j->to, EDDY__RAX);
        return;
    }
    eddy__x86_emit_imul_number(&m->x, EDDY__RDX, EDDY__RAX, (int32_t)j->known);
    get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_SUB, false, to, eddy__x86_reg(EDDY__RDX));
    if (!is_home)
        put_int(m, j->t, j->to, to);
}

/*
 * The quotient by d, rounded down, of x of any sign: (x M + 2^k / 2d) / 2^k,
 * where M is 2^k / d to the nearest.  What x M / 2^k is wrong by, 2^30 / 2^k at
 * most, is less than 1 / 2d where 2^k is at least 2^31 (d + 1).  So the sum
 * lies between x / d and the next multiple of 1 / d, and is rounded as x / d
 * is.
 */
static void emit_floored_product(maker *m, job *j, uint32_t k)
{
    const uint64_t d = (uint64_t)j->known, one = UINT64_C(1) << k;
    const eddy__x86_place rax = eddy__x86_reg(EDDY__RAX);

    if (j->t->size == 4) {
        eddy__x86_emit(&m->x, EDDY__X86_MOVSXD, true, EDDY__RAX, j->a);
    } else {
        get_int(m, j->t, EDDY__RAX, j->a);
        eddy__x86_emit(&m->x, EDDY__X86_MOVSXD, true, EDDY__RAX, rax);
    }
    eddy__x86_emit_mov_number(&m->x, EDDY__RCX, (uint32_t)((one + d / 2) / d));
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    eddy__x86_emit_number(&m->x, EDDY__X86_ADD, true, rax,
                          (int32_t)(one / d / 2));
    eddy__x86_emit_sar(&m->x, true, EDDY__RAX, (uint8_t)k);
    put_quotient(m, j);
}

/*
 * By a small number that is known: times 2^k / d + 1, by 2^k.  With y < 2^31
 * (or 2^31 itself, which only what is rounded towards 0 can have) and 2^k at
 * least 2^31 d that is the quotient, rounded down, of y, which is made from x
 * by turning its sign, as the quotient is turned back.
 */
static bool emit_by_product(maker *m, job *j)
{
    const type *t = j->t;
    const bool by_sign = t->is_signed && !(j->detail & FLOORED);
    const eddy__x86_place rdx = eddy__x86_reg(EDDY__RDX);
    uint32_t k = 31;

    if (!j->is_known || j->known < 3 || j->known > MOST_DIVISOR ||
        t->size > 4 || (t->size == 4 && !t->is_signed))
        return false;
    while ((INT64_C(1) << (k - 31)) < j->known)
        k++;
    if (t->is_signed && !by_sign) {
        emit_floored_product(m, j, k);
        return true;
    }
    get_int(m, t, EDDY__RAX, j->a);
    if (by_sign) {
        eddy__x86_emit_sign_extend(&m->x, false);
        eddy__x86_emit(&m->x, EDDY__X86_XOR, false, EDDY__RAX, rdx);
        eddy__x86_emit(&m->x, EDDY__X86_SUB, false, EDDY__RAX, rdx);
    }
    eddy__x86_emit_mov_number(
        &m->x, EDDY__RCX,
        (uint32_t)((UINT64_C(1) << k) / (uint64_t)j->known + 1));
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    eddy__x86_emit_shr(&m->x, true, EDDY__RAX, (uint8_t)k);
    if (by_sign) {
        eddy__x86_emit(&m->x, EDDY__X86_XOR, false, EDDY__RAX, rdx);
        eddy__x86_emit(&m->x, EDDY__X86_SUB, false, EDDY__RAX, rdx);
    }
    put_quotient(m, j);
    return true;
}

/* `detail`: the above. */
static void emit_int_quotient(maker *m, job *j)
{
    const bool wide = is_wide(j->t);
    size_t done = 0;

    if (emit_power_of_two(m, j) || emit_by_product(m, j))
        return;
    get_int(m, j->t, EDDY__RCX, j->b);
    if (!j->is_known || j->known == 0) {
        eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RCX));
        j->fault = eddy__x86_emit_jump_if(&m->x, EDDY__IF_EQUAL);
    }
    get_int(m, j->t, EDDY__RAX, j->a);
    if (j->t->is_signed) {
        if (j->t->size >= 4 && (!j->is_known || j->known == -1))
            done = emit_by_minus_one(m, j);
        eddy__x86_emit_sign_extend(&m->x, wide);
        eddy__x86_emit_alone(&m->x, EDDY__X86_IDIV, wide,
                             eddy__x86_reg(EDDY__RCX));
        if (j->detail & FLOORED)
            emit_floor(m, j);
        if (done)
            eddy__x86_aim(&m->x, done, m->x.n);
    } else {
        eddy__x86_emit_mov_number(&m->x, EDDY__RDX, 0);
        eddy__x86_emit_alone(&m->x, EDDY__X86_DIV, wide,
                             eddy__x86_reg(EDDY__RCX));
    }
    put_int(m, j->t, j->to, j->detail & REST ? EDDY__RDX : EDDY__RAX);
}

static void emit_int_move(maker *m, job *j)
{
    if (!j->to.is_memory)
        get_int(m, j->t, j->to.reg, j->a);
    else
        store_int(m, j->t, j->to, hold_int(m, j->t, j->a, EDDY__RAX));
}

static void emit_not(maker *m, job *j)
{
    const uint32_t a = hold_int(m, j->t, j->a, EDDY__RAX);

    eddy__x86_emit(&m->x, EDDY__X86_TEST, false, a, eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_EQUAL, EDDY__RAX);
    put_int(m, j->t, j->to, EDDY__RAX);
}

/* ---- floats ---- */

/* `detail`: of float32; the one of float64 is the next. */
static eddy__x86_op float_op(const job *j)
{
    return (eddy__x86_op)(j->detail + (is_wide(j->t) ? 1 : 0));
}

/* x op y */
static void emit_float(maker *m, job *j)
{
    uint32_t to = target(j, XMM0);

    if (is_at(j->b, to) && !is_at(j->a, to))
        to = XMM0;
    get_float(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, float_op(j), false, to, j->b);
    if (to == XMM0)
        put_float(m, j->t, j->to, to);
}

static void emit_float_square(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    between(m, float_op(j), XMM0, XMM0);
    put_float(m, j->t, j->to, XMM0);
}

static void emit_float_squared_difference(maker *m, job *j)
{
    const bool wide = is_wide(j->t);

    get_float(m, j->t, XMM0, j->a);
    eddy__x86_emit(&m->x, wide ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32, false,
                   XMM0, j->b);
    between(m, wide ? EDDY__X86_MUL_F64 : EDDY__X86_MUL_F32, XMM0, XMM0);
    put_float(m, j->t, j->to, XMM0);
}

/* The root of a register, so that what else was in the target is no matter. */
static void emit_root(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    between(m, is_wide(j->t) ? EDDY__X86_SQRT_F64 : EDDY__X86_SQRT_F32, XMM0,
            XMM0);
}

static void emit_float_sqrt(maker *m, job *j)
{
    emit_root(m, j);
    put_float(m, j->t, j->to, XMM0);
}

/* 1 by what is in XMM0. */
static void emit_inverse(maker *m, job *j)
{
    const bool wide = is_wide(j->t);

    /* All bits, then those of the exponent of 1. */
    between(m, EDDY__X86_EQUAL32, XMM1, XMM1);
    eddy__x86_emit_shift(&m->x, wide, true, XMM1, wide ? 54 : 25);
    eddy__x86_emit_shift(&m->x, wide, false, XMM1, 2);
    between(m, wide ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32, XMM1, XMM0);
    put_float(m, j->t, j->to, XMM1);
}

static void emit_float_reciprocal(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    emit_inverse(m, j);
}

static void emit_float_rsqrt(maker *m, job *j)
{
    emit_root(m, j);
    emit_inverse(m, j);
}

/* The sign taken away, or turned: bits alone, so that denormals stay. */
static void emit_float_abs(maker *m, job *j)
{
    between(m, EDDY__X86_EQUAL32, XMM1, XMM1);
    eddy__x86_emit_shift(&m->x, is_wide(j->t), false, XMM1, 1);
    get_float(m, j->t, XMM0, j->a);
    between(m, EDDY__X86_ANDPS, XMM0, XMM1);
    put_float(m, j->t, j->to, XMM0);
}

static void emit_float_neg(maker *m, job *j)
{
    between(m, EDDY__X86_EQUAL32, XMM1, XMM1);
    eddy__x86_emit_shift(&m->x, is_wide(j->t), true, XMM1,
                         is_wide(j->t) ? 63 : 31);
    get_float(m, j->t, XMM0, j->a);
    between(m, EDDY__X86_XORPS, XMM0, XMM1);
    put_float(m, j->t, j->to, XMM0);
}

/* ---- floats, by bits and masks ---- */

static void set_bits(maker *m, uint32_t to)
{
    between(m, EDDY__X86_EQUAL32, to, to);
}

/* A number of so few bits that those of its upper half say all. */
static void set_float(maker *m, const type *t, uint32_t to, double number)
{
    union {
        double f64;
        uint64_t bits;
    } wide = {.f64 = number};
    union {
        float f32;
        uint32_t bits;
    } narrow = {.f32 = (float)number};

    eddy__x86_emit_mov_number(&m->x, EDDY__RAX,
                              is_wide(t) ? (uint32_t)(wide.bits >> 32)
                                         : narrow.bits);
    if (is_wide(t))
        eddy__x86_emit_shl(&m->x, true, EDDY__RAX, 32);
    eddy__x86_emit(&m->x, EDDY__X86_OF_BITS, is_wide(t), to,
                   eddy__x86_reg(EDDY__RAX));
}

/* `detail`: which operand is looked at, and the instruction. */
enum { BY_A, BY_B };

/* x op y, and 0 where one of them is 0. */
static void emit_unless_zero(maker *m, job *j, eddy__x86_op op, uint32_t which)
{
    get_float(m, j->t, XMM0, j->a);
    eddy__x86_emit(&m->x, op, false, XMM0, j->b);
    between(m, EDDY__X86_XORPS, XMM1, XMM1);
    eddy__x86_emit_relation(&m->x, is_wide(j->t), XMM1,
                            which == BY_A ? j->a : j->b,
                            EDDY__X86_IS_NOT_EQUAL);
    between(m, EDDY__X86_ANDPS, XMM0, XMM1);
    put_float(m, j->t, j->to, XMM0);
}

static void emit_quotient_or_zero(maker *m, job *j)
{
    emit_unless_zero(
        m, j, is_wide(j->t) ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32, j->detail);
}

static void emit_product_or_zero(maker *m, job *j)
{
    emit_unless_zero(
        m, j, is_wide(j->t) ? EDDY__X86_MUL_F64 : EDDY__X86_MUL_F32, j->detail);
}

/* `detail`: the rounding. */
static void emit_float_round(maker *m, job *j)
{
    const uint32_t a = hold_float(m, j->t, j->a, XMM0);

    eddy__x86_emit_round(&m->x, is_wide(j->t), XMM0, a,
                         (eddy__x86_rounding)j->detail);
    put_float(m, j->t, j->to, XMM0);
}

static void emit_rounded_quotient(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    eddy__x86_emit(&m->x, is_wide(j->t) ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32,
                   false, XMM0, j->b);
    eddy__x86_emit_round(&m->x, is_wide(j->t), XMM0, XMM0,
                         (eddy__x86_rounding)j->detail);
    put_float(m, j->t, j->to, XMM0);
}

/* |x| in XMM1, and its sign in XMM2. */
static void split_sign(maker *m, const job *j)
{
    const bool wide = is_wide(j->t);

    get_float(m, j->t, XMM0, j->a);
    set_bits(m, XMM1);
    eddy__x86_emit_shift(&m->x, wide, true, XMM1, wide ? 63 : 31);
    between(m, EDDY__X86_MOVAPS, XMM2, XMM1);
    between(m, EDDY__X86_ANDPS, XMM2, XMM0);
    between(m, EDDY__X86_ANDNPS, XMM1, XMM0);
}

/* 1 with the sign of x where 0 < |x|, else |x|: NaN, 0, and what counts as 0.
 */
static void emit_float_sign(maker *m, job *j)
{
    split_sign(m, j);
    set_float(m, j->t, XMM0, 1);
    between(m, EDDY__X86_ORPS, XMM2, XMM0);
    between(m, EDDY__X86_XORPS, XMM0, XMM0);
    eddy__x86_emit_relation(&m->x, is_wide(j->t), XMM0, eddy__x86_reg(XMM1),
                            EDDY__X86_IS_LESS);
    between(m, EDDY__X86_ANDPS, XMM2, XMM0);
    between(m, EDDY__X86_ANDNPS, XMM0, XMM1);
    between(m, EDDY__X86_ORPS, XMM0, XMM2);
    put_float(m, j->t, j->to, XMM0);
}

/* x / (|x| + 1) */
static void emit_softsign(maker *m, job *j)
{
    const bool wide = is_wide(j->t);

    split_sign(m, j);
    set_float(m, j->t, XMM2, 1);
    between(m, wide ? EDDY__X86_ADD_F64 : EDDY__X86_ADD_F32, XMM1, XMM2);
    between(m, wide ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32, XMM0, XMM1);
    put_float(m, j->t, j->to, XMM0);
}

/* The least of relu and 6; NaN is the second operand of both. */
static void emit_float_relu6(maker *m, job *j)
{
    const bool wide = is_wide(j->t);

    between(m, EDDY__X86_XORPS, XMM0, XMM0);
    eddy__x86_emit(&m->x, wide ? EDDY__X86_MAX_F64 : EDDY__X86_MAX_F32, false,
                   XMM0, j->a);
    set_float(m, j->t, XMM1, 6);
    between(m, wide ? EDDY__X86_MIN_F64 : EDDY__X86_MIN_F32, XMM1, XMM0);
    put_float(m, j->t, j->to, XMM1);
}

static void emit_ucomi(maker *m, const type *t, uint32_t a, eddy__x86_place b)
{
    eddy__x86_emit(&m->x,
                   is_wide(t) ? EDDY__X86_UCOMI_F64 : EDDY__X86_UCOMI_F32,
                   false, a, b);
}

/* `detail`: the instruction, which gives y if either is NaN. */
static void emit_float_choice(maker *m, job *j)
{
    const uint32_t a = hold_float(m, j->t, j->a, XMM1);
    size_t is_number;

    between(m, EDDY__X86_MOVAPS, XMM0, a);
    eddy__x86_emit(&m->x, float_op(j), false, XMM0, j->b);
    emit_ucomi(m, j->t, a, eddy__x86_reg(a));
    is_number = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NO_PARITY);
    between(m, EDDY__X86_MOVAPS, XMM0, a);
    eddy__x86_aim(&m->x, is_number, m->x.n);
    put_float(m, j->t, j->to, XMM0);
}

/* The larger of 0 and x, and x if that is NaN or a 0. */
static void emit_float_relu(maker *m, job *j)
{
    between(m, EDDY__X86_XORPS, XMM0, XMM0);
    eddy__x86_emit(&m->x, is_wide(j->t) ? EDDY__X86_MAX_F64 : EDDY__X86_MAX_F32,
                   false, XMM0, j->a);
    put_float(m, j->t, j->to, XMM0);
}

static void emit_is_nan(maker *m, job *j)
{
    const uint32_t a = hold_float(m, j->t, j->a, XMM0);

    emit_ucomi(m, j->t, a, eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RAX);
    put_int(m, &U8, j->to, EDDY__RAX);
}

/* x - x is a number if x is finite. */
static void emit_is_finite(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    between(m, is_wide(j->t) ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32, XMM0,
            XMM0);
    emit_ucomi(m, j->t, XMM0, eddy__x86_reg(XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RAX);
    put_int(m, &U8, j->to, EDDY__RAX);
}

/* x is a number, and x - x is none. */
static void emit_is_infinite(maker *m, job *j)
{
    get_float(m, j->t, XMM0, j->a);
    emit_ucomi(m, j->t, XMM0, eddy__x86_reg(XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RCX);
    between(m, is_wide(j->t) ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32, XMM0,
            XMM0);
    emit_ucomi(m, j->t, XMM0, eddy__x86_reg(XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RAX);
    eddy__x86_emit(&m->x, EDDY__X86_AND, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    put_int(m, &U8, j->to, EDDY__RAX);
}

/* ---- casts: `t` is what is cast, `detail` the dtype that it becomes ---- */

/* As eight bytes, whatever it is now. */
static void lengthen(maker *m, const type *t, uint32_t to, eddy__x86_place from)
{
    get_int(m, t, to, from);
    if (t->size == 8)
        return;
    if (t->is_signed)
        eddy__x86_emit(&m->x, EDDY__X86_MOVSXD, true, to, eddy__x86_reg(to));
    else
        eddy__x86_emit(&m->x, EDDY__X86_MOV, false, to, eddy__x86_reg(to));
}

/* x != 0 */
static void emit_to_bool(maker *m, job *j)
{
    eddy__x86_answer answer = {.condition = EDDY__IF_NOT_EQUAL};

    if (j->t->is_float) {
        between(m, EDDY__X86_XORPS, XMM0, XMM0);
        emit_ucomi(m, j->t, XMM0, j->a);
        eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RCX);
    } else {
        const uint32_t a = hold_int(m, j->t, j->a, EDDY__RAX);

        eddy__x86_emit_mov_number(&m->x, EDDY__RCX, 0);
        eddy__x86_emit(&m->x, EDDY__X86_TEST, is_wide(j->t), a,
                       eddy__x86_reg(a));
    }
    eddy__x86_emit_set(&m->x, answer.condition, EDDY__RAX);
    eddy__x86_emit(&m->x, EDDY__X86_OR, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    put_int(m, &U8, j->to, EDDY__RAX);
}

/*
 * uint64 with the upper bit set: half of it, with what is lost in the last bit,
 * so that it is rounded once, and twice that.
 */
static void emit_large_to_float(maker *m, eddy__x86_op of_int, eddy__x86_op add)
{
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RDX,
                   eddy__x86_reg(EDDY__RAX));
    eddy__x86_emit_mov_number(&m->x, EDDY__RCX, 1);
    eddy__x86_emit_alone(&m->x, EDDY__X86_SHR, true, eddy__x86_reg(EDDY__RDX));
    eddy__x86_emit(&m->x, EDDY__X86_AND, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    eddy__x86_emit(&m->x, EDDY__X86_OR, true, EDDY__RDX,
                   eddy__x86_reg(EDDY__RAX));
    eddy__x86_emit(&m->x, of_int, true, XMM0, eddy__x86_reg(EDDY__RDX));
    between(m, add, XMM0, XMM0);
}

static void emit_int_to_float(maker *m, job *j)
{
    const type *to = type_of(j->detail);
    const eddy__x86_op of_int =
        is_wide(to) ? EDDY__X86_OF_INT_F64 : EDDY__X86_OF_INT_F32;
    const bool is_long =
        j->t->size == 8 || (j->t->size == 4 && !j->t->is_signed);
    size_t is_small = 0, done = 0;

    if (is_long)
        lengthen(m, j->t, EDDY__RAX, j->a);
    else
        get_int(m, j->t, EDDY__RAX, j->a);
    /* What it held before is nothing to wait for. */
    between(m, EDDY__X86_XORPS, XMM0, XMM0);
    if (j->t->size == 8 && !j->t->is_signed) {
        eddy__x86_emit(&m->x, EDDY__X86_TEST, true, EDDY__RAX,
                       eddy__x86_reg(EDDY__RAX));
        is_small = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_SIGN);
        emit_large_to_float(
            m, of_int, is_wide(to) ? EDDY__X86_ADD_F64 : EDDY__X86_ADD_F32);
        done = eddy__x86_emit_jump(&m->x);
        eddy__x86_aim(&m->x, is_small, m->x.n);
    }
    eddy__x86_emit(&m->x, of_int, is_long, XMM0, eddy__x86_reg(EDDY__RAX));
    if (done)
        eddy__x86_aim(&m->x, done, m->x.n);
    put_float(m, to, j->to, XMM0);
}

/* What does not fit is the least integer of the width that is converted to. */
static void emit_float_to_int(maker *m, job *j)
{
    const type *to = type_of(j->detail);
    const bool is_long = to->size == 8 || (to->size == 4 && !to->is_signed);

    eddy__x86_emit(&m->x,
                   is_wide(j->t) ? EDDY__X86_INT_OF_F64 : EDDY__X86_INT_OF_F32,
                   is_long, EDDY__RAX, j->a);
    put_int(m, to, j->to, EDDY__RAX);
}

static void emit_float_to_float(maker *m, job *j)
{
    const type *to = type_of(j->detail);

    get_float(m, j->t, XMM0, j->a);
    if (to->size != j->t->size)
        between(m, is_wide(to) ? EDDY__X86_TO_F64 : EDDY__X86_TO_F32, XMM0,
                XMM0);
    put_float(m, to, j->to, XMM0);
}

static void emit_int_to_int(maker *m, job *j)
{
    const type *to = type_of(j->detail);

    if (to->size == 8)
        lengthen(m, j->t, EDDY__RAX, j->a);
    else
        get_int(m, j->t, EDDY__RAX, j->a);
    put_int(m, to, j->to, EDDY__RAX);
}

static void emit_cast(maker *m, job *j)
{
    const type *to = type_of(j->detail);

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

static eddy__x86_answer compare_ints(maker *m, const job *j)
{
    static const uint8_t with_sign[] = {EDDY__IF_LESS,    EDDY__IF_NOT_GREATER,
                                        EDDY__IF_GREATER, EDDY__IF_NOT_LESS,
                                        EDDY__IF_EQUAL,   EDDY__IF_NOT_EQUAL};
    static const uint8_t without[] = {EDDY__IF_BELOW, EDDY__IF_NOT_ABOVE,
                                      EDDY__IF_ABOVE, EDDY__IF_NOT_BELOW,
                                      EDDY__IF_EQUAL, EDDY__IF_NOT_EQUAL};
    const uint32_t a = hold_int(m, j->t, j->a, EDDY__RAX);
    const eddy__x86_place b = last_int(m, j->t, j->b, EDDY__RCX);

    eddy__x86_emit(&m->x, EDDY__X86_CMP, is_wide(j->t), a, b);
    return (eddy__x86_answer){
        .condition = (j->t->is_signed ? with_sign : without)[j->detail]};
}

/* NaN sets what "below" and "equal" read: so it is always asked for above. */
static eddy__x86_answer compare_floats(maker *m, const job *j)
{
    const bool is_turned = j->detail == LESS || j->detail == LESS_EQUAL;
    const eddy__x86_place x = is_turned ? j->b : j->a;
    const eddy__x86_place y = is_turned ? j->a : j->b;

    emit_ucomi(m, j->t, hold_float(m, j->t, x, XMM0), y);
    return (eddy__x86_answer){.condition =
                                  j->detail == LESS || j->detail == GREATER
                                      ? EDDY__IF_ABOVE
                                      : EDDY__IF_NOT_BELOW,
                              .is_equal = j->detail == EQUAL,
                              .is_not_equal = j->detail == NOT_EQUAL};
}

static eddy__x86_answer compare(maker *m, const job *j)
{
    return j->t->is_float ? compare_floats(m, j) : compare_ints(m, j);
}

static void emit_comparison(maker *m, job *j)
{
    const eddy__x86_answer answer = compare(m, j);

    if (answer.is_equal) {
        eddy__x86_emit_set(&m->x, EDDY__IF_EQUAL, EDDY__RAX);
        eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RCX);
        eddy__x86_emit(&m->x, EDDY__X86_AND, false, EDDY__RAX,
                       eddy__x86_reg(EDDY__RCX));
    } else if (answer.is_not_equal) {
        eddy__x86_emit_set(&m->x, EDDY__IF_NOT_EQUAL, EDDY__RAX);
        eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RCX);
        eddy__x86_emit(&m->x, EDDY__X86_OR, false, EDDY__RAX,
                       eddy__x86_reg(EDDY__RCX));
    } else {
        eddy__x86_emit_set(&m->x, answer.condition, EDDY__RAX);
    }
    put_int(m, &U8, j->to, EDDY__RAX);
}

/* ---- the table ---- */

typedef struct row {
    emit_fn emit; /* NULL: a call of its function */
    uint8_t detail;
    uint8_t dtype; /* of the operands */
} row;

/* clang-format off */
static const row rows[EDDY__LINEAR_N_OPS] = {
    CAST(F32, EDDY_FLOAT32)
    CAST(F64, EDDY_FLOAT64)
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
    FLOATS(Floor, emit_float_round, EDDY__X86_DOWN)
    FLOATS(Ceil, emit_float_round, EDDY__X86_UP)
    FLOATS(Round, emit_float_round, EDDY__X86_TO_EVEN)
    FLOATS(FloorDiv, emit_rounded_quotient, EDDY__X86_DOWN)
    FLOATS(TruncateDiv, emit_rounded_quotient, EDDY__X86_TO_ZERO)
    FLOATS(Sign, emit_float_sign, 0)
    FLOATS(Softsign, emit_softsign, 0)
    FLOATS(Relu6, emit_float_relu6, 0)
    INTS(Relu6, emit_int_relu6, 0)
    FLOATS(IsFinite, emit_is_finite, 0)
    FLOATS(IsInf, emit_is_infinite, 0)
    INTS(AddV2, emit_int, EDDY__X86_ADD)
    FLOATS(AddV2, emit_float, EDDY__X86_ADD_F32)
    INTS(Sub, emit_int, EDDY__X86_SUB)
    FLOATS(Sub, emit_float, EDDY__X86_SUB_F32)
    INTS(Mul, emit_int, EDDY__X86_IMUL)
    FLOATS(Mul, emit_float, EDDY__X86_MUL_F32)
    SIGNED(Div, emit_int_quotient, TRUNCATED)
    UNSIGNED(Div, emit_int_quotient, TRUNCATED)
    FLOATS(Div, emit_float, EDDY__X86_DIV_F32)
    FLOATS(RealDiv, emit_float, EDDY__X86_DIV_F32)
    INTS(FloorDiv, emit_int_quotient, FLOORED)
    INTS(FloorMod, emit_int_quotient, FLOORED | REST)
    INTS(TruncateDiv, emit_int_quotient, TRUNCATED)
    SIGNED(TruncateMod, emit_int_quotient, REST)
    INTS(BitwiseAnd, emit_int, EDDY__X86_AND)
    INTS(BitwiseOr, emit_int, EDDY__X86_OR)
    INTS(BitwiseXor, emit_int, EDDY__X86_XOR)
    INTS(LeftShift, emit_int_shift, EDDY__X86_SHL)
    SIGNED(RightShift, emit_int_shift, EDDY__X86_SAR)
    UNSIGNED(RightShift, emit_int_shift, EDDY__X86_SHR)
    SIGNED(Maximum, emit_int_choice, EDDY__X86_CMOVL)
    UNSIGNED(Maximum, emit_int_choice, EDDY__X86_CMOVB)
    FLOATS(Maximum, emit_float_choice, EDDY__X86_MAX_F32)
    SIGNED(Minimum, emit_int_choice, EDDY__X86_CMOVG)
    UNSIGNED(Minimum, emit_int_choice, EDDY__X86_CMOVA)
    FLOATS(Minimum, emit_float_choice, EDDY__X86_MIN_F32)
    SIGNED(SquaredDifference, emit_int_squared_difference, 0)
    FLOATS(SquaredDifference, emit_float_squared_difference, 0)
    SIGNED(Abs, emit_int_abs, 0)
    FLOATS(Abs, emit_float_abs, 0)
    SIGNED(Neg, emit_int_alone, EDDY__X86_NEG)
    FLOATS(Neg, emit_float_neg, 0)
    INTS(Invert, emit_int_alone, EDDY__X86_NOT)
    FLOATS(Reciprocal, emit_float_reciprocal, 0)
    SIGNED(Relu, emit_int_relu, 0)
    UNSIGNED(Relu, emit_int_move, 0)
    FLOATS(Relu, emit_float_relu, 0)
    SIGNED(Round, emit_int_move, 0)
    FLOATS(Rsqrt, emit_float_rsqrt, 0)
    SIGNED(Sign, emit_int_sign, 0)
    FLOATS(Sqrt, emit_float_sqrt, 0)
    INTS(Square, emit_int_square, 0)
    FLOATS(Square, emit_float_square, EDDY__X86_MUL_F32)
    FLOATS(IsNan, emit_is_nan, 0)
    ROW(LogicalAnd, B, EDDY_BOOL, emit_int, EDDY__X86_AND)
    ROW(LogicalOr, B, EDDY_BOOL, emit_int, EDDY__X86_OR)
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

/* ---- tapes and TensorArrays ---- */

/* Bits of a register, in a home or not, to or from memory. */
static void copy_item(maker *m, uint32_t offset, bool is_push,
                      eddy__x86_place item, int32_t size, uint32_t spare)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(offset));
    const eddy__x86_place own = place_of(m, offset);
    const type *bits = size == 1   ? &U8
                       : size == 2 ? &U16
                       : size == 4 ? &U32
                                   : &U64;
    const type *t = r->class < EDDY__CLASS_INT ? bits : type_of(r->dtype);

    if (own.is_memory) {
        extend(m, bits, spare, is_push ? own : item);
        store_int(m, bits, is_push ? item : own, spare);
    } else if (is_push && t->is_float) {
        put_float(m, t, item, own.reg);
    } else if (is_push) {
        store_int(m, t, item, own.reg);
    } else if (t->is_float) {
        get_float(m, t, own.reg, item);
    } else {
        extend(m, t, own.reg, item);
    }
}

/* A register that points at the tape or the cells that a register is. */
static uint32_t hold_handle(maker *m, uint32_t number)
{
    const eddy__x86_place at =
        place_of(m, number * (uint32_t)sizeof(eddy__value));

    return hold_int(m, &U64, at, EDDY__RAX);
}

static eddy__x86_place next_of_tape(uint32_t tape)
{
    return eddy__x86_memory_by(tape, offsetof(eddy__tape, next));
}

void eddy__x86_load_tape(eddy__x86_maker *m)
{
    if (m->region.tape == EDDY__LINEAR_NONE)
        return;
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RAX,
                   memory_of(m->region.tape));
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__R15,
                   next_of_tape(EDDY__RAX));
}

void eddy__x86_store_tape(eddy__x86_maker *m)
{
    if (m->region.tape == EDDY__LINEAR_NONE)
        return;
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RAX,
                   memory_of(m->region.tape));
    eddy__x86_emit(&m->x, EDDY__X86_STORE, true, EDDY__R15,
                   next_of_tape(EDDY__RAX));
}

static size_t emit_tape(maker *m, const eddy__linear_code *c)
{
    const bool is_held = m->region.tape == eddy__native_number_of(c->a);
    const uint32_t next = is_held ? EDDY__R15 : EDDY__RCX;
    const eddy__x86_place item = eddy__x86_memory_by(next, 0);
    const bool is_push = eddy__native_is_push(c->op);
    const int32_t size = 1 << eddy__native_item_log(c->op);
    const uint32_t tape = hold_handle(m, eddy__native_number_of(c->a));
    size_t slow;

    if (!is_held)
        eddy__x86_emit(&m->x, EDDY__X86_MOV, true, next, next_of_tape(tape));
    eddy__x86_emit(
        &m->x, EDDY__X86_CMP, true, next,
        eddy__x86_memory_by(tape, is_push ? offsetof(eddy__tape, end)
                                          : offsetof(eddy__tape, first)));
    slow = eddy__x86_emit_jump_if(&m->x, EDDY__IF_EQUAL);
    if (is_push)
        copy_item(m, c->b, true, item, size, EDDY__RDX);
    eddy__x86_emit_number(&m->x, is_push ? EDDY__X86_ADD : EDDY__X86_SUB, true,
                          eddy__x86_reg(next), size);
    if (!is_held)
        eddy__x86_emit(&m->x, EDDY__X86_STORE, true, next, next_of_tape(tape));
    if (!is_push)
        copy_item(m, c->to, false, item, size, EDDY__RDX);
    return slow;
}

/*
 * What a state becomes by being read or written; gives where it jumps from if
 * the item may not be.  FILLED without CLEARED is 8 to 11; the first is taken
 * away by the look and comes back.
 */
static size_t emit_state(maker *m, bool is_read, uint32_t cells,
                         eddy__x86_place state, uint32_t spare)
{
    const eddy__x86_place reg = eddy__x86_reg(spare);
    size_t slow;

    eddy__x86_emit(&m->x, EDDY__X86_MOVZX8, false, spare, state);
    if (is_read) {
        eddy__x86_emit_number(&m->x, EDDY__X86_SUB, false, reg,
                              EDDY__ITEM_FILLED);
        eddy__x86_emit_number(&m->x, EDDY__X86_CMP, false, reg,
                              EDDY__ITEM_WRITTEN | EDDY__ITEM_READ);
        slow = eddy__x86_emit_jump_if(&m->x, EDDY__IF_ABOVE);
        eddy__x86_emit(
            &m->x, EDDY__X86_OR8, false, spare,
            eddy__x86_memory_by(cells, offsetof(eddy__cells, after_read)));
        eddy__x86_emit_number(&m->x, EDDY__X86_OR, false, reg,
                              EDDY__ITEM_FILLED);
    } else {
        eddy__x86_emit_number8(&m->x, EDDY__X86_TEST, reg,
                               EDDY__ITEM_FILLED | EDDY__ITEM_READ);
        slow = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_EQUAL);
        eddy__x86_emit_number(&m->x, EDDY__X86_OR, false, reg,
                              EDDY__ITEM_WRITTEN | EDDY__ITEM_FILLED);
    }
    eddy__x86_emit(&m->x, EDDY__X86_STORE8, false, spare, state);
    return slow;
}

_Static_assert(EDDY__ITEM_FILLED == 8 && EDDY__ITEM_CLEARED == 4 &&
                   (EDDY__ITEM_WRITTEN | EDDY__ITEM_READ) == 3,
               "what emit_state asks for");

/*
 * READ and WRITE, of an index that is taken as unsigned: its home has zeros
 * behind the four bytes (x86_64.h), and is the index as it is.  Where neither
 * the array nor the index has one, the index is got twice, to have a register
 * for the state.
 */
static void emit_cell(maker *m, const eddy__linear_code *c, size_t slow[2])
{
    const bool is_read = eddy__linear_operands(c->op)[0] == 'w';
    const uint32_t cells = hold_handle(m, eddy__native_number_of(c->a));
    const uint32_t index =
        hold_int(m, &U32, place_of(m, c->b), (uint32_t)EDDY__RDX);
    const bool is_short = cells == EDDY__RAX && index == EDDY__RDX;
    const uint32_t size_log = eddy__native_item_log(c->op);
    const eddy__x86_place items =
        eddy__x86_memory_by(cells, offsetof(eddy__cells, items));

    eddy__x86_emit(&m->x, EDDY__X86_CMP, false, index,
                   eddy__x86_memory_by(cells, offsetof(eddy__cells, n)));
    slow[0] = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_BELOW);
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RCX,
                   eddy__x86_memory_by(cells, offsetof(eddy__cells, states)));
    if (is_short) {
        eddy__x86_emit(&m->x, EDDY__X86_ADD, true, EDDY__RCX,
                       eddy__x86_reg(index));
        slow[1] = emit_state(m, is_read, cells,
                             eddy__x86_memory_by(EDDY__RCX, 0), EDDY__RDX);
        hold_int(m, &U32, place_of(m, c->b), EDDY__RDX);
    } else {
        slow[1] =
            emit_state(m, is_read, cells, eddy__x86_item(EDDY__RCX, index, 0),
                       cells == EDDY__RAX ? EDDY__RDX : EDDY__RAX);
    }
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RCX, items);
    copy_item(m, c->to, !is_read, eddy__x86_item(EDDY__RCX, index, size_log),
              1 << size_log, EDDY__RAX);
}

void eddy__x86_emit_store(eddy__x86_maker *m, const eddy__linear_code *c,
                          size_t out_slow[2])
{
    out_slow[1] = 0;
    if (eddy__native_is_tape_op(c->op))
        out_slow[0] = emit_tape(m, c);
    else
        emit_cell(m, c, out_slow);
}

/* What takes instructions that not every processor has. */
static bool is_rounding(const row *r)
{
    return r->emit == emit_float_round || r->emit == emit_rounded_quotient;
}

bool eddy__x86_has(uint32_t op)
{
    const row *r = &rows[op];

    return op == EDDY__LINEAR_MOVE || eddy__linear_is_select(op) ||
           (r->emit && (!is_rounding(r) || eddy__x86_can_round()));
}

/* Bits of a register, in a home or not, to a register of integers. */
static void get_bits(maker *m, const type *t, uint32_t to, eddy__x86_place from)
{
    if (t->is_float)
        eddy__x86_emit(&m->x,
                       from.is_memory ? EDDY__X86_MOV : EDDY__X86_AS_BITS,
                       is_wide(t), from.is_memory ? to : from.reg,
                       from.is_memory ? from : eddy__x86_reg(to));
    else
        get_int(m, t, to, from);
}

static void put_bits(maker *m, const type *t, eddy__x86_place to, uint32_t reg)
{
    if (t->is_float && !to.is_memory)
        eddy__x86_emit(&m->x, EDDY__X86_OF_BITS, is_wide(t), to.reg,
                       eddy__x86_reg(reg));
    else
        put_int(m, t, to, reg);
}

/* a if the condition is true, else b: without a branch. */
static void emit_select(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));
    static const type *const bits[] = {&U8, &U16, &U32, &U64};
    const type *t = r->class < EDDY__CLASS_INT
                        ? bits[c->op - EDDY__LINEAR_SELECT_8]
                        : type_of(r->dtype);
    const eddy__x86_place condition =
        place_of(m, c->aux * (uint32_t)sizeof(eddy__value));

    get_bits(m, t, EDDY__RAX, place_of(m, c->a));
    get_bits(m, t, EDDY__RCX, place_of(m, c->b));
    if (condition.is_memory)
        eddy__x86_emit_number8(&m->x, EDDY__X86_CMP, condition, 0);
    else
        eddy__x86_emit(&m->x, EDDY__X86_TEST, false, condition.reg, condition);
    eddy__x86_emit(&m->x, EDDY__X86_CMOVE, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    put_bits(m, t, place_of(m, c->to), EDDY__RAX);
}

/* Of eight bytes, whatever they are. */
static void emit_move(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));
    job j = {.to = place_of(m, c->to), .a = place_of(m, c->a)};

    j.t = r->class == EDDY__CLASS_WORD ? &U64 : type_of(r->dtype);
    if (!j.t->is_float)
        emit_int_move(m, &j);
    else if (!j.to.is_memory)
        get_float(m, j.t, j.to.reg, j.a);
    else
        put_float(m, j.t, j.to, hold_float(m, j.t, j.a, XMM0));
}

/* The value of an integer, extended as it is in registers. */
static int64_t value_of(const type *t, const eddy__value *v)
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
    job j = {.t = type_of(r->dtype), .detail = r->detail};

    if (operands[0] == 'w')
        j.to = place_of(m, c->to);
    j.a = place_of(m, c->a);
    /* One that is not there is memory: it is nobody's home. */
    j.b = operands[2] == 'r' ? place_of(m, c->b) : eddy__x86_memory(0);
    if (operands[2] == 'r' && !j.t->is_float &&
        m->region.homes.ranges[eddy__native_number_of(c->b)].is_constant) {
        j.is_known = true;
        j.known = value_of(
            j.t, &m->region.linear->start[eddy__native_number_of(c->b)]);
    }
    return j;
}

void eddy__x86_emit_op(eddy__x86_maker *m, const eddy__linear_code *c,
                       size_t *out_fault)
{
    job j;

    *out_fault = 0;
    if (c->op == EDDY__LINEAR_MOVE) {
        emit_move(m, c);
        return;
    }
    if (eddy__linear_is_select(c->op)) {
        emit_select(m, c);
        return;
    }
    j = job_of(m, c);
    rows[c->op].emit(m, &j);
    *out_fault = j.fault;
}

eddy__x86_answer eddy__x86_emit_test(eddy__x86_maker *m,
                                     const eddy__linear_code *c)
{
    const job j = job_of(m, c);

    return compare(m, &j);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on integers as code for x86-64. */
#include "runtime/native/x86_64_ops.h"

typedef eddy__x86_maker maker;

/* `detail`: the instruction.  x op y */
void eddy__x86_make_int(maker *m, eddy__x86_job *j)
{
    const eddy__x86_op op = (eddy__x86_op)j->detail;
    uint32_t to;
    eddy__x86_place b;

    if (op != EDDY__X86_SUB)
        eddy__x86_swap_for_home(j);
    to = eddy__x86_target(j, EDDY__RAX);
    b = eddy__x86_last_int(m, j->t, j->b, EDDY__RCX);
    if (eddy__x86_is_at(b, to) && !eddy__x86_is_at(j->a, to))
        to = EDDY__RAX;
    eddy__x86_get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, op, eddy__x86_is_wide(j->t), to, b);
    if (to == EDDY__RAX || j->t->size < 4)
        eddy__x86_put_int(m, j->t, j->to, to);
}

/* `detail`: the instruction. */
void eddy__x86_make_int_alone(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit_alone(&m->x, (eddy__x86_op)j->detail,
                         eddy__x86_is_wide(j->t), eddy__x86_reg(EDDY__RAX));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

/* The negative one, unless that is negative. */
void eddy__x86_make_int_abs(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RCX);

    eddy__x86_move_int(m, EDDY__RAX, a);
    eddy__x86_emit_alone(&m->x, EDDY__X86_NEG, eddy__x86_is_wide(j->t),
                         eddy__x86_reg(EDDY__RAX));
    eddy__x86_emit(&m->x, EDDY__X86_CMOVS, eddy__x86_is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(a));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

void eddy__x86_make_int_square(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, eddy__x86_is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

void eddy__x86_make_int_squared_difference(maker *m, eddy__x86_job *j)
{
    const eddy__x86_place b = eddy__x86_last_int(m, j->t, j->b, EDDY__RCX);

    eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_SUB, eddy__x86_is_wide(j->t), EDDY__RAX, b);
    eddy__x86_emit(&m->x, EDDY__X86_IMUL, eddy__x86_is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

void eddy__x86_make_int_sign(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RAX);

    eddy__x86_emit(&m->x, EDDY__X86_TEST, eddy__x86_is_wide(j->t), a,
                   eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_GREATER, EDDY__RCX);
    eddy__x86_emit_set(&m->x, EDDY__IF_SIGN, EDDY__RDX);
    eddy__x86_extend(m, &eddy__x86_u8, EDDY__RAX, eddy__x86_reg(EDDY__RCX));
    eddy__x86_extend(m, &eddy__x86_u8, EDDY__RDX, eddy__x86_reg(EDDY__RDX));
    /* Eight bytes, so that -1 is that in all of them. */
    eddy__x86_emit(&m->x, EDDY__X86_SUB, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RDX));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

/* `detail`: when b is taken; by the sign, or not. */
void eddy__x86_make_int_choice(maker *m, eddy__x86_job *j)
{
    eddy__x86_place b;
    uint32_t to;

    eddy__x86_swap_for_home(j);
    to = eddy__x86_target(j, EDDY__RAX);
    b = eddy__x86_last_int(m, j->t, j->b, EDDY__RCX);
    eddy__x86_get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_CMP, eddy__x86_is_wide(j->t), to, b);
    eddy__x86_emit(&m->x, (eddy__x86_op)j->detail, eddy__x86_is_wide(j->t), to,
                   b);
    if (to == EDDY__RAX)
        eddy__x86_put_int(m, j->t, j->to, to);
}

/* The least of relu and 6. */
void eddy__x86_make_int_relu6(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    eddy__x86_get_int(m, j->t, EDDY__RCX, j->a);
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
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

void eddy__x86_make_int_relu(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RCX);

    eddy__x86_emit_mov_number(&m->x, EDDY__RAX, 0);
    eddy__x86_emit(&m->x, EDDY__X86_TEST, eddy__x86_is_wide(j->t), a,
                   eddy__x86_reg(a));
    eddy__x86_emit(&m->x, EDDY__X86_CMOVG, eddy__x86_is_wide(j->t), EDDY__RAX,
                   eddy__x86_reg(a));
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

/* `detail`: the instruction; how far is brought to what the width has. */
void eddy__x86_make_int_shift(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *t = j->t;
    const bool wide = eddy__x86_is_wide(t);

    eddy__x86_get_int(m, t, EDDY__RCX, j->b);
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
    eddy__x86_get_int(m, t, EDDY__RAX, j->a);
    eddy__x86_emit_alone(&m->x, (eddy__x86_op)j->detail, wide,
                         eddy__x86_reg(EDDY__RAX));
    eddy__x86_put_int(m, t, j->to, EDDY__RAX);
}

/*
 * Behind a division of numbers with signs: the quotient in rax, the rest, which
 * has the sign of x, in rdx, y in rcx.
 */
static void emit_floor(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t),
               is_rest = (j->detail & EDDY__REST) != 0;
    size_t is_whole, is_same;

    eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RDX,
                   eddy__x86_reg(EDDY__RDX));
    is_whole = eddy__x86_emit_jump_if(&m->x, EDDY__IF_EQUAL);
    if (is_rest) {
        eddy__x86_move_int(m, EDDY__RAX, EDDY__RDX);
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
static size_t emit_by_minus_one(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);
    size_t is_other, done;

    eddy__x86_emit_number(&m->x, EDDY__X86_CMP, wide, eddy__x86_reg(EDDY__RCX),
                          -1);
    is_other = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_EQUAL);
    if (j->detail & EDDY__REST)
        eddy__x86_emit_mov_number(&m->x, EDDY__RDX, 0);
    else
        eddy__x86_emit_alone(&m->x, EDDY__X86_NEG, wide,
                             eddy__x86_reg(EDDY__RAX));
    done = eddy__x86_emit_jump(&m->x);
    eddy__x86_aim(&m->x, is_other, m->x.n);
    return done;
}

/* By a power of two, rounded down: by bits alone. */
static bool emit_power_of_two(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t),
               is_rest = (j->detail & EDDY__REST) != 0;
    uint32_t n = 0;

    if (!j->is_known || j->known <= 0 || j->known > 1 << 30 ||
        (j->known & (j->known - 1)) != 0 ||
        (j->t->is_signed && !(j->detail & EDDY__FLOORED)))
        return false;
    while (j->known >> (n + 1) != 0)
        n++;
    eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
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
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
    return true;
}

/* Divisors that are given with the graph say no more of the code than this. */
#define MOST_DIVISOR 1024

/* The quotient by a known number is in rax; or the rest is wanted. */
static void put_quotient(maker *m, eddy__x86_job *j)
{
    const bool is_rest = (j->detail & EDDY__REST) != 0;
    const bool is_home = !j->to.is_memory && j->t->size == 4;
    const uint32_t to = is_home ? j->to.reg : EDDY__RAX;

    if (!is_rest) {
        eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
        return;
    }
    eddy__x86_emit_imul_number(&m->x, EDDY__RDX, EDDY__RAX, (int32_t)j->known);
    eddy__x86_get_int(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, EDDY__X86_SUB, false, to, eddy__x86_reg(EDDY__RDX));
    if (!is_home)
        eddy__x86_put_int(m, j->t, j->to, to);
}

/*
 * The quotient by d, rounded down, of x of any sign: (x M + 2^k / 2d) / 2^k,
 * where M is 2^k / d to the nearest.  What x M / 2^k is wrong by, 2^30 / 2^k at
 * most, is less than 1 / 2d where 2^k is at least 2^31 (d + 1).  So the sum
 * lies between x / d and the next multiple of 1 / d, and is rounded
 * as x / d is.
 */
static void emit_floored_product(maker *m, eddy__x86_job *j, uint32_t k)
{
    const uint64_t d = (uint64_t)j->known, one = UINT64_C(1) << k;
    const eddy__x86_place rax = eddy__x86_reg(EDDY__RAX);

    if (j->t->size == 4) {
        eddy__x86_emit(&m->x, EDDY__X86_MOVSXD, true, EDDY__RAX, j->a);
    } else {
        eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
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
static bool emit_by_product(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *t = j->t;
    const bool by_sign = t->is_signed && !(j->detail & EDDY__FLOORED);
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
    eddy__x86_get_int(m, t, EDDY__RAX, j->a);
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
void eddy__x86_make_int_quotient(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);
    size_t done = 0;

    if (emit_power_of_two(m, j) || emit_by_product(m, j))
        return;
    eddy__x86_get_int(m, j->t, EDDY__RCX, j->b);
    if (!j->is_known || j->known == 0) {
        eddy__x86_emit(&m->x, EDDY__X86_TEST, wide, EDDY__RCX,
                       eddy__x86_reg(EDDY__RCX));
        j->fault = eddy__x86_emit_jump_if(&m->x, EDDY__IF_EQUAL);
    }
    eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    if (j->t->is_signed) {
        if (j->t->size >= 4 && (!j->is_known || j->known == -1))
            done = emit_by_minus_one(m, j);
        eddy__x86_emit_sign_extend(&m->x, wide);
        eddy__x86_emit_alone(&m->x, EDDY__X86_IDIV, wide,
                             eddy__x86_reg(EDDY__RCX));
        if (j->detail & EDDY__FLOORED)
            emit_floor(m, j);
        if (done)
            eddy__x86_aim(&m->x, done, m->x.n);
    } else {
        eddy__x86_emit_mov_number(&m->x, EDDY__RDX, 0);
        eddy__x86_emit_alone(&m->x, EDDY__X86_DIV, wide,
                             eddy__x86_reg(EDDY__RCX));
    }
    eddy__x86_put_int(m, j->t, j->to,
                      j->detail & EDDY__REST ? EDDY__RDX : EDDY__RAX);
}

void eddy__x86_make_int_move(maker *m, eddy__x86_job *j)
{
    if (!j->to.is_memory)
        eddy__x86_get_int(m, j->t, j->to.reg, j->a);
    else
        eddy__x86_store_int(m, j->t, j->to,
                            eddy__x86_hold_int(m, j->t, j->a, EDDY__RAX));
}

void eddy__x86_make_not(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RAX);

    eddy__x86_emit(&m->x, EDDY__X86_TEST, false, a, eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_EQUAL, EDDY__RAX);
    eddy__x86_put_int(m, j->t, j->to, EDDY__RAX);
}

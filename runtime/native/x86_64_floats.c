/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on floats as code for x86-64: scalars, by SSE2 and SSE4.1. */
#include "runtime/native/x86_64_ops.h"

typedef eddy__x86_maker maker;

/* `detail`: of float32; the one of float64 is the next. */
static eddy__x86_op float_op(const eddy__x86_job *j)
{
    return (eddy__x86_op)(j->detail + (eddy__x86_is_wide(j->t) ? 1 : 0));
}

/* x op y */
void eddy__x86_make_float(maker *m, eddy__x86_job *j)
{
    uint32_t to = eddy__x86_target(j, EDDY__XMM0);

    if (eddy__x86_is_at(j->b, to) && !eddy__x86_is_at(j->a, to))
        to = EDDY__XMM0;
    eddy__x86_get_float(m, j->t, to, j->a);
    eddy__x86_emit(&m->x, float_op(j), false, to, j->b);
    if (to == EDDY__XMM0)
        eddy__x86_put_float(m, j->t, j->to, to);
}

void eddy__x86_make_float_square(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_between(m, float_op(j), EDDY__XMM0, EDDY__XMM0);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

void eddy__x86_make_float_squared_difference(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_emit(&m->x, wide ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32, false,
                   EDDY__XMM0, j->b);
    eddy__x86_between(m, wide ? EDDY__X86_MUL_F64 : EDDY__X86_MUL_F32,
                      EDDY__XMM0, EDDY__XMM0);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* The root of a register, so that what else was in the target is no
 * matter. */
static void emit_root(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_between(
        m, eddy__x86_is_wide(j->t) ? EDDY__X86_SQRT_F64 : EDDY__X86_SQRT_F32,
        EDDY__XMM0, EDDY__XMM0);
}

void eddy__x86_make_float_sqrt(maker *m, eddy__x86_job *j)
{
    emit_root(m, j);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* 1 by what is in xmm0. */
static void emit_inverse(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    /* All bits, then those of the exponent of 1. */
    eddy__x86_between(m, EDDY__X86_EQUAL32, EDDY__XMM1, EDDY__XMM1);
    eddy__x86_emit_shift(&m->x, wide, true, EDDY__XMM1, wide ? 54 : 25);
    eddy__x86_emit_shift(&m->x, wide, false, EDDY__XMM1, 2);
    eddy__x86_between(m, wide ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32,
                      EDDY__XMM1, EDDY__XMM0);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM1);
}

void eddy__x86_make_float_reciprocal(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    emit_inverse(m, j);
}

void eddy__x86_make_float_rsqrt(maker *m, eddy__x86_job *j)
{
    emit_root(m, j);
    emit_inverse(m, j);
}

/* The sign taken away, or turned: bits alone, so that denormals stay. */
void eddy__x86_make_float_abs(maker *m, eddy__x86_job *j)
{
    eddy__x86_between(m, EDDY__X86_EQUAL32, EDDY__XMM1, EDDY__XMM1);
    eddy__x86_emit_shift(&m->x, eddy__x86_is_wide(j->t), false, EDDY__XMM1, 1);
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_between(m, EDDY__X86_ANDPS, EDDY__XMM0, EDDY__XMM1);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

void eddy__x86_make_float_neg(maker *m, eddy__x86_job *j)
{
    eddy__x86_between(m, EDDY__X86_EQUAL32, EDDY__XMM1, EDDY__XMM1);
    eddy__x86_emit_shift(&m->x, eddy__x86_is_wide(j->t), true, EDDY__XMM1,
                         eddy__x86_is_wide(j->t) ? 63 : 31);
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM1);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* ---- floats, by bits and masks ---- */

static void set_bits(maker *m, uint32_t to)
{
    eddy__x86_between(m, EDDY__X86_EQUAL32, to, to);
}

/* A number of so few bits that those of its upper half say all. */
static void set_float(maker *m, const eddy__x86_type *t, uint32_t to,
                      double number)
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
                              eddy__x86_is_wide(t) ? (uint32_t)(wide.bits >> 32)
                                                   : narrow.bits);
    if (eddy__x86_is_wide(t))
        eddy__x86_emit_shl(&m->x, true, EDDY__RAX, 32);
    eddy__x86_emit(&m->x, EDDY__X86_OF_BITS, eddy__x86_is_wide(t), to,
                   eddy__x86_reg(EDDY__RAX));
}

/* x op y, and 0 where one of them is 0. */
static void emit_unless_zero(maker *m, eddy__x86_job *j, eddy__x86_op op,
                             uint32_t which)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_emit(&m->x, op, false, EDDY__XMM0, j->b);
    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM1, EDDY__XMM1);
    eddy__x86_emit_relation(&m->x, eddy__x86_is_wide(j->t), EDDY__XMM1,
                            which == EDDY__BY_A ? j->a : j->b,
                            EDDY__X86_IS_NOT_EQUAL);
    eddy__x86_between(m, EDDY__X86_ANDPS, EDDY__XMM0, EDDY__XMM1);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

void eddy__x86_make_quotient_or_zero(maker *m, eddy__x86_job *j)
{
    emit_unless_zero(
        m, j, eddy__x86_is_wide(j->t) ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32,
        j->detail);
}

void eddy__x86_make_product_or_zero(maker *m, eddy__x86_job *j)
{
    emit_unless_zero(
        m, j, eddy__x86_is_wide(j->t) ? EDDY__X86_MUL_F64 : EDDY__X86_MUL_F32,
        j->detail);
}

/* `detail`: the rounding. */
void eddy__x86_make_float_round(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_float(m, j->t, j->a, EDDY__XMM0);

    eddy__x86_emit_round(&m->x, eddy__x86_is_wide(j->t), EDDY__XMM0, a,
                         (eddy__x86_rounding)j->detail);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

void eddy__x86_make_rounded_quotient(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_emit(
        &m->x, eddy__x86_is_wide(j->t) ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32,
        false, EDDY__XMM0, j->b);
    eddy__x86_emit_round(&m->x, eddy__x86_is_wide(j->t), EDDY__XMM0, EDDY__XMM0,
                         (eddy__x86_rounding)j->detail);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* |x| in xmm1, and its sign in xmm2. */
static void split_sign(maker *m, const eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    set_bits(m, EDDY__XMM1);
    eddy__x86_emit_shift(&m->x, wide, true, EDDY__XMM1, wide ? 63 : 31);
    eddy__x86_between(m, EDDY__X86_MOVAPS, EDDY__XMM2, EDDY__XMM1);
    eddy__x86_between(m, EDDY__X86_ANDPS, EDDY__XMM2, EDDY__XMM0);
    eddy__x86_between(m, EDDY__X86_ANDNPS, EDDY__XMM1, EDDY__XMM0);
}

/* 1 with the sign of x where 0 < |x|, else |x|: NaN, 0, and what counts as 0.
 */
void eddy__x86_make_float_sign(maker *m, eddy__x86_job *j)
{
    split_sign(m, j);
    set_float(m, j->t, EDDY__XMM0, 1);
    eddy__x86_between(m, EDDY__X86_ORPS, EDDY__XMM2, EDDY__XMM0);
    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM0);
    eddy__x86_emit_relation(&m->x, eddy__x86_is_wide(j->t), EDDY__XMM0,
                            eddy__x86_reg(EDDY__XMM1), EDDY__X86_IS_LESS);
    eddy__x86_between(m, EDDY__X86_ANDPS, EDDY__XMM2, EDDY__XMM0);
    eddy__x86_between(m, EDDY__X86_ANDNPS, EDDY__XMM0, EDDY__XMM1);
    eddy__x86_between(m, EDDY__X86_ORPS, EDDY__XMM0, EDDY__XMM2);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* x / (|x| + 1) */
void eddy__x86_make_softsign(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    split_sign(m, j);
    set_float(m, j->t, EDDY__XMM2, 1);
    eddy__x86_between(m, wide ? EDDY__X86_ADD_F64 : EDDY__X86_ADD_F32,
                      EDDY__XMM1, EDDY__XMM2);
    eddy__x86_between(m, wide ? EDDY__X86_DIV_F64 : EDDY__X86_DIV_F32,
                      EDDY__XMM0, EDDY__XMM1);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* The least of relu and 6; NaN is the second operand of both. */
void eddy__x86_make_float_relu6(maker *m, eddy__x86_job *j)
{
    const bool wide = eddy__x86_is_wide(j->t);

    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM0);
    eddy__x86_emit(&m->x, wide ? EDDY__X86_MAX_F64 : EDDY__X86_MAX_F32, false,
                   EDDY__XMM0, j->a);
    set_float(m, j->t, EDDY__XMM1, 6);
    eddy__x86_between(m, wide ? EDDY__X86_MIN_F64 : EDDY__X86_MIN_F32,
                      EDDY__XMM1, EDDY__XMM0);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM1);
}

void eddy__x86_compare_to(maker *m, const eddy__x86_type *t, uint32_t a,
                          eddy__x86_place b)
{
    eddy__x86_emit(
        &m->x, eddy__x86_is_wide(t) ? EDDY__X86_UCOMI_F64 : EDDY__X86_UCOMI_F32,
        false, a, b);
}

/* `detail`: the instruction, which gives y if either is NaN. */
void eddy__x86_make_float_choice(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_float(m, j->t, j->a, EDDY__XMM1);
    size_t is_number;

    eddy__x86_between(m, EDDY__X86_MOVAPS, EDDY__XMM0, a);
    eddy__x86_emit(&m->x, float_op(j), false, EDDY__XMM0, j->b);
    eddy__x86_compare_to(m, j->t, a, eddy__x86_reg(a));
    is_number = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NO_PARITY);
    eddy__x86_between(m, EDDY__X86_MOVAPS, EDDY__XMM0, a);
    eddy__x86_aim(&m->x, is_number, m->x.n);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

/* The larger of 0 and x, and x if that is NaN or a 0. */
void eddy__x86_make_float_relu(maker *m, eddy__x86_job *j)
{
    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM0);
    eddy__x86_emit(
        &m->x, eddy__x86_is_wide(j->t) ? EDDY__X86_MAX_F64 : EDDY__X86_MAX_F32,
        false, EDDY__XMM0, j->a);
    eddy__x86_put_float(m, j->t, j->to, EDDY__XMM0);
}

void eddy__x86_make_is_nan(maker *m, eddy__x86_job *j)
{
    const uint32_t a = eddy__x86_hold_float(m, j->t, j->a, EDDY__XMM0);

    eddy__x86_compare_to(m, j->t, a, eddy__x86_reg(a));
    eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RAX);
    eddy__x86_put_int(m, &eddy__x86_u8, j->to, EDDY__RAX);
}

/* x - x is a number if x is finite. */
void eddy__x86_make_is_finite(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_between(
        m, eddy__x86_is_wide(j->t) ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32,
        EDDY__XMM0, EDDY__XMM0);
    eddy__x86_compare_to(m, j->t, EDDY__XMM0, eddy__x86_reg(EDDY__XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RAX);
    eddy__x86_put_int(m, &eddy__x86_u8, j->to, EDDY__RAX);
}

/* x is a number, and x - x is none. */
void eddy__x86_make_is_infinite(maker *m, eddy__x86_job *j)
{
    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    eddy__x86_compare_to(m, j->t, EDDY__XMM0, eddy__x86_reg(EDDY__XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RCX);
    eddy__x86_between(
        m, eddy__x86_is_wide(j->t) ? EDDY__X86_SUB_F64 : EDDY__X86_SUB_F32,
        EDDY__XMM0, EDDY__XMM0);
    eddy__x86_compare_to(m, j->t, EDDY__XMM0, eddy__x86_reg(EDDY__XMM0));
    eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RAX);
    eddy__x86_emit(&m->x, EDDY__X86_AND, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    eddy__x86_put_int(m, &eddy__x86_u8, j->to, EDDY__RAX);
}

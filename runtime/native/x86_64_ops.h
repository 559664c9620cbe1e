/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes code of single operations on x86-64: a function each, or one for
 * several, which its row's detail tells apart (x86_64_ops.c).
 *
 * The home of what is written may be that of an operand, so all operands have
 * been read by the time it is.
 */
#ifndef EDDY_NATIVE_X86_64_OPS_H
#define EDDY_NATIVE_X86_64_OPS_H

#include "runtime/native/x86_64_operands.h"

/* One that is to be done: its operands, their type, and what its row says. */
typedef struct eddy__x86_job {
    eddy__x86_place to, a, b;
    const eddy__x86_type *t;
    uint8_t detail;
    /* b is an integer that is known, and which one. */
    bool is_known;
    int64_t known;
    size_t fault;
} eddy__x86_job;

typedef void eddy__x86_make_fn(eddy__x86_maker *m, eddy__x86_job *j);

/* Where the result is made: at home, unless that is still to be read. */
static inline uint32_t eddy__x86_target(const eddy__x86_job *j, uint32_t spare)
{
    return j->to.is_memory || eddy__x86_is_at(j->b, j->to.reg) ? spare
                                                               : j->to.reg;
}

/* Where the home of the result is that of b, which may as well come first. */
static inline void eddy__x86_swap_for_home(eddy__x86_job *j)
{
    const eddy__x86_place a = j->a;

    if (j->to.is_memory || !eddy__x86_is_at(j->b, j->to.reg))
        return;
    j->a = j->b;
    j->b = a;
}

/* `detail` of quotients and remainders. */
enum { EDDY__TRUNCATED = 0, EDDY__FLOORED = 1, EDDY__REST = 2 };

/* `detail`: which operand is looked at. */
enum { EDDY__BY_A, EDDY__BY_B };

/* Integers (x86_64_ints.c) */
eddy__x86_make_fn eddy__x86_make_int, eddy__x86_make_int_abs,
    eddy__x86_make_int_alone, eddy__x86_make_int_choice,
    eddy__x86_make_int_move, eddy__x86_make_int_quotient,
    eddy__x86_make_int_relu, eddy__x86_make_int_relu6, eddy__x86_make_int_shift,
    eddy__x86_make_int_sign, eddy__x86_make_int_square,
    eddy__x86_make_int_squared_difference, eddy__x86_make_not;

/* Floats (x86_64_floats.c) */
eddy__x86_make_fn eddy__x86_make_float, eddy__x86_make_float_abs,
    eddy__x86_make_float_choice, eddy__x86_make_float_neg,
    eddy__x86_make_float_reciprocal, eddy__x86_make_float_relu,
    eddy__x86_make_float_relu6, eddy__x86_make_float_round,
    eddy__x86_make_float_rsqrt, eddy__x86_make_float_sign,
    eddy__x86_make_float_sqrt, eddy__x86_make_float_square,
    eddy__x86_make_float_squared_difference, eddy__x86_make_is_finite,
    eddy__x86_make_is_infinite, eddy__x86_make_is_nan,
    eddy__x86_make_product_or_zero, eddy__x86_make_quotient_or_zero,
    eddy__x86_make_rounded_quotient, eddy__x86_make_softsign;

/* The flags of a comparison of floats, as ucomiss has them. */
void eddy__x86_compare_to(eddy__x86_maker *m, const eddy__x86_type *t,
                          uint32_t a, eddy__x86_place b);

/* Casts: `detail` is the dtype (x86_64_casts.c) */
eddy__x86_make_fn eddy__x86_make_cast;

#endif

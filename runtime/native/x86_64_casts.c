/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of scalars as code for x86-64. */
#include "runtime/native/x86_64_ops.h"

typedef eddy__x86_maker maker;

/* As eight bytes, whatever it is now. */
static void lengthen(maker *m, const eddy__x86_type *t, uint32_t to,
                     eddy__x86_place from)
{
    eddy__x86_get_int(m, t, to, from);
    if (t->size == 8)
        return;
    if (t->is_signed)
        eddy__x86_emit(&m->x, EDDY__X86_MOVSXD, true, to, eddy__x86_reg(to));
    else
        eddy__x86_emit(&m->x, EDDY__X86_MOV, false, to, eddy__x86_reg(to));
}

/* x != 0 */
static void emit_to_bool(maker *m, eddy__x86_job *j)
{
    eddy__x86_answer answer = {.condition = EDDY__IF_NOT_EQUAL};

    if (j->t->is_float) {
        eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM0);
        eddy__x86_compare_to(m, j->t, EDDY__XMM0, j->a);
        eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RCX);
    } else {
        const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RAX);

        eddy__x86_emit_mov_number(&m->x, EDDY__RCX, 0);
        eddy__x86_emit(&m->x, EDDY__X86_TEST, eddy__x86_is_wide(j->t), a,
                       eddy__x86_reg(a));
    }
    eddy__x86_emit_set(&m->x, answer.condition, EDDY__RAX);
    eddy__x86_emit(&m->x, EDDY__X86_OR, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    eddy__x86_put_int(m, &eddy__x86_u8, j->to, EDDY__RAX);
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
    eddy__x86_emit(&m->x, of_int, true, EDDY__XMM0, eddy__x86_reg(EDDY__RDX));
    eddy__x86_between(m, add, EDDY__XMM0, EDDY__XMM0);
}

static void emit_int_to_float(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *to = eddy__x86_type_of(j->detail);
    const eddy__x86_op of_int =
        eddy__x86_is_wide(to) ? EDDY__X86_OF_INT_F64 : EDDY__X86_OF_INT_F32;
    const bool is_long =
        j->t->size == 8 || (j->t->size == 4 && !j->t->is_signed);
    size_t is_small = 0, done = 0;

    if (is_long)
        lengthen(m, j->t, EDDY__RAX, j->a);
    else
        eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    /* What it held before is nothing to wait for. */
    eddy__x86_between(m, EDDY__X86_XORPS, EDDY__XMM0, EDDY__XMM0);
    if (j->t->size == 8 && !j->t->is_signed) {
        eddy__x86_emit(&m->x, EDDY__X86_TEST, true, EDDY__RAX,
                       eddy__x86_reg(EDDY__RAX));
        is_small = eddy__x86_emit_jump_if(&m->x, EDDY__IF_NOT_SIGN);
        emit_large_to_float(m, of_int,
                            eddy__x86_is_wide(to) ? EDDY__X86_ADD_F64
                                                  : EDDY__X86_ADD_F32);
        done = eddy__x86_emit_jump(&m->x);
        eddy__x86_aim(&m->x, is_small, m->x.n);
    }
    eddy__x86_emit(&m->x, of_int, is_long, EDDY__XMM0,
                   eddy__x86_reg(EDDY__RAX));
    if (done)
        eddy__x86_aim(&m->x, done, m->x.n);
    eddy__x86_put_float(m, to, j->to, EDDY__XMM0);
}

/* What does not fit is the least integer of the width that is converted to. */
static void emit_float_to_int(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *to = eddy__x86_type_of(j->detail);
    const bool is_long = to->size == 8 || (to->size == 4 && !to->is_signed);

    eddy__x86_emit(&m->x,
                   eddy__x86_is_wide(j->t) ? EDDY__X86_INT_OF_F64
                                           : EDDY__X86_INT_OF_F32,
                   is_long, EDDY__RAX, j->a);
    eddy__x86_put_int(m, to, j->to, EDDY__RAX);
}

static void emit_float_to_float(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *to = eddy__x86_type_of(j->detail);

    eddy__x86_get_float(m, j->t, EDDY__XMM0, j->a);
    if (to->size != j->t->size)
        eddy__x86_between(
            m, eddy__x86_is_wide(to) ? EDDY__X86_TO_F64 : EDDY__X86_TO_F32,
            EDDY__XMM0, EDDY__XMM0);
    eddy__x86_put_float(m, to, j->to, EDDY__XMM0);
}

static void emit_int_to_int(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *to = eddy__x86_type_of(j->detail);

    if (to->size == 8)
        lengthen(m, j->t, EDDY__RAX, j->a);
    else
        eddy__x86_get_int(m, j->t, EDDY__RAX, j->a);
    eddy__x86_put_int(m, to, j->to, EDDY__RAX);
}

void eddy__x86_make_cast(maker *m, eddy__x86_job *j)
{
    const eddy__x86_type *to = eddy__x86_type_of(j->detail);

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

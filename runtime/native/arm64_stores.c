/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes and TensorArrays of bare scalars as code for arm64: the plain cases;
 * all others are the kernel's.
 */
#include "core/value/tape.h"
#include "runtime/native/arm64_operands.h"

#if EDDY_NATIVE && defined(__aarch64__)

typedef eddy__arm64_maker maker;

/* A register, in a home or not, to or from memory, with all its bits. */
static void copy_item(maker *m, uint32_t offset, bool is_push,
                      eddy__arm64_place item, uint32_t size)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(offset));
    const eddy__arm64_place own = eddy__arm64_operand_at(m, offset);
    const eddy__arm64_type *t = own.is_memory ? eddy__arm64_bits_of(size)
                                              : eddy__arm64_type_of(r->dtype);
    const uint32_t reg = own.is_memory ? (uint32_t)EDDY__ARM64_T3 : own.reg;

    if (own.is_memory || !is_push)
        eddy__arm64_touch(m, t->load, reg, is_push ? own : item);
    if (own.is_memory || is_push)
        eddy__arm64_touch(m, t->store, reg, is_push ? item : own);
}

static eddy__arm64_place next_of(uint32_t tape)
{
    return eddy__arm64_memory_by(tape, offsetof(eddy__tape, next));
}

/* The handle is never written, so that it is in memory in any case. */
void eddy__arm64_load_tape(eddy__arm64_maker *m)
{
    if (m->region.tape == EDDY__LINEAR_NONE)
        return;
    eddy__arm64_touch(m, EDDY__ARM64_LDR64, EDDY__ARM64_T0,
                      eddy__arm64_memory_of(m->region.tape));
    eddy__arm64_touch(m, EDDY__ARM64_LDR64, EDDY__ARM64_TAPE,
                      next_of(EDDY__ARM64_T0));
}

void eddy__arm64_store_tape(eddy__arm64_maker *m)
{
    if (m->region.tape == EDDY__LINEAR_NONE)
        return;
    eddy__arm64_touch(m, EDDY__ARM64_LDR64, EDDY__ARM64_T0,
                      eddy__arm64_memory_of(m->region.tape));
    eddy__arm64_touch(m, EDDY__ARM64_STR64, EDDY__ARM64_TAPE,
                      next_of(EDDY__ARM64_T0));
}

static size_t emit_tape(maker *m, const eddy__linear_code *c, bool is_push)
{
    const uint32_t tape = eddy__arm64_hold(
        m, &eddy__arm64_u64, eddy__arm64_operand_at(m, c->a), EDDY__ARM64_T0);
    const bool is_held = m->region.tape == eddy__native_number_of(c->a);
    const uint32_t next =
        is_held ? (uint32_t)EDDY__ARM64_TAPE : (uint32_t)EDDY__ARM64_T1;
    const uint32_t size = 1u << eddy__native_item_log(c->op);
    size_t slow;

    if (!is_held)
        eddy__arm64_touch(m, EDDY__ARM64_LDR64, next, next_of(tape));
    eddy__arm64_touch(
        m, EDDY__ARM64_LDR64, EDDY__ARM64_T2,
        eddy__arm64_memory_by(tape, is_push ? offsetof(eddy__tape, end)
                                            : offsetof(eddy__tape, first)));
    eddy__arm64_emit(&m->x, EDDY__ARM64_SUBS, true, EDDY__ARM64_ZERO, next,
                     EDDY__ARM64_T2);
    slow = eddy__arm64_emit_jump_if(&m->x, EDDY__ARM64_EQ);
    if (is_push)
        copy_item(m, c->b, true, eddy__arm64_memory_by(next, 0), size);
    eddy__arm64_emit_add_number(&m->x, true, next, next,
                                is_push ? (int32_t)size : -(int32_t)size);
    if (!is_held)
        eddy__arm64_touch(m, EDDY__ARM64_STR64, next, next_of(tape));
    if (!is_push)
        copy_item(m, c->to, false, eddy__arm64_memory_by(next, 0), size);
    return slow;
}

/*
 * Changes the state of item `index` of `cells`; gives where it jumps from
 * unless that may be read or written.
 */
static size_t emit_state(maker *m, uint32_t cells, uint32_t index, bool is_read)
{
    const uint32_t bits = EDDY__ARM64_FAR;
    const eddy__arm64_place state = eddy__arm64_item_of(EDDY__ARM64_T2, index);
    size_t is_other;

    eddy__arm64_touch(
        m, EDDY__ARM64_LDR64, EDDY__ARM64_T2,
        eddy__arm64_memory_by(cells, offsetof(eddy__cells, states)));
    eddy__arm64_touch(m, EDDY__ARM64_LDRB, EDDY__ARM64_T3, state);
    eddy__arm64_emit_mov_number(
        &m->x, bits,
        EDDY__ITEM_FILLED | (is_read ? EDDY__ITEM_CLEARED : EDDY__ITEM_READ));
    eddy__arm64_emit(&m->x, EDDY__ARM64_AND, false, bits, bits, EDDY__ARM64_T3);
    eddy__arm64_emit_subs_number(&m->x, false, EDDY__ARM64_ZERO, bits,
                                 is_read ? EDDY__ITEM_FILLED : 0);
    is_other = eddy__arm64_emit_jump_if(&m->x, EDDY__ARM64_NE);
    if (is_read)
        eddy__arm64_touch(
            m, EDDY__ARM64_LDRB, bits,
            eddy__arm64_memory_by(cells, offsetof(eddy__cells, after_read)));
    else
        eddy__arm64_emit_mov_number(&m->x, bits,
                                    EDDY__ITEM_WRITTEN | EDDY__ITEM_FILLED);
    eddy__arm64_emit(&m->x, EDDY__ARM64_ORR, false, EDDY__ARM64_T3,
                     EDDY__ARM64_T3, bits);
    eddy__arm64_touch(m, EDDY__ARM64_STRB, EDDY__ARM64_T3, state);
    return is_other;
}

/* READ and WRITE, of an index that is taken as unsigned. */
static void emit_cell(maker *m, const eddy__linear_code *c, bool is_read,
                      size_t slow[2])
{
    const uint32_t cells = eddy__arm64_hold(
        m, &eddy__arm64_u64, eddy__arm64_operand_at(m, c->a), EDDY__ARM64_T0);
    const uint32_t index = eddy__arm64_hold(
        m, &eddy__arm64_i32, eddy__arm64_operand_at(m, c->b), EDDY__ARM64_T1);

    eddy__arm64_touch(m, EDDY__ARM64_LDR32, EDDY__ARM64_T2,
                      eddy__arm64_memory_by(cells, offsetof(eddy__cells, n)));
    eddy__arm64_emit(&m->x, EDDY__ARM64_SUBS, false, EDDY__ARM64_ZERO, index,
                     EDDY__ARM64_T2);
    slow[0] = eddy__arm64_emit_jump_if(&m->x, EDDY__ARM64_HS);
    slow[1] = emit_state(m, cells, index, is_read);
    eddy__arm64_touch(
        m, EDDY__ARM64_LDR64, EDDY__ARM64_T2,
        eddy__arm64_memory_by(cells, offsetof(eddy__cells, items)));
    copy_item(m, c->to, !is_read, eddy__arm64_item_of(EDDY__ARM64_T2, index),
              1u << eddy__native_item_log(c->op));
}

void eddy__arm64_emit_store(eddy__arm64_maker *m, const eddy__linear_code *c,
                            size_t slow[2])
{
    const uint32_t which = (uint32_t)(c->op - EDDY__LINEAR_PUSH_8) % 4;

    if (which < 2)
        slow[0] = slow[1] = emit_tape(m, c, which == 0);
    else
        emit_cell(m, c, which == 2, slow);
}

#else

/* So that the file has something in it. */
typedef int eddy__native_arm64_stores_are_elsewhere;

#endif

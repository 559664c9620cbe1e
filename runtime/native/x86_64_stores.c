/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes and TensorArrays of bare scalars as code for x86-64: the plain cases;
 * all others are the kernel's.
 */
#include "core/value/tape.h"
#include "runtime/native/x86_64_operands.h"

typedef eddy__x86_maker maker;

/* Bits of a register, in a home or not, to or from memory. */
static void copy_item(maker *m, uint32_t offset, bool is_push,
                      eddy__x86_place item, int32_t size, uint32_t spare)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(offset));
    const eddy__x86_place own = eddy__x86_operand_at(m, offset);
    const eddy__x86_type *bits = size == 1   ? &eddy__x86_u8
                                 : size == 2 ? &eddy__x86_u16
                                 : size == 4 ? &eddy__x86_u32
                                             : &eddy__x86_u64;
    const eddy__x86_type *t =
        r->class < EDDY__CLASS_INT ? bits : eddy__x86_type_of(r->dtype);

    if (own.is_memory) {
        eddy__x86_extend(m, bits, spare, is_push ? own : item);
        eddy__x86_store_int(m, bits, is_push ? item : own, spare);
    } else if (is_push && t->is_float) {
        eddy__x86_put_float(m, t, item, own.reg);
    } else if (is_push) {
        eddy__x86_store_int(m, t, item, own.reg);
    } else if (t->is_float) {
        eddy__x86_get_float(m, t, own.reg, item);
    } else {
        eddy__x86_extend(m, t, own.reg, item);
    }
}

/* A register that points at the tape or the cells that a register is. */
static uint32_t hold_handle(maker *m, uint32_t number)
{
    const eddy__x86_place at =
        eddy__x86_operand_at(m, number * (uint32_t)sizeof(eddy__value));

    return eddy__x86_hold_int(m, &eddy__x86_u64, at, EDDY__RAX);
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
                   eddy__x86_memory_of(m->region.tape));
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__R15,
                   next_of_tape(EDDY__RAX));
}

void eddy__x86_store_tape(eddy__x86_maker *m)
{
    if (m->region.tape == EDDY__LINEAR_NONE)
        return;
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RAX,
                   eddy__x86_memory_of(m->region.tape));
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
    const uint32_t index = eddy__x86_hold_int(
        m, &eddy__x86_u32, eddy__x86_operand_at(m, c->b), (uint32_t)EDDY__RDX);
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
        eddy__x86_hold_int(m, &eddy__x86_u32, eddy__x86_operand_at(m, c->b),
                           EDDY__RDX);
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

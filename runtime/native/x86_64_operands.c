/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of single operations on x86-64: to registers, and from them. */
#include "runtime/native/x86_64_operands.h"

#include "runtime/native/x86_64_packs.h"

typedef eddy__x86_maker maker;

static const eddy__x86_type i8 = {1, true, false, 0, 0};
static const eddy__x86_type i16 = {2, true, false, 0, 0};
static const eddy__x86_type i32 = {4, true, false, 0, 0};
static const eddy__x86_type i64 = {8, true, false, 0, 0};
const eddy__x86_type eddy__x86_u8 = {1, false, false, 0, 0};
const eddy__x86_type eddy__x86_u16 = {2, false, false, 0, 0};
const eddy__x86_type eddy__x86_u32 = {4, false, false, 0, 0};
const eddy__x86_type eddy__x86_u64 = {8, false, false, 0, 0};
static const eddy__x86_type f32 = {4, true, true, EDDY__X86_LOAD_F32,
                                   EDDY__X86_STORE_F32};
static const eddy__x86_type f64 = {8, true, true, EDDY__X86_LOAD_F64,
                                   EDDY__X86_STORE_F64};
const eddy__x86_type *eddy__x86_type_of(uint32_t dtype)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return &f32;
    case EDDY_FLOAT64:
        return &f64;
    case EDDY_INT8:
        return &i8;
    case EDDY_INT16:
        return &i16;
    case EDDY_INT32:
        return &i32;
    case EDDY_INT64:
        return &i64;
    case EDDY_BOOL:
    case EDDY_UINT8:
        return &eddy__x86_u8;
    case EDDY_UINT16:
        return &eddy__x86_u16;
    case EDDY_UINT32:
        return &eddy__x86_u32;
    default:
        return &eddy__x86_u64;
    }
}

/* ---- integers: load, store, extend ---- */

void eddy__x86_move_int(maker *m, uint32_t to, uint32_t from)
{
    if (to != from)
        eddy__x86_emit(&m->x, EDDY__X86_MOV, true, to, eddy__x86_reg(from));
}

/* `place`, extended to at least four bytes. */
void eddy__x86_extend(maker *m, const eddy__x86_type *t, uint32_t to,
                      eddy__x86_place place)
{
    static const eddy__x86_op ops[2][2] = {
        {EDDY__X86_MOVZX8, EDDY__X86_MOVZX16},
        {EDDY__X86_MOVSX8, EDDY__X86_MOVSX16}};

    if (t->size < 4)
        eddy__x86_emit(&m->x, ops[t->is_signed][t->size == 2], false, to,
                       place);
    else if (!eddy__x86_is_at(place, to))
        eddy__x86_emit(&m->x, EDDY__X86_MOV, eddy__x86_is_wide(t), to, place);
}

/* What stands in a home is extended already. */
void eddy__x86_get_int(maker *m, const eddy__x86_type *t, uint32_t to,
                       eddy__x86_place from)
{
    if (from.is_memory)
        eddy__x86_extend(m, t, to, from);
    else
        eddy__x86_move_int(m, to, from.reg);
}

/* A register that holds it: its home, or `spare`. */
uint32_t eddy__x86_hold_int(maker *m, const eddy__x86_type *t,
                            eddy__x86_place from, uint32_t spare)
{
    if (!from.is_memory)
        return from.reg;
    eddy__x86_extend(m, t, spare, from);
    return spare;
}

/* What may stand as the last operand: memory of its whole width will do. */
eddy__x86_place eddy__x86_last_int(maker *m, const eddy__x86_type *t,
                                   eddy__x86_place from, uint32_t spare)
{
    if (from.is_memory && t->size < 4)
        return eddy__x86_reg(eddy__x86_hold_int(m, t, from, spare));
    return from;
}

void eddy__x86_store_int(maker *m, const eddy__x86_type *t, eddy__x86_place to,
                         uint32_t reg)
{
    static const eddy__x86_op ops[] = {
        [1] = EDDY__X86_STORE8,
        [2] = EDDY__X86_STORE16,
        [4] = EDDY__X86_STORE,
        [8] = EDDY__X86_STORE,
    };

    eddy__x86_emit(&m->x, ops[t->size], eddy__x86_is_wide(t), reg, to);
}

/* What has been computed in `reg`, at four bytes at least, is narrowed. */
void eddy__x86_put_int(maker *m, const eddy__x86_type *t, eddy__x86_place to,
                       uint32_t reg)
{
    if (to.is_memory)
        eddy__x86_store_int(m, t, to, reg);
    else
        eddy__x86_extend(m, t, to.reg, eddy__x86_reg(reg));
}

/* ---- floats ---- */

void eddy__x86_get_float(maker *m, const eddy__x86_type *t, uint32_t to,
                         eddy__x86_place from)
{
    if (from.is_memory)
        eddy__x86_emit(&m->x, t->load, false, to, from);
    else if (from.reg != to)
        eddy__x86_emit(&m->x, EDDY__X86_MOVAPS, false, to, from);
}

void eddy__x86_put_float(maker *m, const eddy__x86_type *t, eddy__x86_place to,
                         uint32_t reg)
{
    if (to.is_memory)
        eddy__x86_emit(&m->x, t->store, false, reg, to);
    else
        eddy__x86_get_float(m, t, to.reg, eddy__x86_reg(reg));
}

uint32_t eddy__x86_hold_float(maker *m, const eddy__x86_type *t,
                              eddy__x86_place from, uint32_t spare)
{
    if (!from.is_memory)
        return from.reg;
    eddy__x86_get_float(m, t, spare, from);
    return spare;
}

void eddy__x86_between(maker *m, eddy__x86_op op, uint32_t to, uint32_t from)
{
    eddy__x86_emit(&m->x, op, false, to, eddy__x86_reg(from));
}

void eddy__x86_load(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_range *r = eddy__native_range_of(&m->region, number);
    const eddy__x86_type *t = eddy__x86_type_of(r->dtype);

    if (r->class >= EDDY__CLASS_PACK)
        eddy__x86_load_pack(m, number);
    else if (t->is_float)
        eddy__x86_get_float(m, t, eddy__x86_home(m, r),
                            eddy__x86_memory_of(number));
    else
        eddy__x86_get_int(m, t, eddy__x86_home(m, r),
                          eddy__x86_memory_of(number));
}

void eddy__x86_store(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_range *r = eddy__native_range_of(&m->region, number);
    const eddy__x86_type *t = eddy__x86_type_of(r->dtype);

    if (r->class >= EDDY__CLASS_PACK)
        eddy__x86_store_pack(m, number);
    else if (t->is_float)
        eddy__x86_put_float(m, t, eddy__x86_memory_of(number),
                            eddy__x86_home(m, r));
    else
        eddy__x86_store_int(m, t, eddy__x86_memory_of(number),
                            eddy__x86_home(m, r));
}

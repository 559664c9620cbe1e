/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of single operations on x86-64: types, and values between places.
 *
 * Integers stand in registers as x86_64.h says; a function that "puts" narrows
 * what has been computed at four bytes at least.
 */
#ifndef EDDY_NATIVE_X86_64_OPERANDS_H
#define EDDY_NATIVE_X86_64_OPERANDS_H

#include "runtime/native/x86_64.h"

/* Registers for use within an instruction. */
enum { EDDY__XMM0, EDDY__XMM1, EDDY__XMM2 };

typedef struct eddy__x86_type {
    uint8_t size;
    bool is_signed, is_float;
    eddy__x86_op load, store; /* of floats */
} eddy__x86_type;

extern const eddy__x86_type eddy__x86_u8, eddy__x86_u16, eddy__x86_u32,
    eddy__x86_u64;

const eddy__x86_type *eddy__x86_type_of(uint32_t dtype);

static inline bool eddy__x86_is_wide(const eddy__x86_type *t)
{
    return t->size == 8;
}

static inline bool eddy__x86_is_at(eddy__x86_place place, uint32_t reg)
{
    return !place.is_memory && place.reg == reg;
}

/* The payload in the file. */
static inline eddy__x86_place eddy__x86_memory_of(uint32_t number)
{
    return eddy__x86_memory(
        (int32_t)(number * sizeof(eddy__value) + offsetof(eddy__value, as)));
}

static inline eddy__x86_place eddy__x86_operand_at(const eddy__x86_maker *m,
                                                   uint32_t offset)
{
    return eddy__x86_place_of(m, eddy__native_number_of(offset));
}

/* ---- integers: load, store, extend ---- */

void eddy__x86_move_int(eddy__x86_maker *m, uint32_t to, uint32_t from);

/* `place`, extended to at least four bytes. */
void eddy__x86_extend(eddy__x86_maker *m, const eddy__x86_type *t, uint32_t to,
                      eddy__x86_place place);

/* The same of what may stand in a home, which is extended already. */
void eddy__x86_get_int(eddy__x86_maker *m, const eddy__x86_type *t, uint32_t to,
                       eddy__x86_place from);

/* A register that holds it: its home, or `spare`. */
uint32_t eddy__x86_hold_int(eddy__x86_maker *m, const eddy__x86_type *t,
                            eddy__x86_place from, uint32_t spare);

/* What may stand as the last operand: memory of its whole width will do. */
eddy__x86_place eddy__x86_last_int(eddy__x86_maker *m, const eddy__x86_type *t,
                                   eddy__x86_place from, uint32_t spare);

void eddy__x86_store_int(eddy__x86_maker *m, const eddy__x86_type *t,
                         eddy__x86_place to, uint32_t reg);
void eddy__x86_put_int(eddy__x86_maker *m, const eddy__x86_type *t,
                       eddy__x86_place to, uint32_t reg);

/* ---- floats ---- */

void eddy__x86_get_float(eddy__x86_maker *m, const eddy__x86_type *t,
                         uint32_t to, eddy__x86_place from);
void eddy__x86_put_float(eddy__x86_maker *m, const eddy__x86_type *t,
                         eddy__x86_place to, uint32_t reg);
uint32_t eddy__x86_hold_float(eddy__x86_maker *m, const eddy__x86_type *t,
                              eddy__x86_place from, uint32_t spare);

/* An instruction of two registers. */
void eddy__x86_between(eddy__x86_maker *m, eddy__x86_op op, uint32_t to,
                       uint32_t from);

#endif

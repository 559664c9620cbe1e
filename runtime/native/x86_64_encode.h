/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodings of x86-64: nothing here knows what code is for.
 *
 * Memory is a register and a distance, `rbp` if nothing is said.  Code is
 * written to a block that grows; once memory was short, nothing more is
 * written, and `failed` says so.
 */
#ifndef EDDY_NATIVE_X86_64_ENCODE_H
#define EDDY_NATIVE_X86_64_ENCODE_H

#include "core/base/memory.h"

enum {
    EDDY__RAX,
    EDDY__RCX,
    EDDY__RDX,
    EDDY__RBX,
    EDDY__RSP,
    EDDY__RBP,
    EDDY__RSI,
    EDDY__RDI,
    EDDY__R14 = 14,
    EDDY__R15 = 15
};

/* Conditions, as the processor numbers them; the lowest bit turns them. */
enum {
    EDDY__IF_BELOW = 2,
    EDDY__IF_NOT_BELOW = 3,
    EDDY__IF_EQUAL = 4,
    EDDY__IF_NOT_EQUAL = 5,
    EDDY__IF_NOT_ABOVE = 6,
    EDDY__IF_ABOVE = 7,
    EDDY__IF_SIGN = 8,
    EDDY__IF_NOT_SIGN = 9,
    EDDY__IF_PARITY = 10,
    EDDY__IF_NO_PARITY = 11,
    EDDY__IF_LESS = 12,
    EDDY__IF_NOT_LESS = 13,
    EDDY__IF_NOT_GREATER = 14,
    EDDY__IF_GREATER = 15
};

typedef enum eddy__x86_op {
#define BOTH(name, prefix, escape, opcode, mnemonic) EDDY__X86_##name,
#define ALONE(name, opcode, digit, mnemonic) EDDY__X86_##name,
#define FLOAT(name, prefix, opcode, mnemonic) EDDY__X86_##name,
#define CROSS(name, prefix, opcode, mnemonic) EDDY__X86_##name,
#include "runtime/native/x86_64.def"
#undef CROSS
#undef BOTH
#undef ALONE
#undef FLOAT
    EDDY__X86_N_OPS
} eddy__x86_op;

typedef struct eddy__x86 {
    const eddy_allocator *allocator;
    uint8_t *code;
    size_t n, room;
    bool failed;
} eddy__x86;

/*
 * A register, or memory at a distance from one, and maybe from another one
 * times 2^scale_log; with that neither is rsp.
 */
typedef struct eddy__x86_place {
    bool is_memory, has_index;
    uint8_t reg, index, scale_log;
    int32_t at;
} eddy__x86_place;

static inline eddy__x86_place eddy__x86_reg(uint32_t reg)
{
    return (eddy__x86_place){.reg = (uint8_t)reg};
}

static inline eddy__x86_place eddy__x86_memory(int32_t at)
{
    return (eddy__x86_place){.is_memory = true, .reg = EDDY__RBP, .at = at};
}

static inline eddy__x86_place eddy__x86_memory_by(uint32_t base, int32_t at)
{
    return (eddy__x86_place){.is_memory = true, .reg = (uint8_t)base, .at = at};
}

static inline eddy__x86_place eddy__x86_item(uint32_t base, uint32_t index,
                                             uint32_t scale_log)
{
    return (eddy__x86_place){.is_memory = true,
                             .has_index = true,
                             .reg = (uint8_t)base,
                             .index = (uint8_t)index,
                             .scale_log = (uint8_t)scale_log};
}

/* `wide`: eight bytes instead of four. */
void eddy__x86_emit(eddy__x86 *x, eddy__x86_op op, bool wide, uint32_t reg,
                    eddy__x86_place place);
void eddy__x86_emit_alone(eddy__x86 *x, eddy__x86_op op, bool wide,
                          eddy__x86_place place);

/* add, or, and, sub, xor, cmp by ADD to CMP; eight bytes if `wide`. */
void eddy__x86_emit_number(eddy__x86 *x, eddy__x86_op op, bool wide,
                           eddy__x86_place place, int32_t number);
/* test, or one of the above, with a byte of memory */
void eddy__x86_emit_number8(eddy__x86 *x, eddy__x86_op op,
                            eddy__x86_place place, uint8_t number);
/* imul of four bytes: `to` is `from` times a number. */
void eddy__x86_emit_imul_number(eddy__x86 *x, uint32_t to, uint32_t from,
                                int32_t number);
void eddy__x86_emit_mov_number(eddy__x86 *x, uint32_t reg, uint32_t number);
void eddy__x86_emit_store_number(eddy__x86 *x, bool wide, int32_t at,
                                 int32_t number);
void eddy__x86_emit_sign_extend(eddy__x86 *x, bool wide); /* cdq, cqo */
void eddy__x86_emit_set(eddy__x86 *x, uint32_t condition, uint32_t reg);
/* Every bit of a float register shifted: pslld, psllq, psrld, psrlq. */
void eddy__x86_emit_shift(eddy__x86 *x, bool wide, bool to_left, uint32_t reg,
                          uint8_t n);
/* The bits of a condition, all or none: cmpss, cmpsd. */
typedef enum eddy__x86_relation {
    EDDY__X86_IS_EQUAL,
    EDDY__X86_IS_LESS,
    EDDY__X86_IS_LESS_EQUAL,
    EDDY__X86_IS_UNORDERED,
    EDDY__X86_IS_NOT_EQUAL, /* or unordered */
} eddy__x86_relation;
void eddy__x86_emit_relation(eddy__x86 *x, bool wide, uint32_t reg,
                             eddy__x86_place place,
                             eddy__x86_relation relation);
/* To an integer: roundss, roundsd, of SSE4.1. */
typedef enum eddy__x86_rounding {
    EDDY__X86_TO_EVEN,
    EDDY__X86_DOWN,
    EDDY__X86_UP,
    EDDY__X86_TO_ZERO,
} eddy__x86_rounding;
void eddy__x86_emit_round(eddy__x86 *x, bool wide, uint32_t reg, uint32_t from,
                          eddy__x86_rounding rounding);
bool eddy__x86_can_round(void);
/* shl, shr and sar of an integer register by a number */
void eddy__x86_emit_shl(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n);
void eddy__x86_emit_shr(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n);
void eddy__x86_emit_sar(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n);
/* The number of a condition, EDDY__IF_...; returns where the distance is. */
size_t eddy__x86_emit_jump_if(eddy__x86 *x, uint32_t condition);
size_t eddy__x86_emit_jump(eddy__x86 *x);
/* The jump at `from` leads to `to`. */
void eddy__x86_aim(eddy__x86 *x, size_t from, size_t to);
void eddy__x86_emit_jump_reg(eddy__x86 *x, uint32_t reg);
void eddy__x86_emit_call_memory(eddy__x86 *x, uint32_t base, int32_t at);
void eddy__x86_emit_push(eddy__x86 *x, uint32_t reg);
void eddy__x86_emit_pop(eddy__x86 *x, uint32_t reg);
void eddy__x86_emit_return(eddy__x86 *x);
/* `n` bytes of instructions that do nothing. */
void eddy__x86_emit_nothing(eddy__x86 *x, size_t n);

/* At most 16 bytes that are an instruction. */
void eddy__x86_emit_bytes(eddy__x86 *x, const uint8_t *bytes, size_t n);

/* As objdump calls it. */
const char *eddy__x86_mnemonic(eddy__x86_op op);

#endif

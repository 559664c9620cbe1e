/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodings of x86-64: prefix, REX, escape, opcode, ModRM, distance, number.
 */
#include "runtime/native/x86_64_encode.h"

#include <string.h>

typedef struct encoding {
    uint8_t prefix, escape, opcode;
    uint8_t digit; /* of ALONE */
    const char *mnemonic;
} encoding;

static const encoding encodings[] = {
#define BOTH(name, prefix, escape, opcode, mnemonic)                           \
    {prefix, escape, opcode, 0, mnemonic},
#define ALONE(name, opcode, digit, mnemonic) {0, 0, opcode, digit, mnemonic},
#define FLOAT(name, prefix, opcode, mnemonic) {prefix, 1, opcode, 0, mnemonic},
#define CROSS FLOAT
#include "runtime/native/x86_64.def"
};

const char *eddy__x86_mnemonic(eddy__x86_op op)
{
    return encodings[op].mnemonic;
}

/* ---- bytes ---- */

/* No instruction is longer. */
#define LONGEST 16

/* Room for an instruction; false, and nothing may be put, once there is none.
 */
static inline bool begin(eddy__x86 *x)
{
    if (x->room - x->n >= LONGEST)
        return true;
    if (!x->failed && eddy__grow(x->allocator, (void **)&x->code, &x->room,
                                 x->n + LONGEST, 1))
        return true;
    x->failed = true;
    return false;
}

static inline void put8(eddy__x86 *x, uint32_t byte)
{
    x->code[x->n++] = (uint8_t)byte;
}

/* The processor's own order. */
static inline void put32(eddy__x86 *x, uint32_t number)
{
    memcpy(x->code + x->n, &number, sizeof number);
    x->n += sizeof number;
}

static inline void put_rex(eddy__x86 *x, bool wide, uint32_t reg, uint32_t base,
                           bool always)
{
    const uint32_t rex = 0x40u | (wide ? 8u : 0u) | (reg >> 3 << 2) | base >> 3;

    if (always || rex != 0x40)
        put8(x, rex);
}

/* What a place adds to the prefix of its instruction. */
static inline void put_rex_of(eddy__x86 *x, bool wide, uint32_t reg,
                              eddy__x86_place place, bool always)
{
    const uint32_t rex =
        0x40u | (wide ? 8u : 0u) | (reg >> 3 << 2) |
        (uint32_t)(place.has_index ? place.index >> 3 << 1 : 0) |
        place.reg >> 3;

    if (always || rex != 0x40)
        put8(x, rex);
}

/* `base` and a distance; r12 takes a byte more; rsp is not for it. */
static inline void put_memory(eddy__x86 *x, uint32_t reg, uint32_t base,
                              int32_t at)
{
    const bool is_near = at >= -128 && at <= 127;

    put8(x, (is_near ? 0x40u : 0x80u) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == EDDY__RSP)
        put8(x, 0x24);
    if (is_near)
        put8(x, (uint32_t)at & 0xff);
    else
        put32(x, (uint32_t)at);
}

/* With an index the distance is one of a byte. */
static inline void put_item(eddy__x86 *x, uint32_t reg, eddy__x86_place place)
{
    put8(x, 0x44u | (reg & 7) << 3);
    put8(x, (uint32_t)place.scale_log << 6 | (place.index & 7u) << 3 |
                (place.reg & 7u));
    put8(x, (uint32_t)place.at & 0xff);
}

static inline void put_place(eddy__x86 *x, uint32_t reg, eddy__x86_place place)
{
    if (place.has_index)
        put_item(x, reg, place);
    else if (place.is_memory)
        put_memory(x, reg, place.reg, place.at);
    else
        put8(x, 0xc0u | (reg & 7) << 3 | (place.reg & 7u));
}

/* ---- instructions ---- */

/* Registers of one byte from the fifth on are those of a REX alone. */
static bool needs_rex(eddy__x86_op op, uint32_t reg, eddy__x86_place place)
{
    if (op == EDDY__X86_STORE8 || op == EDDY__X86_OR8)
        return reg >= 4 || (!place.is_memory && place.reg >= 4);
    return (op == EDDY__X86_MOVZX8 || op == EDDY__X86_MOVSX8) &&
           !place.is_memory && place.reg >= 4;
}

static void emit_encoding(eddy__x86 *x, eddy__x86_op op, bool wide,
                          uint32_t reg, eddy__x86_place place)
{
    const encoding *e = &encodings[op];

    if (!begin(x))
        return;
    if (e->prefix)
        put8(x, e->prefix);
    put_rex_of(x, wide, reg, place, needs_rex(op, reg, place));
    if (e->escape)
        put8(x, 0x0f);
    put8(x, e->opcode);
    put_place(x, reg, place);
}

void eddy__x86_emit(eddy__x86 *x, eddy__x86_op op, bool wide, uint32_t reg,
                    eddy__x86_place place)
{
    emit_encoding(x, op, wide, reg, place);
}

void eddy__x86_emit_alone(eddy__x86 *x, eddy__x86_op op, bool wide,
                          eddy__x86_place place)
{
    emit_encoding(x, op, wide, encodings[op].digit, place);
}

void eddy__x86_emit_number(eddy__x86 *x, eddy__x86_op op, bool wide,
                           eddy__x86_place place, int32_t number)
{
    /* The digits of these are in the middle of their opcodes. */
    const uint32_t digit = encodings[op].opcode >> 3;
    const bool is_near = number >= -128 && number <= 127;

    if (!begin(x))
        return;
    put_rex_of(x, wide, 0, place, false);
    put8(x, is_near ? 0x83 : 0x81);
    put_place(x, digit, place);
    if (is_near)
        put8(x, (uint32_t)number & 0xff);
    else
        put32(x, (uint32_t)number);
}

void eddy__x86_emit_number8(eddy__x86 *x, eddy__x86_op op,
                            eddy__x86_place place, uint8_t number)
{
    const bool is_test = op == EDDY__X86_TEST;

    if (!begin(x))
        return;
    put_rex_of(x, false, 0, place, false);
    put8(x, is_test ? 0xf6 : 0x80);
    put_place(x, is_test ? 0 : encodings[op].opcode >> 3, place);
    put8(x, number);
}

void eddy__x86_emit_imul_number(eddy__x86 *x, uint32_t to, uint32_t from,
                                int32_t number)
{
    if (!begin(x))
        return;
    put_rex(x, false, to, from, false);
    put8(x, 0x69);
    put_place(x, to, eddy__x86_reg(from));
    put32(x, (uint32_t)number);
}

void eddy__x86_emit_mov_number(eddy__x86 *x, uint32_t reg, uint32_t number)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, reg, false);
    put8(x, 0xb8u | (reg & 7));
    put32(x, number);
}

void eddy__x86_emit_store_number(eddy__x86 *x, bool wide, int32_t at,
                                 int32_t number)
{
    if (!begin(x))
        return;
    put_rex(x, wide, 0, EDDY__RBP, false);
    put8(x, 0xc7);
    put_memory(x, 0, EDDY__RBP, at);
    put32(x, (uint32_t)number);
}

void eddy__x86_emit_sign_extend(eddy__x86 *x, bool wide)
{
    if (!begin(x))
        return;
    put_rex(x, wide, 0, 0, false);
    put8(x, 0x99);
}

void eddy__x86_emit_set(eddy__x86 *x, uint32_t condition, uint32_t reg)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, reg, reg >= 4);
    put8(x, 0x0f);
    put8(x, 0x90u | condition);
    put8(x, 0xc0u | (reg & 7));
}

void eddy__x86_emit_shift(eddy__x86 *x, bool wide, bool to_left, uint32_t reg,
                          uint8_t n)
{
    if (!begin(x))
        return;
    put8(x, 0x66);
    put_rex(x, false, 0, reg, false);
    put8(x, 0x0f);
    put8(x, wide ? 0x73 : 0x72);
    put8(x, 0xc0u | (to_left ? 6u : 2u) << 3 | (reg & 7));
    put8(x, n);
}

void eddy__x86_emit_relation(eddy__x86 *x, bool wide, uint32_t reg,
                             eddy__x86_place place, eddy__x86_relation relation)
{
    if (!begin(x))
        return;
    put8(x, wide ? 0xf2 : 0xf3);
    put_rex_of(x, false, reg, place, false);
    put8(x, 0x0f);
    put8(x, 0xc2);
    put_place(x, reg, place);
    put8(x, relation);
}

void eddy__x86_emit_round(eddy__x86 *x, bool wide, uint32_t reg, uint32_t from,
                          eddy__x86_rounding rounding)
{
    if (!begin(x))
        return;
    put8(x, 0x66);
    put_rex(x, false, reg, from, false);
    put8(x, 0x0f);
    put8(x, 0x3a);
    put8(x, wide ? 0x0b : 0x0a);
    put_place(x, reg, eddy__x86_reg(from));
    put8(x, rounding);
}

bool eddy__x86_can_round(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("sse4.1") != 0;
#else
    return false;
#endif
}

static void emit_shift_by(eddy__x86 *x, bool wide, uint32_t digit, uint32_t reg,
                          uint8_t n)
{
    if (!begin(x))
        return;
    put_rex(x, wide, 0, reg, false);
    put8(x, 0xc1);
    put8(x, 0xc0u | digit << 3 | (reg & 7));
    put8(x, n);
}

void eddy__x86_emit_shl(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n)
{
    emit_shift_by(x, wide, 4, reg, n);
}

void eddy__x86_emit_shr(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n)
{
    emit_shift_by(x, wide, 5, reg, n);
}

void eddy__x86_emit_sar(eddy__x86 *x, bool wide, uint32_t reg, uint8_t n)
{
    emit_shift_by(x, wide, 7, reg, n);
}

/* ---- where to go on ---- */

static size_t put_distance(eddy__x86 *x)
{
    put32(x, 0);
    return x->n;
}

size_t eddy__x86_emit_jump_if(eddy__x86 *x, uint32_t condition)
{
    if (!begin(x))
        return 0;
    put8(x, 0x0f);
    put8(x, 0x80u | condition);
    return put_distance(x);
}

size_t eddy__x86_emit_jump(eddy__x86 *x)
{
    if (!begin(x))
        return 0;
    put8(x, 0xe9);
    return put_distance(x);
}

void eddy__x86_aim(eddy__x86 *x, size_t from, size_t to)
{
    const uint32_t distance = (uint32_t)(to - from);

    if (x->failed)
        return;
    memcpy(x->code + from - 4, &distance, sizeof distance);
}

void eddy__x86_emit_jump_reg(eddy__x86 *x, uint32_t reg)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, reg, false);
    put8(x, 0xff);
    put8(x, 0xe0u | (reg & 7));
}

void eddy__x86_emit_call_memory(eddy__x86 *x, uint32_t base, int32_t at)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, base, false);
    put8(x, 0xff);
    put_memory(x, 2, base, at);
}

void eddy__x86_emit_push(eddy__x86 *x, uint32_t reg)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, reg, false);
    put8(x, 0x50u | (reg & 7));
}

void eddy__x86_emit_pop(eddy__x86 *x, uint32_t reg)
{
    if (!begin(x))
        return;
    put_rex(x, false, 0, reg, false);
    put8(x, 0x58u | (reg & 7));
}

void eddy__x86_emit_return(eddy__x86 *x)
{
    if (!begin(x))
        return;
    put8(x, 0xc3);
}

void eddy__x86_emit_nothing(eddy__x86 *x, size_t n)
{
    static const uint8_t bytes[][8] = {
        {0x90},
        {0x66, 0x90},
        {0x0f, 0x1f, 0x00},
        {0x0f, 0x1f, 0x40, 0x00},
        {0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
        {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    };

    while (n > 0) {
        const size_t here = n < 8 ? n : 8;

        if (!begin(x))
            return;
        for (size_t i = 0; i < here; i++)
            put8(x, bytes[here - 1][i]);
        n -= here;
    }
}

void eddy__x86_emit_bytes(eddy__x86 *x, const uint8_t *bytes, size_t n)
{
    if (!begin(x))
        return;
    memcpy(x->code + x->n, bytes, n);
    x->n += n;
}

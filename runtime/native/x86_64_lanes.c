/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and constants of loops over vectors. */
#include "runtime/native/x86_64_lanes.h"

#include <string.h>

eddy__lane eddy__lane_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return EDDY__LANE_F32;
    case EDDY_FLOAT64:
        return EDDY__LANE_F64;
    case EDDY_INT32:
        return EDDY__LANE_I32;
    case EDDY_INT64:
        return EDDY__LANE_I64;
    case EDDY_UINT32:
        return EDDY__LANE_U32;
    case EDDY_UINT64:
        return EDDY__LANE_U64;
    case EDDY_BOOL:
        return EDDY__LANE_BOOL;
    default:
        return EDDY__LANE_NONE;
    }
}

/* ---- registers ---- */

static uint32_t take_lowest(eddy__lanes *l, uint32_t *free)
{
    uint32_t reg;

    if (*free == 0) {
        l->is_short = true;
        return 0;
    }
    reg = (uint32_t)__builtin_ctz(*free);
    *free &= ~(UINT32_C(1) << reg);
    return reg;
}

uint32_t eddy__lanes_take(eddy__lanes *l)
{
    return take_lowest(l, &l->free);
}

uint32_t eddy__lanes_take_for(eddy__lanes *l, eddy__lane lane)
{
    return l->is_512 && lane == EDDY__LANE_BOOL ? take_lowest(l, &l->free_masks)
                                                : eddy__lanes_take(l);
}

void eddy__lanes_give(eddy__lanes *l, uint32_t reg)
{
    l->free |= UINT32_C(1) << reg & ~l->pinned;
}

void eddy__lanes_give_for(eddy__lanes *l, eddy__lane lane, uint32_t reg)
{
    if (l->is_512 && lane == EDDY__LANE_BOOL)
        l->free_masks |= UINT32_C(1) << reg;
    else
        eddy__lanes_give(l, reg);
}

/* ---- constants ---- */

typedef struct bits {
    uint64_t value;
    uint8_t size;
} bits;

static const bits constants[] = {
    [EDDY__LANE_ZERO] = {0, 4},
    [EDDY__LANE_ALL_BITS] = {UINT32_MAX, 4},
    [EDDY__LANE_ONE_BYTES] = {0x01010101, 4},
    [EDDY__LANE_FIX] = {0x22, 4},
    [EDDY__LANE_ABS_F32] = {INT32_MAX, 4},
    [EDDY__LANE_ABS_F64] = {INT64_MAX, 8},
    [EDDY__LANE_SIGN_F32] = {UINT32_C(1) << 31, 4},
    [EDDY__LANE_SIGN_F64] = {UINT64_C(1) << 63, 8},
    [EDDY__LANE_ONE_F32] = {0x3f800000, 4},
    [EDDY__LANE_ONE_F64] = {UINT64_C(0x3ff0000000000000), 8},
    [EDDY__LANE_MINUS_ONE_F32] = {0xbf800000, 4},
    [EDDY__LANE_MINUS_ONE_F64] = {UINT64_C(0xbff0000000000000), 8},
    [EDDY__LANE_HALF_F32] = {0x3f000000, 4},
    [EDDY__LANE_HALF_F64] = {UINT64_C(0x3fe0000000000000), 8},
    [EDDY__LANE_MINUS_HALF_F32] = {0xbf000000, 4},
    [EDDY__LANE_MINUS_HALF_F64] = {UINT64_C(0xbfe0000000000000), 8},
    [EDDY__LANE_SIX_F32] = {0x40c00000, 4},
    [EDDY__LANE_SIX_F64] = {UINT64_C(0x4018000000000000), 8},
    [EDDY__LANE_INFINITE_F32] = {0x7f800000, 4},
    [EDDY__LANE_INFINITE_F64] = {UINT64_C(0x7ff0000000000000), 8},
    [EDDY__LANE_ONE_I32] = {1, 4},
    [EDDY__LANE_ONE_I64] = {1, 8},
};

static eddy__x86_form widest(const eddy__lanes *l)
{
    return (eddy__x86_form){.is_evex = l->is_512, .bits = l->widest};
}

static void note_use(eddy__lanes *l, size_t at, eddy__lane_constant constant)
{
    if (!eddy__grow(l->x.allocator, (void **)&l->uses, &l->uses_room,
                    l->n_uses + 1, sizeof *l->uses)) {
        l->x.failed = true;
        return;
    }
    l->uses[l->n_uses++] = (struct eddy__lane_use){at, constant};
}

/* Of 16 bytes there is one for two lanes. */
static eddy__x86_vector_op spread_of(const eddy__lanes *l, uint8_t size)
{
    return size == 4          ? EDDY__VECTOR_SPREAD_F32
           : l->widest == 128 ? EDDY__VECTOR_SPREAD_TWO
                              : EDDY__VECTOR_SPREAD_F64;
}

static void load_constant(eddy__lanes *l, eddy__lane_constant constant,
                          uint32_t reg)
{
    if (constant == EDDY__LANE_ZERO)
        eddy__x86_emit_vector(&l->x, EDDY__VECTOR_XOR, widest(l), reg, reg,
                              eddy__x86_reg(reg));
    else
        note_use(
            l,
            eddy__x86_emit_vector_near(
                &l->x, spread_of(l, constants[constant].size), widest(l), reg),
            constant);
}

uint32_t eddy__lanes_constant(eddy__lanes *l, eddy__lane_constant constant)
{
    uint32_t reg;

    l->used |= UINT32_C(1) << constant;
    if (l->held >> constant & 1)
        return l->constants[constant];
    reg = eddy__lanes_take(l);
    load_constant(l, constant, reg);
    return reg;
}

void eddy__lanes_hold(eddy__lanes *l, eddy__lane_constant constant)
{
    const uint32_t reg = eddy__lanes_take(l);

    l->pinned |= UINT32_C(1) << reg;
    l->held |= UINT32_C(1) << constant;
    l->constants[constant] = (uint8_t)reg;
    load_constant(l, constant, reg);
}

void eddy__lanes_put_constants(eddy__lanes *l)
{
    for (uint32_t c = 0; c < EDDY__LANE_N_CONSTANTS; c++) {
        const size_t at = l->x.n;
        uint8_t bytes[8];

        memcpy(bytes, &constants[c].value, sizeof bytes);
        for (size_t i = 0; i < l->n_uses; i++) {
            if (l->uses[i].constant != c)
                continue;
            if (l->x.n == at)
                eddy__x86_emit_bytes(&l->x, bytes, sizeof bytes);
            eddy__x86_aim(&l->x, l->uses[i].at, at);
        }
    }
}

/* ---- instructions ---- */

eddy__x86_form eddy__lanes_form(const eddy__lanes *l, eddy__lane lane)
{
    const uint32_t length = l->n * (eddy__lane_is_long(lane) ? 64 : 32);

    return (eddy__x86_form){.is_evex = l->is_512,
                            .bits =
                                l->extent == EDDY__LANES_FIRST || length < 128
                                    ? 128
                                    : (uint16_t)length};
}

void eddy__lanes_emit(eddy__lanes *l, eddy__x86_vector_op op, eddy__lane lane,
                      uint32_t to, uint32_t a, uint32_t b)
{
    eddy__x86_emit_vector(&l->x, op, eddy__lanes_form(l, lane), to, a,
                          eddy__x86_reg(b));
}

void eddy__lanes_keep(eddy__lanes *l, eddy__lane lane, uint32_t to,
                      uint32_t from, uint32_t mask)
{
    eddy__x86_form form = eddy__lanes_form(l, lane);

    form.mask = (uint8_t)mask;
    form.is_zeroing = true;
    eddy__x86_emit_vector(&l->x,
                          eddy__lane_is_long(lane) ? EDDY__VECTOR_LOAD_F64
                                                   : EDDY__VECTOR_LOAD,
                          form, to, 0, eddy__x86_reg(from));
}

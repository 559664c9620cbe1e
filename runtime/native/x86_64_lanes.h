/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some elements at a time in vectors of x86-64: registers, constants, and the
 * ops that there is code for.
 *
 * All vectors of a loop have as many lanes, so vectors of elements of 4 bytes
 * are half as long as those of 8 where both occur.  A bool is a mask: a mask
 * register with AVX-512, with AVX2 a vector of 4 bytes a lane, all bits of
 * which are set or none.
 */
#ifndef EDDY_NATIVE_X86_64_LANES_H
#define EDDY_NATIVE_X86_64_LANES_H

#include "eddy/tensor.h"
#include "runtime/native/x86_64_vector.h"

/* What elements are. */
typedef enum eddy__lane {
    EDDY__LANE_F32,
    EDDY__LANE_F64,
    EDDY__LANE_I32,
    EDDY__LANE_I64,
    EDDY__LANE_U32,
    EDDY__LANE_U64,
    EDDY__LANE_BOOL,
    EDDY__LANE_NONE,
} eddy__lane;

eddy__lane eddy__lane_of(eddy_dtype dtype);

static inline bool eddy__lane_is_long(eddy__lane lane)
{
    return lane == EDDY__LANE_F64 || lane == EDDY__LANE_I64 ||
           lane == EDDY__LANE_U64;
}

static inline bool eddy__lane_is_float(eddy__lane lane)
{
    return lane == EDDY__LANE_F32 || lane == EDDY__LANE_F64;
}

/* Constants, those of 4 bytes before those of 8. */
typedef enum eddy__lane_constant {
    EDDY__LANE_ZERO,
    EDDY__LANE_ALL_BITS,
    EDDY__LANE_ONE_BYTES, /* the byte 1 */
    EDDY__LANE_FIX,       /* for vfixupimm: a NaN is given on */
    EDDY__LANE_ABS_F32,   /* all bits but the sign */
    EDDY__LANE_ABS_F64,
    EDDY__LANE_SIGN_F32,
    EDDY__LANE_SIGN_F64,
    EDDY__LANE_ONE_F32,
    EDDY__LANE_ONE_F64,
    EDDY__LANE_MINUS_ONE_F32,
    EDDY__LANE_MINUS_ONE_F64,
    EDDY__LANE_HALF_F32,
    EDDY__LANE_HALF_F64,
    EDDY__LANE_MINUS_HALF_F32,
    EDDY__LANE_MINUS_HALF_F64,
    EDDY__LANE_SIX_F32,
    EDDY__LANE_SIX_F64,
    EDDY__LANE_INFINITE_F32,
    EDDY__LANE_INFINITE_F64,
    EDDY__LANE_ONE_I32,
    EDDY__LANE_ONE_I64,
    EDDY__LANE_N_CONSTANTS
} eddy__lane_constant;

/* How much of a vector is read and written. */
typedef enum eddy__lane_extent {
    EDDY__LANES_ALL,
    EDDY__LANES_SOME,  /* of AVX-512: those of mask register 1 */
    EDDY__LANES_FIRST, /* without AVX-512 */
} eddy__lane_extent;

#define EDDY__LANE_REGISTERS 32

typedef struct eddy__lanes {
    eddy__x86 x;
    bool is_512;        /* AVX-512, else AVX2 */
    bool is_waited_for; /* results soon, rather than many of them */
    uint16_t widest;    /* bits of the longest vectors */
    uint32_t n;         /* lanes */
    eddy__lane_extent extent;
    uint32_t free, pinned; /* vector registers, a bit each */
    uint32_t free_masks;   /* mask registers */
    bool is_short;         /* registers ran out */
    uint32_t used;         /* constants, a bit each */
    uint32_t held;         /* those that have a register for good: ... */
    uint8_t constants[EDDY__LANE_N_CONSTANTS]; /* ... which */
    /* Where constants are read from memory: what stands behind the code. */
    struct eddy__lane_use {
        size_t at;
        eddy__lane_constant constant;
    } * uses;
    size_t n_uses, uses_room;
} eddy__lanes;

/* ---- registers ---- */

/* A register that is free; once there was none, `is_short`. */
uint32_t eddy__lanes_take(eddy__lanes *l);
/* The same for a value of such elements. */
uint32_t eddy__lanes_take_for(eddy__lanes *l, eddy__lane lane);
/* No effect on what is pinned. */
void eddy__lanes_give(eddy__lanes *l, uint32_t reg);
void eddy__lanes_give_for(eddy__lanes *l, eddy__lane lane, uint32_t reg);

/* A register with the constant in all lanes; to be given back. */
uint32_t eddy__lanes_constant(eddy__lanes *l, eddy__lane_constant constant);
/* Gives the constant a register for good, and loads it. */
void eddy__lanes_hold(eddy__lanes *l, eddy__lane_constant constant);
/* Puts the constants behind the code that has read them. */
void eddy__lanes_put_constants(eddy__lanes *l);

/* ---- instructions ---- */

/* The form of vectors of such elements, in the loop's number of lanes. */
eddy__x86_form eddy__lanes_form(const eddy__lanes *l, eddy__lane lane);

/* Three registers. */
void eddy__lanes_emit(eddy__lanes *l, eddy__x86_vector_op op, eddy__lane lane,
                      uint32_t to, uint32_t a, uint32_t b);
/* `to` where the mask says so, else 0: a move by a mask register. */
void eddy__lanes_keep(eddy__lanes *l, eddy__lane lane, uint32_t to,
                      uint32_t from, uint32_t mask);

/* ---- ops (x86_64_lane_ops.c) ---- */

/* A member: registers of its result, which is no operand, and its operands. */
typedef struct eddy__lane_op {
    eddy__lane lane, result; /* of the operands, but a condition */
    uint32_t to, in[3];
} eddy__lane_op;

typedef struct eddy__lane_row {
    const char *op;
    void (*emit)(eddy__lanes *l, const eddy__lane_op *o, uint32_t which);
    uint32_t which;
    uint8_t lanes;     /* that AVX2 has code for, a bit each */
    uint8_t lanes_512; /* that AVX-512 has */
} eddy__lane_row;

/* NULL: there is no code for it. */
const eddy__lane_row *eddy__lane_row_of(const char *op, eddy__lane lane,
                                        eddy__lane result, bool is_512);

/* May the result stand where an operand did? */
bool eddy__lane_row_is_alone(const eddy__lane_row *row);

/* Registers that the code of an op may need besides those of its operands. */
#define EDDY__LANE_MOST_TAKEN 5

#endif

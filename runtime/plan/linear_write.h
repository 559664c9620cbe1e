/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers and code of a region while it is written: what linear_build.c,
 * linear_steps.c, linear_outside.c and linear_spread_code.c share.
 *
 * A value that is spread has a raw register an element.  Those of a value that
 * is lent besides, of a constant for example, are there as well as its tensor.
 */
#ifndef EDDY_PLAN_LINEAR_WRITE_H
#define EDDY_PLAN_LINEAR_WRITE_H

#include "runtime/plan/linear_build.h"

typedef struct eddy__linear_writer {
    eddy__linear_build *w;
    eddy__linear *out;
    eddy__linear_text text;
    eddy__value *start; /* registers at first */
    size_t n_registers, registers_room;
    uint32_t *touched; /* values that were given registers */
    size_t n_touched, touched_room;
    uint32_t *constants; /* raw registers with a value from the start */
    size_t n_constants, constants_room;
    uint32_t *guards; /* of the build, by number in the region */
    size_t n_guards, guards_room;
    uint32_t guard; /* under which code is now */
    uint32_t step;  /* for which it is, or EDDY__NO */
    uint32_t n_counters;
    eddy__linear_frame *frames; /* of `out`, to be filled in */
} eddy__linear_writer;

/* ---- registers, by number ---- */

eddy_status eddy__linear_new_register(eddy__linear_writer *r, bool is_raw,
                                      uint8_t dtype, uint32_t *out_register);

/* The register of a value, a new one if need be. */
eddy_status eddy__linear_register_of(eddy__linear_writer *r, uint32_t v,
                                     uint32_t *out_register);

/* The registers of the elements of a value that is spread. */
eddy_status eddy__linear_parts_of(eddy__linear_writer *r, uint32_t v,
                                  const uint32_t **out_parts);

/* The register of element `i`, or of `v` itself where it is raw. */
eddy_status eddy__linear_part_of(eddy__linear_writer *r, uint32_t v, uint32_t i,
                                 uint32_t *out_register);

/* Value `v`, which has none yet, is what is in these registers. */
eddy_status eddy__linear_give_parts(eddy__linear_writer *r, uint32_t v,
                                    const uint32_t *parts);

/* A raw register that nobody writes, with these bits. */
eddy_status eddy__linear_constant(eddy__linear_writer *r, uint8_t dtype,
                                  uint64_t bits, uint32_t *out_register);

/*
 * A value that is there before the region begins: a constant.  Raw ones that
 * are equal have one register.
 */
eddy_status eddy__linear_preset(eddy__linear_writer *r, uint32_t v,
                                const eddy__value *value);

/* ---- code, in which registers are offsets ---- */

static inline uint32_t eddy__linear_offset_of(uint32_t number)
{
    return number * (uint32_t)sizeof(eddy__value);
}

eddy_status eddy__linear_offset(eddy__linear_writer *r, uint32_t v,
                                uint32_t *out_offset);

eddy_status eddy__linear_emit(eddy__linear_writer *r, eddy__linear_code code);
eddy_status eddy__linear_emit3(eddy__linear_writer *r, uint32_t op, uint32_t to,
                               uint32_t a, uint32_t b);

/*
 * A call of the kernel of step `id`; before it, code that makes tensors of what
 * is spread and read.
 */
eddy_status eddy__linear_add_call(eddy__linear_writer *r, uint32_t id,
                                  uint32_t *out_call);

/*
 * The registers of `n` values, as what a call of step `id` reads that is not
 * made: what is told of has one.
 */
eddy_status eddy__linear_add_list(eddy__linear_writer *r, uint32_t id,
                                  const uint32_t *values, uint32_t n,
                                  uint32_t *out_call);

/* ---- single steps (linear_steps.c) ---- */

/* Code for step `id` of the region of frame `top`, without what is told. */
eddy_status eddy__linear_emit_step(eddy__linear_writer *r, uint32_t id,
                                   uint32_t top);

/* What `to` reads from `from`, with so many readers of its own: by `op`, if no
 * move will do. */
eddy_status eddy__linear_emit_pass(eddy__linear_writer *r, uint32_t op,
                                   uint32_t to, uint32_t from, uint32_t uses);

/* A frame ends: what its constants' tensors have been lent from goes. */
eddy_status eddy__linear_drop_held(eddy__linear_writer *r, uint32_t frame);

/* ---- beside the code (linear_outside.c) ---- */

/* Frames, in the order in which they begin; before all code. */
eddy_status eddy__linear_number_loops(eddy__linear_writer *r);

/* What comes in through the Enters of frame `top`; before all code too. */
eddy_status eddy__linear_list_entries(eddy__linear_writer *r, uint32_t top);

/* Guards, and what is live and dead by them; behind the code, which counts. */
eddy_status eddy__linear_list_guards(eddy__linear_writer *r);

/* ---- code that tells of nodes; none unless it is recorded ---- */

/* Tells of a step, before its own code or after it: one of them does. */
eddy_status eddy__linear_tell_before(eddy__linear_writer *r, uint32_t id);
eddy_status eddy__linear_tell_after(eddy__linear_writer *r, uint32_t id);

/* Tells of a branch's Merge, before its input `port` is moved. */
eddy_status eddy__linear_tell_input(eddy__linear_writer *r, uint32_t merge,
                                    uint32_t port);

/* A loop begins; each of its iterations does. */
eddy_status eddy__linear_tell_entry(eddy__linear_writer *r, uint32_t frame);
eddy_status eddy__linear_tell_iteration(eddy__linear_writer *r, uint32_t frame);

/*
 * Under the guard of one side of a branch: what stands between events `from`
 * and `to`, with `n_loops`, on the other.
 */
eddy_status eddy__linear_tell_side(eddy__linear_writer *r, uint32_t from,
                                   uint32_t to, uint32_t n_loops);

/* ---- values that are spread ---- */

/* A tensor of its elements in a new register, for step `id`, which reads it. */
eddy_status eddy__linear_emit_join(eddy__linear_writer *r, uint32_t id,
                                   uint32_t v, uint32_t *out_register);

/*
 * From a tensor in a register, of step `id`, to the registers of its elements;
 * the tensor goes if that was its one reader.
 */
eddy_status eddy__linear_emit_split(eddy__linear_writer *r, uint32_t id,
                                    uint32_t v, uint32_t from, bool is_taken);

/* From the elements of a value to those of another. */
eddy_status eddy__linear_emit_part_moves(eddy__linear_writer *r, uint32_t to,
                                         uint32_t from);

/* Code for a step whose spread is known (linear_spread_code.c). */
eddy_status eddy__linear_emit_spread(eddy__linear_writer *r, uint32_t id);

#endif

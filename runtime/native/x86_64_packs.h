/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs (packs.h) on x86-64: with AVX-512 up to 64 bytes, in registers 16 to 31
 * that nothing else uses, bools in mask registers; with AVX2 up to 32 bytes, in
 * some of those that floats would have, bools as four bytes each, all bits or
 * none.  Narrower vectors have none.
 *
 * Slots stand on the stack, from rsp on, which is a multiple of 64 then.
 */
#ifndef EDDY_NATIVE_X86_64_PACKS_H
#define EDDY_NATIVE_X86_64_PACKS_H

#include "runtime/native/x86_64.h"

/* As eddy__pack_request has it: with AVX2, and with AVX-512. */
uint32_t eddy__x86_lanes_of(uint32_t op, uint8_t dtype);
uint32_t eddy__x86_lanes_of_512(uint32_t op, uint8_t dtype);

/* Between a pack's slot and its home. */
void eddy__x86_load_pack(eddy__x86_maker *m, uint32_t number);
void eddy__x86_store_pack(eddy__x86_maker *m, uint32_t number);

/* From the file to slot and home, if it has one; and back. */
void eddy__x86_gather_pack(eddy__x86_maker *m, uint32_t number);
void eddy__x86_scatter_pack(eddy__x86_maker *m, uint32_t number);

/* A member, from its slot to the file. */
void eddy__x86_put_member(eddy__x86_maker *m, uint32_t number);

/* Before functions of C: they have instructions that would have to keep the
 * upper halves of registers. */
void eddy__x86_leave_packs(eddy__x86_maker *m);

/* All instructions of the group. */
void eddy__x86_emit_group(eddy__x86_maker *m, const eddy__native_group *group);

/* Room for slots, and what gives it back. */
void eddy__x86_open_slots(eddy__x86_maker *m);
void eddy__x86_close_slots(eddy__x86_maker *m);

/* What code reads stands behind it. */
void eddy__x86_put_pack_constants(eddy__x86_maker *m);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for x86-64: what is shared by the order of things (x86_64.c) and the
 * single operations (x86_64_ops.c).
 *
 * rbp is the file of registers, r14 the fuel; rax, rcx, rdx and xmm0 to xmm2
 * are used within an instruction alone; all others are homes (allocate.h).  In
 * a region with tapes r15 is none: in an innermost loop that pushes to and pops
 * from one tape, it is where the next item of that is put.
 * Integers of less than four bytes stand in registers as C's int would have
 * them, extended by their sign or by zeros, and behind four bytes there are
 * zeros.  Memory has their own width: what
 * is behind that is nobody's.
 */
#ifndef EDDY_NATIVE_X86_64_H
#define EDDY_NATIVE_X86_64_H

#include "runtime/native/region.h"
#include "runtime/native/x86_64_lanes.h"

extern const eddy__native_provider eddy__native_x86_64;

/* Indexes of lanes, which stand behind the code, and who loads them. */
typedef struct eddy__x86_order {
    size_t at;
    uint8_t n, size; /* bytes of all, and of each */
    uint8_t bytes[64];
} eddy__x86_order;

typedef struct eddy__x86_maker {
    eddy__x86 x;
    eddy__native_region region;
    /* Packs (x86_64_packs.h) need these; `lanes.x` is `x` within a group. */
    eddy__lanes lanes;
    uint32_t spare_packs; /* for use within a group: a bit each */
    uint32_t spare_masks; /* likewise, mask registers */
    uint32_t first_mask;  /* their first home */
    eddy__x86_order *orders;
    size_t n_orders, orders_room;
} eddy__x86_maker;

/* When the flags that a comparison has set say yes. */
typedef struct eddy__x86_answer {
    uint8_t condition; /* EDDY__IF_... */
    /* Floats that are equal: and they are ordered; that are not: or not. */
    bool is_equal, is_not_equal;
} eddy__x86_answer;

/* The register of the processor in which a register lives; it has a home. */
uint32_t eddy__x86_home(const eddy__x86_maker *m,
                        const eddy__native_range *range);

/* ---- where registers are (x86_64_places.c) ---- */

/* A home, or memory. */
eddy__x86_place eddy__x86_place_of(const eddy__x86_maker *m, uint32_t number);

/* A lane of a pack's slot. */
eddy__x86_place eddy__x86_lane_place(const eddy__native_pack *pack,
                                     uint32_t lane);

/* The form of vectors of so many bytes. */
eddy__x86_form eddy__x86_form_of(const eddy__x86_maker *m, uint32_t bytes);

/* Between a home and the file; of a pack, and its slot. */
void eddy__x86_load(eddy__x86_maker *m, uint32_t number);
void eddy__x86_store(eddy__x86_maker *m, uint32_t number);

/* Between r15 and the tape. */
void eddy__x86_load_tape(eddy__x86_maker *m);
void eddy__x86_store_tape(eddy__x86_maker *m);

/* Is there code for it here?  MOVE and typed operations alone. */
bool eddy__x86_has(uint32_t op);

/*
 * Code for such an operation that is no jump.  `*out_fault`: from where it
 * jumps if it fails, 0 if it can't.
 */
void eddy__x86_emit_op(eddy__x86_maker *m, const eddy__linear_code *c,
                       size_t *out_fault);

/* PUSH, POP, READ or WRITE; gives where it jumps from if the kernel is to do
 * it, or 0. */
void eddy__x86_emit_store(eddy__x86_maker *m, const eddy__linear_code *c,
                          size_t out_slow[2]);

/* The comparison in an UNLESS or BACK_IF. */
eddy__x86_answer eddy__x86_emit_test(eddy__x86_maker *m,
                                     const eddy__linear_code *c);

#endif

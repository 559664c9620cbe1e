/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs: registers of the linear form that stand side by side in one vector of
 * the processor, and groups: instructions in a row of one operation, which are
 * done at once on packs.  That is what small tensors are made of (linear.h).
 *
 * A register that is written is in one pack at most, in the same lane for all
 * of its life, and only groups write it.  Whoever else reads it does so from
 * the pack's slot in memory.  A register that nobody writes may stand in any
 * number of packs, which are fixed, and in a place of its own besides.
 */
#ifndef EDDY_NATIVE_PACKS_H
#define EDDY_NATIVE_PACKS_H

#include "core/base/memory.h"
#include "runtime/plan/linear.h"

/* Members of a pack, at most, and bytes. */
#define EDDY__PACK_LANES 16
#define EDDY__PACK_BYTES 64

/* Packs of a region, at most; code for one of more has none. */
#define EDDY__MOST_PACKS 1024

typedef struct eddy__native_pack {
    uint32_t members[EDDY__PACK_LANES]; /* registers, by lane */
    uint8_t n;
    uint8_t dtype;
    bool is_fixed;        /* nobody writes its members, which may be repeated */
    bool is_used;         /* by a group; all others are left out */
    bool is_mirrored;     /* members are read one by one, so its slot is kept */
    uint32_t first, last; /* instructions that have to do with it */
    uint32_t next;        /* fixed: another one with the same first member */
    int32_t slot;         /* where, in bytes from where slots begin */
} eddy__native_pack;

/* How a group reads an operand. */
typedef enum eddy__pack_way {
    EDDY__PACK_WHOLE,
    EDDY__PACK_LANES_OF, /* lane i is lane order[i] of the pack */
    EDDY__PACK_SPREAD,   /* one register in all lanes */
} eddy__pack_way;

typedef struct eddy__pack_operand {
    uint8_t way;
    uint8_t order[EDDY__PACK_LANES];
    uint32_t which; /* a pack; of SPREAD a register */
} eddy__pack_operand;

typedef struct eddy__native_group {
    uint32_t first; /* instruction */
    uint8_t n;      /* instructions, and members of pack `to` */
    uint8_t n_in;
    bool is_off; /* they are done one by one after all */
    uint32_t to; /* a pack */
    eddy__pack_operand in[3];
} eddy__native_group;

typedef struct eddy__native_packs {
    eddy__native_pack *packs;
    eddy__native_group *groups;
    uint32_t n_packs, n_groups, packs_room;
    /* A register: the pack that is not fixed, or none. */
    uint32_t *pack_of;
    /* An instruction: the group it is of, or none. */
    uint32_t *group_of;
    int32_t n_bytes; /* of all slots */
    bool is_alone;   /* loops have no floats besides, done one by one */
} eddy__native_packs;

/* How an instruction is done; code of a processor says which. */
typedef enum eddy__native_way {
    EDDY__WAY_INLINE,
    EDDY__WAY_FUNCTION, /* a call that spares registers of the first kind */
    EDDY__WAY_PERFORM,  /* the runner does it, and may look at everything */
    EDDY__WAY_NOTHING,  /* no instruction of its own */
    EDDY__WAY_UNKNOWN,
} eddy__native_way;

/* What finding them has to know. */
typedef struct eddy__pack_request {
    const eddy__linear *linear;
    /* Lanes that an operation may be done in at once, as many as its longest
     * elements allow, where MOVE and SELECT are of a dtype; 0: it is done one
     * by one. */
    uint32_t (*lanes_of)(uint32_t op, uint8_t dtype);
    eddy__native_way (*way_of)(uint32_t op);
    /* Bytes of packs, at most, where loops have floats that are in none. */
    uint32_t most_mixed;
} eddy__pack_request;

/*
 * All is allocated in `arena`.  Where nothing would be gained, there are no
 * packs.  False: no memory.
 */
bool eddy__native_find_packs(const eddy__pack_request *request,
                             eddy__arena *arena, eddy__native_packs *out);

/* Operand `k` of an instruction that groups may have, a register by number; a
 * choice has its condition first. */
uint32_t eddy__native_operand(const eddy__linear_code *c, uint32_t k);

/* The lane of a member of a pack. */
uint32_t eddy__native_lane_of(const eddy__native_pack *pack, uint32_t number);

/* So many lanes of so many bytes are rounded up to 16, 32 or 64. */
uint32_t eddy__native_vector_bytes(uint32_t n, uint32_t size);

/* Bytes of a pack's slot, in which a bool has one. */
uint32_t eddy__native_pack_bytes(const eddy__native_pack *pack);

/* The pack of a register, or NULL. */
static inline const eddy__native_pack *
eddy__native_pack_of(const eddy__native_packs *p, uint32_t number)
{
    return p->n_packs == 0 || p->pack_of[number] == EDDY__LINEAR_NONE
               ? NULL
               : &p->packs[p->pack_of[number]];
}

/* The group of an instruction, or NULL. */
static inline const eddy__native_group *
eddy__native_group_of(const eddy__native_packs *p, uint32_t at)
{
    return p->n_packs == 0 || p->group_of[at] == EDDY__LINEAR_NONE
               ? NULL
               : &p->groups[p->group_of[at]];
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stack is made of: segments, each below the next.
 *
 * A segment of a stack that may spill has its items in a block of their own,
 * which leaves for a file while the stack's top is elsewhere, oldest first, and
 * is brought back before its turn comes.  What is bare leaves as it stands;
 * whole values are packed, and popped one by one off what they were packed
 * into.
 */
#ifndef EDDY_OPS_STACK_H
#define EDDY_OPS_STACK_H

#include "core/spill.h"
#include "core/value/tape.h"

typedef struct segment {
    struct segment *below, *above;
    unsigned char *data;    /* the items; of a block only while it is HELD */
    eddy__spill_block *out; /* NULL: the items stand behind this */
    size_t block_size;
    size_t used;    /* of a packed one, bytes */
    size_t payload; /* bytes of the tensors in it, if it may leave */
    uint32_t n;     /* of bare ones on top the tape knows better */
    uint32_t capacity;
    bool is_bare, is_packed;
} segment;

typedef struct stack {
    eddy__tape tape;  /* of the top segment, if what it holds is bare */
    const char *name; /* of the plan */
    segment *top;     /* NULL: nothing has been pushed */
    int64_t n_below;  /* values in the segments below the top */
    int64_t max_count;
    eddy__spill *spill; /* NULL: it stays in memory */
    /*
     * In a stack that may spill: all segments below are out, or can't be; from
     * here on they are held or coming.
     */
    segment *lowest_held;
    uint8_t dtype; /* eddy_dtype of what is pushed */
    bool is_closed;
} stack;

/* Bytes that each value takes in a segment. */
static inline size_t eddy__segment_item_size(const stack *s, bool is_bare)
{
    return is_bare ? eddy_dtype_size((eddy_dtype)s->dtype)
                   : sizeof(eddy__value);
}

/* The values of a segment that is neither bare nor packed. */
static inline eddy__value *eddy__segment_values(segment *c)
{
    return (eddy__value *)(void *)c->data;
}

/* Is what it holds not to be touched? */
static inline bool eddy__segment_is_out(const segment *c)
{
    return c->out && c->out->state != EDDY__SPILL_HELD;
}

static inline int64_t eddy__stack_count(const stack *s)
{
    return s->n_below + (s->top ? s->top->n : 0);
}

extern const eddy__resource_type eddy__stack_type;
extern const eddy__resource_saving eddy__stack_saving;

/* ---- stack_segments.c ---- */

/* Makes the top segment one in which a value, bare if it `is_scalar`, fits. */
eddy_status eddy__stack_make_room(eddy_kernel *k, stack *s, bool is_scalar);

/* Frees the top segment, which holds nothing. */
void eddy__stack_drop_top(stack *s, eddy__heap *heap);

/* Segments that hold nothing go, but for the lowest; the top one is there. */
eddy_status eddy__stack_uncover(eddy_kernel *k, stack *s);

/* Brings the top segment's count up to date with the tape. */
void eddy__stack_retract(stack *s);

/* Lets executors see the top segment, if they may. */
void eddy__stack_publish(stack *s);

/* Puts a value on top; the tape is not up to date meanwhile. */
eddy_status eddy__stack_add(eddy_kernel *k, stack *s, const eddy__value *in);

/* The same, with the tape up to date. */
eddy_status eddy__stack_put(eddy_kernel *k, stack *s, const eddy__value *value);

/* ---- stack_spill.c ---- */

/* From the next segment on it may, if its values and its run are such. */
void eddy__stack_may_spill(stack *s);

/* Counts what a value holds beside its segment. */
void eddy__segment_charge(stack *s, segment *c, const eddy__value *value);
void eddy__segment_discharge(stack *s, segment *c, const eddy__value *value);

/* Drops the values of a segment that has whole ones. */
void eddy__segment_clear(stack *s, segment *c, eddy__heap *heap);

/* While more is held than may be, has segments below the top leave. */
eddy_status eddy__stack_spill(eddy_kernel *k, stack *s);

/* Has the top segment in memory, and asks for those below it. */
eddy_status eddy__stack_bring(eddy_kernel *k, stack *s);

/* Pops off the top segment, which is packed and holds a value. */
eddy_status eddy__stack_unpack(eddy_kernel *k, stack *s);

/* Saves the values of a packed segment, of which `data` is what it holds. */
void eddy__segment_save_packed(const segment *c, const unsigned char *data,
                               struct eddy__saver *saver);

#endif

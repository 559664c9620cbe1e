/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the pass share that makes the linear form: guards
 * (linear_guard.c, linear_reach.c), stacks and arrays (linear_store.c), small
 * tensors (linear_spread.c), the order of steps (linear_order.c), code
 * (linear_build.c, linear_steps.c, linear_outside.c, linear_write.c), what it
 * tells of nodes (linear_tell.c), what is done to it (linear_tidy.c), all of it
 * in one form or more (linear_forms.c), and what it is worth (linear_worth.c).
 *
 * A guard says when the steps of a frame's iteration are live: always, on one
 * side of a predicate under another guard, in the body of the loop or at its
 * end.  A step has one guard, that of the innermost of its in-edges, of which
 * each is within the other; else its frame is no region.
 */
#ifndef EDDY_PLAN_LINEAR_BUILD_H
#define EDDY_PLAN_LINEAR_BUILD_H

#include "runtime/plan/layout.h"
#include "runtime/plan/linear.h"

#define EDDY__NO EDDY__LINEAR_NONE

/* A step, or one input of a Merge, or a loop that is ready to be put in. */
typedef enum eddy__event_kind {
    EDDY__EVENT_STEP,
    EDDY__EVENT_INPUT, /* `at` of Merge `step` */
    EDDY__EVENT_LOOP,  /* `at` a frame; of what follows, up to its END, too */
    EDDY__EVENT_TEST,
    EDDY__EVENT_BACK,
    EDDY__EVENT_END,
    EDDY__EVENT_TRUE, /* `at` a predicate; its sides follow each other */
    EDDY__EVENT_FALSE,
    EDDY__EVENT_CLOSE,
} eddy__event_kind;

typedef struct eddy__event {
    uint32_t kind; /* eddy__event_kind */
    uint32_t step, at;
    uint32_t next; /* TRUE, FALSE, TEST, BACK: where the other part begins */
} eddy__event;

typedef struct eddy__ready {
    uint32_t kind, step, at;
    uint32_t next; /* in the queue of its guard */
} eddy__ready;

typedef struct eddy__linear_build_guard {
    uint32_t parent; /* EDDY__NO: always live */
    uint32_t frame;
    uint32_t predicate; /* whose side it is, or EDDY__NO */
    uint32_t side;
    uint32_t first_predicate; /* under it */
    uint32_t own;             /* steps */
    uint32_t n_ready;         /* under it and on its sides */
    uint32_t head, tail;      /* its queue of eddy__ready */
    uint32_t number;          /* in the region */
} eddy__linear_build_guard;

typedef struct eddy__predicate {
    uint32_t value, guard;
    uint32_t next; /* under the same guard */
    uint32_t sides[2];
    uint32_t counter; /* of true, in the region; EDDY__NO: not yet */
    bool is_loop;
} eddy__predicate;

typedef struct eddy__linear_build_loop {
    eddy__linear_doubt doubt;
    uint32_t root;      /* guard */
    uint32_t predicate; /* the LoopCond's */
    uint32_t entered;   /* innermost guard of its Enters, in the frame around */
    uint32_t first_value; /* of its slots */
    uint32_t n_pending;   /* Enters to come */
    uint32_t number;      /* in the region */
    uint32_t *enters;     /* n_enters of the frame */
    uint32_t n_enters;
    uint32_t n_frames; /* it and those in it */
    uint32_t n_left;   /* steps and inputs to put in order */
    uint32_t n_triggers;
    bool has_loop; /* a LoopCond and a NextIteration */
    bool is_wide;  /* workers gain from its tokens (linear_width.c) */
} eddy__linear_build_loop;

/* An output in an iteration: a slot of a frame. */
typedef struct eddy__held {
    uint32_t alias; /* the value that it is, maybe itself */
    uint32_t guard;
    uint32_t reg;   /* number, or EDDY__NO */
    uint32_t maker; /* step */
    uint8_t dtype;
    bool is_raw;
    bool is_lent; /* holds no reference of its own */
    /* Elements have registers, in place of it; or besides, if it is lent. */
    bool is_spread;
    bool is_whole;         /* of what is lent: somebody reads the tensor */
    uint8_t n_parts;       /* elements, if it may be spread, else 0 */
    const uint32_t *parts; /* their registers, or NULL: not yet */
} eddy__held;

/* linear_spread.h */
typedef struct eddy__spread eddy__spread;

typedef struct eddy__linear_build {
    eddy__layout *l;
    eddy_plan *plan;
    eddy_error *err;
    bool is_later;    /* it is for the form that code is made of */
    bool has_more;    /* which would spread more than this one does */
    bool is_recorded; /* it is for the form of recorded runs */
    eddy__arena scratch;
    eddy__linear_build_loop *loops; /* one a frame */
    eddy__held *values;
    uint32_t n_values;
    uint32_t *guard_of;     /* a step */
    uint32_t *pending;      /* a step: in-edges to come */
    uint8_t *reach;         /* a step (linear_reach.c) */
    uint16_t *store_op;     /* a step: PUSH_8, ..., or DONE: none of these */
    eddy__spread **spreads; /* a step: how elements are computed, or NULL */
    eddy__linear **regions; /* a frame: what was made of it, or NULL */
    bool *is_loop_merge;
    bool *is_skipped;  /* dissolved, or of the root */
    uint32_t *seen_by; /* a step: the last search that came to it */
    uint32_t *stack;   /* steps that a search is still to go on from */
    uint32_t n_searches;
    eddy__linear_build_guard *guards;
    size_t n_guards, guards_room;
    eddy__predicate *predicates;
    size_t n_predicates, predicates_room;
    eddy__ready *ready;
    size_t n_ready, ready_room;
    eddy__event *events;
    size_t n_events, events_room;
} eddy__linear_build;

/* The value that `step` reads as input `i`, or puts out as output `i`. */
uint32_t eddy__linear_input(const eddy__linear_build *w, uint32_t step,
                            uint32_t i);
uint32_t eddy__linear_output(const eddy__linear_build *w, uint32_t step,
                             uint32_t i);

/* The frame is no region, unless something has been found already. */
void eddy__linear_refuse(eddy__linear_build *w, uint32_t frame, uint32_t step,
                         const char *why);

static inline bool eddy__linear_is_within(const eddy__linear_build *w,
                                          uint32_t inner, uint32_t outer)
{
    while (inner != outer && inner != EDDY__NO)
        inner = w->guards[inner].parent;
    return inner == outer;
}

/* Has it registers for its elements, and no tensor? */
static inline bool eddy__linear_is_only_spread(const eddy__linear_build *w,
                                               uint32_t v)
{
    return w->values[v].is_spread && !w->values[v].is_lent;
}

/* The guard under which the token on an in-edge of a step is live. */
uint32_t eddy__linear_edge_guard(eddy__linear_build *w, uint32_t from,
                                 uint32_t output);

/*
 * The operation on a stack or array of bare scalars that a step is, whose
 * inputs and outputs have been looked at; DONE if it is none.  What such a
 * step hands on, an output, is `*out_passed`, an input; or EDDY__NO.
 */
uint32_t eddy__linear_store_op(const eddy__linear_build *w, uint32_t step,
                               uint32_t *out_passed);

/*
 * What is live in loops that are dead, once guards are found; and what that
 * adds to the counts of frames entered dead.
 */
void eddy__linear_find_reach(eddy__linear_build *w);
void eddy__linear_count_reach(const eddy__linear_build *w,
                              eddy__linear_frame *frames, uint32_t n_frames);

/* Finds guards, aliases and doubts of all frames. */
eddy_status eddy__linear_guards(eddy__linear_build *w);

/* Finds which small tensors are spread, once guards are known. */
eddy_status eddy__linear_find_spread(eddy__linear_build *w);

/* Finds the loops that are better run as tokens, since there are workers. */
eddy_status eddy__linear_find_wide(eddy__linear_build *w);

/*
 * Puts the steps of `frame` and all in it into a row of events; false: they
 * can't be, and it has been refused.
 */
eddy_status eddy__linear_order(eddy__linear_build *w, uint32_t frame,
                               bool *out_done);

/*
 * Makes a region of `frame` and all in it, by as much of `*budget`, steps to be
 * looked at, as is left; NULL in `*out_region`: it has been refused.
 */
eddy_status eddy__linear_make_region(eddy__linear_build *w, uint32_t frame,
                                     uint64_t *budget,
                                     eddy__linear **out_region);

/* What machine code of a region will cost, and how its loop counts, once all
 * its forms are there (linear_worth.c). */
void eddy__linear_weigh(eddy__linear *linear);

/* Code while it is made. */
typedef struct eddy__linear_text {
    eddy__linear_code *code;
    uint32_t *guard_of; /* an instruction: under which it runs */
    uint32_t *step_of;  /* likewise: for which step, or EDDY__NO */
    size_t n, room, guards_room, steps_room;
    eddy__linear_call *calls;
    size_t n_calls, calls_room;
    eddy__linear_exit *exits;
    uint32_t n_exits;
} eddy__linear_text;

/* Moves and comparisons that need not be go. */
eddy_status eddy__linear_tidy(eddy__arena *scratch, eddy__linear_text *text,
                              size_t n_registers, eddy_error *err);

#endif

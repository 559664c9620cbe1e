/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dynamic executor keeps of a run: live frames and their iterations,
 * the tokens in its queue, and blocks to use again.
 */
#ifndef EDDY_EXEC_DYNAMIC_STATE_H
#define EDDY_EXEC_DYNAMIC_STATE_H

#include "runtime/exec/linear/linear.h"

typedef struct eddy__frame eddy__frame;
typedef struct eddy__iteration eddy__iteration;
typedef struct eddy__gate eddy__gate;

/* One iteration of a frame; its arrays stand behind it in the same block. */
struct eddy__iteration {
    union {
        eddy__place place;
        struct {
            eddy__frame *frame; /* an eddy__frame_instance begins it */
            int64_t index;
            uint8_t *marks; /* n_marks of the frame */
        };
    };
    eddy__iteration *next;    /* started after it; NULL: the newest */
    uint32_t outstanding;     /* nodes ready or running in it */
    uint32_t n_children;      /* live frames entered from it */
    eddy__liveness *liveness; /* one a step of the frame */
    eddy__value *values;      /* one a slot */
    eddy__frame **children;   /* one a child of the static frame */
    size_t block_size;
};

/* A live NextIteration that waits for room for another iteration. */
typedef struct eddy__parked {
    const eddy__step *step;
    eddy__value value;
} eddy__parked;

/* A step that pre-applied Enters alone make ready in every iteration. */
typedef struct eddy__starter {
    const eddy__step *step;
    bool dead;
} eddy__starter;

/* One dynamic execution of a static frame; its arrays stand behind it. */
struct eddy__frame {
    union {
        eddy__frame_instance instance;
        struct {
            const eddy__plan_frame *plan;
            eddy__iteration *parent; /* NULL: the root */
        };
    };
    eddy__frame *next, *previous; /* of all live frames of the run */
    eddy__iteration *oldest, *newest;
    int64_t n_started;       /* iterations so far */
    uint32_t id;             /* of the static frame */
    uint32_t n_outstanding;  /* iterations not retired */
    uint32_t window;         /* so many of them before the next one parks */
    uint32_t pending_enters; /* static Enters that have not arrived */
    uint32_t n_parked, n_starters;
    const eddy__liveness *start; /* the plan's, or `applied` */
    eddy__liveness *applied;     /* less the invariants that have come */
    eddy__value *invariants;     /* one a pre-applied Enter, borrowed kinds */
    eddy__value *held;           /* one an invariant: what it borrows from */
    eddy__value *replayed;       /* one a replayed Enter */
    uint8_t *replay_state;       /* eddy__arrival */
    uint8_t *exited;             /* one an Exit: it has fired live */
    eddy__parked *parked;
    eddy__starter *starters;
    size_t block_size;
};

/*
 * A node that is ready: a step, its tag, and whether it is dead.  Steps are
 * aligned, so a dead one is a step and one byte; NULL is no token.
 */
typedef struct eddy__token {
    const char *step;
    eddy__iteration *iteration;
} eddy__token;

static inline eddy__token eddy__token_of(const eddy__step *step,
                                         eddy__iteration *it, bool dead)
{
    return (eddy__token){.step = (const char *)step + dead, .iteration = it};
}

static inline bool eddy__token_is_dead(eddy__token token)
{
    return ((uintptr_t)token.step & 1) != 0;
}

static inline const eddy__step *eddy__token_step(eddy__token token)
{
    return (const eddy__step *)(const void *)(token.step -
                                              eddy__token_is_dead(token));
}

/*
 * First in, first out, in a ring from `base` to `end`.  It is empty when `head`
 * is `tail`, so one place always stays free.
 */
typedef struct eddy__queue {
    eddy__token *base, *end;
    eddy__token *head; /* the oldest */
    eddy__token *tail; /* where the next one goes */
} eddy__queue;

/* A run of this engine. */
typedef struct eddy__dynamic {
    eddy_run run;
    eddy__queue queue;
#ifdef EDDY_CHECKED
    /* Not 0: ready nodes run in an order drawn from it, see drive.h. */
    uint64_t shuffle;
#endif
    eddy__frame *frames; /* live ones, the root among them */
    eddy__frame *root;
    eddy__gate *gates;          /* of regions that have been entered in part */
    uint32_t n_paused;          /* of them */
    int64_t allowance;          /* nodes that may still run before others may */
    eddy__frame **spare_frames; /* by static frame, linked by next */
    eddy__iteration **spare_iterations;
} eddy__dynamic;

static inline eddy__dynamic *eddy__dynamic_of(eddy_run *run)
{
    return (eddy__dynamic *)(void *)run;
}

/* The iteration whose place it is. */
static inline eddy__iteration *eddy__iteration_at(const eddy__place *place)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the iteration is its own. */
    return (eddy__iteration *)(uintptr_t)place;
}

/* NULL for NULL. */
static inline const eddy__place *
eddy__iteration_place(const eddy__iteration *it)
{
    return it ? &it->place : NULL;
}

#endif

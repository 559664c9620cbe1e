/*
 * The state of a run: all that changes while a plan is executed.
 *
 * At any moment at most one thread drives a run.  It alone touches frames,
 * iterations, counters, slots and the queue, so none of them is atomic or
 * locked, with any number of workers: scheduling a node takes nanoseconds, and
 * only kernels worth more than the hand-over go to other threads.  Such a
 * kernel, and one that suspends itself, gets its inputs and outputs in a task
 * of its own and comes back through the inbox.  The role of the driver moves
 * from thread to thread with `state`, under `mu`; see docs/locking.md.
 */
#ifndef EDDY_EXEC_RUN_H
#define EDDY_EXEC_RUN_H

#include "core/base/thread.h"
#include "core/context.h"
#include "eddy/run.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/session.h"
#include "runtime/plan/plan.h"

typedef struct eddy__frame eddy__frame;
typedef struct eddy__iteration eddy__iteration;

/* One iteration of a frame; its arrays stand behind it in the same block. */
struct eddy__iteration {
    eddy__frame *frame;
    eddy__iteration *next; /* started after it; NULL: the newest */
    int64_t index;
    uint32_t outstanding;     /* nodes ready or running in it */
    uint32_t n_children;      /* live frames entered from it */
    eddy__liveness *liveness; /* one a step of the frame */
    eddy__value *values;      /* one a slot */
    eddy__frame **children;   /* one a child of the static frame */
    uint8_t *marks;           /* n_marks of the frame */
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

typedef enum eddy__arrival {
    EDDY__NOT_YET,
    EDDY__CAME_LIVE,
    EDDY__CAME_DEAD,
} eddy__arrival;

/* One dynamic execution of a static frame; its arrays stand behind it. */
struct eddy__frame {
    const eddy__plan_frame *plan;
    eddy__frame *next, *previous; /* of all live frames of the run */
    eddy__iteration *parent;      /* NULL: the root */
    eddy__iteration *oldest, *newest;
    int64_t n_started;       /* iterations so far */
    uint32_t id;             /* of the static frame */
    uint32_t n_outstanding;  /* iterations not retired */
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

/*
 * A kernel that runs outside the driver.  It owns copies of its inputs, and its
 * outputs are moved to their slots when the driver takes it from the inbox.
 */
typedef struct eddy__task {
    eddy_kernel kernel;
    eddy__job job; /* while it waits for a worker */
    eddy_run *run;
    const eddy__step *step;
    eddy__iteration *iteration;
    struct eddy__task *next; /* in the inbox; guarded by run->mu */
    size_t block_size;
    eddy_status status;
    bool is_suspended;
    /* Of one that waits for other nodes (services->await); else NULL. */
    void (*give_up)(eddy_kernel *kernel, void *arg);
    void *give_up_arg;
    struct eddy__task *next_wait, **wait_link;
    eddy_error error;
    eddy__value *values; /* inputs, then outputs */
} eddy__task;

typedef enum eddy__run_state {
    EDDY__RUN_IDLE,    /* nothing under way */
    EDDY__RUN_READY,   /* waits for a driver */
    EDDY__RUN_DRIVEN,  /* a thread drives it, or ends it */
    EDDY__RUN_WAITING, /* only tasks are under way */
} eddy__run_state;

typedef enum eddy__stop {
    EDDY__GO,
    EDDY__STOP_CANCEL,
    EDDY__STOP_DEADLINE,
} eddy__stop;

typedef struct eddy__fetch_target {
    void *data; /* NULL: keep a tensor */
    size_t bytes;
} eddy__fetch_target;

struct eddy_run {
    eddy_plan *plan;
    eddy_context *ctx;
    eddy_run_options options;

    /* Bound between executions; read by the driver. */
    eddy_tensor **feeds;
    eddy__value *feed_values;
    eddy__fetch_target *fetch_targets;

    /* Written by the driver, read when nothing is under way. */
    eddy__value *fetched;
    uint8_t *fetch_state; /* eddy__arrival */
    eddy_tensor **fetches;
    eddy_stats stats;
    eddy_error error;
    eddy_status status;

    /* atomic: written by any thread, relaxed is enough to be seen soon. */
    atomic_int stop; /* eddy__stop */

    uv_mutex_t mu;
    uv_cond_t changed;     /* `state` or `inbox` */
    eddy__run_state state; /* guarded by mu */
    eddy__task *inbox;     /* guarded by mu; newest first */
    bool is_stranded;      /* guarded by mu: READY, but no worker takes it */
    eddy__job job;         /* in the pool while READY */
    struct eddy_run *next_timed; /* guarded by the pool's mu */
    bool is_timed;               /* guarded by the pool's mu */

    /* The driver's own from here on. */
    const eddy__step *steps; /* the plan's */
    eddy__heap heap;
    eddy__resource_set resources;
    eddy__resource_table named; /* if there is no session */
    eddy_kernel kernel;
    eddy__queue queue;
#ifdef EDDY_CHECKED
    /* Not 0: ready nodes run in an order drawn from it, see drive.h. */
    uint64_t shuffle;
#endif
    eddy__frame *frames; /* live ones, the root among them */
    eddy__frame *root;
    eddy__frame **spare_frames; /* by static frame, linked by next */
    eddy__iteration **spare_iterations;
    uint64_t started_ns, deadline_ns; /* 0: none */
    uint64_t n_executed;              /* tokens, feeds and fetches too */
    uint32_t n_tasks;                 /* under way */
    uint32_t n_suspended;
    eddy__task *waits; /* those that wait for other nodes */
    uint32_t n_waits;
    bool failed; /* error and status are set */
    bool may_offload;
    const eddy__step *current; /* whose kernel may suspend */
    eddy__task *suspended;     /* set by eddy_kernel_suspend */
};

/*
 * Raises in the run: the first error wins.  `it` says where, NULL for nowhere.
 * The message and node stand in run->error already if `code` came from a
 * kernel.
 */
void eddy__run_raise(eddy_run *run, eddy_status code, eddy_detail detail,
                     const eddy__step *step, const eddy__iteration *it,
                     const char *format, ...) EDDY_PRINTF(6, 7);

/* A kernel failed and left its words in `from` (maybe run->error itself). */
void eddy__run_raise_kernel(eddy_run *run, eddy_status code,
                            const eddy_error *from, const eddy__step *step,
                            const eddy__iteration *it);

/* Something outside has set `stop`: what it was. */
void eddy__run_raise_stop(eddy_run *run);

/* No memory, or above the limit on bytes: which, the heap knows. */
void eddy__run_raise_memory(eddy_run *run, const eddy__step *step,
                            const eddy__iteration *it);

/* Fetch `i` is dead: names the Switch that killed it.  Root frame only. */
void eddy__run_raise_dead_fetch(eddy_run *run, uint32_t i);

#endif

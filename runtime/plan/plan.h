/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a plan is laid out: steps, edges and frames in flat arrays.
 *
 * A step is a node of the final plan, or a feed or fetch.  Steps stand in plan
 * order: topological, with the back edges left out.  A value lives in a slot of
 * the iteration in which it appears: what an Enter puts out in its child frame,
 * what an Exit puts out in the parent, what a NextIteration puts out in the
 * next iteration.  Consumers read the producer's slot, so nothing is copied
 * along edges; `uses` counts the consumers of each output.
 */
#ifndef EDDY_PLAN_PLAN_H
#define EDDY_PLAN_PLAN_H

#include "core/bundle/saved_trips.h"
#include "core/graph/graph.h"
#include "core/kernel.h"
#include "eddy/plan.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/infer.h"
#include "frames/liveness.h"

typedef enum eddy__step_kind {
    EDDY__STEP_SCALAR, /* a kernel of eddy's own, scalars in and out */
    EDDY__STEP_KERNEL,
    EDDY__STEP_FORWARD, /* Identity, LoopCond: input 0 is output 0 */
    EDDY__STEP_CONST,
    EDDY__STEP_SWITCH,
    EDDY__STEP_MERGE,
    EDDY__STEP_ENTER,
    EDDY__STEP_EXIT,
    EDDY__STEP_NEXT_ITERATION,
    EDDY__STEP_CONTROL_TRIGGER,
    EDDY__STEP_FEED,
    EDDY__STEP_FETCH,
    EDDY__STEP_REGION,   /* no node: a loop nest in a row (linear.h) */
    EDDY__STEP_TRANSFER, /* a kernel that runs when it is dead, too */
} eddy__step_kind;

typedef enum eddy__step_flags {
    /* Inputs are known to hold no references: nothing to drop. */
    EDDY__STEP_INLINE_IN = 1 << 0,
    /* Outputs are known to be scalars: no uses to keep, nothing to check. */
    EDDY__STEP_INLINE_OUT = 1 << 1,
    /* May be handed to another worker when its inputs are large. */
    EDDY__STEP_OFFLOAD = 1 << 2,
    /* ... and its work grows faster than its inputs. */
    EDDY__STEP_HEAVY = 1 << 3,
    /* May suspend. */
    EDDY__STEP_ASYNC = 1 << 4,
    /* Enter: is_constant. */
    EDDY__STEP_CONSTANT = 1 << 5,
    /*
     * Constant Enter: all its consumers are ordinary, so that an arrived value
     * is taken off the counters with which its frame's iterations start.
     */
    EDDY__STEP_PREAPPLIED = 1 << 6,
    /*
     * Has one edge, and that is the only one of its consumer, in the same
     * iteration: the consumer simply comes next.
     */
    EDDY__STEP_CHAINED = 1 << 7,
    /* A constant that never runs: it is in its slot in every iteration. */
    EDDY__STEP_DISSOLVED = 1 << 8,
    /*
     * A Merge that may have two live inputs, and gives the value alone: that of
     * the first stays in its slot, to be compared.
     */
    EDDY__STEP_COMPARED = 1 << 9,
} eddy__step_flags;

#define EDDY__CONTROL_PORT UINT32_MAX

/* With the port of a Merge: a token there is dropped
 * (frames/analysis/merge_order.h). */
#define EDDY__LATE_PORT ((uint32_t)1 << 31)

/* The port of the only edge into an ordinary step: no counter is needed. */
#define EDDY__SOLE_PORT (UINT32_MAX - 1)

/*
 * From a step to a consumer.  The edges of a step to ordinary consumers come
 * first (`n_plain`), then those to Merges and ControlTriggers.
 */
typedef struct eddy__edge {
    uint32_t step;   /* the consumer */
    uint32_t local;  /* its number in its frame */
    uint32_t output; /* of the producer, or EDDY__CONTROL_PORT */
    uint32_t port;   /* input of the consumer, or one of the above */
} eddy__edge;

/* What is read each time a step runs: one cache line. */
typedef struct eddy__step {
    eddy_kernel_fn kernel;
    const uint32_t *in;  /* slots, one an input */
    const uint32_t *out; /* slots, one an output; before them the uses */
    const eddy__edge *edges;
    const eddy__kernel_node *node;
    uint32_t n_plain, n_edges;
    uint16_t kind;  /* eddy__step_kind */
    uint16_t flags; /* eddy__step_flags */
    uint32_t local; /* number in its frame */
    /*
     * A kernel: how many nodes of the caller's graph it does besides one;
     * Enter: its child frame; Exit: its number in the frame; Feed, Fetch: their
     * number in the plan; Const: the number of its value; Merge: 1 + the
     * number of its contest, or 0.
     */
    uint32_t aux;
    uint32_t frame; /* in which it runs */
} eddy__step;

_Static_assert(sizeof(eddy__step) == 64, "a step is one cache line");

/* How many consumers read output `i`. */
static inline uint32_t eddy__step_uses(const eddy__step *step, uint32_t i)
{
    return step->out[-1 - (ptrdiff_t)i];
}

typedef struct eddy__plan_frame {
    const char *name;
    uint32_t parent;
    uint32_t child; /* its number among the parent's children */
    uint32_t n_steps, n_slots, n_children;
    uint32_t n_enters;
    uint32_t n_exits;
    uint32_t *exits; /* n_exits: by their number */
    uint32_t n_nexts;
    uint32_t n_marks; /* core/graph/infer.h */
    /* Slots of pre-applied Enters and dissolved constants: the first ones. */
    uint32_t n_invariants;
    /* Steps that only pre-applied Enters feed: they start every iteration. */
    uint32_t n_starters;
    uint32_t parallel_iterations;
    bool is_saved;           /* it has checkpoints: eddy__plan_saving */
    bool has_counted;        /* some slot may hold a reference at the end */
    eddy__liveness *start;   /* n_steps */
    uint32_t *steps;         /* n_steps: local number to step */
    eddy__value *invariants; /* n_invariants: the constants among them */
    /* Constant Enters that are not pre-applied: replayed in each iteration. */
    uint32_t *replayed;
    uint32_t n_replayed;
    const struct eddy__linear *linear; /* of the outermost of a nest */
    /*
     * The same region with code that tells of all nodes, which is not tidied,
     * spreads nothing and is only interpreted; NULL: there is none.
     */
    const struct eddy__linear *recorded;
    bool is_linear;             /* it, or one around it */
    const char *why, *why_node; /* it is not; or NULL */
} eddy__plan_frame;

typedef struct eddy__plan_fetch {
    eddy_dtype dtype;
    eddy_shape shape;
    const char *name; /* "node:index" */
    const char *node;
    const char *op;
} eddy__plan_fetch;

typedef struct eddy__plan_feed {
    eddy_dtype dtype;
    eddy_shape shape;
    const char *name;
} eddy__plan_feed;

/* A loop with checkpoints, and the states that they have. */
typedef struct eddy__plan_saving {
    const char *loop; /* its frame, which is in no other */
    eddy__saved_place place;
    int64_t every, first; /* 0: none; the trip that comes first */
    uint64_t hash;        /* of its nodes */
    const char **variables, **generators;
    const char **makers; /* nodes whose TensorArray or stack is saved */
    const char **shared; /* names, of queues and lookup tables */
    size_t n_variables, n_generators, n_makers, n_shared;
} eddy__plan_saving;

struct eddy_plan {
    eddy_context *ctx;
    atomic_uint refs;
    eddy__arena arena; /* everything below but tensors' references */
    eddy__step *steps;
    uint32_t n_steps;
    uint32_t n_nodes;         /* without feeds and fetches */
    eddy__plan_frame *frames; /* parents first; 0 is the root */
    uint32_t n_frames;
    const uint32_t *roots; /* steps without in-edges, in plan order */
    uint32_t n_roots;
    eddy__value *constants; /* borrowed from `held` */
    /* A contest: eddy__contest's `behind`, or NULL. */
    const uint64_t **contests;
    uint32_t n_contests;
    eddy__vector_tiers tiers; /* machine code of kernels; in the arena */
    eddy_tensor **held;       /* tensors that the plan holds references of */
    size_t n_held, held_capacity;
    eddy__plan_feed *feeds;
    size_t n_feeds;
    eddy__plan_fetch *fetches;
    size_t n_fetches;
    const char **warnings;
    size_t n_warnings;
    const eddy__plan_saving *saving; /* NULL: nothing is */
};

/*
 * A plan while it is made: what its passes (plan.c) hand on to each other.  All
 * but the plan goes when they are through.
 */
typedef struct eddy__plan_build {
    /* As the caller has it; below, as it is by now. */
    const eddy_graph *graph;
    const eddy_plan_options *asked;
    const eddy_plan_options *options; /* `now` */
    const eddy__selection *selection; /* `chosen` */
    eddy_plan_options now;
    eddy__selection chosen;
    eddy_graph *owned; /* the selection's, unless it is the caller's */
    eddy_analysis *analysis;
    eddy__shapes shapes;
    eddy_shape *feed_shapes;
    eddy__arena scratch;
    struct eddy__layout *layout; /* once it is laid out */
    eddy_plan *plan;
    eddy__budget *budget;
    eddy_error *err;
} eddy__plan_build;

/*
 * Fails with EDDY_E_FETCH_IN_LOOP where a fetch lives in a loop, and names the
 * Exit to fetch instead.
 */
eddy_status eddy__check_fetches(const eddy__plan_build *build);

/* Fills the plan's steps and frames.  Runs every op's prepare. */
eddy_status eddy__plan_lay_out(eddy__plan_build *build);

/* Frees what laying out has left for later passes; NULL is nothing. */
void eddy__plan_layout_end(eddy__plan_build *build);

/* ---- known_ops.c, ends.c: passes that refuse and describe ---- */

eddy_status eddy__plan_check_options(eddy__plan_build *b);
eddy_status eddy__plan_describe_feeds(eddy__plan_build *b);
eddy_status eddy__plan_check_ops(eddy__plan_build *b);
eddy_status eddy__plan_find_feed_dtypes(eddy__plan_build *b);
eddy_status eddy__plan_describe_fetches(eddy__plan_build *b);

/* The plan keeps a reference of `tensor` until it is destroyed. */
eddy_status eddy__plan_hold(eddy_plan *plan, eddy_tensor *tensor,
                            eddy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the immutable result of compiling a graph for given feeds, fetches and
 * targets.  A plan does not refer to its graph, which may be changed or
 * destroyed; it is counted, and any number of threads may run it at once.
 */
#ifndef EDDY_PLAN_H
#define EDDY_PLAN_H

#include "eddy/checkpoint.h"
#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

typedef struct eddy_plan eddy_plan;

/*
 * How much a plan may rewrite.  NONE: nothing; EXACT: results are bit-equal to
 * NONE; FULL: may reassociate floating point.
 */
typedef enum eddy_optimize {
    EDDY_OPTIMIZE_DEFAULT, /* EXACT */
    EDDY_OPTIMIZE_NONE,
    EDDY_OPTIMIZE_EXACT,
    EDDY_OPTIMIZE_FULL
} eddy_optimize;

/* Who runs the frames of a plan; results, errors and counts are the same. */
typedef enum eddy_plan_executor {
    /* Linear unless workers gain from its nodes; machine code once warm. */
    EDDY_EXECUTOR_AUTO,
    EDDY_EXECUTOR_DYNAMIC, /* a node when its inputs have come */
    EDDY_EXECUTOR_LINEAR,  /* code in a row for every frame that allows it */
    EDDY_EXECUTOR_NATIVE   /* the same, as machine code from the start */
} eddy_plan_executor;

/*
 * Sees the graph after a pass of planning; `keep` has a byte a node, 0 where it
 * is not needed, or is NULL before anything is pruned.  All is borrowed for the
 * call.
 */
typedef void (*eddy_plan_observer)(void *user, const char *pass,
                                   const eddy_graph *graph,
                                   const uint8_t *keep);

typedef struct eddy_plan_options {
    size_t size; /* sizeof(eddy_plan_options) */
    const eddy_output *feeds;
    size_t n_feeds;
    const eddy_output *fetches; /* may repeat, and may name fed tensors */
    size_t n_fetches;
    const eddy_node *targets; /* nodes that must run */
    size_t n_targets;
    eddy_optimize optimize;
    /* When above 0, replaces parallel_iterations of every frame. */
    int64_t parallel_iterations;
    /* Refuse graphs of more nodes after pruning; 0: no limit. */
    uint64_t max_nodes;
    const eddy_limits *limits; /* NULL: none; nodes as above */
    eddy_plan_executor executor;
    eddy_plan_observer observe; /* NULL: nobody */
    void *user;                 /* the observer's */
    bool no_native;             /* no machine code is made of the plan */
    /* Passes that are left out: names of those that a plan can do without. */
    const char *const *without;
    size_t n_without;
    const eddy_checkpoint *checkpoint; /* NULL: no loop is saved */
    /*
     * The linear executor may be recorded (eddy/trace.h): what it runs has its
     * code a second time, and planning takes longer.  Else, and unless
     * `executor` is LINEAR, recorded runs go by the dynamic one alone.
     */
    bool record;
} eddy_plan_options;

/* The name of pass `i` of planning, in order; NULL past the end.  @thread any
 */
EDDY_API const char *eddy_plan_pass_name(size_t i);

/* Can a plan do without pass `i`, one that saves work?  @thread any */
EDDY_API bool eddy_plan_pass_is_optional(size_t i);

/*
 * Sets limits fit for graphs of unknown origin: 262,144 nodes, 128 MiB, 0.6
 * seconds; and no_native.  Other members stay.
 */
EDDY_API void eddy_plan_options_untrusted(eddy_plan_options *options);

/*
 * Prunes the graph to what the fetches and targets need, checks it, and lays it
 * out.  Everything that can be refused is refused here, with the node's name;
 * unknown ops that survive pruning are refused all in one message.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_plan_create(const eddy_graph *graph, const eddy_plan_options *options,
                 eddy_plan **out_plan, eddy_error *err);

/* Both accept NULL.  @thread any */
EDDY_API eddy_plan *eddy_plan_retain(eddy_plan *plan);
EDDY_API void eddy_plan_release(eddy_plan *plan);

/* What the final plan has, primitives included.  @thread any */
EDDY_API size_t eddy_plan_nodes(const eddy_plan *plan);
EDDY_API size_t eddy_plan_frames(const eddy_plan *plan);

/*
 * The trip of the loop with checkpoints that runs begin with: above 0 if they
 * go on from one.  @thread any
 */
EDDY_API int64_t eddy_plan_first_trip(const eddy_plan *plan);

/* What inference found of fetch `i`.  @thread any */
EDDY_API eddy_dtype eddy_plan_fetch_dtype(const eddy_plan *plan, size_t i);
EDDY_API const eddy_shape *eddy_plan_fetch_shape(const eddy_plan *plan,
                                                 size_t i);

/*
 * What was found odd but legal when the plan was made, one line each; NULL past
 * the end.  @thread any
 */
EDDY_API const char *eddy_plan_warning(const eddy_plan *plan, size_t i);

/*
 * Prints what the linear executor makes of the plan, a line at a time, and of
 * each frame that it does not run, the node that kept it from it.  Stops, and
 * returns false, when `write` does.  @thread any
 */
EDDY_API bool eddy_plan_print_linear(const eddy_plan *plan,
                                     bool (*write)(void *user, const char *text,
                                                   size_t length),
                                     void *user);

/*
 * What machine code there is of a plan's loops.  A region is a loop that is
 * linear, with the loops in it; one is refused if the system gives no pages
 * that can be executed, or memory is short, or it is too large.
 */
typedef struct eddy_native_stats {
    size_t size;      /* sizeof(eddy_native_stats) */
    uint32_t linear;  /* regions, whether or not ... */
    uint32_t regions; /* ... they may become machine code */
    uint32_t compiled, refused;
    uint64_t compile_ns, code_bytes;
    /* Chains of elementwise ops: all, and those that became machine code, in
     * whole or in part, or could not. */
    uint32_t chains, compiled_chains, refused_chains;
} eddy_native_stats;

/* Set `size` before.  @thread any, also while it runs */
EDDY_API void eddy_plan_native_stats(const eddy_plan *plan,
                                     eddy_native_stats *out_stats);

/*
 * Makes machine code of all regions of the plan, as a run would, and hands it
 * out a piece at a time, each with a line of text: the name of a frame (no
 * bytes), or the instruction that the bytes are for and its node.  Stops, and
 * returns false, when `see` does.  @thread any
 */
EDDY_API bool eddy_plan_each_native(const eddy_plan *plan,
                                    bool (*see)(void *user, const char *line,
                                                const void *bytes,
                                                size_t n_bytes),
                                    void *user);

/* The name of the machine, as objdump has it; NULL: no code is made here. */
EDDY_API const char *eddy_native_machine(void);

EDDY_END_DECLS

#endif

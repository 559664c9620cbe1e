/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the primitives of a graph say about its control flow: frames, loops with
 * their variables, invariants and predicates, and the branch that each node
 * belongs to; recovered from the graph alone.  An analysis is a snapshot: it
 * does not follow later changes of the graph, and must not outlive it.
 */
#ifndef EDDY_ANALYSIS_H
#define EDDY_ANALYSIS_H

#include "eddy/graph.h"

EDDY_BEGIN_DECLS

typedef struct eddy_analysis eddy_analysis;

/* The five nodes of a loop variable; EDDY_NO_NODE where one is missing. */
typedef struct eddy_loop_variable {
    eddy_node enter, merge, switch_, next_iteration, exit;
} eddy_loop_variable;

typedef enum eddy_comparison {
    EDDY_LESS,
    EDDY_LESS_EQUAL,
    EDDY_GREATER,
    EDDY_GREATER_EQUAL,
    EDDY_NOT_EQUAL
} eddy_comparison;

/*
 * How a loop counts its trips: it goes on only while a variable, to which every
 * trip adds a constant, compares so with a limit that does not change.  Each
 * output is where the value comes from: past Identities and the Switches of
 * branches, and out of the loops in which it does not change, as an invariant
 * or a variable that is handed on as it came.
 */
typedef struct eddy_trip_counter {
    size_t variable; /* its number among those of the frame */
    eddy_output start;
    eddy_output step;   /* of a Const */
    bool is_subtracted; /* the step is */
    eddy_output limit;
    eddy_output compared;       /* the limit as the loop has it */
    eddy_comparison comparison; /* the variable is LESS than the limit, ... */
    bool is_only;               /* nothing else can end the loop */
    /*
     * How often the body runs, at most unless is_only; -1 if start, step and
     * limit are not integer constants, or if it would not come to an end
     * without wrapping around.
     */
    int64_t trips;
} eddy_trip_counter;

/*
 * A branch: side `side` of the `n_sides` that a predicate chooses from, inside
 * the branch `outer` of the same frame.  Of a bool, side 1 is taken when it
 * holds; of an index (_SwitchN), the side of that number, and the last if there
 * is none.  The sides of a predicate have numbers one after the other.  Branch
 * 0, which all frames share, is that of nodes that run whenever their iteration
 * does: its predicate is EDDY_NO_NODE, and it has depth 0 and no sides.  That a
 * loop goes on is no branch.
 */
typedef struct eddy_branch_info {
    eddy_output predicate; /* past Identities */
    uint32_t side, n_sides;
    uint32_t outer;
    uint32_t depth;
    uint32_t frame; /* in whose iterations the predicate is computed */
} eddy_branch_info;

/* Frame 0 is the root, with the name "". */
typedef struct eddy_frame {
    const char *name;
    uint32_t parent; /* its own number in the root */
    uint32_t depth;  /* 0 in the root */
    int64_t parallel_iterations;
    eddy_node loop_cond; /* EDDY_NO_NODE if there is none */
    const eddy_loop_variable *variables;
    size_t n_variables;
    const eddy_node *invariants; /* its constant Enters */
    size_t n_invariants;
    uint32_t branch; /* of the parent, in which the loop is */
    const eddy_trip_counter *trip_counter; /* NULL: none was found */
} eddy_frame;

/*
 * Analyses every node of `graph`; fails where the frames make no sense, as
 * eddy_plan_create does.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_analysis_create(
    const eddy_graph *graph, eddy_analysis **out_analysis, eddy_error *err);
EDDY_API void eddy_analysis_destroy(eddy_analysis *analysis);

/* Queries; texts and arrays are borrowed from the analysis. */
EDDY_API size_t eddy_analysis_frames(const eddy_analysis *analysis);
EDDY_API const eddy_frame *eddy_analysis_frame(const eddy_analysis *analysis,
                                               size_t i);

/* The frame that the node runs in; an Enter runs in its frame's parent. */
EDDY_API uint32_t eddy_analysis_node_frame(const eddy_analysis *analysis,
                                           eddy_node node);

/* Branches, 0 included; a branch comes after the one that it is in. */
EDDY_API size_t eddy_analysis_branches(const eddy_analysis *analysis);
EDDY_API const eddy_branch_info *
eddy_analysis_branch(const eddy_analysis *analysis, size_t i);

/* The branch that the node runs in; 0 for a node that is not known. */
EDDY_API uint32_t eddy_analysis_node_branch(const eddy_analysis *analysis,
                                            eddy_node node);

/*
 * The branch in which the output is live, of the frame where it lives: a Switch
 * opens one with each output, an Enter leads to branch 0 of its frame and an
 * Exit back to the branch that the loop is in.
 */
EDDY_API uint32_t eddy_analysis_output_branch(const eddy_analysis *analysis,
                                              eddy_output output);

/*
 * Is the node live exactly when its branch is taken?  False where Switches and
 * Merges are not nested, so that a Merge is live on some sides of a predicate
 * and not on others, or a node depends on very many branches at once: it is
 * then dead in some runs of its branch.
 */
EDDY_API bool eddy_analysis_is_exact(const eddy_analysis *analysis,
                                     eddy_node node);

/* Is `inner` the branch `outer` or in it?  Logarithmic in the depth. */
EDDY_API bool eddy_analysis_is_within(const eddy_analysis *analysis,
                                      uint32_t inner, uint32_t outer);

/*
 * A node that runs whenever its own branch does, though what it computes is
 * used in one side of a predicate alone, `branch`: built inside of that, it
 * would run only when needed.  Nodes with effects and cheap ones are not named.
 */
typedef struct eddy_eager_node {
    eddy_node node;
    uint32_t branch;
} eddy_eager_node;

/* In the order of the nodes; NULL past the end. */
EDDY_API const eddy_eager_node *
eddy_analysis_eager(const eddy_analysis *analysis, size_t i);

/* Odd but legal findings, one line each; NULL past the end. */
EDDY_API const char *eddy_analysis_warning(const eddy_analysis *analysis,
                                           size_t i);

EDDY_END_DECLS

#endif

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

/* Odd but legal findings, one line each; NULL past the end. */
EDDY_API const char *eddy_analysis_warning(const eddy_analysis *analysis,
                                           size_t i);

EDDY_END_DECLS

#endif

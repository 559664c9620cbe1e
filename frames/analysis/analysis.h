/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static frame tree of a selection of a graph, and what follows from it.
 * The public eddy_analysis is this, over all nodes.
 *
 * `node_frame` is the frame in which a node runs.  What an Enter puts out lives
 * in the child frame (`output_frame`), what an Exit puts out in the parent.
 * Frames are numbered parents first, 0 being the root, each followed by its
 * children and theirs; within one parent in the order of their first Enter in
 * the graph, so the same graph gives the same numbers.
 */
#ifndef EDDY_FRAMES_ANALYSIS_H
#define EDDY_FRAMES_ANALYSIS_H

#include "eddy/analysis.h"
#include "frames/analysis/selection.h"

/* Frames may be nested this deep; see docs/limits.md. */
#define EDDY__MAX_FRAME_DEPTH 1024

/* parallel_iterations above this run with this many. */
#define EDDY__MAX_PARALLEL_ITERATIONS 4096

/* See frames/analysis/branches.h; empty until eddy__find_branches has filled it
 * in. */
typedef struct eddy__branches {
    eddy_branch_info *branches;
    size_t n;
    uint32_t *jump;       /* a branch: one far around it */
    uint32_t *of_node;    /* the branch in which the node runs */
    uint32_t *first_side; /* a Switch of a branch: that of its output 0 */
    /*
     * A Switch of a branch that is inside a side of its predicate already: that
     * side's output, which is live wherever the Switch is, plus 1.  Of its
     * other sides, which it opens as any Switch does, nothing is ever live.
     */
    uint32_t *certain;
    uint32_t *of_frame; /* a frame: that of its loop, in the frame around */
    uint8_t *is_exact;  /* a node */
} eddy__branches;

struct eddy__contest; /* see frames/analysis/merge_order.h */

struct eddy_analysis {
    eddy__arena arena;
    size_t n_nodes; /* of the graph when it was analysed */
    eddy_frame *frames;
    size_t n_frames;
    uint32_t *node_frame;           /* EDDY__NOT_FOUND for nodes not selected */
    uint32_t *output_frame;         /* of the node's outputs */
    uint32_t *n_enters;             /* a frame: its Enters, constant ones too */
    bool *has_next;                 /* a frame: it has a NextIteration */
    struct eddy__contest *contests; /* in the order of nodes */
    size_t n_contests, contests_capacity;
    eddy__branches branches;
    eddy_eager_node *eager;
    size_t n_eager;
    const char **warnings;
    size_t n_warnings, warnings_capacity;
};

/*
 * Builds the analysis of a selection and checks it: every row of the
 * reliability table that speaks of frames and primitives and can be seen before
 * a run.
 */
eddy_status eddy__analysis_build(const eddy__selection *selection,
                                 eddy_analysis **out_analysis, eddy_error *err);

/* Likewise, with branches, trip counters and what runs needlessly. */
eddy_status eddy__analysis_build_whole(const eddy__selection *selection,
                                       eddy_analysis **out_analysis,
                                       eddy_error *err);

/*
 * Fails with EDDY_E_FEED_IN_FRAME if a fed output lives in a frame of the whole
 * graph, selected or not.
 */
eddy_status eddy__check_feeds(const eddy__selection *selection,
                              eddy_error *err);

/* The table of the primitives' ops. */
extern const eddy__op_table eddy__control_ops;

#endif

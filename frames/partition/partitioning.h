/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a partition that is being made.  Six steps, a file each:
 * request (what is needed, lowered), place (a rank for each node), copies
 * (constants, invariants, and by counting what makes a predicate), known_dead
 * with conditions, control_loops, split.
 */
#ifndef EDDY_FRAMES_PARTITIONING_H
#define EDDY_FRAMES_PARTITIONING_H

#include "core/graph/copy.h"
#include "core/graph/emit.h"
#include "eddy/partition.h"
#include "frames/analysis/analysis.h"

/* What is known of a node of the whole graph, those that are added too. */
typedef struct eddy__placed {
    uint32_t rank;
    uint32_t frame;        /* in which it runs */
    uint32_t output_frame; /* in which its outputs live */
    bool is_needed;
    bool has_copy; /* on another rank */
    bool is_asked; /* its rank runs it to know what is dead elsewhere */
    bool is_copy;  /* of `original` */
    eddy_node original;
} eddy__placed;

/* When a node of a loop, or of the root, is live (known_dead.c). */
enum { EDDY__UNKNOWN, EDDY__EXACTLY, EDDY__AT_LEAST, EDDY__IN_BODY };

/* What is known of when a node is live. */
typedef struct eddy__known {
    uint8_t when;
    bool is_turn;       /* a Switch by the predicate of the loop */
    uint32_t condition; /* under which it is live; 0: none */
    uint32_t sides;     /* of a branch's Switch: output i has that + i; or 0 */
} eddy__known;

/*
 * A predicate, or an index, that branches go by: a condition for each side, one
 * after the other (conditions.c).
 */
typedef struct eddy__branch {
    uint32_t outer; /* the condition that it is asked under; 0: none */
    uint32_t depth;
    eddy_output predicate;
    uint32_t first, n_sides; /* the condition of side 0 */
    uint32_t next;           /* of the predicates of the same node */
} eddy__branch;

/* Where a rank has a predicate. */
typedef struct eddy__witness {
    uint32_t rank;
    eddy_output predicate, source;
    struct eddy__witness *next; /* of the same node */
} eddy__witness;

/* The predicates that are known of, and the conditions of their sides. */
typedef struct eddy__branches_known {
    eddy__branch *items; /* from 1 on */
    uint32_t n, capacity;
    uint32_t *item_of; /* a condition, from 1 on: the item that it is of */
    uint32_t n_conditions, most_conditions;
    uint32_t *first;         /* a node: of its items, 0: none */
    eddy__witness **witness; /* a node */
} eddy__branches_known;

/* Where something that was asked for is. */
typedef struct eddy__part_of {
    uint32_t rank; /* EDDY__NOT_FOUND: nowhere */
    eddy_output output;
} eddy__part_of;

struct eddy_partition {
    const eddy_allocator *allocator;
    eddy__arena arena;
    uint32_t n_ranks;
    eddy_graph **graphs;
    eddy_partition_counts *counts;
    eddy__part_of *feeds, *fetches;
    size_t n_feeds, n_fetches;
    eddy_node **targets; /* a rank: in the arena */
    size_t *n_targets;
};

typedef struct eddy__partitioning {
    const eddy_partition_options *options;
    eddy_partition *result;
    eddy_graph *whole; /* lowered; what is added stands at its end */
    eddy_analysis *analysis;
    size_t n_analysed; /* nodes of it */
    eddy__placed *placed;
    size_t placed_capacity;
    /* In the whole graph. */
    eddy_output *feeds, *fetches;
    eddy_node *targets;
    size_t n_targets;
    /* Marks of frames, and of nodes of the analysis (counting.c). */
    uint8_t *is_counted;  /* every rank computes its predicate for itself ... */
    uint8_t *is_counting; /* ... by these */
    /*
     * A frame and a rank, or EDDY_NO_NODE: a copy of the predicate, and of the
     * control loop the Merge and the Switch.
     */
    eddy_node *predicate_copy, *control_merge, *control_switch;
    /* A node when that was looked at: known_dead.c.  NULL: nothing is. */
    eddy__known *known;
    size_t n_known;
    /* A frame: the condition of the branch in which it is entered, exactly if
     * that holds where it stands; EDDY__NOT_FOUND: nothing is known. */
    uint32_t *entry;
    /*
     * A node of a replicated graph: may it be dead on one rank and live on
     * another?
     */
    uint8_t *is_uneven;
    eddy__branches_known branches;
    /* Likewise: does the rank begin iterations of the frame by itself? */
    uint8_t *is_begun;
    eddy__emitter emitter; /* of nodes of `whole` */
    eddy__copier copier;
    eddy__arena arena;
    eddy__budget *budget;
    eddy_error *err;
} eddy__partitioning;

static inline const eddy__node *
eddy__partition_node(const eddy__partitioning *p, eddy_node node)
{
    return eddy__graph_node(p->whole, node);
}

/* Does an edge between them lead from one rank to another? */
static inline bool eddy__partition_crosses(const eddy__partitioning *p,
                                           eddy_node from, eddy_node to)
{
    return p->placed[from].rank != p->placed[to].rank;
}

/* Says where a node that has just been added to `whole` is. */
eddy_status eddy__partition_note(eddy__partitioning *p, eddy_node node,
                                 eddy__placed placed);

/*
 * A Const that holds nothing, which is there once `after` has run, or at once
 * if that is EDDY_NO_NODE: `base` is its name, or that with a number.
 */
eddy_output eddy__partition_nothing(eddy__emitter *e, const char *base,
                                    const char *device, eddy_node after);

/* The place of a frame and a rank in the lists of both. */
static inline size_t eddy__partition_at(const eddy__partitioning *p,
                                        uint32_t frame, uint32_t rank)
{
    return (size_t)frame * p->options->n_ranks + rank;
}

/* The needed nodes in topological order, back edges left out. */
eddy_status eddy__partition_order(eddy__partitioning *p, eddy_node **out,
                                  size_t *out_n);

/* A list of nodes for a frame and a rank, all of them EDDY_NO_NODE. */
eddy_status eddy__partition_list(eddy__partitioning *p, eddy_node **out);

/*
 * Notes which ranks begin iterations of which frames: those with a
 * NextIteration.  `keep`: of the nodes that it marks, and those as well that
 * receive in the frame, which have a control loop; the graph must have its
 * copies then.
 */
eddy_status eddy__partition_find_begun(eddy__partitioning *p,
                                       const uint8_t *keep);

/*
 * Does the rank of `v` begin every iteration that `v` runs in?  Where nothing
 * begins those of the frame, or of one around it, there are only the first
 * ones: what reads invariants alone would run, and send, once.
 */
bool eddy__partition_iterates(const eddy__partitioning *p, eddy_node v);

/* Which loops count. */
eddy_status eddy__partition_find_counted(eddy__partitioning *p);

/* Which predicates of branches every rank can compute for itself, as well. */
void eddy__partition_count_branches(eddy__partitioning *p);

/*
 * Does `rank` know when the output, or what waits for the node, is dead?  When
 * `out_known->condition`, unless that is 0, does not hold; and in a loop when
 * its predicate is false, or for EDDY__EXACTLY where it is not entered live.
 */
bool eddy__partition_is_known(const eddy__partitioning *p, eddy_output of,
                              uint32_t rank, eddy__known *out_known);
bool eddy__partition_control_is_known(const eddy__partitioning *p, eddy_node of,
                                      uint32_t rank, eddy__known *out_known);

/*
 * Does the rank's control loop of the frame begin just where the loop is
 * entered live?  Never where that is everywhere.
 */
bool eddy__partition_is_gated(const eddy__partitioning *p, uint32_t frame,
                              uint32_t rank);

/* What is known of an output, and of a node that something waits for. */
eddy__known eddy__partition_known_output(const eddy__partitioning *p,
                                         eddy_output of);
eddy__known eddy__partition_known_control(const eddy__partitioning *p,
                                          eddy_node of);

/*
 * Is that live exactly when the body of its loop runs, or when a condition
 * holds in the root, where `is_root`, and, in a loop, its condition too?
 */
bool eddy__known_is_exact(eddy__known known, bool is_root);

/* Makes room for the branches of the graph as it is, of which there are none.
 */
eddy_status eddy__branches_begin(eddy__partitioning *p);

/*
 * The conditions of so many sides of a predicate that is asked under `outer`:
 * that of side 0, and the next ones.  0: there are too many, or too deep.
 */
uint32_t eddy__branches_sides(eddy__partitioning *p, uint32_t outer,
                              eddy_output predicate, uint32_t n_sides);

/* Both conditions hold: the inner one, if it lies in the other. */
bool eddy__branches_both(const eddy__partitioning *p, uint32_t a, uint32_t b,
                         uint32_t *out);

static inline const eddy__branch *eddy__branches_at(const eddy__partitioning *p,
                                                    uint32_t condition)
{
    return &p->branches.items[p->branches.item_of[condition]];
}

/* Notes which ranks have which predicates, once all else is known. */
eddy_status eddy__branches_find_witnesses(eddy__partitioning *p);

/* Where the rank has the predicate, or EDDY__NO_OUTPUT. */
eddy_output eddy__branches_witness(const eddy__partitioning *p,
                                   eddy_output predicate, uint32_t rank);

/* The steps, in their order. */
eddy_status eddy__partition_request(eddy__partitioning *p,
                                    const eddy_graph *graph);
eddy_status eddy__partition_place(eddy__partitioning *p);
eddy_status eddy__partition_copy(eddy__partitioning *p);
eddy_status eddy__partition_find_known(eddy__partitioning *p);
eddy_status eddy__partition_control_loops(eddy__partitioning *p);
eddy_status eddy__partition_split(eddy__partitioning *p);

#endif

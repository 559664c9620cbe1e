/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitions: one graph cut into one for each of several ranks, which together
 * do what it does.  Nothing here runs anything or knows a network.
 *
 * Where an edge leads from one rank to another, a _Send stands on its side and
 * a _Recv on the other.  In each iteration of its frame every pair carries one
 * message, live or dead, or none where both ranks know that it is dead.  A rank
 * that receives inside of a loop has a control loop of that frame, which starts
 * its _Recvs and is stopped by the loop's predicate: TensorFlow's encoding
 * (core/graph/graph_partition.cc), so that either system runs what the other
 * has cut.  Constants and loop invariants are copied to the rank that wants
 * them: a constant is never sent, and an invariant once, in the frame around
 * the loop.
 */
#ifndef EDDY_PARTITION_H
#define EDDY_PARTITION_H

#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

/* A graph has at most so many ranks. */
#define EDDY_MAX_RANKS 1024

/* Nodes whose names begin with `prefix`, the empty text for all. */
typedef struct eddy_place {
    const char *prefix;
    uint32_t rank;
} eddy_place;

typedef struct eddy_partition_options {
    size_t size; /* sizeof(eddy_partition_options) */
    uint32_t n_ranks;
    /*
     * The longest prefix counts.  Of a node for which there is none it is the
     * device: the number of its task ("/job:worker/task:1"), or else the one
     * that it ends with ("/cpu:1"); without a device, rank 0.
     */
    const eddy_place *places;
    size_t n_places;
    /*
     * As for a plan: what is needed of the graph.  Without fetches and targets
     * all of it is.
     */
    const eddy_output *feeds;
    size_t n_feeds;
    const eddy_output *fetches;
    size_t n_fetches;
    const eddy_node *targets;
    size_t n_targets;
    /*
     * To the letter as TensorFlow does it: constants, invariants, the
     * predicates of loops that count their trips, and what is known to be dead
     * are sent.
     */
    bool is_literal;
    const eddy_limits *limits; /* NULL: none */
    /*
     * Each rank has a copy of the whole graph, and collectives
     * (HorovodAllreduce and the like) become edges between the copies;
     * HorovodRank tells them apart.  Feeds are the same on all ranks, fetches
     * are those of rank 0, targets run on each.  There are no places then.
     */
    bool is_replicated;
} eddy_partition_options;

typedef struct eddy_partition eddy_partition;

/* What one rank has. */
typedef struct eddy_partition_counts {
    size_t n_nodes;
    size_t n_sends, n_recvs;
    size_t n_control_loops;
} eddy_partition_counts;

/*
 * Lowers the graph (eddy/lower.h), places its nodes and cuts it.  A node stays
 * with those that it shares a handle or a reference with, a Switch with what it
 * passes on, an Exit with its Switch, an Enter and a NextIteration with their
 * first consumer, whatever the places say, as in TensorFlow.
 *
 * Errors: INVALID_ARGUMENT for a rank that there is not (EDDY_E_PLACE, with the
 * node) or a cut loop without a LoopCond (EDDY_E_LOOP_CONDS), and, of a
 * replicated graph, for a collective to which some ranks may come and others
 * not (EDDY_E_PLACE, with the predicate); those of lowering, and of frames that
 * make no sense.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_partition_create(
    const eddy_graph *graph, const eddy_partition_options *options,
    eddy_partition **out_partition, eddy_error *err);

/* Frees its graphs too; accepts NULL. */
EDDY_API void eddy_partition_destroy(eddy_partition *partition);

EDDY_API uint32_t eddy_partition_ranks(const eddy_partition *partition);

/* How many feeds and fetches the options had. */
EDDY_API size_t eddy_partition_feeds(const eddy_partition *partition);
EDDY_API size_t eddy_partition_fetches(const eddy_partition *partition);

/* The graph of a rank, borrowed. */
EDDY_API const eddy_graph *eddy_partition_graph(const eddy_partition *partition,
                                                uint32_t rank);
EDDY_API eddy_partition_counts
eddy_partition_count(const eddy_partition *partition, uint32_t rank);

/*
 * The rank on which feed `i` is wanted, and the output there; false if nothing
 * wants it.
 */
EDDY_API bool eddy_partition_feed(const eddy_partition *partition, size_t i,
                                  uint32_t *out_rank, eddy_output *out);

/* Where fetch `i` is to be had. */
EDDY_API eddy_output eddy_partition_fetch(const eddy_partition *partition,
                                          size_t i, uint32_t *out_rank);

/*
 * What must run on a rank besides its fetches: its part of the targets, and
 * every _Send.  Borrowed.
 */
EDDY_API const eddy_node *
eddy_partition_targets(const eddy_partition *partition, uint32_t rank,
                       size_t *out_n);

EDDY_END_DECLS

#endif

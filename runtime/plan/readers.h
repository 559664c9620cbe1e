/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes that join, move or drop nodes share: who reads a node, what the
 * caller names, in which order values come, and how another node takes one's
 * place.
 */
#ifndef EDDY_PLAN_READERS_H
#define EDDY_PLAN_READERS_H

#include "runtime/plan/plan.h"

/* How often nodes are read: by edges of any kind, and by the caller. */
typedef struct eddy__readers {
    const eddy__plan_build *build;
    uint32_t *n; /* a node */
} eddy__readers;

eddy_status eddy__count_readers(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy__readers *out);

/* Is an output of the node fed? */
bool eddy__readers_is_fed(const eddy__readers *r, eddy_node v);

/* What is known of an output as its readers see it: it may be fed. */
const eddy_shape *eddy__readers_seen_shape(const eddy__readers *r,
                                           eddy_output output);

/* The selected readers of a node: reader[first[v]] to reader[first[v + 1]], one
 * for each edge, of a control too. */
typedef struct eddy__reader_lists {
    size_t *first;
    eddy_node *reader;
} eddy__reader_lists;

eddy_status eddy__list_readers(const eddy__plan_build *build,
                               eddy__arena *scratch, eddy__reader_lists *out);

/* How a node is read, and whether the caller knows it. */
typedef enum eddy__standing {
    EDDY__IS_NAMED = 1 << 0,   /* it is fetched, fed or a target */
    EDDY__IS_AWAITED = 1 << 1, /* a node has it as a control input */
    EDDY__IS_MERGED = 1 << 2,  /* a Merge reads it */
} eddy__standing;

/* `*out` has eddy__standing, a byte a node, in scratch memory. */
eddy_status eddy__find_standing(const eddy__plan_build *build,
                                eddy__arena *scratch, uint8_t **out);

/*
 * The nodes that are needed, each but a Merge behind all that it reads; control
 * inputs do not count.  In scratch memory.
 */
eddy_status eddy__readers_order_values(const eddy__plan_build *build,
                                       eddy__arena *scratch,
                                       eddy_node **out_order, uint32_t *out_n);

/* What a node waits for that stands for several: each of these once. */
typedef struct eddy__few_controls {
    eddy_node waits_for[4];
    uint32_t n;
} eddy__few_controls;

/* False if there are too many. */
bool eddy__few_controls_add(eddy__few_controls *to, const eddy_node *controls,
                            uint32_t n);

/*
 * Makes node `v` of a graph that only the plan has the one of `spec`, under the
 * name that it has; its outputs' numbers must mean the same.
 */
eddy_status eddy__readers_replace_node(eddy_graph *graph, eddy_node v,
                                       const eddy_node_spec *spec,
                                       eddy_error *err);

/*
 * What stands for the outputs of the first `n` nodes of a graph that only the
 * plan has: who read output i reads output `index` + i of `node`; EDDY_NO_NODE:
 * it stays.  What is pointed to stays.
 */
void eddy__readers_redirect(eddy_graph *graph, const eddy_output *instead,
                            size_t n);

#endif

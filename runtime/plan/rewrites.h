/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes at levels exact and full that give a plan less to do, with the same
 * bits, errors, and live and dead values wherever the caller can look.
 *
 * Each works on a graph whose frames and shapes are known, and gives a copy in
 * which it is done, the caller's; the nodes of the graph keep their numbers,
 * new ones come behind.  `*out_graph` is NULL if there is nothing to do.  What
 * the caller feeds, fetches or wants to run is left alone.
 */
#ifndef EDDY_PLAN_REWRITES_H
#define EDDY_PLAN_REWRITES_H

#include "runtime/plan/plan.h"

/* identities.c: what only hands its input on goes. */
eddy_status eddy__drop_identities(const eddy__plan_build *build,
                                  eddy__arena *scratch, eddy_graph **out_graph);

/* fold.c: what is computed of constants alone is a constant. */
eddy_status eddy__fold_constants(const eddy__plan_build *build,
                                 eddy__arena *scratch, eddy_graph **out_graph);

/* powers.c: Pow with a constant exponent 2 is Square. */
eddy_status eddy__square_powers(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy_graph **out_graph);

/*
 * What a pure kernel may ask for while a plan is made.  Its `run` is a uint32_t
 * that counts how often it asks whether to stop; after a few times it is to.
 */
extern const eddy__services eddy__fold_services;

/*
 * invariants.c: what every iteration of a loop computes of the same values is
 * computed before it.  One loop outwards at a time.
 */
eddy_status eddy__move_invariants(const eddy__plan_build *build,
                                  eddy__arena *scratch, eddy_graph **out_graph);

/*
 * panels.c: products of few rows read what does not change in a loop in panels,
 * made there; eddy__move_invariants is to take them out.
 */
eddy_status eddy__take_panels(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph);

/*
 * overlap.c: where there are workers, a loop that reads, row by row, what
 * another one has stacked begins while that is at work.  The nodes _RowsEnd
 * that it adds must run.
 */
eddy_status eddy__overlap_loops(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy_graph **out_graph);

/*
 * ahead.c: a product of each step's row of a tensor is made of all rows at
 * once, before the loop.
 */
eddy_status eddy__go_ahead(const eddy__plan_build *build, eddy__arena *scratch,
                           eddy_graph **out_graph);

/*
 * gates.c: a product with the ConcatV2 before it, and with the bias and the
 * Split behind it, is one node.
 */
eddy_status eddy__join_gates(const eddy__plan_build *build,
                             eddy__arena *scratch, eddy_graph **out_graph);

/*
 * rolls.c: what moves a tensor's elements on along an axis, end to start, is
 * one node.
 */
eddy_status eddy__find_rolls(const eddy__plan_build *build,
                             eddy__arena *scratch, eddy_graph **out_graph);

/* common.c: nodes that compute the same become one. */
eddy_status eddy__join_common(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph);

#endif

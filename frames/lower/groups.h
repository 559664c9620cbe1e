/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives whose members are all in one graph, as TensorFlow has them on the
 * devices of one process: nodes with the same group_key and instance_key, as
 * many as group_size says.
 *
 *     x0 -> CollectiveReduceV2 -> y0        x0 ---> AddV2 ---> Identity -> y0
 *     x1 -> CollectiveReduceV2 -> y1        x1 -----^    \---> Identity -> y1
 *
 * They become edges, which a partition cuts as any other, so that nothing waits
 * for anything by its key while the graph runs.
 */
#ifndef EDDY_FRAMES_GROUPS_H
#define EDDY_FRAMES_GROUPS_H

#include "frames/analysis/selection.h"

/* Is there anything to join?  Allocates nothing. */
bool eddy__has_groups(const eddy__selection *selection);

/*
 * Makes a copy of the graph, in which nodes have the same numbers, and joins
 * the groups of which all members are selected, in the order of their devices'
 * names and then of nodes.  A node whose keys no constants say, or some of
 * whose group are not here, stays as it is.  Errors: INVALID_ARGUMENT
 * (EDDY_E_PLACE) where members do not fit together, with one of them.
 */
eddy_status eddy__join_groups(const eddy__selection *selection,
                              eddy_graph **out_graph, eddy_error *err);

#endif

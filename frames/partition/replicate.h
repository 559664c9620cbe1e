/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicated graphs: a copy on every rank, whose collectives are edges between
 * the copies.  Two steps in place of place, copies, control_loops and split.
 */
#ifndef EDDY_FRAMES_REPLICATE_H
#define EDDY_FRAMES_REPLICATE_H

#include "frames/partition/partitioning.h"

/* The op that says which rank this is, and that which says how many. */
#define EDDY__RANK "HorovodRank"
#define EDDY__SIZE "HorovodSize"

/* Does it join the values of all ranks? */
bool eddy__replicate_is_collective(const eddy__node *node);

/* Refuses collectives to which some ranks may come and others not. */
eddy_status eddy__partition_agree(eddy__partitioning *p);

/* Makes the graphs of the ranks. */
eddy_status eddy__partition_replicate(eddy__partitioning *p);

#endif

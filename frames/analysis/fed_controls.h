/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control edges from placeholders that are fed.
 *
 * What is fed replaces a node's output, not the node: who waits for the node
 * still needs it.  A placeholder that is fed can't run, though, so TensorFlow
 * lets those who wait for it wait for the feed (FeedInputs in
 * core/graph/subgraph.cc), for a Placeholder and a PlaceholderV2 and for no
 * other op.
 */
#ifndef EDDY_FRAMES_FED_CONTROLS_H
#define EDDY_FRAMES_FED_CONTROLS_H

#include "frames/analysis/selection.h"

/*
 * Makes a copy of the graph in which a NoOp stands for each feed that some node
 * waits for, behind the nodes that there are; `*out_graph` is NULL if there is
 * no such feed.  A feed is there before all else in the root frame, and so is
 * the NoOp.  Of the selection, the graph and the feeds are looked at.
 */
eddy_status eddy__move_fed_controls(const eddy__selection *selection,
                                    eddy_graph **out_graph, eddy_error *err);

#endif

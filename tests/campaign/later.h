/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op CampaignLater: an identity of a float32 that suspends itself and is
 * completed by a thread which is none of eddy's.
 */
#ifndef EDDY_TESTS_CAMPAIGN_LATER_H
#define EDDY_TESTS_CAMPAIGN_LATER_H

#include "eddy.h"

/* The thread that completes; once a process. */
void later_start(void);
void later_stop(void);

/*
 * Registers the op in `ctx` and makes a graph of it: eight of them beside each
 * other between a placeholder and a sum.  False if that fails.
 */
bool later_graph(eddy_context *ctx, eddy_graph **out_graph);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel's work shared with workers that have nothing else to do.
 *
 * A share is on the stack of the thread that runs the kernel, its owner, and
 * stands in the pool's list while it is open.  Workers take parts of it, and so
 * does its owner, until there are none; then the owner takes it off the list
 * and waits for those that still work on one.  Nobody need come: the owner
 * alone gets to the end.  Who works on a part waits for nothing, so nobody
 * waits for ever.
 */
#ifndef EDDY_EXEC_SHARE_H
#define EDDY_EXEC_SHARE_H

#include "eddy/op.h"

struct eddy__pool;
typedef struct eddy__share eddy__share;

/* What a host's executor is handed to have its threads help; see share.c. */
typedef struct eddy__crew eddy__crew;

/* NULL without memory, or if the system has no more locks. */
eddy__crew *eddy__crew_create(struct eddy__pool *pool);

/* Waits for helpers that are at work; those that come later go again. */
void eddy__crew_release(eddy__crew *crew);

/* Is there a part for one more?  @thread holds pool->mu */
bool eddy__share_is_open(const struct eddy__pool *pool);

/* Takes parts of a share as long as there are some; false: there was none. */
bool eddy__share_help(struct eddy__pool *pool);

/* The service of kernels (core/kernel.h).  @thread who runs the kernel */
eddy_status eddy__share_run(eddy_kernel *kernel, int64_t begin, int64_t end,
                            int64_t grain, eddy_items_fn body, void *arg);

#endif

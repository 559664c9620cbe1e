/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks have a part in the loop that is saved (eddy/checkpoint.h). */
#ifndef EDDY_NET_PARTS_H
#define EDDY_NET_PARTS_H

#include "core/base/memory.h"
#include "eddy/checkpoint.h"
#include "eddy/partition.h"

typedef struct eddy__parts {
    eddy_checkpoint how; /* with the loop's name */
    uint32_t *part;      /* a rank: its part; EDDY__NOT_FOUND: none */
} eddy__parts;

/*
 * All ranks come to the same.  Memory is of `arena`.  Errors: those of
 * eddy_analysis_create; FAILED_PRECONDITION (EDDY_E_CHECKPOINT) where there is
 * no loop, or it is not said which; INVALID_ARGUMENT.
 */
eddy_status eddy__parts_find(const eddy_partition *partition,
                             const eddy_checkpoint *how, eddy__arena *arena,
                             eddy__parts *out, eddy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes are that a partition adds: a leaf that its steps call. */
#include "core/base/status.h"
#include "frames/partition/partitioning.h"

eddy_status eddy__partition_note(eddy__partitioning *p, eddy_node node,
                                 eddy__placed placed)
{
    const eddy_allocator *allocator = &p->budget->allocator;

    if (!eddy__grow(allocator, (void **)&p->placed, &p->placed_capacity,
                    (size_t)node + 1, sizeof *p->placed))
        return eddy__fail_memory(p->err);
    p->placed[node] = placed;
    return EDDY_OK;
}

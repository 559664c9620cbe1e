/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one piece of work on a graph may take: bytes, nodes and time.
 *
 * A budget is an allocator in front of another.  It counts what is held of it,
 * and refuses once there is too much, the time is over or the caller has asked
 * it to stop; from then on it refuses everything, so the work ends as it does
 * where memory is short, with all of it freed, and eddy__budget_end says why.
 * Memory may come back to it that it never gave: what is held is then less than
 * nothing.  Blocks are passed on as they are, so what was made with a budget
 * may be freed by the allocator behind it once the budget is gone.
 */
#ifndef EDDY_BASE_BUDGET_H
#define EDDY_BASE_BUDGET_H

#include "core/base/memory.h"
#include "eddy/limits.h"

/* Must not move while it is used: `allocator` points back at it. */
typedef struct eddy__budget {
    eddy_allocator allocator;
    const eddy_allocator *behind;
    eddy_limits limits;
    const char *what; /* that is done, for messages: "planning" */
    int64_t held;     /* bytes */
    uint64_t n_nodes;
    uint64_t deadline_ns;
    uint32_t n_asked;     /* since the clock was looked at */
    eddy_detail exceeded; /* EDDY_E_NONE until it is */
} eddy__budget;

/* `limits` may be NULL.  Fails, with nothing begun, if its size is wrong. */
eddy_status eddy__budget_begin(eddy__budget *budget, const char *what,
                               const eddy_allocator *behind,
                               const eddy_limits *limits, eddy_error *err);

/* The lesser of two limits, of which 0 is none. */
static inline uint64_t eddy__budget_lesser(uint64_t a, uint64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/*
 * Is there anything left?  Looks at the clock once in many calls, so a loop may
 * ask in every turn.
 */
bool eddy__budget_lasts(eddy__budget *budget);

/* Counts a node that is to be added; false if it may not be. */
bool eddy__budget_take_node(eddy__budget *budget);

/*
 * The status of the work: if it failed after the budget was exceeded, the
 * failure is that of the budget, and `err` says so.
 */
eddy_status eddy__budget_end(const eddy__budget *budget, eddy_status status,
                             eddy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges whose inputs may be live together, and which of them comes first.
 *
 * A Merge fires with its first live input.  Where two are live, TensorFlow's
 * kernel takes the one of the lowest number among those that are there when it
 * runs, and one that comes later is dropped.  So the graph decides where one
 * input is certain to be there first:
 *
 * - a constant or a feed, which waits for nothing, is there when the run
 *   starts.  It wins over every input of a higher number, and over one of a
 *   lower number that is two nodes or more away from the start, unless the
 *   Merge is held back by control edges;
 * - an input that another one depends on is there before it.  It wins if it has
 *   the lower number, too.
 *
 * Everything else is a race.  It does no harm if the values are equal.
 */
#ifndef EDDY_FRAMES_MERGE_ORDER_H
#define EDDY_FRAMES_MERGE_ORDER_H

#include "frames/analysis/analysis.h"

struct eddy__flow;

/* What input `i` of a Merge depends on is looked for among so many inputs. */
#define EDDY__MAX_ORDERED_INPUTS 64

/* A Merge that may have two live inputs. */
typedef struct eddy__contest {
    eddy_node merge;
    uint32_t n;       /* inputs */
    uint8_t *is_late; /* an input: it never wins, and is dropped */
    /*
     * An input: the set of those before it whose values are there when its own
     * comes, so that they win; NULL where there are too many inputs.
     */
    uint64_t *behind;
} eddy__contest;

/* Finds them, in the order of nodes.  Requires: the frames are found. */
eddy_status eddy__find_contests(const struct eddy__flow *flow,
                                eddy_analysis *analysis, eddy__arena *scratch,
                                eddy_error *err);

/* The contest of a Merge, or NULL if at most one of its inputs is live. */
const eddy__contest *eddy__find_contest(const eddy_analysis *analysis,
                                        eddy_node merge);

/*
 * Nothing is certain that was not so before: of the same Merges in the graph
 * that this one was rewritten from, whose nodes had the same numbers.  So a
 * rewriting that makes one node of two cannot make a race a choice.
 */
void eddy__narrow_contests(eddy_analysis *analysis,
                           const eddy_analysis *before);

/* Is it certain that the value of input `a` wins over that of input `b`? */
static inline bool eddy__contest_decides(const eddy__contest *contest,
                                         uint32_t a, uint32_t b)
{
    return contest->is_late[b] ||
           (contest->behind && (contest->behind[b] >> a & 1) != 0);
}

#endif

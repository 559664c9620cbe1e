/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a loop: every so many trips of a loop that no other is around,
 * what a run needs to go on from there is written to a folder.
 *
 * Between two trips all earlier ones are waited for.  Then a file has the
 * values that the loop carries, also lists and handles with all that is behind
 * them; the TensorArrays, stacks, queues and lookup tables from outside that it
 * changes; the variables and the random generators of the plan's nodes; and
 * which trip comes next.  A plan made with `resume` enters the loop with that,
 * behind all that it would be entered with, so a run of it computes what the
 * run that was broken off would have, to the bit.  What comes before the loop
 * is computed anew, and is to be the same: the same feeds.
 *
 * Files appear as a whole, and the last whole one is dropped only when there is
 * a newer one; a process that is killed at any time leaves one to go on from.
 * They are TensorFlow's tensor bundles, with variables by their names.
 */
#ifndef EDDY_CHECKPOINT_H
#define EDDY_CHECKPOINT_H

#include "eddy/graph.h"

EDDY_BEGIN_DECLS

/* A member of eddy_plan_options.  One execution of such a plan at a time. */
typedef struct eddy_checkpoint {
    size_t size; /* sizeof(eddy_checkpoint) */
    /*
     * Where files are; made when one is written, but not the folders around it.
     * It is for one job alone; all its ranks see the same one.
     */
    const char *folder;
    int64_t every; /* trips from one to the next; 0: none is written */
    /*
     * True: runs go on from the newest there is when the plan is made; from the
     * first trip if there is none.  False: there must be none.
     */
    bool resume;
    /* The frame's name; NULL: the only one that is in no other. */
    const char *loop;
    /* Which of the parts of one job it is, and of how many; 0 of 0: all of it.
     * For ranks, eddy_ranks_create and eddy_ranks_join set them. */
    uint32_t part, n_parts;
} eddy_checkpoint;

/*
 * Errors of eddy_plan_create with a checkpoint: FAILED_PRECONDITION
 * (EDDY_E_CHECKPOINT) where there are files and `resume` is false, or they are
 * of another loop or of another number of ranks; DATA_LOSS if one is damaged;
 * NOT_FOUND or UNAVAILABLE (EDDY_E_IO) if it can't be read; UNIMPLEMENTED
 * (EDDY_E_CHECKPOINT), with its node, for a loop that changes a state that is
 * not saved, such as a lookup table without a name or a TensorArrayV2, one of
 * several that only a run tells apart, or one that a node changes, too, which
 * is neither before the loop nor after it.
 *
 * A run fails with UNIMPLEMENTED (EDDY_E_CHECKPOINT) where what a handle that
 * the loop carries has behind it has no form in a file, and with DATA_LOSS
 * (EDDY_E_TENSOR_DATA) where a file that it goes on from makes no sense.  One
 * whose file can't be written fails with what the system says (EDDY_E_IO); the
 * newest that was written stays.  One that may touch no files
 * (eddy_run_options.no_files) fails with PERMISSION_DENIED.
 */

EDDY_END_DECLS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run spills: blocks that a stack needs later, put into a file while
 * more of them is held in memory than there may be.
 *
 * A block goes HELD -> LEAVING -> GONE -> COMING -> HELD; who owns it says
 * when.  The file is opened with the first block that leaves, and is the run's
 * own until the execution ends.  A write that failed is heard of when the next
 * block leaves, or when its own comes back, and then all fail.  @thread the
 * run's driver
 */
#ifndef EDDY_CORE_SPILL_H
#define EDDY_CORE_SPILL_H

#include "core/base/block_file.h"
#include "core/kernel.h"

typedef enum eddy__spill_state {
    EDDY__SPILL_HELD,
    EDDY__SPILL_LEAVING, /* it is being written, and still in memory */
    EDDY__SPILL_GONE,
    EDDY__SPILL_COMING, /* there is memory for it, into which it is read */
} eddy__spill_state;

/* Zero it, set `data` and `size`. */
typedef struct eddy__spill_block {
    eddy__block_io io;
    unsigned char *data; /* of the run's heap; NULL while it is GONE */
    size_t size;         /* of the memory */
    uint64_t room;       /* in the file; 0: none */
    eddy__spill_state state;
    struct eddy__spill_block *next, **link; /* while it is LEAVING */
} eddy__spill_block;

/* Sizes in the file: four to each doubling. */
#define EDDY__SPILL_CLASSES 128

/* Where in the file there is room of one size. */
typedef struct eddy__spill_rooms {
    uint64_t *offsets;
    size_t n, capacity;
} eddy__spill_rooms;

typedef struct eddy__spill {
    /* Set when the run is made. */
    eddy__heap *heap;
    const eddy_allocator *allocator;
    const eddy__file_calls *calls;
    const char *folder;
    eddy_spill_cipher cipher; /* encrypt NULL: none */
    uint64_t above;           /* what may be held */
    uint64_t limit;           /* of the file; 0: none */
    /* What changes in an execution. */
    uint64_t held;    /* by blocks, and by what their owners add */
    uint64_t leaving; /* of that, what is LEAVING */
    uint64_t length;  /* of the file */
    uint64_t written;
    int error; /* of a block that could not be written; 0: none */
    eddy__spill_block *leaving_first, **leaving_end;
    eddy__block_file file;
    eddy__spill_rooms rooms[EDDY__SPILL_CLASSES];
} eddy__spill;

/* Makes one ready; what is set when the run is made stands already. */
void eddy__spill_begin(eddy__spill *spill);

/* Closes the file; no block may be out. */
void eddy__spill_end(eddy__spill *spill);

/* Is more held than may be, without what leaves already? */
static inline bool eddy__spill_is_over(const eddy__spill *spill)
{
    return spill->held - spill->leaving > spill->above;
}

/* About how large blocks should be. */
size_t eddy__spill_block_size(const eddy__spill *spill);

/*
 * Has a block that is HELD, whose first `bytes` count, written; its memory is
 * freed once that is done, by a later call.  `stack` is the name of whose it
 * is, for messages.
 */
eddy_status eddy__spill_leave(eddy_kernel *k, eddy__spill *spill,
                              eddy__spill_block *block, size_t bytes,
                              const char *stack);

/*
 * Begins to bring one back that is not HELD; one that has not left yet is HELD
 * at once.
 */
eddy_status eddy__spill_come(eddy_kernel *k, eddy__spill *spill,
                             eddy__spill_block *block, const char *stack);

/*
 * Waits until one that is COMING is HELD, or the run is to stop: then
 * CANCELLED.
 */
eddy_status eddy__spill_arrive(eddy_kernel *k, eddy__spill *spill,
                               eddy__spill_block *block, const char *stack);

/*
 * Reads a block that is not HELD, as it is, into `to`, which has room for its
 * `io.bytes`; it stays where it is.  0, or what the system said.  Waits.
 */
int eddy__spill_look(eddy__spill *spill, eddy__spill_block *block,
                     unsigned char *to);

/* Lets go of one that is COMING: it is GONE again. */
void eddy__spill_give_up(eddy__spill *spill, eddy__spill_block *block);

/* Frees what the block has, wherever that is. */
void eddy__spill_drop(eddy__spill *spill, eddy__spill_block *block);

#endif

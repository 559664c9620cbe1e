/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a library that nobody can interrupt, on a thread of their own, so
 * that a kernel need not wait for their end when its run is to stop.
 *
 * What is computed then is dropped.  The thread goes on until the library
 * returns: it works on copies of its own, which come from malloc, are the
 * thread's to free, and refer to neither run, session nor context, so all of
 * those may end before it.  There are at most a few such threads; another
 * kernel that would leave one behind waits.  A process that exits waits for
 * them, since the library frees what they use when it is unloaded.
 */
#ifndef EDDY_OPS_ASIDE_H
#define EDDY_OPS_ASIDE_H

#include "eddy/op.h"

/*
 * An array that a call reads, and another may read meanwhile (INPUT), that it
 * fills (OUTPUT), that it changes (BOTH), or that it works in (SCRATCH).
 */
typedef enum eddy__part_kind {
    EDDY__PART_SCRATCH,
    EDDY__PART_INPUT,
    EDDY__PART_OUTPUT,
    EDDY__PART_BOTH, /* the two bits */
} eddy__part_kind;

typedef struct eddy__part {
    void *data;
    size_t bytes;
    eddy__part_kind kind;
} eddy__part;

#define EDDY__ASIDE_PARTS 7

/* `arrays` stand for the parts, `arg` for what the kernel gave. */
typedef void (*eddy__aside_fn)(void *arg, void *const *arrays);

/*
 * Makes the call, with `size` bytes of `arg` and `n` parts; when it is done it
 * has changed them as if it had been made here.  CANCELLED if the run is to
 * stop first, and then what outputs hold is nobody's; RESOURCE_EXHAUSTED
 * without memory.
 */
eddy_status eddy__aside(eddy_kernel *k, eddy__aside_fn fn, void *arg,
                        size_t size, const eddy__part *parts, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long kernels take, as measured: what a context with workers remembers of
 * the kernels that were worth measuring, in all of its runs.
 *
 * The table has a fixed size and never fails; an entry that another one drives
 * out is measured again.  What stands in it decides where work is done, never
 * what its results are.
 */
#ifndef EDDY_EXEC_PROFILE_H
#define EDDY_EXEC_PROFILE_H

#include <stdatomic.h>
#include <stdint.h>

#define EDDY__PROFILE_ENTRIES 4096

typedef struct eddy__profile {
    /*
     * atomic, relaxed: each entry is complete in itself.  The upper half tells
     * whose it is, the lower half is the time in nanoseconds, 0 for none.
     */
    _Atomic uint64_t entries[EDDY__PROFILE_ENTRIES];
} eddy__profile;

/* What a time is of: a node, and a number that tells its parts apart. */
uint64_t eddy__profile_key(const void *node, uint64_t part);

/* Nanoseconds on one thread; 0: not known.  @thread any */
uint32_t eddy__profile_get(const eddy__profile *profile, uint64_t key);

/*
 * Adds a measurement.  A shorter one counts for more than a longer one, which
 * may be due to what else the machine does.  @thread any
 */
void eddy__profile_add(eddy__profile *profile, uint64_t key, uint64_t ns);

#endif

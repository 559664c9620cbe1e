/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a thread that waits for another one looks before it sleeps.
 *
 * To be woken takes tens of microseconds where a processor has to wake, too;
 * who looks has what comes at once, but keeps a processor that others may want.
 * So it looks only where there is one for each that may, and learns by what
 * came of it:
 * - in vain twice as often in a row: it looks half as often;
 * - the thread stood still for a while: others want the processor, so it does
 *   not look for a time, which doubles if that happens again soon.
 *
 *     if (eddy__patience_begin(p, now))
 *         do
 *             found = ...;
 *         while (!found && eddy__patience_goes_on(p, now));
 *     eddy__patience_end(p, now, found);
 *
 * One thread uses it.  `now` are nanoseconds of a clock that never goes back.
 */
#ifndef EDDY_BASE_PATIENCE_H
#define EDDY_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eddy__patience {
    bool is_allowed; /* there are processors enough; false: never looks */
    bool is_looking;
    uint32_t n_vain;    /* looked so many times in a row in vain */
    uint32_t n_skipped; /* waits that are still not to look */
    uint64_t begun_ns, seen_ns;
    uint64_t rest_ns, rested_ns; /* how long it does not look, until when */
} eddy__patience;

/* A wait begins: is it to look? */
bool eddy__patience_begin(eddy__patience *patience, uint64_t now);

/* Nothing was found: is it to look again? */
bool eddy__patience_goes_on(eddy__patience *patience, uint64_t now);

/* Ends looking, if it was begun.  `is_found`: what is waited for is there. */
void eddy__patience_end(eddy__patience *patience, uint64_t now, bool is_found);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run puts tapes for which there is no room in memory. */
#ifndef EDDY_SPILL_H
#define EDDY_SPILL_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDDY_BEGIN_DECLS

/*
 * Functions of the host's through which all goes that a run writes to its spill
 * file: `to` gets as many bytes as `from` has, which do not overlap.  Of a part
 * of the file that is written again and again `serial` differs each time, so
 * that serial and offset together never come twice in an execution; what is
 * read comes with the same two, and in the same parts, as when it was written.
 * False ends the run with an error.
 *
 * @thread one that the run has for its file, or the run's driver; one call at a
 * time for a run, but runs at the same time call at the same time
 */
typedef struct eddy_spill_cipher {
    bool (*encrypt)(void *user, uint64_t serial, uint64_t offset,
                    const void *from, void *to, size_t bytes);
    bool (*decrypt)(void *user, uint64_t serial, uint64_t offset,
                    const void *from, void *to, size_t bytes);
    void *user;
} eddy_spill_cipher;

EDDY_END_DECLS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How much the tapes of each loop may come to, as far as it is known. */
#ifndef EDDY_AUTODIFF_TAPE_SIZE_H
#define EDDY_AUTODIFF_TAPE_SIZE_H

#include "autodiff/study.h"

/*
 * Which loops may keep their tapes, so that these come to at most `limit` bytes
 * in an iteration of the base frame: the smallest ones first, and none whose
 * trips or shapes are not known.  A byte a frame; NULL without memory.
 */
uint8_t *eddy__tape_size_fit(const eddy__study *study,
                             eddy__gradient_emitter *e, uint32_t base,
                             uint64_t limit);

/*
 * What a loop that makes its trips again may hold, if bytes say so: at most so
 * many states, and tapes of so many trips.  No states: there is no bound.
 */
typedef struct eddy__tape_bound {
    int32_t states, trips;
} eddy__tape_bound;

#define EDDY__MOST_STATES (1 << 20)

/*
 * The bounds of the loops that make their trips `again`, a byte a frame, so
 * that these hold at most `limit` bytes, or 2 states and a trip each if that is
 * more.  None for a loop that is known to need less without, one of which it is
 * not known what a state or a trip takes, or one within a loop that keeps tapes
 * of an unknown number of trips.  One a frame; NULL without memory.
 */
const eddy__tape_bound *
eddy__tape_size_bounds(const eddy__study *study, eddy__gradient_emitter *e,
                       uint32_t base, const uint8_t *again, uint64_t limit);

#endif

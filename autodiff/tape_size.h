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

#endif

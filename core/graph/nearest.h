/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many names comes closest to one that is unknown: what a message
 * offers as "did you mean".  Names further off than a third of the letters, or
 * more than a few edits, are none.
 */
#ifndef EDDY_CORE_NEAREST_H
#define EDDY_CORE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Longer names are not compared. */
#define EDDY__NEAREST_LONGEST 128

typedef struct eddy__nearest {
    const char *name; /* borrowed; `length` bytes of it */
    size_t length;
    const char *found; /* the closest so far, as it was offered; or NULL */
    size_t limit;      /* a closer one has at most so many edits */
    size_t work;       /* done so far: one question is bounded */
} eddy__nearest;

eddy__nearest eddy__nearest_to(const char *name, size_t length);

/* The first that is offered is kept of those that are equally close. */
void eddy__nearest_offer(eddy__nearest *nearest, const char *other);

#endif

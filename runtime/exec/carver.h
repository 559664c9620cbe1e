/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays one behind another in a block whose start is aligned. */
#ifndef EDDY_EXEC_CARVER_H
#define EDDY_EXEC_CARVER_H

#include <stddef.h>

typedef struct eddy__carver {
    char *block; /* NULL while only the size is wanted */
    size_t used;
} eddy__carver;

/* The place of the next array; NULL without a block. */
static inline void *eddy__carve(eddy__carver *c, size_t n, size_t size)
{
    void *at = c->block ? c->block + c->used : NULL;

    c->used += (n * size + 15) & ~(size_t)15;
    return at;
}

#endif

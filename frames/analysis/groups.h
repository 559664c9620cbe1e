/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of numbers that are found to belong together, as a forest: an array
 * that names for each number its parent, at first itself.
 */
#ifndef EDDY_FRAMES_GROUPS_H
#define EDDY_FRAMES_GROUPS_H

#include <stdint.h>

/* The number that stands for the group, by a shorter way from now on. */
static inline uint32_t eddy__group_find(uint32_t *parent, uint32_t item)
{
    while (parent[item] != item) {
        parent[item] = parent[parent[item]];
        item = parent[item];
    }
    return item;
}

/* The lower number becomes the root, so that results do not depend on order. */
static inline void eddy__group_join(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = eddy__group_find(parent, a);
    b = eddy__group_find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps from tensors to tensors: lists (EDDY__MAP) of keys and values by turns,
 * in the order in which the keys came, but that the last key takes the place of
 * one that is erased.  Two keys are one if they have the same dtype, shape and
 * bits.
 *
 * From some keys on they are found by their hash: keys of one bucket are a
 * chain.  The numbers that make the chains stand where the items of a list have
 * room for one, `uses`, which nobody else has a use for there: that of key p is
 * the next key of its chain, that of value b the first of bucket b, each
 * counted from 1, and 0 for none.  The list's `max_count` is the number of
 * buckets, a power of two that is at most the number of keys, or INT64_MAX for
 * none.  So a copy of the list is a map too.
 */
#ifndef EDDY_OPS_TENSOR_MAP_H
#define EDDY_OPS_TENSOR_MAP_H

#include "ops/list/tensor_list.h"

/*
 * The place of `key` in a map, behind which its value stands; -1: it has none.
 * What it looks at counts as work of `k`, which may be told to give up; then
 * the answer means nothing.
 */
int64_t eddy__tensor_map_find(eddy_kernel *k, const eddy__list *map,
                              const eddy__value *key);

/* What follows changes a map that is the caller's own. */

/* Appends a key that is not there; requires room for two items. */
void eddy__tensor_map_add(eddy_kernel *k, eddy__list *map, eddy__value key,
                          eddy__value value);

/* Replaces the value of the key at that place. */
void eddy__tensor_map_set(eddy_kernel *k, eddy__list *map, int64_t at,
                          eddy__value value);

/* Takes out the key at that place. */
void eddy__tensor_map_remove(eddy_kernel *k, eddy__list *map, int64_t at);

/* Makes the chains of a list that others filled with keys and values. */
void eddy__tensor_map_index(eddy_kernel *k, eddy__list *map);

#endif

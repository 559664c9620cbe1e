/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps from tensors to tensors: lists (EDDY__MAP) of keys and values by turns,
 * in the order in which the keys came.
 */
#ifndef EDDY_OPS_TENSOR_MAP_H
#define EDDY_OPS_TENSOR_MAP_H

#include "ops/list/tensor_list.h"

/*
 * The place of `key` in a map, behind which its value stands; -1: it has none.
 * Looks at one key after the other.
 */
int64_t eddy__tensor_map_find(const eddy__list *map, const eddy__value *key);

#endif

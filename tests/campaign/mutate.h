/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a GraphDef node by node, so that most results are still graphs. */
#ifndef EDDY_TESTS_CAMPAIGN_MUTATE_H
#define EDDY_TESTS_CAMPAIGN_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes one to four random changes, drawn from `seed`, to the GraphDef in the
 * first `size` of the `max_size` bytes at `data`, in place.  Returns its new
 * length; 0, with `data` as it was, if the bytes are no GraphDef with nodes or
 * the result has no room.
 */
size_t mutate_graphdef(uint8_t *data, size_t size, size_t max_size,
                       uint32_t seed);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and hashes of many elements at a time, for summaries of values.
 */
#ifndef EDDY_EXEC_TRACE_TALLY_H
#define EDDY_EXEC_TRACE_TALLY_H

#include "eddy/tensor.h"

#include <stddef.h>

/* What is known of the elements that have been looked at. */
typedef struct eddy__tally {
    double min, max, sum; /* of finite ones */
    int64_t n_finite;
    uint64_t n_nan, n_infinite;
} eddy__tally;

/*
 * Adds the first of `n` elements, all finite; returns how many it was, 0 if
 * some is not, they are few, or of a dtype for which it has no loop.
 */
int64_t eddy__tally_finite(eddy_dtype dtype, const void *data, int64_t n,
                           eddy__tally *t);

/* A hash of `n` bytes, begun with `hash`. */
uint64_t eddy__tally_hash(uint64_t hash, const void *data, size_t n);

#endif

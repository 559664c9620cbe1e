/* SPDX-License-Identifier: Apache-2.0 */
/* How often a loop turns that counts in integers. */
#ifndef EDDY_FRAMES_TRIPS_H
#define EDDY_FRAMES_TRIPS_H

#include "eddy/analysis.h"

typedef struct eddy__range {
    int64_t lowest, highest;
} eddy__range;

/* What a signed integer dtype holds; false for others. */
bool eddy__integer_range(eddy_dtype dtype, eddy__range *out);

/* Element 0 of a tensor of such a dtype. */
int64_t eddy__trips_read_integer(const eddy_tensor *tensor);

typedef struct eddy__counted {
    int64_t start, step, limit;
    eddy__range range; /* of the dtype */
} eddy__counted;

/*
 * The trips while start, start + step, ... compares so with the limit; -1 if it
 * would not come to an end, or wrap around before.
 */
int64_t eddy__count_trips(eddy__counted c, eddy_comparison comparison);

#endif

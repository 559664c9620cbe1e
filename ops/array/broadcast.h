/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which elements of broadcast inputs meet in which element of the output.
 *
 * Neighbouring dimensions along which every input goes on in the same way are
 * joined, and those of size 1 dropped, so that few and long loops are left.
 */
#ifndef EDDY_OPS_BROADCAST_H
#define EDDY_OPS_BROADCAST_H

#include "eddy/tensor.h"

#define EDDY__BROADCAST_INPUTS 3

/*
 * Strides are in elements, 0 where an input is repeated; along the last
 * dimension they are 0 or 1.
 */
typedef struct eddy__broadcast {
    int32_t rank; /* at least 1 */
    int64_t dims[EDDY_MAX_RANK];
    int64_t strides[EDDY__BROADCAST_INPUTS][EDDY_MAX_RANK];
    /* Where eddy__broadcast_next is. */
    int64_t at[EDDY_MAX_RANK];
    int64_t offsets[EDDY__BROADCAST_INPUTS];
} eddy__broadcast;

/* The `n_inputs` shapes must broadcast to `out`. */
void eddy__broadcast_init(eddy__broadcast *b, const eddy_shape *out,
                          const eddy_shape *const *inputs, int32_t n_inputs);

/*
 * Moves the offsets on over all dimensions but the last `inner`; false, and the
 * offsets are 0 again, when all have been visited.
 */
bool eddy__broadcast_next(eddy__broadcast *b, int32_t inner);

#endif

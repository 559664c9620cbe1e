/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works out how two shapes broadcast, as loops over rows with steps of 0 or 1.
 */
#include "ops/array/broadcast.h"

#include <string.h>

/* Bit i: input i has dimension `d` of the output, and not just 1 of it. */
static unsigned inputs_along(const eddy_shape *out,
                             const eddy_shape *const *inputs, int32_t n_inputs,
                             int32_t d)
{
    unsigned along = 0;

    for (int32_t i = 0; i < n_inputs; i++) {
        const int32_t own = d - (out->rank - inputs[i]->rank);

        if (own >= 0 && inputs[i]->dims[own] != 1)
            along |= 1u << i;
    }
    return along;
}

static void set_strides(eddy__broadcast *b, const unsigned *along)
{
    for (int32_t i = 0; i < EDDY__BROADCAST_INPUTS; i++) {
        int64_t stride = 1;

        for (int32_t d = b->rank - 1; d >= 0; d--) {
            const bool has = (along[d] >> i & 1) != 0;

            b->strides[i][d] = has ? stride : 0;
            if (has)
                stride *= b->dims[d];
        }
    }
}

void eddy__broadcast_init(eddy__broadcast *b, const eddy_shape *out,
                          const eddy_shape *const *inputs, int32_t n_inputs)
{
    unsigned along[EDDY_MAX_RANK] = {0};

    memset(b, 0, sizeof *b);
    for (int32_t d = 0; d < out->rank; d++) {
        const unsigned now = inputs_along(out, inputs, n_inputs, d);

        if (out->dims[d] == 1)
            continue;
        if (b->rank > 0 && along[b->rank - 1] == now) {
            b->dims[b->rank - 1] *= out->dims[d];
            continue;
        }
        b->dims[b->rank] = out->dims[d];
        along[b->rank++] = now;
    }
    if (b->rank == 0)
        b->dims[b->rank++] = 1;
    set_strides(b, along);
}

bool eddy__broadcast_next(eddy__broadcast *b, int32_t inner)
{
    for (int32_t d = b->rank - 1 - inner; d >= 0; d--) {
        b->at[d]++;
        for (int32_t i = 0; i < EDDY__BROADCAST_INPUTS; i++)
            b->offsets[i] += b->strides[i][d];
        if (b->at[d] < b->dims[d])
            return true;
        for (int32_t i = 0; i < EDDY__BROADCAST_INPUTS; i++)
            b->offsets[i] -= b->dims[d] * b->strides[i][d];
        b->at[d] = 0;
    }
    return false;
}

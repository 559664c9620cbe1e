/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of building a network of sequences, shared by frontends/cntk/cntk.c
 * and frontends/cntk/cntk_sequences.c.
 */
#ifndef EDDY_FRONTENDS_NETWORK_BUILD_H
#define EDDY_FRONTENDS_NETWORK_BUILD_H

#include "frontends/shared/network.h"
#include "frontends/shared/writer.h"

typedef struct eddy__construction {
    eddy_emitter w;
    eddy__arena arena;
    const eddy_cntk *network;
    const eddy_cntk_wanted *wanted;
    size_t n_wanted;
    eddy__loops loops;
    eddy_output length;  /* of all sequences, int32 */
    eddy_output lengths; /* of each of a batch, int32, or EDDY_NO_NODE */
    uint8_t *is_read;    /* a value, outside of its loop */
    eddy_output *tensor; /* a value at all steps, once it is there */
    eddy_output *now;    /* a value at the step that is being built */
    eddy_output *final;  /* what its loop has left of a value, if known */

    /* The loop that is being built. */
    uint32_t loop;
    eddy_cntk_value *inputs;  /* of the loop */
    eddy_cntk_value *outputs; /* likewise: delays first, then what is read */
    size_t n_inputs, n_outputs, n_delays;
} eddy__construction;

/* What input `i` of a cell comes from in the end. */
static inline eddy_cntk_value eddy__network_source(const eddy__construction *k,
                                                   const eddy__cell *cell,
                                                   size_t i)
{
    return eddy__network_root(k->network, cell->inputs[i]);
}

/* Cell `i` in the order of the plan. */
static inline const eddy__cell *
eddy__network_ordered(const eddy__construction *k, size_t i)
{
    return &k->network->cells[k->loops.order[i]];
}

/* ---- cntk_sequences.c ---- */

/* The sequences that are needed, their length, and the lengths of a batch. */
eddy_status eddy__take_sequences(eddy__construction *k);

/* All steps of the shifts of what is there by now. */
void eddy__network_write_shifts(eddy__construction *k);

/*
 * `x` in the steps from which `ahead` further ones are items of the sequence,
 * `otherwise`, a value at one step or a scalar, in the rest of the batch's.
 */
eddy_output eddy__network_write_masked(eddy__construction *k, eddy_output x,
                                       int32_t ahead, eddy_output otherwise);

/* A vector of int32 constants. */
eddy_output eddy__network_write_vector(eddy__construction *k,
                                       const int32_t *elements, size_t n);

/* Are all dimensions known? */
bool eddy__network_is_full(const eddy_shape *shape);

/*
 * `value` as `n` rows of the shape `item`; where that is not known, of the
 * shape that the rows of `like` have, or `value` itself if `like` is nowhere.
 */
eddy_output eddy__network_write_rows(eddy__construction *k, eddy_output value,
                                     int64_t n, const eddy_shape *item,
                                     eddy_output like);

#endif

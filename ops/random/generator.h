/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators of stateful random ops: one for each node and session, or run
 * without a session, so that every execution goes on where the last one ended.
 *
 * Nodes take numbers by reserving steps, as many as TensorFlow's kernels do,
 * whether they need them or not.
 */
#ifndef EDDY_OPS_GENERATOR_H
#define EDDY_OPS_GENERATOR_H

#include "core/graph/infer.h"
#include "core/kernel.h"
#include "ops/random/philox.h"

/* Numbers that TensorFlow gives algorithms. */
enum {
    EDDY__ALGORITHM_PHILOX = 1,
    EDDY__ALGORITHM_THREEFRY,
    EDDY__ALGORITHM_ANY
};

/* What the node says of its generator; seeds that are both 0 mean any. */
typedef struct eddy__seeds {
    int64_t seed, seed2;
    const char *name; /* of the generator */
} eddy__seeds;

/* For prepare: from attributes seed and seed2, and the node's name. */
eddy_status eddy__seeds_prepare(eddy_infer *infer, eddy__seeds *out_seeds);

/* The generator that the two seeds in input `i` of a stateless op mean. */
eddy_status eddy__seeded_philox(eddy_kernel *k, uint32_t i,
                                eddy__philox *out_philox);

/* The generator of a V2 op: inputs 1 to 3 are key, counter and algorithm. */
eddy_status eddy__generator_from_counter(eddy_kernel *k,
                                         eddy__philox *out_philox);

/* Sets aside `n_steps` steps, which start at `*out_start`. */
eddy_status eddy__generator_reserve(eddy_kernel *k, const eddy__seeds *seeds,
                                    uint64_t n_steps, eddy__philox *out_start);

#endif

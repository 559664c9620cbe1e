/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of a distribution, in the same order and to the same bits as
 * TensorFlow's kernels for the CPU; for normal ones the C library's logarithm,
 * sine and cosine must be the same too.
 *
 * Numbers come in groups, each from one step of the generator or, where it
 * takes a varying number of them, from a stretch that is set aside for it.  The
 * last group may be cut short.
 */
#ifndef EDDY_OPS_DISTRIBUTION_H
#define EDDY_OPS_DISTRIBUTION_H

#include "eddy/op.h"
#include "ops/random/philox.h"

typedef enum eddy__distribution {
    EDDY__UNIFORM,          /* in [0, 1) */
    EDDY__NORMAL,           /* of mean 0 and deviation 1 */
    EDDY__TRUNCATED_NORMAL, /* the same within 2 */
    EDDY__UNIFORM_INT,      /* in [low, low + span) */
    EDDY__FULL_INT,         /* every integer */
    EDDY__DISTRIBUTIONS,
} eddy__distribution;

/* The range of EDDY__UNIFORM_INT; integers as unsigned ones, which wrap. */
typedef struct eddy__interval {
    uint64_t low;
    uint64_t span; /* not 0 */
} eddy__interval;

typedef void (*eddy__fill)(eddy_kernel *k, const eddy__philox *start,
                           const eddy__interval *interval, void *out,
                           int64_t n);

/* NULL if the distribution has no numbers of that dtype. */
eddy__fill eddy__distribution_fill_of(eddy__distribution distribution,
                                      eddy_dtype dtype);

/* Output 0 in that shape, and how many elements it has. */
eddy_status eddy__distribution_output(eddy_kernel *k, const eddy_shape *shape,
                                      void **out_data, int64_t *out_n);

/* The same in the shape that input `from` spells. */
eddy_status eddy__distribution_output_of(eddy_kernel *k, uint32_t from,
                                         void **out_data, int64_t *out_n);

/* Two of EDDY__NORMAL from one step. */
void eddy__distribution_normal_pair(const uint32_t words[EDDY__PHILOX_WORDS],
                                    double out[2]);

/* In [0, 1), from 23 and from 52 bits. */
static inline float eddy__distribution_uniform_float(uint32_t word)
{
    return (float)(word & 0x7fffffu) * 0x1p-23f;
}

static inline double eddy__distribution_uniform_double(uint32_t high,
                                                       uint32_t low)
{
    return (double)((uint64_t)(high & 0xfffffu) << 32 | low) * 0x1p-52;
}

#endif

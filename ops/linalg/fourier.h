/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform of one line of complex numbers, in double: of
 * lengths with small factors by stages that sort as they go (Stockham), of
 * others as a convolution with a chirp (Bluestein), whose length is a power of
 * two.
 */
#ifndef EDDY_OPS_FOURIER_H
#define EDDY_OPS_FOURIER_H

#include "ops/math/numeric.h"

#define EDDY__FOURIER_FACTORS 64

/* For lengths with the same factors many lines can be transformed. */
typedef struct eddy__fourier {
    int64_t n;
    int64_t factors[EDDY__FOURIER_FACTORS];
    int32_t n_factors;
    int64_t chirp_n; /* the length of the convolution; 0: no chirp */
    int64_t chirp_factors[EDDY__FOURIER_FACTORS];
    int32_t n_chirp_factors;
    eddy__complex128 *roots;       /* n; with one, the chirp */
    eddy__complex128 *chirp_roots; /* chirp_n */
    eddy__complex128 *filter;      /* chirp_n: the chirp's transform */
    eddy__complex128 *scratch;     /* one line, or two of chirp_n */
    eddy_kernel *kernel;           /* which is asked whether to stop */
} eddy__fourier;

/*
 * Says what a transform of `n` >= 1 takes; the elements that it wants room for,
 * or -1 if their number overflows.
 */
int64_t eddy__fourier_describe(eddy_kernel *k, eddy__fourier *f, int64_t n);

/*
 * Fills the tables, which stand in `room`.  They and the line hold anything
 * once the run is to stop.
 */
void eddy__fourier_fill(eddy__fourier *f, eddy__complex128 *room);

/*
 * Transforms `line` in place: the sums of x_j e^(-2 pi i j k / n), or with the
 * other sign, not divided by n.
 */
void eddy__fourier_run(const eddy__fourier *f, eddy__complex128 *line,
                       bool is_inverse);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sigmoid and Tanh of float32, which gates of recurrent cells are, by hand for
 * AVX2 with FMA and for AVX-512.  They take the steps of float_math.h, some of
 * them fused, and for every float32 there is they give the same bits.
 */
#ifndef EDDY_OPS_SQUASH_H
#define EDDY_OPS_SQUASH_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)

/* Forms of a kernel (elementwise.h); `loop_` is the one for any processor. */
#define EDDY__SQUASH_FORMS(name, D)                                            \
    .loop = loop_##name##_##D, .wide = eddy__squash_wide_##name,               \
    .widest = eddy__squash_widest_##name

/*
 * Functions of n numbers of float32, the first two with AVX2 and FMA, the
 * others with AVX-512, which the processor must have; `to` may be `from`.
 */
void eddy__squash_wide_Sigmoid(void *to, const void *from, int64_t n);
void eddy__squash_wide_Tanh(void *to, const void *from, int64_t n);
void eddy__squash_widest_Sigmoid(void *to, const void *from, int64_t n);
void eddy__squash_widest_Tanh(void *to, const void *from, int64_t n);

#else

#define EDDY__SQUASH_FORMS(name, D) .loop = loop_##name##_##D

#endif

#endif

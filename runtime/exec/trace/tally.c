/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over elements, LANES at a time, in which compilers find vectors: each
 * lane has a least, a greatest and a sum of its own, in the same order on every
 * processor, so that the same elements have the same mean.
 */
#include "runtime/exec/trace/tally.h"

#include "core/base/cpu.h"

#include <math.h>
#include <string.h>

#define LANES 16

/* So few are summed one after the other. */
#define FEW 32

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

#define ALWAYS static inline __attribute__((always_inline))

/* ---- elements ---- */

/*
 * tally_D(x, n, t) of `n` elements, a multiple of LANES; `t` has their least,
 * greatest and sum.  Their sum is finite if they all are, but for float64 near
 * its end.
 */
#define TALLY(D, T)                                                            \
    ALWAYS void tally_##D(const T *x, int64_t n, eddy__tally *t)               \
    {                                                                          \
        T min[LANES], max[LANES];                                              \
        double sum[LANES] = {0};                                               \
                                                                               \
        for (int j = 0; j < LANES; j++)                                        \
            min[j] = max[j] = x[j];                                            \
        for (int64_t i = 0; i < n; i += LANES) {                               \
            for (int j = 0; j < LANES; j++)                                    \
                min[j] = x[i + j] < min[j] ? x[i + j] : min[j];                \
            for (int j = 0; j < LANES; j++)                                    \
                max[j] = x[i + j] > max[j] ? x[i + j] : max[j];                \
            for (int j = 0; j < LANES; j++)                                    \
                sum[j] += (double)x[i + j];                                    \
        }                                                                      \
        t->min = (double)min[0];                                               \
        t->max = (double)max[0];                                               \
        t->sum = 0;                                                            \
        for (int j = 0; j < LANES; j++) {                                      \
            t->min = (double)min[j] < t->min ? (double)min[j] : t->min;        \
            t->max = (double)max[j] > t->max ? (double)max[j] : t->max;        \
            t->sum += sum[j];                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void narrow_##D(const T *x, int64_t n, eddy__tally *t)              \
    {                                                                          \
        tally_##D(x, n, t);                                                    \
    }                                                                          \
                                                                               \
    WIDE static void wide_##D(const T *x, int64_t n, eddy__tally *t)           \
    {                                                                          \
        tally_##D(x, n, t);                                                    \
    }

TALLY(F32, float)
TALLY(F64, double)
TALLY(I32, int32_t)
TALLY(I64, int64_t)

#define DTYPES(X) X(FLOAT32, F32) X(FLOAT64, F64) X(INT32, I32) X(INT64, I64)

int64_t eddy__tally_finite(eddy_dtype dtype, const void *data, int64_t n,
                           eddy__tally *t)
{
    const bool is_wide = eddy__cpu_vectors() >= EDDY__VECTORS_AVX2;
    eddy__tally all;

    if (n < FEW)
        return 0;
    n -= n % LANES;
    switch (dtype) {
#define X(NAME, D)                                                             \
    case EDDY_##NAME:                                                          \
        (is_wide ? wide_##D : narrow_##D)(data, n, &all);                      \
        break;
        DTYPES(X)
#undef X
    default:
        return 0;
    }
    if (!isfinite(all.sum))
        return 0;
    t->min = t->n_finite == 0 || all.min < t->min ? all.min : t->min;
    t->max = t->n_finite == 0 || all.max > t->max ? all.max : t->max;
    t->sum += all.sum;
    t->n_finite += n;
    return n;
}

/* ---- hashes ---- */

#define PRIME UINT64_C(0x100000001b3)

/* Odd, with as many ones as zeros: digits of the golden ratio and of pi. */
#define FIRST UINT64_C(0x9e3779b97f4a7c15)
#define SECOND UINT64_C(0x243f6a8885a308d3)

__extension__ typedef unsigned __int128 product;

/* Both halves of a product: all bits of 16 bytes meet in one step. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
    const product p = (product)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* 16 bytes into a hash. */
static inline uint64_t mix(uint64_t hash, const unsigned char *bytes)
{
    uint64_t words[2];

    memcpy(words, bytes, sizeof words);
    return fold(words[0] ^ FIRST, words[1] ^ hash) + words[0];
}

/* Four hashes at a time: none waits for another. */
uint64_t eddy__tally_hash(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t a = hash, b = hash ^ FIRST, c = hash ^ SECOND, d = ~hash;

    for (; n >= 64; n -= 64, bytes += 64) {
        a = mix(a, bytes);
        b = mix(b, bytes + 16);
        c = mix(c, bytes + 32);
        d = mix(d, bytes + 48);
    }
    if (bytes != (const unsigned char *)data)
        hash = fold(a ^ SECOND, b ^ FIRST) + fold(c ^ FIRST, d ^ SECOND);
    for (; n >= 16; n -= 16, bytes += 16)
        hash = mix(hash, bytes);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * PRIME;
    return hash;
}

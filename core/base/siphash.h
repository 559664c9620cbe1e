/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash by Aumasson and Bernstein, of bytes by a key of two words.  It is
 * inline, so that the numbers of rounds, which the caller chooses, are known.
 */
#ifndef EDDY_BASE_SIPHASH_H
#define EDDY_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t eddy__siphash_turn(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static inline void eddy__siphash_rounds(uint64_t v[4], int n)
{
    for (; n > 0; n--) {
        v[0] += v[1];
        v[1] = eddy__siphash_turn(v[1], 13) ^ v[0];
        v[0] = eddy__siphash_turn(v[0], 32);
        v[2] += v[3];
        v[3] = eddy__siphash_turn(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = eddy__siphash_turn(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = eddy__siphash_turn(v[1], 17) ^ v[2];
        v[2] = eddy__siphash_turn(v[2], 32);
    }
}

static inline void eddy__siphash_take(uint64_t v[4], uint64_t word, int rounds)
{
    v[3] ^= word;
    eddy__siphash_rounds(v, rounds);
    v[0] ^= word;
}

/* Eight bytes, the lowest first, wherever they begin. */
static inline uint64_t eddy__siphash_word(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
           (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
           (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

/* SipHash-c-d: `c` rounds a word, `d` at the end. */
static inline uint64_t eddy__siphash(const uint64_t key[2],
                                     const unsigned char *data, size_t n, int c,
                                     int d)
{
    uint64_t v[] = {key[0] ^ UINT64_C(0x736f6d6570736575),
                    key[1] ^ UINT64_C(0x646f72616e646f6d),
                    key[0] ^ UINT64_C(0x6c7967656e657261),
                    key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)n << 56;

    for (; n >= 8; n -= 8, data += 8)
        eddy__siphash_take(v, eddy__siphash_word(data), c);
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)data[i] << (8 * i);
    eddy__siphash_take(v, last, c);
    v[2] ^= 0xff;
    eddy__siphash_rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif

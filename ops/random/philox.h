/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox 4x32 with 10 rounds, as TensorFlow runs it: a counter of 128 bits,
 * the low word first, gives four words a step.
 */
#ifndef EDDY_OPS_PHILOX_H
#define EDDY_OPS_PHILOX_H

#include <Random123/philox.h>
#include <stdbool.h>
#include <stdint.h>

#define EDDY__PHILOX_WORDS 4 /* a step */

/* A plain value: whoever copies it has the same numbers ahead. */
typedef struct eddy__philox {
    uint64_t low, high; /* the counter */
    uint32_t key[2];
} eddy__philox;

/* The next four words. */
static inline void eddy__philox_next(eddy__philox *p,
                                     uint32_t out_words[EDDY__PHILOX_WORDS])
{
    const philox4x32_key_t key = {{p->key[0], p->key[1]}};
    const philox4x32_ctr_t counter = {
        {(uint32_t)p->low, (uint32_t)(p->low >> 32), (uint32_t)p->high,
         (uint32_t)(p->high >> 32)}};
    const philox4x32_ctr_t words = philox4x32(counter, key);

    for (int i = 0; i < EDDY__PHILOX_WORDS; i++)
        out_words[i] = words.v[i];
    if (++p->low == 0)
        p->high++;
}

/*
 * Passes over `n` steps.  As TensorFlow it forgets to carry where the high word
 * of `n` is all ones, as that of a negative number is, and the low word
 * carries.
 */
static inline void eddy__philox_skip(eddy__philox *p, uint64_t n)
{
    const bool forgets = n >> 32 == UINT32_MAX &&
                         (p->low & UINT32_MAX) + (n & UINT32_MAX) > UINT32_MAX;

    p->low += n;
    if (p->low < n && !forgets)
        p->high++;
}

/* What TensorFlow makes of the seeds of a stateful op. */
static inline eddy__philox eddy__philox_from_seeds(uint64_t seed,
                                                   uint64_t seed2)
{
    return (eddy__philox){.high = seed2,
                          .key = {(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

/* What it makes of the key and the counter of a stateless op. */
static inline eddy__philox eddy__philox_from_counter(uint64_t key, uint64_t low,
                                                     uint64_t high)
{
    return (eddy__philox){.low = low,
                          .high = high,
                          .key = {(uint32_t)key, (uint32_t)(key >> 32)}};
}

/*
 * What it makes of the two seeds of a stateless op: they are stirred, so that
 * it does not matter which of their bits differ.
 */
static inline eddy__philox eddy__philox_scrambled(uint64_t seed, uint64_t seed2)
{
    eddy__philox p = {
        .low = seed, .high = seed2, .key = {0x3ec8f720u, 0x02461e29u}};
    uint32_t words[EDDY__PHILOX_WORDS];

    eddy__philox_next(&p, words);
    return (eddy__philox){.high = words[2] | (uint64_t)words[3] << 32,
                          .key = {words[0], words[1]}};
}

/* One word after the other. */
typedef struct eddy__philox_words {
    eddy__philox philox;
    uint32_t words[EDDY__PHILOX_WORDS];
    int used;
} eddy__philox_words;

static inline eddy__philox_words eddy__philox_words_of(eddy__philox philox)
{
    return (eddy__philox_words){.philox = philox, .used = EDDY__PHILOX_WORDS};
}

static inline uint32_t eddy__philox_word(eddy__philox_words *p)
{
    if (p->used == EDDY__PHILOX_WORDS) {
        eddy__philox_next(&p->philox, p->words);
        p->used = 0;
    }
    return p->words[p->used++];
}

#endif

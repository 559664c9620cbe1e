/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of as many bytes as they need, seven bits in each and the lowest
 * first, as protocol buffers and the tables of tensor bundles have them.
 */
#ifndef EDDY_CORE_VARINT_H
#define EDDY_CORE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDDY__VARINT_MAX 10 /* bytes */

/* Writes one; how many bytes it takes. */
static inline size_t eddy__varint_set(unsigned char *p, uint64_t v)
{
    size_t n = 0;

    for (; v > 127; v >>= 7)
        p[n++] = (unsigned char)(v | 128);
    p[n++] = (unsigned char)v;
    return n;
}

/* Reads one and goes on behind it; false if it does not end before `end`, or
 * has more bytes than any has. */
static inline bool eddy__varint_take(const unsigned char **at,
                                     const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char byte = *(*at)++;

        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hashes by which TensorFlow sorts texts into buckets.  All read words of
 * eight bytes, the lowest first, wherever they begin.
 */
#include "ops/misc/hash.h"

static uint64_t word(const unsigned char *at)
{
    uint64_t w = 0;

    for (int i = 7; i >= 0; i--)
        w = w << 8 | at[i];
    return w;
}

static uint64_t half_word(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
           (uint64_t)at[3] << 24;
}

/* ---- FarmHash ---- */

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

static uint64_t turn_right(uint64_t w, int n)
{
    return w >> n | w << (64 - n);
}

static uint64_t fold(uint64_t w)
{
    return w ^ w >> 47;
}

static uint64_t mix(uint64_t u, uint64_t v, uint64_t factor)
{
    const uint64_t a = fold((u ^ v) * factor);

    return fold((v ^ a) * factor) * factor;
}

static uint64_t farm_to_16(const unsigned char *s, size_t n)
{
    const uint64_t factor = K2 + 2 * (uint64_t)n;

    if (n >= 8) {
        const uint64_t a = word(s) + K2, b = word(s + n - 8);

        return mix(turn_right(b, 37) * factor + a,
                   (turn_right(a, 25) + b) * factor, factor);
    }
    if (n >= 4)
        return mix(n + (half_word(s) << 3), half_word(s + n - 4), factor);
    if (n > 0) {
        const uint32_t y = s[0] + ((uint32_t)s[n / 2] << 8);
        const uint32_t z = (uint32_t)n + ((uint32_t)s[n - 1] << 2);

        return fold(y * K2 ^ z * K0) * K2;
    }
    return K2;
}

/* What texts of 17 to 64 bytes begin with: `*out_y` and the result. */
static uint64_t farm_ends(const unsigned char *s, size_t n, uint64_t a,
                          uint64_t *out_y)
{
    const uint64_t factor = K2 + 2 * (uint64_t)n;
    const uint64_t b = word(s + 8), c = word(s + n - 8) * factor;

    *out_y = turn_right(a + b, 43) + turn_right(c, 30) + word(s + n - 16) * K2;
    return mix(*out_y, a + turn_right(b + K2, 18) + c, factor);
}

static uint64_t farm_to_64(const unsigned char *s, size_t n)
{
    const uint64_t factor = K2 + 2 * (uint64_t)n, a = word(s) * K2;
    uint64_t y, z, e, f, g, h;

    z = farm_ends(s, n, a, &y);
    e = word(s + 16) * factor;
    f = word(s + 24);
    g = (y + word(s + n - 32)) * factor;
    h = (z + word(s + n - 24)) * factor;
    return mix(turn_right(e + f, 43) + turn_right(g, 30) + h,
               e + turn_right(f + a, 18) + g, factor);
}

typedef struct pair {
    uint64_t a, b;
} pair;

static pair farm_32(const unsigned char *s, uint64_t a, uint64_t b)
{
    const uint64_t last = word(s + 24);
    uint64_t c;

    a += word(s);
    b = turn_right(b + a + last, 21);
    c = a;
    a += word(s + 8) + word(s + 16);
    b += turn_right(a, 44);
    return (pair){a + last, b + c};
}

typedef struct farm {
    uint64_t x, y, z;
    pair v, w;
} farm;

/* One step over 64 bytes; `more` is 1, and 9 for the last. */
static void farm_step(farm *h, const unsigned char *s, uint64_t factor,
                      uint64_t more)
{
    uint64_t x;

    x = turn_right(h->x + h->y + h->v.a + word(s + 8), 37) * factor;
    h->y = turn_right(h->y + h->v.b + word(s + 48), 42) * factor;
    x ^= h->w.b * more;
    h->y += h->v.a * more + word(s + 40);
    h->x = turn_right(h->z + h->w.a, 33) * factor;
    h->v = farm_32(s, h->v.b * factor, x + h->w.a);
    h->w = farm_32(s + 32, h->x + h->w.b, h->y + word(s + 16));
    h->z = x;
}

uint64_t eddy__hash_farm(const unsigned char *data, size_t n)
{
    farm h = {.x = 81, .y = 81 * K1 + 113};
    size_t left = n;
    uint64_t factor, y;

    if (n <= 16)
        return farm_to_16(data, n);
    if (n <= 32)
        return farm_ends(data, n, word(data) * K1, &y);
    if (n <= 64)
        return farm_to_64(data, n);
    h.z = fold(h.y * K2 + 113) * K2;
    h.x = h.x * K2 + word(data);
    for (; left > 64; left -= 64, data += 64)
        farm_step(&h, data, K1, 1);
    factor = K1 + ((h.z & 0xff) << 1);
    h.w.a += left - 1;
    h.v.a += h.w.a;
    h.w.a += h.v.a;
    farm_step(&h, data + left - 64, factor, 9);
    return mix(mix(h.v.a, h.w.a, factor) + fold(h.y) * K0 + h.z,
               mix(h.v.b, h.w.b, factor) + h.x, factor);
}

/* ---- MurmurHash ---- */

#define MURMUR UINT64_C(0xc6a4a7935bd1e995)
#define MURMUR_SEED UINT64_C(0xdecafcaffe)

uint64_t eddy__hash_murmur(const unsigned char *data, size_t n)
{
    uint64_t h = MURMUR_SEED ^ (uint64_t)n * MURMUR;

    for (; n >= 8; n -= 8, data += 8)
        h = (h ^ fold(word(data) * MURMUR) * MURMUR) * MURMUR;
    if (n > 0) {
        uint64_t rest = 0;

        while (n > 0)
            rest = rest << 8 | data[--n];
        h = (h ^ rest) * MURMUR;
    }
    return fold(fold(h) * MURMUR);
}

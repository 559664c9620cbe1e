/* SPDX-License-Identifier: Apache-2.0 */
/* Finds keys of TensorMaps, and keeps the chains by which they are found. */
#include "core/base/map.h"
#include "ops/list/tensor_map.h"

#include <string.h>

/* From so many keys on there are buckets; a bucket has at most four on average.
 */
#define FIRST_BUCKETS ((int64_t)8)
#define MOST_A_BUCKET 4

/* Bytes between two questions whether to stop. */
#define PART ((size_t)1 << 16)

/* ---- keys ---- */

static bool same_bytes(eddy_kernel *k, const unsigned char *a,
                       const unsigned char *b, size_t n)
{
    size_t part;

    for (; n > 0; n -= part, a += part, b += part) {
        part = n < PART ? n : PART;
        if (memcmp(a, b, part) != 0)
            return false;
        if (eddy__spent(k, (int64_t)(part / 16)))
            return false;
    }
    return true;
}

static bool same_string(eddy_kernel *k, const eddy__string *a,
                        const eddy__string *b)
{
    return a->length == b->length &&
           same_bytes(k, (const unsigned char *)a->data,
                      (const unsigned char *)b->data, a->length);
}

static bool same_elements(eddy_kernel *k, const eddy__value *a,
                          const eddy__value *b, int64_t n)
{
    const eddy_dtype dtype = (eddy_dtype)a->dtype;
    const unsigned char *x = eddy__value_elements(a);
    const unsigned char *y = eddy__value_elements(b);

    if (dtype != EDDY_STRING)
        return same_bytes(k, x, y, (size_t)n * eddy__element_size(dtype));
    for (int64_t i = 0; i < n; i++)
        if (!same_string(k, &((const eddy__string *)(const void *)x)[i],
                         &((const eddy__string *)(const void *)y)[i]))
            return false;
    return true;
}

static int64_t count_of(const eddy__value *key)
{
    return eddy__value_is_tensor(key) ? key->as.tensor->count : 1;
}

static bool same_key(eddy_kernel *k, const eddy__value *a, const eddy__value *b)
{
    return a->dtype == b->dtype &&
           eddy__shape_equal(eddy__item_shape(a), eddy__item_shape(b)) &&
           same_elements(k, a, b, count_of(a));
}

static uint32_t hash_bytes(eddy_kernel *k, uint32_t hash, const void *data,
                           size_t n)
{
    const char *at = data;
    size_t part;

    for (; n > 0; n -= part, at += part) {
        part = n < PART ? n : PART;
        hash = hash * 0x9e3779b1u + eddy__map_hash(at, part);
        if (eddy__spent(k, (int64_t)(part / 2)))
            break;
    }
    return hash;
}

static uint32_t hash_of(eddy_kernel *k, const eddy__value *key)
{
    const eddy_dtype dtype = (eddy_dtype)key->dtype;
    const unsigned char *elements = eddy__value_elements(key);
    const int64_t n = count_of(key);
    const eddy__string *strings = (const void *)elements;
    uint32_t hash = 0;

    if (dtype != EDDY_STRING)
        return hash_bytes(k, 0, elements,
                          (size_t)n * eddy__element_size(dtype));
    for (int64_t i = 0; i < n; i++)
        hash = hash_bytes(k, hash + 1, strings[i].data, strings[i].length);
    return hash;
}

/* ---- chains ---- */

static int64_t buckets_of(const eddy__list *map)
{
    return map->max_count == INT64_MAX ? 0 : map->max_count;
}

/* The number that bucket `b` begins with, and that which follows key `p`. */
static uint32_t *head_of(eddy__list *map, int64_t b)
{
    return &map->items[2 * b + 1].uses;
}

static uint32_t *next_of(eddy__list *map, int64_t p)
{
    return &map->items[2 * p].uses;
}

static int64_t bucket_of(eddy_kernel *k, const eddy__list *map,
                         const eddy__value *key)
{
    return hash_of(k, key) & (uint32_t)(map->max_count - 1);
}

static void link_key(eddy_kernel *k, eddy__list *map, int64_t p)
{
    uint32_t *head = head_of(map, bucket_of(k, map, &map->items[2 * p]));

    *next_of(map, p) = *head;
    *head = (uint32_t)p + 1;
}

/* The number that leads to key `p`. */
static uint32_t *link_to(eddy_kernel *k, eddy__list *map, int64_t p)
{
    uint32_t *link = head_of(map, bucket_of(k, map, &map->items[2 * p]));

    while (*link != 0 && *link != (uint32_t)p + 1)
        link = next_of(map, (int64_t)*link - 1);
    return link;
}

static void make_chains(eddy_kernel *k, eddy__list *map, int64_t n_buckets)
{
    map->max_count = n_buckets < FIRST_BUCKETS ? INT64_MAX : n_buckets;
    for (int64_t i = 0; i < map->count; i++)
        map->items[i].uses = 0;
    for (int64_t p = 0; buckets_of(map) > 0 && p < map->count / 2; p++)
        link_key(k, map, p);
}

void eddy__tensor_map_index(eddy_kernel *k, eddy__list *map)
{
    const int64_t n = map->count / 2;
    int64_t n_buckets = 1;

    /* Places of keys are numbers of 32 bits. */
    while (n_buckets * 2 <= n && n <= INT32_MAX)
        n_buckets *= 2;
    make_chains(k, map, n_buckets);
}

/* ---- maps ---- */

int64_t eddy__tensor_map_find(eddy_kernel *k, const eddy__list *map,
                              const eddy__value *key)
{
    const eddy__value *items = map->items;
    uint32_t next;

    if (buckets_of(map) == 0) {
        for (int64_t i = 0; i < map->count; i += 2)
            if (same_key(k, &items[i], key))
                return i;
        return -1;
    }
    next = items[2 * bucket_of(k, map, key) + 1].uses;
    while (next != 0 && !same_key(k, &items[2 * ((int64_t)next - 1)], key))
        next = eddy__spent(k, 8) ? 0 : items[2 * ((int64_t)next - 1)].uses;
    return 2 * ((int64_t)next - 1) < 0 ? -1 : 2 * ((int64_t)next - 1);
}

void eddy__tensor_map_add(eddy_kernel *k, eddy__list *map, eddy__value key,
                          eddy__value value)
{
    const int64_t n = map->count / 2 + 1, n_buckets = buckets_of(map);

    key.uses = value.uses = 0;
    eddy__list_push(map, key);
    eddy__list_push(map, value);
    if (n_buckets > 0 && n < MOST_A_BUCKET * n_buckets)
        link_key(k, map, n - 1);
    else if (n_buckets > 0 || n >= 2 * FIRST_BUCKETS)
        make_chains(k, map,
                    n > INT32_MAX   ? 0
                    : n_buckets > 0 ? 2 * n_buckets
                                    : FIRST_BUCKETS);
}

void eddy__tensor_map_set(eddy_kernel *k, eddy__list *map, int64_t at,
                          eddy__value value)
{
    value.uses = map->items[at + 1].uses;
    eddy__list_set(k->heap, map, at + 1, value);
}

/* Moves the last key to the place of key `p`, which is in no chain. */
static void move_last(eddy_kernel *k, eddy__list *map, int64_t p)
{
    const int64_t last = map->count / 2 - 1;
    eddy__value *to = &map->items[2 * p], *from = &map->items[2 * last];
    uint32_t head;

    if (p != last) {
        if (buckets_of(map) > 0)
            *link_to(k, map, last) = (uint32_t)p + 1;
        /* Which may be what was just written. */
        head = to[1].uses;
        to[0] = from[0];
        to[1] = from[1];
        to[1].uses = head;
    }
    memset(from, 0, 2 * sizeof *from);
    map->count -= 2;
}

void eddy__tensor_map_remove(eddy_kernel *k, eddy__list *map, int64_t at)
{
    const int64_t p = at / 2, n_buckets = buckets_of(map);

    /* Its last bucket would have no place: fewer are made, without `p`. */
    if (n_buckets > 0 && map->count / 2 - 1 < n_buckets) {
        map->max_count = INT64_MAX;
    } else if (n_buckets > 0) {
        uint32_t *link = link_to(k, map, p);

        *link = *next_of(map, p);
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t uses = map->items[at + i].uses;

        eddy__value_clear(k->heap, &map->items[at + i]);
        map->items[at + i].uses = uses;
    }
    move_last(k, map, p);
    if (n_buckets > 0 && buckets_of(map) == 0)
        make_chains(k, map, n_buckets / 2);
}

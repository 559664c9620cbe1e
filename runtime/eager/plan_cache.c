/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of plans under one lock, from which the one that was used
 * longest ago goes first.
 */
#include "runtime/eager/plan_cache.h"

#include "core/base/status.h"

#include <string.h>

/* FNV-1a: keys are short, and few. */
uint64_t eddy__plan_hash(const unsigned char *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

/* ---- making and freeing ---- */

eddy_status eddy__plan_cache_init(eddy__plan_cache *cache,
                                  const eddy_allocator *allocator,
                                  size_t max_plans, eddy_error *err)
{
    eddy_status status;

    *cache = (eddy__plan_cache){
        .allocator = allocator, .max_plans = max_plans, .n_chains = 16};
    if (max_plans > UINT32_MAX / 4)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "%zu plans are too many to keep", max_plans);
    while (cache->n_chains < max_plans)
        cache->n_chains *= 2;
    cache->plans =
        eddy__allocate_zeroed(allocator, max_plans, sizeof *cache->plans);
    cache->chains = eddy__allocate_zeroed(allocator, cache->n_chains,
                                          sizeof *cache->chains);
    status = cache->plans && cache->chains ? eddy__mutex_init(&cache->mu, err)
                                           : eddy__fail_memory(err);
    if (status != EDDY_OK) {
        eddy__free(allocator, cache->plans, max_plans, sizeof *cache->plans);
        eddy__free(allocator, cache->chains, cache->n_chains,
                   sizeof *cache->chains);
    }
    return status;
}

/* Frees what a plan that is no longer in the cache had. */
static void drop(const eddy_allocator *allocator, eddy__kept_plan *kept)
{
    for (size_t i = 0; i < kept->n_idle; i++)
        eddy_run_destroy(kept->idle[i]);
    eddy_plan_release(kept->plan);
    eddy__free(allocator, kept->key, kept->key_size, 1);
}

void eddy__plan_cache_deinit(eddy__plan_cache *cache)
{
    for (size_t i = 0; i < cache->n_plans; i++)
        drop(cache->allocator, &cache->plans[i]);
    eddy__mutex_destroy(&cache->mu);
    eddy__free(cache->allocator, cache->plans, cache->max_plans,
               sizeof *cache->plans);
    eddy__free(cache->allocator, cache->chains, cache->n_chains,
               sizeof *cache->chains);
}

/* ---- with the lock ---- */

static uint32_t *chain_of(const eddy__plan_cache *cache, uint64_t hash)
{
    return &cache->chains[hash & (cache->n_chains - 1)];
}

/* NULL if there is none of that key. */
static eddy__kept_plan *find(const eddy__plan_cache *cache,
                             const eddy__plan_key *key)
{
    for (uint32_t i = *chain_of(cache, key->hash); i != 0;
         i = cache->plans[i - 1].next) {
        eddy__kept_plan *kept = &cache->plans[i - 1];

        if (kept->hash == key->hash && kept->key_size == key->n &&
            memcmp(kept->key, key->bytes, key->n) == 0)
            return kept;
    }
    return NULL;
}

/* Takes the plan that was not used for the longest time out of its chain. */
static eddy__kept_plan *make_room(eddy__plan_cache *cache)
{
    eddy__kept_plan *oldest = &cache->plans[0];
    uint32_t number, *link;

    for (size_t i = 1; i < cache->n_plans; i++)
        if (cache->plans[i].last_use < oldest->last_use)
            oldest = &cache->plans[i];
    number = (uint32_t)(oldest - cache->plans) + 1;
    link = chain_of(cache, oldest->hash);
    while (*link != number)
        link = &cache->plans[*link - 1].next;
    *link = oldest->next;
    return oldest;
}

/* ---- without it ---- */

bool eddy__plan_cache_take(eddy__plan_cache *cache, const eddy__plan_key *key,
                           eddy_plan **out_plan, eddy_run **out_run)
{
    eddy__kept_plan *kept;

    *out_plan = NULL;
    *out_run = NULL;
    eddy__mutex_lock(&cache->mu);
    kept = find(cache, key);
    if (kept) {
        kept->last_use = ++cache->uses;
        *out_plan = eddy_plan_retain(kept->plan);
        if (kept->n_idle > 0)
            *out_run = kept->idle[--kept->n_idle];
    }
    eddy__mutex_unlock(&cache->mu);
    return *out_plan != NULL;
}

void eddy__plan_cache_add(eddy__plan_cache *cache, const eddy__plan_key *key,
                          eddy_plan *plan)
{
    unsigned char *copy = eddy__allocate(cache->allocator, key->n, 1);
    eddy__kept_plan gone = {.n_idle = 0};
    eddy__kept_plan *kept;
    uint32_t *chain;

    if (!copy)
        return;
    memcpy(copy, key->bytes, key->n);
    eddy__mutex_lock(&cache->mu);
    if (find(cache, key)) {
        gone.key = copy;
        gone.key_size = key->n;
    } else {
        kept = &cache->plans[cache->n_plans];
        if (cache->n_plans < cache->max_plans) {
            cache->n_plans++;
        } else {
            kept = make_room(cache);
            gone = *kept;
        }
        chain = chain_of(cache, key->hash);
        *kept = (eddy__kept_plan){
            .key = copy,
            .key_size = key->n,
            .hash = key->hash,
            .plan = eddy_plan_retain(plan),
            .last_use = ++cache->uses,
            .next = *chain,
        };
        *chain = (uint32_t)(kept - cache->plans) + 1;
    }
    eddy__mutex_unlock(&cache->mu);
    drop(cache->allocator, &gone);
}

void eddy__plan_cache_give(eddy__plan_cache *cache, const eddy__plan_key *key,
                           eddy_plan *plan, eddy_run *run)
{
    eddy__kept_plan *kept;

    eddy__mutex_lock(&cache->mu);
    kept = find(cache, key);
    if (kept && kept->plan == plan && kept->n_idle < EDDY__IDLE_RUNS) {
        kept->idle[kept->n_idle++] = run;
        run = NULL;
    }
    eddy__mutex_unlock(&cache->mu);
    eddy_run_destroy(run);
}

size_t eddy__plan_cache_size(eddy__plan_cache *cache)
{
    size_t n;

    eddy__mutex_lock(&cache->mu);
    n = cache->n_plans;
    eddy__mutex_unlock(&cache->mu);
    return n;
}

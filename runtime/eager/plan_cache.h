/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that are kept under keys, with runs of theirs that are ready for use;
 * of at most so many plans, those that were used last.
 *
 * A plan that was taken is the taker's as well, so that it outlives being
 * dropped from the cache.  A run is either in the cache or with one taker.
 */
#ifndef EDDY_FRONTENDS_PLAN_CACHE_H
#define EDDY_FRONTENDS_PLAN_CACHE_H

#include "core/base/memory.h"
#include "core/base/thread.h"
#include "eddy/run.h"

/* Runs of one plan that are kept: as many calls at once start cheaply. */
#define EDDY__IDLE_RUNS 4

typedef struct eddy__plan_key {
    const unsigned char *bytes;
    size_t n;
    uint64_t hash; /* of the bytes */
} eddy__plan_key;

uint64_t eddy__plan_hash(const unsigned char *bytes, size_t n);

typedef struct eddy__kept_plan {
    unsigned char *key;
    size_t key_size;
    uint64_t hash;
    eddy_plan *plan;
    eddy_run *idle[EDDY__IDLE_RUNS];
    size_t n_idle;
    uint64_t last_use; /* a number that grows with every use */
    uint32_t next;     /* in its chain, plus 1; 0: the last */
} eddy__kept_plan;

typedef struct eddy__plan_cache {
    const eddy_allocator *allocator;
    eddy__mutex mu; /* guards all below */
    eddy__kept_plan *plans;
    size_t n_plans, max_plans;
    uint32_t *chains; /* a number in `plans`, plus 1 */
    size_t n_chains;  /* a power of two */
    uint64_t uses;
} eddy__plan_cache;

eddy_status eddy__plan_cache_init(eddy__plan_cache *cache,
                                  const eddy_allocator *allocator,
                                  size_t max_plans, eddy_error *err);
void eddy__plan_cache_deinit(eddy__plan_cache *cache);

/*
 * The plan of a key, a reference that the caller releases, and a run of it if
 * one is idle, else NULL.  False if there is no such plan.  @thread any
 */
bool eddy__plan_cache_take(eddy__plan_cache *cache, const eddy__plan_key *key,
                           eddy_plan **out_plan, eddy_run **out_run);

/*
 * Keeps a plan, unless there is one of that key or no memory: what comes of it
 * is no matter.  @thread any
 */
void eddy__plan_cache_add(eddy__plan_cache *cache, const eddy__plan_key *key,
                          eddy_plan *plan);

/*
 * Takes over a run that holds no tensors: keeps it if its plan is kept, else
 * destroys it.  @thread any
 */
void eddy__plan_cache_give(eddy__plan_cache *cache, const eddy__plan_key *key,
                           eddy_plan *plan, eddy_run *run);

size_t eddy__plan_cache_size(eddy__plan_cache *cache);

#endif

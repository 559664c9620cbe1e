/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a generator a node and session, and reserves steps of it. */
#include "ops/random/generator.h"

#include "core/base/entropy.h"
#include "core/value/generator.h"
#include "ops/math/elements.h"

#include <inttypes.h>
#include <string.h>

static uint64_t key_of(const eddy__philox *p)
{
    return p->key[0] | (uint64_t)p->key[1] << 32;
}

static eddy__generator_state state_of(const eddy__seeds *seeds)
{
    const eddy__philox start =
        seeds->seed == 0 && seeds->seed2 == 0
            ? eddy__philox_from_seeds(eddy__entropy(), eddy__entropy())
            : eddy__philox_from_seeds((uint64_t)seeds->seed,
                                      (uint64_t)seeds->seed2);

    return (eddy__generator_state){
        .low = start.low, .high = start.high, .key = key_of(&start)};
}

static eddy__resource *make_generator(const eddy_allocator *allocator,
                                      const void *arg)
{
    const eddy__generator_state state = state_of(arg);

    return eddy__generator_make(allocator, &state);
}

eddy_status eddy__seeds_prepare(eddy_infer *infer, eddy__seeds *out_seeds)
{
    const char *node = infer->node->name;
    const size_t size = strlen(node) + EDDY__GENERATOR_KEY_ROOM;
    char *name = eddy__prepare_state(infer, size);

    if (!name)
        return EDDY_RESOURCE_EXHAUSTED;
    out_seeds->seed = eddy__infer_int(infer, "seed");
    out_seeds->seed2 = eddy__infer_int(infer, "seed2");
    out_seeds->name = name;
    eddy__generator_key(name, size, node, out_seeds->seed, out_seeds->seed2);
    return EDDY_OK;
}

eddy_status eddy__generator_from_counter(eddy_kernel *k,
                                         eddy__philox *out_philox)
{
    const eddy_view key = eddy__in_view(k, 1), counter = eddy__in_view(k, 2);
    const uint64_t *words = counter.data;
    int32_t algorithm;

    if (eddy__in_shape(k, 3)->rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the algorithm must be a scalar, not of shape %s",
                           eddy__shape_print(eddy__in_shape(k, 3)).text);
    algorithm = *(const int32_t *)eddy__in_view(k, 3).data;
    if (key.rank != 1 || key.count != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the key must have shape [1], not %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    if (counter.rank != 1 || counter.count < 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the counter must be a vector of 2 elements, not of "
                           "shape %s",
                           eddy__shape_print(eddy__in_shape(k, 2)).text);
    if (algorithm != EDDY__ALGORITHM_PHILOX && algorithm != EDDY__ALGORITHM_ANY)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "algorithm %" PRId32 " is not there; 1 is Philox",
                           algorithm);
    *out_philox = eddy__philox_from_counter(*(const uint64_t *)key.data,
                                            words[0], words[1]);
    return EDDY_OK;
}

eddy_status eddy__generator_reserve(eddy_kernel *k, const eddy__seeds *seeds,
                                    uint64_t n_steps, eddy__philox *out_start)
{
    eddy__resource *resource = NULL;
    eddy__generator *g;

    EDDY_TRY(eddy__find_resource(k, &eddy__generator_type, seeds->name,
                                 make_generator, seeds, &resource));
    g = (eddy__generator *)(void *)resource;
    *out_start = eddy__philox_from_counter(g->key, g->low, g->high);
    eddy__philox_skip(
        out_start,
        atomic_fetch_add_explicit(&g->n_taken, n_steps, memory_order_relaxed));
    eddy__resource_release(resource);
    return EDDY_OK;
}

eddy_status eddy__seeded_philox(eddy_kernel *k, uint32_t i,
                                eddy__philox *out_philox)
{
    const eddy_view seed = eddy__in_view(k, i);

    if (seed.rank != 1 || seed.count != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the seed must have shape [2], not %s",
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    if (seed.dtype != EDDY_INT32 && seed.dtype != EDDY_INT64)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                           "the seed must be int32 or int64, not %s",
                           eddy_dtype_name(seed.dtype));
    *out_philox = eddy__philox_scrambled((uint64_t)eddy__view_index(&seed, 0),
                                         (uint64_t)eddy__view_index(&seed, 1));
    return EDDY_OK;
}

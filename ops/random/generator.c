/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a generator a node and session, and reserves steps of it. */
#include "ops/random/generator.h"

#include "core/base/entropy.h"
#include "core/value/generator.h"
#include "ops/math/elements.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's target for GraphDefs: bytes as they come, and, by a mutator that
 * knows the message, graphs whose nodes are rewired, renamed, given other ops
 * and attributes, doubled and dropped.
 */
#include "tests/campaign/exercise.h"

#include "tests/campaign/mutate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static exercise e;

    if (e.inline_ctx == NULL)
        exercise_init(&e);
    exercise_graph(&e, data, size);
    return 0;
}

/* One in four mutations is of bytes, the others of nodes. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed)
{
    size_t length;

    if (seed % 4 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    length = mutate_graphdef(data, size, max_size, seed);
    return length > 0 ? length : LLVMFuzzerMutate(data, size, max_size);
}

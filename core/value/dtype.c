/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of each dtype in one table: name, size, number in TensorFlow's
 * files, groups.
 */
#include "core/value/dtype.h"

#include <string.h>

typedef struct dtype_facts {
    const char *name;
    size_t size;
    int32_t tf_number;
} dtype_facts;

static const dtype_facts facts[] = {
#define X(name, text, bytes, number) {text, bytes, number},
    EDDY_DTYPE_MAP(X)
#undef X
};

static const dtype_facts *find_facts(eddy_dtype dtype)
{
    return &facts[(size_t)dtype < EDDY_DTYPE_COUNT ? dtype : EDDY_INVALID];
}

const char *eddy_dtype_name(eddy_dtype dtype)
{
    return find_facts(dtype)->name;
}

size_t eddy_dtype_size(eddy_dtype dtype)
{
    return find_facts(dtype)->size;
}

int32_t eddy__dtype_to_tf(eddy_dtype dtype)
{
    return find_facts(dtype)->tf_number;
}

eddy_dtype eddy__dtype_from_tf(int32_t number)
{
    for (int d = EDDY_INVALID + 1; d < EDDY_DTYPE_COUNT; d++) {
        if (facts[d].tf_number == number)
            return (eddy_dtype)d;
    }
    return EDDY_INVALID;
}

eddy_dtype eddy__dtype_from_name(const char *name, size_t length)
{
    for (int d = EDDY_INVALID + 1; d < EDDY_DTYPE_COUNT; d++) {
        if (length > 0 && facts[d].name[0] == name[0] &&
            strncmp(facts[d].name, name, length) == 0 &&
            facts[d].name[length] == '\0')
            return (eddy_dtype)d;
    }
    return EDDY_INVALID;
}

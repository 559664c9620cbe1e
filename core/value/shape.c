/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes that may be known in part: equal, compatible, joined, merged,
 * broadcast, and as text.
 */
#include "core/value/shape.h"

#include <assert.h>
#include <stdio.h>

eddy_shape eddy__shape_of_rank(int32_t rank)
{
    eddy_shape shape = {.rank = rank};

    assert(rank <= EDDY_MAX_RANK);
    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = -1;
    return shape;
}

bool eddy__shape_is_known(const eddy_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return false;
    }
    return shape->rank >= 0;
}

bool eddy__shape_equal(const eddy_shape *a, const eddy_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

bool eddy__shape_compatible(const eddy_shape *a, const eddy_shape *b)
{
    eddy_shape both;

    return eddy__shape_merge(a, b, &both);
}

bool eddy__shape_merge(const eddy_shape *a, const eddy_shape *b,
                       eddy_shape *out)
{
    eddy_shape both = *a;

    if (a->rank < 0)
        both = *b;
    else if (b->rank >= 0 && a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < both.rank && a->rank == b->rank; i++) {
        if (a->dims[i] < 0)
            both.dims[i] = b->dims[i];
        else if (b->dims[i] >= 0 && a->dims[i] != b->dims[i])
            return false;
    }
    *out = both;
    return true;
}

eddy_shape eddy__shape_join(const eddy_shape *a, const eddy_shape *b)
{
    eddy_shape either = *a;

    if (a->rank != b->rank)
        return eddy__shape_unknown();
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            either.dims[i] = -1;
    }
    return either;
}

eddy_shape eddy__shape_rest(const eddy_shape *shape)
{
    eddy_shape rest = {.rank = shape->rank < 0 ? -1 : shape->rank - 1};

    for (int32_t d = 0; d < rest.rank; d++)
        rest.dims[d] = shape->dims[d + 1];
    return rest;
}

bool eddy__shape_count(const eddy_shape *shape, size_t size, int64_t *out_count)
{
    int64_t product = 1, bytes;
    bool is_empty = false;

    if (shape->rank > EDDY_MAX_RANK || !eddy__shape_is_known(shape))
        return false;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0)
            is_empty = true;
        else if (__builtin_mul_overflow(product, shape->dims[i], &product))
            return false;
    }
    if (__builtin_mul_overflow(product, size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    *out_count = is_empty ? 0 : product;
    return true;
}

/* One dimension of two that broadcast; -2 if they don't. */
static int64_t broadcast_dim(int64_t a, int64_t b)
{
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    /* An unknown one is 1 or the same as the other. */
    if (a < 0)
        return b;
    return b < 0 ? a : -2;
}

bool eddy__shape_broadcast(const eddy_shape *a, const eddy_shape *b,
                           eddy_shape *out)
{
    const eddy_shape *longer = a->rank >= b->rank ? a : b;
    const eddy_shape *shorter = longer == a ? b : a;
    const int32_t extra = longer->rank - shorter->rank;
    eddy_shape result = *longer;

    if (shorter->rank < 0) {
        *out = eddy__shape_unknown();
        return true;
    }
    for (int32_t i = 0; i < shorter->rank; i++) {
        const int64_t dim =
            broadcast_dim(longer->dims[extra + i], shorter->dims[i]);

        if (dim < -1)
            return false;
        result.dims[extra + i] = dim;
    }
    *out = result;
    return true;
}

eddy__shape_text eddy__shape_print(const eddy_shape *shape)
{
    eddy__shape_text out = {.text = "?"};
    char *p = out.text;

    if (shape->rank < 0)
        return out;
    *p++ = '[';
    for (int32_t i = 0; i < shape->rank; i++) {
        const size_t left = (size_t)(out.text + sizeof out.text - p);
        const char *comma = i > 0 ? "," : "";
        const long long dim = (long long)shape->dims[i];

        p += dim < 0 ? snprintf(p, left, "%s?", comma)
                     : snprintf(p, left, "%s%lld", comma, dim);
    }
    *p++ = ']';
    *p = '\0';
    return out;
}

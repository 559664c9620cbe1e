/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on shapes: sizes, joining, merging, printing. */
#ifndef EDDY_CORE_SHAPE_H
#define EDDY_CORE_SHAPE_H

#include "eddy/tensor.h"

static inline eddy_shape eddy__shape_unknown(void)
{
    return (eddy_shape){.rank = -1};
}

static inline eddy_shape eddy__shape_scalar(void)
{
    return (eddy_shape){.rank = 0};
}

static inline eddy_shape eddy__shape_vector(int64_t n)
{
    return (eddy_shape){.rank = 1, .dims = {n}};
}

/* `rank` dimensions, all unknown. */
eddy_shape eddy__shape_of_rank(int32_t rank);
bool eddy__shape_is_known(const eddy_shape *shape);
bool eddy__shape_equal(const eddy_shape *a, const eddy_shape *b);

/* Could one tensor have both shapes? */
bool eddy__shape_compatible(const eddy_shape *a, const eddy_shape *b);

/* What is known of a tensor that has both; false if none can. */
bool eddy__shape_merge(const eddy_shape *a, const eddy_shape *b,
                       eddy_shape *out);

/* What is known of a tensor that has one or the other. */
eddy_shape eddy__shape_join(const eddy_shape *a, const eddy_shape *b);

/*
 * `shape` without its first dimension: that of an item.  Unknown stays unknown,
 * and a scalar, which has no items, gives unknown.
 */
eddy_shape eddy__shape_rest(const eddy_shape *shape);

/*
 * Elements of a known shape; false if the product of its dimensions other than
 * 0 does not fit, or the bytes at `size` an element do not.
 */
bool eddy__shape_count(const eddy_shape *shape, size_t size,
                       int64_t *out_count);

/*
 * The shape that `a` and `b` broadcast to by NumPy's rule, with unknowns where
 * it can't be said; false if they don't.
 */
bool eddy__shape_broadcast(const eddy_shape *a, const eddy_shape *b,
                           eddy_shape *out);

/* "[2,?,3]", "[]" or "?"; large enough for any shape. */
typedef struct eddy__shape_text {
    char text[8 * 21 + 3];
} eddy__shape_text;

eddy__shape_text eddy__shape_print(const eddy_shape *shape);

#endif

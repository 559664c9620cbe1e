/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What broadcasting two shapes gives, for shapes that are values:
 * BroadcastArgs, and BroadcastGradientArgs, which says over which axes the
 * gradient of each side is summed.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>

/* Two shapes seen from their ends: dimension 0 is the last. */
typedef struct pair {
    eddy_view s[2];
    int64_t rank;
} pair;

static int64_t dim_at(const pair *p, int side, int64_t from_end)
{
    int64_t rank = p->s[side].count;

    return from_end < rank ? eddy__view_index(&p->s[side], rank - 1 - from_end)
                           : 1;
}

static eddy_status read_pair(eddy_kernel *k, pair *p)
{
    p->rank = 0;
    for (uint32_t i = 0; i < 2; i++) {
        p->s[i] = eddy__in_view(k, i);
        if (p->s[i].rank != 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               "input %u must be a vector, but it has shape "
                               "%s",
                               i, eddy__shape_print(eddy__in_shape(k, i)).text);
        if (p->s[i].count > p->rank)
            p->rank = p->s[i].count;
    }
    for (int64_t d = 0; d < p->rank; d++) {
        int64_t a = dim_at(p, 0, d), b = dim_at(p, 1, d);

        if (a != b && a != 1 && b != 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "incompatible shapes for broadcasting: "
                               "dimension %" PRId64 " from the end is %" PRId64
                               " and %" PRId64,
                               d, a, b);
    }
    return EDDY_OK;
}

static void store(eddy_dtype dtype, unsigned char *to, int64_t i, int64_t v)
{
    if (dtype == EDDY_INT32)
        ((int32_t *)(void *)to)[i] = (int32_t)v;
    else
        ((int64_t *)(void *)to)[i] = v;
}

static eddy_status run_args(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    unsigned char *out;
    eddy_shape shape;
    pair p;

    EDDY_TRY(read_pair(k, &p));
    shape = eddy__shape_vector(p.rank);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    for (int64_t d = 0; d < p.rank; d++) {
        int64_t a = dim_at(&p, 0, d), b = dim_at(&p, 1, d);

        store(dtype, out, p.rank - 1 - d, a == 1 ? b : a);
    }
    return EDDY_OK;
}

static bool are_same(const pair *p)
{
    if (p->s[0].count != p->s[1].count)
        return false;
    for (int64_t d = 0; d < p->rank; d++)
        if (dim_at(p, 0, d) != dim_at(p, 1, d))
            return false;
    return true;
}

/*
 * An axis is summed for a side that has 1 there, also where both have 1, unless
 * the shapes are the same throughout.
 */
static eddy_status put_summed(eddy_kernel *k, const pair *p, uint32_t side)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    bool same = are_same(p);
    unsigned char *out;
    eddy_shape shape;
    int64_t n = 0;

    for (int64_t d = 0; !same && d < p->rank; d++)
        n += dim_at(p, (int)side, d) == 1;
    shape = eddy__shape_vector(n);
    EDDY_TRY(eddy__output_elements(k, side, dtype, &shape, &out));
    for (int64_t d = 0; n > 0 && d < p->rank; d++)
        if (dim_at(p, (int)side, d) == 1)
            store(dtype, out, --n, p->rank - 1 - d);
    return EDDY_OK;
}

static eddy_status run_gradient_args(eddy_kernel *k)
{
    pair p;

    EDDY_TRY(read_pair(k, &p));
    EDDY_TRY(put_summed(k, &p, 0));
    return put_summed(k, &p, 1);
}

#define CHEAP_NO_GRADIENT (EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("BroadcastArgs", .inputs = "s0: T, s1: T", .outputs = "r0: T",
                 .attrs = "T: index = int32", .infer = eddy__infer_vector,
                 .kernel = run_args, .flags = CHEAP_NO_GRADIENT,
                 .doc = "The shape that two shapes broadcast to."),
    EDDY__OP_ROW("BroadcastGradientArgs", .inputs = "s0: T, s1: T",
                 .outputs = "r0: T, r1: T", .attrs = "T: index = int32",
                 .infer = eddy__infer_vector, .kernel = run_gradient_args,
                 .flags = CHEAP_NO_GRADIENT,
                 .doc = "Which dimensions of each input broadcasting repeats."),
};

const eddy__op_table eddy__broadcast_args_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * About how long a kernel takes, by its shapes alone: enough to tell what is
 * worth handing to a worker from what is not.
 */
#include "runtime/plan/guess.h"

#include <math.h>
#include <string.h>

double eddy__guess_count(const eddy_shape *shape)
{
    double n = shape->rank < 0 ? 0 : 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d] > 0 ? (double)shape->dims[d] : 0;
    return n;
}

bool eddy__guess_is_product(const char *op)
{
    return strstr(op, "MatMul") != NULL;
}

/* A product takes each element of its output as often as factors meet in it. */
static double product_ns(const eddy__guess *g)
{
    return g->n_out > 0 ? sqrt(g->first[0] * g->first[1] * g->n_out) / 40 : 0;
}

double eddy__guess_ns(const eddy__guess *g)
{
    if (eddy__guess_is_product(g->op))
        return product_ns(g);
    if (strncmp(g->op, "Conv", 4) == 0)
        return g->n_out * g->first[1] / 500;
    return (g->n_in + g->n_out) * (g->is_heavy ? 2 : 0.3);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of those that wait, and overlaps of corners. */
#include "ops/nn/candidates.h"

#include <stdbool.h>

/* ---- the heap ---- */

static bool is_better(const eddy__candidate *a, const eddy__candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

void eddy__candidates_push(eddy__candidates *c, eddy__candidate next)
{
    int64_t i = c->n++;

    while (i > 0 && is_better(&next, &c->heap[(i - 1) / 2])) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = next;
}

eddy__candidate eddy__candidates_pop(eddy__candidates *c)
{
    const eddy__candidate best = c->heap[0], last = c->heap[--c->n];
    int64_t i = 0;

    for (int64_t child = 1; child < c->n; child = 2 * i + 1) {
        if (child + 1 < c->n && is_better(&c->heap[child + 1], &c->heap[child]))
            child++;
        if (!is_better(&c->heap[child], &last))
            break;
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = last;
    return best;
}

/* ---- overlaps ---- */

typedef struct box {
    float low[2], high[2];
} box;

static box box_of(const float corners[4])
{
    box b;

    for (int d = 0; d < 2; d++) {
        const float p = corners[d], q = corners[d + 2];

        b.low[d] = q < p ? q : p;
        b.high[d] = p < q ? q : p;
    }
    return b;
}

static float area_of(const box *b)
{
    return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
}

static float side_of(const box *a, const box *b, int d)
{
    const float low = a->low[d] < b->low[d] ? b->low[d] : a->low[d];
    const float high = b->high[d] < a->high[d] ? b->high[d] : a->high[d];

    return high - low < 0 ? 0 : high - low;
}

float eddy__candidates_overlap(const float a[4], const float b[4])
{
    const box one = box_of(a), other = box_of(b);
    const float area_one = area_of(&one), area_other = area_of(&other);
    float shared;

    if (area_one <= 0 || area_other <= 0)
        return 0;
    shared = side_of(&one, &other, 0) * side_of(&one, &other, 1);
    return shared / (area_one + area_other - shared);
}

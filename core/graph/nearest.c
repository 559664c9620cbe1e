/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edit distance of two names, computed in a band since far ones do not
 * count, and the nearest of many by it.
 */
#include "core/graph/nearest.h"

#include <stdbool.h>
#include <string.h>

#define FURTHEST 4   /* edits, and not more than a third of the name */
#define WORK 2000000 /* steps of the comparison for one question */

typedef struct range {
    size_t from, to;
} range;

/* The columns of a row where a distance of at most `limit` can lie. */
static range band(size_t row, size_t n, size_t limit)
{
    return (range){.from = row > limit ? row - limit : 1,
                   .to = row + limit < n ? row + limit : n};
}

/* Insertions, deletions and replacements, `limit` + 1 if there are more. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b,
                       size_t limit)
{
    size_t row[EDDY__NEAREST_LONGEST + 1];

    for (size_t j = 0; j <= n_b; j++)
        row[j] = j <= limit ? j : limit + 1;
    for (size_t i = 1; i <= n_a; i++) {
        const range columns = band(i, n_b, limit);
        size_t diagonal = row[columns.from - 1], least = limit + 1;

        row[columns.from - 1] = columns.from == 1 && i <= limit ? i : limit + 1;
        for (size_t j = columns.from; j <= columns.to; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best < limit + 1 ? best : limit + 1;
            least = row[j] < least ? row[j] : least;
        }
        if (least > limit)
            return limit + 1;
    }
    return row[n_b];
}

static bool lengths_are_near(size_t a, size_t b, size_t limit)
{
    return a <= b + limit && b <= a + limit;
}

eddy__nearest eddy__nearest_to(const char *name, size_t length)
{
    const size_t third = (length + 1) / 3;
    eddy__nearest nearest = {.name = name, .length = length};

    if (length > 0 && length <= EDDY__NEAREST_LONGEST)
        nearest.limit = third < FURTHEST ? third : FURTHEST;
    return nearest;
}

void eddy__nearest_offer(eddy__nearest *nearest, const char *other)
{
    const size_t n = strnlen(other, EDDY__NEAREST_LONGEST + 1);
    size_t found;

    if (nearest->limit == 0 || nearest->work >= WORK)
        return;
    nearest->work++;
    if (n > EDDY__NEAREST_LONGEST ||
        !lengths_are_near(nearest->length, n, nearest->limit))
        return;
    found = distance(nearest->name, nearest->length, other, n, nearest->limit);
    nearest->work += nearest->length * (2 * nearest->limit + 1);
    if (found > nearest->limit)
        return;
    nearest->found = other;
    nearest->limit = found > 0 ? found - 1 : 0;
}

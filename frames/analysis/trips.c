/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the trips of a loop that counts in integers by arithmetic on its
 * start, step and limit.
 */
#include "frames/analysis/trips.h"

bool eddy__integer_range(eddy_dtype dtype, eddy__range *out)
{
    switch (dtype) {
    case EDDY_INT8:
        *out = (eddy__range){INT8_MIN, INT8_MAX};
        return true;
    case EDDY_INT16:
        *out = (eddy__range){INT16_MIN, INT16_MAX};
        return true;
    case EDDY_INT32:
        *out = (eddy__range){INT32_MIN, INT32_MAX};
        return true;
    case EDDY_INT64:
        *out = (eddy__range){INT64_MIN, INT64_MAX};
        return true;
    default:
        return false;
    }
}

int64_t eddy__trips_read_integer(const eddy_tensor *tensor)
{
    const void *data = eddy_tensor_data(tensor);

    switch (eddy_tensor_dtype(tensor)) {
    case EDDY_INT8:
        return *(const int8_t *)data;
    case EDDY_INT16:
        return *(const int16_t *)data;
    case EDDY_INT32:
        return *(const int32_t *)data;
    default:
        return *(const int64_t *)data;
    }
}

/* Mirrors a counter that counts down; false if that does not fit. */
static bool mirror(eddy__counted *c)
{
    const int64_t lowest = c->range.lowest;

    if (c->start == INT64_MIN || c->step == INT64_MIN || c->limit == INT64_MIN)
        return false;
    c->start = -c->start;
    c->step = -c->step;
    c->limit = -c->limit;
    /* The lowest value of a dtype has no mirror image, and stays unused. */
    c->range.lowest = -c->range.highest;
    c->range.highest = lowest == INT64_MIN ? INT64_MAX : -lowest;
    return true;
}

/* Trips until start + trips * step reaches `limit`; -1 if it never does. */
static int64_t count_up(const eddy__counted *c, bool exactly)
{
    int64_t distance, last;
    uint64_t trips;

    if (c->start >= c->limit)
        return exactly && c->start != c->limit ? -1 : 0;
    if (c->step <= 0 || __builtin_sub_overflow(c->limit, c->start, &distance))
        return -1;
    trips = (uint64_t)(distance / c->step) + (distance % c->step != 0);
    /* The last value must not wrap around. */
    if ((exactly && distance % c->step != 0) || trips > INT64_MAX ||
        __builtin_mul_overflow((int64_t)trips, c->step, &last) ||
        __builtin_add_overflow(last, c->start, &last) ||
        last > c->range.highest)
        return -1;
    return (int64_t)trips;
}

int64_t eddy__count_trips(eddy__counted c, eddy_comparison comparison)
{
    const bool is_down = comparison == EDDY_GREATER ||
                         comparison == EDDY_GREATER_EQUAL ||
                         (comparison == EDDY_NOT_EQUAL && c.start > c.limit);
    const bool with_limit =
        comparison == EDDY_LESS_EQUAL || comparison == EDDY_GREATER_EQUAL;

    if (is_down && !mirror(&c))
        return -1;
    if (with_limit && __builtin_add_overflow(c.limit, 1, &c.limit))
        return -1;
    return count_up(&c, comparison == EDDY_NOT_EQUAL);
}

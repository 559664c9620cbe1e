/* SPDX-License-Identifier: Apache-2.0 */
/* How often loops turn that count in integers, against loops that count. */
#include "frames/analysis/trips.h"

#include "tests/aid/program.h"
#include "tests/suites.h"

static bool goes_on(int64_t value, int64_t limit, eddy_comparison comparison)
{
    switch (comparison) {
    case EDDY_LESS:
        return value < limit;
    case EDDY_LESS_EQUAL:
        return value <= limit;
    case EDDY_GREATER:
        return value > limit;
    case EDDY_GREATER_EQUAL:
        return value >= limit;
    default:
        return value != limit;
    }
}

/* -1 if the counter would leave the range, or stand still. */
static int64_t count_by_hand(const eddy__counted *c, eddy_comparison comparison)
{
    int64_t value = c->start, trips = 0;

    while (goes_on(value, c->limit, comparison)) {
        value += c->step;
        trips++;
        if (c->step == 0 || value < c->range.lowest || value > c->range.highest)
            return -1;
    }
    return trips;
}

/*
 * Every start, step and limit of a small dtype.  A count may be missing where
 * it takes more than the rule knows of (the lowest value has no mirror image),
 * but none may be wrong.
 */
START_TEST(a_count_is_the_number_of_trips_that_are_made)
{
    const eddy_comparison comparison = (eddy_comparison)_i;
    int64_t n_known = 0, n_missing = 0;
    eddy__counted c = {.range = {-16, 15}};

    for (c.start = -16; c.start <= 15; c.start++)
        for (c.limit = -16; c.limit <= 15; c.limit++)
            for (c.step = -16; c.step <= 15; c.step++) {
                const int64_t wanted = count_by_hand(&c, comparison);
                const int64_t got = eddy__count_trips(c, comparison);

                ck_assert_msg(got == wanted || got == -1,
                              "from %d by %d to %d: %d trips, wanted %d",
                              (int)c.start, (int)c.step, (int)c.limit, (int)got,
                              (int)wanted);
                n_known += wanted >= 0 && got == wanted;
                n_missing += wanted >= 0 && got == -1;
            }
    ck_assert_int_gt(n_known, 0);
    ck_assert_int_lt(n_missing, n_known / 8);
}
END_TEST

static const struct {
    eddy__counted counted;
    eddy_comparison comparison;
    int64_t trips;
} ends[] = {
    /* The differences of which 64 bits do not hold. */
    {{INT64_MIN, 1, INT64_MAX, {INT64_MIN, INT64_MAX}}, EDDY_LESS, -1},
    {{0, 1, INT64_MAX, {INT64_MIN, INT64_MAX}}, EDDY_LESS, INT64_MAX},
    {{0, 1, INT64_MAX, {INT64_MIN, INT64_MAX}}, EDDY_LESS_EQUAL, -1},
    {{0, 2, INT64_MAX, {INT64_MIN, INT64_MAX}}, EDDY_LESS, -1},
    {{0, -1, INT64_MIN, {INT64_MIN, INT64_MAX}}, EDDY_GREATER, -1},
    {{0, 2, INT32_MAX, {INT32_MIN, INT32_MAX}}, EDDY_LESS, -1},
    {{1, 2, INT32_MAX, {INT32_MIN, INT32_MAX}}, EDDY_LESS, INT32_MAX / 2},
    {{5, 3, 5, {INT32_MIN, INT32_MAX}}, EDDY_NOT_EQUAL, 0},
    {{0, 3, 10, {INT32_MIN, INT32_MAX}}, EDDY_NOT_EQUAL, -1},
    {{10, -2, 0, {INT32_MIN, INT32_MAX}}, EDDY_NOT_EQUAL, 5},
};

START_TEST(counts_at_the_ends_of_a_dtype_do_not_wrap)
{
    ck_assert_int_eq(eddy__count_trips(ends[_i].counted, ends[_i].comparison),
                     ends[_i].trips);
}
END_TEST

START_TEST(signed_integers_alone_have_a_range)
{
    eddy__range range;

    ck_assert(eddy__integer_range(EDDY_INT8, &range));
    ck_assert_int_eq(range.lowest, INT8_MIN);
    ck_assert_int_eq(range.highest, INT8_MAX);
    ck_assert(eddy__integer_range(EDDY_INT64, &range));
    ck_assert(range.lowest == INT64_MIN && range.highest == INT64_MAX);
    ck_assert(!eddy__integer_range(EDDY_UINT8, &range));
    ck_assert(!eddy__integer_range(EDDY_FLOAT32, &range));
    ck_assert(!eddy__integer_range(EDDY_BOOL, &range));
}
END_TEST

START_TEST(an_element_is_read_by_its_dtype)
{
    const int8_t narrow = -3;
    const int16_t middle = -300;
    const int64_t wide = INT64_MIN;
    const eddy_shape scalar = {.rank = 0};
    const struct {
        eddy_dtype dtype;
        const void *element;
        int64_t value;
    } elements[] = {{EDDY_INT8, &narrow, -3},
                    {EDDY_INT16, &middle, -300},
                    {EDDY_INT64, &wide, INT64_MIN}};
    program p;

    program_init(&p, 0);
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        eddy_tensor *tensor =
            program_tensor(&p, elements[i].dtype, &scalar, elements[i].element);

        ck_assert(eddy__trips_read_integer(tensor) == elements[i].value);
        eddy_tensor_release(tensor);
    }
    program_deinit(&p);
}
END_TEST

TCase *trips_tests(void)
{
    TCase *tc = tcase_create("trips");

    tcase_add_loop_test(tc, a_count_is_the_number_of_trips_that_are_made,
                        EDDY_LESS, EDDY_NOT_EQUAL + 1);
    tcase_add_loop_test(tc, counts_at_the_ends_of_a_dtype_do_not_wrap, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_test(tc, signed_integers_alone_have_a_range);
    tcase_add_test(tc, an_element_is_read_by_its_dtype);
    return tc;
}

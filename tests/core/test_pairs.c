/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of pairs of numbers. */
#include "core/graph/pairs.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

static counting_allocator counting;
static eddy__pairs pairs;

static void setup(void)
{
    counting_allocator_init(&counting);
    pairs = (eddy__pairs){.allocator = &counting.allocator};
}

static void teardown(void)
{
    eddy__pairs_deinit(&pairs);
    counting_allocator_want_none(&counting);
}

START_TEST(an_empty_set_has_nothing)
{
    ck_assert(!eddy__pairs_has(&pairs, 0, 0));
}
END_TEST

START_TEST(a_pair_is_not_its_mirror_or_neighbour)
{
    ck_assert(eddy__pairs_add(&pairs, 3, 4));
    ck_assert(eddy__pairs_has(&pairs, 3, 4));
    ck_assert(!eddy__pairs_has(&pairs, 4, 3));
    ck_assert(!eddy__pairs_has(&pairs, 3, 5));
    ck_assert(!eddy__pairs_has(&pairs, 2, 4));
    ck_assert(eddy__pairs_add(&pairs, 0, 0));
    ck_assert(eddy__pairs_has(&pairs, 0, 0));
}
END_TEST

START_TEST(the_largest_numbers_are_kept_apart)
{
    ck_assert(eddy__pairs_add(&pairs, 7, UINT32_MAX - 1));
    ck_assert(!eddy__pairs_has(&pairs, 8, 0));
    ck_assert(eddy__pairs_add(&pairs, UINT32_MAX - 1, UINT32_MAX - 1));
    ck_assert(eddy__pairs_has(&pairs, UINT32_MAX - 1, UINT32_MAX - 1));
    ck_assert_uint_eq(pairs.size, 2);
}
END_TEST

START_TEST(adding_again_adds_nothing)
{
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++)
            ck_assert(eddy__pairs_add(&pairs, i % 7, i));
    ck_assert_uint_eq(pairs.size, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        for (uint32_t a = 0; a < 7; a++)
            ck_assert_int_eq(eddy__pairs_has(&pairs, a, i), a == i % 7);
}
END_TEST

START_TEST(without_memory_the_set_stays_as_it_was)
{
    for (uint32_t i = 0; i < 32; i++)
        ck_assert(eddy__pairs_add(&pairs, 0, i));
    counting_allocator_allow(&counting, 0);
    ck_assert(!eddy__pairs_add(&pairs, 0, 32));
    ck_assert(eddy__pairs_add(&pairs, 0, 31));
    ck_assert(!eddy__pairs_has(&pairs, 0, 32));
    ck_assert_uint_eq(pairs.size, 32);
}
END_TEST

TCase *pairs_tests(void)
{
    TCase *tc = tcase_create("pairs");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_empty_set_has_nothing);
    tcase_add_test(tc, a_pair_is_not_its_mirror_or_neighbour);
    tcase_add_test(tc, the_largest_numbers_are_kept_apart);
    tcase_add_test(tc, adding_again_adds_nothing);
    tcase_add_test(tc, without_memory_the_set_stays_as_it_was);
    return tc;
}

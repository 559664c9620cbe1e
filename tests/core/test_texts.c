/* SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"
#include "core/value/tensor.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define MANY 5000

static counting_allocator counting;
static eddy__heap heap;

static void begin(void)
{
    counting_allocator_init(&counting);
    ck_assert(eddy__heap_init(&heap, &counting.allocator));
}

static void end(void)
{
    eddy__heap_deinit(&heap);
    counting_allocator_want_none(&counting);
}

static eddy_tensor *make(int64_t n)
{
    eddy_tensor *t = eddy__tensor_create(&heap, NULL, NULL, EDDY_STRING,
                                         &(eddy_shape){.rank = 1, .dims = {n}});

    ck_assert_ptr_nonnull(t);
    return t;
}

/* Element `i` becomes "<name> <i>". */
static bool set(eddy_tensor *t, int64_t i, const char *name)
{
    char text[40];

    return eddy__tensor_set_string(
        t, i, text, (size_t)snprintf(text, sizeof text, "%s %d", name, (int)i));
}

static void want(const eddy_tensor *t, int64_t i, const char *name)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%s %d", name, (int)i);
    ck_assert_str_eq(eddy_tensor_string(t, i).data, text);
    ck_assert_uint_eq(eddy_tensor_string(t, i).length, strlen(text));
}

START_TEST(many_strings_take_few_blocks)
{
    eddy_tensor *t = make(MANY);
    const long long before = counting.calls;

    for (int64_t i = 0; i < MANY; i++)
        ck_assert(set(t, i, "string"));
    ck_assert_int_lt(counting.calls - before, 20);
    for (int64_t i = 0; i < MANY; i++)
        want(t, i, "string");
    eddy__tensor_recycle(&heap, t);
}
END_TEST

START_TEST(long_strings_and_empty_ones_are_among_them)
{
    static char letters[100000];
    eddy_tensor *t = make(MANY);

    memset(letters, 'x', sizeof letters);
    for (int64_t i = 0; i < MANY; i += 2)
        ck_assert(eddy__tensor_set_string(t, i, letters, (size_t)i * 17));
    for (int64_t i = 0; i < MANY; i++)
        ck_assert_uint_eq(eddy_tensor_string(t, i).length,
                          i % 2 ? 0 : (size_t)i * 17);
    ck_assert_mem_eq(eddy_tensor_string(t, MANY - 2).data, letters,
                     (MANY - 2) * 17);
    eddy__tensor_recycle(&heap, t);
}
END_TEST

/* Else a variable of strings would grow with each update. */
START_TEST(strings_that_are_replaced_do_not_pile_up)
{
    eddy_tensor *t = make(MANY);
    long long live;

    for (int64_t i = 0; i < MANY; i++)
        ck_assert(set(t, i, "first"));
    for (int64_t i = 0; i < MANY; i++)
        ck_assert(set(t, i, "second"));
    for (int64_t i = 0; i < MANY; i++)
        ck_assert(set(t, i, "second"));
    live = counting.live_bytes;
    for (int round = 0; round < 10; round++)
        for (int64_t i = 0; i < MANY; i++) {
            ck_assert(eddy__tensor_set_string(t, i, "", 0));
            ck_assert(set(t, i, round % 2 ? "second" : "longer"));
        }
    ck_assert_int_eq(counting.live_bytes, live);
    for (int64_t i = 0; i < MANY; i++)
        want(t, i, "second");
    eddy__tensor_recycle(&heap, t);
}
END_TEST

START_TEST(a_tensor_of_which_nothing_was_set_is_given_back)
{
    eddy_tensor *t = make(MANY);

    ck_assert_str_eq(eddy_tensor_string(t, MANY - 1).data, "");
    eddy__tensor_recycle(&heap, t);
}
END_TEST

START_TEST(without_memory_an_element_stays_as_it_was)
{
    eddy_tensor *t = make(MANY);
    int64_t n = 0;

    ck_assert(set(t, 0, "first"));
    counting_allocator_allow(&counting, 0);
    while (set(t, n, "again"))
        n++;
    ck_assert_int_gt(n, 0);
    ck_assert(!set(t, n, "again"));
    ck_assert(!eddy__tensor_set_string(t, 0, "longer", SIZE_MAX));
    counting_allocator_allow(&counting, -1);
    want(t, n - 1, "again");
    ck_assert_uint_eq(eddy_tensor_string(t, n).length, 0);
    eddy__tensor_recycle(&heap, t);
}
END_TEST

TCase *texts_tests(void)
{
    TCase *tests = tcase_create("texts");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, many_strings_take_few_blocks);
    tcase_add_test(tests, long_strings_and_empty_ones_are_among_them);
    tcase_add_test(tests, strings_that_are_replaced_do_not_pile_up);
    tcase_add_test(tests, a_tensor_of_which_nothing_was_set_is_given_back);
    tcase_add_test(tests, without_memory_an_element_stays_as_it_was);
    return tests;
}

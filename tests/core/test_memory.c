/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/memory.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

#define ALIGNMENT _Alignof(max_align_t)

START_TEST(sizes_that_do_not_fit_are_seen)
{
    size_t result;

    ck_assert(eddy__mul_size(SIZE_MAX / 2, 2, &result));
    ck_assert_uint_eq(result, SIZE_MAX - 1);
    ck_assert(!eddy__mul_size(SIZE_MAX / 2 + 1, 2, &result));
    ck_assert(eddy__add_size(SIZE_MAX - 1, 1, &result));
    ck_assert(!eddy__add_size(SIZE_MAX, 1, &result));
    ck_assert_ptr_null(
        eddy__allocate(eddy__default_allocator(), SIZE_MAX / 2, 3));
    ck_assert_ptr_null(
        eddy__allocate_zeroed(eddy__default_allocator(), SIZE_MAX, SIZE_MAX));
    ck_assert_ptr_null(
        eddy__allocate_aligned(eddy__default_allocator(), SIZE_MAX - 8, 64));
}
END_TEST

START_TEST(the_default_allocator_aligns)
{
    const eddy_allocator *allocator = eddy__default_allocator();

    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        char *memory = eddy__allocate_aligned(allocator, 33, alignment);

        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % alignment, 0);
        memset(memory, 1, 33);
        eddy__free(allocator, memory, 33, 1);
    }
}
END_TEST

START_TEST(no_bytes_are_memory_too)
{
    counting_allocator counting;
    void *memory;

    counting_allocator_init(&counting);
    memory = eddy__allocate(&counting.allocator, 0, 8);
    ck_assert_ptr_nonnull(memory);
    eddy__free(&counting.allocator, memory, 0, 8);
    memory = eddy__allocate_zeroed(&counting.allocator, 3, 0);
    ck_assert_ptr_nonnull(memory);
    eddy__free(&counting.allocator, memory, 3, 0);
    eddy__free(&counting.allocator, NULL, 3, 8);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(zeroed_memory_is_zero)
{
    counting_allocator counting;
    unsigned char *memory;

    counting_allocator_init(&counting);
    memory = eddy__allocate_zeroed(&counting.allocator, 100, 3);
    for (size_t i = 0; i < 300; i++)
        ck_assert_uint_eq(memory[i], 0);
    eddy__free(&counting.allocator, memory, 100, 3);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(arrays_grow_by_doubling)
{
    counting_allocator counting;
    int *array = NULL;
    size_t capacity = 0;

    counting_allocator_init(&counting);
    for (size_t n = 0; n < 1000; n++) {
        ck_assert(eddy__grow(&counting.allocator, (void **)&array, &capacity,
                             n + 1, sizeof *array));
        ck_assert_uint_gt(capacity, n);
        array[n] = (int)n;
    }
    for (size_t n = 0; n < 1000; n++)
        ck_assert_int_eq(array[n], (int)n);
    ck_assert_int_le(atomic_load(&counting.calls), 10);
    ck_assert(eddy__grow(&counting.allocator, (void **)&array, &capacity, 5000,
                         sizeof *array));
    ck_assert_uint_eq(capacity, 5000);
    ck_assert_int_eq(array[999], 999);
    eddy__free(&counting.allocator, array, capacity, sizeof *array);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(growing_that_fails_changes_nothing)
{
    counting_allocator counting;
    int *array = NULL, *before;
    size_t capacity = 0;

    counting_allocator_init(&counting);
    ck_assert(eddy__grow(&counting.allocator, (void **)&array, &capacity, 3,
                         sizeof *array));
    array[2] = 7;
    before = array;
    ck_assert(!eddy__grow(&counting.allocator, (void **)&array, &capacity,
                          SIZE_MAX, sizeof *array));
    counting_allocator_allow(&counting, 0);
    ck_assert(!eddy__grow(&counting.allocator, (void **)&array, &capacity, 9,
                          sizeof *array));
    ck_assert_ptr_eq(array, before);
    ck_assert_uint_eq(capacity, 8);
    ck_assert_int_eq(array[2], 7);
    eddy__free(&counting.allocator, array, capacity, sizeof *array);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(an_arena_keeps_its_blocks_apart)
{
    counting_allocator counting;
    eddy__arena arena = {.allocator = &counting.allocator};
    unsigned char *blocks[500];
    size_t sizes[500];

    counting_allocator_init(&counting);
    for (size_t i = 0; i < 500; i++) {
        /* All sizes up to a few chunks, small ones among the large. */
        sizes[i] = i % 7 == 0 ? i * 53 : i % 61;
        blocks[i] = eddy__arena_allocate(&arena, sizes[i], 1);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % ALIGNMENT, 0);
        memset(blocks[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t j = 0; j < sizes[i]; j++)
            ck_assert_uint_eq(blocks[i][j], i & 0xff);
    }
    ck_assert_int_eq(atomic_load(&counting.live_bytes), (long long)arena.bytes);
    eddy__arena_destroy(&arena);
    ck_assert_uint_eq(arena.bytes, 0);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(an_arena_of_small_blocks_calls_its_allocator_seldom)
{
    counting_allocator counting;
    eddy__arena arena = {.allocator = &counting.allocator};

    counting_allocator_init(&counting);
    for (size_t i = 0; i < 100000; i++) {
        ck_assert_ptr_nonnull(eddy__arena_allocate(&arena, 3, 16));
        /* A large block leaves the room of the chunk to the small ones. */
        if (i % 50000 == 49999)
            ck_assert_ptr_nonnull(eddy__arena_allocate(&arena, 3, 1 << 20));
    }
    ck_assert_int_le(atomic_load(&counting.calls), 20);
    ck_assert_uint_le(arena.bytes, 2 * 100000 * 48 + 6 * (1 << 20));
    eddy__arena_destroy(&arena);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(an_arena_copies)
{
    counting_allocator counting;
    eddy__arena arena = {.allocator = &counting.allocator};
    const int numbers[3] = {1, 2, 3};
    const unsigned char *zeros;
    const int *copy;
    const char *text;

    counting_allocator_init(&counting);
    copy = eddy__arena_copy(&arena, numbers, 3, sizeof numbers[0]);
    ck_assert_mem_eq(copy, numbers, sizeof numbers);
    ck_assert_ptr_nonnull(eddy__arena_copy(&arena, NULL, 0, 8));
    text = eddy__arena_text(&arena, "abcdef", 3);
    ck_assert_str_eq(text, "abc");
    ck_assert_str_eq(eddy__arena_text(&arena, NULL, 0), "");
    zeros = eddy__arena_allocate_zeroed(&arena, 20, 5);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(zeros[i], 0);
    eddy__arena_destroy(&arena);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(an_arena_without_memory_stays_usable)
{
    counting_allocator counting;
    eddy__arena arena = {.allocator = &counting.allocator};
    char *text;

    counting_allocator_init(&counting);
    text = eddy__arena_text(&arena, "kept", 4);
    counting_allocator_allow(&counting, 0);
    ck_assert_ptr_null(eddy__arena_allocate(&arena, 10000, 1));
    ck_assert_ptr_null(eddy__arena_allocate(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(eddy__arena_allocate(&arena, SIZE_MAX, 1));
    ck_assert_ptr_null(eddy__arena_allocate(&arena, SIZE_MAX - 32, 1));
    ck_assert_ptr_null(eddy__arena_text(&arena, "", SIZE_MAX));
    ck_assert_ptr_null(eddy__arena_copy(&arena, text, SIZE_MAX, 2));
    ck_assert_ptr_null(eddy__arena_allocate_zeroed(&arena, 1000, 1000));
    ck_assert_str_eq(text, "kept");
    counting_allocator_allow(&counting, 1);
    ck_assert_ptr_nonnull(eddy__arena_allocate(&arena, 10000, 1));
    eddy__arena_destroy(&arena);
    counting_allocator_want_none(&counting);
}
END_TEST

TCase *memory_tests(void)
{
    TCase *tests = tcase_create("memory");

    tcase_add_test(tests, sizes_that_do_not_fit_are_seen);
    tcase_add_test(tests, the_default_allocator_aligns);
    tcase_add_test(tests, no_bytes_are_memory_too);
    tcase_add_test(tests, zeroed_memory_is_zero);
    tcase_add_test(tests, arrays_grow_by_doubling);
    tcase_add_test(tests, growing_that_fails_changes_nothing);
    tcase_add_test(tests, an_arena_keeps_its_blocks_apart);
    tcase_add_test(tests, an_arena_of_small_blocks_calls_its_allocator_seldom);
    tcase_add_test(tests, an_arena_copies);
    tcase_add_test(tests, an_arena_without_memory_stays_usable);
    return tests;
}

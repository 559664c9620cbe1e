/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/memory.h"
#include "core/base/thread.h"
#include "core/value/heap.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

#define LARGEST ((size_t)512 << 10)

static int64_t read_held(const eddy__account *account)
{
    return atomic_load(&account->held) - EDDY__ACCOUNT_BIAS;
}

static void start(counting_allocator *counting, eddy__heap *heap)
{
    counting_allocator_init(counting);
    ck_assert(eddy__heap_init(heap, &counting->allocator));
}

static void finish(counting_allocator *counting, eddy__heap *heap)
{
    eddy__heap_deinit(heap);
    counting_allocator_want_none(counting);
}

START_TEST(blocks_are_aligned_and_large_enough)
{
    counting_allocator counting;
    eddy__heap heap;

    start(&counting, &heap);
    for (size_t size = 0; size < 2 * LARGEST; size += 1 + size / 7) {
        size_t got = 0;
        unsigned char *block = eddy__heap_allocate(&heap, size, &got);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % EDDY__CACHE_LINE, 0);
        ck_assert_uint_ge(got, size);
        /* Of more than four lines at most a fifth is lost. */
        if (size > (size_t)4 * EDDY__CACHE_LINE)
            ck_assert_uint_le(got * 4, size * 5);
        memset(block, 1, got);
        eddy__heap_recycle(&heap, block, got);
    }
    finish(&counting, &heap);
}
END_TEST

START_TEST(every_class_is_used_and_keeps_its_blocks_apart)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t last = 0, classes = 0;

    start(&counting, &heap);
    for (size_t size = 1; size <= LARGEST; size = last + 1) {
        size_t got, again;
        void *block = eddy__heap_allocate(&heap, size, &got);

        ck_assert_uint_gt(got, last);
        eddy__heap_recycle(&heap, block, got);
        ck_assert_uint_eq(heap.cached, got);
        /* The last size of the class finds the same block. */
        ck_assert_ptr_eq(eddy__heap_allocate(&heap, got, &again), block);
        ck_assert_uint_eq(again, got);
        ck_assert_uint_eq(heap.cached, 0);
        eddy__heap_recycle(&heap, block, got);
        eddy__heap_trim(&heap);
        last = got;
        classes++;
    }
    ck_assert_uint_eq(classes, EDDY__HEAP_CLASSES);
    ck_assert_uint_eq(last, LARGEST);
    finish(&counting, &heap);
}
END_TEST

START_TEST(a_steady_loop_allocates_nothing)
{
    counting_allocator counting;
    eddy__heap heap;
    long long calls;

    start(&counting, &heap);
    for (int i = 0; i < 100; i++) {
        size_t sizes[3];
        void *blocks[3];

        for (size_t j = 0; j < 3; j++) {
            blocks[j] = eddy__heap_allocate(&heap, 100 + j * 1000, &sizes[j]);
            memset(blocks[j], i, sizes[j]);
        }
        for (size_t j = 0; j < 3; j++)
            eddy__heap_recycle(&heap, blocks[j], sizes[j]);
        if (i == 0)
            calls = atomic_load(&counting.calls);
    }
    ck_assert_int_eq(atomic_load(&counting.calls), calls);
    ck_assert_uint_eq(atomic_load(&heap.account->allocations), 3);
    finish(&counting, &heap);
}
END_TEST

START_TEST(large_blocks_are_kept_for_their_like)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size, other;
    void *block, *little;

    start(&counting, &heap);
    block = eddy__heap_allocate(&heap, LARGEST + 1, &size);
    ck_assert_uint_eq(size, LARGEST + EDDY__CACHE_LINE);
    ck_assert_int_eq(read_held(heap.account), (int64_t)size);
    eddy__heap_recycle(&heap, block, size);
    ck_assert_uint_eq(heap.cached, size);
    ck_assert_int_eq(read_held(heap.account), (int64_t)size);
    /* Not for what is larger, or much smaller. */
    block = eddy__heap_allocate(&heap, size + 1, &other);
    ck_assert_uint_eq(heap.cached, size);
    eddy__heap_recycle(&heap, block, other);
    ck_assert_ptr_eq(eddy__heap_allocate(&heap, size + 1, &other), block);
    eddy__heap_recycle(&heap, block, other);
    eddy__heap_trim(&heap);
    ck_assert_uint_eq(heap.cached, 0);
    ck_assert_int_eq(read_held(heap.account), 0);
    block = eddy__heap_allocate(&heap, 2 * LARGEST, &size);
    eddy__heap_recycle(&heap, block, size);
    little = eddy__heap_allocate(&heap, LARGEST + 1, &other);
    ck_assert_ptr_ne(little, block);
    ck_assert_uint_eq(heap.cached, size);
    block = eddy__heap_allocate(&heap, 2 * LARGEST - LARGEST / 8, &size);
    ck_assert_uint_eq(size, 2 * LARGEST);
    ck_assert_uint_eq(heap.cached, 0);
    eddy__heap_recycle(&heap, block, size);
    eddy__heap_recycle(&heap, little, other);
    finish(&counting, &heap);
}
END_TEST

/* A tensor that grows leaves blocks behind that nobody will want. */
START_TEST(no_more_large_bytes_are_kept_than_were_in_use)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size;

    start(&counting, &heap);
    for (size_t i = 2; i < 20; i++) {
        void *block = eddy__heap_allocate(&heap, i * LARGEST, &size);

        ck_assert_int_le(read_held(heap.account), (int64_t)(2 * size));
        eddy__heap_recycle(&heap, block, size);
        ck_assert_uint_le(heap.cached, size);
        ck_assert_uint_eq(heap.cached, heap.cached_large);
    }
    finish(&counting, &heap);
}
END_TEST

START_TEST(a_steady_loop_allocates_no_large_blocks)
{
    counting_allocator counting;
    eddy__heap heap;
    long long calls = 0;

    start(&counting, &heap);
    for (int i = 0; i < 4; i++) {
        size_t sizes[EDDY__HEAP_LARGE];
        void *blocks[EDDY__HEAP_LARGE];

        for (size_t j = 0; j < EDDY__HEAP_LARGE; j++) {
            blocks[j] = eddy__heap_allocate(&heap, (1 + j % 5) * LARGEST + 8,
                                            &sizes[j]);
            memset(blocks[j], i, 64);
        }
        for (size_t j = 0; j < EDDY__HEAP_LARGE; j++)
            eddy__heap_recycle(&heap, blocks[j], sizes[j]);
        if (i == 0)
            calls = atomic_load(&counting.calls);
    }
    ck_assert_int_eq(atomic_load(&counting.calls), calls);
    finish(&counting, &heap);
}
END_TEST

START_TEST(the_account_counts_cached_blocks_too)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size;
    void *block, *other;

    start(&counting, &heap);
    block = eddy__heap_allocate(&heap, 64, &size);
    ck_assert_int_eq(read_held(heap.account), 64);
    eddy__heap_recycle(&heap, block, size);
    ck_assert_int_eq(read_held(heap.account), 64);
    other = eddy__account_allocate(heap.account, 1000);
    ck_assert_int_eq(read_held(heap.account), 1064);
    eddy__heap_trim(&heap);
    ck_assert_int_eq(read_held(heap.account), 1000);
    ck_assert_int_eq(atomic_load(&heap.account->peak), 1064);
    eddy__account_free(heap.account, other, 1000);
    eddy__account_free(heap.account, NULL, 1000);
    ck_assert_uint_eq(atomic_load(&heap.account->allocations), 2);
    finish(&counting, &heap);
}
END_TEST

START_TEST(an_account_counts_anew)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size, other_size;
    void *block, *other;

    start(&counting, &heap);
    block = eddy__heap_allocate(&heap, 64, &size);
    other = eddy__heap_allocate(&heap, 1024, &other_size);
    eddy__heap_recycle(&heap, other, other_size);
    eddy__heap_trim(&heap);
    ck_assert_int_eq(atomic_load(&heap.account->peak), 1088);
    eddy__account_restart(heap.account);
    ck_assert_int_eq(read_held(heap.account), 64);
    ck_assert_int_eq(atomic_load(&heap.account->peak), 64);
    ck_assert_uint_eq(atomic_load(&heap.account->allocations), 0);
    eddy__heap_recycle(&heap, block, size);
    finish(&counting, &heap);
}
END_TEST

START_TEST(the_limit_is_exact)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size;
    void *blocks[4];

    start(&counting, &heap);
    heap.account->limit = 256;
    for (int i = 0; i < 4; i++) {
        blocks[i] = eddy__heap_allocate(&heap, 64, &size);
        ck_assert_ptr_nonnull(blocks[i]);
    }
    ck_assert(!heap.limit_hit);
    ck_assert_ptr_null(eddy__heap_allocate(&heap, 1, &size));
    ck_assert(heap.limit_hit);
    ck_assert_ptr_null(eddy__account_allocate(heap.account, 1));
    ck_assert_int_eq(read_held(heap.account), 256);
    ck_assert_int_eq(atomic_load(&heap.account->peak), 256);
    eddy__heap_recycle(&heap, blocks[0], 64);
    blocks[0] = eddy__heap_allocate(&heap, 1, &size);
    ck_assert_ptr_nonnull(blocks[0]);
    for (int i = 0; i < 4; i++)
        eddy__heap_recycle(&heap, blocks[i], 64);
    finish(&counting, &heap);
}
END_TEST

START_TEST(at_the_limit_cached_blocks_are_given_up)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size, large;
    void *block;

    start(&counting, &heap);
    heap.account->limit = 1024;
    block = eddy__heap_allocate(&heap, 512, &size);
    eddy__heap_recycle(&heap, block, size);
    ck_assert_ptr_null(eddy__heap_allocate(&heap, 1025, &large));
    ck_assert(heap.limit_hit);
    block = eddy__heap_allocate(&heap, 512, &size);
    eddy__heap_recycle(&heap, block, size);
    block = eddy__heap_allocate(&heap, 1024, &large);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq(heap.cached, 0);
    eddy__heap_recycle(&heap, block, large);
    finish(&counting, &heap);
}
END_TEST

/* Small blocks in use count among what large ones are kept up to. */
START_TEST(two_large_blocks_are_kept_where_small_ones_were_in_use)
{
    counting_allocator counting;
    size_t size_a, size_b, sizes[3];
    void *a, *b, *small[3];
    eddy__heap heap;

    start(&counting, &heap);
    a = eddy__heap_allocate(&heap, 1 << 20, &size_a);
    for (size_t i = 0; i < 3; i++)
        small[i] = eddy__heap_allocate(&heap, 300000, &sizes[i]);
    eddy__heap_recycle(&heap, a, size_a);
    b = eddy__heap_allocate(&heap, 600000, &size_b);
    eddy__heap_recycle(&heap, b, size_b);
    ck_assert_uint_eq(heap.cached_large, size_a + size_b);
    for (size_t i = 0; i < 3; i++)
        eddy__heap_recycle(&heap, small[i], sizes[i]);
    finish(&counting, &heap);
}
END_TEST

START_TEST(limits_and_sizes_may_be_extreme)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size;
    void *block;

    start(&counting, &heap);
    ck_assert_ptr_null(eddy__heap_allocate(&heap, SIZE_MAX, &size));
    ck_assert(!heap.limit_hit);
    heap.account->limit = INT64_MAX;
    ck_assert_ptr_null(eddy__heap_allocate(&heap, SIZE_MAX - 63, &size));
    ck_assert(heap.limit_hit);
    ck_assert_ptr_null(eddy__account_allocate(heap.account, SIZE_MAX));
    block = eddy__heap_allocate(&heap, 1, &size);
    ck_assert_ptr_nonnull(block);
    eddy__heap_recycle(&heap, block, size);
    ck_assert_int_eq(read_held(heap.account), 64);
    finish(&counting, &heap);
}
END_TEST

START_TEST(failing_allocators_are_not_the_limit)
{
    counting_allocator counting;
    eddy__heap heap;
    size_t size;
    void *block;

    counting_allocator_init(&counting);
    counting_allocator_allow(&counting, 0);
    ck_assert(!eddy__heap_init(&heap, &counting.allocator));
    counting_allocator_allow(&counting, -1);
    start(&counting, &heap);
    heap.account->limit = 1 << 20;
    block = eddy__heap_allocate(&heap, 64, &size);
    eddy__heap_recycle(&heap, block, size);
    heap.limit_hit = true;
    counting_allocator_allow(&counting, 0);
    ck_assert_ptr_null(eddy__heap_allocate(&heap, 4096, &size));
    ck_assert(!heap.limit_hit);
    /* It gave up what it had cached to try again. */
    ck_assert_uint_eq(heap.cached, 0);
    ck_assert_int_eq(read_held(heap.account), 0);
    ck_assert_ptr_null(eddy__account_allocate(heap.account, 64));
    ck_assert_int_eq(read_held(heap.account), 0);
    finish(&counting, &heap);
}
END_TEST

START_TEST(the_account_outlives_its_heap)
{
    counting_allocator counting;
    eddy__account *account;
    eddy__heap heap;
    size_t size;
    void *a, *b;

    start(&counting, &heap);
    account = heap.account;
    a = eddy__heap_allocate(&heap, 64, &size);
    b = eddy__account_allocate(account, 10);
    eddy__heap_deinit(&heap);
    eddy__heap_deinit(&heap);
    eddy__account_free(account, b, 10);
    ck_assert_int_eq(atomic_load(&account->held), 64);
    eddy__account_free(account, a, size);
    counting_allocator_want_none(&counting);
}
END_TEST

typedef struct churn {
    eddy__account *account;
    atomic_int refused;
} churn;

static void churn_account(void *arg)
{
    churn *c = arg;

    for (size_t i = 0; i < 5000; i++) {
        const size_t size = 1 + i % 700;
        void *memory = eddy__account_allocate(c->account, size);

        if (!memory)
            atomic_fetch_add(&c->refused, 1);
        eddy__account_free(c->account, memory, size);
    }
}

START_TEST(threads_share_an_account)
{
    counting_allocator counting;
    eddy__heap heap;
    eddy__thread threads[3];
    churn c;

    start(&counting, &heap);
    heap.account->limit = 1400;
    c.account = heap.account;
    atomic_init(&c.refused, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            eddy__thread_start(&threads[i], 1 << 20, churn_account, &c, NULL),
            EDDY_OK);
    for (int i = 0; i < 3; i++)
        eddy__thread_join(&threads[i]);
    ck_assert_int_eq(read_held(heap.account), 0);
    ck_assert_int_le(atomic_load(&heap.account->peak), 1400);
    ck_assert_int_ge(atomic_load(&heap.account->peak), 700);
    ck_assert_uint_eq(atomic_load(&heap.account->allocations) +
                          (uint64_t)atomic_load(&c.refused),
                      15000);
    finish(&counting, &heap);
}
END_TEST

TCase *heap_tests(void)
{
    TCase *tests = tcase_create("heap");

    tcase_add_test(tests, blocks_are_aligned_and_large_enough);
    tcase_add_test(tests, every_class_is_used_and_keeps_its_blocks_apart);
    tcase_add_test(tests, a_steady_loop_allocates_nothing);
    tcase_add_test(tests, large_blocks_are_kept_for_their_like);
    tcase_add_test(tests, no_more_large_bytes_are_kept_than_were_in_use);
    tcase_add_test(tests, a_steady_loop_allocates_no_large_blocks);
    tcase_add_test(tests, the_account_counts_cached_blocks_too);
    tcase_add_test(tests, an_account_counts_anew);
    tcase_add_test(tests, the_limit_is_exact);
    tcase_add_test(tests, at_the_limit_cached_blocks_are_given_up);
    tcase_add_test(tests,
                   two_large_blocks_are_kept_where_small_ones_were_in_use);
    tcase_add_test(tests, limits_and_sizes_may_be_extreme);
    tcase_add_test(tests, failing_allocators_are_not_the_limit);
    tcase_add_test(tests, the_account_outlives_its_heap);
    tcase_add_test(tests, threads_share_an_account);
    return tests;
}

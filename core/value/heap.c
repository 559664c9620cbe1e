/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free lists by size.  A block is a number of cache lines: 1 to 4, then four
 * sizes to each doubling, so that at most a fifth of a block is lost.  Blocks
 * above the largest class have the size that was asked for, and are kept in the
 * order in which they came back: new memory of that size is slow, since the
 * system hands it out page by page, each cleared.
 */
#include "core/value/heap.h"

#include "core/base/memory.h"

#include <assert.h>
#include <string.h>

#define LINE ((size_t)EDDY__CACHE_LINE)

/* 512 KiB: class 3 is 4 lines, and four classes on it is twice as much. */
#define LARGEST (LINE * 4 << ((EDDY__HEAP_CLASSES - 4) / 4))

/* More than any machine has; keeps sums of sizes away from overflow. */
#define IMPOSSIBLE ((size_t)1 << 55)

/* Under the address sanitizer, cached blocks may not be touched. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_POISON 1
#endif

#ifdef HAS_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

typedef struct size_class {
    unsigned id;
    size_t size;
} size_class;

/* Requires: 0 < `size` <= LARGEST. */
static inline size_class classify(size_t size)
{
    const size_t last = (size - 1) / LINE;
    const unsigned shift = 61u - (unsigned)__builtin_clzll(last | 4);
    const size_t step = last >> shift;

    return (size_class){
        .id = 4 * shift + (unsigned)step,
        .size = (step + 1) * LINE << shift,
    };
}

static void raise_peak(eddy__account *account, int_fast64_t held)
{
    int_fast64_t peak =
        atomic_load_explicit(&account->peak, memory_order_relaxed);

    while (peak < held && !atomic_compare_exchange_weak_explicit(
                              &account->peak, &peak, held, memory_order_relaxed,
                              memory_order_relaxed))
        ;
}

/* Charges `size` unless that would go above the limit. */
static bool charge(eddy__account *account, size_t size)
{
    int_fast64_t held =
        atomic_load_explicit(&account->held, memory_order_relaxed);
    int_fast64_t sum;

    do {
        sum = held + (int_fast64_t)size;
        if (account->limit > 0 && sum - EDDY__ACCOUNT_BIAS > account->limit)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&account->held, &held, sum,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed));
    raise_peak(account, sum - EDDY__ACCOUNT_BIAS);
    return true;
}

/*
 * Takes `size` off; frees the account when nothing is left.  Release, so that
 * what others did with the account is done before it is freed; acquire, so that
 * whoever frees it sees that.
 */
static void discharge(eddy__account *account, size_t size)
{
    const int_fast64_t held = atomic_fetch_sub_explicit(
        &account->held, (int_fast64_t)size, memory_order_acq_rel);

    assert(held >= (int_fast64_t)size);
    if (held == (int_fast64_t)size)
        eddy__free(account->allocator, account, 1, sizeof *account);
}

/* Charges and allocates; `*out_limit` says whether the limit forbade it. */
static void *acquire(eddy__account *account, size_t size, bool *out_limit)
{
    void *memory;

    *out_limit = !charge(account, size);
    if (*out_limit)
        return NULL;
    atomic_fetch_add_explicit(&account->allocations, 1, memory_order_relaxed);
    memory = eddy__allocate_aligned(account->allocator, size, LINE);
    if (!memory)
        discharge(account, size);
    return memory;
}

void *eddy__account_allocate(eddy__account *account, size_t size)
{
    bool limit;

    return size < IMPOSSIBLE ? acquire(account, size, &limit) : NULL;
}

void eddy__account_free(eddy__account *account, void *memory, size_t size)
{
    if (!memory)
        return;
    eddy__free(account->allocator, memory, 1, size);
    discharge(account, size);
}

void eddy__account_restart(eddy__account *account)
{
    const int_fast64_t held =
        atomic_load_explicit(&account->held, memory_order_relaxed);

    atomic_store_explicit(&account->peak, held - EDDY__ACCOUNT_BIAS,
                          memory_order_relaxed);
    atomic_store_explicit(&account->allocations, 0, memory_order_relaxed);
}

bool eddy__heap_init(eddy__heap *heap, const eddy_allocator *allocator)
{
    eddy__account *account = eddy__allocate(allocator, 1, sizeof *account);

    if (!account)
        return false;
    account->allocator = allocator;
    account->limit = 0;
    atomic_init(&account->held, EDDY__ACCOUNT_BIAS);
    atomic_init(&account->peak, 0);
    atomic_init(&account->allocations, 0);
    *heap = (eddy__heap){.allocator = allocator, .account = account};
    return true;
}

void eddy__heap_deinit(eddy__heap *heap)
{
    if (!heap->account)
        return;
    eddy__heap_trim(heap);
    discharge(heap->account, EDDY__ACCOUNT_BIAS);
    heap->account = NULL;
}

/* Takes block `i` out of those that are kept. */
static eddy__large_block take_large(eddy__heap *heap, unsigned i)
{
    const eddy__large_block block = heap->large[i];

    heap->n_large--;
    memmove(&heap->large[i], &heap->large[i + 1],
            (heap->n_large - i) * sizeof *heap->large);
    heap->cached -= block.size;
    heap->cached_large -= block.size;
    ASAN_UNPOISON_MEMORY_REGION(block.memory, block.size);
    return block;
}

static void drop_oldest(eddy__heap *heap)
{
    const eddy__large_block block = take_large(heap, 0);

    eddy__account_free(heap->account, block.memory, block.size);
}

void eddy__heap_trim(eddy__heap *heap)
{
    size_t size = LINE;

    for (unsigned id = 0; id < EDDY__HEAP_CLASSES; id++) {
        eddy__block *block = heap->free[id];

        while (block) {
            eddy__block *next = block->next;

            ASAN_UNPOISON_MEMORY_REGION(block, size);
            eddy__account_free(heap->account, block, size);
            block = next;
        }
        heap->free[id] = NULL;
        size = classify(size + 1).size;
    }
    while (heap->n_large > 0)
        drop_oldest(heap);
    heap->cached = 0;
}

/* What is held and not cached is in use. */
static void note_use(eddy__heap *heap)
{
    const int_fast64_t held =
        atomic_load_explicit(&heap->account->held, memory_order_relaxed);
    const size_t used = (size_t)(held - EDDY__ACCOUNT_BIAS) - heap->cached;

    if (used > heap->most_used)
        heap->most_used = used;
}

/* From the allocator; what is cached is given up for it if need be. */
static void *allocate_anew(eddy__heap *heap, size_t size)
{
    bool limit;
    void *memory = acquire(heap->account, size, &limit);

    if (!memory && heap->cached > 0) {
        eddy__heap_trim(heap);
        memory = acquire(heap->account, size, &limit);
    }
    if (!memory)
        heap->limit_hit = limit;
    note_use(heap);
    return memory;
}

/* The least kept block of which no more than a fifth is lost; NULL: none. */
static void *reuse_large(eddy__heap *heap, size_t size, size_t *out_size)
{
    unsigned best = heap->n_large;
    eddy__large_block block;

    for (unsigned i = 0; i < heap->n_large; i++) {
        const size_t kept = heap->large[i].size;

        if (kept >= size && kept - size <= size / 4 &&
            (best == heap->n_large || kept <= heap->large[best].size))
            best = i;
    }
    if (best == heap->n_large)
        return NULL;
    block = take_large(heap, best);
    *out_size = block.size;
    return block.memory;
}

static void *allocate_large(eddy__heap *heap, size_t size, size_t *out_size)
{
    void *memory = reuse_large(heap, size, out_size);

    if (memory) {
        note_use(heap);
        return memory;
    }
    *out_size = (size + LINE - 1) & ~(LINE - 1);
    return allocate_anew(heap, *out_size);
}

static void keep_large(eddy__heap *heap, void *memory, size_t size)
{
    if (size > heap->most_used) {
        eddy__account_free(heap->account, memory, size);
        return;
    }
    while (heap->n_large == EDDY__HEAP_LARGE ||
           heap->cached_large > heap->most_used - size)
        drop_oldest(heap);
    heap->large[heap->n_large++] =
        (eddy__large_block){.memory = memory, .size = size};
    heap->cached += size;
    heap->cached_large += size;
    ASAN_POISON_MEMORY_REGION(memory, size);
}

void *eddy__heap_allocate(eddy__heap *heap, size_t size, size_t *out_size)
{
    size_class class;
    eddy__block *block;

    if (size - 1 >= LARGEST) {
        /* 0 is here too. */
        if (size >= IMPOSSIBLE) {
            heap->limit_hit = heap->account->limit > 0;
            return NULL;
        }
        if (size > 0)
            return allocate_large(heap, size, out_size);
        *out_size = LINE;
        return allocate_anew(heap, LINE);
    }
    class = classify(size);
    *out_size = class.size;
    block = heap->free[class.id];
    if (!block)
        return allocate_anew(heap, class.size);
    heap->free[class.id] = block->next;
    heap->cached -= class.size;
    ASAN_UNPOISON_MEMORY_REGION(block, class.size);
    return block;
}

void eddy__heap_recycle(eddy__heap *heap, void *memory, size_t size)
{
    eddy__block *block = memory;
    size_class class;

    if (size > LARGEST) {
        keep_large(heap, memory, size);
        return;
    }
    class = classify(size);
    assert(class.size == size);
    block->next = heap->free[class.id];
    heap->free[class.id] = block;
    heap->cached += size;
    ASAN_POISON_MEMORY_REGION(block + 1, size - sizeof *block);
}

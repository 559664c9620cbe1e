/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator that counts, by sums that any thread adds to. */
#include "benchmarks/account.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void raise_peak(account *a, size_t live)
{
    size_t peak = atomic_load_explicit(&a->peak_bytes, memory_order_relaxed);

    while (live > peak && !atomic_compare_exchange_weak_explicit(
                              &a->peak_bytes, &peak, live, memory_order_relaxed,
                              memory_order_relaxed))
        ;
}

static void *allocate(void *user, size_t size, size_t alignment)
{
    account *a = user;
    void *memory = NULL;

    if (alignment <= _Alignof(max_align_t))
        memory = malloc(size);
    else if (posix_memalign(&memory, alignment, size) != 0)
        memory = NULL;
    if (!memory)
        return NULL;
    raise_peak(a, size + atomic_fetch_add_explicit(&a->live_bytes, size,
                                                   memory_order_relaxed));
    return memory;
}

static void release(void *user, void *memory, size_t size)
{
    account *a = user;

    atomic_fetch_sub_explicit(&a->live_bytes, size, memory_order_relaxed);
    free(memory);
}

eddy_allocator account_allocator(account *a)
{
    return (eddy_allocator){
        .allocate = allocate,
        .release = release,
        .user = a,
    };
}

void account_restart(account *a)
{
    atomic_store_explicit(&a->peak_bytes, account_live(a),
                          memory_order_relaxed);
}

size_t account_live(const account *a)
{
    return atomic_load_explicit(&a->live_bytes, memory_order_relaxed);
}

size_t account_peak(const account *a)
{
    return atomic_load_explicit(&a->peak_bytes, memory_order_relaxed);
}

size_t process_peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t kib = 0;
    char line[256];

    if (!file)
        return 0;
    while (kib == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %zu kB", &kib) != 1)
            kib = 0;
    fclose(file);
    return kib * 1024;
}

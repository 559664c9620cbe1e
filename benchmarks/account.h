/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator over malloc that knows how much it has given out. */
#ifndef EDDY_BENCHMARKS_ACCOUNT_H
#define EDDY_BENCHMARKS_ACCOUNT_H

#include "eddy/context.h"

#include <stdatomic.h>

/* Both are atomic and relaxed: any thread may allocate. */
typedef struct account {
    atomic_size_t live_bytes;
    atomic_size_t peak_bytes;
} account;

/* `a` must outlive every context that uses the allocator. */
eddy_allocator account_allocator(account *a);

/* Forgets an earlier peak. */
void account_restart(account *a);

size_t account_live(const account *a);
size_t account_peak(const account *a);

/* The most bytes that the process had in RAM; 0 where that is not known. */
size_t process_peak_bytes(void);

#endif

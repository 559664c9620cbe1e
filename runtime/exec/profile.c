/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times of kernels, in a table by hash in which the newest wins. */
#include "runtime/exec/profile.h"

uint64_t eddy__profile_key(const void *node, uint64_t part)
{
    uint64_t key = (uint64_t)(uintptr_t)node ^ (part << 1);

    /* The mixing of MurmurHash3: every bit changes all of them. */
    key = (key ^ (key >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    key = (key ^ (key >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ (key >> 33);
}

static uint64_t owner_of(uint64_t key)
{
    return key & ~(uint64_t)UINT32_MAX;
}

uint32_t eddy__profile_get(const eddy__profile *profile, uint64_t key)
{
    const uint64_t entry = atomic_load_explicit(
        &profile->entries[key % EDDY__PROFILE_ENTRIES], memory_order_relaxed);

    return owner_of(entry) == owner_of(key) ? (uint32_t)entry : 0;
}

void eddy__profile_add(eddy__profile *profile, uint64_t key, uint64_t ns)
{
    const uint64_t old = eddy__profile_get(profile, key);
    uint64_t now = ns == 0 ? 1 : ns < UINT32_MAX ? ns : UINT32_MAX;

    if (old > 0 && now < old)
        now = (old + now) / 2;
    else if (old > 0)
        now = old + ((now < 2 * old ? now : 2 * old) - old + 7) / 8;
    if (now > UINT32_MAX)
        now = UINT32_MAX;
    atomic_store_explicit(&profile->entries[key % EDDY__PROFILE_ENTRIES],
                          owner_of(key) | now, memory_order_relaxed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the system for random bits; the clock stands in where it has none. */
#include "core/base/entropy.h"

#include "core/base/thread.h"

uint64_t eddy__entropy(void)
{
    uint64_t bits = 0;

    /* Without a loop and a callback it is done when the call returns. */
    if (uv_random(NULL, NULL, &bits, sizeof bits, 0, NULL) != 0)
        bits = eddy__clock_now_ns() * 0x9e3779b97f4a7c15u;
    return bits;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* When to look for what is waited for, and when to let others have the core. */
#include "core/base/patience.h"

/* A little more than a processor and a thread on it take to wake. */
#define LOOK_NS ((uint64_t)50 * 1000)

/* Who stood still for that long was not interrupted: it had to give way. */
#define LOST_NS ((uint64_t)200 * 1000)

#define FIRST_REST_NS ((uint64_t)1000 * 1000)
#define MOST_REST_NS ((uint64_t)256 * 1000 * 1000)

/* It happened soon again if that was within so many times the last rest. */
#define SOON 8

/* At the least one wait of 1,024 looks. */
#define MOST_DOUBLED 10

bool eddy__patience_begin(eddy__patience *p, uint64_t now)
{
    if (!p->is_allowed || now < p->rested_ns)
        return false;
    if (p->n_skipped > 0) {
        p->n_skipped--;
        return false;
    }
    p->is_looking = true;
    p->begun_ns = p->seen_ns = now;
    return true;
}

/* Others want the processor. */
static void rest(eddy__patience *p, uint64_t now)
{
    const bool is_soon = now - p->rested_ns < SOON * p->rest_ns;

    p->rest_ns = is_soon ? 2 * p->rest_ns : FIRST_REST_NS;
    if (p->rest_ns > MOST_REST_NS)
        p->rest_ns = MOST_REST_NS;
    p->rested_ns = now + p->rest_ns;
}

static bool is_lost(const eddy__patience *p, uint64_t now)
{
    return now - p->seen_ns >= LOST_NS;
}

bool eddy__patience_goes_on(eddy__patience *p, uint64_t now)
{
    if (is_lost(p, now) || now - p->begun_ns >= LOOK_NS)
        return false;
    p->seen_ns = now;
    return true;
}

void eddy__patience_end(eddy__patience *p, uint64_t now, bool is_found)
{
    if (!p->is_looking)
        return;
    p->is_looking = false;
    if (is_lost(p, now))
        rest(p, now);
    if (is_found) {
        p->n_vain = 0;
        return;
    }
    if (p->n_vain < MOST_DOUBLED)
        p->n_vain++;
    p->n_skipped = (UINT32_C(1) << p->n_vain) - 1;
}

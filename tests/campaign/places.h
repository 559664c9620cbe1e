/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls on the way from main() to each allocation of a pass, so that a
 * campaign lets each call fail a few times and not a loop's a thousand times.
 */
#ifndef EDDY_TESTS_CAMPAIGN_PLACES_H
#define EDDY_TESTS_CAMPAIGN_PLACES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct places places;

/* Ends the program if there is no memory, as the calls below do. */
places *places_create(void);
void places_destroy(places *p);

/* Forgets the allocations of the pass before, not what has failed. */
void places_begin(places *p);

/* Notes one more allocation and the calls that led to it, on any thread. */
void places_note(places *p);

/* How many were noted in this pass. */
size_t places_count(const places *p);

/*
 * Is there a call on the way to the k-th allocation that has failed fewer than
 * `times` times?  If so all on that way are taken to fail once more.
 */
bool places_choose(places *p, size_t k, unsigned times);

#endif

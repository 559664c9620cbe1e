/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a loop in a folder: a bundle for each part of the job and each
 * trip that was saved.  A trip is whole once every part has its bundle, which
 * the parts learn from the folder alone, since a bundle appears as a whole.
 *
 * A bundle has variables by their names, which no name below is, and
 *   _eddy/loop       a hash of the loop's nodes
 *   _eddy/next/NAME  what the NextIteration NAME has carried into the trip
 *   _eddy/random/KEY a generator's eddy__generator_state
 *   _eddy/objects    lists, handles and what is behind them (saved_values.h)
 *   _eddy/entry/N    a large tensor of those
 */
#ifndef EDDY_CORE_SAVED_TRIPS_H
#define EDDY_CORE_SAVED_TRIPS_H

#include "core/bundle/bundle.h"

#define EDDY__SAVED_LOOP "_eddy/loop"
#define EDDY__SAVED_NEXT "_eddy/next/"
#define EDDY__SAVED_RANDOM "_eddy/random/"
#define EDDY__SAVED_OBJECTS "_eddy/objects"
#define EDDY__SAVED_ENTRIES "_eddy/entry/"
#define EDDY__SAVED_OWN "_eddy/"

typedef struct eddy__saved_place {
    const char *folder;
    uint32_t part, n_parts;
} eddy__saved_place;

/* The longest folder's name, and room for that of a bundle in it. */
#define EDDY__SAVED_MOST_FOLDER 3900
#define EDDY__SAVED_ROOM 4096

/* The prefix of the bundle of `part`. */
void eddy__saved_prefix(const eddy__saved_place *place, uint32_t part,
                        int64_t trip, char out[EDDY__SAVED_ROOM]);

/*
 * The newest trip that is whole, -1 if there is none.  Errors:
 * FAILED_PRECONDITION (EDDY_E_CHECKPOINT) if there are bundles of another
 * number of parts; NOT_FOUND or UNAVAILABLE (EDDY_E_IO).
 */
eddy_status eddy__saved_find(const eddy__saved_place *place, int64_t *out_trip,
                             eddy_error *err);

/*
 * Removes the part's bundles of trips before `first` and behind `last`.  What
 * can't be removed stays.
 */
void eddy__saved_drop(const eddy__saved_place *place, int64_t first,
                      int64_t last);

/* Makes what was renamed in the folder outlast the system's end. */
void eddy__saved_sync(const eddy__saved_place *place);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of host callbacks of a graph (the public side is eddy/host.h). */
#ifndef EDDY_CORE_HOST_H
#define EDDY_CORE_HOST_H

#include "core/base/memory.h"
#include "eddy/host.h"

#define EDDY__HOST_PREDICATE_OP "_HostPredicate"
#define EDDY__HOST_SELECTOR_OP "_HostSelector"

typedef enum eddy__host_kind {
    EDDY__HOST_PREDICATE,
    EDDY__HOST_SELECTOR,
} eddy__host_kind;

typedef struct eddy__host_callback {
    eddy__host_kind kind;
    eddy_host_predicate_fn predicate; /* the one of its kind */
    eddy_host_selector_fn selector;
    void *user;
    int32_t n_choices;
    bool has_trip; /* input 0 is the number of the trip, int64 */
} eddy__host_callback;

/*
 * What the attribute `callback` of a node is an index of.  Grows at its end
 * alone, so that numbers stay.
 */
typedef struct eddy__host_table {
    eddy__host_callback *items;
    size_t n, capacity;
} eddy__host_table;

/*
 * Says of the callback that was added last that its input 0 is the number of
 * the trip that it is asked about.  A loop that asks at the end of a trip asks
 * about the next, so that the frame alone would mislead.
 */
static inline void eddy__host_table_note_trip(eddy__host_table *table)
{
    table->items[table->n - 1].has_trip = true;
}

/* Makes `to`, which is empty, a copy of `from`; false without memory. */
bool eddy__host_table_copy(const eddy__host_table *from,
                           const eddy_allocator *allocator,
                           eddy__host_table *to);
void eddy__host_table_deinit(eddy__host_table *table,
                             const eddy_allocator *allocator);

#endif

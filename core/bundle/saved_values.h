/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists, handles and what is behind them, as bytes of a checkpoint
 * (core/bundle/saved_trips.h); ops/state/restored.h reads them.
 *
 * Numbers are varints, those that may be -1 are one more.  A text is its length
 * and its bytes, a shape its rank, one more, and its dimensions.  In order:
 *
 *   the version; how many resources there are, and each: how it is found, its
 *     type, two texts
 *   how many objects there are, and each; what holds others comes after them
 *   how many values the loop carries, and each: the NextIteration, a value
 *   what each resource holds, as its type says
 *
 * An object is a tensor, a tensor whose elements are in an entry of their own,
 * a list, or a tensor of lists and handles.  A value is nothing, a scalar, the
 * number of an object or that of a resource.  So what is shared is there once,
 * and no depth of nesting needs a deep stack.
 */
#ifndef EDDY_CORE_SAVED_VALUES_H
#define EDDY_CORE_SAVED_VALUES_H

#include "core/value/list.h"
#include "core/value/resource.h"

#define EDDY__SAVED_VERSION 1

typedef enum eddy__saved_kind {
    EDDY__SAVED_NOTHING,
    EDDY__SAVED_SCALAR, /* dtype, its bytes */
    EDDY__SAVED_OBJECT,
    EDDY__SAVED_RESOURCE,
} eddy__saved_kind;

typedef enum eddy__saved_form {
    EDDY__SAVED_TENSOR, /* dtype, shape, bytes or texts */
    EDDY__SAVED_ENTRY,  /* dtype, number of the entry */
    EDDY__SAVED_LIST,   /* dtype, shape, most items, items, values */
    EDDY__SAVED_VALUES, /* dtype, shape, values */
} eddy__saved_form;

/* How a resource is found when it is restored; what the two texts are. */
typedef enum eddy__saved_way {
    EDDY__SAVED_MADE,     /* by a node that runs again: the node's name */
    EDDY__SAVED_VARIABLE, /* by its name */
    EDDY__SAVED_KEYED,    /* by its name, of another type */
    EDDY__SAVED_NEW,      /* it is made: its own two texts */
} eddy__saved_way;

typedef struct eddy__saved_bytes {
    unsigned char *bytes;
    size_t n, capacity;
} eddy__saved_bytes;

/* A pointer and its number; NULL: free. */
typedef struct eddy__saved_slot {
    const void *object;
    uint64_t number;
} eddy__saved_slot;

/* An object whose items are looked at: how many have been. */
typedef struct eddy__saved_step {
    eddy__value value;
    int64_t next;
} eddy__saved_step;

/*
 * Zero it, set `allocator`, `table` and the makers; eddy__saver_deinit frees
 * it.  What it is given must stay as it is until then.
 */
typedef struct eddy__saver {
    const eddy_allocator *allocator;
    eddy__resource_table *table;
    const char *const *makers; /* nodes whose resources are EDDY__SAVED_MADE */
    size_t n_makers;
    eddy__saved_bytes heads, objects, roots, bodies, all;
    eddy__saved_bytes *to; /* what is written to */
    uint64_t n_objects, n_roots;
    eddy__saved_slot *slots; /* a power of two of them, or none */
    size_t n_slots, n_known;
    eddy__resource **resources;
    size_t n_resources, resources_capacity;
    const eddy_tensor **entries;
    size_t n_entries, entries_capacity;
    eddy__saved_step *way;
    size_t way_capacity;
    eddy_status status; /* the first failure, after which nothing is done */
    eddy_error err;
} eddy__saver;

/* A value that the loop carries. */
void eddy__saver_root(eddy__saver *saver, const char *name,
                      const eddy__value *value);

/* A resource that something outside of the loop holds, too. */
void eddy__saver_add(eddy__saver *saver, eddy__resource *resource);

/*
 * Puts all together: `all` is what a file has.  `entries` are to be in entries
 * of their own, in that order.
 */
eddy_status eddy__saver_finish(eddy__saver *saver);
void eddy__saver_deinit(eddy__saver *saver);

/* ---- for what is in a resource (eddy__resource_saving) ---- */

void eddy__saver_number(eddy__saver *saver, uint64_t number);
void eddy__saver_shape(eddy__saver *saver, const eddy_shape *shape);
void eddy__saver_value(eddy__saver *saver, const eddy__value *value);
void eddy__saver_resource(eddy__saver *saver, eddy__resource *resource);

/* A tensor of such elements; they are copied. */
void eddy__saver_elements(eddy__saver *saver, eddy_dtype dtype,
                          const eddy_shape *shape, const void *data);

/* Ends it: there is no memory. */
void eddy__saver_fail_memory(eddy__saver *saver);

/* Ends it: `what` can't be saved, and why. */
void eddy__saver_refuse(eddy__saver *saver, const char *what, const char *why);

#endif

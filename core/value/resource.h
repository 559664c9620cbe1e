/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: state that nodes share through a handle, which is a value that
 * holds a reference to it: TensorArrays, stacks, variables, generators.
 *
 * A handle can't be forged, since nothing but the kernel that made the resource
 * gives one out, and can't be stale, since it counts.  There are two kinds.
 * Those of a run belong to its set: only the run's driver touches them, so they
 * are not locked, and none outlives the execution, though a stack may hold its
 * own handle.  Ops that take or make a handle are therefore EDDY_OP_CHEAP,
 * which keeps them on the driver's thread.  Those with a name belong to the
 * table of a session, or of a run that has none; any number of runs may use one
 * at a time, so it has a lock of its own.
 */
#ifndef EDDY_CORE_RESOURCE_H
#define EDDY_CORE_RESOURCE_H

#include "core/base/map.h"
#include "core/base/thread.h"
#include "core/value/value.h"

typedef struct eddy__resource_set eddy__resource_set;

struct eddy__spill;    /* core/spill.h */
struct eddy__saver;    /* core/bundle/saved_values.h */
struct eddy__restorer; /* ops/state/restored.h */

/* How what a resource holds gets into a checkpoint, and back. */
typedef struct eddy__resource_saving {
    size_t size; /* of a new one; 0: it is found by its name */
    /* Two texts by which one is known; borrowed from it. */
    void (*texts)(const eddy__resource *resource, const char *texts[2]);
    void (*save)(eddy__resource *resource, struct eddy__saver *saver);
    /*
     * The same in the new run; it has been cleared.  `texts` are those of a
     * new one, which keeps them and is zero behind its first member, else NULL.
     */
    eddy_status (*restore)(eddy__resource *resource, const char *const *texts,
                           struct eddy__restorer *from);
} eddy__resource_saving;

/* What sort of thing it is; one constant each. */
typedef struct eddy__resource_type {
    const char *name; /* for messages, with its article: "a TensorArray" */
    /*
     * Drops what it holds; `heap` is that of the run, NULL for one with a name.
     * It may be called more than once.
     */
    void (*clear)(eddy__resource *resource, eddy__heap *heap);
    /* Undoes what its creator did, last of all; may be NULL. */
    void (*deinit)(eddy__resource *resource);
    /* NULL: it has no form in a file. */
    const eddy__resource_saving *saving;
} eddy__resource_type;

/* The first member of every resource. */
struct eddy__resource {
    atomic_uint refs; /* add relaxed, subtract acquire-release */
    const eddy__resource_type *type;
    eddy__resource_set *set; /* NULL: one with a name */
    eddy__resource *next;    /* in the set, or while it waits to be freed */
    eddy__resource **link;   /* what points at it in the set; NULL: nothing */
    const char *maker;       /* the node of the plan that made it, or NULL */
    const eddy_allocator *allocator;
    size_t block_size;
};

_Static_assert(offsetof(eddy__resource, refs) == 0,
               "as.refs is a resource's count");

/* ---- those of a run ---- */

/* Zero it, set `heap`.  The driver's own. */
struct eddy__resource_set {
    eddy__heap *heap;
    struct eddy__spill *spill; /* NULL: nothing spills */
    eddy__resource *live;
    eddy__resource *dying; /* without references, not yet cleared */
    bool is_draining;
};

/*
 * A new resource of `size` bytes, which are zero behind the first member, with
 * one reference, the caller's.  NULL without memory.
 */
eddy__resource *eddy__resource_create(eddy__resource_set *set,
                                      const eddy__resource_type *type,
                                      size_t size);

/*
 * Frees all that is left, which can only be what refers to itself.  Requires:
 * no reference from outside.
 */
void eddy__resource_set_clear(eddy__resource_set *set);

static inline eddy__resource *eddy__resource_retain(eddy__resource *resource)
{
    atomic_fetch_add_explicit(&resource->refs, 1, memory_order_relaxed);
    return resource;
}

/* Drops a reference; accepts NULL. */
void eddy__resource_release(eddy__resource *resource);

/* ---- those with a name ---- */

typedef struct eddy__named_resource {
    char *key; /* type and name */
    size_t key_size;
    eddy__resource *resource;
} eddy__named_resource;

typedef struct eddy__resource_table {
    const eddy_allocator *allocator;
    eddy__mutex mu;
    eddy__map keys; /* guarded by mu, as all below; to an index in items */
    eddy__named_resource *items;
    size_t n, capacity;
} eddy__resource_table;

/*
 * Makes a resource with one reference, from `allocator`; NULL without memory.
 * Called with the table locked.
 */
typedef eddy__resource *(*eddy__resource_maker)(const eddy_allocator *allocator,
                                                const void *arg);

/* What a maker calls: `size` bytes, zero behind the first member. */
eddy__resource *eddy__resource_create_named(const eddy_allocator *allocator,
                                            const eddy__resource_type *type,
                                            size_t size);

eddy_status eddy__resource_table_init(eddy__resource_table *table,
                                      const eddy_allocator *allocator,
                                      eddy_error *err);
void eddy__resource_table_deinit(eddy__resource_table *table);

/*
 * A reference to the resource of `type` called `name`, which may be the name of
 * one of another type too.  If there is none `make` is asked for it; with
 * `make` NULL, and without memory, `*out_resource` is NULL.  @thread any
 */
eddy_status
eddy__resource_table_find(eddy__resource_table *table,
                          const eddy__resource_type *type, const char *name,
                          eddy__resource_maker make, const void *arg,
                          eddy__resource **out_resource, eddy_error *err);

/* How many of `type` there are.  @thread any */
size_t eddy__resource_table_count(eddy__resource_table *table,
                                  const eddy__resource_type *type);

/*
 * A reference to the resource of `type` that was the i-th to be made; NULL past
 * the end.  @thread any
 */
eddy__resource *eddy__resource_table_at(eddy__resource_table *table,
                                        const eddy__resource_type *type,
                                        size_t i);

/*
 * A reference to the i-th that a checkpoint can have (eddy__resource_saving);
 * NULL past the end.  @thread any
 */
eddy__resource *eddy__resource_table_saved(eddy__resource_table *table,
                                           size_t i);

/* Drops the table's references.  @thread any */
void eddy__resource_table_clear(eddy__resource_table *table);

#endif

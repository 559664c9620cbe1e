/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lists, handles and what is behind them from a checkpoint, of the form
 * in core/bundle/saved_values.h.  Whatever the file says is checked before it
 * is used: what makes no sense is DATA_LOSS.
 */
#ifndef EDDY_OPS_RESTORED_H
#define EDDY_OPS_RESTORED_H

#include "core/bundle/bundle.h"
#include "core/bundle/saved_values.h"
#include "core/kernel.h"

typedef struct eddy__restored_resource {
    eddy__resource *resource;
    bool is_new;
    bool is_owned;        /* another has it in a list of its own */
    const char *texts[2]; /* of a new one, in its block */
} eddy__restored_resource;

/* Set those before `tensor`; eddy__restorer_deinit frees the rest. */
typedef struct eddy__restorer {
    eddy_kernel *k;
    const eddy__bundle *bundle;
    const eddy__resource_type *const *types; /* that there may be; NULL ends */
    const eddy_string *makers; /* inputs of the kernel from `first_maker` on */
    uint32_t first_maker, n_makers;
    eddy_tensor *tensor; /* of all bytes; NULL: there are none */
    const unsigned char *at, *end;
    eddy__value *objects; /* those that were read */
    size_t n_objects, objects_size;
    eddy__restored_resource *resources;
    size_t n_resources, resources_size;
} eddy__restorer;

/*
 * Reads all; a checkpoint need not have any.  The kernel's outputs of those
 * names, as far as they have lists or handles, get them.
 */
eddy_status eddy__restorer_read(eddy__restorer *from, const eddy_string *names);
void eddy__restorer_deinit(eddy__restorer *from);

/* Fails: the file makes no sense. */
eddy_status eddy__restorer_fail(const eddy__restorer *from, const char *what);

/* ---- for what is in a resource, and for what a loop carries ---- */

/* A number that is at most `most`; `what` it is, for the message. */
eddy_status eddy__restorer_number(eddy__restorer *from, uint64_t most,
                                  const char *what, uint64_t *out);
eddy_status eddy__restorer_bool(eddy__restorer *from, const char *what,
                                bool *out);
eddy_status eddy__restorer_shape(eddy__restorer *from, eddy_shape *out);

/* How many things of a byte at least follow. */
eddy_status eddy__restorer_count(eddy__restorer *from, const char *what,
                                 uint64_t *out);

/* A value of the caller's; NONE for nothing. */
eddy_status eddy__restorer_value(eddy__restorer *from, eddy__value *out);

/*
 * The same of `dtype`, with a shape that agrees with `shape`; nothing if it
 * `may_be_none`.
 */
eddy_status eddy__restorer_item(eddy__restorer *from, eddy_dtype dtype,
                                const eddy_shape *shape, bool may_be_none,
                                eddy__value *out);

/* A resource of that type, borrowed, that no other owns. */
eddy_status eddy__restorer_own(eddy__restorer *from,
                               const eddy__resource_type *type,
                               eddy__resource **out);

#endif

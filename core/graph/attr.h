/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values: checking, copying, looking one up. */
#ifndef EDDY_CORE_ATTR_H
#define EDDY_CORE_ATTR_H

#include "core/base/memory.h"
#include "eddy/graph.h"

/* "int", "list(type)" and so on, as in a signature. */
const char *eddy__attr_kind_name(eddy_attr_kind kind, bool is_list);

/* Bytes of an element of the array that `as` points to; 0 for no kind. */
size_t eddy__attr_element_size(eddy_attr_kind kind);

/*
 * Is the value well formed whatever op it is for?  A name, a kind, one element
 * unless it is a list, dtypes and shapes that exist, no NULL.
 */
eddy_status eddy__attr_check(const eddy_attr *attr, eddy_error *err);

/*
 * Copies an attribute, its name and the texts in it, into `arena`.  The tensors
 * get no reference yet: see eddy__attr_retain.  False without memory.
 */
bool eddy__attr_copy(eddy__arena *arena, const eddy_attr *from,
                     eddy_attr *out_attr);

/* The same under the name `name`, which must outlive the copy. */
bool eddy__attr_copy_as(eddy__arena *arena, const eddy_attr *from,
                        const char *name, eddy_attr *out_attr);

/* Adds and drops a reference to each tensor in the value. */
void eddy__attr_retain(const eddy_attr *attr);
void eddy__attr_release(const eddy_attr *attr);

/* NULL if none of the `n` has that name. */
const eddy_attr *eddy__attr_find(const eddy_attr *attrs, size_t n,
                                 const char *name);

#endif

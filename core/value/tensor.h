/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a tensor is laid out, and what only the runtime may do with one.
 *
 * The elements of a string tensor are eddy__strings.  Those of a variant or a
 * resource tensor are eddy__values (core/value/value.h), each a list or a
 * handle that the tensor holds; such a tensor has at least rank 1, since a list
 * or a handle of rank 0 is a value of its own kind.
 */
#ifndef EDDY_CORE_TENSOR_H
#define EDDY_CORE_TENSOR_H

#include "core/value/heap.h"
#include "eddy/tensor.h"

#include <stdatomic.h>

/*
 * Immutable after it is published, but for `refs`.  The elements stand behind
 * the header in the same block, or in memory of the host (`release`), or in the
 * block of `base`, of which this tensor is then a view: of another shape, or of
 * a part.
 */
struct eddy_tensor {
    atomic_uint refs; /* add relaxed, subtract acquire-release */
    uint8_t dtype;    /* eddy_dtype */
    bool from_heap;   /* else its block may not go to a heap's free lists */
    bool is_host;     /* the elements are memory of the host */
    eddy_shape shape;
    int64_t count;
    size_t bytes;
    void *data;
    eddy_tensor *base;
    eddy_release_cb release;
    void *user; /* release's; of strings, where they are (texts.h) */
    const eddy_allocator *allocator;
    eddy__account *account; /* NULL: not charged to a run */
    size_t block_size;      /* of header and elements */
};

/* A string element: owned by the tensor, from its allocator. */
typedef struct eddy__string {
    char *data;
    size_t length;
} eddy__string;

/*
 * A new tensor from a heap, from an account, or, with both NULL, from
 * `allocator`; the elements of numeric dtypes are not initialised.  The shape
 * must be known.  NULL without memory or when a size overflows.
 */
eddy_tensor *eddy__tensor_create(eddy__heap *heap, eddy__account *account,
                                 const eddy_allocator *allocator,
                                 eddy_dtype dtype, const eddy_shape *shape);

/*
 * A tensor over the elements of `from`, which it retains, with another shape of
 * the same count.  NULL without memory.
 */
eddy_tensor *eddy__tensor_view(eddy__heap *heap, eddy__account *account,
                               eddy_tensor *from, const eddy_shape *shape);

/*
 * The same over a part of the elements: as many as `shape` has, from element
 * `first` on.  Requires: they are within `from`.
 */
eddy_tensor *eddy__tensor_slice(eddy__heap *heap, eddy__account *account,
                                eddy_tensor *from, int64_t first,
                                const eddy_shape *shape);

/* Is this the only reference to the elements, so that they may be written? */
bool eddy__tensor_is_exclusive(const eddy_tensor *tensor);

/*
 * Drops a reference; a freed block that came from the heap goes to its free
 * lists.  One that came from the account does not: what only workers allocate
 * would pile up there.
 */
void eddy__tensor_recycle(eddy__heap *heap, eddy_tensor *tensor);

/*
 * Drops a reference to a tensor of lists or handles, or to the one that it is a
 * view of; gives back the tensor of which that was the last, whose elements are
 * still to be dropped, or NULL.
 */
eddy_tensor *eddy__tensor_drop(eddy__heap *heap, eddy_tensor *tensor);

/* Frees what eddy__tensor_drop gave, once its elements are dropped. */
void eddy__tensor_free(eddy__heap *heap, eddy_tensor *tensor);

/* Sets element `i` of a new string tensor to a copy; false without memory. */
bool eddy__tensor_set_string(eddy_tensor *tensor, int64_t i, const char *data,
                             size_t length);

#endif

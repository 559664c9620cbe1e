/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor bundles: the files of TensorFlow's checkpoints, "<prefix>.index" and
 * "<prefix>.data-00000-of-00001".
 *
 * The index is a table as LevelDB's, sorted by name, of small messages: under
 * the empty name how many data files there are, under each other name the
 * dtype, the shape, and where in which of them its bytes are, with their
 * checksum.  Source: tensorflow/core/util/tensor_bundle (format and names),
 * tensorflow/core/protobuf/tensor_bundle.proto (messages), LevelDB's
 * doc/table_format.md.
 *
 * Whatever a file says is checked before it is used: a damaged one is
 * DATA_LOSS.  It is in this folder since ops write and read bundles.
 */
#ifndef EDDY_CORE_BUNDLE_H
#define EDDY_CORE_BUNDLE_H

#include "core/value/tensor.h"

typedef struct eddy__bundle_entry {
    eddy_string name; /* its bytes are the bundle's */
    int32_t tf_dtype; /* TensorFlow's number, also of dtypes unknown here */
    eddy_shape shape;
    bool is_sliced; /* stored in slices */
    int32_t shard;
    int64_t offset, size;
    uint32_t checksum; /* masked */
} eddy__bundle_entry;

typedef struct eddy__bundle {
    const eddy_allocator *allocator;
    char *prefix;
    size_t prefix_size;
    int32_t n_shards;
    eddy__bundle_entry *entries; /* in order of name */
    size_t n, capacity;
    char *names; /* all of them, one behind the other */
    size_t names_length, names_capacity;
} eddy__bundle;

/*
 * Reads the index of a bundle.  Errors: NOT_FOUND or UNAVAILABLE (EDDY_E_IO),
 * DATA_LOSS (EDDY_E_TENSOR_DATA).  On failure there is nothing to close.
 */
eddy_status eddy__bundle_open(const eddy_allocator *allocator,
                              eddy_string prefix, eddy__bundle *out_bundle,
                              eddy_error *err);
void eddy__bundle_close(eddy__bundle *bundle);

/* NULL if there is none. */
const eddy__bundle_entry *eddy__bundle_find(const eddy__bundle *bundle,
                                            eddy_string name);

/*
 * Reads the elements of an entry into a new tensor of its dtype and shape; the
 * checksum must be right.
 */
eddy_status eddy__bundle_read(const eddy__bundle *bundle,
                              const eddy__bundle_entry *entry,
                              eddy_tensor *tensor, eddy_error *err);

/* What is written: names need not be in order, but must differ. */
typedef struct eddy__bundle_item {
    eddy_string name;
    eddy_dtype dtype; /* numeric, bool or string */
    const eddy_shape *shape;
    int64_t count;
    const void *data; /* eddy__strings for strings */
} eddy__bundle_item;

/*
 * Writes a bundle of one data file, under other names that become the right
 * ones once all is written: until then an older bundle is as it was.  Sorts
 * `items`.
 */
eddy_status eddy__bundle_write(const eddy_allocator *allocator,
                               eddy_string prefix, eddy__bundle_item *items,
                               size_t n, eddy_error *err);

#endif

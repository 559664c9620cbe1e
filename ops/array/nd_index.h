/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices that are vectors, as GatherNd, ScatterNd and the TensorScatter family
 * have them: the last dimension of the indices is as long as the part of a
 * shape that an index picks from; what is left of the shape is a slice.
 */
#ifndef EDDY_OPS_ND_INDEX_H
#define EDDY_OPS_ND_INDEX_H

#include "core/graph/infer.h"
#include "core/kernel.h"

/* How indices address slices of a tensor. */
typedef struct eddy__nd_index {
    uint32_t input; /* of the kernel: the indices */
    eddy_view indices;
    const eddy_shape *of; /* what they address */
    int64_t n;            /* indices */
    int32_t depth;        /* elements an index */
    int64_t slice;        /* elements a slice */
    bool ignores; /* a bad index is no failure: nothing is read or written */
} eddy__nd_index;

/* Leaves in the node's state what `bad_indices_policy` says. */
eddy_status eddy__nd_index_prepare(eddy_infer *infer);

/* `of` must last as long. */
eddy_status eddy__nd_index_read(eddy_kernel *k, uint32_t input,
                                const eddy_shape *of, eddy__nd_index *out);

/* Fails at the first index that is not inside, unless they are ignored. */
eddy_status eddy__nd_index_check(eddy_kernel *k, const eddy__nd_index *index);

/* The number of the slice that index `i` names, or -1. */
int64_t eddy__nd_index_find(const eddy__nd_index *index, int64_t i);

/* The shape of all slices together; false if its rank is too high. */
bool eddy__nd_index_shape(const eddy_shape *of, const eddy_shape *indices,
                          int64_t depth, eddy_shape *out);

/* Fails unless input `i` has a slice for every index. */
eddy_status eddy__nd_index_fits(eddy_kernel *k, const eddy__nd_index *index,
                                uint32_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families of graphs: each is written with a size, in which the file is linear.
 * They have an input `x` and an output `y`, float32 scalars, or very many.
 */
#ifndef EDDY_BENCHMARKS_FAMILIES_H
#define EDDY_BENCHMARKS_FAMILIES_H

#include "benchmarks/graph_writer.h"

typedef struct family {
    const char *name;
    void (*write)(graph_writer *w, size_t n);
    bool has_many_xs; /* x0, x1, ... to n in place of x */
    bool has_many_ys;
    bool has_no_gradient; /* of its ops, or since it only acts */
} family;

extern const family families[];
extern const size_t n_families;

/* The size with which the file is a little below so many bytes. */
size_t family_size(const family *f, double bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise ops as loops over runs of elements, for the kernel that computes
 * a chain of them a strip at a time (ops/math/chain.c).  The loops are those of
 * the ops' own kernels, so a chain has the bits of its members.
 */
#ifndef EDDY_OPS_STRIP_H
#define EDDY_OPS_STRIP_H

#include "ops/math/elementwise.h"

/* The loops of an op by dtype of its inputs; one of the two is NULL. */
typedef struct eddy__strip_row {
    const char *op;
    const eddy__unary *const *unary;
    const eddy__binary *const *binary;
} eddy__strip_row;

typedef struct eddy__strip_table {
    const eddy__strip_row *rows;
    size_t n;
} eddy__strip_table;

extern const eddy__strip_table eddy__unary_strips, eddy__binary_strips,
    eddy__unary_grad_strips, eddy__compare_strips;

/* The loops of one op for one dtype; one of the two is NULL. */
typedef struct eddy__strip {
    const eddy__unary *unary;
    const eddy__binary *binary;
} eddy__strip;

/* False if no chain may hold the op at this dtype. */
bool eddy__strip_find(const char *op, eddy_dtype dtype, eddy__strip *out_strip);

#endif

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

/* Elements of one tensor or of another; steps are 0 or 1. */
typedef struct eddy__choice {
    void *out;
    const uint8_t *condition;
    const void *then, *otherwise;
    int64_t n, step_condition, step_then, step_otherwise;
} eddy__choice;

/* The size of an element is 1, 2, 4, 8 or that of a string. */
void eddy__choose(size_t size, const eddy__choice *c);

/* The loops of Cast, which does not truncate; NULL: there are none. */
const eddy__unary *eddy__cast_loops(eddy_dtype from, eddy_dtype to);

/* The loops of one op for one dtype; one of the three is there. */
typedef struct eddy__strip {
    const eddy__unary *unary;
    const eddy__binary *binary;
    size_t chosen; /* Select: the size of an element */
} eddy__strip;

/*
 * `dtype`: of the inputs, of Select all but the condition; `result`: what Cast
 * casts to.  False if no chain may hold the op at these dtypes.
 */
bool eddy__strip_find(const char *op, eddy_dtype dtype, eddy_dtype result,
                      eddy__strip *out_strip);

#endif

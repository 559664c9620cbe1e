/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of ops that move elements: tensors of any dtype whose elements are
 * told apart by a number, and checks of which number went where.
 */
#ifndef EDDY_TESTS_LAYOUT_AID_H
#define EDDY_TESTS_LAYOUT_AID_H

#include "tests/aid/kernel_harness.h"

/* The dtypes whose elements can be moved, for loop tests. */
#define LAYOUT_DTYPES 16

eddy_dtype layout_dtype(int i);

/*
 * A tensor of the elements with these numbers; bool has but two elements, so
 * there some numbers are the same.
 */
eddy_tensor *layout_tensor(harness *h, eddy_dtype dtype, int32_t rank,
                           const int64_t *dims, const int *numbers);

/* The same with the numbers first, first + 1, ... */
eddy_tensor *layout_range(harness *h, eddy_dtype dtype, int first, int32_t rank,
                          const int64_t *dims);

/* Fails the test unless output `i` is that tensor, bit for bit. */
void layout_want(harness *h, size_t i, eddy_dtype dtype, int32_t rank,
                 const int64_t *dims, const int *numbers);

#define LAYOUT_NUMBERS(...) ((const int[]){__VA_ARGS__})

/* Runs an op that must succeed. */
void layout_run(harness *h, const char *op, eddy_tensor *const *inputs,
                size_t n_inputs, const eddy_attr *attrs, size_t n_attrs);

#define LAYOUT_INPUTS(...)                                                     \
    (eddy_tensor *[]){__VA_ARGS__},                                            \
        sizeof((eddy_tensor *[]){__VA_ARGS__}) / sizeof(eddy_tensor *)
#define LAYOUT_ATTRS(...)                                                      \
    (const eddy_attr[]){__VA_ARGS__},                                          \
        sizeof((const eddy_attr[]){__VA_ARGS__}) / sizeof(eddy_attr)

/* A vector of int32, also of none: layout_ints(h, 3, LAYOUT_NUMBERS(1, 2, 3))
 */
eddy_tensor *layout_ints(harness *h, int64_t n, const int *values);
eddy_tensor *layout_int(harness *h, int value);

#endif

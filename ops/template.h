/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels are written with that are made once a dtype: in a file of their
 * own, `<what>_loops.def`, which is included with D defined as the letters of a
 * dtype (ops/math/numeric.h), so that debugger, coverage and linter see lines.
 *
 *     #define D F32
 *     #include "ops/nn/patches_loops.def"
 *
 * The file takes the definition of D away at its end, or EACH includes it with
 * each dtype of a group:
 *
 *     #define EACH "ops/nn/max_pool_loops.def"
 *     #include "ops/each_float.def"
 */
#ifndef EDDY_OPS_TEMPLATE_H
#define EDDY_OPS_TEMPLATE_H

#define EDDY__JOIN(a, b) EDDY__JOIN_AS_IS(a, b)
#define EDDY__JOIN_AS_IS(a, b) a##b

/* name_F32, if that is what D is. */
#define EDDY__OF_D(name) EDDY__JOIN(name##_, D)

/* For D: the types that elements have in memory, in registers and where sums
 * wrap, and the functions from one of the first two to the other. */
#define EDDY__STORED EDDY__JOIN(eddy__stored_, D)
#define EDDY__COMPUTED EDDY__JOIN(eddy__computed_, D)
#define EDDY__WRAPPED EDDY__JOIN(eddy__wrapped_, D)
#define EDDY__LOAD(x) EDDY__JOIN(eddy__load_, D)(x)
#define EDDY__STORE(x) EDDY__JOIN(EDDY__STORE_, D)(x)

/* The n-th of what a macro is defined as: EDDY__FIRST_OF(MACRO, ). */
#define EDDY__FIRST_OF(...) EDDY__FIRST_OF_(__VA_ARGS__)
#define EDDY__SECOND_OF(...) EDDY__SECOND_OF_(__VA_ARGS__)
#define EDDY__THIRD_OF(...) EDDY__THIRD_OF_(__VA_ARGS__)
#define EDDY__FOURTH_OF(...) EDDY__FOURTH_OF_(__VA_ARGS__)
#define EDDY__FIRST_OF_(a, ...) a
#define EDDY__SECOND_OF_(a, b, ...) b
#define EDDY__THIRD_OF_(a, b, c, ...) c
#define EDDY__FOURTH_OF_(a, b, c, d, ...) d

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed operations as functions over registers, from the expressions of the
 * tables: what machine code calls for those that it has no code for, and what
 * that is held against.
 */
#include "ops/math/binary_rows.h"
#include "ops/math/cast_rows.h"
#include "runtime/exec/linear/linear.h"
#include "runtime/exec/linear/payload.h"

#include <tgmath.h>

#define APPLY_ONE(name, D, OUT)                                                \
    static void apply_##name##_##D(eddy__value *to, const eddy__value *a,      \
                                   const eddy__value *b)                       \
    {                                                                          \
        (void)b;                                                               \
        to->as.FIELD(OUT) = element_##name##_##D(a->as.FIELD(D));              \
    }
#define APPLY_TWO(name, D, OUT)                                                \
    static void apply_##name##_##D(eddy__value *to, const eddy__value *a,      \
                                   const eddy__value *b)                       \
    {                                                                          \
        to->as.FIELD(OUT) =                                                    \
            element_##name##_##D(a->as.FIELD(D), b->as.FIELD(D));              \
    }

#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    EDDY__UNARY_ELEMENT(name, D, OUT, LOCALS, e)                               \
    APPLY_ONE(name, D, OUT)
#define BINARY_OP(name, D, OUT, LOCALS, e)                                     \
    EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)                              \
    APPLY_TWO(name, D, OUT)
#define CHECKED_OP(name, D, BAD, e)                                            \
    EDDY__BINARY_ELEMENT(name, D, D, CHECKED_LOCALS, e)                        \
    APPLY_TWO(name, D, D)
#define COMPARE_OP(name, D, e)                                                 \
    EDDY__BINARY_ELEMENT(name, D, B, EDDY__NO_LOCALS, e)                       \
    APPLY_TWO(name, D, B)
#include "runtime/plan/linear_ops.def"

const eddy__native_function eddy__linear_functions[EDDY__LINEAR_N_OPS] = {
#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    [EDDY__LINEAR_##name##_##D] = apply_##name##_##D,
#define BINARY_OP UNARY_OP
#define CHECKED_OP(name, D, BAD, e)                                            \
    [EDDY__LINEAR_##name##_##D] = apply_##name##_##D,
#define COMPARE_OP(name, D, e) [EDDY__LINEAR_##name##_##D] = apply_##name##_##D,
#include "runtime/plan/linear_ops.def"
};

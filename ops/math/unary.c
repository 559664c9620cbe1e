/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/math/special_math.h"
#include "ops/math/squash.h"
#include "ops/math/strip.h"
#include "ops/math/transcendental.h"
#include "ops/ops.h"

#include <float.h>
#include <tgmath.h>

/* ---- what rows use ---- */

#define ELU(x, expm1_of_x) ((x) < 0 ? (expm1_of_x) : (double)(x))
#define SELU(x, expm1_of_x)                                                    \
    ((x) < 0 ? EDDY__SELU_SCALE_ALPHA * (expm1_of_x)                           \
             : EDDY__SELU_SCALE * (double)(x))

/*
 * What SLEEF makes infinite too early, or 0 where it should be subnormal.  Near
 * 0 it computes in two parts, of which the lower one is lost where denormals
 * are flushed, though the result may be as normal as `x` is.
 */

#define HUGE_ARGUMENT 0x1p500
#define TINY_ARGUMENT 0x1p-500

/* log(2 x) where 2 x may be above the largest number. */
static double log_of_twice(double x)
{
    return eddy__math_log(x) + 0x1.62e42fefa39efp-1;
}

/* e^x / 2, though e^x may be above the largest number. */
static double half_exp(double x)
{
    const double root = eddy__math_exp(x / 2);

    return root / 2 * root;
}

static inline double asinh_by(double x, double t)
{
    if (fabs(x) > HUGE_ARGUMENT)
        return copysign(log_of_twice(fabs(x)), x);
    return fabs(x) < TINY_ARGUMENT ? x : t;
}

static inline double sinh_by(double x, double t)
{
    if (fabs(x) > 709)
        return copysign(half_exp(fabs(x)), x);
    return fabs(x) < TINY_ARGUMENT ? x : t;
}

static inline double log1p_by(double x, double t)
{
    if (x > HUGE_ARGUMENT)
        return eddy__math_log(x);
    return fabs(x) < TINY_ARGUMENT ? eddy__flushed_double(x) : t;
}

/* ---- kernels ---- */

#define UNARY(name, types, kernels, flags, doc) kernels
#define ACTIVATION UNARY
#define ALIAS(name, of, types, flags, doc)
#define FLOAT_KERNEL(D, name, e)                                               \
    EDDY__UNARY_WIDE(D, name, D, EDDY__NO_LOCALS, e)
#define FLOATS(name, e) EDDY__EACH_FLOAT(FLOAT_KERNEL, name, e)
#define MATHS(name, e, function, before, after)                                \
    EDDY__UNARY_SHORT(F16, name, F16, e)                                       \
    EDDY__UNARY_SHORT(BF16, name, BF16, e)                                     \
    EDDY__UNARY_SHORT(F32, name, F32, e)                                       \
    EDDY__UNARY_VIA(F64, name, F64, function, before, after)
#define SQUASHING(name, e, function, before, after)                            \
    EDDY__UNARY_SHORT(F16, name, F16, e)                                       \
    EDDY__UNARY_SHORT(BF16, name, BF16, e)                                     \
    EDDY__UNARY_SHORT_AND(F32, name, F32, EDDY__SQUASH_FORMS, e)               \
    EDDY__UNARY_VIA(F64, name, F64, function, before, after)
#define KEEPING(name, e, function, before, after)                              \
    EDDY__UNARY_SHORT(F16, name, F16, e)                                       \
    EDDY__UNARY_KEPT(BF16, name, e)                                            \
    EDDY__UNARY_KEPT(F32, name, e)                                             \
    EDDY__UNARY_VIA(F64, name, F64, function, before, after)
#define NEAR(name, function, after)                                            \
    EDDY__UNARY_VIA(F16, name, F16, near_##function, x, t)                     \
    EDDY__UNARY_VIA(BF16, name, BF16, near_##function, x, t)                   \
    EDDY__UNARY_VIA(F32, name, F32, near_##function, x, t)                     \
    EDDY__UNARY_VIA(F64, name, F64, function, x, after)
#define SCALAR_KERNEL(D, name, e)                                              \
    EDDY__UNARY_ELEMENT_OF(name, D, D, at, EDDY__IN_DOUBLE,                    \
                           eddy__settle_double(e))                             \
    EDDY__UNARY_LOOP(, loop, name, D, D)                                       \
    EDDY__UNARY_RUN(name, D, D, EDDY__NARROW_FORM)
#define SCALARS(name, e) EDDY__EACH_FLOAT(SCALAR_KERNEL, name, e)
#define PARTLY(name, e, other, kernel)                                         \
    EDDY__UNARY_PARTLY(F16, name, e, other)                                    \
    EDDY__UNARY_PARTLY(BF16, name, e, other)                                   \
    EDDY__UNARY_PARTLY(F32, name, e, other)                                    \
    kernel
#define SIGNED(name, e)                                                        \
    EDDY__UNARY_KERNEL(I8, name, I8, EDDY__WRAPPED_X, e)                       \
    EDDY__UNARY_KERNEL(I16, name, I16, EDDY__WRAPPED_X, e)                     \
    EDDY__UNARY_WIDE(I32, name, I32, EDDY__WRAPPED_X, e)                       \
    EDDY__UNARY_WIDE(I64, name, I64, EDDY__WRAPPED_X, e)
#define UNSIGNED_KERNEL(D, name, e)                                            \
    EDDY__UNARY_KERNEL(D, name, D, EDDY__WRAPPED_X, e)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(UNSIGNED_KERNEL, name, e)
#define COMPLEX_KERNEL(D, name, e)                                             \
    EDDY__UNARY_KERNEL(D, name, D, EDDY__NO_LOCALS, e)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(COMPLEX_KERNEL, name, e)
#define TEST(name, e, doc)                                                     \
    EDDY__UNARY_WIDE(F16, name, B, EDDY__NO_LOCALS, e)                         \
    EDDY__UNARY_WIDE(BF16, name, B, EDDY__NO_LOCALS, e)                        \
    EDDY__UNARY_WIDE(F32, name, B, EDDY__NO_LOCALS, e)                         \
    EDDY__UNARY_WIDE(F64, name, B, EDDY__NO_LOCALS, e)
#include "ops/math/unary.def"
#undef UNARY
#undef FLOATS
#undef MATHS
#undef SQUASHING
#undef KEEPING
#undef NEAR
#undef SCALARS
#undef PARTLY
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef TEST

EDDY__UNARY_KERNEL(B, LogicalNot, B, EDDY__NO_LOCALS, !x)

/* How many bits of the element are set. */
#define POPULATION(D, ...)                                                     \
    EDDY__UNARY_KERNEL(                                                        \
        D, PopulationCount, U8, EDDY__NO_LOCALS,                               \
        __builtin_popcountll((uint64_t)x &UINT64_MAX >> (64 - 8 * sizeof x)))
EDDY__EACH_SIGNED(POPULATION, )
EDDY__EACH_UNSIGNED(POPULATION, )

/* ---- the kernels of each op by dtype ---- */

#define ENTRY EDDY__KERNEL_ENTRY
#define ENTRIES(name, ...)                                                     \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        __VA_ARGS__};                                                          \
    EDDY__CHOOSER(name)
#define UNARY(name, types, kernels, flags, doc) ENTRIES(name, kernels)
#define FLOATS(name, e) EDDY__EACH_FLOAT(ENTRY, name)
#define MATHS(name, e, function, before, after) FLOATS(name, e)
#define SQUASHING MATHS
#define KEEPING MATHS
#define NEAR(name, function, after) FLOATS(name, )
#define PARTLY(name, e, other, kernel) FLOATS(name, )
#define SCALARS FLOATS
#define SIGNED(name, e) EDDY__EACH_SIGNED(ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(ENTRY, name)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(ENTRY, name)
#define TEST(name, e, doc) ENTRIES(name, FLOATS(name, e))
#include "ops/math/unary.def"
#undef UNARY
#undef ALIAS
#undef TEST

ENTRIES(PopulationCount,
        EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, PopulationCount)
            EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, PopulationCount))

/* ---- the loops of each op by dtype, for chains ---- */

#undef ENTRY
#define ENTRY EDDY__LOOPS_ENTRY
#define LOOPS(name, ...)                                                       \
    static const eddy__unary *const loops_##name[EDDY_DTYPE_COUNT] = {         \
        __VA_ARGS__};
#define UNARY(name, types, kernels, flags, doc) LOOPS(name, kernels)
#define ALIAS(name, of, types, flags, doc)
#define TEST(name, e, doc) LOOPS(name, FLOATS(name, e))
#include "ops/math/unary.def"
#undef UNARY
#undef ALIAS
#undef TEST

LOOPS(LogicalNot, EDDY__LOOPS_ENTRY(B, LogicalNot))

static const eddy__strip_row strips[] = {
    {"LogicalNot", loops_LogicalNot, NULL},
#define UNARY(name, types, kernels, flags, doc) {#name, loops_##name, NULL},
#define ALIAS(name, of, types, flags, doc) {#name, loops_##of, NULL},
#define TEST(name, e, doc) {#name, loops_##name, NULL},
#include "ops/math/unary.def"
#undef UNARY
#undef ALIAS
#undef ACTIVATION
#undef TEST
};

const eddy__strip_table eddy__unary_strips = {
    .rows = strips,
    .n = sizeof strips / sizeof strips[0],
};

/* ---- definitions ---- */

#define FLOAT "T: float"
#define REAL "T: real"
#define NUMBER "T: number"
#define INTEGER "T: integer"
#define FLOAT_COMPLEX "T: {float, complex}"
#define SIGNED_REAL "T: {float, int8, int16, int32, int64}"
#define SIGNED_NUMBER "T: {float, int8, int16, int32, int64, complex}"

static const eddy_op_spec specs[] = {
#define UNARY(name, types, kernels, more, text)                                \
    EDDY__OP_ROW(#name, .inputs = "x: T", .outputs = "y: T", .attrs = types,   \
                 .infer = eddy__infer_unchanged, .prepare = prepare_##name,    \
                 .flags = more, .doc = text),
#define ACTIVATION(name, types, kernels, more, text)                           \
    EDDY__OP_ROW(#name, .inputs = "features: T", .outputs = "activations: T",  \
                 .attrs = types, .infer = eddy__infer_unchanged,               \
                 .prepare = prepare_##name, .flags = more, .doc = text),
#define ALIAS(name, of, types, more, text)                                     \
    EDDY__OP_ROW(#name, .inputs = "x: T", .outputs = "y: T", .attrs = types,   \
                 .infer = eddy__infer_unchanged, .prepare = prepare_##of,      \
                 .flags = more, .doc = text),
#define TEST(name, e, text)                                                    \
    EDDY__OP_ROW(#name, .inputs = "x: T", .outputs = "y: bool",                \
                 .attrs = FLOAT, .infer = eddy__infer_unchanged,               \
                 .prepare = prepare_##name,                                    \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = text),
#include "ops/math/unary.def"
    EDDY__OP_ROW("LogicalNot", .inputs = "x: bool", .outputs = "y: bool",
                 .infer = eddy__infer_unchanged, .kernel = run_LogicalNot_B,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = "not x"),
    EDDY__OP_ROW("PopulationCount", .inputs = "x: T", .outputs = "y: uint8",
                 .attrs = INTEGER, .infer = eddy__infer_unchanged,
                 .prepare = prepare_PopulationCount,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "how many bits of x are set"),
};

const eddy__op_table eddy__unary_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

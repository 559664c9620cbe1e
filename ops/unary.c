#include "ops/elementwise.h"
#include "ops/ops.h"

#include <float.h>
#include <tgmath.h>

/* The constant `c` in the type of `x`. */
#define LIKE(x, c) _Generic((x), float : (float)(c), double : (double)(c))

/* Beyond it exp(-x) is lost beside 1: -log(epsilon) - 2. */
#define SOFT_LIMIT(x)                                                          \
    _Generic((x), float : 13.942385f, double : 34.043653389117154)

/* ---- kernels ---- */

#define UNARY(name, types, kernels, flags) kernels
#define ACTIVATION UNARY
#define ALIAS(name, of, types, flags)
#define FLOATS(name, e)                                                        \
    EDDY__UNARY_WIDE(F16, name, F16, EDDY__NO_LOCALS, e)                       \
    EDDY__UNARY_WIDE(F32, name, F32, EDDY__NO_LOCALS, e)                       \
    EDDY__UNARY_WIDE(F64, name, F64, EDDY__NO_LOCALS, e)
#define MATHS(name, e)                                                         \
    EDDY__UNARY_KERNEL(F16, name, F16, EDDY__NO_LOCALS, e)                     \
    EDDY__UNARY_KERNEL(F32, name, F32, EDDY__NO_LOCALS, e)                     \
    EDDY__UNARY_KERNEL(F64, name, F64, EDDY__NO_LOCALS, e)
#define SIGNED(name, e)                                                        \
    EDDY__UNARY_KERNEL(I8, name, I8, EDDY__WRAPPED_X, e)                       \
    EDDY__UNARY_KERNEL(I16, name, I16, EDDY__WRAPPED_X, e)                     \
    EDDY__UNARY_WIDE(I32, name, I32, EDDY__WRAPPED_X, e)                       \
    EDDY__UNARY_WIDE(I64, name, I64, EDDY__WRAPPED_X, e)
#define UNSIGNED(name, e)                                                      \
    EDDY__UNARY_KERNEL(U8, name, U8, EDDY__WRAPPED_X, e)                       \
    EDDY__UNARY_KERNEL(U16, name, U16, EDDY__WRAPPED_X, e)                     \
    EDDY__UNARY_KERNEL(U32, name, U32, EDDY__WRAPPED_X, e)                     \
    EDDY__UNARY_KERNEL(U64, name, U64, EDDY__WRAPPED_X, e)
#define COMPLEX(name, e) EDDY__UNARY_KERNEL(C64, name, C64, EDDY__NO_LOCALS, e)
#define TEST(name, e)                                                          \
    EDDY__UNARY_WIDE(F16, name, B, EDDY__NO_LOCALS, e)                         \
    EDDY__UNARY_WIDE(F32, name, B, EDDY__NO_LOCALS, e)                         \
    EDDY__UNARY_WIDE(F64, name, B, EDDY__NO_LOCALS, e)
#include "ops/unary.def"
#undef UNARY
#undef FLOATS
#undef MATHS
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef TEST

EDDY__UNARY_KERNEL(B, LogicalNot, B, EDDY__NO_LOCALS, !x)

/* ---- the kernels of each op by dtype ---- */

#define UNARY(name, types, kernels, flags)                                     \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {kernels};  \
    EDDY__CHOOSER(name)
#define FLOATS(name, e) EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)
#define MATHS(name, e) EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)
#define SIGNED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define COMPLEX(name, e) EDDY__KERNEL_ENTRY(C64, name)
#define TEST(name, e)                                                          \
    UNARY(name, , EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name), )
#include "ops/unary.def"
#undef UNARY
#undef FLOATS
#undef MATHS
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef TEST

/* ---- definitions ---- */

#define FLOAT "T: float"
#define REAL "T: real"
#define NUMBER "T: number"
#define INTEGER "T: integer"
#define FLOAT_COMPLEX "T: {float16, float32, float64, complex64}"
#define SIGNED_REAL "T: {float16, float32, float64, int8, int16, int32, int64}"
#define SIGNED_NUMBER                                                          \
    "T: {float16, float32, float64, int8, int16, int32, int64, complex64}"

#define ROW(name, of, types, output, flags)                                    \
    {sizeof(eddy_op_spec),  #name, "x: T",       output, types,                \
     eddy__infer_unchanged, NULL,  prepare_##of, flags},

#undef ALIAS
static const eddy_op_spec specs[] = {
#define UNARY(name, types, kernels, flags) ROW(name, name, types, "y: T", flags)
#define ALIAS(name, of, types, flags) ROW(name, of, types, "y: T", flags)
#undef ACTIVATION
#define ACTIVATION(name, types, kernels, flags)                                \
    ROW(name, name, types, "activations: T", flags)
#define TEST(name, e)                                                          \
    ROW(name, name, FLOAT, "y: bool", EDDY_OP_NOT_DIFFERENTIABLE)
#include "ops/unary.def"
#undef UNARY
#undef ACTIVATION
#undef ALIAS
#undef TEST
    {sizeof(eddy_op_spec), "LogicalNot", "x: bool", "y: bool", "",
     eddy__infer_unchanged, run_LogicalNot_B, NULL, EDDY_OP_NOT_DIFFERENTIABLE},
};

const eddy__op_table eddy__unary_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

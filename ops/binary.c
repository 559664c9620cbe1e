#include "ops/elements.h"
#include "ops/ops.h"
#include "ops/transcendental.h"
#include "runtime/base/memory.h"

#include <inttypes.h>
#include <tgmath.h>

#define EXACT EDDY_OP_NOT_DIFFERENTIABLE

/* ---- what rows use ---- */

/*
 * Quotients and remainders by -1 are apart, since the machine's divide the
 * least integer by it with a trap.
 */
#define QUOTIENT (y == -1 ? minus_x : x / y)
#define REST (y == -1 ? 0 : x % y)
#define FLOOR_QUOTIENT                                                         \
    (y == -1 ? minus_x : x / y - (x % y != 0 && (x < 0) != (y < 0)))

/* The remainder `rest` of a division by `y`, with the sign of `y`. */
#define FLOOR_REST(rest, y)                                                    \
    ((rest) != 0 && ((rest) < 0) != ((y) < 0) ? (rest) + (y) : (rest))

/* How far to shift: what is outside the width counts as its nearest bound. */
#define LAST_BIT ((int)sizeof(x) * 8 - 1)
#define SHIFT (y < 0 ? 0 : y > LAST_BIT ? LAST_BIT : (int)y)
#define SHIFT_UNSIGNED (y > LAST_BIT ? LAST_BIT : (int)y)

#define IS_ZERO(y) ((y) == 0)
#define IS_NEGATIVE(y) ((y) < 0)

/* A quotient that is its own inverse tangent. */
#define TINY_RATIO 0x1p-500

/* 0 where `x` is 0, whatever the product is. */
#define NO_NAN(x, product) ((x) == 0 ? 0 : (product))

/* SLEEF's log1p is infinite too early. */
#define LOG1P(y, t) ((y) > 0x1p500 ? eddy__math_log(y) : (t))

static eddy_status fail_division(eddy_kernel *k, int64_t i)
{
    return eddy__kfail(
        k, EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO,
        "integer division by zero: element %" PRId64 " of the divisor is 0", i);
}

static eddy_status fail_power(eddy_kernel *k, int64_t i)
{
    return eddy__kfail(
        k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
        "an integer to a negative integer power: element %" PRId64
        " of the exponent is below 0",
        i);
}

/* What expressions on integers that can fail see besides x and y. */
#define CHECKED_LOCALS(D)                                                      \
    EDDY__WRAPPED_X(D)                                                         \
    const eddy__computed_##D minus_x = (eddy__computed_##D)(0 - ux);           \
    (void)minus_x;

/* ---- kernels ---- */

#define BINARY(name, types, kernels, flags, doc) kernels
#define ALIAS(name, of, types, flags, doc)
#define FLOAT_KERNEL(D, name, e)                                               \
    EDDY__BINARY_WIDE(D, name, D, EDDY__NO_LOCALS, e)
#define FLOATS(name, e) EDDY__EACH_FLOAT(FLOAT_KERNEL, name, e)
#define CALLS_KERNEL(D, name, e)                                               \
    EDDY__BINARY_KERNEL(D, name, D, EDDY__NO_LOCALS, e)
#define CALLS(name, e) EDDY__EACH_FLOAT(CALLS_KERNEL, name, e)
#define CALLS_WIDER(name, e)                                                   \
    CALLS_KERNEL(F32, name, e) CALLS_KERNEL(F64, name, e)
#define APPLY_ONE EDDY__APPLY_ONE
#define APPLY_TWO EDDY__APPLY_TWO
#define MATHS(name, e, function, apply, first, second, after)                  \
    EDDY__BINARY_SHORT(F16, name, e)                                           \
    EDDY__BINARY_SHORT(F32, name, e)                                           \
    EDDY__BINARY_VIA(F64, name, function, apply, first, second, after)
#define NEAR(name, function, apply, first, second, after)                      \
    EDDY__BINARY_VIA(F16, name, near_##function, apply, first, second, t)      \
    EDDY__BINARY_VIA(F32, name, near_##function, apply, first, second, t)      \
    EDDY__BINARY_VIA(F64, name, function, apply, first, second, after)
#define SIGNED(name, e)                                                        \
    EDDY__BINARY_KERNEL(I8, name, I8, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_KERNEL(I16, name, I16, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_WIDE(I32, name, I32, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_WIDE(I64, name, I64, EDDY__WRAPPED_XY, e)
#define UNSIGNED(name, e)                                                      \
    EDDY__BINARY_KERNEL(U8, name, U8, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_KERNEL(U16, name, U16, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_KERNEL(U32, name, U32, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_KERNEL(U64, name, U64, EDDY__WRAPPED_XY, e)
#define COMPLEX(name, e) EDDY__BINARY_KERNEL(C64, name, C64, EDDY__NO_LOCALS, e)
#define CHECKED(D, name, BAD, fail, e)                                         \
    EDDY__BINARY_CHECKED(D, name, D, CHECKED_LOCALS, BAD, fail, e)
#define DIVIDED(name, e)                                                       \
    EDDY__EACH_SIGNED(CHECKED, name, IS_ZERO, fail_division, e)
#define DIVIDED_UNSIGNED(name, e)                                              \
    EDDY__EACH_UNSIGNED(CHECKED, name, IS_ZERO, fail_division, e)
#define RAISED(name, e)                                                        \
    EDDY__EACH_SIGNED(CHECKED, name, IS_NEGATIVE, fail_power, e)
#include "ops/binary.def"
#undef BINARY
#undef FLOATS
#undef CALLS
#undef CALLS_WIDER
#undef MATHS
#undef NEAR
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef DIVIDED
#undef DIVIDED_UNSIGNED
#undef RAISED

/* ---- the kernels of each op by dtype ---- */

#define ENTRIES(name, ...)                                                     \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        __VA_ARGS__};                                                          \
    EDDY__CHOOSER(name)
#define BINARY(name, types, kernels, flags, doc) ENTRIES(name, kernels)
#define FLOATS(name, e) EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)
#define CALLS FLOATS
#define CALLS_WIDER(name, e)                                                   \
    EDDY__KERNEL_ENTRY(F32, name) EDDY__KERNEL_ENTRY(F64, name)
#define MATHS(name, e, function, apply, first, second, after) FLOATS(name, e)
#define NEAR(name, function, apply, first, second, after) FLOATS(name, )
#define SIGNED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define COMPLEX(name, e) EDDY__KERNEL_ENTRY(C64, name)
#define DIVIDED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#define DIVIDED_UNSIGNED(name, e) EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define RAISED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#include "ops/binary.def"
#undef BINARY
#undef ALIAS

/* ---- definitions ---- */

#define FLOAT "T: float"
#define WIDER_FLOAT "T: {float32, float64}"
#define REAL "T: real"
#define NUMBER "T: number"
#define INTEGER "T: integer"
#define FLOAT_COMPLEX "T: {float16, float32, float64, complex64}"
#define MODULO "T: {float16, float32, float64, int32, int64}"
#define SIGNED_NUMBER                                                          \
    "T: {float16, float32, float64, int8, int16, int32, int64, complex64}"
#define ADDABLE                                                                \
    "T: {float16, float32, float64, int8, int16, int32, int64, uint8, "        \
    "complex64}"

static const eddy_op_spec specs[] = {
#define ROW(name, inputs, output, of, types, flags, doc)                       \
    {sizeof(eddy_op_spec),  #name, inputs,       output, types,                \
     eddy__infer_broadcast, NULL,  prepare_##of, flags,  doc,                  \
     "TensorFlow " #name},
#define BINARY(name, types, kernels, flags, doc)                               \
    ROW(name, "x: T, y: T", "z: T", name, types, flags, doc)
#define ALIAS(name, of, types, flags, doc)                                     \
    ROW(name, "x: T, y: T", "z: T", of, types, flags, doc)
#include "ops/binary.def"
};

const eddy__op_table eddy__binary_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

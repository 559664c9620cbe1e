#include "ops/elementwise.h"
#include "ops/ops.h"

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

#define BINARY(name, types, kernels, flags) kernels
#define ALIAS(name, of, types, flags)
#define FLOATS(name, e)                                                        \
    EDDY__BINARY_WIDE(F16, name, F16, EDDY__NO_LOCALS, e)                      \
    EDDY__BINARY_WIDE(F32, name, F32, EDDY__NO_LOCALS, e)                      \
    EDDY__BINARY_WIDE(F64, name, F64, EDDY__NO_LOCALS, e)
#define MATHS(name, e)                                                         \
    EDDY__BINARY_KERNEL(F16, name, F16, EDDY__NO_LOCALS, e)                    \
    EDDY__BINARY_KERNEL(F32, name, F32, EDDY__NO_LOCALS, e)                    \
    EDDY__BINARY_KERNEL(F64, name, F64, EDDY__NO_LOCALS, e)
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
#undef MATHS
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef DIVIDED
#undef DIVIDED_UNSIGNED
#undef RAISED

/* ---- the kernels of each op by dtype ---- */

#define BINARY(name, types, kernels, flags)                                    \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {kernels};  \
    EDDY__CHOOSER(name)
#define FLOATS(name, e) EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)
#define MATHS(name, e) EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)
#define SIGNED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define COMPLEX(name, e) EDDY__KERNEL_ENTRY(C64, name)
#define DIVIDED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#define DIVIDED_UNSIGNED(name, e) EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define RAISED(name, e) EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)
#include "ops/binary.def"
#undef BINARY

/* ---- definitions ---- */

#define FLOAT "T: float"
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

#define ROW(name, of, types, flags)                                            \
    {sizeof(eddy_op_spec),  #name, "x: T, y: T", "z: T", types,                \
     eddy__infer_broadcast, NULL,  prepare_##of, flags},

#undef ALIAS
static const eddy_op_spec specs[] = {
#define BINARY(name, types, kernels, flags) ROW(name, name, types, flags)
#define ALIAS(name, of, types, flags) ROW(name, of, types, flags)
#include "ops/binary.def"
#undef BINARY
#undef ALIAS
};

const eddy__op_table eddy__binary_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

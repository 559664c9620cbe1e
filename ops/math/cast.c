/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cast: every numeric dtype to every other.
 *
 * Floats become integers as cast_rows.h says.  (TensorFlow's own vector code
 * saturates narrow integers instead.)  Complex numbers lose their imaginary
 * part.  float64 becomes float16 or bfloat16 by way of float32.
 */
#include "core/base/status.h"
#include "ops/math/cast_rows.h"
#include "ops/math/strip.h"
#include "ops/ops.h"

#include <string.h>
#include <tgmath.h>

/* X(D, ...) for each dtype that D may be cast to. */
#define EACH_TARGET(X, ...)                                                    \
    EDDY__EACH_FLOAT(X, __VA_ARGS__)                                           \
    EDDY__EACH_SIGNED(X, __VA_ARGS__)                                          \
    EDDY__EACH_UNSIGNED(X, __VA_ARGS__)                                        \
    X(B, __VA_ARGS__)

/* ---- kernels: run_to_<target>_<source> ---- */

#define FROM_FLOAT(T, D)                                                       \
    EDDY__UNARY_WIDE(D, to_##T, T, EDDY__NO_LOCALS, R_TO_##T(x))
#define FROM_INTEGER(T, D)                                                     \
    EDDY__UNARY_KERNEL(D, to_##T, T, EDDY__NO_LOCALS, I_TO_##T(x))
/* Masks and pictures are cast in bulk. */
#define FROM_BYTE(T, D)                                                        \
    EDDY__UNARY_WIDE(D, to_##T, T, EDDY__NO_LOCALS, I_TO_##T(x))
#define FROM_COMPLEX(T, D)                                                     \
    EDDY__UNARY_KERNEL(D, to_##T, T, EDDY__NO_LOCALS, R_TO_##T(creal(x)))

#define FROM(D, KERNEL) EACH_TARGET(KERNEL, D) EDDY__EACH_COMPLEX(KERNEL, D)

FROM(F16, FROM_FLOAT)
FROM(BF16, FROM_FLOAT)
FROM(F32, FROM_FLOAT)
FROM(F64, FROM_FLOAT)
FROM(I8, FROM_INTEGER)
FROM(I16, FROM_INTEGER)
FROM(I32, FROM_INTEGER)
FROM(I64, FROM_INTEGER)
FROM(U8, FROM_BYTE)
FROM(U16, FROM_INTEGER)
FROM(U32, FROM_INTEGER)
FROM(U64, FROM_INTEGER)
FROM(B, FROM_BYTE)
EACH_TARGET(FROM_COMPLEX, C64)
EACH_TARGET(FROM_COMPLEX, C128)
EDDY__UNARY_KERNEL(C64, to_C128, C128, EDDY__NO_LOCALS, (eddy__complex128)x)
EDDY__UNARY_KERNEL(C128, to_C64, C64, EDDY__NO_LOCALS, (eddy__complex64)x)

/* ---- Truncate: mantissas are cut to the target's bits, not rounded ---- */

#define HALF_OF_FLOAT (UINT32_MAX << (23 - 10))
#define TO_BFLOAT (UINT32_MAX << 16)

static inline float cut_float(float x, uint32_t mask)
{
    const uint32_t bits = eddy__bits_of_float(x);

    return x == x ? eddy__float_of_bits(bits & mask) : x;
}

/* Leaves the upper bits that `mask` has. */
static inline double cut_double(double x, uint64_t mask)
{
    uint64_t bits;
    double cut;

    memcpy(&bits, &x, sizeof bits);
    bits &= mask;
    memcpy(&cut, &bits, sizeof cut);
    return x == x ? cut : x;
}

#define TO_FLOAT (UINT64_MAX << (52 - 23))
#define TO_HALF (UINT64_MAX << (52 - 10))

EDDY__UNARY_KERNEL(F32, cut_BF16, BF16, EDDY__NO_LOCALS,
                   cut_float(x, TO_BFLOAT))
EDDY__UNARY_KERNEL(F32, cut_F16, F16, EDDY__NO_LOCALS,
                   cut_float(x, HALF_OF_FLOAT))
EDDY__UNARY_KERNEL(F64, cut_F16, F16, EDDY__NO_LOCALS, cut_double(x, TO_HALF))
EDDY__UNARY_KERNEL(F64, cut_F32, F32, EDDY__NO_LOCALS, cut_double(x, TO_FLOAT))

/* ---- which kernel ---- */

#define TARGET(T, D) [EDDY__DTYPE_##T] = run_to_##T##_##D,
#define SOURCE(D)                                                              \
    [EDDY__DTYPE_##D] = {EACH_TARGET(TARGET, D) EDDY__EACH_COMPLEX(TARGET, D)},

/* By source, then target. */
static const eddy_kernel_fn kernels[EDDY_DTYPE_COUNT][EDDY_DTYPE_COUNT] = {
    SOURCE(F16) SOURCE(BF16) SOURCE(F32) SOURCE(F64) SOURCE(I8) SOURCE(I16)
        SOURCE(I32) SOURCE(I64) SOURCE(U8) SOURCE(U16) SOURCE(U32) SOURCE(U64)
            SOURCE(B)[EDDY_COMPLEX64] = {EACH_TARGET(TARGET, C64)
                                             TARGET(C128, C64)},
    [EDDY_COMPLEX128] = {EACH_TARGET(TARGET, C128) TARGET(C64, C128)},
};

/* The same loops. */
#undef TARGET
#define TARGET(T, D) [EDDY__DTYPE_##T] = &loops_to_##T##_##D,
static const eddy__unary *const loops[EDDY_DTYPE_COUNT][EDDY_DTYPE_COUNT] = {
    SOURCE(F16) SOURCE(BF16) SOURCE(F32) SOURCE(F64) SOURCE(I8) SOURCE(I16)
        SOURCE(I32) SOURCE(I64) SOURCE(U8) SOURCE(U16) SOURCE(U32) SOURCE(U64)
            SOURCE(B)};

const eddy__unary *eddy__cast_loops(eddy_dtype from, eddy_dtype to)
{
    return from == to ? NULL : loops[from][to];
}

/*
 * The others do not lose mantissa bits, or round all the same, as float64 to
 * bfloat16 does in TensorFlow.
 */
static eddy_kernel_fn find_cut(eddy_dtype from, eddy_dtype to)
{
    if (from == EDDY_FLOAT64)
        return to == EDDY_FLOAT32   ? run_cut_F32_F64
               : to == EDDY_FLOAT16 ? run_cut_F16_F64
                                    : NULL;
    if (from != EDDY_FLOAT32)
        return NULL;
    return to == EDDY_FLOAT16    ? run_cut_F16_F32
           : to == EDDY_BFLOAT16 ? run_cut_BF16_F32
                                 : NULL;
}

static eddy_status run_same(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer)
{
    const eddy_dtype from = eddy_infer_input_dtype(infer, 0);
    const eddy_dtype to = eddy_infer_output_dtype(infer, 0);
    eddy_kernel_fn kernel = kernels[from][to];

    if (from == to)
        kernel = run_same;
    else if (eddy__infer_bool(infer, "Truncate") && find_cut(from, to))
        kernel = find_cut(from, to);
    if (!kernel)
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                               "%s can't be cast to %s", eddy_dtype_name(from),
                               eddy_dtype_name(to));
    eddy_infer_set_kernel(infer, kernel);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Cast", .inputs = "x: SrcT", .outputs = "y: DstT",
                 .attrs = "SrcT: type, DstT: type, Truncate: bool = false",
                 .infer = eddy__infer_unchanged, .prepare = prepare,
                 .doc = "The same numbers in another dtype."),
};

const eddy__op_table eddy__cast_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers from their parts and back: every op of TensorFlow's. */
#include "ops/math/transcendental.h"
#include "ops/ops.h"

/* ---- parts ---- */

static float magnitude_C64(eddy__complex64 x)
{
    const double real = (double)crealf(x), imaginary = (double)cimagf(x);

    /* In double, where no square of a float overflows or underflows. */
    if (isinf(real) || isinf(imaginary))
        return HUGE_VALF;
    return (float)sqrt(real * real + imaginary * imaginary);
}

static double magnitude_C128(eddy__complex128 x)
{
    return hypot(creal(x), cimag(x));
}

static float angle_C64(eddy__complex64 x)
{
    return eddy__settle(
        eddy__math_near_atan2((double)cimagf(x), (double)crealf(x)));
}

/* A quotient that is its own inverse tangent. */
#define TINY_RATIO 0x1p-500

static double angle_C128(eddy__complex128 x)
{
    const double re = creal(x), im = cimag(x);

    if (re > 0 && fabs(im) < TINY_RATIO * re)
        return eddy__settle_double(im / re);
    return eddy__settle_double(eddy__math_atan2(im, re));
}

#define PART(name, e_C64, e_C128)                                              \
    EDDY__UNARY_KERNEL(C64, name, F32, EDDY__NO_LOCALS, e_C64)                 \
    EDDY__UNARY_KERNEL(C128, name, F64, EDDY__NO_LOCALS, e_C128)

PART(Angle, angle_C64(x), angle_C128(x))
PART(ComplexAbs, magnitude_C64(x), magnitude_C128(x))
PART(Imag, cimagf(x), cimag(x))
PART(Real, crealf(x), creal(x))

EDDY__UNARY_KERNEL(C64, Conj, C64, EDDY__NO_LOCALS, conjf(x))
EDDY__UNARY_KERNEL(C128, Conj, C128, EDDY__NO_LOCALS, conj(x))

/* A list, which conjugates as what it holds is read, stays as it is. */
static eddy_status run_variant(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

static eddy_status prepare_conj(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 0);

    eddy_infer_set_kernel(infer, dtype == EDDY_VARIANT     ? run_variant
                                 : dtype == EDDY_COMPLEX64 ? run_Conj_C64
                                                           : run_Conj_C128);
    return EDDY_OK;
}

/* The parts are of one dtype alone, whatever else `Tout` may be. */
static eddy_status prepare_part(eddy_infer *infer, eddy_kernel_fn kernel_C64,
                                eddy_kernel_fn kernel_C128)
{
    const eddy_dtype whole = eddy_infer_input_dtype(infer, 0);
    const eddy_dtype part = eddy_infer_output_dtype(infer, 0);

    eddy_infer_set_kernel(infer, part != eddy__dtype_of_parts(whole) ? NULL
                                 : whole == EDDY_COMPLEX64 ? kernel_C64
                                                           : kernel_C128);
    return EDDY_OK;
}

#define PREPARE_PART(name)                                                     \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        return prepare_part(infer, run_##name##_C64, run_##name##_C128);       \
    }

PREPARE_PART(Angle)
PREPARE_PART(ComplexAbs)
PREPARE_PART(Imag)
PREPARE_PART(Real)

/* ---- the whole ---- */

/* NOLINTNEXTLINE(readability-function-size): what the macro makes. */
EDDY__BINARY_KERNEL(F32, Complex, C64, EDDY__NO_LOCALS, eddy__complex(x, y))
/* NOLINTNEXTLINE(readability-function-size): likewise. */
EDDY__BINARY_KERNEL(F64, Complex, C128, EDDY__NO_LOCALS,
                    eddy__long_complex(x, y))

static eddy_status prepare_Complex(eddy_infer *infer)
{
    const eddy_dtype part = eddy_infer_input_dtype(infer, 0);
    const eddy_dtype whole = eddy_infer_output_dtype(infer, 0);

    eddy_infer_set_kernel(infer, part != eddy__dtype_of_parts(whole) ? NULL
                                 : part == EDDY_FLOAT32 ? run_Complex_F32
                                                        : run_Complex_F64);
    return EDDY_OK;
}

#define PART_ROW(name, input, output, text)                                    \
    EDDY__OP_ROW(                                                              \
        #name, .inputs = input ": T", .outputs = output ": Tout",              \
        .attrs = "T: complex = complex64, Tout: {float32, float64} = float32", \
        .infer = eddy__infer_unchanged, .prepare = prepare_##name,             \
        .doc = text)

static const eddy_op_spec specs[] = {
    PART_ROW(Angle, "input", "output", "The angle of a complex number."),
    PART_ROW(ComplexAbs, "x", "y", "The magnitude of a complex number."),
    PART_ROW(Imag, "input", "output", "The imaginary part."),
    PART_ROW(Real, "input", "output", "The real part."),
    EDDY__OP_ROW("Complex", .inputs = "real: T, imag: T",
                 .outputs = "out: Tout",
                 .attrs = "T: {float32, float64} = float32, "
                          "Tout: complex = complex64",
                 .infer = eddy__infer_broadcast, .prepare = prepare_Complex,
                 .doc = "The complex number of those parts."),
    EDDY__OP_ROW("Conj", .inputs = "input: T", .outputs = "output: T",
                 .attrs = "T: {complex, variant} = complex64",
                 .infer = eddy__infer_unchanged, .prepare = prepare_conj,
                 .doc = "The complex conjugate."),
};

const eddy__op_table eddy__complex_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of the incomplete gamma and beta functions. */
#include "ops/math/elements.h"
#include "ops/math/incomplete.h"
#include "ops/math/transcendental.h"
#include "ops/ops.h"

/* An element takes some hundred terms. */
#define ELEMENT_WORK 4096

/* The least logarithm whose exponential is no denormal. */
#define LEAST_F32 (-87.33654475)
#define LEAST_F64 (-708.39641853)

/* As in TensorFlow, a density too small for the dtype leaves nothing. */
#define SAMPLE_F32(a, x) eddy__gamma_sample_by_a((a), (x), LEAST_F32)
#define SAMPLE_F64(a, x) eddy__gamma_sample_by_a((a), (x), LEAST_F64)

#define ONE(name, D, function)                                                 \
    EDDY__BINARY_KERNEL(D, name, D, EDDY__NO_LOCALS,                           \
                        eddy__settle_double(function((double)x, (double)y)))

#define KERNELS(name, function) KERNELS_OF(name, function, function)

#define KERNELS_OF(name, single, wide)                                         \
    ONE(name, F32, single)                                                     \
    ONE(name, F64, wide)                                                       \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        EDDY__KERNEL_ENTRY(F32, name) EDDY__KERNEL_ENTRY(F64, name)};          \
    EDDY__CHOOSER(name)

/* NOLINTBEGIN(readability-function-size): the strips of a loop nest in it. */
KERNELS(Igamma, eddy__igamma)
KERNELS(Igammac, eddy__igammac)
KERNELS(IgammaGradA, eddy__igamma_by_a)
KERNELS_OF(RandomGammaGrad, SAMPLE_F32, SAMPLE_F64)
/* NOLINTEND(readability-function-size) */

/* ---- Betainc: its inputs have one shape, or are scalars ---- */

static const char *const names[] = {"a", "b", "x"};

static eddy_status shape_of_all(eddy_kernel *k, eddy_shape *out)
{
    *out = eddy__shape_scalar();
    for (uint32_t i = 0; i < 3; i++) {
        const eddy_shape *of = eddy__in_shape(k, i);

        if (of->rank == 0)
            continue;
        if (out->rank > 0 && !eddy__shape_equal(out, of))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "a, b and x must have one shape, or be scalars, but they "
                "have shapes %s, %s and %s",
                eddy__shape_print(eddy__in_shape(k, 0)).text,
                eddy__shape_print(eddy__in_shape(k, 1)).text,
                eddy__shape_print(eddy__in_shape(k, 2)).text);
        *out = *of;
    }
    return EDDY_OK;
}

static double element(const eddy_view *view, int64_t i)
{
    const int64_t at = view->rank == 0 ? 0 : i;

    return view->dtype == EDDY_FLOAT64
               ? ((const double *)view->data)[at]
               : (double)((const float *)view->data)[at];
}

static eddy_status run_betainc(eddy_kernel *k)
{
    const eddy_view a = eddy__in_view(k, 0), b = eddy__in_view(k, 1),
                    x = eddy__in_view(k, 2);
    eddy_shape shape;
    int64_t count = 1;
    void *out;

    EDDY_TRY(shape_of_all(k, &shape));
    EDDY_TRY(eddy__output(k, 0, a.dtype, &shape, &out));
    for (int32_t d = 0; d < shape.rank; d++)
        count *= shape.dims[d];
    for (int64_t i = 0; i < count && !eddy__spent(k, ELEMENT_WORK); i++) {
        const double value = eddy__settle_double(
            eddy__betainc(element(&a, i), element(&b, i), element(&x, i)));

        if (a.dtype == EDDY_FLOAT64)
            ((double *)out)[i] = value;
        else
            ((float *)out)[i] = (float)value;
    }
    return EDDY_OK;
}

static eddy_status infer_betainc(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_scalar();

    for (uint32_t i = 0; i < 3; i++) {
        const eddy_shape *of = eddy_infer_input(infer, i);

        if (of->rank < 0)
            return EDDY_OK;
        if (of->rank == 0)
            continue;
        if (shape.rank > 0 && !eddy__shape_merge(&shape, of, &shape))
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                   "%s has shape %s, another one has %s",
                                   names[i], eddy__shape_print(of).text,
                                   eddy__shape_print(&shape).text);
        if (shape.rank == 0)
            shape = *of;
    }
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Igamma", .inputs = "a: T, x: T", .outputs = "z: T",
        .attrs = "T: {float32, float64}", .infer = eddy__infer_broadcast,
        .prepare = prepare_Igamma, .flags = EDDY_OP_HEAVY,
        .doc = "The lower regularised incomplete gamma function P(a, x)."),
    EDDY__OP_ROW(
        "Igammac", .inputs = "a: T, x: T", .outputs = "z: T",
        .attrs = "T: {float32, float64}", .infer = eddy__infer_broadcast,
        .prepare = prepare_Igammac, .flags = EDDY_OP_HEAVY,
        .doc = "The upper regularised incomplete gamma function 1 - P(a, x)."),
    EDDY__OP_ROW("IgammaGradA", .inputs = "a: T, x: T", .outputs = "z: T",
                 .attrs = "T: {float32, float64}",
                 .infer = eddy__infer_broadcast, .prepare = prepare_IgammaGradA,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "The derivative of P(a, x) by a."),
    EDDY__OP_ROW(
        "RandomGammaGrad", .inputs = "alpha: T, sample: T",
        .outputs = "output: T", .attrs = "T: {float32, float64}",
        .infer = eddy__infer_broadcast, .prepare = prepare_RandomGammaGrad,
        .flags = EDDY_OP_HEAVY,
        .doc =
            "How a sample of a gamma distribution moves with its shape alpha."),
    EDDY__OP_ROW("Betainc", .inputs = "a: T, b: T, x: T", .outputs = "z: T",
                 .attrs = "T: {float32, float64}", .infer = infer_betainc,
                 .kernel = run_betainc, .flags = EDDY_OP_HEAVY,
                 .doc = "The regularised incomplete beta function I_x(a, b)."),
};

const eddy__op_table eddy__igamma_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

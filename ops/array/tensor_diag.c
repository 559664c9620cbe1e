/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diag: a tensor of twice the rank with the input on its diagonal, that is
 * where the first half of the coordinates equals the second, and zeros
 * elsewhere.  DiagPart takes it from there.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <string.h>

static eddy_status run_diag(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    const unsigned char *from = eddy__in_elements(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    eddy_shape shape = {.rank = 2 * of->rank};
    unsigned char *out;

    if (of->rank < 1 || shape.rank > EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the diagonal must have a rank from 1 to %d, but "
                           "it has shape %s",
                           EDDY_MAX_RANK / 2, eddy__shape_print(of).text);
    for (int32_t d = 0; d < of->rank; d++)
        shape.dims[d] = shape.dims[d + of->rank] = of->dims[d];
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (n > 0)
        eddy__zero_bytes(k, out, (size_t)n * (size_t)n * size);
    for (int64_t i = 0; i < n && !eddy__spent(k, 8); i++)
        memcpy(out + (size_t)i * (size_t)(n + 1) * size,
               from + (size_t)i * size, size);
    return EDDY_OK;
}

static eddy_status check_halves(eddy_kernel *k, const eddy_shape *of)
{
    const int32_t half = of->rank / 2;
    bool fits = of->rank % 2 == 0;

    for (int32_t d = 0; fits && d < half; d++)
        fits = of->dims[d] == of->dims[d + half];
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the dimensions must be those of the diagonal, twice, "
                       "but the input has shape %s",
                       eddy__shape_print(of).text);
}

static eddy_status run_part(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_shape shape = *of;
    unsigned char *out;
    int64_t n = 1;

    EDDY_TRY(check_halves(k, of));
    shape.rank /= 2;
    for (int32_t d = 0; d < shape.rank; d++)
        n *= shape.dims[d];
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    for (int64_t i = 0; i < n && !eddy__spent(k, 8); i++)
        memcpy(out + (size_t)i * size,
               from + (size_t)i * (size_t)(n + 1) * size, size);
    return EDDY_OK;
}

/* ---- shapes ---- */

static eddy_status infer_diag(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = {.rank = 2 * of->rank};

    if (of->rank < 1 || shape.rank > EDDY_MAX_RANK)
        return EDDY_OK;
    for (int32_t d = 0; d < of->rank; d++)
        shape.dims[d] = shape.dims[d + of->rank] = of->dims[d];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_part(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = {.rank = of->rank / 2};

    if (of->rank < 0 || of->rank % 2 != 0)
        return EDDY_OK;
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] =
            of->dims[d] >= 0 ? of->dims[d] : of->dims[d + shape.rank];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_numbers(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__dtype_in(dtype, EDDY__NUMBERS))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

#define TYPES "T: {float, int32, int64, complex}"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Diag", .inputs = "diagonal: T", .outputs = "output: T",
                 .attrs = TYPES, .infer = infer_diag, .kernel = run_diag,
                 .prepare = prepare_numbers,
                 .doc = "A tensor of twice the rank with the input on its "
                        "diagonal."),
    EDDY__OP_ROW("DiagPart", .inputs = "input: T", .outputs = "diagonal: T",
                 .attrs = TYPES, .infer = infer_part, .kernel = run_part,
                 .prepare = prepare_numbers,
                 .doc = "The elements whose coordinates are the same twice."),
};

const eddy__op_table eddy__tensor_diag_ops = {specs, NULL,
                                              sizeof specs / sizeof *specs};

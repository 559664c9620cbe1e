/* SPDX-License-Identifier: Apache-2.0 */
/* Bitcast: the same bytes as numbers of another dtype. */
#include "ops/math/elements.h"
#include "ops/ops.h"

/*
 * Wide elements become a last dimension of narrow ones, and the other way
 * round; false if the last dimension is not what one wide element needs.
 * Unknown dimensions fit.
 */
static bool cast_shape(const eddy_shape *of, size_t from, size_t to,
                       eddy_shape *out)
{
    *out = *of;
    if (from > to)
        out->dims[out->rank++] = (int64_t)(from / to);
    else if (from < to) {
        const int64_t n = (int64_t)(to / from);

        if (of->rank == 0 ||
            (of->dims[of->rank - 1] >= 0 && of->dims[of->rank - 1] != n))
            return false;
        out->rank--;
    }
    return true;
}

static eddy_status run_bitcast(eddy_kernel *k)
{
    const eddy_dtype to = (eddy_dtype)k->node->out_dtypes[0];
    const size_t size = eddy_dtype_size(eddy__in_dtype(k, 0));
    const eddy_shape *of = eddy__in_shape(k, 0);
    const unsigned char *in = eddy__in_elements(k, 0);
    const size_t bytes = (size_t)eddy__in_count(k, 0) * size;
    eddy_shape shape;
    void *out;

    if (size > eddy_dtype_size(to) && of->rank == EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result has a rank above %d, which is not "
                           "supported",
                           EDDY_MAX_RANK);
    if (!cast_shape(of, size, eddy_dtype_size(to), &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the last dimension must be %d for a cast to %s, "
                           "but the shape is %s",
                           (int)(eddy_dtype_size(to) / size),
                           eddy_dtype_name(to), eddy__shape_print(of).text);
    if (size == eddy_dtype_size(to))
        EDDY_TRY(eddy__output_reusing(k, 0, 0, to, &shape, &out));
    else
        EDDY_TRY(eddy__output(k, 0, to, &shape, &out));
    if (out != (const void *)in)
        eddy__copy_bytes(k, out, in, bytes);
    return EDDY_OK;
}

static eddy_status infer_bitcast(eddy_infer *infer)
{
    const size_t from = eddy_dtype_size(eddy_infer_input_dtype(infer, 0));
    const size_t to = eddy_dtype_size(eddy_infer_output_dtype(infer, 0));
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape;

    if (of->rank < 0 || (from > to && of->rank == EDDY_MAX_RANK) ||
        !cast_shape(of, from, to, &shape))
        return EDDY_OK;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Bitcast", .inputs = "input: T", .outputs = "output: type",
        .attrs = "T: number, type: number", .infer = infer_bitcast,
        .kernel = run_bitcast, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "The same bytes in another dtype; one element may become several."),
};

const eddy__op_table eddy__bitcast_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};

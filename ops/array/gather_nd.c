/* SPDX-License-Identifier: Apache-2.0 */
/* GatherNd and ScatterNd: slices by indices that are vectors. */
#include "ops/array/nd_index.h"
#include "ops/math/accumulate.h"
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <string.h>

/* ---- GatherNd ---- */

static eddy_status prepare_gather(eddy_infer *infer)
{
    EDDY_TRY(eddy__prepare_arranged(infer));
    return eddy__nd_index_prepare(infer);
}

static eddy_status run_gather_nd(eddy_kernel *k)
{
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_kernel *const asker = eddy__asker(k, dtype);
    eddy_shape shape;
    unsigned char *out;
    eddy__nd_index a;
    size_t bytes;

    if (eddy__in_shape(k, 0)->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "what is gathered from must have rows, but it is a "
                           "scalar");
    EDDY_TRY(eddy__nd_index_read(k, 1, eddy__in_shape(k, 0), &a));
    if (!eddy__nd_index_shape(a.of, eddy__in_shape(k, 1), a.depth, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result has a rank above %d, which is not "
                           "supported",
                           EDDY_MAX_RANK);
    EDDY_TRY(eddy__nd_index_check(k, &a));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    bytes = (size_t)a.slice * eddy__element_size(dtype);
    for (int64_t i = 0; bytes > 0 && i < a.n; i++) {
        int64_t slice = eddy__nd_index_find(&a, i);

        if (asker && eddy__spent(asker, 16))
            break;
        if (slice >= 0)
            eddy__copy_bytes(asker, out + (size_t)i * bytes,
                             from + (size_t)slice * bytes, bytes);
        else
            eddy__zero_bytes(asker, out + (size_t)i * bytes, bytes);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_gather_value(eddy_kernel *k)
{
    return eddy__variable_run_on_value(k, (eddy_dtype)k->node->out_dtypes[0],
                                       run_gather_nd);
}

static eddy_status infer_gather_nd(eddy_infer *infer)
{
    const eddy_shape *params = eddy_infer_input(infer, 0);
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    eddy_shape shape;
    int64_t depth;

    if (params->rank < 0 || indices->rank < 1)
        return EDDY_OK;
    depth = indices->dims[indices->rank - 1];
    if (depth >= 0 && depth <= params->rank &&
        eddy__nd_index_shape(params, indices, depth, &shape))
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- ScatterNd ---- */

static eddy_status prepare_scatter(eddy_infer *infer)
{
    EDDY_TRY(eddy__nd_index_prepare(infer));
    if (eddy__accumulate_adder_of(eddy_infer_output_dtype(infer, 0)))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s",
                           eddy_dtype_name(eddy_infer_output_dtype(infer, 0)));
}

static eddy_status run_scatter_nd(eddy_kernel *k)
{
    const unsigned char *from = eddy__in_elements(k, 1);
    eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy__adder add = eddy__accumulate_adder_of(dtype);
    eddy_view argument = eddy__in_view(k, 2);
    size_t size = eddy_dtype_size(dtype);
    eddy_shape shape;
    unsigned char *out;
    int64_t count;
    eddy__nd_index a;

    EDDY_TRY(eddy__shape_from_view(k, &argument, 0, &shape));
    if (!eddy__shape_count(&shape, size, &count))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "an output of shape %s is too large",
                           eddy__shape_print(&shape).text);
    EDDY_TRY(eddy__nd_index_read(k, 0, &shape, &a));
    EDDY_TRY(eddy__nd_index_fits(k, &a, 1));
    EDDY_TRY(eddy__nd_index_check(k, &a));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (count == 0)
        return EDDY_OK;
    eddy__zero_bytes(k, out, (size_t)count * size);
    for (int64_t i = 0; i < a.n && !eddy__spent(k, 16 + a.slice); i++) {
        int64_t slice = eddy__nd_index_find(&a, i);

        if (slice >= 0)
            add(out + (size_t)(slice * a.slice) * size,
                from + (size_t)(i * a.slice) * size, a.slice);
    }
    return EDDY_OK;
}

static eddy_status infer_scatter_nd(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 2);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("GatherNd", .inputs = "params: Tparams, indices: Tindices",
                 .outputs = "output: Tparams",
                 .attrs = "Tparams: type, Tindices: {int16, int32, int64}, "
                          "bad_indices_policy: string = ''",
                 .infer = infer_gather_nd, .kernel = run_gather_nd,
                 .prepare = prepare_gather,
                 .doc =
                     "Slices of params, each chosen by a vector of indices."),
    EDDY__OP_ROW(
        "ScatterNd", .inputs = "indices: Tindices, updates: T, shape: Tindices",
        .outputs = "output: T",
        .attrs = "T: type, Tindices: {int16, int32, int64}, "
                 "bad_indices_policy: string = ''",
        .infer = infer_scatter_nd, .kernel = run_scatter_nd,
        .prepare = prepare_scatter,
        .doc = "Zeros of a shape, with updates added at vectors of indices."),
    EDDY__OP_ROW(
        "ResourceGatherNd", .inputs = "resource: resource, indices: Tindices",
        .outputs = "output: dtype", .attrs = "dtype: type, Tindices: index",
        .kernel = run_gather_value, .prepare = prepare_gather,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
        .doc = "Slices of a variable, each chosen by a vector of indices."),
};

const eddy__op_table eddy__gather_nd_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InplaceUpdate, InplaceAdd and InplaceSub: some rows of a tensor are replaced
 * or changed.  The input is written over only if nobody else reads it.
 */
#include "ops/math/combine.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

static eddy_status check_rows(eddy_kernel *k, const eddy_shape *x)
{
    const eddy_shape *i = eddy__in_shape(k, 1), *v = eddy__in_shape(k, 2);
    bool fits = i->rank == 1 && x->rank > 0 && v->rank == x->rank &&
                v->dims[0] == i->dims[0];

    for (int32_t d = 1; fits && d < x->rank; d++)
        fits = v->dims[d] == x->dims[d];
    if (fits && (x->dims[0] > 0 || i->dims[0] == 0))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s values of shape %s are no rows of a tensor of shape "
                       "%s",
                       eddy__shape_print(i).text, eddy__shape_print(v).text,
                       eddy__shape_print(x).text);
}

static eddy_status change_rows(eddy_kernel *k, eddy__combination what)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const eddy_shape shape = *eddy__in_shape(k, 0);
    const eddy_view rows = eddy__in_view(k, 1);
    const unsigned char *from = eddy__in_elements(k, 0);
    const unsigned char *values = eddy__in_elements(k, 2);
    const int64_t count = eddy__in_count(k, 0);
    eddy__rows loop = {.step_a = 1, .step_b = 1, .n_rows = 1};
    size_t bytes;
    void *data;

    EDDY_TRY(check_rows(k, &shape));
    EDDY_TRY(eddy__output_reusing(k, 0, 0, dtype, &shape, &data));
    if (data != from && count > 0)
        eddy__copy_bytes(k, data, from,
                         (size_t)count * eddy__element_size(dtype));
    if (count == 0)
        return EDDY_OK;
    loop.n = count / shape.dims[0];
    bytes = (size_t)loop.n * eddy__element_size(dtype);
    for (int64_t i = 0; i < rows.count && !eddy__spent(k, 8 + loop.n); i++) {
        int64_t row = eddy__view_index(&rows, i) % shape.dims[0];

        row += row < 0 ? shape.dims[0] : 0;
        loop.out = (unsigned char *)data + (size_t)row * bytes;
        loop.a = loop.out;
        loop.b = values + (size_t)i * bytes;
        if (what == EDDY__COMBINE_REPLACE)
            memcpy(loop.out, loop.b, bytes);
        else
            eddy__combiner_of(what, dtype)(&loop);
    }
    return EDDY_OK;
}

static eddy_status run_update(eddy_kernel *k)
{
    return change_rows(k, EDDY__COMBINE_REPLACE);
}

static eddy_status run_add(eddy_kernel *k)
{
    return change_rows(k, EDDY__COMBINE_ADD);
}

static eddy_status run_sub(eddy_kernel *k)
{
    return change_rows(k, EDDY__COMBINE_SUB);
}

static eddy_status want_kernel(eddy_infer *infer, bool exists)
{
    if (exists)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s",
                           eddy_dtype_name(eddy__infer_type(infer, "T")));
}

static eddy_status prepare_update(eddy_infer *infer)
{
    return want_kernel(infer, eddy_dtype_size(eddy__infer_type(infer, "T")));
}

static eddy_status prepare_change(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    return want_kernel(infer,
                       eddy__dtype_in(dtype, EDDY__NUMBERS) &&
                           eddy__combiner_of(EDDY__COMBINE_ADD, dtype) != NULL);
}

#define INPLACE(name, run_it, prepare_it, text)                                \
    EDDY__OP_ROW("Inplace" name, .inputs = "x: T, i: int32, v: T",             \
                 .outputs = "y: T", .attrs = "T: type",                        \
                 .infer = eddy__infer_unchanged, .kernel = run_it,             \
                 .prepare = prepare_it, .doc = text)

static const eddy_op_spec specs[] = {
    INPLACE("Update", run_update, prepare_update,
            "x with rows i, counted modulo its length, replaced."),
    INPLACE("Add", run_add, prepare_change,
            "x with v added to rows i, counted modulo its length."),
    INPLACE("Sub", run_sub, prepare_change,
            "x with v subtracted from rows i, counted modulo its length."),
};

const eddy__op_table eddy__inplace_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};

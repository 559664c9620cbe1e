/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TensorScatter family: a copy of a tensor, some slices of which are
 * replaced by updates or joined with them, one after the other.
 */
#include "ops/array/nd_index.h"
#include "ops/math/combine.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <string.h>

/* Inputs. */
enum { TENSOR, INDICES, UPDATES };

/* ---- the kernel ---- */

static eddy_status read_index(eddy_kernel *k, eddy__nd_index *index)
{
    const eddy_shape *of = eddy__in_shape(k, TENSOR);

    if (of->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the tensor must have at least one dimension");
    EDDY_TRY(eddy__nd_index_read(k, INDICES, of, index));
    EDDY_TRY(eddy__nd_index_fits(k, index, UPDATES));
    return eddy__nd_index_check(k, index);
}

/* A copy of the tensor; of strings, one that borrows them. */
static eddy_status copy_tensor(eddy_kernel *k, const eddy_shape *shape,
                               unsigned char **out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, TENSOR);
    const unsigned char *from = eddy__in_elements(k, TENSOR);
    const size_t size = eddy__element_size(dtype);
    const int64_t count = eddy__in_count(k, TENSOR);
    void *data;

    if (dtype == EDDY_STRING) {
        EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, out));
    } else {
        EDDY_TRY(eddy__output_reusing(k, 0, TENSOR, dtype, shape, &data));
        *out = data;
    }
    if (*out != from && count > 0)
        eddy__copy_bytes(eddy__asker(k, dtype), *out, from,
                         (size_t)count * size);
    return EDDY_OK;
}

static eddy_status scatter(eddy_kernel *k, eddy__combination what)
{
    const eddy_dtype dtype = eddy__in_dtype(k, TENSOR);
    const unsigned char *updates = eddy__in_elements(k, UPDATES);
    const eddy_shape shape = *eddy__in_shape(k, TENSOR);
    const size_t size = eddy__element_size(dtype);
    eddy_kernel *const asker = eddy__asker(k, dtype);
    const eddy__binary_loop loop = eddy__combiner_of(what, dtype);
    eddy__rows rows = {.step_a = 1, .step_b = 1, .n_rows = 1};
    eddy__nd_index index = {.n = 0};
    unsigned char *out;
    size_t bytes;

    EDDY_TRY(read_index(k, &index));
    index.of = &shape;
    EDDY_TRY(copy_tensor(k, &shape, &out));
    bytes = (size_t)index.slice * size;
    rows.n = index.slice;
    for (int64_t i = 0; bytes > 0 && i < index.n; i++) {
        const int64_t slice = eddy__nd_index_find(&index, i);

        if (asker && eddy__spent(asker, 16 + index.slice))
            break;
        if (slice < 0)
            continue;
        rows.out = out + (size_t)slice * bytes;
        rows.a = rows.out;
        rows.b = updates + (size_t)i * bytes;
        if (loop)
            loop(&rows);
        else
            memcpy(rows.out, rows.b, bytes);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_update(eddy_kernel *k)
{
    return scatter(k, EDDY__COMBINE_REPLACE);
}

static eddy_status run_add(eddy_kernel *k)
{
    return scatter(k, EDDY__COMBINE_ADD);
}

static eddy_status run_sub(eddy_kernel *k)
{
    return scatter(k, EDDY__COMBINE_SUB);
}

static eddy_status run_max(eddy_kernel *k)
{
    return scatter(k, EDDY__COMBINE_MAX);
}

static eddy_status run_min(eddy_kernel *k)
{
    return scatter(k, EDDY__COMBINE_MIN);
}

#define SCATTER(name, dtypes, indices, run, text)                              \
    EDDY__OP_ROW(name, .inputs = "tensor: T, indices: Tindices, updates: T",   \
                 .outputs = "output: T",                                       \
                 .attrs = "T: " dtypes ", Tindices: " indices                  \
                          ", bad_indices_policy: string = ''",                 \
                 .infer = eddy__infer_unchanged, .kernel = run,                \
                 .prepare = eddy__nd_index_prepare, .doc = text)

static const eddy_op_spec specs[] = {
    SCATTER("TensorScatterUpdate", "{number, bool, string}",
            "{int16, int32, int64, uint16}", run_update,
            "The tensor with slices replaced by updates."),
    SCATTER("TensorScatterAdd", "number", "index", run_add,
            "The tensor with updates added to slices."),
    SCATTER("TensorScatterSub", "number", "index", run_sub,
            "The tensor with updates subtracted from slices."),
    SCATTER("TensorScatterMax", "real", "index", run_max,
            "The tensor with slices raised to updates that are greater."),
    SCATTER("TensorScatterMin", "real", "index", run_min,
            "The tensor with slices lowered to updates that are less."),
};

const eddy__op_table eddy__tensor_scatter_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

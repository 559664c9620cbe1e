/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updating slices of a variable, each chosen by a vector of indices:
 * ResourceScatterNdUpdate, ScatterNdUpdate and their like.
 */
#include "ops/array/nd_index.h"
#include "ops/math/combine.h"
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <string.h>

/* Copies a slice of strings into a tensor of the variable's own. */
static eddy_status replace_strings(eddy_kernel *k, const eddy__update *u,
                                   int64_t at, const unsigned char *from,
                                   int64_t n)
{
    const eddy__string *strings = (const void *)from;

    for (int64_t i = 0; i < n; i++)
        if (!eddy__tensor_set_string(u->made.as.tensor, at + i, strings[i].data,
                                     strings[i].length))
            return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for a string");
    return EDDY_OK;
}

static eddy_status update_slices(eddy_kernel *k, const eddy__update *u,
                                 const eddy__nd_index *a,
                                 eddy__combination what)
{
    const eddy__binary_loop loop = eddy__combiner_of(what, u->dtype);
    const unsigned char *from = eddy__in_elements(k, 2);
    const size_t bytes = (size_t)a->slice * eddy__element_size(u->dtype);
    eddy__rows rows = {.n = a->slice, .step_a = 1, .step_b = 1, .n_rows = 1};

    for (int64_t i = 0; i < a->n; i++, from += bytes) {
        const int64_t slice = eddy__nd_index_find(a, i);

        if (slice < 0)
            continue;
        rows.out = u->to + (size_t)slice * bytes;
        rows.a = rows.out;
        rows.b = from;
        if (loop)
            loop(&rows);
        else if (u->dtype == EDDY_STRING)
            EDDY_TRY(replace_strings(k, u, slice * a->slice, from, a->slice));
        else
            memcpy(rows.out, from, bytes);
    }
    return EDDY_OK;
}

static eddy_status scatter_nd(eddy_kernel *k, eddy__update *u, const void *arg)
{
    const eddy__combination *what = arg;
    eddy__nd_index a;

    EDDY_TRY(eddy__nd_index_read(k, 1, u->shape, &a));
    EDDY_TRY(eddy__nd_index_fits(k, &a, 2));
    EDDY_TRY(eddy__nd_index_check(k, &a));
    if (u->count == 0 || a.n == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__update_make(k, u, true));
    return update_slices(k, u, &a, *what);
}

static eddy_status prepare_combination(eddy_infer *infer,
                                       eddy__combination what)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 2);

    if (what == EDDY__COMBINE_REPLACE ? eddy__dtype_in(dtype, EDDY__MOVABLE)
                                      : eddy__combiner_of(what, dtype) != NULL)
        return eddy__nd_index_prepare(infer);
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

#define SCATTER(name, what)                                                    \
    static eddy_status run_##name(eddy_kernel *k)                              \
    {                                                                          \
        static const eddy__combination combination = what;                     \
                                                                               \
        return eddy__update_variable(k, (eddy_dtype)k->node->in_dtypes[2],     \
                                     scatter_nd, &combination);                \
    }                                                                          \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        return prepare_combination(infer, what);                               \
    }

SCATTER(update, EDDY__COMBINE_REPLACE)
SCATTER(add, EDDY__COMBINE_ADD)
SCATTER(sub, EDDY__COMBINE_SUB)
SCATTER(min, EDDY__COMBINE_MIN)
SCATTER(max, EDDY__COMBINE_MAX)

/* ---- definitions ---- */

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

#define SCATTER_ATTRS(types, locks)                                            \
    "T: " types ", Tindices: index, use_locking: bool = " locks                \
    ", bad_indices_policy: string = ''"

/* The op on a handle, then the op on a reference. */
#define SCATTERS(name, run, types, locks, text)                                \
    EDDY__OP_ROW("ResourceScatterNd" name,                                     \
                 .inputs = "ref: resource, indices: Tindices, updates: T",     \
                 .attrs = SCATTER_ATTRS(types, "true"), .kernel = run_##run,   \
                 .prepare = prepare_##run, .flags = FLAGS, .doc = text),       \
        EDDY__OP_ROW("ScatterNd" name,                                         \
                     .inputs = "ref: ref T, indices: Tindices, updates: T",    \
                     .outputs = "output_ref: ref T",                           \
                     .attrs = SCATTER_ATTRS(types, locks),                     \
                     .kernel = run_##run, .prepare = prepare_##run,            \
                     .flags = FLAGS, .doc = text)

static const eddy_op_spec specs[] = {
    SCATTERS("Update", update, "type", "true",
             "Replaces slices of a variable at vectors of indices."),
    SCATTERS("Add", add, "{number, bool}", "false",
             "Adds to slices of a variable at vectors of indices."),
    SCATTERS("Sub", sub, "number", "false",
             "Subtracts from slices of a variable at vectors of indices."),
    SCATTERS("Min", min, "number", "false",
             "Slices of a variable become the lesser at vectors of indices."),
    SCATTERS("Max", max, "number", "false",
             "Slices of a variable become the greater at vectors of indices."),
};

const eddy__op_table eddy__variable_scatter_nd_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

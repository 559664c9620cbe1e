/* SPDX-License-Identifier: Apache-2.0 */
/* Updating rows of a variable: ResourceScatterAdd, ScatterAdd and their like.
 */
#include "ops/math/combine.h"
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <inttypes.h>
#include <string.h>

/* Rows and which of them are updated. */
typedef struct rows_of {
    eddy_view indices;
    int64_t n_rows, row; /* rows of the variable, elements a row */
    int64_t step;        /* elements of the updates an index; 0: a scalar */
} rows_of;

/* Are the updates as the indices followed by a row? */
static bool updates_fit(const eddy_shape *updates, const eddy_shape *indices,
                        const eddy_shape *of)
{
    if (updates->rank != indices->rank + of->rank - 1)
        return false;
    for (int32_t d = 0; d < indices->rank; d++)
        if (updates->dims[d] != indices->dims[d])
            return false;
    for (int32_t d = 1; d < of->rank; d++)
        if (updates->dims[indices->rank + d - 1] != of->dims[d])
            return false;
    return true;
}

static eddy_status check_shapes(eddy_kernel *k, const eddy__update *u)
{
    const eddy_shape *indices = eddy__in_shape(k, 1);
    const eddy_shape *updates = eddy__in_shape(k, 2);

    if (u->shape->rank > 0 &&
        (updates->rank == 0 || updates_fit(updates, indices, u->shape)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "updates of shape %s, indices of shape %s and the "
                       "variable '%s' of shape %s do not go together: updates "
                       "are a scalar, or shaped as the indices and then as a "
                       "row of the variable",
                       eddy__shape_print(updates).text,
                       eddy__shape_print(indices).text, u->variable->name,
                       eddy__shape_print(u->shape).text);
}

static eddy_status check_indices(eddy_kernel *k, const rows_of *r)
{
    for (int64_t i = 0; i < r->indices.count; i++) {
        const int64_t index = eddy__index_at(&r->indices, i);

        if (index < 0 || index >= r->n_rows)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                "indices%s = %" PRId64 " is not in [0, %" PRId64 ")",
                eddy__position(eddy__in_shape(k, 1), i).text, index, r->n_rows);
    }
    return EDDY_OK;
}

/* Quotients of integers by 0 do not exist. */
static eddy_status check_divisors(eddy_kernel *k, const eddy__update *u)
{
    if (!eddy__dtype_in(u->dtype, EDDY__INTEGERS) ||
        !eddy__combine_has_zero(u->dtype, eddy__in_elements(k, 2),
                                eddy__in_count(k, 2)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO,
                       "integer division by zero: some update is 0");
}

static void combine_rows(eddy_kernel *k, const eddy__update *u,
                         const rows_of *r, eddy__combination what)
{
    const unsigned char *from = eddy__in_elements(k, 2);
    const size_t size = eddy_dtype_size(u->dtype);
    const eddy__binary_loop loop = eddy__combiner_of(what, u->dtype);
    eddy__rows rows = {
        .n = r->row, .step_a = 1, .step_b = r->step > 0, .n_rows = 1};

    for (int64_t i = 0; i < r->indices.count; i++) {
        rows.out =
            u->to + (size_t)(eddy__index_at(&r->indices, i) * r->row) * size;
        rows.a = rows.out;
        rows.b = from + (size_t)(i * r->step) * size;
        loop(&rows);
    }
}

static void replace_rows(eddy_kernel *k, const eddy__update *u,
                         const rows_of *r)
{
    const unsigned char *from = eddy__in_elements(k, 2);
    const size_t size = eddy_dtype_size(u->dtype);
    const size_t bytes = (size_t)r->row * size;

    for (int64_t i = 0; i < r->indices.count; i++) {
        unsigned char *to =
            u->to + (size_t)eddy__index_at(&r->indices, i) * bytes;

        if (r->step > 0)
            memcpy(to, from + (size_t)i * bytes, bytes);
        else
            eddy__repeat(NULL, to, from, size, r->row);
    }
}

static eddy_status replace_strings(eddy_kernel *k, const eddy__update *u,
                                   const rows_of *r)
{
    const eddy__string *from = (const void *)eddy__in_elements(k, 2);

    for (int64_t i = 0; i < r->indices.count; i++) {
        const int64_t at = eddy__index_at(&r->indices, i) * r->row;

        for (int64_t j = 0; j < r->row; j++) {
            const eddy__string *s = &from[r->step > 0 ? i * r->row + j : 0];

            if (!eddy__tensor_set_string(u->made.as.tensor, at + j, s->data,
                                         s->length))
                return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                                   "no memory for a string");
        }
    }
    return EDDY_OK;
}

static void replace_lists(eddy_kernel *k, const eddy__update *u,
                          const rows_of *r)
{
    const eddy__value *from = (const void *)eddy__in_elements(k, 2);
    eddy__value *to = (eddy__value *)(void *)u->to;

    for (int64_t i = 0; i < r->indices.count; i++) {
        const int64_t at = eddy__index_at(&r->indices, i) * r->row;

        for (int64_t j = 0; j < r->row; j++) {
            eddy__value_clear(k->heap, &to[at + j]);
            to[at + j] =
                eddy__value_copy(&from[r->step > 0 ? i * r->row + j : 0]);
        }
    }
}

static eddy_status scatter(eddy_kernel *k, eddy__update *u, const void *arg)
{
    const eddy__combination *what = arg;
    rows_of r = {.indices = eddy__in_view(k, 1), .row = 1};

    EDDY_TRY(check_shapes(k, u));
    r.n_rows = u->shape->dims[0];
    for (int32_t d = 1; d < u->shape->rank; d++)
        r.row *= u->shape->dims[d];
    r.step = eddy__in_shape(k, 2)->rank > 0 ? r.row : 0;
    EDDY_TRY(check_indices(k, &r));
    if (*what == EDDY__COMBINE_DIV)
        EDDY_TRY(check_divisors(k, u));
    EDDY_TRY(eddy__variable_check_lists(k, eddy__in(k, 2)));
    if (u->count == 0 || r.indices.count == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__update_make(k, u, true));
    if (*what != EDDY__COMBINE_REPLACE)
        combine_rows(k, u, &r, *what);
    else if (u->dtype == EDDY_STRING)
        return replace_strings(k, u, &r);
    else if (u->dtype == EDDY_VARIANT)
        replace_lists(k, u, &r);
    else
        replace_rows(k, u, &r);
    return EDDY_OK;
}

static eddy_status prepare_combination(eddy_infer *infer,
                                       eddy__combination what)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 2);

    if (what == EDDY__COMBINE_REPLACE
            ? eddy__dtype_in(dtype,
                             EDDY__MOVABLE | EDDY__DTYPE_BIT(EDDY_VARIANT))
            : eddy__combiner_of(what, dtype) != NULL)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

#define SCATTER(name, what)                                                    \
    static eddy_status run_##name(eddy_kernel *k)                              \
    {                                                                          \
        static const eddy__combination combination = what;                     \
                                                                               \
        return eddy__update_variable(k, (eddy_dtype)k->node->in_dtypes[2],     \
                                     scatter, &combination);                   \
    }                                                                          \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        return prepare_combination(infer, what);                               \
    }

SCATTER(update, EDDY__COMBINE_REPLACE)
SCATTER(add, EDDY__COMBINE_ADD)
SCATTER(sub, EDDY__COMBINE_SUB)
SCATTER(mul, EDDY__COMBINE_MUL)
SCATTER(div, EDDY__COMBINE_DIV)
SCATTER(min, EDDY__COMBINE_MIN)
SCATTER(max, EDDY__COMBINE_MAX)

/* ---- definitions ---- */

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

/* The op on a handle, then the op on a reference. */
#define SCATTERS(name, run, types, ref_types, locks, text)                     \
    EDDY__OP_ROW(                                                              \
        "ResourceScatter" name,                                                \
        .inputs = "resource: resource, indices: Tindices, updates: dtype",     \
        .attrs = "dtype: " types ", Tindices: index", .kernel = run_##run,     \
        .prepare = prepare_##run, .flags = FLAGS, .doc = text),                \
        EDDY__OP_ROW("Scatter" name,                                           \
                     .inputs = "ref: ref T, indices: Tindices, updates: T",    \
                     .outputs = "output_ref: ref T",                           \
                     .attrs = "T: " ref_types                                  \
                              ", Tindices: index, use_locking: bool = " locks, \
                     .kernel = run_##run, .prepare = prepare_##run,            \
                     .flags = FLAGS, .doc = text)

#define FEW "{float, int32, int64}"

static const eddy_op_spec specs[] = {
    SCATTERS("Update", update, "type", "type", "true",
             "Replaces the rows of a variable that indices name."),
    SCATTERS("Add", add, "number", "number", "false",
             "Adds to the rows of a variable that indices name."),
    SCATTERS("Sub", sub, "number", "number", "false",
             "Subtracts from the rows of a variable that indices name."),
    SCATTERS("Mul", mul, "number", "number", "false",
             "Multiplies the rows of a variable that indices name."),
    SCATTERS("Div", div, "number", "number", "false",
             "Divides the rows of a variable that indices name."),
    SCATTERS("Min", min, "number", FEW, "false",
             "Rows of a variable that indices name become the lesser."),
    SCATTERS("Max", max, "number", FEW, "false",
             "Rows of a variable that indices name become the greater."),
};

const eddy__op_table eddy__variable_scatter_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

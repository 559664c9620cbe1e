/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigning to what an index expression takes of a variable:
 * ResourceStridedSliceAssign and StridedSliceAssign.
 */
#include "ops/array/box.h"
#include "ops/array/strided.h"
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <string.h>

/* The input that is assigned. */
#define VALUE 4

/* Is the value as the slice, or repeated to be so? */
static bool value_fits(const eddy_shape *value, const eddy_shape *slice)
{
    const int32_t more = value->rank - slice->rank;

    for (int32_t d = 0; d < value->rank; d++)
        if (value->dims[d] != 1 &&
            (d < more || value->dims[d] != slice->dims[d - more]))
            return false;
    return true;
}

/*
 * Bytes from one element of the value to the next along dimension `d` of the
 * variable; `strides` are the value's own.
 */
static int64_t value_step(const eddy_shape *value, const eddy__region *r,
                          const int64_t *strides, int32_t d)
{
    const int32_t at = r->place[d] + value->rank - r->shape.rank;

    return r->place[d] < 0 || at < 0 || value->dims[at] == 1 ? 0 : strides[at];
}

/* Moves elements of `item` bytes each to where they belong. */
static void put(const eddy__region *r, const eddy_shape *of,
                const eddy_shape *value, size_t item, unsigned char *to,
                const unsigned char *from)
{
    int64_t from_strides[EDDY_MAX_RANK], to_strides[EDDY_MAX_RANK], start = 0;
    eddy__box box = {.item = item};

    eddy__box_dense_strides(of, item, to_strides);
    eddy__box_dense_strides(value, item, from_strides);
    for (int32_t d = 0; d < of->rank; d++) {
        start += r->begin[d] * to_strides[d];
        if (r->size[d] > 1)
            eddy__box_add(&box, r->size[d],
                          value_step(value, r, from_strides, d),
                          r->stride[d] * to_strides[d]);
    }
    eddy__box_copy(NULL, &box, to + start, from);
}

/* Strings, by moving their numbers: 0 is an element that stays. */
static eddy_status put_strings(eddy_kernel *k, const eddy__update *u,
                               const eddy__region *r, int64_t *numbers,
                               int64_t *places)
{
    const eddy__string *strings = (const void *)eddy__in_elements(k, VALUE);
    const int64_t n = eddy__in_count(k, VALUE);

    for (int64_t i = 0; i < n; i++)
        numbers[i] = i + 1;
    memset(places, 0, (size_t)u->count * sizeof *places);
    put(r, u->shape, eddy__in_shape(k, VALUE), sizeof *numbers,
        (unsigned char *)places, (const unsigned char *)numbers);
    for (int64_t i = 0; i < u->count; i++) {
        const eddy__string *s = &strings[places[i] > 0 ? places[i] - 1 : 0];

        if (places[i] > 0 &&
            !eddy__tensor_set_string(u->made.as.tensor, i, s->data, s->length))
            return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for a string");
    }
    return EDDY_OK;
}

static eddy_status assign_strings(eddy_kernel *k, const eddy__update *u,
                                  const eddy__region *r)
{
    const eddy_shape counts[] = {
        {.rank = 1, .dims = {eddy__in_count(k, VALUE)}},
        {.rank = 1, .dims = {u->count}},
    };
    eddy_tensor *numbers = NULL, *places = NULL;
    eddy_status status = eddy__new_tensor(k, EDDY_INT64, &counts[0], &numbers);

    if (status == EDDY_OK)
        status = eddy__new_tensor(k, EDDY_INT64, &counts[1], &places);
    if (status == EDDY_OK)
        status = put_strings(k, u, r, numbers->data, places->data);
    eddy_tensor_release(places);
    eddy_tensor_release(numbers);
    return status;
}

static eddy_status assign(eddy_kernel *k, eddy__update *u, const void *arg)
{
    const eddy_shape *value = eddy__in_shape(k, VALUE);
    eddy__region r = {.shape = {.rank = 0}};

    (void)arg;
    EDDY_TRY(eddy__strided_read(k, u->shape, &r));
    /* As TensorFlow does, an empty slice takes any value. */
    for (int32_t d = 0; d < u->shape->rank; d++)
        if (r.size[d] == 0)
            return EDDY_OK;
    if (!value_fits(value, &r.shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "a value of shape %s cannot be repeated to be a "
                           "slice of shape %s of the variable '%s'",
                           eddy__shape_print(value).text,
                           eddy__shape_print(&r.shape).text, u->variable->name);
    EDDY_TRY(eddy__update_make(k, u, true));
    if (u->dtype == EDDY_STRING)
        return assign_strings(k, u, &r);
    put(&r, u->shape, value, eddy__element_size(u->dtype), u->to,
        eddy__in_elements(k, VALUE));
    return EDDY_OK;
}

static eddy_status run_assign(eddy_kernel *k)
{
    return eddy__update_variable(k, (eddy_dtype)k->node->in_dtypes[VALUE],
                                 assign, NULL);
}

static eddy_status prepare(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__dtype_in(dtype, EDDY__MOVABLE))
        return eddy__strided_prepare(infer);
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)
#define INPUTS "begin: Index, end: Index, strides: Index, value: T"
#define TYPES "T: type, Index: index" EDDY__SLICE_MASKS
#define DOC "Assigns to what an index expression takes of a variable."

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("ResourceStridedSliceAssign",
                 .inputs = "ref: resource, " INPUTS, .attrs = TYPES,
                 .kernel = run_assign, .prepare = prepare, .flags = FLAGS,
                 .doc = DOC),
    EDDY__OP_ROW("StridedSliceAssign", .inputs = "ref: ref T, " INPUTS,
                 .outputs = "output_ref: ref T", .attrs = TYPES,
                 .kernel = run_assign, .prepare = prepare, .flags = FLAGS,
                 .doc = DOC),
};

const eddy__op_table eddy__variable_slice_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};

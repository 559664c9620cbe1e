/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a variable for an update, in place if nobody else holds its value, and
 * closes it again.
 */
#include "ops/state/variable.h"

#include <string.h>

/* A kernel that runs on a value has at most so many inputs. */
#define MOST_INPUTS 4

eddy_status eddy__in_variable(eddy_kernel *k, uint32_t i,
                              eddy__variable **out_variable)
{
    eddy__resource *resource;
    eddy_status status =
        eddy__in_resource(k, i, &eddy__variable_type, &resource);

    *out_variable = (eddy__variable *)(void *)resource;
    return status;
}

eddy_status eddy__variable_fail_uninitialized(eddy_kernel *k,
                                              const eddy__variable *variable,
                                              eddy_status code)
{
    return eddy__kfail(k, code, EDDY_E_UNINITIALIZED,
                       "the variable '%s' is uninitialized or was destroyed; "
                       "a value must be assigned before",
                       variable->name);
}

eddy_status eddy__variable_fail_dtype(eddy_kernel *k,
                                      const eddy__variable *variable,
                                      eddy_dtype found, eddy_dtype wanted)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "the variable '%s' is %s; %s is wanted", variable->name,
                       eddy_dtype_name(found), eddy_dtype_name(wanted));
}

/* A reference to the value of the dtype that is wanted. */
static eddy_status read_value(eddy_kernel *k, eddy__variable *variable,
                              eddy_dtype dtype, eddy_status missing,
                              eddy__value *out_value)
{
    eddy__value value = eddy__variable_get(variable);
    const eddy_dtype found = (eddy_dtype)value.dtype;

    if (value.kind == EDDY__NONE)
        return eddy__variable_fail_uninitialized(k, variable, missing);
    if (dtype != EDDY_INVALID && found != dtype) {
        eddy__value_clear(k->heap, &value);
        return eddy__variable_fail_dtype(k, variable, found, dtype);
    }
    *out_value = value;
    return EDDY_OK;
}

/* Leaves `uses`, which is the executor's, as it is. */
static void put(eddy_kernel *k, uint32_t i, eddy__value value)
{
    eddy__value *out = eddy__out(k, i);

    out->kind = value.kind;
    out->dtype = value.dtype;
    out->as = value.as;
}

eddy_status eddy__output_variable(eddy_kernel *k, uint32_t i,
                                  eddy__variable *variable, eddy_status missing)
{
    eddy__value value;

    EDDY_TRY(read_value(k, variable, (eddy_dtype)k->node->out_dtypes[i],
                        missing, &value));
    put(k, i, value);
    return EDDY_OK;
}

eddy_status eddy__variable_run_on_value(eddy_kernel *k, eddy_dtype dtype,
                                        eddy_kernel_fn run)
{
    static const uint32_t places[MOST_INPUTS + 1] = {0, 1, 2, 3, 4};
    eddy__value values[MOST_INPUTS + 1];
    const uint32_t n = k->node->n_in;
    eddy__variable *variable;
    eddy_kernel inner = *k;
    eddy_status status;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    EDDY_TRY(read_value(k, variable, dtype, EDDY_NOT_FOUND, &values[0]));
    /* Of two uses none is the last: nothing is taken over. */
    values[0].uses = 2;
    for (uint32_t i = 1; i < n; i++) {
        values[i] = *eddy__in(k, i);
        values[i].uses = 2;
    }
    values[n] = (eddy__value){.kind = EDDY__NONE};
    inner.values = values;
    inner.in = places;
    inner.out = &places[n];
    status = run(&inner);
    eddy__value_clear(k->heap, &values[0]);
    put(k, 0, values[n]);
    return status;
}

/* ---- updates ---- */

eddy_status eddy__update_open(eddy_kernel *k, eddy__variable *variable,
                              eddy_dtype dtype, eddy_status missing,
                              eddy__update *update)
{
    static const eddy_shape scalar = {.rank = 0};
    const eddy__value *value = &variable->value;

    memset(update, 0, sizeof *update);
    if (value->kind == EDDY__NONE)
        return eddy__variable_fail_uninitialized(k, variable, missing);
    if (value->dtype != dtype)
        return eddy__variable_fail_dtype(k, variable, (eddy_dtype)value->dtype,
                                         dtype);
    update->variable = variable;
    update->dtype = dtype;
    update->shape = &scalar;
    update->count = 1;
    update->from = eddy__value_elements(value);
    if (eddy__value_is_tensor(value)) {
        update->shape = &value->as.tensor->shape;
        update->count = value->as.tensor->count;
    }
    return EDDY_OK;
}

static eddy_status copy_strings(eddy_kernel *k, const eddy__update *update)
{
    const eddy__string *from = (const void *)update->from;

    for (int64_t i = 0; i < update->count; i++)
        if (from[i].length > 0 &&
            !eddy__tensor_set_string(update->made.as.tensor, i, from[i].data,
                                     from[i].length))
            return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for a string");
    return EDDY_OK;
}

static void copy_lists(const eddy__update *update)
{
    const eddy__value *from = (const void *)update->from;

    for (int64_t i = 0; i < update->count; i++)
        ((eddy__value *)(void *)update->to)[i] = eddy__value_copy(&from[i]);
}

/* A tensor of the variable's dtype and shape; never a scalar in itself. */
static eddy_status make_tensor(eddy_kernel *k, eddy__update *update)
{
    eddy_tensor *tensor = eddy__tensor_create(k->heap, k->account, k->allocator,
                                              update->dtype, update->shape);

    if (!tensor)
        return eddy__kfail(
            k, EDDY_RESOURCE_EXHAUSTED,
            k->heap && k->heap->limit_hit ? EDDY_E_LIMIT_BYTES : EDDY_E_MEMORY,
            "no memory for a value %s%s of the variable '%s'",
            eddy_dtype_name(update->dtype),
            eddy__shape_print(update->shape).text, update->variable->name);
    update->made =
        (eddy__value){.kind = EDDY__TENSOR, .dtype = (uint8_t)update->dtype};
    update->made.as.tensor = tensor;
    update->to = tensor->data;
    return EDDY_OK;
}

eddy_status eddy__update_make(eddy_kernel *k, eddy__update *update, bool copied)
{
    eddy__value *value = &update->variable->value;

    if (value->kind == EDDY__SCALAR) {
        update->to = (unsigned char *)&value->as;
        return EDDY_OK;
    }
    /* Setting strings may fail halfway. */
    if (update->dtype != EDDY_STRING &&
        eddy__tensor_is_exclusive(value->as.tensor)) {
        update->to = value->as.tensor->data;
        return EDDY_OK;
    }
    EDDY_TRY(make_tensor(k, update));
    if (!copied)
        return EDDY_OK;
    if (update->dtype == EDDY_STRING)
        return copy_strings(k, update);
    if (update->dtype == EDDY_VARIANT)
        copy_lists(update);
    else if (value->as.tensor->bytes > 0)
        memcpy(update->to, update->from, value->as.tensor->bytes);
    return EDDY_OK;
}

void eddy__update_close(eddy__update *update)
{
    if (update->made.kind == EDDY__NONE)
        return;
    update->old = eddy__variable_exchange(update->variable, update->made);
    update->made.kind = EDDY__NONE;
}

void eddy__update_abandon(eddy_kernel *k, eddy__update *update)
{
    eddy__value_clear(k->heap, &update->made);
}

eddy_status eddy__update_variable(eddy_kernel *k, eddy_dtype dtype,
                                  eddy__change_fn change, const void *arg)
{
    const bool is_reference = eddy__variable_is_reference_op(k);
    eddy__variable *variable;
    eddy__update update;
    eddy_status status;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    eddy__mutex_lock(&variable->mu);
    status = eddy__update_open(
        k, variable, dtype,
        is_reference ? EDDY_FAILED_PRECONDITION : EDDY_NOT_FOUND, &update);
    if (status == EDDY_OK)
        status = change(k, &update, arg);
    if (status == EDDY_OK)
        eddy__update_close(&update);
    eddy__mutex_unlock(&variable->mu);
    eddy__update_abandon(k, &update);
    eddy__value_clear(k->heap, &update.old);
    if (status == EDDY_OK && is_reference)
        eddy__output_forward(k, 0, 0);
    return status;
}

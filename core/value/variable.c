/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and finds variables by their names, and reads them under the lock of
 * each.
 */
#include "core/value/variable.h"

#include "core/base/status.h"
#include "core/value/shape.h"

#include <string.h>

static eddy__variable *of(eddy__resource *resource)
{
    return (eddy__variable *)(void *)resource;
}

static void clear_variable(eddy__resource *resource, eddy__heap *heap)
{
    eddy__value_clear(heap, &of(resource)->value);
}

static void deinit_variable(eddy__resource *resource)
{
    eddy__mutex_destroy(&of(resource)->mu);
}

const eddy__resource_type eddy__variable_type = {
    .name = "a variable",
    .clear = clear_variable,
    .deinit = deinit_variable,
};

eddy__variable *eddy__variable_create(const eddy_allocator *allocator,
                                      const char *name)
{
    const size_t length = strlen(name);
    eddy__resource *resource;
    size_t size;

    if (!eddy__add_size(sizeof(eddy__variable) + 1, length, &size))
        return NULL;
    resource =
        eddy__resource_create_named(allocator, &eddy__variable_type, size);
    if (!resource)
        return NULL;
    if (eddy__mutex_init(&of(resource)->mu, NULL) != EDDY_OK) {
        eddy__free(allocator, resource, 1, size);
        return NULL;
    }
    of(resource)->shape = eddy__shape_unknown();
    memcpy(of(resource)->name, name, length + 1);
    return of(resource);
}

static eddy__resource *make(const eddy_allocator *allocator, const void *name)
{
    return (void *)eddy__variable_create(allocator, name);
}

eddy_status eddy__variable_find(eddy__resource_table *table, const char *name,
                                eddy__variable **out_variable, eddy_error *err)
{
    eddy__resource *resource;
    eddy_status status = eddy__resource_table_find(
        table, &eddy__variable_type, name, make, name, &resource, err);

    *out_variable = of(resource);
    return status;
}

void eddy__variable_declare(eddy__variable *variable, eddy_dtype dtype,
                            const eddy_shape *shape)
{
    eddy__mutex_lock(&variable->mu);
    if (!variable->is_declared) {
        variable->dtype = dtype;
        variable->shape = *shape;
        variable->is_declared = true;
    } else {
        if (variable->dtype != dtype)
            variable->dtype = EDDY_INVALID;
        variable->shape = eddy__shape_join(&variable->shape, shape);
    }
    eddy__mutex_unlock(&variable->mu);
}

eddy__value eddy__variable_get(eddy__variable *variable)
{
    eddy__value value;

    eddy__mutex_lock(&variable->mu);
    value = eddy__value_copy(&variable->value);
    eddy__mutex_unlock(&variable->mu);
    return value;
}

eddy__value eddy__variable_exchange(eddy__variable *variable, eddy__value value)
{
    eddy__value old = variable->value;

    variable->value = value;
    variable->value.uses = 0;
    return old;
}

eddy_shape eddy__value_shape(const eddy__value *value)
{
    return eddy__value_is_tensor(value) ? value->as.tensor->shape
                                        : eddy__shape_scalar();
}

eddy__misfit eddy__variable_check(const eddy__variable *variable,
                                  eddy_dtype dtype, const eddy_shape *shape)
{
    const eddy__value *value = &variable->value;
    const eddy_dtype want =
        value->kind == EDDY__NONE ? variable->dtype : (eddy_dtype)value->dtype;

    if (want != EDDY_INVALID && want != dtype)
        return EDDY__OTHER_DTYPE;
    return eddy__shape_compatible(&variable->shape, shape) ? EDDY__FITS
                                                           : EDDY__OTHER_SHAPE;
}

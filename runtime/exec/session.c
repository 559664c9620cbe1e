/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: counted, and held by the runs in them; and their variables. */
#include "runtime/exec/session.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/value/shape.h"
#include "core/value/variable.h"

eddy_status eddy_session_create(eddy_context *ctx, eddy_session **out_session,
                                eddy_error *err)
{
    eddy_session *session =
        eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *session);
    eddy_status status;

    *out_session = NULL;
    if (!session)
        return eddy__fail_memory(err);
    session->ctx = ctx;
    atomic_init(&session->refs, 1);
    status =
        eddy__resource_table_init(&session->resources, &ctx->allocator, err);
    if (status == EDDY_OK)
        *out_session = session;
    else
        eddy__free(&ctx->allocator, session, 1, sizeof *session);
    return status;
}

eddy_session *eddy_session_retain(eddy_session *session)
{
    if (session)
        atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void eddy_session_release(eddy_session *session)
{
    if (!session ||
        atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) > 1)
        return;
    eddy__resource_table_deinit(&session->resources);
    eddy__free(&session->ctx->allocator, session, 1, sizeof *session);
}

void eddy_session_clear(eddy_session *session)
{
    eddy__resource_table_clear(&session->resources);
}

/* ---- variables ---- */

static eddy_status check_name(const char *name, eddy_error *err)
{
    if (name)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                      "no name of a variable");
}

static eddy_status read_value(eddy_session *session, const char *name,
                              eddy__value *out_value, eddy_error *err)
{
    eddy__resource *resource;

    EDDY_TRY(eddy__resource_table_find(&session->resources,
                                       &eddy__variable_type, name, NULL, NULL,
                                       &resource, err));
    if (resource)
        *out_value = eddy__variable_get((eddy__variable *)(void *)resource);
    eddy__resource_release(resource);
    if (resource && out_value->kind != EDDY__NONE)
        return EDDY_OK;
    return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED,
                      "the session has no value of a variable '%s'", name);
}

eddy_status eddy_session_get_variable(eddy_session *session, const char *name,
                                      eddy_tensor **out_tensor, eddy_error *err)
{
    eddy__value value = {.kind = EDDY__NONE};

    *out_tensor = NULL;
    EDDY_TRY(check_name(name, err));
    EDDY_TRY(read_value(session, name, &value, err));
    if (!eddy__value_has_elements(&value)) {
        eddy__value_clear(NULL, &value);
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "the variable '%s' is a list, not a tensor", name);
    }
    *out_tensor =
        eddy__value_to_tensor(&value, NULL, NULL, &session->ctx->allocator);
    eddy__value_clear(NULL, &value);
    return *out_tensor ? EDDY_OK : eddy__fail_memory(err);
}

/* With the variable locked. */
static eddy_status check_fit(const eddy__variable *variable,
                             const eddy_tensor *tensor, eddy_error *err)
{
    const eddy_dtype dtype = (eddy_dtype)tensor->dtype;
    const eddy__value *value = &variable->value;

    switch (eddy__variable_check(variable, dtype, &tensor->shape)) {
    case EDDY__OTHER_DTYPE:
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "the variable '%s' is %s; it can't be set to %s",
                          variable->name,
                          eddy_dtype_name(value->kind == EDDY__NONE
                                              ? variable->dtype
                                              : (eddy_dtype)value->dtype),
                          eddy_dtype_name(dtype));
    case EDDY__OTHER_SHAPE:
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                          "the variable '%s' has shape %s; it can't be set to "
                          "a tensor of shape %s",
                          variable->name,
                          eddy__shape_print(&variable->shape).text,
                          eddy__shape_print(&tensor->shape).text);
    case EDDY__FITS:
        break;
    }
    return EDDY_OK;
}

eddy_status eddy_session_set_variable(eddy_session *session, const char *name,
                                      eddy_tensor *tensor, eddy_error *err)
{
    eddy__value old = {.kind = EDDY__NONE};
    eddy__variable *variable;
    eddy_status status;

    EDDY_TRY(check_name(name, err));
    if (!tensor)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no tensor for the variable '%s'", name);
    EDDY_TRY(eddy__variable_find(&session->resources, name, &variable, err));
    eddy__mutex_lock(&variable->mu);
    status = check_fit(variable, tensor, err);
    if (status == EDDY_OK)
        old = eddy__variable_exchange(
            variable,
            eddy__value_take_tensor(NULL, eddy_tensor_retain(tensor)));
    eddy__mutex_unlock(&variable->mu);
    eddy__value_clear(NULL, &old);
    eddy__resource_release(&variable->base);
    return status;
}

size_t eddy_session_variables(eddy_session *session)
{
    return eddy__resource_table_count(&session->resources,
                                      &eddy__variable_type);
}

bool eddy_session_variable(eddy_session *session, size_t i,
                           eddy_variable_info *out_info)
{
    eddy__resource *resource =
        eddy__resource_table_at(&session->resources, &eddy__variable_type, i);
    eddy__variable *variable = (eddy__variable *)(void *)resource;

    if (!variable)
        return false;
    eddy__mutex_lock(&variable->mu);
    *out_info = (eddy_variable_info){.name = variable->name,
                                     .is_initialized =
                                         variable->value.kind != EDDY__NONE,
                                     .dtype = variable->dtype,
                                     .shape = variable->shape};
    if (out_info->is_initialized) {
        out_info->dtype = (eddy_dtype)variable->value.dtype;
        out_info->shape = eddy__value_shape(&variable->value);
    }
    eddy__mutex_unlock(&variable->mu);
    eddy__resource_release(resource);
    return true;
}

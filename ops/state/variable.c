/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables: making handles and references, reading, assigning, adding.
 *
 * A handle names a variable and a reference is one; here both are the handle,
 * so the two families of ops share their kernels.  They differ in what an
 * assignment must agree with and in TensorFlow's codes.
 */
#include "ops/state/variable.h"

#include "core/value/list.h"
#include "ops/math/combine.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- handles and references ---- */

/* What TensorFlow calls a variable that only its handle knows. */
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

/* What a node says of its variable. */
typedef struct declaration {
    eddy_dtype dtype;
    eddy_shape shape;
    bool is_anonymous;
    char name[]; /* "name", or "container:name" */
} declaration;

static eddy_string text_attr(const eddy_infer *infer, const char *name)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) ? attr.as.strings[0]
                                               : (eddy_string){"", 0};
}

static bool has_nul(eddy_string text)
{
    return text.length > 0 && memchr(text.data, '\0', text.length);
}

static void append(char **end, eddy_string text)
{
    if (text.length > 0)
        memcpy(*end, text.data, text.length);
    *end += text.length;
}

static eddy_status check_names(eddy_infer *infer, eddy_string container,
                               eddy_string name)
{
    if (has_nul(container) || has_nul(name) ||
        (container.length > 0 && memchr(container.data, ':', container.length)))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "container and shared_name must have no NUL, "
                               "and container no ':'");
    return EDDY_OK;
}

/* The name is shared_name, or else the node's own. */
static eddy_status prepare_handle(eddy_infer *infer)
{
    const char *node = infer->node->name;
    const eddy_string container = text_attr(infer, "container");
    eddy_string name = text_attr(infer, "shared_name");
    declaration *state;
    eddy_attr shape;
    char *end;

    if (name.length == 0)
        name = (eddy_string){node, strlen(node)};
    EDDY_TRY(check_names(infer, container, name));
    state = eddy__prepare_state(infer, sizeof *state + container.length +
                                           name.length + 2);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->dtype = eddy__infer_type(infer, "dtype");
    state->shape = eddy_infer_attr(infer, "shape", &shape)
                       ? shape.as.shapes[0]
                       : eddy__shape_unknown();
    end = state->name;
    if (container.length > 0) {
        append(&end, container);
        append(&end, (eddy_string){":", 1});
    }
    append(&end, name);
    state->is_anonymous = strcmp(state->name, ANONYMOUS) == 0;
    return EDDY_OK;
}

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a variable");
}

static eddy_status find_variable(eddy_kernel *k, const declaration *d,
                                 eddy__variable **out_variable)
{
    eddy__resource_table *table = k->services->table(k);

    if (!d->is_anonymous)
        return eddy__variable_find(table, d->name, out_variable, k->err);
    *out_variable = eddy__variable_create(table->allocator, k->node->name);
    return *out_variable ? EDDY_OK : fail_memory(k);
}

/* Makes output 0 the handle; `*out_variable` is borrowed from it. */
static eddy_status put_handle(eddy_kernel *k, eddy__variable **out_variable)
{
    const declaration *d = eddy__state(k);

    EDDY_TRY(find_variable(k, d, out_variable));
    eddy__variable_declare(*out_variable, d->dtype, &d->shape);
    eddy__out_resource(k, 0, &(*out_variable)->base);
    return EDDY_OK;
}

static eddy_status run_handle(eddy_kernel *k)
{
    eddy__variable *variable;

    return put_handle(k, &variable);
}

/* Two nodes of one name must agree on the dtype. */
static eddy_status run_reference(eddy_kernel *k)
{
    const declaration *d = eddy__state(k);
    eddy__variable *variable;
    eddy_dtype dtype;

    EDDY_TRY(put_handle(k, &variable));
    eddy__mutex_lock(&variable->mu);
    dtype = variable->value.kind == EDDY__NONE
                ? variable->dtype
                : (eddy_dtype)variable->value.dtype;
    eddy__mutex_unlock(&variable->mu);
    if (dtype == d->dtype)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INTERNAL, EDDY_E_DTYPE,
                       "the variable '%s' is %s elsewhere; %s is wanted",
                       variable->name, eddy_dtype_name(dtype),
                       eddy_dtype_name(d->dtype));
}

/* ---- reading ---- */

static eddy_status run_read(eddy_kernel *k)
{
    for (uint32_t i = 0; i < k->node->n_out; i++) {
        eddy__variable *variable;

        EDDY_TRY(eddy__in_variable(k, i, &variable));
        EDDY_TRY(
            eddy__output_variable(k, i, variable, EDDY_FAILED_PRECONDITION));
    }
    return EDDY_OK;
}

/*
 * The reference as it is, of a variable that has a value.  That of an old stack
 * or TensorArray is to its names, which it has from the start.
 */
static eddy_status run_alias(eddy_kernel *k)
{
    const eddy__value *in = eddy__in(k, 0);
    eddy__variable *variable;
    bool is_initialized;

    if (eddy__value_is_resource(in) &&
        in->as.resource->type != &eddy__variable_type) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    eddy__mutex_lock(&variable->mu);
    is_initialized = variable->value.kind != EDDY__NONE;
    eddy__mutex_unlock(&variable->mu);
    if (!is_initialized)
        return eddy__variable_fail_uninitialized(k, variable,
                                                 EDDY_FAILED_PRECONDITION);
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/* A Merge may have put out a value in place of a handle. */
static eddy_status run_read_alias(eddy_kernel *k)
{
    const eddy_dtype wanted = (eddy_dtype)k->node->out_dtypes[0];

    if (eddy__value_is_resource(eddy__in(k, 0)))
        return run_read(k);
    if (eddy__in_dtype(k, 0) != wanted)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "the value is %s; %s is wanted",
                           eddy_dtype_name(eddy__in_dtype(k, 0)),
                           eddy_dtype_name(wanted));
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/* The two counts of a signature that it can't tie to each other. */
static eddy_status prepare_read_several(eddy_infer *infer)
{
    const uint32_t n_handles = eddy_infer_inputs(infer);
    const uint32_t n_values = eddy_infer_outputs(infer);

    if (n_handles == n_values)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "%u variables are read, but there are %u dtypes",
                           n_handles, n_values);
}

static eddy_status run_is_initialized(eddy_kernel *k)
{
    eddy__variable *variable;
    bool is_initialized;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    eddy__mutex_lock(&variable->mu);
    is_initialized = variable->value.kind != EDDY__NONE;
    eddy__mutex_unlock(&variable->mu);
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, is_initialized);
    return EDDY_OK;
}

/* Only a value that somebody else holds is copied, so there is nothing to do.
 */
static eddy_status run_disable_copy(eddy_kernel *k)
{
    eddy__variable *variable;

    return eddy__in_variable(k, 0, &variable);
}

/* ---- destroying ---- */

static eddy__value take_value(eddy__variable *variable)
{
    const eddy__value none = {.kind = EDDY__NONE};
    eddy__value old;

    eddy__mutex_lock(&variable->mu);
    old = eddy__variable_exchange(variable, none);
    eddy__mutex_unlock(&variable->mu);
    return old;
}

/* What is no variable goes with its last handle. */
static eddy_status run_destroy(eddy_kernel *k)
{
    const bool *ignores = eddy__state(k);
    const eddy__value *handle = eddy__in(k, 0);
    eddy__variable *variable;
    eddy__value old;

    if (eddy__value_is_resource(handle) &&
        handle->as.resource->type != &eddy__variable_type)
        return EDDY_OK;
    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    old = take_value(variable);
    if (old.kind == EDDY__NONE && !*ignores)
        return eddy__kfail(k, EDDY_NOT_FOUND, EDDY_E_RESOURCE,
                           "the variable '%s' does not exist", variable->name);
    eddy__value_clear(k->heap, &old);
    return EDDY_OK;
}

static eddy_status prepare_destroy(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_bool(infer, "ignore_lookup_error");
    return EDDY_OK;
}

/* ---- assigning ---- */

typedef struct assignment {
    eddy_shape shape; /* of the value, as far as the plan knows it */
    bool validates;
} assignment;

static eddy_status prepare_assign(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 1);
    assignment *state;

    if (!eddy__dtype_in(dtype, EDDY__MOVABLE | EDDY__DTYPE_BIT(EDDY_VARIANT)))
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                               "there are no variables of dtype %s",
                               eddy_dtype_name(dtype));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->shape = *eddy_infer_input(infer, 1);
    state->validates = eddy__infer_bool(infer, "validate_shape");
    return EDDY_OK;
}

eddy_status eddy__variable_check_lists(eddy_kernel *k, const eddy__value *value)
{
    const eddy__value *lists = value;
    int64_t n = 1;

    if (value->dtype != EDDY_VARIANT)
        return EDDY_OK;
    if (eddy__value_is_tensor(value)) {
        lists = value->as.tensor->data;
        n = value->as.tensor->count;
    }
    for (int64_t i = 0; i < n; i++) {
        const eddy_dtype dtype = (eddy_dtype)lists[i].as.list->dtype;

        if (!eddy__dtype_in(dtype, EDDY__MOVABLE))
            return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                               "a list of %s can't be kept in a variable",
                               eddy_dtype_name(dtype));
    }
    return EDDY_OK;
}

static eddy_status fail_shape(eddy_kernel *k, const eddy__variable *variable,
                              const eddy_shape *found, const eddy_shape *wanted)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a value of shape %s does not fit the variable '%s', "
                       "which has shape %s",
                       eddy__shape_print(found).text, variable->name,
                       eddy__shape_print(wanted).text);
}

/*
 * A handle's declared shape is held against what the plan knows of the value,
 * and with validate_shape the value against the one that there is.
 */
static eddy_status check_assign(eddy_kernel *k, const eddy__variable *variable,
                                const assignment *a)
{
    const eddy__value *value = eddy__in(k, 1);
    const eddy_dtype dtype = (eddy_dtype)value->dtype;
    const eddy_shape shape = eddy__value_shape(value);
    const bool is_reference = eddy__variable_is_reference_op(k);
    const bool has_value = variable->value.kind != EDDY__NONE;
    const eddy_shape any = eddy__shape_unknown();
    eddy_shape own = has_value ? eddy__value_shape(&variable->value) : any;

    EDDY_TRY(eddy__variable_check_lists(k, value));
    switch (eddy__variable_check(variable, dtype,
                                 is_reference ? &any : &a->shape)) {
    case EDDY__OTHER_DTYPE:
        return eddy__variable_fail_dtype(
            k, variable,
            has_value ? (eddy_dtype)variable->value.dtype : variable->dtype,
            dtype);
    case EDDY__OTHER_SHAPE:
        return fail_shape(k, variable, &shape, &variable->shape);
    case EDDY__FITS:
        break;
    }
    if (is_reference && !has_value)
        own = variable->shape;
    if (!a->validates || eddy__shape_compatible(&own, &shape))
        return EDDY_OK;
    return fail_shape(k, variable, &shape, &own);
}

/* Input `i` as a value of one's own: moved if this is its last use. */
static eddy__value take_input(eddy_kernel *k, uint32_t i)
{
    eddy__value *in = eddy__in(k, i);
    eddy__value value = *in;

    if (!eddy__value_is_counted(in))
        eddy__value_keep(&value);
    else if (in->uses == 1)
        in->kind = EDDY__NONE;
    else
        (void)eddy__value_copy(in);
    return value;
}

static eddy_status run_assign(eddy_kernel *k)
{
    eddy__value old = {.kind = EDDY__NONE};
    eddy__variable *variable;
    eddy_status status;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    eddy__mutex_lock(&variable->mu);
    status = check_assign(k, variable, eddy__state(k));
    if (status == EDDY_OK)
        old = eddy__variable_exchange(variable, take_input(k, 1));
    eddy__mutex_unlock(&variable->mu);
    eddy__value_clear(k->heap, &old);
    if (status == EDDY_OK && eddy__variable_is_reference_op(k))
        eddy__output_forward(k, 0, 0);
    return status;
}

/* ---- adding and subtracting ---- */

static eddy_status combine(eddy_kernel *k, eddy__update *u, const void *arg)
{
    const eddy__combination *what = arg;
    const eddy_shape *shape = eddy__in_shape(k, 1);
    eddy__rows rows = {.b = eddy__in_elements(k, 1),
                       .n = u->count,
                       .step_a = 1,
                       .step_b = 1,
                       .n_rows = 1};

    if (!eddy__shape_equal(shape, u->shape))
        return fail_shape(k, u->variable, shape, u->shape);
    if (u->count == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__update_make(k, u, false));
    rows.out = u->to;
    rows.a = u->from;
    eddy__combiner_of(*what, u->dtype)(&rows);
    return EDDY_OK;
}

static eddy_status run_add(eddy_kernel *k)
{
    static const eddy__combination what = EDDY__COMBINE_ADD;

    return eddy__update_variable(k, (eddy_dtype)k->node->in_dtypes[1], combine,
                                 &what);
}

static eddy_status run_subtract(eddy_kernel *k)
{
    static const eddy__combination what = EDDY__COMBINE_SUB;

    return eddy__update_variable(k, (eddy_dtype)k->node->in_dtypes[1], combine,
                                 &what);
}

/* TensorFlow gives AssignAdd any dtype and has kernels for numbers. */
static eddy_status prepare_number(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 1);

    if (eddy__dtype_in(dtype, EDDY__NUMBERS))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

/* ---- counting ---- */

typedef struct counting {
    int64_t limit;
    eddy_dtype dtype;
    eddy_status missing; /* the code where there is no value */
} counting;

static eddy_status prepare_count(eddy_infer *infer)
{
    counting *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->limit = eddy__infer_int(infer, "limit");
    state->dtype = eddy__infer_type(infer, "T");
    state->missing = infer->node->op->inputs[0].is_ref
                         ? EDDY_FAILED_PRECONDITION
                         : EDDY_NOT_FOUND;
    return EDDY_OK;
}

/* The value that there is, if it is below the limit; then one more. */
static eddy_status count_up(eddy_kernel *k, eddy__variable *variable,
                            const counting *c)
{
    eddy__value *value = &variable->value;
    const eddy_shape shape = eddy__value_shape(value);
    int64_t now;

    if (value->kind == EDDY__NONE)
        return eddy__variable_fail_uninitialized(k, variable, c->missing);
    if (value->dtype != c->dtype)
        return eddy__variable_fail_dtype(k, variable, (eddy_dtype)value->dtype,
                                         c->dtype);
    if (value->kind != EDDY__SCALAR)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the variable '%s' has shape %s; a scalar is wanted",
                           variable->name, eddy__shape_print(&shape).text);
    now = c->dtype == EDDY_INT32 ? value->as.i32 : value->as.i64;
    if (now >= c->limit)
        return eddy__kfail(k, EDDY_OUT_OF_RANGE, EDDY_E_VALUE,
                           "the variable '%s' has reached the limit of "
                           "%" PRId64,
                           variable->name, c->limit);
    eddy__out_scalar(eddy__out(k, 0), c->dtype, value->as.bits);
    if (c->dtype == EDDY_INT32)
        value->as.bits = (uint32_t)now + 1;
    else
        value->as.bits = (uint64_t)now + 1;
    return EDDY_OK;
}

static eddy_status run_count(eddy_kernel *k)
{
    eddy__variable *variable;
    eddy_status status;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    eddy__mutex_lock(&variable->mu);
    status = count_up(k, variable, eddy__state(k));
    eddy__mutex_unlock(&variable->mu);
    return status;
}

/* ---- references passed on ---- */

static eddy_status run_select(eddy_kernel *k)
{
    const uint32_t n = k->node->n_in - 1;
    int64_t index;

    EDDY_TRY(eddy__index_argument(k, 0, "index", &index));
    if (index < 0 || index >= n)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "index must be in [0, %u), but it is %" PRId64, n,
                           index);
    eddy__output_forward(k, 0, 1 + (uint32_t)index);
    return EDDY_OK;
}

static eddy_status run_identity(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/* ---- definitions ---- */

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

#define NAMES "container: string = '', shared_name: string = ''"
#define COUNTED "limit: int, T: {int32, int64}"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("VarHandleOp", .outputs = "resource: resource",
                 .attrs =
                     NAMES ", debug_name: string = '', dtype: type, shape: "
                           "shape, allowed_devices: list(string) = []",
                 .infer = eddy__infer_scalar, .kernel = run_handle,
                 .prepare = prepare_handle, .flags = FLAGS,
                 .doc = "The handle of the variable of that name."),
    EDDY__OP_ROW("ReadVariableOp", .inputs = "resource: resource",
                 .outputs = "value: dtype", .attrs = "dtype: type",
                 .kernel = run_read, .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
                 .doc = "The value of a variable."),
    EDDY__OP_ROW(
        "_ReadVariablesOp", .inputs = "resources: N * resource",
        .outputs = "values: dtypes", .attrs = "N: int >= 0, dtypes: list(type)",
        .kernel = run_read, .prepare = prepare_read_several, .flags = FLAGS,
        .doc = "The values of several variables, one read after the other."),
    EDDY__OP_ROW("VarIsInitializedOp", .inputs = "resource: resource",
                 .outputs = "is_initialized: bool", .infer = eddy__infer_scalar,
                 .kernel = run_is_initialized, .flags = FLAGS,
                 .doc = "Has the variable a value?"),
    EDDY__OP_ROW("AssignVariableOp",
                 .inputs = "resource: resource, value: dtype",
                 .attrs = "dtype: type, validate_shape: bool = false",
                 .kernel = run_assign, .prepare = prepare_assign,
                 .flags = FLAGS, .doc = "Makes value the variable's."),
    EDDY__OP_ROW(
        "AssignAddVariableOp", .inputs = "resource: resource, value: dtype",
        .attrs = "dtype: type", .kernel = run_add, .prepare = prepare_number,
        .flags = FLAGS, .doc = "Adds value to the variable's."),
    EDDY__OP_ROW("AssignSubVariableOp",
                 .inputs = "resource: resource, value: dtype",
                 .attrs = "dtype: type", .kernel = run_subtract,
                 .prepare = prepare_number, .flags = FLAGS,
                 .doc = "Subtracts value from the variable's."),
    EDDY__OP_ROW(
        "DestroyResourceOp", .inputs = "resource: resource",
        .attrs = "ignore_lookup_error: bool = true", .kernel = run_destroy,
        .prepare = prepare_destroy, .flags = FLAGS,
        .doc = "Takes the variable's value away; a new one may be assigned."),
    EDDY__OP_ROW("DisableCopyOnRead", .inputs = "resource: resource",
                 .kernel = run_disable_copy, .flags = FLAGS,
                 .doc = "Does nothing: reads never copy in eddy."),
    EDDY__OP_ROW(
        "ResourceCountUpTo", .inputs = "resource: resource",
        .outputs = "output: T", .attrs = COUNTED, .infer = eddy__infer_scalar,
        .kernel = run_count, .prepare = prepare_count, .flags = FLAGS,
        .doc =
            "The variable's value, which goes up by one; fails at the limit."),
    EDDY__OP_ROW("VariableV2", .outputs = "ref: ref dtype",
                 .attrs = "shape: shape, dtype: type, " NAMES,
                 .kernel = run_reference, .prepare = prepare_handle,
                 .flags = FLAGS,
                 .doc = "A reference to the variable of that name."),
    EDDY__OP_ROW("Variable", .outputs = "ref: ref dtype",
                 .attrs = "shape: shape, dtype: type, " NAMES,
                 .kernel = run_reference, .prepare = prepare_handle,
                 .flags = FLAGS,
                 .doc = "A reference to the variable of that name."),
    EDDY__OP_ROW("IsVariableInitialized", .inputs = "ref: ref dtype",
                 .outputs = "is_initialized: bool", .attrs = "dtype: type",
                 .infer = eddy__infer_scalar, .kernel = run_is_initialized,
                 .flags = FLAGS, .doc = "Has the variable a value?"),
    EDDY__OP_ROW(
        "Assign", .inputs = "ref: ref T, value: T",
        .outputs = "output_ref: ref T",
        .attrs =
            "T: type, validate_shape: bool = true, use_locking: bool = true",
        .kernel = run_assign, .prepare = prepare_assign, .flags = FLAGS,
        .doc = "Makes value the variable's."),
    EDDY__OP_ROW("AssignAdd", .inputs = "ref: ref T, value: T",
                 .outputs = "output_ref: ref T",
                 .attrs = "T: number, use_locking: bool = false",
                 .kernel = run_add, .prepare = prepare_number, .flags = FLAGS,
                 .doc = "Adds value to the variable's."),
    EDDY__OP_ROW("AssignSub", .inputs = "ref: ref T, value: T",
                 .outputs = "output_ref: ref T",
                 .attrs = "T: number, use_locking: bool = false",
                 .kernel = run_subtract, .prepare = prepare_number,
                 .flags = FLAGS, .doc = "Subtracts value from the variable's."),
    EDDY__OP_ROW(
        "CountUpTo", .inputs = "ref: ref T", .outputs = "output: T",
        .attrs = COUNTED, .infer = eddy__infer_scalar, .kernel = run_count,
        .prepare = prepare_count, .flags = FLAGS,
        .doc =
            "The variable's value, which goes up by one; fails at the limit."),
    EDDY__OP_ROW("RefIdentity", .inputs = "input: ref T",
                 .outputs = "output: ref T", .attrs = "T: type",
                 .kernel = run_identity, .flags = EDDY_OP_CHEAP,
                 .doc = "Hands a reference on."),
    EDDY__OP_ROW("RefSelect", .inputs = "index: int32, inputs: ref N * T",
                 .outputs = "output: ref T", .attrs = "T: type, N: int >= 1",
                 .kernel = run_select, .flags = EDDY_OP_CHEAP,
                 .doc = "Hands on the reference of that index."),
    EDDY__OP_ROW(
        "_ReadReference", .inputs = "ref: resource, after: waited",
        .outputs = "value: T", .attrs = "T: type, waited: list(type) >= 0",
        .kernel = run_read, .flags = FLAGS,
        .doc = "The value of what is referred to, once the others are there."),
    EDDY__OP_ROW("_AliasReference", .inputs = "ref: resource, after: waited",
                 .outputs = "alias: resource",
                 .attrs = "T: type, waited: list(type) >= 0",
                 .kernel = run_alias, .flags = FLAGS,
                 .doc = "What is referred to, which must have a value, once "
                        "the others are there."),
    EDDY__OP_ROW("_ReadAlias", .inputs = "alias: any, after: waited",
                 .outputs = "value: T",
                 .attrs = "any: type, T: type, waited: list(type) >= 0",
                 .kernel = run_read_alias, .flags = FLAGS,
                 .doc =
                     "The value that an alias has, once the others are there."),
};

const eddy__op_table eddy__variable_ops = {specs, NULL,
                                           sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary variables, which live in one iteration of a frame.
 *
 * A reference is all that finds one, and the last one frees it.  The name of
 * one is of no use but to be taken: by one at a time in an iteration, until a
 * node of the same frame gives it back.  So a name is a mark of the iteration.
 */
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <string.h>

typedef struct temporary {
    eddy_dtype dtype;
    eddy_shape shape;
    uint32_t mark;
    char name[]; /* for messages */
} temporary;

static eddy_status prepare(eddy_infer *infer, eddy_string name)
{
    temporary *state =
        eddy__prepare_state(infer, sizeof *state + name.length + 1);
    eddy_attr shape;

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    memcpy(state->name, name.data, name.length);
    if (eddy_infer_attr(infer, "shape", &shape)) {
        state->dtype = eddy__infer_type(infer, "dtype");
        state->shape = shape.as.shapes[0];
    }
    return eddy__infer_mark(infer, name, &state->mark);
}

/* Without a var_name the node's own name is taken. */
static eddy_status prepare_temporary(eddy_infer *infer)
{
    const char *node = infer->node->name;
    eddy_string name = {node, strlen(node)};
    eddy_attr attr;

    if (eddy_infer_attr(infer, "var_name", &attr) &&
        attr.as.strings[0].length > 0)
        name = attr.as.strings[0];
    return prepare(infer, name);
}

static eddy_status run_temporary(eddy_kernel *k)
{
    const temporary *t = eddy__state(k);
    uint8_t *is_taken = k->services->mark(k, t->mark);
    eddy__variable *variable;

    if (*is_taken)
        return eddy__kfail(k, EDDY_ALREADY_EXISTS, EDDY_E_RESOURCE,
                           "there is a temporary variable '%.64s' already",
                           t->name);
    variable =
        eddy__variable_create(k->services->table(k)->allocator, k->node->name);
    if (!variable)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a variable");
    *is_taken = 1;
    eddy__variable_declare(variable, t->dtype, &t->shape);
    eddy__out_resource(k, 0, &variable->base);
    return EDDY_OK;
}

static eddy_status prepare_destroy(eddy_infer *infer)
{
    eddy_attr attr;

    if (eddy_infer_attr(infer, "var_name", &attr) &&
        attr.as.strings[0].length > 0)
        return prepare(infer, attr.as.strings[0]);
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "var_name must not be empty");
}

/* The name need not be that of the variable; its reference still works. */
static eddy_status run_destroy(eddy_kernel *k)
{
    const temporary *t = eddy__state(k);
    uint8_t *is_taken = k->services->mark(k, t->mark);
    eddy__variable *variable;

    EDDY_TRY(eddy__in_variable(k, 0, &variable));
    /* Who reads it later sees what is assigned meanwhile. */
    if (k->node->out_dtypes[0] == EDDY_RESOURCE)
        eddy__output_forward(k, 0, 0);
    else
        EDDY_TRY(
            eddy__output_variable(k, 0, variable, EDDY_FAILED_PRECONDITION));
    if (!*is_taken)
        return eddy__kfail(k, EDDY_NOT_FOUND, EDDY_E_RESOURCE,
                           "there is no temporary variable '%.64s' in this "
                           "iteration",
                           t->name);
    *is_taken = 0;
    return EDDY_OK;
}

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "TemporaryVariable", .outputs = "ref: ref dtype",
        .attrs = "shape: shape, dtype: type, var_name: string = ''",
        .kernel = run_temporary, .prepare = prepare_temporary, .flags = FLAGS,
        .doc = "A reference to a new variable that only this reference knows."),
    EDDY__OP_ROW(
        "DestroyTemporaryVariable", .inputs = "ref: ref T",
        .outputs = "value: T", .attrs = "T: type, var_name: string",
        .kernel = run_destroy, .prepare = prepare_destroy, .flags = FLAGS,
        .doc = "The value of a temporary variable, whose name is given back."),
};

const eddy__op_table eddy__temporary_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};

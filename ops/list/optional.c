/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional values: none, or some components of any dtypes.
 *
 * One is a list that no op on lists takes (EDDY__OPTIONAL), without items when
 * there is no value, since a value has at least one component.
 */
#include "ops/list/tensor_list.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>

static eddy_status find_optional(eddy_kernel *k, const eddy__list **out_list)
{
    *out_list = eddy__in_list(k, 0);
    if (!eddy__value_is_list(eddy__in(k, 0)) ||
        (*out_list)->dtype != EDDY__OPTIONAL)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "input 0 is %s; an optional value is wanted",
                           eddy__value_is_list(eddy__in(k, 0))
                               ? eddy__list_kind(*out_list)
                               : "a tensor");
    return EDDY_OK;
}

static eddy_status run_none(eddy_kernel *k)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *list;

    return eddy__output_list(k, 0, EDDY__OPTIONAL, &unknown, 0, &list);
}

static eddy_status run_from_value(eddy_kernel *k)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *list;

    EDDY_TRY(eddy__output_list(k, 0, EDDY__OPTIONAL, &unknown, k->node->n_in,
                               &list));
    for (uint32_t i = 0; i < k->node->n_in; i++)
        eddy__list_set(k->heap, list, i, eddy__in_take(k, i));
    return EDDY_OK;
}

static eddy_status run_has_value(eddy_kernel *k)
{
    const eddy__list *list;

    EDDY_TRY(find_optional(k, &list));
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, list->count > 0);
    return EDDY_OK;
}

/* Does component `i` have the dtype and the shape that the node states? */
static eddy_status check_component(eddy_kernel *k, const eddy__list *list,
                                   uint32_t i)
{
    const eddy_shape *shapes = eddy__state(k);
    const eddy__value *item = eddy__list_get(list, i);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[i];

    if (item->dtype != dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "component %u is %s; %s is wanted", (unsigned)i,
                           eddy_dtype_name((eddy_dtype)item->dtype),
                           eddy_dtype_name(dtype));
    if (eddy__shape_compatible(&shapes[i], eddy__item_shape(item)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "component %u has shape %s; %s is wanted", (unsigned)i,
                       eddy__shape_print(eddy__item_shape(item)).text,
                       eddy__shape_print(&shapes[i]).text);
}

static eddy_status run_get_value(eddy_kernel *k)
{
    const eddy__list *list;

    EDDY_TRY(find_optional(k, &list));
    if (list->count == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                           "the optional has no value");
    if (list->count != k->node->n_out)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the optional has %" PRId64 " components; %u are "
                           "wanted",
                           list->count, (unsigned)k->node->n_out);
    for (uint32_t i = 0; i < k->node->n_out; i++)
        EDDY_TRY(check_component(k, list, i));
    for (uint32_t i = 0; i < k->node->n_out; i++) {
        const eddy__value value = eddy__value_copy(eddy__list_get(list, i));

        eddy__out_value(k, i, &value);
    }
    return EDDY_OK;
}

/* The shapes that the node states, which must be one for each component. */
static eddy_status find_shapes(eddy_infer *infer, const eddy_shape **out_shapes)
{
    const uint32_t n = eddy_infer_outputs(infer);
    eddy_attr attr;

    if (eddy_infer_attr(infer, "output_shapes", &attr) && attr.n == n) {
        *out_shapes = attr.as.shapes;
        return EDDY_OK;
    }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "output_shapes must be as many as output_types, %u",
                           (unsigned)n);
}

static eddy_status infer_components(eddy_infer *infer)
{
    const eddy_shape *shapes = NULL;

    EDDY_TRY(find_shapes(infer, &shapes));
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &shapes[i]);
    return EDDY_OK;
}

static eddy_status prepare_components(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_outputs(infer);
    const eddy_shape *shapes = NULL;
    eddy_shape *state;

    EDDY_TRY(find_shapes(infer, &shapes));
    state = eddy__prepare_state(infer, n * sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    assert(shapes || n == 0);
    for (uint32_t i = 0; i < n; i++)
        state[i] = shapes[i];
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("OptionalNone", .outputs = "optional: variant",
                 .infer = eddy__infer_scalar, .kernel = run_none,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "An optional without a value."),
    EDDY__OP_ROW("OptionalFromValue", .inputs = "components: Toutput_types",
                 .outputs = "optional: variant",
                 .attrs = "Toutput_types: list(type) >= 1",
                 .infer = eddy__infer_scalar, .kernel = run_from_value,
                 .flags = EDDY_OP_CHEAP,
                 .doc = "An optional that has these components as its value."),
    EDDY__OP_ROW("OptionalHasValue", .inputs = "optional: variant",
                 .outputs = "has_value: bool", .infer = eddy__infer_scalar,
                 .kernel = run_has_value,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Does the optional have a value?"),
    EDDY__OP_ROW(
        "OptionalGetValue", .inputs = "optional: variant",
        .outputs = "components: output_types",
        .attrs =
            "output_types: list(type) >= 1, output_shapes: list(shape) >= 1",
        .infer = infer_components, .kernel = run_get_value,
        .prepare = prepare_components, .flags = EDDY_OP_CHEAP,
        .doc = "The components of an optional, which must have a value."),
};

const eddy__op_table eddy__optional_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

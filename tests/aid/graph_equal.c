/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/graph_equal.h"

#include "core/graph/attr.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"

#include <check.h>
#include <string.h>

static bool equal_strings(eddy_string a, eddy_string b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static bool equal_tensors(const eddy_tensor *a, const eddy_tensor *b)
{
    if (a->dtype != b->dtype || !eddy__shape_equal(&a->shape, &b->shape))
        return false;
    if (a->dtype != EDDY_STRING)
        return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
    for (int64_t i = 0; i < a->count; i++)
        if (!equal_strings(eddy_tensor_string(a, i), eddy_tensor_string(b, i)))
            return false;
    return true;
}

static bool equal_elements(const eddy_attr *a, const eddy_attr *b, size_t i)
{
    switch (a->kind) {
    case EDDY_ATTR_STRING:
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        return equal_strings(a->as.strings[i], b->as.strings[i]);
    case EDDY_ATTR_SHAPE:
        return eddy__shape_equal(&a->as.shapes[i], &b->as.shapes[i]);
    case EDDY_ATTR_TENSOR:
        return equal_tensors(a->as.tensors[i], b->as.tensors[i]);
    case EDDY_ATTR_INT:
        return a->as.ints[i] == b->as.ints[i];
    case EDDY_ATTR_FLOAT:
        return memcmp(&a->as.floats[i], &b->as.floats[i], 4) == 0;
    case EDDY_ATTR_BOOL:
        return a->as.bools[i] == b->as.bools[i];
    case EDDY_ATTR_TYPE:
        return a->as.types[i] == b->as.types[i];
    }
    return false;
}

static void want_attrs(const char *where, const eddy_attr *a, size_t n_a,
                       const eddy_attr *b, size_t n_b)
{
    ck_assert_msg(n_a == n_b, "%s: %zu and %zu attributes", where, n_a, n_b);
    for (size_t i = 0; i < n_a; i++) {
        const eddy_attr *other = eddy__attr_find(b, n_b, a[i].name);

        ck_assert_msg(other && other->is_list == a[i].is_list &&
                          other->n == a[i].n &&
                          (a[i].n == 0 || other->kind == a[i].kind),
                      "%s: attribute '%s'", where, a[i].name);
        for (size_t j = 0; j < a[i].n; j++)
            ck_assert_msg(equal_elements(&a[i], other, j),
                          "%s: attribute '%s' at %zu", where, a[i].name, j);
    }
}

static bool equal_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void want_nodes(const eddy__node *a, const eddy__node *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_str_eq(a->op_name, b->op_name);
    ck_assert_msg(
        (a->op == NULL) == (b->op == NULL) && a->n_inputs == b->n_inputs &&
            a->n_outputs == b->n_outputs && a->n_controls == b->n_controls &&
            a->n_assumed_outputs == b->n_assumed_outputs &&
            equal_texts(a->device, b->device),
        "%s", a->name);
    for (uint32_t i = 0; i < a->n_inputs; i++)
        ck_assert_msg(a->inputs[i].node == b->inputs[i].node &&
                          a->inputs[i].index == b->inputs[i].index &&
                          a->input_dtypes[i] == b->input_dtypes[i],
                      "%s: input %u", a->name, (unsigned)i);
    for (uint32_t i = 0; i < a->n_controls; i++)
        ck_assert_msg(a->controls[i] == b->controls[i], "%s: control %u",
                      a->name, (unsigned)i);
    for (uint32_t i = 0; i < a->n_outputs; i++)
        ck_assert_msg(a->output_dtypes[i] == b->output_dtypes[i],
                      "%s: output %u", a->name, (unsigned)i);
    want_attrs(a->name, a->attrs, a->n_attrs, b->attrs, b->n_attrs);
}

static void want_bodies(const eddy_graph *a, const eddy_graph *b)
{
    ck_assert_uint_eq(a->n_nodes, b->n_nodes);
    for (size_t i = 0; i < a->n_nodes; i++)
        want_nodes(&a->nodes[i], &b->nodes[i]);
}

static void want_functions(const eddy__function *a, const eddy__function *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_msg(a->n_args == b->n_args && a->n_results == b->n_results &&
                      a->n_control_results == b->n_control_results &&
                      a->is_stateful == b->is_stateful &&
                      equal_texts(a->gradient, b->gradient) &&
                      equal_texts(a->problem, b->problem) &&
                      equal_strings(a->bytes, b->bytes),
                  "%s", a->name);
    for (size_t i = 0; i < a->n_args; i++) {
        ck_assert_uint_eq(a->args[i], b->args[i]);
        ck_assert_str_eq(a->arg_names[i], b->arg_names[i]);
    }
    for (size_t i = 0; i < a->n_results; i++) {
        ck_assert_uint_eq(a->results[i].node, b->results[i].node);
        ck_assert_uint_eq(a->results[i].index, b->results[i].index);
        ck_assert_str_eq(a->result_names[i], b->result_names[i]);
        ck_assert_uint_eq(a->result_dtypes[i], b->result_dtypes[i]);
    }
    for (size_t i = 0; i < a->n_control_results; i++)
        ck_assert_uint_eq(a->control_results[i], b->control_results[i]);
    want_attrs(a->name, a->attrs, a->n_attrs, b->attrs, b->n_attrs);
    want_bodies(a->body, b->body);
}

void graph_want_equal(const eddy_graph *a, const eddy_graph *b)
{
    want_bodies(a, b);
    ck_assert_uint_eq(a->n_functions, b->n_functions);
    for (size_t i = 0; i < a->n_functions; i++)
        want_functions(&a->functions[i], &b->functions[i]);
}

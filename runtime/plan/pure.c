/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes may be computed earlier, elsewhere or once for several (pure.h).
 * Shapes must be inferred.
 */
#include "runtime/plan/pure.h"

#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "ops/chain.h"
#include "ops/products.h"

#include <string.h>

#define HAS_EFFECTS                                                            \
    ((uint32_t)(EDDY_OP_STATEFUL | EDDY_OP_ASYNC) | EDDY__OP_ORDERED |         \
     EDDY__OP_HOST | EDDY__OP_TRANSFER)

#define PLAIN (EDDY__NUMBERS | EDDY__DTYPE_BIT(EDDY_BOOL))

static bool are_plain(const uint8_t *dtypes, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && eddy__dtype_in((eddy_dtype)dtypes[i], PLAIN))
        i++;
    return i == n;
}

bool eddy__is_pure(const eddy__node *node)
{
    return node->op && eddy__node_role(node) == EDDY__ROLE_NONE &&
           (node->op->flags & EDDY__OP_BUILTIN) &&
           !(node->op->flags & HAS_EFFECTS) && !node->op->has_references &&
           are_plain(node->input_dtypes, node->n_inputs) &&
           are_plain(node->output_dtypes, node->n_outputs);
}

/*
 * Ops beside the elementwise ones that fail for shapes alone, which their shape
 * functions have looked at; from input `n_shaped` on, inputs are integers that
 * say how, which must be constants.
 */
static const struct {
    const char *op;
    uint32_t n_shaped;
} certain[] = {
    {"Cast", 1},       {"ZerosLike", 1}, {"OnesLike", 1},    {"Shape", 1},
    {"Size", 1},       {"Rank", 1},      {"Select", 3},      {"SelectV2", 3},
    {"MatMul", 2},     {"Transpose", 1}, {"Reshape", 1},     {"Sum", 1},
    {"Mean", 1},       {"Max", 1},       {"Min", 1},         {"Prod", 1},
    {"ExpandDims", 1}, {"Squeeze", 1},   {"BroadcastTo", 1}, {EDDY__PANELS, 1},
};

/* The first input of the node that must be a constant; false: unknown op. */
static bool find_certain(const eddy__node *node, uint32_t *out_n_shaped)
{
    eddy__chain_op op;

    if (node->n_inputs > 0 && eddy__chain_takes(node, &op)) {
        *out_n_shaped = node->n_inputs;
        return op.output == (eddy_dtype)node->output_dtypes[0];
    }
    for (size_t i = 0; i < sizeof certain / sizeof certain[0]; i++)
        if (strcmp(node->op_name, certain[i].op) == 0) {
            *out_n_shaped = certain[i].n_shaped;
            return true;
        }
    return false;
}

/* Quotients and rests of integers, which fail where a divisor is 0. */
static bool divides(const eddy__node *node)
{
    static const char *const ops[] = {"Div",         "FloorDiv", "FloorMod",
                                      "TruncateDiv", "Mod",      "TruncateMod"};

    if (node->n_inputs != 2 ||
        !eddy__dtype_in((eddy_dtype)node->input_dtypes[0], EDDY__INTEGERS))
        return false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(node->op_name, ops[i]) == 0)
            return true;
    return false;
}

/* Is no element of a tensor of integers 0? */
static bool has_no_zero(const eddy_tensor *t)
{
    const unsigned char *at = t->data;
    const size_t size = eddy_dtype_size((eddy_dtype)t->dtype);
    size_t n_zeros = 0;

    for (size_t i = 0; i < t->bytes; i++) {
        n_zeros = i % size == 0 ? 0 : n_zeros;
        n_zeros += at[i] == 0;
        if (n_zeros == size)
            return false;
    }
    return true;
}

bool eddy__pure_cannot_fail(const eddy__readers *r, eddy_node v)
{
    const eddy__plan_build *build = r->build;
    const eddy__node *node = eddy__graph_node(build->selection->graph, v);
    uint32_t n_shaped;

    if (divides(node) && !eddy__readers_is_fed(r, node->inputs[1].node) &&
        eddy__infer_constant_at(&build->shapes, node->inputs[1]) &&
        has_no_zero(eddy__infer_constant_at(&build->shapes, node->inputs[1])))
        n_shaped = 2;
    else if (!find_certain(node, &n_shaped))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = node->inputs[i];

        if (!eddy__shape_is_known(eddy__readers_seen_shape(r, from)))
            return false;
        if (i >= n_shaped && (eddy__readers_is_fed(r, from.node) ||
                              !eddy__infer_constant_at(&build->shapes, from)))
            return false;
    }
    /* Panels are as many as there is memory for. */
    for (uint32_t i = 0;
         i < node->n_outputs && strcmp(node->op_name, EDDY__PANELS) != 0; i++)
        if (!eddy__shape_is_known(
                eddy__shape_at(&build->shapes, (eddy_output){v, i})))
            return false;
    return true;
}

/* ---- attributes ---- */

static bool same_strings(const eddy_attr *a, const eddy_attr *b)
{
    size_t i = 0;

    while (i < a->n && a->as.strings[i].length == b->as.strings[i].length &&
           (a->as.strings[i].length == 0 ||
            memcmp(a->as.strings[i].data, b->as.strings[i].data,
                   a->as.strings[i].length) == 0))
        i++;
    return i == a->n;
}

static bool same_shapes(const eddy_attr *a, const eddy_attr *b)
{
    size_t i = 0;

    while (i < a->n && eddy__shape_equal(&a->as.shapes[i], &b->as.shapes[i]))
        i++;
    return i == a->n;
}

static bool same_tensors(const eddy_attr *a, const eddy_attr *b)
{
    size_t i = 0;

    for (; i < a->n; i++) {
        const eddy_tensor *x = a->as.tensors[i], *y = b->as.tensors[i];

        if (x == y)
            continue;
        if (x->dtype != y->dtype || !eddy__shape_equal(&x->shape, &y->shape) ||
            !eddy__dtype_in((eddy_dtype)x->dtype, PLAIN) ||
            (x->bytes > 0 && memcmp(x->data, y->data, x->bytes) != 0))
            return false;
    }
    return true;
}

static bool same_attr(const eddy_attr *a, const eddy_attr *b)
{
    if (a->kind != b->kind || a->is_list != b->is_list || a->n != b->n)
        return false;
    switch (a->kind) {
    case EDDY_ATTR_STRING:
    case EDDY_ATTR_FUNCTION:
        return same_strings(a, b);
    case EDDY_ATTR_SHAPE:
        return same_shapes(a, b);
    case EDDY_ATTR_TENSOR:
        return same_tensors(a, b);
    case EDDY_ATTR_INT:
        return memcmp(a->as.ints, b->as.ints, a->n * sizeof *a->as.ints) == 0;
    case EDDY_ATTR_FLOAT:
        return memcmp(a->as.floats, b->as.floats,
                      a->n * sizeof *a->as.floats) == 0;
    case EDDY_ATTR_BOOL:
        return memcmp(a->as.bools, b->as.bools, a->n * sizeof *a->as.bools) ==
               0;
    case EDDY_ATTR_TYPE:
        return memcmp(a->as.types, b->as.types, a->n * sizeof *a->as.types) ==
               0;
    case EDDY_ATTR_OPAQUE:
        break;
    }
    return false;
}

bool eddy__pure_same_attrs(const eddy__node *a, const eddy__node *b)
{
    uint32_t i = 0;

    while (i < a->op->n_attrs && (a->attrs[i].as.ints == b->attrs[i].as.ints
                                      ? a->attrs[i].n == b->attrs[i].n
                                      : same_attr(&a->attrs[i], &b->attrs[i])))
        i++;
    return i == a->op->n_attrs;
}

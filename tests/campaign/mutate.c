/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutations.  A pointer that a mutation replaces in the unpacked message is
 * not freed but exchanged with another of the same message, so the message can
 * always be freed as a whole; what is doubled is packed twice through an array
 * of pointers that is this file's own.
 */
#include "tests/campaign/mutate.h"

#include "interop/graphdef/graphdef.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nodes of the message while they are changed. */
typedef struct mutation {
    Eddy__Pb__GraphDef *graph;
    uint64_t state; /* of the random numbers */
} mutation;

/* SplitMix64, from its public description by Steele, Lea and Flood. */
static uint64_t draw(mutation *m)
{
    uint64_t z = m->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t pick(mutation *m, size_t n)
{
    return (size_t)(draw(m) % n);
}

/* A node of the graph, or of one of its functions. */
static Eddy__Pb__NodeDef *pick_node(mutation *m)
{
    const Eddy__Pb__GraphDef *g = m->graph;

    if (g->library != NULL && g->library->n_function > 0 && pick(m, 2) == 0) {
        Eddy__Pb__FunctionDef *f =
            g->library->function[pick(m, g->library->n_function)];

        if (f->n_node_def > 0)
            return f->node_def[pick(m, f->n_node_def)];
    }
    return g->node[pick(m, g->n_node)];
}

static void swap(char **a, char **b)
{
    char *t = *a;

    *a = *b;
    *b = t;
}

static void swap_inputs(mutation *m)
{
    Eddy__Pb__NodeDef *a = pick_node(m), *b = pick_node(m);

    if (a->n_input > 0 && b->n_input > 0)
        swap(&a->input[pick(m, a->n_input)], &b->input[pick(m, b->n_input)]);
}

/* Gives an input the name of another node, maybe as a control input. */
static void rewire(mutation *m)
{
    Eddy__Pb__NodeDef *node = pick_node(m);
    const char *name = pick_node(m)->name;
    const size_t kind = pick(m, 8), size = strlen(name) + 4;
    char *text;

    if (node->n_input == 0 || (text = malloc(size)) == NULL)
        return;
    snprintf(text, size, "%s%s%s", kind == 0 ? "^" : "", name,
             kind == 1 ? ":1" : "");
    swap(&node->input[pick(m, node->n_input)], &text);
    free(text);
}

static void swap_ops(mutation *m)
{
    Eddy__Pb__NodeDef *a = pick_node(m), *b = pick_node(m);

    swap(&a->op, &b->op);
}

static void drop_input(mutation *m)
{
    Eddy__Pb__NodeDef *node = pick_node(m);

    if (node->n_input > 0)
        free(node->input[--node->n_input]);
}

static void swap_attrs(mutation *m)
{
    Eddy__Pb__NodeDef *a = pick_node(m), *b = pick_node(m);
    Eddy__Pb__AttrEntry **x, **y, *t;

    if (a->n_attr == 0 || b->n_attr == 0)
        return;
    x = &a->attr[pick(m, a->n_attr)];
    y = &b->attr[pick(m, b->n_attr)];
    t = *x;
    *x = *y;
    *y = t;
}

/* Numbers at which sizes, ranks and indices go wrong. */
static int64_t pick_number(mutation *m)
{
    static const int64_t numbers[] = {
        0,   1,    -1,        2,         3,         7,         8,     9,
        127, 1024, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 65536, -2};

    return numbers[pick(m, sizeof numbers / sizeof numbers[0])];
}

static void change_shape(mutation *m, Eddy__Pb__TensorShapeProto *shape)
{
    if (shape == NULL)
        return;
    if (shape->n_dim == 0 || pick(m, 8) == 0)
        shape->unknown_rank = !shape->unknown_rank;
    else
        shape->dim[pick(m, shape->n_dim)]->size = pick_number(m);
}

/* dtypes of TensorFlow's types.proto; 0 and 200 are none. */
static int32_t pick_dtype(mutation *m)
{
    static const int32_t dtypes[] = {1,  2,  3,  4,  5,  6,   7,  8,  9, 10, 14,
                                     17, 18, 19, 20, 21, 101, 22, 23, 0, 200};

    return dtypes[pick(m, sizeof dtypes / sizeof dtypes[0])];
}

static void change_tensor(mutation *m, Eddy__Pb__TensorProto *tensor)
{
    if (tensor == NULL)
        return;
    if (pick(m, 4) == 0)
        tensor->dtype = pick_dtype(m);
    else if (tensor->tensor_content.len > 0)
        tensor->tensor_content.data[pick(m, tensor->tensor_content.len)] =
            (uint8_t)draw(m);
    else if (tensor->n_int_val > 0)
        tensor->int_val[pick(m, tensor->n_int_val)] = (int32_t)pick_number(m);
    else if (tensor->n_int64_val > 0)
        tensor->int64_val[pick(m, tensor->n_int64_val)] = pick_number(m);
    else if (tensor->n_float_val > 0)
        tensor->float_val[pick(m, tensor->n_float_val)] = (float)pick_number(m);
    else
        change_shape(m, tensor->tensor_shape);
}

static void change_list(mutation *m, Eddy__Pb__AttrValue__ListValue *list)
{
    if (list == NULL)
        return;
    if (list->n_i > 0)
        list->i[pick(m, list->n_i)] = pick_number(m);
    if (list->n_type > 0)
        list->type[pick(m, list->n_type)] = pick_dtype(m);
    if (list->n_shape > 0)
        change_shape(m, list->shape[pick(m, list->n_shape)]);
}

static void change_attr(mutation *m)
{
    Eddy__Pb__NodeDef *node = pick_node(m);
    Eddy__Pb__AttrValue *value;

    if (node->n_attr == 0 ||
        (value = node->attr[pick(m, node->n_attr)]->value) == NULL)
        return;
    switch ((int)value->value_case) {
    case EDDY__PB__ATTR_VALUE__VALUE_I:
        value->i = pick_number(m);
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_B:
        value->b = !value->b;
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_F:
        value->f = (float)pick_number(m);
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_TYPE:
        value->type = pick_dtype(m);
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_SHAPE:
        change_shape(m, value->shape);
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_TENSOR:
        change_tensor(m, value->tensor);
        break;
    case EDDY__PB__ATTR_VALUE__VALUE_LIST:
        change_list(m, value->list);
        break;
    default:
        break;
    }
}

static void drop_node(mutation *m)
{
    Eddy__Pb__GraphDef *g = m->graph;
    Eddy__Pb__NodeDef **node = &g->node[pick(m, g->n_node)];

    if (g->n_node < 2)
        return;
    eddy__pb__node_def__free_unpacked(*node, NULL);
    *node = g->node[--g->n_node];
}

static void change(mutation *m)
{
    static void (*const changes[])(mutation *) = {
        swap_inputs, rewire,      rewire,      swap_ops,    drop_input,
        swap_attrs,  change_attr, change_attr, change_attr, drop_node};

    changes[pick(m, sizeof changes / sizeof changes[0])](m);
}

size_t mutate_graphdef(uint8_t *data, size_t size, size_t max_size,
                       uint32_t seed)
{
    mutation m = {eddy__pb__graph_def__unpack(NULL, size, data), seed};
    size_t length = 0;

    if (m.graph != NULL && m.graph->n_node > 0) {
        for (size_t i = 1 + pick(&m, 4); i > 0; i--)
            change(&m);
        length = eddy__pb__graph_def__get_packed_size(m.graph);
        if (length <= max_size)
            eddy__pb__graph_def__pack(m.graph, data);
        else
            length = 0;
    }
    if (m.graph != NULL)
        eddy__pb__graph_def__free_unpacked(m.graph, NULL);
    return length;
}

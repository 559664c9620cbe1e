/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes to NodeDefs, of graphs and of functions. */
#include "core/base/status.h"
#include "core/context.h"
#include "interop/graphdef/writer.h"

#include <string.h>

/* "^name". */
static char *write_control(eddy__scratch *scratch, const char *name)
{
    size_t length = strlen(name);
    char *text = eddy__scratch_allocate(scratch, length + 2, 1);

    if (!text)
        return NULL;
    text[0] = '^';
    memcpy(text + 1, name, length + 1);
    return text;
}

static eddy_status write_inputs(eddy__scratch *scratch, const eddy_graph *graph,
                                const eddy__node *node,
                                eddy__input_text_fn input_text,
                                Eddy__Pb__NodeDef *to, eddy_error *err)
{
    size_t n = (size_t)node->n_inputs + node->n_controls;

    to->input = eddy__scratch_allocate(scratch, n, sizeof *to->input);
    if (!to->input)
        return eddy__scratch_fail(scratch, err);
    for (size_t i = 0; i < n; i++) {
        to->input[i] =
            i < node->n_inputs
                ? input_text(scratch, graph, node->inputs[i])
                : write_control(
                      scratch,
                      graph->nodes[node->controls[i - node->n_inputs]].name);
        if (!to->input[i])
            return eddy__scratch_fail(scratch, err);
    }
    to->n_input = n;
    return EDDY_OK;
}

eddy_status eddy__write_attr_entry(eddy__scratch *scratch,
                                   const eddy_attr *attr,
                                   Eddy__Pb__AttrEntry **out_entry,
                                   eddy_error *err)
{
    Eddy__Pb__AttrEntry *entry =
        eddy__scratch_allocate(scratch, 1, sizeof *entry);

    if (!entry)
        return eddy__scratch_fail(scratch, err);
    eddy__pb__attr_entry__init(entry);
    entry->key = eddy__graphdef_borrow_text(attr->name);
    EDDY_TRY(eddy__write_attr(scratch, attr, &entry->value, err));
    *out_entry = entry;
    return EDDY_OK;
}

static eddy_status write_attrs(eddy__scratch *scratch, const eddy__node *node,
                               Eddy__Pb__NodeDef *to, eddy_error *err)
{
    to->attr = eddy__scratch_allocate(scratch, node->n_attrs,
                                      sizeof(Eddy__Pb__AttrEntry *));
    if (!to->attr)
        return eddy__scratch_fail(scratch, err);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        /* It is made again from the names that are written in its stead. */
        if (strcmp(node->attrs[i].name, EDDY__OUTPUT_NAMES) == 0)
            continue;
        EDDY_TRY(eddy__write_attr_entry(scratch, &node->attrs[i],
                                        &to->attr[to->n_attr], err));
        to->n_attr++;
    }
    return EDDY_OK;
}

eddy_status eddy__write_node(eddy__scratch *scratch, const eddy_graph *graph,
                             eddy_node node, eddy__input_text_fn input_text,
                             Eddy__Pb__NodeDef **out_node, eddy_error *err)
{
    const eddy__node *from = &graph->nodes[node];
    Eddy__Pb__NodeDef *to = eddy__scratch_allocate(scratch, 1, sizeof *to);

    if (!to)
        return eddy__scratch_fail(scratch, err);
    if (from->op && from->op->flags & EDDY__OP_HOST)
        return eddy__graph_fail_at(
            err, EDDY_UNIMPLEMENTED, EDDY_E_HOST_CALLBACK, from,
            "'%.64s' calls a function of this program, which "
            "no file can hold",
            from->name);
    eddy__pb__node_def__init(to);
    to->name = eddy__graphdef_borrow_text(from->name);
    to->op = eddy__graphdef_borrow_text(from->op_name);
    if (from->device)
        to->device = eddy__graphdef_borrow_text(from->device);
    EDDY_TRY(write_inputs(scratch, graph, from, input_text, to, err));
    EDDY_TRY(write_attrs(scratch, from, to, err));
    *out_node = to;
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the nodes of a FunctionDef name what they read: by the name of an output,
 * which the signature of the node's op has.  The outputs of an opaque node have
 * no known order: they are numbered as they are met, and the node's attribute
 * EDDY__OUTPUT_NAMES keeps their names.
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "interop/graphdef/function_draft.h"

#include <stdio.h>
#include <string.h>

/* "name", "name:output" or "name:output:index"; what is missing is empty. */
typedef struct parts {
    eddy_string name, output, index;
} parts;

static eddy_string cut(eddy_string *rest)
{
    const char *colon =
        rest->length > 0 ? memchr(rest->data, ':', rest->length) : NULL;
    eddy_string head = *rest;

    if (colon) {
        head.length = (size_t)(colon - rest->data);
        rest->data = colon + 1;
        rest->length -= head.length + 1;
    } else {
        rest->length = 0;
    }
    return head;
}

static parts split(eddy_string text)
{
    parts p;

    p.name = cut(&text);
    p.output = cut(&text);
    p.index = text;
    return p;
}

uint32_t eddy__count_tensors(const eddy__node *node, const eddy__arg *arg)
{
    if (arg->number_attr >= 0)
        return (uint32_t)node->attrs[arg->number_attr].as.ints[0];
    if (arg->list_attr >= 0)
        return (uint32_t)node->attrs[arg->list_attr].n;
    return 1;
}

static bool is_text(eddy_string text, const char *other)
{
    return strlen(other) == text.length &&
           memcmp(other, text.data, text.length) == 0;
}

static eddy_status find_output(const eddy__function_draft *d,
                               const eddy__node *node, const parts *p,
                               uint32_t index, uint32_t *out_index)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < node->op->n_outputs; i++) {
        const eddy__arg *arg = &node->op->outputs[i];
        uint32_t n = eddy__count_tensors(node, arg);

        if (!is_text(p->output, arg->name)) {
            first += n;
            continue;
        }
        if (index >= n || (p->index.length == 0 && n > 1))
            break;
        *out_index = first + index;
        return EDDY_OK;
    }
    return eddy__load_fail(d->loader, EDDY_E_OUTPUT_INDEX,
                           "'%s' (%s) has no single output '%.*s:%u'",
                           node->name, node->op_name, (int)p->output.length,
                           p->output.data, (unsigned)index);
}

/* The number of an opaque node's output: the next one if it is a new name. */
static eddy_status assume_output(eddy__function_draft *d, eddy_graph *body,
                                 eddy_node id, const parts *p, uint32_t index,
                                 uint32_t *out_index)
{
    size_t length = p->name.length + 1 + p->output.length;
    char *text = eddy__arena_allocate(&d->temporary, length + 12, 1);
    void *assumed = d->assumed;
    uint32_t known;
    bool ok;

    if (!text)
        return eddy__fail_memory(d->loader->err);
    /* The name and the output stand side by side in the input. */
    memcpy(text, p->name.data, length);
    length += (size_t)snprintf(text + length, 12, ":%u", (unsigned)index);
    known = eddy__map_find(&d->assumed_texts, text, length);
    if (known != EDDY__NOT_FOUND) {
        *out_index = d->assumed[known].output.index;
        return EDDY_OK;
    }
    ok = eddy__grow(d->temporary.allocator, &assumed, &d->assumed_capacity,
                    d->n_assumed + 1, sizeof *d->assumed);
    d->assumed = assumed;
    if (!ok || !eddy__map_set(&d->assumed_texts, text, (uint32_t)d->n_assumed))
        return eddy__fail_memory(d->loader->err);
    *out_index = eddy__edit_assume_output(body, id);
    d->assumed[d->n_assumed++] = (eddy__assumed_output){
        .output = {id, *out_index},
        .name = {text + p->name.length + 1, length - p->name.length - 1},
    };
    return EDDY_OK;
}

eddy_status eddy__resolve_in_function(eddy__loader *loader, eddy__body *body,
                                      eddy_string text, eddy_output *out_output)
{
    eddy__function_draft *d = body->user;
    parts p = split(text);
    eddy_output found = {
        .node = eddy__graph_find(body->graph, p.name.data, p.name.length),
    };
    uint32_t index = 0;
    bool is_arg = found.node < d->function.n_args;

    if (found.node == EDDY__NOT_FOUND)
        return eddy__load_fail_unknown_input(loader, p.name);
    if (p.index.length > 0 && !eddy__load_index(p.index, &index))
        return eddy__load_fail(loader, EDDY_E_OUTPUT_INDEX,
                               "an input is '%.*s'; what is after the second "
                               "colon is no index",
                               (int)text.length, text.data);
    if (is_arg ? p.output.length > 0 && !is_text(p.output, "0")
               : p.output.length == 0)
        return eddy__load_fail(loader, EDDY_E_OUTPUT_INDEX,
                               "an input is '%.*s', which names no output",
                               (int)text.length, text.data);
    if (!is_arg && body->graph->nodes[found.node].op)
        EDDY_TRY(find_output(d, &body->graph->nodes[found.node], &p, index,
                             &found.index));
    else if (!is_arg)
        EDDY_TRY(
            assume_output(d, body->graph, found.node, &p, index, &found.index));
    *out_output = found;
    return EDDY_OK;
}

/* The list of names at the node, empty; a file may have one, which is replaced.
 */
static eddy_string *make_name_list(eddy_graph *body, eddy_node id)
{
    const uint32_t n = body->nodes[id].n_assumed_outputs;
    eddy_string *names =
        eddy__arena_allocate_zeroed(&body->arena, n, sizeof *names);
    const eddy_attr attr = {.name = EDDY__OUTPUT_NAMES,
                            .kind = EDDY_ATTR_STRING,
                            .is_list = true,
                            .n = n,
                            .as.strings = names};

    return names && eddy__edit_adopt_attr(body, id, &attr) ? names : NULL;
}

eddy_status eddy__keep_output_names(eddy__function_draft *d)
{
    eddy_graph *body = d->function.body;
    eddy_string **lists = eddy__arena_allocate_zeroed(
        &d->temporary, body->n_nodes, sizeof(eddy_string *));

    if (!lists)
        return eddy__fail_memory(d->loader->err);
    for (size_t i = 0; i < d->n_assumed; i++) {
        const eddy__assumed_output *assumed = &d->assumed[i];
        eddy_node id = assumed->output.node;
        char *text = eddy__arena_text(&body->arena, assumed->name.data,
                                      assumed->name.length);

        if (!lists[id])
            lists[id] = make_name_list(body, id);
        if (!lists[id] || !text)
            return eddy__fail_memory(d->loader->err);
        lists[id][assumed->output.index] =
            (eddy_string){text, assumed->name.length};
    }
    return EDDY_OK;
}

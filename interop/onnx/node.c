/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of an ONNX node by whoever reads it: its name, how it fails. */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "interop/onnx/loader.h"

#include <stdio.h>
#include <string.h>

/* ---- failing ---- */

const char *eddy__onnx_node_name(const Eddy__OnnxPb__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "";
}

eddy_status eddy__onnx_fail_at(eddy__onnx_loader *loader, eddy_status code,
                               eddy_detail detail,
                               const Eddy__OnnxPb__NodeProto *node,
                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(loader->w.err, code, detail, format, args);
    va_end(args);
    if (node && loader->w.err)
        eddy__graph_error_at(loader->w.err, eddy__onnx_node_name(node),
                             eddy__onnx_text_of(node->op_type));
    return code;
}

/* ---- names of nodes ---- */

static bool is_legal(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' ||
           (!is_first && (c == '_' || c == '/' || c == '-'));
}

/* A copy with '_' for what a node's name may not have. */
char *eddy__onnx_legal_name(eddy__onnx_loader *loader, const char *name)
{
    size_t n;
    char *copy;

    while (*name == '/')
        name++;
    n = strlen(name);
    copy = eddy__scratch_allocate(&loader->scratch, n + 2, 1);
    if (!copy)
        return NULL;
    copy[0] = '.';
    memcpy(copy + 1, name, n + 1);
    for (size_t i = 1; i <= n; i++)
        if (!is_legal(copy[i], false))
            copy[i] = '_';
    return n > 0 && is_legal(copy[1], true) ? copy + 1 : copy;
}

static bool is_taken(const eddy__onnx_loader *loader, const char *name,
                     char *text, size_t size)
{
    const char *scope = eddy_construct_scope(loader->w.graph);

    (void)snprintf(text, size, "%s%s%s", scope ? scope : "", scope ? "/" : "",
                   name);
    return eddy_graph_find(loader->w.graph, text) != EDDY_NO_NODE ||
           eddy__map_find(&loader->reserved, text, strlen(text)) !=
               EDDY__NOT_FOUND;
}

const char *eddy__onnx_free_name(eddy__onnx_loader *loader, const char *name)
{
    const char *scope = eddy_construct_scope(loader->w.graph);
    const size_t n_scope = scope ? strlen(scope) : 0;
    char *legal = eddy__onnx_legal_name(loader, name), *numbered, *text;
    size_t size;
    uint32_t next;

    if (!legal)
        return NULL;
    size = strlen(legal) + sizeof "_4294967295";
    text = eddy__scratch_allocate(&loader->scratch, size + n_scope + 1, 1);
    if (!text)
        return NULL;
    if (!is_taken(loader, legal, text, size + n_scope + 1))
        return legal;
    numbered = eddy__scratch_allocate(&loader->scratch, size, 1);
    if (!numbered)
        return NULL;
    next = eddy__map_find(&loader->suffixes, text, strlen(text));
    next = next == EDDY__NOT_FOUND ? 1 : next;
    do
        (void)snprintf(numbered, size, "%s_%lu", legal, (unsigned long)next++);
    while (is_taken(loader, numbered, text, size + n_scope + 1));
    /* Without the number the search is only longer the next time. */
    (void)is_taken(loader, legal, text, size + n_scope + 1);
    (void)eddy__map_set(&loader->suffixes, text, next);
    return numbered;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints signatures of a SavedModel, and calls one by the names of its inputs
 * and outputs.
 */
#include "tools/signature.h"

#include "tools/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char by_default[] = "serving_default";

static eddy__exit fail_memory(void)
{
    eddy__message_complain("out of memory");
    return EDDY__EXIT_FAILED;
}

static const eddy_savedmodel_port *find_port(const eddy_savedmodel_port *ports,
                                             size_t n, const char *name,
                                             size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(ports[i].name) == length &&
            memcmp(ports[i].name, name, length) == 0)
            return &ports[i];
    return NULL;
}

/* `node:index` and what follows, as a text that `called` frees. */
static const char *write_name(eddy__called *called, const eddy_graph *graph,
                              eddy_output output, const char *rest)
{
    const char *node = eddy_graph_node_name(graph, output.node);
    const size_t size = strlen(node) + strlen(rest) + 16;
    char *text = malloc(size);

    if (text == NULL)
        return NULL;
    (void)snprintf(text, size, "%s:%u%s", node, (unsigned)output.index, rest);
    called->texts[called->n_texts++] = text;
    return text;
}

static eddy__exit complain_port(const char *option, const char *text,
                                size_t length,
                                const eddy_savedmodel_signature *signature,
                                const char *kind)
{
    eddy__message_complain("%s %.*s: signature '%s' has no %s of that name",
                           option, (int)length, text, signature->name, kind);
    return EDDY__EXIT_USAGE;
}

static eddy__exit call_feeds(eddy__called *called, const eddy_graph *graph,
                             const eddy_savedmodel_signature *signature,
                             const eddy__options *options)
{
    for (size_t i = 0; i < options->feeds.n; i++) {
        const char *text = options->feeds.items[i];
        const size_t length = strcspn(text, "=");
        const eddy_savedmodel_port *port =
            find_port(signature->inputs, signature->n_inputs, text, length);

        if (port == NULL)
            return complain_port("--feed", text, length, signature, "input");
        called->options.feeds.items[i] =
            write_name(called, graph, port->output, text + length);
        if (called->options.feeds.items[i] == NULL)
            return fail_memory();
    }
    return EDDY__EXIT_DONE;
}

static eddy__exit call_fetches(eddy__called *called, const eddy_graph *graph,
                               const eddy_savedmodel_signature *signature,
                               const eddy__options *options)
{
    const bool all = options->fetches.n == 0;
    const size_t n = all ? signature->n_outputs : options->fetches.n;

    for (size_t i = 0; i < n; i++) {
        const char *name =
            all ? signature->outputs[i].name : options->fetches.items[i];
        const eddy_savedmodel_port *port = find_port(
            signature->outputs, signature->n_outputs, name, strlen(name));

        if (port == NULL)
            return complain_port("--fetch", name, strlen(name), signature,
                                 "output");
        called->labels[i] = name;
        called->options.fetches.items[i] =
            write_name(called, graph, port->output, "");
        if (called->options.fetches.items[i] == NULL)
            return fail_memory();
    }
    called->options.fetches.n = n;
    return EDDY__EXIT_DONE;
}

bool eddy__signature_has(const eddy_savedmodel *model,
                         const eddy__options *options)
{
    const eddy_savedmodel_signature *signature =
        eddy_savedmodel_find(model, by_default);

    for (size_t i = 0; i < options->fetches.n; i++) {
        const char *name = options->fetches.items[i];

        if (signature == NULL ||
            !find_port(signature->outputs, signature->n_outputs, name,
                       strlen(name)))
            return false;
    }
    return true;
}

eddy__exit eddy__signature_call(const eddy_savedmodel *model,
                                const eddy__options *options,
                                eddy__called *out_called)
{
    const char *name = options->signature ? options->signature : by_default;
    const eddy_savedmodel_signature *signature =
        eddy_savedmodel_find(model, name);
    const eddy_graph *graph = eddy_savedmodel_graph(model);
    size_t n;
    eddy__exit result;

    *out_called = (eddy__called){.options = *options};
    out_called->options.feeds.items = NULL;
    out_called->options.fetches.items = NULL;
    if (signature == NULL) {
        eddy__message_complain(
            "%s: there is no signature '%s'; `eddy inspect` lists "
            "those that there are",
            options->paths.items[0], name);
        return EDDY__EXIT_USAGE;
    }
    n = options->feeds.n + options->fetches.n + signature->n_outputs + 1;
    out_called->texts = calloc(n, sizeof *out_called->texts);
    out_called->labels = calloc(n, sizeof *out_called->labels);
    out_called->options.feeds.items = calloc(n, sizeof(char *));
    out_called->options.fetches.items = calloc(n, sizeof(char *));
    if (out_called->texts == NULL || out_called->labels == NULL ||
        out_called->options.feeds.items == NULL ||
        out_called->options.fetches.items == NULL)
        return fail_memory();
    result = call_feeds(out_called, graph, signature, options);
    if (result == EDDY__EXIT_DONE)
        result = call_fetches(out_called, graph, signature, options);
    return result;
}

void eddy__called_deinit(eddy__called *called)
{
    for (size_t i = 0; i < called->n_texts; i++)
        free(called->texts[i]);
    free(called->texts);
    free(called->labels);
    free(called->options.feeds.items);
    free(called->options.fetches.items);
    *called = (eddy__called){.n_texts = 0};
}

static void print_ports(const char *title, const eddy_savedmodel_port *ports,
                        size_t n, const eddy_graph *graph)
{
    for (size_t i = 0; i < n; i++) {
        printf("  %s %s  %s ", title, ports[i].name,
               eddy_dtype_name(ports[i].dtype));
        eddy__format_shape(stdout, &ports[i].shape);
        printf("  %s:%u\n", eddy_graph_node_name(graph, ports[i].output.node),
               (unsigned)ports[i].output.index);
    }
}

void eddy__signatures_print(const eddy_savedmodel *model)
{
    const eddy_graph *graph = eddy_savedmodel_graph(model);
    const eddy_savedmodel_signature *signature;

    for (size_t i = 0;
         (signature = eddy_savedmodel_signature_at(model, i)) != NULL; i++) {
        printf("signature %s:\n", signature->name);
        print_ports("input", signature->inputs, signature->n_inputs, graph);
        print_ports("output", signature->outputs, signature->n_outputs, graph);
    }
}

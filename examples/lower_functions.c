/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a TensorFlow GraphDef whose control flow is functions (what
 * tf.function makes), turns it into one graph of Switch, Merge, Enter, Exit and
 * NextIteration, prints that, and saves it if there is a place to:
 *
 *   cc lower_functions.c $(pkg-config --cflags --libs eddy) -o lower_functions
 *   ./lower_functions model.pb
 *   ./lower_functions model.pb lowered.pb
 *
 * The saved graph runs in TensorFlow too, with the same names.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

/* A line a node: its name, its op, what it reads and what it waits for. */
static void print_graph(const eddy_graph *graph)
{
    for (eddy_node node = 0; node < eddy_graph_size(graph); node++) {
        size_t n_inputs, n_controls;
        const eddy_output *inputs =
            eddy_graph_node_inputs(graph, node, &n_inputs);
        const eddy_node *controls =
            eddy_graph_node_controls(graph, node, &n_controls);

        printf("%s %s", eddy_graph_node_name(graph, node),
               eddy_graph_node_op(graph, node));
        for (size_t i = 0; i < n_inputs; i++)
            printf(" %s:%u", eddy_graph_node_name(graph, inputs[i].node),
                   (unsigned)inputs[i].index);
        for (size_t i = 0; i < n_controls; i++)
            printf(" ^%s", eddy_graph_node_name(graph, controls[i]));
        printf("\n");
    }
}

static eddy_status lower(eddy_context *ctx, int argc, char **argv,
                         eddy_error *err)
{
    const eddy_lower_options options = {
        .size = sizeof options,
        .max_nodes = 100000, /* a graph from a file can be anything */
    };
    eddy_graph *graph = NULL, *lowered = NULL;
    eddy_status status = eddy_graphdef_load(ctx, argv[1], NULL, &graph, err);

    if (status == EDDY_OK)
        status = eddy_graph_lower(graph, &options, &lowered, err);
    if (status == EDDY_OK)
        print_graph(lowered);
    if (status == EDDY_OK && argc > 2)
        status = eddy_graphdef_save(lowered, argv[2], err);
    eddy_graph_destroy(lowered);
    eddy_graph_destroy(graph);
    return status;
}

int main(int argc, char **argv)
{
    eddy_context *ctx = NULL;
    eddy_error err;
    eddy_status status;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s GRAPH [OUT]\n", argv[0]);
        return 2;
    }
    status = eddy_context_create(NULL, &ctx, &err);
    if (status == EDDY_OK)
        status = lower(ctx, argc, argv, &err);
    if (status != EDDY_OK) {
        char line[1024];

        eddy_error_format(&err, line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
    eddy_context_destroy(ctx);
    return status == EDDY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints which ops a graph has, and which of them eddy lacks. */
#include "tools/inspect.h"

#include "tools/format.h"

#include "eddy/op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More of a kind than this are counted, not listed. */
#define MOST_LISTED 40

/* A node of the graph, or of a function of its library. */
typedef struct node_op {
    const char *op;
    size_t function; /* 0: the graph itself, else one more than its index */
    eddy_node node;
} node_op;

void *eddy__inspect_allocate(size_t n, size_t size)
{
    void *items = calloc(n + 1, size);

    if (items == NULL)
        eddy__message_complain("out of memory");
    return items;
}

void eddy__inspect_print_output(const eddy_graph *graph, eddy_output output)
{
    eddy__format_name(stdout, eddy_graph_node_name(graph, output.node));
    if (output.index > 0)
        printf(":%" PRIu32, output.index);
}

static int compare_ops(const void *a, const void *b)
{
    const node_op *x = a, *y = b;
    const int order = strcmp(x->op, y->op);

    if (order != 0)
        return order;
    if (x->function != y->function)
        return x->function > y->function ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The graph that `function` of a node_op means; NULL past the last. */
static const eddy_graph *part_of(const eddy_graph *graph, size_t function)
{
    return function == 0 ? graph
                         : eddy_graph_function_body(graph, function - 1);
}

/*
 * Fills `nodes`, unless it is NULL, with those of the graph and its functions,
 * and gives their number.  The arguments of functions do not count.
 */
static size_t list_nodes(const eddy_graph *graph, node_op *nodes)
{
    const eddy_graph *part;
    size_t n = 0;

    for (size_t f = 0; (part = part_of(graph, f)) != NULL; f++) {
        for (size_t i = 0; i < eddy_graph_size(part); i++) {
            const char *op = eddy_graph_node_op(part, (eddy_node)i);

            if (f > 0 && strcmp(op, "_Arg") == 0)
                continue;
            if (nodes != NULL)
                nodes[n] = (node_op){op, f, (eddy_node)i};
            n++;
        }
    }
    return n;
}

/* The end of the nodes that have the op of the one at `first`. */
static size_t end_of_op(const node_op *nodes, size_t n, size_t first)
{
    size_t end = first + 1;

    while (end < n && strcmp(nodes[end].op, nodes[first].op) == 0)
        end++;
    return end;
}

static void print_ops(const node_op *nodes, size_t n)
{
    puts("ops:");
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_op(nodes, n, i);
        printf("  %8zu  ", end - i);
        eddy__format_name(stdout, nodes[i].op);
        putchar('\n');
    }
}

static void print_place(const eddy_graph *graph, const node_op *node)
{
    const eddy_graph *part = part_of(graph, node->function);

    eddy__format_name(stdout, eddy_graph_node_name(part, node->node));
    if (node->function > 0) {
        fputs(" of function ", stdout);
        eddy__format_name(stdout,
                          eddy_graph_function_name(graph, node->function - 1));
    }
}

static void print_unsupported(const eddy_context *ctx, const eddy_graph *graph,
                              const node_op *nodes, size_t n)
{
    size_t n_found = 0;

    for (size_t i = 0, end; i < n; i = end) {
        eddy_op_info info;

        end = end_of_op(nodes, n, i);
        if (eddy_op_find(ctx, nodes[i].op, &info))
            continue;
        if (n_found++ == 0)
            puts("unsupported ops:");
        fputs("  ", stdout);
        eddy__format_name(stdout, nodes[i].op);
        printf(": %zu node%s, the first ", end - i, end - i == 1 ? "" : "s");
        print_place(graph, &nodes[i]);
        putchar('\n');
    }
    if (n_found == 0)
        puts("unsupported ops: none");
}

/* The functions whose ops are not among those above. */
static void print_unreadable(const eddy_graph *graph)
{
    const char *name;
    size_t n_found = 0;

    for (size_t i = 0; (name = eddy_graph_function_name(graph, i)) != NULL;
         i++) {
        const char *problem = eddy_graph_function_problem(graph, i);

        if (problem == NULL)
            continue;
        if (n_found++ == 0)
            puts("functions that cannot be read:");
        fputs("  ", stdout);
        eddy__format_name(stdout, name);
        printf(": %s\n", problem);
    }
}

static void print_sizes(const eddy_graph *graph, size_t n)
{
    const size_t n_own = eddy_graph_size(graph);
    size_t n_functions = 0;

    printf("nodes: %zu", n_own);
    while (eddy_graph_function_name(graph, n_functions) != NULL)
        n_functions++;
    if (n_functions > 0)
        printf(", and %zu in %zu function%s", n - n_own, n_functions,
               n_functions == 1 ? "" : "s");
    putchar('\n');
}

eddy__exit eddy__inspect_ops(const eddy_context *ctx, const eddy_graph *graph)
{
    const size_t n = list_nodes(graph, NULL);
    node_op *nodes = eddy__inspect_allocate(n, sizeof *nodes);

    if (nodes == NULL)
        return EDDY__EXIT_FAILED;
    list_nodes(graph, nodes);
    qsort(nodes, n, sizeof *nodes, compare_ops);
    print_sizes(graph, n);
    print_ops(nodes, n);
    print_unsupported(ctx, graph, nodes, n);
    print_unreadable(graph);
    free(nodes);
    return EDDY__EXIT_DONE;
}

static bool is_op(const eddy_graph *graph, eddy_node node, const char *op)
{
    return strcmp(eddy_graph_node_op(graph, node), op) == 0;
}

static bool is_placeholder(const eddy_graph *graph, eddy_node node)
{
    return is_op(graph, node, "Placeholder") ||
           is_op(graph, node, "PlaceholderV2") ||
           is_op(graph, node, "PlaceholderWithDefault");
}

/* Whether the root is where the node's results are. */
static bool is_fetchable(const eddy_graph *graph, const eddy_analysis *analysis,
                         eddy_node node)
{
    const uint32_t frame = eddy_analysis_node_frame(analysis, node);

    if (eddy_graph_node_outputs(graph, node) == 0 ||
        is_op(graph, node, "Enter") || is_op(graph, node, "RefEnter"))
        return false;
    if (is_op(graph, node, "Exit") || is_op(graph, node, "RefExit"))
        return eddy_analysis_frame(analysis, frame)->parent == 0;
    return frame == 0;
}

static void print_end(const eddy_graph *graph, eddy_node node)
{
    const eddy_output first = {.node = node, .index = 0};
    eddy_attr shape;

    fputs("  ", stdout);
    eddy__inspect_print_output(graph, first);
    printf("  %s", eddy_dtype_name(eddy_graph_output_dtype(graph, first)));
    if (is_placeholder(graph, node) &&
        eddy_graph_node_attr(graph, node, "shape", &shape) &&
        shape.kind == EDDY_ATTR_SHAPE && shape.n == 1) {
        putchar(' ');
        eddy__format_shape(stdout, shape.as.shapes);
    }
    putchar('\n');
}

/* Marks the nodes that another takes data from. */
static void mark_used(const eddy_graph *graph, size_t n, bool *used)
{
    for (size_t i = 0; i < n; i++) {
        size_t n_inputs;
        const eddy_output *inputs =
            eddy_graph_node_inputs(graph, (eddy_node)i, &n_inputs);

        for (size_t k = 0; k < n_inputs; k++)
            used[inputs[k].node] = true;
    }
}

/* Prints the marked nodes below `title`, or as many as anyone wants to read. */
static void print_ends(const eddy_graph *graph, const char *title, size_t n,
                       const bool *marks)
{
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++) {
        if (!marks[i])
            continue;
        if (n_found == 0)
            printf("%s:\n", title);
        if (n_found++ < MOST_LISTED)
            print_end(graph, (eddy_node)i);
    }
    if (n_found > MOST_LISTED)
        printf("  and %zu more\n", n_found - MOST_LISTED);
}

eddy__exit eddy__inspect_ends(const eddy_graph *graph,
                              const eddy_analysis *analysis)
{
    const size_t n = eddy_graph_size(graph);
    bool *marks = eddy__inspect_allocate(n, sizeof *marks);

    if (marks == NULL)
        return EDDY__EXIT_FAILED;
    for (size_t i = 0; i < n; i++)
        marks[i] = is_placeholder(graph, (eddy_node)i);
    print_ends(graph, "inputs", n, marks);
    memset(marks, 0, n * sizeof *marks);
    mark_used(graph, n, marks);
    for (size_t i = 0; i < n; i++)
        marks[i] = !marks[i] && !is_placeholder(graph, (eddy_node)i) &&
                   is_fetchable(graph, analysis, (eddy_node)i);
    print_ends(graph, "outputs", n, marks);
    free(marks);
    return EDDY__EXIT_DONE;
}

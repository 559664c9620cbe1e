/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the frames of a graph as a tree, with their variables, predicates and
 * counts of trips.
 */
#include "tools/inspect.h"

#include "tools/format.h"

#include <inttypes.h>
#include <stdlib.h>

/* Frames nest deeper than lines are wide. */
#define MOST_INDENT 20

#define NO_FRAME UINT32_MAX

/* The tree of the frames: parents come with the analysis, children here. */
typedef struct frame_node {
    uint32_t first_child, next_sibling;
    size_t n_nodes;
} frame_node;

static frame_node *build_tree(const eddy_graph *graph,
                              const eddy_analysis *analysis)
{
    const size_t n = eddy_analysis_frames(analysis);
    const size_t n_nodes = eddy_graph_size(graph);
    frame_node *tree = eddy__inspect_allocate(n, sizeof *tree);

    if (tree == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        tree[i].first_child = tree[i].next_sibling = NO_FRAME;
    /* Backwards, so that the children end in the order of their numbers. */
    for (size_t i = n; i-- > 1;) {
        frame_node *parent = &tree[eddy_analysis_frame(analysis, i)->parent];

        tree[i].next_sibling = parent->first_child;
        parent->first_child = (uint32_t)i;
    }
    for (size_t i = 0; i < n_nodes; i++)
        tree[eddy_analysis_node_frame(analysis, (eddy_node)i)].n_nodes++;
    return tree;
}

/* The frame after `i` in the order in which a tree is printed. */
static uint32_t next_frame(const frame_node *tree,
                           const eddy_analysis *analysis, uint32_t i)
{
    if (tree[i].first_child != NO_FRAME)
        return tree[i].first_child;
    while (i != 0 && tree[i].next_sibling == NO_FRAME)
        i = eddy_analysis_frame(analysis, i)->parent;
    return i == 0 ? NO_FRAME : tree[i].next_sibling;
}

static void indent(uint32_t depth)
{
    printf("%*s", (int)(2 * (depth < MOST_INDENT ? depth : MOST_INDENT)), "");
}

static void print_member(const eddy_graph *graph, const char *what,
                         eddy_node node)
{
    printf(" %s ", what);
    if (node == EDDY_NO_NODE)
        fputs("none", stdout);
    else
        eddy__format_name(stdout, eddy_graph_node_name(graph, node));
}

static void print_variable(const eddy_graph *graph, uint32_t depth,
                           const eddy_loop_variable *v)
{
    indent(depth);
    fputs("variable:", stdout);
    print_member(graph, "enter", v->enter);
    print_member(graph, "merge", v->merge);
    print_member(graph, "switch", v->switch_);
    print_member(graph, "next", v->next_iteration);
    print_member(graph, "exit", v->exit);
    putchar('\n');
}

/* The predicate is what the LoopCond marks. */
static void print_predicate(const eddy_graph *graph, uint32_t depth,
                            eddy_node loop_cond)
{
    size_t n_inputs;
    const eddy_output *inputs;

    indent(depth);
    if (loop_cond == EDDY_NO_NODE) {
        puts("predicate: none");
        return;
    }
    inputs = eddy_graph_node_inputs(graph, loop_cond, &n_inputs);
    fputs("predicate: ", stdout);
    if (n_inputs > 0)
        eddy__inspect_print_output(graph, inputs[0]);
    print_member(graph, "loop_cond", loop_cond);
    putchar('\n');
}

static void print_counter(const eddy_graph *graph, uint32_t depth,
                          const eddy_frame *frame)
{
    static const char *const signs[] = {[EDDY_LESS] = "<",
                                        [EDDY_LESS_EQUAL] = "<=",
                                        [EDDY_GREATER] = ">",
                                        [EDDY_GREATER_EQUAL] = ">=",
                                        [EDDY_NOT_EQUAL] = "!="};
    const eddy_trip_counter *t = frame->trip_counter;

    if (t == NULL)
        return;
    indent(depth);
    fputs("trip counter:", stdout);
    print_member(graph, "merge", frame->variables[t->variable].merge);
    fputs(" from ", stdout);
    eddy__inspect_print_output(graph, t->start);
    printf(" %s ", t->is_subtracted ? "less" : "by");
    eddy__inspect_print_output(graph, t->step);
    printf(" while %s ", signs[t->comparison]);
    eddy__inspect_print_output(graph, t->limit);
    if (t->trips >= 0)
        printf(": %s%" PRId64 " trip%s", t->is_only ? "" : "at most ", t->trips,
               t->trips == 1 ? "" : "s");
    else if (!t->is_only)
        fputs(", or less", stdout);
    putchar('\n');
}

static void print_frame(const eddy_graph *graph, const eddy_analysis *analysis,
                        const eddy_frame *frame, size_t n_nodes)
{
    const uint32_t depth = frame->depth + 1;

    indent(depth);
    if (frame->depth == 0) {
        printf("root: %zu nodes\n", n_nodes);
        return;
    }
    eddy__format_name(stdout, frame->name);
    printf(": %zu node%s, parallel_iterations %" PRId64, n_nodes,
           n_nodes == 1 ? "" : "s", frame->parallel_iterations);
    if (frame->branch != 0) {
        fputs(", in ", stdout);
        eddy__print_branch(graph, analysis, frame->branch);
    }
    putchar('\n');
    print_predicate(graph, depth + 1, frame->loop_cond);
    print_counter(graph, depth + 1, frame);
    for (size_t i = 0; i < frame->n_variables; i++)
        print_variable(graph, depth + 1, &frame->variables[i]);
    for (size_t i = 0; i < frame->n_invariants; i++) {
        indent(depth + 1);
        fputs("invariant:", stdout);
        print_member(graph, "enter", frame->invariants[i]);
        putchar('\n');
    }
}

eddy__exit eddy__inspect_frames(const eddy_graph *graph,
                                const eddy_analysis *analysis)
{
    frame_node *tree = build_tree(graph, analysis);
    const char *warning;

    if (tree == NULL)
        return EDDY__EXIT_FAILED;
    puts("frames:");
    for (uint32_t i = 0; i != NO_FRAME; i = next_frame(tree, analysis, i))
        print_frame(graph, analysis, eddy_analysis_frame(analysis, i),
                    tree[i].n_nodes);
    free(tree);
    for (size_t i = 0; (warning = eddy_analysis_warning(analysis, i)) != NULL;
         i++)
        printf("%s  %s\n", i == 0 ? "warnings:\n" : "", warning);
    return EDDY__EXIT_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The branches of a graph as lines, and what could be built inside of one. */
#include "tools/inspect.h"

#include "tools/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many nodes of a side are named. */
#define MOST_NAMES 8

/* What is counted of a branch. */
typedef struct branch_count {
    size_t n_nodes, n_switches;
    eddy_node first_switch; /* that opens it */
} branch_count;

typedef struct listing {
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    branch_count *counts; /* one a branch */
    /* Those of branch b end before first[b + 1]. */
    size_t *first;
    eddy_node *nodes;
} listing;

/* ---- what is in which branch ---- */

static bool is_switch(const char *op)
{
    return strcmp(op, "Switch") == 0 || strcmp(op, "RefSwitch") == 0 ||
           strcmp(op, "_SwitchN") == 0;
}

/* The Switches of loops open no branch. */
static void count_switch(listing *l, eddy_node node)
{
    const size_t n = eddy_graph_node_outputs(l->graph, node);
    const uint32_t own = eddy_analysis_node_branch(l->analysis, node);

    for (size_t i = 0; i < n; i++) {
        const uint32_t side = eddy_analysis_output_branch(
            l->analysis, (eddy_output){node, (uint32_t)i});

        if (side != own && l->counts[side].n_switches++ == 0)
            l->counts[side].first_switch = node;
    }
}

static void count(listing *l)
{
    const size_t n_nodes = eddy_graph_size(l->graph);
    const size_t n = eddy_analysis_branches(l->analysis);

    for (eddy_node v = 0; v < n_nodes; v++) {
        const uint32_t branch = eddy_analysis_node_branch(l->analysis, v);

        l->counts[branch].n_nodes++;
        if (is_switch(eddy_graph_node_op(l->graph, v)))
            count_switch(l, v);
    }
    for (size_t b = 0; b < n; b++)
        l->first[b + 1] = l->first[b] + l->counts[b].n_nodes;
    for (size_t v = n_nodes; v-- > 0;)
        l->nodes[--l->first[eddy_analysis_node_branch(l->analysis,
                                                      (eddy_node)v) +
                            1]] = (eddy_node)v;
    /* Now each first[b + 1] is where branch b begins. */
    for (size_t b = 0; b < n; b++)
        l->first[b] = l->first[b + 1];
    l->first[n] = n_nodes;
}

/* ---- lines ---- */

void eddy__print_branch(const eddy_graph *graph, const eddy_analysis *analysis,
                        uint32_t branch)
{
    const eddy_branch_info *b = eddy_analysis_branch(analysis, branch);

    printf("side %" PRIu32 " of ", b->side);
    eddy__inspect_print_output(graph, b->predicate);
}

static void print_names(const listing *l, uint32_t branch)
{
    const size_t n = l->counts[branch].n_nodes;

    for (size_t i = 0; i < n && i < MOST_NAMES; i++) {
        const eddy_node node = l->nodes[l->first[branch] + i];

        fputs(i == 0 ? ": " : ", ", stdout);
        eddy__format_name(stdout, eddy_graph_node_name(l->graph, node));
        if (!eddy_analysis_is_exact(l->analysis, node))
            fputs(" (in part)", stdout);
    }
    if (n > MOST_NAMES)
        printf(", and %zu more", n - MOST_NAMES);
    putchar('\n');
}

static void print_side(const listing *l, uint32_t branch)
{
    const size_t n = l->counts[branch].n_nodes;

    printf("    side %" PRIu32 ": %zu node%s",
           eddy_analysis_branch(l->analysis, branch)->side, n,
           n == 1 ? "" : "s");
    print_names(l, branch);
}

/* What the sides from `first` on have in common. */
static void print_predicate(const listing *l, uint32_t first)
{
    const eddy_branch_info *b = eddy_analysis_branch(l->analysis, first);
    const size_t n = l->counts[first].n_switches;

    fputs("  predicate ", stdout);
    eddy__inspect_print_output(l->graph, b->predicate);
    if (b->frame != 0) {
        fputs(" in ", stdout);
        eddy__format_name(stdout,
                          eddy_analysis_frame(l->analysis, b->frame)->name);
    }
    if (b->outer != 0) {
        fputs(" inside ", stdout);
        eddy__print_branch(l->graph, l->analysis, b->outer);
    }
    printf(": %zu Switch%s, the first ", n, n == 1 ? "" : "es");
    eddy__format_name(
        stdout, eddy_graph_node_name(l->graph, l->counts[first].first_switch));
    putchar('\n');
}

static void print_eager(const eddy_graph *graph, const eddy_analysis *analysis,
                        const eddy_eager_node *eager)
{
    const uint32_t own = eddy_analysis_node_branch(analysis, eager->node);
    const uint32_t frame = eddy_analysis_node_frame(analysis, eager->node);

    fputs("  ", stdout);
    eddy__format_name(stdout, eddy_graph_node_name(graph, eager->node));
    printf(" (%s) runs ", eddy_graph_node_op(graph, eager->node));
    if (own != 0) {
        fputs("in all of ", stdout);
        eddy__print_branch(graph, analysis, own);
    } else if (frame != 0) {
        fputs("in every iteration of ", stdout);
        eddy__format_name(stdout, eddy_analysis_frame(analysis, frame)->name);
    } else {
        fputs("always", stdout);
    }
    fputs(", but only ", stdout);
    eddy__print_branch(graph, analysis, eager->branch);
    puts(" uses it");
}

static void print(const listing *l)
{
    const size_t n = eddy_analysis_branches(l->analysis);
    const eddy_eager_node *eager;

    if (n > 1)
        puts("branches:");
    for (uint32_t b = 1; b < n; b++) {
        if (eddy_analysis_branch(l->analysis, b)->side == 0)
            print_predicate(l, b);
        print_side(l, b);
    }
    for (size_t i = 0; (eager = eddy_analysis_eager(l->analysis, i)) != NULL;
         i++) {
        if (i == 0)
            puts("hints:");
        print_eager(l->graph, l->analysis, eager);
    }
}

eddy__exit eddy__inspect_branches(const eddy_graph *graph,
                                  const eddy_analysis *analysis)
{
    const size_t n = eddy_analysis_branches(analysis);
    listing l = {.graph = graph, .analysis = analysis};
    eddy__exit result = EDDY__EXIT_FAILED;

    l.counts = eddy__inspect_allocate(n, sizeof *l.counts);
    l.first = eddy__inspect_allocate(n + 1, sizeof *l.first);
    l.nodes = eddy__inspect_allocate(eddy_graph_size(graph), sizeof *l.nodes);
    if (l.counts != NULL && l.first != NULL && l.nodes != NULL) {
        count(&l);
        print(&l);
        result = EDDY__EXIT_DONE;
    }
    free(l.counts);
    free(l.first);
    free(l.nodes);
    return result;
}

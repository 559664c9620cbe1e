/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs for tests of the analyses, written in the language of
 * tests/aid/text.h, where every input may stand further down.  Beside the
 * primitives there are
 *
 *     Source -> int32    Pred -> bool    Less int32, int32 -> bool
 *     Neg, Id T -> T     Add T, T -> T   Join N * T -> T     NoOp
 */
#ifndef EDDY_TESTS_TEXT_GRAPH_H
#define EDDY_TESTS_TEXT_GRAPH_H

#include "core/context.h"
#include "frames/analysis/analysis.h"
#include "tests/aid/counting_allocator.h"

/* x + x + ... while it is less than x. */
#define TEXT_GRAPH_LOOP                                                        \
    "x Source\n"                                                               \
    "e Enter@f x\n"                                                            \
    "m Merge e n\n"                                                            \
    "k Enter@f! x\n"                                                           \
    "c Less m k\n"                                                             \
    "l LoopCond c\n"                                                           \
    "s Switch m l\n"                                                           \
    "a Add s:1 k\n"                                                            \
    "n NextIteration a\n"                                                      \
    "o Exit s\n"

typedef struct text_graph {
    counting_allocator counting;
    eddy_context ctx;
    eddy_graph *graph;
    eddy_analysis *analysis; /* of the last text_graph_analyse */
    eddy_error err;
} text_graph;

void text_graph_init(text_graph *t);

/* Fails the test if memory is still held. */
void text_graph_deinit(text_graph *t);

/* Makes the graph anew; fails the test if the text is wrong. */
void text_graph_build(text_graph *t, const char *text);

/* The node of that name; fails the test if there is none. */
eddy_node text_graph_node(const text_graph *t, const char *name);

/*
 * Analyses the graph with the outputs fed that `feeds` names ("a b:1", or
 * NULL), all nodes selected.
 */
eddy_status text_graph_analyse(text_graph *t, const char *feeds);

/* Builds and analyses; fails the test if that fails. */
void text_graph_accept(text_graph *t, const char *text);

/*
 * Builds, and fails the test unless the analysis refuses it at `node` with that
 * sub-code, INVALID_ARGUMENT, and `words` in the message.
 */
void text_graph_refuse(text_graph *t, const char *text, eddy_detail detail,
                       const char *node, const char *words);

#endif

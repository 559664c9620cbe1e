/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs over two devices, cut to the letter, against how TensorFlow cuts them.
 * tests/partitions has the graphs, and lists that scripts/tf_partitions.py made
 * of TensorFlow's partition graphs: nodes with what they read and wait for,
 * what is received and what starts that, control loops.  Here the same lists
 * are made of what eddy_partition_create gives.
 */
#include "core/graph/graph.h"
#include "eddy/graphdef.h"
#include "eddy/ranks.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 256
#define MAX_NODES 256
#define MAX_TEXT 400

typedef char line_text[MAX_TEXT];

typedef struct lines {
    line_text text[MAX_LINES];
    size_t n;
} lines;

/* What a _Send sends, by the name of its pair. */
typedef struct sent {
    line_text key, source;
    uint32_t rank;
} sent;

typedef struct listing {
    const eddy_graph *graphs[2];
    sent sends[MAX_LINES];
    size_t n_sends;
    lines out;
} listing;

static const char *const graphs[] = {
    "straight",       "cond",     "loop",
    "loop_one_way",   "nested",   "nested_on_the_other",
    "loop_with_cond", "gradient", "loop_on_one_device"};

static program p;
static listing list;
static lines want;

static void setup(void)
{
    program_init(&p, 0);
    memset(&list, 0, sizeof list);
    memset(&want, 0, sizeof want);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- texts of nodes ---- */

static bool is_op(const eddy__node *node, const char *op)
{
    return strcmp(node->op_name, op) == 0;
}

static void append(char *to, const char *text)
{
    const size_t n = strlen(to);

    ck_assert_uint_lt(n + strlen(text), MAX_TEXT);
    memcpy(to + n, text, strlen(text) + 1);
}

static void name_output(const eddy_graph *graph, eddy_output of, char *to)
{
    char index[16];

    append(to, eddy__graph_node(graph, of.node)->name);
    if (of.index > 0) {
        snprintf(index, sizeof index, ":%u", (unsigned)of.index);
        append(to, index);
    }
}

static void read_text(const eddy__node *node, const char *name, line_text to)
{
    const eddy_attr *attr = eddy__node_attr(node, name);

    ck_assert_ptr_nonnull(attr);
    snprintf(to, MAX_TEXT, "%.*s", (int)attr->as.strings[0].length,
             attr->as.strings[0].data);
}

static void note_send(uint32_t rank, eddy_node v)
{
    const eddy_graph *graph = list.graphs[rank];
    const eddy__node *send = eddy__graph_node(graph, v);
    const eddy__node *from = eddy__graph_node(graph, send->inputs[0].node);
    sent *s = &list.sends[list.n_sends++];

    ck_assert_uint_lt(list.n_sends, MAX_LINES);
    s->rank = rank;
    read_text(send, "tensor_name", s->key);
    if (is_op(from, "Const") && strstr(from->name, "/ctrl")) {
        append(s->source, "^");
        append(s->source, eddy__graph_node(graph, from->controls[0])->name);
    } else {
        name_output(graph, send->inputs[0], s->source);
    }
}

static const sent *find_sent(const eddy__node *recv)
{
    line_text key;

    read_text(recv, "tensor_name", key);
    for (size_t i = 0; i < list.n_sends; i++)
        if (strcmp(list.sends[i].key, key) == 0)
            return &list.sends[i];
    ck_abort_msg("nobody sends %s", key);
}

static void name_received(const eddy__node *recv, char *to)
{
    const sent *s = find_sent(recv);

    append(to, s->rank == 0 ? "from0(" : "from1(");
    append(to, s->source);
    append(to, ")");
}

/* The _Recv that an Identity stands for a control edge from, or NULL. */
static const eddy__node *control_recv(const eddy_graph *graph,
                                      const eddy__node *node)
{
    const eddy__node *recv;

    if (!is_op(node, "Identity"))
        return NULL;
    recv = eddy__graph_node(graph, node->inputs[0].node);
    return is_op(recv, "_Recv") && find_sent(recv)->source[0] == '^' ? recv
                                                                     : NULL;
}

/* What a node reads, past what the cut has added. */
static void name_input(const eddy_graph *graph, eddy_output in, char *to)
{
    const eddy__node *node = eddy__graph_node(graph, in.node);

    if (is_op(node, "_Recv"))
        name_received(node, to);
    else
        name_output(graph, in, to);
}

static void name_control(const eddy_graph *graph, eddy_node from, char *to)
{
    const eddy__node *node = eddy__graph_node(graph, from);
    const eddy__node *recv = control_recv(graph, node);

    append(to, "^");
    if (recv)
        name_received(recv, to);
    else
        append(to, node->name);
}

/* ---- lines ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static char *begin_line(uint32_t rank, const char *what)
{
    char *line = list.out.text[list.out.n++];

    ck_assert_uint_lt(list.out.n, MAX_LINES);
    append(line, rank == 0 ? "0 " : "1 ");
    append(line, what);
    append(line, " ");
    return line;
}

static void list_node(uint32_t rank, const eddy__node *node)
{
    const eddy_graph *graph = list.graphs[rank];
    char *line = begin_line(rank, node->op_name);
    static lines controls;

    memset(&controls, 0, sizeof controls);
    append(line, node->name);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        append(line, " ");
        name_input(graph, node->inputs[i], line);
    }
    for (uint32_t i = 0; i < node->n_controls; i++)
        name_control(graph, node->controls[i], controls.text[controls.n++]);
    qsort(controls.text, controls.n, sizeof *controls.text, compare_lines);
    for (size_t i = 0; i < controls.n; i++) {
        append(line, " ");
        append(line, controls.text[i]);
    }
}

/* The frame of a control loop, by its Merge, or "-" for another node. */
static void name_frame(const eddy_graph *graph, eddy_node merge, char *to)
{
    const eddy__node *node = eddy__graph_node(graph, merge);
    line_text frame = "-";

    if (is_op(node, "Merge") && strstr(node->name, "_cloop"))
        read_text(eddy__graph_node(graph, node->inputs[0].node), "frame_name",
                  frame);
    append(to, frame);
}

/* `control` begins it; EDDY_NO_NODE: it begins at once. */
static void list_start(uint32_t rank, const eddy__node *node, char *line)
{
    append(line, " in ");
    if (node->n_controls == 0)
        append(line, "-");
    else
        name_frame(list.graphs[rank], node->controls[0], line);
}

static void list_control_loop(uint32_t rank, const eddy__node *turn)
{
    const eddy_graph *graph = list.graphs[rank];
    const eddy__node *merge = eddy__graph_node(graph, turn->inputs[0].node);
    const eddy__node *enter = eddy__graph_node(graph, merge->inputs[0].node);
    char *line = begin_line(rank, "loop");

    name_frame(graph, turn->inputs[0].node, line);
    append(line, " within ");
    name_frame(graph, enter->inputs[0].node, line);
    append(line, " while ");
    name_input(graph, turn->inputs[1], line);
}

static bool is_added(const eddy_graph *graph, const eddy__node *node)
{
    return strstr(node->name, "_cloop") || control_recv(graph, node) ||
           (is_op(node, "Const") && strstr(node->name, "/ctrl"));
}

static void list_one(uint32_t rank, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(list.graphs[rank], v);
    char *line;

    if (is_op(node, "_Recv")) {
        line = begin_line(rank, "receives");
        name_received(node, line);
        list_start(rank, node, line);
    } else if (is_op(node, "_Send") && node->n_controls > 0) {
        line = begin_line(rank, "sends");
        name_output(list.graphs[rank], node->inputs[0], line);
        list_start(rank, node, line);
    } else if (is_op(node, "Switch") && strstr(node->name, "_cloop")) {
        list_control_loop(rank, node);
    } else if (!is_op(node, "_Send") && !is_added(list.graphs[rank], node)) {
        list_node(rank, node);
    }
}

static void list_all(void)
{
    for (uint32_t r = 0; r < 2; r++)
        for (eddy_node v = 0; v < eddy_graph_size(list.graphs[r]); v++)
            if (is_op(eddy__graph_node(list.graphs[r], v), "_Send"))
                note_send(r, v);
    for (uint32_t r = 0; r < 2; r++)
        for (eddy_node v = 0; v < eddy_graph_size(list.graphs[r]); v++)
            list_one(r, v);
    qsort(list.out.text, list.out.n, sizeof *list.out.text, compare_lines);
}

/* ---- a graph ---- */

/* The first line of the file has the fetches, the others TensorFlow's list. */
static size_t read_list(const char *name, eddy_output *fetches)
{
    line_text path, line;
    size_t n = 0;
    char *save = NULL;
    FILE *file;

    snprintf(path, sizeof path, "tests/partitions/%s.txt", name);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    strtok_r(line, " \n", &save);
    for (char *f = strtok_r(NULL, " \n", &save); f;
         f = strtok_r(NULL, " \n", &save))
        ck_assert_int_eq(
            eddy_graph_find_output(p.graph, f, &fetches[n++], &p.err), EDDY_OK);
    while (want.n < MAX_LINES && fgets(want.text[want.n], MAX_TEXT, file)) {
        want.text[want.n][strcspn(want.text[want.n], "\n")] = '\0';
        want.n++;
    }
    fclose(file);
    return n;
}

/* By the number at the end of each node's device. */
static size_t read_places(eddy_place *places)
{
    const size_t n = eddy_graph_size(p.graph);

    ck_assert_uint_le(n, MAX_NODES);
    for (eddy_node v = 0; v < n; v++) {
        const eddy__node *node = eddy__graph_node(p.graph, v);
        const size_t end = strlen(node->device) - 1;

        places[v] =
            (eddy_place){node->name, (uint32_t)(node->device[end] - '0')};
    }
    return n;
}

static eddy_partition *cut(const char *name)
{
    static eddy_place places[MAX_NODES];
    eddy_partition *partition = NULL;
    eddy_output fetches[8];
    line_text path;
    eddy_partition_options how = {.size = sizeof how,
                                  .n_ranks = 2,
                                  .places = places,
                                  .fetches = fetches,
                                  .is_literal = true};

    snprintf(path, sizeof path, "tests/partitions/%s.pb", name);
    program_clear(&p);
    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    ck_assert_msg(eddy_graphdef_load(p.ctx, path, NULL, &p.graph, &p.err) ==
                      EDDY_OK,
                  "%s", p.err.message);
    how.n_places = read_places(places);
    how.n_fetches = read_list(name, fetches);
    ck_assert_msg(eddy_partition_create(p.graph, &how, &partition, &p.err) ==
                      EDDY_OK,
                  "%s", p.err.message);
    return partition;
}

START_TEST(cuts_as_tensorflow_does)
{
    eddy_partition *partition = cut(graphs[_i]);

    for (uint32_t r = 0; r < 2; r++)
        list.graphs[r] = eddy_partition_graph(partition, r);
    list_all();
    ck_assert_uint_gt(want.n, 0);
    for (size_t i = 0; i < want.n && i < list.out.n; i++)
        ck_assert_msg(strcmp(list.out.text[i], want.text[i]) == 0,
                      "%s: '%s', TensorFlow has '%s'", graphs[_i],
                      list.out.text[i], want.text[i]);
    ck_assert_uint_eq(list.out.n, want.n);
    eddy_partition_destroy(partition);
}
END_TEST

TCase *tensorflow_partitions_tests(void)
{
    TCase *tc = tcase_create("tensorflow_partitions");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, cuts_as_tensorflow_does, 0,
                        sizeof graphs / sizeof *graphs);
    return tc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/text_graph.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EDGES 64

static const eddy_op_spec ops[] = {
#define OP(name, in, out, attrs)                                               \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, NULL, NULL, NULL, 0        \
    }
    OP("Source", "", "out: int32", ""),
    OP("Pred", "", "out: bool", ""),
    OP("Less", "x: int32, y: int32", "z: bool", ""),
    OP("Neg", "x: T", "y: T", "T: type"),
    OP("Id", "x: T", "y: T", "T: type"),
    OP("Add", "x: T, y: T", "z: T", "T: type"),
    OP("Join", "x: N * T", "y: T", "T: type, N: int >= 1"),
    OP("NoOp", "", "", ""),
#undef OP
};

void text_graph_init(text_graph *t)
{
    const eddy__op_table table = {.specs = ops,
                                  .n = sizeof ops / sizeof ops[0]};

    memset(t, 0, sizeof *t);
    counting_allocator_init(&t->counting);
    t->ctx.allocator = t->counting.allocator;
    eddy__registry_init(&t->ctx.registry, &t->ctx.allocator);
    ck_assert_msg(eddy__registry_add_table(&t->ctx.registry, &table, &t->err) ==
                          EDDY_OK &&
                      eddy__registry_add_table(&t->ctx.registry,
                                               &eddy__control_ops,
                                               &t->err) == EDDY_OK,
                  "%s: %s", t->err.op, t->err.message);
}

static void drop(text_graph *t)
{
    eddy_analysis_destroy(t->analysis);
    eddy_graph_destroy(t->graph);
    t->analysis = NULL;
    t->graph = NULL;
}

void text_graph_deinit(text_graph *t)
{
    drop(t);
    eddy__registry_deinit(&t->ctx.registry);
    counting_allocator_want_none(&t->counting);
}

eddy_node text_graph_node(const text_graph *t, const char *name)
{
    eddy_node node = eddy_graph_find(t->graph, name);

    ck_assert_msg(node != EDDY_NO_NODE, "no node '%s'", name);
    return node;
}

/* `name` or `name:index`; the node is EDDY_NO_NODE if it is not there yet. */
static eddy_output read_output(const text_graph *t, const char *word)
{
    const char *colon = strchr(word, ':');
    char name[64];
    eddy_output output = {.index = colon ? (uint32_t)atoi(colon + 1) : 0};

    snprintf(name, sizeof name, "%.*s",
             (int)(colon ? (size_t)(colon - word) : strlen(word)), word);
    output.node = eddy_graph_find(t->graph, name);
    return output;
}

/* What follows the op in Enter@frame!#n. */
typedef struct enter_attrs {
    eddy_string frame;
    bool is_constant;
    int64_t parallel_iterations;
    eddy_dtype dtype;
} enter_attrs;

static size_t read_attrs(char *op, bool has_type, enter_attrs *a,
                         eddy_attr *attrs)
{
    char *frame = strchr(op, '@'), *number;
    size_t n = 0;

    *a = (enter_attrs){.parallel_iterations = 10, .dtype = EDDY_INT32};
    if (!has_type)
        attrs[n++] = eddy_attr_type("T", &a->dtype);
    if (!frame)
        return n;
    *frame++ = '\0';
    number = strchr(frame, '#');
    if (number) {
        a->parallel_iterations = atoll(number + 1);
        *number = '\0';
    }
    if (strchr(frame, '!')) {
        a->is_constant = true;
        *strchr(frame, '!') = '\0';
    }
    a->frame = (eddy_string){frame, strlen(frame)};
    attrs[n++] = eddy_attr_string("frame_name", &a->frame);
    attrs[n++] = eddy_attr_bool("is_constant", &a->is_constant);
    attrs[n++] = eddy_attr_int("parallel_iterations", &a->parallel_iterations);
    return n;
}

/* Does the op have a T that no input tells yet? */
static bool lacks_type(const char *op, const eddy_output *inputs, size_t n)
{
    if (strcmp(op, "Switch") == 0)
        return inputs[0].node == EDDY_NO_NODE;
    for (size_t i = 0; i < n; i++)
        if (inputs[i].node != EDDY_NO_NODE)
            return false;
    return n > 0 && strcmp(op, "Less") != 0 && strcmp(op, "LoopCond") != 0;
}

/* First round: the node itself, with what is there of its inputs. */
static void add_node(text_graph *t, char *line)
{
    const eddy__add_options options = {.forward_edges = true};
    eddy_output inputs[MAX_EDGES];
    eddy_attr attrs[8];
    enter_attrs enter;
    eddy_node_spec spec = {
        .size = sizeof spec, .inputs = inputs, .attrs = attrs};
    char *rest, *word, *op;

    spec.name = strtok_r(line, " ", &rest);
    op = strtok_r(NULL, " ", &rest);
    ck_assert_ptr_nonnull(op);
    while ((word = strtok_r(NULL, " ", &rest)) && word[0] != '^') {
        ck_assert_uint_lt(spec.n_inputs, MAX_EDGES);
        inputs[spec.n_inputs++] = read_output(t, word);
    }
    spec.n_attrs =
        read_attrs(op, !lacks_type(op, inputs, spec.n_inputs), &enter, attrs);
    spec.op = op;
    ck_assert_msg(eddy__graph_add(t->graph, &spec, &options, &(eddy_node){0},
                                  &t->err) == EDDY_OK,
                  "%s: %s", spec.name, t->err.message);
}

/* Second round: the edges that go forward, and the control edges. */
static void connect(text_graph *t, char *line)
{
    char *rest, *word;
    eddy_node node = text_graph_node(t, strtok_r(line, " ", &rest));

    strtok_r(NULL, " ", &rest);
    for (uint32_t i = 0; (word = strtok_r(NULL, " ", &rest)); i++) {
        const char *what = word + (word[0] == '^');
        eddy_output from = read_output(t, what);

        ck_assert_msg(from.node != EDDY_NO_NODE, "no node '%s'", what);
        ck_assert_msg(
            (what == word
                 ? eddy__graph_connect(t->graph, node, i, from, &t->err)
                 : eddy_graph_add_control(t->graph, node, from.node,
                                          &t->err)) == EDDY_OK,
            "%s: %s", what, t->err.message);
    }
}

static void each_line(text_graph *t, const char *text,
                      void (*act)(text_graph *t, char *line))
{
    char *copy = strdup(text), *rest, *line;

    ck_assert_ptr_nonnull(copy);
    for (line = strtok_r(copy, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        act(t, line);
    free(copy);
}

void text_graph_build(text_graph *t, const char *text)
{
    drop(t);
    ck_assert_int_eq(eddy_graph_create(&t->ctx, &t->graph, &t->err), EDDY_OK);
    each_line(t, text, add_node);
    each_line(t, text, connect);
}

eddy_status text_graph_analyse(text_graph *t, const char *feeds)
{
    eddy_output fed[MAX_EDGES];
    uint8_t *is_fed = calloc(t->graph->n_nodes + 1, 1);
    eddy__selection s = {.graph = t->graph, .is_fed = is_fed, .feeds = fed};
    char copy[256], *rest, *word;
    eddy_status status;

    ck_assert_ptr_nonnull(is_fed);
    snprintf(copy, sizeof copy, "%s", feeds ? feeds : "");
    for (word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        fed[s.n_feeds] = read_output(t, word);
        is_fed[fed[s.n_feeds++].node] = 1;
    }
    eddy_analysis_destroy(t->analysis);
    t->analysis = NULL;
    status = eddy__check_feeds(&s, &t->err);
    if (status == EDDY_OK)
        status = eddy__analysis_build_whole(&s, &t->analysis, &t->err);
    free(is_fed);
    return status;
}

void text_graph_accept(text_graph *t, const char *text)
{
    char line[1024];

    text_graph_build(t, text);
    if (text_graph_analyse(t, NULL) == EDDY_OK)
        return;
    eddy_error_format(&t->err, line, sizeof line);
    ck_abort_msg("refused: %s\n%s", line, text);
}

void text_graph_refuse(text_graph *t, const char *text, eddy_detail detail,
                       const char *node, const char *words)
{
    text_graph_build(t, text);
    ck_assert_msg(text_graph_analyse(t, NULL) == EDDY_INVALID_ARGUMENT,
                  "not refused:\n%s", text);
    ck_assert_str_eq(eddy_detail_name(t->err.detail), eddy_detail_name(detail));
    ck_assert_str_eq(t->err.node, node);
    ck_assert_msg(strstr(t->err.message, words) != NULL, "'%s' is not in: %s",
                  words, t->err.message);
}

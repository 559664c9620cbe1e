/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops and branches of every recorded graph, against tests/recovery.txt,
 * which scripts/recovery_table.py derives in another way and describes; and the
 * same of the graphs with their nodes renamed and shuffled.
 */
#include "core/graph/graph.h"
#include "tests/aid/recovered.h"
#include "tests/suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "tests/recovery.txt"
#define CASES "tests/conformance/tf"

/* Each test takes one graph in so many. */
#define SHARES 8

/* What renames a frame. */
#define RENAMED "renamed/"

static eddy_context *ctx;
static eddy_error err;

static void setup(void)
{
    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
}

static void teardown(void)
{
    eddy_context_destroy(ctx);
}

/* ---- texts ---- */

/* Lines, each in memory of its own. */
typedef struct lines {
    char **items;
    size_t n, capacity;
} lines;

static void add_line(lines *l, const char *text)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->items = realloc(l->items, l->capacity * sizeof *l->items);
        ck_assert_ptr_nonnull(l->items);
    }
    l->items[l->n] = strdup(text);
    ck_assert_ptr_nonnull(l->items[l->n++]);
}

static void clear_lines(lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (lines){NULL, 0, 0};
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(lines *l)
{
    if (l->n > 0)
        qsort(l->items, l->n, sizeof *l->items, compare_texts);
}

static void read_table(lines *l)
{
    FILE *file = fopen(TABLE, "r");
    static char line[1 << 16];

    ck_assert_msg(file != NULL, "no %s", TABLE);
    while (fgets(line, sizeof line, file)) {
        const size_t length = strlen(line);

        ck_assert_msg(length > 0 && line[length - 1] == '\n', "long line");
        line[length - 1] = '\0';
        add_line(l, line);
    }
    fclose(file);
}

/* ---- what eddy says, as the table does ---- */

typedef struct subject {
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    const char *const *names; /* of the nodes, in the table */
    bool is_renamed;          /* the frames are */
    lines facts;
} subject;

static const char *node_text(const subject *s, eddy_node node)
{
    return node == EDDY_NO_NODE ? "-" : s->names[node];
}

static const char *frame_text(const subject *s, uint32_t frame)
{
    const char *name = eddy_analysis_frame(s->analysis, frame)->name;

    return frame == 0 ? "-" : name + (s->is_renamed ? strlen(RENAMED) : 0);
}

static void print_output(const subject *s, eddy_output output, char *text,
                         size_t size)
{
    if (output.index > 0)
        snprintf(text, size, "%s#%" PRIu32, node_text(s, output.node),
                 output.index);
    else
        snprintf(text, size, "%s", node_text(s, output.node));
}

static void add_loop(subject *s, uint32_t frame)
{
    const eddy_frame *f = eddy_analysis_frame(s->analysis, frame);
    const char *name = frame_text(s, frame);
    const eddy_trip_counter *t = f->trip_counter;
    char predicate[512] = "-", line[2048];

    if (f->loop_cond != EDDY_NO_NODE)
        print_output(s, eddy__graph_node(s->graph, f->loop_cond)->inputs[0],
                     predicate, sizeof predicate);
    snprintf(line, sizeof line, " frame %s %s %s", name,
             frame_text(s, f->parent), predicate);
    add_line(&s->facts, line);
    for (size_t i = 0; i < f->n_variables; i++) {
        const eddy_loop_variable *v = &f->variables[i];

        snprintf(line, sizeof line, " variable %s %s %s %s %s %s", name,
                 node_text(s, v->enter), node_text(s, v->merge),
                 node_text(s, v->switch_), node_text(s, v->next_iteration),
                 node_text(s, v->exit));
        add_line(&s->facts, line);
    }
    for (size_t i = 0; i < f->n_invariants; i++) {
        snprintf(line, sizeof line, " invariant %s %s", name,
                 node_text(s, f->invariants[i]));
        add_line(&s->facts, line);
    }
    if (!t || t->trips < 0)
        return;
    snprintf(line, sizeof line, " trips %s %s %" PRId64 "%s", name,
             node_text(s, f->variables[t->variable].merge), t->trips,
             t->is_only ? "" : " and more");
    add_line(&s->facts, line);
}

/* The sides that a branch is in, in the order of their texts. */
static void print_sides(const subject *s, uint32_t branch, char *text,
                        size_t size)
{
    lines sides = {NULL, 0, 0};
    size_t used = 0;

    while (branch != 0) {
        const eddy_branch_info *b = eddy_analysis_branch(s->analysis, branch);
        char predicate[512], side[600];

        print_output(s, b->predicate, predicate, sizeof predicate);
        snprintf(side, sizeof side, "%s:%" PRIu32, predicate, b->side);
        add_line(&sides, side);
        branch = b->outer;
    }
    sort_lines(&sides);
    snprintf(text, size, "-");
    for (size_t i = 0; i < sides.n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i > 0 ? "," : "", sides.items[i]);
    ck_assert_uint_lt(used, size);
    clear_lines(&sides);
}

/* A line a node: where it is, a tab, its name. */
static void list_nodes(const subject *s, lines *nodes)
{
    const size_t n = eddy_graph_size(s->graph);
    char place[4096], line[5120];

    for (eddy_node v = 0; v < n; v++) {
        const uint32_t frame = eddy_analysis_node_frame(s->analysis, v);

        if (eddy_analysis_is_exact(s->analysis, v))
            print_sides(s, eddy_analysis_node_branch(s->analysis, v), place,
                        sizeof place);
        else
            snprintf(place, sizeof place, "mixed");
        snprintf(line, sizeof line, "%s %s\t%s", frame_text(s, frame), place,
                 s->names[v]);
        add_line(nodes, line);
    }
    sort_lines(nodes);
}

static uint64_t hash_name(uint64_t hash, const char *name)
{
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    return (hash ^ '\n') * UINT64_C(0x100000001b3);
}

static void add_branches(subject *s)
{
    lines nodes = {NULL, 0, 0};

    list_nodes(s, &nodes);
    for (size_t i = 0, end; i < nodes.n; i = end) {
        const size_t length = strcspn(nodes.items[i], "\t");
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        char line[5120];

        for (end = i; end < nodes.n && strncmp(nodes.items[i], nodes.items[end],
                                               length + 1) == 0;
             end++)
            hash = hash_name(hash, nodes.items[end] + length + 1);
        snprintf(line, sizeof line, " branch %.*s %zu %016" PRIx64, (int)length,
                 nodes.items[i], end - i, hash);
        add_line(&s->facts, line);
    }
    clear_lines(&nodes);
}

static void find_facts(subject *s)
{
    const size_t n_frames = eddy_analysis_frames(s->analysis);

    for (uint32_t f = 1; f < n_frames; f++)
        add_loop(s, f);
    add_branches(s);
    sort_lines(&s->facts);
}

/* ---- comparing ---- */

/* The facts after the line with the graph's name are those of the table. */
static void compare_facts(const char *name, const lines *facts,
                          const lines *table, size_t at)
{
    for (size_t i = 0; i < facts->n; i++) {
        const char *wanted = at + i < table->n ? table->items[at + i] : "";

        ck_assert_msg(strcmp(facts->items[i], wanted) == 0,
                      "%s:\n got '%s'\nnot '%s'", name, facts->items[i],
                      wanted);
    }
    ck_assert_msg(at + facts->n >= table->n ||
                      table->items[at + facts->n][0] != ' ',
                  "%s: not found: %s", name, table->items[at + facts->n]);
}

static void check_graph(const eddy_graph *graph, const char *const *names,
                        bool is_renamed, const lines *table, size_t at)
{
    subject s = {.graph = graph, .names = names, .is_renamed = is_renamed};
    eddy_analysis *analysis = NULL;
    const char *name = table->items[at];

    ck_assert_msg(eddy_analysis_create(graph, &analysis, &err) == EDDY_OK,
                  "%s: %s", name, err.message);
    s.analysis = analysis;
    find_facts(&s);
    compare_facts(name, &s.facts, table, at + 1);
    clear_lines(&s.facts);
    eddy_analysis_destroy(analysis);
}

static eddy_graph *load(const char *name)
{
    eddy_graph *graph = NULL;
    char path[512];

    snprintf(path, sizeof path, CASES "/%s/graph.pb", name);
    ck_assert_msg(eddy_graphdef_load(ctx, path, NULL, &graph, &err) == EDDY_OK,
                  "%s: %s", path, err.message);
    return graph;
}

/* The names of the nodes, in memory that is to be freed. */
static const char **list_names(const eddy_graph *graph)
{
    const size_t n = eddy_graph_size(graph);
    const char **names = calloc(n + 1, sizeof *names);

    ck_assert_ptr_nonnull(names);
    for (eddy_node v = 0; v < n; v++)
        names[v] = eddy_graph_node_name(graph, v);
    return names;
}

START_TEST(recorded_graphs_are_as_the_table_says)
{
    lines table = {NULL, 0, 0};
    size_t n = 0;

    read_table(&table);
    for (size_t i = 0; i < table.n; i++) {
        eddy_graph *graph;
        const char **names;

        if (table.items[i][0] == ' ' || n++ % SHARES != (size_t)_i)
            continue;
        graph = load(table.items[i]);
        names = list_names(graph);
        check_graph(graph, names, false, &table, i);
        free(names);
        eddy_graph_destroy(graph);
    }
    ck_assert_uint_gt(n, 200);
    clear_lines(&table);
}
END_TEST

/* ---- renamed and shuffled ---- */

/* place[v] is the new number of node v: a permutation that `seed` chooses. */
static eddy_node *shuffle(size_t n, uint64_t seed)
{
    eddy_node *place = malloc((n + 1) * sizeof *place);

    ck_assert_ptr_nonnull(place);
    for (size_t i = 0; i < n; i++)
        place[i] = (eddy_node)i;
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)((seed >> 33) % i);
        const eddy_node at = place[j];

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        place[j] = place[i - 1];
        place[i - 1] = at;
    }
    return place;
}

/* Adds node `v` under another name, with its inputs still open. */
static void copy_node(eddy_graph *to, const eddy_graph *from, eddy_node v)
{
    const eddy__add_options options = {.opaque = true, .forward_edges = true};
    const eddy__node *n = eddy__graph_node(from, v);
    eddy_output *inputs = calloc(n->n_inputs + 1, sizeof *inputs);
    eddy_attr *attrs = calloc(n->n_attrs + 1, sizeof *attrs);
    char name[32], frame[512];
    const eddy_string renamed = {frame, 0};
    eddy_string text = renamed;
    eddy_node added;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = n->op_name,
                           .name = name,
                           .inputs = inputs,
                           .n_inputs = n->n_inputs,
                           .attrs = attrs,
                           .n_attrs = n->n_attrs};

    ck_assert(inputs && attrs);
    /* In no order that has to do with the old one. */
    snprintf(name, sizeof name, "z%08" PRIx32, (uint32_t)(v * 2654435761u));
    for (uint32_t i = 0; i < n->n_inputs; i++)
        inputs[i].node = EDDY_NO_NODE;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        attrs[i] = n->attrs[i];
        if (strcmp(attrs[i].name, "frame_name") != 0)
            continue;
        text.length = (size_t)snprintf(frame, sizeof frame, RENAMED "%.*s",
                                       (int)attrs[i].as.strings[0].length,
                                       attrs[i].as.strings[0].data);
        attrs[i].as.strings = &text;
    }
    ck_assert_msg(eddy__graph_add(to, &spec, &options, &added, &err) == EDDY_OK,
                  "%s: %s", n->name, err.message);
    free(inputs);
    free(attrs);
}

static void copy_edges(eddy_graph *to, const eddy_graph *from, eddy_node v,
                       const eddy_node *place)
{
    const eddy__node *n = eddy__graph_node(from, v);

    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const eddy_output input = {place[n->inputs[i].node],
                                   n->inputs[i].index};

        ck_assert_int_eq(eddy__graph_connect(to, place[v], i, input, &err),
                         EDDY_OK);
    }
    for (uint32_t i = 0; i < n->n_controls; i++)
        ck_assert_int_eq(
            eddy__graph_add_control(to, place[v], place[n->controls[i]], &err),
            EDDY_OK);
}

/* Another graph of the same nodes; names[v] is what its node v was called. */
static eddy_graph *permute(const eddy_graph *graph, uint64_t seed,
                           const char **names)
{
    const size_t n = eddy_graph_size(graph);
    eddy_node *place = shuffle(n, seed), *old;
    eddy_graph *to = NULL;

    old = malloc((n + 1) * sizeof *old);
    ck_assert_ptr_nonnull(old);
    ck_assert_int_eq(eddy_graph_create(ctx, &to, &err), EDDY_OK);
    for (eddy_node v = 0; v < n; v++)
        old[place[v]] = v;
    for (size_t i = 0; i < n; i++) {
        names[i] = eddy_graph_node_name(graph, old[i]);
        copy_node(to, graph, old[i]);
    }
    for (eddy_node v = 0; v < n; v++)
        copy_edges(to, graph, v, place);
    free(place);
    free(old);
    return to;
}

/* Functions would have to be copied too. */
START_TEST(renamed_and_shuffled_they_are_the_same)
{
    lines table = {NULL, 0, 0};
    size_t n = 0, n_checked = 0;

    read_table(&table);
    for (size_t i = 0; i < table.n; i++) {
        eddy_graph *graph, *other;
        const char **names;

        if (table.items[i][0] == ' ' || n++ % SHARES != (size_t)_i)
            continue;
        graph = load(table.items[i]);
        if (!eddy_graph_function_name(graph, 0)) {
            names = list_names(graph);
            other = permute(graph, n * 977 + 5, names);
            check_graph(other, names, true, &table, i);
            eddy_graph_destroy(other);
            free(names);
            n_checked++;
        }
        eddy_graph_destroy(graph);
    }
    ck_assert_uint_gt(n_checked, 15);
    clear_lines(&table);
}
END_TEST

TCase *recovery_tests(void)
{
    TCase *tc = tcase_create("recovery");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, recorded_graphs_are_as_the_table_says, 0, SHARES);
    tcase_add_loop_test(tc, renamed_and_shuffled_they_are_the_same, 0, SHARES);
    return tc;
}

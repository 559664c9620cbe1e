/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as DOT: the text is read back with a small parser of the language. */
#include "eddy/dot.h"
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static text_graph t;
static char out[1 << 20];
static size_t n_out, n_calls, n_allowed;

static void setup(void)
{
    text_graph_init(&t);
    n_out = n_calls = 0;
    n_allowed = SIZE_MAX;
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

static bool collect(void *user, const char *text, size_t length)
{
    ck_assert_ptr_eq(user, &t);
    ck_assert_uint_gt(length, 0);
    ck_assert_uint_lt(n_out + length, sizeof out);
    memcpy(out + n_out, text, length);
    n_out += length;
    out[n_out] = '\0';
    return ++n_calls <= n_allowed;
}

/* ---- a parser of what eddy writes ---- */

typedef struct reader {
    const char *at;
    char word[512]; /* an ID, quoted or not, or one of {}[];,= or -> */
    bool is_quoted;
} reader;

static void next_word(reader *r)
{
    size_t n = 0;

    while (isspace((unsigned char)*r->at))
        r->at++;
    r->is_quoted = *r->at == '"';
    if (r->is_quoted) {
        for (r->at++; *r->at != '"'; r->at++) {
            ck_assert_msg(*r->at != '\0' && *r->at != '\n', "open quote");
            if (*r->at == '\\')
                r->word[n++] = *r->at++;
            r->word[n++] = *r->at;
            ck_assert_uint_lt(n + 2, sizeof r->word);
        }
        r->at++;
    } else if (strncmp(r->at, "->", 2) == 0) {
        n = 2;
        memcpy(r->word, "->", 2);
        r->at += 2;
    } else if (isalnum((unsigned char)*r->at)) {
        while (isalnum((unsigned char)*r->at) || *r->at == '_')
            r->word[n++] = *r->at++;
    } else if (*r->at) {
        r->word[n++] = *r->at++;
    }
    r->word[n] = '\0';
}

static bool is_word(const reader *r, const char *word)
{
    return !r->is_quoted && strcmp(r->word, word) == 0;
}

static void take(reader *r, const char *word)
{
    ck_assert_msg(is_word(r, word), "'%s' where '%s' is wanted", r->word, word);
    next_word(r);
}

static void take_id(reader *r)
{
    ck_assert_msg(r->is_quoted || isalnum((unsigned char)r->word[0]),
                  "'%s' where an ID is wanted", r->word);
    next_word(r);
}

static void take_attrs(reader *r)
{
    if (!is_word(r, "["))
        return;
    do {
        next_word(r);
        take_id(r);
        take(r, "=");
        take_id(r);
    } while (is_word(r, ","));
    take(r, "]");
}

/* What was counted in a whole text. */
typedef struct counts {
    int clusters, deepest, nodes, edges;
} counts;

static void read_statement(reader *r, counts *c)
{
    const bool is_default = is_word(r, "node");

    take_id(r);
    if (is_word(r, "=")) {
        next_word(r);
        take_id(r);
    } else if (is_word(r, "->")) {
        next_word(r);
        take_id(r);
        take_attrs(r);
        c->edges++;
    } else {
        take_attrs(r);
        c->nodes += !is_default;
    }
    take(r, ";");
}

static counts read_out(void)
{
    reader r = {.at = out};
    counts c = {0};
    int depth = 1;

    next_word(&r);
    take(&r, "digraph");
    take_id(&r);
    take(&r, "{");
    while (depth > 0)
        if (is_word(&r, "subgraph")) {
            next_word(&r);
            ck_assert_int_eq(strncmp(r.word, "cluster_", 8), 0);
            take_id(&r);
            take(&r, "{");
            c.clusters++;
            c.deepest = depth > c.deepest ? depth : c.deepest;
            depth++;
        } else if (is_word(&r, "}")) {
            next_word(&r);
            depth--;
        } else {
            read_statement(&r, &c);
        }
    ck_assert_str_eq(r.word, "");
    return c;
}

static counts draw(const char *text)
{
    text_graph_accept(&t, text);
    n_out = 0;
    ck_assert_int_eq(eddy_dot_write(t.graph, t.analysis, collect, &t, &t.err),
                     EDDY_OK);
    return read_out();
}

static void want_text(const char *text)
{
    ck_assert_msg(strstr(out, text) != NULL, "no '%s' in:\n%s", text, out);
}

#define LOOP                                                                   \
    "x Source\n"                                                               \
    "e Enter@f x\n"                                                            \
    "m Merge e n\n"                                                            \
    "k Enter@f! x\n"                                                           \
    "c Less m k\n"                                                             \
    "l LoopCond c\n"                                                           \
    "s Switch m l\n"                                                           \
    "a Add s:1 k ^m\n"                                                         \
    "n NextIteration a\n"                                                      \
    "o Exit s\n"

START_TEST(a_loop_is_a_cluster)
{
    const counts c = draw(LOOP);

    ck_assert_int_eq(c.clusters, 1);
    ck_assert_int_eq(c.nodes, 10);
    ck_assert_int_eq(c.edges, 14);
    want_text("digraph eddy {\nnode [shape=box];\n"
              "n0 [label=\"x\\nSource\"];\n"
              "subgraph cluster_1 {\n"
              "label=\"f\\nparallel iterations: 10\";\n"
              "n1 [label=\"e\\nEnter\\nvariable 0\", style=rounded];\n");
    want_text("n3 [label=\"k\\nEnter\\ninvariant\", style=rounded];\n");
    want_text("n5 [label=\"l\\nLoopCond\\npredicate\", style=rounded];\n");
    want_text("n7 [label=\"a\\nAdd\"];\n");
    want_text("n9 [label=\"o\\nExit\\nvariable 0\", style=rounded];\n}\n");
    want_text("n8 -> n2 [style=dashed, constraint=false];\n");
    want_text("n6 -> n7 [taillabel=\"1\"];\n");
    want_text("n6 -> n9 [taillabel=\"0\"];\n");
    want_text("n2 -> n4;\n");
    want_text("n2 -> n7 [style=dotted];\n");
}
END_TEST

START_TEST(frames_are_nested_clusters)
{
    counts c = draw("x Source\na Enter@a x\nb Enter@b a\nc Enter@c b\n"
                    "d Enter@d a\ne Enter@e x\ny Neg x\nz Neg c\nw Neg e");
    const char *in_b, *in_d, *in_e;

    ck_assert_int_eq(c.clusters, 5);
    ck_assert_int_eq(c.deepest, 3);
    in_b = strstr(out, "n7 [label=\"z");
    in_d = strstr(out, "cluster_4 {\nlabel=\"d");
    in_e = strstr(out, "cluster_5 {\nlabel=\"e");
    ck_assert(in_b && in_d && in_e && in_b < in_d && in_d < in_e);
    ck_assert_ptr_nonnull(strstr(in_e, "n8 [label=\"w"));
}
END_TEST

#define COND                                                                   \
    "p Pred\nq Pred\nx Source\n"                                               \
    "s Switch x p\n"                                                           \
    "t Neg s:1\n"                                                              \
    "i Switch s q\n"                                                           \
    "f Neg i\n"

START_TEST(branches_are_colours_with_a_legend)
{
    const counts c = draw(COND "b Add t f\n");

    ck_assert_int_eq(c.clusters, 1);
    ck_assert_int_eq(c.nodes, 8 + 4);
    ck_assert_int_eq(c.edges, 8);
    want_text("subgraph cluster_legend {\nlabel=\"branches\";\n"
              "b1 [label=\"branch 1\\nside 0 of p\", style=\"filled\", "
              "fillcolor=\"0.382 0.12 1.0\"];\n"
              "b2 [label=\"branch 2\\nside 1 of p\", style=\"filled\", "
              "fillcolor=\"0.382 0.45 1.0\"];\n"
              "b3 [label=\"branch 3\\nside 0 of q\\nin branch 1\", "
              "style=\"filled\", fillcolor=\"0.764 0.12 1.0\"];\n");
    want_text("[label=\"s\\nSwitch\", style=rounded];\n");
    want_text("[label=\"t\\nNeg\\nbranch 2\", style=\"filled\", "
              "fillcolor=\"0.382 0.45 1.0\"];\n");
    want_text("[label=\"i\\nSwitch\\nbranch 1\", style=\"filled,rounded\", "
              "fillcolor=\"0.382 0.12 1.0\"];\n");
    want_text("[label=\"b\\nAdd\\nbranch 2 in part\"");
}
END_TEST

START_TEST(without_an_analysis_there_are_no_colours)
{
    counts c;

    text_graph_build(&t, COND);
    ck_assert_int_eq(eddy_dot_write(t.graph, NULL, collect, &t, &t.err),
                     EDDY_OK);
    c = read_out();
    ck_assert_int_eq(c.clusters, 0);
    ck_assert_int_eq(c.nodes, 7);
    ck_assert_ptr_null(strstr(out, "fillcolor"));
}
END_TEST

START_TEST(names_are_escaped)
{
    draw("x Source\n"
         "e Enter@\"];}\\\x01&amp;<b>\xc3\xa9\xff x\n");
    want_text("label=\"\\\"];}\\\\\\\\x01&amp;amp;<b>\xc3\xa9\\\\xff\\n"
              "parallel iterations: 10\";\n");
}
END_TEST

START_TEST(without_an_analysis_there_are_no_clusters)
{
    counts c;

    text_graph_build(&t, "x Source\no Exit x\ne Enter@f x\nb Add e x");
    ck_assert_int_eq(eddy_dot_write(t.graph, NULL, collect, &t, &t.err),
                     EDDY_OK);
    c = read_out();
    ck_assert_int_eq(c.clusters, 0);
    ck_assert_int_eq(c.nodes, 4);
    ck_assert_int_eq(c.edges, 4);
}
END_TEST

START_TEST(nodes_added_since_the_analysis_are_in_the_root)
{
    eddy_output first = {0, 0};

    text_graph_accept(&t, "x Source\ne Enter@f x");
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Neg", "new", &first, 1, &first, &t.err),
        EDDY_OK);
    ck_assert_int_eq(eddy_dot_write(t.graph, t.analysis, collect, &t, &t.err),
                     EDDY_OK);
    ck_assert_int_eq(read_out().nodes, 3);
    want_text("n2 [label=\"new\\nNeg\"];\nsubgraph");
}
END_TEST

static void build_long(int n)
{
    char *text = malloc((size_t)n * 32 + 64), *end = text;

    ck_assert_ptr_nonnull(text);
    end += sprintf(end, "n0 Source\n");
    for (int i = 1; i < n; i++)
        end += sprintf(end, "n%d Neg n%d\n", i, i - 1);
    text_graph_accept(&t, text);
    free(text);
}

START_TEST(long_texts_come_in_pieces)
{
    build_long(2000);
    ck_assert_int_eq(eddy_dot_write(t.graph, t.analysis, collect, &t, &t.err),
                     EDDY_OK);
    ck_assert_uint_gt(n_calls, 10);
    ck_assert_int_eq(read_out().nodes, 2000);
    ck_assert_int_eq(read_out().edges, 1999);
}
END_TEST

START_TEST(the_callback_can_stop_the_writing)
{
    build_long(2000);
    n_allowed = 2;
    ck_assert_int_eq(eddy_dot_write(t.graph, t.analysis, collect, &t, &t.err),
                     EDDY_CANCELLED);
    ck_assert_int_eq(t.err.detail, EDDY_E_CANCELLED);
    ck_assert_uint_eq(n_calls, 3);
}
END_TEST

START_TEST(a_thousand_frames_are_drawn)
{
    char *text = malloc(64 * 1024), *end = text;
    counts c;

    ck_assert_ptr_nonnull(text);
    end += sprintf(end, "n0 Source\n");
    for (int i = 1; i <= 1000; i++)
        end += sprintf(end, "n%d Enter@f%d n%d\n", i, i, i - 1);
    c = draw(text);
    free(text);
    ck_assert_int_eq(c.clusters, 1000);
    ck_assert_int_eq(c.deepest, 1000);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status;
    long long n = 0;

    text_graph_accept(&t, LOOP);
    do {
        counting_allocator_allow(&t.counting, n++);
        n_out = 0;
        status = eddy_dot_write(t.graph, t.analysis, collect, &t, &t.err);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
    } while (status != EDDY_OK);
    counting_allocator_allow(&t.counting, -1);
    ck_assert_int_gt(n, 1);
    ck_assert_int_eq(read_out().nodes, 10);
}
END_TEST

TCase *dot_tests(void)
{
    TCase *tc = tcase_create("dot");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_loop_is_a_cluster);
    tcase_add_test(tc, frames_are_nested_clusters);
    tcase_add_test(tc, branches_are_colours_with_a_legend);
    tcase_add_test(tc, without_an_analysis_there_are_no_colours);
    tcase_add_test(tc, names_are_escaped);
    tcase_add_test(tc, without_an_analysis_there_are_no_clusters);
    tcase_add_test(tc, nodes_added_since_the_analysis_are_in_the_root);
    tcase_add_test(tc, long_texts_come_in_pieces);
    tcase_add_test(tc, the_callback_can_stop_the_writing);
    tcase_add_test(tc, a_thousand_frames_are_drawn);
    tcase_add_test(tc, every_allocation_may_fail);
    return tc;
}

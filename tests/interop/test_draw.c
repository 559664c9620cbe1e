/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of recorded runs: what is in them, and where nodes are drawn. */
#include "interop/draw/layout.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static program p;
static eddy_trace *trace;
static eddy__drawing d;

static void setup(void)
{
    program_init(&p, 0);
    trace = NULL;
    memset(&d, 0, sizeof d);
}

static void teardown(void)
{
    eddy__drawing_deinit(&d);
    eddy_run_destroy(p.run);
    p.run = NULL;
    eddy_trace_destroy(trace);
    program_deinit(&p);
}

static void draw(const char *text, const char *fetches)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};

    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_build(&p, text);
    program_plan(&p, NULL, fetches);
    program_want_ok(&p, eddy_trace_create(p.plan, &how, &trace, &p.err));
    p.run_options.recorder = trace;
    d.nodes = eddy_trace_node_at(trace, 0);
    d.frames = eddy_trace_static_frame_at(trace, 0);
    d.n_nodes = (uint32_t)eddy_trace_nodes(trace);
    d.n_frames = (uint32_t)eddy_trace_static_frames(trace);
    d.most_open = EDDY__DRAW_MOST_OPEN;
    program_want_ok(&p, eddy__drawing_init(&d, &p.err));
}

#define LOOP                                                                   \
    "zero int32=0\n"                                                           \
    "i0 Enter@while zero\n"                                                    \
    "ten int32=10\n"                                                           \
    "limit Enter@while! ten\n"                                                 \
    "i Merge i0 i_next\n"                                                      \
    "less Less i limit\n"                                                      \
    "go LoopCond less\n"                                                       \
    "s Switch i go\n"                                                          \
    "out Exit s:0\n"                                                           \
    "body Identity s:1\n"                                                      \
    "one int32=1 ^body\n"                                                      \
    "plus AddV2 body one\n"                                                    \
    "i_next NextIteration plus\n"

static double y_of(const char *name)
{
    return d.y[eddy_trace_find_node(trace, name)];
}

START_TEST(a_loop_flows_downwards)
{
    static const char *const down[] = {"i0", "i",    "less", "go",
                                       "s",  "body", "plus", "i_next"};

    draw(LOOP, "out");
    for (size_t i = 1; i < sizeof down / sizeof down[0]; i++)
        ck_assert_double_lt(y_of(down[i - 1]), y_of(down[i]));
    ck_assert_double_eq(y_of("out"), y_of("i_next"));
    ck_assert(!d.boxes[1].is_closed);
    ck_assert_uint_eq(d.boxes[1].n_nodes, 11);
    /* What reads nothing stands right above its reader. */
    ck_assert_double_lt(y_of("one"), y_of("plus"));
    ck_assert_double_gt(y_of("one"), y_of("body"));
    ck_assert_double_gt(y_of("limit"), y_of("i0"));
}
END_TEST

/* No two nodes of a frame are in one place, and all are in their box. */
static void want_apart(void)
{
    for (uint32_t i = 0; i < d.n_nodes; i++) {
        const eddy__drawn_frame *box = &d.boxes[d.home[i]];

        ck_assert_double_gt(d.x[i], EDDY__DRAW_NODE_WIDTH / 2.0);
        ck_assert_double_lt(d.x[i], box->width - EDDY__DRAW_NODE_WIDTH / 2.0);
        ck_assert_double_gt(d.y[i], 0);
        ck_assert_double_lt(d.y[i], box->height);
        for (uint32_t k = 0; k < i; k++)
            if (d.home[i] == d.home[k] && d.y[i] == d.y[k])
                ck_assert_double_ge(d.x[i] > d.x[k] ? d.x[i] - d.x[k]
                                                    : d.x[k] - d.x[i],
                                    EDDY__DRAW_NODE_WIDTH);
    }
}

START_TEST(nodes_do_not_cover_each_other)
{
    draw(LOOP "c bool=true\n"
              "b Switch out c\n"
              "t Identity b:1\n"
              "f Identity b:0\n"
              "m Merge f t\n",
         "m");
    want_apart();
    /* The false side is on the left. */
    ck_assert_double_lt(d.x[eddy_trace_find_node(trace, "f")],
                        d.x[eddy_trace_find_node(trace, "t")]);
}
END_TEST

START_TEST(a_frame_of_many_nodes_is_closed)
{
    char text[8192] = LOOP;
    char last[16] = "";
    size_t n = strlen(text);

    for (int i = 0; i < 70; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "k%d Identity %s\n", i,
                              i == 0 ? "s:1" : last);
        (void)snprintf(last, sizeof last, "k%d", i);
    }
    (void)snprintf(text + n, sizeof text - n,
                   "w Enter@while zero\nwm Merge w wn\nws Switch wm go\n"
                   "wa AddN ws:1 k69 N=2\nwn NextIteration wa\n"
                   "wo Exit ws:0\n");
    draw(text, "out wo");
    ck_assert(d.boxes[1].is_closed);
    ck_assert_double_lt(eddy__drawn_height(&d.boxes[1]), d.boxes[1].height);
    want_apart();
}
END_TEST

/* ---- pages ---- */

typedef struct text {
    char *bytes;
    size_t n, room;
} text;

static bool append(void *user, const char *piece, size_t length)
{
    text *t = user;

    if (t->n + length + 1 > t->room) {
        t->room = 2 * (t->n + length + 1);
        t->bytes = realloc(t->bytes, t->room);
        ck_assert_ptr_nonnull(t->bytes);
    }
    memcpy(t->bytes + t->n, piece, length);
    t->n += length;
    t->bytes[t->n] = '\0';
    return true;
}

START_TEST(a_page_needs_nothing_from_outside)
{
    text t = {NULL, 0, 0};

    draw(LOOP, "out");
    program_run(&p);
    program_want_ok(
        &p, eddy_trace_write(trace, EDDY_TRACE_PAGE, append, &t, &p.err));
    ck_assert_ptr_nonnull(strstr(t.bytes, "default-src 'none'"));
    ck_assert_ptr_null(strstr(t.bytes, "http://"));
    ck_assert_ptr_null(strstr(t.bytes, "https://"));
    ck_assert_ptr_null(strstr(t.bytes, " src="));
    ck_assert_ptr_nonnull(strstr(t.bytes, "[\"plus\",\"AddV2\","));
    ck_assert_ptr_nonnull(strstr(t.bytes, "</html>"));
    free(t.bytes);
}
END_TEST

/* ---- the ways of edges ---- */

typedef struct rectangle {
    double left, top, right, bottom;
} rectangle;

/* `n` numbers after a letter; sscanf would look for the end of the text. */
static const char *read_numbers(const char *at, double *out, size_t n)
{
    char *end;

    for (at++; n > 0; n--, at = end) {
        *out++ = strtod(at, &end);
        ck_assert_ptr_ne(end, at);
    }
    return at;
}

/* The nodes of a picture, in its order. */
static size_t read_nodes(const char *svg, rectangle *nodes, size_t room)
{
    size_t n = 0;

    while ((svg = strstr(svg, "<g class=\"node\">")) != NULL) {
        rectangle *node = &nodes[n];
        double size[2];

        ck_assert_uint_lt(n, room);
        svg = strstr(svg, "<rect x=");
        ck_assert_ptr_nonnull(svg);
        svg = read_numbers(svg + strlen("<rect x="), &node->left, 1);
        svg = read_numbers(svg + strlen("\" y="), &node->top, 1);
        svg = read_numbers(svg + strlen("\" width="), &size[0], 1);
        svg = read_numbers(svg + strlen("\" height="), &size[1], 1);
        node->right = node->left + size[0];
        node->bottom = node->top + size[1];
        n++;
    }
    return n;
}

/* Coordinates are printed without a fraction, so a pixel is nothing. */
static bool is_inside(const rectangle *r, double x, double y)
{
    return x > r->left + 1 && x < r->right - 1 && y > r->top + 1 &&
           y < r->bottom - 1;
}

static bool touches(const rectangle *r, double x, double y)
{
    return x >= r->left - 1 && x <= r->right + 1 && y >= r->top - 1 &&
           y <= r->bottom + 1;
}

/* A way begins and ends at nodes, and none is on it. */
typedef struct way {
    const rectangle *nodes;
    size_t n_nodes;
    double x, y;
} way;

static void want_end(const way *w)
{
    for (size_t i = 0; i < w->n_nodes; i++)
        if (touches(&w->nodes[i], w->x, w->y))
            return;
    ck_abort_msg("an edge has an end at %g,%g, where nothing is", w->x, w->y);
}

/* The cubic from where the way is, in small steps. */
static void follow(way *w, const double to[6])
{
    for (int k = 1; k <= 24; k++) {
        const double t = k / 24.0, s = 1 - t;
        const double x = s * s * s * w->x + 3 * s * s * t * to[0] +
                         3 * s * t * t * to[2] + t * t * t * to[4];
        const double y = s * s * s * w->y + 3 * s * s * t * to[1] +
                         3 * s * t * t * to[3] + t * t * t * to[5];

        for (size_t i = 0; i < w->n_nodes; i++)
            if (is_inside(&w->nodes[i], x, y))
                ck_abort_msg("an edge crosses the node at %g,%g",
                             w->nodes[i].left, w->nodes[i].top);
    }
    w->x = to[4];
    w->y = to[5];
}

/* One path: M, and then V and C. */
static void want_way(const char *path, way *w)
{
    double to[6];

    ck_assert_int_eq(*path, 'M');
    path = read_numbers(path, to, 2);
    w->x = to[0];
    w->y = to[1];
    want_end(w);
    while (*path != '"') {
        const bool is_upright = *path == 'V';

        path = read_numbers(path, to, is_upright ? 1 : 6);
        if (is_upright) {
            const double y = to[0];

            to[0] = to[2] = to[4] = w->x;
            to[1] = w->y;
            to[3] = to[5] = y;
        }
        follow(w, to);
    }
    want_end(w);
}

static size_t want_ways(const char *svg)
{
    static rectangle nodes[5000];
    way w = {.nodes = nodes, .n_nodes = read_nodes(svg, nodes, 5000)};
    size_t n = 0;

    ck_assert_uint_gt(w.n_nodes, 0);
    while ((svg = strstr(svg, " d=\"M")) != NULL) {
        svg += 4;
        want_way(svg, &w);
        n++;
    }
    return n;
}

static const char *const drawn[] = {"gradients/nested3", "gradients/leapfrog",
                                    "gradients/cond_in_while",
                                    "gradients/o3_power"};

/* _i is one of the recorded graphs. */
START_TEST(no_edge_crosses_a_node)
{
    text svg = {NULL, 0, 0};
    eddy_graph *graph;
    eddy_analysis *analysis;
    char path[128];
    size_t n_edges = 0;

    (void)snprintf(path, sizeof path, "tests/conformance/tf/%s/graph.pb",
                   drawn[_i]);
    program_want_ok(&p, eddy_graphdef_load(p.ctx, path, NULL, &graph, &p.err));
    program_want_ok(&p, eddy_analysis_create(graph, &analysis, &p.err));
    program_want_ok(&p, eddy_drawing_write(graph, analysis, EDDY_DRAWING_SVG,
                                           append, &svg, &p.err));
    n_edges = want_ways(svg.bytes);
    ck_assert_uint_gt(n_edges, 20);
    free(svg.bytes);
    eddy_analysis_destroy(analysis);
    eddy_graph_destroy(graph);
}
END_TEST

TCase *draw_tests(void)
{
    TCase *tc = tcase_create("draw");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_loop_flows_downwards);
    tcase_add_test(tc, nodes_do_not_cover_each_other);
    tcase_add_test(tc, a_frame_of_many_nodes_is_closed);
    tcase_add_test(tc, a_page_needs_nothing_from_outside);
    tcase_add_loop_test(tc, no_edge_crosses_a_node, 0,
                        sizeof drawn / sizeof drawn[0]);
    return tc;
}

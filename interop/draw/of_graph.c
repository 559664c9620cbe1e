/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawings of graphs that nobody has run: as SVG, and as the page of recorded
 * runs without records.
 */
#include "eddy/drawing.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/graph.h"
#include "frames/analysis/analysis.h"
#include "interop/draw/route.h"
#include "interop/trace/out.h"

#include <string.h>

static eddy_trace_kind kind_of(const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_SWITCH:
        return EDDY_TRACE_SWITCH;
    case EDDY__ROLE_MERGE:
        return EDDY_TRACE_MERGE;
    case EDDY__ROLE_ENTER:
        return EDDY_TRACE_ENTER;
    case EDDY__ROLE_EXIT:
        return EDDY_TRACE_EXIT;
    case EDDY__ROLE_NEXT_ITERATION:
        return EDDY_TRACE_NEXT_ITERATION;
    case EDDY__ROLE_LOOP_COND:
        return EDDY_TRACE_LOOP_COND;
    case EDDY__ROLE_CONTROL_TRIGGER:
        return EDDY_TRACE_CONTROL_TRIGGER;
    case EDDY__ROLE_CONST:
        return EDDY_TRACE_CONST;
    default:
        return EDDY_TRACE_OP;
    }
}

static bool add_inputs(eddy__arena *arena, const eddy__node *from,
                       eddy_trace_node *to)
{
    const size_t n = (size_t)from->n_inputs + from->n_controls;
    eddy_trace_input *inputs = eddy__arena_allocate(arena, n, sizeof *inputs);

    to->inputs = inputs;
    to->n_inputs = from->n_inputs;
    to->n_controls = from->n_controls;
    if (!inputs)
        return false;
    for (uint32_t k = 0; k < from->n_inputs; k++)
        inputs[k] = (eddy_trace_input){.node = from->inputs[k].node,
                                       .output = from->inputs[k].index};
    for (uint32_t k = 0; k < from->n_controls; k++)
        inputs[from->n_inputs + k] = (eddy_trace_input){
            .node = from->controls[k], .output = EDDY_TRACE_NONE};
    return true;
}

static bool describe(eddy__arena *arena, const eddy_graph *graph,
                     const eddy_analysis *analysis, eddy__drawing *d)
{
    eddy_trace_node *nodes =
        eddy__arena_allocate_zeroed(arena, graph->n_nodes, sizeof *nodes);
    eddy_trace_static_frame *frames =
        eddy__arena_allocate_zeroed(arena, analysis->n_frames, sizeof *frames);

    d->nodes = nodes;
    d->frames = frames;
    d->n_nodes = (uint32_t)graph->n_nodes;
    d->n_frames = (uint32_t)analysis->n_frames;
    if (!nodes || !frames)
        return false;
    for (uint32_t f = 0; f < d->n_frames; f++)
        frames[f] = (eddy_trace_static_frame){
            .name = analysis->frames[f].name,
            .parent = analysis->frames[f].parent,
            .parallel_iterations =
                (uint32_t)analysis->frames[f].parallel_iterations};
    for (uint32_t i = 0; i < d->n_nodes; i++) {
        const eddy__node *node = eddy__graph_node(graph, i);

        nodes[i] = (eddy_trace_node){.name = node->name,
                                     .op = node->op_name,
                                     .kind = kind_of(node),
                                     .frame = analysis->node_frame[i],
                                     .output_frame = analysis->output_frame[i],
                                     .n_outputs = node->n_outputs};
        if (!add_inputs(arena, node, &nodes[i]))
            return false;
    }
    return true;
}

/* ---- SVG ---- */

typedef struct canvas {
    eddy__out *out;
    const eddy__drawing *d;
    eddy__routes *routes;
} canvas;

static void write_xml(eddy__out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '&' || c == '<' || c == '>' || c == '"' || c < 0x20)
            eddy__out_print(out, "&#%u;", c < 0x20 ? (unsigned)'?' : c);
        else
            eddy__out_bytes(out, text, 1);
    }
}

/* The end of a name, which says most. */
static const char *short_name(const char *name, size_t most)
{
    const char *slash = strrchr(name, '/');
    size_t n;

    if (slash && slash[1] != '\0')
        name = slash + 1;
    n = strlen(name);
    return n > most ? name + (n - most) : name;
}

static void draw_frame(const canvas *c, uint32_t f)
{
    const eddy__drawn_frame *box = &c->d->boxes[f];

    eddy__out_print(c->out,
                    "<rect class=\"frame\" x=\"%.0f\" y=\"%.0f\" "
                    "width=\"%.0f\" height=\"%.0f\" rx=\"7\"/>\n",
                    c->routes->left[f], c->routes->top[f], box->width,
                    box->height);
    if (f == 0)
        return;
    eddy__out_print(c->out, "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">",
                    c->routes->left[f] + 8, c->routes->top[f] + 16);
    write_xml(c->out, c->d->frames[f].name);
    eddy__out_print(c->out, " (parallel %u)</text>\n",
                    c->d->frames[f].parallel_iterations);
}

static const char *class_of(const canvas *c, const eddy_trace_input *edge)
{
    if (c->d->nodes[edge->node].kind == EDDY_TRACE_NEXT_ITERATION)
        return "back";
    return edge->output == EDDY_TRACE_NONE ? "control" : "edge";
}

/* Upright where it has to be, and else in a curve that stays between layers. */
static void draw_edge(const canvas *c, uint32_t to, uint32_t k)
{
    const eddy__drawn_point *at = c->routes->points;

    eddy__routes_find(c->routes, to, k);
    eddy__out_print(c->out, "<path class=\"%s\" d=\"M%.0f %.0f",
                    class_of(c, &c->d->nodes[to].inputs[k]), at->x, at->y);
    for (size_t i = 1; i < c->routes->n_points; i++) {
        const double x = at[i - 1].x, middle = (at[i - 1].y + at[i].y) / 2;

        if (at[i].x > x - 0.5 && at[i].x < x + 0.5)
            eddy__out_print(c->out, "V%.0f", at[i].y);
        else
            eddy__out_print(c->out, "C%.0f %.0f %.0f %.0f %.0f %.0f", x, middle,
                            at[i].x, middle, at[i].x, at[i].y);
    }
    eddy__out_text(c->out, "\"/>\n");
}

static void draw_node(const canvas *c, uint32_t id)
{
    const uint32_t f = c->d->home[id];
    const double x = c->routes->left[f] + c->d->x[id],
                 y = c->routes->top[f] + c->d->y[id];

    eddy__out_text(c->out, "<g class=\"node\"><title>");
    write_xml(c->out, c->d->nodes[id].name);
    eddy__out_text(c->out, " ");
    write_xml(c->out, c->d->nodes[id].op);
    eddy__out_print(c->out,
                    "</title><rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" "
                    "height=\"%d\" rx=\"4\"/><text x=\"%.0f\" y=\"%.0f\">",
                    x - EDDY__DRAW_NODE_WIDTH / 2.0,
                    y - EDDY__DRAW_NODE_HEIGHT / 2.0, EDDY__DRAW_NODE_WIDTH,
                    EDDY__DRAW_NODE_HEIGHT, x, y + 4);
    write_xml(c->out, short_name(c->d->nodes[id].name, 17));
    eddy__out_text(c->out, "</text></g>\n");
}

static void draw_all(const canvas *c)
{
    const eddy__drawn_frame *root = c->d->boxes;

    if (!root)
        return;
    eddy__out_print(
        c->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
        "width=\"%.0f\" height=\"%.0f\">\n<style>\n",
        root->width, root->height, root->width, root->height);
    eddy__out_text(
        c->out,
        "svg { background: #fff; }\n"
        "text { font: 11px system-ui, sans-serif; fill: #222; }\n"
        ".node text { text-anchor: middle; } .title { font-weight: 600; }\n"
        ".frame { fill: #1f66b0; fill-opacity: .05; stroke: #c3c8ce; }\n"
        ".node rect { fill: #fff; stroke: #2a6cb0; }\n"
        "path { fill: none; stroke: #5b646e; opacity: .7; }\n"
        ".control { stroke-dasharray: 2 3; } .back { stroke-dasharray: 7 3; }\n"
        "</style>\n");
    for (uint32_t f = 0; f < c->d->n_frames; f++)
        draw_frame(c, f);
    for (uint32_t i = 0; i < c->d->n_nodes; i++)
        for (uint32_t k = 0;
             k < c->d->nodes[i].n_inputs + c->d->nodes[i].n_controls; k++)
            draw_edge(c, i, k);
    for (uint32_t i = 0; i < c->d->n_nodes; i++)
        draw_node(c, i);
    eddy__out_text(c->out, "</svg>\n");
}

/* ---- */

static eddy_status write_svg(const eddy__drawing *d, eddy__out *out,
                             eddy_error *err)
{
    eddy__routes routes;
    const canvas c = {.out = out, .d = d, .routes = &routes};
    const eddy_status status = eddy__routes_init(&routes, d, err);

    if (status == EDDY_OK)
        draw_all(&c);
    eddy__routes_deinit(&routes);
    return status;
}

eddy_status eddy_drawing_write(const eddy_graph *graph,
                               const eddy_analysis *analysis,
                               eddy_drawing_format format, eddy_write_cb write,
                               void *user, eddy_error *err)
{
    const bool is_page = format == EDDY_DRAWING_PAGE;
    eddy__arena arena = {.allocator = eddy__default_allocator()};
    eddy__drawing d = {.most_open =
                           is_page ? EDDY__DRAW_MOST_OPEN : UINT32_MAX};
    eddy_status status;
    eddy__out out;

    EDDY_REFUSE_IF(format != EDDY_DRAWING_SVG && !is_page, err,
                   "%d is no format of drawings", (int)format);
    EDDY_REFUSE_IF(graph->n_nodes > EDDY__DRAW_MOST_NODES, err,
                   "%zu nodes are too many to draw; at most %d are",
                   (size_t)graph->n_nodes, EDDY__DRAW_MOST_NODES);
    eddy__out_begin(&out, write, user);
    status = describe(&arena, graph, analysis, &d) ? eddy__drawing_init(&d, err)
                                                   : eddy__fail_memory(err);
    if (status == EDDY_OK && is_page)
        eddy__page_write_drawing(&out, &d);
    else if (status == EDDY_OK)
        status = write_svg(&d, &out, err);
    if (status == EDDY_OK)
        status = eddy__out_end(&out, err);
    eddy__drawing_deinit(&d);
    eddy__arena_destroy(&arena);
    return status;
}

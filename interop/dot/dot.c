/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is drawn as a cluster with its Enters and Exits in it, though an
 * Enter runs in the parent: they are the doors of the frame.  Frames come in
 * the order of their numbers, a parent directly before its children, so open
 * clusters form a stack and the last one is closed when a frame that is not in
 * it comes.  Branches cut across frames' clusters, so they are colours: a hue a
 * predicate, a strength a side, and a number that the legend explains.
 */
#include "eddy/dot.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/analysis/analysis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a node is in its loop, besides a number of a variable. */
#define PLAIN UINT32_MAX
#define INVARIANT (UINT32_MAX - 1)
#define PREDICATE (UINT32_MAX - 2)

typedef struct drawing {
    const eddy_graph *graph;
    const eddy_analysis *analysis; /* NULL: no frames */
    eddy_write_cb write;
    void *user;
    char buffer[4096];
    size_t used;
    bool is_stopped;
    /* The nodes of frame f are node[first[f]] to node[first[f + 1]]. */
    size_t *first;
    eddy_node *node;
    uint32_t *part; /* a node: the number of its variable, or see above */
    uint32_t *hue;  /* a branch: the number of what it is a side of */
} drawing;

/* ---- text ---- */

static void flush(drawing *d)
{
    if (!d->is_stopped && d->used > 0)
        d->is_stopped = !d->write(d->user, d->buffer, d->used);
    d->used = 0;
}

/* `format` gives less than the buffer holds. */
static void put(drawing *d, const char *format, ...) EDDY_PRINTF(2, 3);

static void put(drawing *d, const char *format, ...)
{
    char text[1024];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length <= 0)
        return;
    if (d->used + (size_t)length > sizeof d->buffer)
        flush(d);
    memcpy(d->buffer + d->used, text, (size_t)length);
    d->used += (size_t)length;
}

/* A name inside a quoted label, without what does not print. */
static void put_name(drawing *d, const char *name)
{
    char text[128], escaped[5 * sizeof text];
    size_t n = 0;

    eddy__copy_text(text, sizeof text, name, strlen(name));
    for (const char *c = text; *c; c++) {
        if (*c == '&') {
            memcpy(escaped + n, "&amp;", 5);
            n += 5;
            continue;
        }
        if (*c == '"' || *c == '\\')
            escaped[n++] = '\\';
        escaped[n++] = *c;
    }
    escaped[n] = '\0';
    put(d, "%s", escaped);
}

/* ---- what is drawn where ---- */

static uint32_t frame_of(const drawing *d, eddy_node node)
{
    const eddy_analysis *a = d->analysis;
    const uint32_t *frames;

    if (!a || node >= a->n_nodes || a->node_frame[node] == EDDY__NOT_FOUND)
        return 0;
    frames =
        eddy__node_role(eddy__graph_node(d->graph, node)) == EDDY__ROLE_ENTER
            ? a->output_frame
            : a->node_frame;
    return frames[node];
}

static void sort_nodes(drawing *d, size_t n_frames)
{
    memset(d->first, 0, (n_frames + 2) * sizeof *d->first);
    for (eddy_node v = 0; v < d->graph->n_nodes; v++)
        d->first[frame_of(d, v) + 2]++;
    for (size_t f = 1; f <= n_frames; f++)
        d->first[f + 1] += d->first[f];
    for (eddy_node v = 0; v < d->graph->n_nodes; v++)
        d->node[d->first[frame_of(d, v) + 1]++] = v;
}

static void name_part(drawing *d, eddy_node node, uint32_t part)
{
    if (node != EDDY_NO_NODE && d->part[node] == PLAIN)
        d->part[node] = part;
}

static void name_parts(drawing *d, const eddy_frame *frame)
{
    for (size_t i = 0; i < frame->n_variables; i++) {
        const eddy_loop_variable *v = &frame->variables[i];

        name_part(d, v->enter, (uint32_t)i);
        name_part(d, v->merge, (uint32_t)i);
        name_part(d, v->switch_, (uint32_t)i);
        name_part(d, v->next_iteration, (uint32_t)i);
        name_part(d, v->exit, (uint32_t)i);
    }
    for (size_t i = 0; i < frame->n_invariants; i++)
        name_part(d, frame->invariants[i], INVARIANT);
    name_part(d, frame->loop_cond, PREDICATE);
}

/* The sides of one predicate share a hue. */
static void number_hues(drawing *d)
{
    uint32_t hue = 0;

    for (size_t i = 1; d->analysis && i < d->analysis->branches.n; i++) {
        hue += d->analysis->branches.branches[i].side == 0;
        d->hue[i] = hue;
    }
}

/* ---- drawing ---- */

static bool is_primitive(const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_CONTROL_TRIGGER:
        return true;
    default:
        return false;
    }
}

/* Hues follow each other at the golden angle, so that near ones differ. */
static void draw_style(drawing *d, uint32_t branch, bool is_rounded)
{
    const eddy_branch_info *b =
        branch ? &d->analysis->branches.branches[branch] : NULL;
    double turn, strength;

    if (!b) {
        put(d, "%s", is_rounded ? ", style=rounded" : "");
        return;
    }
    turn = d->hue[branch] * 0.381966;
    strength = b->n_sides > 1 ? (double)b->side / (b->n_sides - 1) : 1;
    put(d, ", style=\"filled%s\", fillcolor=\"%.3f %.2f 1.0\"",
        is_rounded ? ",rounded" : "", turn - (double)(uint32_t)turn,
        0.12 + 0.33 * strength);
}

static void put_output(drawing *d, eddy_output output)
{
    put_name(d, eddy__graph_node(d->graph, output.node)->name);
    if (output.index > 0)
        put(d, ":%" PRIu32, output.index);
}

static void draw_legend(drawing *d)
{
    const eddy__branches *b = &d->analysis->branches;

    if (b->n <= 1)
        return;
    put(d, "subgraph cluster_legend {\nlabel=\"branches\";\n");
    for (uint32_t i = 1; i < b->n && !d->is_stopped; i++) {
        const eddy_branch_info *branch = &b->branches[i];

        put(d,
            "b%" PRIu32 " [label=\"branch %" PRIu32 "\\nside %" PRIu32 " of ",
            i, i, branch->side);
        put_output(d, branch->predicate);
        if (branch->outer != 0)
            put(d, "\\nin branch %" PRIu32, branch->outer);
        put(d, "\"");
        draw_style(d, i, false);
        put(d, "];\n");
    }
    put(d, "}\n");
}

static void draw_node(drawing *d, eddy_node id)
{
    const eddy__node *node = eddy__graph_node(d->graph, id);
    const uint32_t part = d->part[id];
    const uint32_t branch =
        d->analysis ? eddy_analysis_node_branch(d->analysis, id) : 0;

    put(d, "n%" PRIu32 " [label=\"", id);
    put_name(d, node->name);
    put(d, "\\n");
    put_name(d, node->op_name);
    if (part == INVARIANT)
        put(d, "\\ninvariant");
    else if (part == PREDICATE)
        put(d, "\\npredicate");
    else if (part != PLAIN)
        put(d, "\\nvariable %" PRIu32, part);
    if (branch != 0)
        put(d, "\\nbranch %" PRIu32 "%s", branch,
            eddy_analysis_is_exact(d->analysis, id) ? "" : " in part");
    put(d, "\"");
    draw_style(d, branch, is_primitive(node));
    put(d, "];\n");
}

static void draw_frame(drawing *d, uint32_t frame)
{
    if (frame != 0) {
        const eddy_frame *f = &d->analysis->frames[frame];

        put(d, "subgraph cluster_%" PRIu32 " {\nlabel=\"", frame);
        put_name(d, f->name);
        put(d, "\\nparallel iterations: %" PRId64 "\";\n",
            f->parallel_iterations);
    }
    for (size_t i = d->first[frame]; i < d->first[frame + 1] && !d->is_stopped;
         i++)
        draw_node(d, d->node[i]);
}

static void draw_frames(drawing *d)
{
    uint32_t depth = 0;

    draw_frame(d, 0);
    for (uint32_t f = 1; d->analysis && f < d->analysis->n_frames; f++) {
        for (; depth >= d->analysis->frames[f].depth; depth--)
            put(d, "}\n");
        draw_frame(d, f);
        depth++;
    }
    for (; depth > 0; depth--)
        put(d, "}\n");
}

static void draw_edge(drawing *d, eddy_output from, eddy_node to)
{
    const eddy__node *source = eddy__graph_node(d->graph, from.node);
    const bool is_back =
        eddy__node_role(source) == EDDY__ROLE_NEXT_ITERATION &&
        eddy__node_role(eddy__graph_node(d->graph, to)) == EDDY__ROLE_MERGE;

    put(d, "n%" PRIu32 " -> n%" PRIu32, from.node, to);
    if (is_back)
        put(d, " [style=dashed, constraint=false]");
    else if (from.index > 0 || eddy__node_role(source) == EDDY__ROLE_SWITCH)
        put(d, " [taillabel=\"%" PRIu32 "\"]", from.index);
    put(d, ";\n");
}

static void draw_edges(drawing *d)
{
    for (eddy_node v = 0; v < d->graph->n_nodes && !d->is_stopped; v++) {
        const eddy__node *node = eddy__graph_node(d->graph, v);

        for (uint32_t i = 0; i < node->n_inputs && !d->is_stopped; i++)
            if (node->inputs[i].node != EDDY_NO_NODE)
                draw_edge(d, node->inputs[i], v);
        for (uint32_t i = 0; i < node->n_controls && !d->is_stopped; i++)
            put(d, "n%" PRIu32 " -> n%" PRIu32 " [style=dotted];\n",
                node->controls[i], v);
    }
}

static eddy_status draw(drawing *d, eddy__arena *arena, eddy_error *err)
{
    const size_t n = d->graph->n_nodes;
    const size_t n_frames = d->analysis ? d->analysis->n_frames : 1;

    d->first = eddy__arena_allocate(arena, n_frames + 2, sizeof *d->first);
    d->node = eddy__arena_allocate(arena, n, sizeof *d->node);
    d->part = eddy__arena_allocate(arena, n, sizeof *d->part);
    d->hue = eddy__arena_allocate_zeroed(
        arena, d->analysis ? d->analysis->branches.n : 0, sizeof *d->hue);
    if (!d->first || !d->node || !d->part || !d->hue)
        return eddy__fail_memory(err);
    sort_nodes(d, n_frames);
    memset(d->part, 0xff, n * sizeof *d->part);
    for (size_t f = 0; d->analysis && f < n_frames; f++)
        name_parts(d, &d->analysis->frames[f]);
    number_hues(d);
    put(d, "digraph eddy {\nnode [shape=box];\n");
    if (d->analysis)
        draw_legend(d);
    draw_frames(d);
    draw_edges(d);
    put(d, "}\n");
    flush(d);
    return d->is_stopped ? eddy__fail(err, EDDY_CANCELLED, EDDY_E_CANCELLED,
                                      "the callback stopped the writing")
                         : EDDY_OK;
}

eddy_status eddy_dot_write(const eddy_graph *graph,
                           const eddy_analysis *analysis, eddy_write_cb write,
                           void *user, eddy_error *err)
{
    eddy__arena arena = {.allocator = eddy__context_allocator(graph->ctx)};
    drawing d = {
        .graph = graph, .analysis = analysis, .write = write, .user = user};
    eddy_status status = draw(&d, &arena, err);

    eddy__arena_destroy(&arena);
    return status;
}

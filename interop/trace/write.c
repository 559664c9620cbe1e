/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a file of one of the formats, or one iteration of it as DOT. */
#include "interop/trace/out.h"

#include "core/base/status.h"

eddy_status eddy_trace_write(eddy_trace *trace, eddy_trace_format format,
                             eddy_write_cb write, void *user, eddy_error *err)
{
    eddy__out out;

    eddy__out_begin(&out, write, user);
    EDDY_TRY(eddy_trace_index(trace, err));
    if (format == EDDY_TRACE_JSON)
        eddy__trace_write_json(&out, trace);
    else if (format == EDDY_TRACE_PAGE)
        EDDY_TRY(eddy__trace_write_page(&out, trace, err));
    else if (format == EDDY_TRACE_PERFETTO)
        EDDY_TRY(eddy__trace_write_perfetto(&out, trace, err));
    else
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "%d is no format of traces", (int)format);
    return eddy__out_end(&out, err);
}

/* ---- DOT ---- */

/* Quotes and backslashes end no label. */
static void write_label(eddy__out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            eddy__out_text(out, "\\");
        eddy__out_bytes(out, text, 1);
    }
}

static void write_node(eddy__out *out, const eddy_trace *trace, uint32_t id,
                       size_t record)
{
    const eddy_trace_node *node = eddy_trace_node_at(trace, id);
    const eddy_trace_record *r = eddy_trace_record_at(trace, record);
    const eddy_trace_value *value = eddy_trace_value_at(trace, record, 0);
    char text[192];

    eddy__out_print(out, "  n%u [label=\"", id);
    write_label(out, node->name);
    eddy__out_text(out, "\\n");
    write_label(out, node->op);
    if (value) {
        eddy_trace_value_format(value, text, sizeof text);
        eddy__out_text(out, "\\n");
        write_label(out, text);
    }
    eddy__out_text(out, "\"");
    if (!r)
        eddy__out_text(out, ", color=gray, fontcolor=gray");
    else if (r->state == EDDY_TRACE_LIVE)
        eddy__out_text(out, ", color=\"#1f66b0\"");
    else
        eddy__out_text(out, ", color=\"#c0392b\", style=dashed");
    eddy__out_text(out, "];\n");
}

static bool is_dead(const eddy_trace *trace, size_t record,
                    const eddy_trace_input *edge)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, record);

    return r &&
           (r->state == EDDY_TRACE_DEAD ||
            (eddy_trace_node_at(trace, r->node)->kind == EDDY_TRACE_SWITCH &&
             edge->output != EDDY_TRACE_NONE && edge->output != r->output));
}

static void write_edges(eddy__out *out, const eddy_trace *trace, uint32_t id,
                        uint32_t frame, int64_t iteration)
{
    const eddy_trace_node *node = eddy_trace_node_at(trace, id);

    for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++) {
        const eddy_trace_input *edge = &node->inputs[k];
        const eddy_trace_node *from = eddy_trace_node_at(trace, edge->node);
        const bool is_back = from->kind == EDDY_TRACE_NEXT_ITERATION;

        if (from->frame != node->frame)
            continue;
        eddy__out_print(out, "  n%u -> n%u [", edge->node, id);
        if (is_back)
            eddy__out_text(out, "style=dashed, constraint=false");
        else if (edge->output == EDDY_TRACE_NONE)
            eddy__out_text(out, "style=dotted");
        if (!is_back &&
            is_dead(trace, eddy_trace_find(trace, edge->node, frame, iteration),
                    edge))
            eddy__out_print(out, "%scolor=\"#c0392b\"",
                            edge->output == EDDY_TRACE_NONE ? ", " : "");
        eddy__out_text(out, "];\n");
    }
}

static void write_iteration(eddy__out *out, const eddy_trace *trace,
                            uint32_t frame, int64_t iteration)
{
    const uint32_t within = eddy_trace_frame_at(trace, frame)->static_frame;
    char path[1024];

    eddy_trace_path(trace, frame, iteration, path, sizeof path);
    eddy__out_text(out, "digraph \"");
    write_label(out, path);
    eddy__out_text(out, "\" {\n  node [shape=box, style=rounded];\n");
    for (uint32_t id = 0; id < eddy_trace_nodes(trace); id++)
        if (eddy_trace_node_at(trace, id)->frame == within)
            write_node(out, trace, id,
                       eddy_trace_find(trace, id, frame, iteration));
    for (uint32_t id = 0; id < eddy_trace_nodes(trace); id++)
        if (eddy_trace_node_at(trace, id)->frame == within)
            write_edges(out, trace, id, frame, iteration);
    eddy__out_text(out, "}\n");
}

eddy_status eddy_trace_write_dot(eddy_trace *trace, uint32_t frame,
                                 int64_t iteration, eddy_write_cb write,
                                 void *user, eddy_error *err)
{
    eddy__out out;

    if (!eddy_trace_frame_at(trace, frame) ||
        !eddy_trace_frame_at(trace, frame)->is_known)
        return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                          "no record is of frame %u", frame);
    eddy__out_begin(&out, write, user);
    EDDY_TRY(eddy_trace_index(trace, err));
    write_iteration(&out, trace, frame, iteration);
    return eddy__out_end(&out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds all that is known before the first node is added: which nodes count,
 * their frames, branches and tapes, and the shapes of their outputs.  Requires
 * what is asked to have been checked.
 */
#include "autodiff/study.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

/* ---- checks ---- */

static bool exists(const eddy_graph *graph, eddy_output output)
{
    return output.node < graph->n_nodes &&
           output.index < eddy__graph_node(graph, output.node)->n_outputs;
}

eddy_status eddy__study_check(eddy__gradient_emitter *e, const char *what,
                              const eddy_output *list, size_t n, bool real)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_output output = list[i];

        if (!exists(e->core.graph, output))
            return eddy__emit_fail(e, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_OUTPUT_INDEX, EDDY_NO_NODE,
                                   "%s %zu is no output of the graph", what, i);
        if (real && !eddy__study_has_gradient(
                        eddy_graph_output_dtype(e->core.graph, output)))
            return eddy__emit_fail(
                e, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, output.node,
                "%s %zu is %s, which has no gradient", what, i,
                eddy_dtype_name(
                    eddy_graph_output_dtype(e->core.graph, output)));
    }
    return EDDY_OK;
}

/* Another shape might broadcast, and give a sum that nobody asked for. */
eddy_status eddy__study_check_shape(eddy__gradient_emitter *e, const char *what,
                                    eddy_output given, const char *of,
                                    eddy_output output, size_t i)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(e->core.graph, output);
    const eddy_shape shape = eddy_graph_output_shape(e->core.graph, given);
    const eddy_shape wanted = eddy_graph_output_shape(e->core.graph, output);

    /* A handle is a scalar, and so is a list; what is in it is not. */
    if (dtype == EDDY_RESOURCE || dtype == EDDY_VARIANT ||
        eddy__shape_compatible(&shape, &wanted))
        return EDDY_OK;
    return eddy__emit_fail(e, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, given.node,
                           "%s %zu has shape %s, but its %s has %s", what, i,
                           eddy__shape_print(&shape).text, of,
                           eddy__shape_print(&wanted).text);
}

/* ---- questions ---- */

bool eddy__study_has_gradient(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__FLOATS | EDDY__COMPLEXES |
                                     EDDY__DTYPE_BIT(EDDY_VARIANT));
}

size_t eddy__study_slots(const eddy__study *study)
{
    return study->shapes.first[study->n_nodes - 1] +
           eddy__graph_node(study->graph, (eddy_node)study->n_nodes - 1)
               ->n_outputs;
}

uint32_t eddy__study_branch(const eddy__study *study, eddy_output output)
{
    return eddy__branches_output(&study->branches, &study->flow,
                                 study->analysis, output);
}

bool eddy__study_is_around(const eddy__study *study, uint32_t frame,
                           uint32_t inner)
{
    while (inner != frame && inner != 0)
        inner = study->analysis->frames[inner].parent;
    return inner == frame;
}

/* The node of op `op` that made the handle `v`. */
static eddy_node find_maker(const eddy__study *study, eddy_output v,
                            const char *op)
{
    if (eddy_graph_output_dtype(study->graph, v) != EDDY_RESOURCE)
        return EDDY_NO_NODE;
    while (v.node < study->n_nodes) {
        const eddy__node *node = eddy__graph_node(study->graph, v.node);
        const uint32_t role = study->flow.role[v.node];

        if (strcmp(node->op_name, op) == 0)
            return v.node;
        if ((role != EDDY__ROLE_FORWARD || v.index != 0) &&
            role != EDDY__ROLE_ENTER &&
            !eddy__trace_is_branch_switch(&study->flow, v.node))
            break;
        v = node->inputs[0];
    }
    return EDDY_NO_NODE;
}

eddy_node eddy__study_variable(const eddy__study *study, eddy_output v)
{
    return find_maker(study, v, "VarHandleOp");
}

eddy_node eddy__study_array(const eddy__study *study, eddy_output v)
{
    return find_maker(study, v, "TensorArrayV3");
}

/* The Merge of a loop that is open: its back edge is still to come. */
bool eddy__study_is_open_merge(const eddy__study *study, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(study->graph, node);

    return eddy__trace_is_loop_merge(&study->flow, node) && n->n_inputs == 2 &&
           n->inputs[0].node == n->inputs[1].node &&
           n->inputs[0].index == n->inputs[1].index;
}

bool eddy__study_is_open_frame(const eddy__study *study, uint32_t frame)
{
    const eddy_frame *f = &study->analysis->frames[frame];

    for (size_t i = 0; i < f->n_variables; i++)
        if (f->variables[i].merge != EDDY_NO_NODE &&
            eddy__study_is_open_merge(study, f->variables[i].merge))
            return true;
    return false;
}

/* ---- the study ---- */

typedef struct selecting {
    uint8_t *keep;
    eddy_node *list; /* nodes to keep, of which `n` */
    size_t n;
} selecting;

static void select_node(selecting *s, eddy_node node)
{
    if (s->keep[node])
        return;
    s->keep[node] = 1;
    s->list[s->n++] = node;
}

/* Keeps what the ys, the xs and the starts depend on, by control edges too. */
static eddy_status select_nodes(eddy__study *study, eddy__gradient_emitter *e,
                                const eddy__asked *asked)
{
    selecting s = {.keep = eddy__emit_zeroed_room(e, study->n_nodes, 1),
                   .list =
                       eddy__emit_room(e, study->n_nodes + 1, sizeof *s.list)};

    if (!s.keep || !s.list)
        return e->core.status;
    for (size_t i = 0; i < asked->n_ys; i++)
        select_node(&s, asked->ys[i].node);
    for (size_t i = 0; i < asked->n_xs; i++)
        select_node(&s, asked->xs[i].node);
    for (size_t i = 0; asked->starts && i < asked->n_starts; i++)
        if (eddy__output_exists(asked->starts[i]))
            select_node(&s, asked->starts[i].node);
    for (size_t i = 0; i < s.n; i++) {
        const eddy__node *node = eddy__graph_node(study->graph, s.list[i]);

        if (!node->op)
            return eddy__emit_fail(e, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP,
                                   s.list[i], "op is not registered");
        for (uint32_t j = 0; j < node->n_inputs; j++)
            select_node(&s, node->inputs[j].node);
        for (uint32_t j = 0; j < node->n_controls; j++)
            select_node(&s, node->controls[j]);
        if (eddy__broadcast_received(&study->broadcasts, s.list[i]))
            select_node(&s,
                        eddy__broadcast_received(&study->broadcasts, s.list[i])
                            ->sender);
    }
    /* Exits that nothing reads tell what the variable was at the end. */
    for (eddy_node v = 0; v < study->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(study->graph, v);

        if (eddy__node_role(node) == EDDY__ROLE_EXIT &&
            s.keep[node->inputs[0].node])
            s.keep[v] = 1;
    }
    study->selection = (eddy__selection){.graph = study->graph, .keep = s.keep};
    return EDDY_OK;
}

static size_t count_open_merges(const eddy__study *study)
{
    size_t n = 0;

    for (eddy_node v = 0; v < study->n_nodes; v++)
        n += eddy__study_is_open_merge(study, v);
    return n;
}

/*
 * A popped value has the shape of the pushed one.  Inference does not follow
 * tapes, so it is told and asked again until it finds no more.  Likewise it
 * knows of an open loop's variable only what it starts with.
 */
static eddy_status infer_shapes(eddy__study *study, eddy__gradient_emitter *e)
{
    const size_t n_told = study->tapes.n + count_open_merges(study);
    eddy_shape *shapes = eddy__emit_room(e, n_told, sizeof *shapes);
    eddy_output *pops = eddy__emit_room(e, n_told, sizeof *pops);
    uint8_t *is_fed = eddy__emit_zeroed_room(e, study->n_nodes, 1);
    uint32_t *first = eddy__emit_room(e, study->n_nodes, sizeof *first);
    uint32_t *next = eddy__emit_room(e, n_told, sizeof *next);
    eddy__selection told = study->selection;
    size_t n;

    if (!shapes || !pops || !is_fed || !first || !next)
        return e->core.status;
    /* A node has one feed at most: its output 0. */
    memset(next, 0xff, n_told * sizeof *next);
    told.is_fed = is_fed;
    told.first_feed = first;
    told.next_feed = next;
    told.feeds = pops;
    for (eddy_node v = 0; n_told > study->tapes.n && v < study->n_nodes; v++)
        if (eddy__study_is_open_merge(study, v)) {
            pops[told.n_feeds] = (eddy_output){v, 0};
            shapes[told.n_feeds] =
                eddy__open_shape(study->graph, pops[told.n_feeds]);
            first[v] = (uint32_t)told.n_feeds++;
            is_fed[v] = 1;
        }
    do {
        n = told.n_feeds;
        EDDY_TRY(eddy__infer_shapes(&told, study->analysis, shapes, &e->arena,
                                    &study->shapes, e->core.err));
        for (size_t i = 0; i < study->tapes.n; i++) {
            const eddy__tape_stack *tape = &study->tapes.tapes[i];
            const eddy_shape *shape;

            if (!tape->is_tape || is_fed[tape->pop])
                continue;
            shape = eddy__shape_at(
                &study->shapes,
                eddy__graph_node(study->graph, tape->push)->inputs[1]);
            if (shape->rank < 0)
                continue;
            is_fed[tape->pop] = 1;
            first[tape->pop] = (uint32_t)told.n_feeds;
            shapes[told.n_feeds] = *shape;
            pops[told.n_feeds++] = (eddy_output){tape->pop, 0};
        }
    } while (told.n_feeds > n);
    for (size_t i = 0; i < n; i++)
        study->shapes.shapes[study->shapes.first[pops[i].node]] = shapes[i];
    return EDDY_OK;
}

/* Again where broadcasts are, whose receivers come after what they get. */
static eddy_status build_flow(eddy__study *study, eddy__gradient_emitter *e)
{
    EDDY_TRY(eddy__flow_build(&study->flow, &study->selection, &e->arena,
                              e->core.err));
    if (study->broadcasts.n == 0)
        return EDDY_OK;
    eddy__broadcasts_trace(&study->broadcasts, &study->flow, study->analysis,
                           &study->branches);
    study->selection.also_after = study->broadcasts.also_after;
    return eddy__flow_build(&study->flow, &study->selection, &e->arena,
                            e->core.err);
}

eddy_status eddy__study_build(eddy__study *study, eddy__gradient_emitter *e,
                              const eddy__asked *asked)
{
    study->graph = e->core.graph;
    study->n_nodes = e->core.graph->n_nodes;
    EDDY_TRY(eddy__broadcasts_find(&study->broadcasts, study->graph, &e->arena,
                                   e->core.err));
    EDDY_TRY(select_nodes(study, e, asked));
    EDDY_TRY(eddy__analysis_build_whole(&study->selection, &study->analysis,
                                        e->core.err));
    study->branches = study->analysis->branches;
    EDDY_TRY(build_flow(study, e));
    EDDY_TRY(
        eddy__tapes_find(&study->tapes, &study->flow, &e->arena, e->core.err));
    return infer_shapes(study, e);
}

void eddy__study_deinit(eddy__study *study)
{
    eddy_analysis_destroy(study->analysis);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replica of a loop: which nodes it copies, and the copy.  Requires the
 * study; what is copied was there before it.
 */
#include "autodiff/replica.h"

#include "core/base/status.h"
#include "core/graph/copy.h"
#include "core/graph/edit.h"

#include <stdlib.h>
#include <string.h>

static const eddy__node *node_at(const eddy__replica *c, eddy_node node)
{
    return eddy__graph_node(c->e->core.graph, node);
}

/* A name that no node has, and no frame that is named here. */
static const char *name_copy(eddy__replica *c, const char *like)
{
    return eddy__emit_take_name(c->e, "replay", like);
}

static void refuse(eddy__replica *c, eddy_node node, const char *why)
{
    if (c->why_not)
        return;
    c->at = node;
    c->why_not = why;
}

/* Nothing is noted of any node. */
static eddy_status make_room(eddy__replica_room *room,
                             eddy__gradient_emitter *e,
                             const eddy__study *study)
{
    const size_t n = study->n_nodes;

    *room = (eddy__replica_room){
        .variable_of = eddy__emit_zeroed_room(e, n, sizeof *room->variable_of),
        .is_found = eddy__emit_zeroed_room(e, n, 1),
        .is_entered = eddy__emit_zeroed_room(e, n, 1),
        .copy = eddy__emit_room(e, n, sizeof *room->copy),
        .list = eddy__emit_room(e, n, sizeof *room->list),
        .sorted = eddy__emit_room(e, n, sizeof *room->sorted),
        .writes = eddy__emit_room(e, n, sizeof *room->writes),
        .frames = eddy__emit_zeroed_room(e, study->analysis->n_frames,
                                         sizeof *room->frames),
    };
    if (e->core.status == EDDY_OK)
        memset(room->copy, 0xff, n * sizeof *room->copy);
    return e->core.status;
}

void eddy__replica_begin(eddy__replica *c, eddy__gradient_emitter *e,
                         const eddy__study *study, eddy__replica_room *room,
                         uint32_t frame)
{
    c->e = e;
    c->room = NULL;
    c->study = study;
    c->frame = frame;
    c->loop = &study->analysis->frames[frame];
    c->why_not = NULL;
    c->at = EDDY_NO_NODE;
    c->n = c->n_writes = 0;
    c->next = eddy__emit_room(e, c->loop->n_variables, sizeof *c->next);
    if (e->core.status != EDDY_OK ||
        (!room->list && make_room(room, e, study) != EDDY_OK))
        return;
    c->room = room;
    c->variable_of = room->variable_of;
    c->is_found = room->is_found;
    c->is_entered = room->is_entered;
    c->copy = room->copy;
    c->list = room->list;
    c->writes = room->writes;
    c->frames = room->frames;
    for (size_t i = 0; i < c->loop->n_variables; i++)
        if (c->loop->variables[i].merge != EDDY_NO_NODE)
            c->variable_of[c->loop->variables[i].merge] = (uint32_t)i + 1;
}

void eddy__replica_drop(eddy__replica *c)
{
    if (!c->room)
        return;
    for (size_t i = 0; i < c->loop->n_variables; i++)
        if (c->loop->variables[i].merge != EDDY_NO_NODE)
            c->variable_of[c->loop->variables[i].merge] = 0;
    if (c->loop->loop_cond != EDDY_NO_NODE)
        c->copy[c->loop->loop_cond] = EDDY_NO_NODE;
    for (size_t i = 0; i < c->n; i++) {
        const eddy_node node = c->list[i];

        c->is_found[node] = c->is_entered[node] = 0;
        c->copy[node] = EDDY_NO_NODE;
        if (c->study->flow.role[node] == EDDY__ROLE_ENTER)
            c->frames[c->study->analysis->output_frame[node]] = NULL;
    }
    c->room = NULL;
}

/* ---- what it has ---- */

static void find(eddy__replica *c, eddy_node node)
{
    /* No node that was there depends on one that this walk has added. */
    if (node >= c->study->n_nodes || c->is_found[node])
        return;
    c->is_found[node] = 1;
    c->list[c->n++] = node;
}

bool eddy__replica_is_invariant(const eddy__replica *c, eddy_node node)
{
    return c->study->flow.role[node] == EDDY__ROLE_ENTER &&
           c->study->analysis->output_frame[node] == c->frame;
}

/* Not in the loop's body: made anew rather than copied. */
static bool is_edge(const eddy__replica *c, eddy_node node)
{
    return node == c->loop->loop_cond || eddy__replica_is_invariant(c, node) ||
           c->variable_of[node] != 0 || c->is_entered[node];
}

static bool is_op(const eddy__replica *c, eddy_node node, const char *op)
{
    return strcmp(node_at(c, node)->op_name, op) == 0;
}

static bool is_write(const eddy__replica *c, eddy_node node)
{
    return is_op(c, node, "TensorArrayWriteV3");
}

bool eddy__replica_copies(const eddy__replica *c, eddy_node node)
{
    return c->has_arrays &&
           (is_write(c, node) || is_op(c, node, "TensorArrayReadV3") ||
            is_op(c, node, "TensorArrayGatherV3")) &&
           eddy__study_array(c->study, node_at(c, node)->inputs[0]) !=
               EDDY_NO_NODE;
}

static void find_next(eddy__replica *c, eddy_node merge)
{
    const uint32_t i = c->variable_of[merge] - 1;
    const eddy_loop_variable *v = &c->loop->variables[i];

    if (v->next_iteration == EDDY_NO_NODE || v->switch_ == EDDY_NO_NODE ||
        node_at(c, merge)->n_inputs != 2) {
        refuse(c, merge,
               "it is not a variable with one first and one next value");
        return;
    }
    find(c, v->switch_);
    c->next[i] = node_at(c, v->next_iteration)->inputs[0];
    find(c, c->next[i].node);
}

static void find_sources(eddy__replica *c, eddy_node node)
{
    const eddy__node *n = node_at(c, node);

    if (!n->op || (n->op->flags & (EDDY_OP_STATEFUL | EDDY__OP_HOST) &&
                   !eddy__replica_copies(c, node)))
        refuse(c, node, "it has a state or an effect");
    else if (c->study->flow.role[node] == EDDY__ROLE_NEXT_ITERATION &&
             c->study->analysis->node_frame[node] == c->frame)
        refuse(c, node, "something waits for it");
    for (uint32_t i = 0; i < n->n_inputs; i++)
        find(c, n->inputs[i].node);
    for (uint32_t i = 0; i < n->n_controls; i++)
        find(c, n->controls[i]);
}

void eddy__replica_find(eddy__replica *c, const uint8_t *wanted)
{
    if (c->e->core.status != EDDY_OK)
        return;
    for (size_t i = 0; i < c->loop->n_variables; i++) {
        const eddy_node merge = c->loop->variables[i].merge;

        if (merge != EDDY_NO_NODE && wanted[merge])
            find(c, merge);
    }
    for (size_t i = 0; i < c->n && !c->why_not; i++) {
        const eddy_node node = c->list[i];

        if (c->variable_of[node] != 0)
            find_next(c, node);
        else if (eddy__replica_is_invariant(c, node) &&
                 !c->study->flow.is_constant[node])
            refuse(c, node, "the first value of a variable is read in it");
        else if (c->is_given && c->is_given(c->owner, node))
            c->is_entered[node] = 1;
        else if (!is_edge(c, node))
            find_sources(c, node);
    }
}

/* ---- the copy ---- */

eddy_output eddy__repeat_enter(const eddy__repeat *repeat,
                               eddy__gradient_emitter *e, int64_t parallel,
                               eddy_output value, eddy_node gate,
                               bool is_constant)
{
    value = eddy__emit_after(e, gate, "Identity", &value, 1);
    return eddy__emit_enter(e, value, repeat->name, parallel, is_constant);
}

void eddy__repeat_start(eddy__repeat *repeat, eddy__gradient_emitter *e,
                        const char *like, int64_t parallel, eddy_output trips,
                        eddy_node gate)
{
    eddy_output count, one, limit, more;

    *repeat = (eddy__repeat){.name = eddy__emit_take_name(e, "replay", like)};
    if (e->core.status != EDDY_OK)
        return;
    count = eddy__emit_first_enter(e, eddy__emit_int_after(e, gate, 0),
                                   repeat->name, parallel);
    count = eddy__emit_op(e, "Merge", count, count);
    one = eddy__repeat_enter(repeat, e, parallel,
                             eddy__emit_int_after(e, gate, 1), gate, true);
    limit = eddy__repeat_enter(repeat, e, parallel, trips, gate, true);
    repeat->loop_cond =
        eddy__emit_op(e, "LoopCond", eddy__emit_op(e, "Less", count, limit));
    repeat->switch_ = eddy__emit_op(e, "Switch", count, repeat->loop_cond);
    more =
        eddy__emit_op(e, "AddV2", eddy__output_port(repeat->switch_, 1), one);
    repeat->pivot = more.node;
    more = eddy__emit_op(e, "NextIteration", more);
    repeat->next = more.node;
    eddy__emit_back_edge(e, count, more);
}

void eddy__replica_start(eddy__replica *c, eddy_output trips, eddy_node gate)
{
    eddy__repeat_start(&c->repeat, c->e, c->loop->name,
                       c->loop->parallel_iterations, trips, gate);
    c->copy[c->loop->loop_cond] = c->repeat.loop_cond.node;
}

void eddy__replica_give(eddy__replica *c, eddy_node node, eddy_node given)
{
    c->copy[node] = given;
}

void eddy__replica_enter(eddy__replica *c, eddy_node node, eddy_output value,
                         eddy_node gate)
{
    const bool is_variable = c->variable_of[node] != 0;

    value = eddy__repeat_enter(&c->repeat, c->e, c->loop->parallel_iterations,
                               value, gate, !is_variable);
    if (is_variable)
        value = eddy__emit_op(c->e, "Merge", value, value);
    c->copy[node] = value.node;
}

/* The frame of an Enter's copy has its name from the first one, which no other
 * node or frame can have then. */
static void name_frame(eddy__replica *c, eddy_node enter, eddy__node_copy *copy)
{
    const uint32_t id = c->study->analysis->output_frame[enter];

    if (!c->frames[id]) {
        c->frames[id] = name_copy(c, c->study->analysis->frames[id].name);
        copy->name = c->frames[id];
    }
    copy->frame_name = c->frames[id];
}

/* Where input `i` of a write, whose last is the flow, is in its copy. */
static uint32_t write_port(uint32_t i)
{
    return (i + 1) % 4;
}

/* What was read must not be cleared. */
static void keep_items(eddy__replica *c, eddy_node array)
{
    static const bool no = false;
    const eddy_attr attr = eddy_attr_bool("clear_after_read", &no);

    if (c->e->core.status == EDDY_OK)
        (void)eddy__emitter_need(
            &c->e->core,
            eddy__edit_adopt_attr(c->e->core.graph, array, &attr) ? c : NULL);
}

/* The copy of a write, with open inputs. */
static void copy_write(eddy__replica *c, const eddy__node_copy *copy,
                       eddy_node node)
{
    const eddy__add_options options = {.strict = true, .forward_edges = true};
    const eddy_graph *graph = c->e->core.graph;
    eddy_dtype types[4] = {0};
    eddy_attr attr = eddy_attr_type("T", types);
    eddy__copier copier = {.arena = &c->e->arena};
    const eddy_output *open = eddy__copier_open(&copier, 4);

    attr.is_list = true;
    attr.n = 4;
    if (c->e->core.status != EDDY_OK || !eddy__emitter_need(&c->e->core, open))
        return;
    for (uint32_t i = 0; i < 4; i++)
        types[write_port(i)] =
            eddy_graph_output_dtype(graph, copy->of->inputs[i]);
    (void)eddy__emitter_keep(
        &c->e->core,
        eddy__graph_add(c->e->core.graph,
                        &(eddy_node_spec){.size = sizeof(eddy_node_spec),
                                          .op = "IdentityN",
                                          .name = copy->name,
                                          .inputs = open,
                                          .n_inputs = 4,
                                          .attrs = &attr,
                                          .n_attrs = 1},
                        &options, &c->copy[node], c->e->core.err));
    c->writes[c->n_writes++] = c->copy[node];
}

static void copy_node(eddy__replica *c, eddy_node node)
{
    eddy__copier copier = {.arena = &c->e->arena};
    eddy__node_copy copy = {
        .of = node_at(c, node), .drops_class = true, .shares_resource = true};

    if (c->study->flow.role[node] == EDDY__ROLE_ENTER)
        name_frame(c, node, &copy);
    if (!copy.name)
        copy.name = name_copy(c, copy.of->name);
    if (eddy__replica_copies(c, node) && is_write(c, node)) {
        copy_write(c, &copy, node);
        return;
    }
    if (eddy__replica_copies(c, node))
        keep_items(c, eddy__study_array(c->study, copy.of->inputs[0]));
    if (c->e->core.status == EDDY_OK)
        c->e->core.status = eddy__copy_add(&copier, c->e->core.graph, &copy,
                                           &c->copy[node], c->e->core.err);
}

static void connect(eddy__replica *c, eddy_node node)
{
    eddy_graph *graph = c->e->core.graph;
    const eddy__node n = *node_at(c, node);
    const bool is_flowing = eddy__replica_copies(c, node) && is_write(c, node);

    for (uint32_t i = 0; i < n.n_inputs && c->e->core.status == EDDY_OK; i++)
        c->e->core.status = eddy__graph_connect(
            graph, c->copy[node], is_flowing ? write_port(i) : i,
            (eddy_output){c->copy[n.inputs[i].node], n.inputs[i].index},
            c->e->core.err);
    for (uint32_t i = 0; i < n.n_controls && c->e->core.status == EDDY_OK; i++)
        if (n.controls[i] < c->study->n_nodes)
            c->e->core.status = eddy__graph_add_control(
                graph, c->copy[node], c->copy[n.controls[i]], c->e->core.err);
}

static int compare_nodes(const void *a, const void *b)
{
    const eddy_node x = *(const eddy_node *)a, y = *(const eddy_node *)b;

    return x < y ? -1 : x > y;
}

/* The nodes that are copied, in the order of the numbers, in which walks go, so
 * that sums are the same. */
static size_t sort_copied(const eddy__replica *c)
{
    eddy_node *sorted = c->room->sorted;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!is_edge(c, c->list[i]))
            sorted[n++] = c->list[i];
    qsort(sorted, n, sizeof *sorted, compare_nodes);
    return n;
}

/*
 * A failure takes the copies away again: their inputs may still be open, which
 * no graph may have that somebody goes on with.
 */
void eddy__replica_copy(eddy__replica *c)
{
    const size_t n_before = c->e->core.graph->n_nodes;
    size_t n;

    if (c->e->core.status != EDDY_OK)
        return;
    n = sort_copied(c);
    for (size_t i = 0; i < n && c->e->core.status == EDDY_OK; i++)
        copy_node(c, c->room->sorted[i]);
    for (size_t i = 0; i < n && c->e->core.status == EDDY_OK; i++)
        connect(c, c->room->sorted[i]);
    if (c->e->core.status != EDDY_OK)
        eddy__graph_truncate(c->e->core.graph, n_before);
}

eddy_output eddy__replica_end(eddy__replica *c, eddy_node merge)
{
    const uint32_t i = c->variable_of[merge] - 1;
    eddy_output from, next, end;

    if (c->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    from = c->next[i];
    next = (eddy_output){c->copy[from.node], from.index};
    end = (eddy_output){c->copy[c->loop->variables[i].switch_], 0};
    eddy__emit_back_edge(c->e, (eddy_output){c->copy[merge], 0},
                         eddy__emit_op(c->e, "NextIteration", next));
    return eddy__emit_op(c->e, "Exit", end);
}

const eddy_node *eddy__replica_keep_writes(const eddy__replica *c)
{
    eddy_node *kept = eddy__emit_room(c->e, c->n_writes, sizeof *kept);

    if (kept && c->n_writes > 0)
        memcpy(kept, c->writes, c->n_writes * sizeof *kept);
    return kept;
}

size_t eddy__replica_stops(const eddy__replica *c, const eddy_output *stop,
                           size_t n_stop, eddy_output *out_stop)
{
    size_t n = 0;

    for (size_t i = 0; i < n_stop; i++)
        if (stop[i].node < c->study->n_nodes &&
            c->copy[stop[i].node] != EDDY_NO_NODE)
            out_stop[n++] = (eddy_output){c->copy[stop[i].node], stop[i].index};
    return n;
}

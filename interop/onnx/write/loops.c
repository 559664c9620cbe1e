/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as a Loop.
 *
 * TensorFlow's loop asks before each trip, ONNX's Loop is told behind each
 * whether there is another.  So the nodes of the predicate are written before
 * the loop, with the first values, and in the body behind everything else, with
 * the next ones.
 */
#include "core/base/status.h"
#include "interop/graphdef/writer.h"
#include "interop/onnx/write/writer.h"

#include <string.h>

/* A value that a Loop carries, or a stack's items. */
typedef struct carried {
    eddy_node merge; /* EDDY_NO_NODE: a stack */
    size_t stack;
    eddy_output next;
    bool is_collected; /* not carried: `item` is a scan output */
    eddy_output item;
    eddy__onnx_written first, here, after, last;
} carried;

typedef struct loop {
    eddy__onnx_writer *w;
    const eddy_frame *frame;
    eddy__onnx_place *around;
    uint32_t number; /* of the frame */
    carried *values; /* those carried, then those collected */
    size_t n, n_carried;
    eddy__onnx_place body;
    eddy__onnx_net net;
    const char *trip, *go_on; /* inputs of the body */
    const char *first_go_on, *next_go_on;
} loop;

/* ---- what it carries ---- */

static void add_value(loop *l, size_t k, bool is_collected)
{
    const eddy_loop_variable *v = &l->frame->variables[k];
    const eddy_graph *graph = l->w->graph;
    carried *c = &l->values[l->n];
    eddy_output item = {EDDY_NO_NODE, 0};

    if (v->merge == EDDY_NO_NODE || !l->w->is_needed[v->merge] ||
        eddy__onnx_is_collected(l->w, l->number, k, &item) != is_collected)
        return;
    *c = (carried){.merge = v->merge,
                   .is_collected = is_collected,
                   .item = item,
                   .next = {v->next_iteration, 0}};
    if (v->enter == EDDY_NO_NODE || v->next_iteration == EDDY_NO_NODE) {
        eddy__onnx_decline_node(l->w, v->merge,
                                "of a loop that is not structured");
        return;
    }
    c->next = graph->nodes[v->next_iteration].inputs[0];
    c->first =
        *eddy__onnx_demand(l->w, l->around, graph->nodes[v->enter].inputs[0]);
    l->n++;
}

static void add_stacks(loop *l)
{
    eddy__onnx_writer *w = l->w;

    for (size_t i = 0; i < w->n_stacks; i++) {
        carried *c = &l->values[l->n];

        if (!eddy__onnx_touches(w, i, l->number, 0, EDDY_NO_NODE))
            continue;
        *c = (carried){.merge = EDDY_NO_NODE, .stack = i};
        c->first = eddy__onnx_state_in(w, l->around, i);
        l->n++;
    }
}

static void find_values(loop *l)
{
    eddy__onnx_writer *w = l->w;

    l->values = eddy__onnx_take(w, l->frame->n_variables + w->n_stacks,
                                sizeof *l->values);
    if (!l->values)
        return;
    for (size_t k = 0; k < l->frame->n_variables; k++)
        add_value(l, k, false);
    add_stacks(l);
    l->n_carried = l->n;
    for (size_t k = 0; k < l->frame->n_variables; k++)
        add_value(l, k, true);
}

/* An array that the body changes is carried as a sequence. */
static void fix_form(loop *l, carried *c)
{
    const eddy_output self = {c->merge, 0};
    const eddy_output next =
        c->merge == EDDY_NO_NODE ? self : eddy__onnx_origin(l->w, c->next);
    const bool is_kept = next.node == c->merge;

    if (c->first.form == EDDY__ONNX_PLAIN ||
        (is_kept && c->first.form == EDDY__ONNX_STACKED))
        return;
    l->w->place = l->around;
    c->first = eddy__onnx_as_items(l->w, &c->first);
}

/* ---- scopes ---- */

/* What the loop's Merges are in a scope. */
static void bind_merges(loop *l, const eddy__onnx_place *place, size_t offset)
{
    for (size_t i = 0; i < l->n_carried; i++) {
        carried *c = &l->values[i];
        const eddy__onnx_written *value =
            (const eddy__onnx_written *)((const char *)c + offset);
        eddy__onnx_binding *b;

        if (c->merge == EDDY_NO_NODE)
            continue;
        b = eddy__onnx_binding_in(l->w, place, c->merge);
        if (!b)
            return;
        b->is_done = true;
        b->values[0] = *value;
    }
}

static eddy__onnx_place *open_place(loop *l, eddy__onnx_place *outer,
                                    eddy__onnx_reading reading)
{
    eddy__onnx_place *place = eddy__onnx_take(l->w, 1, sizeof *place);

    if (place)
        *place = (eddy__onnx_place){.outer = outer,
                                    .net = outer->net,
                                    .frame = l->number,
                                    .reading = reading,
                                    .depth = outer->depth,
                                    .group = EDDY_NO_NODE};
    return place;
}

/* Whether there is a trip, with those values of the variables. */
static const char *ask(loop *l, eddy__onnx_place *outer, size_t offset)
{
    eddy__onnx_place *place = open_place(l, outer, EDDY__ONNX_TEST);
    const eddy_output predicate = {l->frame->loop_cond, 0};

    if (!place)
        return "";
    if (predicate.node == EDDY_NO_NODE) {
        eddy__onnx_decline(l->w, "of a loop without LoopCond");
        return "";
    }
    bind_merges(l, place, offset);
    return eddy__onnx_demand(l->w, place, predicate)->name;
}

static void open_body(loop *l)
{
    eddy__onnx_writer *w = l->w;
    const char *base = l->frame->name;

    l->trip = eddy__onnx_fresh(w, eddy__onnx_print(w, "%s/trip", base));
    l->go_on = eddy__onnx_fresh(w, eddy__onnx_print(w, "%s/go_on", base));
    l->body = (eddy__onnx_place){.outer = l->around,
                                 .net = &l->net,
                                 .frame = l->number,
                                 .reading = EDDY__ONNX_BODY,
                                 .depth = l->around->depth + 1,
                                 .trip = l->trip,
                                 .group = EDDY_NO_NODE};
    for (size_t i = 0; i < l->n_carried; i++) {
        carried *c = &l->values[i];

        c->here = c->first;
        c->here.name = eddy__onnx_fresh(
            w, c->merge == EDDY_NO_NODE
                   ? w->graph->nodes[w->stacks[c->stack].maker].name
                   : w->graph->nodes[c->merge].name);
        if (c->merge == EDDY_NO_NODE)
            eddy__onnx_set_state(w, &l->body, c->stack, &c->here);
    }
    bind_merges(l, &l->body, offsetof(carried, here));
}

/* The next value in the form in which it is carried. */
static void find_next(loop *l, carried *c)
{
    eddy__onnx_writer *w = l->w;

    if (c->merge == EDDY_NO_NODE)
        c->after = eddy__onnx_state_in(w, &l->body, c->stack);
    else
        c->after = *eddy__onnx_demand(w, &l->body,
                                      c->is_collected ? c->item : c->next);
    if (c->is_collected || c->after.form == c->first.form)
        return;
    w->place = &l->body;
    c->after = eddy__onnx_as_items(w, &c->after);
}

static void write_body(loop *l)
{
    open_body(l);
    for (size_t i = 0; i < l->n && eddy__onnx_well(l->w); i++)
        if (l->values[i].merge != EDDY_NO_NODE)
            find_next(l, &l->values[i]);
    eddy__onnx_force_pushes(l->w, &l->body);
    for (size_t i = 0; i < l->n && eddy__onnx_well(l->w); i++)
        if (l->values[i].merge == EDDY_NO_NODE)
            find_next(l, &l->values[i]);
    l->next_go_on = ask(l, &l->body, offsetof(carried, after));
}

/* ---- the node ---- */

static eddy_shape shape_of(const loop *l, const carried *c)
{
    if (c->is_collected)
        return eddy_graph_output_shape(l->w->graph, c->item);
    return eddy_graph_output_shape(l->w->graph, (eddy_output){c->merge, 0});
}

static Eddy__OnnxPb__ValueInfoProto *info(loop *l, const char *name,
                                          const carried *c, bool is_output)
{
    const eddy__onnx_written *value =
        is_output && c->is_collected ? &c->after : &c->here;
    const bool is_items = value->form == EDDY__ONNX_ITEMS;
    const eddy_shape shape =
        value->form == EDDY__ONNX_PLAIN && c->merge != EDDY_NO_NODE
            ? shape_of(l, c)
            : (eddy_shape){.rank = -1};

    return eddy__onnx_info_message(l->w, name, is_items,
                                   (eddy_dtype)value->dtype, &shape);
}

/* Input or output `i` of the body: iteration, condition. */
static Eddy__OnnxPb__ValueInfoProto *scalar(loop *l, const char *name,
                                            eddy_dtype dtype)
{
    const eddy_shape shape = {.rank = 0};

    return eddy__onnx_info_message(l->w, name, false, dtype, &shape);
}

static Eddy__OnnxPb__GraphProto *body_message(loop *l)
{
    eddy__onnx_writer *w = l->w;
    Eddy__OnnxPb__GraphProto *to = eddy__onnx_take(w, 1, sizeof *to);
    const eddy__onnx_written condition = {.name = l->next_go_on};
    const char *name;

    if (!to)
        return NULL;
    eddy__onnx_pb__graph_proto__init(to);
    to->name =
        eddy__graphdef_borrow_text(eddy__onnx_print(w, "%s", l->frame->name));
    to->input = eddy__onnx_take(w, 2 + l->n_carried, sizeof(void *));
    to->output = eddy__onnx_take(w, 1 + l->n, sizeof(void *));
    if (!eddy__onnx_well(w))
        return NULL;
    to->input[to->n_input++] = scalar(l, l->trip, EDDY_INT64);
    to->input[to->n_input++] = scalar(l, l->go_on, EDDY_BOOL);
    name = eddy__onnx_as_result(w, &l->body, &condition);
    to->output[to->n_output++] = scalar(l, name, EDDY_BOOL);
    for (size_t i = 0; i < l->n_carried; i++)
        to->input[to->n_input++] =
            info(l, l->values[i].here.name, &l->values[i], false);
    for (size_t i = 0; i < l->n; i++) {
        name = eddy__onnx_as_result(w, &l->body, &l->values[i].after);
        to->output[to->n_output++] = info(l, name, &l->values[i], true);
    }
    to->node = l->net.items;
    to->n_node = l->net.n_items;
    return eddy__onnx_well(w) ? to : NULL;
}

static void put_loop(loop *l)
{
    eddy__onnx_writer *w = l->w;
    const eddy__onnx_attr body = {
        .name = "body", .type = EDDY__ONNX_ATTR_GRAPH, .g = body_message(l)};
    const char **inputs = eddy__onnx_take(w, 2 + l->n_carried, sizeof *inputs);
    const char **outputs = eddy__onnx_take(w, l->n, sizeof *outputs);
    const eddy__onnx_node_spec call = {.type = "Loop",
                                       .inputs = inputs,
                                       .n_inputs = 2 + l->n_carried,
                                       .attrs = &body,
                                       .n_attrs = 1,
                                       .outputs = outputs,
                                       .n_outputs = l->n,
                                       .base = l->frame->name};

    if (!eddy__onnx_well(w))
        return;
    inputs[0] = "";
    inputs[1] = l->first_go_on;
    for (size_t i = 0; i < l->n_carried; i++)
        inputs[2 + i] = l->values[i].first.name;
    w->place = l->around;
    eddy__onnx_put(w, &call);
    for (size_t i = 0; i < l->n && eddy__onnx_well(w); i++) {
        carried *c = &l->values[i];

        c->last = c->is_collected ? c->after : c->here;
        c->last.name = outputs[i];
        if (c->is_collected)
            c->last.form = EDDY__ONNX_STACKED;
        if (c->merge == EDDY_NO_NODE)
            eddy__onnx_set_state(w, l->around, c->stack, &c->last);
    }
}

/* What the Exits of the frame give where the loop is at home. */
static void bind_exits(loop *l)
{
    eddy__onnx_writer *w = l->w;
    eddy__onnx_place *after = open_place(l, l->around, EDDY__ONNX_AFTER);
    const size_t n = l->n_carried;

    if (!after)
        return;
    l->n_carried = l->n;
    bind_merges(l, after, offsetof(carried, last));
    l->n_carried = n;
    for (size_t i = 0; i < w->graph->n_nodes && eddy__onnx_well(w); i++) {
        const eddy__node *node = &w->graph->nodes[i];
        eddy__onnx_binding *b;

        if (!w->is_needed[i] || eddy__node_role(node) != EDDY__ROLE_EXIT ||
            eddy_analysis_node_frame(w->analysis, (eddy_node)i) != l->number)
            continue;
        b = eddy__onnx_binding_in(w, l->around, (eddy_node)i);
        if (!b)
            return;
        b->values[0] = *eddy__onnx_demand(w, after, node->inputs[0]);
        b->is_done = true;
    }
}

void eddy__onnx_write_loop(eddy__onnx_writer *w, eddy__onnx_place *place,
                           uint32_t frame)
{
    loop *l = eddy__onnx_take(w, 1, sizeof *l);

    if (!l)
        return;
    if (place->depth >= EDDY__ONNX_WRITE_MAX_DEPTH) {
        w->status = eddy__fail(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_TOO_DEEP,
                               "graphs are nested more than %d deep",
                               EDDY__ONNX_WRITE_MAX_DEPTH);
        return;
    }
    l->w = w;
    l->frame = eddy_analysis_frame(w->analysis, frame);
    l->number = frame;
    l->around = place;
    find_values(l);
    for (size_t i = 0; i < l->n_carried && eddy__onnx_well(w); i++)
        fix_form(l, &l->values[i]);
    w->place = place;
    l->first_go_on = ask(l, place, offsetof(carried, first));
    if (!eddy__onnx_well(w))
        return;
    write_body(l);
    if (eddy__onnx_well(w))
        put_loop(l);
    if (eddy__onnx_well(w))
        bind_exits(l);
    w->place = place;
}

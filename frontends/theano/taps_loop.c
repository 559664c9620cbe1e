/* SPDX-License-Identifier: Apache-2.0 */
/* The loop itself: a stretch of the steps of a loop with taps. */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"
#include "frontends/theano/taps.h"

#include <string.h>

/* The variables: the time, the past, the rows, and whether to stop. */
typedef struct variables {
    eddy_output *all;
    size_t n;
    eddy_output *time, *past, *flows;
    eddy_output *stop; /* NULL if the loop does not look at it */
} variables;

static bool make_variables(eddy__taps *t, bool stops, variables *v)
{
    v->n = 1 + t->n_past + t->n_outputs + stops;
    v->all = eddy__arena_allocate_zeroed(&t->arena, v->n, sizeof *v->all);
    if (!v->all) {
        eddy_emit_check(&t->w, eddy__fail_memory(t->w.err));
        return false;
    }
    v->time = v->all;
    v->past = v->all + 1;
    v->flows = v->past + t->n_past;
    v->stop = stops ? v->flows + t->n_outputs : NULL;
    return true;
}

static void copy(eddy_output *to, const eddy_output *from, size_t n)
{
    if (n > 0)
        memcpy(to, from, n * sizeof *to);
}

/* ---- what a step is given ---- */

static size_t read_input(eddy__taps *t, const eddy__tapped_input *in,
                         eddy_output time, eddy_output *args)
{
    eddy_emitter *w = &t->w;

    if (t->is_backward && in->n_taps > 0)
        time = eddy_emit_binary(w, "Sub", in->last, time);
    for (size_t i = 0; i < in->n_taps; i++) {
        const int32_t offset = (int32_t)(in->taps[i] + in->before);
        eddy_output index = time;

        if (offset > 0)
            index =
                eddy_emit_binary(w, "AddV2", time, eddy_emit_int32(w, offset));
        args[i] = eddy__sequence_read(w, &in->items, index);
    }
    return in->n_taps;
}

static void read_all(eddy__taps *t, const variables *v, eddy_output *args)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_inputs; i++)
        n += read_input(t, &t->inputs[i], *v->time, args + n);
    for (size_t i = 0; i < t->n_outputs; i++) {
        const eddy__tapped_output *out = &t->outputs[i];

        for (size_t j = 0; out->initial && j < out->n_taps; j++)
            args[n++] = v->past[out->first +
                                (size_t)((int64_t)out->n_past + out->taps[j])];
    }
    copy(args + n, t->rest, t->n_rest);
}

/* ---- what it may capture ---- */

static bool is_allowed(const eddy__taps *t, eddy_output from)
{
    for (size_t i = 0; i < t->n_rest; i++)
        if (t->rest[i].node == from.node && t->rest[i].index == from.index)
            return true;
    return strcmp(eddy_graph_node_op(t->w.graph, from.node), "Const") == 0;
}

/* All that has come into the loop since there were `n` captures. */
static void check_captures(eddy__taps *t, size_t n)
{
    const eddy__builder *b = t->w.graph->builder;
    const uint32_t level = eddy__builder_level(b);

    for (; n < b->captures.n && t->w.status == EDDY_OK; n++) {
        const eddy__captured *c = &b->captures.items[n];

        if (c->level == level && !is_allowed(t, c->from))
            eddy__taps_fail(&t->w, c->from, EDDY_E_VALUE_SCOPE,
                            "the step of '%.64s' reads '%.64s', which is not "
                            "among its non-sequences; it is strict",
                            t->name,
                            eddy_graph_node_name(t->w.graph, c->from.node));
    }
}

/* ---- what it gives ---- */

static void check_past(eddy__taps *t, size_t i, eddy_output value)
{
    eddy__tapped_output *out = &t->outputs[i];
    const eddy_dtype dtype = eddy_graph_output_dtype(t->w.graph, value);
    const eddy_shape found = eddy__writer_shape_of(&t->w, value);
    const eddy_shape wanted = out->item;

    if (dtype != out->dtype)
        eddy__taps_fail(&t->w, value, EDDY_E_INPUT_DTYPE,
                        "output %zu of '%.64s' is %s, its initial value is %s",
                        i, t->name, eddy_dtype_name(dtype),
                        eddy_dtype_name(out->dtype));
    else if (!eddy__shape_merge(&found, &wanted, &out->item))
        eddy__taps_fail(&t->w, value, EDDY_E_SHAPE,
                        "output %zu of '%.64s' has shape %s, its initial value "
                        "has %s",
                        i, t->name, eddy__shape_print(&found).text,
                        eddy__shape_print(&wanted).text);
}

static void check_outputs(eddy__taps *t, const eddy_output *values)
{
    for (size_t i = 0; i < t->n_outputs && t->w.status == EDDY_OK; i++) {
        if (!eddy_emit_check(&t->w, eddy__builder_want_values(
                                        t->w.graph, &values[i], 1, t->w.err)))
            return;
        if (t->outputs[i].initial)
            check_past(t, i, values[i]);
        else
            t->outputs[i].item = eddy__writer_shape_of(&t->w, values[i]);
    }
}

/* Calls the step, at a depth of constructs that it must leave as it was. */
static void take_step(eddy__taps *t, const variables *v, eddy_output *outputs,
                      eddy_output *until)
{
    eddy_emitter *w = &t->w;
    const size_t depth = eddy_construct_depth(w->graph);
    eddy_output *args =
        eddy__arena_allocate_zeroed(&t->arena, t->n_args, sizeof *args);
    const eddy__taps_now now = {args, t->n_args, *v->time};
    size_t n_captures;

    if (!args) {
        eddy_emit_check(w, eddy__fail_memory(w->err));
        return;
    }
    read_all(t, v, args);
    if (w->status != EDDY_OK)
        return;
    n_captures = w->graph->builder->captures.n;
    *until = (eddy_output){EDDY_NO_NODE, 0};
    for (size_t i = 0; i <= t->n_outputs; i++)
        outputs[i] = *until;
    w->status = t->step(w->graph, t->user, &now, outputs, until, w->err);
    if (w->status == EDDY_OK && eddy_construct_depth(w->graph) != depth)
        w->status = eddy__fail_node(
            w->err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, t->name, NULL,
            "the step of '%.64s' has ended more or less constructs than it has "
            "begun",
            t->name);
    if (w->status == EDDY_OK && t->is_strict)
        check_captures(t, n_captures);
    check_outputs(t, outputs);
    if (w->status == EDDY_OK && t->has_until)
        w->status =
            eddy__builder_want_predicate(w->graph, t->name, *until, w->err);
}

/* ---- the loop ---- */

/* Of which sequences is there an item in this step?  With lengths alone. */
static eddy_output write_active(eddy__taps *t, eddy_output time)
{
    eddy_emitter *w = &t->w;

    if (t->is_backward)
        time = eddy_emit_binary(
            w, "Sub",
            eddy_emit_binary(w, "Sub", t->steps, eddy_emit_int32(w, 1)), time);
    return eddy_emit_binary(w, "Less", time, *t->lengths);
}

/* `now` for the sequences that are active, `otherwise` for the others. */
static eddy_output choose(eddy__taps *t, eddy_output active, eddy_output now,
                          eddy_output otherwise)
{
    const eddy_output inputs[] = {active, now, otherwise};

    return t->lengths ? eddy_emit_op(&t->w, "Select", inputs, 3, NULL, 0) : now;
}

/* The row of a step; zeros stand for what is no item. */
static eddy_output row_of(eddy__taps *t, eddy_output active, eddy_output value)
{
    return t->lengths ? choose(t, active, value,
                               eddy_emit_unary(&t->w, "ZerosLike", value))
                      : value;
}

/* The values for the next step, from those of this one. */
static void advance(eddy__taps *t, variables *v, const eddy_output *outputs,
                    eddy_output until)
{
    eddy_emitter *w = &t->w;
    const eddy_output active =
        t->lengths ? write_active(t, *v->time) : *v->time;

    for (size_t i = 0; i < t->n_outputs; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        if (w->status == EDDY_OK)
            eddy__sequence_settle(w, &out->rows,
                                  eddy_graph_output_dtype(w->graph, outputs[i]),
                                  &out->item);
        v->flows[i] = eddy__sequence_write(w, &out->rows, v->flows[i], *v->time,
                                           row_of(t, active, outputs[i]));
        for (size_t j = 0; j < out->n_past; j++) {
            eddy_output *past = &v->past[out->first + j];

            *past = choose(t, active,
                           j + 1 < out->n_past ? past[1] : outputs[i], *past);
        }
    }
    if (v->stop)
        *v->stop = until;
    *v->time = eddy_emit_binary(w, "AddV2", *v->time, eddy_emit_int32(w, 1));
}

static eddy_output write_condition(eddy__taps *t, const eddy__span *span,
                                   const variables *v)
{
    eddy_emitter *w = &t->w;
    const eddy_output more = eddy_emit_binary(w, "Less", *v->time, span->end);

    if (!v->stop)
        return more;
    return eddy_emit_binary(w, "LogicalAnd", more,
                            eddy_emit_unary(w, "LogicalNot", *v->stop));
}

/* A value of an output has one shape in all steps; the rest are scalars. */
static eddy_shape *write_invariants(eddy__taps *t, const variables *v)
{
    eddy_shape *shapes =
        eddy__arena_allocate_zeroed(&t->arena, v->n, sizeof *shapes);

    if (!shapes) {
        eddy_emit_check(&t->w, eddy__fail_memory(t->w.err));
        return NULL;
    }
    for (size_t i = 0; i < t->n_outputs; i++) {
        const eddy__tapped_output *out = &t->outputs[i];

        for (size_t j = 0; j < out->n_past; j++)
            shapes[1 + out->first + j] = out->item;
    }
    return shapes;
}

void eddy__taps_add_loop(eddy__taps *t, eddy__span *span)
{
    eddy_emitter *w = &t->w;
    eddy_while_spec spec = {.size = sizeof spec,
                            .name = t->name,
                            .parallel_iterations = t->parallel_iterations};
    eddy_output until = {EDDY_NO_NODE, 0}, *outputs, predicate;
    variables v;

    if (w->status != EDDY_OK || !make_variables(t, span->stops, &v))
        return;
    outputs = eddy__arena_allocate_zeroed(&t->arena, t->n_outputs + 1,
                                          sizeof *outputs);
    if (!outputs) {
        eddy_emit_check(w, eddy__fail_memory(w->err));
        return;
    }
    *v.time = span->first;
    if (v.stop)
        *v.stop = eddy_emit_bool(w, false);
    copy(v.past, span->past, t->n_past);
    copy(v.flows, span->flows, t->n_outputs);
    spec.initial = v.all;
    spec.n_variables = v.n;
    spec.shape_invariants = write_invariants(t, &v);
    if (w->status == EDDY_OK)
        w->status = eddy_while_begin(w->graph, &spec, v.all, w->err);
    predicate = write_condition(t, span, &v);
    if (w->status == EDDY_OK)
        w->status = eddy_while_body(w->graph, predicate, v.all, w->err);
    take_step(t, &v, outputs, &until);
    advance(t, &v, outputs, until);
    if (w->status == EDDY_OK)
        w->status = eddy_while_end(w->graph, v.all, v.n, v.all, w->err);
    if (w->status != EDDY_OK)
        return;
    span->at = *v.time;
    copy(span->past, v.past, t->n_past);
    copy(span->flows, v.flows, t->n_outputs);
}

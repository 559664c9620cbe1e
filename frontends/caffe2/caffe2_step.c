/* SPDX-License-Identifier: Apache-2.0 */
/* The step of a recurrent network: a copy of the step net, and its links. */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "frontends/caffe2/caffe2.h"
#include "frontends/shared/net_copy.h"

static void fail_twice(eddy__net_copy *c, const eddy__recurrent *n,
                       eddy_node placeholder)
{
    const eddy__node *node = &n->net->nodes[placeholder];

    eddy_emit_check(c->w,
                    eddy__graph_fail_at(
                        c->w->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, node,
                        "'%.64s' of the step net of '%.64s' is linked twice",
                        node->name, n->name));
}

static void bind(eddy__net_copy *c, const eddy__recurrent *n,
                 eddy_node placeholder, eddy_output value)
{
    if (c->w->status != EDDY_OK)
        return;
    if (c->values[placeholder].node != EDDY_NO_NODE ||
        c->made_of[placeholder].node != EDDY_NO_NODE)
        fail_twice(c, n, placeholder);
    else
        eddy__net_bind(c, placeholder, value);
}

static void bind_link(eddy__net_copy *c, const eddy__recurrent *n, size_t i,
                      const eddy__taps_now *now)
{
    const eddy_caffe2_link *link = &n->spec->links[i];
    const eddy__joint *j = &n->joints[i];
    const eddy_output *rows =
        now->args + (size_t)link->offset +
        (j->is_state ? n->state_args : n->input_args)[j->external];

    bind(c, n, j->internal.node,
         link->window > 0
             ? eddy_emit_op(c->w, "Pack", rows, link->window, NULL, 0)
             : *rows);
}

/* The row that a step writes, without a dimension of time. */
static eddy_output written_row(eddy_emitter *w, const eddy__recurrent *n,
                               size_t state, eddy_output value)
{
    const int64_t first = 0;
    const eddy_attr attr = {.name = "squeeze_dims",
                            .kind = EDDY_ATTR_INT,
                            .is_list = true,
                            .n = 1,
                            .as.ints = &first};

    return n->spec->links[n->writes[state]].window > 0
               ? eddy_emit_op(w, "Squeeze", &value, 1, &attr, 1)
               : value;
}

/* What the step knows when it binds a row that it has just written. */
typedef struct late_rows {
    const eddy__recurrent *n;
    const eddy__taps_now *now;
    const size_t *link; /* by Placeholder */
} late_rows;

/* The rows up to the one whose value has been copied. */
static void bind_late(eddy__net_copy *c, eddy_node placeholder,
                      eddy_output copied)
{
    const late_rows *late = c->user;
    const eddy__recurrent *n = late->n;
    const size_t i = late->link[placeholder];
    const eddy_caffe2_link *link = &n->spec->links[i];
    const size_t state = n->joints[i].external;
    const eddy_output row = written_row(c->w, n, state, copied);
    eddy_output *rows;

    if (link->window == 0) {
        eddy__net_bind(c, placeholder, row);
        return;
    }
    rows = eddy__arena_allocate(c->arena, link->window, sizeof *rows);
    if (!rows) {
        eddy_emit_check(c->w, eddy__fail_memory(c->w->err));
        return;
    }
    for (size_t r = 0; r + 1 < link->window; r++)
        rows[r] =
            late->now->args[n->state_args[state] + (size_t)link->offset + r];
    rows[link->window - 1] = row;
    eddy__net_bind(c, placeholder,
                   eddy_emit_op(c->w, "Pack", rows, link->window, NULL, 0));
}

/* Such a Placeholder waits for what is written. */
static void note_late(eddy__net_copy *c, const eddy__recurrent *n, size_t i,
                      size_t *link_of)
{
    const eddy__joint *j = &n->joints[i];
    const eddy_node placeholder = j->internal.node;

    if (c->made_of[placeholder].node != EDDY_NO_NODE ||
        c->values[placeholder].node != EDDY_NO_NODE) {
        fail_twice(c, n, placeholder);
        return;
    }
    c->made_of[placeholder] = n->joints[n->writes[j->external]].internal;
    link_of[placeholder] = i;
}

/* The number of the step, as its Placeholder is. */
static void bind_timestep(eddy__net_copy *c, const eddy__recurrent *n,
                          eddy_output time)
{
    eddy_emitter *w = c->w;
    const eddy_output blob = {n->timestep, 0};
    const eddy_dtype wide = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("DstT", &wide);
    eddy_attr shape;

    if (eddy_graph_output_dtype(n->net, blob) == EDDY_INT64)
        time = eddy_emit_op(w, "Cast", &time, 1, &attr, 1);
    if (eddy_graph_node_attr(n->net, n->timestep, "shape", &shape) &&
        shape.kind == EDDY_ATTR_SHAPE && shape.as.shapes[0].rank == 1)
        time = eddy_emit_binary(w, "ExpandDims", time, eddy_emit_int32(w, 0));
    bind(c, n, n->timestep, time);
}

static void bind_params(eddy__net_copy *c, const eddy__recurrent *n)
{
    for (size_t i = 0; i < n->spec->n_params; i++) {
        const eddy_caffe2_blob *param = &n->spec->params[i];
        eddy_node placeholder;

        if (eddy_emit_check(c->w, c->w->status) &&
            eddy_emit_check(c->w,
                            eddy__net_find_argument(n->net, param->name,
                                                    &placeholder, c->w->err)))
            bind(c, n, placeholder, param->value);
    }
}

/* The row of state `i` that the step writes. */
static eddy_output state_value(eddy__net_copy *c, const eddy__recurrent *n,
                               size_t i)
{
    const eddy__joint *j = &n->joints[n->writes[i]];

    return written_row(c->w, n, i, eddy__net_copy_output(c, j->internal));
}

eddy_status eddy__recurrent_step(eddy_graph *graph, void *user,
                                 const eddy__taps_now *now,
                                 eddy_output *out_outputs,
                                 eddy_output *out_until, eddy_error *err)
{
    eddy__recurrent *n = user;
    eddy_emitter w = eddy_emitter_of(graph, err);
    size_t *links =
        eddy__arena_allocate(&n->arena, n->net->n_nodes, sizeof *links);
    const late_rows late = {n, now, links};
    eddy__net_copy copy;

    (void)out_until;
    if (!links)
        return eddy__fail_memory(err);
    eddy__net_copy_begin(&copy, &w, &n->arena, n->net);
    copy.bind_late = bind_late;
    copy.user = &late;
    for (size_t i = 0; i < n->spec->n_links && w.status == EDDY_OK; i++)
        if (n->joints[i].is_read && n->joints[i].is_late)
            note_late(&copy, n, i, links);
        else if (n->joints[i].is_read)
            bind_link(&copy, n, i, now);
    bind_params(&copy, n);
    if (n->timestep != EDDY_NO_NODE && w.status == EDDY_OK)
        bind_timestep(&copy, n, now->time);
    for (size_t i = 0; i < n->spec->n_states && w.status == EDDY_OK; i++)
        out_outputs[i] = state_value(&copy, n, i);
    return w.status;
}

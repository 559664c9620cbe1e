/* The step of a recurrent network: a copy of the step net, and its links. */
#include "frontends/caffe2.h"
#include "frontends/net_copy.h"
#include "runtime/base/status.h"
#include "runtime/core/graph.h"

static void bind(eddy__net_copy *c, const eddy__recurrent *n,
                 eddy_node placeholder, eddy_output value)
{
    eddy__writer *w = c->w;

    if (w->status == EDDY_OK && c->values[placeholder].node != EDDY_NO_NODE)
        w->status =
            eddy__fail_at(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          &n->net->nodes[placeholder],
                          "'%.64s' of the step net of '%.64s' is linked twice",
                          n->net->nodes[placeholder].name, n->name);
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
             ? eddy__write(c->w, "Pack", rows, link->window, NULL, 0)
             : *rows);
}

/* The number of the step, as its Placeholder is. */
static void bind_timestep(eddy__net_copy *c, const eddy__recurrent *n,
                          eddy_output time)
{
    eddy__writer *w = c->w;
    const eddy_output blob = {n->timestep, 0};
    const eddy_dtype wide = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("DstT", &wide);
    eddy_attr shape;

    if (eddy_graph_output_dtype(n->net, blob) == EDDY_INT64)
        time = eddy__write(w, "Cast", &time, 1, &attr, 1);
    if (eddy_graph_node_attr(n->net, n->timestep, "shape", &shape) &&
        shape.kind == EDDY_ATTR_SHAPE && shape.as.shapes[0].rank == 1)
        time =
            eddy__write_binary(w, "ExpandDims", time, eddy__write_int32(w, 0));
    bind(c, n, n->timestep, time);
}

static void bind_params(eddy__net_copy *c, const eddy__recurrent *n)
{
    for (size_t i = 0; i < n->spec->n_params; i++) {
        const eddy_caffe2_blob *param = &n->spec->params[i];
        eddy_node placeholder;

        if (eddy__write_check(c->w, c->w->status) &&
            eddy__write_check(c->w,
                              eddy__net_find_argument(n->net, param->name,
                                                      &placeholder, c->w->err)))
            bind(c, n, placeholder, param->value);
    }
}

/* The row of state `i` that the step writes. */
static eddy_output state_value(eddy__net_copy *c, const eddy__recurrent *n,
                               size_t i)
{
    const eddy_caffe2_link *link = &n->spec->links[n->writes[i]];
    const int64_t first = 0;
    const eddy_attr attr = {.name = "squeeze_dims",
                            .kind = EDDY_ATTR_INT,
                            .is_list = true,
                            .n = 1,
                            .as.ints = &first};
    const eddy__joint *j = &n->joints[n->writes[i]];
    const eddy_output value = eddy__net_copy_output(c, j->internal);

    return link->window > 0 ? eddy__write(c->w, "Squeeze", &value, 1, &attr, 1)
                            : value;
}

eddy_status eddy__recurrent_step(eddy_graph *graph, void *user,
                                 const eddy__taps_now *now,
                                 eddy_output *out_outputs,
                                 eddy_output *out_until, eddy_error *err)
{
    eddy__recurrent *n = user;
    eddy__writer w = eddy__writer_of(graph, err);
    eddy__net_copy copy;

    (void)out_until;
    eddy__net_copy_begin(&copy, &w, &n->arena, n->net);
    for (size_t i = 0; i < n->spec->n_links && w.status == EDDY_OK; i++)
        if (n->joints[i].is_read)
            bind_link(&copy, n, i, now);
    bind_params(&copy, n);
    if (n->timestep != EDDY_NO_NODE && w.status == EDDY_OK)
        bind_timestep(&copy, n, now->time);
    for (size_t i = 0; i < n->spec->n_states && w.status == EDDY_OK; i++)
        out_outputs[i] = state_value(&copy, n, i);
    return w.status;
}

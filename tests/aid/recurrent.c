/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/recurrent.h"

#include <check.h>

#define N_ALIASES 4

static const eddy_shape scalar = {.rank = 0};

/* The graph around the net that is being built. */
static eddy_graph *around;

void recurrent_begin_net(program *p)
{
    around = p->graph;
    program_want_ok(p, eddy_graph_create(p->ctx, &p->graph, &p->err));
}

eddy_graph *recurrent_end_net(program *p)
{
    eddy_graph *net = p->graph;

    p->graph = around;
    return net;
}

eddy_output recurrent_blob(program *p, const char *name, eddy_dtype dtype)
{
    const eddy_shape any = {.rank = -1};
    eddy_output out;

    program_want_ok(p, eddy_graph_add_placeholder(p->graph, name, dtype, &any,
                                                  &out, &p->err));
    return out;
}

eddy_output recurrent_named(program *p, const char *op, const char *name,
                            eddy_output x, eddy_output y)
{
    const eddy_output inputs[] = {x, y};
    eddy_output out;

    program_want_ok(
        p, eddy_graph_add_op(p->graph, op, name, inputs, 2, &out, &p->err));
    return out;
}

/* h_next = decay * h_prev + x_t */
static eddy_graph *make_net(program *p, eddy_dtype dtype)
{
    eddy_output kept;

    recurrent_begin_net(p);
    kept = program_binary(p, "Mul", recurrent_blob(p, "decay", dtype),
                          recurrent_blob(p, "h_prev", dtype));
    recurrent_named(p, "AddV2", "h_next", kept,
                    recurrent_blob(p, "x_t", dtype));
    return recurrent_end_net(p);
}

void recurrent_init(recurrent *d, program *p, eddy_dtype dtype, int64_t n,
                    double decay)
{
    const double zero = 0;

    d->net = make_net(p, dtype);
    d->feeds[0] = trial_placeholder(p, dtype, &TRIAL_SHAPE(n), NULL, false);
    d->feeds[1] = trial_placeholder(p, dtype, &scalar, &zero, true);
    d->feeds[2] = trial_placeholder(p, dtype, &scalar, &decay, true);
    d->x = (eddy_caffe2_blob){"x", d->feeds[0].at};
    d->decay = (eddy_caffe2_blob){"decay", d->feeds[2].at};
    d->h = (eddy_caffe2_state){.name = "h", .initial = &d->feeds[1].at};
    d->links[0] = (eddy_caffe2_link){"x_t", "x", 0, 0};
    d->links[1] = (eddy_caffe2_link){"h_prev", "h", 0, 0};
    d->links[2] = (eddy_caffe2_link){"h_next", "h", 1, 0};
    for (int64_t i = 0; i < N_ALIASES; i++)
        d->aliases[i] = (eddy_caffe2_alias){"h", NULL, i - 2};
    d->aliases[2].dst = "hidden";
    d->spec = (eddy_caffe2_spec){
        .size = sizeof d->spec,
        .step_net = d->net,
        .inputs = &d->x,
        .n_inputs = 1,
        .states = &d->h,
        .n_states = 1,
        .params = &d->decay,
        .n_params = 1,
        .links = d->links,
        .n_links = 3,
        .aliases = d->aliases,
        .n_aliases = N_ALIASES,
    };
}

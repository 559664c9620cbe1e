/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/decaying.h"

#include <check.h>

const double decaying_values[DECAYING_MAX] = {1,     2.5,    4.25,
                                              6.125, 8.0625, 10.03125};

static eddy_status step(eddy_graph *graph, void *user, const eddy_output *args,
                        size_t n, eddy_output *out_outputs, eddy_error *err)
{
    const decaying *d = user;
    const bool is_given = d->spec.n_non_sequences > 0;
    const eddy_output inputs[] = {args[1], is_given ? args[2] : d->feeds[2].at};
    eddy_output sum[] = {{0, 0}, args[0]};
    eddy_output more[] = {{0, 0}, d->most};
    eddy_status status;

    ck_assert_uint_eq(n, 2 + d->spec.n_non_sequences);
    status = eddy_graph_add_op(graph, "Mul", NULL, inputs, 2, sum, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "AddV2", "h", sum, 2, more, err);
    *out_outputs = *more;
    if (status == EDDY_OK && d->spec.has_until)
        status = eddy_graph_add_op(graph, "Greater", NULL, more, 2,
                                   &out_outputs[1], err);
    return status;
}

void decaying_init(decaying *d, program *p, int64_t n, double most)
{
    const eddy_shape scalar = {.rank = 0};
    const double zero = 0, half = 0.5;

    ck_assert_int_le(n, DECAYING_MAX);
    d->feeds[0] =
        trial_placeholder(p, EDDY_FLOAT64, &TRIAL_SHAPE(n), NULL, false);
    d->feeds[1] = trial_placeholder(p, EDDY_FLOAT64, &scalar, &zero, true);
    d->feeds[2] = trial_placeholder(p, EDDY_FLOAT64, &scalar, &half, true);
    d->most = program_constant(p, EDDY_FLOAT64, &most);
    d->x = (eddy_theano_sequence){.input = d->feeds[0].at};
    d->h = (eddy_theano_output){.initial = &d->feeds[1].at};
    d->spec = (eddy_theano_spec){
        .size = sizeof d->spec,
        .step = step,
        .user = d,
        .sequences = &d->x,
        .n_sequences = 1,
        .outputs = &d->h,
        .n_outputs = 1,
    };
}

eddy_status decaying_scan(decaying *d, program *p)
{
    return eddy_theano_scan(p->graph, &d->spec, &d->outputs, &d->last,
                            &d->n_steps, &p->err);
}

trial_result decaying_run(const decaying *d, program *p, eddy_output fetch)
{
    return trial_both(p, d->feeds, 3, fetch);
}

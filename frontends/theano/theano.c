/* SPDX-License-Identifier: Apache-2.0 */
/* Theano's scan and what is made of it: checks, then a loop with taps. */
#include "eddy/theano.h"

#include "core/base/status.h"
#include "frontends/shared/attempt.h"
#include "frontends/theano/taps.h"

/* The widest reach of a sequence's taps. */
#define MAX_REACH (1 << 29)

static const int64_t now_tap[] = {0};
static const int64_t last_tap[] = {-1};

/* ---- checks ---- */

static eddy_status fail_tap(const char *name, const char *what, size_t i,
                            int64_t tap, eddy_error *err)
{
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, name, NULL,
                           "%s %zu of '%.64s' has tap %lld; taps of sequences "
                           "are from %d to %d, those of outputs from -%d to -1",
                           what, i, name, (long long)tap, -MAX_REACH, MAX_REACH,
                           EDDY__MAX_PAST);
}

static eddy_status check_sequence(const eddy_graph *graph, const char *name,
                                  const eddy_theano_sequence *s, size_t i,
                                  eddy_error *err)
{
    EDDY_TRY(eddy__builder_want_values(graph, &s->input, 1, err));
    for (size_t j = 0; s->taps && j < s->n_taps; j++)
        if (s->taps[j] < -MAX_REACH || s->taps[j] > MAX_REACH)
            return fail_tap(name, "sequence", i, s->taps[j], err);
    return EDDY_OK;
}

static eddy_status check_output(const eddy_graph *graph, const char *name,
                                const eddy_theano_output *o, size_t i,
                                eddy_error *err)
{
    if (o->initial)
        EDDY_TRY(eddy__builder_want_values(graph, o->initial, 1, err));
    else if (o->taps && o->n_taps > 0)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                               name, NULL,
                               "output %zu of '%.64s' has taps and no initial "
                               "value for them",
                               i, name);
    for (size_t j = 0; o->taps && j < o->n_taps; j++)
        if (o->taps[j] < -EDDY__MAX_PAST || o->taps[j] >= 0)
            return fail_tap(name, "output", i, o->taps[j], err);
    return EDDY_OK;
}

static eddy_status check_arrays(const eddy_theano_spec *spec, const char *name,
                                eddy_error *err)
{
    const char *problem = NULL;

    if (!spec->step)
        problem = "no step function";
    else if (spec->n_sequences > 0 && !spec->sequences)
        problem = "NULL for its sequences";
    else if (spec->n_outputs > 0 && !spec->outputs)
        problem = "NULL for its outputs";
    else if (spec->n_updates > 0 && !spec->updates)
        problem = "NULL for its updates";
    if (!problem)
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, name,
                           NULL, "'%.64s' has %s", name, problem);
}

static eddy_status check_numbers(const eddy_theano_spec *spec, const char *name,
                                 eddy_error *err)
{
    if (spec->parallel_iterations < 0)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT,
                               EDDY_E_PARALLEL_ITERATIONS, name, NULL,
                               "parallel_iterations of '%.64s' is %lld, it "
                               "must be at least 1",
                               name, (long long)spec->parallel_iterations);
    if (spec->truncate_gradient < -1)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, name,
                               NULL,
                               "truncate_gradient of '%.64s' is %lld; it is a "
                               "number of steps, or -1 for all",
                               name, (long long)spec->truncate_gradient);
    return EDDY_OK;
}

static eddy_status check_spec(const eddy_graph *graph,
                              const eddy_theano_spec *spec, eddy_error *err)
{
    const char *name = spec->name;

    EDDY_TRY(check_arrays(spec, name, err));
    EDDY_TRY(check_numbers(spec, name, err));
    for (size_t i = 0; i < spec->n_sequences; i++)
        EDDY_TRY(check_sequence(graph, name, &spec->sequences[i], i, err));
    for (size_t i = 0; i < spec->n_outputs; i++)
        EDDY_TRY(check_output(graph, name, &spec->outputs[i], i, err));
    for (size_t i = 0; i < spec->n_updates; i++)
        EDDY_TRY(
            eddy__builder_want_values(graph, &spec->updates[i].shared, 1, err));
    EDDY_TRY(eddy__builder_want_values(graph, spec->non_sequences,
                                       spec->n_non_sequences, err));
    return spec->n_steps
               ? eddy__builder_want_values(graph, spec->n_steps, 1, err)
               : EDDY_OK;
}

/* ---- the scan as a loop with taps ---- */

static eddy_status step(eddy_graph *graph, void *user,
                        const eddy__taps_now *now, eddy_output *out_outputs,
                        eddy_output *out_until, eddy_error *err)
{
    const eddy_theano_spec *spec = user;

    EDDY_TRY(spec->step(graph, spec->user, now->args, now->n_args, out_outputs,
                        err));
    *out_until = out_outputs[spec->n_outputs + spec->n_updates];
    return EDDY_OK;
}

static void fill_input(eddy__tapped_input *in, const eddy_theano_sequence *s)
{
    in->value = s->input;
    in->taps = s->taps ? s->taps : now_tap;
    in->n_taps = s->taps ? s->n_taps : 1;
}

static void fill_output(eddy__tapped_output *out, const eddy_theano_output *o)
{
    out->initial = o->initial;
    out->taps = o->taps ? o->taps : last_tap;
    out->n_taps = o->taps ? o->n_taps : 1;
    out->has_rows = out->n_taps != 1 || out->taps[0] != -1;
    /* Nothing reads it: in Theano too it is as if it were not given. */
    if (out->n_taps == 0)
        out->initial = NULL;
}

/* A shared value is an output of which only the newest value counts. */
static void fill_update(eddy__tapped_output *out, const eddy_theano_update *u)
{
    out->initial = &u->shared;
    out->taps = last_tap;
    out->n_taps = 1;
}

static eddy_status fill(eddy__taps *t, const eddy_theano_spec *spec,
                        eddy__arena *arena, eddy_error *err)
{
    t->inputs = eddy__arena_allocate_zeroed(arena, spec->n_sequences,
                                            sizeof *t->inputs);
    t->outputs =
        eddy__arena_allocate_zeroed(arena, t->n_outputs, sizeof *t->outputs);
    if (!t->inputs || !t->outputs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < spec->n_sequences; i++)
        fill_input(&t->inputs[i], &spec->sequences[i]);
    for (size_t i = 0; i < spec->n_outputs; i++)
        fill_output(&t->outputs[i], &spec->outputs[i]);
    for (size_t i = 0; i < spec->n_updates; i++)
        fill_update(&t->outputs[spec->n_outputs + i], &spec->updates[i]);
    return EDDY_OK;
}

/* Where results go; each may be NULL. */
typedef struct results {
    eddy_output *outputs, *last, *n_steps;
} results;

static void hand_over(const eddy__taps *t, const eddy_theano_spec *spec,
                      const results *to)
{
    for (size_t i = 0; i < spec->n_updates; i++)
        if (spec->updates[i].out_value)
            *spec->updates[i].out_value =
                t->outputs[spec->n_outputs + i].newest;
    for (size_t i = 0; i < spec->n_outputs; i++) {
        if (to->outputs)
            to->outputs[i] = t->outputs[i].stacked;
        if (to->last)
            to->last[i] = t->outputs[i].newest;
    }
    if (to->n_steps)
        *to->n_steps = t->n_taken;
}

/* Builds what has been checked. */
static eddy_status build(eddy_graph *graph, eddy_theano_spec *spec,
                         const results *to, eddy_error *err)
{
    eddy__arena arena = {.allocator = graph->arena.allocator};
    eddy__attempt attempt;
    eddy__taps t = {
        .name = spec->name,
        .step = step,
        .user = spec,
        .n_inputs = spec->n_sequences,
        .n_outputs = spec->n_outputs + spec->n_updates,
        .rest = spec->non_sequences,
        .n_rest = spec->n_non_sequences,
        .n_steps = spec->n_steps,
        .parallel_iterations = spec->parallel_iterations,
        .truncate = spec->truncate_gradient > 0 ? spec->truncate_gradient : 0,
        .is_backward = spec->go_backwards,
        .has_until = spec->has_until,
        .is_strict = spec->strict,
    };
    eddy_status status = fill(&t, spec, &arena, err);

    if (status == EDDY_OK)
        status = eddy__attempt_begin(&attempt, graph, err);
    if (status == EDDY_OK)
        status = eddy__attempt_end(&attempt, eddy__taps_build(graph, &t, err));
    if (status == EDDY_OK)
        hand_over(&t, spec, to);
    eddy__arena_destroy(&arena);
    return status;
}

/* A copy of the specification that has a name. */
static eddy_status take_spec(const eddy_graph *graph,
                             const eddy_theano_spec *spec,
                             const char *otherwise, eddy_theano_spec *out,
                             eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the %s", otherwise);
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the %s has the wrong size", otherwise);
    *out = *spec;
    if (!out->name || !*out->name)
        out->name = otherwise;
    return check_spec(graph, out, err);
}

/* ---- the public calls ---- */

eddy_status eddy_theano_scan(eddy_graph *graph, const eddy_theano_spec *spec,
                             eddy_output *out_outputs, eddy_output *out_last,
                             eddy_output *out_n_steps, eddy_error *err)
{
    const results to = {out_outputs, out_last, out_n_steps};
    eddy_theano_spec own = {.size = 0};

    EDDY_TRY(take_spec(graph, spec, "scan", &own, err));
    return build(graph, &own, &to, err);
}

eddy_status eddy_theano_map(eddy_graph *graph, const eddy_theano_spec *spec,
                            eddy_output *out_outputs, eddy_error *err)
{
    const results to = {.outputs = out_outputs};
    eddy_theano_spec own = {.size = 0};

    EDDY_TRY(take_spec(graph, spec, "map", &own, err));
    for (size_t i = 0; i < own.n_outputs; i++)
        if (own.outputs[i].initial)
            return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                                   own.name, NULL,
                                   "output %zu of the map '%.64s' has an "
                                   "initial value",
                                   i, own.name);
    return build(graph, &own, &to, err);
}

/* Of which only the last values are handed out. */
static eddy_status reduce(eddy_graph *graph, eddy_theano_spec *spec,
                          eddy_output *out_last, eddy_error *err)
{
    const results to = {.last = out_last};

    for (size_t i = 0; i < spec->n_outputs; i++)
        if (!spec->outputs[i].initial ||
            (spec->outputs[i].taps && spec->outputs[i].n_taps == 0))
            return eddy__fail_node(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, spec->name, NULL,
                "output %zu of '%.64s' has no initial value", i, spec->name);
    return build(graph, spec, &to, err);
}

eddy_status eddy_theano_reduce(eddy_graph *graph, const eddy_theano_spec *spec,
                               eddy_output *out_last, eddy_error *err)
{
    eddy_theano_spec own = {.size = 0};

    EDDY_TRY(take_spec(graph, spec, "reduce", &own, err));
    return reduce(graph, &own, out_last, err);
}

eddy_status eddy_theano_foldl(eddy_graph *graph, const eddy_theano_spec *spec,
                              eddy_output *out_last, eddy_error *err)
{
    eddy_theano_spec own = {.size = 0};

    EDDY_TRY(take_spec(graph, spec, "foldl", &own, err));
    own.go_backwards = false;
    return reduce(graph, &own, out_last, err);
}

eddy_status eddy_theano_foldr(eddy_graph *graph, const eddy_theano_spec *spec,
                              eddy_output *out_last, eddy_error *err)
{
    eddy_theano_spec own = {.size = 0};

    EDDY_TRY(take_spec(graph, spec, "foldr", &own, err));
    own.go_backwards = true;
    return reduce(graph, &own, out_last, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* CNTK's layers: Recurrence and Fold, as networks, and UnfoldFrom, as a loop.
 */
#include "eddy/cntk.h"

#include "core/base/status.h"
#include "frontends/shared/attempt.h"
#include "frontends/theano/taps.h"

#include <math.h>
#include <string.h>

/* ---- Recurrence and Fold ---- */

typedef struct layer {
    const eddy_cntk_recurrence_spec *spec;
    eddy_cntk *network;
    eddy__arena arena;
    eddy_cntk_value *states;  /* declared */
    eddy_cntk_value *inputs;  /* of the step */
    eddy_cntk_value *results; /* of it */
    eddy_cntk_wanted *wanted;
    eddy_error *err;
} layer;

static bool allocate(layer *l)
{
    const size_t n = l->spec->n_states;

    l->states = eddy__arena_allocate(&l->arena, n, sizeof *l->states);
    l->inputs = eddy__arena_allocate(&l->arena, n + l->spec->n_sequences,
                                     sizeof *l->inputs);
    l->results = eddy__arena_allocate(&l->arena, n, sizeof *l->results);
    l->wanted = eddy__arena_allocate(&l->arena, n, sizeof *l->wanted);
    return l->states && l->inputs && l->results && l->wanted;
}

/* The states before, and the items. */
static eddy_status describe_inputs(layer *l)
{
    const eddy_cntk_recurrence_spec *s = l->spec;

    if (s->lengths)
        EDDY_TRY(eddy_cntk_set_lengths(l->network, *s->lengths, l->err));
    for (size_t i = 0; i < s->n_states; i++) {
        EDDY_TRY(eddy_cntk_declare(l->network, "state", NULL, &l->states[i],
                                   l->err));
        if (s->go_backwards)
            EDDY_TRY(eddy_cntk_future_value(l->network, l->states[i], 1,
                                            s->initial[i], &l->inputs[i],
                                            l->err));
        else
            EDDY_TRY(eddy_cntk_past_value(l->network, l->states[i], 1,
                                          s->initial[i], &l->inputs[i],
                                          l->err));
    }
    for (size_t i = 0; i < s->n_sequences; i++)
        EDDY_TRY(eddy_cntk_sequence(l->network, s->sequences[i],
                                    &l->inputs[s->n_states + i], l->err));
    return EDDY_OK;
}

static eddy_status run_layer(layer *l, bool is_fold, eddy_output *out_results)
{
    const eddy_cntk_recurrence_spec *s = l->spec;
    const size_t n_wanted = s->return_full_state ? s->n_states : 1;
    const eddy_cntk_function step = {
        .size = sizeof step,
        .name = "step",
        .build = s->step,
        .user = s->user,
        .n_results = s->n_states,
    };

    if (!allocate(l))
        return eddy__fail_memory(l->err);
    EDDY_TRY(describe_inputs(l));
    EDDY_TRY(eddy_cntk_apply(l->network, &step, l->inputs,
                             s->n_states + s->n_sequences, l->results, l->err));
    for (size_t i = 0; i < s->n_states; i++) {
        EDDY_TRY(
            eddy_cntk_resolve(l->network, l->states[i], l->results[i], l->err));
        l->wanted[i] = (eddy_cntk_wanted){l->states[i], is_fold};
    }
    return eddy_cntk_build(l->network, l->wanted, n_wanted, out_results,
                           l->err);
}

static eddy_status check_layer(const eddy_cntk_recurrence_spec *spec,
                               const eddy_output *out_results, eddy_error *err)
{
    EDDY_REFUSE_IF(!spec, err, "no specification of the recurrence");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the recurrence has the wrong size");
    EDDY_REFUSE_IF(!spec->step, err, "no step");
    EDDY_REFUSE_IF(!out_results, err, "nowhere to put the results");
    EDDY_REFUSE_IF(spec->n_sequences > 0 && !spec->sequences, err,
                   "NULL for %zu sequences", spec->n_sequences);
    EDDY_REFUSE_IF(spec->n_states > 0 && !spec->initial, err,
                   "NULL for the first values of %zu states", spec->n_states);
    if (spec->n_states == 0 || spec->n_sequences == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a recurrence of %zu states over %zu sequences, one "
                          "of each is wanted at least",
                          spec->n_states, spec->n_sequences);
    return EDDY_OK;
}

static eddy_status build_layer(eddy_graph *graph,
                               const eddy_cntk_recurrence_spec *spec,
                               bool is_fold, eddy_output *out_results,
                               eddy_error *err)
{
    layer l = {.spec = spec, .err = err};
    const char *name;
    eddy_status status;

    EDDY_TRY(check_layer(spec, out_results, err));
    name = spec->name && *spec->name ? spec->name
           : is_fold                 ? "fold"
                                     : "recurrence";
    EDDY_TRY(eddy_cntk_create(graph, name, &l.network, err));
    l.arena.allocator = graph->arena.allocator;
    status = run_layer(&l, is_fold, out_results);
    eddy__arena_destroy(&l.arena);
    eddy_cntk_destroy(l.network);
    return status;
}

eddy_status eddy_cntk_recurrence(eddy_graph *graph,
                                 const eddy_cntk_recurrence_spec *spec,
                                 eddy_output *out_results, eddy_error *err)
{
    return build_layer(graph, spec, false, out_results, err);
}

eddy_status eddy_cntk_fold(eddy_graph *graph,
                           const eddy_cntk_recurrence_spec *spec,
                           eddy_output *out_results, eddy_error *err)
{
    return build_layer(graph, spec, true, out_results, err);
}

/* ---- UnfoldFrom ---- */

typedef struct unfolding {
    eddy_emitter w;
    eddy__arena arena;
    const eddy_cntk_unfold_spec *spec;
    eddy__taps taps;
    eddy_output *results; /* of the generator */
} unfolding;

static eddy_output write_cast(eddy_emitter *w, eddy_output x, eddy_dtype to)
{
    const eddy_attr attr = eddy_attr_type("DstT", &to);

    return eddy_emit_op(w, "Cast", &x, 1, &attr, 1);
}

/* How many items there may be, an integer scalar. */
static eddy_output write_most(unfolding *u)
{
    eddy_emitter *w = &u->w;
    const double factor =
        u->spec->length_increase != 0 ? u->spec->length_increase : 1;
    eddy_output n, scale = {EDDY_NO_NODE, 0};
    eddy_shape shape;

    if (!u->spec->like)
        return *u->spec->max_length;
    shape = eddy__writer_shape_of(w, *u->spec->like);
    if (shape.rank > 0 && shape.dims[0] >= 0)
        return eddy_emit_int64(
            w, (int64_t)fmin(floor((double)shape.dims[0] * factor), 1e18));
    n = eddy__write_length(w, *u->spec->like);
    if (factor == 1)
        return n;
    if (w->status == EDDY_OK)
        w->status = eddy_graph_add_scalar(w->graph, NULL, EDDY_FLOAT64, &factor,
                                          &scale, w->err);
    n = eddy_emit_binary(w, "Mul", write_cast(w, n, EDDY_FLOAT64), scale);
    return write_cast(w, eddy_emit_unary(w, "Floor", n), EDDY_INT64);
}

static eddy_status generate(eddy_graph *graph, void *user,
                            const eddy__taps_now *now, eddy_output *out_outputs,
                            eddy_output *out_until, eddy_error *err)
{
    unfolding *u = user;
    const eddy_cntk_unfold_spec *s = u->spec;
    const eddy_branch generator = {s->generator, s->user};
    const eddy_branch until = {s->until, s->user};
    const size_t n_results = s->n_states + s->has_output;

    for (size_t i = 0; i < n_results; i++)
        u->results[i] = (eddy_output){EDDY_NO_NODE, 0};
    EDDY_TRY(eddy__build_part(graph, &generator, now->args, s->n_states,
                              u->results, err));
    EDDY_TRY(eddy__builder_want_values(graph, u->results, n_results, err));
    if (s->until)
        EDDY_TRY(
            eddy__build_part(graph, &until, u->results, 1, out_until, err));
    for (size_t i = 0; i < s->n_states; i++)
        out_outputs[i] = u->results[i + s->has_output];
    if (s->has_output)
        out_outputs[s->n_states] = u->results[0];
    return EDDY_OK;
}

static eddy_status unfold(unfolding *u)
{
    static const int64_t before[] = {-1};
    const eddy_cntk_unfold_spec *s = u->spec;
    const size_t n = s->n_states + s->has_output;
    eddy__taps *t = &u->taps;
    eddy_output most;

    u->results = eddy__arena_allocate(&u->arena, n, sizeof *u->results);
    t->outputs = eddy__arena_allocate_zeroed(&u->arena, n, sizeof *t->outputs);
    if (!u->results || !t->outputs)
        return eddy__fail_memory(u->w.err);
    EDDY_TRY(eddy__builder_want_values(u->w.graph, s->initial, s->n_states,
                                       u->w.err));
    if (s->like)
        EDDY_TRY(eddy__builder_want_values(u->w.graph, s->like, 1, u->w.err));
    else
        EDDY_TRY(
            eddy__builder_want_values(u->w.graph, s->max_length, 1, u->w.err));
    for (size_t i = 0; i < s->n_states; i++) {
        t->outputs[i].initial = &s->initial[i];
        t->outputs[i].taps = before;
        t->outputs[i].n_taps = 1;
    }
    most = write_most(u);
    EDDY_TRY(u->w.status);
    t->name = s->name && *s->name ? s->name : "unfold";
    t->step = generate;
    t->user = u;
    t->n_outputs = n;
    t->n_steps = &most;
    t->has_until = s->until != NULL;
    return eddy__taps_build(u->w.graph, t, u->w.err);
}

static eddy_status check_unfold(const eddy_graph *graph,
                                const eddy_cntk_unfold_spec *spec,
                                const eddy_output *out_items, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the unfolding");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the unfolding has the wrong size");
    EDDY_REFUSE_IF(!spec->generator, err, "no generator");
    EDDY_REFUSE_IF(!out_items, err, "nowhere to put the items");
    EDDY_REFUSE_IF(spec->n_states > 0 && !spec->initial, err,
                   "NULL for the first values of %zu states", spec->n_states);
    EDDY_REFUSE_IF(!spec->like && !spec->max_length, err,
                   "nothing says how many items there are");
    if (spec->n_states == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "an unfolding without states");
    if (spec->length_increase < 0 || !isfinite(spec->length_increase))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                          "a length increase of %g, a positive number is "
                          "wanted",
                          spec->length_increase);
    return EDDY_OK;
}

eddy_status eddy_cntk_unfold_from(eddy_graph *graph,
                                  const eddy_cntk_unfold_spec *spec,
                                  eddy_output *out_items,
                                  eddy_output *out_n_items, eddy_error *err)
{
    unfolding u = {.spec = spec};
    eddy__attempt attempt;
    eddy_status status;

    EDDY_TRY(check_unfold(graph, spec, out_items, err));
    u.w = eddy_emitter_of(graph, err);
    u.arena.allocator = graph->arena.allocator;
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    status = eddy__attempt_end(&attempt, unfold(&u));
    if (status == EDDY_OK) {
        *out_items =
            u.taps.outputs[spec->has_output ? spec->n_states : 0].stacked;
        if (out_n_items)
            *out_n_items = u.taps.n_taken;
    }
    eddy__arena_destroy(&u.arena);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe2's recurrent networks: the loop, and what comes out of it. */
#include "eddy/caffe2.h"

#include "core/base/status.h"
#include "eddy/lower.h"
#include "frontends/caffe2/caffe2.h"
#include "frontends/shared/attempt.h"

/* ---- the loop ---- */

/* Numbers from `first` on. */
static const int64_t *count_from(eddy__recurrent *n, int64_t first,
                                 size_t count, eddy_error *err)
{
    int64_t *numbers = eddy__arena_allocate(&n->arena, count, sizeof *numbers);

    if (!numbers)
        eddy__fail_memory(err);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = first + (int64_t)i;
    return numbers;
}

/* How many rows from its own on a step reads of an input. */
static size_t rows_read(const eddy__recurrent *n, size_t input)
{
    size_t most = 0;

    for (size_t i = 0; i < n->spec->n_links; i++) {
        const eddy_caffe2_link *link = &n->spec->links[i];
        const size_t rows =
            (size_t)link->offset + (link->window > 0 ? link->window : 1);

        if (!n->joints[i].is_state && n->joints[i].external == input &&
            rows > most)
            most = rows;
    }
    return most;
}

static eddy_status fill_inputs(eddy__recurrent *n, size_t *n_args,
                               eddy_error *err)
{
    for (size_t i = 0; i < n->spec->n_inputs; i++) {
        eddy__tapped_input *in = &n->t.inputs[i];

        in->value = n->spec->inputs[i].value;
        in->n_taps = rows_read(n, i);
        in->taps = count_from(n, 0, in->n_taps, err);
        if (!in->taps)
            return EDDY_RESOURCE_EXHAUSTED;
        n->input_args[i] = *n_args;
        *n_args += in->n_taps;
    }
    return EDDY_OK;
}

static eddy_status fill_states(eddy__recurrent *n, size_t *n_args,
                               eddy_error *err)
{
    for (size_t i = 0; i < n->spec->n_states; i++) {
        const eddy_caffe2_state *state = &n->spec->states[i];
        eddy__tapped_output *out = &n->t.outputs[i];

        out->initial = state->initial;
        out->has_rows = state->n_initial > 0;
        out->n_taps = eddy__caffe2_initial_rows(state);
        out->taps = count_from(n, -(int64_t)out->n_taps, out->n_taps, err);
        if (!out->taps)
            return EDDY_RESOURCE_EXHAUSTED;
        n->state_args[i] = *n_args;
        *n_args += out->n_taps;
    }
    return EDDY_OK;
}

static eddy_status fill(eddy__recurrent *n, eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;
    size_t n_args = 0;

    n->t.inputs = eddy__arena_allocate_zeroed(&n->arena, spec->n_inputs,
                                              sizeof *n->t.inputs);
    n->t.outputs = eddy__arena_allocate_zeroed(&n->arena, spec->n_states,
                                               sizeof *n->t.outputs);
    n->input_args =
        eddy__arena_allocate(&n->arena, spec->n_inputs, sizeof *n->input_args);
    n->state_args =
        eddy__arena_allocate(&n->arena, spec->n_states, sizeof *n->state_args);
    if (!n->t.inputs || !n->t.outputs || !n->input_args || !n->state_args)
        return eddy__fail_memory(err);
    EDDY_TRY(fill_inputs(n, &n_args, err));
    return fill_states(n, &n_args, err);
}

/* ---- outputs ---- */

static bool has_gradient(const eddy__recurrent *n, size_t alias)
{
    const eddy_caffe2_spec *spec = n->spec;

    for (size_t i = 0; i < spec->n_outputs_with_grads; i++)
        if (spec->outputs_with_grads[i] == alias)
            return true;
    return !spec->outputs_with_grads;
}

static eddy_output vector_of(eddy_emitter *w, int64_t value)
{
    return eddy_emit_binary(w, "ExpandDims", eddy_emit_int32(w, (int32_t)value),
                            eddy_emit_int32(w, 0));
}

/* All rows of a state, those that it had before the first step included. */
static eddy_output all_rows(eddy_emitter *w, const eddy__tapped_output *out)
{
    eddy_output parts[] = {{EDDY_NO_NODE, 0}, out->stacked, {EDDY_NO_NODE, 0}};

    if (!out->initial)
        return out->stacked;
    parts[2] = eddy_emit_int32(w, 0);
    parts[0] = out->has_rows
                   ? *out->initial
                   : eddy_emit_binary(w, "ExpandDims", *out->initial, parts[2]);
    return eddy_emit_op(w, "ConcatV2", parts, 3, NULL, 0);
}

static eddy_output rows_from(eddy_emitter *w, const eddy__tapped_output *out,
                             size_t before, int64_t offset)
{
    eddy_output inputs[4];

    if (offset >= 0 && (size_t)offset == before)
        return out->stacked;
    if (offset == -1 && out->n_past > 0)
        return eddy_emit_binary(w, "ExpandDims", out->newest,
                                eddy_emit_int32(w, 0));
    inputs[0] = all_rows(w, out);
    if (offset == 0)
        return inputs[0];
    inputs[1] = vector_of(w, offset);
    inputs[2] = vector_of(w, INT32_MAX);
    inputs[3] = vector_of(w, 1);
    return eddy_emit_op(w, "StridedSlice", inputs, 4, NULL, 0);
}

/* An Identity with the name that an alias gives it. */
static eddy_output name_output(eddy_emitter *w, eddy_output value,
                               const char *name)
{
    if (!name || !*name)
        return value;
    eddy_emit_check(w, w->status == EDDY_OK
                           ? eddy_graph_add_op(w->graph, "Identity", name,
                                               &value, 1, &value, w->err)
                           : w->status);
    return value;
}

static eddy_status write_outputs(eddy_graph *graph, const eddy__recurrent *n,
                                 eddy_output *outputs, eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(graph, err);

    for (size_t i = 0; i < n->spec->n_aliases; i++) {
        const eddy_caffe2_alias *alias = &n->spec->aliases[i];
        eddy__joint j = {.is_state = false};

        if (!eddy_emit_check(&w, eddy__recurrent_find(n, alias->src, &j, err)))
            return w.status;
        outputs[i] =
            rows_from(&w, &n->t.outputs[j.external],
                      eddy__caffe2_initial_rows(&n->spec->states[j.external]),
                      alias->offset);
        if (!has_gradient(n, i))
            outputs[i] = eddy_emit_unary(&w, "StopGradient", outputs[i]);
        outputs[i] = name_output(&w, outputs[i], alias->dst);
    }
    return w.status;
}

/* ---- the public calls ---- */

/*
 * As many as the first input has rows; where that is the only one, and nothing
 * is read ahead of it, the loop counts them by itself.
 */
static eddy_status count_steps(eddy_graph *graph, eddy__recurrent *n,
                               eddy_error *err)
{
    const eddy_output first = n->spec->inputs[0].value;
    eddy_emitter w = eddy_emitter_of(graph, err);
    const eddy_shape shape = eddy__writer_shape_of(&w, first);

    if ((n->spec->n_inputs == 1 && rows_read(n, 0) <= 1) || shape.rank == 0)
        return EDDY_OK;
    n->n_steps = shape.rank > 0 && shape.dims[0] >= 0
                     ? eddy_emit_int64(&w, shape.dims[0])
                     : eddy__write_length(&w, first);
    n->t.n_steps = &n->n_steps;
    return w.status;
}

static eddy_status build_loop(eddy_graph *graph, eddy__recurrent *n,
                              eddy_output *out_outputs, eddy_error *err)
{
    n->t = (eddy__taps){
        .name = n->name,
        .step = eddy__recurrent_step,
        .user = n,
        .n_inputs = n->spec->n_inputs,
        .n_outputs = n->spec->n_states,
        .parallel_iterations = n->spec->parallel_iterations,
    };
    EDDY_TRY(eddy__recurrent_join(n, err));
    EDDY_TRY(fill(n, err));
    EDDY_TRY(count_steps(graph, n, err));
    EDDY_TRY(eddy__taps_build(graph, &n->t, err));
    return write_outputs(graph, n, out_outputs, err);
}

/* The results come out whole or not at all. */
static eddy_status build(eddy_graph *graph, eddy__recurrent *n,
                         eddy_output *out_outputs, eddy_error *err)
{
    const size_t count = n->spec->n_aliases;
    eddy_output *outputs =
        eddy__arena_allocate(&n->arena, count, sizeof *outputs);
    eddy__attempt attempt;

    if (!outputs)
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    EDDY_TRY(eddy__attempt_end(&attempt, build_loop(graph, n, outputs, err)));
    for (size_t i = 0; out_outputs && i < count; i++)
        out_outputs[i] = outputs[i];
    return EDDY_OK;
}

static const char *name_of(const char *name)
{
    return name && *name ? name : "recurrent";
}

eddy_status eddy_caffe2_recurrent_network(eddy_graph *graph,
                                          const eddy_caffe2_spec *spec,
                                          eddy_output *out_outputs,
                                          eddy_error *err)
{
    eddy__recurrent n = {.spec = spec};
    eddy_graph *lowered = NULL;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the recurrent network");
    EDDY_REFUSE_IF(
        spec->size != sizeof *spec, err,
        "the specification of the recurrent network has the wrong size");
    n.name = name_of(spec->name);
    n.net = spec->step_net;
    EDDY_TRY(eddy__recurrent_check(graph, &n, err));
    if (n.net->n_functions > 0) {
        EDDY_TRY(eddy_graph_lower(n.net, NULL, &lowered, err));
        n.net = lowered;
    }
    n.arena.allocator = graph->arena.allocator;
    status = build(graph, &n, out_outputs, err);
    eddy__arena_destroy(&n.arena);
    eddy_graph_destroy(lowered);
    return status;
}

/* ---- the links of a cell ---- */

/* The parts of a specification, in one arena. */
typedef struct cell {
    eddy_caffe2_state *states;
    eddy_caffe2_link *links;
    eddy_caffe2_alias *aliases;
    size_t n_links;
} cell;

static void link_cell(const eddy_caffe2_net_spec *spec, cell *c)
{
    for (size_t i = 0; i < spec->n_inputs; i++)
        c->links[c->n_links++] = (eddy_caffe2_link){
            .internal = spec->inputs[i].name, .external = spec->inputs[i].name};
    for (size_t i = 0; i < spec->n_states; i++) {
        const eddy_caffe2_cell_state *state = &spec->states[i];

        c->states[i] = (eddy_caffe2_state){.name = state->input,
                                           .initial = &state->initial};
        c->links[c->n_links++] = (eddy_caffe2_link){.internal = state->input,
                                                    .external = state->input};
        c->links[c->n_links++] = (eddy_caffe2_link){
            .internal = state->output, .external = state->input, .offset = 1};
        c->aliases[2 * i] =
            (eddy_caffe2_alias){.src = state->input, .offset = 1};
        c->aliases[2 * i + 1] =
            (eddy_caffe2_alias){.src = state->input, .offset = -1};
    }
}

static eddy_status build_cell(eddy_graph *graph,
                              const eddy_caffe2_net_spec *spec,
                              eddy__arena *arena, eddy_output *out_outputs,
                              eddy_error *err)
{
    const size_t n = spec->n_states;
    cell c = {
        .states = eddy__arena_allocate(arena, n, sizeof *c.states),
        .links = eddy__arena_allocate(arena, spec->n_inputs + 2 * n,
                                      sizeof *c.links),
        .aliases = eddy__arena_allocate(arena, 2 * n, sizeof *c.aliases),
    };
    eddy_caffe2_spec whole = {
        .size = sizeof whole,
        .name = spec->name,
        .step_net = spec->cell_net,
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .states = c.states,
        .n_states = n,
        .links = c.links,
        .aliases = c.aliases,
        .n_aliases = 2 * n,
        .timestep = spec->timestep,
        .outputs_with_grads = spec->outputs_with_grads,
        .n_outputs_with_grads = spec->n_outputs_with_grads,
    };

    if (!c.states || !c.links || !c.aliases)
        return eddy__fail_memory(err);
    link_cell(spec, &c);
    whole.n_links = c.n_links;
    return eddy_caffe2_recurrent_network(graph, &whole, out_outputs, err);
}

eddy_status eddy_caffe2_recurrent_net(eddy_graph *graph,
                                      const eddy_caffe2_net_spec *spec,
                                      eddy_output *out_outputs, eddy_error *err)
{
    eddy__arena arena = {.allocator = NULL};
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the recurrent network");
    EDDY_REFUSE_IF(
        spec->size != sizeof *spec, err,
        "the specification of the recurrent network has the wrong size");
    EDDY_REFUSE_IF(spec->n_states > 0 && !spec->states, err,
                   "NULL for the states of '%.64s'", name_of(spec->name));
    EDDY_REFUSE_IF(spec->n_inputs > 0 && !spec->inputs, err,
                   "NULL for the inputs of '%.64s'", name_of(spec->name));
    arena.allocator = graph->arena.allocator;
    status = build_cell(graph, spec, &arena, out_outputs, err);
    eddy__arena_destroy(&arena);
    return status;
}

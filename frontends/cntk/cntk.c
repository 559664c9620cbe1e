/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a network of sequences: its loops one after the other, each a loop
 * with taps (frontends/theano/taps.h) in which a past or future value is an
 * output of the step before, or of several before; and the shifts between them.
 */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "frontends/shared/attempt.h"
#include "frontends/shared/network_build.h"
#include "frontends/theano/taps.h"

static const eddy_output nowhere = {EDDY_NO_NODE, 0};

static uint32_t loop_of(const eddy__construction *k, eddy_cntk_value value)
{
    return k->loops.placing[k->network->cell_of[value]].loop;
}

static bool is_in_loop(const eddy__construction *k, size_t i)
{
    return k->loops.placing[k->loops.order[i]].loop == k->loop;
}

/* ---- what a loop takes in and gives out ---- */

/* A value once in a list. */
static void note(eddy_cntk_value *values, size_t begin, size_t *n,
                 eddy_cntk_value value)
{
    for (size_t i = begin; i < *n; i++)
        if (values[i] == value)
            return;
    values[(*n)++] = value;
}

static void list_inputs(eddy__construction *k)
{
    k->n_inputs = 0;
    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = eddy__network_ordered(k, i);

        for (size_t j = 0; is_in_loop(k, i) && j < cell->n_inputs; j++) {
            const eddy_cntk_value from = eddy__network_source(k, cell, j);

            if (loop_of(k, from) != k->loop &&
                eddy__cell_at(k->network, from)->kind != EDDY__CELL_OUTSIDE)
                note(k->inputs, 0, &k->n_inputs, from);
        }
    }
}

/* Does a delay of the loop keep the value, so that its rows are there? */
static bool is_kept(const eddy__construction *k, eddy_cntk_value value)
{
    for (size_t i = 0; i < k->n_delays; i++)
        if (eddy__network_source(k, eddy__cell_at(k->network, k->outputs[i]),
                                 0) == value)
            return true;
    return false;
}

/* Of a delay, the value of the delay itself stands for it. */
static void list_outputs(eddy__construction *k)
{
    k->n_outputs = 0;
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (is_in_loop(k, i) &&
            eddy__network_ordered(k, i)->kind == EDDY__CELL_DELAY)
            k->outputs[k->n_outputs++] = eddy__network_ordered(k, i)->first;
    k->n_delays = k->n_outputs;
    for (size_t i = 0; i < k->loops.n_order; i++)
        for (size_t v = 0;
             is_in_loop(k, i) && v < eddy__network_ordered(k, i)->n_values;
             v++) {
            const eddy_cntk_value value =
                eddy__network_ordered(k, i)->first + (eddy_cntk_value)v;

            if (k->is_read[value] && !is_kept(k, value))
                note(k->outputs, k->n_delays, &k->n_outputs, value);
        }
}

/* ---- the step ---- */

static eddy_status build_cell(eddy__construction *k, const eddy__cell *cell,
                              eddy_output *inputs)
{
    eddy_graph *graph = k->w.graph;

    for (size_t i = 0; i < cell->n_inputs; i++)
        inputs[i] = k->now[eddy__network_source(k, cell, i)];
    if (cell->op)
        return eddy_graph_add_op(graph, cell->op, NULL, inputs, cell->n_inputs,
                                 &k->now[cell->first], k->w.err);
    for (size_t i = 0; i < cell->n_values; i++)
        k->now[cell->first + i] = nowhere;
    EDDY_TRY(eddy__build_part(graph, &cell->part, inputs, cell->n_inputs,
                              &k->now[cell->first], k->w.err));
    return eddy__builder_want_values(graph, &k->now[cell->first],
                                     cell->n_values, k->w.err);
}

static eddy_status build_step(eddy_graph *graph, void *user,
                              const eddy__taps_now *now,
                              eddy_output *out_outputs, eddy_output *out_until,
                              eddy_error *err)
{
    eddy__construction *k = user;
    size_t most = 0;
    eddy_output *inputs;

    (void)graph;
    (void)out_until;
    for (size_t i = 0; i < k->n_inputs; i++)
        k->now[k->inputs[i]] = now->args[i];
    for (size_t i = 0; i < k->n_delays; i++)
        k->now[k->outputs[i]] = now->args[k->n_inputs + i];
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (eddy__network_ordered(k, i)->n_inputs > most)
            most = eddy__network_ordered(k, i)->n_inputs;
    inputs = eddy__arena_allocate(&k->arena, most, sizeof *inputs);
    if (!inputs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (is_in_loop(k, i) &&
            eddy__network_ordered(k, i)->kind == EDDY__CELL_FUNCTION)
            EDDY_TRY(build_cell(k, eddy__network_ordered(k, i), inputs));
    for (size_t i = 0; i < k->n_outputs; i++) {
        const eddy__cell *cell = eddy__cell_at(k->network, k->outputs[i]);

        out_outputs[i] =
            k->now[i < k->n_delays ? eddy__network_source(k, cell, 0)
                                   : k->outputs[i]];
    }
    return EDDY_OK;
}

/* ---- the loops ---- */

/* The shape that was declared of the value at one step, or unknown. */
static eddy_shape declared_item(const eddy__construction *k,
                                eddy_cntk_value value)
{
    const eddy__cell *cell = eddy__cell_at(k->network, value);

    while (cell->kind == EDDY__CELL_DECLARED &&
           !eddy__network_is_full(&cell->item) &&
           cell->inputs[0] != EDDY__NO_VALUE)
        cell = eddy__cell_at(k->network, cell->inputs[0]);
    return cell->kind == EDDY__CELL_DECLARED ? cell->item
                                             : (eddy_shape){.rank = -1};
}

/* One value, or a row for each step before the first. */
static eddy_output write_initial(eddy__construction *k, const eddy__cell *cell,
                                 int64_t n)
{
    const eddy_shape own = eddy__writer_shape_of(&k->w, cell->from);
    const eddy_shape item = declared_item(k, cell->inputs[0]);
    int32_t dims[EDDY_MAX_RANK];

    if (n > 1)
        return eddy__network_write_rows(
            k, cell->from, n, eddy__network_is_full(&item) ? &item : &own,
            nowhere);
    if (!eddy__network_is_full(&item) || eddy__shape_equal(&item, &own))
        return cell->from;
    for (int32_t i = 0; i < item.rank; i++)
        dims[i] = (int32_t)item.dims[i];
    return eddy_emit_binary(
        &k->w, "BroadcastTo", cell->from,
        eddy__network_write_vector(k, dims, (size_t)item.rank));
}

static bool make_taps(eddy__construction *k, eddy__taps *t)
{
    const size_t n = k->n_inputs, m = k->n_outputs;
    int64_t *taps = eddy__arena_allocate_zeroed(&k->arena, n + m, sizeof *taps);
    eddy_output *initial = eddy__arena_allocate(&k->arena, m, sizeof *initial);

    t->inputs = eddy__arena_allocate_zeroed(&k->arena, n, sizeof *t->inputs);
    t->outputs = eddy__arena_allocate_zeroed(&k->arena, m, sizeof *t->outputs);
    if (!taps || !initial || !t->inputs || !t->outputs)
        return false;
    t->n_inputs = n;
    t->n_outputs = m;
    for (size_t i = 0; i < n; i++) {
        t->inputs[i].value = k->tensor[k->inputs[i]];
        t->inputs[i].taps = &taps[i];
        t->inputs[i].n_taps = 1;
    }
    for (size_t i = 0; i < k->n_delays; i++) {
        const eddy__cell *cell = eddy__cell_at(k->network, k->outputs[i]);
        const int64_t delay = cell->delay > 0 ? cell->delay : -cell->delay;

        taps[n + i] = -delay;
        initial[i] = write_initial(k, cell, delay);
        t->outputs[i].initial = &initial[i];
        t->outputs[i].has_rows = delay > 1;
        t->outputs[i].taps = &taps[n + i];
        t->outputs[i].n_taps = 1;
    }
    return true;
}

/* Steps that went backward gave the last item first. */
static eddy_output in_order(eddy__construction *k, eddy_output stacked)
{
    const int32_t axis = 0;

    if (k->loops.direction[k->loop] > 0)
        return stacked;
    return eddy_emit_binary(&k->w, "ReverseV2", stacked,
                            eddy__network_write_vector(k, &axis, 1));
}

static eddy_status build_loop(eddy__construction *k)
{
    eddy__taps t = {
        .name = k->network->name,
        .step = build_step,
        .user = k,
        .is_backward = k->loops.direction[k->loop] < 0,
        .lengths = k->lengths.node != EDDY_NO_NODE ? &k->lengths : NULL,
    };

    list_inputs(k);
    list_outputs(k);
    if (k->n_outputs == 0)
        return EDDY_OK;
    if (!make_taps(k, &t))
        return eddy__fail_memory(k->w.err);
    if (k->n_inputs == 0)
        t.n_steps = &k->length;
    EDDY_TRY(k->w.status);
    EDDY_TRY(eddy__taps_build(k->w.graph, &t, k->w.err));
    for (size_t i = 0; i < k->n_delays; i++) {
        const eddy_cntk_value of = eddy__network_source(
            k, eddy__cell_at(k->network, k->outputs[i]), 0);

        k->final[of] = t.outputs[i].newest;
        if (k->is_read[of] && k->tensor[of].node == EDDY_NO_NODE)
            k->tensor[of] = in_order(k, t.outputs[i].stacked);
    }
    for (size_t i = k->n_delays; i < k->n_outputs; i++)
        k->tensor[k->outputs[i]] = in_order(k, t.outputs[i].stacked);
    return k->w.status;
}

/* ---- the whole ---- */

static void mark_read(eddy__construction *k)
{
    for (size_t i = 0; i < k->n_wanted; i++)
        if (!k->wanted[i].is_final)
            k->is_read[eddy__network_root(k->network, k->wanted[i].value)] = 1;
    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = eddy__network_ordered(k, i);

        for (size_t j = 0; j < cell->n_inputs; j++) {
            const eddy_cntk_value from = eddy__network_source(k, cell, j);

            if (loop_of(k, from) != k->loops.placing[k->loops.order[i]].loop)
                k->is_read[from] = 1;
        }
    }
}

static bool allocate(eddy__construction *k)
{
    const size_t n = k->network->n_values;

    k->is_read = eddy__arena_allocate_zeroed(&k->arena, n, 1);
    k->tensor = eddy__arena_allocate(&k->arena, n, sizeof *k->tensor);
    k->now = eddy__arena_allocate(&k->arena, n, sizeof *k->now);
    k->final = eddy__arena_allocate(&k->arena, n, sizeof *k->final);
    k->inputs = eddy__arena_allocate(&k->arena, n, sizeof *k->inputs);
    k->outputs = eddy__arena_allocate(&k->arena, 2 * n, sizeof *k->outputs);
    if (!k->is_read || !k->tensor || !k->now || !k->final || !k->inputs ||
        !k->outputs)
        return false;
    for (size_t i = 0; i < n; i++)
        k->tensor[i] = k->now[i] = k->final[i] = nowhere;
    return true;
}

static eddy_status fail_wanted(const eddy__construction *k,
                               const eddy__cell *cell, const char *why)
{
    return eddy__fail_node(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                           cell->name, NULL, "'%.64s' of '%.64s' %s",
                           cell->name, k->network->name, why);
}

/* All steps of a value, zeros where a sequence of a batch has no item. */
static eddy_output without_gaps(eddy__construction *k, eddy_cntk_value value)
{
    const eddy_output x = k->tensor[value];

    /* Loops write such rows by themselves. */
    if (k->lengths.node == EDDY_NO_NODE || loop_of(k, value) != EDDY__NO_LOOP)
        return x;
    return eddy__network_write_masked(
        k, x, 0,
        eddy_emit_cast(&k->w, eddy_emit_int32(&k->w, 0),
                       eddy_graph_output_dtype(k->w.graph, x)));
}

static eddy_status take_results(eddy__construction *k, eddy_output *results)
{
    for (size_t i = 0; i < k->n_wanted; i++) {
        const eddy_cntk_value root =
            eddy__network_root(k->network, k->wanted[i].value);
        const eddy__cell *cell = eddy__cell_at(k->network, root);

        results[i] = k->wanted[i].is_final ? k->final[root] : k->tensor[root];
        if (!k->wanted[i].is_final && results[i].node != EDDY_NO_NODE)
            results[i] = without_gaps(k, root);
        if (results[i].node != EDDY_NO_NODE)
            continue;
        if (k->wanted[i].is_final)
            return fail_wanted(k, cell,
                               "has no final value: no past or future value in "
                               "a cycle refers to it");
        return fail_wanted(k, cell, "is a value from outside, not a sequence");
    }
    return k->w.status;
}

static eddy_status build(eddy__construction *k, eddy_output *results)
{
    EDDY_TRY(eddy__network_plan(k->network, k->wanted, k->n_wanted, &k->arena,
                                &k->loops, k->w.err));
    if (!allocate(k))
        return eddy__fail_memory(k->w.err);
    mark_read(k);
    EDDY_TRY(eddy__take_sequences(k));
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (eddy__network_ordered(k, i)->kind == EDDY__CELL_OUTSIDE)
            k->now[eddy__network_ordered(k, i)->first] =
                eddy__network_ordered(k, i)->from;
    for (k->loop = 0; k->loop < k->loops.n_loops; k->loop++) {
        eddy__network_write_shifts(k);
        EDDY_TRY(k->w.status);
        EDDY_TRY(build_loop(k));
    }
    eddy__network_write_shifts(k);
    EDDY_TRY(k->w.status);
    return take_results(k, results);
}

eddy_status eddy_cntk_build(eddy_cntk *network, const eddy_cntk_wanted *wanted,
                            size_t n, eddy_output *out_results, eddy_error *err)
{
    eddy__construction k = {
        .network = network, .wanted = wanted, .n_wanted = n};
    eddy__attempt attempt;
    eddy_output *results;
    eddy_status status;

    EDDY_REFUSE_IF(!network, err, "no network");
    EDDY_REFUSE_IF(!wanted || n == 0, err, "nothing is wanted");
    EDDY_REFUSE_IF(!out_results, err, "nowhere to put the results");
    for (size_t i = 0; i < n; i++)
        if (wanted[i].value >= network->n_values)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                              "wanted %zu is no value of '%.64s'", i,
                              network->name);
    k.w = eddy_emitter_of(network->graph, err);
    k.arena.allocator = network->arena.allocator;
    results = eddy__arena_allocate(&k.arena, n, sizeof *results);
    if (!results)
        return eddy__fail_memory(err);
    status = eddy__attempt_begin(&attempt, network->graph, err);
    if (status == EDDY_OK)
        status = eddy__attempt_end(&attempt, build(&k, results));
    for (size_t i = 0; i < n && status == EDDY_OK; i++)
        out_results[i] = results[i];
    eddy__arena_destroy(&k.arena);
    return status;
}

/*
 * Building a network of sequences: its loops one after the other, each a loop
 * with taps (frontends/taps.h) in which a past or future value is an output of
 * the step before, or of several before; and the shifts between them.
 */
#include "frontends/attempt.h"
#include "frontends/network.h"
#include "frontends/taps.h"
#include "runtime/base/status.h"
#include "runtime/core/shape.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static const eddy_output nowhere = {EDDY_NO_NODE, 0};

typedef struct construction {
    eddy__writer w;
    eddy__arena arena;
    const eddy_cntk *network;
    const eddy_cntk_wanted *wanted;
    size_t n_wanted;
    eddy__loops loops;
    eddy_output length;  /* of all sequences, int32 */
    uint8_t *is_read;    /* a value, outside of its loop */
    eddy_output *tensor; /* a value at all steps, once it is there */
    eddy_output *now;    /* a value at the step that is being built */
    eddy_output *final;  /* what its loop has left of a value, if known */

    /* Of the loop that is being built. */
    uint32_t loop;
    eddy_cntk_value *inputs;  /* of the loop */
    eddy_cntk_value *outputs; /* likewise: delays first, then what is read */
    size_t n_inputs, n_outputs, n_delays;
} construction;

static eddy_cntk_value source(const construction *k, const eddy__cell *cell,
                              size_t i)
{
    return eddy__network_root(k->network, cell->inputs[i]);
}

static uint32_t loop_of(const construction *k, eddy_cntk_value value)
{
    return k->loops.placing[k->network->cell_of[value]].loop;
}

static const eddy__cell *ordered(const construction *k, size_t i)
{
    return &k->network->cells[k->loops.order[i]];
}

static bool is_in_loop(const construction *k, size_t i)
{
    return k->loops.placing[k->loops.order[i]].loop == k->loop;
}

/* ---- small things ---- */

static eddy_output write_vector(construction *k, const int32_t *elements,
                                size_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {(int64_t)n}};
    eddy_tensor *tensor;
    eddy_output out;

    if (k->w.status != EDDY_OK ||
        !eddy__write_check(&k->w,
                           eddy_tensor_create(k->w.graph->ctx, EDDY_INT32,
                                              &shape, &tensor, k->w.err)))
        return nowhere;
    if (n > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               n * sizeof *elements);
    out = eddy__write_const(&k->w, tensor);
    eddy_tensor_release(tensor);
    return out;
}

static eddy_output as_vector(construction *k, eddy_output x)
{
    return eddy__write_binary(&k->w, "ExpandDims", x,
                              eddy__write_int32(&k->w, 0));
}

static eddy_output write_concat(construction *k, eddy_output a, eddy_output b)
{
    const eddy_output inputs[] = {a, b, eddy__write_int32(&k->w, 0)};

    return eddy__write(&k->w, "ConcatV2", inputs, N_OF(inputs), NULL, 0);
}

static bool is_full(const eddy_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0 || shape->dims[i] > INT32_MAX)
            return false;
    return shape->rank >= 0;
}

/*
 * `value` as `n` rows of the shape `item`; where that is not known, of the
 * shape that the rows of `like` have, or `value` itself if `like` is nowhere.
 */
static eddy_output write_rows(construction *k, eddy_output value, int64_t n,
                              const eddy_shape *item, eddy_output like)
{
    int32_t dims[EDDY_MAX_RANK + 1] = {(int32_t)n}, one = 1;
    eddy_output shape, from;

    if (is_full(item) && item->rank < EDDY_MAX_RANK) {
        for (int32_t i = 0; i < item->rank; i++)
            dims[i + 1] = (int32_t)item->dims[i];
        shape = write_vector(k, dims, (size_t)item->rank + 1);
    } else {
        const bool is_own = like.node == EDDY_NO_NODE;

        from = eddy__write_unary(&k->w, "Shape", is_own ? value : like);
        if (!is_own) {
            const int32_t all = INT32_MAX;
            const eddy_output slice[] = {from, write_vector(k, &one, 1),
                                         write_vector(k, &all, 1),
                                         write_vector(k, &one, 1)};

            from =
                eddy__write(&k->w, "StridedSlice", slice, N_OF(slice), NULL, 0);
        }
        shape = write_concat(k, write_vector(k, dims, 1), from);
    }
    return eddy__write_binary(&k->w, "BroadcastTo", value, shape);
}

/* ---- sequences ---- */

static eddy_status fail_length(const construction *k, const eddy__cell *cell,
                               const eddy__cell *first, const char *why)
{
    return eddy__fail_at(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                         &k->w.graph->nodes[cell->from.node],
                         "sequence '%.64s:%u' of '%.64s' %s '%.64s'",
                         cell->name, (unsigned)cell->from.index,
                         k->network->name, why, first->name);
}

/* The sequence once a run has seen that it is as long as the first. */
static eddy_output write_checked(construction *k, eddy_output tensor)
{
    const eddy_output n = eddy__write_length(&k->w, tensor);
    const eddy_output inputs[] = {
        eddy__write_binary(&k->w, "Equal", n, k->length), n, k->length};
    const eddy_output check =
        eddy__write(&k->w, "Assert", inputs, N_OF(inputs), NULL, 0);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Identity",
                                 .inputs = &tensor,
                                 .n_inputs = 1,
                                 .controls = &check.node,
                                 .n_controls = 1};
    eddy_output out = {EDDY_NO_NODE, 0};

    if (k->w.status == EDDY_OK)
        k->w.status = eddy_graph_add(k->w.graph, &spec, &out.node, k->w.err);
    return out;
}

static eddy_status take_sequence(construction *k, const eddy__cell *cell,
                                 const eddy__cell *first)
{
    const eddy_shape shape = eddy__shape_of(&k->w, cell->from);
    const eddy_shape other = eddy__shape_of(&k->w, first->from);
    const bool is_known = shape.rank > 0 && other.rank > 0 &&
                          shape.dims[0] >= 0 && other.dims[0] >= 0;

    if (shape.rank == 0)
        return fail_length(k, cell, cell, "is a scalar, which has no items:");
    if (is_known && shape.dims[0] != other.dims[0])
        return fail_length(k, cell, first, "has another length than");
    k->tensor[cell->first] = cell->from;
    if (cell == first)
        k->length = eddy__write_length(&k->w, cell->from);
    else if (!is_known)
        k->tensor[cell->first] = write_checked(k, cell->from);
    return k->w.status;
}

static eddy_status take_sequences(construction *k)
{
    const eddy__cell *first = NULL;

    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = ordered(k, i);

        if (cell->kind != EDDY__CELL_SEQUENCE)
            continue;
        first = first ? first : cell;
        EDDY_TRY(take_sequence(k, cell, first));
    }
    if (first)
        return EDDY_OK;
    return eddy__fail_node(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                           k->network->name, NULL,
                           "nothing says how many steps '%.64s' takes: what is "
                           "wanted depends on no sequence",
                           k->network->name);
}

/* ---- shifts ---- */

/* Rows `begin` to `end` - 1. */
static eddy_output write_part(construction *k, eddy_output rows, int64_t begin,
                              eddy_output end)
{
    const int32_t first = (int32_t)begin, one = 1;
    const eddy_output inputs[] = {rows, write_vector(k, &first, 1),
                                  as_vector(k, end), write_vector(k, &one, 1)};

    return eddy__write(&k->w, "StridedSlice", inputs, N_OF(inputs), NULL, 0);
}

/* All steps of what is `delay` steps earlier in `x`. */
static eddy_output write_shift(construction *k, const eddy__cell *cell,
                               eddy_output x)
{
    const int64_t n = cell->delay > 0 ? cell->delay : -cell->delay;
    const eddy_shape item = eddy__item_shape_of(&k->w, x);
    const eddy_output rows = write_rows(k, cell->from, n, &item, x);
    eddy_output end;

    if (cell->delay > 0)
        return write_part(k, write_concat(k, rows, x), 0, k->length);
    end = eddy__write_binary(&k->w, "AddV2", k->length,
                             eddy__write_int32(&k->w, (int32_t)n));
    return write_part(k, write_concat(k, x, rows), n, end);
}

/* Those of what is there by now. */
static void write_shifts(construction *k)
{
    for (size_t i = 0; i < k->loops.n_order && k->w.status == EDDY_OK; i++) {
        const eddy__cell *cell = ordered(k, i);
        eddy_output from;

        if (cell->kind != EDDY__CELL_DELAY ||
            k->loops.placing[k->loops.order[i]].is_recurrent ||
            k->tensor[cell->first].node != EDDY_NO_NODE)
            continue;
        from = k->tensor[source(k, cell, 0)];
        if (from.node == EDDY_NO_NODE)
            continue;
        if (eddy_graph_output_dtype(k->w.graph, from) !=
            eddy_graph_output_dtype(k->w.graph, cell->from)) {
            eddy__taps_fail(
                &k->w, cell->from, EDDY_E_INPUT_DTYPE,
                "the initial value of '%.64s' of '%.64s' is %s, "
                "%s is wanted",
                cell->name, k->network->name,
                eddy_dtype_name(
                    eddy_graph_output_dtype(k->w.graph, cell->from)),
                eddy_dtype_name(eddy_graph_output_dtype(k->w.graph, from)));
            return;
        }
        k->tensor[cell->first] = write_shift(k, cell, from);
    }
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

static void list_inputs(construction *k)
{
    k->n_inputs = 0;
    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = ordered(k, i);

        for (size_t j = 0; is_in_loop(k, i) && j < cell->n_inputs; j++) {
            const eddy_cntk_value from = source(k, cell, j);

            if (loop_of(k, from) != k->loop &&
                eddy__cell_at(k->network, from)->kind != EDDY__CELL_OUTSIDE)
                note(k->inputs, 0, &k->n_inputs, from);
        }
    }
}

/* Of a delay, the value of the delay itself stands for it. */
static void list_outputs(construction *k)
{
    k->n_outputs = 0;
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (is_in_loop(k, i) && ordered(k, i)->kind == EDDY__CELL_DELAY)
            k->outputs[k->n_outputs++] = ordered(k, i)->first;
    k->n_delays = k->n_outputs;
    for (size_t i = 0; i < k->loops.n_order; i++)
        for (size_t v = 0; is_in_loop(k, i) && v < ordered(k, i)->n_values;
             v++) {
            const eddy_cntk_value value =
                ordered(k, i)->first + (eddy_cntk_value)v;

            if (k->is_read[value])
                note(k->outputs, k->n_delays, &k->n_outputs, value);
        }
}

/* ---- the step ---- */

static eddy_status build_cell(construction *k, const eddy__cell *cell,
                              eddy_output *inputs)
{
    eddy_graph *graph = k->w.graph;

    for (size_t i = 0; i < cell->n_inputs; i++)
        inputs[i] = k->now[source(k, cell, i)];
    if (cell->op)
        return eddy_graph_add_op(graph, cell->op, NULL, inputs, cell->n_inputs,
                                 &k->now[cell->first], k->w.err);
    for (size_t i = 0; i < cell->n_values; i++)
        k->now[cell->first + i] = nowhere;
    EDDY_TRY(eddy__build_part(graph, &cell->part, inputs, cell->n_inputs,
                              &k->now[cell->first], k->w.err));
    return eddy__want_values(graph, &k->now[cell->first], cell->n_values,
                             k->w.err);
}

static eddy_status build_step(eddy_graph *graph, void *user,
                              const eddy__taps_now *now,
                              eddy_output *out_outputs, eddy_output *out_until,
                              eddy_error *err)
{
    construction *k = user;
    size_t most = 0;
    eddy_output *inputs;

    (void)graph;
    (void)out_until;
    for (size_t i = 0; i < k->n_inputs; i++)
        k->now[k->inputs[i]] = now->args[i];
    for (size_t i = 0; i < k->n_delays; i++)
        k->now[k->outputs[i]] = now->args[k->n_inputs + i];
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (ordered(k, i)->n_inputs > most)
            most = ordered(k, i)->n_inputs;
    inputs = eddy__arena_allocate(&k->arena, most, sizeof *inputs);
    if (!inputs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (is_in_loop(k, i) && ordered(k, i)->kind == EDDY__CELL_FUNCTION)
            EDDY_TRY(build_cell(k, ordered(k, i), inputs));
    for (size_t i = 0; i < k->n_outputs; i++) {
        const eddy__cell *cell = eddy__cell_at(k->network, k->outputs[i]);

        out_outputs[i] =
            k->now[i < k->n_delays ? source(k, cell, 0) : k->outputs[i]];
    }
    return EDDY_OK;
}

/* ---- the loops ---- */

/* The shape that was declared of the value at one step, or unknown. */
static eddy_shape declared_item(const construction *k, eddy_cntk_value value)
{
    const eddy__cell *cell = eddy__cell_at(k->network, value);

    while (cell->kind == EDDY__CELL_DECLARED && !is_full(&cell->item) &&
           cell->inputs[0] != EDDY__NO_VALUE)
        cell = eddy__cell_at(k->network, cell->inputs[0]);
    return cell->kind == EDDY__CELL_DECLARED ? cell->item
                                             : (eddy_shape){.rank = -1};
}

/* One value, or a row for each step before the first. */
static eddy_output write_initial(construction *k, const eddy__cell *cell,
                                 int64_t n)
{
    const eddy_shape own = eddy__shape_of(&k->w, cell->from);
    const eddy_shape item = declared_item(k, cell->inputs[0]);
    int32_t dims[EDDY_MAX_RANK];

    if (n > 1)
        return write_rows(k, cell->from, n, is_full(&item) ? &item : &own,
                          nowhere);
    if (!is_full(&item) || eddy__shape_equal(&item, &own))
        return cell->from;
    for (int32_t i = 0; i < item.rank; i++)
        dims[i] = (int32_t)item.dims[i];
    return eddy__write_binary(&k->w, "BroadcastTo", cell->from,
                              write_vector(k, dims, (size_t)item.rank));
}

static bool make_taps(construction *k, eddy__taps *t)
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
static eddy_output in_order(construction *k, eddy_output stacked)
{
    const int32_t axis = 0;

    if (k->loops.direction[k->loop] > 0)
        return stacked;
    return eddy__write_binary(&k->w, "ReverseV2", stacked,
                              write_vector(k, &axis, 1));
}

static eddy_status build_loop(construction *k)
{
    eddy__taps t = {
        .name = k->network->name,
        .step = build_step,
        .user = k,
        .is_backward = k->loops.direction[k->loop] < 0,
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
    for (size_t i = 0; i < k->n_delays; i++)
        k->final[source(k, eddy__cell_at(k->network, k->outputs[i]), 0)] =
            t.outputs[i].newest;
    for (size_t i = k->n_delays; i < k->n_outputs; i++)
        k->tensor[k->outputs[i]] = in_order(k, t.outputs[i].stacked);
    return k->w.status;
}

/* ---- the whole ---- */

static void mark_read(construction *k)
{
    for (size_t i = 0; i < k->n_wanted; i++)
        if (!k->wanted[i].is_final)
            k->is_read[eddy__network_root(k->network, k->wanted[i].value)] = 1;
    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = ordered(k, i);

        for (size_t j = 0; j < cell->n_inputs; j++) {
            const eddy_cntk_value from = source(k, cell, j);

            if (loop_of(k, from) != k->loops.placing[k->loops.order[i]].loop)
                k->is_read[from] = 1;
        }
    }
}

static bool allocate(construction *k)
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

static eddy_status fail_wanted(const construction *k, const eddy__cell *cell,
                               const char *why)
{
    return eddy__fail_node(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                           cell->name, NULL, "'%.64s' of '%.64s' %s",
                           cell->name, k->network->name, why);
}

static eddy_status take_results(construction *k, eddy_output *results)
{
    for (size_t i = 0; i < k->n_wanted; i++) {
        const eddy_cntk_value root =
            eddy__network_root(k->network, k->wanted[i].value);
        const eddy__cell *cell = eddy__cell_at(k->network, root);

        results[i] = k->wanted[i].is_final ? k->final[root] : k->tensor[root];
        if (results[i].node != EDDY_NO_NODE)
            continue;
        if (k->wanted[i].is_final)
            return fail_wanted(k, cell,
                               "has no final value: no past or future value in "
                               "a cycle refers to it");
        return fail_wanted(k, cell, "is a value from outside, not a sequence");
    }
    return EDDY_OK;
}

static eddy_status build(construction *k, eddy_output *results)
{
    EDDY_TRY(eddy__network_plan(k->network, k->wanted, k->n_wanted, &k->arena,
                                &k->loops, k->w.err));
    if (!allocate(k))
        return eddy__fail_memory(k->w.err);
    mark_read(k);
    EDDY_TRY(take_sequences(k));
    for (size_t i = 0; i < k->loops.n_order; i++)
        if (ordered(k, i)->kind == EDDY__CELL_OUTSIDE)
            k->now[ordered(k, i)->first] = ordered(k, i)->from;
    for (k->loop = 0; k->loop < k->loops.n_loops; k->loop++) {
        write_shifts(k);
        EDDY_TRY(k->w.status);
        EDDY_TRY(build_loop(k));
    }
    write_shifts(k);
    EDDY_TRY(k->w.status);
    return take_results(k, results);
}

eddy_status eddy_cntk_build(eddy_cntk *network, const eddy_cntk_wanted *wanted,
                            size_t n, eddy_output *out_results, eddy_error *err)
{
    construction k = {.network = network, .wanted = wanted, .n_wanted = n};
    eddy__attempt attempt;
    eddy_output *results;
    eddy_status status;

    if (!network || !wanted || n == 0 || !out_results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no network, nothing that is wanted, or nowhere to "
                          "put it");
    for (size_t i = 0; i < n; i++)
        if (wanted[i].value >= network->n_values)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                              "wanted %zu is no value of '%.64s'", i,
                              network->name);
    k.w = eddy__writer_of(network->graph, err);
    k.arena.allocator = network->arena.allocator;
    results = eddy__arena_allocate(&k.arena, n, sizeof *results);
    status = results ? eddy__attempt_begin(&attempt, network->graph, err)
                     : eddy__fail_memory(err);
    if (status == EDDY_OK)
        status = eddy__attempt_end(&attempt, build(&k, results));
    if (status == EDDY_OK)
        memcpy(out_results, results, n * sizeof *results);
    eddy__arena_destroy(&k.arena);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sequences of a loop with taps, and how many steps there are. */
#include "frontends/theano/taps.h"

#include "core/base/status.h"
#include "core/graph/graph.h"

#include <string.h>

/* The value of a constant scalar of a wide integer dtype; false if unknown. */
static bool known_value(const eddy_graph *graph, eddy_output output,
                        int64_t *out)
{
    const eddy_tensor *tensor;
    eddy_attr attr;

    if (strcmp(eddy_graph_node_op(graph, output.node), "Const") != 0 ||
        !eddy_graph_node_attr(graph, output.node, "value", &attr))
        return false;
    tensor = attr.as.tensors[0];
    if (eddy_tensor_shape(tensor)->rank != 0)
        return false;
    if (eddy_tensor_dtype(tensor) == EDDY_INT32)
        *out = *(const int32_t *)eddy_tensor_data(tensor);
    else if (eddy_tensor_dtype(tensor) == EDDY_INT64)
        *out = *(const int64_t *)eddy_tensor_data(tensor);
    else
        return false;
    return true;
}

/* ---- sequences ---- */

static void find_reach(eddy__tapped_input *in)
{
    for (size_t i = 0; i < in->n_taps; i++) {
        if (-in->taps[i] > in->before)
            in->before = -in->taps[i];
        if (in->taps[i] > in->after)
            in->after = in->taps[i];
    }
}

/* As a value in the graph. */
static eddy_output steps_of(eddy__taps *t, const eddy__tapped_input *in)
{
    return in->known_steps >= 0
               ? eddy_emit_int32(&t->w, (int32_t)in->known_steps)
               : in->steps;
}

/*
 * A step needs all the items that its taps reach, and its own, as if tap 0 were
 * always there.
 */
static void count_steps(eddy__taps *t, eddy__tapped_input *in)
{
    eddy_emitter *w = &t->w;
    const eddy_shape shape = eddy__writer_shape_of(w, in->value);
    const int64_t reach = in->before + in->after;

    in->known_steps = -1;
    if (shape.rank > 0 && shape.dims[0] >= 0 && shape.dims[0] <= INT32_MAX) {
        in->known_steps = shape.dims[0] > reach ? shape.dims[0] - reach : 0;
        return;
    }
    in->steps = eddy__write_length(w, in->value);
    if (reach == 0)
        return;
    in->steps = eddy_emit_binary(w, "Sub", in->steps,
                                 eddy_emit_int32(w, (int32_t)reach));
    in->steps =
        eddy_emit_binary(w, "Maximum", in->steps, eddy_emit_int32(w, 0));
}

static void prepare_input(eddy__taps *t, size_t i)
{
    eddy_emitter *w = &t->w;
    eddy__tapped_input *in = &t->inputs[i];
    const eddy_shape shape = eddy__writer_shape_of(w, in->value);

    if (w->status == EDDY_OK && shape.rank == 0)
        eddy__taps_fail(w, in->value, EDDY_E_SHAPE,
                        "sequence %zu of '%.64s' is a scalar; one item for "
                        "each step is wanted along its first dimension",
                        i, t->name);
    find_reach(in);
    in->items = eddy__sequence_of(w, in->value);
    count_steps(t, in);
    if (t->is_backward)
        in->last =
            eddy_emit_binary(w, "Sub", steps_of(t, in), eddy_emit_int32(w, 1));
}

/* ---- the number of steps ---- */

/* A node that fails the run unless `condition`, showing text and value. */
static eddy_node write_assert(eddy_emitter *w, eddy_output condition,
                              const char *text, eddy_output shown)
{
    const eddy_string string = {text, strlen(text)};
    const eddy_shape scalar = {.rank = 0};
    eddy_output inputs[] = {condition, {EDDY_NO_NODE, 0}, shown};
    eddy_tensor *tensor;

    if (!eddy_emit_check(w, w->status) ||
        !eddy_emit_check(w,
                         eddy_tensor_from_strings(w->graph->ctx, &scalar,
                                                  &string, 1, &tensor, w->err)))
        return EDDY_NO_NODE;
    inputs[1] = eddy_emit_const(w, NULL, tensor);
    eddy_tensor_release(tensor);
    return eddy_emit_op(w, "Assert", inputs, 3, NULL, 0).node;
}

/* `value` once the nodes have run. */
static eddy_output write_held(eddy_emitter *w, eddy_output value,
                              const eddy_node *controls, size_t n)
{
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "Identity",
        .inputs = &value,
        .n_inputs = 1,
        .controls = controls,
        .n_controls = n,
    };
    eddy_output out = {EDDY_NO_NODE, 0};

    if (w->status == EDDY_OK)
        w->status = eddy_graph_add(w->graph, &spec, &out.node, w->err);
    return out;
}

static void check_wanted(eddy__taps *t, eddy_output n)
{
    eddy_emitter *w = &t->w;
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, n);

    if (dtype != EDDY_INT32 && dtype != EDDY_INT64)
        eddy__taps_fail(w, n, EDDY_E_DTYPE,
                        "the number of steps of '%.64s' is %s, int32 or int64 "
                        "is wanted",
                        t->name, eddy_dtype_name(dtype));
    else if (eddy__writer_shape_of(w, n).rank > 0)
        eddy__taps_fail(w, n, EDDY_E_SHAPE,
                        "the number of steps of '%.64s' is not a scalar",
                        t->name);
}

/* A constant one is held against what is known of the sequences. */
static void check_known(eddy__taps *t, int64_t n)
{
    eddy_emitter *w = &t->w;

    if (n < 0 || n > INT32_MAX)
        eddy__taps_fail(w, *t->n_steps, EDDY_E_VALUE,
                        "'%.64s' is to take %lld steps; from 0 to 2147483647 "
                        "can be taken",
                        t->name, (long long)n);
    for (size_t i = 0; i < t->n_inputs && w->status == EDDY_OK; i++)
        if (t->inputs[i].known_steps >= 0 && t->inputs[i].known_steps < n)
            eddy__taps_fail(w, t->inputs[i].value, EDDY_E_SHAPE,
                            "'%.64s' is to take %lld steps, and sequence %zu "
                            "has items for %lld",
                            t->name, (long long)n, i,
                            (long long)t->inputs[i].known_steps);
}

/* The range of `n`, checked in its own dtype. */
static eddy_node assert_range(eddy__taps *t, eddy_output n)
{
    eddy_emitter *w = &t->w;
    const bool is_wide = eddy_graph_output_dtype(w->graph, n) == EDDY_INT64;
    eddy_output fits = eddy_emit_binary(w, "GreaterEqual", n,
                                        is_wide ? eddy_emit_int64(w, 0)
                                                : eddy_emit_int32(w, 0));

    if (is_wide)
        fits = eddy_emit_binary(
            w, "LogicalAnd", fits,
            eddy_emit_binary(w, "LessEqual", n, eddy_emit_int64(w, INT32_MAX)));
    return write_assert(w, fits,
                        "the number of steps must be from 0 to 2147483647:", n);
}

/* As many as were asked for, of which no sequence may have fewer. */
static eddy_output wanted_steps(eddy__taps *t)
{
    eddy_emitter *w = &t->w;
    eddy_output n = *t->n_steps, wanted;
    eddy_node *checks =
        eddy__arena_allocate(&t->arena, t->n_inputs + 1, sizeof *checks);
    size_t n_checks = 0;
    int64_t known = -1;
    bool is_known;

    if (!checks) {
        eddy_emit_check(w, eddy__fail_memory(w->err));
        return n;
    }
    check_wanted(t, n);
    is_known = w->status == EDDY_OK && known_value(w->graph, n, &known);
    if (is_known)
        check_known(t, known);
    else if (w->status == EDDY_OK)
        checks[n_checks++] = assert_range(t, n);
    wanted = n;
    if (w->status == EDDY_OK &&
        eddy_graph_output_dtype(w->graph, n) == EDDY_INT64) {
        const eddy_dtype to = EDDY_INT32;
        const eddy_attr attr = eddy_attr_type("DstT", &to);

        n = eddy_emit_op(w, "Cast", &n, 1, &attr, 1);
    }
    for (size_t i = 0; i < t->n_inputs; i++)
        if (!is_known || t->inputs[i].known_steps < 0)
            checks[n_checks++] = write_assert(
                w,
                eddy_emit_binary(w, "LessEqual", n, steps_of(t, &t->inputs[i])),
                "a sequence has too few items for so many steps:", wanted);
    return write_held(w, n, checks, n_checks);
}

/* As many as the shortest sequence has items for. */
static eddy_output most_steps(eddy__taps *t)
{
    eddy_output n;
    int64_t known = t->inputs[0].known_steps;

    for (size_t i = 1; i < t->n_inputs; i++)
        if (t->inputs[i].known_steps < known)
            known = t->inputs[i].known_steps;
    if (known >= 0)
        return eddy_emit_int32(&t->w, (int32_t)known);
    n = steps_of(t, &t->inputs[0]);
    for (size_t i = 1; i < t->n_inputs; i++)
        n = eddy_emit_binary(&t->w, "Minimum", n, steps_of(t, &t->inputs[i]));
    return write_held(&t->w, n, NULL, 0);
}

void eddy__taps_prepare_inputs(eddy__taps *t)
{
    for (size_t i = 0; i < t->n_inputs && t->w.status == EDDY_OK; i++)
        prepare_input(t, i);
    if (t->w.status != EDDY_OK)
        return;
    if (t->n_steps)
        t->steps = wanted_steps(t);
    else if (t->n_inputs > 0)
        t->steps = most_steps(t);
    else
        eddy_emit_check(
            &t->w,
            eddy__fail_node(t->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                            t->name, NULL,
                            "nothing says how many steps '%.64s' is to take: "
                            "it has no sequences, and no number of steps",
                            t->name));
}

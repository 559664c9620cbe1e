/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's RNN, GRU and LSTM, as loops of primitives: one Scan for each
 * direction, over what the weights make of the inputs of all steps at once.
 *
 * Where the sequences of a batch have lengths of their own, a state stays as it
 * is behind the end of its sequence, and what is put out there is 0; backward,
 * each sequence is reversed up to its own end.
 */
#include "eddy/onnx_loop.h"
#include "interop/onnx/ops/kit.h"

#include <string.h>

#define MOST_ACTIVATIONS 3

/* An activation and the numbers that go with it. */
typedef struct activation {
    const char *name;
    double alpha, beta;
} activation;

/* One direction of a node. */
typedef struct cell {
    eddy__onnx_op *op;
    activation activations[MOST_ACTIVATIONS];
    eddy_output weights;      /* of the state: [hidden, gates * hidden] */
    eddy_output gate_weights, /* of a GRU: those of its gates, ... */
        hidden_weights;       /* ... and of what is hidden */
    eddy_output hidden_bias;  /* of a GRU that is linear before the reset */
    eddy_output peepholes[3]; /* i, o, f; or none */
    bool has_peepholes, has_lengths, is_coupled, is_linear_first;
    float clip; /* 0: none */
} cell;

/* ---- what is the same in each ---- */

/* `x` of rank 2 or more, without its first dimension, at `i` of that. */
static eddy_output direction_of(eddy__onnx_op *op, eddy_output x, int64_t i)
{
    return OP("GatherV2", x, INT64(i), INT32(0));
}

/* Elements `from` to `to` of the last axis, in units of `size`. */
static eddy_output part(eddy__onnx_op *op, eddy_output x, int64_t rank,
                        int64_t from, int64_t to, eddy__onnx_size size)
{
    eddy__onnx_size begin[EDDY_MAX_RANK], count[EDDY_MAX_RANK];

    for (int64_t i = 0; i < rank; i++) {
        begin[i] = FIXED(0);
        count[i] = FIXED(-1);
    }
    begin[rank - 1] = TIMES(size, FIXED(from));
    count[rank - 1] = TIMES(size, FIXED(to - from));
    return OP("Slice", x, eddy__onnx_sizes(op, begin, (size_t)rank),
              eddy__onnx_sizes(op, count, (size_t)rank));
}

static eddy_output activate(const cell *c, size_t i, eddy_output x)
{
    eddy__onnx_op *op = c->op;
    const activation *a = &c->activations[i];

    if (c->clip > 0.0f)
        x = OP("Minimum", OP("Maximum", x, LIKE(x, -(double)c->clip)),
               LIKE(x, (double)c->clip));
    return eddy__onnx_activate(op, a->name, x, a->alpha, a->beta);
}

/* The next state, or the one before where the sequence has ended. */
static eddy_output kept(const cell *c, const eddy_output *inputs,
                        eddy_output next, eddy_output before)
{
    eddy__onnx_op *op = c->op;

    return c->has_lengths ? OP("SelectV2", inputs[1], next, before) : next;
}

/* What is put out of a step. */
static eddy_output put_out(const cell *c, const eddy_output *inputs,
                           eddy_output next)
{
    eddy__onnx_op *op = c->op;

    return c->has_lengths ? OP("SelectV2", inputs[1], next, LIKE(next, 0.0))
                          : OP("Identity", next);
}

/* ---- a step of each ---- */

static eddy_status step_rnn(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out, eddy_error *err)
{
    const cell *c = user;
    eddy__onnx_op *op = c->op;
    const eddy_output h = inputs[0];
    const eddy_output next =
        activate(c, 0, OP("AddV2", inputs[1], OP("MatMul", h, c->weights)));

    (void)graph;
    (void)n;
    (void)err;
    out[0] = kept(c, inputs + 1, next, h);
    out[1] = put_out(c, inputs + 1, next);
    return op->w->status;
}

/* The update and the reset are one product, what is hidden another. */
static eddy_status step_gru(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out, eddy_error *err)
{
    const cell *c = user;
    eddy__onnx_op *op = c->op;
    const eddy_output h = inputs[0], x = eddy__onnx_parts(op, inputs[1], 3, 1);
    const eddy_output r =
        eddy__onnx_parts(op, OP("MatMul", h, c->gate_weights), 2, 1);
    const eddy_output update =
        activate(c, 0, OP("AddV2", eddy__onnx_nth(x, 0), eddy__onnx_nth(r, 0)));
    const eddy_output reset =
        activate(c, 0, OP("AddV2", eddy__onnx_nth(x, 1), eddy__onnx_nth(r, 1)));
    eddy_output hidden, next;

    (void)graph;
    (void)n;
    (void)err;
    if (c->is_linear_first)
        hidden =
            OP("Mul", reset,
               OP("AddV2", OP("MatMul", h, c->hidden_weights), c->hidden_bias));
    else
        hidden = OP("MatMul", OP("Mul", reset, h), c->hidden_weights);
    hidden = activate(c, 1, OP("AddV2", eddy__onnx_nth(x, 2), hidden));
    next = OP("AddV2", OP("Mul", OP("Sub", LIKE(update, 1.0), update), hidden),
              OP("Mul", update, h));
    out[0] = kept(c, inputs + 1, next, h);
    out[1] = put_out(c, inputs + 1, next);
    return op->w->status;
}

static eddy_output with_peephole(const cell *c, size_t i, eddy_output gate,
                                 eddy_output state)
{
    eddy__onnx_op *op = c->op;

    return c->has_peepholes
               ? OP("AddV2", gate, OP("Mul", c->peepholes[i], state))
               : gate;
}

static eddy_status step_lstm(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    const cell *c = user;
    eddy__onnx_op *op = c->op;
    const eddy_output h = inputs[0], state = inputs[1];
    const eddy_output gates = eddy__onnx_parts(
        op, OP("AddV2", inputs[2], OP("MatMul", h, c->weights)), 4, 1);
    const eddy_output input =
        activate(c, 0, with_peephole(c, 0, eddy__onnx_nth(gates, 0), state));
    const eddy_output forget =
        c->is_coupled
            ? OP("Sub", LIKE(input, 1.0), input)
            : activate(c, 0,
                       with_peephole(c, 2, eddy__onnx_nth(gates, 2), state));
    const eddy_output added =
        OP("Mul", input, activate(c, 1, eddy__onnx_nth(gates, 3)));
    const eddy_output next_state = OP("AddV2", OP("Mul", forget, state), added);
    const eddy_output output = activate(
        c, 0, with_peephole(c, 1, eddy__onnx_nth(gates, 1), next_state));
    const eddy_output next = OP("Mul", output, activate(c, 2, next_state));

    (void)graph;
    (void)n;
    (void)err;
    out[0] = kept(c, inputs + 2, next, h);
    out[1] = kept(c, inputs + 2, next_state, state);
    out[2] = put_out(c, inputs + 2, next);
    return op->w->status;
}

/* ---- attributes ---- */

/* How a kind of node is computed. */
typedef struct kind {
    const char *name;
    int64_t gates;
    size_t n_activations, n_states;
    const char *usual[MOST_ACTIVATIONS];
    eddy_part_fn step;
} kind;

static const kind kinds[] = {
    {"GRU", 3, 2, 1, {"Sigmoid", "Tanh"}, step_gru},
    {"LSTM", 4, 3, 2, {"Sigmoid", "Tanh", "Tanh"}, step_lstm},
    {"RNN", 1, 1, 1, {"Tanh"}, step_rnn},
};

/* What an activation is computed with where the node says nothing. */
static activation usual_of(const char *name)
{
    static const activation with_numbers[] = {
        {"Affine", 1.0, 0.0},      {"Elu", 1.0, 0.0},
        {"HardSigmoid", 0.2, 0.5}, {"LeakyRelu", 0.01, 0.0},
        {"ScaledTanh", 1.0, 1.0},  {"ThresholdedRelu", 1.0, 0.0},
    };

    for (size_t i = 0; i < sizeof with_numbers / sizeof *with_numbers; i++)
        if (strcmp(with_numbers[i].name, name) == 0)
            return with_numbers[i];
    return (activation){name, 0.0, 0.0};
}

static bool has_alpha(const char *name)
{
    return usual_of(name).alpha != 0.0;
}

static bool has_beta(const char *name)
{
    return strcmp(name, "Affine") == 0 || strcmp(name, "HardSigmoid") == 0 ||
           strcmp(name, "ScaledTanh") == 0;
}

/*
 * Activations of direction `direction`.  The lists of numbers hold those of the
 * activations that have one, in their order.
 */
static void read_activations(eddy__onnx_op *op, const kind *k, size_t direction,
                             cell *c)
{
    const bool is_given = eddy__onnx_has(op, "activations");
    const float *alphas, *betas;
    const size_t n_alphas =
        eddy__onnx_list_of_floats(op, "activation_alpha", &alphas);
    const size_t n_betas =
        eddy__onnx_list_of_floats(op, "activation_beta", &betas);
    size_t alpha = 0, beta = 0;

    for (size_t i = 0; i < (direction + 1) * k->n_activations; i++) {
        const size_t own = i % k->n_activations;
        const char *name = k->usual[own];
        activation a;

        if (is_given)
            name = eddy__onnx_list_text(op, "activations", i);
        if (!name) {
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                            "there are fewer activations than %zu",
                            (direction + 1) * k->n_activations);
            return;
        }
        a = usual_of(name);
        if (has_alpha(name) && alpha < n_alphas)
            a.alpha = (double)alphas[alpha++];
        if (has_beta(name) && beta < n_betas)
            a.beta = (double)betas[beta++];
        c->activations[own] = a;
    }
}

/* ---- one direction ---- */

/* What the directions of a node share. */
typedef struct layer {
    const kind *kind;
    eddy_output x; /* [steps, batch, inputs] */
    eddy_output lengths, mask;
    bool has_lengths;
    eddy__onnx_size steps, batch, hidden;
} layer;

static eddy_output reversed(eddy__onnx_op *op, const layer *l, eddy_output x)
{
    const int64_t steps = 0, batch = 1;
    const eddy_attr attrs[] = {eddy_attr_int("seq_dim", &steps),
                               eddy_attr_int("batch_dim", &batch)};

    return l->has_lengths ? OP_WITH("ReverseSequence", attrs, x, l->lengths)
                          : OP("ReverseV2", x, INT64S(0));
}

/* The biases that are added to the inputs' part: of input and state alike. */
static eddy_output bias_of(eddy__onnx_op *op, const layer *l, int64_t d,
                           cell *c)
{
    const int64_t gates = l->kind->gates;
    const eddy_output all = direction_of(op, IN(3), d);
    const eddy_output input = part(op, all, 1, 0, gates, l->hidden);
    eddy_output state = part(op, all, 1, gates, 2 * gates, l->hidden);

    if (c->is_linear_first) {
        c->hidden_bias = part(op, state, 1, 2, 3, l->hidden);
        state = eddy__onnx_concat(op, part(op, state, 1, 0, 2, l->hidden),
                                  OP("ZerosLike", c->hidden_bias));
    }
    return OP("AddV2", input, state);
}

/* All that the steps have of their inputs: [steps, batch, gates * hidden]. */
static eddy_output inputs_of(eddy__onnx_op *op, const layer *l, int64_t d,
                             eddy_output x, cell *c)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_b", &yes)};
    const eddy__onnx_size width = DIM(x, 2);
    const eddy_output flat = OP("Reshape", x, SIZES(FIXED(-1), width));
    eddy_output all =
        OP_WITH("MatMul", attrs, flat, direction_of(op, IN(1), d));

    if (GIVEN(3))
        all = OP("AddV2", all, bias_of(op, l, d, c));
    else if (c->is_linear_first)
        c->hidden_bias = LIKE(x, 0.0);
    return OP(
        "Reshape", all,
        SIZES(l->steps, l->batch, TIMES(l->hidden, FIXED(l->kind->gates))));
}

static eddy_output initial(eddy__onnx_op *op, const layer *l, size_t input,
                           int64_t d, bool is_batch_first)
{
    eddy_output all;

    if (!GIVEN(input))
        return OP("Fill", SIZES(l->batch, l->hidden), LIKE(l->x, 0.0));
    all = IN(input);
    if (is_batch_first)
        all = OP("Transpose", all, INT64S(1, 0, 2));
    return direction_of(op, all, d);
}

static void read_weights(eddy__onnx_op *op, const layer *l, int64_t d, cell *c)
{
    c->weights = OP("Transpose", direction_of(op, IN(2), d), INT64S(1, 0));
    if (strcmp(l->kind->name, "GRU") == 0) {
        c->gate_weights = part(op, c->weights, 2, 0, 2, l->hidden);
        c->hidden_weights = part(op, c->weights, 2, 2, 3, l->hidden);
    }
    if (strcmp(l->kind->name, "LSTM") != 0 || !GIVEN(7))
        return;
    c->has_peepholes = true;
    for (int64_t i = 0; i < 3; i++)
        c->peepholes[i] =
            part(op, direction_of(op, IN(7), d), 1, i, i + 1, l->hidden);
}

/* `out`: the states after the last step, and all outputs. */
static void scan_direction(eddy__onnx_op *op, const layer *l, int64_t d,
                           bool is_backward, bool is_batch_first,
                           eddy_output *out)
{
    cell c = {.op = op,
              .has_lengths = l->has_lengths,
              .clip = eddy__onnx_float(op, "clip", 0.0f),
              .is_coupled = eddy__onnx_int(op, "input_forget", 0) != 0,
              .is_linear_first =
                  eddy__onnx_int(op, "linear_before_reset", 0) != 0};
    eddy_output first[2], inputs[2];
    eddy_onnx_scan_spec spec = {.size = sizeof spec,
                                .name = op->name,
                                .initial = first,
                                .n_states = l->kind->n_states,
                                .inputs = inputs,
                                .n_inputs = l->has_lengths ? 2 : 1,
                                .n_outputs = 1,
                                .body = l->kind->step,
                                .user = &c};
    eddy_output x = l->x;

    read_activations(op, l->kind, (size_t)d, &c);
    read_weights(op, l, d, &c);
    if (is_backward)
        x = reversed(op, l, x);
    inputs[0] = inputs_of(op, l, d, x, &c);
    inputs[1] = l->mask;
    first[0] = initial(op, l, 5, d, is_batch_first);
    if (l->kind->n_states > 1)
        first[1] = initial(op, l, 6, d, is_batch_first);
    if (!eddy__onnx_ok(op))
        return;
    op->w->status = eddy_onnx_scan(op->w->graph, &spec, out, op->w->err);
    if (is_backward)
        out[l->kind->n_states] = reversed(op, l, out[l->kind->n_states]);
}

/* ---- the node ---- */

static bool read_layer(eddy__onnx_op *op, bool is_batch_first, layer *l)
{
    eddy_output steps;

    *l = (layer){.x = IN(0), .has_lengths = GIVEN(4)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, op->row->name) == 0)
            l->kind = &kinds[i];
    eddy__onnx_ignore(op, "hidden_size");
    eddy__onnx_ignore(op, "output_sequence");
    if (is_batch_first)
        l->x = OP("Transpose", l->x, INT64S(1, 0, 2));
    l->steps = DIM(l->x, 0);
    l->batch = DIM(l->x, 1);
    l->hidden = DIM(IN(2), 2);
    if (l->has_lengths) {
        l->lengths = CAST(IN(4), EDDY_INT64);
        steps = eddy__onnx_count(op, SIZED(l->steps));
        l->mask = OP("Less", OP("Reshape", steps, INT64S(-1, 1, 1)),
                     OP("ExpandDims", l->lengths, INT32(1)));
    }
    return l->kind && eddy__onnx_ok(op);
}

/* The directions' values put together as a new axis, as the layout wants. */
static eddy_output together(eddy__onnx_op *op, const eddy_output *values,
                            int64_t n, int64_t axis)
{
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};

    return eddy__onnx_emit(op, "Pack", values, (size_t)n, attrs, 1);
}

static void emit_recurrent(eddy__onnx_op *op)
{
    const char *direction = eddy__onnx_text(op, "direction", "forward");
    const bool is_batch_first = eddy__onnx_int(op, "layout", 0) != 0;
    eddy_output results[2][3], outputs[2], states[2];
    int64_t n = 1;
    layer l;

    if (!direction || !read_layer(op, is_batch_first, &l))
        return;
    if (strcmp(direction, "bidirectional") == 0) {
        n = 2;
    } else if (strcmp(direction, "forward") != 0 &&
               strcmp(direction, "reverse") != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no direction '%s'",
                        direction);
        return;
    }
    for (int64_t d = 0; d < n; d++) {
        scan_direction(op, &l, d, d == 1 || strcmp(direction, "reverse") == 0,
                       is_batch_first, results[d]);
        if (!eddy__onnx_ok(op))
            return;
        outputs[d] = results[d][l.kind->n_states];
    }
    outputs[0] = together(op, outputs, n, 1);
    if (is_batch_first)
        outputs[0] = OP("Transpose", outputs[0], INT64S(2, 0, 1, 3));
    GIVE(0, outputs[0]);
    for (size_t i = 0; i < l.kind->n_states; i++) {
        for (int64_t d = 0; d < n; d++)
            states[d] = results[d][i];
        GIVE(i + 1, together(op, states, n, is_batch_first ? 1 : 0));
    }
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_recurrent[] = {
    {"GRU", 1, NEWEST, 3, 6, 0, 2, emit_recurrent},
    {"LSTM", 1, NEWEST, 3, 8, 0, 3, emit_recurrent},
    {"RNN", 1, NEWEST, 3, 6, 0, 2, emit_recurrent},
    {.name = NULL},
};

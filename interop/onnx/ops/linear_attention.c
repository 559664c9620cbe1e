/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's LinearAttention: a loop over the steps that carries a matrix for each
 * head, from keys to values.
 */
#include "eddy/onnx_loop.h"
#include "interop/onnx/ops/kit.h"

#include <math.h>
#include <string.h>

/* What a step is made of; the inputs of the loop in this order. */
typedef struct rule {
    eddy__onnx_op *op;
    bool decays, corrects;
    eddy__onnx_size group; /* queries to a head of keys */
    eddy_output scale;
} rule;

/* [batch, heads, n] as a column or a row of each head. */
static eddy_output column(eddy__onnx_op *op, eddy_output x)
{
    return OP("ExpandDims", x, INT32(3));
}

static eddy_output row(eddy__onnx_op *op, eddy_output x)
{
    return OP("ExpandDims", x, INT32(2));
}

/* The vector times each head's matrix. */
static eddy_output looked_up(eddy__onnx_op *op, eddy_output x,
                             eddy_output state)
{
    const int64_t axis = 2;
    const eddy_attr attrs[] = {{.name = "squeeze_dims",
                                .kind = EDDY_ATTR_INT,
                                .is_list = true,
                                .n = 1,
                                .as.ints = &axis}};

    return OP_WITH("Squeeze", attrs, OP("BatchMatMulV2", row(op, x), state));
}

static eddy_status step(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n, eddy_output *out,
                        eddy_error *err)
{
    const rule *r = user;
    eddy__onnx_op *op = r->op;
    const eddy_output q = inputs[1], k = inputs[2];
    eddy_output state = inputs[0], v = inputs[3], shared;
    const eddy_output decay = inputs[4];
    const eddy_output beta = inputs[r->decays ? 5 : 4];

    (void)graph;
    (void)n;
    (void)err;
    if (r->decays)
        state = OP("Mul", state, column(op, OP("Exp", decay)));
    if (r->corrects)
        v = OP("Mul", OP("Sub", v, looked_up(op, k, state)), beta);
    out[0] = OP("AddV2", state, OP("Mul", column(op, k), row(op, v)));
    /* [batch, heads, group, d_k]: the queries of a head are rows. */
    shared =
        OP("BatchMatMulV2",
           OP("Reshape", q, SIZES(DIM(k, 0), DIM(k, 1), r->group, FIXED(-1))),
           out[0]);
    out[1] = OP("Mul", shared, r->scale);
    return op->w->status;
}

/* [batch, steps, heads * size] to [batch, steps, heads, size], in float32. */
static eddy_output by_heads(eddy__onnx_op *op, size_t input, int64_t heads)
{
    const eddy_output x = CAST(IN(input), EDDY_FLOAT32);

    return OP("Reshape", x,
              SIZES(DIM(x, 0), DIM(x, 1), FIXED(heads),
                    OVER(DIM(x, 2), FIXED(heads))));
}

/* Which of decay and beta are there, by the rule's name. */
static bool read_rule(eddy__onnx_op *op, rule *r)
{
    const char *name = eddy__onnx_text(op, "update_rule", "gated_delta");

    if (!name)
        return false;
    r->decays = strncmp(name, "gated", 5) == 0;
    r->corrects =
        strcmp(name, "delta") == 0 || strcmp(name, "gated_delta") == 0;
    if (!r->decays && !r->corrects && strcmp(name, "linear") != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no update_rule '%s'",
                        name);
        return false;
    }
    if (r->decays != GIVEN(4) || r->corrects != GIVEN(5)) {
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "decay and beta do not go with update_rule '%s'", name);
        return false;
    }
    return true;
}

/* beta is one a head, or one for all. */
static eddy_output read_beta(eddy__onnx_op *op)
{
    return OP("ExpandDims", CAST(IN(5), EDDY_FLOAT32), INT32(3));
}

static void emit_linear_attention(eddy__onnx_op *op)
{
    const int64_t q_heads = eddy__onnx_int(op, "q_num_heads", 0);
    const int64_t heads = eddy__onnx_int(op, "kv_num_heads", 0);
    const double scale = (double)eddy__onnx_float(op, "scale", 0.0f);
    static const eddy_onnx_scan_axis along[5] = {
        {.axis = 1}, {.axis = 1}, {.axis = 1}, {.axis = 1}, {.axis = 1}};
    eddy_output inputs[5], initial, results[2], size;
    rule r = {.op = op};
    eddy_onnx_scan_spec spec = {.size = sizeof spec,
                                .name = op->name,
                                .initial = &initial,
                                .n_states = 1,
                                .inputs = inputs,
                                .n_inputs = 3,
                                .n_outputs = 1,
                                .input_axes = along,
                                .output_axes = along,
                                .body = step,
                                .user = &r};

    eddy__onnx_ignore(op, "chunk_size");
    if (q_heads < 1 || heads < 1 || q_heads % heads != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "q_num_heads and kv_num_heads are %lld and %lld",
                        (long long)q_heads, (long long)heads);
        return;
    }
    if (!read_rule(op, &r))
        return;
    r.group = FIXED(q_heads / heads);
    inputs[0] = by_heads(op, 0, q_heads);
    inputs[1] = by_heads(op, 1, heads);
    inputs[2] = by_heads(op, 2, heads);
    if (r.decays)
        inputs[spec.n_inputs++] = by_heads(op, 4, heads);
    if (r.corrects)
        inputs[spec.n_inputs++] = read_beta(op);
    size = CAST(SIZED(DIM(inputs[0], 3)), EDDY_FLOAT32);
    r.scale = scale != 0.0 ? NUMBER(EDDY_FLOAT32, scale) : OP("Rsqrt", size);
    initial = GIVEN(3) ? CAST(IN(3), EDDY_FLOAT32)
                       : OP("Fill",
                            SIZES(DIM(IN(0), 0), FIXED(heads),
                                  DIM(inputs[1], 3), DIM(inputs[2], 3)),
                            NUMBER(EDDY_FLOAT32, 0.0));
    if (!eddy__onnx_ok(op))
        return;
    op->w->status = eddy_onnx_scan(op->w->graph, &spec, results, op->w->err);
    /* [batch, steps, heads, group, d_v] */
    GIVE(0, CAST(OP("Reshape", results[1],
                    SIZES(DIM(IN(0), 0), DIM(IN(0), 1), FIXED(-1))),
                 DTYPE(IN(0))));
    GIVE(1, CAST(results[0], GIVEN(3) ? DTYPE(IN(3)) : DTYPE(IN(0))));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_linear_attention[] = {
    {"LinearAttention", 27, NEWEST, 3, 6, 2, 2, emit_linear_attention},
    {.name = NULL},
};

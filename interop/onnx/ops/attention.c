/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's attention, and what transformers have around it. */
#include "interop/onnx/ops/kit.h"

#include <math.h>
#include <string.h>

/* ---- heads ---- */

/* [batch, steps, heads * size] to [batch, heads, steps, size]. */
static eddy_output by_heads(eddy__onnx_op *op, eddy_output x, int64_t heads)
{
    const eddy__onnx_size size = OVER(DIM(x, 2), FIXED(heads));

    x = OP("Reshape", x, SIZES(DIM(x, 0), DIM(x, 1), FIXED(heads), size));
    return OP("Transpose", x, INT64S(0, 2, 1, 3));
}

/* And back. */
static eddy_output in_a_row(eddy__onnx_op *op, eddy_output x)
{
    const eddy__onnx_size width = TIMES(DIM(x, 1), DIM(x, 3));
    const eddy__onnx_size batch = DIM(x, 0), steps = DIM(x, 2);

    x = OP("Transpose", x, INT64S(0, 2, 1, 3));
    return OP("Reshape", x, SIZES(batch, steps, width));
}

/* ---- Attention ---- */

typedef struct attention {
    eddy_output q, k, v;
    eddy_output offset; /* of the first query, among the keys */
    eddy_output bias;   /* what is added to the scores; or none */
    bool is_flat;       /* the heads are in one row with their sizes */
    bool has_past, has_lengths, has_bias;
} attention;

/* Do the inputs have heads as an axis of their own? */
static bool is_flat(eddy__onnx_op *op)
{
    const int32_t rank = eddy__onnx_shape(op, IN(0)).rank;

    return rank >= 0 ? rank == 3 : eddy__onnx_has(op, "q_num_heads");
}

static eddy_output after_past(eddy__onnx_op *op, size_t past, eddy_output now)
{
    return GIVEN(past) ? OP("ConcatV2", IN(past), now, INT32(2)) : now;
}

static bool read_attention(eddy__onnx_op *op, attention *a)
{
    const int64_t q_heads = eddy__onnx_int(op, "q_num_heads", 0);
    const int64_t kv_heads = eddy__onnx_int(op, "kv_num_heads", 0);

    *a = (attention){.q = IN(0),
                     .k = IN(1),
                     .v = IN(2),
                     .is_flat = is_flat(op),
                     .has_past = GIVEN(4),
                     .has_lengths = GIVEN(6)};
    if (a->is_flat && (q_heads < 1 || kv_heads < 1)) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "q_num_heads and kv_num_heads are %lld and %lld",
                        (long long)q_heads, (long long)kv_heads);
        return false;
    }
    if (a->is_flat) {
        a->q = by_heads(op, a->q, q_heads);
        a->k = by_heads(op, a->k, kv_heads);
        a->v = by_heads(op, a->v, kv_heads);
    }
    a->k = after_past(op, 4, a->k);
    a->v = after_past(op, 5, a->v);
    GIVE(1, a->k);
    GIVE(2, a->v);
    if (a->has_past)
        a->offset = SIZED(DIM(IN(4), 2));
    else if (a->has_lengths)
        a->offset = OP(
            "Sub", OP("Reshape", CAST(IN(6), EDDY_INT64), INT64S(-1, 1, 1, 1)),
            SIZED(DIM(a->q, 2)));
    else
        a->offset = INT64(0);
    return eddy__onnx_ok(op);
}

/* Where a query may look by its place: by is_causal and the window. */
static eddy_output allowed_by_place(eddy__onnx_op *op, const attention *a,
                                    bool *out_any)
{
    const bool is_causal = eddy__onnx_int(op, "is_causal", 0) != 0;
    const int64_t left = eddy__onnx_int(op, "left_window_size", -1);
    const int64_t right = eddy__onnx_int(op, "right_window_size", -1);
    const eddy_output key = eddy__onnx_count(op, SIZED(DIM(a->k, 2)));
    eddy_output query = eddy__onnx_count(op, SIZED(DIM(a->q, 2)));
    eddy_output behind, all = EDDY__NO_OUTPUT;
    const struct {
        bool is_there;
        const char *type;
        int64_t bound;
    } bounds[] = {{is_causal, "GreaterEqual", 0},
                  {left >= 0, "LessEqual", left},
                  {right >= 0, "GreaterEqual", right >= 0 ? -right : 0}};

    *out_any = false;
    query = OP("AddV2", OP("ExpandDims", query, INT32(1)), a->offset);
    behind = OP("Sub", query, key);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        eddy_output one;

        if (!bounds[i].is_there)
            continue;
        one = OP(bounds[i].type, behind, INT64(bounds[i].bound));
        all = *out_any ? OP("LogicalAnd", all, one) : one;
        *out_any = true;
    }
    return all;
}

/* The mask, with as many keys as there are: those that it lacks are out. */
static eddy_output whole_mask(eddy__onnx_op *op, const attention *a)
{
    const eddy_output mask = IN(3);
    const bool is_bool = DTYPE(mask) == EDDY_BOOL;
    const eddy__onnx_size missing =
        eddy__onnx_larger(op, MINUS(DIM(a->k, 2), DIM(mask, -1)), FIXED(0));
    const eddy_output value = LIKE(mask, is_bool ? 0.0 : (double)-INFINITY);
    eddy_output zeros;

    if (missing.is_known && missing.value == 0)
        return mask;
    zeros =
        OP("Sub", OP("Mul", eddy__onnx_rank64(op, mask), INT64(2)), INT64(1));
    zeros = OP("Fill", eddy__onnx_as_vector(op, zeros), INT64(0));
    return OP("PadV2", mask,
              OP("Reshape", eddy__onnx_concat(op, zeros, SIZES(missing)),
                 INT64S(-1, 2)),
              value);
}

/* All that keeps a query from a key, as numbers to be added. */
static void read_bias(eddy__onnx_op *op, attention *a)
{
    bool has_allowed;
    eddy_output allowed = allowed_by_place(op, a, &has_allowed);
    const eddy_output never = LIKE(a->q, (double)-INFINITY);
    const eddy_output zero = LIKE(a->q, 0.0);
    eddy_output conditions[2], mask;
    size_t n = 0;

    if (a->has_lengths) {
        const eddy_output key = eddy__onnx_count(op, SIZED(DIM(a->k, 2)));

        conditions[n++] =
            OP("Less", key,
               OP("Reshape", CAST(IN(6), EDDY_INT64), INT64S(-1, 1, 1, 1)));
    }
    if (GIVEN(3) && DTYPE(IN(3)) == EDDY_BOOL)
        conditions[n++] = whole_mask(op, a);
    for (size_t i = 0; i < n; i++) {
        allowed = has_allowed ? OP("LogicalAnd", allowed, conditions[i])
                              : conditions[i];
        has_allowed = true;
    }
    a->has_bias = has_allowed || GIVEN(3);
    if (GIVEN(3) && DTYPE(IN(3)) != EDDY_BOOL) {
        mask = CAST(whole_mask(op, a), DTYPE(a->q));
        a->bias = has_allowed ? OP("SelectV2", allowed, mask, never) : mask;
    } else if (has_allowed) {
        a->bias = OP("SelectV2", allowed, zero, never);
    }
}

/* The root of the scale goes on each side, so that nothing overflows. */
static eddy_output root_of_scale(eddy__onnx_op *op, const attention *a)
{
    const double scale = (double)eddy__onnx_float(op, "scale", 0.0f);
    const eddy__onnx_size size = DIM(a->q, 3);
    eddy_output root;

    if (eddy__onnx_has(op, "scale"))
        return LIKE(a->q, sqrt(scale));
    if (size.is_known)
        return LIKE(a->q, sqrt(1.0 / sqrt((double)size.value)));
    root = OP("Sqrt", CAST(SIZED(size), EDDY_FLOAT32));
    return CAST(OP("Rsqrt", root), DTYPE(a->q));
}

/*
 * `x` of all query heads, by groups that share a head of keys: [batch, heads,
 * queries in group * steps, size]; itself if no head is shared.
 */
static eddy_output grouped(eddy__onnx_op *op, const attention *a, eddy_output x)
{
    const eddy__onnx_size heads = DIM(a->q, 1), shared = DIM(a->k, 1);

    if (heads.is_known && shared.is_known && heads.value == shared.value)
        return x;
    return OP("Reshape", x, SIZES(DIM(x, 0), shared, FIXED(-1), DIM(x, 3)));
}

static eddy_output ungrouped(eddy__onnx_op *op, const attention *a,
                             eddy_output x)
{
    const eddy__onnx_size heads = DIM(a->q, 1), shared = DIM(a->k, 1);

    if (heads.is_known && shared.is_known && heads.value == shared.value)
        return x;
    return OP("Reshape", x,
              SIZES(DIM(a->q, 0), heads, DIM(a->q, 2), DIM(x, 3)));
}

/* Likelihoods; all 0 for a query that may look nowhere. */
static eddy_output likelihoods(eddy__onnx_op *op, const attention *a,
                               eddy_output scores)
{
    const eddy_dtype dtype = DTYPE(scores);
    eddy_dtype by = dtype;
    eddy_output most, is_nowhere, p;

    if (eddy__onnx_int(op, "softmax_precision", 0) != 0)
        by = eddy__onnx_dtype_of(op, "softmax_precision");
    scores = CAST(scores, by);
    if (!a->has_bias)
        return CAST(OP("Softmax", scores), dtype);
    most = eddy__onnx_reduce(op, "Max", a->bias, INT64S(-1), true);
    is_nowhere = OP("Equal", most, LIKE(most, (double)-INFINITY));
    scores = OP("SelectV2", is_nowhere, LIKE(scores, 0.0), scores);
    p = OP("Softmax", scores);
    return CAST(OP("SelectV2", is_nowhere, LIKE(p, 0.0), p), dtype);
}

static eddy_output capped(eddy__onnx_op *op, eddy_output scores, double cap)
{
    if (cap <= 0.0)
        return scores;
    return OP("Mul", OP("Tanh", OP("RealDiv", scores, LIKE(scores, cap))),
              LIKE(scores, cap));
}

static void emit_attention(eddy__onnx_op *op)
{
    const int64_t mode = eddy__onnx_int(op, "qk_matmul_output_mode", 0);
    const double cap = (double)eddy__onnx_float(op, "softcap", 0.0f);
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("adj_y", &yes)};
    eddy_output root, stages[4], y;
    attention a;

    if (!read_attention(op, &a))
        return;
    read_bias(op, &a);
    root = root_of_scale(op, &a);
    stages[0] =
        OP_WITH("BatchMatMulV2", attrs, grouped(op, &a, OP("Mul", a.q, root)),
                OP("Mul", a.k, root));
    stages[0] = ungrouped(op, &a, stages[0]);
    stages[1] = capped(op, stages[0], cap);
    stages[2] = a.has_bias ? OP("AddV2", stages[1], a.bias) : stages[1];
    stages[3] = likelihoods(op, &a, stages[2]);
    y = OP("BatchMatMulV2", grouped(op, &a, stages[3]), a.v);
    y = ungrouped(op, &a, y);
    GIVE(0, a.is_flat ? in_a_row(op, y) : y);
    if (mode < 0 || mode > 3)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "qk_matmul_output_mode is %lld",
                        (long long)mode);
    else
        GIVE(3, stages[mode]);
}

/* ---- RotaryEmbedding ---- */

/* The cache's rows for each place, lined up with the heads. */
static eddy_output cached(eddy__onnx_op *op, size_t input, bool is_flat)
{
    eddy_output rows = IN(input);

    if (GIVEN(3))
        rows = OP("GatherV2", rows, CAST(IN(3), EDDY_INT64), INT32(0));
    return OP("ExpandDims", rows, INT32(is_flat ? 2 : 1));
}

/* The two parts of what is turned, each of half its size. */
static void halves_of(eddy__onnx_op *op, eddy_output x, bool is_interleaved,
                      eddy_output out[2])
{
    const int64_t two = 2, last = -1;
    const eddy_attr attrs[] = {eddy_attr_int("num", &two),
                               eddy_attr_int("axis", &last)};
    eddy_output parts;

    if (is_interleaved) {
        parts = OP("Reshape", x,
                   SIZES(DIM(x, 0), DIM(x, 1), DIM(x, 2),
                         OVER(DIM(x, 3), FIXED(2)), FIXED(2)));
        parts = OP_WITH("Unpack", attrs, parts);
    } else {
        parts = eddy__onnx_parts(op, x, 2, 3);
    }
    out[0] = eddy__onnx_nth(parts, 0);
    out[1] = eddy__onnx_nth(parts, 1);
}

static eddy_output turned(eddy__onnx_op *op, eddy_output x, bool is_flat)
{
    const bool is_interleaved = eddy__onnx_int(op, "interleaved", 0) != 0;
    const eddy_output cosine = cached(op, 1, is_flat);
    const eddy_output sine = cached(op, 2, is_flat);
    const int64_t last = -1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &last)};
    eddy_output halves[2], real, imaginary;

    halves_of(op, x, is_interleaved, halves);
    real = OP("Sub", OP("Mul", cosine, halves[0]), OP("Mul", sine, halves[1]));
    imaginary =
        OP("AddV2", OP("Mul", sine, halves[0]), OP("Mul", cosine, halves[1]));
    if (!is_interleaved)
        return OP("ConcatV2", real, imaginary, INT32(3));
    return OP("Reshape", OP_WITH("Pack", attrs, real, imaginary),
              eddy__onnx_dims(op, x));
}

static void emit_rotary_embedding(eddy__onnx_op *op)
{
    const int64_t size = eddy__onnx_int(op, "rotary_embedding_dim", 0);
    const int64_t heads = eddy__onnx_int(op, "num_heads", 0);
    const int32_t rank = eddy__onnx_shape(op, IN(0)).rank;
    const bool is_flat = rank >= 0 ? rank == 3 : heads > 0;
    eddy_output x = IN(0), y;

    if (is_flat && heads < 1) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "num_heads is %lld",
                        (long long)heads);
        return;
    }
    if (is_flat)
        x = OP("Reshape", x,
               SIZES(DIM(x, 0), DIM(x, 1), FIXED(heads),
                     OVER(DIM(x, 2), FIXED(heads))));
    if (size == 0) {
        y = turned(op, x, is_flat);
    } else {
        const eddy_output head =
            OP("Slice", x, INT64S(0, 0, 0, 0), INT64S(-1, -1, -1, size));
        const eddy_output rest =
            OP("Slice", x, INT64S(0, 0, 0, size), INT64S(-1, -1, -1, -1));

        y = OP("ConcatV2", turned(op, head, is_flat), rest, INT32(3));
    }
    GIVE(0, is_flat ? OP("Reshape", y, eddy__onnx_dims(op, IN(0))) : y);
}

/* ---- CausalConvWithState ---- */

/* Each channel by its own weights, over what was before each place. */
static void emit_causal_conv(eddy__onnx_op *op)
{
    const char *activation = eddy__onnx_text(op, "activation", "none");
    const eddy_dtype dtype = DTYPE(IN(0));
    const eddy_dtype by = dtype == EDDY_FLOAT64 ? dtype : EDDY_FLOAT32;
    const eddy_output x = CAST(IN(0), by), weights = CAST(IN(1), by);
    const eddy__onnx_size k = DIM(weights, 2), length = DIM(x, 2);
    const eddy__onnx_size before = MINUS(k, FIXED(1));
    eddy_output all, at, y;

    if (!activation)
        return;
    all = GIVEN(3)
              ? CAST(IN(3), DTYPE(x))
              : OP("Fill", SIZES(DIM(x, 0), DIM(x, 1), before), LIKE(x, 0.0));
    all = OP("ConcatV2", all, x, INT32(2));
    at = OP("ExpandDims", eddy__onnx_count(op, SIZED(length)), INT32(1));
    at = OP("AddV2", at, eddy__onnx_count(op, SIZED(k)));
    y = OP("GatherV2", all, at, INT32(2));
    /* [batch, channels, places, k] by [channels, 1, k] */
    y = eddy__onnx_reduce(op, "Sum", OP("Mul", y, weights), INT64S(3), false);
    if (GIVEN(2))
        y = OP("AddV2", y, OP("ExpandDims", CAST(IN(2), by), INT32(1)));
    if (strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0) {
        y = OP("Mul", y, OP("Sigmoid", y));
    } else if (strcmp(activation, "none") != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no activation '%s'",
                        activation);
        return;
    }
    GIVE(0, CAST(y, dtype));
    GIVE(1, OP("Slice", CAST(all, dtype), SIZES(FIXED(0), FIXED(0), length),
               INT64S(-1, -1, -1)));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_attention[] = {
    {"Attention", 23, NEWEST, 3, 7, 1, 4, emit_attention},
    {"CausalConvWithState", 27, NEWEST, 2, 4, 1, 2, emit_causal_conv},
    {"RotaryEmbedding", 23, NEWEST, 3, 4, 1, 1, emit_rotary_embedding},
    {.name = NULL},
};

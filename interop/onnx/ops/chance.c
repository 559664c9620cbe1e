/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's random operators.  The numbers are eddy's: ONNX says how they are
 * distributed, not which they are.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* A seed is a float in ONNX; its bits tell one from another. */
static int64_t seed_of(eddy__onnx_op *op)
{
    const float seed = eddy__onnx_float(op, "seed", 0.0f);
    uint32_t bits;

    if (!eddy__onnx_has(op, "seed"))
        return 0;
    memcpy(&bits, &seed, sizeof bits);
    return (int64_t)bits + 1;
}

static eddy_output drawn(eddy__onnx_op *op, const char *type, eddy_output shape,
                         eddy_dtype dtype, int64_t seed)
{
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_int("seed", &seed)};

    return OP_WITH(type, attrs, shape);
}

/* Uniform numbers between low and high, or normal ones. */
static eddy_output distributed(eddy__onnx_op *op, eddy_output shape,
                               eddy_dtype dtype, bool is_normal)
{
    const double low = (double)eddy__onnx_float(op, "low", 0.0f);
    const double high = (double)eddy__onnx_float(op, "high", 1.0f);
    const double mean = (double)eddy__onnx_float(op, "mean", 0.0f);
    const double scale = (double)eddy__onnx_float(op, "scale", 1.0f);
    const eddy_output x =
        drawn(op, is_normal ? "RandomStandardNormal" : "RandomUniform", shape,
              dtype, seed_of(op));

    if (is_normal)
        return OP("AddV2", OP("Mul", x, LIKE(x, scale)), LIKE(x, mean));
    return OP("AddV2", OP("Mul", x, LIKE(x, high - low)), LIKE(x, low));
}

static bool is_normal(const eddy__onnx_op *op)
{
    return strncmp(op->row->name, "RandomNormal", 12) == 0;
}

static void emit_random(eddy__onnx_op *op)
{
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");
    const int64_t *dims;
    const size_t n = eddy__onnx_list_of_ints(op, "shape", &dims);

    if (dtype == EDDY_INVALID)
        dtype = EDDY_FLOAT32;
    GIVE(0,
         distributed(op, eddy__onnx_int64s(op, dims, n), dtype, is_normal(op)));
}

static void emit_random_like(eddy__onnx_op *op)
{
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");
    const eddy_output x = IN(0);

    if (dtype == EDDY_INVALID)
        dtype = DTYPE(x);
    GIVE(0, distributed(op, eddy__onnx_dims(op, x), dtype, is_normal(op)));
}

static void emit_bernoulli(eddy__onnx_op *op)
{
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");
    const eddy_output x = IN(0);
    const eddy_output u = drawn(op, "RandomUniform", eddy__onnx_dims(op, x),
                                DTYPE(x), seed_of(op));

    if (dtype == EDDY_INVALID)
        dtype = DTYPE(x);
    GIVE(0, CAST(OP("Less", u, x), dtype));
}

static void emit_multinomial(eddy__onnx_op *op)
{
    const int64_t n = eddy__onnx_int(op, "sample_size", 1);
    const int64_t seed = seed_of(op);
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");
    const eddy_attr attrs[] = {eddy_attr_int("seed", &seed),
                               eddy_attr_type("output_dtype", &dtype)};

    if (dtype == EDDY_INVALID)
        dtype = EDDY_INT32;
    GIVE(0, OP_WITH("Multinomial", attrs, IN(0), INT32(n)));
}

/* ---- Dropout ---- */

/* Nothing is dropped: the mask is true throughout, of `dtype`. */
static void keep_all(eddy__onnx_op *op, eddy_output x, eddy_dtype dtype)
{
    GIVE(0, OP("Identity", x));
    if (WANTS(1))
        GIVE(1, OP("Fill", eddy__onnx_dims(op, x),
                   CAST(NUMBER(EDDY_INT32, 1.0), dtype)));
}

/* Before opset 12 nothing but running a trained model is left of it. */
static void emit_old_dropout(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const bool is_test = eddy__onnx_int(op, "is_test", 1) != 0;

    eddy__onnx_ignore(op, "ratio");
    eddy__onnx_ignore(op, "consumed_inputs");
    if (is_test)
        keep_all(op, x, op->row->last < 10 ? DTYPE(x) : EDDY_BOOL);
    else
        eddy__onnx_refuse(op, "training before opset 12");
}

/* Is input 2 a constant that says no? */
static bool never_trains(eddy__onnx_op *op)
{
    const eddy_tensor *known = eddy__onnx_known(op, 2);

    return !GIVEN(2) || (known && eddy_tensor_dtype(known) == EDDY_BOOL &&
                         eddy_tensor_count(known) == 1 &&
                         !*(const bool *)eddy_tensor_data(known));
}

static void emit_dropout(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    /* Without one it is 0, which draws another each time. */
    const int64_t seed =
        (int64_t)((uint64_t)eddy__onnx_int(op, "seed", -1) + 1);
    eddy_output ratio, kept, u, scale;

    if (never_trains(op)) {
        keep_all(op, x, EDDY_BOOL);
        return;
    }
    ratio = GIVEN(1) ? CAST(eddy__onnx_as_scalar(op, IN(1)), DTYPE(x))
                     : LIKE(x, 0.5);
    ratio =
        OP("SelectV2", eddy__onnx_as_scalar(op, IN(2)), ratio, LIKE(x, 0.0));
    u = drawn(op, "RandomUniform", eddy__onnx_dims(op, x), DTYPE(x), seed);
    kept = OP("GreaterEqual", u, ratio);
    scale = OP("RealDiv", LIKE(x, 1.0), OP("Sub", LIKE(x, 1.0), ratio));
    GIVE(0, OP("SelectV2", kept, OP("Mul", x, scale), LIKE(x, 0.0)));
    GIVE(1, kept);
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_chance[] = {
    {"Bernoulli", 15, NEWEST, 1, 1, 1, 1, emit_bernoulli},
    {"Dropout", 1, 9, 1, 1, 1, 2, emit_old_dropout},
    {"Dropout", 10, 11, 1, 1, 1, 2, emit_old_dropout},
    {"Dropout", 12, NEWEST, 1, 3, 1, 2, emit_dropout},
    {"Multinomial", 7, NEWEST, 1, 1, 1, 1, emit_multinomial},
    {"RandomNormal", 1, NEWEST, 0, 0, 1, 1, emit_random},
    {"RandomNormalLike", 1, NEWEST, 1, 1, 1, 1, emit_random_like},
    {"RandomUniform", 1, NEWEST, 0, 0, 1, 1, emit_random},
    {"RandomUniformLike", 1, NEWEST, 1, 1, 1, 1, emit_random_like},
    {.name = NULL},
};

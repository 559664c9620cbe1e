/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's products of matrices. */
#include "interop/onnx/ops/kit.h"

#include <stdio.h>
#include <string.h>

/* ---- MatMul ---- */

/* A matrix of `x` if that is a vector: a row or a column. */
static eddy_output as_matrix(eddy__onnx_op *op, eddy_output x, bool is_row)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    eddy_output dims, missing, ones;

    if (rank >= 2)
        return x;
    if (rank == 1)
        return OP("ExpandDims", x, INT32(is_row ? 0 : 1));
    dims = eddy__onnx_dims(op, x);
    missing =
        OP("Maximum", OP("Sub", INT64(2), eddy__onnx_rank64(op, x)), INT64(0));
    ones = OP("Fill", eddy__onnx_as_vector(op, missing), INT64(1));
    return OP("Reshape", x,
              is_row ? eddy__onnx_concat(op, ones, dims)
                     : eddy__onnx_concat(op, dims, ones));
}

/* The product without the dimensions that vectors had put on. */
static eddy_output without(eddy__onnx_op *op, eddy_output product,
                           eddy_output a, eddy_output b)
{
    const int32_t rank_a = eddy__onnx_shape(op, a).rank;
    const int32_t rank_b = eddy__onnx_shape(op, b).rank;
    const eddy_output shape = eddy__onnx_dims(op, product);
    const eddy_output n =
        OP("Sub", CAST(OP("Size", shape), EDDY_INT64), INT64(2));
    eddy_output kept_a, kept_b, kept;

    if (rank_a >= 2 && rank_b >= 2)
        return product;
    kept_a = OP("Greater", eddy__onnx_rank64(op, a), INT64(1));
    kept_b = OP("Greater", eddy__onnx_rank64(op, b), INT64(1));
    kept = eddy__onnx_concat(
        op, eddy__onnx_head(op, shape, n),
        eddy__onnx_concat(
            op,
            OP("Slice", shape, eddy__onnx_as_vector(op, n),
               eddy__onnx_as_vector(op, CAST(kept_a, EDDY_INT64))),
            OP("Slice", shape,
               eddy__onnx_as_vector(op, OP("AddV2", n, INT64(1))),
               eddy__onnx_as_vector(op, CAST(kept_b, EDDY_INT64)))));
    return OP("Reshape", product, kept);
}

eddy_output eddy__onnx_matmul(eddy__onnx_op *op, eddy_output a, eddy_output b)
{
    const eddy_dtype dtype = DTYPE(a);
    const eddy_output product =
        OP("BatchMatMulV2", as_matrix(op, a, true), as_matrix(op, b, false));

    return dtype == EDDY_INVALID ? product : without(op, product, a, b);
}

static void emit_matmul(eddy__onnx_op *op)
{
    GIVE(0, eddy__onnx_matmul(op, IN(0), IN(1)));
}

/* ---- Gemm ---- */

static eddy_output scaled(eddy__onnx_op *op, eddy_output x, float by)
{
    const eddy_dtype dtype = DTYPE(x);

    if (by == 1.0f)
        return x;
    if (eddy__onnx_is_float(dtype))
        return OP("Mul", x, LIKE(x, (double)by));
    return CAST(
        OP("Mul", CAST(x, EDDY_FLOAT64), NUMBER(EDDY_FLOAT64, (double)by)),
        dtype);
}

static void emit_gemm(eddy__onnx_op *op)
{
    const float alpha = eddy__onnx_float(op, "alpha", 1.0f);
    const float beta = eddy__onnx_float(op, "beta", 1.0f);
    const bool turns_a = eddy__onnx_int(op, "transA", 0) != 0;
    const bool turns_b = eddy__onnx_int(op, "transB", 0) != 0;
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &turns_a),
                               eddy_attr_bool("transpose_b", &turns_b)};
    eddy_output y;

    eddy__onnx_ignore(op, "broadcast");
    y = scaled(op, OP_WITH("MatMul", attrs, IN(0), IN(1)), alpha);
    if (GIVEN(2))
        y = OP("AddV2", y, scaled(op, IN(2), beta));
    GIVE(0, y);
}

/* ---- integers ---- */

/* `x` as int32 less its zero point: one, or one a row. */
static eddy_output less_zero(eddy__onnx_op *op, eddy_output x, size_t zero,
                             bool by_row)
{
    const eddy_output wide = CAST(x, EDDY_INT32);
    eddy_output point;

    if (!GIVEN(zero))
        return wide;
    point = CAST(IN(zero), EDDY_INT32);
    if (by_row && eddy__onnx_shape(op, point).rank != 0)
        point = OP("ExpandDims", eddy__onnx_as_vector(op, point), INT32(1));
    return OP("Sub", wide, point);
}

static void emit_matmul_integer(eddy__onnx_op *op)
{
    GIVE(0, eddy__onnx_matmul(op, less_zero(op, IN(0), 2, true),
                              less_zero(op, IN(1), 3, false)));
}

/* ---- Einsum ---- */

/* eddy's equation has no blanks. */
static bool without_blanks(eddy__onnx_op *op, const char *text, char *to,
                           size_t n)
{
    size_t at = 0;

    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (at + 1 >= n) {
            eddy__onnx_refuse(op, "an equation of more than %zu characters",
                              n - 1);
            return false;
        }
        to[at++] = *text;
    }
    to[at] = '\0';
    return true;
}

/* Without an arrow the result has what occurs once, in order of letters. */
static void add_result(char *equation, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz";
    const size_t length = strlen(equation);
    char result[sizeof "->..." + sizeof letters] = "->";
    size_t at = 2;

    if (strstr(equation, "->"))
        return;
    if (strstr(equation, "..."))
        for (int i = 0; i < 3; i++)
            result[at++] = '.';
    for (const char *letter = letters; *letter; letter++) {
        const char *first = strchr(equation, *letter);

        if (first && !strchr(first + 1, *letter))
            result[at++] = *letter;
    }
    if (length + at < n) {
        memcpy(equation + length, result, at);
        equation[length + at] = '\0';
    }
}

/* The terms of an equation, cut apart; -> is the last one's. */
typedef struct terms {
    char *at[EDDY__ONNX_MOST_INTS + 1];
    size_t n;
} terms;

/* Cuts "a,b->c" into a, b and c; false if there are not `n` and a result. */
static bool cut_terms(char *equation, size_t n, terms *out)
{
    char *arrow = strstr(equation, "->");

    if (!arrow)
        return false;
    *arrow = '\0';
    *out = (terms){.n = 0};
    for (char *at = equation; at && out->n < n;) {
        char *comma = strchr(at, ',');

        out->at[out->n++] = at;
        if (comma)
            *comma++ = '\0';
        at = comma;
        if (at && out->n == n)
            return false;
    }
    out->at[out->n] = arrow + 2;
    return out->n == n;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Is `letter` in a term from `first` on, or in the result? */
static bool is_used(const terms *t, size_t first, char letter)
{
    for (size_t i = first; i <= t->n; i++)
        if (strchr(t->at[i], letter))
            return true;
    return false;
}

/* What the terms `a` and `b` give to those from `first` on. */
static void join_terms(const terms *t, size_t first, const char *a,
                       const char *b, char *to)
{
    const char *const both[] = {a, b};
    size_t n = 0;

    if (strstr(a, "...") || strstr(b, "..."))
        while (n < 3)
            to[n++] = '.';
    to[n] = '\0';
    for (size_t i = 0; i < 2; i++)
        for (const char *c = both[i]; *c; c++)
            if (is_letter(*c) && is_used(t, first, *c) && !strchr(to, *c)) {
                to[n++] = *c;
                to[n] = '\0';
            }
}

static eddy_output write_einsum(eddy__onnx_op *op, const char *equation,
                                const eddy_output *inputs, size_t n)
{
    const eddy_string text = {equation, strlen(equation)};
    const eddy_attr attr = eddy_attr_string("equation", &text);

    return eddy__onnx_emit(op, "Einsum", inputs, n, &attr, 1);
}

/* Letters, three dots, and the end. */
#define MOST_IN_TERM (52 + 3 + 1)

/* More than two operands: one after the other, from the left. */
static eddy_output contract(eddy__onnx_op *op, const terms *t,
                            const eddy_output *inputs)
{
    char terms_of[2][MOST_IN_TERM];
    const char *left = t->at[0];
    eddy_output x = inputs[0];

    for (size_t i = 1; i < t->n && eddy__onnx_ok(op); i++) {
        const eddy_output pair[] = {x, inputs[i]};
        char *to = terms_of[i % 2];
        char equation[512 + 2 * MOST_IN_TERM];
        const char *result = i + 1 < t->n ? to : t->at[t->n];

        join_terms(t, i + 1, left, t->at[i], to);
        (void)snprintf(equation, sizeof equation, "%s,%s->%s", left, t->at[i],
                       result);
        x = write_einsum(op, equation, pair, 2);
        left = to;
    }
    return x;
}

/* Integers that the op Einsum has not are summed in 64 bits, and wrap. */
static eddy_dtype einsum_dtype(eddy__onnx_op *op)
{
    const eddy_dtype dtype = DTYPE(IN(0));

    return eddy__onnx_is_integer(dtype) && dtype != EDDY_INT32 ? EDDY_INT64
                                                               : dtype;
}

static void emit_einsum(eddy__onnx_op *op)
{
    const eddy_dtype by = einsum_dtype(op);
    const char *text = eddy__onnx_text(op, "equation", NULL);
    char equation[512];
    eddy_output all[EDDY__ONNX_MOST_INTS];
    terms t;

    if (!text) {
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute equation");
        return;
    }
    if (op->n_inputs > EDDY__ONNX_MOST_INTS) {
        eddy__onnx_refuse(op, "%zu operands", op->n_inputs);
        return;
    }
    if (!without_blanks(op, text, equation, sizeof equation - 64))
        return;
    add_result(equation, sizeof equation);
    for (size_t i = 0; i < op->n_inputs; i++)
        all[i] = CAST(IN(i), by);
    if (op->n_inputs <= 2)
        GIVE(0,
             CAST(write_einsum(op, equation, all, op->n_inputs), DTYPE(IN(0))));
    else if (cut_terms(equation, op->n_inputs, &t))
        GIVE(0, CAST(contract(op, &t, all), DTYPE(IN(0))));
    else
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "equation '%.100s' is not for %zu operands", text,
                        op->n_inputs);
}

static void emit_det(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy_dtype by =
        eddy_dtype_size(DTYPE(x)) < 4 ? EDDY_FLOAT32 : DTYPE(x);

    GIVE(0, CAST(OP("MatrixDeterminant", CAST(x, by)), DTYPE(x)));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_product[] = {
    {"Det", 11, NEWEST, 1, 1, 1, 1, emit_det},
    {"Einsum", 12, NEWEST, 1, EDDY__ONNX_ANY, 1, 1, emit_einsum},
    {"Gemm", 1, NEWEST, 2, 3, 1, 1, emit_gemm},
    {"MatMul", 1, NEWEST, 2, 2, 1, 1, emit_matmul},
    {"MatMulInteger", 10, NEWEST, 2, 4, 1, 1, emit_matmul_integer},
    {.name = NULL},
};

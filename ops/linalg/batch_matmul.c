/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchMatMul, BatchMatMulV2, BatchMatMulV3: products of the matrices in the
 * last two dimensions.  All dimensions before them count the matrices of a
 * batch; those of V2 and V3 are broadcast.
 */
#include "ops/linalg/panels.h"
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>

/* Inputs. */
enum { X, Y };

typedef struct state {
    eddy__multiply_fn multiply;
    eddy_dtype out;
    bool adjoint_x, adjoint_y; /* transposed, and conjugated if complex */
    bool broadcasts;
    const float *panels; /* of a constant y, or NULL */
} state;

/* ---- shapes, which may be partly unknown ---- */

/* What is wrong with two shapes. */
typedef enum misfit { NONE, RANKS, BATCHES, INNER } misfit;

static eddy_shape batch_of(const eddy_shape *shape)
{
    eddy_shape batch = *shape;

    if (batch.rank >= 0)
        batch.rank -= 2;
    return batch;
}

/* The shapes of the batches must be of known rank. */
static bool join_batches(const state *s, const eddy_shape *x,
                         const eddy_shape *y, eddy_shape *out)
{
    const eddy_shape a = batch_of(x), b = batch_of(y);

    return s->broadcasts ? eddy__shape_broadcast(&a, &b, out)
                         : eddy__shape_merge(&a, &b, out);
}

static misfit product_shape(const state *s, const eddy_shape *x,
                            const eddy_shape *y, eddy_shape *out)
{
    int64_t inner_x, inner_y;

    if ((x->rank >= 0 && x->rank < 2) || (y->rank >= 0 && y->rank < 2))
        return RANKS;
    *out = eddy__shape_unknown();
    if (x->rank < 0 || y->rank < 0)
        return NONE;
    if (!s->broadcasts && x->rank != y->rank)
        return RANKS;
    if (!join_batches(s, x, y, out))
        return BATCHES;
    inner_x = x->dims[x->rank - (s->adjoint_x ? 2 : 1)];
    inner_y = y->dims[y->rank - (s->adjoint_y ? 1 : 2)];
    if (inner_x >= 0 && inner_y >= 0 && inner_x != inner_y)
        return INNER;
    out->dims[out->rank++] = x->dims[x->rank - (s->adjoint_x ? 1 : 2)];
    out->dims[out->rank++] = y->dims[y->rank - (s->adjoint_y ? 2 : 1)];
    return NONE;
}

static const char *wanted(const state *s, misfit what)
{
    switch (what) {
    case RANKS:
        return s->broadcasts ? "both must be at least matrices"
                             : "both must be at least matrices, of one rank";
    case BATCHES:
        return s->broadcasts ? "their batch dimensions don't broadcast"
                             : "their batch dimensions are not the same";
    default:
        return "the matrices have no product";
    }
}

#define MISFIT "x has shape %s%s and y %s%s: %s"

static const char *adjoint(bool is_adjoint)
{
    return is_adjoint ? " (adjoint)" : "";
}

/* ---- the kernel ---- */

/* How far apart the matrices of `of` are along the dimensions of `batch`. */
static void batch_steps(const eddy_shape *of, const eddy_shape *batch,
                        int64_t *steps)
{
    int64_t step = of->dims[of->rank - 1] * of->dims[of->rank - 2];

    for (int32_t d = batch->rank - 1; d >= 0; d--) {
        const int32_t own = d - (batch->rank - (of->rank - 2));

        steps[d] = own < 0 || of->dims[own] == 1 ? 0 : step;
        if (own >= 0)
            step *= of->dims[own];
    }
}

static eddy_status run_batch(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *x = eddy__in_shape(k, X), *y = eddy__in_shape(k, Y);
    const bool is_complex = eddy__dtype_is_complex(s->out);
    eddy__products all = {
        .one = {.kernel = k,
                .panels = s->panels,
                .transpose_a = s->adjoint_x,
                .transpose_b = s->adjoint_y,
                .conjugate_a = s->adjoint_x && is_complex,
                .conjugate_b = s->adjoint_y && is_complex,
                .a = eddy__in_elements(k, X),
                .b = eddy__in_elements(k, Y)},
        .multiply = s->multiply,
        .size_a = eddy_dtype_size(eddy__in_dtype(k, X)),
        .size_b = eddy_dtype_size(eddy__in_dtype(k, Y)),
        .size_out = eddy_dtype_size(s->out),
    };
    eddy_shape out, batch;
    misfit what = product_shape(s, x, y, &out);

    if (what != NONE)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, MISFIT,
                           eddy__shape_print(x).text, adjoint(s->adjoint_x),
                           eddy__shape_print(y).text, adjoint(s->adjoint_y),
                           wanted(s, what));
    EDDY_TRY(eddy__output(k, 0, s->out, &out, &all.one.out));
    batch = batch_of(&out);
    all.one.m = out.dims[batch.rank];
    all.one.n = out.dims[batch.rank + 1];
    all.one.k = x->dims[x->rank - (s->adjoint_x ? 2 : 1)];
    all.rank = batch.rank;
    for (int32_t d = 0; d < batch.rank; d++)
        all.dims[d] = batch.dims[d];
    batch_steps(x, &batch, all.step_a);
    batch_steps(y, &batch, all.step_b);
    eddy__product_all(&all);
    return EDDY_OK;
}

static state read_attrs(const eddy_infer *infer, bool broadcasts)
{
    return (state){.adjoint_x = eddy__infer_bool(infer, "adj_x"),
                   .adjoint_y = eddy__infer_bool(infer, "adj_y"),
                   .broadcasts = broadcasts};
}

static eddy_status infer_batch(eddy_infer *infer, bool broadcasts)
{
    const state s = read_attrs(infer, broadcasts);
    const eddy_shape *x = eddy_infer_input(infer, X);
    const eddy_shape *y = eddy_infer_input(infer, Y);
    eddy_shape out;
    misfit what = product_shape(&s, x, y, &out);

    if (what != NONE)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               MISFIT, eddy__shape_print(x).text,
                               adjoint(s.adjoint_x), eddy__shape_print(y).text,
                               adjoint(s.adjoint_y), wanted(&s, what));
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

static eddy_status infer_same(eddy_infer *infer)
{
    return infer_batch(infer, false);
}

static eddy_status infer_broadcast(eddy_infer *infer)
{
    return infer_batch(infer, true);
}

static eddy_status prepare_batch(eddy_infer *infer, bool broadcasts)
{
    const eddy_dtype x = eddy_infer_input_dtype(infer, X);
    const eddy_dtype y = eddy_infer_input_dtype(infer, Y);
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    *s = read_attrs(infer, broadcasts);
    s->out = eddy_infer_output_dtype(infer, 0);
    if (x == y && x == s->out)
        s->multiply = eddy__product_of(s->out);
    else if (s->out == EDDY_INT32)
        s->multiply = eddy__product_bytes_of(x, y);
    if (s->multiply)
        return eddy__panels_prepare(infer, 1, s->adjoint_x, s->adjoint_y,
                                    &s->panels);
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no product of %s and %s in %s",
                           eddy_dtype_name(x), eddy_dtype_name(y),
                           eddy_dtype_name(s->out));
}

static eddy_status prepare_same(eddy_infer *infer)
{
    return prepare_batch(infer, false);
}

static eddy_status prepare_broadcast(eddy_infer *infer)
{
    return prepare_batch(infer, true);
}

#define ADJOINTS                                                               \
    "adj_x: bool = false, adj_y: bool = false, grad_x: bool = false, "         \
    "grad_y: bool = false"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("BatchMatMul", .inputs = "x: T, y: T", .outputs = "output: T",
                 .attrs = "T: {float, int32, int64, complex}, " ADJOINTS,
                 .infer = infer_same, .kernel = run_batch,
                 .prepare = prepare_same, .flags = EDDY_OP_HEAVY,
                 .doc = "The products of the matrices of two batches, in "
                        "pairs; either may be adjoint."),
    EDDY__OP_ROW("BatchMatMulV2", .inputs = "x: T, y: T",
                 .outputs = "output: T",
                 .attrs = "T: {float, int16, int32, int64, uint8, uint16, "
                          "uint32, uint64, complex}, " ADJOINTS,
                 .infer = infer_broadcast, .kernel = run_batch,
                 .prepare = prepare_broadcast, .flags = EDDY_OP_HEAVY,
                 .doc = "The products of the matrices of two batches, which "
                        "are broadcast; either may be adjoint."),
    EDDY__OP_ROW(
        "BatchMatMulV3", .inputs = "x: Ta, y: Tb", .outputs = "output: Tout",
        .attrs = "Ta: {float, uint8, int8, int16, int32, int64, complex}, Tb: "
                 "{float, uint8, int8, int16, int32, int64, complex}, Tout: "
                 "{float, int16, int32, int64, complex}, " ADJOINTS,
        .infer = infer_broadcast, .kernel = run_batch,
        .prepare = prepare_broadcast, .flags = EDDY_OP_HEAVY,
        .doc = "BatchMatMulV2, with int32 products of bytes too."),
};

const eddy__op_table eddy__batch_matmul_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};

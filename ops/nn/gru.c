/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fused GRU cell of TensorFlow (its gru_ops.cc) and its gradient.  The
 * reset and the update gate stand side by side in the columns of `w_ru`.
 */
#include "ops/math/elementwise.h"
#include "ops/math/float_math.h"
#include "ops/nn/recurrent.h"
#include "ops/ops.h"

enum { X, H_PREV, W_RU, W_C, B_RU, B_C, R, U, C, D_H };

#define N_SCRATCH 3

typedef struct cell {
    eddy_kernel *kernel;
    int64_t batch, inputs, units;
    eddy_tensor *scratch[N_SCRATCH];
    float *joined, *gates, *more; /* in scratch memory */
} cell;

static const float *in(const cell *c, uint32_t i)
{
    return (const float *)(const void *)eddy__in_elements(c->kernel, i);
}

static eddy_status describe(eddy_kernel *k, cell *c)
{
    const eddy_shape *x = eddy__in_shape(k, X), *h = eddy__in_shape(k, H_PREV);
    int64_t n;

    if (x->rank != 2 || h->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "x of shape %s and h_prev of shape %s must be "
                           "matrices",
                           eddy__shape_print(x).text,
                           eddy__shape_print(h).text);
    *c = (cell){.kernel = k,
                .batch = x->dims[0],
                .inputs = x->dims[1],
                .units = n = h->dims[1]};
    if (n > INT64_MAX / 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "a cell of %" PRId64 " units is too large", n);
    EDDY_TRY(eddy__want_matrix(k, H_PREV, "h_prev", c->batch, n));
    EDDY_TRY(eddy__want_matrix(k, W_RU, "w_ru", c->inputs + n, 2 * n));
    EDDY_TRY(eddy__want_matrix(k, W_C, "w_c", c->inputs + n, n));
    EDDY_TRY(eddy__recurrent_want_vector(k, B_RU, "b_ru", 2 * n));
    return eddy__recurrent_want_vector(k, B_C, "b_c", n);
}

static void release(cell *c)
{
    for (size_t i = 0; i < N_SCRATCH; i++)
        eddy__scratch_free(c->kernel, c->scratch[i]);
}

static eddy_status reserve(cell *c)
{
    const int64_t wide = c->inputs + c->units;
    const int64_t counts[N_SCRATCH] = {c->batch * wide, c->batch * 2 * c->units,
                                       c->batch * wide};
    float **const places[] = {&c->joined, &c->gates, &c->more};

    for (size_t i = 0; i < N_SCRATCH; i++) {
        const eddy_status status =
            eddy__scratch(c->kernel, EDDY_FLOAT32, counts[i], &c->scratch[i]);

        if (status != EDDY_OK) {
            release(c);
            return status;
        }
        *places[i] = c->scratch[i]->data;
    }
    return EDDY_OK;
}

/* ---- forwards ---- */

static float sigmoid(float x)
{
    return (float)eddy__float_sigmoid(x);
}

/* out = [x, h] w */
static void multiply(const cell *c, const float *h, const eddy__matrix *w,
                     float *out)
{
    const eddy__matrix x = {in(c, X), c->batch, c->inputs};
    const eddy__matrix state = {h, c->batch, c->units};
    const eddy__matrix xh = {c->joined, c->batch, c->inputs + c->units};

    eddy__recurrent_join_rows(sizeof *h, &x, &state, c->joined);
    eddy__recurrent_gates(c->kernel, EDDY_FLOAT32, &xh, w, EDDY__PLAIN, out);
}

static void open_gates(const cell *c, float *r, float *u)
{
    const float *b = in(c, B_RU);
    const int64_t n = c->units;

    for (int64_t i = 0; i < c->batch * n; i++) {
        const int64_t row = i / n, j = i % n;
        const float *gate = c->gates + row * 2 * n + j;

        r[i] = sigmoid(gate[0] + b[j]);
        u[i] = sigmoid(gate[n] + b[n + j]);
    }
}

static void step(const cell *c, void *const out[4])
{
    const int64_t n = c->units, wide = c->inputs + n;
    const eddy__matrix w_ru = {in(c, W_RU), wide, 2 * n};
    const eddy__matrix w_c = {in(c, W_C), wide, n};
    const float *h_prev = in(c, H_PREV), *b_c = in(c, B_C);
    float *r = out[0], *u = out[1], *candidate = out[2], *h = out[3];

    multiply(c, h_prev, &w_ru, c->gates);
    open_gates(c, r, u);
    for (int64_t i = 0; i < c->batch * n; i++)
        c->more[i] = h_prev[i] * r[i];
    multiply(c, c->more, &w_c, candidate);
    for (int64_t i = 0; i < c->batch * n; i++) {
        candidate[i] = (float)eddy__float_tanh(candidate[i] + b_c[i % n]);
        h[i] = u[i] * (h_prev[i] - candidate[i]) + candidate[i];
    }
}

static eddy_status run_cell(eddy_kernel *k)
{
    void *out[4] = {NULL};
    eddy_shape shape;
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    shape = *eddy__in_shape(k, H_PREV);
    for (uint32_t i = 0; i < 4; i++)
        EDDY_TRY(eddy__output(k, i, EDDY_FLOAT32, &shape, &out[i]));
    EDDY_TRY(reserve(&c));
    step(&c, out);
    release(&c);
    return EDDY_OK;
}

/* ---- backwards ---- */

/* c->more = gates' gradients w^T */
static void turn(const cell *c, const float *gates, int64_t n, const float *w,
                 float *out)
{
    const eddy__matrix a = {gates, c->batch, n};
    const eddy__matrix b = {w, c->inputs + c->units, n};

    eddy__recurrent_gates(c->kernel, EDDY_FLOAT32, &a, &b, EDDY__SECOND_TURNED,
                          out);
}

/* Of `joined`, which is by way of the reset gate, and `more`, by the gates. */
static void add_up(const cell *c, float *d_x, float *d_h_prev)
{
    const float *r = in(c, R), *u = in(c, U), *d_h = in(c, D_H);
    const int64_t n = c->units, m = c->inputs, wide = m + n;

    for (int64_t i = 0; i < c->batch; i++) {
        const float *first = c->more + i * wide, *second = c->joined + i * wide;

        for (int64_t j = 0; j < m; j++)
            d_x[i * m + j] = first[j] + second[j];
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = i * n + j;

            d_h_prev[at] =
                first[m + j] + second[m + j] * r[at] + d_h[at] * u[at];
        }
    }
}

static void step_back(const cell *c, void *const out[4])
{
    const float *r = in(c, R), *u = in(c, U), *candidate = in(c, C);
    const float *d_h = in(c, D_H), *h_prev = in(c, H_PREV);
    float *d_c_bar = out[2], *d_gates = out[3];
    const int64_t n = c->units, m = c->inputs, wide = m + n;

    for (int64_t i = 0; i < c->batch * n; i++)
        d_c_bar[i] = d_h[i] * (1 - u[i]) * (1 - candidate[i] * candidate[i]);
    turn(c, d_c_bar, n, in(c, W_C), c->joined);
    for (int64_t i = 0; i < c->batch * n; i++) {
        const int64_t row = i / n, j = i % n;
        const float d_hr = c->joined[row * wide + m + j];
        float *gate = d_gates + row * 2 * n + j;

        gate[0] = d_hr * h_prev[i] * r[i] * (1 - r[i]);
        gate[n] = d_h[i] * (h_prev[i] - candidate[i]) * u[i] * (1 - u[i]);
    }
    turn(c, d_gates, 2 * n, in(c, W_RU), c->more);
    add_up(c, out[0], out[1]);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    static const char *const names[] = {"r", "u", "c", "d_h"};
    eddy_shape shapes[4];
    void *out[4] = {NULL};
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    for (uint32_t i = 0; i < 4; i++)
        EDDY_TRY(eddy__want_matrix(k, R + i, names[i], c.batch, c.units));
    shapes[0] = *eddy__in_shape(k, X);
    shapes[1] = shapes[2] = shapes[3] = *eddy__in_shape(k, H_PREV);
    shapes[3].dims[1] = 2 * c.units;
    for (uint32_t i = 0; i < 4; i++)
        EDDY_TRY(eddy__output(k, i, EDDY_FLOAT32, &shapes[i], &out[i]));
    EDDY_TRY(reserve(&c));
    step_back(&c, out);
    release(&c);
    return EDDY_OK;
}

/* ---- definitions ---- */

static eddy_status infer_cell(eddy_infer *infer)
{
    for (uint32_t i = 0; i < 4; i++)
        eddy_infer_set_output(infer, i, eddy_infer_input(infer, H_PREV));
    return EDDY_OK;
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape *h = eddy_infer_input(infer, H_PREV);
    eddy_shape gates = eddy__shape_of_rank(2);

    if (h->rank == 2) {
        gates.dims[0] = h->dims[0];
        if (h->dims[1] >= 0 && h->dims[1] <= INT64_MAX / 4)
            gates.dims[1] = 2 * h->dims[1];
    }
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, X));
    eddy_infer_set_output(infer, 1, h);
    eddy_infer_set_output(infer, 2, h);
    eddy_infer_set_output(infer, 3, &gates);
    return EDDY_OK;
}

#define WEIGHTS "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("GRUBlockCell", .inputs = WEIGHTS,
                 .outputs = "r: T, u: T, c: T, h: T", .attrs = "T: {float32}",
                 .infer = infer_cell, .kernel = run_cell,
                 .flags = EDDY_OP_HEAVY, .doc = "One step of a GRU."),
    EDDY__OP_ROW(
        "GRUBlockCellGrad", .inputs = WEIGHTS ", r: T, u: T, c: T, d_h: T",
        .outputs = "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
        .attrs = "T: {float32}", .infer = infer_gradient,
        .kernel = run_gradient, .flags = EDDY_OP_HEAVY,
        .doc = "The gradient of GRUBlockCell by its inputs and gates."),
};

const eddy__op_table eddy__gru_ops = {specs, NULL,
                                      sizeof specs / sizeof *specs};

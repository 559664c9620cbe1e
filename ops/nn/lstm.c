/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fused LSTM cells of TensorFlow (its lstm_ops.cc): one step, a sequence of
 * steps, and their gradients.
 *
 * The gates stand side by side in the columns of `w`: input, new value, forget
 * and output, but in BlockLSTMV2 input, forget, new value and output.  A cell
 * that is clipped passes its gradient on as if it were not, as TensorFlow's.
 */
#include "ops/math/elementwise.h"
#include "ops/math/float_math.h"
#include "ops/nn/recurrent.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <string.h>

enum { OUT_I, OUT_CS, OUT_F, OUT_O, OUT_CI, OUT_CO, OUT_H, N_OUT };

/* The inputs of one step; a sequence has its length before them. */
enum { X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B, FIRST_OUT };

typedef struct options {
    float forget_bias, clip;
    bool peephole;
    bool is_sequence;
    int8_t new_gate, forget_gate; /* their places among the four */
} options;

#define N_SCRATCH 6

typedef struct cell {
    eddy_kernel *kernel;
    const options *how;
    eddy_dtype dtype;
    size_t size;
    int64_t batch, inputs, units;
    const void *w, *wci, *wcf, *wco, *b;
    /* In scratch memory: [x, h_prev], the gates, and a step's gradients. */
    void *xh, *gates, *xh_grad, *w_step, *cs_grad, *h_grad;
    eddy_tensor *scratch[N_SCRATCH];
} cell;

/* What a step backwards reads and writes; the sums of weights are in float. */
typedef struct back {
    const void *cs_prev, *out[N_OUT], *cs_grad, *h_grad;
    void *cs_prev_grad;
    float *wci_grad, *wcf_grad, *wco_grad;
} back;

/* ---- loops ---- */

#define SIGMOID(x) ((float)eddy__float_sigmoid(x))
#define TANH(x) ((float)eddy__float_tanh(x))

#define D F16
#include "ops/nn/lstm_steps.def"
#define D F32
#include "ops/nn/lstm_steps.def"

typedef struct step_loops {
    void (*forward)(const cell *c, const void *cs_prev, void *const out[N_OUT]);
    void (*backward)(const cell *c, const back *r);
    void (*add)(const void *a, const void *b, int64_t n, void *out);
    void (*total)(const void *rows, int64_t n_rows, int64_t n, float *sums);
    void (*store)(const float *from, int64_t n, void *out);
} step_loops;

static const step_loops half_loops = {forward_F16, backward_F16, add_F16,
                                      total_F16, store_F16};
static const step_loops float_loops = {forward_F32, backward_F32, add_F32,
                                       total_F32, store_F32};

static const step_loops *loops_of(const cell *c)
{
    return c->dtype == EDDY_FLOAT16 ? &half_loops : &float_loops;
}

/* ---- shapes and memory ---- */

static uint32_t at(const options *o, uint32_t input)
{
    return input + (o->is_sequence ? 1 : 0);
}

static eddy_status check_peepholes(eddy_kernel *k, const cell *c)
{
    static const char *const names[] = {"wci", "wcf", "wco"};

    for (uint32_t i = 0; c->how->peephole && i < 3; i++)
        EDDY_TRY(eddy__recurrent_want_vector(k, at(c->how, WCI + i), names[i],
                                             c->units));
    return EDDY_OK;
}

static eddy_status describe(eddy_kernel *k, cell *c)
{
    const options *o = eddy__state(k);
    const eddy_shape *x = eddy__in_shape(k, at(o, X));
    const eddy_shape *cs = eddy__in_shape(k, at(o, CS_PREV));
    const int32_t rank = o->is_sequence ? 3 : 2;

    *c = (cell){.kernel = k, .how = o};
    if (x->rank != rank || cs->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "x of shape %s must have rank %d, and cs_prev of "
                           "shape %s rank 2",
                           eddy__shape_print(x).text, rank,
                           eddy__shape_print(cs).text);
    *c = (cell){.kernel = k,
                .how = o,
                .dtype = eddy__in_dtype(k, at(o, X)),
                .batch = x->dims[rank - 2],
                .inputs = x->dims[rank - 1],
                .units = cs->dims[1],
                .w = eddy__in_elements(k, at(o, W)),
                .wci = eddy__in_elements(k, at(o, WCI)),
                .wcf = eddy__in_elements(k, at(o, WCF)),
                .wco = eddy__in_elements(k, at(o, WCO)),
                .b = eddy__in_elements(k, at(o, B))};
    c->size = eddy_dtype_size(c->dtype);
    EDDY_TRY(
        eddy__want_matrix(k, at(o, CS_PREV), "cs_prev", c->batch, c->units));
    EDDY_TRY(eddy__want_matrix(k, at(o, H_PREV), "h_prev", c->batch, c->units));
    if (c->units > INT64_MAX / 8)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "a cell of %" PRId64 " units is too large",
                           c->units);
    EDDY_TRY(eddy__want_matrix(k, at(o, W), "w", c->inputs + c->units,
                               4 * c->units));
    EDDY_TRY(eddy__recurrent_want_vector(k, at(o, B), "b", 4 * c->units));
    return check_peepholes(k, c);
}

static void release(cell *c)
{
    for (size_t i = 0; i < N_SCRATCH; i++)
        eddy__scratch_free(c->kernel, c->scratch[i]);
}

static eddy_status reserve(cell *c, bool is_backward)
{
    const int64_t wide = c->inputs + c->units;
    const int64_t counts[] = {c->batch * wide,
                              c->batch * 4 * c->units,
                              is_backward ? c->batch * wide : 0,
                              is_backward ? wide * 4 * c->units : 0,
                              is_backward ? c->batch * c->units : 0,
                              is_backward ? c->batch * c->units : 0};
    void **const places[] = {&c->xh,     &c->gates,   &c->xh_grad,
                             &c->w_step, &c->cs_grad, &c->h_grad};

    for (size_t i = 0; i < N_SCRATCH; i++) {
        const eddy_status status =
            eddy__scratch(c->kernel, c->dtype, counts[i], &c->scratch[i]);

        if (status != EDDY_OK) {
            release(c);
            return status;
        }
        *places[i] = c->scratch[i]->data;
    }
    return EDDY_OK;
}

/* How many steps a sequence has and how many of them count. */
static eddy_status read_length(eddy_kernel *k, int64_t *out_steps,
                               int64_t *out_length)
{
    *out_steps = eddy__in_shape(k, 1)->dims[0];
    EDDY_TRY(eddy__index_argument(k, 0, "seq_len_max", out_length));
    if (*out_length < 0 || *out_length > *out_steps)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "seq_len_max is %" PRId64
                           ", which is not in [0, %" PRId64 "]",
                           *out_length, *out_steps);
    return EDDY_OK;
}

/* ---- forwards ---- */

static const void *part(const void *array, int64_t elements, size_t size)
{
    return (const unsigned char *)array + (size_t)elements * size;
}

static void *place(void *array, int64_t elements, size_t size)
{
    return (unsigned char *)array + (size_t)elements * size;
}

static void step(const cell *c, const void *x, const void *cs_prev,
                 const void *h_prev, void *const out[N_OUT])
{
    const int64_t wide = c->inputs + c->units;
    const eddy__matrix now = {x, c->batch, c->inputs};
    const eddy__matrix before = {h_prev, c->batch, c->units};
    const eddy__matrix xh = {c->xh, c->batch, wide};
    const eddy__matrix w = {c->w, wide, 4 * c->units};

    eddy__recurrent_join_rows(c->size, &now, &before, c->xh);
    eddy__recurrent_gates(c->kernel, c->dtype, &xh, &w, EDDY__PLAIN, c->gates);
    loops_of(c)->forward(c, cs_prev, out);
}

static eddy_status make_outputs(const cell *c, const eddy_shape *shape,
                                void *out[N_OUT])
{
    for (uint32_t i = 0; i < N_OUT; i++)
        EDDY_TRY(eddy__output(c->kernel, i, c->dtype, shape, &out[i]));
    return EDDY_OK;
}

static eddy_status run_cell(eddy_kernel *k)
{
    void *out[N_OUT] = {NULL};
    eddy_shape shape;
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    shape = *eddy__in_shape(k, CS_PREV);
    EDDY_TRY(make_outputs(&c, &shape, out));
    EDDY_TRY(reserve(&c, false));
    step(&c, eddy__in_elements(k, X), eddy__in_elements(k, CS_PREV),
         eddy__in_elements(k, H_PREV), out);
    release(&c);
    return EDDY_OK;
}

/* Steps behind the length of the sequence give zeros. */
static void run_steps(const cell *c, int64_t steps, int64_t length,
                      void *out[N_OUT])
{
    const int64_t n = c->batch * c->units;
    const void *cs = eddy__in_elements(c->kernel, at(c->how, CS_PREV));
    const void *h = eddy__in_elements(c->kernel, at(c->how, H_PREV));
    const void *x = eddy__in_elements(c->kernel, at(c->how, X));

    for (int64_t t = 0; t < length && !eddy_kernel_cancelled(c->kernel); t++) {
        void *now[N_OUT];

        for (int i = 0; i < N_OUT; i++)
            now[i] = place(out[i], t * n, c->size);
        step(c, part(x, t * c->batch * c->inputs, c->size), cs, h, now);
        cs = now[OUT_CS];
        h = now[OUT_H];
    }
    for (int i = 0; i < N_OUT && steps > length && n > 0; i++)
        memset(place(out[i], length * n, c->size), 0,
               (size_t)((steps - length) * n) * c->size);
}

static eddy_status run_sequence(eddy_kernel *k)
{
    int64_t steps, length;
    void *out[N_OUT] = {NULL};
    eddy_shape shape;
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    EDDY_TRY(read_length(k, &steps, &length));
    shape = (eddy_shape){.rank = 3, .dims = {steps, c.batch, c.units}};
    EDDY_TRY(make_outputs(&c, &shape, out));
    EDDY_TRY(reserve(&c, false));
    run_steps(&c, steps, length, out);
    release(&c);
    return EDDY_OK;
}

/* ---- backwards ---- */

/* Room for the sums of three peepholes and of the biases. */
static eddy_status make_sums(const cell *c, back *r, eddy_tensor **out_sums,
                             float **out_b)
{
    const int64_t n = c->units;
    float *sums;

    EDDY_TRY(eddy__scratch(c->kernel, EDDY_FLOAT32, 7 * n, out_sums));
    sums = (*out_sums)->data;
    if (n > 0)
        memset(sums, 0, (*out_sums)->bytes);
    r->wci_grad = sums;
    r->wcf_grad = sums + n;
    r->wco_grad = sums + 2 * n;
    *out_b = sums + 3 * n;
    return EDDY_OK;
}

/* The gradients of the peepholes, in outputs `first` and the next two. */
static eddy_status put_peepholes(const cell *c, const back *r, uint32_t first)
{
    const float *const sums[] = {r->wci_grad, r->wcf_grad, r->wco_grad};

    for (uint32_t i = 0; i < 3; i++) {
        const eddy_shape *shape =
            eddy__in_shape(c->kernel, at(c->how, WCI + i));
        void *out;

        EDDY_TRY(eddy__output(c->kernel, first + i, c->dtype, shape, &out));
        if (c->how->peephole)
            loops_of(c)->store(sums[i], c->units, out);
        else if (eddy__in_count(c->kernel, at(c->how, WCI + i)) > 0)
            memset(out, 0,
                   (size_t)eddy__in_count(c->kernel, at(c->how, WCI + i)) *
                       c->size);
    }
    return EDDY_OK;
}

/* Inputs from `first` on must have the shape of output `i` of the cell. */
static eddy_status check_like(eddy_kernel *k, uint32_t first, uint32_t n,
                              const eddy_shape *shape)
{
    for (uint32_t i = first; i < first + n; i++)
        if (!eddy__shape_equal(eddy__in_shape(k, i), shape))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "input %u has shape %s; %s is wanted",
                               (unsigned)i,
                               eddy__shape_print(eddy__in_shape(k, i)).text,
                               eddy__shape_print(shape).text);
    return EDDY_OK;
}

static eddy_status run_cell_gradient(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, CS_PREV);
    eddy_tensor *sums = NULL;
    eddy_shape gates;
    eddy_status status;
    float *unused = NULL;
    void *out[2] = {NULL};
    back r = {NULL};
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    EDDY_TRY(check_like(k, FIRST_OUT, 8, shape));
    gates = (eddy_shape){.rank = 2, .dims = {c.batch, 4 * c.units}};
    EDDY_TRY(eddy__output(k, 0, c.dtype, shape, &out[0]));
    EDDY_TRY(eddy__output(k, 1, c.dtype, &gates, &out[1]));
    EDDY_TRY(make_sums(&c, &r, &sums, &unused));
    c.gates = out[1];
    r.cs_prev = eddy__in_elements(k, CS_PREV);
    for (uint32_t i = 0; i < OUT_H; i++)
        r.out[i] = eddy__in_elements(k, FIRST_OUT + i);
    r.cs_grad = eddy__in_elements(k, FIRST_OUT + OUT_H);
    r.h_grad = eddy__in_elements(k, FIRST_OUT + OUT_H + 1);
    r.cs_prev_grad = out[0];
    loops_of(&c)->backward(&c, &r);
    status = put_peepholes(&c, &r, 2);
    eddy__scratch_free(k, sums);
    return status;
}

/* Outputs of the gradient of a sequence. */
enum { X_GRAD, CS_PREV_GRAD, H_PREV_GRAD, W_GRAD, WCI_GRAD, B_GRAD = 7 };

typedef struct totals {
    void *x, *cs_prev, *h_prev, *w;
    float *b;
} totals;

/* From the gates' gradients those of what they were made of. */
static void step_gates(const cell *c, const void *x, const void *h_prev,
                       void *x_grad, const totals *to)
{
    const int64_t wide = c->inputs + c->units, gates = 4 * c->units;
    const eddy__matrix dgates = {c->gates, c->batch, gates};
    const eddy__matrix w = {c->w, wide, gates};
    const eddy__matrix now = {x, c->batch, c->inputs};
    const eddy__matrix before = {h_prev, c->batch, c->units};
    const eddy__matrix xh = {c->xh, c->batch, wide};

    eddy__recurrent_gates(c->kernel, c->dtype, &dgates, &w, EDDY__SECOND_TURNED,
                          c->xh_grad);
    for (int64_t i = 0; i < c->batch; i++) {
        const void *row = part(c->xh_grad, i * wide, c->size);

        if (c->inputs > 0)
            memcpy(place(x_grad, i * c->inputs, c->size), row,
                   (size_t)c->inputs * c->size);
        if (c->units > 0)
            memcpy(place(to->h_prev, i * c->units, c->size),
                   part(row, c->inputs, c->size), (size_t)c->units * c->size);
    }
    eddy__recurrent_join_rows(c->size, &now, &before, c->xh);
    eddy__recurrent_gates(c->kernel, c->dtype, &xh, &dgates, EDDY__FIRST_TURNED,
                          c->w_step);
    loops_of(c)->add(to->w, c->w_step, wide * gates, to->w);
    loops_of(c)->total(c->gates, c->batch, gates, to->b);
}

static void run_steps_back(const cell *c, int64_t length, back *r,
                           const totals *to)
{
    const int64_t n = c->batch * c->units, m = c->batch * c->inputs;
    eddy_kernel *k = c->kernel;
    const uint32_t first = at(c->how, FIRST_OUT);
    const unsigned char *cs = eddy__in_elements(k, first + OUT_CS);
    const unsigned char *h = eddy__in_elements(k, first + OUT_H);

    for (int64_t t = length - 1; t >= 0 && !eddy_kernel_cancelled(k); t--) {
        const void *h_prev = t > 0 ? part(h, (t - 1) * n, c->size)
                                   : eddy__in_elements(k, at(c->how, H_PREV));

        r->cs_prev = t > 0 ? part(cs, (t - 1) * n, c->size)
                           : eddy__in_elements(k, at(c->how, CS_PREV));
        for (uint32_t i = 0; i < N_OUT; i++)
            r->out[i] = part(eddy__in_elements(k, first + i), t * n, c->size);
        loops_of(c)->add(
            part(eddy__in_elements(k, first + N_OUT), t * n, c->size),
            to->cs_prev, n, c->cs_grad);
        loops_of(c)->add(
            part(eddy__in_elements(k, first + N_OUT + 1), t * n, c->size),
            to->h_prev, n, c->h_grad);
        r->cs_grad = c->cs_grad;
        r->h_grad = c->h_grad;
        r->cs_prev_grad = to->cs_prev;
        loops_of(c)->backward(c, r);
        step_gates(c, part(eddy__in_elements(k, at(c->how, X)), t * m, c->size),
                   h_prev, place(to->x, t * m, c->size), to);
    }
}

/* An output of the shape of an input, full of zeros. */
static eddy_status zeros_like(const cell *c, uint32_t output, uint32_t input,
                              void **out)
{
    const eddy_shape *shape = eddy__in_shape(c->kernel, at(c->how, input));
    const int64_t n = eddy__in_count(c->kernel, at(c->how, input));

    EDDY_TRY(eddy__output(c->kernel, output, c->dtype, shape, out));
    if (n > 0)
        memset(*out, 0, (size_t)n * c->size);
    return EDDY_OK;
}

static eddy_status propagate(cell *c, int64_t length)
{
    static const uint32_t inputs[] = {X, CS_PREV, H_PREV, W};
    eddy_tensor *sums = NULL;
    eddy_status status;
    void *out[4] = {NULL}, *b = NULL;
    totals to = {NULL};
    back r = {NULL};

    for (uint32_t i = 0; i < 4; i++)
        EDDY_TRY(zeros_like(c, i, inputs[i], &out[i]));
    EDDY_TRY(zeros_like(c, B_GRAD, B, &b));
    EDDY_TRY(make_sums(c, &r, &sums, &to.b));
    to.x = out[X_GRAD];
    to.cs_prev = out[CS_PREV_GRAD];
    to.h_prev = out[H_PREV_GRAD];
    to.w = out[W_GRAD];
    status = reserve(c, true);
    if (status == EDDY_OK) {
        run_steps_back(c, length, &r, &to);
        release(c);
        loops_of(c)->store(to.b, 4 * c->units, b);
        status = put_peepholes(c, &r, WCI_GRAD);
    }
    eddy__scratch_free(c->kernel, sums);
    return status;
}

static eddy_status run_sequence_gradient(eddy_kernel *k)
{
    int64_t steps, length;
    eddy_shape shape;
    cell c = {NULL};

    EDDY_TRY(describe(k, &c));
    EDDY_TRY(read_length(k, &steps, &length));
    shape = (eddy_shape){.rank = 3, .dims = {steps, c.batch, c.units}};
    EDDY_TRY(check_like(k, at(c.how, FIRST_OUT), N_OUT + 2, &shape));
    return propagate(&c, length);
}

/* ---- for a plan ---- */

static eddy_status prepare(eddy_infer *infer, bool is_sequence, bool is_second)
{
    options *o = eddy__prepare_state(infer, sizeof *o);
    eddy_attr attr;

    if (!o)
        return EDDY_RESOURCE_EXHAUSTED;
    o->is_sequence = is_sequence;
    o->peephole = eddy__infer_bool(infer, "use_peephole");
    o->new_gate = is_second ? 2 : 1;
    o->forget_gate = is_second ? 1 : 2;
    if (eddy_infer_attr(infer, "forget_bias", &attr))
        o->forget_bias = attr.as.floats[0];
    if (eddy_infer_attr(infer, "cell_clip", &attr))
        o->clip = attr.as.floats[0];
    return EDDY_OK;
}

static eddy_status prepare_cell(eddy_infer *infer)
{
    return prepare(infer, false, false);
}

static eddy_status prepare_sequence(eddy_infer *infer)
{
    return prepare(infer, true, false);
}

static eddy_status prepare_second(eddy_infer *infer)
{
    return prepare(infer, true, true);
}

static eddy_status infer_cell(eddy_infer *infer)
{
    const eddy_shape *cs = eddy_infer_input(infer, CS_PREV);

    for (uint32_t i = 0; i < N_OUT && cs->rank == 2; i++)
        eddy_infer_set_output(infer, i, cs);
    return EDDY_OK;
}

static eddy_status infer_sequence(eddy_infer *infer)
{
    const eddy_shape *x = eddy_infer_input(infer, 1 + X);
    const eddy_shape *cs = eddy_infer_input(infer, 1 + CS_PREV);
    eddy_shape shape = eddy__shape_of_rank(3);

    if (x->rank == 3)
        memcpy(shape.dims, x->dims, 2 * sizeof *shape.dims);
    if (cs->rank == 2)
        shape.dims[2] = cs->dims[1];
    for (uint32_t i = 0; i < N_OUT; i++)
        eddy_infer_set_output(infer, i, &shape);
    return EDDY_OK;
}

static eddy_status infer_cell_gradient(eddy_infer *infer)
{
    const eddy_shape *cs = eddy_infer_input(infer, CS_PREV);
    eddy_shape gates = eddy__shape_of_rank(2);

    if (cs->rank == 2) {
        gates.dims[0] = cs->dims[0];
        if (cs->dims[1] >= 0 && cs->dims[1] <= INT64_MAX / 8)
            gates.dims[1] = 4 * cs->dims[1];
    }
    eddy_infer_set_output(infer, 0, cs);
    eddy_infer_set_output(infer, 1, &gates);
    for (uint32_t i = 0; i < 3; i++)
        eddy_infer_set_output(infer, 2 + i, eddy_infer_input(infer, WCI + i));
    return EDDY_OK;
}

static eddy_status infer_sequence_gradient(eddy_infer *infer)
{
    for (uint32_t i = 0; i < FIRST_OUT; i++)
        eddy_infer_set_output(infer, i, eddy_infer_input(infer, 1 + i));
    return EDDY_OK;
}

#define WEIGHTS                                                                \
    "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
#define GATES "i: T, cs: T, f: T, o: T, ci: T, co: T"
#define CLIPPED(clip) "cell_clip: float = " clip ", "
#define PEEPHOLE "use_peephole: bool = false, "
#define T "T: {float16, float32}"
#define SEQUENCE_GRADIENT(name, ready)                                         \
    EDDY__OP_ROW(                                                              \
        name,                                                                  \
        .inputs = "seq_len_max: int64, " WEIGHTS ", " GATES                    \
                  ", h: T, cs_grad: T, h_grad: T",                             \
        .outputs = "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, "   \
                   "wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",         \
        .attrs = "use_peephole: bool, " T, .infer = infer_sequence_gradient,   \
        .kernel = run_sequence_gradient, .prepare = ready,                     \
        .flags = EDDY_OP_HEAVY,                                                \
        .doc = "The gradient of the fused LSTM by its cells and outputs.")

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "LSTMBlockCell", .inputs = WEIGHTS, .outputs = GATES ", h: T",
        .attrs = "forget_bias: float = 1.0, " CLIPPED("3.0") PEEPHOLE T,
        .infer = infer_cell, .kernel = run_cell, .prepare = prepare_cell,
        .flags = EDDY_OP_HEAVY, .doc = "One step of an LSTM."),
    EDDY__OP_ROW(
        "LSTMBlockCellGrad",
        .inputs = WEIGHTS ", " GATES ", cs_grad: T, h_grad: T",
        .outputs =
            "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
        .attrs = "use_peephole: bool, " T, .infer = infer_cell_gradient,
        .kernel = run_cell_gradient, .prepare = prepare_cell,
        .flags = EDDY_OP_HEAVY,
        .doc = "The gradient of LSTMBlockCell by its gates."),
    EDDY__OP_ROW("BlockLSTM", .inputs = "seq_len_max: int64, " WEIGHTS,
                 .outputs = GATES ", h: T",
                 .attrs =
                     "forget_bias: float = 1.0, " CLIPPED("3.0") PEEPHOLE T,
                 .infer = infer_sequence, .kernel = run_sequence,
                 .prepare = prepare_sequence, .flags = EDDY_OP_HEAVY,
                 .doc = "An LSTM over a sequence; zeros behind seq_len_max."),
    EDDY__OP_ROW("BlockLSTMV2", .inputs = "seq_len_max: int64, " WEIGHTS,
                 .outputs = GATES ", h: T", .attrs = CLIPPED("0.0") PEEPHOLE T,
                 .infer = infer_sequence, .kernel = run_sequence,
                 .prepare = prepare_second, .flags = EDDY_OP_HEAVY,
                 .doc = "BlockLSTM, with the gates in another order."),
    SEQUENCE_GRADIENT("BlockLSTMGrad", prepare_sequence),
    SEQUENCE_GRADIENT("BlockLSTMGradV2", prepare_second),
};

const eddy__op_table eddy__lstm_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};

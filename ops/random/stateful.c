/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of a generator whose state is a variable, as tf.random
 * .Generator keeps it: the 128 bits of Philox's counter and its key, as three
 * int64.  Every draw moves the counter on by as many steps as TensorFlow does.
 */
#include "core/base/entropy.h"
#include "ops/ops.h"
#include "ops/random/distribution.h"
#include "ops/random/generator.h"
#include "ops/state/variable.h"

#include <inttypes.h>

#define STATE_SIZE 3

/* Steps that are set aside for each number. */
#define STEPS_A_NUMBER 256

enum { STATE, ALGORITHM, SHAPE, LOW, HIGH };

/* ---- arguments ---- */

static eddy_status check_algorithm(eddy_kernel *k)
{
    eddy_view view;
    int64_t algorithm;

    EDDY_TRY(eddy__want_single(k, ALGORITHM, 0, "the algorithm"));
    view = eddy__in_view(k, ALGORITHM);
    algorithm = eddy__view_index(&view, 0);
    if (algorithm == EDDY__ALGORITHM_PHILOX || algorithm == EDDY__ALGORITHM_ANY)
        return EDDY_OK;
    return eddy__kfail(
        k,
        algorithm == EDDY__ALGORITHM_THREEFRY ? EDDY_UNIMPLEMENTED
                                              : EDDY_INVALID_ARGUMENT,
        EDDY_E_VALUE, "algorithm %" PRId64 " is not there; 1 is Philox",
        algorithm);
}

static eddy_status check_state(eddy_kernel *k, const eddy__update *update)
{
    if (update->shape->rank == 1 && update->count >= STATE_SIZE)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the generator's state must be a vector of at least %d "
                       "elements, not of shape %s",
                       STATE_SIZE, eddy__shape_print(update->shape).text);
}

/* ---- the state ---- */

/* How far the state is to move, and what it was. */
typedef struct step {
    uint64_t n;
    int64_t old[STATE_SIZE];
} step;

static eddy__philox philox_of(const int64_t state[STATE_SIZE])
{
    return eddy__philox_from_counter((uint64_t)state[2], (uint64_t)state[0],
                                     (uint64_t)state[1]);
}

/* An eddy__change_fn; `arg` is a step. */
static eddy_status take_steps(eddy_kernel *k, eddy__update *update, step *taken)
{
    const int64_t *from = (const void *)update->from;
    eddy__philox philox;
    int64_t *to;

    EDDY_TRY(check_state(k, update));
    for (int i = 0; i < STATE_SIZE; i++)
        taken->old[i] = from[i];
    EDDY_TRY(eddy__update_make(k, update, true));
    to = (void *)update->to;
    philox = philox_of(taken->old);
    eddy__philox_skip(&philox, taken->n);
    to[0] = (int64_t)philox.low;
    to[1] = (int64_t)philox.high;
    return EDDY_OK;
}

/* Moves the state of input 0 on. */
static eddy_status advance(eddy_kernel *k, step *taken)
{
    eddy__variable *variable;
    eddy__update update;
    eddy_status status;

    EDDY_TRY(eddy__in_variable(k, STATE, &variable));
    eddy__mutex_lock(&variable->mu);
    status =
        eddy__update_open(k, variable, EDDY_INT64, EDDY_NOT_FOUND, &update);
    if (status == EDDY_OK)
        status = take_steps(k, &update, taken);
    if (status == EDDY_OK)
        eddy__update_close(&update);
    eddy__mutex_unlock(&variable->mu);
    eddy__update_abandon(k, &update);
    eddy__value_clear(k->heap, &update.old);
    return status;
}

/* ---- kernels ---- */

static eddy_status draw(eddy_kernel *k, const eddy__interval *interval)
{
    const eddy__fill *fill = eddy__state(k);
    eddy__philox start;
    step taken;
    int64_t n;
    void *out;

    EDDY_TRY(eddy__distribution_output_of(k, SHAPE, &out, &n));
    taken.n = (uint64_t)n * STEPS_A_NUMBER;
    EDDY_TRY(advance(k, &taken));
    start = philox_of(taken.old);
    (*fill)(k, &start, interval, out, n);
    return EDDY_OK;
}

static eddy_status run_draw(eddy_kernel *k)
{
    EDDY_TRY(check_algorithm(k));
    return draw(k, NULL);
}

static eddy_status run_draw_between(eddy_kernel *k)
{
    eddy__interval interval;
    eddy_view low, high;
    int64_t from, to;

    EDDY_TRY(check_algorithm(k));
    EDDY_TRY(eddy__want_single(k, LOW, 0, "minval"));
    EDDY_TRY(eddy__want_single(k, HIGH, 0, "maxval"));
    low = eddy__in_view(k, LOW);
    high = eddy__in_view(k, HIGH);
    from = eddy__view_index(&low, 0);
    to = eddy__view_index(&high, 0);
    if (from >= to)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "minval %" PRId64 " is not below maxval %" PRId64,
                           from, to);
    interval.low = (uint64_t)from;
    interval.span = (uint64_t)to - (uint64_t)from;
    return draw(k, &interval);
}

/* Input 2 is how many numbers are passed over. */
static eddy_status skip(eddy_kernel *k, step *taken)
{
    EDDY_TRY(check_algorithm(k));
    EDDY_TRY(eddy__want_single(k, SHAPE, 0, "delta"));
    taken->n = *(const uint64_t *)eddy__in_view(k, SHAPE).data *
               (uint64_t)STEPS_A_NUMBER;
    return advance(k, taken);
}

static eddy_status run_skip(eddy_kernel *k)
{
    step taken;

    return skip(k, &taken);
}

static eddy_status run_read_and_skip(eddy_kernel *k)
{
    const eddy_shape three = eddy__shape_vector(STATE_SIZE);
    step taken;
    void *out;

    EDDY_TRY(skip(k, &taken));
    EDDY_TRY(eddy__output(k, 0, EDDY_INT64, &three, &out));
    for (int i = 0; i < STATE_SIZE; i++)
        ((int64_t *)out)[i] = taken.old[i];
    return EDDY_OK;
}

static eddy_status run_any(eddy_kernel *k)
{
    const eddy__fill *fill = eddy__state(k);
    const eddy__philox start =
        eddy__philox_from_seeds(eddy__entropy(), eddy__entropy());
    int64_t n;
    void *out;

    EDDY_TRY(eddy__distribution_output_of(k, 0, &out, &n));
    (*fill)(k, &start, NULL, out, n);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status infer_draw(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, SHAPE);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_old_state(eddy_infer *infer)
{
    const eddy_shape three = eddy__shape_vector(STATE_SIZE);

    eddy_infer_set_output(infer, 0, &three);
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer, eddy__distribution distribution)
{
    eddy__fill *fill = eddy__prepare_state(infer, sizeof *fill);

    if (!fill)
        return EDDY_RESOURCE_EXHAUSTED;
    *fill = eddy__distribution_fill_of(distribution,
                                       eddy_infer_output_dtype(infer, 0));
    return EDDY_OK;
}

#define DEFINE_PREPARE(name, distribution)                                     \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        return prepare(infer, distribution);                                   \
    }

DEFINE_PREPARE(uniform, EDDY__UNIFORM)
DEFINE_PREPARE(normal, EDDY__NORMAL)
DEFINE_PREPARE(truncated, EDDY__TRUNCATED_NORMAL)
DEFINE_PREPARE(between, EDDY__UNIFORM_INT)
DEFINE_PREPARE(full, EDDY__FULL_INT)

#define FLAGS EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL | EDDY__OP_ORDERED
#define DRAW(op, in, dtypes, run, ready, text)                                 \
    EDDY__OP_ROW(op,                                                           \
                 .inputs = "resource: resource, algorithm: int64, shape: "     \
                           "shape_dtype" in,                                   \
                 .outputs = "output: dtype",                                   \
                 .attrs = "dtype: " dtypes ", shape_dtype: index = int64",     \
                 .infer = infer_draw, .kernel = run, .prepare = ready,         \
                 .flags = FLAGS,                                               \
                 .doc = text " from a generator in a variable.")

#define INTEGERS "{int32, int64, uint32, uint64}"

static const eddy_op_spec specs[] = {
    DRAW("StatefulUniform", "", "float = float32", run_draw, prepare_uniform,
         "Numbers evenly from [0, 1),"),
    DRAW("StatefulStandardNormalV2", "", "float = float32", run_draw,
         prepare_normal, "Numbers of the standard normal distribution,"),
    DRAW("StatefulTruncatedNormal", "", "float = float32", run_draw,
         prepare_truncated,
         "Numbers of the standard normal distribution within 2,"),
    DRAW("StatefulUniformInt", ", minval: dtype, maxval: dtype",
         "{int32, int64} = int64", run_draw_between, prepare_between,
         "Integers evenly from [minval, maxval),"),
    DRAW("StatefulUniformFullInt", "", INTEGERS " = uint64", run_draw,
         prepare_full, "Integers evenly from all of the dtype,"),
    EDDY__OP_ROW("RngSkip",
                 .inputs = "resource: resource, algorithm: int64, delta: int64",
                 .kernel = run_skip, .flags = FLAGS,
                 .doc = "Moves a generator in a variable on by delta numbers."),
    EDDY__OP_ROW("RngReadAndSkip",
                 .inputs = "resource: resource, alg: int32, delta: uint64",
                 .outputs = "value: int64", .infer = infer_old_state,
                 .kernel = run_read_and_skip, .flags = FLAGS,
                 .doc = "The same, and the state that the generator had."),
    EDDY__OP_ROW("NonDeterministicInts", .inputs = "shape: shape_dtype",
                 .outputs = "output: dtype",
                 .attrs =
                     "dtype: " INTEGERS " = int64, shape_dtype: index = int64",
                 .infer = eddy__infer_spelled, .kernel = run_any,
                 .prepare = prepare_full,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL,
                 .doc = "Integers that no seed determines."),
};

const eddy__op_table eddy__stateful_ops = {specs, NULL,
                                           sizeof specs / sizeof *specs};

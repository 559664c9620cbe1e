/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of a given shape: the stateful ops, which go on where they
 * were, and the stateless ones, whose numbers follow from a seed or from a key
 * and a counter that are inputs.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/random/distribution.h"
#include "ops/random/generator.h"

#include <inttypes.h>

/* Steps that a stateful op sets aside for each number. */
#define STEPS_A_NUMBER 256

/* What prepare leaves. */
typedef struct draw {
    eddy__fill fill;
    eddy__seeds seeds; /* of a stateful op */
} draw;

/* ---- arguments ---- */

/* A scalar of any integer dtype, signed ones extended. */
static uint64_t integer_of(const eddy_view *view)
{
    if (view->dtype == EDDY_UINT64)
        return *(const uint64_t *)view->data;
    return (uint64_t)eddy__index_at(view, 0);
}

static eddy_status scalar_of(eddy_kernel *k, uint32_t i, const char *what,
                             eddy_view *out_view)
{
    *out_view = eddy__in_view(k, i);
    if (out_view->rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%s must be a scalar, not of shape %s", what,
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    return EDDY_OK;
}

/* ---- kernels ---- */

/* The scalars `first` and the next as [minval, maxval). */
static eddy_status read_bounds(eddy_kernel *k, uint32_t first,
                               eddy__interval *out_interval)
{
    eddy_view low, high;

    EDDY_TRY(scalar_of(k, first, "minval", &low));
    EDDY_TRY(scalar_of(k, first + 1, "maxval", &high));
    out_interval->low = integer_of(&low);
    out_interval->span = integer_of(&high) - out_interval->low;
    return EDDY_OK;
}

/* Fails unless there is a number in the interval. */
static eddy_status check_bounds(eddy_kernel *k, uint32_t first)
{
    const eddy_view low = eddy__in_view(k, first);
    const eddy_view high = eddy__in_view(k, first + 1);
    const uint64_t a = integer_of(&low), b = integer_of(&high);

    if (low.dtype == EDDY_UINT64 ? a < b : (int64_t)a < (int64_t)b)
        return EDDY_OK;
    if (low.dtype == EDDY_UINT64)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "minval %" PRIu64 " is not below maxval %" PRIu64, a,
                           b);
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "minval %" PRId64 " is not below maxval %" PRId64,
                       (int64_t)a, (int64_t)b);
}

static eddy_status run_stateful(eddy_kernel *k)
{
    const draw *d = eddy__state(k);
    eddy__philox start;
    int64_t n;
    void *out;

    EDDY_TRY(eddy__distribution_output_of(k, 0, &out, &n));
    if (n == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__generator_reserve(k, &d->seeds, (uint64_t)n * STEPS_A_NUMBER,
                                     &start));
    d->fill(k, &start, NULL, out, n);
    return EDDY_OK;
}

static eddy_status run_stateful_int(eddy_kernel *k)
{
    const draw *d = eddy__state(k);
    eddy__interval interval;
    eddy__philox start;
    int64_t n;
    void *out;

    EDDY_TRY(read_bounds(k, 1, &interval));
    EDDY_TRY(eddy__distribution_output_of(k, 0, &out, &n));
    if (n == 0)
        return EDDY_OK;
    EDDY_TRY(check_bounds(k, 1));
    EDDY_TRY(eddy__generator_reserve(k, &d->seeds, (uint64_t)n * STEPS_A_NUMBER,
                                     &start));
    d->fill(k, &start, &interval, out, n);
    return EDDY_OK;
}

static eddy_status fill_from(eddy_kernel *k, const eddy__philox *start)
{
    const draw *d = eddy__state(k);
    int64_t n;
    void *out;

    EDDY_TRY(eddy__distribution_output_of(k, 0, &out, &n));
    d->fill(k, start, NULL, out, n);
    return EDDY_OK;
}

/* The same with the bounds in inputs `first` and the next. */
static eddy_status fill_between(eddy_kernel *k, const eddy__philox *start,
                                uint32_t first)
{
    const draw *d = eddy__state(k);
    eddy__interval interval;
    int64_t n;
    void *out;

    EDDY_TRY(read_bounds(k, first, &interval));
    EDDY_TRY(eddy__distribution_output_of(k, 0, &out, &n));
    if (n == 0)
        return EDDY_OK;
    EDDY_TRY(check_bounds(k, first));
    d->fill(k, start, &interval, out, n);
    return EDDY_OK;
}

static eddy_status run_seeded(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__seeded_philox(k, 1, &start));
    return fill_from(k, &start);
}

static eddy_status run_seeded_int(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__seeded_philox(k, 1, &start));
    return fill_between(k, &start, 2);
}

static eddy_status run_counted(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__generator_from_counter(k, &start));
    return fill_from(k, &start);
}

static eddy_status run_counted_int(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__generator_from_counter(k, &start));
    return fill_between(k, &start, 4);
}

/* ---- keys and counters ---- */

static eddy_status run_key(eddy_kernel *k)
{
    const eddy_shape one = {1, {1}}, two = {1, {2}};
    const eddy_shape scalar = eddy__shape_scalar();
    eddy__philox start;
    void *key, *counter, *algorithm;

    EDDY_TRY(eddy__seeded_philox(k, 0, &start));
    EDDY_TRY(eddy__output(k, 0, EDDY_UINT64, &one, &key));
    EDDY_TRY(eddy__output(k, 1, EDDY_UINT64, &two, &counter));
    *(uint64_t *)key = start.key[0] | (uint64_t)start.key[1] << 32;
    ((uint64_t *)counter)[0] = start.low;
    ((uint64_t *)counter)[1] = start.high;
    if (k->node->n_out < 3)
        return EDDY_OK;
    EDDY_TRY(eddy__output(k, 2, EDDY_INT32, &scalar, &algorithm));
    *(int32_t *)algorithm = EDDY__ALGORITHM_PHILOX;
    return EDDY_OK;
}

static eddy_status run_algorithm(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, EDDY__ALGORITHM_PHILOX);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status infer_key(eddy_infer *infer)
{
    const eddy_shape one = {1, {1}}, two = {1, {2}};
    const eddy_shape scalar = eddy__shape_scalar();

    EDDY_TRY(eddy__infer_want_rank(infer, 0, 1));
    eddy_infer_set_output(infer, 0, &one);
    eddy_infer_set_output(infer, 1, &two);
    if (eddy_infer_outputs(infer) > 2)
        eddy_infer_set_output(infer, 2, &scalar);
    return EDDY_OK;
}

static eddy_status prepare_draw(eddy_infer *infer,
                                eddy__distribution distribution,
                                bool is_stateful)
{
    const eddy_dtype dtype = eddy_infer_output_dtype(infer, 0);
    eddy__seeds seeds = {.name = NULL};
    draw *d;

    if (is_stateful)
        EDDY_TRY(eddy__seeds_prepare(infer, &seeds));
    d = eddy__prepare_state(infer, sizeof *d);
    if (!d)
        return EDDY_RESOURCE_EXHAUSTED;
    d->seeds = seeds;
    d->fill = eddy__distribution_fill_of(distribution, dtype);
    return EDDY_OK;
}

#define DEFINE_PREPARE(name, distribution)                                     \
    static eddy_status prepare_stateless_##name(eddy_infer *infer)             \
    {                                                                          \
        return prepare_draw(infer, distribution, false);                       \
    }
#define DEFINE_PREPARES(name, distribution)                                    \
    DEFINE_PREPARE(name, distribution)                                         \
    static eddy_status prepare_stateful_##name(eddy_infer *infer)              \
    {                                                                          \
        return prepare_draw(infer, distribution, true);                        \
    }

DEFINE_PREPARES(uniform, EDDY__UNIFORM)
DEFINE_PREPARES(normal, EDDY__NORMAL)
DEFINE_PREPARES(truncated, EDDY__TRUNCATED_NORMAL)
DEFINE_PREPARES(int, EDDY__UNIFORM_INT)
DEFINE_PREPARE(full, EDDY__FULL_INT)

#define STATEFUL(name, in, type, dtypes, run, ready, text)                     \
    EDDY__OP_ROW(name, .inputs = "shape: T" in, .outputs = "output: " type,    \
                 .attrs = "seed: int = 0, seed2: int = 0, " type ": " dtypes   \
                          ", T: index",                                        \
                 .infer = eddy__infer_spelled, .kernel = run,                  \
                 .prepare = ready,                                             \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL |      \
                          EDDY__OP_ORDERED,                                    \
                 .doc = text)
#define SEEDED(name, in, attributes, seeds, run, ready, text)                  \
    EDDY__OP_ROW(name, .inputs = "shape: T, seed: Tseed" in,                   \
                 .outputs = "output: dtype",                                   \
                 .attrs = "dtype: " attributes ", Tseed: " seeds " = int64",   \
                 .infer = eddy__infer_spelled, .kernel = run,                  \
                 .prepare = ready, .flags = EDDY_OP_NOT_DIFFERENTIABLE,        \
                 .doc = text " that a seed determines.")
#define COUNTED(name, in, dtypes, run, ready, text)                            \
    EDDY__OP_ROW(                                                              \
        name,                                                                  \
        .inputs =                                                              \
            "shape: Tshape, key: uint64, counter: uint64, alg: int32" in,      \
        .outputs = "output: dtype",                                            \
        .attrs = "dtype: " dtypes ", Tshape: index = int32",                   \
        .infer = eddy__infer_spelled, .kernel = run, .prepare = ready,         \
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,                                   \
        .doc = text " that a key and a counter determine.")

#define UNIFORM "Numbers evenly from [0, 1)"
#define NORMAL "Numbers of the standard normal distribution"
#define TRUNCATED "Numbers of the standard normal distribution within 2"
#define INT "Integers evenly from [minval, maxval)"
#define FULL "Integers evenly from all of the dtype"
#define FLOAT "float = float32, T: index = int32"
#define UNSIGNED "{int32, int64, uint32, uint64}"

static const eddy_op_spec specs[] = {
    STATEFUL("RandomUniform", "", "dtype", "float", run_stateful,
             prepare_stateful_uniform, UNIFORM "."),
    STATEFUL("RandomStandardNormal", "", "dtype", "float", run_stateful,
             prepare_stateful_normal, NORMAL "."),
    STATEFUL("TruncatedNormal", "", "dtype", "float", run_stateful,
             prepare_stateful_truncated, TRUNCATED "."),
    STATEFUL("RandomUniformInt", ", minval: Tout, maxval: Tout", "Tout",
             "{int32, int64}", run_stateful_int, prepare_stateful_int, INT "."),
    SEEDED("StatelessRandomUniform", "", FLOAT, "index", run_seeded,
           prepare_stateless_uniform, UNIFORM),
    SEEDED("StatelessRandomNormal", "", FLOAT, "index", run_seeded,
           prepare_stateless_normal, NORMAL),
    SEEDED("StatelessTruncatedNormal", "", FLOAT, "index", run_seeded,
           prepare_stateless_truncated, TRUNCATED),
    SEEDED("StatelessRandomUniformInt", ", minval: dtype, maxval: dtype",
           "{int32, int64}, T: index", "index", run_seeded_int,
           prepare_stateless_int, INT),
    SEEDED("StatelessRandomUniformFullInt", "",
           UNSIGNED " = uint64, T: index = int32", UNSIGNED, run_seeded,
           prepare_stateless_full, FULL),
    COUNTED("StatelessRandomUniformV2", "", "float = float32", run_counted,
            prepare_stateless_uniform, UNIFORM),
    COUNTED("StatelessRandomNormalV2", "", "float = float32", run_counted,
            prepare_stateless_normal, NORMAL),
    COUNTED("StatelessTruncatedNormalV2", "", "float = float32", run_counted,
            prepare_stateless_truncated, TRUNCATED),
    COUNTED("StatelessRandomUniformIntV2", ", minval: dtype, maxval: dtype",
            UNSIGNED, run_counted_int, prepare_stateless_int, INT),
    COUNTED("StatelessRandomUniformFullIntV2", "", UNSIGNED " = uint64",
            run_counted, prepare_stateless_full, FULL),
    EDDY__OP_ROW("StatelessRandomGetKeyCounter", .inputs = "seed: Tseed",
                 .outputs = "key: uint64, counter: uint64",
                 .attrs = "Tseed: index = int64", .infer = infer_key,
                 .kernel = run_key, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The key and the counter that a seed stands for."),
    EDDY__OP_ROW(
        "StatelessRandomGetKeyCounterAlg", .inputs = "seed: Tseed",
        .outputs = "key: uint64, counter: uint64, alg: int32",
        .attrs = "Tseed: index = int64", .infer = infer_key, .kernel = run_key,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "The key, the counter and the algorithm that a seed stands for."),
    EDDY__OP_ROW("StatelessRandomGetAlg", .outputs = "alg: int32",
                 .infer = eddy__infer_scalar, .kernel = run_algorithm,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_CHEAP,
                 .doc = "The algorithm of the random ops: 1, Philox."),
};

const eddy__op_table eddy__random_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

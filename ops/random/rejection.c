/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the gamma and the Poisson distribution, to the bits of
 * TensorFlow's kernels for the CPU where the C library's functions are the
 * same.
 *
 * A number takes as many others as are rejected.  So each has a stretch of the
 * generator of its own, by its place in the output: that of its parameter
 * first, then which of the parameter's numbers it is.  In the output a
 * parameter's numbers are as far apart as there are parameters.
 *
 * Sources: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma
 * variables", 2000; W. Hoermann, "The transformed rejection method for
 * generating Poisson random variables", 1993, whose constants these are; for
 * small rates the product of uniform numbers after D. Knuth.  A rate that is a
 * NaN, for which TensorFlow does not end, gives a NaN.
 */
#include "ops/math/elements.h"
#include "ops/math/half.h"
#include "ops/ops.h"
#include "ops/random/distribution.h"
#include "ops/random/generator.h"

#include <math.h>

/* Steps that are set aside for each number. */
#define STEPS_A_NUMBER 256

/* What a number costs, in units of eddy__spent. */
#define WORK_A_NUMBER 256

/* ---- a stretch of the generator ---- */

/* The newest of two is taken first. */
typedef struct stretch {
    eddy__philox philox;
    double normals[2], uniforms[2];
    int n_normals, n_uniforms;
} stretch;

static double take_uniform(stretch *s)
{
    uint32_t words[EDDY__PHILOX_WORDS];

    if (s->n_uniforms == 0) {
        eddy__philox_next(&s->philox, words);
        s->uniforms[0] = eddy__distribution_uniform_double(words[0], words[1]);
        s->uniforms[1] = eddy__distribution_uniform_double(words[2], words[3]);
        s->n_uniforms = 2;
    }
    return s->uniforms[--s->n_uniforms];
}

static double take_normal(stretch *s)
{
    uint32_t words[EDDY__PHILOX_WORDS];

    if (s->n_normals == 0) {
        eddy__philox_next(&s->philox, words);
        eddy__distribution_normal_pair(words, s->normals);
        s->n_normals = 2;
    }
    return s->normals[--s->n_normals];
}

/* ---- the laws ---- */

/* A parameter and what follows from it. */
typedef struct law {
    double x, a, b, c, d;
} law;

static law gamma_of(double alpha)
{
    const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3);

    return (law){.x = alpha, .d = d, .c = 1.0 / 3 / sqrt(d)};
}

/* With alpha below 1 it is alpha + 1 that is drawn from. */
static double draw_gamma(eddy_kernel *k, const law *l, stretch *s)
{
    double x, v, u;

    if (l->x == 1.0)
        return -log1p(-take_uniform(s));
    do {
        x = take_normal(s);
        v = 1 + l->c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        u = take_uniform(s);
        if (u < 1 - 0.0331 * (x * x) * (x * x) ||
            log(u) < 0.5 * x * x + l->d * (1 - v + log(v)))
            return l->x < 1 ? l->d * v * pow(take_uniform(s), 1 / l->x)
                            : l->d * v;
    } while (!eddy__spent(k, 16));
    return 0;
}

static law poisson_of(double rate)
{
    const double b = 0.931 + 2.53 * sqrt(rate);

    return rate < 10 ? (law){.x = rate, .a = exp(-rate)}
                     : (law){.x = rate,
                             .a = -0.059 + 0.02483 * b,
                             .b = b,
                             .c = 1.1239 + 1.1328 / (b - 3.4),
                             .d = log(rate)};
}

static double draw_small_poisson(eddy_kernel *k, const law *l, stretch *s)
{
    double product = 1;

    for (double n = 0; !eddy__spent(k, 8); n++) {
        product *= take_uniform(s);
        if (product <= l->a)
            return n;
    }
    return 0;
}

static double draw_poisson(eddy_kernel *k, const law *l, stretch *s)
{
    if (isnan(l->x) || l->x == (double)INFINITY)
        return l->x;
    if (l->x < 10)
        return draw_small_poisson(k, l, s);
    while (!eddy__spent(k, 16)) {
        const double u = take_uniform(s) - 0.5, v = take_uniform(s);
        const double edge = 0.5 - fabs(u);
        const double n = floor((2 * l->a / edge + l->b) * u + l->x + 0.43);

        if (edge >= 0.07 && v <= 0.9277 - 3.6224 / (l->b - 2))
            return n;
        if (n < 0 || (edge < 0.013 && v > edge))
            continue;
        if (log(v * l->c / (l->a / (edge * edge) + l->b)) <=
            -l->x + n * l->d - lgamma(n + 1))
            return n;
    }
    return 0;
}

/* ---- filling ---- */

typedef struct distribution {
    law (*of)(double parameter);
    double (*draw)(eddy_kernel *k, const law *l, stretch *s);
} distribution;

static const distribution gammas = {gamma_of, draw_gamma};
static const distribution poissons = {poisson_of, draw_poisson};

/* What prepare leaves. */
typedef struct drawing {
    const distribution *distribution;
    eddy__seeds seeds; /* of a stateful op */
} drawing;

static double number_at(const eddy_view *view, int64_t i)
{
    switch (view->dtype) {
    case EDDY_FLOAT16:
        return (double)eddy__half_to_float(((const uint16_t *)view->data)[i]);
    case EDDY_FLOAT32:
        return (double)((const float *)view->data)[i];
    case EDDY_FLOAT64:
        return ((const double *)view->data)[i];
    default:
        return (double)eddy__view_index(view, i);
    }
}

/* What an integer can't hold becomes what x86's conversion makes of it. */
static int64_t integer_of(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static void put(eddy_dtype dtype, void *out, int64_t i, double x)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        ((uint16_t *)out)[i] = eddy__half_from_float((float)x);
        break;
    case EDDY_FLOAT32:
        ((float *)out)[i] = (float)x;
        break;
    case EDDY_FLOAT64:
        ((double *)out)[i] = x;
        break;
    case EDDY_INT32:
        ((int32_t *)out)[i] = (int32_t)((uint64_t)integer_of(x) & UINT32_MAX);
        break;
    default:
        ((int64_t *)out)[i] = integer_of(x);
        break;
    }
}

static void fill(eddy_kernel *k, const eddy__philox *start,
                 const eddy_view *parameters, void *out, int64_t n)
{
    const drawing *d = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const int64_t n_each = n / parameters->count;

    for (int64_t p = 0; p < parameters->count; p++) {
        const law l = d->distribution->of(number_at(parameters, p));

        for (int64_t i = 0; i < n_each && !eddy__spent(k, WORK_A_NUMBER); i++) {
            stretch s = {.philox = *start};

            eddy__philox_skip(&s.philox,
                              (uint64_t)(p * n_each + i) * STEPS_A_NUMBER);
            put(dtype, out, i * parameters->count + p,
                d->distribution->draw(k, &l, &s));
        }
    }
}

/* ---- kernels ---- */

static bool ends_with(const eddy_shape *shape, const eddy_shape *end)
{
    const int32_t from = shape->rank - end->rank;
    bool does = from >= 0;

    for (int32_t d = 0; does && d < end->rank; d++)
        does = shape->dims[from + d] == end->dims[d];
    return does;
}

/* Input 0 is the whole shape, which ends with the parameters'. */
static eddy_status fill_whole(eddy_kernel *k, const eddy__philox *start,
                              uint32_t parameter)
{
    const eddy_view dims = eddy__in_view(k, 0);
    const eddy_view parameters = eddy__in_view(k, parameter);
    eddy_shape shape;
    int64_t n;
    void *out;

    EDDY_TRY(eddy__shape_from_view(k, &dims, 0, &shape));
    if (!ends_with(&shape, eddy__in_shape(k, parameter)))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "the shape %s does not end with that of the "
            "parameters, %s",
            eddy__shape_print(&shape).text,
            eddy__shape_print(eddy__in_shape(k, parameter)).text);
    EDDY_TRY(eddy__distribution_output(k, &shape, &out, &n));
    if (n > 0)
        fill(k, start, &parameters, out, n);
    return EDDY_OK;
}

static eddy_status run_seeded(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__seeded_philox(k, 1, &start));
    return fill_whole(k, &start, 2);
}

static eddy_status run_counted(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__generator_from_counter(k, &start));
    return fill_whole(k, &start, 4);
}

/* Adds the dimensions of `end`; false if they are too many. */
static bool append(eddy_shape *shape, const eddy_shape *end)
{
    if (shape->rank + end->rank > EDDY_MAX_RANK)
        return false;
    for (int32_t d = 0; d < end->rank; d++)
        shape->dims[shape->rank++] = end->dims[d];
    return true;
}

/* Input 0 says how many numbers each parameter is to have. */
static eddy_status run_stateful(eddy_kernel *k)
{
    const drawing *d = eddy__state(k);
    const eddy_view dims = eddy__in_view(k, 0);
    const eddy_view parameters = eddy__in_view(k, 1);
    eddy__philox start;
    eddy_shape shape;
    int64_t n;
    void *out;

    EDDY_TRY(eddy__shape_from_view(k, &dims, 0, &shape));
    if (!append(&shape, eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the shape and that of the parameters, %s, have "
                           "more than %d dimensions",
                           eddy__shape_print(eddy__in_shape(k, 1)).text,
                           EDDY_MAX_RANK);
    EDDY_TRY(eddy__distribution_output(k, &shape, &out, &n));
    if (n == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__generator_reserve(k, &d->seeds, (uint64_t)n * STEPS_A_NUMBER,
                                     &start));
    fill(k, &start, &parameters, out, n);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status infer_each(eddy_infer *infer)
{
    const eddy_shape *end = eddy_infer_input(infer, 1);
    eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    if (shape.rank < 0 || end->rank < 0 || !append(&shape, end))
        shape = eddy__shape_unknown();
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer, const distribution *of,
                           bool is_stateful)
{
    eddy__seeds seeds = {.name = NULL};
    drawing *d;

    if (is_stateful)
        EDDY_TRY(eddy__seeds_prepare(infer, &seeds));
    d = eddy__prepare_state(infer, sizeof *d);
    if (!d)
        return EDDY_RESOURCE_EXHAUSTED;
    *d = (drawing){.distribution = of, .seeds = seeds};
    return EDDY_OK;
}

#define DEFINE_PREPARES(name)                                                  \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        return prepare(infer, &name##s, false);                                \
    }                                                                          \
    static eddy_status prepare_stateful_##name(eddy_infer *infer)              \
    {                                                                          \
        return prepare(infer, &name##s, true);                                 \
    }

DEFINE_PREPARES(gamma)
DEFINE_PREPARES(poisson)

#define FLOATS "{float16, float32, float64}"
#define NUMBERS "{float16, float32, float64, int32, int64}"
#define STATEFUL_FLAGS (EDDY_OP_STATEFUL | EDDY__OP_ORDERED | EDDY_OP_HEAVY)
#define GAMMA "Numbers of the gamma distribution with scale 1"
#define POISSON "Numbers of the Poisson distribution"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("RandomGamma", .inputs = "shape: S, alpha: T",
                 .outputs = "output: T",
                 .attrs = "seed: int = 0, seed2: int = 0, S: index, T: " FLOATS,
                 .infer = infer_each, .kernel = run_stateful,
                 .prepare = prepare_stateful_gamma, .flags = STATEFUL_FLAGS,
                 .doc = GAMMA ", as many as shape says for each alpha."),
    EDDY__OP_ROW("StatelessRandomGammaV2",
                 .inputs = "shape: T, seed: Tseed, alpha: dtype",
                 .outputs = "output: dtype",
                 .attrs = "dtype: " FLOATS ", T: index, Tseed: index = int64",
                 .infer = eddy__infer_spelled, .kernel = run_seeded,
                 .prepare = prepare_gamma, .flags = EDDY_OP_HEAVY,
                 .doc = GAMMA " that a seed determines."),
    EDDY__OP_ROW("StatelessRandomGammaV3",
                 .inputs = "shape: shape_dtype, key: uint64, counter: uint64, "
                           "alg: int32, alpha: dtype",
                 .outputs = "output: dtype",
                 .attrs = "dtype: " FLOATS ", shape_dtype: index = int32",
                 .infer = eddy__infer_spelled, .kernel = run_counted,
                 .prepare = prepare_gamma, .flags = EDDY_OP_HEAVY,
                 .doc = GAMMA " that a key and a counter determine."),
    EDDY__OP_ROW("RandomPoissonV2", .inputs = "shape: S, rate: R",
                 .outputs = "output: dtype",
                 .attrs = "seed: int = 0, seed2: int = 0, S: index, R: " NUMBERS
                          " = float64, dtype: " NUMBERS " = int64",
                 .infer = infer_each, .kernel = run_stateful,
                 .prepare = prepare_stateful_poisson,
                 .flags = STATEFUL_FLAGS | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = POISSON ", as many as shape says for each rate."),
    EDDY__OP_ROW("StatelessRandomPoisson",
                 .inputs = "shape: T, seed: Tseed, lam: Rtype",
                 .outputs = "output: dtype",
                 .attrs = "Rtype: " NUMBERS ", dtype: " NUMBERS
                          ", T: index, Tseed: index = int64",
                 .infer = eddy__infer_spelled, .kernel = run_seeded,
                 .prepare = prepare_poisson,
                 .flags = EDDY_OP_HEAVY | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = POISSON " that a seed determines."),
};

const eddy__op_table eddy__rejection_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};

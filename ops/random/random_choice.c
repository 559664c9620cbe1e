/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random choices: which class each draw of a distribution over classes is in
 * (Multinomial), and the rows of a tensor in another order (RandomShuffle).
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/misc/scratch.h"
#include "ops/ops.h"
#include "ops/random/distribution.h"
#include "ops/random/generator.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is counted for an access far from the last one. */
#define FAR_WORK 64

static eddy_status prepare_seeds(eddy_infer *infer)
{
    eddy__seeds seeds, *state;

    EDDY_TRY(eddy__seeds_prepare(infer, &seeds));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = seeds;
    return EDDY_OK;
}

/* ---- Multinomial ---- */

/*
 * What TensorFlow sets aside for the samples of a row: whole groups of four,
 * two words a sample, 256 steps a word.
 */
#define STEPS_FOR_SAMPLES(n) (((n) + 3) / 4 * 8 * 256)

/* Inputs. */
enum { LOGITS, NUM_SAMPLES, SEED };

/*
 * Sums up to each class, not scaled; logits that are not finite add nothing.
 * Gives the last.
 */
typedef double (*adder)(eddy_kernel *k, const void *logits, int64_t n,
                        double *sums);

#define DEFINE_ADDER(D, least)                                                 \
    static double add_##D(eddy_kernel *k, const void *from, int64_t n,         \
                          double *sums)                                        \
    {                                                                          \
        const eddy__stored_##D *logits = from;                                 \
        eddy__computed_##D most = (least);                                     \
        double total = 0;                                                      \
                                                                               \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {             \
            const eddy__computed_##D x = eddy__load_##D(logits[i]);            \
                                                                               \
            if (isfinite(x) && x > most)                                       \
                most = x;                                                      \
        }                                                                      \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {             \
            const eddy__computed_##D x = eddy__load_##D(logits[i]);            \
                                                                               \
            if (isfinite(x))                                                   \
                total += exp((double)x - (double)most);                        \
            sums[i] = total;                                                   \
        }                                                                      \
        return total;                                                          \
    }

DEFINE_ADDER(F16, -65504.0f)
DEFINE_ADDER(BF16, -0x1.fep127f)
DEFINE_ADDER(F32, -FLT_MAX)
DEFINE_ADDER(F64, -DBL_MAX)

static const adder adders[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = add_F16,
    [EDDY_BFLOAT16] = add_BF16,
    [EDDY_FLOAT32] = add_F32,
    [EDDY_FLOAT64] = add_F64,
};

/* The first class whose sum is above `x`, or `n`. */
static int64_t find_class(const double *sums, int64_t n, double x)
{
    int64_t low = 0, high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (sums[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

typedef struct choice {
    int64_t n_rows, n_classes, n_samples;
} choice;

static eddy_status read_choice(eddy_kernel *k, choice *out)
{
    const eddy_view logits = eddy__in_view(k, LOGITS);
    const eddy_view samples = eddy__in_view(k, NUM_SAMPLES);

    if (logits.rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the logits must be a matrix, not of shape %s",
                           eddy__shape_print(eddy__in_shape(k, LOGITS)).text);
    if (samples.rank != 0)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "the number of samples must be a scalar, not of shape %s",
            eddy__shape_print(eddy__in_shape(k, NUM_SAMPLES)).text);
    out->n_rows = logits.dims[0];
    out->n_classes = logits.dims[1];
    out->n_samples = *(const int32_t *)samples.data;
    if (out->n_samples < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the number of samples is %" PRId64
                           "; it must be at least 0",
                           out->n_samples);
    if (out->n_classes == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "logits of shape %s have no classes",
                           eddy__shape_print(eddy__in_shape(k, LOGITS)).text);
    return EDDY_OK;
}

/* Row by row from one stretch of the generator. */
static void choose(eddy_kernel *k, const choice *c, eddy__philox start,
                   double *sums, void *out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, LOGITS);
    const unsigned char *logits = eddy__in_elements(k, LOGITS);
    const size_t row = (size_t)c->n_classes * eddy_dtype_size(dtype);
    eddy__philox_words words = eddy__philox_words_of(start);

    for (int64_t i = 0; i < c->n_rows; i++) {
        const double total =
            adders[dtype](k, logits + (size_t)i * row, c->n_classes, sums);

        if (eddy__spent(k, 16 * c->n_classes))
            return;
        for (int64_t j = 0; j < c->n_samples && !eddy__spent(k, FAR_WORK);
             j++) {
            const uint32_t high = eddy__philox_word(&words);
            const uint32_t low = eddy__philox_word(&words);
            const int64_t found = find_class(
                sums, c->n_classes,
                eddy__distribution_uniform_double(high, low) * total);

            if (k->node->out_dtypes[0] == EDDY_INT32)
                ((int32_t *)out)[i * c->n_samples + j] = (int32_t)found;
            else
                ((int64_t *)out)[i * c->n_samples + j] = found;
        }
    }
}

/* `start` NULL: from the generator of the node. */
static eddy_status run_choice(eddy_kernel *k, const eddy__philox *start)
{
    choice c = {0};
    eddy__philox own;
    eddy_shape shape = {.rank = 2};
    eddy_tensor *sums;
    void *out;

    EDDY_TRY(read_choice(k, &c));
    shape.dims[0] = c.n_rows;
    shape.dims[1] = c.n_samples;
    EDDY_TRY(
        eddy__output(k, 0, (eddy_dtype)k->node->out_dtypes[0], &shape, &out));
    if (c.n_rows == 0 || c.n_samples == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__scratch(k, EDDY_FLOAT64, c.n_classes, &sums));
    if (!start) {
        const eddy_status status = eddy__generator_reserve(
            k, eddy__state(k),
            (uint64_t)c.n_rows * STEPS_FOR_SAMPLES((uint64_t)c.n_samples),
            &own);

        if (status != EDDY_OK) {
            eddy__scratch_free(k, sums);
            return status;
        }
        start = &own;
    }
    choose(k, &c, *start, sums->data, out);
    eddy__scratch_free(k, sums);
    return EDDY_OK;
}

static eddy_status run_multinomial(eddy_kernel *k)
{
    return run_choice(k, NULL);
}

static eddy_status run_stateless_multinomial(eddy_kernel *k)
{
    eddy__philox start;

    EDDY_TRY(eddy__seeded_philox(k, SEED, &start));
    return run_choice(k, &start);
}

static eddy_status infer_multinomial(eddy_infer *infer)
{
    const eddy_shape *logits = eddy_infer_input(infer, LOGITS);
    eddy_shape shape = eddy__shape_of_rank(2);
    int64_t n;

    EDDY_TRY(eddy__infer_want_rank(infer, LOGITS, 2));
    if (logits->rank == 2)
        shape.dims[0] = logits->dims[0];
    if (eddy__infer_constant_int(infer, NUM_SAMPLES, 0, &n) && n >= 0)
        shape.dims[1] = n;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- RandomShuffle ---- */

/* Fisher and Yates: each place gets one of those that are left. */
static eddy_status shuffle(eddy_kernel *k, int64_t *order, int64_t n,
                           eddy__philox start)
{
    eddy__philox_words words = eddy__philox_words_of(start);

    for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++)
        order[i] = i;
    EDDY_TRY(eddy__go_on(k, 0));
    for (int64_t i = 0; i + 1 < n; i++) {
        const int64_t j =
            i + (int64_t)(eddy__philox_word(&words) % (uint32_t)(n - i));
        const int64_t kept = order[i];

        order[i] = order[j];
        order[j] = kept;
        if (eddy__spent(k, FAR_WORK))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

static eddy_status shuffle_rows(eddy_kernel *k, const int64_t *order, int64_t n)
{
    const size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    const size_t row = (size_t)(eddy__in_count(k, 0) / n) * size;
    eddy_kernel *const asker = eddy__asker(k, eddy__in_dtype(k, 0));
    const unsigned char *in = eddy__in_elements(k, 0);
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, eddy__in_dtype(k, 0),
                                   eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < n && !(asker && eddy__spent(asker, FAR_WORK)); i++)
        eddy__copy_bytes(asker, out + (size_t)i * row,
                         in + (size_t)order[i] * row, row);
    return eddy__elements_done(k, 0);
}

static eddy_status run_shuffle(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const int64_t n = shape->rank > 0 ? shape->dims[0] : 1;
    eddy_tensor *order;
    eddy__philox start;
    eddy_status status;

    if (eddy__in_count(k, 0) <= 1 || n <= 1) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    if (n > UINT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "%" PRId64 " rows are too many to shuffle", n);
    EDDY_TRY(eddy__generator_reserve(k, eddy__state(k), (uint64_t)(n + 2) / 4,
                                     &start));
    EDDY_TRY(eddy__scratch(k, EDDY_INT64, n, &order));
    status = shuffle(k, order->data, n, start);
    if (status == EDDY_OK)
        status = shuffle_rows(k, order->data, n);
    eddy__scratch_free(k, order);
    return status;
}

static eddy_status prepare_shuffle(eddy_infer *infer)
{
    EDDY_TRY(eddy__prepare_movable(infer));
    return prepare_seeds(infer);
}

#define STATEFUL (EDDY_OP_STATEFUL | EDDY__OP_ORDERED)
#define SEEDS "seed: int = 0, seed2: int = 0"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Multinomial", .inputs = "logits: T, num_samples: int32",
        .outputs = "output: output_dtype",
        .attrs = SEEDS ", T: float, output_dtype: index = int64",
        .infer = infer_multinomial, .kernel = run_multinomial,
        .prepare = prepare_seeds,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE | STATEFUL,
        .doc = "Draws of classes, by the logarithms of how likely they are."),
    EDDY__OP_ROW(
        "StatelessMultinomial",
        .inputs = "logits: T, num_samples: int32, seed: Tseed",
        .outputs = "output: output_dtype",
        .attrs = "T: float, Tseed: index = int64, output_dtype: index = int64",
        .infer = infer_multinomial, .kernel = run_stateless_multinomial,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Draws of classes that a seed determines."),
    EDDY__OP_ROW("RandomShuffle", .inputs = "value: T", .outputs = "output: T",
                 .attrs = SEEDS ", T: type", .infer = eddy__infer_unchanged,
                 .kernel = run_shuffle, .prepare = prepare_shuffle,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE | STATEFUL,
                 .doc = "The slices along the first axis in a random order."),
};

const eddy__op_table eddy__random_choice_ops = {specs, NULL,
                                                sizeof specs / sizeof *specs};

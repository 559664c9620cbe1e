/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two cross entropies of softmax, each with its gradient by the logits:
 * SoftmaxCrossEntropyWithLogits against distributions, which broadcast, and
 * SparseSoftmaxCrossEntropyWithLogits against classes.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/softmax.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

/* Inputs and outputs. */
enum { FEATURES, LABELS };
enum { LOSS, BACKPROP };

/* A matrix of logits and what stands against each of its rows. */
typedef struct batch {
    eddy_kernel *kernel; /* which is asked whether to stop */
    int64_t rows, classes;
    const void *features;
    const void *labels; /* elements, or a view of classes */
    /* Of elements; 0 where an input is repeated. */
    int64_t feature_row, feature_step, label_row, label_step;
    void *loss, *backprop;
} batch;

typedef void (*batch_function)(const batch *b);

/* Where the exponentials of a row may stay until they are needed again. */
#define KEPT_F16(out) NULL
#define KEPT_BF16(out) NULL
#define KEPT_F32(out) (out)
#define KEPT_F64(out) (out)

/* Calls what is defined as `use`(i, e) for each exponential `e` of a row. */
#define EACH_EXP(D, x, step, row, out, use)                                    \
    do {                                                                       \
        eddy__computed_##D own[EDDY__EXPS];                                    \
        const eddy__computed_##D *kept = KEPT_##D(out);                        \
                                                                               \
        for (int64_t at = 0; at < b->classes; at += EDDY__EXPS) {              \
            const int64_t left = b->classes - at;                              \
            const int64_t m = left < EDDY__EXPS ? left : EDDY__EXPS;           \
            const eddy__computed_##D *exps = kept ? kept + at : own;           \
                                                                               \
            if (!kept)                                                         \
                eddy__exps_##D((x) + at * (step), (step), m, (row), own);      \
            EDDY__FOR_EACH(j, m, use(D, at + j, exps[j]));                     \
        }                                                                      \
    } while (0)

#define DIFFERENCE(D, i, e)                                                    \
    out[i] =                                                                   \
        EDDY__STORE_##D((e) / sum - eddy__load_##D(label[(i)*b->label_step]))

/* The sum of labels[i] * -log(softmax[i]), a label of 0 for a class that can't
 * be (-inf) being a NaN as it is in TensorFlow. */
#define DENSE(D)                                                               \
    static eddy__computed_##D loss_##D(                                        \
        const batch *b, const eddy__stored_##D *x,                             \
        const eddy__stored_##D *label, const eddy__exp_row *row)               \
    {                                                                          \
        const eddy__computed_##D max = (eddy__computed_##D)row->max;           \
        const eddy__computed_##D log_sum = (eddy__computed_##D)log(row->sum);  \
        double loss = 0;                                                       \
                                                                               \
        for (int64_t i = 0; i < b->classes; i++) {                             \
            const eddy__computed_##D shifted =                                 \
                eddy__load_##D(x[i * b->feature_step]) - max;                  \
                                                                               \
            loss += (double)(eddy__load_##D(label[i * b->label_step]) *        \
                             (log_sum - shifted));                             \
        }                                                                      \
        return (eddy__computed_##D)loss;                                       \
    }                                                                          \
    static void dense_##D(const batch *b)                                      \
    {                                                                          \
        eddy__stored_##D *losses = b->loss;                                    \
                                                                               \
        for (int64_t i = 0; i < b->rows && !eddy__gave_up(b->kernel); i++) {   \
            const eddy__stored_##D *x =                                        \
                (const eddy__stored_##D *)b->features + i * b->feature_row;    \
            const eddy__stored_##D *label =                                    \
                (const eddy__stored_##D *)b->labels + i * b->label_row;        \
            eddy__stored_##D *out =                                            \
                (eddy__stored_##D *)b->backprop + i * b->classes;              \
            const eddy__exp_row row = eddy__exp_sum_##D(                       \
                b->kernel, x, b->feature_step, b->classes, KEPT_##D(out));     \
            const eddy__computed_##D sum = (eddy__computed_##D)row.sum;        \
                                                                               \
            losses[i] = EDDY__STORE_##D(loss_##D(b, x, label, &row));          \
            EACH_EXP(D, x, b->feature_step, &row, out, DIFFERENCE);            \
        }                                                                      \
    }

/* NOLINTBEGIN(readability-function-size): the strips of a loop nest in it. */
DENSE(F16)
DENSE(BF16)
DENSE(F32)
DENSE(F64)
/* NOLINTEND(readability-function-size) */

#define PROBABILITY(D, i, e)                                                   \
    out[i] = EDDY__STORE_##D((e) / sum - ((i) == label ? 1 : 0))

#define SPARSE(D)                                                              \
    static void sparse_##D(const batch *b)                                     \
    {                                                                          \
        eddy__stored_##D *losses = b->loss;                                    \
                                                                               \
        for (int64_t i = 0; i < b->rows && !eddy__gave_up(b->kernel); i++) {   \
            const eddy__stored_##D *x =                                        \
                (const eddy__stored_##D *)b->features + i * b->feature_row;    \
            const int64_t label = eddy__index_at(b->labels, i);                \
            eddy__stored_##D *out =                                            \
                (eddy__stored_##D *)b->backprop + i * b->classes;              \
            const eddy__exp_row row =                                          \
                eddy__exp_sum_##D(b->kernel, x, 1, b->classes, KEPT_##D(out)); \
            const eddy__computed_##D sum = (eddy__computed_##D)row.sum;        \
            const eddy__computed_##D shifted =                                 \
                eddy__load_##D(x[label]) - (eddy__computed_##D)row.max;        \
                                                                               \
            losses[i] =                                                        \
                EDDY__STORE_##D((eddy__computed_##D)log(row.sum) - shifted);   \
            EACH_EXP(D, x, 1, &row, out, PROBABILITY);                         \
        }                                                                      \
    }

/* NOLINTBEGIN(readability-function-size): likewise. */
SPARSE(F16)
SPARSE(BF16)
SPARSE(F32)
SPARSE(F64)
/* NOLINTEND(readability-function-size) */

static const batch_function dense[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = dense_F16,
    [EDDY_BFLOAT16] = dense_BF16,
    [EDDY_FLOAT32] = dense_F32,
    [EDDY_FLOAT64] = dense_F64,
};

static const batch_function sparse[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = sparse_F16,
    [EDDY_BFLOAT16] = sparse_BF16,
    [EDDY_FLOAT32] = sparse_F32,
    [EDDY_FLOAT64] = sparse_F64,
};

static eddy_status make_outputs(eddy_kernel *k, batch *b)
{
    const eddy_dtype dtype = eddy__in_dtype(k, FEATURES);
    const eddy_shape losses = eddy__shape_vector(b->rows);
    const eddy_shape matrix = {.rank = 2, .dims = {b->rows, b->classes}};

    EDDY_TRY(eddy__output(k, LOSS, dtype, &losses, &b->loss));
    return eddy__output(k, BACKPROP, dtype, &matrix, &b->backprop);
}

/* ---- against distributions ---- */

#define NO_MATRIX                                                              \
    "logits of shape %s and labels of shape %s must broadcast to a matrix"

/* The steps of an input of a shape that broadcasts to a matrix. */
static void set_steps(const eddy_shape *shape, int64_t *row, int64_t *step)
{
    const int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;

    *step = columns == 1 ? 0 : 1;
    *row = shape->rank == 2 && shape->dims[0] != 1 ? columns : 0;
}

static eddy_status run_dense(eddy_kernel *k)
{
    const eddy_shape *features = eddy__in_shape(k, FEATURES);
    const eddy_shape *labels = eddy__in_shape(k, LABELS);
    batch b = {.kernel = k,
               .features = eddy__in_elements(k, FEATURES),
               .labels = eddy__in_elements(k, LABELS)};
    eddy_shape shape;

    if (!eddy__shape_broadcast(features, labels, &shape) || shape.rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_MATRIX,
                           eddy__shape_print(features).text,
                           eddy__shape_print(labels).text);
    b.rows = shape.dims[0];
    b.classes = shape.dims[1];
    set_steps(features, &b.feature_row, &b.feature_step);
    set_steps(labels, &b.label_row, &b.label_step);
    EDDY_TRY(make_outputs(k, &b));
    dense[eddy__in_dtype(k, FEATURES)](&b);
    return EDDY_OK;
}

static void set_inferred(eddy_infer *infer, const eddy_shape *matrix)
{
    const eddy_shape losses = eddy__shape_vector(matrix->dims[0]);

    eddy_infer_set_output(infer, LOSS, &losses);
    eddy_infer_set_output(infer, BACKPROP, matrix);
}

static eddy_status infer_dense(eddy_infer *infer)
{
    const eddy_shape *features = eddy_infer_input(infer, FEATURES);
    const eddy_shape *labels = eddy_infer_input(infer, LABELS);
    const eddy_shape any = eddy__shape_of_rank(2);
    eddy_shape shape, matrix;

    if (!eddy__shape_broadcast(features, labels, &shape) ||
        !eddy__shape_merge(&shape, &any, &matrix))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NO_MATRIX, eddy__shape_print(features).text,
                               eddy__shape_print(labels).text);
    set_inferred(infer, &matrix);
    return EDDY_OK;
}

/* ---- against classes ---- */

#define NO_PAIR                                                                \
    "logits of shape %s and labels of shape %s must be a matrix and a vector " \
    "of as many elements as it has rows"

static eddy_status check_labels(eddy_kernel *k, const eddy_view *labels,
                                const batch *b)
{
    if (b->classes == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "there must be at least one class, but the logits "
                           "have shape %s",
                           eddy__shape_print(eddy__in_shape(k, FEATURES)).text);
    for (int64_t i = 0; i < b->rows && !eddy__gave_up(b->kernel); i++) {
        const int64_t label = eddy__index_at(labels, i);

        if (label < 0 || label >= b->classes)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "labels[%" PRId64 "] = %" PRId64
                               " is not in [0, %" PRId64 ")",
                               i, label, b->classes);
    }
    return EDDY_OK;
}

static eddy_status run_sparse(eddy_kernel *k)
{
    const eddy_shape *features = eddy__in_shape(k, FEATURES);
    const eddy_view labels = eddy__in_view(k, LABELS);
    batch b = {.kernel = k,
               .features = eddy__in_elements(k, FEATURES),
               .labels = &labels};

    if (features->rank != 2 || labels.rank != 1 ||
        labels.count != features->dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_PAIR,
                           eddy__shape_print(features).text,
                           eddy__shape_print(eddy__in_shape(k, LABELS)).text);
    b.rows = features->dims[0];
    b.classes = b.feature_row = features->dims[1];
    EDDY_TRY(check_labels(k, &labels, &b));
    EDDY_TRY(make_outputs(k, &b));
    sparse[eddy__in_dtype(k, FEATURES)](&b);
    return EDDY_OK;
}

static eddy_status infer_sparse(eddy_infer *infer)
{
    const eddy_shape *features = eddy_infer_input(infer, FEATURES);
    const eddy_shape *labels = eddy_infer_input(infer, LABELS);
    const eddy_shape any = eddy__shape_of_rank(2);
    eddy_shape matrix, rows, both;

    if (eddy__shape_merge(features, &any, &matrix)) {
        rows = eddy__shape_vector(matrix.dims[0]);
        if (eddy__shape_merge(labels, &rows, &both)) {
            matrix.dims[0] = both.dims[0];
            set_inferred(infer, &matrix);
            return EDDY_OK;
        }
    }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_PAIR,
                           eddy__shape_print(features).text,
                           eddy__shape_print(labels).text);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "SoftmaxCrossEntropyWithLogits", .inputs = "features: T, labels: T",
        .outputs = "loss: T, backprop: T", .attrs = "T: float",
        .infer = infer_dense, .kernel = run_dense, .flags = EDDY_OP_HEAVY,
        .doc = "The cross entropy of softmax and labels of each row, and its "
               "gradient by the logits."),
    EDDY__OP_ROW("SparseSoftmaxCrossEntropyWithLogits",
                 .inputs = "features: T, labels: Tlabels",
                 .outputs = "loss: T, backprop: T",
                 .attrs = "T: float, Tlabels: index = int64",
                 .infer = infer_sparse, .kernel = run_sparse,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "-log of the softmax of each row at its label, and its "
                        "gradient by the logits."),
};

const eddy__op_table eddy__cross_entropy_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonMaxSuppression, V1 to V5 and WithOverlaps: of boxes that overlap more than
 * a threshold only the one with the highest score is taken.
 *
 * Candidates wait, the best first.  With a sigma, overlaps lower a
 * score instead, and the candidate waits again.  Scores of float16 are rounded
 * after each step, as in TensorFlow.
 */
#include "ops/math/elements.h"
#include "ops/math/half.h"
#include "ops/misc/scratch.h"
#include "ops/nn/candidates.h"
#include "ops/ops.h"

#include <float.h>
#include <math.h>

enum { BOXES, SCORES, MOST, THRESHOLD, LEAST_SCORE, SIGMA };

/* What a node of each version has. */
typedef struct manner {
    float threshold; /* of the first version */
    bool has_overlaps;
    bool pads;
} manner;

typedef struct choosing {
    eddy_kernel *kernel;
    int64_t n;
    float threshold, least_score, scale;
    bool is_soft, is_half;
    int64_t most;
    eddy__candidates waiting;
    int32_t *chosen;
    float *scores; /* of those */
    int64_t n_chosen;
} choosing;

static float load(const eddy_view *v, int64_t i)
{
    return v->dtype == EDDY_FLOAT16
               ? eddy__half_to_float(((const uint16_t *)v->data)[i])
               : ((const float *)v->data)[i];
}

static float rounded(const choosing *c, float x)
{
    return c->is_half ? eddy__half_to_float(eddy__half_from_float(x)) : x;
}

/* ---- overlaps ---- */

/* What two boxes share, as a part of what they cover. */
static float overlap(const eddy_view *boxes, int64_t i, int64_t j)
{
    float a[4], b[4];

    for (int d = 0; d < 4; d++) {
        a[d] = load(boxes, 4 * i + d);
        b[d] = load(boxes, 4 * j + d);
    }
    return eddy__candidates_overlap(a, b);
}

static float similarity(const choosing *c, int64_t i, int64_t j)
{
    const manner *m = eddy__state(c->kernel);
    const eddy_view boxes = eddy__in_view(c->kernel, BOXES);

    return m->has_overlaps ? load(&boxes, i * c->n + j) : overlap(&boxes, i, j);
}

/* ---- choosing ---- */

/* What a score is lowered by. */
static float weight_of(const choosing *c, float alike)
{
    const float power = rounded(c, rounded(c, c->scale * alike) * alike);

    return c->is_soft || alike <= c->threshold ? rounded(c, expf(power)) : 0;
}

/* Lowers the score by what was chosen; false if that leaves nothing of it. */
static bool survives(choosing *c, eddy__candidate *next)
{
    for (int64_t j = c->n_chosen; j-- > next->begin;) {
        const float alike = rounded(c, similarity(c, next->box, c->chosen[j]));

        next->score = rounded(c, next->score * weight_of(c, alike));
        if (!c->is_soft && alike > c->threshold)
            return false;
        if (next->score <= c->least_score || eddy__spent(c->kernel, 32))
            break;
    }
    next->begin = (int32_t)c->n_chosen;
    return true;
}

static eddy_status choose(choosing *c)
{
    const eddy_view scores = eddy__in_view(c->kernel, SCORES);

    for (int64_t i = 0; i < c->n; i++) {
        const float score = load(&scores, i);

        if (score > c->least_score)
            eddy__candidates_push(
                &c->waiting,
                (eddy__candidate){.box = (int32_t)i, .score = score});
        EDDY_TRY(eddy__go_on(c->kernel, 16));
    }
    while (c->n_chosen < c->most && c->waiting.n > 0) {
        eddy__candidate next = eddy__candidates_pop(&c->waiting);
        const float before = next.score;

        EDDY_TRY(eddy__go_on(c->kernel, 64));
        if (!survives(c, &next))
            continue;
        if (next.score == before) {
            c->chosen[c->n_chosen] = next.box;
            c->scores[c->n_chosen++] = next.score;
        } else if (next.score > c->least_score) {
            eddy__candidates_push(&c->waiting, next);
        }
    }
    return eddy__go_on(c->kernel, 0);
}

/* ---- what comes out ---- */

static eddy_status put_scores(const choosing *c, const eddy_shape *shape)
{
    void *out;

    EDDY_TRY(eddy__output(
        c->kernel, 1, (eddy_dtype)c->kernel->node->out_dtypes[1], shape, &out));
    for (int64_t i = 0; i < shape->dims[0]; i++) {
        const float score = i < c->n_chosen ? c->scores[i] : 0;

        if (c->is_half)
            ((uint16_t *)out)[i] = eddy__half_from_float(score);
        else
            ((float *)out)[i] = score;
        if (eddy__spent_at(c->kernel, i))
            return eddy__go_on(c->kernel, 0);
    }
    return EDDY_OK;
}

static eddy_status put_chosen(const choosing *c, int64_t asked)
{
    eddy_kernel *k = c->kernel;
    const manner *m = eddy__state(k);
    const eddy_shape shape = eddy__shape_vector(m->pads ? asked : c->n_chosen);
    void *out;

    EDDY_TRY(eddy__output(k, 0, EDDY_INT32, &shape, &out));
    for (int64_t i = 0; i < shape.dims[0]; i++) {
        ((int32_t *)out)[i] = i < c->n_chosen ? c->chosen[i] : 0;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    if (k->node->n_out == 3)
        EDDY_TRY(put_scores(c, &shape));
    if (k->node->n_out > 1)
        eddy__out_scalar(eddy__out(k, k->node->n_out - 1), EDDY_INT32,
                         (uint32_t)c->n_chosen);
    return EDDY_OK;
}

static eddy_status work(choosing *c, int64_t asked)
{
    eddy_tensor *heap = NULL, *chosen = NULL, *scores = NULL;
    eddy_kernel *k = c->kernel;
    eddy_status status =
        eddy__scratch(k, EDDY_INT32, c->n * EDDY__CANDIDATE_WORDS, &heap);

    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, c->most, &chosen);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_FLOAT32, c->most, &scores);
    if (status == EDDY_OK) {
        c->waiting.heap = heap->data;
        c->chosen = chosen->data;
        c->scores = scores->data;
        status = choose(c);
    }
    if (status == EDDY_OK)
        status = put_chosen(c, asked);
    eddy__scratch_free(k, scores);
    eddy__scratch_free(k, chosen);
    eddy__scratch_free(k, heap);
    return status;
}

/* ---- the kernel ---- */

static eddy_status refuse(eddy_kernel *k, const char *what)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%s", what);
}

/* Input `i` if there is one, a scalar. */
static eddy_status read_float(eddy_kernel *k, uint32_t i, const char *what,
                              float *out)
{
    eddy_view view;

    if (i >= k->node->n_in)
        return EDDY_OK;
    EDDY_TRY(eddy__want_single(k, i, 0, what));
    view = eddy__in_view(k, i);
    *out = load(&view, 0);
    return EDDY_OK;
}

static eddy_status check_shapes(const choosing *c)
{
    const manner *m = eddy__state(c->kernel);
    const eddy_shape *boxes = eddy__in_shape(c->kernel, BOXES);
    const eddy_shape *scores = eddy__in_shape(c->kernel, SCORES);
    const int64_t width = m->has_overlaps ? boxes->dims[0] : 4;

    if (boxes->rank == 2 && boxes->dims[1] == width && scores->rank == 1 &&
        scores->dims[0] == boxes->dims[0] && boxes->dims[0] <= INT32_MAX)
        return EDDY_OK;
    return eddy__kfail(c->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "scores of shape %s do not fit boxes or overlaps of "
                       "shape %s",
                       eddy__shape_print(scores).text,
                       eddy__shape_print(boxes).text);
}

static eddy_status run_suppression(eddy_kernel *k)
{
    const manner *m = eddy__state(k);
    choosing c = {.kernel = k,
                  .threshold = m->threshold,
                  .is_half = eddy__in_dtype(k, SCORES) == EDDY_FLOAT16};
    float sigma = 0;
    int64_t asked = 0;

    c.least_score = c.is_half ? -65504.0F : -FLT_MAX;
    EDDY_TRY(check_shapes(&c));
    EDDY_TRY(eddy__index_argument(k, MOST, "max_output_size", &asked));
    EDDY_TRY(read_float(k, THRESHOLD, "the threshold", &c.threshold));
    EDDY_TRY(read_float(k, LEAST_SCORE, "score_threshold", &c.least_score));
    EDDY_TRY(read_float(k, SIGMA, "soft_nms_sigma", &sigma));
    c.threshold = rounded(&c, c.threshold);
    c.least_score = rounded(&c, c.least_score);
    if (asked < 0)
        return refuse(k, "max_output_size must not be negative");
    if (!m->has_overlaps && !(c.threshold >= 0 && c.threshold <= 1))
        return refuse(k, "iou_threshold must be in [0, 1]");
    if (!(sigma >= 0))
        return refuse(k, "soft_nms_sigma must not be negative");
    c.is_soft = sigma > 0;
    c.scale = c.is_soft ? rounded(&c, -0.5F / sigma) : 0;
    c.n = eddy__in_shape(k, SCORES)->dims[0];
    c.most = asked < c.n ? asked : c.n;
    return work(&c, asked);
}

/* ---- for a plan ---- */

static eddy_status prepare(eddy_infer *infer, manner m)
{
    manner *state = eddy__prepare_state(infer, sizeof *state);
    eddy_attr attr;

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "iou_threshold", &attr))
        m.threshold = attr.as.floats[0];
    if (eddy_infer_attr(infer, "pad_to_max_output_size", &attr))
        m.pads = eddy__infer_bool(infer, "pad_to_max_output_size");
    *state = m;
    if (m.threshold >= 0 && m.threshold <= 1)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "iou_threshold must be in [0, 1]");
}

static eddy_status prepare_boxes(eddy_infer *infer)
{
    return prepare(infer, (manner){.pads = false});
}

static eddy_status prepare_overlaps(eddy_infer *infer)
{
    return prepare(infer, (manner){.has_overlaps = true});
}

static eddy_status infer_suppression(eddy_infer *infer)
{
    const eddy_shape vector = eddy__shape_of_rank(1);
    const eddy_shape scalar = eddy__shape_of_rank(0);
    const uint32_t n = eddy_infer_outputs(infer);

    for (uint32_t i = 0; i < n; i++)
        eddy_infer_set_output(infer, i,
                              i > 0 && i + 1 == n ? &scalar : &vector);
    return EDDY_OK;
}

#define GIVEN "max_output_size: int32, iou_threshold: T_threshold"
#define TYPES                                                                  \
    "T: {float16, float32} = float32, "                                        \
    "T_threshold: {float16, float32} = float32"
#define PADS "pad_to_max_output_size: bool = false"
#define SUPPRESSION_ROW(op, ...)                                               \
    EDDY__OP_ROW(op, .infer = infer_suppression, .kernel = run_suppression,    \
                 .flags = EDDY_OP_HEAVY, __VA_ARGS__)

static const eddy_op_spec specs[] = {
    SUPPRESSION_ROW("NonMaxSuppression",
                    .inputs = "boxes: float32, scores: float32, "
                              "max_output_size: int32",
                    .outputs = "selected_indices: int32",
                    .attrs = "iou_threshold: float = 0.5",
                    .prepare = prepare_boxes,
                    .doc = "The boxes with the highest scores, without those "
                           "that overlap one of them."),
    SUPPRESSION_ROW("NonMaxSuppressionV2",
                    .inputs = "boxes: T, scores: T, " GIVEN,
                    .outputs = "selected_indices: int32", .attrs = TYPES,
                    .prepare = prepare_boxes,
                    .doc = "The same with a threshold that is a tensor."),
    SUPPRESSION_ROW("NonMaxSuppressionV3",
                    .inputs = "boxes: T, scores: T, " GIVEN
                              ", score_threshold: T_threshold",
                    .outputs = "selected_indices: int32", .attrs = TYPES,
                    .prepare = prepare_boxes,
                    .doc = "The same of boxes with more than a score."),
    SUPPRESSION_ROW("NonMaxSuppressionV4",
                    .inputs = "boxes: T, scores: T, " GIVEN
                              ", score_threshold: T_threshold",
                    .outputs = "selected_indices: int32, valid_outputs: int32",
                    .attrs = TYPES ", " PADS, .prepare = prepare_boxes,
                    .doc = "The same, and how many they are, before zeros that "
                           "fill the output."),
    SUPPRESSION_ROW("NonMaxSuppressionV5",
                    .inputs = "boxes: T, scores: T, max_output_size: int32, "
                              "iou_threshold: T, score_threshold: T, "
                              "soft_nms_sigma: T",
                    .outputs = "selected_indices: int32, selected_scores: T, "
                               "valid_outputs: int32",
                    .attrs = "T: {float16, float32} = float32, " PADS,
                    .prepare = prepare_boxes,
                    .doc = "The same with their scores, which overlaps lower "
                           "where sigma is not 0."),
    SUPPRESSION_ROW("NonMaxSuppressionWithOverlaps",
                    .inputs = "overlaps: float32, scores: float32, "
                              "max_output_size: int32, overlap_threshold: "
                              "float32, score_threshold: float32",
                    .outputs = "selected_indices: int32",
                    .prepare = prepare_overlaps,
                    .doc = "The same with given overlaps of any two."),
};

const eddy__op_table eddy__suppression_ops = {specs, NULL,
                                              sizeof specs / sizeof *specs};

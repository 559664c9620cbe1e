/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CombinedNonMaxSuppression: for each image, the boxes that non-max suppression
 * takes of each class, and of all classes those with the highest scores.
 *
 * Of two with the same score the first class is taken, then the first box.
 */
#include "ops/math/elements.h"
#include "ops/misc/scratch.h"
#include "ops/nn/candidates.h"
#include "ops/ops.h"

#include <inttypes.h>

enum { BOXES, SCORES, MOST_A_CLASS, MOST_IN_ALL, THRESHOLD, LEAST_SCORE };
enum { OUT_BOXES, OUT_SCORES, OUT_CLASSES, OUT_N };

/* The attributes; a node's state. */
typedef struct manner {
    bool pads_a_class, clips;
} manner;

/* `heap` is for all of one image: what a class has taken goes behind. */
typedef struct choosing {
    eddy_kernel *kernel;
    int64_t images, n, classes;
    int64_t box_classes; /* 1: boxes are the same for each */
    int64_t most_a_class, most;
    float threshold, least_score;
    eddy__candidate *waiting; /* of a class */
    eddy__candidate *taken;   /* of all classes; `begin` is the class */
    int64_t n_taken;
} choosing;

static const float *box_at(const choosing *c, int64_t image, int64_t i,
                           int64_t class)
{
    const float *boxes = (const void *)eddy__in_elements(c->kernel, BOXES);
    const int64_t of = c->box_classes == 1 ? 0 : class;

    return boxes + 4 * ((image * c->n + i) * c->box_classes + of);
}

/* ---- one class ---- */

/* Does the box overlap none that its class has taken, from `first` on? */
static bool stands_alone(const choosing *c, int64_t image, int32_t box,
                         int64_t class, int64_t first)
{
    const float *of = box_at(c, image, box, class);

    for (int64_t j = c->n_taken; j-- > first;) {
        if (eddy__candidates_overlap(
                of, box_at(c, image, c->taken[j].box, class)) > c->threshold)
            return false;
        if (eddy__spent(c->kernel, 16))
            return false;
    }
    return true;
}

static eddy_status choose_class(choosing *c, int64_t image, int64_t class)
{
    const float *scores = (const void *)eddy__in_elements(c->kernel, SCORES);
    const int64_t first = c->n_taken;
    eddy__candidates waiting = {.heap = c->waiting};

    for (int64_t i = 0; i < c->n; i++) {
        const float score = scores[(image * c->n + i) * c->classes + class];

        EDDY_TRY(eddy__go_on(c->kernel, 16));
        if (score > c->least_score)
            eddy__candidates_push(&waiting,
                                  (eddy__candidate){.box = (int32_t)i,
                                                    .score = score,
                                                    .begin = (int32_t) class});
    }
    while (waiting.n > 0 && c->n_taken - first < c->most_a_class) {
        const eddy__candidate next = eddy__candidates_pop(&waiting);

        EDDY_TRY(eddy__go_on(c->kernel, 64));
        if (stands_alone(c, image, next.box, class, first))
            c->taken[c->n_taken++] = next;
    }
    return eddy__go_on(c->kernel, 0);
}

/* ---- one image ---- */

static float clipped(float x)
{
    const float below = x < 1 ? x : 1;

    return below > 0 ? below : 0;
}

/* Row `i` of an image's results: a box that was taken, or zeros. */
static void put(choosing *c, int64_t image, int64_t i,
                const eddy__candidate *taken)
{
    const manner *m = eddy__state(c->kernel);
    float *boxes = eddy__out(c->kernel, OUT_BOXES)->as.tensor->data;
    float *scores = eddy__out(c->kernel, OUT_SCORES)->as.tensor->data;
    float *classes = eddy__out(c->kernel, OUT_CLASSES)->as.tensor->data;
    const int64_t row = image * c->most + i;
    const float *box =
        taken ? box_at(c, image, taken->box, taken->begin) : NULL;

    for (int d = 0; d < 4; d++) {
        const float x = box ? box[d] : 0;

        boxes[4 * row + d] = m->clips ? clipped(x) : x;
    }
    scores[row] = taken ? taken->score : 0;
    classes[row] = taken ? (float)taken->begin : 0;
}

/* The best of all classes; the heap has the places in `taken`. */
static eddy_status put_best(choosing *c, int64_t image, eddy__candidate *heap)
{
    eddy__candidates best = {.heap = heap};
    int32_t *n = eddy__out(c->kernel, OUT_N)->as.tensor->data;

    for (int64_t i = 0; i < c->n_taken; i++) {
        EDDY_TRY(eddy__go_on(c->kernel, 32));
        eddy__candidates_push(
            &best,
            (eddy__candidate){.box = (int32_t)i, .score = c->taken[i].score});
    }
    n[image] = (int32_t)(c->n_taken < c->most ? c->n_taken : c->most);
    for (int64_t i = 0; i < c->most; i++) {
        EDDY_TRY(eddy__go_on(c->kernel, 32));
        put(c, image, i,
            best.n > 0 ? &c->taken[eddy__candidates_pop(&best).box] : NULL);
    }
    return EDDY_OK;
}

static eddy_status choose(choosing *c, eddy__candidate *best)
{
    for (int64_t image = 0; image < c->images; image++) {
        c->n_taken = 0;
        for (int64_t class = 0; class < c->classes; class ++)
            EDDY_TRY(choose_class(c, image, class));
        EDDY_TRY(put_best(c, image, best));
    }
    return EDDY_OK;
}

/* ---- the kernel ---- */

static eddy_status refuse(eddy_kernel *k, const char *what)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%s", what);
}

static eddy_status read_shapes(eddy_kernel *k, choosing *c)
{
    const eddy_shape *boxes = eddy__in_shape(k, BOXES);
    const eddy_shape *scores = eddy__in_shape(k, SCORES);

    if (boxes->rank != 4 || scores->rank != 3 || boxes->dims[3] != 4 ||
        boxes->dims[0] != scores->dims[0] ||
        boxes->dims[1] != scores->dims[1] ||
        (boxes->dims[2] != 1 && boxes->dims[2] != scores->dims[2]))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "boxes of shape %s and scores of shape %s are not "
                           "[images, n, 1 or classes, 4] and [images, n, "
                           "classes]",
                           eddy__shape_print(boxes).text,
                           eddy__shape_print(scores).text);
    c->images = boxes->dims[0];
    c->n = boxes->dims[1];
    c->box_classes = boxes->dims[2];
    c->classes = scores->dims[2];
    return EDDY_OK;
}

static eddy_status read_sizes(eddy_kernel *k, choosing *c)
{
    const manner *m = eddy__state(k);

    EDDY_TRY(eddy__index_argument(k, MOST_A_CLASS, "max_output_size_per_class",
                                  &c->most_a_class));
    EDDY_TRY(eddy__index_argument(k, MOST_IN_ALL, "max_total_size", &c->most));
    if (c->most_a_class <= 0)
        return refuse(k, "max_output_size_per_class must be positive");
    if (c->most <= 0)
        return refuse(k, "max_total_size must be positive");
    if (m->pads_a_class && c->most / c->most_a_class >= c->classes)
        c->most = c->most_a_class * c->classes;
    if (c->most_a_class > c->n)
        c->most_a_class = c->n;
    if (c->n <= INT32_MAX && c->classes <= INT32_MAX &&
        (c->classes == 0 || c->most_a_class <= INT32_MAX / c->classes))
        return EDDY_OK;
    return refuse(k, "there are more than 2^31 - 1 boxes");
}

static eddy_status read_thresholds(eddy_kernel *k, choosing *c)
{
    EDDY_TRY(eddy__want_single(k, THRESHOLD, 0, "iou_threshold"));
    EDDY_TRY(eddy__want_single(k, LEAST_SCORE, 0, "score_threshold"));
    c->threshold =
        *(const float *)(const void *)eddy__in_elements(k, THRESHOLD);
    c->least_score =
        *(const float *)(const void *)eddy__in_elements(k, LEAST_SCORE);
    if (c->threshold >= 0 && c->threshold <= 1)
        return EDDY_OK;
    return refuse(k, "iou_threshold must be in [0, 1]");
}

static eddy_status make_outputs(eddy_kernel *k, const choosing *c)
{
    eddy_shape shape = eddy__shape_of_rank(3);
    void *out;

    shape.dims[0] = c->images;
    shape.dims[1] = c->most;
    shape.dims[2] = 4;
    EDDY_TRY(eddy__output(k, OUT_BOXES, EDDY_FLOAT32, &shape, &out));
    shape.rank = 2;
    EDDY_TRY(eddy__output(k, OUT_SCORES, EDDY_FLOAT32, &shape, &out));
    EDDY_TRY(eddy__output(k, OUT_CLASSES, EDDY_FLOAT32, &shape, &out));
    shape.rank = 1;
    return eddy__output(k, OUT_N, EDDY_INT32, &shape, &out);
}

static eddy_status run_combined(eddy_kernel *k)
{
    choosing c = {.kernel = k};
    eddy_tensor *waiting = NULL, *taken = NULL, *best = NULL;
    eddy_status status;
    int64_t all;

    EDDY_TRY(read_shapes(k, &c));
    EDDY_TRY(read_sizes(k, &c));
    EDDY_TRY(read_thresholds(k, &c));
    EDDY_TRY(make_outputs(k, &c));
    all = c.most_a_class * c.classes * EDDY__CANDIDATE_WORDS;
    status =
        eddy__scratch(k, EDDY_INT32, c.n * EDDY__CANDIDATE_WORDS, &waiting);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, all, &taken);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, all, &best);
    if (status == EDDY_OK) {
        c.waiting = waiting->data;
        c.taken = taken->data;
        status = choose(&c, best->data);
    }
    eddy__scratch_free(k, best);
    eddy__scratch_free(k, taken);
    eddy__scratch_free(k, waiting);
    return status;
}

/* ---- for a plan ---- */

static eddy_status prepare(eddy_infer *infer)
{
    manner *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    m->pads_a_class = eddy__infer_bool(infer, "pad_per_class");
    m->clips = eddy__infer_bool(infer, "clip_boxes");
    return EDDY_OK;
}

static eddy_status infer_combined(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(3);
    const eddy_shape *boxes = eddy_infer_input(infer, BOXES);

    EDDY_TRY(eddy__infer_want_rank(infer, BOXES, 4));
    EDDY_TRY(eddy__infer_want_rank(infer, SCORES, 3));
    if (boxes->rank == 4)
        shape.dims[0] = boxes->dims[0];
    shape.dims[2] = 4;
    eddy_infer_set_output(infer, OUT_BOXES, &shape);
    shape.rank = 2;
    eddy_infer_set_output(infer, OUT_SCORES, &shape);
    eddy_infer_set_output(infer, OUT_CLASSES, &shape);
    shape.rank = 1;
    eddy_infer_set_output(infer, OUT_N, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("CombinedNonMaxSuppression",
                 .inputs = "boxes: float32, scores: float32, "
                           "max_output_size_per_class: int32, "
                           "max_total_size: int32, iou_threshold: float32, "
                           "score_threshold: float32",
                 .outputs = "nmsed_boxes: float32, nmsed_scores: float32, "
                            "nmsed_classes: float32, valid_detections: int32",
                 .attrs = "pad_per_class: bool = false, "
                          "clip_boxes: bool = true",
                 .infer = infer_combined, .kernel = run_combined,
                 .prepare = prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "Of each class the boxes with the highest scores, "
                        "without those that overlap one of them; of these, "
                        "the best of each image."),
};

const eddy__op_table eddy__combined_suppression_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

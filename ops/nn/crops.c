/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CropAndResize: boxes cut out of images, each resized to one size, and the
 * gradients by the images and by the boxes.
 *
 * A box is given in parts of the image's sides less one, so that 0 and 1 are
 * the centres of the first and the last element.  Where a row or column of a
 * crop lies is computed in float32, as in TensorFlow; one beyond the image has
 * a given value and no gradient.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/nn/resize.h"
#include "ops/nn/window.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

/* The attributes; a node's state. */
typedef struct modes {
    bool is_nearest;
    float beyond; /* what elements outside are */
} modes;

/* One side of the images, and of the crops. */
typedef struct side {
    int64_t in, out;
} side;

typedef struct crops {
    int64_t n, batch, depth;
    side rows, columns;
    const float *boxes; /* [n, 4]: first row, first column, last ones */
    const int32_t *images;
} crops;

/* Where a row or column of a crop lies. */
typedef struct place {
    bool is_inside;
    int64_t low, high; /* the same one if the nearest is asked for */
    float weight;      /* of the latter */
} place;

static place place_at(const side *s, float at, bool is_nearest)
{
    place p = {.is_inside = at >= 0 && at <= (float)(s->in - 1)};

    if (!p.is_inside)
        return p;
    if (is_nearest) {
        p.low = p.high = (int64_t)roundf(at);
    } else {
        p.low = (int64_t)floorf(at);
        p.high = (int64_t)ceilf(at);
        p.weight = at - (float)p.low;
    }
    return p;
}

/* Of one row or column alone it is the middle. */
static float middle(const side *s, float from, float to)
{
    return (float)(0.5 * (double)(from + to) * (double)(s->in - 1));
}

static place place_of(const side *s, float from, float to, int64_t i,
                      bool is_nearest)
{
    const float scale =
        s->out > 1 ? (to - from) * (float)(s->in - 1) / (float)(s->out - 1) : 0;
    const float at = s->out > 1 ? from * (float)(s->in - 1) + (float)i * scale
                                : middle(s, from, to);

    return place_at(s, at, is_nearest);
}

static place row_of(const crops *c, int64_t box, int64_t i, bool is_nearest)
{
    const float *b = c->boxes + 4 * box;

    return place_of(&c->rows, b[0], b[2], i, is_nearest);
}

static place column_of(const crops *c, int64_t box, int64_t j, bool is_nearest)
{
    const float *b = c->boxes + 4 * box;

    return place_of(&c->columns, b[1], b[3], j, is_nearest);
}

/* The first element of a pixel, counted over all images. */
static int64_t pixel(const crops *c, int64_t box, int64_t row, int64_t column)
{
    const int64_t image = c->images[box];

    return ((image * c->rows.in + row) * c->columns.in + column) * c->depth;
}

/* ---- what is given ---- */

static eddy_status want_rank_4(eddy_kernel *k, uint32_t i, const char *what)
{
    const eddy_shape *shape = eddy__in_shape(k, i);

    if (shape->rank == 4 && shape->dims[1] > 0 && shape->dims[2] > 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must have four dimensions, of which the second and "
                       "third are positive, but have shape %s",
                       what, eddy__shape_print(shape).text);
}

/* Inputs `i` and the next: boxes, and the image that each is of. */
static eddy_status read_boxes(eddy_kernel *k, uint32_t i, crops *c)
{
    const eddy_shape *boxes = eddy__in_shape(k, i);
    const eddy_shape *images = eddy__in_shape(k, i + 1);
    const bool has_none =
        eddy__in_count(k, i) == 0 && eddy__in_count(k, i + 1) == 0;

    c->boxes = (const void *)eddy__in_elements(k, i);
    c->images = (const void *)eddy__in_elements(k, i + 1);
    c->n = has_none ? 0 : eddy__in_count(k, i + 1);
    if (!has_none && !(boxes->rank == 2 && boxes->dims[1] == 4 &&
                       images->rank == 1 && images->dims[0] == boxes->dims[0]))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "boxes of shape %s and box_ind of shape %s are not "
                           "[n, 4] and [n]",
                           eddy__shape_print(boxes).text,
                           eddy__shape_print(images).text);
    for (int64_t b = 0; b < c->n; b++) {
        if (c->images[b] < 0 || c->images[b] >= c->batch)
            return eddy__kfail(k, EDDY_OUT_OF_RANGE, EDDY_E_VALUE,
                               "box_ind[%" PRId64 "] is %" PRId32
                               ", but there are %" PRId64 " images",
                               b, c->images[b], c->batch);
        if (eddy__spent_at(k, b))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

static void take_images(crops *c, const eddy_shape *images)
{
    c->batch = images->dims[0];
    c->rows.in = images->dims[1];
    c->columns.in = images->dims[2];
    c->depth = images->dims[3];
}

/* Input 0 as gradients of crops. */
static eddy_status read_gradients(eddy_kernel *k, crops *c)
{
    const eddy_shape *dy = eddy__in_shape(k, 0);

    EDDY_TRY(want_rank_4(k, 0, "the gradients"));
    c->rows.out = dy->dims[1];
    c->columns.out = dy->dims[2];
    if (dy->dims[0] == c->n && dy->dims[3] == c->depth)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "gradients of shape %s are not of %" PRId64
                       " crops with %" PRId64 " channels",
                       eddy__shape_print(dy).text, c->n, c->depth);
}

/* ---- cutting out ---- */

enum { IMAGE, BOXES, BOX_IND, CROP_SIZE };

static float mix(float a, float b, float weight)
{
    return a + (b - a) * weight;
}

/* One pixel of a crop. */
static void cut(eddy_kernel *k, const crops *c, const int64_t at[4],
                const float weights[2], float *out)
{
    const eddy__resize_load load =
        eddy__resize_loaders[eddy__in_dtype(k, IMAGE)];
    const void *from = eddy__in_elements(k, IMAGE);

    for (int64_t d = 0; d < c->depth; d++) {
        const float top =
            mix(load(from, at[0] + d), load(from, at[1] + d), weights[1]);
        const float bottom =
            mix(load(from, at[2] + d), load(from, at[3] + d), weights[1]);

        out[d] = mix(top, bottom, weights[0]);
    }
}

static void corners(const crops *c, int64_t box, const place *row,
                    const place *column, int64_t at[4])
{
    at[0] = pixel(c, box, row->low, column->low);
    at[1] = pixel(c, box, row->low, column->high);
    at[2] = pixel(c, box, row->high, column->low);
    at[3] = pixel(c, box, row->high, column->high);
}

/* A row of a crop. */
static void cut_row(eddy_kernel *k, const crops *c, int64_t box, int64_t i,
                    float *out)
{
    const modes *m = eddy__state(k);
    const place row = row_of(c, box, i, m->is_nearest);

    for (int64_t j = 0; j < c->columns.out; j++, out += c->depth) {
        const place column = column_of(c, box, j, m->is_nearest);
        int64_t at[4];

        if (!row.is_inside || !column.is_inside) {
            for (int64_t d = 0; d < c->depth; d++)
                out[d] = m->beyond;
            continue;
        }
        corners(c, box, &row, &column, at);
        cut(k, c, at, (const float[]){row.weight, column.weight}, out);
    }
}

static eddy_status read_crop_size(eddy_kernel *k, crops *c)
{
    eddy_view size;

    EDDY_TRY(eddy__vector_argument(k, CROP_SIZE, "crop_size", 2, &size));
    c->rows.out = eddy__view_index(&size, 0);
    c->columns.out = eddy__view_index(&size, 1);
    if (c->rows.out > 0 && c->columns.out > 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "crop_size must be positive, but it is [%" PRId64
                       ", %" PRId64 "]",
                       c->rows.out, c->columns.out);
}

static eddy_status run_crops(eddy_kernel *k)
{
    crops c = {.n = 0};
    eddy_shape shape = eddy__shape_of_rank(4);
    void *out;

    EDDY_TRY(want_rank_4(k, IMAGE, "images"));
    take_images(&c, eddy__in_shape(k, IMAGE));
    EDDY_TRY(read_boxes(k, BOXES, &c));
    EDDY_TRY(read_crop_size(k, &c));
    shape.dims[0] = c.n;
    shape.dims[1] = c.rows.out;
    shape.dims[2] = c.columns.out;
    shape.dims[3] = c.depth;
    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, &shape, &out));
    for (int64_t i = 0; i < c.n * c.rows.out; i++) {
        EDDY_TRY(eddy__go_on(k, c.columns.out * (16 + 4 * c.depth)));
        cut_row(k, &c, i / c.rows.out, i % c.rows.out,
                (float *)out + i * c.columns.out * c.depth);
    }
    return EDDY_OK;
}

/* ---- the gradient by the images ---- */

enum { GRADS, GRAD_BOXES, GRAD_BOX_IND, IMAGE_SIZE };

#define ADD(D)                                                                 \
    static void add_##D(void *to, int64_t i, float x)                          \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
                                                                               \
        out[i] = EDDY__STORE_##D(                                              \
            eddy__load_##D(out[i]) +                                           \
            eddy__load_##D(EDDY__STORE_##D((eddy__computed_##D)x)));           \
    }

ADD(F16)
ADD(F32)
ADD(F64)

typedef void (*add_fn)(void *to, int64_t i, float x);

static add_fn adder_of(eddy_dtype dtype)
{
    if (dtype == EDDY_FLOAT16)
        return add_F16;
    return dtype == EDDY_FLOAT32 ? add_F32 : add_F64;
}

/* Gives the gradients of a row of a crop to the four elements around each. */
static void put_row(eddy_kernel *k, const crops *c, int64_t box, int64_t i,
                    void *to)
{
    const modes *m = eddy__state(k);
    const add_fn add = adder_of((eddy_dtype)k->node->out_dtypes[0]);
    const place row = row_of(c, box, i, m->is_nearest);
    const float *dy = (const float *)(const void *)eddy__in_elements(k, GRADS) +
                      (box * c->rows.out + i) * c->columns.out * c->depth;

    for (int64_t j = 0; j < c->columns.out; j++, dy += c->depth) {
        const place column = column_of(c, box, j, m->is_nearest);
        int64_t at[4];

        if (!row.is_inside || !column.is_inside)
            continue;
        corners(c, box, &row, &column, at);
        for (int64_t d = 0; d < c->depth; d++) {
            const float top = (1 - row.weight) * dy[d];
            const float bottom = row.weight * dy[d];

            add(to, at[0] + d, (1 - column.weight) * top);
            if (m->is_nearest)
                continue;
            add(to, at[1] + d, column.weight * top);
            add(to, at[2] + d, (1 - column.weight) * bottom);
            add(to, at[3] + d, column.weight * bottom);
        }
    }
}

static eddy_status read_image_size(eddy_kernel *k, eddy_shape *shape)
{
    eddy_view size;

    EDDY_TRY(eddy__vector_argument(k, IMAGE_SIZE, "image_size", 4, &size));
    *shape = eddy__shape_of_rank(4);
    for (int32_t i = 0; i < 4; i++)
        shape->dims[i] = eddy__view_index(&size, i);
    if (shape->dims[0] >= 0 && shape->dims[1] > 0 && shape->dims[2] > 0 &&
        shape->dims[3] >= 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "image_size is no shape of images: %s",
                       eddy__shape_print(shape).text);
}

static eddy_status run_image_gradient(eddy_kernel *k)
{
    crops c = {.n = 0};
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(read_image_size(k, &shape));
    take_images(&c, &shape);
    EDDY_TRY(read_boxes(k, GRAD_BOXES, &c));
    EDDY_TRY(read_gradients(k, &c));
    EDDY_TRY(eddy__output_elements(k, 0, (eddy_dtype)k->node->out_dtypes[0],
                                   &shape, &out));
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    for (int64_t i = 0; i < c.n * c.rows.out; i++) {
        EDDY_TRY(eddy__go_on(k, c.columns.out * (16 + 8 * c.depth)));
        put_row(k, &c, i / c.rows.out, i % c.rows.out, out);
    }
    return EDDY_OK;
}

/* ---- the gradient by the boxes ---- */

enum { OF_IMAGE = 1, OF_BOXES };

/* How the place of row or column `i` depends on the sides of the box. */
typedef struct slope {
    place place;
    float by_first, by_last;
} slope;

static slope slope_of(const side *s, float from, float to, int64_t i)
{
    const float length = (float)(s->in - 1);
    const float ratio = s->out > 1 ? length / (float)(s->out - 1) : 0;
    const float scale = s->out > 1 ? (to - from) * ratio : 0;
    const float at =
        s->out > 1 ? from * length + (float)i * scale : middle(s, from, to);

    return (slope){
        .place = place_at(s, at, false),
        .by_first = s->out > 1 ? length - (float)i * ratio : 0.5f * length,
        .by_last = s->out > 1 ? (float)i * ratio : 0.5f * length,
    };
}

/* How a pixel of a crop, times its gradient, changes with its place. */
static void bend(eddy_kernel *k, const int64_t at[4], const float weights[2],
                 float dy, float by[2])
{
    const eddy__resize_load load =
        eddy__resize_loaders[eddy__in_dtype(k, OF_IMAGE)];
    const void *from = eddy__in_elements(k, OF_IMAGE);
    const float a = load(from, at[0]), b = load(from, at[1]);
    const float c = load(from, at[2]), d = load(from, at[3]);

    by[0] = ((1 - weights[1]) * (c - a) + weights[1] * (d - b)) * dy;
    by[1] = ((1 - weights[0]) * (b - a) + weights[0] * (d - c)) * dy;
}

static void add_slopes(eddy_kernel *k, const crops *c, int64_t box, int64_t i,
                       float *out)
{
    const float *b = c->boxes + 4 * box;
    const slope row = slope_of(&c->rows, b[0], b[2], i);
    const float *dy = (const float *)(const void *)eddy__in_elements(k, GRADS) +
                      (box * c->rows.out + i) * c->columns.out * c->depth;

    for (int64_t j = 0; j < c->columns.out; j++, dy += c->depth) {
        const slope column = slope_of(&c->columns, b[1], b[3], j);
        const float weights[2] = {row.place.weight, column.place.weight};
        int64_t at[4];

        if (!row.place.is_inside || !column.place.is_inside)
            continue;
        corners(c, box, &row.place, &column.place, at);
        for (int64_t d = 0; d < c->depth; d++) {
            float by[2];

            bend(k, at, weights, dy[d], by);
            out[0] += by[0] * row.by_first;
            out[1] += by[1] * column.by_first;
            out[2] += by[0] * row.by_last;
            out[3] += by[1] * column.by_last;
            for (int corner = 0; corner < 4; corner++)
                at[corner]++;
        }
    }
}

static eddy_status run_boxes_gradient(eddy_kernel *k)
{
    crops c = {.n = 0};
    eddy_shape shape = eddy__shape_of_rank(2);
    void *out;

    EDDY_TRY(want_rank_4(k, OF_IMAGE, "images"));
    take_images(&c, eddy__in_shape(k, OF_IMAGE));
    EDDY_TRY(read_boxes(k, OF_BOXES, &c));
    EDDY_TRY(read_gradients(k, &c));
    shape.dims[0] = c.n;
    shape.dims[1] = 4;
    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, &shape, &out));
    eddy__zero_bytes(k, out, (size_t)c.n * 4 * sizeof(float));
    for (int64_t i = 0; i < c.n * c.rows.out; i++) {
        EDDY_TRY(eddy__go_on(k, c.columns.out * (16 + 8 * c.depth)));
        add_slopes(k, &c, i / c.rows.out, i % c.rows.out,
                   (float *)out + 4 * (i / c.rows.out));
    }
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status read_modes(eddy_infer *infer, bool only_bilinear)
{
    modes *m = eddy__prepare_state(infer, sizeof *m);
    eddy_attr method, beyond;
    bool is_bilinear;

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "extrapolation_value", &beyond))
        m->beyond = beyond.as.floats[0];
    if (!eddy_infer_attr(infer, "method", &method))
        return EDDY_OK;
    is_bilinear = eddy__window_text_is(method.as.strings, "bilinear");
    m->is_nearest = eddy__window_text_is(method.as.strings, "nearest");
    if (is_bilinear || (m->is_nearest && !only_bilinear))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "method must be bilinear%s",
                           only_bilinear ? "" : " or nearest");
}

static eddy_status prepare(eddy_infer *infer)
{
    return read_modes(infer, false);
}

/* By boxes there is no gradient of the nearest. */
static eddy_status prepare_bilinear(eddy_infer *infer)
{
    return read_modes(infer, true);
}

static eddy_status infer_crops(eddy_infer *infer)
{
    const eddy_shape *images = eddy_infer_input(infer, IMAGE);
    const eddy_shape *boxes = eddy_infer_input(infer, BOXES);
    eddy_shape shape = eddy__shape_of_rank(4);
    int64_t size;

    EDDY_TRY(eddy__infer_want_rank(infer, IMAGE, 4));
    EDDY_TRY(eddy__infer_want_rank(infer, CROP_SIZE, 1));
    if (boxes->rank == 2)
        shape.dims[0] = boxes->dims[0];
    for (int32_t i = 0; i < 2; i++)
        if (eddy__infer_constant_int(infer, CROP_SIZE, i, &size) && size >= 0)
            shape.dims[1 + i] = size;
    if (images->rank == 4)
        shape.dims[3] = images->dims[3];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_image_gradient(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(4);
    int64_t size;

    EDDY_TRY(eddy__infer_want_rank(infer, GRADS, 4));
    for (int32_t i = 0; i < 4; i++)
        if (eddy__infer_constant_int(infer, IMAGE_SIZE, i, &size) && size >= 0)
            shape.dims[i] = size;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_boxes_gradient(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(2);

    EDDY_TRY(eddy__infer_want_rank(infer, GRADS, 4));
    EDDY_TRY(eddy__infer_want_rank(infer, OF_IMAGE, 4));
    shape.dims[1] = 4;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define IMAGES                                                                 \
    "T: {uint8, uint16, int8, int16, int32, int64, float16, float32, "         \
    "float64, bfloat16}"
#define METHOD "method: string = 'bilinear'"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("CropAndResize",
                 .inputs = "image: T, boxes: float32, box_ind: int32, "
                           "crop_size: int32",
                 .outputs = "crops: float32",
                 .attrs = IMAGES ", " METHOD ", extrapolation_value: float = 0",
                 .infer = infer_crops, .kernel = run_crops, .prepare = prepare,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "Boxes cut out of images and resized."),
    EDDY__OP_ROW("CropAndResizeGradImage",
                 .inputs = "grads: float32, boxes: float32, box_ind: int32, "
                           "image_size: int32",
                 .outputs = "output: T",
                 .attrs = "T: {float32, float16, float64}, " METHOD,
                 .infer = infer_image_gradient, .kernel = run_image_gradient,
                 .prepare = prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "The gradient of CropAndResize by its images."),
    EDDY__OP_ROW("CropAndResizeGradBoxes",
                 .inputs = "grads: float32, image: T, boxes: float32, "
                           "box_ind: int32",
                 .outputs = "output: float32", .attrs = IMAGES ", " METHOD,
                 .infer = infer_boxes_gradient, .kernel = run_boxes_gradient,
                 .prepare = prepare_bilinear, .flags = EDDY_OP_HEAVY,
                 .doc = "The gradient of CropAndResize by its boxes."),
};

const eddy__op_table eddy__crops_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

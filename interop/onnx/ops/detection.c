/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What finds objects in images: ONNX's RoiAlign, which reads regions of an
 * image by a grid of samples, and NonMaxSuppression, which takes boxes in the
 * order of their scores and leaves out those that cover one taken before.
 */
#include "eddy/control_flow.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/ops/kit.h"

#include <math.h>
#include <string.h>

static eddy_output smaller(eddy__onnx_op *op, eddy_output a, eddy_output b)
{
    return OP("Minimum", a, b);
}

static eddy_output larger(eddy__onnx_op *op, eddy_output a, eddy_output b)
{
    return OP("Maximum", a, b);
}

/* ---- RoiAlign ---- */

typedef struct regions {
    eddy_output rois; /* [regions, 4], of dtype */
    eddy_dtype dtype;
    double scale;
    int64_t ratio; /* samples of a bin along an axis; 0: as many as it has */
    bool is_half_pixel, takes_max;
} regions;

/* Where samples are along an axis: [regions, bins, samples], or as is said. */
typedef struct side {
    eddy__onnx_size in; /* of the image */
    int64_t bins;
    eddy_output count;     /* samples of a bin, int64: [regions] */
    eddy_output valid;     /* bool: [regions, 1, samples] */
    eddy_output low, high; /* elements, int64 */
    eddy_output near, far; /* their weights */
} side;

/* A vector over the regions, for [regions, bins, samples]. */
static eddy_output over_bins(eddy__onnx_op *op, eddy_output x)
{
    return OP("Reshape", x, INT64S(-1, 1, 1));
}

/* A column of the regions, in elements of the image. */
static eddy_output edge(eddy__onnx_op *op, const regions *r, int64_t column)
{
    const eddy_output x =
        OP("Mul", OP("GatherV2", r->rois, INT64(column), INT32(1)),
           NUMBER(r->dtype, r->scale));

    return r->is_half_pixel ? OP("Sub", x, NUMBER(r->dtype, 0.5)) : x;
}

/* How many samples each region's bins have, and the most of all. */
static eddy_output count_samples(eddy__onnx_op *op, const regions *r,
                                 eddy_output bin, side *s)
{
    if (r->ratio > 0) {
        s->count = OP("Fill", eddy__onnx_dims(op, bin), INT64(r->ratio));
        return INT64(r->ratio);
    }
    s->count = larger(op, CAST(OP("Ceil", bin), EDDY_INT64), INT64(0));
    return larger(op, eddy__onnx_reduce(op, "Max", s->count, INT64S(0), false),
                  INT64(0));
}

/* Places of all samples. */
static eddy_output place_samples(eddy__onnx_op *op, const regions *r,
                                 int64_t column, side *s)
{
    const eddy_output start = edge(op, r, column);
    const eddy_output half = NUMBER(r->dtype, 0.5);
    eddy_output length = OP("Sub", edge(op, r, column + 2), start);
    eddy_output bin, most, at, step, bins;

    if (!r->is_half_pixel)
        length = larger(op, length, NUMBER(r->dtype, 1.0));
    bin = OP("RealDiv", length, NUMBER(r->dtype, (double)s->bins));
    most = count_samples(op, r, bin, s);
    at = eddy__onnx_count(op, most);
    s->valid = OP("Less", at, over_bins(op, s->count));
    step = CAST(larger(op, s->count, INT64(1)), r->dtype);
    step = over_bins(op, OP("RealDiv", bin, step));
    at = OP("Mul", OP("AddV2", CAST(at, r->dtype), half), step);
    bins = CAST(eddy__onnx_count(op, INT64(s->bins)), r->dtype);
    bins = OP("Mul", OP("Reshape", bins, INT64S(1, -1, 1)), over_bins(op, bin));
    return OP("AddV2", OP("AddV2", over_bins(op, start), bins), at);
}

static side take_side(eddy__onnx_op *op, const regions *r, eddy__onnx_size in,
                      int64_t bins, int64_t column)
{
    side s = {.in = in, .bins = bins};
    eddy_output at = place_samples(op, r, column, &s);
    const eddy_output length = SIZED(in);
    const eddy_output last = OP("Sub", length, INT64(1));
    const eddy_output zero = NUMBER(r->dtype, 0.0);
    const eddy_output outside =
        OP("LogicalOr", OP("Less", at, NUMBER(r->dtype, -1.0)),
           OP("Greater", at, CAST(length, r->dtype)));
    eddy_output t;

    at = larger(op, at, zero);
    s.low = smaller(op, CAST(at, EDDY_INT64), last);
    s.low = larger(op, s.low, INT64(0));
    s.high = smaller(op, OP("AddV2", s.low, INT64(1)), last);
    t = OP("SelectV2", OP("Less", s.low, last),
           OP("Sub", at, CAST(s.low, r->dtype)), zero);
    s.near = OP("SelectV2", outside, zero, OP("Sub", NUMBER(r->dtype, 1.0), t));
    s.far = OP("SelectV2", outside, zero, t);
    return s;
}

/* Of [regions, bins, samples], for the rows or the columns of all samples. */
static eddy_output over_image(eddy__onnx_op *op, eddy_output x, bool is_row,
                              bool has_channels)
{
    const eddy__onnx_size n = DIM(x, 0), bins = DIM(x, 1), samples = DIM(x, 2);
    const eddy__onnx_size one = FIXED(1);
    const eddy__onnx_size shape[] = {n,
                                     is_row ? bins : one,
                                     is_row ? samples : one,
                                     is_row ? one : bins,
                                     is_row ? one : samples,
                                     one};

    return OP("Reshape", x, eddy__onnx_sizes(op, shape, has_channels ? 6 : 5));
}

/* What the corners around all samples are read from. */
typedef struct corners {
    eddy_output pixels; /* [batch * elements, channels] */
    eddy_output first;  /* of each region: [regions, 1, 1, 1, 1] */
    const side *y, *x;
} corners;

/* The elements at some rows and columns, times the weights of both. */
static eddy_output corner(eddy__onnx_op *op, const corners *c, bool is_below,
                          bool is_right)
{
    const side *y = c->y, *x = c->x;
    eddy_output at = over_image(op, is_below ? y->high : y->low, true, false);
    const eddy_output column =
        over_image(op, is_right ? x->high : x->low, false, false);
    const eddy_output weights =
        OP("Mul", over_image(op, is_below ? y->far : y->near, true, true),
           over_image(op, is_right ? x->far : x->near, false, true));

    at = OP("AddV2", OP("Mul", at, SIZED(x->in)), column);
    at = OP("AddV2", at, c->first);
    return OP("Mul", OP("GatherV2", c->pixels, at, INT32(0)), weights);
}

/* Over the samples of each bin: [regions, bins, bins, channels]. */
static eddy_output pool_samples(eddy__onnx_op *op, const regions *r,
                                const eddy_output values[4], const side *y,
                                const side *x)
{
    const eddy_output valid =
        OP("LogicalAnd", over_image(op, y->valid, true, true),
           over_image(op, x->valid, false, true));
    const eddy_output zero = NUMBER(r->dtype, 0.0);
    const char *type = r->takes_max ? "Maximum" : "AddV2";
    eddy_output all, count;

    all = OP(type, OP(type, values[0], values[1]),
             OP(type, values[2], values[3]));
    count = OP("Mul", y->count, x->count);
    if (r->takes_max) {
        all = OP("SelectV2", valid, all, NUMBER(r->dtype, -HUGE_VAL));
        all = eddy__onnx_reduce(op, "Max", all, INT64S(2, 4), false);
        count = OP("Reshape", count, INT64S(-1, 1, 1, 1));
        return OP("SelectV2", OP("Greater", count, INT64(0)), all, zero);
    }
    all = OP("SelectV2", valid, all, zero);
    all = eddy__onnx_reduce(op, "Sum", all, INT64S(2, 4), false);
    count = CAST(larger(op, count, INT64(1)), r->dtype);
    return OP("RealDiv", all, OP("Reshape", count, INT64S(-1, 1, 1, 1)));
}

static bool read_regions(eddy__onnx_op *op, regions *r)
{
    const char *mode = eddy__onnx_text(op, "mode", "avg");
    const char *way =
        op->opset < 16 ? "output_half_pixel"
                       : eddy__onnx_text(op, "coordinate_transformation_mode",
                                         "half_pixel");

    r->scale = (double)eddy__onnx_float(op, "spatial_scale", 1.0f);
    r->ratio = eddy__onnx_int(op, "sampling_ratio", 0);
    if (!eddy__onnx_ok(op))
        return false;
    r->takes_max = strcmp(mode, "max") == 0;
    r->is_half_pixel = strcmp(way, "half_pixel") == 0;
    if (!r->takes_max && strcmp(mode, "avg") != 0)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no mode '%s'", mode);
    if (!r->is_half_pixel && strcmp(way, "output_half_pixel") != 0)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "there is no coordinate_transformation_mode '%s'", way);
    return eddy__onnx_ok(op);
}

static void emit_roi_align(eddy__onnx_op *op)
{
    const int64_t channels_last[] = {0, 2, 3, 1},
                  channels_first[] = {0, 3, 1, 2};
    const eddy_output image = IN(0);
    const int64_t rows = eddy__onnx_int(op, "output_height", 1);
    const int64_t columns = eddy__onnx_int(op, "output_width", 1);
    regions r = {.dtype = DTYPE(image)};
    eddy_output values[4], all;
    corners c;
    side y, x;

    if (!read_regions(op, &r))
        return;
    if (rows < 1 || columns < 1) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "bins of %lld by %lld",
                        (long long)rows, (long long)columns);
        return;
    }
    r.rois = CAST(IN(1), r.dtype);
    y = take_side(op, &r, DIM(image, 2), rows, 1);
    x = take_side(op, &r, DIM(image, 3), columns, 0);
    c = (corners){.y = &y, .x = &x};
    c.pixels =
        OP("Reshape", eddy__onnx_transpose(op, image, channels_last, 4),
           SIZES(TIMES(DIM(image, 0), TIMES(y.in, x.in)), DIM(image, 1)));
    c.first = OP("Mul", CAST(IN(2), EDDY_INT64), SIZED(TIMES(y.in, x.in)));
    c.first = OP("Reshape", c.first, INT64S(-1, 1, 1, 1, 1));
    for (int i = 0; i < 4; i++)
        values[i] = corner(op, &c, i >= 2, i % 2 == 1);
    all = pool_samples(op, &r, values, &y, &x);
    GIVE(0, eddy__onnx_transpose(op, all, channels_first, 4));
}

/* ---- NonMaxSuppression ---- */

/* All by batch and class, and there in the order of their scores. */
typedef struct boxes {
    eddy__onnx_op *op;
    eddy_output low[2], high[2], area; /* [classes, boxes] */
    eddy_output is_candidate;          /* the same, bool */
    eddy_output n;                     /* boxes, int64 */
    eddy_output most;                  /* of a class, int64 */
    eddy_output limit;                 /* how much may be covered */
} boxes;

static eddy_status has_boxes(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    const boxes *b = user;
    eddy__onnx_op *op = b->op;

    (void)graph;
    (void)n;
    (void)err;
    out[0] = OP("LogicalAnd", OP("Less", inputs[0], b->n),
                OP("Any", OP("Less", inputs[2], b->most), INT64S(0)));
    return op->w->status;
}

/* Box `at` of each class: [classes, 1]. */
static eddy_output pick(eddy__onnx_op *op, eddy_output x, eddy_output at)
{
    return OP("ExpandDims", OP("GatherV2", x, at, INT32(1)), INT32(1));
}

/* Which boxes box `at` of their class covers too much of. */
static eddy_output covered(const boxes *b, eddy_output at)
{
    eddy__onnx_op *op = b->op;
    const eddy_output zero = LIKE(b->area, 0.0);
    const eddy_output area = pick(op, b->area, at);
    eddy_output sides[2], common, whole, is;

    for (int i = 0; i < 2; i++)
        sides[i] = OP("Sub", smaller(op, b->high[i], pick(op, b->high[i], at)),
                      larger(op, b->low[i], pick(op, b->low[i], at)));
    common = OP("Mul", sides[0], sides[1]);
    whole = OP("Sub", OP("AddV2", area, b->area), common);
    is = OP("Greater", OP("RealDiv", common, whole), b->limit);
    for (int i = 0; i < 2; i++)
        is = OP("LogicalAnd", is, OP("Greater", sides[i], zero));
    is = OP("LogicalAnd", is, OP("Greater", common, zero));
    is = OP("LogicalAnd", is, OP("Greater", whole, zero));
    is = OP("LogicalAnd", is, OP("Greater", b->area, zero));
    return OP("LogicalAnd", is, OP("Greater", area, zero));
}

/* The variables are the box, which are taken, and how many of each class. */
static eddy_status take_box(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out, eddy_error *err)
{
    const boxes *b = user;
    eddy__onnx_op *op = b->op;
    const eddy_output at = inputs[0], taken = inputs[1], counts = inputs[2];
    eddy_output is, here;

    (void)graph;
    (void)n;
    (void)err;
    is = OP("Any", OP("LogicalAnd", covered(b, at), taken), INT64S(1));
    is = OP("LogicalAnd", OP("LogicalNot", is),
            OP("GatherV2", b->is_candidate, at, INT32(1)));
    is = OP("LogicalAnd", is, OP("Less", counts, b->most));
    here = OP("Equal", eddy__onnx_count(op, b->n), at);
    out[0] = OP("AddV2", at, INT64(1));
    out[1] = OP("LogicalOr", taken,
                OP("LogicalAnd", here, OP("ExpandDims", is, INT32(1))));
    out[2] = OP("AddV2", counts, CAST(is, EDDY_INT64));
    return op->w->status;
}

/* Which boxes are taken: [classes, boxes]. */
static eddy_output take_boxes(boxes *b)
{
    eddy__onnx_op *op = b->op;
    const eddy_output none = OP("ZerosLike", b->is_candidate);
    const eddy_output initial[] = {
        INT64(0), none,
        eddy__onnx_reduce(op, "Sum", CAST(none, EDDY_INT64), INT64S(1), false)};
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .name = eddy__onnx_scope_name(op),
                                  .initial = initial,
                                  .n_variables = 3};
    const eddy_while_functions functions = {has_boxes, take_box, b};
    eddy_output results[3] = {EDDY__NO_OUTPUT, EDDY__NO_OUTPUT,
                              EDDY__NO_OUTPUT};

    if (eddy__onnx_ok(op))
        op->w->status = eddy_while_loop(op->w->graph, &spec, &functions,
                                        results, op->w->err);
    return results[1];
}

/* The ends of the boxes, [classes, boxes, 4] as centres or as corners. */
static void find_ends(boxes *b, eddy_output all, bool are_centres)
{
    eddy__onnx_op *op = b->op;
    eddy_output numbers[4], half;

    for (int64_t i = 0; i < 4; i++)
        numbers[i] = OP("GatherV2", all, INT64(i), INT32(2));
    for (int i = 0; i < 2; i++) {
        const eddy_output a = numbers[i], c = numbers[i + 2];

        half = OP("Mul", c, LIKE(c, 0.5));
        b->low[i] = are_centres ? OP("Sub", a, half) : smaller(op, a, c);
        b->high[i] = are_centres ? OP("AddV2", a, half) : larger(op, a, c);
    }
    b->area = OP("Mul", OP("Sub", b->high[0], b->low[0]),
                 OP("Sub", b->high[1], b->low[1]));
}

/* The boxes of each class in its order, [classes, boxes, 4]. */
static eddy_output in_order(eddy__onnx_op *op, eddy_output all,
                            eddy_output order, eddy__onnx_size classes)
{
    const eddy__onnx_size batches = DIM(all, 0), n = DIM(all, 1);
    eddy_output first = eddy__onnx_count(op, SIZED(batches)), at;

    first = OP("Reshape", OP("Mul", first, SIZED(n)), INT64S(-1, 1, 1));
    at = OP("Reshape", order, SIZES(batches, classes, n));
    at = OP("Reshape", OP("AddV2", at, first),
            SIZES(TIMES(batches, classes), n));
    return OP("GatherV2", OP("Reshape", all, INT64S(-1, 4)), at, INT32(0));
}

static void emit_suppression(eddy__onnx_op *op)
{
    const bool are_centres = eddy__onnx_int(op, "center_point_box", 0) != 0;
    const eddy_output all = IN(0), scores = IN(1);
    const eddy__onnx_size classes = DIM(scores, 1), n = DIM(scores, 2);
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("index_type", &index)};
    const int64_t axis = 1;
    const eddy_attr packs[] = {eddy_attr_int("axis", &axis)};
    boxes b = {.op = op, .n = SIZED(n)};
    eddy_output sorted, order, taken, class, results[3];

    sorted = OP("Reshape", scores, SIZES(TIMES(DIM(scores, 0), classes), n));
    sorted = OP_WITH("TopKV2", attrs, sorted, b.n);
    order = eddy__onnx_nth(sorted, 1);
    find_ends(&b, in_order(op, all, order, classes), are_centres);
    b.is_candidate =
        GIVEN(4) ? OP("Greater", sorted, eddy__onnx_as_scalar(op, IN(4)))
                 : OP("Equal", order, order);
    b.most =
        GIVEN(2) ? eddy__onnx_as_scalar(op, CAST(IN(2), EDDY_INT64)) : INT64(0);
    b.limit = GIVEN(3) ? eddy__onnx_as_scalar(op, CAST(IN(3), DTYPE(all)))
                       : LIKE(all, 0.0);
    taken = OP("Where", take_boxes(&b));
    class = OP("GatherV2", taken, INT64(0), INT32(1));
    results[0] = OP("FloorDiv", class, larger(op, SIZED(classes), INT64(1)));
    results[1] = OP("FloorMod", class, larger(op, SIZED(classes), INT64(1)));
    results[2] = OP("GatherNd", order, taken);
    GIVE(0, eddy__onnx_emit(op, "Pack", results, 3, packs, 1));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_detection[] = {
    {"NonMaxSuppression", 10, NEWEST, 2, 5, 1, 1, emit_suppression},
    {"RoiAlign", 10, NEWEST, 3, 3, 1, 1, emit_roi_align},
    {.name = NULL},
};

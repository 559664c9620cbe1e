/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FusedBatchNorm and its gradient, which is differentiated again by formula.
 *
 * With x' = (x - mean) r, r = 1 / sqrt(variance + epsilon), and means over all
 * but the channels, the gradient's outputs are
 *
 *     dx = scale r (dy - mean(dy) - x' mean(dy x'))
 *     dscale = sum(dy x')        doffset = sum(dy)
 *
 * where mean and variance are those of the batch; where they are given the two
 * means fall away.
 */
#include "autodiff/rule.h"

#include <string.h>

/* x, scale, offset, mean, variance -> y, mean, variance, what is kept... */
eddy_status eddy__grad_batch_norm(eddy_gradient *g)
{
    static const char *const names[] = {"epsilon", "data_format",
                                        "is_training"};
    static const char *const ops[] = {
        "FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"};
    const bool is_training = eddy__rule_bool(g, "is_training");
    const bool is_v1 = eddy__rule_is_op(g, "FusedBatchNorm");
    const bool is_v3 = eddy_gradient_outputs(g) == 6;
    eddy_attr attrs[3];
    const size_t n = eddy__rule_attrs(g, names, 3, attrs);
    eddy_output inputs[6] = {DY(0), X(0), X(1)}, parts;

    inputs[3] = is_training ? Y(3) : X(3);
    inputs[4] = is_training ? Y(4) : X(4);
    if (is_v3)
        inputs[5] = Y(5);
    parts = eddy_gradient_add(g, ops[is_v3 ? 2 : !is_v1], inputs, is_v3 ? 6 : 5,
                              attrs, n);
    for (uint32_t i = 0; i < 3; i++)
        DX(i, eddy__rule_output_at(parts, i));
    return EDDY_OK;
}

/* ---- once more ---- */

/* Values of one channel are vectors that broadcast. */
typedef struct norm {
    eddy_gradient *g;
    eddy_output axes;
    eddy_output xs, dys;                     /* x' and dy */
    eddy_output scale, r;                    /* of a channel */
    eddy_output by_dx, by_dscale, by_offset; /* what is given */
    bool is_training;
} norm;

static bool is_channels_first(const eddy_gradient *g)
{
    const eddy_attr attr = eddy__rule_attr(g, "data_format");

    return attr.n == 1 && attr.as.strings->length > 1 &&
           attr.as.strings->data[1] == 'C';
}

/* How many dimensions x has: the format says it. */
static int32_t rank_of(const eddy_gradient *g)
{
    const eddy_attr attr = eddy__rule_attr(g, "data_format");

    return attr.n == 1 ? (int32_t)attr.as.strings->length : 4;
}

static eddy_output as_float(eddy_gradient *g, eddy_output v, eddy_dtype from)
{
    return eddy__rule_cast(g, v, from, EDDY_FLOAT32);
}

/* A vector of channels so that it broadcasts against x. */
static eddy_output spread(eddy_gradient *g, eddy_output channels)
{
    const int32_t shape[] = {1, -1, 1, 1, 1};

    if (!is_channels_first(g))
        return channels;
    return OP("Reshape", channels,
              eddy__rule_ints(g, shape, (size_t)rank_of(g)));
}

static eddy_output reduce(const norm *b, const char *op, eddy_output v)
{
    eddy_gradient *g = b->g;
    const bool keep = true;
    const eddy_attr attrs[] = {eddy_attr_bool("keep_dims", &keep)};

    return OP_WITH(op, attrs, v, b->axes);
}

/* The mean over the batch of a b. */
static eddy_output mean(const norm *b, eddy_output v, eddy_output w)
{
    eddy_gradient *g = b->g;

    return reduce(b, "Mean", OP("Mul", v, w));
}

/* dy, x, scale, mean, variance, ... */
static void standardise(norm *b)
{
    eddy_gradient *g = b->g;
    const eddy_attr epsilon = eddy__rule_attr(g, "epsilon");
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const eddy_output x = as_float(g, X(1), dtype);
    eddy_output middle, centred, variance;

    if (b->is_training) {
        middle = reduce(b, "Mean", x);
        centred = OP("Sub", x, middle);
        variance = mean(b, centred, centred);
    } else {
        centred = OP("Sub", x, spread(g, X(3)));
        variance = spread(g, X(4));
    }
    b->r = OP("Rsqrt",
              OP("AddV2", variance,
                 eddy__rule_scalar(g, EDDY_FLOAT32,
                                   epsilon.n == 1 ? (double)epsilon.as.floats[0]
                                                  : 1e-4)));
    b->xs = OP("Mul", centred, b->r);
}

static norm begin(eddy_gradient *g)
{
    static const int32_t last[] = {0, 1, 2, 3}, first[] = {0, 2, 3, 4};
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    norm b = {.g = g, .is_training = eddy__rule_bool(g, "is_training")};

    b.axes = eddy__rule_ints(g, is_channels_first(g) ? first : last,
                             (size_t)rank_of(g) - 1);
    standardise(&b);
    b.dys = as_float(g, X(0), dtype);
    b.scale = spread(g, X(2));
    b.by_dx = as_float(g, DY(0), dtype);
    b.by_dscale = spread(g, DY(1));
    b.by_offset = spread(g, DY(2));
    return b;
}

/* v - mean(v) - x' mean(v x') in training, else v. */
static eddy_output project(const norm *b, eddy_output v)
{
    eddy_gradient *g = b->g;

    if (!b->is_training)
        return v;
    v = OP("Sub", v, reduce(b, "Mean", v));
    return OP("Sub", v, OP("Mul", b->xs, mean(b, v, b->xs)));
}

/* scale r project(G) + a x' + b: the gradient is linear in dy. */
static eddy_output by_dy(const norm *b)
{
    eddy_gradient *g = b->g;
    const eddy_output part =
        OP("Mul", OP("Mul", b->scale, b->r), project(b, b->by_dx));

    return OP("AddV2", part,
              OP("AddV2", OP("Mul", b->by_dscale, b->xs), b->by_offset));
}

/*
 * With C = mean(project(dy) G), p = mean(G x'), q = mean(dy x') and
 * H = a dy - scale r (G q + dy p): what comes by x', through which x has its
 * effect on itself and on mean and variance, and what comes by r.
 */
static eddy_output by_x(const norm *b)
{
    eddy_gradient *g = b->g;
    const eddy_output slope = OP("Mul", b->scale, b->r);
    eddy_output h = OP("Mul", b->by_dscale, b->dys), p, q, c;

    if (!b->is_training)
        return OP("Mul", h, b->r);
    p = mean(b, b->by_dx, b->xs);
    q = mean(b, b->dys, b->xs);
    c = mean(b, project(b, b->dys), b->by_dx);
    h = OP("Sub", h,
           OP("Mul", slope,
              OP("AddV2", OP("Mul", b->by_dx, q), OP("Mul", b->dys, p))));
    h = OP("Sub", project(b, h), OP("Mul", OP("Mul", slope, c), b->xs));
    return OP("Mul", b->r, h);
}

/* r sum(project(dy) G) for each channel */
static eddy_output by_scale(const norm *b)
{
    eddy_gradient *g = b->g;
    const eddy_output sum =
        reduce(b, "Sum", OP("Mul", project(b, b->dys), b->by_dx));

    return OP("Reshape", OP("Mul", b->r, sum), eddy_gradient_shape_of(g, 2));
}

eddy_status eddy__grad_batch_norm_grad(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const norm b = begin(g);

    if (WANTS(0))
        DX(0, eddy__rule_cast(g, by_dy(&b), EDDY_FLOAT32, dtype));
    if (WANTS(1))
        DX(1, eddy__rule_cast(g, by_x(&b), EDDY_FLOAT32, dtype));
    if (WANTS(2))
        DX(2, by_scale(&b));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes. */
#include "autodiff/rule.h"

#include "core/value/shape.h"

/* The axes that are reduced, a column of numbers from 0 on. */
static eddy_output positive_axes(eddy_gradient *g, eddy_output shape)
{
    const eddy_output rank = OP("Size", shape);
    const eddy_output axes =
        eddy__rule_cast(g, X(1), eddy_gradient_input_dtype(g, 1), EDDY_INT32);

    return OP("Reshape", OP("FloorMod", OP("AddV2", axes, rank), rank),
              INTS(-1, 1));
}

/*
 * The shape of the input with 1 for the axes that were reduced, as the gradient
 * must have it to be broadcast.
 */
static eddy_output kept_shape(eddy_gradient *g)
{
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output axes = positive_axes(g, shape);

    return OP("TensorScatterUpdate", shape, axes,
              OP("Fill", OP("Reshape", OP("Size", axes), INTS(1)), INT(1.0)));
}

static eddy_output spread(eddy_gradient *g, eddy_output v)
{
    const eddy_shape *in = eddy_gradient_input_shape(g, 0);
    const eddy_shape *out = eddy_gradient_output_shape(g, 0);

    if (in->rank == 0)
        return v;
    /* A scalar broadcasts as it is, and so do kept axes. */
    if (!eddy__rule_bool(g, "keep_dims") && out->rank != 0)
        v = OP("Reshape", v, kept_shape(g));
    return OP("BroadcastTo", v, eddy_gradient_shape_of(g, 0));
}

eddy_status eddy__grad_sum(eddy_gradient *g)
{
    DX(0, spread(g, DY(0)));
    return EDDY_OK;
}

/* The number of elements behind each one of the output, as the input's dtype.
 */
static eddy_output count(eddy_gradient *g)
{
    const eddy_shape *in = eddy_gradient_input_shape(g, 0);
    const eddy_shape *out = eddy_gradient_output_shape(g, 0);
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_attr cast[] = {eddy_attr_type("DstT", &dtype)};
    eddy_output n_in, n_out, zero;
    int64_t a = 1, b = 1;

    if (eddy__shape_is_known(in) && eddy__shape_is_known(out) &&
        eddy__shape_count(in, 1, &a) && eddy__shape_count(out, 1, &b) && b > 0)
        return NUMBER(0, (double)(a / b > 0 ? a / b : 1));
    zero = eddy__rule_ints(g, (const int32_t[]){0}, 1);
    n_in = OP("Prod", eddy_gradient_shape_of(g, 0), zero);
    n_out = OP("Size", DY(0));
    n_out = OP("Maximum", n_out, eddy__rule_scalar(g, EDDY_INT32, 1.0));
    n_in = OP("Maximum", OP("FloorDiv", n_in, n_out),
              eddy__rule_scalar(g, EDDY_INT32, 1.0));
    return OP_WITH("Cast", cast, n_in);
}

eddy_status eddy__grad_mean(eddy_gradient *g)
{
    DX(0, OP("RealDiv", spread(g, DY(0)), count(g)));
    return EDDY_OK;
}

/* Ties share the gradient, as in TensorFlow. */
eddy_status eddy__grad_extremum(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_attr cast[] = {eddy_attr_type("DstT", &dtype)};
    const bool keep = true;
    const eddy_attr kept[] = {eddy_attr_bool("keep_dims", &keep)};
    eddy_output y, dy, is_it, n;

    y = Y(0);
    dy = DY(0);
    if (!eddy__rule_bool(g, "keep_dims")) {
        const eddy_output shape = kept_shape(g);

        y = OP("Reshape", y, shape);
        dy = OP("Reshape", dy, shape);
    }
    is_it = OP_WITH("Cast", cast, OP("Equal", y, X(0)));
    n = OP_WITH("Sum", kept, is_it, X(1));
    DX(0, OP("Mul", OP("RealDiv", is_it, n), dy));
    return EDDY_OK;
}

/* ---- products ---- */

/* The axes that are reduced, or those that are not. */
static eddy_output axes_where(eddy_gradient *g, eddy_output is_reduced,
                              double value)
{
    const eddy_output at = OP("Where", OP("Equal", is_reduced, INT(value)));

    return eddy__rule_cast(g, OP("Reshape", at, INTS(-1)), EDDY_INT64,
                           EDDY_INT32);
}

/*
 * The product of all other elements, of those before it and those behind it,
 * so that zeros do no harm.  Reduced axes are brought to the front.
 */
static eddy_output product_of_others(eddy_gradient *g)
{
    const bool yes = true;
    const eddy_attr before[] = {eddy_attr_bool("exclusive", &yes)};
    const eddy_attr behind[] = {eddy_attr_bool("exclusive", &yes),
                                eddy_attr_bool("reverse", &yes)};
    const eddy_output x = CONJ(0, X(0));
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output axes = positive_axes(g, shape);
    const eddy_output is_reduced =
        OP("TensorScatterUpdate", OP("ZerosLike", shape), axes,
           OP("Fill", OP("Reshape", OP("Size", axes), INTS(1)), INT(1.0)));
    const eddy_output reduced = axes_where(g, is_reduced, 1.0);
    const eddy_output kept = axes_where(g, is_reduced, 0.0);
    const eddy_output order = CONCAT(reduced, kept);
    const eddy_output ordered = OP("GatherV2", shape, order, INT(0.0));
    const eddy_output flat =
        VECTOR(eddy__rule_count(g, OP("GatherV2", shape, reduced, INT(0.0))),
               eddy__rule_count(g, OP("GatherV2", shape, kept, INT(0.0))));
    const eddy_output rows = OP("Reshape", OP("Transpose", x, order), flat);
    const eddy_output others =
        OP("Mul", OP_WITH("Cumprod", before, rows, INT(0.0)),
           OP_WITH("Cumprod", behind, rows, INT(0.0)));

    return OP("Transpose", OP("Reshape", others, ordered),
              OP("InvertPermutation", order));
}

eddy_status eddy__grad_prod(eddy_gradient *g)
{
    if (eddy_gradient_input_shape(g, 0)->rank == 0)
        DX(0, DY(0));
    else
        DX(0, OP("Mul", spread(g, DY(0)), product_of_others(g)));
    return EDDY_OK;
}

/* dy x / y */
eddy_status eddy__grad_euclidean_norm(eddy_gradient *g)
{
    eddy_output slope;

    slope = OP("RealDiv", DY(0), CONJ(0, Y(0)));
    DX(0, OP("Mul", X(0), spread(g, slope)));
    return EDDY_OK;
}

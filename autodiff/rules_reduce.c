/* Reductions over axes. */
#include "autodiff/rule.h"

#include "runtime/core/shape.h"

/*
 * The shape of the input with 1 for the axes that were reduced, as the gradient
 * must have it to be broadcast.
 */
static eddy_output kept_shape(eddy_gradient *g)
{
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output one = eddy__rule_scalar(g, EDDY_INT32, 1.0);
    const eddy_output rank = OP("Size", shape);
    const eddy_dtype int32 = EDDY_INT32;
    const eddy_attr to_int32[] = {eddy_attr_type("DstT", &int32)};
    const int32_t column[] = {-1, 1};
    eddy_output axes = X(1);

    if (eddy_gradient_input_dtype(g, 1) != EDDY_INT32)
        axes = OP_WITH("Cast", to_int32, axes);
    axes = OP("FloorMod", OP("AddV2", axes, rank), rank);
    axes = OP("Reshape", axes, eddy__rule_ints(g, column, 2));
    return OP("TensorScatterUpdate", shape, axes,
              OP("Fill",
                 OP("Reshape", OP("Size", axes),
                    eddy__rule_ints(g, (const int32_t[]){1}, 1)),
                 one));
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
    if (WANTS(0))
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
    if (WANTS(0))
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

    if (!WANTS(0))
        return EDDY_OK;
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

/* Sums the other way. */
eddy_status eddy__grad_cumsum(eddy_gradient *g)
{
    const bool exclusive = eddy__rule_bool(g, "exclusive");
    const bool reverse = !eddy__rule_bool(g, "reverse");
    const eddy_attr attrs[] = {eddy_attr_bool("exclusive", &exclusive),
                               eddy_attr_bool("reverse", &reverse)};

    if (WANTS(0))
        DX(0, OP_WITH("Cumsum", attrs, DY(0), X(1)));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its cross entropies, and biases. */
#include "autodiff/rule.h"

static eddy_output sum_last(eddy_gradient *g, eddy_output v)
{
    const bool keep = true;
    const eddy_attr attrs[] = {eddy_attr_bool("keep_dims", &keep)};
    const int32_t last[] = {-1};

    return OP_WITH("Sum", attrs, v, eddy__rule_ints(g, last, 1));
}

/* (dy - sum(dy y)) y */
eddy_status eddy__grad_softmax(eddy_gradient *g)
{
    const eddy_output y = Y(0);

    DX(0, OP("Mul", OP("Sub", DY(0), sum_last(g, OP("Mul", DY(0), y))), y));
    return EDDY_OK;
}

/* dy - sum(dy) softmax */
eddy_status eddy__grad_log_softmax(eddy_gradient *g)
{
    const eddy_output y = OP("Exp", Y(0));

    DX(0, OP("Sub", DY(0), OP("Mul", sum_last(g, DY(0)), y)));
    return EDDY_OK;
}

/* The op has computed it; it has no gradient itself. */
eddy_status eddy__grad_ctc_loss(eddy_gradient *g)
{
    if (eddy_gradient_is_given(g, 0))
        DX(0, OP("Mul", OP("ExpandDims", DY(0), INT(-1.0)),
                 OP("PreventGradient", Y(1))));
    return EDDY_OK;
}

eddy_status eddy__grad_bias_add(eddy_gradient *g)
{
    static const char *const names[] = {"data_format"};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);
    const eddy_output dy = DY(0);

    DX(0, dy);
    if (WANTS(1))
        DX(1, eddy_gradient_add(g, "BiasAddGrad", &dy, 1, attrs, n));
    return EDDY_OK;
}

eddy_status eddy__grad_bias_add_v1(eddy_gradient *g)
{
    DX(0, DY(0));
    if (WANTS(1))
        DX(1, OP("BiasAddGrad", DY(0)));
    return EDDY_OK;
}

/* dy -> its sum for each channel: each channel's gradient everywhere in it. */
eddy_status eddy__grad_bias_add_grad(eddy_gradient *g)
{
    static const char *const names[] = {"data_format"};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);
    const eddy_output zeros =
        OP("Fill", eddy_gradient_shape_of(g, 0), NUMBER(0, 0.0));

    DX(0, eddy_gradient_add(g, "BiasAdd", (const eddy_output[]){zeros, DY(0)},
                            2, attrs, n));
    return EDDY_OK;
}

/* ---- cross entropies ---- */

/* A number for each row, times the row. */
static eddy_output scale_rows(eddy_gradient *g, eddy_output by,
                              eddy_output rows)
{
    return OP("Mul", OP("ExpandDims", by, INT(-1.0)), rows);
}

/* dloss by the logits, and what comes from the gradient of output 1. */
static eddy_output logits_gradient(eddy_gradient *g)
{
    eddy_output dx = scale_rows(g, DY(0), Y(1)), softmax, part;

    if (!eddy_gradient_is_given(g, 1))
        return dx;
    softmax = OP("Softmax", X(0));
    part = OP("Sub", DY(1), sum_last(g, OP("Mul", DY(1), softmax)));
    return OP("AddV2", dx, OP("Mul", part, softmax));
}

static void set_row(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    if (eddy__rule_same_shape(g, 0, 1))
        DX(i, gradient);
    else
        eddy__rule_set_summed(g, i, gradient);
}

/* logits, labels -> loss, softmax - labels */
eddy_status eddy__grad_cross_entropy(eddy_gradient *g)
{
    if (WANTS(0))
        set_row(g, 0, logits_gradient(g));
    if (WANTS(1)) {
        eddy_output dx =
            scale_rows(g, DY(0), OP("Neg", OP("LogSoftmax", X(0))));

        if (eddy_gradient_is_given(g, 1))
            dx = OP("Sub", dx, DY(1));
        set_row(g, 1, dx);
    }
    return EDDY_OK;
}

/* The same with labels that are indices. */
eddy_status eddy__grad_sparse_cross_entropy(eddy_gradient *g)
{
    DX(0, logits_gradient(g));
    return EDDY_OK;
}

eddy_status eddy__grad_l2_loss(eddy_gradient *g)
{
    DX(0, OP("Mul", X(0), DY(0)));
    return EDDY_OK;
}

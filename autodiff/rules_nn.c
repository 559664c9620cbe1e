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

eddy_status eddy__grad_bias_add(eddy_gradient *g)
{
    static const char *const names[] = {"data_format"};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);
    const eddy_output dy = DY(0);

    if (WANTS(0))
        DX(0, dy);
    if (WANTS(1))
        DX(1, eddy_gradient_add(g, "BiasAddGrad", &dy, 1, attrs, n));
    return EDDY_OK;
}

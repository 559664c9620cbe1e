/* Matrix products. */
#include "autodiff/rule.h"

static eddy_output product(eddy_gradient *g, eddy_output a, eddy_output b,
                           bool transpose_a, bool transpose_b)
{
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &transpose_a),
                               eddy_attr_bool("transpose_b", &transpose_b)};

    return OP_WITH("MatMul", attrs, a, b);
}

/* With P = op(A) op(B): dop(A) = dP op(B)', dop(B) = op(A)' dP. */
eddy_status eddy__grad_matmul(eddy_gradient *g)
{
    const bool ta = eddy__rule_bool(g, "transpose_a");
    const bool tb = eddy__rule_bool(g, "transpose_b");

    if (WANTS(0)) {
        const eddy_output b = CONJ(1, X(1));

        DX(0, ta ? product(g, b, DY(0), tb, true)
                 : product(g, DY(0), b, false, !tb));
    }
    if (WANTS(1)) {
        const eddy_output a = CONJ(0, X(0));

        DX(1, tb ? product(g, DY(0), a, true, ta)
                 : product(g, a, DY(0), !ta, false));
    }
    return EDDY_OK;
}

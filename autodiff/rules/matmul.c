/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, of matrices and of batches of them. */
#include "autodiff/rule.h"

#include "core/value/shape.h"

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

/* ---- batches ---- */

/* Is nothing broadcast? */
static bool is_same_batch(const eddy_gradient *g)
{
    const eddy_shape *a = eddy_gradient_input_shape(g, 0);
    const eddy_shape *b = eddy_gradient_input_shape(g, 1);

    if (a->rank < 0 || a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank - 2; i++)
        if (a->dims[i] < 0 || a->dims[i] != b->dims[i])
            return false;
    return true;
}

void eddy__rule_set_batch(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    eddy_output own, other, axes;

    if (is_same_batch(g)) {
        DX(i, gradient);
        return;
    }
    own = eddy_gradient_shape_of(g, i);
    other = eddy_gradient_shape_of(g, 1 - i);
    axes =
        OP("BroadcastGradientArgs",
           eddy__rule_head(g, own, OP("Sub", OP("Size", own), INT(2.0))),
           eddy__rule_head(g, other, OP("Sub", OP("Size", other), INT(2.0))));
    DX(i, OP("Reshape", OP("Sum", gradient, axes), own));
}

/* The same with adjoints, which are conjugated too. */
eddy_status eddy__grad_batch_matmul(eddy_gradient *g)
{
    const bool ta = eddy__rule_bool(g, "adj_x");
    const bool tb = eddy__rule_bool(g, "adj_y");

    if (WANTS(0))
        eddy__rule_set_batch(
            g, 0,
            ta ? eddy__rule_product(g, X(1), DY(0), tb, true)
               : eddy__rule_product(g, DY(0), X(1), false, !tb));
    if (WANTS(1))
        eddy__rule_set_batch(
            g, 1,
            tb ? eddy__rule_product(g, DY(0), X(0), true, ta)
               : eddy__rule_product(g, X(0), DY(0), !ta, false));
    return EDDY_OK;
}

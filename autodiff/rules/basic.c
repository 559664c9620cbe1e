/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that hand their inputs on, and sums. */
#include "autodiff/rule.h"

eddy_status eddy__grad_forward(eddy_gradient *g)
{
    for (uint32_t i = 0; i < eddy_gradient_outputs(g); i++)
        if (eddy_gradient_is_given(g, i) && WANTS(i))
            DX(i, DY(i));
    return EDDY_OK;
}

eddy_status eddy__grad_prevented(eddy_gradient *g)
{
    return eddy_gradient_fail(g, EDDY_FAILED_PRECONDITION, EDDY_E_NO_GRADIENT,
                              "its gradient was asked for, which it is there "
                              "to prevent");
}

/* What does not depend on the values of the inputs. */
eddy_status eddy__grad_nothing(eddy_gradient *g)
{
    (void)g;
    return EDDY_OK;
}

eddy_status eddy__grad_addn(eddy_gradient *g)
{
    for (uint32_t i = 0; i < eddy_gradient_inputs(g); i++)
        DX(i, DY(0));
    return EDDY_OK;
}

eddy_status eddy__grad_cast(eddy_gradient *g)
{
    const eddy_dtype to = eddy_gradient_input_dtype(g, 0);
    const eddy_attr attrs[] = {eddy_attr_type("DstT", &to)};

    DX(0, OP_WITH("Cast", attrs, DY(0)));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Diagonals of matrices, and what is beside them. */
#include "autodiff/rule.h"

/* Dimension `from_end` of a matrix, counted from 1. */
static eddy_output dimension(eddy_gradient *g, eddy_output shape,
                             double from_end)
{
    return eddy__rule_element(g, shape,
                              OP("Sub", OP("Size", shape), INT(from_end)));
}

/* Diagonals `k` out of the gradient of a matrix. */
static eddy_output take(eddy_gradient *g, const char *op, eddy_output k)
{
    static const char *const names[] = {"align"};
    const eddy_output inputs[] = {DY(0), k, NUMBER(0, 0.0)};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);

    return eddy_gradient_add(g, op, inputs, 3, attrs, n);
}

eddy_status eddy__grad_matrix_diag(eddy_gradient *g)
{
    DX(0, OP("MatrixDiagPart", DY(0)));
    return EDDY_OK;
}

/* diagonal, k, rows, columns, padding */
eddy_status eddy__grad_matrix_diag_v2(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, take(g, "MatrixDiagPartV2", X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_matrix_diag_v3(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, take(g, "MatrixDiagPartV3", X(1)));
    return EDDY_OK;
}

/* A matrix of the input's shape with the gradient as its diagonals. */
static eddy_output put(eddy_gradient *g, const char *op, eddy_output k)
{
    static const char *const names[] = {"align"};
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output inputs[] = {DY(0), k, dimension(g, shape, 2.0),
                                  dimension(g, shape, 1.0), NUMBER(0, 0.0)};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);

    return eddy_gradient_add(g, op, inputs, 5, attrs, n);
}

eddy_status eddy__grad_matrix_diag_part(eddy_gradient *g)
{
    DX(0, put(g, "MatrixDiagV2", INT(0.0)));
    return EDDY_OK;
}

/* input, k, padding */
eddy_status eddy__grad_matrix_diag_part_v2(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, put(g, "MatrixDiagV2", X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_matrix_diag_part_v3(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, put(g, "MatrixDiagV3", X(1)));
    return EDDY_OK;
}

/* input, diagonal [, k]; zeros in place of the diagonals. */
static eddy_status set_diag(eddy_gradient *g, const char *op, eddy_output part)
{
    static const char *const names[] = {"align"};
    eddy_attr attrs[1];
    const size_t n = eddy__rule_attrs(g, names, 1, attrs);

    if (WANTS(0)) {
        eddy_output inputs[3] = {DY(0), OP("ZerosLike", part)};
        const uint32_t n_inputs = eddy_gradient_inputs(g);

        if (n_inputs == 3)
            inputs[2] = X(2);
        DX(0, eddy_gradient_add(g, op, inputs, n_inputs, attrs, n));
    }
    DX(1, part);
    return EDDY_OK;
}

eddy_status eddy__grad_matrix_set_diag(eddy_gradient *g)
{
    return set_diag(g, "MatrixSetDiag", OP("MatrixDiagPart", DY(0)));
}

eddy_status eddy__grad_matrix_set_diag_v2(eddy_gradient *g)
{
    return set_diag(g, "MatrixSetDiagV2", take(g, "MatrixDiagPartV2", X(2)));
}

eddy_status eddy__grad_matrix_set_diag_v3(eddy_gradient *g)
{
    return set_diag(g, "MatrixSetDiagV3", take(g, "MatrixDiagPartV3", X(2)));
}

/* input, lower, upper */
eddy_status eddy__grad_matrix_band_part(eddy_gradient *g)
{
    DX(0, OP("MatrixBandPart", DY(0), X(1), X(2)));
    return EDDY_OK;
}

/* ---- tensors of twice the rank ---- */

eddy_status eddy__grad_tensor_diag(eddy_gradient *g)
{
    DX(0, OP("DiagPart", DY(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_tensor_diag_part(eddy_gradient *g)
{
    DX(0, OP("Diag", DY(0)));
    return EDDY_OK;
}

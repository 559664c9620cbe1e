/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses, determinants and systems of equations, of batches of matrices. */
#include "autodiff/rule.h"

#define PRODUCT(a, b, adjoint_a, adjoint_b)                                    \
    eddy__rule_product(g, (a), (b), (adjoint_a), (adjoint_b))

/* With Y = A^-1: dA = -Y' dY Y'.  With Y = A'^-1: dA = -Y dY' Y. */
eddy_status eddy__grad_matrix_inverse(eddy_gradient *g)
{
    const bool adjoint = eddy__rule_bool(g, "adjoint");
    const eddy_output y = Y(0);

    DX(0, OP("Neg", PRODUCT(y, PRODUCT(DY(0), y, adjoint, !adjoint), !adjoint,
                            false)));
    return EDDY_OK;
}

/* A number for each matrix, times A'^-1. */
static eddy_output scaled_inverse(eddy_gradient *g, eddy_output by)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("adjoint", &yes)};
    const eddy_output shape = CONCAT(OP("Shape", by), INTS(1, 1));

    return OP("Mul", OP("Reshape", by, shape),
              OP_WITH("MatrixInverse", attrs, X(0)));
}

eddy_status eddy__grad_matrix_determinant(eddy_gradient *g)
{
    DX(0, scaled_inverse(g, OP("Mul", DY(0), CONJ(0, Y(0)))));
    return EDDY_OK;
}

/* -> sign, log |det|; the sign does not change. */
eddy_status eddy__grad_log_matrix_determinant(eddy_gradient *g)
{
    if (eddy_gradient_is_given(g, 1))
        DX(0, scaled_inverse(g, DY(1)));
    return EDDY_OK;
}

/* ---- equations ---- */

/* With op(A) Y = B: dB = op(A)'^-1 dY, dA of op(A): -dB Y'. */
static eddy_output by_matrix(eddy_gradient *g, eddy_output db)
{
    const eddy_output y = Y(0);

    return OP("Neg", eddy__rule_bool(g, "adjoint")
                         ? PRODUCT(y, db, false, true)
                         : PRODUCT(db, y, false, true));
}

/* matrix, rhs */
eddy_status eddy__grad_matrix_solve(eddy_gradient *g)
{
    const bool adjoint = !eddy__rule_bool(g, "adjoint");
    const eddy_attr attrs[] = {eddy_attr_bool("adjoint", &adjoint)};
    const eddy_output db = OP_WITH("MatrixSolve", attrs, X(0), DY(0));

    if (WANTS(0))
        DX(0, by_matrix(g, db));
    DX(1, db);
    return EDDY_OK;
}

/* matrix, rhs; batches are broadcast. */
eddy_status eddy__grad_triangular_solve(eddy_gradient *g)
{
    const bool lower = eddy__rule_bool(g, "lower");
    const bool adjoint = !eddy__rule_bool(g, "adjoint");
    const eddy_attr attrs[] = {eddy_attr_bool("lower", &lower),
                               eddy_attr_bool("adjoint", &adjoint)};
    const eddy_output db = OP_WITH("MatrixTriangularSolve", attrs, X(0), DY(0));

    if (WANTS(0))
        eddy__rule_set_batch(g, 0,
                             OP("MatrixBandPart", by_matrix(g, db),
                                INT(lower ? -1.0 : 0.0),
                                INT(lower ? 0.0 : -1.0)));
    if (WANTS(1))
        eddy__rule_set_batch(g, 1, db);
    return EDDY_OK;
}

/* ---- Cholesky ---- */

/* L'^-1 m */
static eddy_output solve_adjoint(eddy_gradient *g, eddy_output l, eddy_output m)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("adjoint", &yes)};

    return OP_WITH("MatrixTriangularSolve", attrs, l, m);
}

/*
 * With A = L L': the symmetric part of L'^-1 P L^-1, where P is the lower
 * triangle of L' dL with half of its diagonal.
 */
eddy_status eddy__grad_cholesky(eddy_gradient *g)
{
    const eddy_output half = NUMBER(0, 0.5);
    eddy_output l, p, dx;

    l = Y(0);
    p = PRODUCT(l, DY(0), true, false);
    p = OP("MatrixSetDiag", p, OP("Mul", half, OP("MatrixDiagPart", p)));
    p = OP("MatrixBandPart", p, INT(-1.0), INT(0.0));
    p = eddy__rule_adjoint(g, solve_adjoint(g, l, p));
    dx = solve_adjoint(g, l, p);
    DX(0, OP("Mul", half, OP("AddV2", dx, eddy__rule_adjoint(g, dx))));
    return EDDY_OK;
}

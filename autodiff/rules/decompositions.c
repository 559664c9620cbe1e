/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvalues, singular values, QR and LU.  As in TensorFlow the gradients of
 * vectors grow without bound as values come to be equal.
 */
#include "autodiff/rule.h"
#include "core/value/dtype.h"

#include "core/value/shape.h"

#define PRODUCT(a, b, adjoint_a, adjoint_b)                                    \
    eddy__rule_product(g, (a), (b), (adjoint_a), (adjoint_b))
#define ADJOINT(v) eddy__rule_adjoint(g, (v))
#define ADD(a, b) OP("AddV2", (a), (b))

/* 1 / x, and 0 for 0. */
static eddy_output reciprocal(eddy_gradient *g, eddy_output x)
{
    return OP("DivNoNan", OP("OnesLike", x), x);
}

/* 1 / (v_j - v_i), and 0 on the diagonal. */
static eddy_output differences(eddy_gradient *g, eddy_output v)
{
    return reciprocal(g, OP("Sub", OP("ExpandDims", v, INT(-2.0)),
                            OP("ExpandDims", v, INT(-1.0))));
}

/* A gradient of real values in the dtype of the input. */
static eddy_output diagonal(eddy_gradient *g, eddy_output v)
{
    return OP("MatrixDiag", v);
}

static eddy_status refuse(eddy_gradient *g, const char *what)
{
    return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, "%s",
                              what);
}

/* ---- eigenvalues ---- */

static eddy_output vectors(eddy_gradient *g)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("compute_v", &yes)};

    if (eddy__rule_bool(g, "compute_v"))
        return Y(1);
    return eddy__rule_output_at(OP_WITH("SelfAdjointEigV2", attrs, X(0)), 1);
}

/*
 * V (diag(de) + F (V' dV)) V', brought to the lower triangle, which is all that
 * the op reads.
 */
eddy_status eddy__grad_self_adjoint_eig(eddy_gradient *g)
{
    eddy_output v, inner, dx;

    v = vectors(g);
    inner = diagonal(g, DY(0));
    if (eddy__rule_bool(g, "compute_v"))
        inner = ADD(inner, OP("Mul", differences(g, Y(0)),
                              PRODUCT(v, DY(1), true, false)));
    dx = PRODUCT(v, PRODUCT(inner, v, false, true), false, false);
    dx = OP("MatrixBandPart", ADD(dx, ADJOINT(dx)), INT(-1.0), INT(0.0));
    DX(0, OP("MatrixSetDiag", dx,
             OP("Mul", NUMBER(0, 0.5), OP("MatrixDiagPart", dx))));
    return EDDY_OK;
}

/* ---- singular values ---- */

/* A = U diag(s) V' with fewer rows than columns, or as many; else of A'. */
typedef struct svd {
    eddy_output s, u, v, ds, du, dv;
    bool is_square, is_turned;
} svd;

static eddy_output turned_product(eddy_gradient *g, const svd *d,
                                  eddy_output middle)
{
    return PRODUCT(d->u, PRODUCT(middle, d->v, false, true), false, false);
}

/* What the columns of V that lie outside of the rows of A contribute. */
static eddy_output outside(eddy_gradient *g, const svd *d)
{
    const eddy_output dvt = ADJOINT(d->dv);
    const eddy_output part =
        OP("Sub", dvt,
           PRODUCT(PRODUCT(dvt, d->v, false, false), d->v, false, true));

    return PRODUCT(
        PRODUCT(d->u, diagonal(g, reciprocal(g, d->s)), false, false), part,
        false, false);
}

static eddy_output svd_gradient(eddy_gradient *g, const svd *d)
{
    const eddy_output s = diagonal(g, d->s);
    const eddy_output f = differences(g, OP("Square", d->s));
    const eddy_output fu = OP("Mul", f, PRODUCT(d->u, d->du, true, false));
    const eddy_output fv = OP("Mul", f, PRODUCT(d->v, d->dv, true, false));
    const eddy_output middle =
        ADD(diagonal(g, d->ds),
            ADD(PRODUCT(ADD(fu, ADJOINT(fu)), s, false, false),
                PRODUCT(s, ADD(fv, ADJOINT(fv)), false, false)));
    eddy_output dx = turned_product(g, d, middle);

    if (!d->is_square)
        dx = ADD(dx, outside(g, d));
    return d->is_turned ? ADJOINT(dx) : dx;
}

/* Without the vectors: U diag(ds) V'. */
static eddy_output values_gradient(eddy_gradient *g)
{
    const bool yes = true, no = false;
    const eddy_attr attrs[] = {eddy_attr_bool("compute_uv", &yes),
                               eddy_attr_bool("full_matrices", &no)};
    const eddy_output again = OP_WITH("Svd", attrs, X(0));
    const svd d = {.u = eddy__rule_output_at(again, 1),
                   .v = eddy__rule_output_at(again, 2)};

    return turned_product(g, &d, diagonal(g, DY(0)));
}

/* -> s, u, v */
eddy_status eddy__grad_svd(eddy_gradient *g)
{
    const eddy_shape *shape = eddy_gradient_input_shape(g, 0);
    int64_t m, n;
    svd d;

    if (eddy__dtype_is_complex(eddy_gradient_input_dtype(g, 0)))
        return refuse(g, "it is of complex matrices");
    if (!eddy__rule_bool(g, "compute_uv")) {
        DX(0, values_gradient(g));
        return EDDY_OK;
    }
    m = shape->rank < 2 ? -1 : shape->dims[shape->rank - 2];
    n = shape->rank < 2 ? -1 : shape->dims[shape->rank - 1];
    if (m < 0 || n < 0)
        return refuse(g, "the shape of its matrices is not known");
    if (m != n && eddy__rule_bool(g, "full_matrices"))
        return refuse(g, "its matrices are not square, and full matrices are "
                         "asked for");
    d = (svd){.s = Y(0), .ds = DY(0), .is_square = m == n, .is_turned = m > n};
    d.u = Y(d.is_turned ? 2 : 1);
    d.v = Y(d.is_turned ? 1 : 2);
    d.du = DY(d.is_turned ? 2 : 1);
    d.dv = DY(d.is_turned ? 1 : 2);
    DX(0, svd_gradient(g, &d));
    return EDDY_OK;
}

/* ---- QR ---- */

typedef struct qr {
    eddy_output q, r, dq, dr;
} qr;

/* x R'^-1 of an upper triangle R. */
static eddy_output divide(eddy_gradient *g, eddy_output x, eddy_output r)
{
    const bool lower = false;
    const eddy_attr attrs[] = {eddy_attr_bool("lower", &lower)};

    return ADJOINT(OP_WITH("MatrixTriangularSolve", attrs, r, ADJOINT(x)));
}

/* With as many rows as columns, or more. */
static eddy_output deep(eddy_gradient *g, const qr *d)
{
    const eddy_output qdq = PRODUCT(d->q, d->dq, true, false);
    const eddy_output rdr = PRODUCT(d->r, d->dr, false, true);
    const eddy_output both =
        ADD(OP("Sub", qdq, ADJOINT(qdq)), OP("Sub", rdr, ADJOINT(rdr)));
    const eddy_output low = OP("MatrixBandPart", both, INT(-1.0), INT(0.0));
    const eddy_output first =
        PRODUCT(d->q, ADD(d->dr, divide(g, low, d->r)), false, false);
    const eddy_output rest = OP("Sub", d->dq, PRODUCT(d->q, qdq, false, false));

    return ADD(first, divide(g, rest, d->r));
}

/* Columns from `begin` on, or up to there, of a matrix with `n` dimensions. */
static eddy_output columns(eddy_gradient *g, eddy_output v, int64_t at,
                           bool is_tail)
{
    const eddy_output all = OP("ZerosLike", OP("Shape", v));
    const eddy_output is_last =
        OP("Equal", OP("Range", INT(0.0), OP("Rank", v), INT(1.0)),
           OP("Sub", OP("Rank", v), INT(1.0)));
    const eddy_output here = OP("SelectV2", is_last, INT((double)at), all);
    const eddy_output whole = OP("Sub", all, OP("OnesLike", all));

    if (is_tail)
        return OP("Slice", v, here, whole);
    return OP("Slice", v, all, OP("SelectV2", is_last, INT((double)at), whole));
}

/* With fewer rows: A = (X, Y), R = (U, V), and X = Q U is square. */
static eddy_output wide(eddy_gradient *g, const qr *d, int64_t n_rows)
{
    const eddy_output y = columns(g, X(0), n_rows, true);
    const eddy_output dv = columns(g, d->dr, n_rows, true);
    const qr square = {.q = d->q,
                       .r = columns(g, d->r, n_rows, false),
                       .dq = ADD(d->dq, PRODUCT(y, dv, false, true)),
                       .dr = columns(g, d->dr, n_rows, false)};

    return OP("ConcatV2", deep(g, &square), PRODUCT(d->q, dv, false, false),
              INT(-1.0));
}

eddy_status eddy__grad_qr(eddy_gradient *g)
{
    const eddy_shape *shape = eddy_gradient_input_shape(g, 0);
    int64_t m, n;
    qr d;

    m = shape->rank < 2 ? -1 : shape->dims[shape->rank - 2];
    n = shape->rank < 2 ? -1 : shape->dims[shape->rank - 1];
    if (eddy__dtype_is_complex(eddy_gradient_input_dtype(g, 0)))
        return refuse(g, "it is of complex matrices");
    if (m < 0 || n < 0)
        return refuse(g, "the shape of its matrices is not known");
    if (m > n && eddy__rule_bool(g, "full_matrices"))
        return refuse(g, "its matrices have more rows than columns, and full "
                         "matrices are asked for");
    d = (qr){.q = Y(0), .r = Y(1), .dq = DY(0), .dr = DY(1)};
    DX(0, m < n ? wide(g, &d, m) : deep(g, &d));
    return EDDY_OK;
}

/* ---- LU ---- */

/* P' L'^-1 (low(L' dL) + up(dU U')) U'^-1, with P' for the order of rows. */
eddy_status eddy__grad_lu(eddy_gradient *g)
{
    const bool no = false, yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("lower", &yes),
                               eddy_attr_bool("adjoint", &yes)};
    const eddy_attr upper[] = {eddy_attr_bool("lower", &no)};
    eddy_output l, u, dl, du, ones, middle, rows, order;

    ones = OP("OnesLike", OP("MatrixDiagPart", Y(0)));
    l = OP("MatrixSetDiag", OP("MatrixBandPart", Y(0), INT(-1.0), INT(0.0)),
           ones);
    u = OP("MatrixBandPart", Y(0), INT(0.0), INT(-1.0));
    dl = OP("MatrixSetDiag", OP("MatrixBandPart", DY(0), INT(-1.0), INT(0.0)),
            OP("ZerosLike", ones));
    du = OP("MatrixBandPart", DY(0), INT(0.0), INT(-1.0));
    middle = PRODUCT(l, dl, true, false);
    middle =
        OP("MatrixSetDiag", OP("MatrixBandPart", middle, INT(-1.0), INT(0.0)),
           OP("ZerosLike", ones));
    middle = ADD(middle, OP("MatrixBandPart", PRODUCT(du, u, false, true),
                            INT(0.0), INT(-1.0)));
    rows = OP_WITH("MatrixTriangularSolve", attrs, l, middle);
    rows = ADJOINT(OP_WITH("MatrixTriangularSolve", upper, u, ADJOINT(rows)));
    order = OP("Shape", Y(1));
    order =
        OP("OneHot", Y(1),
           eddy__rule_element(g, order, OP("Sub", OP("Size", order), INT(1.0))),
           NUMBER(0, 1), NUMBER(0, 0));
    DX(0, PRODUCT(order, rows, true, false));
    return EDDY_OK;
}

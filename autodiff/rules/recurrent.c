/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fused cells of recurrent layers.  One step is differentiated by ops that
 * have gradients themselves, so to any order; a sequence by the op that
 * TensorFlow has for it, which has no gradient and leaves out what is given for
 * the gates: of the outputs it sees cs and h alone.  (TensorFlow's Python takes
 * BlockLSTMGrad for BlockLSTMV2 too, whose gates are in another order; here it
 * is BlockLSTMGradV2.)
 */
#include "autodiff/rule.h"

/* s (1 - s) dy, and (1 - t^2) dy. */
static eddy_output by_sigmoid(eddy_gradient *g, eddy_output s, eddy_output dy)
{
    return OP("SigmoidGrad", s, dy);
}

static eddy_output by_tanh(eddy_gradient *g, eddy_output t, eddy_output dy)
{
    return OP("TanhGrad", t, dy);
}

static eddy_output times(eddy_gradient *g, eddy_output a, eddy_output b)
{
    return OP("Mul", a, b);
}

static eddy_output plus(eddy_gradient *g, eddy_output a, eddy_output b)
{
    return OP("AddV2", a, b);
}

static eddy_output sum_rows(eddy_gradient *g, eddy_output v)
{
    return OP("Sum", v, INT(0));
}

static eddy_output join(eddy_gradient *g, eddy_output a, eddy_output b)
{
    return OP("ConcatV2", a, b, INT(1));
}

static eddy_output product(eddy_gradient *g, eddy_output a, eddy_output b,
                           bool turn_a, bool turn_b)
{
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &turn_a),
                               eddy_attr_bool("transpose_b", &turn_b)};

    return OP_WITH("MatMul", attrs, a, b);
}

/* The columns of `joined` that are those of `x`, and the ones behind them. */
static eddy_output left_part(eddy_gradient *g, eddy_output joined,
                             eddy_output x)
{
    return OP("Slice", joined, INTS(0, 0), OP("Shape", x));
}

static eddy_output right_part(eddy_gradient *g, eddy_output joined,
                              eddy_output x)
{
    const eddy_output width = eddy__rule_element(g, OP("Shape", x), INT(1));

    return OP("Slice", joined, VECTOR(INT(0), width), INTS(-1, -1));
}

/* ---- LSTMBlockCell ---- */

enum { LSTM_X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B };
enum { I, CS, F, O, CI, CO, H };

typedef struct gates {
    eddy_output i, ci, f, o;
} gates;

/* The gradients of the sums that the gates are functions of; sets cs_prev's. */
static gates lstm_gates(eddy_gradient *g, bool has_peepholes)
{
    const eddy_output d_co = plus(g, DY(CO), times(g, DY(H), Y(O)));
    const eddy_output d_o = plus(g, DY(O), times(g, DY(H), Y(CO)));
    eddy_output d_cs = plus(g, DY(CS), by_tanh(g, Y(CO), d_co)), before;
    gates d;

    d.o = by_sigmoid(g, Y(O), d_o);
    if (has_peepholes)
        d_cs = plus(g, d_cs, times(g, d.o, X(WCO)));
    d.i = by_sigmoid(g, Y(I), plus(g, DY(I), times(g, d_cs, Y(CI))));
    d.ci = by_tanh(g, Y(CI), plus(g, DY(CI), times(g, d_cs, Y(I))));
    d.f = by_sigmoid(g, Y(F), plus(g, DY(F), times(g, d_cs, X(CS_PREV))));
    before = times(g, d_cs, Y(F));
    if (has_peepholes)
        before = plus(g, before,
                      plus(g, times(g, d.i, X(WCI)), times(g, d.f, X(WCF))));
    DX(CS_PREV, before);
    return d;
}

eddy_status eddy__grad_lstm_cell(eddy_gradient *g)
{
    const bool has_peepholes = eddy__rule_bool(g, "use_peephole");
    const gates d = lstm_gates(g, has_peepholes);
    const eddy_output all = OP("ConcatV2", d.i, d.ci, d.f, d.o, INT(1));
    const eddy_output xh = product(g, all, X(W), false, true);

    DX(LSTM_X, left_part(g, xh, X(LSTM_X)));
    DX(H_PREV, right_part(g, xh, X(LSTM_X)));
    DX(W, product(g, join(g, X(LSTM_X), X(H_PREV)), all, true, false));
    DX(B, sum_rows(g, all));
    if (has_peepholes) {
        DX(WCI, sum_rows(g, times(g, d.i, X(CS_PREV))));
        DX(WCF, sum_rows(g, times(g, d.f, X(CS_PREV))));
        DX(WCO, sum_rows(g, times(g, d.o, Y(CS))));
    }
    return EDDY_OK;
}

/* ---- BlockLSTM ---- */

eddy_status eddy__grad_lstm(eddy_gradient *g)
{
    const bool is_second = eddy__rule_is_op(g, "BlockLSTMV2");
    const bool has_peepholes = eddy__rule_bool(g, "use_peephole");
    const eddy_attr attrs[] = {eddy_attr_bool("use_peephole", &has_peepholes)};
    const eddy_output all =
        OP_WITH(is_second ? "BlockLSTMGradV2" : "BlockLSTMGrad", attrs, X(0),
                X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), Y(I), Y(CS),
                Y(F), Y(O), Y(CI), Y(CO), Y(H), DY(CS), DY(H));

    for (uint32_t i = 0; i < 8; i++)
        DX(1 + i, eddy__rule_output_at(all, i));
    return EDDY_OK;
}

/* ---- GRUBlockCell ---- */

enum { X_GRU, GRU_H_PREV, W_RU, W_C, B_RU, B_C };
enum { GRU_R, GRU_U, GRU_C, GRU_H };

eddy_status eddy__grad_gru_cell(eddy_gradient *g)
{
    const eddy_output r = Y(GRU_R), u = Y(GRU_U), c = Y(GRU_C);
    const eddy_output x = X(X_GRU), h = X(GRU_H_PREV), dh = DY(GRU_H);
    const eddy_output d_c = by_tanh(
        g, c,
        plus(g, DY(GRU_C), times(g, dh, OP("Sub", OP("OnesLike", u), u))));
    const eddy_output d_u =
        by_sigmoid(g, u, plus(g, DY(GRU_U), times(g, dh, OP("Sub", h, c))));
    const eddy_output by_c = product(g, d_c, X(W_C), false, true);
    const eddy_output d_hr = right_part(g, by_c, x);
    const eddy_output d_r =
        by_sigmoid(g, r, plus(g, DY(GRU_R), times(g, d_hr, h)));
    const eddy_output d_ru = join(g, d_r, d_u);
    const eddy_output by_ru = product(g, d_ru, X(W_RU), false, true);

    DX(X_GRU, plus(g, left_part(g, by_c, x), left_part(g, by_ru, x)));
    DX(GRU_H_PREV, plus(g, right_part(g, by_ru, x),
                        plus(g, times(g, d_hr, r), times(g, dh, u))));
    DX(W_RU, product(g, join(g, x, h), d_ru, true, false));
    DX(W_C, product(g, join(g, x, times(g, h, r)), d_c, true, false));
    DX(B_RU, sum_rows(g, d_ru));
    DX(B_C, sum_rows(g, d_c));
    return EDDY_OK;
}

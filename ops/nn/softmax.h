/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of exponentials behind softmax and the cross entropies.
 *
 * Of a row x of classes: exp(x[i] - max), whose sum is at least 1 unless
 * something is not a number.  Sums are made in an order that depends on the
 * length of the row alone, in double from strip to strip.
 */
#ifndef EDDY_OPS_SOFTMAX_H
#define EDDY_OPS_SOFTMAX_H

#include "ops/math/numeric.h"

/* What a row's exponentials depend on.  `max` is one of its elements. */
typedef struct eddy__exp_row {
    double max, sum;
} eddy__exp_row;

/* How many exponentials eddy__exps_D gives at a time. */
#define EDDY__EXPS 256

/*
 * Elements are `step` apart, 0 or 1.  SUM leaves the exponentials of a row in
 * `kept` unless that is NULL; `kept` may be the row itself.  EXPS makes at most
 * EDDY__EXPS of them anew.
 */
#define EDDY__EXP_ROWS(D)                                                      \
    eddy__exp_row eddy__exp_sum_##D(eddy_kernel *k, const eddy__stored_##D *x, \
                                    int64_t step, int64_t n,                   \
                                    eddy__computed_##D *kept);                 \
    void eddy__exps_##D(const eddy__stored_##D *x, int64_t step, int64_t n,    \
                        const eddy__exp_row *row, eddy__computed_##D *exps);

EDDY__EXP_ROWS(F16)
EDDY__EXP_ROWS(BF16)
EDDY__EXP_ROWS(F32)
EDDY__EXP_ROWS(F64)

#endif

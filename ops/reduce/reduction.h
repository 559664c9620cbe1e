/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: which elements meet in which, and in what order.
 *
 * The order depends on shapes alone.  Runs of elements are folded in lanes, and
 * the results of long runs are joined in pairs, then pairs of pairs, so that
 * the error of a sum grows with the logarithm of its length.
 */
#ifndef EDDY_OPS_REDUCTION_H
#define EDDY_OPS_REDUCTION_H

#include "core/graph/infer.h"
#include "core/kernel.h"

#define EDDY__ACCUMULATOR_MAX 16 /* bytes */

/*
 * One op on one dtype.  Loops come in two ways, for the baseline processor and
 * for one with wider vectors, which give the same bits.
 */
typedef struct eddy__reducer {
    size_t in_size, out_size, sum_size;
    bool keeps_one; /* the result of one element is that element */

    /* Makes `n` accumulators of nothing. */
    void (*start)(void *accumulators, int64_t n);

    /* Folds runs of `n` elements, each behind the other, one an accumulator. */
    void (*fold_runs[2])(void *accumulators, int64_t n_runs, const void *in,
                         int64_t n);

    /* Folds rows, `stride` elements apart, into `n` accumulators. */
    void (*fold_rows[2])(void *accumulators, int64_t n, const void *in,
                         int64_t n_rows, int64_t stride);

    /* Folds `n` accumulators into others. */
    void (*join)(void *accumulators, const void *others, int64_t n);

    /* Results, each of `count` elements. */
    void (*finish)(void *out, const void *accumulators, int64_t n,
                   int64_t count);
} eddy__reducer;

/* A shape function and a kernel; the kernel needs what prepare leaves. */
eddy_status eddy__reduction_infer(eddy_infer *infer);
eddy_status eddy__reduction_prepare(eddy_infer *infer,
                                    const eddy__reducer *reducer);

/*
 * Reduces a tensor along the dimensions whose bits are set in `axes`.  The
 * result must have at least one element.
 */
void eddy__reduce(eddy_kernel *k, const eddy__reducer *reducer,
                  const eddy_shape *shape, unsigned axes, const void *in,
                  void *out);

/* What Sum reduces with; NULL for dtypes that are not numbers. */
const eddy__reducer *eddy__sum_reducer(eddy_dtype dtype);

#endif

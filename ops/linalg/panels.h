/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second factors that are kept in panels (tiles.h), since many products read
 * them: constants by a plan, and what a loop is entered with by the op _Panels.
 */
#ifndef EDDY_OPS_PANELS_H
#define EDDY_OPS_PANELS_H

#include "core/graph/infer.h"
#include "ops/linalg/gemm.h"

/*
 * For the prepare of a node that multiplies its two inputs, transposed if so
 * said: the panels of the second one, in what the node keeps, if that is a
 * constant matrix and the first, or each of its matrices, may have few rows;
 * else NULL.  Fails without memory.
 */
eddy_status eddy__panels_prepare(eddy_infer *infer, uint32_t b_id,
                                 bool transpose_a, bool transpose_b,
                                 const float **out_panels);

/*
 * The kernel of _Panels.  Where there is no memory for them it puts out no
 * elements, and products go without.
 */
eddy_status eddy__panels_run(eddy_kernel *k);
eddy_status eddy__panels_infer(eddy_infer *infer);
eddy_status eddy__panels_prepare_op(eddy_infer *infer);

#endif

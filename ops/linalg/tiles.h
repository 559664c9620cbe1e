/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eddy's own products of float32 matrices, for a first factor of few rows, and
 * for short sums.  An element is one sum in the order of k, from zero, each
 * step a fused multiply-add: so its bits are the same whatever the vectors and
 * however the product is cut.  (A processor without such an instruction rounds
 * each step twice, and has other bits.)
 *
 * They read the second factor in panels: columns 32 i to 32 i + 31 of all rows,
 * row behind row, with zeros for columns that are not there.
 */
#ifndef EDDY_OPS_TILES_H
#define EDDY_OPS_TILES_H

#include "core/base/cpu.h"
#include "ops/linalg/gemm.h"

#define EDDY__PANEL_COLUMNS 32

/* Are products of this shape, of float32, done here?  By the shape alone. */
bool eddy__tiles_take(const eddy__product *p);

/* Elements of all panels of a k by n matrix; -1: too many. */
int64_t eddy__tiles_room(int64_t n, int64_t k);

/* Writes the panels of the product's second factor. */
void eddy__tiles_pack(const eddy__product *p, float *out);

/*
 * The product; by its panels, if it has some, and else by panels that are made
 * on the way.  With `adds` each sum goes on from what stands in `out`, or, if
 * it `adds_after`, which only products may that eddy__products_add_after takes,
 * is added to it.
 */
void eddy__tiles_multiply(const eddy__product *p);

/* The same with vectors that the processor has, not its widest; for tests. */
void eddy__tiles_multiply_with(const eddy__product *p, eddy__vectors vectors);

#endif

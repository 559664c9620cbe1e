/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan must know of products of few rows and of short sums, which are
 * eddy's own (ops/linalg/tiles.h): which there are, by shape, and the ops that
 * do them with what does not change in a loop, or with a sum, in one.
 */
#ifndef EDDY_OPS_PRODUCTS_H
#define EDDY_OPS_PRODUCTS_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix in panels, for later products by it. */
#define EDDY__PANELS "_Panels"
/* A product that reads its second factor's panels as a third input. */
#define EDDY__PANEL_PRODUCT "_MatMulPanels"
/* A product and a sum in one; `exact`: rounded as the two are. */
#define EDDY__FUSED_SUM "_MatMulSum"

/*
 * A product that reads its first factor as one matrix or two beside each other,
 * adds a bias to its rows, and gives its columns in parts; 8 of them at most.
 */
#define EDDY__GATED_PRODUCT "_MatMulGates"

/* The products of all steps of a loop, made ahead of it, and one of them. */
#define EDDY__PRODUCTS_AHEAD "_ProductsAhead"
#define EDDY__PRODUCT_ROW "_ProductRow"

/*
 * Can the products of n steps, of m by k and k by n elements each, be made
 * ahead with the same bits, in a tensor that is not too large?  `steps` may be
 * -1, for not known.
 */
bool eddy__products_may_go_ahead(int64_t steps, int64_t m, int64_t n,
                                 int64_t k);

/* Is it worth it, for parts of so many columns? */
bool eddy__products_have_gates(int64_t m, int64_t n, int64_t k, int64_t width);

/*
 * Are panels of the second factor worth making ahead, for products of m by k
 * and k by n elements of float32?  m may be -1, for not known.
 */
bool eddy__products_want_panels(int64_t m, int64_t n, int64_t k);

/* Can such a product be added to a sum in place, with the same roundings? */
bool eddy__products_add_after(int64_t m, int64_t n, int64_t k);

#endif

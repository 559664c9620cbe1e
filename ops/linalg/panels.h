/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows by constant weights whose rows are a multiple of 2 KiB
 * apart, as those of recurrent nets often are: they fall into the same few
 * lines of the cache, and a library that reads them where they stand, or copies
 * them, does so in every product.  Here they are copied once, into panels of 32
 * columns whose rows follow each other.
 *
 * Each element is one sum in the order of k, each step rounded once.  That is
 * what libraries compute too as long as k is not cut, so only products with a
 * short k are taken.
 */
#ifndef EDDY_OPS_PANELS_H
#define EDDY_OPS_PANELS_H

#include "core/graph/infer.h"
#include "ops/linalg/gemm.h"

/* Are panels worth it for such a product, of float32, on this processor? */
bool eddy__panels_pay(const eddy__product *p);

/* Writes the panels of `b`, k * n elements. */
void eddy__panels_make(const eddy__product *p, float *out);

/*
 * For the prepare of a node that multiplies its two inputs, transposed if so
 * said: the panels of the second one, in what the node keeps, if that is a
 * constant and they pay for the number of rows that is known of the first; else
 * NULL.  Fails without memory.
 */
eddy_status eddy__panels_prepare(eddy_infer *infer, bool transpose_a,
                                 bool transpose_b, const float **out_panels);

/* The product by the panels of `b`, which is not looked at. */
void eddy__panels_multiply(const eddy__product *p, const float *panels);

#endif

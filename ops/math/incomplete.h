/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete gamma and beta functions, in double, as special_math.h has others.
 */
#ifndef EDDY_OPS_INCOMPLETE_H
#define EDDY_OPS_INCOMPLETE_H

/* The regularised incomplete gamma function P(a, x), and 1 less it, Q(a, x). */
double eddy__igamma(double a, double x);
double eddy__igammac(double a, double x);

/* The derivative of P(a, x) by a. */
double eddy__igamma_by_a(double a, double x);

/*
 * How `x`, drawn from a gamma distribution of shape `a`, moves with a; 0 where
 * the logarithm of that density, in the way it is computed, is below `least`.
 */
double eddy__gamma_sample_by_a(double a, double x, double least);

/* The regularised incomplete beta function I_x(a, b). */
double eddy__betainc(double a, double b, double x);

#endif

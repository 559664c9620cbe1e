/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are computed an element at a time, in double.  NaN where they
 * have no value, and the values that TensorFlow gives at poles.
 */
#ifndef EDDY_OPS_SPECIAL_MATH_H
#define EDDY_OPS_SPECIAL_MATH_H

#include <stdbool.h>

/* log |gamma(x)|; infinite at 0 and the negative integers. */
double eddy__lgamma(double x);

/* The derivative of lgamma; NaN at 0 and the negative integers. */
double eddy__digamma(double x);

/* The inverse of the error function: infinite at -1 and 1. */
double eddy__erfinv(double x);

/* The inverse of the normal distribution function: infinite at 0 and 1. */
double eddy__ndtri(double p);

/*
 * The modified Bessel functions I and K of order 0 or 1 (ops/math/bessel.c);
 * scaled, they are e^-|x| I(x) and e^x K(x).  K is infinite from 0 down, as in
 * TensorFlow.
 */
double eddy__bessel_i(int order, bool is_scaled, double x);
double eddy__bessel_k(int order, bool is_scaled, double x);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modified Bessel functions of orders 0 and 1.  Series whose terms are all of
 * one sign up to an argument where the asymptotic one is as good; of the second
 * kind above 2, Steed's continued fraction as Temme has it.
 */
#include "ops/math/special_math.h"
#include "ops/math/vector_math.h"

#include <math.h>

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061
#define ASYMPTOTIC_FROM 30.0
#define FRACTION_FROM 2.0

/* The sum of (x^2 / 4)^i / (i! (i + order)!), by what each term is of the last.
 */
static double rising_series(int order, double x)
{
    const double z = x * x / 4;
    double term = 1, sum = 1;

    for (int i = 1; i < 200 && term > sum * 0x1p-60; i++) {
        term *= z / ((double)i * (i + order));
        sum += term;
    }
    return sum;
}

/* e^-x I(x) of x >= ASYMPTOTIC_FROM. */
static double falling_series(int order, double x)
{
    const double mu = 4.0 * order * order;
    double term = 1, sum = 1;

    for (int i = 1; i < 40 && fabs(term) > 0x1p-60; i++) {
        const double odd = 2.0 * i - 1;

        term *= -(mu - odd * odd) / (i * 8.0 * x);
        sum += term;
    }
    return sum / sqrt(2 * PI * x);
}

/* e^-|x| I(x), of |x|. */
static double scaled_i(int order, double x)
{
    const double size = fabs(x);
    double sum;

    if (isinf(size))
        return 0;
    if (size >= ASYMPTOTIC_FROM)
        return falling_series(order, size);
    sum = rising_series(order, size) * eddy__math_exp(-size);
    return order == 0 ? sum : sum * size / 2;
}

double eddy__bessel_i(int order, bool is_scaled, double x)
{
    const double size = fabs(x);
    double value = scaled_i(order, x);

    if (isnan(x))
        return x;
    if (!is_scaled && isinf(size))
        value = size;
    else if (!is_scaled)
        /* In halves, since the whole may overflow where the product is less. */
        value = value * eddy__math_exp(size / 2) * eddy__math_exp(size / 2);
    return order == 1 && x < 0 ? -value : value;
}

/* K0 and K1 of 0 < x <= FRACTION_FROM. */
static void near_k(double x, double out[2])
{
    const double i0 = rising_series(0, x), i1 = x / 2 * rising_series(1, x);
    const double z = x * x / 4;
    double term = 1, harmonic = 0, sum = 0;

    for (int i = 1; i < 60 && term > 0x1p-60; i++) {
        term *= z / ((double)i * i);
        harmonic += 1.0 / i;
        sum += term * harmonic;
    }
    out[0] = sum - (eddy__math_log(x / 2) + EULER) * i0;
    /* The Wronskian: I0 K1 + I1 K0 = 1 / x. */
    out[1] = (1 / x - i1 * out[0]) / i0;
}

/* e^x K0 and e^x K1 of x > FRACTION_FROM. */
static void far_k(double x, double out[2])
{
    double b = 2 * (1 + x), d = 1 / b, h = d, step = d;
    double before = 0, q = 1, c = 0.25, a = -0.25, weight = 0.25;
    double sum = 1 + weight * step;

    for (int i = 2; i < 500; i++) {
        double next;

        a -= 2.0 * (i - 1);
        c = -a * c / i;
        next = (before - b * q) / a;
        before = q;
        q = next;
        weight += c * next;
        b += 2;
        d = 1 / (b + a * d);
        step *= b * d - 1;
        h += step;
        sum += weight * step;
        if (fabs(weight * step) < sum * 0x1p-55)
            break;
    }
    out[0] = sqrt(PI / (2 * x)) / sum;
    out[1] = out[0] * (x + 0.5 - 0.25 * h) / x;
}

double eddy__bessel_k(int order, bool is_scaled, double x)
{
    double both[2];

    if (isnan(x))
        return x;
    if (x <= 0)
        return HUGE_VAL;
    if (isinf(x))
        return 0;
    if (x <= FRACTION_FROM) {
        near_k(x, both);
        return is_scaled ? both[order] * eddy__math_exp(x) : both[order];
    }
    far_k(x, both);
    return is_scaled ? both[order] : both[order] * eddy__math_exp(-x);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series and continued fractions for functions that the C library does not
 * have.
 */
#include "ops/math/special_math.h"

#include "ops/math/vector_math.h"

#include <math.h>

#define PI 3.14159265358979323846
#define ROOT_PI 1.77245385090551602730
#define ROOT_2 1.41421356237309504880

double eddy__lgamma(double x)
{
    int sign;

    return lgamma_r(x, &sign); /* lgamma would write a global variable */
}

/* ---- digamma ---- */

/* Of x >= 10, where the terms left out are below the last bit. */
static double digamma_series(double x)
{
    static const double terms[] = {
        1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
        1.0 / 132, -691.0 / 32760.0, 1.0 / 12,
    };
    const double z = 1 / (x * x);
    double sum = 0;

    for (int i = sizeof terms / sizeof terms[0] - 1; i >= 0; i--)
        sum = z * (terms[i] + sum);
    return eddy__math_log(x) - 0.5 / x - sum;
}

double eddy__digamma(double x)
{
    double below = 0, lost = 0;

    if (x <= 0) {
        const double beyond = x - nearbyint(x); /* NaN of -infinity */

        if (!(beyond != 0) || isinf(x))
            return (double)NAN;
        below = -PI / eddy__math_tan(PI * beyond);
        x = 1 - x;
    }
    /* psi(x) = psi(x + 1) - 1 / x; what the sum loses is kept. */
    while (x < 10) {
        const double sum = below - 1 / x;
        const double taken = sum - below;

        lost += (below - (sum - taken)) + (-1 / x - taken);
        below = sum;
        x += 1;
    }
    return digamma_series(x) + below + lost;
}

/* ---- inverses of the error function ---- */

/* Halley's step from `y` where a function with the slope of erf is off. */
static double improve(double y, double off)
{
    const double u = off * (ROOT_PI / 2) / eddy__math_exp(-y * y);

    return y - u / (1 + y * u);
}

/* Of |x| <= 1/2: the series, good to 2^-9, and two steps that cube errors. */
static double erfinv_near(double x)
{
    const double z = x * x * PI;
    double y = ROOT_PI / 2 * x * (1 + z * (1.0 / 12 + z * (7.0 / 480)));

    for (int i = 0; i < 2; i++)
        y = improve(y, eddy__math_erf(y) - x);
    return y;
}

/* Where erfc is `q`, 0 < q <= 1/2; Winitzki's formula is good to 2^-8. */
static double erfcinv(double q)
{
    const double a = 0.147;
    const double log_q = eddy__math_log(q) + eddy__math_log(2 - q);
    const double half = 2 / (PI * a) + log_q / 2;
    double y = sqrt(sqrt(half * half - log_q / a) - half);

    for (int i = 0; i < 4; i++)
        y = improve(y, q - eddy__math_erfc(y));
    return y;
}

double eddy__erfinv(double x)
{
    if (!(fabs(x) <= 1))
        return (double)NAN;
    if (fabs(x) < 0x1p-500)
        return ROOT_PI / 2 * x;
    if (fabs(x) == 1)
        return copysign(HUGE_VAL, x);
    return fabs(x) <= 0.5 ? erfinv_near(x) : copysign(erfcinv(1 - fabs(x)), x);
}

double eddy__ndtri(double p)
{
    if (!(p >= 0 && p <= 1))
        return (double)NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -HUGE_VAL : HUGE_VAL;
    if (p > 0.25 && p < 0.75)
        return ROOT_2 * erfinv_near(2 * p - 1);
    return p < 0.5 ? -ROOT_2 * erfcinv(2 * p) : ROOT_2 * erfcinv(2 * (1 - p));
}

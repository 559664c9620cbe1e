/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete gamma and beta functions: a power series where it is short, else a
 * continued fraction (DLMF 8.11.4, 8.9.2, 8.17.22), with the derivative of
 * either carried along where that is wanted.
 */
#include "ops/math/incomplete.h"
#include "ops/math/special_math.h"

#include <math.h>
#include <stdbool.h>

#define MOST_TERMS 2000
#define SMALL 0x1p-53
#define BIG 0x1p52

/* A value and its derivative by a. */
typedef struct dual {
    double value, slope;
} dual;

/* The sum of x^n / ((a + 1) ... (a + n)) from n = 0 on. */
static dual series(double a, double x)
{
    dual sum = {1, 0};
    double term = 1, log_slope = 0;

    for (int n = 1; n <= MOST_TERMS; n++) {
        double change;

        term *= x / (a + n);
        log_slope -= 1 / (a + n);
        change = term * log_slope;
        sum.value += term;
        sum.slope += change;
        if (term <= sum.value * SMALL && fabs(change) <= -sum.slope * SMALL)
            break;
    }
    return sum;
}

/* Two neighbouring convergents of the fraction, as parts of a quotient. */
typedef struct convergents {
    dual last, before;
} convergents;

static void advance(convergents *c, double z, double y, double n)
{
    const dual next = {
        c->last.value * z - c->before.value * (y * n),
        c->last.slope * z - c->last.value - c->before.slope * (y * n) +
            c->before.value * n,
    };

    c->before = c->last;
    c->last = next;
}

static void scale(convergents *c)
{
    c->last.value /= BIG;
    c->last.slope /= BIG;
    c->before.value /= BIG;
    c->before.slope /= BIG;
}

/* Q(a, x) without the factor x^a e^-x / gamma(a). */
static dual fraction(double a, double x)
{
    convergents p = {{x + 1, 0}, {1, 0}};
    convergents q = {{(x + 2 - a) * x, -x}, {x, 0}};
    double y = 1 - a, z = x + y + 1;
    dual sum = {p.last.value / q.last.value, 0};

    sum.slope = -sum.value * q.last.slope / q.last.value;
    for (int n = 1; n <= MOST_TERMS; n++) {
        const dual old = sum;

        y += 1;
        z += 2;
        advance(&p, z, y, n);
        advance(&q, z, y, n);
        if (q.last.value != 0) {
            sum.value = p.last.value / q.last.value;
            sum.slope =
                (p.last.slope - sum.value * q.last.slope) / q.last.value;
            if (fabs(sum.value - old.value) <= fabs(sum.value) * SMALL &&
                fabs(sum.slope - old.slope) <= fabs(sum.slope) * 4 * SMALL)
                break;
        }
        if (fabs(p.last.value) > BIG) {
            scale(&p);
            scale(&q);
        }
    }
    return sum;
}

/* x^a e^-x / gamma(a) */
static double gamma_factor(double a, double x)
{
    return exp(a * log(x) - x - eddy__lgamma(a));
}

static bool has_no_gamma(double a, double x)
{
    return isnan(a) || isnan(x) || x < 0 || a <= 0;
}

static bool is_far(double a, double x)
{
    return x > 1 && x > a;
}

/* Where one of them is infinite: P(a, x), and of both 0 as in TensorFlow. */
static double at_infinity(double a, double x)
{
    return isinf(x) && !isinf(a) ? 1 : 0;
}

double eddy__igamma(double a, double x)
{
    /* As in TensorFlow, whatever a is. */
    if (x == 0)
        return 0;
    if (has_no_gamma(a, x))
        return (double)NAN;
    if (isinf(a) || isinf(x))
        return at_infinity(a, x);
    if (is_far(a, x))
        return 1 - fraction(a, x).value * gamma_factor(a, x);
    return series(a, x).value * gamma_factor(a, x) / a;
}

double eddy__igammac(double a, double x)
{
    if (has_no_gamma(a, x))
        return (double)NAN;
    if (x == 0)
        return 1;
    if (isinf(a) || isinf(x))
        return isinf(x) ? 0 : 1;
    if (is_far(a, x))
        return fraction(a, x).value * gamma_factor(a, x);
    return 1 - series(a, x).value * gamma_factor(a, x) / a;
}

/* The derivative of P by a, without the factor x^a e^-x / gamma(a). */
static double slope_by_a(double a, double x)
{
    dual part;

    if (is_far(a, x)) {
        part = fraction(a, x);
        return -(part.slope + part.value * (log(x) - eddy__digamma(a)));
    }
    part = series(a, x);
    return (part.slope + part.value * (log(x) - eddy__digamma(a + 1))) / a;
}

double eddy__igamma_by_a(double a, double x)
{
    if (has_no_gamma(a, x))
        return (double)NAN;
    if (x == 0 || isinf(a) || isinf(x))
        return 0;
    return slope_by_a(a, x) * gamma_factor(a, x);
}

double eddy__gamma_sample_by_a(double a, double x, double least)
{
    if (has_no_gamma(a, x))
        return (double)NAN;
    if (x == 0 || isinf(a) || isinf(x) ||
        a * log(x) - x - eddy__lgamma(is_far(a, x) ? a : a + 1) < least)
        return 0;
    return -slope_by_a(a, x) * x;
}

/* Term `m` of the fraction, of which each number has two. */
static double even_term(double a, double b, double x, double m)
{
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

static double odd_term(double a, double b, double x, double m)
{
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

static double away_from_0(double x)
{
    return fabs(x) < 1e-290 ? 1e-290 : x;
}

/* Lentz's way to the value of the fraction. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), value = d;

    for (int m = 1; m <= MOST_TERMS; m++) {
        const double even = even_term(a, b, x, m), odd = odd_term(a, b, x, m);
        double change;

        d = 1 / away_from_0(1 + even * d);
        c = away_from_0(1 + even / c);
        value *= c * d;
        d = 1 / away_from_0(1 + odd * d);
        c = away_from_0(1 + odd / c);
        change = c * d;
        value *= change;
        if (fabs(change - 1) <= 2 * SMALL)
            break;
    }
    return value;
}

/* x^a (1 - x)^b / (a B(a, b)) */
static double beta_factor(double a, double b, double x)
{
    return exp(a * log(x) + b * log1p(-x) + eddy__lgamma(a + b) -
               eddy__lgamma(a) - eddy__lgamma(b)) /
           a;
}

/* The same by where it is smaller; I_x(a, b) + I_1-x(b, a) = 1. */
double eddy__betainc(double a, double b, double x)
{
    if (isnan(a) || isnan(b) || isnan(x) || a <= 0 || b <= 0 || x < 0 || x > 1)
        return (double)NAN;
    if (isinf(a) || isinf(b))
        return (double)NAN;
    if (x == 0 || x == 1)
        return x;
    if (x <= (a + 1) / (a + b + 2))
        return beta_factor(a, b, x) * beta_fraction(a, b, x);
    return 1 - beta_factor(b, a, 1 - x) * beta_fraction(b, a, 1 - x);
}

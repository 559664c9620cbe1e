/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zeta and Polygamma.  The sum over (q + n)^-s has its first terms added up and
 * the rest by the Euler-Maclaurin formula (Abramowitz and Stegun 23.2; DLMF
 * 25.11); below 0 the terms on the other side of it are a sum of the same kind.
 */
#include "ops/math/special_math.h"
#include "ops/math/transcendental.h"
#include "ops/ops.h"

#include <float.h>
#include <math.h>

/* What is left from the term at `a` on, of a sum whose first part is `sum`. */
static double tail(double s, double a, double sum)
{
    /* Bernoulli number 2 k by the factorial of 2 k. */
    static const double terms[] = {
        1.0 / 12,
        -1.0 / 720,
        1.0 / 30240,
        -1.0 / 1209600,
        1.0 / 47900160,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
        -174611.0 / 802857662698291200000.0,
    };
    const double power = pow(a, -s);
    double factor = s * power / a;

    sum += a * power / (s - 1) + power / 2;
    for (int k = 0; k < (int)(sizeof terms / sizeof *terms); k++) {
        const double term = terms[k] * factor;

        sum += term;
        if (fabs(term) <= fabs(sum) * 0x1p-54)
            break;
        factor *= (s + 2 * k + 1) / a * ((s + 2 * k + 2) / a);
    }
    return sum;
}

/* Of q > 0. */
static double zeta_above(double s, double q)
{
    double sum = 0, a = q;

    for (int n = 0; n < 10 || a < 10 + s / 4; n++, a += 1) {
        const double term = pow(a, -s);

        sum += term;
        if (term * a <= sum * 0x1p-56 * (s - 1))
            return sum;
    }
    return tail(s, a, sum);
}

static double zeta(double s, double q)
{
    const bool is_odd = isfinite(s) && fmod(s, 2) != 0;
    double n, first, below;

    if (s == 1)
        return HUGE_VAL;
    if (isnan(s) || isnan(q) || s < 1)
        return (double)NAN;
    if (q <= 0 && (s != floor(s) || (q == floor(q) && is_odd)))
        return (double)NAN;
    if (q <= 0 && q == floor(q))
        return HUGE_VAL;
    if (isinf(q))
        return 0;
    if (isinf(s)) /* below 0 a term is of a number within 1 */
        return q > 1 ? 0 : q == 1 ? 1 : HUGE_VAL;
    if (q > 0)
        return zeta_above(s, q);
    n = ceil(-q);
    first = -q - (n - 1); /* the last term before 0 is first^-s */
    below = zeta_above(s, first) - zeta_above(s, first + n);
    return zeta_above(s, q + n) + (is_odd ? -below : below);
}

/*
 * As in TensorFlow n + 1, the factorial of n and the sum are of the dtype: what
 * is infinite in it stays so, whatever it is multiplied by.
 */
static double polygamma(double n, double x, double next, bool is_single)
{
    const int most = is_single ? 34 : 170;
    double factorial = 1, sum;

    if (n == 0)
        return eddy__digamma(x);
    if (!(n > 0) || n != floor(n))
        return (double)NAN;
    if (n > most)
        factorial = HUGE_VAL;
    else
        for (int i = 2; i <= (int)n; i++)
            factorial *= i;
    if (isfinite(next) && fmod(next, 2) != 0)
        factorial = -factorial;
    sum = zeta(next, x);
    return factorial * (is_single && fabs(sum) < (double)FLT_MIN ? 0 : sum);
}

static double polygamma_F32(double n, double x)
{
    return polygamma(n, x, (double)(float)(n + 1), true);
}

static double polygamma_F64(double n, double x)
{
    return polygamma(n, x, n + 1, false);
}

#define zeta_F32 zeta
#define zeta_F64 zeta

#define KERNELS(name, function)                                                \
    EDDY__BINARY_KERNEL(                                                       \
        F32, name, F32, EDDY__NO_LOCALS,                                       \
        eddy__settle_double(function##_F32((double)x, (double)y)))             \
    EDDY__BINARY_KERNEL(F64, name, F64, EDDY__NO_LOCALS,                       \
                        eddy__settle_double(function##_F64(x, y)))             \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        EDDY__KERNEL_ENTRY(F32, name) EDDY__KERNEL_ENTRY(F64, name)};          \
    EDDY__CHOOSER(name)

/* NOLINTBEGIN(readability-function-size): the strips of a loop nest in it. */
KERNELS(Zeta, zeta)
KERNELS(Polygamma, polygamma)
/* NOLINTEND(readability-function-size) */

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Zeta", .inputs = "x: T, q: T", .outputs = "z: T",
                 .attrs = "T: {float32, float64}",
                 .infer = eddy__infer_broadcast, .prepare = prepare_Zeta,
                 .doc = "The sum of (q + n)^-x over n = 0, 1, ..."),
    EDDY__OP_ROW("Polygamma", .inputs = "a: T, x: T", .outputs = "z: T",
                 .attrs = "T: {float32, float64}",
                 .infer = eddy__infer_broadcast, .prepare = prepare_Polygamma,
                 .doc = "Derivative number a of Digamma."),
};

const eddy__op_table eddy__zeta_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of float32, computed in double by short formulas without branches:
 * inline, so that scalars cost little and compilers make vectors of the same
 * operations, with the same bits.  Before they are rounded to float32, relative
 * errors are below 2^-31: so the result is nearly always the float32 next to
 * the true value.  Subnormal float32 are ordinary doubles here.
 *
 * What is known of an argument is used where it is a float32 still, since a
 * vector holds twice as many of those.
 */
#ifndef EDDY_OPS_FLOAT_MATH_H
#define EDDY_OPS_FLOAT_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t eddy__bits_of_double(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double eddy__double_of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* |magnitude| with the sign of `sign`. */
static inline double eddy__with_sign(double magnitude, double sign)
{
    const uint64_t mask = UINT64_C(1) << 63;

    return eddy__double_of_bits((eddy__bits_of_double(magnitude) & ~mask) |
                                (eddy__bits_of_double(sign) & mask));
}

static inline double eddy__absolute(double x)
{
    return eddy__with_sign(x, 0.0);
}

/* `x`, a NaN too, but not beyond `bound` on either side. */
static inline float eddy__within(float x, float bound)
{
    const float below = bound < x ? bound : x;

    return -bound > below ? -bound : below;
}

/*
 * Rounds to float32, with one NaN for all: which of two operands gives its NaN
 * to their sum is up to the compiler, and may differ between a loop and its
 * tail.
 */
static inline float eddy__settle(double x)
{
    const float rounded = (float)x;

    return rounded != rounded ? NAN : rounded;
}

static inline double eddy__settle_double(double x)
{
    return x != x ? (double)NAN : x;
}

/*
 * 1 / x of 1 <= x <= 2^100, or NaN: divided in float32, for which a processor
 * has several times as many lanes a cycle, and a step of Newton's in double.
 * The relative error is below 2^-45.
 */
static inline double eddy__inverse(double x)
{
    const double near = (double)(1 / (float)x);

    return near * (2 - x * near);
}

/* ---- powers of e ---- */

/* e^x is scale + scale * rest, and `rest` has few errors even near 0. */
typedef struct eddy__power {
    double scale, rest;
} eddy__power;

/* From here on a float32 is infinite or 0; nothing overflows in double. */
#define EDDY__EXP_BOUND 128.0f

/* To add it to a small number rounds that to an integer, in the low bits. */
#define EDDY__ROUNDER 0x1.8p52

/* For |x| <= 512: x = n log 2 + r, |r| <= log 2 / 2; r (e^r - 1) / r. */
static inline eddy__power eddy__split_exp(double x)
{
    const double shifted = x * 0x1.71547652b82fep+0 + EDDY__ROUNDER;
    const double n = shifted - EDDY__ROUNDER;
    const double r = x - n * 0x1.62e42fefa39efp-1;
    const double r2 = r * r;
    const double p01 = 1 + 0x1.0000002888d38p-1 * r;
    const double p23 = 0x1.55555567574c3p-3 + 0x1.5554acb60ea08p-5 * r;
    const double p45 = 0x1.1110c6272d564p-7 + 0x1.6d755ebbad01cp-10 * r;
    const double high = p45 + 0x1.a15191b06e568p-13 * r2;

    return (eddy__power){
        .scale = eddy__double_of_bits((eddy__bits_of_double(shifted) << 52) +
                                      (UINT64_C(1023) << 52)),
        .rest = r * (p01 + (p23 + high * r2) * r2),
    };
}

static inline double eddy__exp_of_double(double x)
{
    const eddy__power p = eddy__split_exp(x);

    return p.scale + p.scale * p.rest;
}

/* e^x - 1; subtracts so that -0 stays. */
static inline double eddy__expm1_of_double(double x)
{
    const eddy__power p = eddy__split_exp(x);

    return p.scale * p.rest - (1 - p.scale);
}

static inline double eddy__float_exp(float x)
{
    return eddy__exp_of_double((double)eddy__within(x, EDDY__EXP_BOUND));
}

static inline double eddy__float_expm1(float x)
{
    return eddy__expm1_of_double((double)eddy__within(x, EDDY__EXP_BOUND));
}

static inline double eddy__float_sinh(float x)
{
    const double bounded = (double)eddy__within(x, EDDY__EXP_BOUND);
    const double m = eddy__expm1_of_double(eddy__absolute(bounded));

    return eddy__with_sign(0.5 * (m + m / (m + 1)), bounded);
}

static inline double eddy__float_cosh(float x)
{
    const double e = eddy__float_exp(x);

    return 0.5 * e + 0.5 / e;
}

/* By e^(-2 |x|), so that what is divided by is between 1 and 2. */
static inline double eddy__float_tanh(float x)
{
    const double bounded = (double)eddy__within(x, EDDY__EXP_BOUND);
    const double m = eddy__expm1_of_double(-2 * eddy__absolute(bounded));

    return eddy__with_sign(m * eddy__inverse(m + 2), bounded);
}

/* The same by e^-|x|. */
static inline double eddy__float_sigmoid(float x)
{
    const double bounded = (double)eddy__within(x, EDDY__EXP_BOUND);
    const double e = eddy__exp_of_double(-eddy__absolute(bounded));
    const double above = eddy__inverse(1 + e), below = e * above;

    return bounded < 0 ? below : above;
}

/* ---- logarithms ---- */

/*
 * For positive normal doubles: x = 2^k m, m between the roots of 1/2 and 2, and
 * log m = 2 atanh s, s = (m - 1) / (m + 1).
 */
static inline double eddy__log_of_normal(double x)
{
    const uint64_t root = UINT64_C(0x3fe6a09e00000000);
    const uint64_t bits =
        eddy__bits_of_double(x) + (UINT64_C(0x3ff0000000000000) - root);
    const uint64_t mantissa = bits & UINT64_C(0x000fffffffffffff);
    /* 2^52 + k + 1023 */
    const double exponent =
        eddy__double_of_bits(bits >> 52 | UINT64_C(0x4330000000000000));
    const double f = eddy__double_of_bits(mantissa + root) - 1;
    const double s = f * eddy__inverse(2 + f), z = s * s, z2 = z * z;
    const double p01 = 0x1.fffffffffff12p-1 + 0x1.5555555671522p-2 * z;
    const double p23 = 0x1.9999962beeba8p-3 + 0x1.24943828cb81bp-3 * z;
    const double p45 = 0x1.c620eb0cc0934p-4 + 0x1.9193178c17e0ep-4 * z;
    const double series = p01 + (p23 + p45 * z2) * z2;

    return (exponent - (0x1p52 + 1023)) * 0x1.62e42fefa39efp-1 + 2 * s * series;
}

/* What the logarithm of `x` is, if it is `finite` where `x` is positive. */
static inline float eddy__log_with_bounds(float x, double finite)
{
    const float rounded = x < HUGE_VALF ? (float)finite : x; /* NaN too */
    const float below = x < 0 ? NAN : -HUGE_VALF;

    return x <= 0 ? below : rounded;
}

static inline float eddy__float_log(float x)
{
    return eddy__log_with_bounds(x, eddy__log_of_normal((double)x));
}

/*
 * For x > -1.  What 1 + x lost is added to the result, which near 1 is 1 + x
 * itself.  -0 stays, as it is what is lost.
 */
static inline double eddy__log1p_of_double(double x)
{
    const double sum = 1 + x;
    const double lost = x - (sum - 1);
    const double added = eddy__absolute(x) < 1 ? lost : 0;

    return eddy__log_of_normal(sum) + added;
}

static inline float eddy__float_log1p(float x)
{
    const double result = eddy__log1p_of_double((double)x);
    const float bounded = eddy__log_with_bounds(x + 1, result);

    /* Also of a denormal that the mode takes for a zero. */
    return x == 0 ? (float)eddy__with_sign(0.0, (double)x) : bounded;
}

/* log(1 + e^x) */
static inline float eddy__float_softplus(float x)
{
    const float result = (float)eddy__log1p_of_double(eddy__float_exp(x));

    return x < 50 ? result : x; /* NaN too */
}

static inline float eddy__float_asinh(float x)
{
    const double a = eddy__absolute((double)x);
    const double y = a + a * a / (1 + sqrt(a * a + 1));
    const double result = eddy__with_sign(eddy__log1p_of_double(y), (double)x);

    return x - x == 0 ? (float)result : x;
}

static inline float eddy__float_acosh(float x)
{
    const double t = (double)x - 1;
    const double result = eddy__log1p_of_double(t + sqrt(t * (t + 2)));
    const float bounded = x < HUGE_VALF ? (float)result : x;

    return x < 1 ? NAN : bounded;
}

static inline float eddy__float_atanh(float x)
{
    const double a = eddy__absolute((double)x);
    const double result = 0.5 * eddy__log1p_of_double(2 * a / (1 - a));
    const float within = (float)eddy__with_sign(result, (double)x);
    const float beyond = x == 1 || x == -1 ? x * HUGE_VALF : NAN;

    return x < 1 && x > -1 ? within : beyond;
}

/* ---- the error function ---- */

/* erf(x) / x by z = x^2, |x| <= 1. */
static inline double eddy__erf_series(double z)
{
    const double z2 = z * z, z4 = z2 * z2;
    const double p01 = 0x1.20dd750428cb9p+0 + -0x1.812746ade3c08p-2 * z;
    const double p23 = 0x1.ce2f20a7415c6p-4 + -0x1.b82cbae7577a7p-6 * z;
    const double p45 = 0x1.56588b32275a7p-8 + -0x1.bfe158a7be278p-11 * z;
    const double p67 = 0x1.f57e9cee106c1p-14 + -0x1.d2b8522d6f7cbp-17 * z;

    return (p01 + p23 * z2) +
           (p45 + p67 * z2 + 0x1.1c41ab6eec487p-20 * z4) * z4;
}

/*
 * erfc of x >= 1 is e^(-x^2) / (1 + 2 x) times a function that hardly bends,
 * by t = (x - 3) / (x + 3).  Above 10.6 a float32 is 0.
 */
static inline double eddy__erfc_tail(float from)
{
    const double x = (double)(from > 10.6f ? 10.6f : from);
    const double t = (x - 3) / (x + 3), t2 = t * t, t4 = t2 * t2;
    const double p01 = 0x1.40c522d7e4e95p+0 + -0x1.15c084bb54ea8p-3 * t;
    const double p23 = -0x1.85a15c5af13c7p-5 + 0x1.0983667a147a9p-3 * t;
    const double p45 = -0x1.e88b80ad0fc00p-4 + 0x1.17ca34c449118p-4 * t;
    const double p67 = -0x1.857481c25d00bp-6 + 0x1.4b720ca91af5dp-9 * t;
    const double p89 = 0x1.eeedfea156089p-10 + -0x1.9677cd23a03cep-11 * t;
    const double pab = -0x1.ac4342eb36609p-14 + 0x1.cd9deb4f12b7ep-14 * t;
    const double low = p01 + p23 * t2, middle = p45 + p67 * t2;
    const double high = p89 + pab * t2;

    return eddy__exp_of_double(-x * x) * (low + (middle + high * t4) * t4) /
           (1 + 2 * x);
}

/*
 * By one quotient of polynomials in x^2, as far as 3.95: from there on a
 * float32 is 1.
 */
static inline double eddy__float_erf(float of)
{
    const double x = (double)eddy__within(of, 3.95f);
    const double z = x * x, z2 = z * z, z4 = z2 * z2;
    const double p01 = 0x1.20dd750421b84p+0 + 0x1.967747484080cp-3 * z;
    const double p23 = 0x1.d9c7e1db4138bp-5 + 0x1.3f8d43c060182p-8 * z;
    const double p45 = 0x1.0a36926903d2cp-11 + 0x1.6445d4e3acad4p-16 * z;
    const double p67 = 0x1.930696d75ec37p-21 + 0x1.a5799f8a810bdp-29 * z;
    const double q01 = 1 + 0x1.04b8d062041eap-1 * z;
    const double q23 = 0x1.ef98de0469724p-4 + 0x1.1f61437e99884p-6 * z;
    const double q45 = 0x1.bb8899eabd1b3p-10 + 0x1.cbf2d604776dfp-14 * z;
    const double q67 = 0x1.29d364d23114cp-18 + 0x1.3e0a7bd187ad5p-24 * z;
    const double above = (p01 + p23 * z2) + (p45 + p67 * z2) * z4;
    const double below = (q01 + q23 * z2) + (q45 + q67 * z2) * z4;

    return x * above * eddy__inverse(below);
}

static inline double eddy__float_erfc(float x)
{
    const float a = x < 0 ? -x : x;
    const double near = 1 - (double)x * eddy__erf_series((double)a * (double)a);
    const double tail = eddy__erfc_tail(a);
    const double far = x < 0 ? 2 - tail : tail;

    return a < 1 ? near : far;
}

/* ---- the angle ---- */

/* The arc tangent of 0 <= x <= 1. */
static inline double eddy__atan_series(double x)
{
    const double z = x * x, z2 = z * z, z4 = z2 * z2;
    const double p01 = 0x1.ffffffff7ec48p-1 + -0x1.5555542695d91p-2 * z;
    const double p23 = 0x1.9999238d563d7p-3 + -0x1.2489325d233e3p-3 * z;
    const double p45 = 0x1.c6610f888e1abp-4 + -0x1.6fd49c2b7997dp-4 * z;
    const double p67 = 0x1.28c8ccccde647p-4 + -0x1.bca74d5b9ed9ap-5 * z;
    const double p89 = 0x1.183e7665fecd2p-5 + -0x1.07f8daf53b5dep-6 * z;
    const double pab = 0x1.3de86d3b167cep-8 + -0x1.6706344fbe4c6p-11 * z;
    const double low = p01 + p23 * z2, middle = p45 + p67 * z2;
    const double high = p89 + pab * z2;

    return x * (low + (middle + high * z4) * z4);
}

/* As C's atan2: the lesser by the greater, and then its octant. */
static inline double eddy__float_atan2(float of, float by)
{
    const double y = (double)of, x = (double)by;
    const double a = eddy__absolute(y), b = eddy__absolute(x);
    const double least = a < b ? a : b, most = a < b ? b : a;
    const double diagonal = most == 0 ? 0 : 1;
    const double ratio = least == most ? diagonal : least / most;
    const double octant = eddy__atan_series(ratio);
    const double quadrant = a > b ? 0x1.921fb54442d18p+0 - octant : octant;
    const double is_left = eddy__with_sign(1.0, x);
    const double half =
        is_left < 0 ? 0x1.921fb54442d18p+1 - quadrant : quadrant;

    return eddy__with_sign(half, y);
}

static inline double eddy__float_atan(float x)
{
    return eddy__float_atan2(x, 1.0f);
}

/* ---- the gamma function ---- */

/* log gamma(x), 1 <= x <= 3, as numerator and denominator, by t = x - 1. */
static inline double eddy__lgamma_above(double t)
{
    const double t2 = t * t;
    const double p01 = 0x1.2788cfc70ebcap-1 + 0x1.e46630c73fc50p-1 * t;
    const double p23 = 0x1.db2cb023576dep-2 + 0x1.14cb2c0fdb40fp-4 * t;
    const double p45 = 0x1.14bf13095ca97p-10 + -0x1.2fc2917ebcef5p-16 * t;

    return 0 - t * (1 - t) * (p01 + (p23 + p45 * t2) * t2);
}

static inline double eddy__lgamma_below(double t)
{
    const double t2 = t * t;
    const double q01 = 1 + 0x1.082f789454ea7p+1 * t;
    const double q23 = 0x1.695db56ae8edbp+0 + 0x1.7130df37527b0p-2 * t;

    return q01 + (q23 + 0x1.b79a396550f32p-6 * t2) * t2;
}

/*
 * The logarithm of gamma(x), x > 0: below 3 by a quotient, below 1 of x + 1 and
 * less log x; above by Stirling's formula.
 */
static inline double eddy__lgamma_of_positive(float of)
{
    const double x = (double)of;
    const double log_x = eddy__log_of_normal(x);
    const double shifted = x < 1 ? x : x - 1;
    const double t = shifted < 2 ? shifted : 2;
    const double inverse = eddy__inverse(x < 3        ? eddy__lgamma_below(t)
                                         : x < 0x1p99 ? x
                                                      : 0x1p99);
    const double quotient = eddy__lgamma_above(t) * inverse;
    const double near = x < 1 ? quotient - log_x : quotient;
    const double z = inverse * inverse;
    const double t01 = 0x1.555552f50728ep-4 + -0x1.6c0112e52b8bdp-9 * z;
    const double t23 = 0x1.97a9215b85d1cp-11 + -0x1.b8d7bf8bbbb34p-12 * z;
    const double far = (x - 0.5) * log_x - x + 0x1.d67f1c864beb4p-1 +
                       inverse * (t01 + t23 * z * z);
    const double finite = x < 3 ? near : far;

    return x < HUGE_VAL ? finite : x;
}

/* Digamma by 1 <= x <= 3, as numerator and denominator, by t = x - 1. */
static inline double eddy__digamma_above(double t)
{
    const double t2 = t * t;
    const double p01 = 0x1.4018e9a60b417p+0 + 0x1.63c21dc81258bp+0 * t;
    const double p23 = 0x1.afe3c9b6965d5p-2 + 0x1.1018e747798b3p-5 * t;
    const double to_root =
        (t + 1 - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54;

    return to_root * (p01 + (p23 + 0x1.4dccad777b82cp-13 * t2) * t2);
}

static inline double eddy__digamma_below(double t)
{
    const double t2 = t * t;
    const double q01 = 1 + 0x1.cb8211045ba57p+0 * t;
    const double q23 = 0x1.ecc6d4891ecb1p-1 + 0x1.67de56a603513p-3 * t;

    return q01 + (q23 + 0x1.0ecb647821de8p-7 * t2) * t2;
}

/* The same of the derivative: below 1 of x + 1 and less 1 / x. */
static inline double eddy__digamma_of_positive(float of)
{
    const double x = (double)of;
    const double shifted = x < 1 ? x : x - 1;
    const double t = shifted < 2 ? shifted : 2;
    const double above = eddy__digamma_above(t), below = eddy__digamma_below(t);
    const double inverse = 1 / (x < 1 ? below * x : x < 3 ? below : x);
    const double near = (x < 1 ? above * x - below : above) * inverse;
    const double z = inverse * inverse, z2 = z * z;
    const double s01 = 0x1.55555424f0ee5p-4 + -0x1.110cb32c2564dp-7 * z;
    const double s23 = 0x1.02ad8f6142f71p-8 + -0x1.ed95a86c99634p-9 * z;
    const double series = s01 + (s23 + 0x1.df2cf3e8d376cp-9 * z2) * z2;
    const double far = eddy__log_of_normal(x) - 0.5 * inverse - z * series;
    const double finite = x < 3 ? near : far;

    return x < HUGE_VAL ? finite : x;
}

/* ---- powers ---- */

/* The nearest integer, of numbers well below 2^51. */
static inline double eddy__nearest(double x)
{
    return (x + EDDY__ROUNDER) - EDDY__ROUNDER;
}

/* As C's pow of 0 < a <= infinity and y, from the logarithm of `a`. */
__attribute__((always_inline)) static inline double
eddy__power_of_size(double a, double y)
{
    const double finite = eddy__log_of_normal(a);
    const double above = a < HUGE_VAL ? finite : a;
    const double exponent = y * (a == 0 ? -HUGE_VAL : above);
    const double below = exponent > 128 ? 128 : exponent;

    return eddy__exp_of_double(below < -128 ? -128 : below);
}

/*
 * As C's pow; squares and cubes are products.  From 2^24 on every float32 is an
 * even integer.  All in double, a choice at a time, and inline wherever it is
 * used, however often that is: so compilers make vectors of it.
 */
__attribute__((always_inline)) static inline double eddy__float_pow(float of,
                                                                    float to)
{
    const double x = (double)of, y = (double)to;
    const double a = eddy__absolute(x);
    const double size = eddy__power_of_size(a, y);
    const double below = y > 0x1p24 ? 0x1p24 : y;
    const double small = below < -0x1p24 ? -0x1p24 : below;
    const double half = 0.5 * small;
    const double with_sign = eddy__with_sign(size, x);
    const double whole = eddy__nearest(half) != half ? with_sign : size;
    const double rootless = x > -HUGE_VAL ? (double)NAN : size;
    const double broken = x < 0 ? rootless : size;
    const double power = eddy__nearest(small) == small ? whole : broken;
    const double endless = eddy__absolute(y) == HUGE_VAL ? 1 : power;
    const double of_unit = a == 1 ? endless : power;
    const double of_one = x == 1 ? 1 : of_unit;
    const double square = x * x;
    const double product = y == 3 ? square * x : of_one;
    const double result = y == 2 ? square : product;

    return y == 0 ? 1 : result;
}

#endif

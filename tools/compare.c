/* SPDX-License-Identifier: Apache-2.0 */
/* Compares tensors within tolerances, and words the first difference. */
#include "tools/compare.h"

#include "tools/element.h"
#include "tools/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct comparison {
    const eddy_tensor *got, *want;
    double rtol, atol;
    int64_t n_different;
    int64_t worst;       /* the first of the elements with the greatest ... */
    double worst_excess; /* ... difference beyond its tolerance */
} comparison;

static bool has_tolerance(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT16 || dtype == EDDY_BFLOAT16 ||
           dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64 ||
           dtype == EDDY_COMPLEX64 || dtype == EDDY_COMPLEX128;
}

static bool same_shape(const eddy_shape *a, const eddy_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d])
            return false;
    }
    return true;
}

/*
 * By how much two numbers differ beyond `tolerance`: nought or less if they
 * agree, infinity where only one is finite or NaN.
 */
static double real_excess(double got, double want, double tolerance)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : HUGE_VAL;
    if (isinf(got) || isinf(want))
        return got == want ? 0 : HUGE_VAL;
    return fabs(got - want) - tolerance;
}

static double float_excess(const comparison *c, const eddy__number *got,
                           const eddy__number *want)
{
    const double size = hypot(want->re, want->im);
    const double tolerance = c->atol + c->rtol * (isfinite(size) ? size : 0);

    if (want->kind == EDDY__NUMBER_REAL)
        return real_excess(got->re, want->re, tolerance);
    if (isfinite(size) && isfinite(got->re) && isfinite(got->im))
        return hypot(got->re - want->re, got->im - want->im) - tolerance;
    return fmax(real_excess(got->re, want->re, tolerance),
                real_excess(got->im, want->im, tolerance));
}

/* 64 bits may be more than a double holds, so equality is seen to first. */
static double integer_excess(const eddy__number *got, const eddy__number *want)
{
    if (got->negative == want->negative)
        return got->magnitude > want->magnitude
                   ? (double)(got->magnitude - want->magnitude)
                   : (double)(want->magnitude - got->magnitude);
    return (double)got->magnitude + (double)want->magnitude;
}

static double string_excess(const comparison *c, int64_t i)
{
    const eddy_string got = eddy_tensor_string(c->got, i);
    const eddy_string want = eddy_tensor_string(c->want, i);

    if (got.length == want.length &&
        (got.length == 0 || memcmp(got.data, want.data, got.length) == 0))
        return 0;
    return HUGE_VAL;
}

static double excess(const comparison *c, int64_t i)
{
    const eddy_dtype dtype = eddy_tensor_dtype(c->want);
    eddy__number got, want;

    if (dtype == EDDY_STRING)
        return string_excess(c, i);
    got = eddy__element_load(dtype, eddy_tensor_data(c->got), i);
    want = eddy__element_load(dtype, eddy_tensor_data(c->want), i);
    return has_tolerance(dtype) ? float_excess(c, &got, &want)
                                : integer_excess(&got, &want);
}

static void compare_elements(comparison *c)
{
    const int64_t n = eddy_tensor_count(c->want);

    for (int64_t i = 0; i < n; i++) {
        const double beyond = excess(c, i);

        if (!(beyond > 0))
            continue;
        if (c->n_different++ == 0 || beyond > c->worst_excess) {
            c->worst = i;
            c->worst_excess = beyond;
        }
    }
}

static void write_kind(FILE *report, const eddy_tensor *tensor)
{
    fputs(eddy_dtype_name(eddy_tensor_dtype(tensor)), report);
    eddy__format_shape(report, eddy_tensor_shape(tensor));
}

static void write_difference(const comparison *c, FILE *report)
{
    char index[EDDY__INDEX_TEXT];

    eddy__format_index(eddy_tensor_shape(c->want), c->worst, index);
    fprintf(report, "element %s: got ", index);
    eddy__format_element(report, c->got, c->worst);
    fputs(", want ", report);
    eddy__format_element(report, c->want, c->worst);
    if (has_tolerance(eddy_tensor_dtype(c->want)))
        fprintf(report, " (rtol %g, atol %g)", c->rtol, c->atol);
    if (c->n_different > 1)
        fprintf(report, "; the worst of %" PRId64 " that differ, of %" PRId64,
                c->n_different, eddy_tensor_count(c->want));
}

bool eddy__compare(const eddy_tensor *got, const eddy_tensor *want, double rtol,
                   double atol, FILE *report)
{
    comparison c = {.got = got, .want = want, .rtol = rtol, .atol = atol};

    if (eddy_tensor_dtype(got) != eddy_tensor_dtype(want) ||
        !same_shape(eddy_tensor_shape(got), eddy_tensor_shape(want))) {
        fputs("got ", report);
        write_kind(report, got);
        fputs(", want ", report);
        write_kind(report, want);
        return false;
    }
    compare_elements(&c);
    if (c.n_different == 0)
        return true;
    write_difference(&c, report);
    return false;
}

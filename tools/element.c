/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores and prints one element; the shortest text that reads back to
 * the same bits is looked for.
 */
#include "tools/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(dtype, C type less its _t, greatest negative magnitude, greatest) */
#define INTEGER_MAP(X)                                                         \
    X(INT8, int8, 0x80, INT8_MAX)                                              \
    X(INT16, int16, 0x8000, INT16_MAX)                                         \
    X(INT32, int32, 0x80000000, INT32_MAX)                                     \
    X(INT64, int64, 0x8000000000000000, INT64_MAX)                             \
    X(UINT8, uint8, 0, UINT8_MAX)                                              \
    X(UINT16, uint16, 0, UINT16_MAX)                                           \
    X(UINT32, uint32, 0, UINT32_MAX)                                           \
    X(UINT64, uint64, 0, UINT64_MAX)

bool eddy__element_is_numeric(eddy_dtype dtype)
{
    return eddy_dtype_size(dtype) > 0;
}

/* From the bits of an int64 or of a uint64. */
static eddy__number integer(bool is_signed, uint64_t bits)
{
    const bool negative = is_signed && bits >> 63 != 0;

    return (eddy__number){
        .kind = EDDY__NUMBER_INTEGER,
        .negative = negative,
        .magnitude = negative ? 0 - bits : bits,
    };
}

static eddy__number real(double re)
{
    return (eddy__number){.kind = EDDY__NUMBER_REAL, .re = re};
}

eddy__number eddy__element_load(eddy_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
#define X(name, type, low, high)                                               \
    case EDDY_##name: {                                                        \
        const type##_t value = ((const type##_t *)data)[i];                    \
        return integer((low) != 0, (uint64_t)value);                           \
    }
        INTEGER_MAP(X)
#undef X
    case EDDY_BOOL:
        return (eddy__number){
            .kind = EDDY__NUMBER_BOOL,
            .magnitude = ((const uint8_t *)data)[i] != 0,
        };
    case EDDY_FLOAT16:
        return real((double)eddy_float16_to_float(((const uint16_t *)data)[i]));
    case EDDY_BFLOAT16:
        return real(
            (double)eddy_bfloat16_to_float(((const uint16_t *)data)[i]));
    case EDDY_FLOAT32:
        return real((double)((const float *)data)[i]);
    case EDDY_FLOAT64:
        return real(((const double *)data)[i]);
    case EDDY_COMPLEX64:
        return (eddy__number){
            .kind = EDDY__NUMBER_COMPLEX,
            .re = (double)((const float *)data)[2 * i],
            .im = (double)((const float *)data)[2 * i + 1],
        };
    case EDDY_COMPLEX128:
        return (eddy__number){
            .kind = EDDY__NUMBER_COMPLEX,
            .re = ((const double *)data)[2 * i],
            .im = ((const double *)data)[2 * i + 1],
        };
    default:
        return real(0);
    }
}

/* Turns a whole real into an integer of 64 bits and a sign. */
static const char *make_integer(const eddy__number *number,
                                eddy__number *out_integer)
{
    const double size = fabs(number->re);

    switch (number->kind) {
    case EDDY__NUMBER_INTEGER:
        *out_integer = *number;
        return NULL;
    case EDDY__NUMBER_REAL:
        if (isnan(size) || isinf(size) || floor(size) < size)
            return "is not a whole number";
        if (size >= 0x1p64)
            return "is outside the range of every integer dtype";
        *out_integer = integer(false, (uint64_t)size);
        out_integer->negative = number->re < 0;
        return NULL;
    case EDDY__NUMBER_BOOL:
        return "is a boolean, not a number";
    case EDDY__NUMBER_COMPLEX:
        break;
    }
    return "is a complex number, not an integer";
}

static const char *store_integer(const eddy__number *number, eddy_dtype dtype,
                                 void *data, int64_t i)
{
    eddy__number whole;
    const char *why = make_integer(number, &whole);

    if (why != NULL)
        return why;
    switch (dtype) {
#define X(name, type, low, high)                                               \
    case EDDY_##name:                                                          \
        if (whole.magnitude >                                                  \
            (whole.negative ? (uint64_t)(low) : (uint64_t)(high)))             \
            return "is outside the range of " #type;                           \
        ((type##_t *)data)[i] = (type##_t)(                                    \
            whole.negative ? 0 - whole.magnitude : whole.magnitude);           \
        return NULL;
        INTEGER_MAP(X)
#undef X
    default:
        return "has no integer dtype";
    }
}

static const char *store_bool(const eddy__number *number, void *data, int64_t i)
{
    eddy__number whole;

    if (number->kind == EDDY__NUMBER_BOOL)
        whole = *number;
    else if (make_integer(number, &whole) != NULL)
        return "is neither true nor false";
    if (whole.magnitude > 1 || whole.negative)
        return "is neither true nor false";
    ((uint8_t *)data)[i] = (uint8_t)whole.magnitude;
    return NULL;
}

/* As a double; an integer of 64 bits is rounded. */
static double to_double(const eddy__number *number)
{
    if (number->kind != EDDY__NUMBER_INTEGER)
        return number->re;
    return number->negative ? -(double)number->magnitude
                            : (double)number->magnitude;
}

/* Rounds to float32; false if that overflows. */
static bool to_float(double value, float *out_float)
{
    /* From here on, half a unit above the greatest, it rounds to infinity. */
    static const double beyond = 0x1.ffffffp127;
    static const double greatest = 0x1.fffffep127;

    if (fabs(value) >= beyond && !isinf(value))
        return false;
    if (fabs(value) > greatest && !isinf(value))
        value = copysign(greatest, value);
    *out_float = (float)value;
    return true;
}

static bool store_half(double value, eddy_dtype dtype, void *data, int64_t i)
{
    const bool is_bfloat = dtype == EDDY_BFLOAT16;
    float rounded;
    uint16_t bits;

    if (!to_float(value, &rounded))
        return false;
    bits = is_bfloat ? eddy_bfloat16_from_float(rounded)
                     : eddy_float16_from_float(rounded);
    rounded =
        is_bfloat ? eddy_bfloat16_to_float(bits) : eddy_float16_to_float(bits);
    if (isinf(rounded) && !isinf(value))
        return false;
    ((uint16_t *)data)[i] = bits;
    return true;
}

static const char *store_real(const eddy__number *number, eddy_dtype dtype,
                              void *data, int64_t i)
{
    const double value = to_double(number);

    if (number->kind == EDDY__NUMBER_BOOL)
        return "is a boolean, not a number";
    if (number->kind == EDDY__NUMBER_COMPLEX)
        return "is a complex number, not a real one";
    if (dtype == EDDY_FLOAT64) {
        ((double *)data)[i] = value;
        return NULL;
    }
    if (dtype == EDDY_FLOAT32)
        return to_float(value, &((float *)data)[i])
                   ? NULL
                   : "is outside the range of float32";
    if (store_half(value, dtype, data, i))
        return NULL;
    return dtype == EDDY_BFLOAT16 ? "is outside the range of bfloat16"
                                  : "is outside the range of float16";
}

static const char *store_complex(const eddy__number *number, eddy_dtype dtype,
                                 void *data, int64_t i)
{
    float *parts = (float *)data + 2 * i;
    double *wide = (double *)data + 2 * i;

    if (number->kind == EDDY__NUMBER_BOOL)
        return "is a boolean, not a number";
    if (dtype == EDDY_COMPLEX128) {
        wide[0] = to_double(number);
        wide[1] = number->im;
        return NULL;
    }
    if (!to_float(to_double(number), &parts[0]) ||
        !to_float(number->im, &parts[1]))
        return "is outside the range of complex64";
    return NULL;
}

const char *eddy__element_store(const eddy__number *number, eddy_dtype dtype,
                                void *data, int64_t i)
{
    switch (dtype) {
    case EDDY_BOOL:
        return store_bool(number, data, i);
    case EDDY_FLOAT16:
    case EDDY_BFLOAT16:
    case EDDY_FLOAT32:
    case EDDY_FLOAT64:
        return store_real(number, dtype, data, i);
    case EDDY_COMPLEX64:
    case EDDY_COMPLEX128:
        return store_complex(number, dtype, data, i);
    default:
        return store_integer(number, dtype, data, i);
    }
}

/* Whether `text`, read back, rounds to `value` in the dtype. */
static bool reads_back(const char *text, eddy_dtype dtype, double value)
{
    union {
        uint16_t half;
        float single;
        double whole;
    } buffer;
    const eddy__number read = real(strtod(text, NULL));

    return store_real(&read, dtype, &buffer, 0) == NULL &&
           eddy__element_load(dtype, &buffer, 0).re == value;
}

/* `dtype` is the one of a real part: a float. */
static void write_real(eddy_dtype dtype, double value, char *text, size_t size)
{
    const int enough = dtype == EDDY_FLOAT64 ? 17 : 9;
    int digits = dtype == EDDY_FLOAT64 ? 15 : dtype == EDDY_FLOAT32 ? 6 : 3;

    if (isnan(value)) {
        snprintf(text, size, "NaN");
        return;
    }
    if (isinf(value)) {
        snprintf(text, size, value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    do {
        snprintf(text, size, "%.*g", digits, value);
    } while (digits++ < enough && !reads_back(text, dtype, value));
}

static void write_complex(const eddy__number *number, eddy_dtype dtype,
                          char text[EDDY__ELEMENT_TEXT])
{
    const eddy_dtype part =
        dtype == EDDY_COMPLEX128 ? EDDY_FLOAT64 : EDDY_FLOAT32;
    char re[32], im[32];

    write_real(part, number->re, re, sizeof re);
    write_real(part, number->im, im, sizeof im);
    snprintf(text, EDDY__ELEMENT_TEXT, "\"%s%s%sj\"", re, *im == '-' ? "" : "+",
             im);
}

void eddy__element_text(eddy_dtype dtype, const void *data, int64_t i,
                        char text[EDDY__ELEMENT_TEXT])
{
    const eddy__number number = eddy__element_load(dtype, data, i);

    switch (number.kind) {
    case EDDY__NUMBER_BOOL:
        snprintf(text, EDDY__ELEMENT_TEXT, "%s",
                 number.magnitude != 0 ? "true" : "false");
        break;
    case EDDY__NUMBER_INTEGER:
        snprintf(text, EDDY__ELEMENT_TEXT, "%s%" PRIu64,
                 number.negative ? "-" : "", number.magnitude);
        break;
    case EDDY__NUMBER_REAL:
        write_real(dtype, number.re, text, EDDY__ELEMENT_TEXT);
        break;
    case EDDY__NUMBER_COMPLEX:
        write_complex(&number, dtype, text);
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/numbers.h"

#include "core/value/dtype.h"

#include <math.h>
#include <string.h>

bool numbers_is_float(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__FLOATS);
}

bool numbers_is_signed(eddy_dtype dtype)
{
    return dtype >= EDDY_INT8 && dtype <= EDDY_INT64;
}

int numbers_width(eddy_dtype dtype)
{
    return (int)eddy_dtype_size(dtype) * 8;
}

static int64_t float_values(double values[NUMBERS_MAX])
{
    static const double all[] = {NAN,  INFINITY, -INFINITY, 0.0,   -0.0, 1,
                                 -1,   2.5,      -2.5,      3,     -7,   0.1,
                                 1e-7, 6e4,      -6e-5,     1e-30, 0.75, 0.3};

    memcpy(values, all, sizeof all);
    return sizeof all / sizeof all[0];
}

/* A double holds the bounds of 64 bits only nearly. */
int64_t numbers_values_of(eddy_dtype dtype, double values[NUMBERS_MAX])
{
    const int bits = numbers_width(dtype);
    int64_t n = 0;

    if (numbers_is_float(dtype))
        return float_values(values);
    if (numbers_is_signed(dtype)) {
        values[n++] = -ldexp(1, bits - 1);
        values[n++] = bits == 64 ? 0x1p63 - 1024 : ldexp(1, bits - 1) - 1;
        values[n++] = -ldexp(1, bits - 1) + (bits == 64 ? 2048 : 1);
        values[n++] = -1;
        values[n++] = -2;
        values[n++] = -7;
        values[n++] = -100;
    } else {
        values[n++] = bits == 64 ? 0x1p64 - 2048 : ldexp(1, bits) - 1;
        values[n++] = ldexp(1, bits - 1);
        values[n++] = 200;
    }
    for (int i = 0; i < 9; i++)
        values[n++] = i;
    values[n++] = bits - 1;
    values[n++] = bits;
    values[n++] = 77;
    return n;
}

uint64_t numbers_integer_at(const eddy_tensor *tensor, int64_t i)
{
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    const unsigned char *bytes = eddy_tensor_data(tensor);
    const size_t size = eddy_dtype_size(dtype);
    uint64_t value = 0;

    memcpy(&value, bytes + (size_t)i * size, size);
    if (numbers_is_signed(dtype) && size < 8 && value >> (size * 8 - 1) & 1)
        value |= UINT64_MAX << (size * 8);
    return value;
}

static double stored(eddy_dtype dtype, long double value)
{
    if (dtype == EDDY_FLOAT16)
        return eddy_float16_to_float(eddy_float16_from_float((float)value));
    if (dtype == EDDY_BFLOAT16)
        return eddy_bfloat16_to_float(eddy_bfloat16_from_float((float)value));
    return dtype == EDDY_FLOAT32 ? (float)value : (double)value;
}

bool numbers_nearly(eddy_dtype dtype, double got, long double want)
{
    const double rounded = stored(dtype, want);
    const double relative = dtype == EDDY_FLOAT16    ? 0x1p-10
                            : dtype == EDDY_BFLOAT16 ? 0x1p-7
                            : dtype == EDDY_FLOAT32  ? 0x1p-22
                                                     : 0x1p-51;
    const double least = dtype == EDDY_FLOAT16    ? 0x1p-24
                         : dtype == EDDY_BFLOAT16 ? 0x1p-133
                         : dtype == EDDY_FLOAT32  ? 0x1p-149
                                                  : 0x1p-1074;

    if (isnan(rounded) || isnan(got))
        return isnan(rounded) && isnan(got);
    if (isinf(rounded) || isinf(got))
        return rounded == got;
    return fabs(got - rounded) <= relative * fabs(rounded) + least;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/layout_aid.h"

#include "core/value/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eddy_dtype layout_dtype(int i)
{
    static const eddy_dtype dtypes[LAYOUT_DTYPES] = {
        EDDY_FLOAT16,   EDDY_FLOAT32,  EDDY_FLOAT64,    EDDY_INT8,
        EDDY_INT16,     EDDY_INT32,    EDDY_INT64,      EDDY_UINT8,
        EDDY_UINT16,    EDDY_UINT32,   EDDY_UINT64,     EDDY_BOOL,
        EDDY_COMPLEX64, EDDY_BFLOAT16, EDDY_COMPLEX128, EDDY_STRING};

    return dtypes[i];
}

static int64_t count(int32_t rank, const int64_t *dims)
{
    int64_t n = 1;

    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

/* Strings of different lengths; number 0 is the empty one. */
static eddy_tensor *strings(harness *h, int32_t rank, const int64_t *dims,
                            const int *numbers)
{
    int64_t n = count(rank, dims);
    char(*texts)[32] = calloc((size_t)n + 1, sizeof *texts);
    const char **list = calloc((size_t)n + 1, sizeof *list);
    eddy_tensor *tensor;

    ck_assert(texts && list);
    for (int64_t i = 0; i < n; i++) {
        snprintf(texts[i], sizeof texts[i], "%.*s%.0d",
                 numbers[i] % 3 * (numbers[i] != 0), "long", numbers[i]);
        list[i] = texts[i];
    }
    tensor = harness_strings(h, rank, dims, list);
    free(texts);
    free(list);
    return tensor;
}

eddy_tensor *layout_tensor(harness *h, eddy_dtype dtype, int32_t rank,
                           const int64_t *dims, const int *numbers)
{
    int64_t n = count(rank, dims);
    eddy_tensor *tensor;
    double *values;

    if (dtype == EDDY_STRING)
        return strings(h, rank, dims, numbers);
    values = calloc((size_t)n + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = dtype == EDDY_BOOL ? numbers[i] % 3 == 1 : numbers[i];
    tensor = harness_numbers(h, dtype, rank, dims, values);
    for (int64_t i = 0; dtype == EDDY_COMPLEX64 && i < n; i++)
        ((float *)tensor->data)[2 * i + 1] = (float)-numbers[i];
    for (int64_t i = 0; dtype == EDDY_COMPLEX128 && i < n; i++)
        ((double *)tensor->data)[2 * i + 1] = -numbers[i];
    free(values);
    return tensor;
}

eddy_tensor *layout_range(harness *h, eddy_dtype dtype, int first, int32_t rank,
                          const int64_t *dims)
{
    int64_t n = count(rank, dims);
    int *numbers = calloc((size_t)n + 1, sizeof *numbers);
    eddy_tensor *tensor;

    ck_assert_ptr_nonnull(numbers);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = first + (int)i;
    tensor = layout_tensor(h, dtype, rank, dims, numbers);
    free(numbers);
    return tensor;
}

void layout_want(harness *h, size_t i, eddy_dtype dtype, int32_t rank,
                 const int64_t *dims, const int *numbers)
{
    eddy_tensor *want = layout_tensor(h, dtype, rank, dims, numbers);
    const eddy_tensor *got;

    harness_want(h, i, dtype, rank, dims);
    got = h->outputs[i];
    if (dtype != EDDY_STRING) {
        for (int64_t j = 0; j < want->count; j++)
            ck_assert_msg(
                memcmp((char *)got->data + (size_t)j * eddy_dtype_size(dtype),
                       (char *)want->data + (size_t)j * eddy_dtype_size(dtype),
                       eddy_dtype_size(dtype)) == 0,
                "%s: element %d is %g, not %g", eddy_dtype_name(dtype), (int)j,
                harness_get(got, j), harness_get(want, j));
        return;
    }
    for (int64_t j = 0; j < want->count; j++) {
        eddy_string a = eddy_tensor_string(got, j);
        eddy_string b = eddy_tensor_string(want, j);

        ck_assert_msg(a.length == b.length &&
                          memcmp(a.data, b.data, a.length) == 0,
                      "string %d is '%.*s', not '%.*s'", (int)j, (int)a.length,
                      a.data, (int)b.length, b.data);
    }
}

void layout_run(harness *h, const char *op, eddy_tensor *const *inputs,
                size_t n_inputs, const eddy_attr *attrs, size_t n_attrs)
{
    eddy_status status =
        harness_run_attrs(h, op, inputs, n_inputs, attrs, n_attrs);

    ck_assert_msg(status == EDDY_OK, "%s: %s", op, h->err.message);
}

eddy_tensor *layout_ints(harness *h, int64_t n, const int *values)
{
    return layout_tensor(h, EDDY_INT32, 1, &n, values);
}

eddy_tensor *layout_int(harness *h, int value)
{
    return layout_tensor(h, EDDY_INT32, 0, NULL, &value);
}

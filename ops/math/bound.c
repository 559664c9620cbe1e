/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LowerBound and UpperBound: where in each sorted row values belong, before or
 * behind the elements that equal them; and Bucketize: where among the
 * boundaries that an attribute has, behind those that equal them.  A NaN is
 * less than nothing: it is looked for as std::lower_bound and std::upper_bound
 * would.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

enum { SORTED, VALUES };

/* How many of `n` sorted elements come before value `i`. */
typedef int64_t (*search)(const void *sorted, int64_t n, const void *values,
                          int64_t i);

/* Of a row of dtype R for a value of dtype D; both are compared as C. */
#define DEFINE_SEARCH_AS(name, R, D, C, goes_on)                               \
    static int64_t name(const void *sorted, int64_t n, const void *values,     \
                        int64_t i)                                             \
    {                                                                          \
        const eddy__stored_##R *row = sorted;                                  \
        const C value =                                                        \
            (C)eddy__load_##D(((const eddy__stored_##D *)values)[i]);          \
        int64_t from = 0;                                                      \
                                                                               \
        while (n > 0) {                                                        \
            const int64_t half = n / 2;                                        \
            const C x = (C)eddy__load_##R(row[from + half]);                   \
                                                                               \
            if (goes_on) {                                                     \
                from += half + 1;                                              \
                n -= half + 1;                                                 \
            } else {                                                           \
                n = half;                                                      \
            }                                                                  \
        }                                                                      \
        return from;                                                           \
    }

#define DEFINE_SEARCH(D, name, goes_on)                                        \
    DEFINE_SEARCH_AS(name##_##D, D, D, eddy__computed_##D, goes_on)

#define DEFINE_SEARCHES(name, goes_on)                                         \
    EDDY__EACH_FLOAT(DEFINE_SEARCH, name, goes_on)                             \
    EDDY__EACH_SIGNED(DEFINE_SEARCH, name, goes_on)                            \
    EDDY__EACH_UNSIGNED(DEFINE_SEARCH, name, goes_on)

DEFINE_SEARCHES(lower, x < value)
DEFINE_SEARCHES(upper, !(value < x))

#define ENTRY(D, name) [EDDY__DTYPE_##D] = name##_##D,
#define TABLE(name)                                                            \
    {                                                                          \
        EDDY__EACH_FLOAT(ENTRY, name)                                          \
        EDDY__EACH_SIGNED(ENTRY, name) EDDY__EACH_UNSIGNED(ENTRY, name)        \
    }

static const search lower_searches[EDDY_DTYPE_COUNT] = TABLE(lower);
static const search upper_searches[EDDY_DTYPE_COUNT] = TABLE(upper);

static eddy_status check_shapes(eddy_kernel *k, eddy_dtype index)
{
    const eddy_shape *sorted = eddy__in_shape(k, SORTED);
    const eddy_shape *values = eddy__in_shape(k, VALUES);

    if (sorted->rank != 2 || values->rank != 2 ||
        sorted->dims[0] != values->dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "sorted_inputs and values must be matrices of as "
                           "many rows, but have shapes %s and %s",
                           eddy__shape_print(sorted).text,
                           eddy__shape_print(values).text);
    if (index == EDDY_INT32 && sorted->dims[1] > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "%" PRId64 " columns are too many for int32",
                           sorted->dims[1]);
    return EDDY_OK;
}

static eddy_status run_bound(eddy_kernel *k, const search *searches)
{
    const eddy_shape *sorted = eddy__in_shape(k, SORTED);
    const eddy_shape *values = eddy__in_shape(k, VALUES);
    const eddy_dtype dtype = eddy__in_dtype(k, SORTED);
    const eddy_dtype index = (eddy_dtype)k->node->out_dtypes[0];
    const size_t size = eddy_dtype_size(dtype);
    const unsigned char *row = eddy__in_elements(k, SORTED);
    unsigned char *out;
    int64_t count, n;

    EDDY_TRY(check_shapes(k, index));
    n = sorted->dims[1];
    EDDY_TRY(eddy__output_elements(k, 0, index, values, &out));
    count = eddy__in_count(k, VALUES);
    for (int64_t i = 0; i < count && !eddy__spent(k, 64); i++) {
        const int64_t at =
            searches[dtype](row + (size_t)(i / values->dims[1] * n) * size, n,
                            eddy__in_elements(k, VALUES), i);

        if (index == EDDY_INT32)
            ((int32_t *)(void *)out)[i] = (int32_t)at;
        else
            ((int64_t *)(void *)out)[i] = at;
    }
    return EDDY_OK;
}

static eddy_status run_lower(eddy_kernel *k)
{
    return run_bound(k, lower_searches);
}

static eddy_status run_upper(eddy_kernel *k)
{
    return run_bound(k, upper_searches);
}

static eddy_status infer_bound(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, VALUES));
    return EDDY_OK;
}

/* ---- boundaries ---- */

/* Made once a plan. */
typedef struct bounds {
    int64_t n;
    float values[];
} bounds;

/* Compared as in TensorFlow's kernel, by the rules of C++. */
DEFINE_SEARCH_AS(bucket_I32, F32, I32, float, !(value < x))
DEFINE_SEARCH_AS(bucket_I64, F32, I64, float, !(value < x))
DEFINE_SEARCH_AS(bucket_F32, F32, F32, float, !(value < x))
DEFINE_SEARCH_AS(bucket_F64, F32, F64, double, !(value < x))

static eddy_status run_bucketize(eddy_kernel *k)
{
    static const search buckets[EDDY_DTYPE_COUNT] = {ENTRY(I32, bucket) ENTRY(
        I64, bucket) ENTRY(F32, bucket) ENTRY(F64, bucket)};
    const search find = buckets[eddy__in_dtype(k, 0)];
    const bounds *b = eddy__state(k);
    const int64_t count = eddy__in_count(k, 0);
    unsigned char *out;

    EDDY_TRY(
        eddy__output_elements(k, 0, EDDY_INT32, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < count && !eddy__spent(k, 64); i++)
        ((int32_t *)(void *)out)[i] =
            (int32_t)find(b->values, b->n, eddy__in_elements(k, 0), i);
    return EDDY_OK;
}

static eddy_status prepare_bucketize(eddy_infer *infer)
{
    eddy_attr given = {.n = 0};
    size_t size;
    bounds *b;

    eddy_infer_attr(infer, "boundaries", &given);
    for (size_t i = 1; i < given.n; i++)
        if (given.as.floats[i] < given.as.floats[i - 1])
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                "boundaries must be sorted, but number %zu, %g, is below %g", i,
                (double)given.as.floats[i], (double)given.as.floats[i - 1]);
    if (!eddy__mul_size(given.n, sizeof *given.as.floats, &size) ||
        !eddy__add_size(size, sizeof *b, &size))
        return EDDY_RESOURCE_EXHAUSTED;
    b = eddy__prepare_state(infer, size);
    if (!b)
        return EDDY_RESOURCE_EXHAUSTED;
    b->n = (int64_t)given.n;
    if (given.n > 0)
        memcpy(b->values, given.as.floats, size - sizeof *b);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Bucketize", .inputs = "input: T", .outputs = "output: int32",
        .attrs = "T: {int32, int64, float32, float64}, boundaries: list(float)",
        .infer = eddy__infer_unchanged, .prepare = prepare_bucketize,
        .kernel = run_bucketize, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Which interval between sorted boundaries each value is in: how "
               "many boundaries are not above it."),
    EDDY__OP_ROW(
        "LowerBound", .inputs = "sorted_inputs: T, values: T",
        .outputs = "output: out_type",
        .attrs = "T: real, out_type: index = int32", .infer = infer_bound,
        .kernel = run_lower, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "Where in the sorted rows values belong, before equal elements."),
    EDDY__OP_ROW(
        "UpperBound", .inputs = "sorted_inputs: T, values: T",
        .outputs = "output: out_type",
        .attrs = "T: real, out_type: index = int32", .infer = infer_bound,
        .kernel = run_upper, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "Where in the sorted rows values belong, behind equal elements."),
};

const eddy__op_table eddy__bound_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

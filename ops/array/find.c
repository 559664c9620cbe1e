/* SPDX-License-Identifier: Apache-2.0 */
/* Where: the positions of the elements that are not zero. */
#include "ops/math/elements.h"
#include "ops/math/half.h"
#include "ops/ops.h"

/*
 * Passes over elements of one type, of which IS_SET(v) says whether they count.
 * Floats are compared as such: where denormals are flushed they are zeros.
 */
#define DEFINE_SCAN(name, type, IS_SET)                                        \
    static int64_t count_##name(const void *data, int64_t n)                   \
    {                                                                          \
        const type *v = data;                                                  \
        int64_t found = 0;                                                     \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            found += IS_SET(v[i]);                                             \
        return found;                                                          \
    }                                                                          \
                                                                               \
    static int64_t *list_##name(const void *data, int64_t n, int64_t first,    \
                                int64_t *out, int32_t step)                    \
    {                                                                          \
        const type *v = data;                                                  \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            if (!IS_SET(v[i]))                                                 \
                continue;                                                      \
            *out = first + i;                                                  \
            out += step;                                                       \
        }                                                                      \
        return out;                                                            \
    }

typedef struct pair {
    float real, imaginary;
} pair;

typedef struct long_pair {
    double real, imaginary;
} long_pair;

#define IS_NOT_ZERO(v) ((v) != 0)
#define IS_HALF(v) (((v)&0x7fff) != 0)
#define IS_BFLOAT(v) (eddy__bfloat_to_float(v) != 0)
#define IS_PAIR(v) ((v).real != 0 || (v).imaginary != 0)

DEFINE_SCAN(8, uint8_t, IS_NOT_ZERO)
DEFINE_SCAN(16, uint16_t, IS_NOT_ZERO)
DEFINE_SCAN(32, uint32_t, IS_NOT_ZERO)
DEFINE_SCAN(64, uint64_t, IS_NOT_ZERO)
DEFINE_SCAN(half, uint16_t, IS_HALF)
DEFINE_SCAN(bfloat, uint16_t, IS_BFLOAT)
DEFINE_SCAN(float, float, IS_NOT_ZERO)
DEFINE_SCAN(double, double, IS_NOT_ZERO)
DEFINE_SCAN(complex, pair, IS_PAIR)
DEFINE_SCAN(long_complex, long_pair, IS_PAIR)

typedef struct scanner {
    int64_t (*count)(const void *data, int64_t n);
    /* Gives where the next would stand. */
    int64_t *(*list)(const void *data, int64_t n, int64_t first, int64_t *out,
                     int32_t step);
} scanner;

#define SCAN(name)                                                             \
    {                                                                          \
        count_##name, list_##name                                              \
    }

static const scanner scans[EDDY_DTYPE_COUNT] = {
    [EDDY_BOOL] = SCAN(8),
    [EDDY_INT8] = SCAN(8),
    [EDDY_INT16] = SCAN(16),
    [EDDY_INT32] = SCAN(32),
    [EDDY_INT64] = SCAN(64),
    [EDDY_UINT8] = SCAN(8),
    [EDDY_UINT16] = SCAN(16),
    [EDDY_UINT32] = SCAN(32),
    [EDDY_UINT64] = SCAN(64),
    [EDDY_FLOAT16] = SCAN(half),
    [EDDY_BFLOAT16] = SCAN(bfloat),
    [EDDY_FLOAT32] = SCAN(float),
    [EDDY_FLOAT64] = SCAN(double),
    [EDDY_COMPLEX64] = SCAN(complex),
    [EDDY_COMPLEX128] = SCAN(long_complex),
};

/* Turns the number that stands at the start of each row into coordinates. */
static void spread(eddy_kernel *k, const eddy_shape *of, int64_t *rows,
                   int64_t n)
{
    for (int64_t i = 0; i < n && !eddy__spent(k, 16); i++, rows += of->rank) {
        int64_t at = rows[0];

        for (int32_t d = of->rank - 1; d >= 0; d--) {
            rows[d] = at % of->dims[d];
            at /= of->dims[d];
        }
    }
}

/* Elements between two questions whether to stop. */
#define PART ((int64_t)1 << 18)

static int64_t count_true(eddy_kernel *k, const scanner *how,
                          const eddy_view *x)
{
    const unsigned char *data = x->data;
    const size_t size = eddy_dtype_size(x->dtype);
    int64_t found = 0;

    for (int64_t at = 0; at < x->count && !eddy__spent(k, PART); at += PART)
        found += how->count(data + (size_t)at * size,
                            x->count - at < PART ? x->count - at : PART);
    return found;
}

/* Writes the numbers of the elements found, one every `step` places. */
static void list_true(eddy_kernel *k, const scanner *how, const eddy_view *x,
                      int64_t *out, int32_t step)
{
    const unsigned char *data = x->data;
    const size_t size = eddy_dtype_size(x->dtype);

    for (int64_t at = 0; at < x->count && !eddy__spent(k, PART); at += PART)
        out = how->list(data + (size_t)at * size,
                        x->count - at < PART ? x->count - at : PART, at, out,
                        step);
}

static eddy_status run_where(eddy_kernel *k)
{
    eddy_view x = eddy__in_view(k, 0);
    const scanner *const how = &scans[x.dtype];
    eddy_shape shape = {.rank = 2, .dims = {0, x.rank}};
    unsigned char *out;

    if (x.rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a scalar has no coordinates; at least a vector is "
                           "wanted");
    shape.dims[0] = count_true(k, how, &x);
    EDDY_TRY(eddy__go_on(k, 0));
    EDDY_TRY(eddy__output_elements(k, 0, EDDY_INT64, &shape, &out));
    list_true(k, how, &x, (int64_t *)(void *)out, x.rank);
    if (x.rank > 1)
        spread(k, eddy__in_shape(k, 0), (int64_t *)(void *)out, shape.dims[0]);
    return EDDY_OK;
}

static eddy_status infer_where(eddy_infer *infer)
{
    int32_t rank = eddy_infer_input(infer, 0)->rank;
    eddy_shape shape = {.rank = 2, .dims = {-1, rank < 0 ? -1 : rank}};

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Where", .inputs = "input: T", .outputs = "index: int64",
        .attrs = "T: {number, bool} = bool", .infer = infer_where,
        .kernel = run_where, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The coordinates of elements that are not zero, in order."),
};

const eddy__op_table eddy__find_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/* Cross: products of vectors of three elements. */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <inttypes.h>

/* Integers wrap; each line reads all of its vectors before it writes. */
#define CROSS(D, type)                                                         \
    static void cross_##D(const void *x, const void *y, void *to, int64_t n)   \
    {                                                                          \
        const eddy__stored_##D *a = x, *b = y;                                 \
        eddy__stored_##D *out = to;                                            \
                                                                               \
        for (int64_t i = 0; i < n; i++, a += 3, b += 3, out += 3) {            \
            const type u0 = (type)eddy__load_##D(a[0]);                        \
            const type u1 = (type)eddy__load_##D(a[1]);                        \
            const type u2 = (type)eddy__load_##D(a[2]);                        \
            const type v0 = (type)eddy__load_##D(b[0]);                        \
            const type v1 = (type)eddy__load_##D(b[1]);                        \
            const type v2 = (type)eddy__load_##D(b[2]);                        \
                                                                               \
            out[0] = EDDY__STORE_##D(u1 * v2 - u2 * v1);                       \
            out[1] = EDDY__STORE_##D(u2 * v0 - u0 * v2);                       \
            out[2] = EDDY__STORE_##D(u0 * v1 - u1 * v0);                       \
        }                                                                      \
    }

CROSS(F16, float)
CROSS(BF16, float)
CROSS(F32, float)
CROSS(F64, double)
CROSS(I8, uint32_t)
CROSS(I16, uint32_t)
CROSS(I32, uint32_t)
CROSS(I64, uint64_t)
CROSS(U8, uint32_t)
CROSS(U16, uint32_t)
CROSS(U32, uint32_t)
CROSS(U64, uint64_t)

typedef void (*cross_fn)(const void *a, const void *b, void *out, int64_t n);

static const cross_fn fns[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = cross_F16, [EDDY_FLOAT32] = cross_F32,
    [EDDY_FLOAT64] = cross_F64, [EDDY_INT8] = cross_I8,
    [EDDY_INT16] = cross_I16,   [EDDY_INT32] = cross_I32,
    [EDDY_INT64] = cross_I64,   [EDDY_UINT8] = cross_U8,
    [EDDY_UINT16] = cross_U16,  [EDDY_UINT32] = cross_U32,
    [EDDY_UINT64] = cross_U64,  [EDDY_BFLOAT16] = cross_BF16,
};

/* Vectors between two questions whether to stop. */
#define PART ((int64_t)1 << 16)

static void cross_all(eddy_kernel *k, int64_t n, unsigned char *out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const unsigned char *a = eddy__in_elements(k, 0);
    const unsigned char *b = eddy__in_elements(k, 1);
    const size_t step = 3 * (size_t)PART * eddy_dtype_size(dtype);

    for (int64_t i = 0; i < n && !eddy__spent(k, 8 * PART); i += PART) {
        fns[dtype](a, b, out, n - i < PART ? n - i : PART);
        a += step;
        b += step;
        out += step;
    }
}

static eddy_status run_cross(eddy_kernel *k)
{
    const eddy_shape *a = eddy__in_shape(k, 0), *b = eddy__in_shape(k, 1);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    void *out;

    if (!eddy__shape_equal(a, b) || a->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the factors have shapes %s and %s, but must be "
                           "vectors of one shape",
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    if (a->dims[a->rank - 1] != 3)
        return eddy__kfail(
            k, EDDY_FAILED_PRECONDITION, EDDY_E_DIM,
            "a cross product is of vectors of 3 elements, not of "
            "%" PRId64,
            a->dims[a->rank - 1]);
    EDDY_TRY(eddy__output(k, 0, dtype, a, &out));
    cross_all(k, eddy__in_count(k, 0) / 3, out);
    return EDDY_OK;
}

static eddy_status infer_cross(eddy_infer *infer)
{
    const eddy_shape *a = eddy_infer_input(infer, 0);
    const eddy_shape *b = eddy_infer_input(infer, 1);
    eddy_shape both;

    if (!eddy__shape_merge(a, b, &both) || both.rank == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the factors have shapes %s and %s, but must be "
                               "vectors of one shape",
                               eddy__shape_print(a).text,
                               eddy__shape_print(b).text);
    eddy_infer_set_output(infer, 0, &both);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Cross", .inputs = "a: T, b: T", .outputs = "product: T",
        .attrs = "T: real", .infer = infer_cross, .kernel = run_cross,
        .doc = "The cross products of the vectors of 3 in the last dimension."),
};

const eddy__op_table eddy__cross_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

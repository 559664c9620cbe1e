/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax and ArgMin: where along an axis the largest or least element is.  The
 * first of equals counts; NaN is passed over, and a row of nothing else gives
 * 0.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>
#include <math.h>

/* Inputs. */
enum { INPUT, DIMENSION };

#define TILE 256  /* columns that are searched at a time */
#define LANES 16  /* of a row of neighbours */
#define BLOCK 127 /* rows whose numbers fit in any integer */

/*
 * The rows' elements of `width` neighbouring columns are `stride` apart; sets
 * the columns' indices.
 */
typedef void (*search_loop)(const void *in, int64_t n, int64_t stride,
                            int64_t width, int64_t *out_index);

/* As wide as what is compared. */
typedef uint8_t eddy__index_I8, eddy__index_U8, eddy__index_B;
typedef uint16_t eddy__index_I16, eddy__index_U16;
typedef uint32_t eddy__index_I32, eddy__index_U32, eddy__index_F32;
typedef uint32_t eddy__index_F16, eddy__index_BF16;
typedef uint64_t eddy__index_I64, eddy__index_U64, eddy__index_F64;

#define EACH "ops/reduce/argmax_loops.def"
#define OP _largest_
#define BEATS >
#define START -INFINITY
#include "ops/each_float.def"
#undef START
#define START EDDY__JOIN(EDDY__LEAST_, D)
#include "ops/each_signed.def"
#include "ops/each_unsigned.def"
#define D B
#include EACH
#undef START
#undef BEATS
#undef OP
#define OP _least_
#define BEATS <
#define START INFINITY
#include "ops/each_float.def"
#undef START
#define START EDDY__JOIN(EDDY__MOST_, D)
#include "ops/each_signed.def"
#include "ops/each_unsigned.def"
#define D B
#include EACH
#undef START
#undef BEATS
#undef OP
#undef EACH

#define ENTRY(D, name)                                                         \
    [EDDY__DTYPE_##D] = {plain_##name##_##D, wide_##name##_##D},
#define ENTRIES(name)                                                          \
    {                                                                          \
        EDDY__EACH_FLOAT(ENTRY, name)                                          \
        EDDY__EACH_SIGNED(ENTRY, name)                                         \
        EDDY__EACH_UNSIGNED(ENTRY, name) ENTRY(B, name)                        \
    }

/* Loops by dtype, for the baseline processor and for wider vectors. */
typedef search_loop search_loops[2];

static const search_loops largest[EDDY_DTYPE_COUNT] = ENTRIES(largest);
static const search_loops least[EDDY_DTYPE_COUNT] = ENTRIES(least);

/* Narrow dtypes keep the low bits of an index. */
static void store(eddy_dtype dtype, void *out, int64_t at, const int64_t *index,
                  int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        switch (dtype) {
        case EDDY_INT16:
        case EDDY_UINT16:
            ((uint16_t *)out)[at + i] = (uint16_t)index[i];
            break;
        case EDDY_INT32:
            ((int32_t *)out)[at + i] = (int32_t)index[i];
            break;
        default:
            ((int64_t *)out)[at + i] = index[i];
            break;
        }
    }
}

static eddy_status read_axis(eddy_kernel *k, const eddy_shape *shape,
                             int32_t *out_axis)
{
    const eddy_view view = eddy__in_view(k, DIMENSION);

    if (view.rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the dimension must be a scalar, not of shape %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(eddy__axis(k, eddy__index_at(&view, 0), shape->rank, out_axis));
    if (shape->dims[*out_axis] == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "axis %d of an input of shape %s is empty",
                           (int)*out_axis, eddy__shape_print(shape).text);
    return EDDY_OK;
}

static eddy_shape without(const eddy_shape *shape, int32_t axis)
{
    eddy_shape out = {.rank = 0};

    for (int32_t d = 0; d < shape->rank; d++)
        if (d != axis)
            out.dims[out.rank++] = shape->dims[d];
    return out;
}

static eddy_status run_search(eddy_kernel *k, const search_loops *loops)
{
    const eddy_dtype dtype = eddy__in_dtype(k, INPUT);
    const eddy_dtype to = (eddy_dtype)k->node->out_dtypes[0];
    const eddy_shape *shape = eddy__in_shape(k, INPUT);
    const unsigned char *in = eddy__in_elements(k, INPUT);
    const size_t size = eddy_dtype_size(dtype);
    const search_loop loop = loops[dtype][EDDY__HAS_WIDE() ? 1 : 0];
    int64_t index[TILE], inner = 1, n, done = 0, left;
    eddy_shape out_shape;
    int32_t axis = 0;
    void *out;

    EDDY_TRY(read_axis(k, shape, &axis));
    out_shape = without(shape, axis);
    EDDY_TRY(eddy__output(k, 0, to, &out_shape, &out));
    for (int32_t d = axis + 1; d < shape->rank; d++)
        inner *= shape->dims[d];
    n = shape->dims[axis];
    for (left = eddy__in_count(k, INPUT) / n; left > 0;) {
        const int64_t column = done % inner;
        int64_t width = inner - column;

        if (width > TILE)
            width = TILE;
        if (eddy__spent(k, n * width))
            break;
        loop(in + (size_t)(done / inner * n * inner + column) * size, n, inner,
             width, index);
        store(to, out, done, index, width);
        done += width;
        left -= width;
    }
    return EDDY_OK;
}

static eddy_status run_argmax(eddy_kernel *k)
{
    return run_search(k, largest);
}

static eddy_status run_argmin(eddy_kernel *k)
{
    return run_search(k, least);
}

/* ---- the shape function ---- */

static bool constant_axis(const eddy_infer *infer, int64_t *out_axis)
{
    const eddy_tensor *tensor = eddy_infer_constant(infer, DIMENSION);

    if (!tensor || tensor->count != 1)
        return false;
    *out_axis = eddy__index_at(
        &(eddy_view){.dtype = (eddy_dtype)tensor->dtype, .data = tensor->data},
        0);
    return true;
}

static eddy_status infer_search(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, INPUT);
    const eddy_shape *dimension = eddy_infer_input(infer, DIMENSION);
    const int32_t rank = shape->rank;
    eddy_shape out = eddy__shape_unknown();
    int64_t axis;

    if (dimension->rank > 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the dimension must be a scalar, not of shape "
                               "%s",
                               eddy__shape_print(dimension).text);
    if (rank == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "a scalar has no axis to search");
    if (rank > 0 && constant_axis(infer, &axis)) {
        if (axis < -rank || axis >= rank)
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                                   "axis %" PRId64 " is not in [%d, %d)", axis,
                                   -(int)rank, (int)rank);
        out = without(shape, (int32_t)(axis < 0 ? axis + rank : axis));
    } else if (rank > 0) {
        out = eddy__shape_of_rank(rank - 1);
    }
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

#define ARG_OP(name, index, output, run, text)                                 \
    EDDY__OP_ROW(name, .inputs = "input: T, dimension: Tidx",                  \
                 .outputs = "output: output_type",                             \
                 .attrs = "T: {real, bool}, Tidx: {" index                     \
                          "int32, int64} = int32, output_type: {" output       \
                          "int32, int64} = int64",                             \
                 .infer = infer_search, .kernel = run,                         \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = text)

static const eddy_op_spec specs[] = {
    ARG_OP("ArgMax", "int16, ", "int16, uint16, ", run_argmax,
           "Where along an axis the largest element is, the first of equals."),
    ARG_OP("ArgMin", "", "", run_argmin,
           "Where along an axis the least element is, the first of equals."),
};

const eddy__op_table eddy__argmax_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that make a tensor from a few numbers: Fill, FakeParam, Range, LinSpace,
 * OneHot.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Fill ---- */

static eddy_status run_fill(eddy_kernel *k)
{
    eddy_view dims = eddy__in_view(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(eddy__shape_from_lenient_view(k, &dims, 0, &shape));
    EDDY_TRY(eddy__want_single(k, 1, 1, "the value to fill with"));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (shape.rank == 0 && dtype != EDDY_STRING)
        memcpy(out, eddy__in_elements(k, 1), eddy_dtype_size(dtype));
    else
        eddy__repeat(eddy__asker(k, dtype), out, eddy__in_elements(k, 1),
                     eddy__element_size(dtype),
                     eddy__out(k, 0)->as.tensor->count);
    return eddy__elements_done(k, 0);
}

/* ---- FakeParam ---- */

/* Where the attribute says nothing TensorFlow has a scalar and sizes of 0. */
static eddy_shape fake_shape(const eddy_infer *infer)
{
    eddy_shape shape = {.rank = 0};
    eddy_attr attr;

    if (eddy_infer_attr(infer, "shape", &attr) && attr.as.shapes[0].rank >= 0)
        shape = attr.as.shapes[0];
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dims[d] < 0)
            shape.dims[d] = 0;
    return shape;
}

static eddy_status run_fake(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    unsigned char *out;
    int64_t count = 1;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, &out));
    for (int32_t d = 0; d < shape->rank; d++)
        count *= shape->dims[d];
    if (dtype != EDDY_STRING)
        eddy__zero_bytes(k, out, (size_t)count * eddy_dtype_size(dtype));
    return eddy__elements_done(k, 0);
}

/* A variant that nobody has set is as an optional value that is none. */
static eddy_status run_fake_variant(eddy_kernel *k)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *list;

    return eddy__output_list(k, 0, EDDY_INVALID, &unknown, 0, &list);
}

static eddy_status prepare_fake(eddy_infer *infer)
{
    eddy_shape *shape = eddy__prepare_state(infer, sizeof *shape);

    if (!shape)
        return EDDY_RESOURCE_EXHAUSTED;
    *shape = fake_shape(infer);
    if (eddy_infer_output_dtype(infer, 0) != EDDY_VARIANT || shape->rank > 0)
        return eddy__prepare_movable(infer);
    eddy_infer_set_kernel(infer, run_fake_variant);
    return EDDY_OK;
}

static eddy_status infer_fake(eddy_infer *infer)
{
    const eddy_shape shape = fake_shape(infer);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- Range ---- */

/* How many integers there are from `start` to `limit`, which it excludes. */
static eddy_status count_steps(eddy_kernel *k, int64_t start, int64_t limit,
                               int64_t delta, int64_t *out_n)
{
    uint64_t span = (uint64_t)limit - (uint64_t)start, step = (uint64_t)delta;
    uint64_t n;

    if (delta == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "delta must not be 0");
    if (delta > 0 ? start > limit : start < limit)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "start must be %s limit when delta %s 0, but they "
                           "are %" PRId64 " and %" PRId64,
                           delta > 0 ? "at most" : "at least",
                           delta > 0 ? ">" : "<", start, limit);
    if (delta < 0) {
        span = (uint64_t)start - (uint64_t)limit;
        step = 0 - step;
    }
    n = span / step + (span % step != 0);
    if (n > INT64_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "a range of %" PRIu64 " elements is too long", n);
    *out_n = (int64_t)n;
    return EDDY_OK;
}

/* ---- _Trips ---- */

/* For takes a delta of 0 if it has nothing to do. */
static eddy_status run_trips(eddy_kernel *k)
{
    int32_t argument[3];
    int64_t n = 0;

    for (uint32_t i = 0; i < 3; i++) {
        if (eddy__in(k, i)->kind != EDDY__SCALAR)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               "input %u must be a scalar, but it has shape "
                               "%s",
                               i, eddy__shape_print(eddy__in_shape(k, i)).text);
        argument[i] = eddy__in(k, i)->as.i32;
    }
    if (argument[2] != 0 || argument[0] != argument[1])
        EDDY_TRY(count_steps(k, argument[0], argument[1], argument[2], &n));
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT64, (uint64_t)n);
    return EDDY_OK;
}

/* The same for floating point, from the quotient that the dtype gives. */
static eddy_status count_float_steps(eddy_kernel *k, const double *arguments,
                                     double quotient, int64_t *out_n)
{
    double start = arguments[0], limit = arguments[1], delta = arguments[2];

    if (delta == 0.0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "delta must not be 0");
    if (!(delta > 0.0 ? start <= limit : start >= limit))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "start must be %s limit when delta is %g, but they "
                           "are %g and %g",
                           delta > 0.0 ? "at most" : "at least", delta, start,
                           limit);
    quotient = ceil(fabs(quotient));
    if (!(quotient < 0x1p63))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "a range of %g elements is too long", quotient);
    *out_n = (int64_t)quotient;
    return EDDY_OK;
}

/* The first three inputs, as eddy__want_single. */
static eddy_status want_scalars(eddy_kernel *k, int32_t max_rank)
{
    static const char *const names[] = {"input 0", "input 1", "input 2"};

    for (uint32_t i = 0; i < 3; i++)
        EDDY_TRY(eddy__want_single(k, i, max_rank, names[i]));
    return EDDY_OK;
}

static eddy_status put_vector(eddy_kernel *k, eddy_dtype dtype, int64_t n,
                              unsigned char **out)
{
    eddy_shape shape = eddy__shape_vector(n);

    return eddy__output_elements(k, 0, dtype, &shape, out);
}

/* Overflow at the end of a range wraps: the value after the last is unused. */
#define DEFINE_INTEGER_RANGE(type, DTYPE)                                      \
    static eddy_status run_range_##type(eddy_kernel *k)                        \
    {                                                                          \
        int64_t argument[3], n = 0;                                            \
        uint64_t value, step;                                                  \
        unsigned char *out;                                                    \
                                                                               \
        EDDY_TRY(want_scalars(k, 1));                                          \
        for (uint32_t i = 0; i < 3; i++) {                                     \
            eddy_view view = eddy__in_view(k, i);                              \
                                                                               \
            argument[i] = eddy__index_at(&view, 0);                            \
        }                                                                      \
        EDDY_TRY(count_steps(k, argument[0], argument[1], argument[2], &n));   \
        EDDY_TRY(put_vector(k, DTYPE, n, &out));                               \
        value = (uint64_t)argument[0];                                         \
        step = (uint64_t)argument[2];                                          \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i);                    \
             i++, value += step)                                               \
            ((type##_t *)(void *)out)[i] = (type##_t)value;                    \
        return EDDY_OK;                                                        \
    }

DEFINE_INTEGER_RANGE(int8, EDDY_INT8)
DEFINE_INTEGER_RANGE(int16, EDDY_INT16)
DEFINE_INTEGER_RANGE(int32, EDDY_INT32)
DEFINE_INTEGER_RANGE(int64, EDDY_INT64)
DEFINE_INTEGER_RANGE(uint16, EDDY_UINT16)
DEFINE_INTEGER_RANGE(uint32, EDDY_UINT32)

/* The values are those of repeated addition, as TensorFlow's are. */
#define DEFINE_FLOAT_RANGE(type, DTYPE)                                        \
    static eddy_status run_range_##type(eddy_kernel *k)                        \
    {                                                                          \
        type a[3], value;                                                      \
        unsigned char *out;                                                    \
        int64_t n = 0;                                                         \
                                                                               \
        EDDY_TRY(want_scalars(k, 1));                                          \
        for (uint32_t i = 0; i < 3; i++)                                       \
            memcpy(&a[i], eddy__in_elements(k, i), sizeof a[i]);               \
        EDDY_TRY(count_float_steps(                                            \
            k, (const double[]){(double)a[0], (double)a[1], (double)a[2]},     \
            (double)((a[1] - a[0]) / a[2]), &n));                              \
        EDDY_TRY(put_vector(k, DTYPE, n, &out));                               \
        value = a[0];                                                          \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i);                    \
             i++, value += a[2])                                               \
            ((type *)(void *)out)[i] = value;                                  \
        return EDDY_OK;                                                        \
    }

DEFINE_FLOAT_RANGE(float, EDDY_FLOAT32)
DEFINE_FLOAT_RANGE(double, EDDY_FLOAT64)

static float read_half(eddy_dtype dtype, uint16_t bits)
{
    return dtype == EDDY_FLOAT16 ? eddy_float16_to_float(bits)
                                 : eddy_bfloat16_to_float(bits);
}

static uint16_t store_half(eddy_dtype dtype, float value)
{
    return dtype == EDDY_FLOAT16 ? eddy_float16_from_float(value)
                                 : eddy_bfloat16_from_float(value);
}

static float round_half(eddy_dtype dtype, float value)
{
    return read_half(dtype, store_half(dtype, value));
}

/* Of float16 and bfloat16. */
static eddy_status run_range_half(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    float a[3], value;
    unsigned char *out;
    int64_t n = 0;

    EDDY_TRY(want_scalars(k, 1));
    for (uint32_t i = 0; i < 3; i++) {
        eddy_view view = eddy__in_view(k, i);

        a[i] = read_half(dtype, *(const uint16_t *)view.data);
    }
    EDDY_TRY(count_float_steps(
        k, (const double[]){(double)a[0], (double)a[1], (double)a[2]},
        (double)round_half(dtype, round_half(dtype, a[1] - a[0]) / a[2]), &n));
    EDDY_TRY(put_vector(k, dtype, n, &out));
    value = a[0];
    for (int64_t i = 0; i < n && !eddy__spent_at(k, i);
         i++, value = round_half(dtype, value + a[2]))
        ((uint16_t *)(void *)out)[i] = store_half(dtype, value);
    return EDDY_OK;
}

static eddy_status prepare_range(eddy_infer *infer)
{
    static const eddy_kernel_fn kernels[EDDY_DTYPE_COUNT] = {
        [EDDY_FLOAT16] = run_range_half,  [EDDY_BFLOAT16] = run_range_half,
        [EDDY_FLOAT32] = run_range_float, [EDDY_FLOAT64] = run_range_double,
        [EDDY_INT8] = run_range_int8,     [EDDY_INT16] = run_range_int16,
        [EDDY_INT32] = run_range_int32,   [EDDY_INT64] = run_range_int64,
        [EDDY_UINT16] = run_range_uint16, [EDDY_UINT32] = run_range_uint32,
    };

    eddy_infer_set_kernel(infer, kernels[eddy_infer_output_dtype(infer, 0)]);
    return EDDY_OK;
}

static eddy_status infer_range(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(1);
    int64_t start, limit, delta;

    if (eddy__infer_constant_int(infer, 0, 0, &start) &&
        eddy__infer_constant_int(infer, 1, 0, &limit) &&
        eddy__infer_constant_int(infer, 2, 0, &delta) && delta == 1 &&
        start <= limit && (start >= 0 || limit <= INT64_MAX + start))
        shape.dims[0] = limit - start;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- LinSpace ---- */

/* The last element is `stop` itself, whatever the arithmetic gives. */
#define DEFINE_SPACE(type, DTYPE)                                              \
    static eddy_status run_space_##type(eddy_kernel *k)                        \
    {                                                                          \
        unsigned char *data;                                                   \
        type start, stop, step, *out;                                          \
        int64_t n;                                                             \
                                                                               \
        EDDY_TRY(want_scalars(k, 0));                                          \
        EDDY_TRY(eddy__index_argument(k, 2, "num", &n));                       \
        if (n <= 0)                                                            \
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,         \
                               "num must be more than 0, but it is %" PRId64,  \
                               n);                                             \
        memcpy(&start, eddy__in_elements(k, 0), sizeof start);                 \
        memcpy(&stop, eddy__in_elements(k, 1), sizeof stop);                   \
        EDDY_TRY(put_vector(k, DTYPE, n, &data));                              \
        out = (type *)(void *)data;                                            \
        out[0] = start;                                                        \
        if (n == 1)                                                            \
            return EDDY_OK;                                                    \
        step = (stop - start) / (type)(n - 1);                                 \
        for (int64_t i = 1; i < n - 1 && !eddy__spent_at(k, i); i++)           \
            out[i] = start + step * (type)i;                                   \
        out[n - 1] = stop;                                                     \
        return EDDY_OK;                                                        \
    }

DEFINE_SPACE(float, EDDY_FLOAT32)
DEFINE_SPACE(double, EDDY_FLOAT64)

static eddy_status prepare_space(eddy_infer *infer)
{
    eddy_infer_set_kernel(infer,
                          eddy_infer_output_dtype(infer, 0) == EDDY_FLOAT32
                              ? run_space_float
                              : run_space_double);
    return EDDY_OK;
}

static eddy_status infer_space(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(1);
    int64_t n;

    if (eddy__infer_constant_int(infer, 2, 0, &n) && n > 0)
        shape.dims[0] = n;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- OneHot ---- */

static eddy_status prepare_one_hot(eddy_infer *infer)
{
    int64_t axis = eddy__infer_int(infer, "axis"), *state;

    EDDY_TRY(eddy__prepare_movable(infer));
    if (axis < -1)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "axis must be -1 or more, but it is %" PRId64,
                               axis);
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = axis;
    return EDDY_OK;
}

/* `of` with `depth` put in at `axis`, -1 being the end. */
static bool one_hot_shape(const eddy_shape *of, int64_t depth, int64_t axis,
                          eddy_shape *out)
{
    int32_t at = axis < 0 ? of->rank : (int32_t)axis;

    if (of->rank >= EDDY_MAX_RANK || axis > of->rank)
        return false;
    out->rank = of->rank + 1;
    for (int32_t d = 0; d < at; d++)
        out->dims[d] = of->dims[d];
    out->dims[at] = depth;
    for (int32_t d = at; d < of->rank; d++)
        out->dims[d + 1] = of->dims[d];
    return true;
}

static eddy_status infer_one_hot(eddy_infer *infer)
{
    int64_t axis = eddy__infer_int(infer, "axis"), depth;
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape;

    if (!eddy__infer_constant_int(infer, 1, 0, &depth) || depth < 0)
        depth = -1;
    if (of->rank >= 0 && axis >= -1 && one_hot_shape(of, depth, axis, &shape))
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status one_hot_arguments(eddy_kernel *k, int64_t *out_depth,
                                     eddy_shape *out_shape)
{
    const int64_t *axis = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);

    EDDY_TRY(eddy__index_argument(k, 1, "depth", out_depth));
    if (*out_depth < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                           "depth must not be negative, but it is %" PRId64,
                           *out_depth);
    EDDY_TRY(eddy__want_single(k, 2, 0, "on_value"));
    EDDY_TRY(eddy__want_single(k, 3, 0, "off_value"));
    if (one_hot_shape(of, *out_depth, *axis, out_shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "indices of shape %s take no axis %" PRId64
                       " or too many axes",
                       eddy__shape_print(of).text, *axis);
}

static eddy_status run_one_hot(eddy_kernel *k)
{
    const int64_t *axis = eddy__state(k);
    eddy_view indices = eddy__in_view(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 2);
    size_t size = eddy__element_size(dtype);
    eddy_kernel *const asker = eddy__asker(k, dtype);
    int64_t depth, inner = 1, total;
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(one_hot_arguments(k, &depth, &shape));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    total = eddy__out(k, 0)->as.tensor->count;
    eddy__repeat(asker, out, eddy__in_elements(k, 3), size, total);
    for (int32_t d = *axis < 0 ? indices.rank : (int32_t)*axis;
         total > 0 && d < indices.rank; d++)
        inner *= indices.dims[d];
    for (int64_t i = 0; total > 0 && i < indices.count; i++) {
        int64_t at = eddy__index_at(&indices, i);

        /* Each is in another row. */
        if (asker && eddy__spent(asker, 64))
            break;
        if (at >= 0 && at < depth)
            memcpy(out +
                       (size_t)((i / inner * depth + at) * inner + i % inner) *
                           size,
                   eddy__in_elements(k, 2), size);
    }
    return eddy__elements_done(k, 0);
}

/* ---- Empty ---- */

/* TensorFlow leaves elements open without `init`; here they are always 0. */
static eddy_status run_empty(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy_view argument = eddy__in_view(k, 0);
    unsigned char *out;
    eddy_shape shape;

    EDDY_TRY(eddy__shape_from_view(k, &argument, 0, &shape));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__value_is_tensor(eddy__out(k, 0)) &&
        eddy__out(k, 0)->as.tensor->count > 0)
        eddy__zero_bytes(eddy__asker(k, dtype), out,
                         (size_t)eddy__out(k, 0)->as.tensor->count *
                             eddy__element_size(dtype));
    return eddy__elements_done(k, 0);
}

#define RANGE "{float, int8, int16, int32, int64, uint16, uint32}"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Fill", .inputs = "dims: index_type, value: T", .outputs = "output: T",
        .attrs = "T: type, index_type: index = int32",
        .infer = eddy__infer_spelled, .kernel = run_fill,
        .prepare = eddy__prepare_movable, .doc = "A tensor full of one value."),
    EDDY__OP_ROW("Empty", .inputs = "shape: int32", .outputs = "output: dtype",
                 .attrs = "dtype: type, init: bool = false",
                 .infer = eddy__infer_spelled, .kernel = run_empty,
                 .prepare = eddy__prepare_movable,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A tensor of some shape; all zeros."),
    EDDY__OP_ROW("FakeParam", .outputs = "output: dtype",
                 .attrs = "dtype: type, shape: shape", .infer = infer_fake,
                 .kernel = run_fake, .prepare = prepare_fake,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "What a branch gives in place of a value that only "
                        "another has; all zeros."),
    EDDY__OP_ROW("Range", .inputs = "start: Tidx, limit: Tidx, delta: Tidx",
                 .outputs = "output: Tidx", .attrs = "Tidx: " RANGE " = int32",
                 .infer = infer_range, .prepare = prepare_range,
                 .doc = "Numbers from start on, delta apart, before limit."),
    EDDY__OP_ROW("_Trips", .inputs = "start: int32, limit: int32, delta: int32",
                 .outputs = "trips: int64", .infer = eddy__infer_scalar,
                 .kernel = run_trips,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "How many numbers a For has."),
    EDDY__OP_ROW("LinSpace", .inputs = "start: T, stop: T, num: Tidx",
                 .outputs = "output: T",
                 .attrs = "T: {float32, float64}, Tidx: index = int32",
                 .infer = infer_space, .prepare = prepare_space,
                 .doc = "num numbers from start to stop, equally far apart."),
    EDDY__OP_ROW(
        "OneHot",
        .inputs = "indices: TI, depth: int32, on_value: T, off_value: T",
        .outputs = "output: T",
        .attrs =
            "axis: int = -1, T: type, TI: {uint8, int8, int32, int64} = int64",
        .infer = infer_one_hot, .kernel = run_one_hot,
        .prepare = prepare_one_hot,
        .doc = "on_value where the new dimension equals an index, else "
               "off_value."),
};

const eddy__op_table eddy__fill_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};

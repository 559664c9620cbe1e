/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running sums and products along an axis, and the reversal of a part of it:
 * Cumsum, Cumprod, CumulativeLogsumexp, ReverseSequence.
 */
#include "ops/array/box.h"
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Cumsum, Cumprod, CumulativeLogsumexp ---- */

/*
 * Blocks of `n` rows of `row` elements, `step` elements apart, the first at
 * `first` of its block.
 */
typedef struct rows {
    eddy_kernel *kernel; /* which is asked whether to stop */
    int64_t n_blocks, block;
    int64_t n, row, first, step;
    bool exclusive;
} rows;

/* Blocks that are run through side by side, since none waits for another. */
#define ABREAST 4

#define ADD(a, b) ((a) + (b))
#define ADD8(a, b) ((uint8_t)((a) + (b)))
#define ADD16(a, b) ((uint16_t)((a) + (b)))
#define MULTIPLY(a, b) ((a) * (b))
#define MULTIPLY8(a, b) ((uint8_t)((a) * (b)))
#define MULTIPLY16(a, b) ((uint16_t)(1u * (a) * (b)))

/* Every step is rounded, as the outputs are. */
static inline uint16_t add_half(uint16_t a, uint16_t b)
{
    return eddy__half_from_float(eddy__half_to_float(a) +
                                 eddy__half_to_float(b));
}

static inline uint16_t multiply_half(uint16_t a, uint16_t b)
{
    return eddy__half_from_float(eddy__half_to_float(a) *
                                 eddy__half_to_float(b));
}

/*
 * log(e^a + e^b).  As TensorFlow has it, a `b` that is NaN counts as `a` again,
 * and -infinity is what nothing sums up to.
 */
#define DEFINE_LOG_ADD(name, type, exp, log1p)                                 \
    static inline type name(type a, type b)                                    \
    {                                                                          \
        const type least = b < a ? b : a, most = a < b ? b : a;                \
                                                                               \
        return isinf(most) && most < 0 ? most                                  \
                                       : log1p(exp(least - most)) + most;      \
    }
DEFINE_LOG_ADD(log_add_float, float, expf, log1pf)
DEFINE_LOG_ADD(log_add_double, double, exp, log1p)

static inline uint16_t add_bfloat(uint16_t a, uint16_t b)
{
    return eddy__bfloat_from_float(eddy__bfloat_to_float(a) +
                                   eddy__bfloat_to_float(b));
}

static inline uint16_t multiply_bfloat(uint16_t a, uint16_t b)
{
    return eddy__bfloat_from_float(eddy__bfloat_to_float(a) *
                                   eddy__bfloat_to_float(b));
}

static inline uint16_t log_add_bfloat(uint16_t a, uint16_t b)
{
    return eddy__bfloat_from_float(
        log_add_float(eddy__bfloat_to_float(a), eddy__bfloat_to_float(b)));
}

static inline uint16_t log_add_half(uint16_t a, uint16_t b)
{
    return eddy__half_from_float(
        log_add_float(eddy__half_to_float(a), eddy__half_to_float(b)));
}

#define ZERO_HALF 0
#define ONE_HALF 0x3c00
#define LEAST_HALF 0xfc00 /* -infinity */
#define ONE_BFLOAT 0x3f80
#define LEAST_BFLOAT 0xff80

static const eddy__complex64 complex_zero = 0, complex_one = 1;
static const eddy__complex128 long_zero = 0, long_one = 1;

/*
 * A product with these is one to the compiler too, which otherwise would take
 * the first element as it is, and a denormal one would stay.
 */
static const volatile float float_one = 1;
static const volatile double double_one = 1;

/* Signed integers go as unsigned ones, which wrap. */
#define EACH "ops/reduce/scan_loops.def"
#define SCAN sum_u8, uint8_t, 0, ADD8
#include EACH
#define SCAN sum_u16, uint16_t, 0, ADD16
#include EACH
#define SCAN sum_u32, uint32_t, 0, ADD
#include EACH
#define SCAN sum_u64, uint64_t, 0, ADD
#include EACH
#define SCAN sum_f16, uint16_t, ZERO_HALF, add_half
#include EACH
#define SCAN sum_bf16, uint16_t, ZERO_HALF, add_bfloat
#include EACH
#define SCAN sum_f32, float, 0, ADD
#include EACH
#define SCAN sum_f64, double, 0, ADD
#include EACH
#define SCAN sum_c64, eddy__complex64, complex_zero, ADD
#include EACH
#define SCAN sum_c128, eddy__complex128, long_zero, ADD
#include EACH
#define SCAN product_u8, uint8_t, 1, MULTIPLY8
#include EACH
#define SCAN product_u16, uint16_t, 1, MULTIPLY16
#include EACH
#define SCAN product_u32, uint32_t, 1, MULTIPLY
#include EACH
#define SCAN product_u64, uint64_t, 1, MULTIPLY
#include EACH
#define SCAN product_f16, uint16_t, ONE_HALF, multiply_half
#include EACH
#define SCAN product_bf16, uint16_t, ONE_BFLOAT, multiply_bfloat
#include EACH
#define SCAN product_f32, float, float_one, MULTIPLY
#include EACH
#define SCAN product_f64, double, double_one, MULTIPLY
#include EACH
#define SCAN product_c64, eddy__complex64, complex_one, eddy__complex_mul_C64
#include EACH
#define SCAN product_c128, eddy__complex128, long_one, eddy__complex_mul_C128
#include EACH
#define SCAN log_f16, uint16_t, LEAST_HALF, log_add_half
#include EACH
#define SCAN log_bf16, uint16_t, LEAST_BFLOAT, log_add_bfloat
#include EACH
#define SCAN log_f32, float, -INFINITY, log_add_float
#include EACH
#define SCAN log_f64, double, (double)-INFINITY, log_add_double
#include EACH
#undef EACH

typedef void (*scan)(const rows *r, void *to, const void *from);

static const scan sums[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = scan_sum_f16,   [EDDY_FLOAT32] = scan_sum_f32,
    [EDDY_FLOAT64] = scan_sum_f64,   [EDDY_INT8] = scan_sum_u8,
    [EDDY_INT16] = scan_sum_u16,     [EDDY_INT32] = scan_sum_u32,
    [EDDY_INT64] = scan_sum_u64,     [EDDY_UINT8] = scan_sum_u8,
    [EDDY_UINT16] = scan_sum_u16,    [EDDY_UINT32] = scan_sum_u32,
    [EDDY_UINT64] = scan_sum_u64,    [EDDY_COMPLEX64] = scan_sum_c64,
    [EDDY_BFLOAT16] = scan_sum_bf16, [EDDY_COMPLEX128] = scan_sum_c128,
};

static const scan products[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = scan_product_f16,   [EDDY_FLOAT32] = scan_product_f32,
    [EDDY_FLOAT64] = scan_product_f64,   [EDDY_INT8] = scan_product_u8,
    [EDDY_INT16] = scan_product_u16,     [EDDY_INT32] = scan_product_u32,
    [EDDY_INT64] = scan_product_u64,     [EDDY_UINT8] = scan_product_u8,
    [EDDY_UINT16] = scan_product_u16,    [EDDY_UINT32] = scan_product_u32,
    [EDDY_UINT64] = scan_product_u64,    [EDDY_COMPLEX64] = scan_product_c64,
    [EDDY_BFLOAT16] = scan_product_bf16, [EDDY_COMPLEX128] = scan_product_c128,
};

static const scan logs[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = scan_log_f16,
    [EDDY_BFLOAT16] = scan_log_bf16,
    [EDDY_FLOAT32] = scan_log_f32,
    [EDDY_FLOAT64] = scan_log_f64,
};

typedef struct direction {
    bool exclusive, reverse;
} direction;

static eddy_status prepare_scan(eddy_infer *infer)
{
    direction *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->exclusive = eddy__infer_bool(infer, "exclusive");
    state->reverse = eddy__infer_bool(infer, "reverse");
    return EDDY_OK;
}

static eddy_status run_scan(eddy_kernel *k, scan function)
{
    const direction *way = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    rows r = {
        .kernel = k, .n_blocks = 1, .row = 1, .exclusive = way->exclusive};
    unsigned char *out;
    int32_t axis;

    EDDY_TRY(eddy__axis_argument(k, 1, 0, of->rank, &axis));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, of, &out));
    if (eddy__in_count(k, 0) == 0)
        return EDDY_OK;
    for (int32_t d = 0; d < axis; d++)
        r.n_blocks *= of->dims[d];
    for (int32_t d = axis + 1; d < of->rank; d++)
        r.row *= of->dims[d];
    r.n = of->dims[axis];
    r.block = r.n * r.row;
    r.step = way->reverse ? -r.row : r.row;
    r.first = way->reverse ? r.block - r.row : 0;
    function(&r, out, eddy__in_elements(k, 0));
    return EDDY_OK;
}

static eddy_status run_cumsum(eddy_kernel *k)
{
    return run_scan(k, sums[eddy__in_dtype(k, 0)]);
}

static eddy_status run_cumprod(eddy_kernel *k)
{
    return run_scan(k, products[eddy__in_dtype(k, 0)]);
}

static eddy_status run_log_sum(eddy_kernel *k)
{
    return run_scan(k, logs[eddy__in_dtype(k, 0)]);
}

/* ---- ReverseSequence ---- */

typedef struct sequence {
    int64_t seq_dim, batch_dim;
} sequence;

static eddy_status prepare_sequence(eddy_infer *infer)
{
    sequence *state;

    EDDY_TRY(eddy__prepare_movable(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->seq_dim = eddy__infer_int(infer, "seq_dim");
    state->batch_dim = eddy__infer_int(infer, "batch_dim");
    return EDDY_OK;
}

static eddy_status check_lengths(eddy_kernel *k, const eddy_view *lengths,
                                 int64_t most)
{
    for (int64_t i = 0; i < lengths->count; i++) {
        int64_t length = eddy__view_index(lengths, i);

        if (length < 0 || length > most)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "seq_lengths[%" PRId64 "] = %" PRId64
                               " is not in [0, %" PRId64 "]",
                               i, length, most);
    }
    return EDDY_OK;
}

/* A tensor whose dimension `seq` is reversed for each entry of `batch`. */
typedef struct reversal {
    eddy_kernel *asker;
    const eddy_shape *of;
    size_t size;
    int32_t seq, batch;
    unsigned char *to;
    const unsigned char *from;
} reversal;

/* Copies places [start, end) of entry `at` of the batch. */
static void copy_places(const reversal *r, int64_t at, int64_t start,
                        int64_t end, bool reversed)
{
    int64_t strides[EDDY_MAX_RANK], offset, n = end - start;
    eddy__box box = {.item = r->size};

    if (n == 0)
        return;
    eddy__box_dense_strides(r->of, r->size, strides);
    offset = at * strides[r->batch] + start * strides[r->seq];
    for (int32_t d = 0; d < r->of->rank; d++) {
        int64_t step = d == r->seq && reversed ? -strides[d] : strides[d];

        if (d != r->batch)
            eddy__box_add(&box, d == r->seq ? n : r->of->dims[d], step,
                          strides[d]);
    }
    eddy__box_copy(r->asker, &box, r->to + offset,
                   r->from + offset +
                       (reversed ? (n - 1) * strides[r->seq] : 0));
}

static eddy_status run_sequence(eddy_kernel *k)
{
    const sequence *s = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    reversal r = {.asker = eddy__asker(k, dtype),
                  .of = of,
                  .size = eddy__element_size(dtype)};
    eddy_view lengths;

    EDDY_TRY(eddy__axis(k, s->seq_dim, of->rank, &r.seq));
    EDDY_TRY(eddy__axis(k, s->batch_dim, of->rank, &r.batch));
    if (r.seq == r.batch)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "seq_dim and batch_dim are both %d", r.seq);
    EDDY_TRY(eddy__vector_argument(k, 1, "seq_lengths", of->dims[r.batch],
                                   &lengths));
    EDDY_TRY(check_lengths(k, &lengths, of->dims[r.seq]));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, of, &r.to));
    r.from = eddy__in_elements(k, 0);
    for (int64_t i = 0; eddy__in_count(k, 0) > 0 && i < lengths.count; i++) {
        int64_t n = eddy__view_index(&lengths, i);

        copy_places(&r, i, 0, n, true);
        copy_places(&r, i, n, of->dims[r.seq], false);
    }
    return eddy__elements_done(k, 0);
}

#define SCAN(name, dtypes, run, text)                                          \
    EDDY__OP_ROW(                                                              \
        name, .inputs = "x: T, axis: Tidx", .outputs = "out: T",               \
        .attrs = "exclusive: bool = false, reverse: bool = false, T: " dtypes  \
                 ", Tidx: index = int32",                                      \
        .infer = eddy__infer_unchanged, .kernel = run,                         \
        .prepare = prepare_scan, .doc = text)

static const eddy_op_spec specs[] = {
    SCAN("Cumprod", "number", run_cumprod, "Running products along an axis."),
    SCAN("Cumsum", "number", run_cumsum, "Running sums along an axis."),
    SCAN("CumulativeLogsumexp", "float", run_log_sum,
         "Logarithms of running sums of exponentials along an axis."),
    EDDY__OP_ROW(
        "ReverseSequence", .inputs = "input: T, seq_lengths: Tlen",
        .outputs = "output: T",
        .attrs =
            "seq_dim: int, batch_dim: int = 0, Tlen: index = int64, T: type",
        .infer = eddy__infer_unchanged, .kernel = run_sequence,
        .prepare = prepare_sequence,
        .doc = "Each slice along one axis, its first elements along another "
               "reversed."),
};

const eddy__op_table eddy__scan_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};

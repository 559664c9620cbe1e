/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fourier transforms of the last one, two or three dimensions: of complex
 * numbers, and of real ones, whose transform is kept by half since the rest of
 * it is conjugate.  Everything is computed in double.
 */
#include "ops/linalg/fourier.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>

enum { MOST = 3 };

typedef enum kind { COMPLEX, TO_HALF, FROM_HALF } kind;

/* What an op does; its state. */
typedef struct form {
    int32_t rank;
    kind kind;
    bool is_inverse;
} form;

/* One transform: a block of numbers, and what is read and written of it. */
typedef struct transform {
    form form;
    int64_t dims[MOST];        /* of the block */
    int64_t in[MOST];          /* of an item of the input */
    int64_t in_kept, out_kept; /* of the last dimension, read and written */
    int64_t count, in_count;   /* elements of each */
    int64_t batch;
    eddy__fourier lines[MOST];
    eddy__complex128 *block, *line;
    double scale;
} transform;

/* ---- shapes ---- */

#define BAD_RANK "the input must have %d dimensions or more, but has shape %s"

/* The lengths of the transform, which are an input of those of real numbers. */
static eddy_status read_lengths(eddy_kernel *k, transform *t)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const int32_t first = shape->rank - t->form.rank;
    eddy_view lengths;

    if (t->form.kind != COMPLEX)
        EDDY_TRY(
            eddy__vector_argument(k, 1, "fft_length", t->form.rank, &lengths));
    for (int32_t d = 0; d < t->form.rank; d++) {
        t->in[d] = shape->dims[first + d];
        t->dims[d] = t->in[d];
        if (t->form.kind == COMPLEX)
            continue;
        t->dims[d] = eddy__view_index(&lengths, d);
        if (t->dims[d] < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "fft_length[%d] must not be negative, but it "
                               "is %" PRId64,
                               (int)d, t->dims[d]);
    }
    return EDDY_OK;
}

/* Is there as much as is to be read?  What is beyond is left out. */
static eddy_status check_input(eddy_kernel *k, const transform *t)
{
    const int32_t last = t->form.rank - 1;

    for (int32_t d = 0; d <= last; d++) {
        const int64_t want = d == last ? t->in_kept : t->dims[d];

        if (t->in[d] != 0 && t->in[d] < want)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "dimension %d of the transform must be %" PRId64
                               " or more, but the input has shape %s",
                               (int)d, want,
                               eddy__shape_print(eddy__in_shape(k, 0)).text);
    }
    return EDDY_OK;
}

static eddy_status describe(eddy_kernel *k, transform *t, eddy_shape *out)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const int32_t last = t->form.rank - 1;
    const int32_t first = shape->rank - t->form.rank;
    bool fits = true;

    if (first < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, BAD_RANK,
                           (int)t->form.rank, eddy__shape_print(shape).text);
    EDDY_TRY(read_lengths(k, t));
    t->in_kept = t->out_kept = t->dims[last];
    if (t->form.kind == TO_HALF && t->dims[last] > 0)
        t->out_kept = t->dims[last] / 2 + 1;
    if (t->form.kind == FROM_HALF && t->dims[last] > 0)
        t->in_kept = t->dims[last] / 2 + 1;
    EDDY_TRY(check_input(k, t));
    *out = *shape;
    t->count = t->in_count = t->batch = 1;
    for (int32_t d = 0; d < t->form.rank; d++) {
        out->dims[first + d] = d == last ? t->out_kept : t->dims[d];
        fits = fits && !__builtin_mul_overflow(t->count, t->dims[d], &t->count);
        t->in_count *= t->in[d];
    }
    for (int32_t d = 0; d < first; d++)
        t->batch *= shape->dims[d];
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                       "the size of the transform overflows");
}

/* ---- memory ---- */

static eddy_status fail_memory(eddy_kernel *k, const transform *t)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a transform of %" PRId64 " numbers",
                       t->count);
}

/* One tensor for the block, a line, and the tables of each length. */
static eddy_status make_room(eddy_kernel *k, transform *t,
                             eddy_tensor **out_tensor)
{
    int64_t sizes[MOST] = {0}, total = t->count, longest = 0;
    bool fits = true;
    eddy_shape shape;
    eddy__complex128 *at;

    assert(t->form.rank <= MOST);
    for (int32_t d = 0; d < t->form.rank; d++) {
        sizes[d] = eddy__fourier_describe(k, &t->lines[d], t->dims[d]);
        fits = fits && sizes[d] >= 0 &&
               !__builtin_add_overflow(total, sizes[d], &total);
        longest = t->dims[d] > longest ? t->dims[d] : longest;
        t->scale =
            d == 0 ? 1 / (double)t->dims[d] : t->scale / (double)t->dims[d];
    }
    if (!fits || __builtin_add_overflow(total, longest, &total))
        return fail_memory(k, t);
    shape = eddy__shape_vector(total);
    EDDY_TRY(eddy__new_tensor(k, EDDY_COMPLEX128, &shape, out_tensor));
    at = (*out_tensor)->data;
    t->block = at;
    t->line = at + t->count;
    at = t->line + longest;
    for (int32_t d = 0; d < t->form.rank; d++) {
        eddy__fourier_fill(&t->lines[d], at);
        at += sizes[d];
    }
    return EDDY_OK;
}

/* ---- elements ---- */

static eddy__complex128 load(eddy_dtype dtype, const void *from, int64_t i)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return (double)((const float *)from)[i];
    case EDDY_FLOAT64:
        return ((const double *)from)[i];
    case EDDY_COMPLEX64:
        return (eddy__complex128)((const eddy__complex64 *)from)[i];
    default:
        return ((const eddy__complex128 *)from)[i];
    }
}

static void store(eddy_dtype dtype, void *to, int64_t i, eddy__complex128 x)
{
    if (dtype == EDDY_FLOAT32)
        ((float *)to)[i] = (float)creal(x);
    else if (dtype == EDDY_FLOAT64)
        ((double *)to)[i] = creal(x);
    else if (dtype == EDDY_COMPLEX64)
        ((eddy__complex64 *)to)[i] =
            eddy__complex((float)creal(x), (float)cimag(x));
    else
        ((eddy__complex128 *)to)[i] = x;
}

/* The block's row `i` stands at that row of an item with dimensions `dims`. */
static int64_t row_of(const transform *t, const int64_t *dims, int64_t i)
{
    int64_t at = 0, step = 1;

    for (int32_t d = t->form.rank - 2; d >= 0; d--) {
        assert(t->dims[d] > 0); /* nothing is done to an empty block */
        at += i % t->dims[d] * step;
        i /= t->dims[d];
        step *= dims[d];
    }
    return at;
}

/* Reads an item; what a half leaves out is put in by the last transform. */
static void read_item(eddy_kernel *k, const transform *t, const void *from,
                      int64_t first)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const int32_t last = t->form.rank - 1;
    const int64_t width = t->dims[last];
    int64_t rows;

    assert(width > 0 && t->block); /* an empty transform is done before */
    rows = t->count / width;
    for (int64_t i = 0; i < rows && !eddy__spent(k, 4 * width); i++) {
        const int64_t at = first + row_of(t, t->in, i) * t->in[last];

        for (int64_t j = 0; j < t->in_kept && !eddy__spent_at(k, j); j++)
            t->block[i * width + j] = load(dtype, from, at + j);
        for (int64_t j = t->in_kept; j < width && !eddy__spent_at(k, j); j++)
            t->block[i * width + j] = 0;
    }
}

static void write_item(eddy_kernel *k, const transform *t, void *to,
                       int64_t first)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const int64_t width = t->dims[t->form.rank - 1];
    const double scale = t->form.is_inverse ? t->scale : 1;
    int64_t rows;

    assert(width > 0 && t->block);
    rows = t->count / width;
    for (int64_t i = 0; i < rows && !eddy__spent(k, 4 * width); i++)
        for (int64_t j = 0; j < t->out_kept && !eddy__spent_at(k, j); j++)
            store(dtype, to, first + i * t->out_kept + j,
                  t->block[i * width + j] * scale);
}

/* ---- lines ---- */

/* The numbers of a line beyond the half are the conjugates of those in it. */
static void complete(eddy_kernel *k, const transform *t)
{
    const int64_t n = t->dims[t->form.rank - 1];

    for (int64_t j = t->in_kept; j < n && !eddy__spent_at(k, j); j++)
        t->line[j] = conj(t->line[n - j]);
}

static eddy_status run_axis(eddy_kernel *k, const transform *t, int32_t axis)
{
    const int64_t n = t->dims[axis];
    const bool completes =
        t->form.kind == FROM_HALF && axis == t->form.rank - 1;
    int64_t inner = 1;

    for (int32_t d = axis + 1; d < t->form.rank; d++)
        inner *= t->dims[d];
    for (int64_t i = 0; i < t->count / n; i++) {
        eddy__complex128 *at = t->block + i / inner * inner * n + i % inner;

        EDDY_TRY(eddy__go_on(k, 8 * n));
        for (int64_t j = 0; j < n && !eddy__spent_at(k, j); j++)
            t->line[j] = at[j * inner];
        if (completes)
            complete(k, t);
        eddy__fourier_run(&t->lines[axis], t->line, t->form.is_inverse);
        for (int64_t j = 0; j < n && !eddy__spent_at(k, j); j++)
            at[j * inner] = t->line[j];
    }
    return EDDY_OK;
}

/* The last dimension first, but last from a half, which it completes. */
static eddy_status run_block(eddy_kernel *k, const transform *t)
{
    const int32_t rank = t->form.rank;

    for (int32_t i = 0; i < rank; i++)
        EDDY_TRY(run_axis(k, t, t->form.kind == FROM_HALF ? i : rank - 1 - i));
    return EDDY_OK;
}

static eddy_status run_all(eddy_kernel *k, const transform *t, void *out)
{
    const int64_t width = t->dims[t->form.rank - 1];

    for (int64_t i = 0; i < t->batch; i++) {
        EDDY_TRY(eddy__go_on(k, 0));
        read_item(k, t, eddy__in_elements(k, 0), i * t->in_count);
        EDDY_TRY(run_block(k, t));
        write_item(k, t, out, i * (t->count / width * t->out_kept));
    }
    return EDDY_OK;
}

static eddy_status run(eddy_kernel *k)
{
    transform t = {.form = *(const form *)eddy__state(k)};
    eddy_tensor *room = NULL;
    eddy_status status;
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(describe(k, &t, &shape));
    EDDY_TRY(eddy__output_elements(k, 0, (eddy_dtype)k->node->out_dtypes[0],
                                   &shape, &out));
    if (t.count == 0 || t.batch == 0)
        return EDDY_OK;
    if (t.in_count == 0) {
        eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
        return EDDY_OK;
    }
    status = make_room(k, &t, &room);
    if (status == EDDY_OK)
        status = run_all(k, &t, out);
    if (room)
        eddy__tensor_recycle(k->heap, room);
    return status;
}

/* ---- for a plan ---- */

/* "IRFFT2D": from a half, by the inverse, of two dimensions. */
static form form_of(const char *op)
{
    form f = {.rank = 1, .kind = COMPLEX};

    f.is_inverse = *op == 'I';
    op += f.is_inverse;
    if (*op == 'R')
        f.kind = f.is_inverse ? FROM_HALF : TO_HALF;
    op += *op == 'R' ? 4 : 3;
    if (*op)
        f.rank = *op - '0';
    return f;
}

static eddy_status prepare(eddy_infer *infer)
{
    const eddy_dtype in = eddy_infer_input_dtype(infer, 0);
    const eddy_dtype out = eddy_infer_output_dtype(infer, 0);
    form *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = form_of(infer->node->op_name);
    if (state->kind == COMPLEX ||
        (in == EDDY_FLOAT64 || in == EDDY_COMPLEX128) ==
            (out == EDDY_FLOAT64 || out == EDDY_COMPLEX128))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no transform of %s to %s",
                           eddy_dtype_name(in), eddy_dtype_name(out));
}

static eddy_status infer(eddy_infer *infer)
{
    const form f = form_of(infer->node->op_name);
    eddy_shape shape = *eddy_infer_input(infer, 0);
    int64_t length;

    if (shape.rank < 0)
        return EDDY_OK;
    if (shape.rank < f.rank)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               BAD_RANK, (int)f.rank,
                               eddy__shape_print(&shape).text);
    for (int32_t d = 0; f.kind != COMPLEX && d < f.rank; d++) {
        const bool is_known =
            eddy__infer_constant_int(infer, 1, d, &length) && length >= 0;

        if (is_known && f.kind == TO_HALF && d == f.rank - 1 && length > 0)
            length = length / 2 + 1;
        shape.dims[shape.rank - f.rank + d] = is_known ? length : -1;
    }
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define PLAIN(name, text)                                                      \
    EDDY__OP_ROW(name, .inputs = "input: Tcomplex",                            \
                 .outputs = "output: Tcomplex",                                \
                 .attrs = "Tcomplex: complex = complex64", .infer = infer,     \
                 .kernel = run, .prepare = prepare, .flags = EDDY_OP_HEAVY,    \
                 .doc = text)
#define HALF(name, text)                                                       \
    EDDY__OP_ROW(name, .inputs = "input: Treal, fft_length: int32",            \
                 .outputs = "output: Tcomplex",                                \
                 .attrs = "Treal: {float32, float64} = float32, Tcomplex: "    \
                          "complex = complex64",                               \
                 .infer = infer, .kernel = run, .prepare = prepare,            \
                 .flags = EDDY_OP_HEAVY, .doc = text)
#define FULL(name, text)                                                       \
    EDDY__OP_ROW(name, .inputs = "input: Tcomplex, fft_length: int32",         \
                 .outputs = "output: Treal",                                   \
                 .attrs = "Treal: {float32, float64} = float32, Tcomplex: "    \
                          "complex = complex64",                               \
                 .infer = infer, .kernel = run, .prepare = prepare,            \
                 .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    PLAIN("FFT", "The Fourier transform of the last dimension."),
    PLAIN("FFT2D", "The Fourier transform of the last two dimensions."),
    PLAIN("FFT3D", "The Fourier transform of the last three dimensions."),
    PLAIN("IFFT", "The inverse of FFT."),
    PLAIN("IFFT2D", "The inverse of FFT2D."),
    PLAIN("IFFT3D", "The inverse of FFT3D."),
    HALF("RFFT", "The half of FFT that says all of real numbers."),
    HALF("RFFT2D", "The half of FFT2D that says all of real numbers."),
    HALF("RFFT3D", "The half of FFT3D that says all of real numbers."),
    FULL("IRFFT", "The inverse of RFFT."),
    FULL("IRFFT2D", "The inverse of RFFT2D."),
    FULL("IRFFT3D", "The inverse of RFFT3D."),
};

const eddy__op_table eddy__fft_ops = {specs, NULL,
                                      sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, PadV2, MirrorPad and MirrorPadGrad. */
#include "ops/array/box.h"
#include "ops/math/accumulate.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* What to put before and behind each dimension, and the shape that it makes. */
typedef struct margins {
    size_t size;  /* bytes an element */
    int32_t edge; /* how far from an edge a mirror stands */
    int64_t before[EDDY_MAX_RANK], behind[EDDY_MAX_RANK];
    eddy_shape shape;
    eddy_kernel *kernel; /* which is asked whether to stop */
} margins;

static eddy_status read_paddings(eddy_kernel *k, margins *m)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_view view = eddy__in_view(k, 1);

    if (view.rank != 2 || view.dims[0] != of->rank || view.dims[1] != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "paddings must have shape [%d,2], but it has %s",
                           of->rank,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    m->shape.rank = of->rank;
    for (int32_t d = 0; d < of->rank; d++) {
        m->before[d] = eddy__view_index(&view, 2 * (int64_t)d);
        m->behind[d] = eddy__view_index(&view, 2 * (int64_t)d + 1);
        if (m->before[d] < 0 || m->behind[d] < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "paddings must not be negative, but those of "
                               "dimension %d are %" PRId64 " and %" PRId64,
                               d, m->before[d], m->behind[d]);
    }
    return EDDY_OK;
}

static eddy_status read_margins(eddy_kernel *k, margins *m)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    EDDY_TRY(read_paddings(k, m));
    for (int32_t d = 0; d < of->rank; d++)
        if (__builtin_add_overflow(of->dims[d], m->before[d],
                                   &m->shape.dims[d]) ||
            __builtin_add_overflow(m->shape.dims[d], m->behind[d],
                                   &m->shape.dims[d]))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "dimension %d would be too long", d);
    return EDDY_OK;
}

static eddy_status infer_pad(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = *of;
    int64_t before, behind;

    if (of->rank < 0)
        return EDDY_OK;
    for (int32_t d = 0; d < of->rank; d++)
        if (of->dims[d] < 0 ||
            !eddy__infer_constant_int(infer, 1, 2 * (int64_t)d, &before) ||
            !eddy__infer_constant_int(infer, 1, 2 * d + 1, &behind) ||
            before < 0 || behind < 0 ||
            __builtin_add_overflow(shape.dims[d], before, &shape.dims[d]) ||
            __builtin_add_overflow(shape.dims[d], behind, &shape.dims[d]))
            shape.dims[d] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- Pad and PadV2 ---- */

static eddy_status pad(eddy_kernel *k, const unsigned char *filler)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK], start = 0;
    eddy__box box = {.item = size};
    unsigned char *out;
    margins m = {.edge = 0};

    EDDY_TRY(read_margins(k, &m));
    if (eddy__shape_equal(of, &m.shape)) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &m.shape, &out));
    eddy__repeat(eddy__asker(k, dtype), out, filler, size,
                 eddy__out(k, 0)->as.tensor->count);
    if (eddy__in_count(k, 0) == 0)
        return eddy__elements_done(k, 0);
    eddy__box_dense_strides(of, size, from);
    eddy__box_dense_strides(&m.shape, size, to);
    for (int32_t d = 0; d < of->rank; d++) {
        start += m.before[d] * to[d];
        eddy__box_add(&box, of->dims[d], from[d], to[d]);
    }
    eddy__box_copy(eddy__asker(k, dtype), &box, out + start,
                   eddy__in_elements(k, 0));
    return eddy__elements_done(k, 0);
}

static eddy_status run_pad(eddy_kernel *k)
{
    static const unsigned char zero[sizeof(eddy__string)];

    return pad(k, zero);
}

static eddy_status run_pad_v2(eddy_kernel *k)
{
    EDDY_TRY(eddy__want_single(k, 2, 0, "constant_values"));
    return pad(k, eddy__in_elements(k, 2));
}

/* ---- MirrorPad ---- */

/* State: how far from the edge the mirror stands, 1 for REFLECT. */
static eddy_status prepare_mirror(eddy_infer *infer)
{
    int32_t *edge;
    eddy_attr mode;

    EDDY_TRY(eddy__prepare_movable(infer));
    edge = eddy__prepare_state(infer, sizeof *edge);
    if (!edge)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "mode", &mode)) {
        const eddy_string *text = mode.as.strings;

        *edge = text->length == 7 && memcmp(text->data, "REFLECT", 7) == 0;
        if (*edge ||
            (text->length == 9 && memcmp(text->data, "SYMMETRIC", 9) == 0))
            return EDDY_OK;
    }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "mode must be REFLECT or SYMMETRIC");
}

static eddy_status check_mirror(eddy_kernel *k, const margins *m)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    for (int32_t d = 0; d < of->rank; d++) {
        int64_t most = of->dims[d] - m->edge;

        if (m->before[d] <= (most > 0 ? most : 0) &&
            m->behind[d] <= (most > 0 ? most : 0))
            continue;
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "paddings of dimension %d, of size %" PRId64
                           ", must be at most %" PRId64
                           ", but they are %" PRId64 " and %" PRId64,
                           d, of->dims[d], most > 0 ? most : 0, m->before[d],
                           m->behind[d]);
    }
    return EDDY_OK;
}

/*
 * Copies one of the 3^rank parts of the output; digit d of `part` to base 3 is
 * where it lies along dimension d: before, behind or within the input.
 */
static void copy_part(eddy_kernel *asker, const eddy_shape *of,
                      const margins *m, int32_t part, unsigned char *to,
                      const unsigned char *from)
{
    int64_t from_stride[EDDY_MAX_RANK], to_stride[EDDY_MAX_RANK];
    int64_t from_at = 0, to_at = 0;
    eddy__box box = {.item = m->size};

    eddy__box_dense_strides(of, m->size, from_stride);
    eddy__box_dense_strides(&m->shape, m->size, to_stride);
    for (int32_t d = 0; d < of->rank; d++, part /= 3) {
        int64_t n = of->dims[d], step = from_stride[d], start = 0,
                at = m->before[d];

        if (part % 3 == 1) {
            n = m->before[d];
            start = n - 1 + m->edge;
            at = 0;
        } else if (part % 3 == 2) {
            start = of->dims[d] - 1 - m->edge;
            at += n;
            n = m->behind[d];
        }
        if (n == 0)
            return;
        from_at += start * step;
        to_at += at * to_stride[d];
        eddy__box_add(&box, n, part % 3 == 0 ? step : -step, to_stride[d]);
    }
    eddy__box_copy(asker, &box, to + to_at, from + from_at);
}

static eddy_status run_mirror(eddy_kernel *k)
{
    const int32_t *edge = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    unsigned char *out;
    int32_t parts = 1;
    margins m = {.edge = 0};

    EDDY_TRY(read_margins(k, &m));
    m.size = eddy__element_size(dtype);
    m.edge = *edge;
    EDDY_TRY(check_mirror(k, &m));
    if (eddy__shape_equal(of, &m.shape)) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &m.shape, &out));
    for (int32_t d = 0; d < of->rank; d++)
        parts *= 3;
    for (int32_t part = 0; eddy__in_count(k, 0) > 0 && part < parts; part++)
        copy_part(eddy__asker(k, eddy__in_dtype(k, 0)), of, &m, part, out,
                  eddy__in_elements(k, 0));
    return eddy__elements_done(k, 0);
}

/* ---- MirrorPadGrad ---- */

/* The margins to take off; what is left of each dimension must hold them. */
static eddy_status read_folds(eddy_kernel *k, margins *m)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    EDDY_TRY(read_paddings(k, m));
    for (int32_t d = 0; d < of->rank; d++) {
        const int64_t most =
            m->before[d] > m->behind[d] ? m->before[d] : m->behind[d];
        int64_t sum;

        if (__builtin_add_overflow(m->before[d], m->behind[d], &sum) ||
            sum > of->dims[d] ||
            (most > 0 && most > of->dims[d] - sum - m->edge))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "paddings of dimension %d, of size %" PRId64
                               ", are too large: they are %" PRId64
                               " and %" PRId64,
                               d, of->dims[d], m->before[d], m->behind[d]);
        m->shape.dims[d] = of->dims[d] - sum;
    }
    return EDDY_OK;
}

/* The place inside the margins of which place `i` is an image. */
static int64_t fold(const margins *m, int32_t d, int64_t i)
{
    const int64_t n = m->shape.dims[d];

    i -= m->before[d];
    if (i < 0)
        return -i - 1 + m->edge;
    return i < n ? i : 2 * n - 1 - i - m->edge;
}

/* Elements that are added between two questions whether to stop. */
#define FOLDED ((int64_t)1 << 16)

/* Adds a row of the input, of which the last dimension is folded. */
static void fold_row(const margins *m, int32_t d, int64_t dim, eddy__adder add,
                     unsigned char *to, const unsigned char *from)
{
    const int64_t before = m->before[d], n = m->shape.dims[d];

    for (int64_t i = 0; i < n && !eddy__spent(m->kernel, FOLDED); i += FOLDED)
        add(to + (size_t)i * m->size, from + (size_t)(before + i) * m->size,
            n - i < FOLDED ? n - i : FOLDED);
    for (int64_t i = 0; i < before && !eddy__spent(m->kernel, 8); i++)
        add(to + (size_t)fold(m, d, i) * m->size, from + (size_t)i * m->size,
            1);
    for (int64_t i = before + n; i < dim && !eddy__spent(m->kernel, 8); i++)
        add(to + (size_t)fold(m, d, i) * m->size, from + (size_t)i * m->size,
            1);
}

static void fold_all(const eddy_shape *of, const margins *m, eddy__adder add,
                     unsigned char *to, const unsigned char *from)
{
    const int32_t last = of->rank - 1;
    int64_t strides[EDDY_MAX_RANK], at[EDDY_MAX_RANK] = {0};
    int32_t d;

    eddy__box_dense_strides(&m->shape, m->size, strides);
    do {
        unsigned char *row = to;

        for (d = 0; d < last; d++)
            row += fold(m, d, at[d]) * strides[d];
        fold_row(m, last, of->dims[last], add, row, from);
        from += (size_t)of->dims[last] * m->size;
        for (d = last - 1; d >= 0 && ++at[d] == of->dims[d]; d--)
            at[d] = 0;
    } while (d >= 0 && !eddy__spent(m->kernel, 8));
}

static eddy_status run_fold(eddy_kernel *k)
{
    const int32_t *edge = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    margins m = {.edge = *edge, .size = eddy_dtype_size(dtype), .kernel = k};
    unsigned char *out;

    EDDY_TRY(read_folds(k, &m));
    if (eddy__shape_equal(of, &m.shape)) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &m.shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    fold_all(of, &m, eddy__accumulate_adder_of(dtype), out,
             eddy__in_elements(k, 0));
    return EDDY_OK;
}

static eddy_status infer_fold(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);
    int64_t before, behind;

    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dims[d] >= 0 &&
            eddy__infer_constant_int(infer, 1, 2 * (int64_t)d, &before) &&
            eddy__infer_constant_int(infer, 1, 2 * (int64_t)d + 1, &behind) &&
            before >= 0 && behind >= 0 && before <= shape.dims[d] &&
            behind <= shape.dims[d] - before)
            shape.dims[d] -= before + behind;
        else
            shape.dims[d] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Pad", .inputs = "input: T, paddings: Tpaddings",
        .outputs = "output: T", .attrs = "T: type, Tpaddings: index = int32",
        .infer = infer_pad, .kernel = run_pad, .prepare = eddy__prepare_movable,
        .doc = "The input with zeros around it."),
    EDDY__OP_ROW(
        "PadV2", .inputs = "input: T, paddings: Tpaddings, constant_values: T",
        .outputs = "output: T", .attrs = "T: type, Tpaddings: index = int32",
        .infer = infer_pad, .kernel = run_pad_v2,
        .prepare = eddy__prepare_movable,
        .doc = "The input with a constant around it."),
    EDDY__OP_ROW("MirrorPad", .inputs = "input: T, paddings: Tpaddings",
                 .outputs = "output: T",
                 .attrs = "T: type, Tpaddings: index = int32, mode: string",
                 .infer = infer_pad, .kernel = run_mirror,
                 .prepare = prepare_mirror,
                 .doc = "The input with its mirror images around it."),
    EDDY__OP_ROW(
        "MirrorPadGrad", .inputs = "input: T, paddings: Tpaddings",
        .outputs = "output: T",
        .attrs = "T: number, Tpaddings: index = int32, mode: string",
        .infer = infer_fold, .kernel = run_fold, .prepare = prepare_mirror,
        .doc =
            "The gradient of MirrorPad: mirror images folded back and added."),
};

const eddy__op_table eddy__pad_ops = {specs, NULL,
                                      sizeof specs / sizeof *specs};

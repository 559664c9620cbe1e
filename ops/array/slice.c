/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slice and StridedSlice.
 *
 * StridedSlice's begins, ends and strides have an entry per item of an index
 * expression such as x[..., tf.newaxis, 2:7:3, 1]; bit i of its masks says
 * something of entry i: begin, end (that the bound is not given), ellipsis,
 * new_axis, shrink_axis (an index, not a range), the earlier of the last three
 * winning.  An expression without an ellipsis ends in one.
 */
#include "ops/array/box.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What to take of each input dimension, and the shape that it makes. */
typedef struct region {
    int64_t begin[EDDY_MAX_RANK], stride[EDDY_MAX_RANK], size[EDDY_MAX_RANK];
    eddy_shape shape;
} region;

static bool is_whole(const region *r, const eddy_shape *of)
{
    for (int32_t d = 0; d < of->rank; d++)
        if (r->begin[d] != 0 || r->stride[d] != 1 || r->size[d] != of->dims[d])
            return false;
    return true;
}

static eddy_status copy_region(eddy_kernel *k, const region *r)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    eddy_shape dense = {.rank = of->rank};
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK], start = 0;
    eddy__box box = {.item = size};
    unsigned char *out;

    if (is_whole(r, of))
        return eddy__output_reshaped(k, 0, 0, &r->shape);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &r->shape, &out));
    if (eddy__value_is_counted(eddy__out(k, 0)) &&
        eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    memcpy(dense.dims, r->size, sizeof dense.dims);
    eddy__dense_strides(of, size, from);
    eddy__dense_strides(&dense, size, to);
    for (int32_t d = 0; d < of->rank; d++) {
        start += r->begin[d] * from[d];
        if (r->size[d] > 1)
            eddy__box_add(&box, r->size[d], r->stride[d] * from[d], to[d]);
    }
    eddy__box_copy(eddy__asker(k, dtype), &box, out,
                   eddy__in_elements(k, 0) + start);
    return eddy__elements_done(k, 0);
}

/* ---- Slice ---- */

static eddy_status check_slice(eddy_kernel *k, const eddy_shape *of, region *r)
{
    eddy_view begin, size;

    EDDY_TRY(eddy__vector_argument(k, 1, "begin", of->rank, &begin));
    EDDY_TRY(eddy__vector_argument(k, 2, "size", of->rank, &size));
    r->shape.rank = of->rank;
    for (int32_t d = 0; d < of->rank; d++) {
        int64_t b = eddy__index_at(&begin, d), n = eddy__index_at(&size, d);

        if (b < 0 || b > of->dims[d])
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "expected begin[%d] in [0, %" PRId64
                               "], but got %" PRId64,
                               d, of->dims[d], b);
        if (n < -1 || n > of->dims[d] - b)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "expected size[%d] in [0, %" PRId64
                               "], but got %" PRId64,
                               d, of->dims[d] - b, n);
        r->begin[d] = b;
        r->stride[d] = 1;
        r->size[d] = n < 0 ? of->dims[d] - b : n;
        r->shape.dims[d] = r->size[d];
    }
    return EDDY_OK;
}

static eddy_status run_slice(eddy_kernel *k)
{
    region r;

    EDDY_TRY(check_slice(k, eddy__in_shape(k, 0), &r));
    return copy_region(k, &r);
}

static eddy_status infer_slice(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__infer_shape_argument(infer, 2);
    int64_t begin, size;

    if (of->rank >= 0 && shape.rank != of->rank)
        shape = eddy__shape_of_rank(of->rank);
    for (int32_t d = 0; of->rank >= 0 && d < shape.rank; d++)
        if (eddy__infer_constant_int(infer, 2, d, &size) && size == -1 &&
            eddy__infer_constant_int(infer, 1, d, &begin) && begin >= 0 &&
            begin <= of->dims[d])
            shape.dims[d] = of->dims[d] - begin;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- StridedSlice ---- */

typedef struct masks {
    uint32_t begin, end, ellipsis, new_axis, shrink;
    bool is_index; /* entry 0 is an index */
} masks;

/* An index expression; in a shape function its numbers may be unknown. */
typedef struct expression {
    masks mask;
    int32_t n;
    bool is_known;
    eddy_view begin, end, strides;
} expression;

/* What is wrong with an expression. */
typedef struct mistake {
    eddy_detail detail;
    char text[160];
} mistake;

static masks read_masks(const eddy_infer *infer)
{
    masks m = {.begin = (uint32_t)eddy__infer_int(infer, "begin_mask"),
               .end = (uint32_t)eddy__infer_int(infer, "end_mask"),
               .ellipsis = (uint32_t)eddy__infer_int(infer, "ellipsis_mask"),
               .new_axis = (uint32_t)eddy__infer_int(infer, "new_axis_mask"),
               .shrink = (uint32_t)eddy__infer_int(infer, "shrink_axis_mask")};

    m.is_index = (m.shrink & ~m.new_axis & ~m.ellipsis & 1u) != 0;
    return m;
}

static eddy_status prepare_strided(eddy_infer *infer)
{
    masks *state;

    EDDY_TRY(eddy__prepare_arranged(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = read_masks(infer);
    return EDDY_OK;
}

static bool bit(uint32_t mask, int32_t i)
{
    return (mask >> i & 1u) != 0;
}

/* A bound of a range, counted from the end if it is negative, and clamped. */
static int64_t clamp_bound(int64_t v, int64_t dim, int64_t low, int64_t high)
{
    if (v < 0)
        v += dim;
    return v < low ? low : v > high ? high : v;
}

/* How many elements a range has, and where it begins. */
static int64_t count_range(const expression *e, int32_t i, int64_t dim,
                           int64_t *out_begin)
{
    int64_t stride = eddy__index_at(&e->strides, i), begin, end, length;
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;

    begin = bit(e->mask.begin, i)
                ? (stride > 0 ? low : high)
                : clamp_bound(eddy__index_at(&e->begin, i), dim, low, high);
    end = bit(e->mask.end, i)
              ? (stride > 0 ? high : low)
              : clamp_bound(eddy__index_at(&e->end, i), dim, low, high);
    *out_begin = begin;
    length = end - begin;
    if (length == 0 || stride == 0 || (length < 0) != (stride < 0))
        return 0;
    return length / stride + (length % stride != 0);
}

/* Entry `i`, an index or a range, of dimension `d`. */
static bool take_entry(const expression *e, int32_t i, int32_t d, int64_t dim,
                       region *r, mistake *m)
{
    int64_t index = -1;
    bool shrinks = bit(e->mask.shrink, i);

    r->begin[d] = 0;
    r->stride[d] = 1;
    r->size[d] = shrinks ? 1 : -1;
    if (!e->is_known)
        return true;
    r->stride[d] = eddy__index_at(&e->strides, i);
    if (r->stride[d] == 0 || (shrinks && r->stride[d] < 0)) {
        m->detail = EDDY_E_VALUE;
        snprintf(m->text, sizeof m->text, "strides[%d] is %" PRId64 "; %s", i,
                 r->stride[d],
                 shrinks ? "that of an index must be 1" : "it must not be 0");
        return false;
    }
    if (dim < 0)
        return true;
    if (!shrinks) {
        r->size[d] = count_range(e, i, dim, &r->begin[d]);
        return true;
    }
    r->stride[d] = 1;
    index = eddy__index_at(&e->begin, i);
    r->begin[d] = index < 0 ? index + dim : index;
    if (r->begin[d] >= 0 && r->begin[d] < dim)
        return true;
    m->detail = EDDY_E_INDEX;
    snprintf(m->text, sizeof m->text,
             "slice index %" PRId64 " of dimension %d is out of bounds: it is "
             "not in [%" PRId64 ", %" PRId64 ")",
             index, d, -dim, dim);
    return false;
}

static bool add_dim(region *r, int64_t dim, mistake *m)
{
    if (r->shape.rank == EDDY_MAX_RANK) {
        m->detail = EDDY_E_RANK;
        snprintf(m->text, sizeof m->text,
                 "the result has a rank above %d, which is not supported",
                 EDDY_MAX_RANK);
        return false;
    }
    r->shape.dims[r->shape.rank++] = dim;
    return true;
}

/*
 * Where the ellipsis is (`n` if it is not written), and the dimension at which
 * it ends in a tensor of rank `rank`.
 */
static bool find_ellipsis(const expression *e, int32_t rank, int32_t *out_at,
                          int32_t *out_end, mistake *m)
{
    int32_t at = e->n, behind = 0;

    for (int32_t i = 0; i < e->n; i++) {
        if (bit(e->mask.ellipsis, i) && at < e->n) {
            m->detail = EDDY_E_VALUE;
            snprintf(m->text, sizeof m->text,
                     "entries %d and %d are both an ellipsis; there may be "
                     "one",
                     at, i);
            return false;
        }
        if (bit(e->mask.ellipsis, i))
            at = i;
        else if (at < e->n && !bit(e->mask.new_axis, i))
            behind++;
    }
    *out_at = at;
    *out_end = rank - behind;
    return true;
}

/* Finds out what the expression takes of a tensor of shape `of`. */
static bool resolve(const expression *e, const eddy_shape *of, region *r,
                    mistake *m)
{
    int32_t d = 0, ellipsis, ellipsis_end;

    r->shape.rank = 0;
    if (!find_ellipsis(e, of->rank, &ellipsis, &ellipsis_end, m))
        return false;
    for (int32_t i = 0; i <= e->n; i++) {
        if (i == ellipsis) {
            for (; d < ellipsis_end; d++) {
                r->begin[d] = 0;
                r->stride[d] = 1;
                r->size[d] = of->dims[d];
                if (!add_dim(r, of->dims[d], m))
                    return false;
            }
        } else if (i == e->n) {
            break;
        } else if (bit(e->mask.new_axis, i)) {
            if (!add_dim(r, 1, m))
                return false;
        } else if (d == of->rank) {
            m->detail = EDDY_E_RANK;
            snprintf(m->text, sizeof m->text,
                     "entry %d of the index is one too many for an input of "
                     "rank %d",
                     i, of->rank);
            return false;
        } else {
            if (!take_entry(e, i, d, of->dims[d], r, m) ||
                (!bit(e->mask.shrink, i) && !add_dim(r, r->size[d], m)))
                return false;
            d++;
        }
    }
    return true;
}

/* The one element of an int32 or int64 vector; false if it is not that. */
static bool only_index(const eddy__value *v, int64_t *out)
{
    const eddy_tensor *t = v->as.tensor;

    if (v->kind == EDDY__SCALAR || t->count != 1 || t->shape.rank != 1)
        return false;
    if (v->dtype == EDDY_INT32)
        *out = *(const int32_t *)t->data;
    else if (v->dtype == EDDY_INT64)
        *out = *(const int64_t *)t->data;
    else
        return false;
    return true;
}

/* x[i] of a vector, which loops do all the time; false if it is not that, or
 * if something is wrong with it. */
static bool take_element(eddy_kernel *k)
{
    const masks *mask = eddy__state(k);
    const eddy__value *in = eddy__in(k, 0);
    int64_t index, end, stride;
    uint64_t bits = 0;
    size_t size;

    if (!mask->is_index || in->kind == EDDY__SCALAR ||
        !eddy__dtype_is_inline((eddy_dtype)in->dtype) ||
        in->as.tensor->shape.rank != 1 || !only_index(eddy__in(k, 1), &index) ||
        !only_index(eddy__in(k, 2), &end) ||
        !only_index(eddy__in(k, 3), &stride) || stride <= 0)
        return false;
    if (index < 0)
        index += in->as.tensor->count;
    if (index < 0 || index >= in->as.tensor->count)
        return false;
    size = eddy_dtype_size((eddy_dtype)in->dtype);
    memcpy(&bits, (const char *)in->as.tensor->data + (size_t)index * size,
           size);
    eddy__out_scalar(eddy__out(k, 0), (eddy_dtype)in->dtype, bits);
    return true;
}

/* What the expression in inputs 1 to 3 takes of a tensor of shape `of`. */
static eddy_status read_expression(eddy_kernel *k, const eddy_shape *of,
                                   region *r)
{
    expression e = {.mask = *(const masks *)eddy__state(k),
                    .is_known = true,
                    .begin = eddy__in_view(k, 1),
                    .end = eddy__in_view(k, 2),
                    .strides = eddy__in_view(k, 3)};
    mistake m;

    if (e.begin.rank != 1 || e.end.rank != 1 || e.strides.rank != 1 ||
        e.begin.count != e.end.count || e.begin.count != e.strides.count ||
        e.begin.count > 32)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "begin, end and strides must be vectors of one length, at most "
            "32, but they have shapes %s, %s and %s",
            eddy__shape_print(eddy__in_shape(k, 1)).text,
            eddy__shape_print(eddy__in_shape(k, 2)).text,
            eddy__shape_print(eddy__in_shape(k, 3)).text);
    e.n = (int32_t)e.begin.count;
    if (!resolve(&e, of, r, &m))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, m.detail, "%s", m.text);
    return EDDY_OK;
}

static eddy_status run_strided(eddy_kernel *k)
{
    region r = {.shape = {.rank = 0}};

    if (take_element(k))
        return EDDY_OK;
    EDDY_TRY(read_expression(k, eddy__in_shape(k, 0), &r));
    return copy_region(k, &r);
}

static eddy_view constant_view(const eddy_tensor *t)
{
    return (eddy_view){
        .dtype = (eddy_dtype)t->dtype, .count = t->count, .data = t->data};
}

/* A mistake in the expression is left to the kernel, which may never run. */
static eddy_status infer_strided(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    const eddy_tensor *begin = eddy_infer_constant(infer, 1);
    const eddy_tensor *end = eddy_infer_constant(infer, 2);
    const eddy_tensor *strides = eddy_infer_constant(infer, 3);
    const eddy_shape *length = eddy_infer_input(infer, 3);
    expression e = {.mask = read_masks(infer)};
    mistake m;
    region r;

    if (of->rank < 0 || length->rank != 1 || length->dims[0] < 0 ||
        length->dims[0] > 32)
        return EDDY_OK;
    e.n = (int32_t)length->dims[0];
    if (begin && end && strides && begin->count == e.n && end->count == e.n &&
        strides->count == e.n) {
        e.is_known = true;
        e.begin = constant_view(begin);
        e.end = constant_view(end);
        e.strides = constant_view(strides);
    }
    if (resolve(&e, of, &r, &m))
        eddy_infer_set_output(infer, 0, &r.shape);
    return EDDY_OK;
}

/* ---- StridedSliceGrad ---- */

/* Puts the gradient where StridedSlice took its output, zeros elsewhere. */
static eddy_status put_region(eddy_kernel *k, const region *r,
                              const eddy_shape *of)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 4);
    const size_t size = eddy__element_size(dtype);
    const int64_t taken = eddy__in_count(k, 4);
    eddy_shape dense = {.rank = of->rank};
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK], start = 0, count = 1;
    eddy__box box = {.item = size};
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, of, &out));
    if (eddy__value_is_counted(eddy__out(k, 0)))
        count = eddy__out(k, 0)->as.tensor->count;
    if (taken < count)
        eddy__zero_bytes(eddy__asker(k, dtype), out, (size_t)count * size);
    memcpy(dense.dims, r->size, sizeof dense.dims);
    eddy__dense_strides(of, size, to);
    eddy__dense_strides(&dense, size, from);
    for (int32_t d = 0; taken > 0 && d < of->rank; d++) {
        start += r->begin[d] * to[d];
        if (r->size[d] > 1)
            eddy__box_add(&box, r->size[d], from[d], r->stride[d] * to[d]);
    }
    if (taken > 0)
        eddy__box_copy(eddy__asker(k, dtype), &box, out + start,
                       eddy__in_elements(k, 4));
    return eddy__elements_done(k, 0);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_view view = eddy__in_view(k, 0);
    eddy_shape of = {.rank = 0};
    region r = {.shape = {.rank = 0}};

    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &of));
    EDDY_TRY(read_expression(k, &of, &r));
    if (!eddy__shape_equal(eddy__in_shape(k, 4), &r.shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "dy must have shape %s, but it has %s",
                           eddy__shape_print(&r.shape).text,
                           eddy__shape_print(eddy__in_shape(k, 4)).text);
    return put_region(k, &r, &of);
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define MASKS                                                                  \
    ", begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, "       \
    "new_axis_mask: int = 0, shrink_axis_mask: int = 0"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Slice", .inputs = "input: T, begin: Index, size: Index",
                 .outputs = "output: T", .attrs = "T: type, Index: index",
                 .infer = infer_slice, .kernel = run_slice,
                 .prepare = eddy__prepare_arranged,
                 .doc = "`size` elements of each dimension from `begin` on."),
    EDDY__OP_ROW("StridedSlice",
                 .inputs = "input: T, begin: Index, end: Index, strides: Index",
                 .outputs = "output: T",
                 .attrs = "T: type, Index: {int16, int32, int64}" MASKS,
                 .infer = infer_strided, .kernel = run_strided,
                 .prepare = prepare_strided,
                 .doc = "What an index expression with ranges, indices, an "
                        "ellipsis and new axes takes."),
    EDDY__OP_ROW(
        "StridedSliceGrad",
        .inputs =
            "shape: Index, begin: Index, end: Index, strides: Index, dy: T",
        .outputs = "output: T", .attrs = "T: type, Index: index" MASKS,
        .infer = infer_gradient, .kernel = run_gradient,
        .prepare = prepare_strided,
        .doc = "dy where StridedSlice takes its output from the shape, else "
               "zeros."),
};

const eddy__op_table eddy__slice_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

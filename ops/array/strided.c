/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what an index expression takes of a tensor. */
#include "ops/array/strided.h"

#include "ops/math/elements.h"

#include <inttypes.h>
#include <stdio.h>

/* An index expression; in a shape function its numbers may be unknown. */
typedef struct expression {
    eddy__slice_masks mask;
    int32_t n;
    bool is_known;
    eddy_view begin, end, strides;
} expression;

/* What is wrong with an expression. */
typedef struct mistake {
    eddy_detail detail;
    char text[160];
} mistake;

static eddy__slice_masks read_masks(const eddy_infer *infer)
{
    eddy__slice_masks m = {
        .begin = (uint32_t)eddy__infer_int(infer, "begin_mask"),
        .end = (uint32_t)eddy__infer_int(infer, "end_mask"),
        .ellipsis = (uint32_t)eddy__infer_int(infer, "ellipsis_mask"),
        .new_axis = (uint32_t)eddy__infer_int(infer, "new_axis_mask"),
        .shrink = (uint32_t)eddy__infer_int(infer, "shrink_axis_mask")};

    m.is_index = (m.shrink & ~m.new_axis & ~m.ellipsis & 1u) != 0;
    return m;
}

eddy_status eddy__strided_prepare(eddy_infer *infer)
{
    eddy__slice_masks *state;

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
                       eddy__region *r, mistake *m)
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

static bool add_dim(eddy__region *r, int64_t dim, mistake *m)
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
static bool resolve(const expression *e, const eddy_shape *of, eddy__region *r,
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
                r->place[d] = r->shape.rank;
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
            r->place[d] = bit(e->mask.shrink, i) ? -1 : r->shape.rank;
            if (!take_entry(e, i, d, of->dims[d], r, m) ||
                (!bit(e->mask.shrink, i) && !add_dim(r, r->size[d], m)))
                return false;
            d++;
        }
    }
    return true;
}

eddy_status eddy__strided_read(eddy_kernel *k, const eddy_shape *of,
                               eddy__region *r)
{
    expression e = {.mask = *(const eddy__slice_masks *)eddy__state(k),
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

static eddy_view constant_view(const eddy_tensor *t)
{
    return (eddy_view){
        .dtype = (eddy_dtype)t->dtype, .count = t->count, .data = t->data};
}

eddy_status eddy__strided_infer(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    const eddy_tensor *begin = eddy_infer_constant(infer, 1);
    const eddy_tensor *end = eddy_infer_constant(infer, 2);
    const eddy_tensor *strides = eddy_infer_constant(infer, 3);
    const eddy_shape *length = eddy_infer_input(infer, 3);
    expression e = {.mask = read_masks(infer)};
    mistake m;
    eddy__region r;

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

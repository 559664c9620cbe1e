/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that cut tensors, put them together, and pad them. */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* ---- Slice ---- */

/* Whole numbers of some axes, a vector of int64; known ones are at hand. */
typedef struct numbers {
    eddy_output vector;
    bool is_known;
    eddy__onnx_ints known;
} numbers;

typedef struct cut {
    numbers begin, end, step;
} cut;

static numbers known_numbers(eddy__onnx_op *op, const eddy__onnx_ints *known)
{
    return (numbers){.vector = eddy__onnx_int64s(op, known->at, known->n),
                     .is_known = true,
                     .known = *known};
}

static numbers input_numbers(eddy__onnx_op *op, size_t i)
{
    numbers n = {.vector = CAST(IN(i), EDDY_INT64)};

    n.is_known = eddy__onnx_known_ints(op, i, &n.known);
    return n;
}

/* As many ones as there are `like`. */
static numbers ones(eddy__onnx_op *op, const numbers *like)
{
    eddy__onnx_ints known = {.n = like->known.n};

    if (!like->is_known)
        return (numbers){.vector = OP("OnesLike", like->vector)};
    for (size_t i = 0; i < known.n; i++)
        known.at[i] = 1;
    return known_numbers(op, &known);
}

static eddy_output slice(eddy__onnx_op *op, eddy_output x, const cut *c,
                         int64_t mask)
{
    const eddy_attr attrs[] = {eddy_attr_int("begin_mask", &mask),
                               eddy_attr_int("end_mask", &mask)};

    return OP_WITH("StridedSlice", attrs, x, c->begin.vector, c->end.vector,
                   c->step.vector);
}

/*
 * Of each of `n` axes the number at its place in `order`; `other` for those
 * whose place is behind the last.
 */
static void put_in_order(eddy__onnx_op *op, numbers *values, int64_t other,
                         const int64_t *order, size_t n)
{
    eddy__onnx_ints known = {.n = n};

    if (!values->is_known) {
        values->vector =
            OP("GatherV2", eddy__onnx_concat(op, values->vector, INT64S(other)),
               eddy__onnx_int64s(op, order, n), INT32(0));
        return;
    }
    for (size_t i = 0; i < n; i++)
        known.at[i] = (size_t)order[i] < values->known.n
                          ? values->known.at[order[i]]
                          : other;
    *values = known_numbers(op, &known);
}

/* Where axis i is among `axes`; the number of axes where it is not there. */
static bool order_of(eddy__onnx_op *op, const eddy__onnx_ints *axes,
                     int32_t rank, int64_t *order, int64_t *out_n,
                     int64_t *out_mask)
{
    int64_t n = 0;

    for (size_t i = 0; i < axes->n; i++) {
        const int64_t axis = axes->at[i] < 0 ? axes->at[i] + rank : axes->at[i];

        if (axis < 0 || axis >= EDDY_MAX_RANK) {
            eddy__onnx_fail(op, EDDY_E_INDEX, "axis %lld is out of range",
                            (long long)axes->at[i]);
            return false;
        }
        while (n <= axis)
            order[n++] = (int64_t)axes->n;
        order[axis] = (int64_t)i;
    }
    *out_n = n;
    *out_mask = 0;
    for (int64_t i = 0; i < n; i++)
        if (order[i] == (int64_t)axes->n)
            *out_mask |= (int64_t)1 << i;
    return true;
}

/* As many numbers as axes are needed; those that are known are so. */
static bool fits(eddy__onnx_op *op, const numbers *values, size_t n)
{
    if (!values->is_known || values->known.n == n)
        return true;
    eddy__onnx_fail(op, EDDY_E_DIM, "%zu numbers for %zu axes", values->known.n,
                    n);
    return false;
}

static eddy_output slice_known(eddy__onnx_op *op, eddy_output x, cut c,
                               const eddy__onnx_ints *axes)
{
    int64_t order[EDDY_MAX_RANK], n, mask;
    bool is_plain = true;

    if (!order_of(op, axes, eddy__onnx_shape(op, x).rank, order, &n, &mask) ||
        !fits(op, &c.begin, axes->n) || !fits(op, &c.end, axes->n) ||
        !fits(op, &c.step, axes->n))
        return EDDY__NO_OUTPUT;
    for (int64_t i = 0; i < n; i++)
        is_plain = is_plain && order[i] == i;
    if (is_plain)
        return slice(op, x, &c, 0);
    put_in_order(op, &c.begin, 0, order, (size_t)n);
    put_in_order(op, &c.end, 0, order, (size_t)n);
    put_in_order(op, &c.step, 1, order, (size_t)n);
    return slice(op, x, &c, mask);
}

/* `values` at the axes, which only the run knows, in the rest `others`. */
static eddy_output spread(eddy__onnx_op *op, eddy_output others,
                          eddy_output axes, eddy_output values)
{
    return OP("TensorScatterUpdate", others, OP("ExpandDims", axes, INT32(1)),
              values);
}

static eddy_output slice_unknown(eddy__onnx_op *op, eddy_output x, cut c,
                                 eddy_output axes)
{
    const eddy_output dims = eddy__onnx_dims(op, x);
    const eddy_output at =
        eddy__onnx_from_zero(op, axes, eddy__onnx_rank64(op, x));

    c.begin.vector = spread(op, OP("ZerosLike", dims), at, c.begin.vector);
    c.end.vector = spread(op, dims, at, c.end.vector);
    c.step.vector = spread(op, OP("OnesLike", dims), at, c.step.vector);
    return slice(op, x, &c, 0);
}

static bool axes_known(eddy__onnx_op *op, eddy_output x,
                       const eddy__onnx_ints *axes)
{
    const bool has_rank = eddy__onnx_shape(op, x).rank >= 0;

    for (size_t i = 0; i < axes->n; i++)
        if (axes->at[i] < 0 && !has_rank)
            return false;
    return true;
}

static void emit_slice(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    cut c = {.begin = input_numbers(op, 1), .end = input_numbers(op, 2)};
    eddy__onnx_ints axes;

    c.step = GIVEN(4) ? input_numbers(op, 4) : ones(op, &c.begin);
    if (!GIVEN(3))
        GIVE(0, slice(op, x, &c, 0));
    else if (eddy__onnx_known_ints(op, 3, &axes) && axes_known(op, x, &axes))
        GIVE(0, slice_known(op, x, c, &axes));
    else
        GIVE(0, slice_unknown(op, x, c, CAST(IN(3), EDDY_INT64)));
}

static void emit_old_slice(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_ints starts = {0}, ends = {0}, axes = {0};
    cut c;

    if (!eddy__onnx_ints_of(op, "starts", &starts) ||
        !eddy__onnx_ints_of(op, "ends", &ends)) {
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute starts or ends");
        return;
    }
    c = (cut){.begin = known_numbers(op, &starts),
              .end = known_numbers(op, &ends)};
    c.step = ones(op, &c.begin);
    if (!eddy__onnx_ints_of(op, "axes", &axes))
        GIVE(0, slice(op, x, &c, 0));
    else if (axes_known(op, x, &axes))
        GIVE(0, slice_known(op, x, c, &axes));
    else
        GIVE(0,
             slice_unknown(op, x, c, eddy__onnx_int64s(op, axes.at, axes.n)));
}

/* ---- Split, Concat ---- */

/* As many equal parts as there are outputs, the last of which is smaller. */
static eddy_output equal_sizes(eddy__onnx_op *op, eddy_output x, int64_t axis,
                               int64_t n)
{
    const eddy__onnx_size all = DIM(x, axis);
    const eddy__onnx_size part = OVER(PLUS(all, FIXED(n - 1)), FIXED(n));
    const eddy_output starts =
        OP("Mul", eddy__onnx_count(op, INT64(n)), SIZED(part));
    const eddy_output left = OP("Sub", SIZED(all), starts);

    return OP("Maximum", OP("Minimum", left, SIZED(part)), INT64(0));
}

static void emit_split(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const eddy_output x = IN(0);
    const int64_t n = (int64_t)op->n_outputs;
    const eddy_attr attrs[] = {eddy_attr_int("num_split", &n)};
    eddy_output sizes, parts;
    const int64_t *split;
    size_t n_split;

    eddy__onnx_ignore(op, "num_outputs");
    if (GIVEN(1)) {
        sizes = CAST(IN(1), EDDY_INT64);
    } else {
        n_split = eddy__onnx_list_of_ints(op, "split", &split);
        sizes = n_split > 0 ? eddy__onnx_int64s(op, split, n_split)
                            : equal_sizes(op, x, axis, n);
    }
    parts = OP_WITH("SplitV", attrs, x, sizes, INT32(axis));
    for (uint32_t i = 0; i < op->n_outputs; i++)
        GIVE(i, eddy__onnx_nth(parts, i));
}

static void emit_concat(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 1);
    eddy_output all[EDDY__ONNX_MOST_INTS], joined = EDDY__NO_OUTPUT;

    if (op->row->first >= 4 && !eddy__onnx_has(op, "axis")) {
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute axis");
        return;
    }
    if (op->n_inputs == 1) {
        GIVE(0, OP("Identity", IN(0)));
        return;
    }
    /* What was joined is the first of the next few. */
    for (size_t done = 0; done < op->n_inputs;) {
        size_t n = 0;

        if (done > 0)
            all[n++] = joined;
        while (done < op->n_inputs && n < EDDY__ONNX_MOST_INTS)
            all[n++] = IN(done++);
        joined = eddy__onnx_join(op, all, n, axis);
    }
    GIVE(0, joined);
}

/* ---- Pad ---- */

/* Before and behind each axis of a tensor: two vectors of int64. */
typedef struct margins {
    eddy_output before, behind;
    bool are_known;
    int32_t rank;
    int64_t known[2][EDDY_MAX_RANK];
} margins;

static eddy_output is_set_at(eddy__onnx_op *op, eddy_output x, eddy_output axes,
                             eddy_output values)
{
    const eddy_output dims = eddy__onnx_dims(op, x);

    return spread(op, OP("ZerosLike", dims),
                  eddy__onnx_from_zero(op, axes, eddy__onnx_rank64(op, x)),
                  values);
}

/* The margins that are known: those of `axes`, or of all. */
static bool known_margins(eddy__onnx_op *op, const eddy__onnx_ints *pads,
                          const eddy__onnx_ints *axes, int32_t rank, margins *m)
{
    const size_t n = pads->n / 2;

    if (rank < 0 && !axes)
        rank = n <= EDDY_MAX_RANK ? (int32_t)n : -1;
    if (rank < 0 || (axes && axes->n != n) || (!axes && n != (size_t)rank))
        return false;
    for (size_t i = 0; i < n; i++) {
        int64_t axis = axes ? axes->at[i] : (int64_t)i;

        axis = axis < 0 ? axis + rank : axis;
        if (axis < 0 || axis >= rank)
            return false;
        m->known[0][axis] = pads->at[i];
        m->known[1][axis] = pads->at[n + i];
    }
    m->rank = rank;
    m->are_known = true;
    m->before = eddy__onnx_int64s(op, m->known[0], (size_t)rank);
    m->behind = eddy__onnx_int64s(op, m->known[1], (size_t)rank);
    return eddy__onnx_ok(op);
}

static margins read_margins(eddy__onnx_op *op, eddy_output x)
{
    margins m = {.are_known = false};
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    eddy__onnx_ints pads = {0}, axes = {0};
    bool is_known, has_axes = false, knows_axes = true;
    eddy_output halves;

    if (op->row->last < 11) {
        is_known = eddy__onnx_ints_of(op, "pads", &pads) ||
                   eddy__onnx_ints_of(op, "paddings", &pads);
    } else {
        is_known = eddy__onnx_known_ints(op, 1, &pads);
        has_axes = GIVEN(3);
        knows_axes = !has_axes || eddy__onnx_known_ints(op, 3, &axes);
    }
    if (is_known && knows_axes &&
        known_margins(op, &pads, has_axes ? &axes : NULL, rank, &m))
        return m;
    if (op->row->last < 11) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "the pads do not fit the input");
        return m;
    }
    halves = eddy__onnx_parts(op, CAST(IN(1), EDDY_INT64), 2, 0);
    m.before = eddy__onnx_nth(halves, 0);
    m.behind = eddy__onnx_nth(halves, 1);
    if (has_axes) {
        const eddy_output at = CAST(IN(3), EDDY_INT64);

        m.before = is_set_at(op, x, at, m.before);
        m.behind = is_set_at(op, x, at, m.behind);
    }
    m.rank = rank;
    return m;
}

/* Negative margins take away: what is left of `x`, and margins from 0 on. */
static eddy_output cropped(eddy__onnx_op *op, eddy_output x, margins *m)
{
    const eddy_output dims = eddy__onnx_dims(op, x), zero = INT64(0);
    eddy_output begin, lost;
    bool crops = !m->are_known;

    for (int32_t i = 0; m->are_known && i < m->rank; i++)
        crops = crops || m->known[0][i] < 0 || m->known[1][i] < 0;
    if (!crops)
        return x;
    begin = OP("Maximum", OP("Neg", m->before), zero);
    lost = OP("AddV2", begin, OP("Maximum", OP("Neg", m->behind), zero));
    x = OP("Slice", x, begin, OP("Sub", dims, lost));
    m->before = OP("Maximum", m->before, zero);
    m->behind = OP("Maximum", m->behind, zero);
    return x;
}

static eddy_output pad_constant(eddy__onnx_op *op, eddy_output x, margins *m)
{
    const int64_t axis = 1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    eddy_output value;

    if (op->row->last < 11)
        value = LIKE(x, (double)eddy__onnx_float(op, "value", 0.0f));
    else if (GIVEN(2))
        value = eddy__onnx_as_scalar(op, IN(2));
    else if (DTYPE(x) == EDDY_BOOL)
        value = CAST(NUMBER(EDDY_INT32, 0.0), EDDY_BOOL);
    else
        value = LIKE(x, 0.0);
    x = cropped(op, x, m);
    return OP("PadV2", x, OP_WITH("Pack", attrs, m->before, m->behind), value);
}

/* Which element of an axis of `n` stands at each place, from -before on. */
static eddy_output places(eddy__onnx_op *op, const char *mode, eddy_output at,
                          eddy_output n)
{
    const eddy_output last = OP("Sub", n, INT64(1));
    eddy_output around;

    if (strcmp(mode, "edge") == 0)
        return OP("Minimum", OP("Maximum", at, INT64(0)), last);
    if (strcmp(mode, "wrap") == 0)
        return OP("FloorMod", at, n);
    /* Reflected: there and back again without the ends twice. */
    around = OP("Maximum", OP("Mul", last, INT64(2)), INT64(1));
    at = OP("FloorMod", at, around);
    return OP("Minimum", at, OP("Sub", around, at));
}

static eddy_output pad_axis(eddy__onnx_op *op, const char *mode, eddy_output x,
                            const margins *m, int32_t axis)
{
    const eddy_output n = SIZED(DIM(x, axis)), at = INT64(axis);
    const eddy_output before = OP("GatherV2", m->before, at, INT32(0));
    const eddy_output behind = OP("GatherV2", m->behind, at, INT32(0));
    const eddy_output all =
        OP("Range", OP("Neg", before), OP("AddV2", n, behind), INT64(1));

    return OP("GatherV2", x, places(op, mode, all, n), INT32(axis));
}

static void emit_pad(eddy__onnx_op *op)
{
    const char *mode = eddy__onnx_text(op, "mode", "constant");
    const int64_t both = GIVEN(3) ? -1 : eddy__onnx_count_of(op, 1);
    eddy_output x = IN(0);
    margins m;
    eddy_output padded;

    if (both > 0 && both <= (int64_t)2 * EDDY_MAX_RANK)
        x = eddy__onnx_of_rank(op, x, (int32_t)(both / 2));
    m = read_margins(op, x);
    if (!mode || !eddy__onnx_ok(op))
        return;
    if (strcmp(mode, "constant") == 0) {
        GIVE(0, pad_constant(op, x, &m));
        return;
    }
    eddy__onnx_ignore(op, "value");
    if (strcmp(mode, "edge") != 0 && strcmp(mode, "wrap") != 0 &&
        strcmp(mode, "reflect") != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no mode '%s'", mode);
        return;
    }
    if (!m.are_known)
        m.rank = eddy__onnx_want_rank(op, x, "padding of a tensor by itself");
    padded = x;
    for (int32_t i = 0; i < m.rank; i++)
        if (!m.are_known || m.known[0][i] != 0 || m.known[1][i] != 0)
            padded = pad_axis(op, mode, padded, &m, i);
    GIVE(0, padded.node == x.node ? OP("Identity", x) : padded);
}

/* ---- CenterCropPad ---- */

/* Margins by which an axis of `n` becomes one of `want`, in the middle. */
static void emit_center_crop_pad(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy_output want = CAST(IN(1), EDDY_INT64);
    const eddy_output dims = eddy__onnx_dims(op, x);
    margins m = {.are_known = false};
    eddy_output more, less, left;
    const int64_t *axes;
    const size_t n = eddy__onnx_list_of_ints(op, "axes", &axes);

    if (n > 0) {
        const eddy_output at = eddy__onnx_from_zero(
            op, eddy__onnx_int64s(op, axes, n), eddy__onnx_rank64(op, x));

        want = spread(op, dims, at, want);
    }
    more = OP("Maximum", OP("Sub", want, dims), INT64(0));
    less = OP("Maximum", OP("Sub", dims, want), INT64(0));
    left = OP("FloorDiv", less, INT64(2));
    m.before = OP("Sub", OP("FloorDiv", more, INT64(2)), left);
    m.behind = OP("Sub", OP("Sub", want, dims), m.before);
    {
        const int64_t axis = 1;
        const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
        const eddy_output rest = cropped(op, x, &m);

        GIVE(0, OP("Pad", rest, OP_WITH("Pack", attrs, m.before, m.behind)));
    }
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_cutting[] = {
    {"CenterCropPad", 18, NEWEST, 2, 2, 1, 1, emit_center_crop_pad},
    {"Concat", 1, 3, 1, EDDY__ONNX_ANY, 1, 1, emit_concat},
    {"Concat", 4, NEWEST, 1, EDDY__ONNX_ANY, 1, 1, emit_concat},
    {"Pad", 1, 10, 1, 1, 1, 1, emit_pad},
    {"Pad", 11, NEWEST, 2, 4, 1, 1, emit_pad},
    {"Slice", 1, 9, 1, 1, 1, 1, emit_old_slice},
    {"Slice", 10, NEWEST, 3, 5, 1, 1, emit_slice},
    {"Split", 1, 12, 1, 2, 1, EDDY__ONNX_ANY, emit_split},
    {"Split", 13, NEWEST, 1, 2, 1, EDDY__ONNX_ANY, emit_split},
    {.name = NULL},
};

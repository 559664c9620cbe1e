/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that make, shape, cut and join tensors, as operators of ONNX.  Shapes and
 * positions are int64 there, and axes must mostly be constants here.
 */
#include "interop/onnx/write/kit.h"

#include <string.h>

static const char *shape_of(eddy__onnx_writer *w, uint32_t i)
{
    return OP("Shape", X(i));
}

static void write_identity_n(eddy__onnx_writer *w)
{
    for (uint32_t i = 0; i < THIS->n_inputs; i++)
        eddy__onnx_bind(w, i, *eddy__onnx_input(w, i));
}

/* ---- shapes ---- */

static void write_shape(eddy__onnx_writer *w)
{
    for (uint32_t i = 0; i < THIS->n_inputs; i++)
        GIVE(i, CAST(shape_of(w, i), (eddy_dtype)THIS->output_dtypes[i]));
}

static void write_size(eddy__onnx_writer *w)
{
    GIVE(0, CAST(OP("Size", X(0)), (eddy_dtype)THIS->output_dtypes[0]));
}

static void write_rank(eddy__onnx_writer *w)
{
    GIVE(0, CAST(OP("Size", shape_of(w, 0)), EDDY_INT32));
}

/* A 0 in the shape is a dimension of 0. */
static void write_reshape(eddy__onnx_writer *w)
{
    eddy__onnx_numbers shape;
    bool has_zero = !eddy__onnx_known_numbers(w, 1, &shape);

    for (size_t i = 0; !has_zero && i < shape.n; i++)
        has_zero = shape.at[i] == 0;
    if (has_zero)
        GIVE(0, NODE("Reshape", IN(X(0), eddy__onnx_vector(w, 1)),
                     ATTR_INT("allowzero", 1)));
    else
        GIVE(0, OP("Reshape", X(0), eddy__onnx_vector(w, 1)));
}

static void write_expand_dims(eddy__onnx_writer *w)
{
    GIVE(0, OP("Unsqueeze", X(0), eddy__onnx_vector(w, 1)));
}

static void write_squeeze(eddy__onnx_writer *w)
{
    const eddy_attr *axes = eddy__node_attr(THIS, "squeeze_dims");

    if (!axes || axes->n == 0)
        GIVE(0, OP("Squeeze", X(0)));
    else
        GIVE(0, OP("Squeeze", X(0), INTS(axes->as.ints, axes->n)));
}

static void write_transpose(eddy__onnx_writer *w)
{
    eddy__onnx_numbers perm;

    if (!eddy__onnx_known_numbers(w, 1, &perm))
        eddy__onnx_decline(w, "of axes that are no constant");
    else
        GIVE(0,
             NODE("Transpose", IN(X(0)), ATTR_INTS("perm", perm.at, perm.n)));
}

/* ---- filling ---- */

static void write_fill(eddy__onnx_writer *w)
{
    GIVE(0, OP("Expand", X(1), eddy__onnx_vector(w, 0)));
}

static void write_broadcast(eddy__onnx_writer *w)
{
    GIVE(0, OP("Expand", X(0), eddy__onnx_vector(w, 1)));
}

/* The shape that a tensor of the one shape has when it is given the other. */
static void write_broadcast_args(eddy__onnx_writer *w)
{
    const char *all =
        NODE("Expand", IN(INT(0), eddy__onnx_vector(w, 0)), NO_ATTRS);

    GIVE(0, CAST(OP("Shape", OP("Expand", all, eddy__onnx_vector(w, 1))),
                 DTYPE(0)));
}

/* The diagonals from `lower` below the main one to `upper` above it. */
static void write_band_part(eddy__onnx_writer *w)
{
    const int64_t lower = eddy__onnx_known_number(w, 1);
    const int64_t upper = eddy__onnx_known_number(w, 2);
    const char *x = X(0);

    if (lower >= 0)
        x = NODE("Trilu", IN(x, INT(-lower)), ATTR_INT("upper", 1));
    if (upper >= 0)
        x = NODE("Trilu", IN(x, INT(upper)), ATTR_INT("upper", 0));
    GIVE(0, x);
}

static void fill_like(eddy__onnx_writer *w, double value)
{
    const eddy_dtype dtype = DTYPE(0);

    if (!eddy__dtype_in(dtype, EDDY__REALS | EDDY__DTYPE_BIT(EDDY_BOOL)))
        eddy__onnx_decline(w, "of %s", eddy_dtype_name(dtype));
    else
        GIVE(0, OP("Expand", NUMBER(dtype, value), shape_of(w, 0)));
}

static void write_zeros_like(eddy__onnx_writer *w)
{
    fill_like(w, 0);
}

static void write_ones_like(eddy__onnx_writer *w)
{
    fill_like(w, 1);
}

static void write_tile(eddy__onnx_writer *w)
{
    GIVE(0, OP("Tile", X(0), eddy__onnx_vector(w, 1)));
}

static void write_range(eddy__onnx_writer *w)
{
    GIVE(0, OP("Range", X(0), X(1), X(2)));
}

/* An index that is not within the depth gives `off` everywhere. */
static void write_one_hot(eddy__onnx_writer *w)
{
    const int64_t last = -1;
    const char *indices, *places;

    if (eddy__node_int(THIS, "axis") != -1) {
        eddy__onnx_decline(w, "along another axis than the last");
        return;
    }
    indices = OP("Unsqueeze", CAST(X(0), EDDY_INT64), INTS(&last, 1));
    places = OP("Range", INT(0), eddy__onnx_scalar64(w, 1), INT(1));
    GIVE(0, OP("Where", OP("Equal", indices, places), X(2), X(3)));
}

/* Paddings are a row an axis; ONNX has all that come before, then those after.
 */
static const char *paddings(eddy__onnx_writer *w)
{
    const int64_t perm[] = {1, 0}, flat = -1;
    const char *turned = NODE("Transpose", IN(CAST(X(1), EDDY_INT64)),
                              ATTR_INTS("perm", perm, 2));

    return OP("Reshape", turned, INTS(&flat, 1));
}

static void write_pad(eddy__onnx_writer *w)
{
    if (THIS->n_inputs > 2)
        GIVE(0, OP("Pad", X(0), paddings(w), X(2)));
    else
        GIVE(0, OP("Pad", X(0), paddings(w)));
}

/* ---- joining ---- */

static const char *concat(eddy__onnx_writer *w, const char *const *names,
                          size_t n, int64_t axis)
{
    const eddy__onnx_attr attr = ATTR_INT("axis", axis);

    return eddy__onnx_node(w, "Concat", names, n, &attr, 1);
}

static void write_concat(eddy__onnx_writer *w)
{
    const bool is_first = strcmp(THIS->op_name, "Concat") == 0;
    const uint32_t n = THIS->n_inputs - 1;
    const int64_t axis = eddy__onnx_known_number(w, is_first ? 0 : n);
    const char **names = eddy__onnx_take(w, n, sizeof *names);

    for (uint32_t i = 0; names && i < n; i++)
        names[i] = X(is_first ? i + 1 : i);
    if (names)
        GIVE(0, concat(w, names, n, axis));
}

static void write_pack(eddy__onnx_writer *w)
{
    const int64_t axis = eddy__node_int(THIS, "axis");
    const char **names = eddy__onnx_take(w, THIS->n_inputs, sizeof *names);

    for (uint32_t i = 0; names && i < THIS->n_inputs; i++)
        names[i] = OP("Unsqueeze", X(i), INTS(&axis, 1));
    if (names)
        GIVE(0, concat(w, names, THIS->n_inputs, axis));
}

/* ---- cutting ---- */

static void put_split(eddy__onnx_writer *w, const char *x, const char *sizes,
                      int64_t axis)
{
    const uint32_t n = THIS->n_outputs;
    const char *inputs[] = {x, sizes ? sizes : ""};
    const eddy__onnx_attr attrs[] = {
        ATTR_INT("axis", axis),
        {.name = !sizes && w->opset >= 18 ? "num_outputs" : NULL,
         .type = EDDY__ONNX_ATTR_INT,
         .i = n},
    };
    const char **outputs = eddy__onnx_take(w, n, sizeof *outputs);
    const eddy__onnx_node_spec call = {.type = "Split",
                                       .inputs = inputs,
                                       .n_inputs = 2,
                                       .attrs = attrs,
                                       .n_attrs = 2,
                                       .outputs = outputs,
                                       .n_outputs = n};

    if (!outputs)
        return;
    eddy__onnx_put(w, &call);
    for (uint32_t i = 0; i < n; i++)
        GIVE(i, outputs[i]);
}

static void write_split(eddy__onnx_writer *w)
{
    const int64_t axis = eddy__onnx_known_number(w, 0);

    put_split(w, X(1), NULL, axis);
}

static void write_split_v(eddy__onnx_writer *w)
{
    const int64_t axis = eddy__onnx_known_number(w, 2);
    eddy__onnx_numbers sizes;
    bool is_known = eddy__onnx_known_numbers(w, 1, &sizes);

    for (size_t i = 0; is_known && i < sizes.n; i++)
        is_known = sizes.at[i] >= 0;
    if (!is_known)
        eddy__onnx_decline(w, "of sizes that are not known");
    else
        put_split(w, X(0), INTS(sizes.at, sizes.n), axis);
}

static void write_unpack(eddy__onnx_writer *w)
{
    const int64_t axis = eddy__node_int(THIS, "axis");

    for (uint32_t i = 0; i < THIS->n_outputs; i++)
        GIVE(i, NODE("Gather", IN(X(0), INT(i)), ATTR_INT("axis", axis)));
}

/* A size of -1 is all that there is. */
static void write_slice(eddy__onnx_writer *w)
{
    eddy__onnx_numbers begins, sizes;
    const char *begin = eddy__onnx_vector(w, 1), *size;

    if (eddy__onnx_known_numbers(w, 1, &begins) &&
        eddy__onnx_known_numbers(w, 2, &sizes) && begins.n == sizes.n) {
        for (size_t i = 0; i < sizes.n; i++)
            sizes.at[i] =
                sizes.at[i] < 0 ? INT64_MAX : begins.at[i] + sizes.at[i];
        GIVE(0, OP("Slice", X(0), begin, INTS(sizes.at, sizes.n)));
        return;
    }
    size = eddy__onnx_vector(w, 2);
    GIVE(0, OP("Slice", X(0), begin,
               OP("Where", OP("Less", size, INT(0)), INT(INT64_MAX),
                  OP("Add", begin, size))));
}

static void write_reverse(eddy__onnx_writer *w)
{
    eddy__onnx_numbers axes, steps, begins, ends;

    if (!eddy__onnx_known_numbers(w, 1, &axes)) {
        eddy__onnx_decline(w, "along axes that are no constant");
        return;
    }
    if (axes.n == 0) {
        eddy__onnx_bind(w, 0, *eddy__onnx_input(w, 0));
        return;
    }
    for (size_t i = 0; i < axes.n; i++) {
        begins.at[i] = INT64_MAX;
        ends.at[i] = INT64_MIN;
        steps.at[i] = -1;
    }
    GIVE(0, OP("Slice", X(0), INTS(begins.at, axes.n), INTS(ends.at, axes.n),
               INTS(axes.at, axes.n), INTS(steps.at, axes.n)));
}

/* ---- StridedSlice ---- */

/* What a StridedSlice says of one dimension of its input or its output. */
typedef struct cut {
    bool is_whole, is_new, is_one;
    int64_t axis; /* of the input */
    size_t spec;  /* which of its numbers */
    bool has_begin, has_end;
} cut;

typedef struct cuts {
    cut at[EDDY__ONNX_MOST_NUMBERS];
    size_t n;
} cuts;

static bool has_bit(const eddy__onnx_writer *w, const char *mask, size_t i)
{
    return ((uint64_t)eddy__node_int(THIS, mask) >> i & 1) != 0;
}

/* What comes behind an ellipsis is counted from the end. */
static void find_cuts(eddy__onnx_writer *w, size_t n, cuts *out_cuts)
{
    bool is_behind = false;
    int64_t axis = 0, behind = 0;

    for (size_t i = n; i-- > 0 && !has_bit(w, "ellipsis_mask", i);)
        behind += !has_bit(w, "new_axis_mask", i);
    out_cuts->n = 0;
    for (size_t i = 0; i < n; i++) {
        cut *c = &out_cuts->at[out_cuts->n++];

        *c = (cut){.spec = i, .axis = axis};
        if (has_bit(w, "ellipsis_mask", i)) {
            c->is_whole = is_behind = true;
            axis = -behind;
        } else if (has_bit(w, "new_axis_mask", i)) {
            c->is_new = true;
        } else {
            c->is_one = has_bit(w, "shrink_axis_mask", i);
            c->has_begin = c->is_one || !has_bit(w, "begin_mask", i);
            c->has_end = c->is_one || !has_bit(w, "end_mask", i);
            axis++;
        }
    }
    (void)is_behind;
}

/* Number `i` of a vector input as a vector of one element. */
static const char *element(eddy__onnx_writer *w, uint32_t input, size_t i)
{
    const int64_t at = (int64_t)i;
    eddy__onnx_numbers known;

    if (eddy__onnx_known_numbers(w, input, &known))
        return INTS(&known.at[i], 1);
    return NODE("Gather", IN(eddy__onnx_vector(w, input), INTS(&at, 1)),
                ATTR_INT("axis", 0));
}

/* Where a dimension is cut; what is left open depends on the direction. */
static void bounds_of(eddy__onnx_writer *w, const cut *c, int64_t step,
                      const char **out_begin, const char **out_end)
{
    const int64_t first = step > 0 ? 0 : INT64_MAX;
    const int64_t last = step > 0 ? INT64_MAX : INT64_MIN;
    const int64_t one = 1, most = INT64_MAX, minus_one = -1;

    *out_begin = c->has_begin ? element(w, 1, c->spec) : INTS(&first, 1);
    if (!c->has_end)
        *out_end = INTS(&last, 1);
    else if (!c->is_one)
        *out_end = element(w, 2, c->spec);
    else
        /* Behind -1 comes the end, and not 0. */
        *out_end = OP("Where", OP("Equal", *out_begin, INTS(&minus_one, 1)),
                      INTS(&most, 1), OP("Add", *out_begin, INTS(&one, 1)));
}

/* The cuts of `x` that leave the number of dimensions as it is. */
static const char *cut_all(eddy__onnx_writer *w, const char *x, const cuts *all,
                           const eddy__onnx_numbers *steps)
{
    const char *begins[EDDY__ONNX_MOST_NUMBERS];
    const char *ends[EDDY__ONNX_MOST_NUMBERS];
    eddy__onnx_numbers axes = {.n = 0}, by = {.n = 0};

    for (size_t i = 0; i < all->n; i++) {
        const cut *c = &all->at[i];

        if (c->is_whole || c->is_new ||
            (!c->has_begin && !c->has_end && steps->at[c->spec] == 1))
            continue;
        bounds_of(w, c, steps->at[c->spec], &begins[axes.n], &ends[axes.n]);
        by.at[axes.n] = c->is_one ? 1 : steps->at[c->spec];
        axes.at[axes.n++] = c->axis;
    }
    if (axes.n == 0)
        return x;
    return OP("Slice", x,
              axes.n == 1 ? begins[0] : concat(w, begins, axes.n, 0),
              axes.n == 1 ? ends[0] : concat(w, ends, axes.n, 0),
              INTS(axes.at, axes.n), INTS(by.at, axes.n));
}

/*
 * Dimensions of one go, new ones come.  Those behind an ellipsis are counted
 * from the end in both.
 */
static const char *reshape_cuts(eddy__onnx_writer *w, const cuts *all,
                                const char *x)
{
    eddy__onnx_numbers gone = {.n = 0}, come = {.n = 0};
    int64_t place = 0;
    int64_t left = 0; /* dimensions of the result behind an ellipsis */
    bool is_behind = false;

    for (size_t i = all->n; i-- > 0 && !all->at[i].is_whole;)
        left += !all->at[i].is_one;
    for (size_t i = 0; i < all->n; i++) {
        const cut *c = &all->at[i];

        if (c->is_one)
            gone.at[gone.n++] = c->axis;
        if (c->is_new)
            come.at[come.n++] = is_behind ? place - left : place;
        if (c->is_whole) {
            is_behind = true;
            place = 0;
        } else if (!c->is_one) {
            place++;
        }
    }
    if (gone.n > 0)
        x = OP("Squeeze", x, INTS(gone.at, gone.n));
    if (come.n > 0)
        x = OP("Unsqueeze", x, INTS(come.at, come.n));
    return x;
}

/* What a strided slice cuts; false, and declined, if that is not certain. */
static bool read_cuts(eddy__onnx_writer *w, cuts *out_cuts,
                      eddy__onnx_numbers *out_steps)
{
    const eddy_shape begin = SHAPE(1);

    if (!eddy__onnx_known_numbers(w, 3, out_steps) || begin.rank != 1 ||
        begin.dims[0] != (int64_t)out_steps->n) {
        eddy__onnx_decline(w, "of steps that are no constant");
        return false;
    }
    find_cuts(w, out_steps->n, out_cuts);
    return true;
}

static void write_strided_slice(eddy__onnx_writer *w)
{
    eddy__onnx_numbers steps;
    cuts all;

    if (read_cuts(w, &all, &steps))
        GIVE(0, reshape_cuts(w, &all, cut_all(w, X(0), &all, &steps)));
}

/*
 * Zeros with the input in the places that the slice takes: those are found by
 * cutting the numbers of all places in the same way.
 */
static void write_strided_slice_grad(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = DTYPE(4);
    const int64_t flat = -1;
    const char *shape, *size, *places, *y;
    eddy__onnx_numbers steps;
    cuts all;

    if (!eddy__dtype_in(dtype, EDDY__FLOATS)) {
        eddy__onnx_decline(w, "of %s", eddy_dtype_name(dtype));
        return;
    }
    if (!read_cuts(w, &all, &steps))
        return;
    shape = eddy__onnx_vector(w, 0);
    size = NODE("ReduceProd", IN(shape), ATTR_INT("keepdims", 0));
    places = NODE("Reshape", IN(OP("Range", INT(0), size, INT(1)), shape),
                  ATTR_INT("allowzero", 1));
    places = OP("Reshape", cut_all(w, places, &all, &steps), INTS(&flat, 1));
    y = OP("Expand", NUMBER(dtype, 0), OP("Reshape", size, INTS(&flat, 1)));
    y = NODE("ScatterElements",
             IN(y, places, OP("Reshape", X(4), INTS(&flat, 1))),
             ATTR_INT("axis", 0));
    GIVE(0, NODE("Reshape", IN(y, shape), ATTR_INT("allowzero", 1)));
}

/* ---- picking ---- */

static void write_gather(eddy__onnx_writer *w)
{
    const bool has_axis = THIS->n_inputs > 2;
    const int64_t axis = has_axis ? eddy__onnx_known_number(w, 2) : 0;

    if (has_axis && eddy__node_int(THIS, "batch_dims") != 0)
        eddy__onnx_decline(w, "with batch_dims");
    else
        GIVE(0, NODE("Gather", IN(X(0), X(1)), ATTR_INT("axis", axis)));
}

static void write_gather_nd(eddy__onnx_writer *w)
{
    GIVE(0, OP("GatherND", X(0), CAST(X(1), EDDY_INT64)));
}

static void write_where(eddy__onnx_writer *w)
{
    const int64_t perm[] = {1, 0};

    GIVE(0, NODE("Transpose", IN(OP("NonZero", X(0))),
                 ATTR_INTS("perm", perm, 2)));
}

/* Which of the axes of the result each of two shapes is spread over. */
static void write_gradient_args(eddy__onnx_writer *w)
{
    const int64_t one = 1, flat = -1;
    const char *shapes[] = {CAST(X(0), EDDY_INT64), CAST(X(1), EDDY_INT64)};
    const char *ranks[] = {OP("Shape", shapes[0]), OP("Shape", shapes[1])};
    const char *rank = OP("Max", ranks[0], ranks[1]);

    for (uint32_t i = 0; i < 2; i++) {
        const char *missing = OP("Sub", rank, ranks[i]);
        const char *padded[] = {OP("Expand", INTS(&one, 1), missing),
                                shapes[i]};
        const char *is_one =
            OP("Equal", concat(w, padded, 2, 0), INTS(&one, 1));

        GIVE(i, CAST(OP("Reshape", OP("NonZero", is_one), INTS(&flat, 1)),
                     (eddy_dtype)THIS->output_dtypes[i]));
    }
}

/* A vector with a 1 at the axis that input 0 is, and zeros. */
static const char *at_axis(eddy__onnx_writer *w, eddy_dtype dtype)
{
    const eddy_shape shape = SHAPE(1);
    const int64_t n =
        shape.rank == 1 && shape.dims[0] <= EDDY_MAX_RANK ? shape.dims[0] : -1;
    eddy__onnx_numbers axis, along = {.n = n > 0 ? (size_t)n : 0};
    const char *rank, *from, *places;

    if (n > 0 && eddy__onnx_known_numbers(w, 0, &axis) && axis.n == 1 &&
        axis.at[0] >= -n && axis.at[0] < n) {
        along.at[axis.at[0] < 0 ? axis.at[0] + n : axis.at[0]] = 1;
        return CAST(INTS(along.at, along.n), dtype);
    }
    rank = OP("Size", X(1));
    from = eddy__onnx_scalar64(w, 0);
    from = OP("Where", OP("Less", from, INT(0)), OP("Add", from, rank), from);
    places = OP("Range", INT(0), rank, INT(1));
    return CAST(OP("Equal", places, from), dtype);
}

/* Where each of the parts of a Concat begins: all that come before it. */
static void write_concat_offset(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = (eddy_dtype)THIS->output_dtypes[0];
    const char *at = at_axis(w, dtype);
    const char *sum = OP("Mul", X(1), NUMBER(dtype, 0));

    for (uint32_t i = 0; i < THIS->n_outputs; i++) {
        GIVE(i, sum);
        if (i + 1 < THIS->n_outputs)
            sum = OP("Add", sum, OP("Mul", X(i + 1), at));
    }
}

/* The last of several updates of one place is not certain in ONNX. */
static void write_scatter(eddy__onnx_writer *w)
{
    GIVE(0, OP("ScatterND", X(0), CAST(X(1), EDDY_INT64), X(2)));
}

const eddy__onnx_rule eddy__onnx_write_shaping[] = {
    {"BroadcastArgs", write_broadcast_args},
    {"BroadcastGradientArgs", write_gradient_args},
    {"BroadcastTo", write_broadcast},
    {"Concat", write_concat},
    {"ConcatOffset", write_concat_offset},
    {"ConcatV2", write_concat},
    {"ExpandDims", write_expand_dims},
    {"Fill", write_fill},
    {"Gather", write_gather},
    {"GatherNd", write_gather_nd},
    {"GatherV2", write_gather},
    {"IdentityN", write_identity_n},
    {"MatrixBandPart", write_band_part, NULL,
     EDDY__FLOATS | EDDY__INTEGERS | EDDY__DTYPE_BIT(EDDY_BOOL), 14},
    {"OneHot", write_one_hot},
    {"OnesLike", write_ones_like},
    {"Pack", write_pack},
    {"Pad", write_pad},
    {"PadV2", write_pad},
    {"Range", write_range, NULL,
     EDDY__INDEXES | EDDY__DTYPE_BIT(EDDY_FLOAT32) |
         EDDY__DTYPE_BIT(EDDY_FLOAT64)},
    {"Rank", write_rank},
    {"Reshape", write_reshape},
    {"ReverseV2", write_reverse},
    {"Shape", write_shape},
    {"ShapeN", write_shape},
    {"Size", write_size},
    {"Slice", write_slice},
    {"Split", write_split},
    {"SplitV", write_split_v},
    {"Squeeze", write_squeeze},
    {"StridedSlice", write_strided_slice},
    {"StridedSliceGrad", write_strided_slice_grad},
    {"TensorScatterUpdate", write_scatter},
    {"Tile", write_tile},
    {"Transpose", write_transpose},
    {"Unpack", write_unpack},
    {"Where", write_where, NULL, EDDY__REALS | EDDY__DTYPE_BIT(EDDY_BOOL)},
    {"ZerosLike", write_zeros_like},
    {.op = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv2D and its gradients by the input and by the filter.
 *
 * Each is a product of the filter, the images of the output and the matrix of
 * patches (ops/nn/patches.h), which is made in blocks of rows.  How many rows a
 * block has depends on shapes alone, so the order of every sum does too.
 * Groups: where the filter has fewer channels than the images, each part of
 * the images' channels meets its own part of the filter's outputs.
 */
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/nn/patches.h"
#include "ops/ops.h"

#include <inttypes.h>

/* What a block of patches has about, in elements, and at least, in rows. */
#define BLOCK_ELEMENTS (1 << 17)
#define BLOCK_ROWS 32

/* ---- shapes ---- */

typedef struct conv {
    const eddy__patch_loops *loops;
    eddy__multiply_fn multiply;
    eddy__windows windows;
    eddy__images in, out;
    eddy__side sides[2];
    int64_t groups;
    int64_t group_in, group_out; /* channels of a group */
    int64_t patch;               /* rows of the filter as a matrix */
    int64_t columns;             /* of it: channels of the output */
    bool is_direct;              /* outputs lie as the products give them */
} conv;

#define NOT_FOUR                                                               \
    "images of shape %s and a filter of shape %s must both have four "         \
    "dimensions"
#define NO_DEPTH                                                               \
    "images with %" PRId64 " channels can't be convolved with a filter of "    \
    "shape %s"

static bool groups_fit(int64_t channels, const eddy_shape *filter)
{
    const int64_t depth = filter->dims[2], columns = filter->dims[3];

    if (depth < 1 || channels % depth != 0 || filter->dims[0] < 1 ||
        filter->dims[1] < 1)
        return false;
    return channels == 0 ? columns == 0 : columns % (channels / depth) == 0;
}

/* All that follows from the shapes of the images and the filter. */
static eddy_status describe(eddy_kernel *k, eddy_dtype dtype,
                            const eddy_shape *in, const eddy_shape *filter,
                            conv *c)
{
    eddy_shape out;

    *c = (conv){.windows = *(const eddy__windows *)eddy__state(k),
                .loops = eddy__patch_loops_of(dtype)};
    if (in->rank != 4 || filter->rank != 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FOUR,
                           eddy__shape_print(in).text,
                           eddy__shape_print(filter).text);
    c->in = eddy__images_of(in, c->windows.is_nchw);
    if (!groups_fit(c->in.channels, filter))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_DEPTH,
                           c->in.channels, eddy__shape_print(filter).text);
    EDDY_TRY(eddy__sides_of(k, &c->windows, &c->in, filter->dims, c->sides));
    c->multiply = eddy__product_of(c->loops->computed);
    c->columns = filter->dims[3];
    c->group_in = filter->dims[2];
    c->groups = c->group_in > 0 ? c->in.channels / c->group_in : 0;
    c->group_out = c->groups > 0 ? c->columns / c->groups : 0;
    /* Of a filter that is yet to be made this may wrap; making it fails. */
    c->patch = (int64_t)((uint64_t)filter->dims[0] * (uint64_t)filter->dims[1] *
                         (uint64_t)c->group_in);
    out = eddy__images_shape(
        c->in.n, (const int64_t[]){c->sides[0].out, c->sides[1].out},
        c->columns, c->windows.is_nchw);
    c->out = eddy__images_of(&out, c->windows.is_nchw);
    c->is_direct = c->groups == 1 && c->out.step_channel == 1 &&
                   c->loops->computed == dtype;
    return EDDY_OK;
}

static eddy__patches patches_of(const conv *c, int64_t group)
{
    return (eddy__patches){.in = c->in,
                           .sides = {c->sides[0], c->sides[1]},
                           .first_channel = group * c->group_in,
                           .channels = c->group_in};
}

static int64_t rows_of_block(const conv *c, int64_t total)
{
    const int64_t wider = c->patch > c->group_out ? c->patch : c->group_out;
    const int64_t rows = wider > 0 ? BLOCK_ELEMENTS / wider : total;

    if (rows < BLOCK_ROWS)
        return total < BLOCK_ROWS ? total : BLOCK_ROWS;
    return rows < total ? rows : total;
}

/* ---- scratch memory ---- */

/*
 * One block of memory, of computed elements, and its parts: those that an op
 * needs.
 */
typedef struct scratch {
    eddy_tensor *tensor;
    unsigned char *at; /* what is not yet given to a part */
    int64_t rows;      /* of a block of patches */
    void *matrix;      /* of patches */
    void *packed;      /* the filter of a group */
    void *pixels;      /* what the output's channels of a group have */
    void *sum, *part;  /* of a group's filter; for the sum over a block */
} scratch;

static eddy_status scratch_make(eddy_kernel *k, const conv *c,
                                const int64_t sizes[][2], size_t n, scratch *s)
{
    eddy_shape shape = eddy__shape_vector(0);
    bool fits = true;

    for (size_t i = 0; i < n; i++) {
        int64_t part;

        fits = fits &&
               !__builtin_mul_overflow(sizes[i][0], sizes[i][1], &part) &&
               !__builtin_add_overflow(shape.dims[0], part, &shape.dims[0]);
    }
    *s = (scratch){.rows = 0};
    s->tensor = fits ? eddy__tensor_create(k->heap, k->account, k->allocator,
                                           c->loops->computed, &shape)
                     : NULL;
    if (!s->tensor)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for patches of %" PRId64 " elements",
                           c->patch);
    s->at = s->tensor->data;
    return EDDY_OK;
}

/* The next `n` elements of it. */
static void *scratch_take(scratch *s, const conv *c, int64_t n)
{
    unsigned char *part = s->at;

    s->at += (size_t)n * c->loops->size;
    return part;
}

static eddy_status check_running(eddy_kernel *k)
{
    return eddy__go_on(k, EDDY__PATIENCE);
}

/* ---- the filter by groups ---- */

/* Columns of a group, one behind the other, as computed elements. */
static const void *group_filter(const conv *c, const unsigned char *filter,
                                eddy_dtype dtype, int64_t group, void *packed)
{
    const size_t size = eddy_dtype_size(dtype);

    if (c->groups == 1 && c->loops->computed == dtype)
        return filter;
    for (int64_t i = 0; i < c->patch; i++)
        c->loops->load(
            (unsigned char *)packed +
                (size_t)(i * c->group_out) * c->loops->size,
            filter + (size_t)(i * c->columns + group * c->group_out) * size,
            c->group_out);
    return packed;
}

static int64_t packed_columns(const conv *c, eddy_dtype dtype)
{
    return c->groups == 1 && c->loops->computed == dtype ? 0 : c->group_out;
}

/* ---- Conv2D ---- */

/* Inputs. */
enum { INPUT, FILTER, GRADIENT };

/* What workers may do blocks of, each with memory of its own. */
typedef struct conv_work {
    const conv *c;
    int64_t rows;     /* of a block of patches */
    int64_t n_blocks; /* of a group */
    unsigned char *out;
} conv_work;

/* Block `i`, which are numbered group by group. */
static eddy_status convolve_block(eddy_kernel *k, const conv_work *w, int64_t i,
                                  const scratch *s, const void *filter)
{
    const conv *c = w->c;
    const int64_t group = i / w->n_blocks;
    const eddy__patches from = patches_of(c, group);
    const eddy__patches to =
        eddy__patch_pixels(&c->out, group * c->group_out, c->group_out);
    const int64_t total = c->in.n * eddy__patches_an_image(&from);
    const int64_t first = i % w->n_blocks * s->rows;
    eddy__product p = {.kernel = k,
                       .m = total - first < s->rows ? total - first : s->rows,
                       .n = c->group_out,
                       .k = c->patch,
                       .a = s->matrix,
                       .b = filter,
                       .out = c->is_direct
                                  ? w->out + (size_t)(first * c->columns) *
                                                 c->loops->size
                                  : s->pixels};

    EDDY_TRY(check_running(k));
    c->loops->gather(&from, eddy__in_elements(k, INPUT), first, p.m, s->matrix);
    c->multiply(&p);
    if (!c->is_direct)
        c->loops->put(&to, s->pixels, first, p.m, w->out);
    return EDDY_OK;
}

static eddy_status convolve_some(eddy_kernel *k, void *arg, int64_t begin,
                                 int64_t end)
{
    const conv_work *w = arg;
    const conv *c = w->c;
    const eddy_dtype dtype = eddy__in_dtype(k, INPUT);
    const int64_t packed = packed_columns(c, dtype);
    const int64_t product = c->is_direct ? 0 : c->group_out;
    const int64_t sizes[][2] = {
        {w->rows, c->patch}, {c->patch, packed}, {w->rows, product}};
    const void *filter = NULL;
    eddy_status code = EDDY_OK;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 3, &s));
    s.rows = w->rows;
    s.matrix = scratch_take(&s, c, w->rows * c->patch);
    s.packed = scratch_take(&s, c, c->patch * packed);
    s.pixels = scratch_take(&s, c, w->rows * product);
    for (int64_t i = begin; code == EDDY_OK && i < end; i++) {
        if (!filter || i % w->n_blocks == 0)
            filter = group_filter(c, eddy__in_elements(k, FILTER), dtype,
                                  i / w->n_blocks, s.packed);
        code = convolve_block(k, w, i, &s, filter);
    }
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status convolve(eddy_kernel *k, const conv *c, unsigned char *out)
{
    const int64_t total = c->in.n * c->sides[0].out * c->sides[1].out;
    const int64_t rows = rows_of_block(c, total);
    conv_work w = {.c = c,
                   .rows = rows,
                   .n_blocks = (total + rows - 1) / rows,
                   .out = out};

    return eddy__parallel_for(k, c->groups * w.n_blocks, 1, convolve_some, &w);
}

static eddy_status run_conv(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, INPUT);
    eddy__patches patches;
    unsigned char *out;
    eddy_shape shape;
    conv c;

    EDDY_TRY(describe(k, dtype, eddy__in_shape(k, INPUT),
                      eddy__in_shape(k, FILTER), &c));
    shape = eddy__images_shape(c.out.n, c.out.sides, c.out.channels,
                               c.windows.is_nchw);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    patches = patches_of(&c, 0);
    if (!c.is_direct || !eddy__patches_are_images(&patches))
        return convolve(k, &c, out);
    c.multiply(&(eddy__product){.kernel = k,
                                .m = c.in.n * c.in.sides[0] * c.in.sides[1],
                                .n = c.columns,
                                .k = c.patch,
                                .a = eddy__in_elements(k, INPUT),
                                .b = eddy__in_elements(k, FILTER),
                                .out = out});
    return EDDY_OK;
}

/* ---- Conv2DBackpropInput ---- */

static eddy_status check_gradient(eddy_kernel *k, const conv *c)
{
    const eddy_shape want = eddy__images_shape(
        c->out.n, c->out.sides, c->out.channels, c->windows.is_nchw);

    return eddy__window_want_shape(k, GRADIENT, "out_backprop", &want);
}

/* What one image gets from one group of its output's channels. */
static eddy_status spread_group(eddy_kernel *k, const conv *c, int64_t image,
                                int64_t group, const scratch *s,
                                unsigned char *to)
{
    const unsigned char *from = eddy__in_elements(k, GRADIENT);
    const eddy__patches pixels =
        eddy__patch_pixels(&c->out, group * c->group_out, c->group_out);
    eddy__patches patches = patches_of(c, group);
    const int64_t total = eddy__patches_an_image(&patches);
    eddy__product p = {.kernel = k,
                       .n = c->patch,
                       .k = c->group_out,
                       .transpose_b = true,
                       .b = group_filter(c, eddy__in_elements(k, FILTER),
                                         eddy__in_dtype(k, FILTER), group,
                                         s->packed),
                       .out = s->matrix};

    for (int64_t at = 0; at < total; at += p.m) {
        const int64_t first = image * total + at;

        EDDY_TRY(check_running(k));
        p.m = total - at < s->rows ? total - at : s->rows;
        if (c->is_direct) {
            p.a = from + (size_t)(first * c->columns) * c->loops->size;
        } else {
            c->loops->gather(&pixels, from, first, p.m, s->pixels);
            p.a = s->pixels;
        }
        c->multiply(&p);
        c->loops->scatter(&patches, s->matrix, at, p.m, to);
    }
    return EDDY_OK;
}

/*
 * Images are the parts.  The gradient of one is summed where it is to be, or in
 * memory of its own.
 */
static eddy_status spread_some(eddy_kernel *k, void *arg, int64_t begin,
                               int64_t end)
{
    const conv_work *w = arg;
    const conv *c = w->c;
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    const bool is_computed = c->loops->computed == dtype;
    const int64_t packed = packed_columns(c, dtype);
    const int64_t gradient = c->is_direct ? 0 : c->group_out;
    const int64_t n = c->in.step_image;
    const int64_t sizes[][2] = {{w->rows, c->patch},
                                {c->patch, packed},
                                {w->rows, gradient},
                                {is_computed ? 0 : n, 1}};
    eddy_status code = EDDY_OK;
    void *image;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 4, &s));
    s.rows = w->rows;
    s.matrix = scratch_take(&s, c, w->rows * c->patch);
    s.packed = scratch_take(&s, c, c->patch * packed);
    s.pixels = scratch_take(&s, c, w->rows * gradient);
    image = scratch_take(&s, c, 0);
    for (int64_t i = begin; code == EDDY_OK && i < end; i++) {
        unsigned char *own = w->out + (size_t)(i * n) * eddy_dtype_size(dtype);
        unsigned char *to = is_computed ? own : image;

        eddy__zero_bytes(k, to, (size_t)n * c->loops->size);
        for (int64_t group = 0; code == EDDY_OK && group < c->groups; group++)
            code = spread_group(k, c, i, group, &s, to);
        if (!is_computed)
            c->loops->store(own, to, n);
    }
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status spread(eddy_kernel *k, const conv *c, unsigned char *out)
{
    conv_work w = {.c = c,
                   .rows = rows_of_block(c, c->sides[0].out * c->sides[1].out),
                   .out = out};

    return eddy__parallel_for(k, c->in.n, 1, spread_some, &w);
}

/* Input 0 says four dimensions, or only the two sides. */
static eddy_status read_input_sizes(eddy_kernel *k, eddy_shape *shape)
{
    const eddy__windows *w = eddy__state(k);
    const eddy_shape *filter = eddy__in_shape(k, FILTER);
    const eddy_shape *gradient = eddy__in_shape(k, GRADIENT);
    const eddy_view view = eddy__in_view(k, INPUT);

    if (view.rank != 1 || (view.count != 2 && view.count != 4))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "input_sizes must be a vector of 4 or 2 elements, but it has "
            "shape %s",
            eddy__shape_print(eddy__in_shape(k, INPUT)).text);
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, shape));
    if (view.count == 4)
        return EDDY_OK;
    if (filter->rank != 4 || gradient->rank != 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FOUR,
                           eddy__shape_print(gradient).text,
                           eddy__shape_print(filter).text);
    *shape = eddy__images_shape(
        gradient->dims[0], (const int64_t[]){shape->dims[0], shape->dims[1]},
        filter->dims[2], w->is_nchw);
    return EDDY_OK;
}

static eddy_status run_input_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    eddy__patches patches;
    unsigned char *out;
    eddy_shape shape = {.rank = 0};
    int64_t count;
    conv c;

    EDDY_TRY(read_input_sizes(k, &shape));
    EDDY_TRY(describe(k, dtype, &shape, eddy__in_shape(k, FILTER), &c));
    EDDY_TRY(check_gradient(k, &c));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    count = eddy__out(k, 0)->as.tensor->count;
    if (count == 0)
        return EDDY_OK;
    patches = patches_of(&c, 0);
    if (eddy__in_count(k, GRADIENT) == 0) {
        eddy__zero_bytes(k, out, (size_t)count * eddy_dtype_size(dtype));
    } else if (c.is_direct && eddy__patches_are_images(&patches)) {
        c.multiply(&(eddy__product){.kernel = k,
                                    .m = c.in.n * c.in.sides[0] * c.in.sides[1],
                                    .n = c.patch,
                                    .k = c.columns,
                                    .transpose_b = true,
                                    .a = eddy__in_elements(k, GRADIENT),
                                    .b = eddy__in_elements(k, FILTER),
                                    .out = out});
    } else {
        return spread(k, &c, out);
    }
    return EDDY_OK;
}

/* ---- Conv2DBackpropFilter ---- */

/* Sums over all windows. */
static eddy_status collect_group(eddy_kernel *k, const conv *c, int64_t group,
                                 const scratch *s)
{
    const unsigned char *from = eddy__in_elements(k, GRADIENT);
    const eddy__patches patches = patches_of(c, group);
    const eddy__patches pixels =
        eddy__patch_pixels(&c->out, group * c->group_out, c->group_out);
    const int64_t total = c->in.n * eddy__patches_an_image(&patches);
    eddy__product p = {.kernel = k,
                       .m = c->patch,
                       .n = c->group_out,
                       .transpose_a = true,
                       .a = s->matrix};

    for (int64_t first = 0; first < total; first += p.k) {
        EDDY_TRY(check_running(k));
        p.k = total - first < s->rows ? total - first : s->rows;
        c->loops->gather(&patches, eddy__in_elements(k, INPUT), first, p.k,
                         s->matrix);
        if (c->is_direct) {
            p.b = from + (size_t)(first * c->columns) * c->loops->size;
        } else {
            c->loops->gather(&pixels, from, first, p.k, s->pixels);
            p.b = s->pixels;
        }
        p.out = first == 0 ? s->sum : s->part;
        c->multiply(&p);
        if (first > 0)
            c->loops->add(s->sum, s->part, c->patch * c->group_out);
    }
    return EDDY_OK;
}

/* Stores the filter of a group. */
static void put_filter(const conv *c, eddy_dtype dtype, int64_t group,
                       const unsigned char *sum, unsigned char *out)
{
    const size_t size = eddy_dtype_size(dtype);

    for (int64_t i = 0; i < c->patch; i++)
        c->loops->store(
            out + (size_t)(i * c->columns + group * c->group_out) * size,
            sum + (size_t)(i * c->group_out) * c->loops->size, c->group_out);
}

static eddy_status collect(eddy_kernel *k, const conv *c, unsigned char *out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    const bool is_whole = c->groups == 1 && c->loops->computed == dtype;
    const int64_t total = c->in.n * c->sides[0].out * c->sides[1].out;
    const int64_t rows = rows_of_block(c, total);
    const int64_t gradient = c->is_direct ? 0 : c->group_out;
    const int64_t sizes[][2] = {{rows, c->patch},
                                {rows, gradient},
                                {c->patch, is_whole ? 0 : c->group_out},
                                {c->patch, rows < total ? c->group_out : 0}};
    eddy_status code = EDDY_OK;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 4, &s));
    s.rows = rows;
    s.matrix = scratch_take(&s, c, rows * c->patch);
    s.pixels = scratch_take(&s, c, rows * gradient);
    s.sum = scratch_take(&s, c, sizes[2][0] * sizes[2][1]);
    s.part = scratch_take(&s, c, 0);
    if (is_whole)
        s.sum = out;
    for (int64_t group = 0; code == EDDY_OK && group < c->groups; group++) {
        code = collect_group(k, c, group, &s);
        if (code == EDDY_OK && !is_whole)
            put_filter(c, dtype, group, s.sum, out);
    }
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status run_filter_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    eddy_shape shape = {.rank = 4};
    unsigned char *out;
    eddy_view view;
    conv c;

    EDDY_TRY(eddy__vector_argument(k, FILTER, "filter_sizes", 4, &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &shape));
    EDDY_TRY(describe(k, dtype, eddy__in_shape(k, INPUT), &shape, &c));
    EDDY_TRY(check_gradient(k, &c));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    if (eddy__in_count(k, GRADIENT) > 0)
        return collect(k, &c, out);
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status prepare_windows(eddy_infer *infer)
{
    eddy__windows *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    return eddy__windows_read(infer, state);
}

static eddy_status infer_conv(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(4);
    eddy_shape in = any, filter = any, shape;
    eddy__images images;
    int64_t sides[2];
    eddy__windows w;

    EDDY_TRY(eddy__windows_read(infer, &w));
    if (!eddy__shape_merge(eddy_infer_input(infer, INPUT), &any, &in) ||
        !eddy__shape_merge(eddy_infer_input(infer, FILTER), &any, &filter))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FOUR,
            eddy__shape_print(eddy_infer_input(infer, INPUT)).text,
            eddy__shape_print(eddy_infer_input(infer, FILTER)).text);
    images = eddy__images_of(&in, w.is_nchw);
    if (images.channels >= 0 && eddy__shape_is_known(&filter) &&
        !groups_fit(images.channels, &filter))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NO_DEPTH, images.channels,
                               eddy__shape_print(&filter).text);
    for (int32_t side = 0; side < 2; side++)
        EDDY_TRY(eddy__infer_side(infer, &w, side, images.sides[side],
                                  filter.dims[side], &sides[side]));
    shape = eddy__images_shape(images.n, sides, filter.dims[3], w.is_nchw);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_input_gradient(eddy_infer *infer)
{
    const eddy_shape *filter = eddy_infer_input(infer, FILTER);
    const eddy_shape *gradient = eddy_infer_input(infer, GRADIENT);
    eddy_shape shape = eddy__infer_shape_argument(infer, INPUT);
    eddy__windows w;

    EDDY_TRY(eddy__windows_read(infer, &w));
    if (shape.rank == 2)
        shape = eddy__images_shape(
            gradient->rank == 4 ? gradient->dims[0] : -1,
            (const int64_t[]){shape.dims[0], shape.dims[1]},
            filter->rank == 4 ? filter->dims[2] : -1, w.is_nchw);
    if (shape.rank != 4)
        shape = eddy__shape_of_rank(4);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_filter_gradient(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, FILTER);

    if (shape.rank != 4)
        shape = eddy__shape_of_rank(4);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define CONVOLUTION(name, in, dtypes, shapes, run, text)                       \
    EDDY__OP_ROW(                                                              \
        name, .inputs = in, .outputs = "output: T",                            \
        .attrs =                                                               \
            "T: " dtypes                                                       \
            ", strides: list(int), use_cudnn_on_gpu: bool = true, padding: "   \
            "string, explicit_paddings: list(int) = [], data_format: string "  \
            "= 'NHWC', dilations: list(int) = [1, 1, 1, 1]",                   \
        .infer = shapes, .kernel = run, .prepare = prepare_windows,            \
        .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    CONVOLUTION(
        "Conv2D", "input: T, filter: T", "{float, int32}", infer_conv, run_conv,
        "The correlation of images with a filter, for each of its outputs."),
    CONVOLUTION("Conv2DBackpropInput",
                "input_sizes: int32, filter: T, out_backprop: T",
                "{float, int32}", infer_input_gradient, run_input_gradient,
                "The gradient of Conv2D by its images."),
    CONVOLUTION("Conv2DBackpropFilter",
                "input: T, filter_sizes: int32, out_backprop: T", "float",
                infer_filter_gradient, run_filter_gradient,
                "The gradient of Conv2D by its filter."),
};

const eddy__op_table eddy__conv_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

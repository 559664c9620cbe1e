/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv3D and its gradients by the volumes and by the filter.
 *
 * As in two dimensions (ops/nn/conv.c) each is a product of the filter, the
 * volumes of the output and the matrix of patches: a row a window, in it the
 * places of the window and the channels at each, 0 where they are outside.  The
 * matrix is made in blocks of rows; how many depends on shapes alone.
 */
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/nn/patches.h"
#include "ops/nn/volume.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* What a block of patches has about, in elements, and at least, in rows. */
#define BLOCK_ELEMENTS (1 << 17)
#define BLOCK_ROWS 32

/* Inputs. */
enum { INPUT, FILTER, GRADIENT };

typedef struct conv {
    const eddy__patch_loops *loops;
    eddy__multiply_fn multiply;
    bool is_ncdhw;
    eddy__volumes in, out;
    eddy__side sides[EDDY__VOLUME_SIDES];
    int64_t patch;    /* rows of the filter as a matrix */
    int64_t windows;  /* of all volumes */
    int64_t rows;     /* of a block of patches */
    size_t size;      /* of a stored element */
    bool is_computed; /* elements are stored as they are computed */
    bool is_direct;   /* outputs lie as the products give them */
} conv;

/* ---- shapes ---- */

#define NOT_FIVE                                                               \
    "volumes of shape %s and a filter of shape %s must both have five "        \
    "dimensions"
#define NO_DEPTH                                                               \
    "volumes with %" PRId64 " channels can't be convolved with a filter of "   \
    "shape %s"

static bool filter_fits(int64_t channels, const eddy_shape *filter)
{
    for (int32_t d = 0; d < EDDY__VOLUME_RANK; d++)
        if (filter->dims[d] < 1)
            return false;
    return filter->dims[3] == channels;
}

static void set_rows(conv *c)
{
    const int64_t wider =
        c->patch > c->out.channels ? c->patch : c->out.channels;

    c->rows = BLOCK_ELEMENTS / (wider > 0 ? wider : 1);
    if (c->rows < BLOCK_ROWS)
        c->rows = BLOCK_ROWS;
    if (c->rows > c->windows)
        c->rows = c->windows;
}

/* All that follows from the shapes of the volumes and the filter. */
static eddy_status describe(eddy_kernel *k, eddy_dtype dtype,
                            const eddy_shape *in, const eddy_shape *filter,
                            conv *c)
{
    const eddy__cubes *cubes = eddy__state(k);
    int64_t sides[EDDY__VOLUME_SIDES];
    eddy_shape out;

    *c = (conv){.loops = eddy__patch_loops_of(dtype),
                .is_ncdhw = cubes->is_ncdhw,
                .size = eddy_dtype_size(dtype)};
    if (in->rank != EDDY__VOLUME_RANK || filter->rank != EDDY__VOLUME_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FIVE,
                           eddy__shape_print(in).text,
                           eddy__shape_print(filter).text);
    c->in = eddy__volumes_of(in, cubes->is_ncdhw);
    if (!filter_fits(c->in.channels, filter))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_DEPTH,
                           c->in.channels, eddy__shape_print(filter).text);
    EDDY_TRY(eddy__cubes_lie(k, cubes, &c->in, filter->dims, c->sides));
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        sides[side] = c->sides[side].out;
    out = eddy__volumes_shape(c->in.n, sides, filter->dims[4], cubes->is_ncdhw);
    c->out = eddy__volumes_of(&out, cubes->is_ncdhw);
    c->multiply = eddy__product_of(c->loops->computed);
    c->is_computed = c->loops->computed == dtype;
    c->is_direct = c->is_computed && !cubes->is_ncdhw;
    /* Of a filter that is yet to be made these may wrap; making it fails. */
    c->patch = (int64_t)((uint64_t)filter->dims[0] * (uint64_t)filter->dims[1] *
                         (uint64_t)filter->dims[2] * (uint64_t)filter->dims[3]);
    return EDDY_OK;
}

static eddy_shape shape_of_output(const conv *c)
{
    return eddy__volumes_shape(c->out.n, c->out.sides, c->out.channels,
                               c->is_ncdhw);
}

/* Once filter and output are known to be tensors, their sizes are numbers. */
static void count_windows(conv *c)
{
    c->windows = c->in.n * c->sides[0].out * c->sides[1].out * c->sides[2].out;
    set_rows(c);
}

static eddy__cube window_at(const conv *c, int64_t i)
{
    return eddy__cube_at(&c->in, &c->out, c->sides, i);
}

/* ---- scratch memory ---- */

/* One block of memory, of computed elements, that is given out in parts. */
typedef struct scratch {
    eddy_tensor *tensor;
    unsigned char *at;
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
    *s = (scratch){NULL, NULL};
    if (fits)
        s->tensor = eddy__tensor_create(k->heap, k->account, k->allocator,
                                        c->loops->computed, &shape);
    if (!s->tensor)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for patches of %" PRId64 " elements",
                           c->patch);
    s->at = s->tensor->data;
    return EDDY_OK;
}

static void *scratch_take(scratch *s, const conv *c, int64_t n)
{
    unsigned char *part = s->at;

    s->at += (size_t)n * c->loops->size;
    return part;
}

/* ---- patches ---- */

static unsigned char *computed_at(const conv *c, void *matrix, int64_t i)
{
    return (unsigned char *)matrix + (size_t)i * c->loops->size;
}

/* Places [first, end) of one line of a window, channels and all. */
static void load_line(const conv *c, const unsigned char *volumes, int64_t from,
                      const eddy__cube *w, void *to)
{
    const int64_t n = c->in.channels;
    const int64_t step = c->sides[2].dilation * c->in.steps[2];

    if (!c->is_ncdhw && step == n) {
        c->loops->load(computed_at(c, to, w->first[2] * n),
                       volumes + (size_t)(from + w->first[2] * n) * c->size,
                       (w->end[2] - w->first[2]) * n);
        return;
    }
    for (int64_t i = w->first[2]; i < w->end[2]; i++)
        for (int64_t j = 0; j < (c->is_ncdhw ? n : 1); j++)
            c->loops->load(
                computed_at(c, to, i * n + j),
                volumes + (size_t)(from + i * step + j * c->in.step_channel) *
                              c->size,
                c->is_ncdhw ? 1 : n);
}

/* Adds one line of patches to volumes of computed elements. */
static void add_line(const conv *c, void *volumes, int64_t to,
                     const eddy__cube *w, void *from)
{
    const int64_t n = c->in.channels;
    const int64_t step = c->sides[2].dilation * c->in.steps[2];

    if (!c->is_ncdhw && step == n) {
        c->loops->add(computed_at(c, volumes, to + w->first[2] * n),
                      computed_at(c, from, w->first[2] * n),
                      (w->end[2] - w->first[2]) * n);
        return;
    }
    for (int64_t i = w->first[2]; i < w->end[2]; i++)
        for (int64_t j = 0; j < (c->is_ncdhw ? n : 1); j++)
            c->loops->add(
                computed_at(c, volumes, to + i * step + j * c->in.step_channel),
                computed_at(c, from, i * n + j), c->is_ncdhw ? 1 : n);
}

/* Where line (i, j) of a window begins, and whether it is inside. */
static bool line_at(const conv *c, const eddy__cube *w, int64_t i, int64_t j,
                    int64_t *out)
{
    *out = w->origin + i * c->sides[0].dilation * c->in.steps[0] +
           j * c->sides[1].dilation * c->in.steps[1];
    return i >= w->first[0] && i < w->end[0] && j >= w->first[1] &&
           j < w->end[1] && w->first[2] < w->end[2];
}

/* Makes rows [first, first + n) of the matrix. */
static void gather(const conv *c, const unsigned char *volumes, int64_t first,
                   int64_t n, void *matrix)
{
    const int64_t line = c->sides[2].size * c->in.channels;
    unsigned char *to = matrix;
    int64_t from;

    memset(matrix, 0, (size_t)(n * c->patch) * c->loops->size);
    for (int64_t row = 0; row < n; row++) {
        const eddy__cube w = window_at(c, first + row);

        for (int64_t i = 0; i < c->sides[0].size; i++)
            for (int64_t j = 0; j < c->sides[1].size; j++) {
                if (line_at(c, &w, i, j, &from))
                    load_line(c, volumes, from, &w, to);
                to += (size_t)line * c->loops->size;
            }
    }
}

/* Adds these rows to volume `volume`, which lies at `to`. */
static void scatter(const conv *c, void *matrix, int64_t first, int64_t n,
                    int64_t volume, void *to)
{
    const int64_t line = c->sides[2].size * c->in.channels;
    unsigned char *from = matrix;
    int64_t at;

    for (int64_t row = 0; row < n; row++) {
        eddy__cube w = window_at(c, first + row);

        w.origin -= volume * c->in.step_volume;
        for (int64_t i = 0; i < c->sides[0].size; i++)
            for (int64_t j = 0; j < c->sides[1].size; j++) {
                if (line_at(c, &w, i, j, &at))
                    add_line(c, to, at, &w, from);
                from += (size_t)line * c->loops->size;
            }
    }
}

/* ---- rows of the output ---- */

/* Stores rows of products where they belong. */
static void put_rows(const conv *c, const unsigned char *products,
                     int64_t first, int64_t n, unsigned char *out)
{
    const int64_t columns = c->out.channels;

    if (!c->is_ncdhw) {
        c->loops->store(out + (size_t)(first * columns) * c->size, products,
                        n * columns);
        return;
    }
    for (int64_t row = 0; row < n; row++) {
        const eddy__cube w = window_at(c, first + row);

        for (int64_t j = 0; j < columns; j++) {
            c->loops->store(out + (size_t)(w.out + j * c->out.step_channel) *
                                      c->size,
                            products, 1);
            products += c->loops->size;
        }
    }
}

/* Rows of the output's gradient as computed elements, in `room` if need be. */
static const void *take_rows(const conv *c, const unsigned char *gradient,
                             int64_t first, int64_t n, void *room)
{
    const int64_t columns = c->out.channels;

    if (c->is_direct)
        return gradient + (size_t)(first * columns) * c->size;
    if (!c->is_ncdhw) {
        c->loops->load(room, gradient + (size_t)(first * columns) * c->size,
                       n * columns);
        return room;
    }
    for (int64_t row = 0; row < n; row++) {
        const eddy__cube w = window_at(c, first + row);

        for (int64_t j = 0; j < columns; j++)
            c->loops->load(
                computed_at(c, room, row * columns + j),
                gradient + (size_t)(w.out + j * c->out.step_channel) * c->size,
                1);
    }
    return room;
}

/* The filter as computed elements, in `room` if need be. */
static const void *take_filter(eddy_kernel *k, const conv *c, void *room)
{
    const unsigned char *filter = eddy__in_elements(k, FILTER);

    if (c->is_computed)
        return filter;
    c->loops->load(room, filter, c->patch * c->out.channels);
    return room;
}

/* ---- Conv3D ---- */

static eddy_status convolve(eddy_kernel *k, const conv *c, unsigned char *out)
{
    const int64_t sizes[][2] = {
        {c->rows, c->patch},
        {c->patch, c->is_computed ? 0 : c->out.channels},
        {c->rows, c->is_direct ? 0 : c->out.channels}};
    eddy__product p = {.kernel = k, .n = c->out.channels, .k = c->patch};
    eddy_status code = EDDY_OK;
    void *matrix, *products;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 3, &s));
    matrix = scratch_take(&s, c, c->rows * c->patch);
    p.b = take_filter(k, c, scratch_take(&s, c, sizes[1][0] * sizes[1][1]));
    products = scratch_take(&s, c, 0);
    for (int64_t first = 0; code == EDDY_OK && first < c->windows;
         first += p.m) {
        p.m = c->windows - first < c->rows ? c->windows - first : c->rows;
        gather(c, eddy__in_elements(k, INPUT), first, p.m, matrix);
        p.a = matrix;
        p.out = c->is_direct ? out + (size_t)(first * c->out.channels) * c->size
                             : products;
        c->multiply(&p);
        if (!c->is_direct)
            put_rows(c, products, first, p.m, out);
        code = eddy__go_on(k, EDDY__PATIENCE);
    }
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status run_conv(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, INPUT);
    unsigned char *out;
    eddy_shape shape;
    conv c;

    EDDY_TRY(describe(k, dtype, eddy__in_shape(k, INPUT),
                      eddy__in_shape(k, FILTER), &c));
    shape = shape_of_output(&c);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    count_windows(&c);
    return convolve(k, &c, out);
}

/* ---- Conv3DBackpropInputV2 ---- */

static eddy_status check_gradient(eddy_kernel *k, const conv *c)
{
    const eddy_shape want = shape_of_output(c);

    return eddy__window_want_shape(k, GRADIENT, "out_backprop", &want);
}

/* Adds what volume `i` gets to `to`, of computed elements. */
/* NOLINTNEXTLINE(readability-function-size): what one volume takes. */
static eddy_status spread_one(eddy_kernel *k, const conv *c, int64_t i,
                              const void *filter, void *matrix, void *room,
                              void *to)
{
    const int64_t n = c->windows / c->in.n;
    eddy__product p = {.kernel = k,
                       .n = c->patch,
                       .k = c->out.channels,
                       .transpose_b = true,
                       .b = filter,
                       .out = matrix};

    for (int64_t at = 0; at < n; at += p.m) {
        const int64_t first = i * n + at;

        EDDY_TRY(eddy__go_on(k, EDDY__PATIENCE));
        p.m = n - at < c->rows ? n - at : c->rows;
        p.a = take_rows(c, eddy__in_elements(k, GRADIENT), first, p.m, room);
        c->multiply(&p);
        scatter(c, matrix, first, p.m, i, to);
    }
    return EDDY_OK;
}

static eddy_status spread(eddy_kernel *k, const conv *c, unsigned char *out)
{
    const int64_t n = c->in.step_volume;
    const int64_t sizes[][2] = {
        {c->rows, c->patch},
        {c->patch, c->is_computed ? 0 : c->out.channels},
        {c->rows, c->is_direct ? 0 : c->out.channels},
        {c->is_computed ? 0 : n, 1}};
    eddy_status code = EDDY_OK;
    void *matrix, *room, *volume;
    const void *filter;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 4, &s));
    matrix = scratch_take(&s, c, c->rows * c->patch);
    filter = take_filter(k, c, scratch_take(&s, c, sizes[1][0] * sizes[1][1]));
    room = scratch_take(&s, c, sizes[2][0] * sizes[2][1]);
    volume = scratch_take(&s, c, 0);
    for (int64_t i = 0; code == EDDY_OK && i < c->in.n; i++) {
        unsigned char *own = out + (size_t)(i * n) * c->size;
        unsigned char *to = c->is_computed ? own : volume;

        eddy__zero_bytes(k, to, (size_t)n * c->loops->size);
        code = spread_one(k, c, i, filter, matrix, room, to);
        if (!c->is_computed)
            c->loops->store(own, to, n);
    }
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status run_input_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    eddy_shape shape = {.rank = 0};
    unsigned char *out;
    eddy_view view;
    conv c;

    EDDY_TRY(eddy__vector_argument(k, INPUT, "input_sizes", EDDY__VOLUME_RANK,
                                   &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &shape));
    EDDY_TRY(describe(k, dtype, &shape, eddy__in_shape(k, FILTER), &c));
    EDDY_TRY(check_gradient(k, &c));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    if (eddy__in_count(k, GRADIENT) > 0) {
        count_windows(&c);
        return spread(k, &c, out);
    }
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

/* ---- Conv3DBackpropFilterV2 ---- */

static eddy_status collect(eddy_kernel *k, const conv *c, unsigned char *out)
{
    const int64_t count = c->patch * c->out.channels;
    const int64_t sizes[][2] = {{c->rows, c->patch},
                                {c->rows, c->is_direct ? 0 : c->out.channels},
                                {c->is_computed ? 0 : count, 1},
                                {c->rows < c->windows ? count : 0, 1}};
    eddy__product p = {
        .kernel = k, .m = c->patch, .n = c->out.channels, .transpose_a = true};
    eddy_status code = EDDY_OK;
    void *matrix, *room, *sum, *part;
    scratch s;

    EDDY_TRY(scratch_make(k, c, sizes, 4, &s));
    matrix = scratch_take(&s, c, c->rows * c->patch);
    room = scratch_take(&s, c, sizes[1][0] * sizes[1][1]);
    sum = scratch_take(&s, c, sizes[2][0]);
    part = scratch_take(&s, c, 0);
    if (c->is_computed)
        sum = out;
    for (int64_t first = 0; code == EDDY_OK && first < c->windows;
         first += p.k) {
        p.k = c->windows - first < c->rows ? c->windows - first : c->rows;
        gather(c, eddy__in_elements(k, INPUT), first, p.k, matrix);
        p.a = matrix;
        p.b = take_rows(c, eddy__in_elements(k, GRADIENT), first, p.k, room);
        p.out = first == 0 ? sum : part;
        c->multiply(&p);
        if (first > 0)
            c->loops->add(sum, part, count);
        code = eddy__go_on(k, EDDY__PATIENCE);
    }
    if (code == EDDY_OK && !c->is_computed)
        c->loops->store(out, sum, count);
    eddy__tensor_recycle(k->heap, s.tensor);
    return code;
}

static eddy_status run_filter_gradient(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, GRADIENT);
    eddy_shape shape = {.rank = 0};
    unsigned char *out;
    eddy_view view;
    conv c;

    EDDY_TRY(eddy__vector_argument(k, FILTER, "filter_sizes", EDDY__VOLUME_RANK,
                                   &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &shape));
    EDDY_TRY(describe(k, dtype, eddy__in_shape(k, INPUT), &shape, &c));
    EDDY_TRY(check_gradient(k, &c));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (eddy__in_count(k, GRADIENT) > 0) {
        count_windows(&c);
        return collect(k, &c, out);
    }
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

/* ---- for a plan ---- */

static eddy_status infer_conv(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(EDDY__VOLUME_RANK);
    eddy_shape in = any, filter = any, shape;
    int64_t sides[EDDY__VOLUME_SIDES];
    eddy__volumes volumes;
    eddy__cubes cubes;

    EDDY_TRY(eddy__cubes_read(infer, &cubes));
    if (!eddy__shape_merge(eddy_infer_input(infer, INPUT), &any, &in) ||
        !eddy__shape_merge(eddy_infer_input(infer, FILTER), &any, &filter))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NOT_FIVE,
            eddy__shape_print(eddy_infer_input(infer, INPUT)).text,
            eddy__shape_print(eddy_infer_input(infer, FILTER)).text);
    volumes = eddy__volumes_of(&in, cubes.is_ncdhw);
    if (volumes.channels >= 0 && eddy__shape_is_known(&filter) &&
        !filter_fits(volumes.channels, &filter))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NO_DEPTH, volumes.channels,
                               eddy__shape_print(&filter).text);
    EDDY_TRY(eddy__infer_cubes(infer, &cubes, &volumes, filter.dims, sides));
    shape =
        eddy__volumes_shape(volumes.n, sides, filter.dims[4], cubes.is_ncdhw);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_sizes(eddy_infer *infer, uint32_t input)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, input);

    if (shape.rank != EDDY__VOLUME_RANK)
        shape = eddy__shape_of_rank(EDDY__VOLUME_RANK);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_input_gradient(eddy_infer *infer)
{
    return infer_sizes(infer, INPUT);
}

static eddy_status infer_filter_gradient(eddy_infer *infer)
{
    return infer_sizes(infer, FILTER);
}

#define CONVOLUTION(name, in, more, shapes, run, text)                         \
    EDDY__OP_ROW(                                                              \
        name, .inputs = in, .outputs = "output: T",                            \
        .attrs = "T: float, strides: list(int) >= 5, padding: string, "        \
                 "data_format: string = 'NDHWC', dilations: list(int) = [1, "  \
                 "1, 1, 1, 1]" more,                                           \
        .infer = shapes, .kernel = run, .prepare = eddy__cubes_prepare,        \
        .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    CONVOLUTION(
        "Conv3D", "input: T, filter: T", "", infer_conv, run_conv,
        "The correlation of volumes with a filter, for each of its outputs."),
    CONVOLUTION("Conv3DBackpropInputV2",
                "input_sizes: Tshape, filter: T, out_backprop: T",
                ", Tshape: index = int32", infer_input_gradient,
                run_input_gradient, "The gradient of Conv3D by its volumes."),
    CONVOLUTION("Conv3DBackpropFilterV2",
                "input: T, filter_sizes: int32, out_backprop: T", "",
                infer_filter_gradient, run_filter_gradient,
                "The gradient of Conv3D by its filter."),
};

const eddy__op_table eddy__conv3d_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images resized to another number of rows and columns: by the nearest element,
 * or by the four around a place, and the gradients of both.
 *
 * Where a row or column of the output lies in the image is computed in float32,
 * as in TensorFlow, since a place on the border of two elements goes to one of
 * them by how it is rounded.
 */
#include "ops/nn/resize.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

enum { IMAGES, SIZE };

/* Two elements of a side, and how far the place is from the first. */
typedef struct place {
    int64_t low, high;
    float weight;
} place;

static eddy__resized_side side_of(int64_t in, int64_t out, eddy__resize_modes m)
{
    eddy__resized_side s = {.in = in, .out = out, .modes = m};

    s.scale = m.aligns && out > 1 ? (float)(in - 1) / (float)(out - 1)
                                  : (float)in / (float)out;
    return s;
}

static int64_t nearest(const eddy__resized_side *s, int64_t i)
{
    const float at =
        s->modes.centres ? ((float)i + 0.5f) * s->scale : (float)i * s->scale;
    int64_t index = (int64_t)(s->modes.aligns ? roundf(at) : floorf(at));

    index = index < s->in - 1 ? index : s->in - 1;
    return index > 0 ? index : 0;
}

static place between(const eddy__resized_side *s, int64_t i)
{
    const float at = s->modes.centres ? ((float)i + 0.5f) * s->scale - 0.5f
                                      : (float)i * s->scale;
    const float floor_of = floorf(at);
    const int64_t low = (int64_t)floor_of;

    return (place){.low = low > 0 ? low : 0,
                   .high = low + 1 < s->in - 1 ? low + 1 : s->in - 1,
                   .weight = at - floor_of};
}

/* ---- the nearest ---- */

static eddy_status pick(eddy_kernel *k, const eddy__resizing *r, size_t size,
                        unsigned char *out)
{
    const unsigned char *from = eddy__in_elements(k, IMAGES);
    const size_t pixel = (size_t)r->channels * size;

    for (int64_t i = 0; i < r->n * r->rows.out; i++) {
        const int64_t row =
            i / r->rows.out * r->rows.in + nearest(&r->rows, i % r->rows.out);

        EDDY_TRY(eddy__go_on(k, r->columns.out * (4 + r->channels / 4)));
        for (int64_t j = 0; j < r->columns.out; j++, out += pixel)
            memcpy(out,
                   from +
                       (size_t)(row * r->columns.in + nearest(&r->columns, j)) *
                           pixel,
                   pixel);
    }
    return EDDY_OK;
}

/* Adds up what goes to each element: the images are the output here. */
#define NEAREST_BACK(D, type)                                                  \
    static void nearest_back_##D(void *to, const void *from, int64_t n)        \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *x = from;                                      \
                                                                               \
        for (int64_t c = 0; c < n; c++)                                        \
            out[c] = EDDY__STORE_##D((type)eddy__load_##D(out[c]) +            \
                                     (type)eddy__load_##D(x[c]));              \
    }
#define FLOATS(D, ...) NEAREST_BACK(D, eddy__computed_##D)
#define INTEGERS(D, ...) NEAREST_BACK(D, eddy__wrapped_##D)

EDDY__EACH_FLOAT(FLOATS, )
INTEGERS(I8, )
INTEGERS(U8, )
INTEGERS(I32, )

typedef void (*add_fn)(void *to, const void *from, int64_t n);

static const add_fn adders[EDDY_DTYPE_COUNT] = {
#define ENTRY(D, ...) [EDDY__DTYPE_##D] = nearest_back_##D,
    EDDY__EACH_FLOAT(ENTRY, ) ENTRY(I8, ) ENTRY(U8, ) ENTRY(I32, )};

static eddy_status put_back(eddy_kernel *k, const eddy__resizing *r,
                            eddy_dtype dtype, unsigned char *out)
{
    const unsigned char *from = eddy__in_elements(k, IMAGES);
    const size_t pixel = (size_t)r->channels * eddy_dtype_size(dtype);

    for (int64_t i = 0; i < r->n * r->rows.out; i++) {
        const int64_t row =
            i / r->rows.out * r->rows.in + nearest(&r->rows, i % r->rows.out);

        EDDY_TRY(eddy__go_on(k, r->columns.out * (4 + r->channels)));
        for (int64_t j = 0; j < r->columns.out; j++, from += pixel)
            adders[dtype](
                out + (size_t)(row * r->columns.in + nearest(&r->columns, j)) *
                          pixel,
                from, r->channels);
    }
    return EDDY_OK;
}

/* ---- between four ---- */

#define LOADS(D, ...)                                                          \
    static float load_##D(const void *from, int64_t i)                         \
    {                                                                          \
        return (float)eddy__load_##D(((const eddy__stored_##D *)from)[i]);     \
    }

EDDY__EACH_FLOAT(LOADS, )
EDDY__EACH_SIGNED(LOADS, )
LOADS(U8, )
LOADS(U16, )

const eddy__resize_load eddy__resize_loaders[EDDY_DTYPE_COUNT] = {
#define LOAD_ENTRY(D, ...) [EDDY__DTYPE_##D] = load_##D,
    EDDY__EACH_FLOAT(LOAD_ENTRY, ) EDDY__EACH_SIGNED(LOAD_ENTRY, )
        LOAD_ENTRY(U8, ) LOAD_ENTRY(U16, )};

static float mix(float a, float b, float weight)
{
    return a + (b - a) * weight;
}

static void mix_row(const eddy__resizing *r, const void *from,
                    eddy__resize_load load, const place *row, int64_t image,
                    float *out)
{
    const int64_t top = (image * r->rows.in + row->low) * r->columns.in;
    const int64_t bottom = (image * r->rows.in + row->high) * r->columns.in;

    for (int64_t j = 0; j < r->columns.out; j++) {
        const place at = between(&r->columns, j);

        for (int64_t c = 0; c < r->channels; c++) {
            const int64_t a = at.low * r->channels + c;
            const int64_t b = at.high * r->channels + c;
            const int64_t up = top * r->channels, down = bottom * r->channels;

            *out++ =
                mix(mix(load(from, up + a), load(from, up + b), at.weight),
                    mix(load(from, down + a), load(from, down + b), at.weight),
                    row->weight);
        }
    }
}

static eddy_status mix_all(eddy_kernel *k, const eddy__resizing *r,
                           eddy_dtype dtype, float *out)
{
    for (int64_t i = 0; i < r->n * r->rows.out; i++) {
        const place row = between(&r->rows, i % r->rows.out);

        EDDY_TRY(eddy__go_on(k, r->columns.out * (8 + 8 * r->channels)));
        mix_row(r, eddy__in_elements(k, IMAGES), eddy__resize_loaders[dtype],
                &row, i / r->rows.out, out);
        out += r->columns.out * r->channels;
    }
    return EDDY_OK;
}

/* Gives one row of gradients, float32, to the four elements around each. */
#define MIX_BACK(D)                                                            \
    static void mix_back_##D(const eddy__resizing *r, const float *from,       \
                             const place *row, int64_t image, void *to)        \
    {                                                                          \
        const int64_t n = r->channels, width = r->columns.in * n;              \
        eddy__stored_##D *up =                                                 \
            (eddy__stored_##D *)to + (image * r->rows.in + row->low) * width;  \
        eddy__stored_##D *down =                                               \
            (eddy__stored_##D *)to + (image * r->rows.in + row->high) * width; \
                                                                               \
        for (int64_t j = 0; j < r->columns.out; j++) {                         \
            const place at = between(&r->columns, j);                          \
                                                                               \
            for (int64_t c = 0; c < n; c++) {                                  \
                const float dy = *from++;                                      \
                const float above = dy * (1 - row->weight);                    \
                const float below = dy * row->weight;                          \
                                                                               \
                add_##D(&up[at.low * n + c], above *(1 - at.weight));          \
                add_##D(&up[at.high * n + c], above *at.weight);               \
                add_##D(&down[at.low * n + c], below *(1 - at.weight));        \
                add_##D(&down[at.high * n + c], below *at.weight);             \
            }                                                                  \
        }                                                                      \
    }
#define ADDS(D)                                                                \
    static void add_##D(eddy__stored_##D *to, float x)                         \
    {                                                                          \
        *to = EDDY__STORE_##D(eddy__load_##D(*to) + (eddy__computed_##D)x);    \
    }
#define BACK(D, ...) ADDS(D) MIX_BACK(D)

EDDY__EACH_FLOAT(BACK, )

typedef void (*mix_back_fn)(const eddy__resizing *r, const float *from,
                            const place *row, int64_t image, void *to);

static const mix_back_fn back_mixers[EDDY_DTYPE_COUNT] = {
#define BACK_ENTRY(D, ...) [EDDY__DTYPE_##D] = mix_back_##D,
    EDDY__EACH_FLOAT(BACK_ENTRY, )};

/* ---- what is given ---- */

static eddy_status want_images(eddy_kernel *k, uint32_t i)
{
    const eddy_shape *of = eddy__in_shape(k, i);

    if (of->rank == 4)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "images must have four dimensions, but they have shape "
                       "%s",
                       eddy__shape_print(of).text);
}

/* Input 1, the new numbers of rows and columns. */
static eddy_status read_size(eddy_kernel *k, int64_t out[2])
{
    eddy_view size;

    EDDY_TRY(eddy__vector_argument(k, SIZE, "size", 2, &size));
    for (int32_t i = 0; i < 2; i++) {
        out[i] = eddy__view_index(&size, i);
        if (out[i] < 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "size[%d] must be positive, but it is %" PRId64,
                               (int)i, out[i]);
    }
    return EDDY_OK;
}

static eddy_status want_channels(eddy_kernel *k, const eddy_shape *images)
{
    if (images->dims[3] > 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "images must have channels, but they have shape %s",
                       eddy__shape_print(images).text);
}

/* Between images of shape `in` and `rows` by `columns`. */
static eddy_status describe(eddy_kernel *k, const eddy_shape *in,
                            const int64_t out[2], eddy__resizing *r)
{
    const eddy__resize_modes m = *(const eddy__resize_modes *)eddy__state(k);

    if (in->dims[1] < 1 || in->dims[2] < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "images must have pixels, but they have shape %s",
                           eddy__shape_print(in).text);
    *r = (eddy__resizing){.n = in->dims[0],
                          .channels = in->dims[3],
                          .rows = side_of(in->dims[1], out[0], m),
                          .columns = side_of(in->dims[2], out[1], m)};
    return EDDY_OK;
}

/* ---- kernels ---- */

eddy_status eddy__resize_begin(eddy_kernel *k, eddy_dtype dtype,
                               eddy__resizing *r, unsigned char **out)
{
    eddy_shape shape;
    int64_t size[2] = {0};

    EDDY_TRY(want_images(k, IMAGES));
    EDDY_TRY(read_size(k, size));
    EDDY_TRY(want_channels(k, eddy__in_shape(k, IMAGES)));
    EDDY_TRY(describe(k, eddy__in_shape(k, IMAGES), size, r));
    shape = *eddy__in_shape(k, IMAGES);
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    return eddy__output_elements(k, 0, dtype, &shape, out);
}

static eddy_status run_nearest(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, IMAGES);
    unsigned char *out;
    eddy__resizing r = {0};

    EDDY_TRY(eddy__resize_begin(k, dtype, &r, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    return pick(k, &r, eddy_dtype_size(dtype), out);
}

static eddy_status run_bilinear(eddy_kernel *k)
{
    unsigned char *out;
    eddy__resizing r = {0};

    EDDY_TRY(eddy__resize_begin(k, EDDY_FLOAT32, &r, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    return mix_all(k, &r, eddy__in_dtype(k, IMAGES), (float *)(void *)out);
}

/* The gradients' side is the resized one: `size` says what it came from. */
static eddy_status run_nearest_back(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, IMAGES);
    const eddy_shape *dy = eddy__in_shape(k, IMAGES);
    eddy_shape shape;
    unsigned char *out;
    int64_t size[2] = {0};
    eddy__resizing r = {0};

    EDDY_TRY(want_images(k, IMAGES));
    EDDY_TRY(read_size(k, size));
    shape = *dy;
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    EDDY_TRY(want_channels(k, &shape));
    EDDY_TRY(
        describe(k, &shape, (const int64_t[]){dy->dims[1], dy->dims[2]}, &r));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    if (eddy__in_count(k, IMAGES) == 0)
        return EDDY_OK;
    return put_back(k, &r, dtype, out);
}

eddy_status eddy__resize_begin_back(eddy_kernel *k, eddy__resizing *r,
                                    unsigned char **out)
{
    const eddy_shape *dy = eddy__in_shape(k, 0), *x = eddy__in_shape(k, 1);

    EDDY_TRY(want_images(k, 0));
    EDDY_TRY(want_images(k, 1));
    if (dy->dims[0] != x->dims[0] || dy->dims[3] != x->dims[3])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "gradients of shape %s are not of images of shape "
                           "%s",
                           eddy__shape_print(dy).text,
                           eddy__shape_print(x).text);
    if (dy->dims[1] < 1 || dy->dims[2] < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "gradients must be of pixels, but they have shape "
                           "%s",
                           eddy__shape_print(dy).text);
    EDDY_TRY(describe(k, x, (const int64_t[]){dy->dims[1], dy->dims[2]}, r));
    EDDY_TRY(eddy__output_elements(k, 0, eddy__in_dtype(k, 1), x, out));
    eddy__zero_bytes(k, *out, eddy__out(k, 0)->as.tensor->bytes);
    return EDDY_OK;
}

static eddy_status run_bilinear_back(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const float *from = (const void *)eddy__in_elements(k, 0);
    unsigned char *out;
    eddy__resizing r = {0};

    EDDY_TRY(eddy__resize_begin_back(k, &r, &out));
    if (eddy__in_count(k, 0) == 0)
        return EDDY_OK;
    for (int64_t i = 0; i < r.n * r.rows.out; i++) {
        const place row = between(&r.rows, i % r.rows.out);

        EDDY_TRY(eddy__go_on(k, r.columns.out * (8 + 12 * r.channels)));
        back_mixers[dtype](&r, from, &row, i / r.rows.out, out);
        from += r.columns.out * r.channels;
    }
    return EDDY_OK;
}

/* ---- for a plan ---- */

eddy_status eddy__resize_prepare(eddy_infer *infer)
{
    eddy__resize_modes *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->aligns = eddy__infer_bool(infer, "align_corners");
    state->centres = eddy__infer_bool(infer, "half_pixel_centers");
    if (!state->aligns || !state->centres)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "align_corners and half_pixel_centers can't both "
                           "be true");
}

eddy_status eddy__infer_resized(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(4);
    eddy_shape shape;
    int64_t size;

    EDDY_TRY(eddy__infer_want_rank(infer, 0, 4));
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 1));
    if (!eddy__shape_merge(eddy_infer_input(infer, 0), &any, &shape))
        return EDDY_OK;
    for (int32_t i = 0; i < 2; i++)
        shape.dims[1 + i] =
            eddy__infer_constant_int(infer, 1, i, &size) && size >= 0 ? size
                                                                      : -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

eddy_status eddy__infer_resized_back(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 0, 4));
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 4));
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

#define MODES "align_corners: bool = false, half_pixel_centers: bool = false"
#define SMALL "int8, uint8, int16, uint16, int32, int64, float"

#define RESIZE(name, in, out, dtypes, shapes, run, text)                       \
    EDDY__OP_ROW(name, .inputs = in, .outputs = out,                           \
                 .attrs = "T: {" dtypes "}, " MODES, .infer = shapes,          \
                 .kernel = run, .prepare = eddy__resize_prepare, .doc = text)

static const eddy_op_spec specs[] = {
    RESIZE("ResizeNearestNeighbor", "images: T, size: int32",
           "resized_images: T", SMALL, eddy__infer_resized, run_nearest,
           "Images of another size, each element the nearest one."),
    RESIZE("ResizeNearestNeighborGrad", "grads: T, size: int32", "output: T",
           "uint8, int8, int32, float", eddy__infer_resized, run_nearest_back,
           "The gradient of ResizeNearestNeighbor by its images."),
    RESIZE("ResizeBilinear", "images: T, size: int32",
           "resized_images: float32", SMALL, eddy__infer_resized, run_bilinear,
           "Images of another size, each element between the four nearest."),
    RESIZE("ResizeBilinearGrad", "grads: float32, original_image: T",
           "output: T", "float", eddy__infer_resized_back, run_bilinear_back,
           "The gradient of ResizeBilinear by its images."),
};

const eddy__op_table eddy__resize_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

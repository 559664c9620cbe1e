/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ExtractImagePatches: what lies under each window over images, in the depth of
 * the output; zeros beyond the images.
 */
#include "ops/math/elements.h"
#include "ops/nn/window.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

static eddy_status refuse(eddy_infer *infer, const char *name)
{
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "%s must be four positive numbers, of which the "
                           "first and the last are 1",
                           name);
}

/* Two numbers of a list of four: those of rows and of columns. */
static eddy_status read_sides(eddy_infer *infer, const char *name,
                              int64_t out[2])
{
    eddy_attr attr;

    if (!eddy_infer_attr(infer, name, &attr) || attr.n != 4)
        return refuse(infer, name);
    for (int i = 0; i < 4; i++)
        if (attr.as.ints[i] < 1 || attr.as.ints[i] > INT32_MAX ||
            ((i == 0 || i == 3) && attr.as.ints[i] != 1))
            return refuse(infer, name);
    out[0] = attr.as.ints[1];
    out[1] = attr.as.ints[2];
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer)
{
    eddy__windows *w = eddy__prepare_state(infer, sizeof *w);
    int64_t size[2] = {0}, stride[2] = {0}, rate[2] = {0};
    eddy_attr padding;

    if (!w)
        return EDDY_RESOURCE_EXHAUSTED;
    EDDY_TRY(read_sides(infer, "ksizes", size));
    EDDY_TRY(read_sides(infer, "strides", stride));
    EDDY_TRY(read_sides(infer, "rates", rate));
    for (int i = 0; i < 2; i++)
        w->sides[i] = (eddy__slide){
            .size = size[i], .stride = stride[i], .dilation = rate[i]};
    w->padding = EDDY__PADDING_SAME;
    if (eddy_infer_attr(infer, "padding", &padding) &&
        eddy__window_text_is(padding.as.strings, "SAME"))
        return EDDY_OK;
    w->padding = EDDY__PADDING_VALID;
    if (eddy__window_text_is(padding.as.strings, "VALID"))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "padding must be SAME or VALID");
}

/* ---- kernel ---- */

/* The pixels under window (i, j) of an image. */
static unsigned char *put_patch(const eddy__side sides[2], size_t pixel,
                                const unsigned char *image, int64_t i,
                                int64_t j, unsigned char *out)
{
    const int64_t row = eddy__side_start(&sides[0], i);
    const int64_t column = eddy__side_start(&sides[1], j);

    for (int64_t a = 0; a < sides[0].size; a++) {
        const int64_t y = row + a * sides[0].dilation;

        for (int64_t b = 0; b < sides[1].size; b++, out += pixel) {
            const int64_t x = column + b * sides[1].dilation;

            if (y < 0 || y >= sides[0].in || x < 0 || x >= sides[1].in)
                memset(out, 0, pixel);
            else
                memcpy(out, image + (size_t)(y * sides[1].in + x) * pixel,
                       pixel);
        }
    }
    return out;
}

static eddy_status put_patches(eddy_kernel *k, const eddy__side sides[2],
                               const eddy__images *in, unsigned char *out)
{
    const size_t pixel =
        (size_t)in->channels * eddy__element_size(eddy__in_dtype(k, 0));
    const size_t image = (size_t)(in->sides[0] * in->sides[1]) * pixel;
    const int64_t work = sides[0].size * sides[1].size * (4 + in->channels / 8);

    for (int64_t i = 0; i < in->n * sides[0].out; i++)
        for (int64_t j = 0; j < sides[1].out; j++) {
            EDDY_TRY(eddy__go_on(k, work));
            out = put_patch(sides, pixel,
                            eddy__in_elements(k, 0) +
                                (size_t)(i / sides[0].out) * image,
                            i % sides[0].out, j, out);
        }
    return EDDY_OK;
}

static eddy_status run_patches(eddy_kernel *k)
{
    const eddy__windows *w = eddy__state(k);
    const eddy_shape *images = eddy__in_shape(k, 0);
    const int64_t sizes[2] = {w->sides[0].size, w->sides[1].size};
    eddy_shape shape = eddy__shape_of_rank(4);
    eddy__side sides[2];
    eddy__images in;
    unsigned char *out;
    int64_t depth;

    if (images->rank != 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "images must have four dimensions, but they have "
                           "shape %s",
                           eddy__shape_print(images).text);
    in = eddy__images_of(images, false);
    EDDY_TRY(eddy__sides_of(k, w, &in, sizes, sides));
    if (__builtin_mul_overflow(sizes[0] * sizes[1], in.channels, &depth))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "patches of %" PRId64 " by %" PRId64
                           " are too large",
                           sizes[0], sizes[1]);
    shape.dims[0] = in.n;
    shape.dims[1] = sides[0].out;
    shape.dims[2] = sides[1].out;
    shape.dims[3] = depth;
    EDDY_TRY(eddy__output_elements(k, 0, eddy__in_dtype(k, 0), &shape, &out));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    return put_patches(k, sides, &in, out);
}

/* ---- for a plan ---- */

static eddy_status infer_patches(eddy_infer *infer)
{
    const eddy_shape *images = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__shape_of_rank(4);
    int64_t size[2] = {0}, stride[2] = {0}, rate[2] = {0}, depth;

    EDDY_TRY(eddy__infer_want_rank(infer, 0, 4));
    EDDY_TRY(read_sides(infer, "ksizes", size));
    EDDY_TRY(read_sides(infer, "strides", stride));
    EDDY_TRY(read_sides(infer, "rates", rate));
    if (images->rank == 4) {
        shape.dims[0] = images->dims[0];
        if (images->dims[3] >= 0 &&
            !__builtin_mul_overflow(size[0] * size[1], images->dims[3], &depth))
            shape.dims[3] = depth;
    }
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("ExtractImagePatches", .inputs = "images: T",
                 .outputs = "patches: T",
                 .attrs = "ksizes: list(int) >= 4, strides: list(int) >= 4, "
                          "rates: list(int) >= 4, T: {number, bool}, "
                          "padding: string",
                 .infer = infer_patches, .kernel = run_patches,
                 .prepare = prepare, .flags = EDDY_OP_HEAVY,
                 .doc = "What lies under each window over images, in the "
                        "depth of the output."),
};

const eddy__op_table eddy__image_patches_ops = {specs, NULL,
                                                sizeof specs / sizeof *specs};

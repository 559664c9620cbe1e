/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that are resized, cropped or cut into patches, and rows that are
 * picked and summed: linear in what they take, so an op and that of its
 * gradient are each other's gradients.
 */
#include "autodiff/rule.h"

/* ---- resizing ---- */

/* The op with the node's modes. */
static eddy_output resize(eddy_gradient *g, const char *op, eddy_output a,
                          eddy_output b)
{
    static const char *const names[] = {"align_corners", "half_pixel_centers"};
    eddy_attr attrs[2];
    const size_t n = eddy__rule_attrs(g, names, 2, attrs);

    return eddy_gradient_add(g, op, (const eddy_output[]){a, b}, 2, attrs, n);
}

/* The rows and columns of input `i`. */
static eddy_output size_of(eddy_gradient *g, uint32_t i)
{
    const eddy_output shape = eddy_gradient_shape_of(g, i);

    return OP("Slice", shape, INTS(1), INTS(2));
}

eddy_status eddy__grad_resize_nearest(eddy_gradient *g)
{
    DX(0, resize(g, "ResizeNearestNeighborGrad", DY(0), size_of(g, 0)));
    return EDDY_OK;
}

eddy_status eddy__grad_resize_nearest_grad(eddy_gradient *g)
{
    DX(0, resize(g, "ResizeNearestNeighbor", DY(0), size_of(g, 0)));
    return EDDY_OK;
}

/* To float32 from any dtype; an integer has no gradient. */
eddy_status eddy__grad_resize_bilinear(eddy_gradient *g)
{
    DX(0, resize(g, "ResizeBilinearGrad", DY(0), X(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_resize_bilinear_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, resize(g, "ResizeBilinear", DY(0), size_of(g, 0)));
    return EDDY_OK;
}

eddy_status eddy__grad_resize_bicubic(eddy_gradient *g)
{
    DX(0, resize(g, "ResizeBicubicGrad", DY(0), X(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_resize_bicubic_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0, resize(g, "ResizeBicubic", DY(0), size_of(g, 0)));
    return EDDY_OK;
}

/* ---- patches ---- */

/* Of which pixel of an image, counted from 1, each of a patch is; or 0. */
static eddy_output pixels_of(eddy_gradient *g, eddy_output count,
                             eddy_output size)
{
    static const char *const names[] = {"ksizes", "strides", "rates",
                                        "padding"};
    eddy_attr attrs[4];
    const size_t n = eddy__rule_attrs(g, names, 4, attrs);
    const eddy_output numbers =
        OP("Range", INT(1), OP("Add", count, INT(1)), INT(1));
    const eddy_output image =
        OP("Reshape", numbers, CONCAT(INTS(1), size, INTS(1)));

    return OP("Reshape",
              eddy_gradient_add(g, "ExtractImagePatches", &image, 1, attrs, n),
              INTS(-1));
}

/* What was taken from a pixel, and how often, goes back to it. */
eddy_status eddy__grad_image_patches(eddy_gradient *g)
{
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output size = size_of(g, 0);
    const eddy_output count = eddy__rule_count(g, size);
    const eddy_output pixels = pixels_of(g, count, size);
    const eddy_output ends = OP("GatherV2", shape, INTS(0, 3), INT(0));
    const eddy_output batch = OP("Slice", ends, INTS(0), INTS(1));
    const eddy_output depth = OP("Slice", ends, INTS(1), INTS(1));
    const eddy_output taken =
        OP("Transpose",
           OP("Reshape", DY(0), CONCAT(batch, OP("Shape", pixels), depth)),
           INTS(1, 0, 2));
    const eddy_output sums =
        OP("UnsortedSegmentSum", taken, pixels, OP("Add", count, INT(1)));
    const eddy_output inside =
        OP("Slice", sums, INTS(1, 0, 0), INTS(-1, -1, -1));

    DX(0, OP("Reshape", OP("Transpose", inside, INTS(1, 0, 2)), shape));
    return EDDY_OK;
}

/* ---- crops ---- */

/* The op of four inputs with the node's method, and perhaps another dtype. */
static eddy_output crop(eddy_gradient *g, const char *op,
                        const eddy_output inputs[4], const eddy_dtype *dtype)
{
    static const char *const name = "method";
    eddy_attr attrs[2];
    size_t n = eddy__rule_attrs(g, &name, 1, attrs);

    if (dtype)
        attrs[n++] = eddy_attr_type("T", dtype);
    return eddy_gradient_add(g, op, inputs, 4, attrs, n);
}

/* Integers are cut out of images as well; these have no gradient. */
eddy_status eddy__grad_crops(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);

    if (WANTS(0))
        DX(0, crop(g, "CropAndResizeGradImage",
                   (const eddy_output[]){DY(0), X(1), X(2),
                                         eddy_gradient_shape_of(g, 0)},
                   &dtype));
    if (WANTS(1))
        DX(1, OP("CropAndResizeGradBoxes", DY(0), X(0), X(1), X(2)));
    return EDDY_OK;
}

/* By the gradients of the crops; TensorFlow has none by the boxes either. */
eddy_status eddy__grad_crops_grad(eddy_gradient *g)
{
    if (WANTS(0))
        DX(0,
           crop(g, "CropAndResize",
                (const eddy_output[]){DY(0), X(1), X(2), size_of(g, 0)}, NULL));
    if (WANTS(1))
        return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                                  "there is no gradient by the boxes");
    return EDDY_OK;
}

/* ---- picked rows ---- */

static eddy_output rows_of(eddy_gradient *g)
{
    return eddy__rule_element(g, eddy_gradient_shape_of(g, 0), INT(0));
}

#define PICKED(rule, name)                                                     \
    eddy_status eddy__grad_sparse_segment_##rule(eddy_gradient *g)             \
    {                                                                          \
        DX(0, OP("SparseSegment" name "Grad", DY(0), X(1), X(2), rows_of(g))); \
        return EDDY_OK;                                                        \
    }

PICKED(sum, "Sum")
PICKED(mean, "Mean")
PICKED(root, "SqrtN")

/*
 * The rows of the result to which rows went: the indices themselves or, where
 * only rows whose index occurs are put out, their places among those.
 */
static eddy_output places_of(eddy_gradient *g)
{
    const eddy_output line = INTS(1, -1);

    if (eddy_gradient_outputs(g) == 1)
        return X(1);
    return OP(
        "Reshape",
        OP("LowerBound", OP("Reshape", Y(1), line), OP("Reshape", X(1), line)),
        INTS(-1));
}

/*
 * Back: each picked row of what is given, by the root of its segment's count or
 * the count, to the row of its segment.  The ids may be in any order here.
 */
static eddy_status back(eddy_gradient *g, const char *by_count)
{
    eddy_output sum, ones, n, shape;

    sum = OP("UnsortedSegmentSum", OP("GatherV2", DY(0), places_of(g), INT(0)),
             X(2), rows_of(g));
    if (by_count) {
        ones = OP("Fill", OP("Shape", X(2)), NUMBER(0, 1.0));
        n = OP("Maximum", OP("UnsortedSegmentSum", ones, X(2), rows_of(g)),
               NUMBER(0, 1.0));
        shape = CONCAT(
            OP("Reshape", rows_of(g), INTS(1)),
            OP("Fill",
               OP("Reshape", OP("Sub", OP("Rank", sum), INT(1)), INTS(1)),
               INT(1)));
        sum = OP("RealDiv", sum,
                 OP("Reshape", *by_count == 'S' ? OP("Sqrt", n) : n, shape));
    }
    DX(0, sum);
    return EDDY_OK;
}

eddy_status eddy__grad_sparse_segment_sum_grad(eddy_gradient *g)
{
    return back(g, NULL);
}

eddy_status eddy__grad_sparse_segment_mean_grad(eddy_gradient *g)
{
    return back(g, "Mean");
}

eddy_status eddy__grad_sparse_segment_root_grad(eddy_gradient *g)
{
    return back(g, "SqrtN");
}

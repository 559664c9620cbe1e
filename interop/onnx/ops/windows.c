/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over the spatial axes; see windows.h. */
#include "interop/onnx/ops/windows.h"

#include <string.h>

/* Fills `out` with an attribute of `n` numbers, or with `otherwise`. */
static bool read_ints(eddy__onnx_op *op, const char *name, size_t n,
                      int64_t otherwise, int64_t *out)
{
    const int64_t *ints;
    const size_t n_ints = eddy__onnx_list_of_ints(op, name, &ints);

    if (n_ints != 0 && n_ints != n) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "%s has %zu numbers for %zu spatial axes", name, n_ints,
                        n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = n_ints > 0 ? ints[i] : otherwise;
        if (out[i] < (strcmp(name, "pads") == 0 ? 0 : 1)) {
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "%s has a number %lld", name,
                            (long long)out[i]);
            return false;
        }
    }
    return eddy__onnx_ok(op);
}

eddy__onnx_size eddy__onnx_reach(eddy__onnx_op *op, const eddy__onnx_windows *w,
                                 size_t i)
{
    return PLUS(TIMES(MINUS(w->kernel[i], FIXED(1)), FIXED(w->dilation[i])),
                FIXED(1));
}

/* As many windows as strides begin in the image, of which none may miss. */
static void pad_same(eddy__onnx_op *op, eddy__onnx_windows *w, size_t i,
                     bool is_upper)
{
    const eddy__onnx_size stride = FIXED(w->stride[i]);
    eddy__onnx_size all, half;

    w->out[i] = OVER(PLUS(w->in[i], FIXED(w->stride[i] - 1)), stride);
    all = PLUS(TIMES(MINUS(w->out[i], FIXED(1)), stride),
               eddy__onnx_reach(op, w, i));
    all = eddy__onnx_larger(op, MINUS(all, w->in[i]), FIXED(0));
    half = OVER(all, FIXED(2));
    w->before[i] = is_upper ? half : MINUS(all, half);
    w->behind[i] = MINUS(all, w->before[i]);
}

/* Windows that ceil_mode adds count if they begin in the image or before. */
static void count_windows(eddy__onnx_op *op, eddy__onnx_windows *w, size_t i,
                          bool rounds_up)
{
    const eddy__onnx_size stride = FIXED(w->stride[i]);
    const eddy__onnx_size padded =
        PLUS(PLUS(w->in[i], w->before[i]), w->behind[i]);
    const eddy__onnx_size room = MINUS(padded, eddy__onnx_reach(op, w, i));
    eddy__onnx_size least, over;

    w->out[i] = PLUS(OVER(room, stride), FIXED(1));
    if (!rounds_up)
        return;
    w->out[i] =
        PLUS(OVER(PLUS(room, FIXED(w->stride[i] - 1)), stride), FIXED(1));
    /* The last may begin at most at the image's last element. */
    least = PLUS(OVER(PLUS(PLUS(w->in[i], w->before[i]), FIXED(-1)), stride),
                 FIXED(1));
    over = MINUS(w->out[i], least);
    w->out[i] = MINUS(w->out[i], eddy__onnx_larger(op, over, FIXED(0)));
    over = PLUS(TIMES(MINUS(w->out[i], FIXED(1)), stride),
                eddy__onnx_reach(op, w, i));
    w->extra[i] = eddy__onnx_larger(op, MINUS(over, padded), FIXED(0));
}

static bool count_axes(eddy__onnx_op *op, eddy_output x, eddy_output filter,
                       eddy__onnx_windows *out)
{
    const int64_t *kernel;
    const size_t n = eddy__onnx_list_of_ints(op, "kernel_shape", &kernel);
    const bool has_filter = filter.node != EDDY_NO_NODE;

    out->n = n;
    if (n == 0) {
        const int32_t rank = eddy__onnx_want_rank(op, has_filter ? filter : x,
                                                  "windows over an image");

        if (!eddy__onnx_ok(op))
            return false;
        out->n = rank >= 2 ? (size_t)rank - 2 : 0;
    }
    if (out->n == 0 || out->n > EDDY__ONNX_MOST_SPATIAL) {
        eddy__onnx_fail(op, EDDY_E_RANK, "%zu spatial axes", out->n);
        return false;
    }
    for (size_t i = 0; i < out->n; i++) {
        if (n > 0)
            out->kernel[i] = FIXED(kernel[i]);
        else if (has_filter)
            out->kernel[i] = DIM(filter, (int64_t)i + 2);
        else
            out->kernel[i] = FIXED(1);
        out->in[i] = DIM(x, (int64_t)i + 2);
        out->extra[i] = FIXED(0);
    }
    return true;
}

bool eddy__onnx_windows_read(eddy__onnx_op *op, eddy_output x,
                             eddy_output filter, eddy__onnx_windows *out)
{
    const char *auto_pad = eddy__onnx_text(op, "auto_pad", "NOTSET");
    const bool rounds_up = eddy__onnx_int(op, "ceil_mode", 0) != 0;
    int64_t pads[2 * EDDY__ONNX_MOST_SPATIAL];
    bool is_same, is_upper;

    if (!auto_pad || !count_axes(op, x, filter, out) ||
        !read_ints(op, "strides", out->n, 1, out->stride) ||
        !read_ints(op, "dilations", out->n, 1, out->dilation) ||
        !read_ints(op, "pads", 2 * out->n, 0, pads))
        return false;
    is_upper = strcmp(auto_pad, "SAME_UPPER") == 0;
    is_same = is_upper || strcmp(auto_pad, "SAME_LOWER") == 0;
    for (size_t i = 0; i < out->n; i++) {
        const bool is_valid = strcmp(auto_pad, "VALID") == 0;

        if (is_same) {
            pad_same(op, out, i, is_upper);
            continue;
        }
        out->before[i] = FIXED(is_valid ? 0 : pads[i]);
        out->behind[i] = FIXED(is_valid ? 0 : pads[out->n + i]);
        count_windows(op, out, i, rounds_up);
    }
    return eddy__onnx_ok(op);
}

eddy_output eddy__onnx_windows_pad(eddy__onnx_op *op, eddy_output x,
                                   const eddy__onnx_windows *w,
                                   eddy_output value)
{
    const int64_t axis = 1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    eddy__onnx_size before[EDDY_MAX_RANK] = {FIXED(0), FIXED(0)};
    eddy__onnx_size behind[EDDY_MAX_RANK] = {FIXED(0), FIXED(0)};
    bool is_needed = false;

    for (size_t i = 0; i < w->n; i++) {
        before[i + 2] = w->before[i];
        behind[i + 2] = PLUS(w->behind[i], w->extra[i]);
        is_needed = is_needed || !before[i + 2].is_known ||
                    !behind[i + 2].is_known || before[i + 2].value != 0 ||
                    behind[i + 2].value != 0;
    }
    if (!is_needed)
        return x;
    return OP("PadV2", x,
              OP_WITH("Pack", attrs, eddy__onnx_sizes(op, before, w->n + 2),
                      eddy__onnx_sizes(op, behind, w->n + 2)),
              value);
}

eddy_output eddy__onnx_windows_along(eddy__onnx_op *op, eddy_output padded,
                                     const eddy__onnx_windows *w, size_t i,
                                     int64_t axis)
{
    const eddy_output first =
        OP("Mul", eddy__onnx_count(op, SIZED(w->out[i])), INT64(w->stride[i]));
    const eddy_output within =
        OP("Mul", eddy__onnx_count(op, SIZED(w->kernel[i])),
           INT64(w->dilation[i]));

    return OP("GatherV2", padded,
              OP("AddV2", OP("ExpandDims", first, INT32(1)), within),
              INT32(axis));
}

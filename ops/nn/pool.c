/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the windows of a pool, checks them, and visits them one after the
 * other.
 */
#include "ops/nn/pool.h"

#include "ops/math/elements.h"

#include <inttypes.h>

#define NO_IMAGES "images must have four dimensions, but they have shape %s"
#define NO_DEPTH "%" PRId64 " channels can't be taken %" PRId64 " at a time"

/* Is a window smaller than what is put before and behind the image? */
static bool is_outside(const eddy__windows *w)
{
    for (int32_t side = 0; side < 2; side++)
        if (w->sides[side].before >= w->sides[side].size ||
            w->sides[side].behind >= w->sides[side].size)
            return true;
    return false;
}

#define OUTSIDE "explicit_paddings must be smaller than the window"

eddy_status eddy__pool_of(eddy_kernel *k, const eddy_shape *images,
                          uint32_t size_input, eddy__window_pool *out)
{
    eddy__windows w = *(const eddy__windows *)eddy__state(k);
    eddy_shape shape;

    if (size_input > 0)
        EDDY_TRY(eddy__windows_input(k, size_input, &w));
    if (images->rank != 4)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_IMAGES,
                           eddy__shape_print(images).text);
    *out = (eddy__window_pool){.in = eddy__images_of(images, w.is_nchw),
                               .depth = w.depth,
                               .is_nchw = w.is_nchw};
    if (out->in.channels % w.depth != 0)
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_SHAPE, NO_DEPTH,
                           out->in.channels, w.depth);
    EDDY_TRY(eddy__sides_of(k, &w, &out->in,
                            (const int64_t[]){w.sides[0].size, w.sides[1].size},
                            out->sides));
    shape = eddy__images_shape(
        out->in.n, (const int64_t[]){out->sides[0].out, out->sides[1].out},
        out->in.channels / w.depth, w.is_nchw);
    out->out = eddy__images_of(&shape, w.is_nchw);
    return EDDY_OK;
}

eddy_status eddy__pool_flat(eddy_kernel *k, const eddy__window_pool *p)
{
    if (p->depth == 1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                       "windows over channels are not supported here");
}

eddy_shape eddy__pool_shape(const eddy__window_pool *p)
{
    return eddy__images_shape(p->out.n, p->out.sides, p->out.channels,
                              p->is_nchw);
}

static void set_side(const eddy__window_pool *p, int32_t side, int64_t i,
                     eddy__pool_window *w)
{
    const int64_t start = eddy__side_start(&p->sides[side], i);
    int64_t first, end;

    eddy__side_inside(&p->sides[side], i, &first, &end);
    w->first[side] = start + first;
    w->end[side] = start + end;
}

/* Elements that are looked at, twice over for those that are also written. */
static int64_t window_work(const eddy__window_pool *p,
                           const eddy__pool_window *w)
{
    return 2 * (w->end[0] - w->first[0]) * (w->end[1] - w->first[1]) *
               p->in.channels +
           2 * p->out.channels;
}

/* What workers may do rows of windows of. */
typedef struct pool_work {
    const eddy__window_pool *pool;
    eddy__pool_fn visit;
    const void *a, *b;
    void *out;
} pool_work;

/* Rows are numbered image by image. */
static eddy_status visit_rows(eddy_kernel *k, void *arg, int64_t begin,
                              int64_t end)
{
    const pool_work *work = arg;
    const eddy__window_pool *p = work->pool;
    eddy__pool_window w;

    for (int64_t i = begin; i < end; i++) {
        const int64_t image = i / p->sides[0].out, row = i % p->sides[0].out;

        w.in = image * p->in.step_image;
        set_side(p, 0, row, &w);
        for (int64_t column = 0; column < p->sides[1].out; column++) {
            set_side(p, 1, column, &w);
            EDDY_TRY(eddy__go_on(k, window_work(p, &w)));
            w.out = image * p->out.step_image + row * p->out.steps[0] +
                    column * p->out.steps[1];
            work->visit(p, &w, work->a, work->b, work->out);
        }
    }
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): a kernel beside what it had. */
eddy_status eddy__pool_visit(eddy_kernel *k, const eddy__window_pool *p,
                             eddy__pool_fn visit, const void *a, const void *b,
                             void *out)
{
    const int64_t rows = p->sides[0].out;
    const int64_t work = p->sides[0].size * p->sides[1].size * p->in.channels *
                         p->sides[1].out / 4;
    pool_work w = {.pool = p, .visit = visit, .a = a, .b = b, .out = out};

    if (p->in.n == 0 || rows == 0)
        return EDDY_OK;
    return eddy__parallel_for(k, p->in.n * rows,
                              p->is_forward ? eddy__grain(work, 1)
                                            : eddy__grain(work, rows),
                              visit_rows, &w);
}

eddy_status eddy__pool_prepare(eddy_infer *infer)
{
    eddy__windows *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    EDDY_TRY(eddy__windows_read(infer, state));
    if (!is_outside(state))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           OUTSIDE);
}

eddy_status eddy__pool_infer(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(4);
    eddy_shape images;
    eddy__images in;
    int64_t sides[2];
    eddy__windows w;

    EDDY_TRY(eddy__windows_read(infer, &w));
    if (!eddy__shape_merge(eddy_infer_input(infer, 0), &any, &images))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_IMAGES,
            eddy__shape_print(eddy_infer_input(infer, 0)).text);
    in = eddy__images_of(&images, w.is_nchw);
    if (in.channels >= 0 && in.channels % w.depth != 0)
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_SHAPE,
                               NO_DEPTH, in.channels, w.depth);
    for (int32_t side = 0; side < 2; side++)
        EDDY_TRY(eddy__infer_side(infer, &w, side, in.sides[side],
                                  w.sides[side].size, &sides[side]));
    images = eddy__images_shape(
        in.n, sides, in.channels < 0 ? -1 : in.channels / w.depth, w.is_nchw);
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &images);
    return EDDY_OK;
}

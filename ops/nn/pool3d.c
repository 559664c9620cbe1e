/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPool3D and AvgPool3D and their gradients.
 *
 * As in TensorFlow the greatest is looked for from the least finite number on,
 * of 16 bits from -infinity, a NaN never wins, and what is outside a volume
 * does not count.  Of the places that have a maximum the first gets its
 * gradient.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/volume.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <float.h>
#include <math.h>

typedef struct pool {
    eddy__volumes in, out;
    eddy__side sides[EDDY__VOLUME_SIDES];
    bool is_ncdhw;
} pool;

/* The loops of an op for a dtype; `a` and `b` are whatever it reads. */
typedef void (*pool_fn)(const pool *p, const eddy__cube *w, const void *a,
                        const void *b, void *to);

static int64_t places(const eddy__cube *w)
{
    return (w->end[0] - w->first[0]) * (w->end[1] - w->first[1]) *
           (w->end[2] - w->first[2]);
}

#define EDDY__LEAST_F16 (-INFINITY)
#define EDDY__LEAST_BF16 (-INFINITY)
#define EDDY__LEAST_F32 (-FLT_MAX)
#define EDDY__LEAST_F64 (-DBL_MAX)

/* The places of a window, in order: `at` is that of channel 0. */
#define EACH_PLACE(p, w, at)                                                   \
    for (int64_t i0 = (w)->first[0]; i0 < (w)->end[0]; i0++)                   \
        for (int64_t i1 = (w)->first[1]; i1 < (w)->end[1]; i1++)               \
            for (int64_t i2 = (w)->first[2],                                   \
                         at = (w)->origin + i0 * (p)->in.steps[0] +            \
                              i1 * (p)->in.steps[1] + i2 * (p)->in.steps[2];   \
                 i2 < (w)->end[2]; i2++, at += (p)->in.steps[2])

#define EACH "ops/nn/pool3d_loops.def"
#include "ops/each_float.def"
#undef EACH

static const struct {
    pool_fn max, max_back, max_again, average, share;
} loops[EDDY_DTYPE_COUNT] = {
#define ENTRY(D, ...)                                                          \
    [EDDY__DTYPE_##                                                            \
        D] = {max_##D, max_back_##D, max_again_##D, average_##D, share_##D},
    EDDY__EACH_FLOAT(ENTRY, )
#undef ENTRY
};

/* ---- what is given ---- */

#define NO_VOLUMES "volumes must have five dimensions, but they have shape %s"

static eddy_status describe(eddy_kernel *k, const eddy_shape *volumes, pool *p)
{
    const eddy__cubes *cubes = eddy__state(k);
    int64_t sizes[EDDY__VOLUME_SIDES] = {0}, out[EDDY__VOLUME_SIDES] = {0};
    eddy_shape shape;

    if (volumes->rank != EDDY__VOLUME_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_VOLUMES,
                           eddy__shape_print(volumes).text);
    *p = (pool){.in = eddy__volumes_of(volumes, cubes->is_ncdhw),
                .is_ncdhw = cubes->is_ncdhw};
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        sizes[side] = cubes->sides[side].size;
    EDDY_TRY(eddy__cubes_lie(k, cubes, &p->in, sizes, p->sides));
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        out[side] = p->sides[side].out;
    shape = eddy__volumes_shape(p->in.n, out, p->in.channels, cubes->is_ncdhw);
    p->out = eddy__volumes_of(&shape, cubes->is_ncdhw);
    return EDDY_OK;
}

static eddy_shape shape_of_windows(const pool *p)
{
    return eddy__volumes_shape(p->out.n, p->out.sides, p->out.channels,
                               p->is_ncdhw);
}

/* What workers may do windows of. */
typedef struct window_work {
    const pool *p;
    pool_fn fn;
    const void *a, *b;
    void *to;
} window_work;

static eddy_status visit_some(eddy_kernel *k, void *arg, int64_t begin,
                              int64_t end)
{
    const window_work *work = arg;
    const pool *p = work->p;

    for (int64_t i = begin; i < end; i++) {
        const eddy__cube w = eddy__cube_at(&p->in, &p->out, p->sides, i);

        EDDY_TRY(eddy__go_on(k, 2 * (places(&w) + 1) * p->in.channels + 16));
        work->fn(p, &w, work->a, work->b, work->to);
    }
    return EDDY_OK;
}

/* `unit`: so many windows in a row must be visited in order. */
static eddy_status visit_in(eddy_kernel *k, window_work *w, int64_t unit)
{
    const pool *p = w->p;
    const int64_t an_image =
        p->sides[0].out * p->sides[1].out * p->sides[2].out;
    const int64_t work = p->sides[0].size * p->sides[1].size *
                         p->sides[2].size * p->in.channels / 4;

    if (p->in.n * an_image == 0)
        return EDDY_OK;
    return eddy__parallel_for(k, p->in.n * an_image,
                              eddy__grain(work, unit > 0 ? unit : an_image),
                              visit_some, w);
}

/* Of each volume in order: windows may add to the same place. */
static eddy_status visit(eddy_kernel *k, const pool *p, pool_fn fn,
                         const void *a, const void *b, void *to)
{
    return visit_in(
        k, &(window_work){.p = p, .fn = fn, .a = a, .b = b, .to = to}, 0);
}

static bool is_empty(eddy_kernel *k)
{
    return eddy__value_is_tensor(eddy__out(k, 0)) &&
           eddy__out(k, 0)->as.tensor->count == 0;
}

/* ---- kernels ---- */

static eddy_status run_forward(eddy_kernel *k, pool_fn fn)
{
    eddy_shape shape;
    void *out;
    pool p = {.is_ncdhw = false};

    EDDY_TRY(describe(k, eddy__in_shape(k, 0), &p));
    shape = shape_of_windows(&p);
    EDDY_TRY(eddy__output(k, 0, eddy__in_dtype(k, 0), &shape, &out));
    if (is_empty(k))
        return EDDY_OK;
    return visit_in(
        k,
        &(window_work){
            .p = &p, .fn = fn, .a = eddy__in_elements(k, 0), .to = out},
        1);
}

static eddy_status run_max(eddy_kernel *k)
{
    return run_forward(k, loops[eddy__in_dtype(k, 0)].max);
}

static eddy_status run_average(eddy_kernel *k)
{
    return run_forward(k, loops[eddy__in_dtype(k, 0)].average);
}

/* Inputs of the gradients of maxima. */
enum { ORIGINAL, MAXIMA, GRADIENT };

static eddy_status check_maxima(eddy_kernel *k, pool *p)
{
    eddy_shape windows;

    EDDY_TRY(describe(k, eddy__in_shape(k, ORIGINAL), p));
    if (eddy__in_dtype(k, GRADIENT) != eddy__in_dtype(k, ORIGINAL))
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                           "a gradient of %s of a pool of %s",
                           eddy_dtype_name(eddy__in_dtype(k, GRADIENT)),
                           eddy_dtype_name(eddy__in_dtype(k, ORIGINAL)));
    windows = shape_of_windows(p);
    return eddy__window_want_shape(k, MAXIMA, "orig_output", &windows);
}

static eddy_status run_max_back(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, ORIGINAL);
    const void *const from[] = {eddy__in_elements(k, MAXIMA),
                                eddy__in_elements(k, GRADIENT)};
    unsigned char *out;
    eddy_shape windows;
    pool p = {.is_ncdhw = false};

    EDDY_TRY(check_maxima(k, &p));
    windows = shape_of_windows(&p);
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "grad", &windows));
    EDDY_TRY(
        eddy__output_elements(k, 0, dtype, eddy__in_shape(k, ORIGINAL), &out));
    if (is_empty(k))
        return EDDY_OK;
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    if (eddy__in_count(k, GRADIENT) == 0)
        return EDDY_OK;
    return visit(k, &p, loops[dtype].max_back, eddy__in_elements(k, ORIGINAL),
                 from, out);
}

static eddy_status run_max_again(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, ORIGINAL);
    const void *const from[] = {eddy__in_elements(k, MAXIMA),
                                eddy__in_elements(k, GRADIENT)};
    eddy_shape windows;
    void *out;
    pool p = {.is_ncdhw = false};

    EDDY_TRY(check_maxima(k, &p));
    windows = shape_of_windows(&p);
    EDDY_TRY(eddy__window_want_shape(k, GRADIENT, "grad",
                                     eddy__in_shape(k, ORIGINAL)));
    EDDY_TRY(eddy__output(k, 0, dtype, &windows, &out));
    if (is_empty(k))
        return EDDY_OK;
    return visit(k, &p, loops[dtype].max_again, eddy__in_elements(k, ORIGINAL),
                 from, out);
}

static eddy_status run_average_back(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy_shape volumes = {.rank = 0}, windows;
    unsigned char *out;
    eddy_view view;
    pool p = {.is_ncdhw = false};

    EDDY_TRY(eddy__vector_argument(k, 0, "orig_input_shape", EDDY__VOLUME_RANK,
                                   &view));
    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &volumes));
    EDDY_TRY(describe(k, &volumes, &p));
    windows = shape_of_windows(&p);
    EDDY_TRY(eddy__window_want_shape(k, 1, "grad", &windows));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &volumes, &out));
    if (is_empty(k))
        return EDDY_OK;
    eddy__zero_bytes(k, out, eddy__out(k, 0)->as.tensor->bytes);
    if (eddy__in_count(k, 1) == 0)
        return EDDY_OK;
    return visit(k, &p, loops[dtype].share, eddy__in_elements(k, 1), NULL, out);
}

/* ---- for a plan ---- */

/* Sets output 0 to the windows over input 0. */
static eddy_status infer_windows(eddy_infer *infer)
{
    const eddy_shape any = eddy__shape_of_rank(EDDY__VOLUME_RANK);
    int64_t sizes[EDDY__VOLUME_SIDES], sides[EDDY__VOLUME_SIDES];
    eddy_shape shape;
    eddy__volumes in;
    eddy__cubes cubes;

    EDDY_TRY(eddy__cubes_read(infer, &cubes));
    if (!eddy__shape_merge(eddy_infer_input(infer, 0), &any, &shape))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_VOLUMES,
            eddy__shape_print(eddy_infer_input(infer, 0)).text);
    in = eddy__volumes_of(&shape, cubes.is_ncdhw);
    for (int32_t side = 0; side < EDDY__VOLUME_SIDES; side++)
        sizes[side] = cubes.sides[side].size;
    EDDY_TRY(eddy__infer_cubes(infer, &cubes, &in, sizes, sides));
    shape = eddy__volumes_shape(in.n, sides, in.channels, cubes.is_ncdhw);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_original(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, ORIGINAL, EDDY__VOLUME_RANK));
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, ORIGINAL));
    return EDDY_OK;
}

static eddy_status infer_average_back(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    if (shape.rank != EDDY__VOLUME_RANK)
        shape = eddy__shape_of_rank(EDDY__VOLUME_RANK);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define POOL(name, in, dtypes, shapes, run, text)                              \
    EDDY__OP_ROW(                                                              \
        name, .inputs = in, .outputs = "output: T",                            \
        .attrs = "ksize: list(int) >= 5, strides: list(int) >= 5, padding: "   \
                 "string, data_format: string = 'NDHWC', " dtypes,             \
        .infer = shapes, .kernel = run, .prepare = eddy__cubes_prepare,        \
        .flags = EDDY_OP_HEAVY, .doc = text)

static const eddy_op_spec specs[] = {
    POOL("MaxPool3D", "input: T", "T: float", infer_windows, run_max,
         "The greatest of what each window over volumes has inside them."),
    POOL("MaxPool3DGrad", "orig_input: TInput, orig_output: TInput, grad: T",
         "T: float = float32, TInput: float = float32", infer_original,
         run_max_back, "The gradient of MaxPool3D by its volumes."),
    POOL("MaxPool3DGradGrad", "orig_input: T, orig_output: T, grad: T",
         "T: float", infer_windows, run_max_again,
         "The gradient of MaxPool3DGrad by its gradient."),
    POOL("AvgPool3D", "input: T", "T: float", infer_windows, run_average,
         "The mean of what each window over volumes has inside them."),
    POOL("AvgPool3DGrad", "orig_input_shape: int32, grad: T", "T: float",
         infer_average_back, run_average_back,
         "The gradient of AvgPool3D by its volumes."),
};

const eddy__op_table eddy__pool3d_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

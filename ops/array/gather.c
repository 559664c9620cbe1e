/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that take slices along one axis by index: Gather and GatherV2. */
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/state/variable.h"
#include "ops/template.h"

#include <inttypes.h>
#include <string.h>

/* ---- GatherV2 and Gather ---- */

/*
 * For each of `outer` blocks of `limit` slices of `bytes`, the slices that `n`
 * indices name; the indices start anew after `share` blocks.
 */
typedef struct gather {
    int64_t outer, share, n, limit;
    size_t bytes;
} gather;

/* Loops over one block; `bytes` is a constant in most of its uses. */
#define TAKE(bytes)                                                            \
    for (int64_t i = 0; i < n; i++)                                            \
    memcpy(to + (size_t)i * (bytes), from + (size_t)index[i] * (bytes), (bytes))

#define D int16
#include "ops/array/gather_loops.def"
#define D int32
#include "ops/array/gather_loops.def"
#define D int64
#include "ops/array/gather_loops.def"

static int64_t find_bad(const eddy_view *indices, int64_t limit)
{
    if (indices->dtype == EDDY_INT32)
        return find_bad_int32(indices->data, indices->count, limit);
    if (indices->dtype == EDDY_INT64)
        return find_bad_int64(indices->data, indices->count, limit);
    return find_bad_int16(indices->data, indices->count, limit);
}

/* Indices that are checked between two questions whether to stop. */
#define CHECKED ((int64_t)1 << 18)

/* Bytes that are taken at a time, if they are more than one element's. */
#define PART ((size_t)1 << 18)

/* One block, so many indices at a time; false if the rest is to be left. */
static bool take_block(eddy_kernel *k, eddy_dtype dtype, const char *index,
                       const gather *g, unsigned char *to,
                       const unsigned char *from)
{
    const int64_t fit = g->bytes > 0 ? (int64_t)(PART / g->bytes) : g->n;
    const int64_t most = fit > 1 ? fit : 1;
    gather part = *g;

    for (int64_t at = 0; at < g->n; at += most) {
        part.n = g->n - at < most ? g->n - at : most;
        if (k && eddy__spent(k, part.n * (int64_t)(8 + g->bytes)))
            return false;
        if (dtype == EDDY_INT32)
            take_int32(index, &part, to, from);
        else if (dtype == EDDY_INT64)
            take_int64(index, &part, to, from);
        else
            take_int16(index, &part, to, from);
        index += (size_t)part.n * eddy_dtype_size(dtype);
        to += (size_t)part.n * g->bytes;
    }
    return true;
}

/* What workers may do a part of: of the outer parts, or of one's indices. */
typedef struct gather_work {
    eddy_dtype dtype; /* of an index */
    const char *index;
    const gather *g;
    unsigned char *to;
    const unsigned char *from;
} gather_work;

static eddy_status take_outer(eddy_kernel *k, void *arg, int64_t begin,
                              int64_t end)
{
    const gather_work *w = arg;
    const gather *g = w->g;
    const size_t step = eddy_dtype_size(w->dtype) * (size_t)g->n;

    for (int64_t o = begin; o < end; o++)
        if (!take_block(k, w->dtype, w->index + (size_t)(o / g->share) * step,
                        g, w->to + (size_t)(o * g->n) * g->bytes,
                        w->from + (size_t)(o * g->limit) * g->bytes))
            break;
    return EDDY_OK;
}

static eddy_status take_indices(eddy_kernel *k, void *arg, int64_t begin,
                                int64_t end)
{
    const gather_work *w = arg;
    gather part = *w->g;

    part.n = end - begin;
    (void)take_block(k, w->dtype,
                     w->index + (size_t)begin * eddy_dtype_size(w->dtype),
                     &part, w->to + (size_t)begin * part.bytes, w->from);
    return EDDY_OK;
}

/* `k` may be NULL, and then nobody is asked whether to stop. */
static void take_all(eddy_kernel *k, const eddy_view *indices, const gather *g,
                     unsigned char *to, const unsigned char *from)
{
    const int64_t work = 2 + (int64_t)(g->bytes / 16);
    gather_work w = {.dtype = indices->dtype,
                     .index = indices->data,
                     .g = g,
                     .to = to,
                     .from = from};

    if (!k)
        (void)take_outer(k, &w, 0, g->outer);
    else if (g->outer == 1)
        (void)eddy__parallel_for(k, g->n, eddy__grain(work, 1), take_indices,
                                 &w);
    else
        (void)eddy__parallel_for(k, g->outer, eddy__grain(work * g->n, 1),
                                 take_outer, &w);
}

static eddy_status bad_index(eddy_kernel *k, const eddy_view *indices,
                             int64_t i, int64_t limit)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "indices%s = %" PRId64 " is not in [0, %" PRId64 ")",
                       eddy__position(eddy__in_shape(k, 1), i).text,
                       eddy__index_at(indices, i), limit);
}

static eddy_status check_indices(eddy_kernel *k, const eddy_view *indices,
                                 int64_t limit)
{
    const size_t size = eddy_dtype_size(indices->dtype);

    for (int64_t at = 0; at < indices->count; at += CHECKED) {
        const int64_t left = indices->count - at;
        eddy_view part = *indices;
        int64_t bad;

        part.data = (const char *)indices->data + (size_t)at * size;
        part.count = left < CHECKED ? left : CHECKED;
        EDDY_TRY(eddy__go_on(k, part.count));
        bad = find_bad(&part, limit);
        if (bad >= 0)
            return bad_index(k, indices, at + bad, limit);
    }
    return EDDY_OK;
}

/* Where the parts of a gather meet: dimensions of the parameters. */
typedef struct axes {
    int32_t axis, batch;
} axes;

static bool gathered_shape(const eddy_shape *params, const eddy_shape *indices,
                           const axes *a, eddy_shape *out)
{
    int32_t n = 0;

    if (params->rank - 1 + indices->rank - a->batch > EDDY_MAX_RANK)
        return false;
    for (int32_t d = 0; d < a->axis; d++)
        out->dims[n++] = params->dims[d];
    for (int32_t d = a->batch; d < indices->rank; d++)
        out->dims[n++] = indices->dims[d];
    for (int32_t d = a->axis + 1; d < params->rank; d++)
        out->dims[n++] = params->dims[d];
    out->rank = n;
    return true;
}

static eddy_status check_batch(eddy_kernel *k, const eddy_shape *params,
                               const eddy_shape *indices, axes *a)
{
    if (a->batch < 0)
        a->batch += indices->rank;
    if (a->batch < 0 || a->batch > indices->rank || a->batch > a->axis)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "batch_dims is %d; it must be at most the axis, "
                           "%d, and the rank of the indices, %d",
                           a->batch, a->axis, indices->rank);
    for (int32_t d = 0; d < a->batch; d++)
        if (params->dims[d] != indices->dims[d])
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the first %d dimensions must agree, but the "
                               "shapes are %s and %s",
                               a->batch, eddy__shape_print(params).text,
                               eddy__shape_print(indices).text);
    return EDDY_OK;
}

static gather plan_gather(const eddy_shape *params, const eddy_view *indices,
                          const axes *a, size_t size)
{
    gather g = {.outer = 1,
                .share = 1,
                .n = 1,
                .limit = params->dims[a->axis],
                .bytes = size};

    for (int32_t d = 0; d < a->axis; d++) {
        g.outer *= params->dims[d];
        if (d >= a->batch)
            g.share *= params->dims[d];
    }
    for (int32_t d = a->batch; d < indices->rank; d++)
        g.n *= indices->dims[d];
    for (int32_t d = a->axis + 1; d < params->rank; d++)
        g.bytes *= (size_t)params->dims[d];
    return g;
}

/* x[i] of a vector, which loops do all the time; false if it is not that. */
static bool take_element(eddy_kernel *k)
{
    const eddy__value *in = eddy__in(k, 0);
    eddy_view index = eddy__in_view(k, 1);
    uint64_t bits = 0;
    int64_t at;
    size_t size;

    if (eddy__in(k, 1)->kind != EDDY__SCALAR || in->kind == EDDY__SCALAR ||
        !eddy__dtype_is_inline((eddy_dtype)in->dtype) ||
        in->as.tensor->shape.rank != 1)
        return false;
    at = eddy__index_at(&index, 0);
    if (at < 0 || at >= in->as.tensor->count)
        return false;
    size = eddy_dtype_size((eddy_dtype)in->dtype);
    memcpy(&bits, (const char *)in->as.tensor->data + (size_t)at * size, size);
    eddy__out_scalar(eddy__out(k, 0), (eddy_dtype)in->dtype, bits);
    return true;
}

static eddy_status gather_along(eddy_kernel *k, axes *a)
{
    const eddy_shape *params = eddy__in_shape(k, 0);
    eddy_view indices = eddy__in_view(k, 1);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    unsigned char *out;
    eddy_shape shape;
    gather g;

    if (take_element(k))
        return EDDY_OK;
    EDDY_TRY(check_batch(k, params, eddy__in_shape(k, 1), a));
    if (!gathered_shape(params, eddy__in_shape(k, 1), a, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result has a rank above %d, which is not "
                           "supported",
                           EDDY_MAX_RANK);
    g = plan_gather(params, &indices, a, eddy__element_size(dtype));
    EDDY_TRY(check_indices(k, &indices, g.limit));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (g.n > 0 && g.outer > 0)
        take_all(eddy__asker(k, eddy__in_dtype(k, 0)), &indices, &g, out,
                 eddy__in_elements(k, 0));
    return eddy__elements_done(k, 0);
}

static eddy_status run_gather_v2(eddy_kernel *k)
{
    const int32_t *batch = eddy__state(k);
    axes a = {.batch = *batch};

    EDDY_TRY(eddy__axis_argument(k, 2, 0, eddy__in_shape(k, 0)->rank, &a.axis));
    return gather_along(k, &a);
}

static eddy_status run_gather(eddy_kernel *k)
{
    axes a = {.axis = 0};

    if (eddy__in_shape(k, 0)->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the parameters must be at least a vector");
    return gather_along(k, &a);
}

/* Along the axis behind the batch dimensions, which is given by them alone. */
static eddy_status gather_value(eddy_kernel *k)
{
    const int32_t *batch = eddy__state(k);
    const int32_t rank = eddy__in_shape(k, 0)->rank;
    axes a = {.axis = *batch, .batch = *batch};

    if (*batch < 0)
        a.axis += eddy__in_shape(k, 1)->rank;
    if (rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the variable must be at least a vector");
    if (a.axis < 0 || a.axis >= rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "batch_dims is %d, which a variable of rank %d "
                           "does not have",
                           (int)*batch, (int)rank);
    return gather_along(k, &a);
}

static eddy_status run_gather_value(eddy_kernel *k)
{
    return eddy__variable_run_on_value(k, (eddy_dtype)k->node->out_dtypes[0],
                                       gather_value);
}

static eddy_status prepare_gather_v2(eddy_infer *infer)
{
    int64_t batch = eddy__infer_int(infer, "batch_dims");
    int32_t *state;

    EDDY_TRY(eddy__prepare_arranged(infer));
    if (batch < -EDDY_MAX_RANK || batch > EDDY_MAX_RANK)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "batch_dims is %" PRId64 ", not in [-%d, %d]",
                               batch, EDDY_MAX_RANK, EDDY_MAX_RANK);
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = (int32_t)batch;
    return EDDY_OK;
}

static void infer_gathered(eddy_infer *infer, axes *a)
{
    const eddy_shape *params = eddy_infer_input(infer, 0);
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    eddy_shape shape;

    if (a->batch < 0)
        a->batch += indices->rank;
    if (a->batch >= 0 && a->batch <= indices->rank && a->batch <= a->axis &&
        gathered_shape(params, indices, a, &shape))
        eddy_infer_set_output(infer, 0, &shape);
}

static eddy_status infer_gather_v2(eddy_infer *infer)
{
    const eddy_shape *params = eddy_infer_input(infer, 0);
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    int64_t batch = eddy__infer_int(infer, "batch_dims");
    axes a;

    if (params->rank < 1 || indices->rank < 0 || batch < -EDDY_MAX_RANK ||
        batch > EDDY_MAX_RANK ||
        !eddy__infer_axis(infer, 2, params->rank, &a.axis))
        return EDDY_OK;
    a.batch = (int32_t)batch;
    infer_gathered(infer, &a);
    return EDDY_OK;
}

static eddy_status infer_gather(eddy_infer *infer)
{
    axes a = {.axis = 0};

    if (eddy_infer_input(infer, 0)->rank >= 1 &&
        eddy_infer_input(infer, 1)->rank >= 0)
        infer_gathered(infer, &a);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Gather", .inputs = "params: Tparams, indices: Tindices",
        .outputs = "output: Tparams",
        .attrs =
            "validate_indices: bool = true, Tparams: type, Tindices: index",
        .infer = infer_gather, .kernel = run_gather,
        .prepare = eddy__prepare_arranged,
        .doc = "Slices of params along axis 0, chosen by indices."),
    EDDY__OP_ROW("GatherV2",
                 .inputs = "params: Tparams, indices: Tindices, axis: Taxis",
                 .outputs = "output: Tparams",
                 .attrs = "batch_dims: int = 0, Tparams: type, Tindices: "
                          "{int16, int32, int64}, Taxis: index",
                 .infer = infer_gather_v2, .kernel = run_gather_v2,
                 .prepare = prepare_gather_v2,
                 .doc = "Slices of params along an axis, chosen by indices."),
    EDDY__OP_ROW(
        "ResourceGather", .inputs = "resource: resource, indices: Tindices",
        .outputs = "output: dtype",
        .attrs = "batch_dims: int = 0, validate_indices: bool = true, dtype: "
                 "type, Tindices: index",
        .kernel = run_gather_value, .prepare = prepare_gather_v2,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
        .doc = "Slices of a variable along an axis, chosen by indices."),
};

const eddy__op_table eddy__gather_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};

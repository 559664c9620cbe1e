/*
 * GatherNd and ScatterNd: slices by indices that are vectors.
 *
 * The last dimension of the indices is as long as the part of the shape that
 * an index picks from; what is left of the shape is a slice.
 */
#include "ops/accumulate.h"
#include "ops/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How indices address slices of a tensor. */
typedef struct addressing {
    eddy_view indices;
    const eddy_shape *of; /* what they address */
    int64_t n;            /* indices */
    int32_t depth;        /* elements an index */
    int64_t slice;        /* elements a slice */
} addressing;

/* What the node's attributes say. */
typedef struct policy {
    bool ignores; /* a bad index is no failure: nothing is read or written */
} policy;

static eddy_status prepare_policy(eddy_infer *infer)
{
    policy *state;
    eddy_string text = {.length = 0};
    eddy_attr attr;

    EDDY_TRY(eddy__prepare_movable(infer));
    if (eddy_infer_attr(infer, "bad_indices_policy", &attr))
        text = attr.as.strings[0];
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->ignores = text.length == 6 && memcmp(text.data, "IGNORE", 6) == 0;
    if (text.length == 0 || state->ignores ||
        (text.length == 5 && memcmp(text.data, "ERROR", 5) == 0) ||
        (text.length == 7 && memcmp(text.data, "DEFAULT", 7) == 0))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "bad_indices_policy must be DEFAULT, ERROR or "
                           "IGNORE");
}

static eddy_status read_indices(eddy_kernel *k, uint32_t input,
                                const eddy_shape *of, addressing *a)
{
    const eddy_shape *shape = eddy__in_shape(k, input);

    *a = (addressing){
        .indices = eddy__in_view(k, input), .of = of, .n = 1, .slice = 1};
    if (shape->rank < 1 || shape->dims[shape->rank - 1] > of->rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "indices of shape %s cannot address a tensor of "
                           "shape %s",
                           eddy__shape_print(shape).text,
                           eddy__shape_print(of).text);
    a->depth = (int32_t)shape->dims[shape->rank - 1];
    for (int32_t d = 0; d < shape->rank - 1; d++)
        a->n *= shape->dims[d];
    for (int32_t d = a->depth; d < of->rank; d++)
        a->slice *= of->dims[d];
    return EDDY_OK;
}

/* The number of the slice that index `i` names, or -1. */
static int64_t find_slice(const addressing *a, int64_t i)
{
    int64_t slice = 0;

    for (int32_t d = 0; d < a->depth; d++) {
        int64_t at = eddy__index_at(&a->indices, i * a->depth + d);

        if (at < 0 || at >= a->of->dims[d])
            return -1;
        slice = slice * a->of->dims[d] + at;
    }
    return slice;
}

static eddy_status bad_index(eddy_kernel *k, uint32_t input,
                             const addressing *a, int64_t i)
{
    eddy_shape at = *eddy__in_shape(k, input);
    char text[EDDY_MAX_RANK * 21 + 3] = "[", *end = text + 1;

    at.rank--;
    for (int32_t d = 0; d < a->depth; d++)
        end += snprintf(end, 22, d == 0 ? "%" PRId64 : ",%" PRId64,
                        eddy__index_at(&a->indices, i * a->depth + d));
    memcpy(end, "]", 2);
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "indices%s = %s does not index into shape %s",
                       eddy__position(&at, i).text, text,
                       eddy__shape_print(a->of).text);
}

static eddy_status check_indices(eddy_kernel *k, uint32_t input,
                                 const addressing *a)
{
    for (int64_t i = 0; a->depth > 0 && i < a->n; i++)
        if (find_slice(a, i) < 0)
            return bad_index(k, input, a, i);
    return EDDY_OK;
}

/* ---- GatherNd ---- */

static bool gathered_shape(const eddy_shape *params, const eddy_shape *indices,
                           int64_t depth, eddy_shape *out)
{
    if (indices->rank - 1 + params->rank - depth > EDDY_MAX_RANK)
        return false;
    out->rank = 0;
    for (int32_t d = 0; d < indices->rank - 1; d++)
        out->dims[out->rank++] = indices->dims[d];
    for (int32_t d = (int32_t)depth; d < params->rank; d++)
        out->dims[out->rank++] = params->dims[d];
    return true;
}

static eddy_status run_gather_nd(eddy_kernel *k)
{
    const policy *p = eddy__state(k);
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_shape shape;
    unsigned char *out;
    addressing a;
    size_t bytes;

    EDDY_TRY(read_indices(k, 1, eddy__in_shape(k, 0), &a));
    if (!gathered_shape(a.of, eddy__in_shape(k, 1), a.depth, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result has a rank above %d, which is not "
                           "supported",
                           EDDY_MAX_RANK);
    if (!p->ignores)
        EDDY_TRY(check_indices(k, 1, &a));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    bytes = (size_t)a.slice * eddy__element_size(dtype);
    for (int64_t i = 0; bytes > 0 && i < a.n; i++) {
        int64_t slice = find_slice(&a, i);

        if (slice >= 0)
            memcpy(out + (size_t)i * bytes, from + (size_t)slice * bytes,
                   bytes);
        else
            memset(out + (size_t)i * bytes, 0, bytes);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status infer_gather_nd(eddy_infer *infer)
{
    const eddy_shape *params = eddy_infer_input(infer, 0);
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    eddy_shape shape;
    int64_t depth;

    if (params->rank < 0 || indices->rank < 1)
        return EDDY_OK;
    depth = indices->dims[indices->rank - 1];
    if (depth >= 0 && depth <= params->rank &&
        gathered_shape(params, indices, depth, &shape))
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- ScatterNd ---- */

static eddy_status prepare_scatter(eddy_infer *infer)
{
    EDDY_TRY(prepare_policy(infer));
    if (eddy__adder_of(eddy_infer_output_dtype(infer, 0)))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s",
                           eddy_dtype_name(eddy_infer_output_dtype(infer, 0)));
}

static eddy_status check_updates(eddy_kernel *k, const addressing *a)
{
    const eddy_shape *indices = eddy__in_shape(k, 0);
    const eddy_shape *updates = eddy__in_shape(k, 1);
    eddy_shape want;

    if (gathered_shape(a->of, indices, a->depth, &want) &&
        eddy__shape_equal(&want, updates))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "updates of shape %s do not fit indices of shape %s "
                       "into shape %s",
                       eddy__shape_print(updates).text,
                       eddy__shape_print(indices).text,
                       eddy__shape_print(a->of).text);
}

static eddy_status run_scatter_nd(eddy_kernel *k)
{
    const policy *p = eddy__state(k);
    const unsigned char *from = eddy__in_elements(k, 1);
    eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy__adder add = eddy__adder_of(dtype);
    eddy_view argument = eddy__in_view(k, 2);
    size_t size = eddy_dtype_size(dtype);
    eddy_shape shape;
    unsigned char *out;
    int64_t count;
    addressing a;

    EDDY_TRY(eddy__shape_from_view(k, &argument, 0, &shape));
    if (!eddy__shape_count(&shape, size, &count))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "an output of shape %s is too large",
                           eddy__shape_print(&shape).text);
    EDDY_TRY(read_indices(k, 0, &shape, &a));
    EDDY_TRY(check_updates(k, &a));
    if (!p->ignores)
        EDDY_TRY(check_indices(k, 0, &a));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (count == 0)
        return EDDY_OK;
    memset(out, 0, (size_t)count * size);
    for (int64_t i = 0; i < a.n; i++) {
        int64_t slice = find_slice(&a, i);

        if (slice >= 0)
            add(out + (size_t)(slice * a.slice) * size,
                from + (size_t)(i * a.slice) * size, a.slice);
    }
    return EDDY_OK;
}

static eddy_status infer_scatter_nd(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 2);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define ROW(name, in, out, attrs, infer, run, prepare, flags)                  \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, infer, run, prepare, flags \
    }

static const eddy_op_spec specs[] = {
    ROW("GatherNd", "params: Tparams, indices: Tindices", "output: Tparams",
        "Tparams: type, Tindices: {int16, int32, int64}, "
        "bad_indices_policy: string = ''",
        infer_gather_nd, run_gather_nd, prepare_policy, 0),
    ROW("ScatterNd", "indices: Tindices, updates: T, shape: Tindices",
        "output: T",
        "T: type, Tindices: {int16, int32, int64}, "
        "bad_indices_policy: string = ''",
        infer_scatter_nd, run_scatter_nd, prepare_scatter, 0),
};

const eddy__op_table eddy__gather_nd_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the indices of GatherNd and the scatters, and turns them into offsets.
 */
#include "ops/array/nd_index.h"

#include "ops/math/elements.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the node's attributes say. */
typedef struct policy {
    bool ignores; /* a bad index is no failure: nothing is read or written */
} policy;

eddy_status eddy__nd_index_prepare(eddy_infer *infer)
{
    policy *state;
    eddy_string text = {.length = 0};
    eddy_attr attr;

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

eddy_status eddy__nd_index_read(eddy_kernel *k, uint32_t input,
                                const eddy_shape *of, eddy__nd_index *a)
{
    const eddy_shape *shape = eddy__in_shape(k, input);
    const policy *p = eddy__state(k);

    *a = (eddy__nd_index){.input = input,
                          .indices = eddy__in_view(k, input),
                          .of = of,
                          .n = 1,
                          .slice = 1,
                          .ignores = p->ignores};
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

int64_t eddy__nd_index_find(const eddy__nd_index *a, int64_t i)
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

static eddy_status bad_index(eddy_kernel *k, const eddy__nd_index *a, int64_t i)
{
    eddy_shape at = *eddy__in_shape(k, a->input);
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

eddy_status eddy__nd_index_check(eddy_kernel *k, const eddy__nd_index *a)
{
    for (int64_t i = 0; !a->ignores && a->depth > 0 && i < a->n; i++) {
        if (eddy__nd_index_find(a, i) < 0)
            return bad_index(k, a, i);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

bool eddy__nd_index_shape(const eddy_shape *params, const eddy_shape *indices,
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

eddy_status eddy__nd_index_fits(eddy_kernel *k, const eddy__nd_index *a,
                                uint32_t i)
{
    const eddy_shape *indices = eddy__in_shape(k, a->input);
    const eddy_shape *updates = eddy__in_shape(k, i);
    eddy_shape want;

    if (eddy__nd_index_shape(a->of, indices, a->depth, &want) &&
        eddy__shape_equal(&want, updates))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "updates of shape %s do not fit indices of shape %s "
                       "into shape %s",
                       eddy__shape_print(updates).text,
                       eddy__shape_print(indices).text,
                       eddy__shape_print(a->of).text);
}

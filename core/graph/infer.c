/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accessors of eddy_infer, for ops of the host and of eddy alike, and the
 * shape rules that many ops share.
 */
#include "core/graph/infer.h"

#include "core/base/status.h"
#include "core/value/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- eddy/op.h ---- */

uint32_t eddy_infer_inputs(const eddy_infer *infer)
{
    return infer->node->n_inputs;
}

uint32_t eddy_infer_outputs(const eddy_infer *infer)
{
    return infer->node->n_outputs;
}

eddy_dtype eddy_infer_input_dtype(const eddy_infer *infer, uint32_t i)
{
    return i < infer->node->n_inputs ? (eddy_dtype)infer->node->input_dtypes[i]
                                     : EDDY_INVALID;
}

eddy_dtype eddy_infer_output_dtype(const eddy_infer *infer, uint32_t i)
{
    return i < infer->node->n_outputs
               ? (eddy_dtype)infer->node->output_dtypes[i]
               : EDDY_INVALID;
}

const eddy_shape *eddy_infer_input(const eddy_infer *infer, uint32_t i)
{
    static const eddy_shape unknown = {.rank = -1};

    return i < infer->node->n_inputs ? &infer->inputs[i] : &unknown;
}

const eddy_tensor *eddy_infer_constant(const eddy_infer *infer, uint32_t i)
{
    return i < infer->node->n_inputs ? infer->constants[i] : NULL;
}

bool eddy_infer_attr(const eddy_infer *infer, const char *name,
                     eddy_attr *out_attr)
{
    const eddy_attr *attr = eddy__node_attr(infer->node, name);

    if (attr)
        *out_attr = *attr;
    return attr != NULL;
}

void eddy_infer_set_output(eddy_infer *infer, uint32_t i,
                           const eddy_shape *shape)
{
    if (i < infer->node->n_outputs)
        infer->outputs[i] = *shape;
}

void eddy_infer_set_kernel(eddy_infer *infer, eddy_kernel_fn kernel)
{
    infer->kernel = kernel;
}

void *eddy_infer_state(eddy_infer *infer, size_t size)
{
    if (!infer->arena)
        return NULL;
    infer->state = eddy__arena_allocate_zeroed(infer->arena, 1, size);
    return infer->state;
}

eddy_status eddy_infer_fail(eddy_infer *infer, eddy_status code,
                            eddy_detail detail, const char *format, ...)
{
    eddy_error *err = infer->err;
    va_list args;

    va_start(args, format);
    eddy__fail_v(err, code, detail, format, args);
    va_end(args);
    eddy__graph_error_at(err, infer->node->name, infer->node->op_name);
    return code;
}

/* ---- for eddy's own ops ---- */

int64_t eddy__infer_int(const eddy_infer *infer, const char *name)
{
    return eddy__node_int(infer->node, name);
}

bool eddy__infer_bool(const eddy_infer *infer, const char *name)
{
    return eddy__node_bool(infer->node, name);
}

eddy_dtype eddy__infer_type(const eddy_infer *infer, const char *name)
{
    return eddy__node_type(infer->node, name);
}

bool eddy__infer_constant_int(const eddy_infer *infer, uint32_t input,
                              int64_t i, int64_t *out_value)
{
    const eddy_tensor *tensor = eddy_infer_constant(infer, input);

    if (!tensor || i < 0 || i >= tensor->count)
        return false;
    if (tensor->dtype == EDDY_INT32)
        *out_value = ((const int32_t *)tensor->data)[i];
    else if (tensor->dtype == EDDY_INT64)
        *out_value = ((const int64_t *)tensor->data)[i];
    else
        return false;
    return true;
}

eddy_status eddy__infer_unchanged(eddy_infer *infer)
{
    for (uint32_t i = 0; i < infer->node->n_outputs; i++)
        infer->outputs[i] = *eddy_infer_input(infer, 0);
    return EDDY_OK;
}

eddy_status eddy__infer_broadcast(eddy_infer *infer)
{
    const eddy_shape *a = eddy_infer_input(infer, 0);
    const eddy_shape *b = eddy_infer_input(infer, 1);
    eddy_shape shape;

    if (!eddy__shape_broadcast(a, b, &shape))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "shapes %s and %s do not broadcast",
                               eddy__shape_print(a).text,
                               eddy__shape_print(b).text);
    for (uint32_t i = 0; i < infer->node->n_outputs; i++)
        infer->outputs[i] = shape;
    return EDDY_OK;
}

eddy_status eddy__infer_mark(eddy_infer *infer, eddy_string name,
                             uint32_t *out_mark)
{
    eddy__marks *marks = infer->marks;
    const size_t size = name.length + 12;
    char *key = eddy__arena_allocate(infer->arena, size, 1);
    size_t length;

    if (!key)
        return eddy__fail_memory(infer->err);
    (void)snprintf(key, size, "%u ", (unsigned)marks->frame);
    length = strlen(key);
    memcpy(key + length, name.data, name.length);
    key[length + name.length] = '\0';
    *out_mark = eddy__map_find(&marks->numbers, key, length + name.length);
    if (*out_mark != EDDY__NOT_FOUND)
        return EDDY_OK;
    *out_mark = *marks->n;
    if (!eddy__map_set(&marks->numbers, key, *out_mark))
        return eddy__fail_memory(infer->err);
    ++*marks->n;
    return EDDY_OK;
}

eddy_status eddy__infer_vector_tier(eddy_infer *infer,
                                    eddy__vector_tier **out_tier)
{
    eddy__vector_tier *tier;

    *out_tier = NULL;
    if (!infer->tiers)
        return EDDY_OK;
    tier = eddy__arena_allocate_zeroed(infer->arena, 1, sizeof *tier);
    if (!tier)
        return eddy__fail_memory(infer->err);
    atomic_init(&tier->machine, NULL);
    atomic_init(&tier->spent, 0);
    atomic_init(&tier->is_refused, false);
    atomic_init(&tier->compile_ns, 0);
    atomic_init(&tier->n_bytes, 0);
    tier->allocator = infer->tiers->allocator;
    tier->threshold = infer->tiers->threshold;
    tier->next = infer->tiers->first;
    infer->tiers->first = tier;
    *out_tier = tier;
    return EDDY_OK;
}

eddy_status eddy__infer_scalar(eddy_infer *infer)
{
    for (uint32_t i = 0; i < infer->node->n_outputs; i++)
        infer->outputs[i] = eddy__shape_scalar();
    return EDDY_OK;
}

eddy_status eddy__infer_want_rank(eddy_infer *infer, uint32_t i, int32_t rank)
{
    const eddy_shape *shape = eddy_infer_input(infer, i);

    if (shape->rank == -1 || shape->rank == rank)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "input %u has shape %s, rank %d is wanted",
                           (unsigned)i, eddy__shape_print(shape).text,
                           (int)rank);
}

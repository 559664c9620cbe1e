/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs to move elements into, index arguments of kernels and shape
 * functions, and copies that stop when they are asked to.
 */
#include "ops/math/elements.h"

#include <inttypes.h>
#include <string.h>

const eddy_shape *eddy__in_shape(const eddy_kernel *k, uint32_t i)
{
    static const eddy_shape scalar = {.rank = 0};
    const eddy__value *v = eddy__in(k, i);

    return eddy__value_is_tensor(v) ? &v->as.tensor->shape : &scalar;
}

eddy_status eddy__output_elements(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                                  const eddy_shape *shape,
                                  unsigned char **out_elements)
{
    void *data;

    EDDY_TRY(eddy__output(k, i, dtype, shape, &data));
    *out_elements =
        eddy_dtype_size(dtype) > 0 ? data : eddy__out(k, i)->as.tensor->data;
    return EDDY_OK;
}

/* What a copy of a string counts, beside its length. */
#define OWN_WORK 16

/*
 * Turns borrowed strings into the tensor's own; those that there is no memory
 * for become empty, and the rest once the run is to stop.
 */
static bool own_strings(eddy_kernel *k, eddy_tensor *tensor)
{
    eddy__string *strings = tensor->data;
    bool ok = true;

    for (int64_t i = 0; i < tensor->count; i++) {
        eddy__string borrowed = strings[i];

        strings[i] = (eddy__string){NULL, 0};
        if (ok && borrowed.length > 0 &&
            !eddy__spent(k, OWN_WORK + (int64_t)(borrowed.length / 8)))
            ok = eddy__tensor_set_string(tensor, i, borrowed.data,
                                         borrowed.length);
    }
    return ok;
}

/* Gives the tensor a reference to each element; false if one was never set. */
static bool own_values(eddy_tensor *tensor)
{
    eddy__value *values = tensor->data;
    bool ok = true;

    for (int64_t i = 0; i < tensor->count; i++) {
        values[i] = eddy__value_copy(&values[i]);
        eddy__value_keep(&values[i]);
        ok = ok && values[i].kind != EDDY__NONE;
    }
    return ok;
}

/* One list or handle is a value of its own kind. */
static eddy_status held_done(eddy_kernel *k, uint32_t i)
{
    eddy__value *out = eddy__out(k, i);
    eddy_tensor *tensor = out->as.tensor;

    if (!own_values(tensor))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                           "an element of dtype %s was never set",
                           eddy_dtype_name((eddy_dtype)tensor->dtype));
    if (tensor->shape.rank == 0 && eddy__value_of_element(tensor, out))
        eddy__tensor_recycle(k->heap, tensor);
    return EDDY_OK;
}

eddy_status eddy__elements_done(eddy_kernel *k, uint32_t i)
{
    const eddy__value *v = eddy__out(k, i);

    if (eddy__dtype_in((eddy_dtype)v->dtype, EDDY__HELD))
        return held_done(k, i);
    if (v->dtype == EDDY_STRING && !own_strings(k, v->as.tensor))
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a string");
    return EDDY_OK;
}

/* The size is a constant, so that compilers make vectors of it. */
#define REPEAT(size)                                                           \
    for (int64_t i = 0; i < n; i++)                                            \
    memcpy(to + i * (size), element, (size))

/* Bytes that are moved at a time, and what one counts. */
#define PART ((size_t)1 << 20)

/* Bytes from which workers may take a part. */
#define SHARED ((int64_t)1 << 17)

/* Bytes to move, or without `from` to set to 0. */
typedef struct move {
    unsigned char *to;
    const unsigned char *from;
} move;

static eddy_status move_part(eddy_kernel *k, void *arg, int64_t begin,
                             int64_t end)
{
    const move *m = arg;

    for (int64_t at = begin; at < end; at += (int64_t)PART) {
        const int64_t left = end - at;
        const size_t n = left < (int64_t)PART ? (size_t)left : PART;

        if (k && eddy__spent(k, (int64_t)n))
            break;
        if (m->from)
            memcpy(m->to + at, m->from + at, n);
        else
            memset(m->to + at, 0, n);
    }
    return EDDY_OK;
}

static void move_all(eddy_kernel *k, move *m, size_t n)
{
    /* Moving never fails. */
    if (k)
        (void)eddy__parallel_for(k, (int64_t)n, SHARED, move_part, m);
    else
        (void)move_part(k, m, 0, (int64_t)n);
}

void eddy__copy_bytes(eddy_kernel *k, void *to, const void *from, size_t n)
{
    move_all(k, &(move){.to = to, .from = from}, n);
}

void eddy__zero_bytes(eddy_kernel *k, void *to, size_t n)
{
    move_all(k, &(move){.to = to}, n);
}

static void repeat(unsigned char *to, const unsigned char *element, size_t size,
                   int64_t n)
{
    switch (size) {
    case 1:
        if (n > 0)
            memset(to, *element, (size_t)n);
        break;
    case 2:
        REPEAT(2);
        break;
    case 4:
        REPEAT(4);
        break;
    case 8:
        REPEAT(8);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (size_t)i * size, element, size);
        break;
    }
}

void eddy__repeat(eddy_kernel *k, unsigned char *to,
                  const unsigned char *element, size_t size, int64_t n)
{
    for (int64_t at = 0; at < n; at += (int64_t)PART) {
        const int64_t m = n - at < (int64_t)PART ? n - at : (int64_t)PART;

        if (k && eddy__spent(k, m))
            return;
        repeat(to + (size_t)at * size, element, size, m);
    }
}

static eddy_status want_dtype(eddy_infer *infer, eddy__dtype_set set)
{
    eddy_dtype dtype = eddy_infer_output_dtype(infer, 0);

    if (eddy__dtype_in(dtype, set))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

eddy_status eddy__prepare_movable(eddy_infer *infer)
{
    return want_dtype(infer, EDDY__MOVABLE);
}

eddy_status eddy__prepare_arranged(eddy_infer *infer)
{
    return want_dtype(infer, EDDY__ARRANGED);
}

void *eddy__prepare_state(eddy_infer *infer, size_t size)
{
    void *state = eddy_infer_state(infer, size);

    if (!state)
        (void)eddy_infer_fail(infer, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                              "no memory for the node's attributes");
    return state;
}

int64_t eddy__index_at(const eddy_view *view, int64_t i)
{
    switch (view->dtype) {
    case EDDY_INT8:
        return ((const int8_t *)view->data)[i];
    case EDDY_INT16:
        return ((const int16_t *)view->data)[i];
    case EDDY_INT32:
        return ((const int32_t *)view->data)[i];
    case EDDY_UINT8:
        return ((const uint8_t *)view->data)[i];
    case EDDY_UINT16:
        return ((const uint16_t *)view->data)[i];
    case EDDY_UINT32:
        return ((const uint32_t *)view->data)[i];
    default:
        return ((const int64_t *)view->data)[i];
    }
}

eddy_status eddy__want_single(eddy_kernel *k, uint32_t i, int32_t max_rank,
                              const char *what)
{
    const eddy_shape *shape = eddy__in_shape(k, i);

    if (shape->rank <= max_rank && eddy__in_count(k, i) == 1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "%s must be a scalar, but it has shape %s", what,
                       eddy__shape_print(shape).text);
}

eddy_status eddy__index_argument(eddy_kernel *k, uint32_t i, const char *what,
                                 int64_t *out_value)
{
    eddy_view view = eddy__in_view(k, i);

    EDDY_TRY(eddy__want_single(k, i, 0, what));
    *out_value = eddy__index_at(&view, 0);
    return EDDY_OK;
}

eddy_status eddy__axis_argument(eddy_kernel *k, uint32_t i, int32_t max_rank,
                                int32_t rank, int32_t *out_axis)
{
    eddy_view view = eddy__in_view(k, i);

    EDDY_TRY(eddy__want_single(k, i, max_rank, "the axis"));
    return eddy__axis(k, eddy__index_at(&view, 0), rank, out_axis);
}

eddy_status eddy__vector_argument(eddy_kernel *k, uint32_t i, const char *what,
                                  int64_t n, eddy_view *out_view)
{
    *out_view = eddy__in_view(k, i);
    if (out_view->rank == 1 && out_view->count == n)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must be a vector of %" PRId64
                       " elements, but it has shape %s",
                       what, n, eddy__shape_print(eddy__in_shape(k, i)).text);
}

eddy__shape_text eddy__position(const eddy_shape *of, int64_t i)
{
    eddy_shape at = {.rank = of->rank};

    for (int32_t d = of->rank - 1; d >= 0; d--) {
        at.dims[d] = i % of->dims[d];
        i /= of->dims[d];
    }
    return of->rank == 0 ? (eddy__shape_text){.text = ""}
                         : eddy__shape_print(&at);
}

bool eddy__infer_integers(const eddy_infer *infer, uint32_t i, int64_t *values,
                          int32_t n, int32_t *out_n)
{
    const eddy_tensor *t = eddy_infer_constant(infer, i);
    eddy_view view;

    if (!t || t->count > n)
        return false;
    view = (eddy_view){.dtype = (eddy_dtype)t->dtype, .data = t->data};
    for (int64_t j = 0; j < t->count; j++)
        values[j] = eddy__index_at(&view, j);
    *out_n = (int32_t)t->count;
    return true;
}

eddy_shape eddy__infer_shape_argument(const eddy_infer *infer, uint32_t i)
{
    const eddy_shape *of = eddy_infer_input(infer, i);
    eddy_shape shape = eddy__shape_unknown();

    if (eddy__infer_integers(infer, i, shape.dims, EDDY_MAX_RANK,
                             &shape.rank)) {
        for (int32_t d = 0; d < shape.rank; d++)
            if (shape.dims[d] < 0)
                shape.dims[d] = -1;
        return shape;
    }
    if (of->rank == 1 && of->dims[0] >= 0 && of->dims[0] <= EDDY_MAX_RANK)
        return eddy__shape_of_rank((int32_t)of->dims[0]);
    return shape;
}

eddy_status eddy__infer_spelled(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

bool eddy__infer_axis(const eddy_infer *infer, uint32_t i, int32_t rank,
                      int32_t *out_axis)
{
    int64_t axis;

    if (rank < 0 || !eddy__infer_constant_int(infer, i, 0, &axis) ||
        axis < -rank || axis >= rank)
        return false;
    *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

eddy_status eddy__infer_vector(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_of_rank(1);

    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &shape);
    return EDDY_OK;
}

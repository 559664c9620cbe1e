/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels call that is too long to be inline: outputs that reuse an
 * input's memory, lists, resources, failures with a node's place, and the
 * counts by which long kernels stop in time.
 */
#include "core/kernel.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/list.h"
#include "core/value/texts.h"

#include <inttypes.h>
#include <string.h>

eddy_shape eddy__view_shape(const eddy_view *view)
{
    eddy_shape shape = {.rank = view->rank};

    for (int32_t i = 0; i < view->rank; i++)
        shape.dims[i] = view->dims[i];
    return shape;
}

/* Was it the limit that forbade `bytes` more? */
static bool is_limit_reason(const eddy_kernel *k, int64_t bytes)
{
    /* A header stands before the elements. */
    const int64_t extra = sizeof(eddy_tensor) + EDDY__CACHE_LINE;
    int64_t held;

    if (k->heap)
        return k->heap->limit_hit;
    if (!k->account || k->account->limit == 0)
        return false;
    held = atomic_load_explicit(&k->account->held, memory_order_relaxed);
    return bytes > k->account->limit - (held - EDDY__ACCOUNT_BIAS) - extra;
}

/* Says why there is no memory for an output. */
static eddy_status fail_allocation(eddy_kernel *k, eddy_dtype dtype,
                                   const eddy_shape *shape)
{
    const char *name = eddy_dtype_name(dtype);
    const eddy__shape_text text = eddy__shape_print(shape);
    const size_t size = eddy_dtype_size(dtype);
    const size_t element = size > 0 ? size : sizeof(eddy__string);
    int64_t count;

    if (size == 0 && dtype != EDDY_STRING && !eddy__dtype_in(dtype, EDDY__HELD))
        return eddy_kernel_fail(k, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                                "no tensor holds elements of dtype %s", name);
    if (!eddy__shape_is_known(shape))
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                                "an output of shape %s can't be made",
                                text.text);
    if (!eddy__shape_count(shape, element, &count))
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                                "the size of an output %s%s overflows", name,
                                text.text);
    if (is_limit_reason(k, count * (int64_t)element))
        return eddy_kernel_fail(
            k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
            "an output %s%s goes above the limit of %" PRId64 " bytes", name,
            text.text, (k->heap ? k->heap->account : k->account)->limit);
    return eddy_kernel_fail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                            "no memory for an output %s%s", name, text.text);
}

static void set_tensor(eddy__value *out, eddy_tensor *tensor)
{
    out->kind = EDDY__TENSOR;
    out->dtype = tensor->dtype;
    out->as.tensor = tensor;
}

/* Bytes that are cleared between two questions whether to stop. */
#define CLEARED ((size_t)1 << 20)

/* Makes the elements zeros, which takes long if they are many. */
static eddy_status clear(eddy_kernel *k, eddy_tensor *tensor)
{
    const size_t n = eddy__tensor_memory(tensor);

    for (size_t at = 0; at < n; at += CLEARED) {
        const size_t part = n - at < CLEARED ? n - at : CLEARED;

        EDDY_TRY(eddy__go_on(k, (int64_t)(part / 2)));
        memset((char *)tensor->data + at, 0, part);
    }
    return EDDY_OK;
}

eddy_status eddy__new_tensor(eddy_kernel *k, eddy_dtype dtype,
                             const eddy_shape *shape, eddy_tensor **out_tensor)
{
    eddy_status status = EDDY_OK;

    *out_tensor = eddy__tensor_create_raw(k->heap, k->account, k->allocator,
                                          dtype, shape);
    if (!*out_tensor)
        return fail_allocation(k, dtype, shape);
    if (eddy_dtype_size(dtype) == 0)
        status = clear(k, *out_tensor);
    if (status != EDDY_OK) {
        eddy__tensor_free(k->heap, *out_tensor);
        *out_tensor = NULL;
    }
    return status;
}

eddy_status eddy__output(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                         const eddy_shape *shape, void **out_data)
{
    eddy__value *out = eddy__out(k, i);
    eddy_tensor *tensor;

    if (shape->rank == 0 && eddy__dtype_is_inline(dtype)) {
        eddy__out_scalar(out, dtype, 0);
        *out_data = &out->as;
        return EDDY_OK;
    }
    EDDY_TRY(eddy__new_tensor(k, dtype, shape, &tensor));
    set_tensor(out, tensor);
    *out_data = eddy_tensor_mutable_data(tensor);
    return EDDY_OK;
}

/*
 * May the kernel write an output of `dtype` and `shape` over this input?  The
 * shape must be the same to the last dimension: looks at the input that the
 * kernel took before go on pointing to its dimensions.
 */
static bool can_reuse(const eddy__value *in, eddy_dtype dtype,
                      const eddy_shape *shape)
{
    const size_t size = eddy_dtype_size(dtype);

    return in->kind == EDDY__TENSOR && in->uses == 1 && size > 0 &&
           eddy_dtype_size((eddy_dtype)in->dtype) == size &&
           eddy__shape_equal(&in->as.tensor->shape, shape) &&
           eddy__tensor_is_exclusive(in->as.tensor);
}

eddy_status eddy__output_reusing(eddy_kernel *k, uint32_t i, uint32_t from,
                                 eddy_dtype dtype, const eddy_shape *shape,
                                 void **out_data)
{
    eddy__value *in = eddy__in(k, from);

    if (!can_reuse(in, dtype, shape))
        return eddy__output(k, i, dtype, shape, out_data);
    in->as.tensor->dtype = (uint8_t)dtype;
    *out_data = in->as.tensor->data;
    set_tensor(eddy__out(k, i), in->as.tensor);
    in->kind = EDDY__NONE;
    return EDDY_OK;
}

void eddy__output_forward(eddy_kernel *k, uint32_t i, uint32_t from)
{
    eddy__value *in = eddy__in(k, from);

    eddy__out_value(k, i, in);
    if (!eddy__value_is_counted(in))
        return;
    if (in->uses == 1)
        in->kind = EDDY__NONE;
    else
        (void)eddy__value_copy(in);
}

static int64_t count_elements(const eddy__value *v)
{
    return eddy__value_is_tensor(v) ? v->as.tensor->count : 1;
}

/* Inputs that are no tensors have one element and rank 0. */
static eddy_status reshape_inline(eddy_kernel *k, uint32_t i, uint32_t from,
                                  const eddy_shape *shape)
{
    const eddy__value *in = eddy__in(k, from);
    eddy_tensor *tensor;

    if (shape->rank == 0) {
        eddy__output_forward(k, i, from);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__new_tensor(k, (eddy_dtype)in->dtype, shape, &tensor));
    if (in->kind == EDDY__SCALAR) {
        memcpy(tensor->data, &in->as, tensor->bytes);
    } else {
        eddy__value *element = tensor->data;

        *element = eddy__value_copy(in);
        eddy__value_keep(element);
    }
    set_tensor(eddy__out(k, i), tensor);
    return EDDY_OK;
}

eddy_status eddy__output_reshaped(eddy_kernel *k, uint32_t i, uint32_t from,
                                  const eddy_shape *shape)
{
    eddy__value *in = eddy__in(k, from);
    eddy_tensor *tensor = in->as.tensor;
    int64_t count;

    if (!eddy__shape_count(shape, 1, &count) || count != count_elements(in))
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                "%" PRId64 " elements can't have the shape %s",
                                count_elements(in),
                                eddy__shape_print(shape).text);
    if (!eddy__value_is_tensor(in))
        return reshape_inline(k, i, from, shape);
    if (shape->rank == 0 && eddy__value_of_element(tensor, eddy__out(k, i)))
        return EDDY_OK;
    if (in->kind == EDDY__TENSOR && in->uses == 1 &&
        atomic_load_explicit(&tensor->refs, memory_order_acquire) == 1) {
        /* Nobody else sees this header, whosever the elements are. */
        tensor->shape = *shape;
        in->kind = EDDY__NONE;
    } else {
        tensor = eddy__tensor_view(k->heap, k->account, tensor, shape);
        if (!tensor)
            return fail_allocation(k, (eddy_dtype)in->dtype, shape);
    }
    set_tensor(eddy__out(k, i), tensor);
    return EDDY_OK;
}

/* Says why there is no memory for a list of `count` and `room` items. */
static eddy_status fail_list(eddy_kernel *k, int64_t count, int64_t room)
{
    const int64_t most = INT64_MAX / (int64_t)sizeof(eddy__value);

    if (room > most - count)
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                                "the size of a list of %" PRId64 " and %" PRId64
                                " items overflows",
                                count, room);
    if (is_limit_reason(k, (count + room) * (int64_t)sizeof(eddy__value)))
        return eddy_kernel_fail(
            k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
            "a list of %" PRId64 " items goes above the limit of %" PRId64
            " bytes",
            count + room, (k->heap ? k->heap->account : k->account)->limit);
    return eddy_kernel_fail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                            "no memory for a list of %" PRId64 " items",
                            count + room);
}

static void set_list(eddy__value *out, eddy__list *list)
{
    out->kind = EDDY__LIST;
    out->dtype = EDDY_VARIANT;
    out->as.list = list;
}

eddy_status eddy__output_list(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                              const eddy_shape *shape, int64_t count,
                              eddy__list **out_list)
{
    eddy__list *list = eddy__list_create(k->heap, k->account, k->allocator,
                                         dtype, shape, count);

    if (!list)
        return fail_list(k, count, 0);
    set_list(eddy__out(k, i), list);
    *out_list = list;
    return EDDY_OK;
}

eddy_status eddy__output_list_reusing(eddy_kernel *k, uint32_t i, uint32_t from,
                                      int64_t room, eddy__list **out_list)
{
    eddy__value *in = eddy__in(k, from);
    eddy__list *list = in->as.list;

    if (in->kind == EDDY__LIST && in->uses == 1) {
        if (!eddy__list_own(k->heap, k->account, &list, room))
            return fail_list(k, list->count, room);
        in->kind = EDDY__NONE;
    } else {
        list = eddy__list_copy(k->heap, k->account, list, room);
        if (!list)
            return fail_list(k, eddy__in_list(k, from)->count, room);
    }
    set_list(eddy__out(k, i), list);
    *out_list = list;
    return EDDY_OK;
}

eddy_status eddy__in_resource(eddy_kernel *k, uint32_t i,
                              const eddy__resource_type *type,
                              eddy__resource **out_resource)
{
    const eddy__value *in = eddy__in(k, i);

    *out_resource = NULL;
    if (!eddy__value_is_resource(in))
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RESOURCE,
                                "input %u is no handle; that of %s is wanted",
                                i, type->name);
    if (in->as.resource->type != type)
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RESOURCE,
                                "input %u is the handle of %s; that of %s is "
                                "wanted",
                                i, in->as.resource->type->name, type->name);
    *out_resource = in->as.resource;
    return EDDY_OK;
}

eddy_status eddy__output_new_resource(eddy_kernel *k, uint32_t i,
                                      const eddy__resource_type *type,
                                      size_t size,
                                      eddy__resource **out_resource)
{
    *out_resource = eddy__resource_create(k->resources, type, size);
    if (!*out_resource)
        return eddy_kernel_fail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                                "no memory for %s", type->name);
    (*out_resource)->maker = k->node->name;
    eddy__out_resource(k, i, *out_resource);
    return EDDY_OK;
}

eddy_status eddy__find_resource(eddy_kernel *k, const eddy__resource_type *type,
                                const char *name, eddy__resource_maker make,
                                const void *arg, eddy__resource **out_resource)
{
    eddy__resource_table *table = k->services->table(k);

    return eddy__resource_table_find(table, type, name, make, arg, out_resource,
                                     k->err);
}

eddy_status eddy__shape_from_view(eddy_kernel *k, const eddy_view *view,
                                  int64_t minimum, eddy_shape *out_shape)
{
    const eddy_shape own = eddy__view_shape(view);
    eddy_shape shape;

    if (view->rank != 1)
        return eddy_kernel_fail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "a shape must be given as a vector, not as a tensor of shape %s",
            eddy__shape_print(&own).text);
    if (view->count > EDDY_MAX_RANK)
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                                "rank %" PRId64 " is above %d", view->count,
                                EDDY_MAX_RANK);
    shape = eddy__shape_of_rank((int32_t)view->count);
    for (int32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = eddy__view_index(view, i);
        if (shape.dims[i] < minimum)
            return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                                    "dimension %d of a shape is %" PRId64
                                    ", it must be at least %" PRId64,
                                    (int)i, shape.dims[i], minimum);
    }
    *out_shape = shape;
    return EDDY_OK;
}

eddy_status eddy__shape_from_lenient_view(eddy_kernel *k, const eddy_view *view,
                                          int64_t minimum,
                                          eddy_shape *out_shape)
{
    static const int64_t one = 1;
    eddy_view vector = *view;

    if (view->rank == 0) {
        vector.rank = 1;
        vector.dims = &one;
    }
    return eddy__shape_from_view(k, &vector, minimum, out_shape);
}

eddy_status eddy__axis(eddy_kernel *k, int64_t axis, int32_t rank,
                       int32_t *out_axis)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return eddy_kernel_fail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                                "axis %" PRId64 " is not in [%d, %d)", axis,
                                -(int)rank, (int)rank);
    *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return EDDY_OK;
}

/* What follows is eddy/op.h: the same for kernels written outside eddy. */

uint32_t eddy_kernel_inputs(const eddy_kernel *kernel)
{
    return kernel->node->n_in;
}

uint32_t eddy_kernel_outputs(const eddy_kernel *kernel)
{
    return kernel->node->n_out;
}

eddy_view eddy_kernel_input(const eddy_kernel *kernel, uint32_t i)
{
    const eddy__value *in;
    eddy_view view;

    if (i >= kernel->node->n_in)
        return (eddy_view){.dtype = EDDY_INVALID};
    in = eddy__in(kernel, i);
    if (in->kind == EDDY__NONE)
        return (eddy_view){.dtype = EDDY_INVALID};
    if (!eddy__value_has_elements(in))
        return (eddy_view){.dtype = (eddy_dtype)in->dtype, .count = 1};
    view = eddy__view(in);
    if (eddy_dtype_size(view.dtype) == 0)
        view.data = NULL;
    return view;
}

eddy_tensor *eddy_kernel_input_tensor(eddy_kernel *kernel, uint32_t i)
{
    if (i >= kernel->node->n_in ||
        eddy__dtype_in((eddy_dtype)eddy__in(kernel, i)->dtype, EDDY__HELD))
        return NULL;
    return eddy__value_to_tensor(eddy__in(kernel, i), kernel->heap,
                                 kernel->account, kernel->allocator);
}

/* A kernel of the host may be wrong about what the node's outputs are. */
static eddy_status check_output(eddy_kernel *kernel, uint32_t i,
                                eddy_dtype dtype)
{
    const eddy__kernel_node *node = kernel->node;

    if (i >= node->n_out)
        return eddy_kernel_fail(kernel, EDDY_INTERNAL, EDDY_E_OUTPUT_INDEX,
                                "the kernel sets output %u of %u", i,
                                node->n_out);
    if (dtype != node->out_dtypes[i])
        return eddy_kernel_fail(
            kernel, EDDY_INTERNAL, EDDY_E_DTYPE,
            "the kernel sets output %u to %s, the node says %s", i,
            eddy_dtype_name(dtype),
            eddy_dtype_name((eddy_dtype)node->out_dtypes[i]));
    if (eddy__dtype_in(dtype, EDDY__HELD))
        return eddy_kernel_fail(kernel, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                                "no tensor of the host's holds elements of "
                                "dtype %s",
                                eddy_dtype_name(dtype));
    return EDDY_OK;
}

eddy_status eddy_kernel_output(eddy_kernel *kernel, uint32_t i,
                               eddy_dtype dtype, const eddy_shape *shape,
                               void **out_data)
{
    EDDY_TRY(check_output(kernel, i, dtype));
    if (shape->rank < 0 || shape->rank > EDDY_MAX_RANK)
        return eddy_kernel_fail(kernel, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                                "rank %d is not in 0..%d", (int)shape->rank,
                                EDDY_MAX_RANK);
    eddy__value_clear(kernel->heap, eddy__out(kernel, i));
    for (uint32_t from = 0; from < kernel->node->n_in; from++) {
        eddy__value *in = eddy__in(kernel, from);

        if (in->dtype == dtype && can_reuse(in, dtype, shape)) {
            /* Shared, not moved, so that the kernel may still ask for it. */
            set_tensor(eddy__out(kernel, i), eddy_tensor_retain(in->as.tensor));
            *out_data = in->as.tensor->data;
            return EDDY_OK;
        }
    }
    return eddy__output(kernel, i, dtype, shape, out_data);
}

eddy_status eddy_kernel_output_tensor(eddy_kernel *kernel, uint32_t i,
                                      eddy_tensor *tensor)
{
    eddy__value v;

    if (!tensor)
        return eddy_kernel_fail(kernel, EDDY_INTERNAL, EDDY_E_ARGUMENT,
                                "the kernel sets output %u to no tensor", i);
    EDDY_TRY(check_output(kernel, i, eddy_tensor_dtype(tensor)));
    v = eddy__value_take_tensor(kernel->heap, eddy_tensor_retain(tensor));
    eddy__value_clear(kernel->heap, eddy__out(kernel, i));
    eddy__out_value(kernel, i, &v);
    return EDDY_OK;
}

bool eddy_kernel_attr(const eddy_kernel *kernel, const char *name,
                      eddy_attr *out_attr)
{
    const eddy__kernel_node *node = kernel->node;

    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            *out_attr = node->attrs[i];
            return true;
        }
    }
    return false;
}

void *eddy_kernel_user(const eddy_kernel *kernel)
{
    return kernel->node->user;
}

const void *eddy_kernel_state(const eddy_kernel *kernel)
{
    return eddy__state(kernel);
}

int64_t eddy_kernel_iteration(const eddy_kernel *kernel)
{
    return kernel->services->iteration(kernel);
}

bool eddy_kernel_cancelled(const eddy_kernel *kernel)
{
    return kernel->services->cancelled(kernel);
}

eddy_status eddy_kernel_parallel_for(eddy_kernel *kernel, int64_t begin,
                                     int64_t end, int64_t grain,
                                     eddy_items_fn body, void *arg)
{
    if (begin >= end)
        return EDDY_OK;
    if (grain < 1)
        grain = 1;
    if (!kernel->may_share || (end - begin) / 2 < grain)
        return body(kernel, arg, begin, end);
    return kernel->services->parallel_for(kernel, begin, end, grain, body, arg);
}

bool eddy__gives_up(eddy_kernel *k)
{
    if (k->services->cancelled(k)) {
        k->work = EDDY__PATIENCE;
        return true;
    }
    k->work = 0;
    return false;
}

eddy_status eddy__go_on(eddy_kernel *k, int64_t work)
{
    if (!eddy__spent(k, work))
        return EDDY_OK;
    return eddy_kernel_fail(k, EDDY_CANCELLED, EDDY_E_CANCELLED,
                            "the run was cancelled");
}

eddy_status eddy_kernel_fail(eddy_kernel *kernel, eddy_status code,
                             eddy_detail detail, const char *format, ...)
{
    const eddy__kernel_node *node = kernel->node;
    eddy_error *err = kernel->err;
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    eddy__fail_v(err, code, detail, format, args);
    va_end(args);
    eddy__copy_text(err->node, sizeof err->node, node->name,
                    strlen(node->name));
    eddy__copy_text(err->op, sizeof err->op, node->op_name,
                    strlen(node->op_name));
    return code;
}

eddy_kernel *eddy_kernel_suspend(eddy_kernel *kernel)
{
    return kernel->services->suspend(kernel);
}

void eddy_kernel_complete(eddy_kernel *suspended, eddy_status code)
{
    suspended->services->complete(suspended, code);
}

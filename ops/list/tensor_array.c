/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays: making, writing and reading items one by one, gradients.
 *
 * There are three forms of each op.  V3 has a handle; the first one has a
 * reference in place of it, the edges of which carry handles too once a plan is
 * made; V2 has two strings (ops/list/tensor_array_handle.c).
 */
#include "ops/list/tensor_array.h"

#include "ops/math/addn.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

#define WRITTEN EDDY__ITEM_WRITTEN
#define READ EDDY__ITEM_READ
#define CLEARED EDDY__ITEM_CLEARED
#define FILLED EDDY__ITEM_FILLED

eddy_status eddy__array_want_dtype(eddy_kernel *k, const eddy__array *array,
                                   eddy_dtype dtype, const char *verb)
{
    if (array->dtype == dtype)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "the dtype of TensorArray %s is %s, but this op is to "
                       "%s %s",
                       array->name, eddy_dtype_name((eddy_dtype)array->dtype),
                       verb, eddy_dtype_name(dtype));
}

/* ---- writing ---- */

static eddy_status check_index(eddy_kernel *k, eddy__array *a, int64_t index)
{
    if (index >= 0 && (a->is_dynamic ? index < INT32_MAX : index < a->size))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "TensorArray %s: tried to write to index %" PRId64
                       ", but the size is %" PRId32 "%s",
                       a->name, index, a->size,
                       a->is_dynamic ? "" : " and the array not resizeable");
}

static eddy_status fail_write(eddy_kernel *k, const eddy__array *a,
                              int64_t index, const char *why)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_ITEM_WRITTEN,
                       "TensorArray %s: could not write to index %" PRId64
                       " because it has already been %s",
                       a->name, index, why);
}

static eddy_status check_sum(eddy_kernel *k, const eddy__array *a,
                             int64_t index, const eddy_shape *shape)
{
    const eddy_shape *has = eddy__array_shape(a, index);
    eddy__value item;

    if (!eddy__shape_equal(has, shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "TensorArray %s: could not add to index %" PRId64
                           " because it has shape %s but the value has %s",
                           a->name, index, eddy__shape_print(has).text,
                           eddy__shape_print(shape).text);
    if (eddy__array_item(a, index, &item) &&
        !eddy__addn_can_add((eddy_dtype)a->dtype))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "TensorArray %s: could not add to index %" PRId64
                           ": values of dtype %s have no sum",
                           a->name, index,
                           eddy_dtype_name((eddy_dtype)a->dtype));
    return EDDY_OK;
}

static eddy_status check_shape(eddy_kernel *k, eddy__array *a, int64_t index,
                               const eddy_shape *shape)
{
    if (!eddy__shape_compatible(&a->shape, shape))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "TensorArray %s: could not write to index %" PRId64
            " because the value has shape %s, which is not compatible with "
            "the array's element shape %s",
            a->name, index, eddy__shape_print(shape).text,
            eddy__shape_print(&a->shape).text);
    if (a->is_uniform && !eddy__shape_is_known(&a->shape))
        a->shape = *shape;
    return EDDY_OK;
}

/* May item `index` be written with a value of that shape?  Makes room. */
static eddy_status open_item(eddy_kernel *k, eddy__array *a, int64_t index,
                             const eddy_shape *shape)
{
    EDDY_TRY(check_index(k, a, index));
    EDDY_TRY(eddy__array_make_items(k, a, index));
    if (index >= a->size)
        a->size = (int32_t)index + 1;
    EDDY_TRY(check_shape(k, a, index, shape));
    if (a->cells.states[index] & READ)
        return fail_write(k, a, index, "read");
    if (!(a->cells.states[index] & WRITTEN))
        return eddy__array_set_shape(k, a, index, shape);
    if (!a->is_summing)
        return fail_write(k, a, index, "written to");
    return check_sum(k, a, index, shape);
}

/* Puts `value`, of its shape, into item `index`, or adds it to that. */
static eddy_status fill_item(eddy_kernel *k, eddy__array *a, int64_t index,
                             eddy__value *value)
{
    const size_t size = eddy__tape_bare_size((eddy_dtype)a->dtype);
    eddy__value item;
    const bool has_value = eddy__array_item(a, index, &item);

    if (!has_value) {
        item = *value;
    } else {
        eddy__value *sum = a->is_bare ? &item : &a->items[index];

        EDDY_TRY(eddy__addn_add_to(k, sum, value));
        eddy__value_clear(k->heap, value);
    }
    if (a->is_bare)
        eddy__tape_bare_store(a->cells.items + (size_t)index * size, size,
                              &item);
    else if (!has_value)
        a->items[index] = item;
    a->cells.states[index] |= WRITTEN | FILLED;
    return EDDY_OK;
}

eddy_status eddy__array_write(eddy_kernel *k, eddy__array *a, int64_t index,
                              eddy__value *value)
{
    eddy_status status = open_item(k, a, index, eddy__item_shape(value));

    if (status == EDDY_OK)
        status = fill_item(k, a, index, value);
    if (status != EDDY_OK)
        eddy__value_clear(k->heap, value);
    eddy__array_publish(a);
    return status;
}

/* ---- reading ---- */

/* Makes an unwritten item one of zeros. */
static eddy_status write_zeros(eddy_kernel *k, eddy__array *a, int64_t index)
{
    if (!eddy__shape_is_known(&a->shape))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
            "TensorArray %s: could not read from index %" PRId64
            ": it was never written, and for zeros the element shape %s must "
            "be known",
            a->name, index, eddy__shape_print(&a->shape).text);
    EDDY_TRY(eddy__array_make_items(k, a, index));
    EDDY_TRY(eddy__array_set_shape(k, a, index, &a->shape));
    a->cells.states[index] |= WRITTEN;
    return EDDY_OK;
}

/* As in TensorFlow, only numbers and bool have zeros here. */
static eddy_status check_zeros(eddy_kernel *k, const eddy__array *a,
                               int64_t index)
{
    int64_t count;

    if (a->dtype != EDDY_STRING ||
        (eddy__shape_count(eddy__array_shape(a, index), 1, &count) &&
         count == 0))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                       "TensorArray %s: could not read from index %" PRId64
                       ": it was never written, and strings have no zeros",
                       a->name, index);
}

static eddy_status read_item(eddy_kernel *k, eddy__array *a, int64_t index,
                             const eddy_shape **out_shape)
{
    /* A gradient may be asked for more than its forward array once had. */
    const int32_t end = a->is_gradient ? INT32_MAX : a->size;
    eddy__value item;

    if (index < 0 || index >= end)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "TensorArray %s: tried to read from index %" PRId64
                           ", but the size is %" PRId32,
                           a->name, index, a->size);
    if (index >= a->n_items || !(a->cells.states[index] & WRITTEN))
        EDDY_TRY(write_zeros(k, a, index));
    if (index >= a->size)
        a->size = (int32_t)index + 1;
    if (a->cells.states[index] & CLEARED)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_ITEM_CLEARED,
                           "TensorArray %s: could not read index %" PRId64
                           " twice because it was cleared after an earlier "
                           "read; clear_after_read = false allows it",
                           a->name, index);
    if (!eddy__array_item(a, index, &item))
        EDDY_TRY(check_zeros(k, a, index));
    a->cells.states[index] |= a->cells.after_read;
    *out_shape = eddy__array_shape(a, index);
    return EDDY_OK;
}

eddy_status eddy__array_read(eddy_kernel *k, eddy__array *a, int64_t index,
                             const eddy_shape **out_shape)
{
    const eddy_status status = read_item(k, a, index, out_shape);

    eddy__array_publish(a);
    return status;
}

/* ---- making arrays ---- */

/* What a TensorArrayV3 says, and with it its name. */
typedef struct creation {
    eddy_dtype dtype;
    eddy_shape shape;
    bool is_dynamic, clears, is_uniform;
    char name[];
} creation;

/* Room for a text behind a state of `size` bytes; NULL as eddy__prepare_state.
 */
static void *prepare_text(eddy_infer *infer, size_t size, size_t offset,
                          const char *text, size_t length)
{
    char *state = eddy__prepare_state(infer, size + length + 1);

    if (state && length > 0)
        memcpy(state + offset, text, length);
    return state;
}

static eddy_status prepare_creation(eddy_infer *infer)
{
    const char *text = infer->node->name;
    size_t length = strlen(text);
    eddy_attr attr;
    creation *c;

    if (eddy_infer_attr(infer, "tensor_array_name", &attr) &&
        attr.as.strings[0].length > 0) {
        text = attr.as.strings[0].data;
        length = attr.as.strings[0].length;
    }
    c = prepare_text(infer, sizeof *c, offsetof(creation, name), text, length);
    if (!c)
        return EDDY_RESOURCE_EXHAUSTED;
    c->dtype = eddy__infer_type(infer, "dtype");
    c->shape = eddy__shape_unknown();
    if (eddy_infer_attr(infer, "element_shape", &attr))
        c->shape = attr.as.shapes[0];
    c->is_dynamic = eddy__infer_bool(infer, "dynamic_size");
    c->clears = eddy__infer_bool(infer, "clear_after_read");
    c->is_uniform = eddy_infer_attr(infer, "identical_element_shapes", &attr) &&
                    attr.as.bools[0];
    return EDDY_OK;
}

/* The flow of a new array says nothing; only V3 has it. */
static void put_flow(eddy_kernel *k)
{
    if (k->node->n_out > 1)
        eddy__out_scalar(eddy__out(k, 1), EDDY_FLOAT32, 0);
}

static eddy_status run_create(eddy_kernel *k)
{
    const creation *c = eddy__state(k);
    eddy__array *a;
    int32_t size = 0;

    EDDY_TRY(eddy__in_int32(k, 0, "the size of a TensorArray", &size));
    if (size < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the size of a TensorArray is %" PRId32
                           ", it must be at least 0",
                           size);
    EDDY_TRY(eddy__array_create(k, c->name, &a));
    a->dtype = (uint8_t)c->dtype;
    a->is_dynamic = c->is_dynamic;
    a->clears = c->clears;
    a->is_uniform = c->is_uniform;
    a->shape = c->shape;
    a->item_shape = eddy__shape_unknown();
    a->size = size;
    a->split_size = -1;
    a->is_bare = eddy__dtype_is_inline(c->dtype);
    a->cells.after_read = c->clears ? READ | CLEARED : READ;
    put_flow(k);
    return EDDY_OK;
}

/* ---- gradients ---- */

static eddy_status prepare_gradient(eddy_infer *infer)
{
    eddy_attr source;
    bool found = eddy_infer_attr(infer, "source", &source);
    eddy_string text = {NULL, 0};

    if (found)
        text = source.as.strings[0];
    return prepare_text(infer, 0, 0, text.data, text.length)
               ? EDDY_OK
               : EDDY_RESOURCE_EXHAUSTED;
}

/* `prefix` and then `shape`, which may be unknown. */
static eddy_status join_shapes(eddy_kernel *k, const eddy_shape *prefix,
                               const eddy_shape *shape, eddy_shape *out)
{
    *out = *shape;
    for (int32_t d = prefix->rank - 1; d >= 0 && out->rank >= 0; d--)
        EDDY_TRY(eddy__prepend_dim(k, prefix->dims[d], out, out));
    return EDDY_OK;
}

/* What was written in `from` is, in its gradient, zeros of that shape. */
static eddy_status copy_shapes(eddy_kernel *k, eddy__array *a,
                               const eddy__array *from,
                               const eddy_shape *prefix)
{
    eddy_shape shape;

    if (from->n_items > 0)
        EDDY_TRY(eddy__array_make_items(k, a, from->n_items - 1));
    for (int32_t i = 0; i < from->n_items; i++) {
        if (!(from->cells.states[i] & WRITTEN))
            continue;
        EDDY_TRY(join_shapes(k, prefix, eddy__array_shape(from, i), &shape));
        EDDY_TRY(eddy__array_set_shape(k, a, i, &shape));
        a->cells.states[i] = WRITTEN;
    }
    return EDDY_OK;
}

/* A new gradient of `from`, which keeps it, in output 0. */
static eddy_status make_gradient(eddy_kernel *k, eddy__array *from,
                                 const eddy_shape *prefix)
{
    eddy__array *a;

    EDDY_TRY(eddy__array_create(k, from->name, &a));
    a->dtype = from->dtype;
    a->is_gradient = a->is_summing = true;
    /* Who wrote to an index twice reads its gradient twice. */
    a->clears = !from->is_summing;
    a->is_uniform = from->is_uniform;
    a->item_shape = eddy__shape_unknown();
    a->size = from->size;
    a->split_size = from->split_size;
    a->source = eddy__state(k);
    a->is_bare = eddy__dtype_is_inline((eddy_dtype)a->dtype);
    a->cells.after_read = a->clears ? READ | CLEARED : READ;
    EDDY_TRY(join_shapes(k, prefix, &from->shape, &a->shape));
    EDDY_TRY(copy_shapes(k, a, from, prefix));
    eddy__array_publish(a);
    a->next = from->gradients;
    from->gradients = a;
    (void)eddy__resource_retain(&a->cells.base);
    return EDDY_OK;
}

static eddy_status find_gradient(eddy_kernel *k, const eddy_shape *prefix)
{
    const char *source = eddy__state(k);
    eddy__array *from, *a;

    EDDY_TRY(eddy__in_array(k, &from));
    /* Its gradient has the size that it has now. */
    from->is_dynamic = false;
    put_flow(k);
    for (a = from->gradients; a; a = a->next) {
        if (strcmp(a->source, source) == 0)
            return eddy__array_put_handle(k, a);
    }
    return make_gradient(k, from, prefix);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_shape none = eddy__shape_scalar();

    return find_gradient(k, &none);
}

static eddy_status run_gradient_with_shape(eddy_kernel *k)
{
    const eddy_view view = eddy__in_view(k, 2);
    eddy_shape prefix = {.rank = 0};

    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &prefix));
    return find_gradient(k, &prefix);
}

/* ---- kernels on single items ---- */

eddy_status eddy__tensor_array_pass_flow(eddy_kernel *k, uint32_t i)
{
    const eddy__value *flow = eddy__in(k, i);

    if (flow->kind != EDDY__SCALAR)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the flow must be a scalar, but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    eddy__out_scalar(eddy__out(k, 0), EDDY_FLOAT32, flow->as.bits);
    return EDDY_OK;
}

static eddy_status run_write(eddy_kernel *k)
{
    eddy__value value;
    eddy__array *a;
    int32_t index = 0;

    EDDY_TRY(eddy__tensor_array_pass_flow(k, 3));
    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    EDDY_TRY(eddy__in_array(k, &a));
    EDDY_TRY(eddy__array_want_dtype(k, a, eddy__in_dtype(k, 2), "write"));
    value = eddy__in_take(k, 2);
    return eddy__array_write(k, a, index, &value);
}

static eddy_status run_read(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy_shape *shape = NULL;
    eddy__value value;
    eddy__array *a;
    int32_t index = 0;

    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    EDDY_TRY(eddy__in_array(k, &a));
    EDDY_TRY(eddy__array_want_dtype(k, a, dtype, "read"));
    EDDY_TRY(eddy__array_read(k, a, index, &shape));
    if (!eddy__array_item(a, index, &value))
        EDDY_TRY(eddy__zero_item(k, dtype, shape, &value));
    else if (!a->clears)
        value = eddy__value_copy(&value);
    else if (!a->is_bare)
        a->items[index].kind = EDDY__NONE;
    eddy__out_value(k, 0, &value);
    return EDDY_OK;
}

static eddy_status run_size(eddy_kernel *k)
{
    eddy__array *a;

    EDDY_TRY(eddy__in_array(k, &a));
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)a->size);
    return EDDY_OK;
}

/* Closing twice is no error. */
static eddy_status run_close(eddy_kernel *k)
{
    eddy__array *a;

    EDDY_TRY(eddy__array_find(k, &a));
    eddy__array_drop_items(a, k->heap);
    a->is_closed = true;
    return EDDY_OK;
}

/* ---- shapes ---- */

static eddy_status infer_created(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 0, 0));
    return eddy__infer_scalar(infer);
}

static eddy_status infer_names(eddy_infer *infer)
{
    const eddy_shape names = eddy__shape_vector(2);

    eddy_infer_set_output(infer, 0, &names);
    return EDDY_OK;
}

static eddy_status infer_created_names(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 0, 0));
    return infer_names(infer);
}

static eddy_status infer_written(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    EDDY_TRY(eddy__infer_want_rank(infer, 3, 0));
    return eddy__infer_scalar(infer);
}

/*
 * Whatever is written is held against the shape that the array was made with,
 * and zeros are of it; gradients' arrays have other makers.
 */
eddy_shape eddy__array_element_shape(const eddy_infer *infer)
{
    const eddy__node *maker = eddy__infer_maker(infer, 0);
    const eddy_attr *shape = NULL;

    if (maker && maker->op && maker->op->kernel == run_create)
        shape = eddy__node_attr(maker, "element_shape");
    return shape ? shape->as.shapes[0] : eddy__shape_unknown();
}

static eddy_status infer_read(eddy_infer *infer)
{
    const eddy_shape shape = eddy__array_element_shape(infer);

    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_with_shape(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 2, 1));
    return eddy__infer_scalar(infer);
}

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP)
#define NONE_FLAGS (FLAGS | EDDY_OP_NOT_DIFFERENTIABLE)

#define CREATION_ATTRS                                                         \
    "dtype: type, element_shape: shape = ?, dynamic_size: bool = false, "      \
    "clear_after_read: bool = true, tensor_array_name: string = ''"
#define CREATION "A new array of `size` items that live as long as the run."
#define GRADIENT                                                               \
    "The array of that source whose items are the gradients of this one's."

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "TensorArrayV3", .inputs = "size: int32",
        .outputs = "handle: resource, flow: float32",
        .attrs = CREATION_ATTRS ", identical_element_shapes: bool = false",
        .infer = infer_created, .kernel = run_create,
        .prepare = prepare_creation, .flags = NONE_FLAGS, .doc = CREATION),
    EDDY__OP_ROW("TensorArrayV2", .inputs = "size: int32",
                 .outputs = "handle: string", .attrs = CREATION_ATTRS,
                 .infer = infer_created_names, .kernel = run_create,
                 .prepare = prepare_creation, .flags = NONE_FLAGS,
                 .doc = CREATION),
    EDDY__OP_ROW(
        "TensorArray", .inputs = "size: int32", .outputs = "handle: ref string",
        .attrs = CREATION_ATTRS, .infer = infer_created, .kernel = run_create,
        .prepare = prepare_creation, .flags = NONE_FLAGS, .doc = CREATION),
    EDDY__OP_ROW("TensorArrayGradV3",
                 .inputs = "handle: resource, flow_in: float32",
                 .outputs = "grad_handle: resource, flow_out: float32",
                 .attrs = "source: string", .infer = eddy__infer_scalar,
                 .kernel = run_gradient, .prepare = prepare_gradient,
                 .flags = FLAGS, .doc = GRADIENT),
    EDDY__OP_ROW(
        "TensorArrayGradV2", .inputs = "handle: string, flow_in: float32",
        .outputs = "grad_handle: string", .attrs = "source: string",
        .infer = infer_names, .kernel = run_gradient,
        .prepare = prepare_gradient, .flags = NONE_FLAGS, .doc = GRADIENT),
    EDDY__OP_ROW(
        "TensorArrayGrad", .inputs = "handle: ref string, flow_in: float32",
        .outputs = "grad_handle: ref string", .attrs = "source: string",
        .infer = eddy__infer_scalar, .kernel = run_gradient,
        .prepare = prepare_gradient, .flags = NONE_FLAGS, .doc = GRADIENT),
    EDDY__OP_ROW(
        "TensorArrayGradWithShape",
        .inputs = "handle: resource, flow_in: float32, shape_to_prepend: int32",
        .outputs = "grad_handle: resource, flow_out: float32",
        .attrs = "source: string", .infer = infer_with_shape,
        .kernel = run_gradient_with_shape, .prepare = prepare_gradient,
        .flags = FLAGS,
        .doc = "The same with further dimensions before those of each item."),
    EDDY__ARRAY_FORMS(
        "TensorArrayWrite", ", index: int32, value: T, flow_in: float32",
        .outputs = "flow_out: float32", .attrs = "T: type",
        .infer = infer_written, .kernel = run_write, .flags = FLAGS,
        .doc = "Makes `value` the item at `index`."),
    EDDY__ARRAY_FORMS("TensorArrayRead", ", index: int32, flow_in: float32",
                      .outputs = "value: dtype", .attrs = "dtype: type",
                      .infer = infer_read, .kernel = run_read, .flags = FLAGS,
                      .doc = "The item at `index`."),
    EDDY__ARRAY_FORMS("TensorArraySize", ", flow_in: float32",
                      .outputs = "size: int32", .infer = eddy__infer_scalar,
                      .kernel = run_size, .flags = NONE_FLAGS,
                      .doc = "The number of items."),
    EDDY__ARRAY_FORMS("TensorArrayClose", "", .kernel = run_close,
                      .flags = NONE_FLAGS,
                      .doc = "Drops all items; no op may follow."),
};

const eddy__op_table eddy__tensor_array_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

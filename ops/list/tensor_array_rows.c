/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays whose items are read while others are still to be written, in
 * loops that overlap (runtime/plan/overlap.c).
 *
 * A read of an item that is not there suspends itself, and waits in the array's
 * list.  The write of that item completes it.  After the last write a _RowsEnd
 * does what TensorArrayGatherV3 would have checked, and completes what waits
 * still: there is no such item.  Only the driver of the run calls these
 * kernels, so nothing is locked.  Items are not cleared: the plan makes such
 * arrays with clear_after_read = false.
 */
#include "ops/list/tensor_array.h"

#include "ops/ops.h"
#include "ops/rows.h"

#include <inttypes.h>

/* A read that waits for item `index`. */
struct eddy__row_wait {
    struct eddy__row_wait *next;
    eddy_kernel *kernel;
    int64_t index;
};

typedef struct eddy__row_wait row_wait;

/* What a _RowsEnd says of the items. */
typedef struct ending {
    eddy_shape element_shape;
    bool may_be_none;
} ending;

/* ---- giving items out ---- */

/* Stacked, all items would have to have the shape of the first. */
static eddy_status check_like_first(eddy_kernel *k, const eddy__array *a,
                                    int64_t index, const eddy_shape *shape)
{
    const eddy_shape *first = eddy__array_shape(a, 0);

    if (index == 0 || !(a->cells.states[0] & EDDY__ITEM_WRITTEN) ||
        eddy__shape_equal(first, shape))
        return EDDY_OK;
    return eddy__array_fail_unlike(k, a, 0, first, index, shape);
}

/* Makes output 0 item `index`, which is written or does not exist. */
static eddy_status put_row(eddy_kernel *k, eddy__array *a, int64_t index)
{
    const eddy_shape *shape = NULL;
    eddy__value value;

    EDDY_TRY(eddy__array_read(k, a, index, &shape));
    EDDY_TRY(check_like_first(k, a, index, shape));
    if (eddy__array_item(a, index, &value))
        value = eddy__value_copy(&value);
    else
        EDDY_TRY(eddy__zero_item(k, (eddy_dtype)a->dtype, shape, &value));
    eddy__out_value(k, 0, &value);
    return EDDY_OK;
}

/* Completes a read that has been taken out of the list, and frees it. */
static void complete(eddy_kernel *k, eddy__array *a, row_wait *w)
{
    const eddy_status status = put_row(w->kernel, a, w->index);

    k->services->complete(w->kernel, status);
    eddy__free(k->allocator, w, 1, sizeof *w);
}

/* Completes the reads that wait for item `index`; -1: all. */
static void serve(eddy_kernel *k, eddy__array *a, int64_t index)
{
    row_wait **link = &a->waits;

    while (*link) {
        row_wait *w = *link;

        if (index >= 0 && w->index != index) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        complete(k, a, w);
    }
}

/* ---- waiting ---- */

static void give_up(eddy_kernel *kernel, void *arg)
{
    eddy__array *a = arg;
    row_wait **link = &a->waits;
    eddy_status status;
    row_wait *w;

    while (*link && (*link)->kernel != kernel)
        link = &(*link)->next;
    w = *link;
    if (!w)
        return;
    *link = w->next;
    status = eddy__kfail(kernel, EDDY_CANCELLED, EDDY_E_CANCELLED,
                         "the run ended while the node waited for item %" PRId64
                         " of TensorArray %s",
                         w->index, a->name);
    eddy__free(kernel->allocator, w, 1, sizeof *w);
    kernel->services->complete(kernel, status);
}

static eddy_status wait_for(eddy_kernel *k, eddy__array *a, int64_t index)
{
    row_wait *w = eddy__allocate(k->allocator, 1, sizeof *w);
    eddy_kernel *suspended = w ? k->services->suspend(k) : NULL;

    if (!suspended) {
        eddy__free(k->allocator, w, 1, sizeof *w);
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory to wait for item %" PRId64
                           " of TensorArray %s",
                           index, a->name);
    }
    *w = (row_wait){.next = a->waits, .kernel = suspended, .index = index};
    a->waits = w;
    k->services->await(suspended, give_up, a);
    return EDDY_OK;
}

static bool is_written(const eddy__array *a, int64_t index)
{
    return index >= 0 && index < a->n_items &&
           (a->cells.states[index] & EDDY__ITEM_WRITTEN);
}

/* ---- kernels ---- */

/* An int32 or an int64. */
static eddy_status in_index(eddy_kernel *k, uint32_t i, int64_t *out_index)
{
    const eddy_view view = eddy__in_view(k, i);

    if (view.count != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the index has %" PRId64 " elements, wanted one",
                           view.count);
    *out_index = view.dtype == EDDY_INT32 ? *(const int32_t *)view.data
                                          : *(const int64_t *)view.data;
    return EDDY_OK;
}

static eddy_status run_read_row(eddy_kernel *k)
{
    eddy__array *a;
    int64_t index = 0;

    EDDY_TRY(in_index(k, 1, &index));
    EDDY_TRY(eddy__in_array(k, &a));
    EDDY_TRY(eddy__array_want_dtype(k, a, (eddy_dtype)k->node->out_dtypes[0],
                                    "read"));
    if (a->is_whole || index < 0 || is_written(a, index))
        return put_row(k, a, index);
    return wait_for(k, a, index);
}

static eddy_status run_write_row(eddy_kernel *k)
{
    eddy__value value;
    eddy__array *a;
    int32_t index = 0;

    EDDY_TRY(eddy__tensor_array_pass_flow(k, 3));
    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    EDDY_TRY(eddy__in_array(k, &a));
    EDDY_TRY(eddy__array_want_dtype(k, a, eddy__in_dtype(k, 2), "write"));
    value = eddy__in_take(k, 2);
    EDDY_TRY(eddy__array_write(k, a, index, &value));
    serve(k, a, index);
    return EDDY_OK;
}

static eddy_status run_rows_end(eddy_kernel *k)
{
    const ending *e = eddy__state(k);
    eddy__array *a;
    int32_t n = 0;

    EDDY_TRY(eddy__in_int32(k, 1, "the number of items", &n));
    EDDY_TRY(eddy__in_array(k, &a));
    EDDY_TRY(
        eddy__array_read_alike(k, a, n, &e->element_shape, e->may_be_none));
    a->is_whole = true;
    serve(k, a, -1);
    return EDDY_OK;
}

/* ---- preparation and shapes ---- */

static eddy_status prepare_end(eddy_infer *infer)
{
    ending *e = eddy__prepare_state(infer, sizeof *e);
    eddy_attr attr;

    if (!e)
        return EDDY_RESOURCE_EXHAUSTED;
    e->element_shape = eddy_infer_attr(infer, "element_shape", &attr)
                           ? attr.as.shapes[0]
                           : eddy__shape_unknown();
    e->may_be_none = eddy__infer_bool(infer, "may_be_none");
    return EDDY_OK;
}

static eddy_status infer_written(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    EDDY_TRY(eddy__infer_want_rank(infer, 3, 0));
    return eddy__infer_scalar(infer);
}

static eddy_status infer_read(eddy_infer *infer)
{
    const eddy_shape shape = eddy__array_element_shape(infer);

    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/*
 * Writes are asynchronous too, though none waits: a loop of them is not done in
 * one go, since no reader would come between (docs/onnx.md).
 */
#define FLAGS EDDY_OP_STATEFUL | EDDY_OP_ASYNC | EDDY_OP_NOT_DIFFERENTIABLE

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(EDDY__WRITE_ROW, "eddy",
                    .inputs = "handle: resource, index: int32, value: T, "
                              "flow_in: float32",
                    .outputs = "flow_out: float32", .attrs = "T: type",
                    .infer = infer_written, .kernel = run_write_row,
                    .flags = FLAGS,
                    .doc = "Makes `value` the item at `index`, for which a "
                           "_ReadRow may wait. Plans make it."),
    EDDY__OP_ROW_OF(
        EDDY__READ_ROW, "eddy", .inputs = "handle: resource, index: I",
        .outputs = "value: dtype", .attrs = "dtype: type, I: {int32, int64}",
        .infer = infer_read, .kernel = run_read_row, .flags = FLAGS,
        .doc = "The item at `index`, once it is written. Plans "
               "make it."),
    EDDY__OP_ROW_OF(EDDY__ROWS_END, "eddy",
                    .inputs = "handle: resource, n: int32, flow_in: float32",
                    .attrs =
                        "element_shape: shape = ?, may_be_none: bool = false",
                    .kernel = run_rows_end, .prepare = prepare_end,
                    .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "Says that the array has n items and no more come, "
                           "and that all are of one shape. Plans make it."),
};

const eddy__op_table eddy__tensor_array_rows_ops = {
    specs, NULL, sizeof specs / sizeof *specs};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop itself: items and states in, outputs put away as rows, states
 * replaced, until the condition or the limit ends it.
 */
#include "runtime/eager/mxnet_now_loop.h"

#include "core/base/float_mode.h"
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void release_all(eddy_tensor **tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        eddy_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

/* Notes in which step something failed, around what is noted of it. */
static eddy_status fail_in_step(const eddy__mxnet_now *l, eddy_status status)
{
    char inner[sizeof l->err->frame];

    if (!l->err)
        return status;
    memcpy(inner, l->err->frame, sizeof inner);
    (void)snprintf(l->err->frame, sizeof l->err->frame,
                   "%.60s[%" PRId64 "]%s%.76s", l->name, l->step,
                   *inner ? "/" : "", inner);
    return status;
}

/* ---- predicates ---- */

/*
 * Does a number count as zero in a predicate?  As in a run, which takes
 * denormals for zeros unless `keep_denormals`; those of float16 are computed in
 * float32, where they are none.
 */
static bool is_zero(const eddy_tensor *tensor, bool keep_denormals)
{
    static const unsigned char zeros[8] = {0};
    const bool flushes = !keep_denormals && EDDY__CAN_FLUSH_DENORMALS;

    switch ((eddy_dtype)tensor->dtype) {
    case EDDY_FLOAT16:
    case EDDY_BFLOAT16:
        return (*(const uint16_t *)tensor->data & 0x7fff) == 0;
    case EDDY_FLOAT32:
        return fabsf(*(const float *)tensor->data) <
               (flushes ? FLT_MIN : FLT_TRUE_MIN);
    case EDDY_FLOAT64:
        return fabs(*(const double *)tensor->data) <
               (flushes ? DBL_MIN : DBL_TRUE_MIN);
    default:
        return memcmp(tensor->data, zeros, tensor->bytes) == 0;
    }
}

eddy_status eddy__mxnet_now_judge(const eddy__mxnet_now *l,
                                  const eddy_tensor *tensor, bool *out_holds)
{
    const eddy_dtype dtype = (eddy_dtype)tensor->dtype;

    if ((dtype != EDDY_BOOL && !eddy__dtype_in(dtype, EDDY__REALS)) ||
        tensor->count != 1)
        return eddy__fail_node(
            l->err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE, l->name, NULL,
            "a predicate is %s of shape %s; one bool or number is wanted",
            eddy_dtype_name(dtype), eddy__shape_print(&tensor->shape).text);
    *out_holds = !is_zero(tensor, eddy_immediate_keeps_denormals(l->now));
    return EDDY_OK;
}

/* ---- calling the program ---- */

eddy_status eddy__mxnet_now_call(const eddy__mxnet_now *l, eddy_immediate_fn fn,
                                 eddy_tensor *const *inputs, size_t n,
                                 eddy_tensor **results, size_t n_results)
{
    eddy_status status;

    for (size_t i = 0; i < n_results; i++)
        results[i] = NULL;
    status = fn(l->now, l->user, inputs, n, results, l->err);
    for (size_t i = 0; i < n_results && status == EDDY_OK; i++)
        if (!results[i])
            status = eddy__fail_node(
                l->err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_MISSING, l->name,
                NULL, "a function has left result %zu of %zu NULL", i,
                n_results);
    if (status != EDDY_OK)
        release_all(results, n_results);
    return status;
}

/* Is there a step to take? */
static eddy_status ask(const eddy__mxnet_now *l, bool *out_more)
{
    eddy_tensor *predicate = NULL;
    eddy_status status;

    *out_more = l->step < l->limit;
    if (!*out_more || !l->condition)
        return EDDY_OK;
    status = eddy__mxnet_now_call(l, l->condition, l->args, l->n_states,
                                  &predicate, 1);
    if (status == EDDY_OK)
        status = eddy__mxnet_now_judge(l, predicate, out_more);
    eddy_tensor_release(predicate);
    return status;
}

/* ---- a step ---- */

static eddy_status fail_dtype(const eddy__mxnet_now *l, const char *what,
                              size_t i, eddy_dtype found, eddy_dtype wanted)
{
    return eddy__fail_node(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                           l->name, NULL, "%s %zu is %s, it was to be %s", what,
                           i, eddy_dtype_name(found), eddy_dtype_name(wanted));
}

static eddy_status fail_shape(const eddy__mxnet_now *l, const char *what,
                              size_t i, const eddy_shape *found,
                              const eddy_shape *wanted)
{
    return eddy__fail_node(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, l->name,
                           NULL, "%s %zu has shape %s, it was to have %s", what,
                           i, eddy__shape_print(found).text,
                           eddy__shape_print(wanted).text);
}

/* An output is to be like the one of the first step, and as was promised. */
static eddy_status check_output(const eddy__mxnet_now *l, size_t i)
{
    const eddy_tensor *found = l->results[i];
    const eddy__host_rows *rows = &l->rows[i];
    const eddy_mxnet_item *promised =
        l->output_items ? &l->output_items[i] : NULL;
    eddy_dtype dtype = promised ? promised->dtype : EDDY_INVALID;
    eddy_shape shape = promised ? promised->shape : eddy__shape_unknown();

    if (rows->n > 0) {
        dtype = (eddy_dtype)rows->items[0]->dtype;
        shape = rows->items[0]->shape;
    }
    if (dtype != EDDY_INVALID && found->dtype != dtype)
        return fail_dtype(l, "output", i, (eddy_dtype)found->dtype, dtype);
    if (!eddy__shape_compatible(&shape, &found->shape))
        return fail_shape(l, "output", i, &found->shape, &shape);
    if (found->shape.rank < EDDY_MAX_RANK)
        return EDDY_OK;
    return eddy__fail_node(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, l->name,
                           NULL,
                           "output %zu has rank %d, so that it cannot be "
                           "stacked",
                           i, (int)found->shape.rank);
}

static eddy_status check_state(const eddy__mxnet_now *l, size_t i)
{
    const eddy_tensor *before = l->args[l->n_inputs + i];
    const eddy_tensor *after = l->results[l->n_outputs + i];

    if (after->dtype != before->dtype)
        return fail_dtype(l, "state", i, (eddy_dtype)after->dtype,
                          (eddy_dtype)before->dtype);
    if (l->n_outputs > 0 && !l->changes_shape &&
        !eddy__shape_equal(&before->shape, &after->shape))
        return fail_shape(l, "state", i, &after->shape, &before->shape);
    return EDDY_OK;
}

/* Puts outputs away and makes new states the states. */
static eddy_status keep_results(eddy__mxnet_now *l)
{
    for (size_t i = 0; i < l->n_outputs; i++)
        EDDY_TRY(check_output(l, i));
    for (size_t i = 0; i < l->n_states; i++)
        EDDY_TRY(check_state(l, i));
    for (size_t i = 0; i < l->n_outputs; i++) {
        eddy_tensor *item = l->results[i];

        l->results[i] = NULL;
        if (!eddy__rows_add(&l->rows[i], l->allocator, item))
            return eddy__fail_memory(l->err);
    }
    for (size_t i = 0; i < l->n_states; i++) {
        eddy_tensor **state = &l->args[l->n_inputs + i];

        eddy_tensor_release(*state);
        *state = l->results[l->n_outputs + i];
        l->results[l->n_outputs + i] = NULL;
    }
    return EDDY_OK;
}

static eddy_status take_step(eddy__mxnet_now *l)
{
    const size_t n_results = l->n_outputs + l->n_states;
    eddy_status status;

    for (size_t i = 0; i < l->n_inputs; i++) {
        eddy_tensor_release(l->args[i]);
        l->args[i] = eddy__row_of(l->inputs[i], l->step);
        if (!l->args[i])
            return eddy__fail_memory(l->err);
    }
    EDDY_TRY(eddy__mxnet_now_call(
        l, l->body, l->args, l->n_inputs + l->n_states, l->results, n_results));
    status = keep_results(l);
    release_all(l->results, n_results);
    return status;
}

static eddy_status take_steps(eddy__mxnet_now *l)
{
    bool more = false;

    for (;; l->step++) {
        eddy_status status = ask(l, &more);

        if (status == EDDY_OK && !more)
            return EDDY_OK;
        if (status == EDDY_OK)
            status = take_step(l);
        if (status != EDDY_OK)
            return fail_in_step(l, status);
    }
}

/* ---- results ---- */

/*
 * After no step of a while_loop: a step is tried on the variables, as they are,
 * to see what its outputs would be.  Where that fails nothing is known.
 */
static void try_step(eddy__mxnet_now *l)
{
    eddy_error *err = l->err;
    eddy_error own = {.code = EDDY_OK};
    const size_t n_results = l->n_outputs + l->n_states;
    bool is_needed = false;

    for (size_t i = 0; i < l->n_outputs; i++)
        is_needed = is_needed || !l->output_items ||
                    l->output_items[i].dtype == EDDY_INVALID ||
                    !eddy__shape_is_known(&l->output_items[i].shape);
    if (l->step > 0 || l->n_inputs > 0 || !is_needed)
        return;
    l->err = &own;
    (void)eddy__mxnet_now_call(l, l->body, l->args, l->n_states, l->results,
                               n_results);
    l->err = err;
}

/* What the rows of output `i` are, of which there may be none. */
static eddy_status find_item(const eddy__mxnet_now *l, size_t i,
                             eddy_mxnet_item *out)
{
    const eddy__host_rows *rows = &l->rows[i];
    const eddy_tensor *like = rows->n > 0 ? rows->items[0] : l->results[i];

    if (rows->n == 0 && like)
        EDDY_TRY(check_output(l, i));
    if (like) {
        out->dtype = (eddy_dtype)like->dtype;
        out->shape = like->shape;
    } else {
        *out = l->output_items ? l->output_items[i]
                               : (eddy_mxnet_item){.dtype = EDDY_INVALID};
        if (out->dtype == EDDY_INVALID || !eddy__shape_is_known(&out->shape))
            return eddy__fail_node(
                l->err, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED, l->name,
                NULL,
                "there was no step, and output_items does not say in full "
                "what output %zu is",
                i);
    }
    if (out->dtype == EDDY_STRING && (int64_t)rows->n < l->limit)
        return eddy__fail_node(
            l->err, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED, l->name, NULL,
            "there were %zu steps of %" PRId64 ", and strings, which output "
            "%zu is of, have no zeros",
            rows->n, l->limit, i);
    return EDDY_OK;
}

static eddy_status put_results(eddy__mxnet_now *l, eddy_tensor **out_outputs,
                               eddy_tensor **out_states)
{
    eddy_mxnet_item item;

    try_step(l);
    for (size_t i = 0; i < l->n_outputs; i++) {
        EDDY_TRY(find_item(l, i, &item));
        out_outputs[i] = eddy__rows_stack(&l->rows[i], l->allocator, l->limit,
                                          item.dtype, &item.shape);
        if (!out_outputs[i])
            return eddy__fail_memory(l->err);
    }
    for (size_t i = 0; i < l->n_states; i++)
        out_states[i] = eddy_tensor_retain(l->args[l->n_inputs + i]);
    return EDDY_OK;
}

eddy_status eddy__mxnet_now_run(eddy__mxnet_now *l, eddy_tensor **out_outputs,
                                eddy_tensor **out_states)
{
    const eddy_allocator *a = l->allocator;
    const size_t n_args = l->n_inputs + l->n_states;
    const size_t n_results = l->n_outputs + l->n_states;
    eddy_status status;

    for (size_t i = 0; l->output_items && i < l->n_outputs; i++)
        EDDY_TRY(eddy__builder_want_valid_shape(
            "output_items", &l->output_items[i].shape, l->err));
    l->args = eddy__allocate_zeroed(a, n_args, sizeof(eddy_tensor *));
    l->results = eddy__allocate_zeroed(a, n_results, sizeof(eddy_tensor *));
    l->rows = eddy__allocate_zeroed(a, l->n_outputs, sizeof *l->rows);
    if (l->args && l->results && l->rows) {
        for (size_t i = 0; i < l->n_states; i++)
            l->args[l->n_inputs + i] = eddy_tensor_retain(l->states[i]);
        status = take_steps(l);
        if (status == EDDY_OK)
            status = put_results(l, out_outputs, out_states);
        release_all(l->results, n_results);
        release_all(l->args, n_args);
    } else {
        status = eddy__fail_memory(l->err);
    }
    for (size_t i = 0; l->rows && i < l->n_outputs; i++)
        eddy__rows_deinit(&l->rows[i], a);
    if (status != EDDY_OK)
        release_all(out_outputs, l->n_outputs);
    eddy__free(a, l->args, n_args, sizeof(eddy_tensor *));
    eddy__free(a, l->results, n_results, sizeof(eddy_tensor *));
    eddy__free(a, l->rows, l->n_outputs, sizeof *l->rows);
    return status;
}

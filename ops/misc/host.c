/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that call the host.  Each copies its callback from the graph's table
 * when a plan is made, so that a plan needs no graph.  They stay with the
 * thread that drives the run (EDDY_OP_CHEAP), so one run calls one at a time,
 * and in the order of iterations (EDDY__OP_ORDERED).
 */
#include "core/graph/host.h"
#include "core/base/status.h"
#include "core/graph/infer.h"
#include "core/graph/op_row.h"
#include "core/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static eddy_status prepare(eddy_infer *infer, eddy__host_kind kind)
{
    const int64_t number = eddy__infer_int(infer, "callback");
    const eddy__host_table *table = infer->graph ? &infer->graph->host : NULL;
    eddy__host_callback *callback;

    if (!table || (uint64_t)number >= table->n ||
        table->items[number].kind != kind)
        return eddy_infer_fail(infer, EDDY_FAILED_PRECONDITION,
                               EDDY_E_HOST_CALLBACK,
                               "the graph has no such host callback of number "
                               "%" PRId64,
                               number);
    callback = eddy_infer_state(infer, sizeof *callback);
    if (!callback)
        return eddy_infer_fail(infer, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for a host callback");
    *callback = table->items[number];
    return EDDY_OK;
}

static eddy_status prepare_predicate(eddy_infer *infer)
{
    return prepare(infer, EDDY__HOST_PREDICATE);
}

static eddy_status prepare_selector(eddy_infer *infer)
{
    return prepare(infer, EDDY__HOST_SELECTOR);
}

/* Says about which trip of its loop the function was asked. */
static void name_trip(eddy_kernel *k, const eddy__host_callback *callback)
{
    char text[sizeof k->err->message];

    if (!callback->has_trip || eddy_kernel_input(k, 0).data == NULL)
        return;
    memcpy(text, k->err->message, sizeof text);
    (void)snprintf(k->err->message, sizeof k->err->message,
                   "trip %" PRId64 ": %.440s",
                   *(const int64_t *)eddy_kernel_input(k, 0).data, text);
}

/* The function may return a status without a message. */
static eddy_status finish(eddy_kernel *k, const eddy__host_callback *callback,
                          eddy_status status)
{
    if (status == EDDY_OK || !k->err)
        return status;
    if (k->err->code != EDDY_OK)
        status = k->err->code;
    else
        status =
            eddy_kernel_fail(k, status, EDDY_E_HOST_CALLBACK,
                             "the host's function failed and did not say why");
    name_trip(k, callback);
    return status;
}

static void begin(const eddy_kernel *k)
{
    if (k->err)
        k->err->code = EDDY_OK;
}

static eddy_status run_predicate(eddy_kernel *k)
{
    const eddy__host_callback *callback = eddy__state(k);
    bool value = false;

    begin(k);
    EDDY_TRY(
        finish(k, callback, callback->predicate(k, callback->user, &value)));
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, value);
    return EDDY_OK;
}

static eddy_status run_selector(eddy_kernel *k)
{
    const eddy__host_callback *callback = eddy__state(k);
    int32_t value = -1;

    begin(k);
    EDDY_TRY(
        finish(k, callback, callback->selector(k, callback->user, &value)));
    if (callback->n_choices > 0 && (value < -1 || value >= callback->n_choices))
        return eddy_kernel_fail(k, EDDY_OUT_OF_RANGE, EDDY_E_INDEX,
                                "the host's function chose %" PRId32
                                ", which is not in [-1, %" PRId32 ")",
                                value, callback->n_choices);
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)value);
    return EDDY_OK;
}

#define FLAGS                                                                  \
    (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE |           \
     EDDY__OP_ORDERED | EDDY__OP_HOST)

#define HOST(name, output, run, ready, text)                                   \
    EDDY__OP_ROW_OF(name, "eddy; as TensorFlow PyFunc", .inputs = "inputs: T", \
                    .outputs = output,                                         \
                    .attrs = "T: list(type) >= 0, callback: int >= 0",         \
                    .infer = eddy__infer_scalar, .kernel = run,                \
                    .prepare = ready, .flags = FLAGS, .doc = text)

static const eddy_op_spec specs[] = {
    HOST(EDDY__HOST_PREDICATE_OP, "value: bool", run_predicate,
         prepare_predicate, "What a function of the host says of the inputs."),
    HOST(EDDY__HOST_SELECTOR_OP, "value: int32", run_selector, prepare_selector,
         "The index that a function of the host chooses by the inputs."),
};

const eddy__op_table eddy__host_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

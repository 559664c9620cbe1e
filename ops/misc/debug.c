/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that speak or stop: Assert, Print, PrintV2, Abort. */
#include "ops/misc/summary.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <stdatomic.h>
#include <string.h>

/* ---- Assert ---- */

static eddy_status prepare_assert(eddy_infer *infer)
{
    int64_t *summarize = eddy__prepare_state(infer, sizeof *summarize);

    if (!summarize)
        return EDDY_RESOURCE_EXHAUSTED;
    *summarize = eddy__infer_int(infer, "summarize");
    return EDDY_OK;
}

static eddy_status run_assert(eddy_kernel *k)
{
    const int64_t *summarize = eddy__state(k);
    const eddy__value *condition = eddy__in(k, 0);
    eddy__line line = {.length = 0};

    if (condition->kind != EDDY__SCALAR)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the condition must be a scalar, but it has shape "
                           "%s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    if (condition->as.b)
        return EDDY_OK;
    for (uint32_t i = 1; i < k->node->n_in; i++) {
        eddy__line_add(&line, i > 1 ? " [" : "[");
        eddy__line_add_value(&line, eddy__in(k, i), *summarize);
        eddy__line_add(&line, "]");
    }
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_ASSERTION,
                       "assertion failed: %s", line.text);
}

/* ---- Print and PrintV2 ---- */

/*
 * `printed` counts the lines of a node over all runs of its plan, as
 * TensorFlow's kernels do over the runs of a session.
 */
typedef struct print {
    eddy_string message;
    int64_t first_n, summarize;
    atomic_llong *printed; /* atomic: any run adds, relaxed; only compared */
} print;

static eddy_status prepare_print(eddy_infer *infer)
{
    atomic_llong *printed = eddy__prepare_state(infer, sizeof *printed);
    eddy_string message;
    print *state;

    if (!printed)
        return EDDY_RESOURCE_EXHAUSTED;
    atomic_init(printed, 0);
    message.data = eddy__prepare_text(infer, "message", &message.length);
    if (!message.data)
        return EDDY_RESOURCE_EXHAUSTED;
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->message = message;
    state->first_n = eddy__infer_int(infer, "first_n");
    state->summarize = eddy__infer_int(infer, "summarize");
    state->printed = printed;
    return EDDY_OK;
}

static eddy_status run_print(eddy_kernel *k)
{
    const print *p = eddy__state(k);
    eddy__line line = {.length = 0};

    if (p->first_n < 0 ||
        atomic_fetch_add_explicit(p->printed, 1, memory_order_relaxed) <
            p->first_n) {
        eddy__line_add_text(&line, p->message.data, p->message.length);
        for (uint32_t i = 1; i < k->node->n_in; i++) {
            eddy__line_add(&line, "[");
            eddy__line_add_value(&line, eddy__in(k, i), p->summarize);
            eddy__line_add(&line, "]");
        }
        k->services->log(k, EDDY_LOG_INFO, line.text);
    }
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/* Leaves the string attribute `name` as the state. */
static eddy_status prepare_string(eddy_infer *infer, const char *name)
{
    eddy_string text, *state;

    text.data = eddy__prepare_text(infer, name, &text.length);
    state = text.data ? eddy__prepare_state(infer, sizeof *state) : NULL;
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = text;
    return EDDY_OK;
}

static eddy_status prepare_print_v2(eddy_infer *infer)
{
    return prepare_string(infer, "end");
}

/* A line of the log ends by itself, so an `end` of "\n" adds nothing. */
static eddy_status run_print_v2(eddy_kernel *k)
{
    const eddy_string end = *(const eddy_string *)eddy__state(k);
    eddy__line line = {.length = 0};
    const eddy__string *text;

    if (eddy__in_count(k, 0) != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "input must be a scalar, but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    text = (const eddy__string *)(const void *)eddy__in_elements(k, 0);
    if (text->length > 0)
        eddy__line_add_text(&line, text->data, text->length);
    if (end.length != 1 || end.data[0] != '\n')
        eddy__line_add_text(&line, end.data, end.length);
    k->services->log(k, EDDY_LOG_INFO, line.text);
    return EDDY_OK;
}

/* ---- Abort ---- */

/* Ends the run, never the process. */
static eddy_status run_quiet_abort(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_ABORTED, EDDY_E_ABORT_OP,
                       "the graph asked to exit");
}

static eddy_status run_abort(eddy_kernel *k)
{
    const eddy_string message = *(const eddy_string *)eddy__state(k);
    eddy__line line = {.length = 0};

    eddy__line_add_text(&line, message.data, message.length);
    return eddy__kfail(k, EDDY_ABORTED, EDDY_E_ABORT_OP,
                       "Abort_op intentional failure; %s", line.text);
}

static eddy_status prepare_abort(eddy_infer *infer)
{
    if (eddy__infer_bool(infer, "exit_without_error"))
        eddy_infer_set_kernel(infer, run_quiet_abort);
    return prepare_string(infer, "error_msg");
}

#define EFFECT (EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Assert", .inputs = "condition: bool, data: T",
        .attrs = "T: list(type) >= 1, summarize: int = 3", .kernel = run_assert,
        .prepare = prepare_assert, .flags = EFFECT | EDDY_OP_CHEAP,
        .doc = "Fails the run, with the data, unless the condition is true."),
    EDDY__OP_ROW("Print", .inputs = "input: T, data: U", .outputs = "output: T",
                 .attrs = "T: type, U: list(type) >= 0, message: string = '', "
                          "first_n: int = -1, summarize: int = 3",
                 .infer = eddy__infer_unchanged, .kernel = run_print,
                 .prepare = prepare_print, .flags = EDDY_OP_STATEFUL,
                 .doc = "Its input; logs the data as it passes."),
    EDDY__OP_ROW("PrintV2", .inputs = "input: string",
                 .attrs =
                     "output_stream: string = 'stderr', end: string = '\n'",
                 .kernel = run_print_v2, .prepare = prepare_print_v2,
                 .flags = EFFECT, .doc = "Logs a text."),
    EDDY__OP_ROW("Abort",
                 .attrs =
                     "error_msg: string = '', exit_without_error: bool = false",
                 .kernel = run_abort, .prepare = prepare_abort, .flags = EFFECT,
                 .doc = "Ends the run with an error."),
};

const eddy__op_table eddy__debug_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};

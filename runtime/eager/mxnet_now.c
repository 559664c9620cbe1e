/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's foreach, while_loop and cond at once, on tensors: plain loops that
 * call the program's functions.
 */
#include "eddy/mxnet.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "runtime/eager/mxnet_now_loop.h"

#include <inttypes.h>
#include <string.h>

static const char *name_or(const char *name, const char *otherwise)
{
    return name && *name ? name : otherwise;
}

/* ---- what is given ---- */

static void clear(eddy_tensor **results, size_t n)
{
    for (size_t i = 0; results && i < n; i++)
        results[i] = NULL;
}

/* None of the tensors may be NULL. */
static eddy_status want_tensors(const char *what, eddy_tensor *const *tensors,
                                size_t n, eddy_error *err)
{
    EDDY_REFUSE_IF(n > 0 && !tensors, err, "NULL for %zu %ss", n, what);
    for (size_t i = 0; i < n; i++)
        EDDY_REFUSE_IF(!tensors[i], err, "NULL for %s %zu", what, i);
    return EDDY_OK;
}

/* ---- foreach ---- */

/* The length of all inputs. */
static eddy_status measure(const eddy_mxnet_foreach_now_spec *spec,
                           const char *name, int64_t *out_length,
                           eddy_error *err)
{
    const int64_t length = spec->inputs[0]->shape.dims[0];

    for (size_t i = 0; i < spec->n_inputs; i++) {
        const eddy_shape *shape = &spec->inputs[i]->shape;

        if (shape->rank == 0)
            return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                                   name, NULL,
                                   "input %zu is a scalar; tensors with a "
                                   "first dimension are wanted",
                                   i);
        if (shape->dims[0] != length)
            return eddy__fail_node(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_DIM, name, NULL,
                "input %zu has length %" PRId64 ", input 0 has %" PRId64, i,
                shape->dims[0], length);
    }
    *out_length = length;
    return EDDY_OK;
}

eddy_status eddy_mxnet_foreach_now(eddy_immediate *now,
                                   const eddy_mxnet_foreach_now_spec *spec,
                                   eddy_tensor **out_outputs,
                                   eddy_tensor **out_states, eddy_error *err)
{
    eddy__mxnet_now l = {.now = now, .err = err};

    EDDY_REFUSE_IF(!now, err, "no eddy_immediate");
    EDDY_REFUSE_IF(!spec, err, "no specification of the foreach");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the foreach has the wrong size");
    EDDY_REFUSE_IF(!spec->body, err, "the foreach has no body");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the foreach");
    EDDY_REFUSE_IF(spec->n_states > 0 && !out_states, err,
                   "nowhere to put the states of the foreach");
    EDDY_TRY(want_tensors("input", spec->inputs, spec->n_inputs, err));
    EDDY_TRY(want_tensors("state", spec->states, spec->n_states, err));
    clear(out_outputs, spec->n_outputs);
    clear(out_states, spec->n_states);
    l.name = name_or(spec->name, "foreach");
    if (spec->n_inputs == 0 || spec->n_outputs + spec->n_states == 0)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                               l.name, NULL,
                               "%zu inputs, %zu outputs and %zu states: an "
                               "input is needed, and an output or a state",
                               spec->n_inputs, spec->n_outputs, spec->n_states);
    EDDY_TRY(measure(spec, l.name, &l.limit, err));
    l.allocator = &eddy_immediate_context(now)->allocator;
    l.inputs = spec->inputs;
    l.n_inputs = spec->n_inputs;
    l.states = spec->states;
    l.n_states = spec->n_states;
    l.n_outputs = spec->n_outputs;
    l.body = spec->body;
    l.user = spec->user;
    l.output_items = spec->output_items;
    l.changes_shape = spec->changes_shape;
    return eddy__mxnet_now_run(&l, out_outputs, out_states);
}

/* ---- while_loop ---- */

/* The same number, or 2^31 - 1 if it is above. */
static int64_t narrow(uint64_t value)
{
    return value < INT32_MAX ? (int64_t)value : INT32_MAX;
}

/* What a tensor of one integer holds; all above 2^31 - 1 is that. */
static int64_t integer_of(const eddy_tensor *tensor)
{
    const void *data = tensor->data;

    switch ((eddy_dtype)tensor->dtype) {
    case EDDY_INT8:
        return *(const int8_t *)data;
    case EDDY_INT16:
        return *(const int16_t *)data;
    case EDDY_INT32:
        return *(const int32_t *)data;
    case EDDY_INT64:
        return *(const int64_t *)data < 0 ? -1
                                          : narrow(*(const uint64_t *)data);
    case EDDY_UINT8:
        return *(const uint8_t *)data;
    case EDDY_UINT16:
        return *(const uint16_t *)data;
    case EDDY_UINT32:
        return narrow(*(const uint32_t *)data);
    default:
        return narrow(*(const uint64_t *)data);
    }
}

static eddy_status read_limit(const eddy_tensor *from, const char *name,
                              int64_t *out, eddy_error *err)
{
    const eddy_dtype dtype = (eddy_dtype)from->dtype;

    if (!eddy__dtype_in(dtype, EDDY__INTEGERS))
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, name,
                               NULL,
                               "max_iterations is %s, an integer is wanted",
                               eddy_dtype_name(dtype));
    if (from->count != 1)
        return eddy__fail_node(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, name, NULL,
            "max_iterations has %" PRId64 " elements, one is wanted",
            from->count);
    *out = integer_of(from);
    return EDDY_OK;
}

static eddy_status find_limit(const eddy_mxnet_while_now_spec *spec,
                              const char *name, int64_t *out_limit,
                              eddy_error *err)
{
    const eddy_tensor *from = spec->max_iterations_from;

    if (spec->max_iterations < 0 || spec->max_iterations > INT32_MAX ||
        (from && spec->max_iterations > 0) ||
        (!from && spec->max_iterations == 0 && spec->n_outputs > 0))
        return eddy__fail_node(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, name, NULL,
            "max_iterations is %" PRId64 "%s; with outputs there must be one, "
            "from 1 to 2^31 - 1, or a tensor of one",
            spec->max_iterations, from ? " and a tensor as well" : "");
    *out_limit = spec->max_iterations > 0 ? spec->max_iterations : INT64_MAX;
    if (!from)
        return EDDY_OK;
    EDDY_TRY(read_limit(from, name, out_limit, err));
    if (*out_limit >= 0 || spec->n_outputs == 0)
        return EDDY_OK;
    return eddy__fail_node(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, name, NULL,
        "max_iterations is %" PRId64 ", it must be at least 0", *out_limit);
}

eddy_status eddy_mxnet_while_loop_now(eddy_immediate *now,
                                      const eddy_mxnet_while_now_spec *spec,
                                      eddy_tensor **out_outputs,
                                      eddy_tensor **out_variables,
                                      int64_t *out_steps, eddy_error *err)
{
    eddy__mxnet_now l = {.now = now, .err = err};

    EDDY_REFUSE_IF(!now, err, "no eddy_immediate");
    EDDY_REFUSE_IF(!spec, err, "no specification of the while_loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the while_loop has the wrong size");
    EDDY_REFUSE_IF(!spec->condition, err, "the while_loop has no condition");
    EDDY_REFUSE_IF(!spec->body, err, "the while_loop has no body");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the while_loop");
    EDDY_REFUSE_IF(spec->n_variables > 0 && !out_variables, err,
                   "nowhere to put the variables of the while_loop");
    EDDY_TRY(want_tensors("variable", spec->variables, spec->n_variables, err));
    clear(out_outputs, spec->n_outputs);
    clear(out_variables, spec->n_variables);
    l.name = name_or(spec->name, "while_loop");
    if (spec->n_variables == 0)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                               l.name, NULL,
                               "no variables, at least one is wanted");
    EDDY_TRY(find_limit(spec, l.name, &l.limit, err));
    l.allocator = &eddy_immediate_context(now)->allocator;
    l.states = spec->variables;
    l.n_states = spec->n_variables;
    l.n_outputs = spec->n_outputs;
    l.condition = spec->condition;
    l.body = spec->body;
    l.user = spec->user;
    l.output_items = spec->output_items;
    l.changes_shape = spec->changes_shape;
    EDDY_TRY(eddy__mxnet_now_run(&l, out_outputs, out_variables));
    if (out_steps)
        *out_steps = l.step;
    return EDDY_OK;
}

/* ---- cond ---- */

eddy_status eddy_mxnet_cond_now(eddy_immediate *now,
                                const eddy_mxnet_cond_now_spec *spec,
                                eddy_tensor **out_outputs, eddy_error *err)
{
    eddy__mxnet_now l = {.now = now, .err = err};
    bool holds;

    EDDY_REFUSE_IF(!now, err, "no eddy_immediate");
    EDDY_REFUSE_IF(!spec, err, "no specification of the cond");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the cond has the wrong size");
    EDDY_REFUSE_IF(!spec->then || !spec->otherwise, err,
                   "the cond has no function for its %s branch",
                   spec->then ? "second" : "first");
    EDDY_REFUSE_IF(!spec->predicate, err, "the cond has no predicate");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the cond");
    EDDY_TRY(want_tensors("input", spec->inputs, spec->n_inputs, err));
    clear(out_outputs, spec->n_outputs);
    l.name = name_or(spec->name, "cond");
    l.user = spec->user;
    EDDY_TRY(eddy__mxnet_now_judge(&l, spec->predicate, &holds));
    return eddy__mxnet_now_call(&l, holds ? spec->then : spec->otherwise,
                                spec->inputs, spec->n_inputs, out_outputs,
                                spec->n_outputs);
}

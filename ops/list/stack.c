/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StackV2: a stack of values behind a handle, such as gradients of loops keep
 * what the forward loop computed.  Stack, its older form, has a reference in
 * place of the handle and no bound.
 *
 * The values stand in segments, each below the next, so that a stack of any
 * depth never moves them and has room to spare in its top segment alone.  As
 * long as only scalars were pushed they stand there bare, as the elements of a
 * tensor would, and executors push and pop them without a kernel
 * (core/value/tape.h); the first other value starts a segment of whole values,
 * which all later ones are.
 */
#include "ops/list/stack.h"
#include "ops/array/items.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* What a StackV2 says, and with it its name. */
typedef struct creation {
    eddy_dtype dtype;
    char name[];
} creation;

/* ---- the resource ---- */

static stack *stack_of(eddy__resource *resource)
{
    return (stack *)(void *)resource;
}

static void clear_stack(eddy__resource *resource, eddy__heap *heap)
{
    stack *s = stack_of(resource);

    eddy__stack_retract(s);
    while (s->top) {
        eddy__segment_clear(s, s->top, heap);
        eddy__stack_drop_top(s, heap);
    }
    eddy__stack_publish(s);
}

const eddy__resource_type eddy__stack_type = {
    .name = "a stack", .clear = clear_stack, .saving = &eddy__stack_saving};

/* The stack behind input 0, which is open and holds values of `dtype`. */
static inline eddy_status find_stack(eddy_kernel *k, eddy_dtype dtype,
                                     stack **out_stack)
{
    eddy__resource *resource;
    stack *s;

    EDDY_TRY(eddy__in_resource(k, 0, &eddy__stack_type, &resource));
    s = *out_stack = stack_of(resource);
    if (s->is_closed)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_CLOSED,
                           "stack %s has already been closed", s->name);
    if (s->dtype != dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "stack %s holds %s, not %s", s->name,
                           eddy_dtype_name((eddy_dtype)s->dtype),
                           eddy_dtype_name(dtype));
    return EDDY_OK;
}

/* ---- pushing and popping ---- */

/* What a push is told. */
typedef struct pushing {
    bool spills;
} pushing;

static eddy_status prepare_push(eddy_infer *infer)
{
    pushing *p = eddy__prepare_state(infer, sizeof *p);

    if (!p)
        return EDDY_RESOURCE_EXHAUSTED;
    p->spills = eddy__infer_bool(infer, "swap_memory");
    return EDDY_OK;
}

static eddy_status push(eddy_kernel *k, stack *s, const eddy__value *in)
{
    const pushing *p = eddy__state(k);

    if (eddy__stack_count(s) >= s->max_count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_FULL,
                           "stack %s overflowed its max_size, %" PRId64,
                           s->name, s->max_count);
    if (p->spills && !s->spill)
        eddy__stack_may_spill(s);
    return eddy__stack_add(k, s, in);
}

static eddy_status run_push(eddy_kernel *k)
{
    const eddy__value *in = eddy__in(k, 1);
    const size_t size = eddy_dtype_size((eddy_dtype)in->dtype);
    eddy_status status = EDDY_OK;
    stack *s;

    EDDY_TRY(find_stack(k, (eddy_dtype)in->dtype, &s));
    if (in->kind == EDDY__SCALAR && s->tape.next != s->tape.end) {
        eddy__tape_bare_store(s->tape.next, size, in);
        s->tape.next += size;
    } else {
        eddy__stack_retract(s);
        status = push(k, s, in);
        eddy__stack_publish(s);
    }
    EDDY_TRY(status);
    eddy__output_forward(k, 0, 1);
    return EDDY_OK;
}

/* Pops a value that is not bare, if there is one. */
static eddy_status pop(eddy_kernel *k, stack *s)
{
    segment *top = s->top;
    eddy__value value;

    if (!top || top->is_bare || top->n == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_EMPTY,
                           "stack %s is empty, so nothing can be popped",
                           s->name);
    if (top->is_packed)
        return eddy__stack_unpack(k, s);
    value = eddy__segment_values(top)[--top->n];
    if (s->spill)
        eddy__segment_discharge(s, top, &value);
    eddy__out_value(k, 0, &value);
    return EDDY_OK;
}

static eddy_status run_pop(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const size_t size = eddy_dtype_size(dtype);
    eddy_status status = EDDY_OK;
    stack *s;

    EDDY_TRY(find_stack(k, dtype, &s));
    if (s->tape.next == s->tape.first) {
        eddy__stack_retract(s);
        status = eddy__stack_uncover(k, s);
        eddy__stack_publish(s);
    }
    EDDY_TRY(status);
    if (s->tape.next == s->tape.first)
        return pop(k, s);
    s->tape.next -= size;
    eddy__out_scalar(eddy__out(k, 0), dtype,
                     eddy__tape_bare_load(s->tape.next, size));
    return EDDY_OK;
}

/* ---- making and closing ---- */

static eddy_status prepare_creation(eddy_infer *infer)
{
    const char *text = infer->node->name;
    size_t length = strlen(text);
    eddy_attr attr;
    creation *c;

    if (eddy_infer_attr(infer, "stack_name", &attr) &&
        attr.as.strings[0].length > 0) {
        text = attr.as.strings[0].data;
        length = attr.as.strings[0].length;
    }
    c = eddy__prepare_state(infer, sizeof *c + length + 1);
    if (!c)
        return EDDY_RESOURCE_EXHAUSTED;
    c->dtype = eddy__infer_type(infer, "elem_type");
    memcpy(c->name, text, length);
    return EDDY_OK;
}

static eddy_status run_create(eddy_kernel *k)
{
    const creation *c = eddy__state(k);
    eddy__resource *resource;
    int32_t max_count = -1;
    stack *s;

    if (k->node->n_in > 0)
        EDDY_TRY(eddy__in_int32(k, 0, "the size of a stack", &max_count));
    EDDY_TRY(eddy__output_new_resource(k, 0, &eddy__stack_type, sizeof *s,
                                       &resource));
    s = stack_of(resource);
    s->name = c->name;
    s->dtype = (uint8_t)c->dtype;
    s->max_count = max_count < 0 ? INT64_MAX : max_count;
    return EDDY_OK;
}

/* Closing twice is no error. */
static eddy_status run_close(eddy_kernel *k)
{
    eddy__resource *resource;

    EDDY_TRY(eddy__in_resource(k, 0, &eddy__stack_type, &resource));
    clear_stack(resource, k->heap);
    stack_of(resource)->is_closed = true;
    return EDDY_OK;
}

static eddy_status infer_created(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 0, 0));
    return eddy__infer_scalar(infer);
}

static eddy_status infer_pushed(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Stack", .outputs = "handle: ref string",
                 .attrs = "elem_type: type, stack_name: string = ''",
                 .infer = eddy__infer_scalar, .kernel = run_create,
                 .prepare = prepare_creation,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP |
                          EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A new stack for any number of values."),
    EDDY__OP_ROW(
        "StackPush", .inputs = "handle: ref string, elem: T",
        .outputs = "output: T", .attrs = "T: type, swap_memory: bool = false",
        .infer = infer_pushed, .kernel = run_push, .prepare = prepare_push,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
        .doc = "Puts `elem` on the stack and passes it on; with "
               "swap_memory the stack may spill to a file."),
    EDDY__OP_ROW("StackPop", .inputs = "handle: ref string",
                 .outputs = "elem: elem_type", .attrs = "elem_type: type",
                 .kernel = run_pop, .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
                 .doc = "Takes the last value off the stack."),
    EDDY__OP_ROW(
        "StackClose", .inputs = "handle: ref string", .kernel = run_close,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Drops all values; no op may follow."),
    EDDY__OP_ROW(
        "StackV2", .inputs = "max_size: int32", .outputs = "handle: resource",
        .attrs = "elem_type: type, stack_name: string = ''",
        .infer = infer_created, .kernel = run_create,
        .prepare = prepare_creation,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "A new stack for `max_size` values, or any number if that is "
               "negative."),
    EDDY__OP_ROW(
        "StackPushV2", .inputs = "handle: resource, elem: T",
        .outputs = "output: T", .attrs = "T: type, swap_memory: bool = false",
        .infer = infer_pushed, .kernel = run_push, .prepare = prepare_push,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
        .doc = "Puts `elem` on the stack and passes it on; with "
               "swap_memory the stack may spill to a file."),
    EDDY__OP_ROW("StackPopV2", .inputs = "handle: resource",
                 .outputs = "elem: elem_type", .attrs = "elem_type: type",
                 .kernel = run_pop, .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
                 .doc = "Takes the last value off the stack."),
    EDDY__OP_ROW(
        "StackCloseV2", .inputs = "handle: resource", .kernel = run_close,
        .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Drops all values; no op may follow."),
};

const eddy__op_table eddy__stack_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StackV2: a stack of values behind a handle, such as gradients of loops keep
 * what the forward loop computed.  Stack, its older form, has a reference in
 * place of the handle and no bound.
 *
 * The values stand in chunks, each below the next, so that a stack of any depth
 * never moves them and has room to spare in its top chunk alone.  As long as
 * only scalars were pushed they stand there packed, as the elements of a tensor
 * would; the first other value starts a chunk of whole values, which all later
 * chunks are.
 */
#include "ops/array/items.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Bytes of the first chunk and of the largest; each is twice the one below. */
#define FIRST_CHUNK 1024
#define LARGEST_CHUNK 65536

typedef struct chunk {
    struct chunk *below; /* full, unless this is the first of whole values */
    size_t block_size;
    uint32_t n, capacity;
    bool is_packed;
    _Alignas(16) unsigned char data[];
} chunk;

typedef struct stack {
    eddy__resource base;
    const char *name; /* of the plan */
    chunk *top;       /* holds something; NULL: the stack is empty */
    int64_t count, max_count;
    uint8_t dtype; /* eddy_dtype of what is pushed */
    bool is_packing;
    bool is_closed;
} stack;

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

static void drop_top(stack *s, eddy__heap *heap)
{
    chunk *top = s->top;

    s->top = top->below;
    eddy__heap_recycle(heap, top, top->block_size);
}

/* The values of a chunk that is not packed. */
static inline eddy__value *values_of(chunk *c)
{
    return (eddy__value *)(void *)c->data;
}

static void clear_stack(eddy__resource *resource, eddy__heap *heap)
{
    stack *s = stack_of(resource);

    while (s->top) {
        for (uint32_t i = 0; !s->top->is_packed && i < s->top->n; i++)
            eddy__value_clear(heap, &values_of(s->top)[i]);
        drop_top(s, heap);
    }
    s->count = 0;
}

static const eddy__resource_type stacks = {.name = "a stack",
                                           .clear = clear_stack};

/* The stack behind input 0, which is open and holds values of `dtype`. */
static inline eddy_status find_stack(eddy_kernel *k, eddy_dtype dtype,
                                     stack **out_stack)
{
    eddy__resource *resource;
    stack *s;

    EDDY_TRY(eddy__in_resource(k, 0, &stacks, &resource));
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

/* Bytes that each value takes in a chunk. */
static size_t item_size(const stack *s, bool is_packed)
{
    return is_packed ? eddy_dtype_size((eddy_dtype)s->dtype)
                     : sizeof(eddy__value);
}

static eddy_status fail_push(eddy_kernel *k, const stack *s)
{
    if (k->heap->limit_hit)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                           "stack %s, which has %" PRId64 " values, goes above "
                           "the limit of %" PRId64 " bytes",
                           s->name, s->count, k->heap->account->limit);
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for one more than %" PRId64
                       " values on stack %s",
                       s->count, s->name);
}

/* A new chunk on top. */
static eddy_status add_chunk(eddy_kernel *k, stack *s, bool is_packed)
{
    size_t size = s->top ? 2 * s->top->block_size : FIRST_CHUNK;
    chunk *c;

    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    c = eddy__heap_allocate(k->heap, size, &size);
    if (!c)
        return fail_push(k, s);
    c->below = s->top;
    c->block_size = size;
    c->n = 0;
    c->capacity = (uint32_t)((size - sizeof *c) / item_size(s, is_packed));
    c->is_packed = is_packed;
    s->top = c;
    return EDDY_OK;
}

/* The size is a constant, so that no function is called. */
static inline void pack(chunk *c, size_t size, const eddy__value *value)
{
    unsigned char *to = c->data + (size_t)c->n * size;

    switch (size) {
    case 1:
        *to = value->as.u8;
        break;
    case 2:
        memcpy(to, &value->as, 2);
        break;
    case 4:
        memcpy(to, &value->as, 4);
        break;
    default:
        memcpy(to, &value->as, 8);
        break;
    }
}

static inline uint64_t unpack(const chunk *c, size_t size)
{
    const unsigned char *from = c->data + (size_t)c->n * size;
    uint32_t four;
    uint64_t eight;
    uint16_t two;

    switch (size) {
    case 1:
        return *from;
    case 2:
        memcpy(&two, from, 2);
        return two;
    case 4:
        memcpy(&four, from, 4);
        return four;
    default:
        memcpy(&eight, from, 8);
        return eight;
    }
}

static eddy_status run_push(eddy_kernel *k)
{
    const eddy__value *in = eddy__in(k, 1);
    eddy__value value;
    bool is_packed;
    stack *s;

    EDDY_TRY(find_stack(k, (eddy_dtype)in->dtype, &s));
    if (s->count >= s->max_count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_FULL,
                           "stack %s overflowed its max_size, %" PRId64,
                           s->name, s->max_count);
    is_packed = s->is_packing && in->kind == EDDY__SCALAR;
    if (!s->top || s->top->n == s->top->capacity ||
        s->top->is_packed != is_packed)
        EDDY_TRY(add_chunk(k, s, is_packed));
    assert(s->top);
    if (is_packed) {
        pack(s->top, eddy_dtype_size((eddy_dtype)s->dtype), in);
    } else {
        s->is_packing = false;
        value = eddy__value_copy(in);
        eddy__value_keep(&value);
        values_of(s->top)[s->top->n] = value;
    }
    s->top->n++;
    s->count++;
    eddy__output_forward(k, 0, 1);
    return EDDY_OK;
}

static eddy_status run_pop(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    chunk *top;
    stack *s;

    EDDY_TRY(find_stack(k, dtype, &s));
    top = s->top;
    if (!top)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_EMPTY,
                           "stack %s is empty, so nothing can be popped",
                           s->name);
    top->n--;
    s->count--;
    if (top->is_packed)
        eddy__out_scalar(eddy__out(k, 0), dtype,
                         unpack(top, eddy_dtype_size(dtype)));
    else
        eddy__out_value(k, 0, &values_of(top)[top->n]);
    if (top->n == 0)
        drop_top(s, k->heap);
    s->is_packing = s->is_packing || !s->top || s->top->is_packed;
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
    EDDY_TRY(eddy__output_new_resource(k, 0, &stacks, sizeof *s, &resource));
    s = stack_of(resource);
    s->name = c->name;
    s->dtype = (uint8_t)c->dtype;
    s->max_count = max_count < 0 ? INT64_MAX : max_count;
    s->is_packing = true;
    return EDDY_OK;
}

/* Closing twice is no error. */
static eddy_status run_close(eddy_kernel *k)
{
    eddy__resource *resource;

    EDDY_TRY(eddy__in_resource(k, 0, &stacks, &resource));
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
    EDDY__OP_ROW("StackPush", .inputs = "handle: ref string, elem: T",
                 .outputs = "output: T",
                 .attrs = "T: type, swap_memory: bool = false",
                 .infer = infer_pushed, .kernel = run_push,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
                 .doc = "Puts `elem` on the stack and passes it on."),
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
    EDDY__OP_ROW("StackPushV2", .inputs = "handle: resource, elem: T",
                 .outputs = "output: T",
                 .attrs = "T: type, swap_memory: bool = false",
                 .infer = infer_pushed, .kernel = run_push,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
                 .doc = "Puts `elem` on the stack and passes it on."),
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

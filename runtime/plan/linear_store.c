/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps push, pop, read and write scalars without a kernel: those of a
 * stack or TensorArray that is found from the handle, has the dtype of the
 * register, and comes in through constant Enters.
 */
#include "core/value/tape.h"
#include "runtime/plan/linear_build.h"

#include <string.h>

/* A handle that comes a longer way is left to the kernel. */
#define MOST_STEPS 64

typedef struct row {
    const char *op;
    uint16_t code;  /* for items of 8 bits; the next ones follow it */
    bool is_output; /* is output 0 the item, or input `value`? */
    uint8_t value;
    uint32_t passed;   /* the input that is output 0, or EDDY__NO */
    const char *dtype; /* the attribute of the maker */
} row;

static const row rows[] = {
    {"StackPush", EDDY__LINEAR_PUSH_8, false, 1, 1, "elem_type"},
    {"StackPushV2", EDDY__LINEAR_PUSH_8, false, 1, 1, "elem_type"},
    {"StackPop", EDDY__LINEAR_POP_8, true, 0, EDDY__NO, "elem_type"},
    {"StackPopV2", EDDY__LINEAR_POP_8, true, 0, EDDY__NO, "elem_type"},
    {"TensorArrayReadV3", EDDY__LINEAR_READ_8, true, 0, EDDY__NO, "dtype"},
    {"TensorArrayWriteV3", EDDY__LINEAR_WRITE_8, false, 2, 3, "dtype"},
};

#define N_ROWS (sizeof rows / sizeof rows[0])

static const row *find_row(const eddy__node *node)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].op, node->op_name) == 0)
            return &rows[i];
    return NULL;
}

/* What made the handle that a step has as input 0; NULL: not found. */
static const eddy__node *find_maker(const eddy__linear_build *w, uint32_t step)
{
    for (uint32_t n = 0; n < MOST_STEPS; n++) {
        const eddy__layout_source from = eddy__layout_input(w->l, step, 0);
        const eddy__node *node = eddy__layout_node(w->l, from.step);
        const bool is_way =
            node && (eddy__op_hands_on(eddy__node_role(node)) ||
                     strcmp(node->op_name, "TensorArrayGradV3") == 0);

        if (!node ||
            (from.output != 0 && eddy__node_role(node) != EDDY__ROLE_SWITCH))
            return NULL;
        if (!is_way)
            return node;
        step = from.step;
    }
    return NULL;
}

/* Are all its inputs but the handle raw? */
static bool reads_raw(const eddy__linear_build *w, uint32_t step)
{
    for (uint32_t i = 1; i < w->plan->steps[step].node->n_in; i++)
        if (!w->values[eddy__linear_input(w, step, i)].is_raw)
            return false;
    return w->values[eddy__linear_input(w, step, 0)].is_lent;
}

static uint32_t of_size(uint32_t code, size_t size)
{
    const uint32_t each = EDDY__LINEAR_PUSH_16 - EDDY__LINEAR_PUSH_8;

    return size == 1   ? code
           : size == 2 ? code + each
           : size == 4 ? code + 2 * each
                       : code + 3 * each;
}

uint32_t eddy__linear_store_op(const eddy__linear_build *w, uint32_t step,
                               uint32_t *out_passed)
{
    const eddy__node *node = eddy__layout_node(w->l, step), *maker;
    const row *r = node ? find_row(node) : NULL;
    const eddy__held *value;
    const eddy_attr *dtype;

    *out_passed = EDDY__NO;
    if (!r || !reads_raw(w, step) ||
        !w->values[eddy__linear_output(w, step, 0)].is_raw)
        return EDDY__LINEAR_DONE;
    value = &w->values[r->is_output ? eddy__linear_output(w, step, 0)
                                    : eddy__linear_input(w, step, r->value)];
    maker = find_maker(w, step);
    dtype = maker ? eddy__node_attr(maker, r->dtype) : NULL;
    if (!dtype || (strcmp(maker->op_name, "StackV2") != 0 &&
                   strcmp(maker->op_name, "Stack") != 0 &&
                   strcmp(maker->op_name, "TensorArrayV3") != 0))
        return EDDY__LINEAR_DONE;
    if (dtype->as.types[0] != (eddy_dtype)value->dtype ||
        eddy__tape_bare_size((eddy_dtype)value->dtype) == 0)
        return EDDY__LINEAR_DONE;
    *out_passed = r->passed;
    return of_size(r->code, eddy__tape_bare_size((eddy_dtype)value->dtype));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays.  What is read from one has its gradient written to an array of
 * gradients, and what is written has it read from there; the flow, which goes
 * the other way, sees to it that all is written before it is read.
 */
#include "autodiff/rule.h"

#include "core/value/shape.h"

#include <string.h>

enum { READ, WRITE, GATHER, SCATTER, CONCATENATE, SPLIT, GRADIENT };

/* Each op by a handle, by two strings and by a reference to them. */
#define FORMS(name)                                                            \
    {                                                                          \
        name "V3", name "V2", name                                             \
    }

enum { BY_HANDLE, BY_STRINGS, BY_REFERENCE, N_FORMS };

static const char *const ops[][N_FORMS] = {
    [READ] = FORMS("TensorArrayRead"),
    [WRITE] = FORMS("TensorArrayWrite"),
    [GATHER] = FORMS("TensorArrayGather"),
    [SCATTER] = FORMS("TensorArrayScatter"),
    [CONCATENATE] = FORMS("TensorArrayConcat"),
    [SPLIT] = FORMS("TensorArraySplit"),
    [GRADIENT] = FORMS("TensorArrayGrad"),
};

/* The array of gradients, and the flow behind it. */
typedef struct array {
    size_t form; /* that the node has */
    eddy_output handle, flow;
} array;

/* `op` in the form of the array. */
#define OF(a, op) ops[(op)][(a).form]

static array array_with(eddy_gradient *g, size_t form, eddy_output handle,
                        eddy_output flow)
{
    const char *source = eddy_gradient_source(g);
    const eddy_string text = {.data = source, .length = strlen(source)};
    const eddy_attr attrs[] = {eddy_attr_string("source", &text)};
    array a = {.form = form, .flow = flow};

    a.handle = OP_WITH(OF(a, GRADIENT), attrs, handle, flow);
    /* The older forms give a handle alone, which all that follows waits for. */
    if (form == BY_HANDLE)
        a.flow = eddy__rule_output_at(a.handle, 1);
    return a;
}

/* That of the node's input, in the form of the node, which is one of `op`. */
static array array_of(eddy_gradient *g, int op, eddy_output flow)
{
    size_t form = BY_HANDLE;

    while (form + 1 < N_FORMS && !eddy__rule_is_op(g, ops[op][form]))
        form++;
    return array_with(g, form, X(0), flow);
}

static eddy_attr dtype_attr(const eddy_gradient *g, const char *name)
{
    eddy_attr attr = {.name = name};

    eddy_gradient_attr(g, name, &attr);
    attr.name = "dtype";
    return attr;
}

/* handle, index, flow -> value */
eddy_status eddy__grad_ta_read(eddy_gradient *g)
{
    const array a = array_of(g, READ, X(2));

    DX(2, OP(OF(a, WRITE), a.handle, X(1), DY(0), a.flow));
    return EDDY_OK;
}

/* handle, index, value, flow -> flow */
eddy_status eddy__grad_ta_write(eddy_gradient *g)
{
    const eddy_attr attrs[] = {dtype_attr(g, "T")};

    if (WANTS(2)) {
        const array a = array_of(g, WRITE, DY(0));

        DX(2, OP_WITH(OF(a, READ), attrs, a.handle, X(1), a.flow));
    }
    DX(3, DY(0));
    return EDDY_OK;
}

/* flow, handle, index, value -> flow, ...: a write that was done before */
eddy_status eddy__grad_ta_written(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 3);
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype)};

    if (WANTS(3)) {
        const array a = array_with(g, BY_HANDLE, X(1), DY(0));

        DX(3, OP_WITH(OF(a, READ), attrs, a.handle, X(2), a.flow));
    }
    DX(0, DY(0));
    return EDDY_OK;
}

/* handle, indices, flow -> value */
eddy_status eddy__grad_ta_gather(eddy_gradient *g)
{
    const array a = array_of(g, GATHER, X(2));

    DX(2, OP(OF(a, SCATTER), a.handle, X(1), DY(0), a.flow));
    return EDDY_OK;
}

/* handle, indices, value, flow -> flow */
eddy_status eddy__grad_ta_scatter(eddy_gradient *g)
{
    /* The shape is what a gather of no items goes by. */
    const eddy_shape item = eddy__shape_rest(eddy_gradient_input_shape(g, 2));
    const eddy_attr attrs[] = {dtype_attr(g, "T"),
                               eddy_attr_shape("element_shape", &item)};

    if (WANTS(2)) {
        const array a = array_of(g, SCATTER, DY(0));

        DX(2, OP_WITH(OF(a, GATHER), attrs, a.handle, X(1), a.flow));
    }
    DX(3, DY(0));
    return EDDY_OK;
}

/* handle, flow -> value, lengths */
eddy_status eddy__grad_ta_concat(eddy_gradient *g)
{
    const array a = array_of(g, CONCATENATE, X(1));

    DX(1, OP(OF(a, SPLIT), a.handle, DY(0), Y(1), a.flow));
    return EDDY_OK;
}

/* handle, value, lengths, flow -> flow */
eddy_status eddy__grad_ta_split(eddy_gradient *g)
{
    const eddy_attr attrs[] = {dtype_attr(g, "T")};

    if (WANTS(1)) {
        const array a = array_of(g, SPLIT, DY(0));

        DX(1, OP_WITH(OF(a, CONCATENATE), attrs, a.handle, a.flow));
    }
    DX(3, DY(0));
    return EDDY_OK;
}

/* handle, flow -> handle, flow */
eddy_status eddy__grad_ta_grad(eddy_gradient *g)
{
    if (eddy_gradient_is_given(g, 1))
        DX(1, DY(1));
    return EDDY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays.  What is read from one has its gradient written to an array of
 * gradients, and what is written has it read from there; the flow, which goes
 * the other way, sees to it that all is written before it is read.
 */
#include "autodiff/rule.h"

#include "core/value/shape.h"

#include <string.h>

/* The array of gradients: port 0 is its handle, port 1 the flow behind it. */
static eddy_output array_with(eddy_gradient *g, eddy_output handle,
                              eddy_output flow)
{
    const char *source = eddy_gradient_source(g);
    const eddy_string text = {.data = source, .length = strlen(source)};
    const eddy_attr attrs[] = {eddy_attr_string("source", &text)};

    return OP_WITH("TensorArrayGradV3", attrs, handle, flow);
}

static eddy_output array_of(eddy_gradient *g, eddy_output flow)
{
    return array_with(g, X(0), flow);
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
    const eddy_output array = array_of(g, X(2));

    DX(2,
       OP("TensorArrayWriteV3", array, X(1), DY(0), eddy__output_at(array, 1)));
    return EDDY_OK;
}

/* handle, index, value, flow -> flow */
eddy_status eddy__grad_ta_write(eddy_gradient *g)
{
    const eddy_attr attrs[] = {dtype_attr(g, "T")};

    if (WANTS(2)) {
        const eddy_output array = array_of(g, DY(0));

        DX(2, OP_WITH("TensorArrayReadV3", attrs, array, X(1),
                      eddy__output_at(array, 1)));
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
        const eddy_output array = array_with(g, X(1), DY(0));

        DX(3, OP_WITH("TensorArrayReadV3", attrs, array, X(2),
                      eddy__output_at(array, 1)));
    }
    DX(0, DY(0));
    return EDDY_OK;
}

/* handle, indices, flow -> value */
eddy_status eddy__grad_ta_gather(eddy_gradient *g)
{
    const eddy_output array = array_of(g, X(2));

    DX(2, OP("TensorArrayScatterV3", array, X(1), DY(0),
             eddy__output_at(array, 1)));
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
        const eddy_output array = array_of(g, DY(0));

        DX(2, OP_WITH("TensorArrayGatherV3", attrs, array, X(1),
                      eddy__output_at(array, 1)));
    }
    DX(3, DY(0));
    return EDDY_OK;
}

/* handle, flow -> value, lengths */
eddy_status eddy__grad_ta_concat(eddy_gradient *g)
{
    const eddy_output array = array_of(g, X(1));

    DX(1,
       OP("TensorArraySplitV3", array, DY(0), Y(1), eddy__output_at(array, 1)));
    return EDDY_OK;
}

/* handle, value, lengths, flow -> flow */
eddy_status eddy__grad_ta_split(eddy_gradient *g)
{
    const eddy_attr attrs[] = {dtype_attr(g, "T")};

    if (WANTS(1)) {
        const eddy_output array = array_of(g, DY(0));

        DX(1, OP_WITH("TensorArrayConcatV3", attrs, array,
                      eddy__output_at(array, 1)));
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

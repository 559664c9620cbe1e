/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fourier transforms.  The adjoint of a transform is its inverse times the
 * number of elements; from real numbers only the real part of it counts, and to
 * real numbers every number of the half counts for its conjugate too, but the
 * first and the middle one.
 */
#include "autodiff/rule.h"
#include "core/value/dtype.h"

#include <stdio.h>

/* The op of the gradient: "I" before the name or taken off, "R" taken off. */
static eddy_output turned(eddy_gradient *g, const char *base, int rank,
                          eddy_output v)
{
    char op[16];

    (void)snprintf(op, sizeof op, rank == 1 ? "%s" : "%s%dD", base, rank);
    return OP(op, v);
}

/* The product of the last `rank` dimensions of `v`. */
static eddy_output size_of(eddy_gradient *g, eddy_output v, int rank)
{
    const eddy_output shape = OP("Shape", v);
    const eddy_output first = OP("Sub", OP("Size", shape), INT(rank));

    return eddy__rule_count(g, eddy__rule_tail(g, shape, first));
}

static eddy_output scaled(eddy_gradient *g, const char *op, eddy_output v,
                          eddy_output size, eddy_dtype dtype)
{
    return OP(op, v, eddy__rule_cast(g, size, EDDY_INT32, dtype));
}

static eddy_status grad_fft(eddy_gradient *g, int rank)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);

    DX(0, scaled(g, "Mul", turned(g, "IFFT", rank, DY(0)),
                 size_of(g, DY(0), rank), dtype));
    return EDDY_OK;
}

static eddy_status grad_ifft(eddy_gradient *g, int rank)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);

    DX(0, scaled(g, "RealDiv", turned(g, "FFT", rank, DY(0)),
                 size_of(g, DY(0), rank), dtype));
    return EDDY_OK;
}

/* `v` with zeros behind, up to that shape. */
static eddy_output pad_to(eddy_gradient *g, eddy_output v, eddy_output shape)
{
    const eddy_output more = OP("Sub", shape, OP("Shape", v));
    const int64_t axis = 1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};

    return OP("Pad", v, OP_WITH("Pack", attrs, OP("ZerosLike", more), more));
}

/* The shape of `v` with fft_length's last as its last dimension. */
static eddy_output full_shape(eddy_gradient *g, eddy_output v, int rank)
{
    const eddy_output shape = OP("Shape", v);
    const eddy_output end = OP("Sub", OP("Size", shape), INT(1));

    return CONCAT(eddy__rule_head(g, shape, end),
                  eddy__rule_tail(g, X(1), INT(rank - 1)));
}

static eddy_status grad_rfft(eddy_gradient *g, int rank)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_attr attrs[] = {eddy_attr_type("Tout", &dtype)};
    eddy_output full, sum;

    full = pad_to(g, DY(0), full_shape(g, DY(0), rank));
    sum = OP_WITH("Real", attrs, turned(g, "IFFT", rank, full));
    DX(0, pad_to(g, scaled(g, "Mul", sum, size_of(g, full, rank), dtype),
                 eddy_gradient_shape_of(g, 0)));
    return EDDY_OK;
}

/* How often each number of a half of `n` counts: 1, 2, ..., 2, and 1 or 2. */
static eddy_output counts(eddy_gradient *g, eddy_output n)
{
    const eddy_output k =
        OP("Range", INT(0), OP("AddV2", OP("FloorDiv", n, INT(2)), INT(1)),
           INT(1));
    const eddy_output is_twice = OP("LogicalAnd", OP("Greater", k, INT(0)),
                                    OP("Less", OP("Mul", k, INT(2)), n));

    return OP("AddV2", eddy__rule_cast(g, is_twice, EDDY_BOOL, EDDY_INT32),
              INT(1));
}

static eddy_status grad_irfft(eddy_gradient *g, int rank)
{
    const eddy_dtype wide = eddy_gradient_input_dtype(g, 0);
    const eddy_dtype real = eddy__dtype_of_parts(wide);
    const eddy_attr attrs[] = {eddy_attr_type("Treal", &real),
                               eddy_attr_type("Tcomplex", &wide)};
    char op[16];
    eddy_output half, weights;

    (void)snprintf(op, sizeof op, rank == 1 ? "RFFT" : "RFFT%dD", rank);
    half = OP_WITH(op, attrs, DY(0), X(1));
    weights = counts(g, eddy__rule_element(g, X(1), INT(rank - 1)));
    half = OP("Mul", half, eddy__rule_cast(g, weights, EDDY_INT32, wide));
    DX(0, pad_to(g, scaled(g, "RealDiv", half, size_of(g, DY(0), rank), wide),
                 eddy_gradient_shape_of(g, 0)));
    return EDDY_OK;
}

#define RULES(name, rank)                                                      \
    eddy_status eddy__grad_##name##_##rank(eddy_gradient *g)                   \
    {                                                                          \
        return grad_##name(g, rank);                                           \
    }

RULES(fft, 1)
RULES(fft, 2)
RULES(fft, 3)
RULES(ifft, 1)
RULES(ifft, 2)
RULES(ifft, 3)
RULES(rfft, 1)
RULES(rfft, 2)
RULES(rfft, 3)
RULES(irfft, 1)
RULES(irfft, 2)
RULES(irfft, 3)

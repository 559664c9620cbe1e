/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the families of ONNX operators share: short names for op.h, numbers of
 * shapes that are folded where they are known, and a few ops that ONNX has in
 * other forms than eddy.
 *
 * Where a rank or a dimension is not known while the model is loaded, as in a
 * loop that carries the value, it is computed in the run; so every function
 * here works with shapes of which nothing is known.
 */
#ifndef EDDY_INTEROP_ONNX_OPS_KIT_H
#define EDDY_INTEROP_ONNX_OPS_KIT_H

#include "interop/onnx/op.h"

#define EDDY__NO_OUTPUT ((eddy_output){.node = EDDY_NO_NODE})

/* All of these are of the operator `op`. */
#define IN(i) eddy__onnx_in(op, (i))
#define GIVEN(i) eddy__onnx_given(op, (i))
#define GIVE(i, value) eddy__onnx_give(op, (i), (value))
#define WANTS(i) eddy__onnx_wants(op, (i))
#define DTYPE(x) eddy__onnx_dtype(op, (x))
#define CAST(x, dtype) eddy__onnx_cast(op, (x), (dtype))
#define NUMBER(dtype, value) eddy__onnx_number(op, (dtype), (value))
#define LIKE(x, value) eddy__onnx_number(op, DTYPE(x), (value))
#define INT32(value) eddy__onnx_index(op, EDDY_INT32, (value))
#define INT64(value) eddy__onnx_index(op, EDDY_INT64, (value))

/* OP("Mul", a, b): a node without attributes that must be given. */
#define OP(type, ...)                                                          \
    eddy__onnx_emit(op, (type), (const eddy_output[]){__VA_ARGS__},            \
                    sizeof((const eddy_output[]){__VA_ARGS__}) /               \
                        sizeof(eddy_output),                                   \
                    NULL, 0)

/* OP_WITH("Sum", attrs, x, axes): one with an array of attributes. */
#define OP_WITH(type, attrs, ...)                                              \
    eddy__onnx_emit(op, (type), (const eddy_output[]){__VA_ARGS__},            \
                    sizeof((const eddy_output[]){__VA_ARGS__}) /               \
                        sizeof(eddy_output),                                   \
                    (attrs), sizeof(attrs) / sizeof((attrs)[0]))

/* A vector of int64 constants. */
#define INT64S(...)                                                            \
    eddy__onnx_int64s(op, (const int64_t[]){__VA_ARGS__},                      \
                      sizeof((const int64_t[]){__VA_ARGS__}) /                 \
                          sizeof(int64_t))

/* ---- numbers of shapes ---- */

/* A number that is known, or an int64 scalar of the graph. */
typedef struct eddy__onnx_size {
    bool is_known;
    int64_t value;
    eddy_output at;
} eddy__onnx_size;

static inline eddy__onnx_size eddy__onnx_fixed(int64_t value)
{
    return (eddy__onnx_size){.is_known = true, .value = value};
}

/* Dimension `axis` of `x`; a negative one counts from behind. */
eddy__onnx_size eddy__onnx_dim(eddy__onnx_op *op, eddy_output x, int64_t axis);

eddy__onnx_size eddy__onnx_plus(eddy__onnx_op *op, eddy__onnx_size a,
                                eddy__onnx_size b);
eddy__onnx_size eddy__onnx_minus(eddy__onnx_op *op, eddy__onnx_size a,
                                 eddy__onnx_size b);
eddy__onnx_size eddy__onnx_times(eddy__onnx_op *op, eddy__onnx_size a,
                                 eddy__onnx_size b);
/* Rounded down; `b` is not 0. */
eddy__onnx_size eddy__onnx_over(eddy__onnx_op *op, eddy__onnx_size a,
                                eddy__onnx_size b);
eddy__onnx_size eddy__onnx_larger(eddy__onnx_op *op, eddy__onnx_size a,
                                  eddy__onnx_size b);

/* As an int64 scalar, and several as a vector. */
eddy_output eddy__onnx_sized(eddy__onnx_op *op, eddy__onnx_size size);
eddy_output eddy__onnx_sizes(eddy__onnx_op *op, const eddy__onnx_size *sizes,
                             size_t n);

#define FIXED(value) eddy__onnx_fixed(value)
#define DIM(x, axis) eddy__onnx_dim(op, (x), (axis))
#define PLUS(a, b) eddy__onnx_plus(op, (a), (b))
#define MINUS(a, b) eddy__onnx_minus(op, (a), (b))
#define TIMES(a, b) eddy__onnx_times(op, (a), (b))
#define OVER(a, b) eddy__onnx_over(op, (a), (b))
#define SIZED(size) eddy__onnx_sized(op, (size))
/* SIZES(a, b): the vector of both. */
#define SIZES(...)                                                             \
    eddy__onnx_sizes(op, (const eddy__onnx_size[]){__VA_ARGS__},               \
                     sizeof((const eddy__onnx_size[]){__VA_ARGS__}) /          \
                         sizeof(eddy__onnx_size))

/* The shape of `x` as a vector of int64, and its rank as an int64 scalar. */
eddy_output eddy__onnx_dims(eddy__onnx_op *op, eddy_output x);
eddy_output eddy__onnx_rank64(eddy__onnx_op *op, eddy_output x);

/* `axis` from 0 on where the rank is known, else as it is. */
int64_t eddy__onnx_axis(eddy__onnx_op *op, eddy_output x, int64_t axis);

/* The rank of `x`; fails, with why the operator needs it, if it is unknown. */
int32_t eddy__onnx_want_rank(eddy__onnx_op *op, eddy_output x, const char *why);

/*
 * `x` of that rank, at most EDDY_MAX_RANK; where it is not known, the run fails
 * if it has another.
 */
eddy_output eddy__onnx_of_rank(eddy__onnx_op *op, eddy_output x, int32_t rank);

/* How many elements vector `i` of the inputs has; -1: that is not known. */
int64_t eddy__onnx_count_of(eddy__onnx_op *op, size_t i);

/* ---- vectors of int64 ---- */

/* 0 to n - 1, n an int64 scalar. */
eddy_output eddy__onnx_count(eddy__onnx_op *op, eddy_output n);
/* The first `n`, and those from `n` on; int64 scalars. */
eddy_output eddy__onnx_head(eddy__onnx_op *op, eddy_output vector,
                            eddy_output n);
eddy_output eddy__onnx_tail(eddy__onnx_op *op, eddy_output vector,
                            eddy_output n);
eddy_output eddy__onnx_concat(eddy__onnx_op *op, eddy_output a, eddy_output b);

/* ---- forms of ops ---- */

/* A text, a scalar. */
eddy_output eddy__onnx_word(eddy__onnx_op *op, const char *text);

/* A scalar, or a vector of one element, as a scalar. */
eddy_output eddy__onnx_as_scalar(eddy__onnx_op *op, eddy_output x);
/* The same as a vector. */
eddy_output eddy__onnx_as_vector(eddy__onnx_op *op, eddy_output x);

eddy_output eddy__onnx_reshape(eddy__onnx_op *op, eddy_output x,
                               eddy_output shape);

/* `perm` is fixed. */
eddy_output eddy__onnx_transpose(eddy__onnx_op *op, eddy_output x,
                                 const int64_t *perm, size_t n);

/* "Sum", "Max", ... over the axes, a vector. */
eddy_output eddy__onnx_reduce(eddy__onnx_op *op, const char *type,
                              eddy_output x, eddy_output axes, bool keeps);

/*
 * The axes from `axis` on, as a vector.  It counts from the front; from behind,
 * below 0, only where the rank is not known.
 */
eddy_output eddy__onnx_axes_from(eddy__onnx_op *op, eddy_output x,
                                 int64_t axis);

/* Elements of `x` along an axis, by indices from 0 on. */
eddy_output eddy__onnx_gather(eddy__onnx_op *op, eddy_output x,
                              eddy_output indices, eddy_output axis);

/* Indices as int64, those below 0 counted from `size`, int64, on. */
eddy_output eddy__onnx_from_zero(eddy__onnx_op *op, eddy_output indices,
                                 eddy_output size);

/* `x` with `axis` and the last one exchanged; by the same again, and back. */
typedef struct eddy__onnx_exchange {
    bool is_needed;
    eddy_output perm;
} eddy__onnx_exchange;
eddy__onnx_exchange eddy__onnx_to_last(eddy__onnx_op *op, eddy_output x,
                                       int64_t axis);
eddy_output eddy__onnx_exchanged(eddy__onnx_op *op, eddy_output x,
                                 const eddy__onnx_exchange *e);

/* A vector, for axis 1 of something of the rank of `x`: [n, 1, 1, ...]. */
eddy_output eddy__onnx_channels(eddy__onnx_op *op, eddy_output vector,
                                eddy_output x);

/* `n` outputs of a SplitV along an axis, of equal sizes; the first. */
eddy_output eddy__onnx_parts(eddy__onnx_op *op, eddy_output x, int64_t n,
                             int64_t axis);

/* Values of one dtype along an axis. */
eddy_output eddy__onnx_join(eddy__onnx_op *op, const eddy_output *values,
                            size_t n, int64_t axis);

/* An activation by its ONNX name and two numbers (activation.c). */
eddy_output eddy__onnx_activate(eddy__onnx_op *op, const char *name,
                                eddy_output x, double alpha, double beta);

/* Softmax, LogSoftmax of eddy's along an axis. */
eddy_output eddy__onnx_softmax(eddy__onnx_op *op, const char *type,
                               eddy_output x, int64_t axis);

/* GatherElements of ONNX: x, int64 indices from 0 on, of the same rank. */
eddy_output eddy__onnx_elements(eddy__onnx_op *op, eddy_output x,
                                eddy_output indices, int64_t axis);

/* MatMul of ONNX, which is NumPy's: a vector has a row or a column put on. */
eddy_output eddy__onnx_matmul(eddy__onnx_op *op, eddy_output a, eddy_output b);

/* Is it a float dtype; an integer one; an unsigned one? */
bool eddy__onnx_is_float(eddy_dtype dtype);
bool eddy__onnx_is_integer(eddy_dtype dtype);
bool eddy__onnx_is_unsigned(eddy_dtype dtype);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that the rules share: short names for eddy/gradients.h, and the shapes
 * and constants that most of them need.
 *
 * A rule reads like the formula: x are the node's inputs, y its outputs, dy the
 * gradients of these, and it adds the dx.  It need not check for failure; the
 * first one sticks.
 */
#ifndef EDDY_AUTODIFF_RULE_H
#define EDDY_AUTODIFF_RULE_H

#include "eddy/gradients.h"

#include <stddef.h>

#define X(i) eddy_gradient_input(g, (i))
#define Y(i) eddy_gradient_output(g, (i))
#define DY(i) eddy_gradient_given(g, (i))
#define WANTS(i) eddy_gradient_is_wanted(g, (i))
#define DX(i, gradient) eddy_gradient_set(g, (i), (gradient))

/* OP("Mul", a, b): a node without attributes that must be given. */
#define OP(op, ...)                                                            \
    eddy_gradient_add(g, (op), (const eddy_output[]){__VA_ARGS__},             \
                      sizeof((const eddy_output[]){__VA_ARGS__}) /             \
                          sizeof(eddy_output),                                 \
                      NULL, 0)

/* OP_WITH(op, ATTRS(...), a, b): one with attributes. */
#define OP_WITH(op, attrs, ...)                                                \
    eddy_gradient_add(g, (op), (const eddy_output[]){__VA_ARGS__},             \
                      sizeof((const eddy_output[]){__VA_ARGS__}) /             \
                          sizeof(eddy_output),                                 \
                      (attrs), sizeof(attrs) / sizeof((attrs)[0]))

/* Output `index` of the node that `output` is one of. */
static inline eddy_output eddy__rule_output_at(eddy_output output,
                                               uint32_t index)
{
    output.index = index;
    return output;
}

/* A scalar constant. */
eddy_output eddy__rule_scalar(eddy_gradient *g, eddy_dtype dtype, double value);

/* What an op without inputs gives, where the rule is, as a constant. */
eddy_output eddy__rule_source(eddy_gradient *g, const char *op);

/* A vector of int32. */
eddy_output eddy__rule_ints(eddy_gradient *g, const int32_t *values, size_t n);

#define INT(value) eddy__rule_scalar(g, EDDY_INT32, (value))
#define INTS(...)                                                              \
    eddy__rule_ints(g, (const int32_t[]){__VA_ARGS__},                         \
                    sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* `v` as another dtype; itself if `from`, its own, is that. */
eddy_output eddy__rule_cast(eddy_gradient *g, eddy_output v, eddy_dtype from,
                            eddy_dtype to);

/* Parts of vectors of int32: from an index on, up to one, and one element. */
eddy_output eddy__rule_tail(eddy_gradient *g, eddy_output vector,
                            eddy_output begin);
eddy_output eddy__rule_head(eddy_gradient *g, eddy_output vector,
                            eddy_output end);
eddy_output eddy__rule_element(eddy_gradient *g, eddy_output vector,
                               eddy_output at);

/* The product of a vector of int32: the count of elements of a shape. */
eddy_output eddy__rule_count(eddy_gradient *g, eddy_output shape);

/* The scalars one after the other. */
#define VECTOR(...)                                                            \
    eddy_gradient_add(g, "Pack", (const eddy_output[]){__VA_ARGS__},           \
                      sizeof((const eddy_output[]){__VA_ARGS__}) /             \
                          sizeof(eddy_output),                                 \
                      NULL, 0)
#define CONCAT(...) OP("ConcatV2", __VA_ARGS__, INT(0.0))

/* BatchMatMulV2; the last two dimensions exchanged and conjugated. */
eddy_output eddy__rule_product(eddy_gradient *g, eddy_output a, eddy_output b,
                               bool adjoint_a, bool adjoint_b);
eddy_output eddy__rule_adjoint(eddy_gradient *g, eddy_output v);

/* Room for so many outputs, for the length of the walk; NULL without memory. */
eddy_output *eddy__rule_room(eddy_gradient *g, size_t n);

/* A scalar of the dtype of input `i`. */
#define NUMBER(i, value)                                                       \
    eddy__rule_scalar(g, eddy_gradient_input_dtype(g, (i)), (value))

/* The complex conjugate if input `i` is complex, else `v` itself. */
eddy_output eddy__rule_conj(eddy_gradient *g, uint32_t i, eddy_output v);
#define CONJ(i, v) eddy__rule_conj(g, (i), (v))

/*
 * The gradient of input `i`, one of the two inputs `i` and `other` that were
 * broadcast against each other: sums over what was broadcast.
 */
void eddy__rule_set_broadcast(eddy_gradient *g, uint32_t i, uint32_t other,
                              eddy_output gradient);
#define DX_BROADCAST(i, other, gradient)                                       \
    eddy__rule_set_broadcast(g, (i), (other), (gradient))

/*
 * A gradient that was computed with the shape of something that input `i` was
 * broadcast to: sums over what was broadcast.
 */
void eddy__rule_set_summed(eddy_gradient *g, uint32_t i, eddy_output gradient);

/* The same of two batches of matrices, of which the batches were broadcast. */
void eddy__rule_set_batch(eddy_gradient *g, uint32_t i, eddy_output gradient);

/* Is it the gradient of a node of that op? */
bool eddy__rule_is_op(const eddy_gradient *g, const char *op);

/* Are the shapes of two inputs known and the same? */
bool eddy__rule_same_shape(const eddy_gradient *g, uint32_t i, uint32_t j);

/* How many nodes with that op, a collective, come before it in a group, or in
 * another one. */
int64_t eddy__rule_members_before(const eddy_gradient *g);

/* An attribute that the op has. */
bool eddy__rule_bool(const eddy_gradient *g, const char *name);
int64_t eddy__rule_int(const eddy_gradient *g, const char *name);

eddy_attr eddy__rule_attr(const eddy_gradient *g, const char *name);
eddy_dtype eddy__rule_output_dtype(const eddy_gradient *g, uint32_t i);

/* The length of input `i`, a list, of which nothing else is needed. */
eddy_output eddy__rule_length_of(eddy_gradient *g, uint32_t i);

/* Sets the gradient of item `index` of input `i`, a list. */
void eddy__rule_set_item(eddy_gradient *g, uint32_t i, eddy_output index,
                         eddy_output gradient);

/*
 * The gradient of what the node, which receives it, was sent.  In place of its
 * inputs a receiver has what its sender was given; DY is led there, out of the
 * branches that it is not in.
 */
void eddy__rule_set_sent(eddy_gradient *g, eddy_output gradient);

/* The value of input `i`, an index, if it is a constant of the graph. */
bool eddy__rule_constant(const eddy_gradient *g, uint32_t i,
                         int64_t *out_value);

/* Is input `i` a constant vector of int32, no two of them alike? */
bool eddy__rule_is_set(const eddy_gradient *g, uint32_t i);

/* The same attributes as the node has, of those named; `out` has room. */
size_t eddy__rule_attrs(const eddy_gradient *g, const char *const *names,
                        size_t n, eddy_attr *out);

/* GRAD(op, rule): autodiff/grads.def has a row for every op with a gradient. */
#define GRAD(op, rule) eddy_status eddy__grad_##rule(eddy_gradient *g);
#include "autodiff/grads.def"
#undef GRAD

/* The rule of an IdentityN that stands for a write to an array (replica.h). */
eddy_status eddy__grad_ta_written(eddy_gradient *g);

#endif

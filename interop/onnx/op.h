/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one ONNX operator becomes nodes of a graph.
 *
 * An operator is a row of its family's table: name, the opsets that the row is
 * for, how many inputs and outputs a node may have, and a function that emits.
 *
 *     static void emit_relu(eddy__onnx_op *op)
 *     {
 *         eddy__onnx_give(op, 0, eddy__onnx_emit1(op, "Relu",
 *                                                 eddy__onnx_in(op, 0)));
 *     }
 *
 *     const eddy__onnx_row eddy__onnx_nn[] = {
 *         {"Relu", 1, EDDY__ONNX_NEWEST, 1, 1, 1, 1, emit_relu},
 *         {.name = NULL},
 *     };
 *
 * To add an operator, write its function in the file of its family in
 * interop/onnx/ops/ and a row for every range of opsets in which it means the
 * same.  A new family is a file more and a line in ops/families.def.  A row
 * whose name has a dot before its last part is of another domain than ONNX's
 * own: "com.microsoft.FusedMatMul".
 *
 * What a function may count on: the number of inputs and outputs is in the
 * row's range, the first inputs up to the least number are given, and no name
 * is left unknown.  What it must do: give every output that is wanted
 * (eddy__onnx_wants), and ask for every attribute that it knows; an attribute
 * that nobody has asked for is refused by name, so one without a meaning here
 * is passed over with eddy__onnx_ignore.
 *
 * The first failure sticks: after it all calls do nothing and give node
 * EDDY_NO_NODE, zero or NULL, so a function need not look at what it gets; it
 * may look at op->w->status before it takes apart a value.
 *
 * Names: the first node that is emitted has the ONNX node's name (or, without
 * one, that of its first output), the others stand below it: `add/Cast`.
 */
#ifndef EDDY_INTEROP_ONNX_OP_H
#define EDDY_INTEROP_ONNX_OP_H

#include "frontends/shared/writer.h"
#include "interop/onnx/onnx.pb-c.h"

/* The newest opset whose changes eddy knows. */
#define EDDY__ONNX_NEWEST 28

/* As many inputs or outputs as there are. */
#define EDDY__ONNX_ANY UINT16_MAX

typedef enum eddy__onnx_kind {
    EDDY__ONNX_TENSOR,
    EDDY__ONNX_SEQUENCE,          /* a list of tensors; a variant */
    EDDY__ONNX_OPTIONAL,          /* a tensor or nothing; a variant */
    EDDY__ONNX_OPTIONAL_SEQUENCE, /* a sequence or nothing; a variant */
} eddy__onnx_kind;

/* A value of ONNX's and the output that carries it. */
typedef struct eddy__onnx_value {
    eddy_output output; /* node EDDY_NO_NODE: absent */
    uint8_t kind;       /* eddy__onnx_kind */
    uint8_t dtype;      /* eddy_dtype of the tensor, or of those inside;
                           EDDY_INVALID where that is not known */
    /*
     * ONNX's number of a dtype of a byte or less that eddy stores as codes, as
     * int8 or uint8 (narrow.c); else 0.
     */
    uint8_t narrow;
} eddy__onnx_value;

typedef struct eddy__onnx_loader eddy__onnx_loader; /* loader.h */
struct eddy__onnx_row;

/* One ONNX node while it is emitted. */
typedef struct eddy__onnx_op {
    eddy_emitter *w; /* of the whole load; frontends/shared/writer.h */
    eddy__onnx_loader *loader;
    const struct eddy__onnx_row *row;
    const Eddy__OnnxPb__NodeProto *node;
    int64_t opset;    /* of the node's domain */
    const char *name; /* of its nodes in the graph */
    bool is_named;    /* a node has that name */
    const eddy__onnx_value *inputs;
    size_t n_inputs; /* absent ones included, trailing ones not */
    eddy__onnx_value *outputs;
    size_t n_outputs;
    uint64_t asked; /* bit i: attribute i was asked for */
} eddy__onnx_op;

typedef void (*eddy__onnx_emit_fn)(eddy__onnx_op *op);

typedef struct eddy__onnx_row {
    const char *name;
    uint16_t first, last; /* opsets */
    uint16_t min_inputs, max_inputs;
    uint16_t min_outputs, max_outputs;
    eddy__onnx_emit_fn emit;
} eddy__onnx_row;

/* The row of an operator; NULL if there is none. */
const eddy__onnx_row *eddy__onnx_find(const char *domain, const char *op_type,
                                      int64_t opset);

/* Row `i` of the whole table; NULL behind the last. */
const eddy__onnx_row *eddy__onnx_row_at(size_t i);

/* Fails with the ONNX node; INVALID_ARGUMENT. */
void eddy__onnx_fail(eddy__onnx_op *op, eddy_detail detail, const char *format,
                     ...) EDDY_PRINTF(3, 4);

/* The same with UNIMPLEMENTED: what ONNX has and eddy has not. */
void eddy__onnx_refuse(eddy__onnx_op *op, const char *format, ...)
    EDDY_PRINTF(2, 3);

static inline bool eddy__onnx_ok(const eddy__onnx_op *op)
{
    return op->w->status == EDDY_OK;
}

/* ---- inputs ---- */

/* Is input `i` there? */
static inline bool eddy__onnx_given(const eddy__onnx_op *op, size_t i)
{
    return i < op->n_inputs && op->inputs[i].output.node != EDDY_NO_NODE;
}

/* Input `i`, a tensor; fails if it is absent or something else. */
eddy_output eddy__onnx_in(eddy__onnx_op *op, size_t i);

/* The same of any kind. */
eddy__onnx_value eddy__onnx_in_value(eddy__onnx_op *op, size_t i);

/* EDDY_INVALID after a failure. */
eddy_dtype eddy__onnx_dtype(const eddy__onnx_op *op, eddy_output value);

/*
 * What is certain of a shape in every iteration: the rank may be -1, and then
 * so may every dimension.  Inside a loop that carries it nothing is certain of
 * a value but its dtype, so there must be a way without.
 */
eddy_shape eddy__onnx_shape(const eddy__onnx_op *op, eddy_output value);

/* The constant that input `i` is, borrowed; NULL if it is none or absent. */
const eddy_tensor *eddy__onnx_known(const eddy__onnx_op *op, size_t i);

/*
 * The same as whole numbers, of an int32 or int64 constant of at most
 * EDDY__ONNX_MOST_INTS elements: false if it is not that.
 */
#define EDDY__ONNX_MOST_INTS 64
typedef struct eddy__onnx_ints {
    size_t n;
    int64_t at[EDDY__ONNX_MOST_INTS];
} eddy__onnx_ints;
bool eddy__onnx_known_ints(const eddy__onnx_op *op, size_t i,
                           eddy__onnx_ints *out_ints);

/* ---- attributes; a wrong type fails ---- */

bool eddy__onnx_has(eddy__onnx_op *op, const char *name);
void eddy__onnx_ignore(eddy__onnx_op *op, const char *name);
int64_t eddy__onnx_int(eddy__onnx_op *op, const char *name, int64_t otherwise);
float eddy__onnx_float(eddy__onnx_op *op, const char *name, float otherwise);

/* Bytes that end in a NUL; `otherwise` may be NULL. */
const char *eddy__onnx_text(eddy__onnx_op *op, const char *name,
                            const char *otherwise);

/* Lists, borrowed; an absent one has length 0 and is NULL. */
size_t eddy__onnx_list_of_ints(eddy__onnx_op *op, const char *name,
                               const int64_t **out_ints);
size_t eddy__onnx_list_of_floats(eddy__onnx_op *op, const char *name,
                                 const float **out_floats);
/* Text `i` of a list of texts, NULL behind the last. */
const char *eddy__onnx_list_text(eddy__onnx_op *op, const char *name, size_t i);

/* At most EDDY__ONNX_MOST_INTS numbers; false if the attribute is absent. */
bool eddy__onnx_ints_of(eddy__onnx_op *op, const char *name,
                        eddy__onnx_ints *out_ints);

/* The dtype of a tensor attribute, ONNX's number; 0 if it is absent. */
int32_t eddy__onnx_tensor_number(eddy__onnx_op *op, const char *name);

/* A Const of a tensor attribute; fails if it is absent. */
eddy_output eddy__onnx_tensor_const(eddy__onnx_op *op, const char *name);

/* A dtype by ONNX's number, of an attribute; EDDY_INVALID if it is absent. */
eddy_dtype eddy__onnx_dtype_of(eddy__onnx_op *op, const char *name);

/* The same where it may be one whose codes are stored; 0 if it is absent. */
int32_t eddy__onnx_number_of(eddy__onnx_op *op, const char *name);

/* A graph, borrowed; fails if it is absent. */
const Eddy__OnnxPb__GraphProto *eddy__onnx_graph(eddy__onnx_op *op,
                                                 const char *name);

/* ---- outputs ---- */

/* Is output `i` named by the node? */
bool eddy__onnx_wants(const eddy__onnx_op *op, size_t i);

/* Output `i` is this tensor.  It does nothing for one that is not wanted. */
void eddy__onnx_give(eddy__onnx_op *op, size_t i, eddy_output value);

/* The same with the kind said; `dtype` is that of the tensors inside. */
void eddy__onnx_give_value(eddy__onnx_op *op, size_t i, eddy_output value,
                           eddy__onnx_kind kind, eddy_dtype dtype);

/* The same, of codes of that narrow dtype. */
void eddy__onnx_give_codes(eddy__onnx_op *op, size_t i, eddy_output value,
                           int32_t number);

/* ---- narrow.c: dtypes of a byte or less ---- */

/* Is input `i` there, and codes of such a dtype?  Its number; else 0. */
int32_t eddy__onnx_in_narrow(const eddy__onnx_op *op, size_t i);

/* Is it the number of one? */
bool eddy__onnx_is_narrow(int32_t number);

/* Is it one of floats? */
bool eddy__onnx_narrow_is_float(int32_t number);

/* The least and largest number of one of integers; false: it is none. */
bool eddy__onnx_narrow_range(int32_t number, double *out_least,
                             double *out_most);

/* The numbers that codes stand for, of some dtype that holds them. */
eddy_output eddy__onnx_decoded(eddy__onnx_op *op, eddy_output codes,
                               int32_t number);

/*
 * The codes of numbers of any dtype; asks for the attributes `saturate` and
 * `round_mode`.
 */
eddy_output eddy__onnx_encoded(eddy__onnx_op *op, eddy_output x,
                               int32_t number);

/* ---- emitting ---- */

/* Adds a node of an op of eddy's and gives its output 0. */
eddy_output eddy__onnx_emit(eddy__onnx_op *op, const char *type,
                            const eddy_output *inputs, size_t n_inputs,
                            const eddy_attr *attrs, size_t n_attrs);
eddy_output eddy__onnx_emit1(eddy__onnx_op *op, const char *type,
                             eddy_output x);
eddy_output eddy__onnx_emit2(eddy__onnx_op *op, const char *type, eddy_output x,
                             eddy_output y);
eddy_output eddy__onnx_emit3(eddy__onnx_op *op, const char *type, eddy_output x,
                             eddy_output y, eddy_output z);

/* Output `i` of a node of several. */
static inline eddy_output eddy__onnx_nth(eddy_output first, uint32_t i)
{
    return (eddy_output){first.node, first.node == EDDY_NO_NODE ? 0 : i};
}

/* `x` in another dtype; itself if it has that. */
eddy_output eddy__onnx_cast(eddy__onnx_op *op, eddy_output x, eddy_dtype dtype);

/* Constants.  Those made of a number are scalars of any numeric dtype. */
eddy_output eddy__onnx_number(eddy__onnx_op *op, eddy_dtype dtype,
                              double value);
eddy_output eddy__onnx_int32s(eddy__onnx_op *op, const int64_t *values,
                              size_t n); /* a vector */
eddy_output eddy__onnx_int64s(eddy__onnx_op *op, const int64_t *values,
                              size_t n);
/* A scalar of dtype int32 or int64. */
eddy_output eddy__onnx_index(eddy__onnx_op *op, eddy_dtype dtype,
                             int64_t value);

/*
 * A Const of a tensor that the caller has made with eddy_tensor_create of
 * op->w->graph->ctx; takes it, also after a failure.
 */
eddy_output eddy__onnx_const(eddy__onnx_op *op, eddy_tensor *tensor);

/* The rank of `x`: a constant where it is known; an int32 scalar. */
eddy_output eddy__onnx_rank(eddy__onnx_op *op, eddy_output x);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the ONNX reader share.
 *
 * A model is walked as bytes, unpacked whole into scratch memory, checked
 * without recursion (check.c: depth, names of operators, functions that call
 * themselves), and then emitted node by node into a graph.  Bodies of loops and
 * branches and the calls of local functions are emitted where they stand, so C
 * calls nest as deep as those do; check.c bounds that.
 *
 * Names are kept in scopes: a body sees its own names, then those of every
 * graph around it; a function's body sees nothing outside.
 */
#ifndef EDDY_INTEROP_ONNX_LOADER_H
#define EDDY_INTEROP_ONNX_LOADER_H

#include "core/base/budget.h"
#include "core/base/map.h"
#include "interop/onnx/op.h"
#include "interop/shared/scratch.h"
#include "interop/shared/wire.h"

/* Graphs inside graphs and calls of functions, the outermost graph included. */
#define EDDY__ONNX_MAX_DEPTH 32

/* ONNX nodes that a model may have once its functions are put in place. */
#define EDDY__ONNX_MAX_EXPANDED ((uint64_t)1 << 20)

/* Attributes of a node, and those of a function that have a default. */
#define EDDY__ONNX_MAX_ATTRIBUTES 64

/* Opsets that a model or a function imports. */
#define EDDY__ONNX_MAX_IMPORTS 256

extern const eddy__wire_format eddy__onnx_format;

typedef struct eddy__onnx_name {
    const char *name;
    eddy__onnx_value value;
} eddy__onnx_name;

/* The names of one graph. */
typedef struct eddy__onnx_scope {
    struct eddy__onnx_scope *outer; /* NULL: nothing outside is seen */
    eddy__map places;               /* of names in `names` */
    eddy__onnx_name *names;
    size_t n_names, capacity;
    const struct eddy__onnx_call *call; /* NULL: not in a function */
    const char *scope; /* of a call, below which its nodes are named; NULL */
} eddy__onnx_scope;

/* A call of a local function. */
typedef struct eddy__onnx_call {
    const Eddy__OnnxPb__FunctionProto *function;
    const Eddy__OnnxPb__NodeProto *node; /* which has the attributes */
    const struct eddy__onnx_call *caller;
} eddy__onnx_call;

/* Where the data of tensors may come from besides the model. */
typedef struct eddy__onnx_outside {
    bool is_allowed;
    int folder; /* descriptor of the model's; -1: read from memory */
    uint64_t max_bytes;
} eddy__onnx_outside;

struct eddy__onnx_loader {
    eddy_context *ctx;
    eddy__budget *budget;
    eddy__scratch scratch;
    eddy_emitter w; /* with the graph that is made */
    const Eddy__OnnxPb__ModelProto *model;
    /* eddy__onnx_find: handed in, since handlers emit bodies in their turn. */
    const struct eddy__onnx_row *(*find)(const char *domain,
                                         const char *op_type, int64_t opset);
    eddy__onnx_scope *scope; /* the innermost */
    size_t depth;            /* of graphs and calls that are open */
    uint64_t n_expanded;
    eddy__map functions; /* by eddy__onnx_function_key, to an index */
    char *key;           /* room for the longest of those keys */
    size_t key_size;
    eddy__map suffixes; /* of node names: the number to try next */
    eddy__map reserved; /* names of the model's inputs and outputs */
    eddy__onnx_outside outside;
};

/* ---- failing ---- */

/* Fails with an ONNX node; `node` may be NULL. */
eddy_status eddy__onnx_fail_at(eddy__onnx_loader *loader, eddy_status code,
                               eddy_detail detail,
                               const Eddy__OnnxPb__NodeProto *node,
                               const char *format, ...) EDDY_PRINTF(5, 6);

/* A node's name, or its first output's, or "". */
const char *eddy__onnx_node_name(const Eddy__OnnxPb__NodeProto *node);

static inline const char *eddy__onnx_text_of(const char *text)
{
    return text ? text : "";
}

/* ---- scope.c ---- */

/* Opens a scope inside of the innermost one, or apart from it. */
eddy_status eddy__onnx_scope_begin(eddy__onnx_loader *loader,
                                   eddy__onnx_scope *scope, bool sees_outside);
void eddy__onnx_scope_end(eddy__onnx_loader *loader, eddy__onnx_scope *scope);

/*
 * Names a value.  Fails (EDDY_E_DUPLICATE_NODE) if the scope, or for
 * `is_result` one around it, has that name already.
 */
eddy_status eddy__onnx_define(eddy__onnx_loader *loader, const char *name,
                              eddy__onnx_value value, bool is_result);

/* NULL if no scope that is seen has the name. */
const eddy__onnx_value *eddy__onnx_lookup(const eddy__onnx_loader *loader,
                                          const char *name);

/* ---- op.c ---- */

/* The name for a construct that an operator becomes. */
const char *eddy__onnx_scope_name(eddy__onnx_op *op);

/* A type, borrowed; NULL if the attribute is absent. */
const Eddy__OnnxPb__TypeProto *eddy__onnx_type_of(eddy__onnx_op *op,
                                                  const char *name);

/* ---- tensor.c ---- */

/* EDDY_INVALID for a number that eddy has no dtype for. */
eddy_dtype eddy__onnx_dtype_from(int32_t number);
int32_t eddy__onnx_dtype_to(eddy_dtype dtype); /* 0: ONNX has none */
const char *eddy__onnx_dtype_name(int32_t number);

/* As ..._from, but of a narrow dtype that of its codes. */
eddy_dtype eddy__onnx_storage_of(int32_t number);
/* The number if it is that of a narrow dtype, else 0. */
uint8_t eddy__onnx_narrow_of(int32_t number);

/* ---- narrow.c ---- */

/* "float32", "int4" and so on. */
const char *eddy__onnx_value_dtype(const eddy__onnx_value *value);

/* May the two be of one dtype, as far as it is known? */
bool eddy__onnx_same_dtype(const eddy__onnx_value *a,
                           const eddy__onnx_value *b);

/* Fails if the operator takes no codes and some input is codes. */
eddy_status eddy__onnx_check_narrow(const eddy__onnx_op *op);

/* Outputs of an operator that moves elements are codes if its input is. */
void eddy__onnx_keep_narrow(eddy__onnx_op *op);

/*
 * A tensor; the caller owns it.  `what` is for messages: "initializer", ...
 * Every tensor that a model holds comes through here.
 */
eddy_status eddy__onnx_read_tensor(eddy__onnx_loader *loader, const char *what,
                                   const Eddy__OnnxPb__TensorProto *proto,
                                   eddy_tensor **out_tensor);

/* ---- external.c ---- */

/*
 * The data of a tensor in a file beneath the model's folder.  The first call
 * fails unless that is allowed and the file is there and holds as many bytes as
 * the tensor needs, before anything is allocated for it; the second reads them.
 */
eddy_status eddy__onnx_check_outside(eddy__onnx_loader *loader,
                                     const char *what,
                                     const Eddy__OnnxPb__TensorProto *proto,
                                     eddy_dtype dtype, const eddy_shape *shape);
eddy_status eddy__onnx_read_outside(eddy__onnx_loader *loader, const char *what,
                                    const Eddy__OnnxPb__TensorProto *proto,
                                    void *to, size_t bytes);

/* ---- type.c ---- */

/* Kind, dtype and shape of a declared type; the shape may be NULL. */
eddy_status eddy__onnx_read_type(eddy__onnx_loader *loader, const char *name,
                                 const Eddy__OnnxPb__TypeProto *type,
                                 eddy__onnx_value *out_value,
                                 eddy_shape *out_shape);

/* ---- check.c ---- */

/* Everything that can be refused before a node is emitted. */
eddy_status eddy__onnx_check_model(eddy__onnx_loader *loader);

/* ---- emit.c ---- */

/* The opset of a domain where the reader is now; 0 if it is not imported. */
int64_t eddy__onnx_opset_of(const eddy__onnx_loader *loader,
                            const char *domain);

/* The number of a function of the model; EDDY__NOT_FOUND if it has none. */
uint32_t eddy__onnx_find_function(const eddy__onnx_loader *loader,
                                  const char *domain, const char *name,
                                  const char *overload);

/* What functions are found by, and the room that it takes with its NUL. */
void eddy__onnx_function_key(char *out_key, size_t size, const char *domain,
                             const char *name, const char *overload);
size_t eddy__onnx_function_key_size(const Eddy__OnnxPb__FunctionProto *f);

/* The name with what eddy does not allow replaced; NULL: see the scratch. */
char *eddy__onnx_legal_name(eddy__onnx_loader *loader, const char *name);

/* A name for a node of the graph where it is built now: unused and legal. */
const char *eddy__onnx_free_name(eddy__onnx_loader *loader, const char *name);

/*
 * Emits the nodes of a graph whose inputs are defined in the innermost scope,
 * initializers first.
 */
eddy_status eddy__onnx_emit_graph(eddy__onnx_loader *loader,
                                  const Eddy__OnnxPb__GraphProto *graph);

/* The value of a graph's output `i`, where the graph's scope is open. */
eddy_status eddy__onnx_result(eddy__onnx_loader *loader,
                              const Eddy__OnnxPb__GraphProto *graph, size_t i,
                              eddy__onnx_value *out_value);

/*
 * Emits a body: opens its scope, defines `inputs` by their order, emits its
 * nodes, and gives its results, of which there must be `n_results`.
 */
typedef struct eddy__onnx_body {
    eddy__onnx_op *op; /* whose attribute it is */
    const char *attr;
    const Eddy__OnnxPb__GraphProto *graph;
    const eddy__onnx_value *inputs;
    size_t n_inputs;
    eddy__onnx_value *results;
    size_t n_results;
} eddy__onnx_body;
eddy_status eddy__onnx_emit_body(const eddy__onnx_body *body);

#endif

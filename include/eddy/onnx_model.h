/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX models to graphs, and graphs to models (eddy_onnx_write).
 *
 * A model becomes nodes of eddy's own: operators the ops that mean the same,
 * Loop, If, Scan and SequenceMap the primitives Enter, Merge, Switch,
 * NextIteration and Exit with TensorArrays and lists, local functions what is
 * in them.  So one executor runs it, and gradients go through its loops and
 * branches.  IR versions 3 to 14, opsets to 28; docs/onnx.md says which
 * operators.
 *
 * Reading is safe on bytes of any origin: depth and sizes are checked before
 * anything is unpacked, and memory is bounded by `max_bytes`.
 */
#ifndef EDDY_ONNX_MODEL_H
#define EDDY_ONNX_MODEL_H

#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

typedef struct eddy_onnx_model eddy_onnx_model;

typedef struct eddy_onnx_options {
    size_t size;        /* sizeof(eddy_onnx_options) */
    uint64_t max_bytes; /* memory while loading, but for tensors in files;
                           0: 16 times the input + 64 MiB */
    const eddy_limits *limits; /* NULL: none; the lesser one holds */
    /*
     * Tensors may have their data in files beneath the folder of the model, of
     * max_bytes at most in all (0: any), through no link.
     */
    bool external_data;
} eddy_onnx_options;

/*
 * Sets limits fit for files of unknown origin: 262,144 nodes, 64 MiB, 0.4
 * seconds.  Other members stay.
 */
EDDY_API void eddy_onnx_options_untrusted(eddy_onnx_options *options);

typedef enum eddy_onnx_kind {
    EDDY_ONNX_TENSOR,
    EDDY_ONNX_SEQUENCE,         /* of tensors */
    EDDY_ONNX_OPTIONAL,         /* a tensor or nothing */
    EDDY_ONNX_OPTIONAL_SEQUENCE /* a sequence of tensors or nothing */
} eddy_onnx_kind;

/* An input or output of a model; borrowed from it. */
typedef struct eddy_onnx_port {
    const char *name;   /* the model's */
    eddy_output output; /* where a tensor is fed or fetched */
    eddy_onnx_kind kind;
    eddy_dtype dtype; /* of the tensor, or of those inside */
    eddy_shape shape; /* of the tensor, as declared; unknown parts are -1 */
    bool has_default; /* an input that need not be fed */
} eddy_onnx_port;

/*
 * Reads `length` bytes of a ModelProto; `options` may be NULL.  Errors:
 * INVALID_ARGUMENT, EDDY_E_MALFORMED with the byte offset, or what is wrong
 * with the model or a node, with its name; NOT_FOUND, EDDY_E_UNKNOWN_OP, with
 * all operators that eddy has not and how often each is used; UNIMPLEMENTED for
 * what eddy has not of an operator; RESOURCE_EXHAUSTED.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_onnx_read(eddy_context *ctx, const void *bytes, size_t length,
               const eddy_onnx_options *options, eddy_onnx_model **out_model,
               eddy_error *err);

/* The same from a file; with external data, from its folder too. */
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_load(
    eddy_context *ctx, const char *path, const eddy_onnx_options *options,
    eddy_onnx_model **out_model, eddy_error *err);

/* Accepts NULL; frees the graph too unless it was taken. */
EDDY_API void eddy_onnx_model_destroy(eddy_onnx_model *model);

/* Borrowed from the model; nodes may be added. */
EDDY_API eddy_graph *eddy_onnx_model_graph(const eddy_onnx_model *model);

/* The graph, which is the caller's from now on; the model borrows it. */
EDDY_API eddy_graph *eddy_onnx_model_take_graph(eddy_onnx_model *model);

/* In the order of the model's graph. */
EDDY_API const eddy_onnx_port *
eddy_onnx_model_inputs(const eddy_onnx_model *model, size_t *out_n);
EDDY_API const eddy_onnx_port *
eddy_onnx_model_outputs(const eddy_onnx_model *model, size_t *out_n);

/* The input or output of that name, an input if both have it; or NULL. */
EDDY_API const eddy_onnx_port *
eddy_onnx_model_find(const eddy_onnx_model *model, const char *name);

/*
 * Sequences and optional values can't be fed or fetched as they are; their
 * tensors can.  The first call makes input `i` hold `n` tensors, which are to
 * be fed at `out_items`: any number for a sequence, one for an optional tensor;
 * without `is_present` an optional value holds nothing, and `n` is 0.  It may
 * be called again.  EDDY_E_ARGUMENT for an input that is a tensor or a wrong
 * `n`.
 *
 * The second makes outputs to fetch of output `i`: whether it holds anything
 * (`out_ends[0]`, a bool; NO_NODE for a sequence), how many tensors a sequence
 * has (`out_ends[1]`, an int32 scalar; NO_NODE for an optional tensor), and the
 * first `n` of them; a run fails that fetches what is not there.
 * eddy_onnx_model_get_packed is for an output of which that is not known.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_onnx_model_set_items(eddy_onnx_model *model, size_t i, bool is_present,
                          size_t n, eddy_output *out_items, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_model_get_items(
    eddy_onnx_model *model, size_t i, size_t n, eddy_output out_ends[2],
    eddy_output *out_items, eddy_error *err);

/* What a file of ONNX's test data holds; free it with eddy_onnx_data_free. */
typedef struct eddy_onnx_data {
    bool is_present; /* false: an optional value without anything in it */
    eddy_tensor **items;
    size_t n;
    const eddy_context *ctx;
} eddy_onnx_data;

/*
 * What to fetch of output `i`, a sequence or an optional value, where it is not
 * known before the run how many tensors it holds; eddy_onnx_data_unpack makes
 * its content of the values that these have in a run.
 */
#define EDDY_ONNX_PARTS 4
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_model_get_packed(
    eddy_onnx_model *model, size_t i, eddy_output out_parts[EDDY_ONNX_PARTS],
    eddy_error *err);

/*
 * The content, to be freed with eddy_onnx_data_free.  INVALID_ARGUMENT for
 * tensors that no such outputs give.  @thread any
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_data_unpack(
    eddy_context *ctx, eddy_tensor *const parts[EDDY_ONNX_PARTS],
    eddy_onnx_data *out_data, eddy_error *err);

/*
 * Reads a TensorProto, SequenceProto or OptionalProto, as `kind` has it, from a
 * file of at most `max_bytes` (0: the most that a protocol buffer has).
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_data_load(
    eddy_context *ctx, const char *path, eddy_onnx_kind kind,
    uint64_t max_bytes, eddy_onnx_data *out_data, eddy_error *err);
EDDY_API void eddy_onnx_data_free(eddy_onnx_data *data);

typedef struct eddy_onnx_write_options {
    size_t size; /* sizeof(eddy_onnx_write_options) */
    /* The version of ONNX's own operators, 14 to 28; 0: 18. */
    int64_t opset;
    /* 7 to 14; 0: the first that has the opset. */
    int64_t ir_version;
    const eddy_limits *limits; /* of lowering; NULL: none */
} eddy_onnx_write_options;

/*
 * Writes what `fetches` need as a ModelProto into new memory, which the caller
 * frees with eddy_onnx_free.  Functions are lowered; loops and branches, as the
 * analysis of the primitives finds them, become Loop and If.  The placeholders
 * that are needed are the model's inputs, with their names, in the order of the
 * graph; the outputs are those that are asked for, in their order, named as
 * they are ("node", or "node:1").
 *
 * A model means the same as the graph: what ONNX has no operator for, with just
 * these dtypes and attributes, and control flow that is not structured, are
 * refused (UNIMPLEMENTED, EDDY_E_UNKNOWN_OP), all in one message with why and
 * how often.  Other errors: INVALID_ARGUMENT; RESOURCE_EXHAUSTED.  `options`
 * may be NULL.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_onnx_write(const eddy_graph *graph, const eddy_output *fetches,
                size_t n_fetches, const eddy_onnx_write_options *options,
                void **out_bytes, size_t *out_length, eddy_error *err);
EDDY_API void eddy_onnx_free(const eddy_graph *graph, void *bytes,
                             size_t length);

/* The same to a file. */
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_save(
    const eddy_graph *graph, const eddy_output *fetches, size_t n_fetches,
    const eddy_onnx_write_options *options, const char *path, eddy_error *err);

/* Do the first bytes of a file look like those of a model?  @thread any */
EDDY_API bool eddy_onnx_is_model(const void *bytes, size_t length);

EDDY_END_DECLS

#endif

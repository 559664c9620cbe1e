/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the GraphDef reader share.
 *
 * Nodes are unpacked one at a time and twice looked at: first all are added
 * with open inputs, since edges may go forward and back, then all are
 * connected.
 */
#ifndef EDDY_INTEROP_LOADER_H
#define EDDY_INTEROP_LOADER_H

#include "core/graph/graph.h"
#include "interop/graphdef/graphdef.pb-c.h"
#include "interop/shared/scratch.h"
#include "interop/shared/wire.h"

/* The attribute of an _Arg that TensorFlow keeps in a map of the FunctionDef.
 */
#define EDDY__UNIQUE_ID "_resource_arg_unique_id"

/* TensorFlow gives references of a dtype its number and this. */
#define EDDY__TF_REF_OFFSET 100

/* What a load may take unless it is told: so much a byte, and so much more. */
#define EDDY__LOAD_BYTES_PER_BYTE 16
#define EDDY__LOAD_FREE_BYTES ((uint64_t)64 << 20)

typedef struct eddy__loader {
    eddy_context *ctx;
    eddy__budget *budget; /* of the graph that is made; NULL: no limit */
    eddy__scratch scratch;
    eddy_error *err;
    /* What is being read, for messages; NULL outside of every node. */
    const char *node;
    const char *op;
    struct eddy__made_tensor *tensors; /* of the node that is being read */
} eddy__loader;

/* How GraphDefs and their parts are walked: at most 64 messages deep. */
extern const eddy__wire_format eddy__graphdef_format;

/* Fails with what is being read; INVALID_ARGUMENT. */
eddy_status eddy__load_fail(const eddy__loader *loader, eddy_detail detail,
                            const char *format, ...) EDDY_PRINTF(3, 4);

/* After protobuf-c returned NULL for bytes that had passed the check. */
eddy_status eddy__load_fail_unpack(const eddy__loader *loader);

/*
 * Attributes.  `raw` is the AttrValue that `value` was unpacked from; `op` is
 * NULL for an op that is not registered.  The value is in scratch memory, its
 * tensors belong to the loader until eddy__loader_reset.
 */
eddy_status eddy__read_attr(eddy__loader *loader, const eddy__op *op,
                            const char *name, const Eddy__Pb__AttrValue *value,
                            eddy__message raw, eddy_attr *out_attr);

/* An attribute as the message that it is, or was, in scratch memory. */
eddy_status eddy__unpack_attr(eddy__scratch *scratch, const eddy_attr *attr,
                              Eddy__Pb__AttrValue **out_value, eddy_error *err);

/* The bytes of field 2 of a map's entry: its value. */
eddy__message eddy__load_entry_value(eddy__message entry);

/*
 * Tensors and shapes.  `*out_is_opaque` says that eddy has no such thing, which
 * is no failure.  The caller owns the tensor.
 */
eddy_status eddy__read_tensor(eddy__loader *loader, const char *attr,
                              const Eddy__Pb__TensorProto *proto,
                              eddy_tensor **out_tensor, bool *out_is_opaque);
eddy_status eddy__load_shape(const eddy__loader *loader, const char *attr,
                             const Eddy__Pb__TensorShapeProto *proto,
                             eddy_shape *out_shape);
eddy_status eddy__load_dtype(const eddy__loader *loader, const char *attr,
                             int32_t number, eddy_dtype *out_dtype,
                             bool *out_is_opaque);

/* Finds what `text` (an input without '^') names.  Fails with the node. */
typedef struct eddy__body eddy__body;
typedef eddy_status (*eddy__resolve_fn)(eddy__loader *loader, eddy__body *body,
                                        eddy_string text,
                                        eddy_output *out_output);

/* The nodes in a GraphDef or a FunctionDef, and the graph that they become. */
struct eddy__body {
    eddy_graph *graph;
    eddy__message message;
    uint32_t field; /* that holds a NodeDef */
    eddy__resolve_fn resolve;
    void *user; /* of the resolver */
};

/* Adds all nodes, then connects them. */
eddy_status eddy__load_nodes(eddy__loader *loader, eddy__body *body);

/* Bytes that the graph holds of its allocator, but for tensors and bodies. */
uint64_t eddy__graph_bytes(const eddy_graph *graph);

/* Charges what the graph has grown by since it held `*bytes`; updates that. */
eddy_status eddy__load_charge_growth(eddy__loader *loader,
                                     const eddy_graph *graph, uint64_t *bytes);

/* How many tensors an item of the signature of the node's op stands for. */
uint32_t eddy__count_tensors(const eddy__node *node, const eddy__arg *arg);

/* How many bytes of an input a message repeats. */
int eddy__load_shown(eddy_string text);

/* The number after a colon: digits, and few of them. */
bool eddy__load_index(eddy_string text, uint32_t *out_index);
eddy_status eddy__load_fail_unknown_input(const eddy__loader *loader,
                                          eddy_string name);

/* Drops the tensors and the memory of what was read last. */
void eddy__loader_reset(eddy__loader *loader);

/* Reads a FunctionDef into the library of `graph`. */
eddy_status eddy__read_function(eddy__loader *loader, eddy_graph *graph,
                                eddy__message message);

/* What is made of functions that had to be kept as bytes. */
extern const eddy__function_reader eddy__function_bytes;

/* Reads a FunctionDefLibrary into the library of `graph`. */
eddy_status eddy__load_library(eddy__loader *loader, eddy_graph *graph,
                               eddy__message library);

#endif

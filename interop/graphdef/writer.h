/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the GraphDef writer share. */
#ifndef EDDY_INTEROP_WRITER_H
#define EDDY_INTEROP_WRITER_H

#include "core/graph/graph.h"
#include "interop/graphdef/graphdef.pb-c.h"
#include "interop/shared/scratch.h"

/* protobuf-c's messages have no const, though packing writes nothing. */
static inline uint8_t *eddy__graphdef_borrow_bytes(const void *bytes)
{
    union {
        const void *from;
        uint8_t *to;
    } borrowed = {.from = bytes};

    return borrowed.to;
}

static inline char *eddy__graphdef_borrow_text(const char *text)
{
    union {
        const char *from;
        char *to;
    } borrowed = {.from = text};

    return borrowed.to;
}

/*
 * Messages in scratch memory that borrow what they are made from; NULL if
 * scratch memory was refused.
 */
Eddy__Pb__TensorShapeProto *eddy__write_shape(eddy__scratch *scratch,
                                              const eddy_shape *shape);
Eddy__Pb__TensorProto *eddy__write_tensor(eddy__scratch *scratch,
                                          const eddy_tensor *tensor);

/* Fails for an opaque value that is no AttrValue. */
EDDY_MUST_USE eddy_status eddy__write_attr(eddy__scratch *scratch,
                                           const eddy_attr *attr,
                                           Eddy__Pb__AttrValue **out_value,
                                           eddy_error *err);

EDDY_MUST_USE eddy_status
eddy__write_attr_entry(eddy__scratch *scratch, const eddy_attr *attr,
                       Eddy__Pb__AttrEntry **out_entry, eddy_error *err);

/*
 * The text that names an output as an input of another node: `name:index` in a
 * GraphDef, `name:output:index` in a FunctionDef.  NULL if scratch memory was
 * refused.
 */
typedef char *(*eddy__input_text_fn)(eddy__scratch *scratch,
                                     const eddy_graph *graph,
                                     eddy_output output);

EDDY_MUST_USE eddy_status eddy__write_node(eddy__scratch *scratch,
                                           const eddy_graph *graph,
                                           eddy_node node,
                                           eddy__input_text_fn input_text,
                                           Eddy__Pb__NodeDef **out_node,
                                           eddy_error *err);

/* The message of a function that eddy could read. */
EDDY_MUST_USE eddy_status
eddy__write_function(eddy__scratch *scratch, const eddy__function *function,
                     Eddy__Pb__FunctionDef **out_function, eddy_error *err);

#endif

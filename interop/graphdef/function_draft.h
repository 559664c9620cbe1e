/* SPDX-License-Identifier: Apache-2.0 */
/* A function of a GraphDef while it is read. */
#ifndef EDDY_INTEROP_FUNCTION_DRAFT_H
#define EDDY_INTEROP_FUNCTION_DRAFT_H

#include "interop/graphdef/loader.h"

/* An output of an opaque node, by the name that an edge gave it. */
typedef struct eddy__assumed_output {
    eddy_output output;
    eddy_string name; /* "output:index" */
} eddy__assumed_output;

/* A draft's arrays stand in `temporary`, but for `assumed`. */
typedef struct eddy__function_draft {
    eddy__loader *loader;
    eddy__arena temporary;
    eddy__message message;
    eddy__function function;
    eddy_node *arg_nodes;
    eddy_dtype *arg_dtypes;
    const char **arg_names;
    eddy_output *results;
    const char **result_names;
    uint8_t *result_dtypes;
    eddy_node *control_results;
    const char **control_names;
    eddy__map assumed_texts; /* "node:output:index" to an index in `assumed` */
    eddy__assumed_output *assumed;
    size_t n_assumed, assumed_capacity;
} eddy__function_draft;

/*
 * Finds "argument", "argument:0", "node:output" or "node:output:index"; the
 * draft is the body's `user`.
 */
eddy_status eddy__resolve_in_function(eddy__loader *loader, eddy__body *body,
                                      eddy_string text,
                                      eddy_output *out_output);

/* Writes the names of assumed outputs at their nodes. */
eddy_status eddy__keep_output_names(eddy__function_draft *draft);

#endif

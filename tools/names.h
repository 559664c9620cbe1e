/* SPDX-License-Identifier: Apache-2.0 */
/* What the names on the command line stand for. */
#ifndef EDDY_TOOLS_NAMES_H
#define EDDY_TOOLS_NAMES_H

#include "eddy/onnx_model.h"

/* Where names are looked up. */
typedef struct eddy__named {
    eddy_context *ctx;
    const eddy_graph *graph;
    eddy_onnx_model *model; /* NULL: a GraphDef */
} eddy__named;

/*
 * The output that `name` stands for: an input or output of the model, if there
 * is one, else what the graph finds.  A sequence or an optional value has none.
 */
EDDY_MUST_USE eddy_status eddy__names_find_output(const eddy__named *named,
                                                  const char *name,
                                                  eddy_output *out,
                                                  eddy_error *err);

/*
 * The model's output of that name, and its index, if it is a sequence or an
 * optional value; NULL: it is not.  `model` may be NULL.
 */
const eddy_onnx_port *eddy__names_find_packed(const eddy_onnx_model *model,
                                              const char *name,
                                              size_t *out_index);

/* The same of the inputs. */
const eddy_onnx_port *eddy__names_find_held(const eddy_onnx_model *model,
                                            const char *name,
                                            size_t *out_index);

/* Is the file a model, by its first bytes?  False if it can't be read. */
bool eddy__names_is_model_file(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a loaded model is. */
#ifndef EDDY_INTEROP_ONNX_MODEL_H
#define EDDY_INTEROP_ONNX_MODEL_H

#include "core/base/memory.h"
#include "eddy/onnx_model.h"

/* Ports and their names are in the arena. */
struct eddy_onnx_model {
    eddy_context *ctx;
    eddy_graph *graph;
    bool is_taken; /* the graph is somebody else's */
    eddy__arena arena;
    eddy_onnx_port *inputs, *outputs;
    size_t n_inputs, n_outputs;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a SavedModel holds once it is read. */
#ifndef EDDY_INTEROP_SAVEDMODEL_MODEL_H
#define EDDY_INTEROP_SAVEDMODEL_MODEL_H

#include "core/base/memory.h"
#include "eddy/savedmodel.h"

/* Texts, signatures and ports are in the arena. */
struct eddy_savedmodel {
    eddy_context *ctx;
    eddy_graph *graph;
    bool is_taken; /* the graph is somebody else's */
    eddy__arena arena;
    eddy_savedmodel_signature *signatures;
    size_t n_signatures;
    const char *variables; /* the prefix of their files */
    const char *filename;  /* the tensor that takes it; "" for none */
    const char *restore;   /* the node that restores; "" for none */
    const char *initial;   /* what is to run once it is loaded; "" for none */
};

#endif

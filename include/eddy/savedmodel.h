/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's SavedModels: a folder with a graph, the values of its variables,
 * and signatures, which say what to feed and fetch under names for people.
 *
 *     eddy_savedmodel_load(ctx, "model", NULL, &model, &err);
 *     eddy_savedmodel_restore(model, session, NULL, &err);
 *     signature = eddy_savedmodel_find(model, "serving_default");
 *     ... a plan of eddy_savedmodel_graph(model), run in the session
 *
 * The graph is as TensorFlow saved it, with its functions, which a plan lowers;
 * its variables live in a session.
 */
#ifndef EDDY_SAVEDMODEL_H
#define EDDY_SAVEDMODEL_H

#include "eddy/graph.h"
#include "eddy/limits.h"
#include "eddy/session.h"

EDDY_BEGIN_DECLS

typedef struct eddy_savedmodel eddy_savedmodel;

typedef struct eddy_savedmodel_options {
    size_t size; /* sizeof(eddy_savedmodel_options) */
    /* A word that the wanted graph is tagged with; NULL: `serve`. */
    const char *tag;
    uint64_t max_bytes;        /* of memory; 0: as for a GraphDef */
    const eddy_limits *limits; /* NULL: none; the lesser one holds */
} eddy_savedmodel_options;

/* An input or an output of a signature; borrowed from the model. */
typedef struct eddy_savedmodel_port {
    const char *name; /* the signature's */
    eddy_output output;
    eddy_dtype dtype; /* EDDY_INVALID for one that eddy has not */
    eddy_shape shape; /* as declared; unknown parts are -1 */
} eddy_savedmodel_port;

/* Borrowed from the model; ports are in the order of their names. */
typedef struct eddy_savedmodel_signature {
    const char *name;
    const eddy_savedmodel_port *inputs;
    size_t n_inputs;
    const eddy_savedmodel_port *outputs;
    size_t n_outputs;
} eddy_savedmodel_signature;

/*
 * Reads the folder `path`, its graph and signatures; not its variables.
 * `options` may be NULL.  Errors: NOT_FOUND (EDDY_E_IO) where there is no
 * saved_model.pb, (EDDY_E_UNKNOWN_NAME) where no graph has the tag;
 * INVALID_ARGUMENT, EDDY_E_MALFORMED with the byte offset; those of
 * eddy_graphdef_read.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_savedmodel_load(
    eddy_context *ctx, const char *path, const eddy_savedmodel_options *options,
    eddy_savedmodel **out_model, eddy_error *err);

/* Accepts NULL; frees the graph too unless it was taken. */
EDDY_API void eddy_savedmodel_destroy(eddy_savedmodel *model);

/* Is `path` a folder with a saved_model.pb?  @thread any */
EDDY_API bool eddy_savedmodel_is_there(const char *path);

/* Borrowed from the model; nodes may be added. */
EDDY_API eddy_graph *eddy_savedmodel_graph(const eddy_savedmodel *model);

/* The graph, which is the caller's from now on; the model borrows it. */
EDDY_API eddy_graph *eddy_savedmodel_take_graph(eddy_savedmodel *model);

/* Signature `i`, in the order of their names; NULL past the end. */
EDDY_API const eddy_savedmodel_signature *
eddy_savedmodel_signature_at(const eddy_savedmodel *model, size_t i);

/* NULL if there is none of that name. */
EDDY_API const eddy_savedmodel_signature *
eddy_savedmodel_find(const eddy_savedmodel *model, const char *name);

/*
 * Gives the variables of the model their values in `session`, which is of the
 * model's context, by running what TensorFlow has put into the graph for that;
 * then what the model wants to be run once it is loaded.  `limits` bounds the
 * making of the plans and may be NULL.  A model without variables is left
 * alone.  Errors: those of eddy_plan_create and of a run, DATA_LOSS for
 * damaged files among them.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_savedmodel_restore(const eddy_savedmodel *model, eddy_session *session,
                        const eddy_limits *limits, eddy_error *err);

EDDY_END_DECLS

#endif

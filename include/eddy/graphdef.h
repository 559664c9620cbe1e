/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow GraphDefs, in their binary form, to graphs and back.
 *
 * Loading is safe on bytes of any origin: depth and sizes are checked before
 * anything is unpacked, and memory is bounded by `max_bytes`.  Unknown ops load
 * as opaque nodes; a plan refuses those that it needs.  Attributes whose name
 * starts with '_' are kept and written back but have no meaning.
 */
#ifndef EDDY_GRAPHDEF_H
#define EDDY_GRAPHDEF_H

#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

typedef struct eddy_graphdef_options {
    size_t size; /* sizeof(eddy_graphdef_options) */
    uint64_t
        max_bytes; /* memory while loading; 0: 16 times the input + 64 MiB */
    uint64_t max_nodes;        /* 0: no limit */
    const eddy_limits *limits; /* NULL: none; the lesser one holds */
} eddy_graphdef_options;

/*
 * Sets limits fit for files of unknown origin: 262,144 nodes, 64 MiB, 0.4
 * seconds.  Other members stay.
 */
EDDY_API void eddy_graphdef_options_untrusted(eddy_graphdef_options *options);

/*
 * Reads `length` bytes of a GraphDef into a new graph; `options` may be NULL.
 * Errors: INVALID_ARGUMENT, EDDY_E_MALFORMED with the byte offset, or what is
 * wrong with a node with its name; NOT_FOUND never: unknown ops are opaque.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graphdef_read(eddy_context *ctx, const void *bytes, size_t length,
                   const eddy_graphdef_options *options, eddy_graph **out_graph,
                   eddy_error *err);

/*
 * Writes the graph as a GraphDef into new memory, which the caller frees with
 * eddy_graphdef_free.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_graphdef_write(const eddy_graph *graph,
                                                       void **out_bytes,
                                                       size_t *out_length,
                                                       eddy_error *err);
EDDY_API void eddy_graphdef_free(const eddy_graph *graph, void *bytes,
                                 size_t length);

/* The same from and to a file. */
EDDY_API EDDY_MUST_USE eddy_status eddy_graphdef_load(
    eddy_context *ctx, const char *path, const eddy_graphdef_options *options,
    eddy_graph **out_graph, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_graphdef_save(const eddy_graph *graph,
                                                      const char *path,
                                                      eddy_error *err);

EDDY_END_DECLS

#endif

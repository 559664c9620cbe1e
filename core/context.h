/* What a context holds.  Made by runtime/exec/context.c. */
#ifndef EDDY_CORE_CONTEXT_H
#define EDDY_CORE_CONTEXT_H

#include "core/graph/registry.h"
#include "eddy/context.h"

struct eddy__pool; /* runtime/exec/pool.h */

/* Immutable once created, but for the registry (see eddy_op_register). */
struct eddy_context {
    eddy_allocator allocator;
    eddy_logger logger;
    eddy__registry registry;
    struct eddy__pool *pool; /* NULL without workers */
};

/* The allocator of `ctx`, or the C library's for NULL. */
const eddy_allocator *eddy__context_allocator(const eddy_context *ctx);

/* Sends a formatted line to the context's logger, cut at 1023 bytes. */
void eddy__log(const eddy_context *ctx, eddy_log_level level,
               const char *format, ...) EDDY_PRINTF(3, 4);

#endif

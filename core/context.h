/* SPDX-License-Identifier: Apache-2.0 */
/* What a context holds.  Made by runtime/exec/context.c. */
#ifndef EDDY_CORE_CONTEXT_H
#define EDDY_CORE_CONTEXT_H

#include "core/graph/registry.h"
#include "eddy/context.h"
#include "eddy/gradients.h"

#include <stdatomic.h>

struct eddy__pool; /* runtime/exec/pool.h */

/* eddy_gradients. */
typedef eddy_status (*eddy__differentiate)(eddy_graph *graph,
                                           const eddy_output *ys, size_t n_ys,
                                           const eddy_output *xs, size_t n_xs,
                                           const eddy_gradient_options *options,
                                           eddy_output *out_gradients,
                                           eddy_error *err);

/* Immutable once created, but for the registry (see eddy_op_register). */
struct eddy_context {
    /*
     * Atomic: raised relaxed by who has a reference; lowered with release and
     * acquire, so that who frees it sees all that others did with it.
     */
    atomic_uint refs;
    eddy_allocator allocator;
    eddy_logger logger;
    eddy__registry registry;
    struct eddy__pool *pool; /* NULL without workers */
    uint32_t n_workers;      /* of the pool */
    /* For lowering, which is below it: SymbolicGradient asks for a gradient. */
    eddy__differentiate differentiate;
};

/* The allocator of `ctx`, or the C library's for NULL. */
const eddy_allocator *eddy__context_allocator(const eddy_context *ctx);

/* Sends a formatted line to the context's logger, cut at 1023 bytes. */
void eddy__context_log(const eddy_context *ctx, eddy_log_level level,
                       const char *format, ...) EDDY_PRINTF(3, 4);

#endif

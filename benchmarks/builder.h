/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph being built by a benchmark, by the public emitter: after the first
 * failure nothing more is added, so that only the end need be checked.  What is
 * here is what many benchmarks need beside it.
 */
#ifndef EDDY_BENCHMARKS_BUILDER_H
#define EDDY_BENCHMARKS_BUILDER_H

#include "eddy/emit.h"

/* Must not move: the emitter points at `err`. */
typedef struct builder {
    eddy_emitter e;
    eddy_error err;
} builder;

void builder_init(builder *b, eddy_context *ctx);
void builder_deinit(builder *b);

/* Fails with RESOURCE_EXHAUSTED. */
void builder_fail(builder *b, const char *message);

/* A Const that fires once `after` has, or at once if that is EDDY_NO_NODE. */
eddy_output builder_int(builder *b, int32_t value, eddy_node after);
eddy_output builder_float(builder *b, float value, eddy_node after);

/* A scalar that is fed. */
eddy_output builder_feed(builder *b, eddy_dtype dtype);

/* An Enter of the frame: a variable's first value, or an invariant. */
eddy_output builder_enter(builder *b, const char *frame, eddy_output value,
                          bool is_invariant);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What more a recorded run answers: what it was waiting for, and what takes its
 * time.
 */
#ifndef EDDY_EXPLAIN_H
#define EDDY_EXPLAIN_H

#include "eddy/trace.h"

EDDY_BEGIN_DECLS

/*
 * A node that has got some of what it reads and not all, and the first input
 * that it has not got; NONE: it was ready.
 */
typedef struct eddy_trace_wait {
    uint32_t node, frame;
    int64_t iteration;
    uint32_t input;
} eddy_trace_wait;

/*
 * What a run that did not come to its end was waiting for.  Returns how many
 * there are, of which the first `capacity` are written.  Wants
 * eddy_trace_index.
 */
EDDY_API size_t eddy_trace_waiting(const eddy_trace *trace,
                                   eddy_trace_wait *waits, size_t capacity);

/*
 * The longest chain of work, its last record first, and how long it takes: what
 * a run would take with as many workers as there is work.  For `static_frame`,
 * unless it is NONE, with `parallel` in place of its parallel_iterations.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_trace_critical(eddy_trace *trace, uint32_t static_frame, uint32_t parallel,
                    eddy_trace_link *links, size_t capacity, size_t *out_n,
                    uint64_t *out_ns, eddy_error *err);

/*
 * Writes a value in a few characters, a scalar or `float32[2,3] 0..1 mean 0.5`,
 * cut to `size` with its NUL.  @thread any
 */
EDDY_API void eddy_trace_value_format(const eddy_trace_value *value, char *text,
                                      size_t size);

EDDY_END_DECLS

#endif

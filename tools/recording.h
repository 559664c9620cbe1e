/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs on their way to files. */
#ifndef EDDY_TOOLS_RECORDING_H
#define EDDY_TOOLS_RECORDING_H

#include "tools/options.h"

#include "eddy/trace.h"

/* Can a trace be written to a file of that name?  It complains if not. */
bool eddy__recording_is_known(const char *path);

/* Writes it to options->trace, in the format of its ending. */
EDDY_MUST_USE eddy__exit eddy__recording_write(eddy_trace *trace,
                                               const eddy__options *options);

/*
 * Holds what was recorded of a run that succeeded against what it counted: live
 * and dead executions, that every dead node has a live Switch which made it so,
 * and that every pop has its push.  Fails with INTERNAL.
 */
EDDY_MUST_USE eddy_status eddy__recording_check(eddy_trace *trace,
                                                eddy_error *err);

/*
 * The frame and iteration that a path names, outer[3]/inner[17]; the root for
 * "".  False if nothing of it was recorded.
 */
bool eddy__recording_find(const eddy_trace *trace, const char *path,
                          uint32_t *out_frame, int64_t *out_iteration);

/* How many of its frames the linear executor ran. */
size_t eddy__recording_linear_frames(const eddy_trace *trace);

#endif

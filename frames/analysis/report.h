/* SPDX-License-Identifier: Apache-2.0 */
/* How the checks of control flow name nodes and frames in what they report. */
#ifndef EDDY_FRAMES_REPORT_H
#define EDDY_FRAMES_REPORT_H

#include "frames/analysis/analysis.h"

/* A name cut to what a message has room for. */
typedef struct eddy__short_name {
    char text[72];
} eddy__short_name;

eddy__short_name eddy__shorten(const char *name);

/* "frame 'f'" or "the root frame". */
typedef struct eddy__frame_name {
    char text[88];
} eddy__frame_name;

eddy__frame_name eddy__name_frame(const eddy_frame *frame);

/* Writes the path of a frame, outer/inner, into `err`, which may be NULL. */
void eddy__blame_frame(eddy_error *err, const eddy_frame *frames,
                       uint32_t frame);

/* Fails with INVALID_ARGUMENT at a node of `frame`. */
eddy_status eddy__report_refuse(eddy_error *err, eddy_detail detail,
                                const eddy__node *node,
                                const eddy_frame *frames, uint32_t frame,
                                const char *format, ...) EDDY_PRINTF(6, 7);

/*
 * Adds a warning to the analysis; after the first hundred only one more, which
 * says that there are others.
 */
eddy_status eddy__report_warn(eddy_analysis *analysis, eddy_error *err,
                              const char *format, ...) EDDY_PRINTF(3, 4);

#endif

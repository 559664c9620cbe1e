/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names long nodes and frames in the space that an error has, and keeps the
 * warnings of an analysis.
 */
#include "frames/analysis/report.h"

#include "core/base/status.h"

#include <stdio.h>
#include <string.h>

#define MAX_WARNINGS 100

eddy__short_name eddy__shorten(const char *name)
{
    eddy__short_name made;

    eddy__copy_text(made.text, sizeof made.text, name, strlen(name));
    return made;
}

eddy__frame_name eddy__name_frame(const eddy_frame *frame)
{
    eddy__frame_name made = {.text = "the root frame"};

    if (frame->depth > 0)
        snprintf(made.text, sizeof made.text, "frame '%s'",
                 eddy__shorten(frame->name).text);
    return made;
}

/* Filled from its end, the innermost frame first, as far as there is room. */
void eddy__blame_frame(eddy_error *err, const eddy_frame *frames,
                       uint32_t frame)
{
    char path[2 * sizeof err->frame];
    size_t at = sizeof path;

    if (!err)
        return;
    for (uint32_t f = frame; f != 0; f = frames[f].parent) {
        const eddy__short_name name = eddy__shorten(frames[f].name);
        const size_t length = strlen(name.text);

        if (length + 5 > at) {
            for (int i = 0; i < 3; i++)
                path[--at] = '.';
            break;
        }
        at -= length;
        memcpy(path + at, name.text, length);
        if (frames[f].parent != 0)
            path[--at] = '/';
    }
    eddy__copy_text(err->frame, sizeof err->frame, path + at, sizeof path - at);
}

eddy_status eddy__report_refuse(eddy_error *err, eddy_detail detail,
                                const eddy__node *node,
                                const eddy_frame *frames, uint32_t frame,
                                const char *format, ...)
{
    char message[1024];
    va_list args;

    if (!err)
        return EDDY_INVALID_ARGUMENT;
    va_start(args, format);
    if (vsnprintf(message, sizeof message, format, args) < 0)
        message[0] = '\0';
    va_end(args);
    eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, detail, node, "%s",
                        message);
    eddy__blame_frame(err, frames, frame);
    return EDDY_INVALID_ARGUMENT;
}

static eddy_status keep_warning(eddy_analysis *analysis, eddy_error *err,
                                const char *text)
{
    const char *kept = eddy__arena_text(&analysis->arena, text, strlen(text));

    if (!kept ||
        !eddy__grow(analysis->arena.allocator, (void **)&analysis->warnings,
                    &analysis->warnings_capacity, analysis->n_warnings + 1,
                    sizeof *analysis->warnings))
        return eddy__fail_memory(err);
    analysis->warnings[analysis->n_warnings++] = kept;
    return EDDY_OK;
}

eddy_status eddy__report_warn(eddy_analysis *analysis, eddy_error *err,
                              const char *format, ...)
{
    char line[1024], printable[512];
    va_list args;

    if (analysis->n_warnings > MAX_WARNINGS)
        return EDDY_OK;
    if (analysis->n_warnings == MAX_WARNINGS)
        return keep_warning(analysis, err, "there are further warnings");
    va_start(args, format);
    if (vsnprintf(line, sizeof line, format, args) < 0)
        line[0] = '\0';
    va_end(args);
    eddy__copy_text(printable, sizeof printable, line, strlen(line));
    return keep_warning(analysis, err, printable);
}

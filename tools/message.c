/* SPDX-License-Identifier: Apache-2.0 */
/* Writes messages to standard error and fills errors of the command's own. */
#include "tools/message.h"

#include <stdarg.h>
#include <string.h>

/* Holds every eddy_error: its texts and some words between them. */
#define LINE_SIZE (sizeof(eddy_error) + 256)

void eddy__message_complain(const char *format, ...)
{
    va_list args;

    flockfile(stderr);
    fputs("eddy: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void eddy__message_complain_error(const char *subject, const eddy_error *err)
{
    char line[LINE_SIZE];

    eddy_error_format(err, line, sizeof line);
    if (subject == NULL)
        eddy__message_complain("%s", line);
    else
        eddy__message_complain("%s: %s", subject, line);
}

void eddy__message_write_error(FILE *stream, const eddy_error *err)
{
    char line[LINE_SIZE];

    eddy_error_format(err, line, sizeof line);
    fputs(line, stream);
}

eddy_status eddy__message_raise(eddy_error *err, eddy_status code,
                                eddy_detail detail, const char *format, ...)
{
    va_list args;

    *err = (eddy_error){.code = code, .detail = detail};
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

eddy_status eddy__message_raise_memory(eddy_error *err)
{
    return eddy__message_raise(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "out of memory");
}

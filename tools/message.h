/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command speaks: messages to standard error, and the three exit
 * statuses.  Results go to standard output and never through here.
 */
#ifndef EDDY_TOOLS_MESSAGE_H
#define EDDY_TOOLS_MESSAGE_H

#include "eddy/status.h"

#include <stdio.h>

typedef enum eddy__exit {
    EDDY__EXIT_DONE,
    EDDY__EXIT_FAILED, /* the program failed */
    EDDY__EXIT_USAGE   /* the command line is wrong */
} eddy__exit;

/* Writes one line, "eddy: " before it. */
void eddy__message_complain(const char *format, ...) EDDY_PRINTF(1, 2);

/* Writes `subject`, if it is not NULL, and `err` as one line. */
void eddy__message_complain_error(const char *subject, const eddy_error *err);

/* Writes `err` without a newline. */
void eddy__message_write_error(FILE *stream, const eddy_error *err);

/* Fills `err`, which must not be NULL, and returns `code`. */
eddy_status eddy__message_raise(eddy_error *err, eddy_status code,
                                eddy_detail detail, const char *format, ...)
    EDDY_PRINTF(4, 5);

/* Fills `err` with a failed allocation and returns its code. */
eddy_status eddy__message_raise_memory(eddy_error *err);

#endif

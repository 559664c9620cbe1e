/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on standard error that says how far long work is; nothing if that is
 * no terminal.
 */
#ifndef EDDY_TOOLS_PROGRESS_H
#define EDDY_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eddy__progress {
    bool is_shown; /* standard error is a terminal */
    bool is_there; /* the line is on the screen */
    uint64_t last_ns;
} eddy__progress;

void eddy__progress_begin(eddy__progress *progress);

/* Shows `done` of `total` and what is under way, a few times a second. */
void eddy__progress_show(eddy__progress *progress, size_t done, size_t total,
                         const char *what);

/* Shows a text, whenever it is called. */
void eddy__progress_line(eddy__progress *progress, const char *text);

/* Takes the line away, so that others can be written. */
void eddy__progress_clear(eddy__progress *progress);

#endif

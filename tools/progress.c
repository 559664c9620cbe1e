/* SPDX-License-Identifier: Apache-2.0 */
/* Writes over one line of a terminal, at most a few times a second. */
#include "tools/progress.h"

#include "tools/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_NS 100000000

/* Narrow enough for every terminal. */
#define WIDTH 50
#define LINE_WIDTH 79

void eddy__progress_begin(eddy__progress *progress)
{
    *progress = (eddy__progress){.is_shown = isatty(STDERR_FILENO) == 1};
}

void eddy__progress_show(eddy__progress *progress, size_t done, size_t total,
                         const char *what)
{
    const size_t length = strlen(what);
    uint64_t now;

    if (!progress->is_shown)
        return;
    now = eddy__clock_ns();
    if (progress->last_ns != 0 && now - progress->last_ns < PERIOD_NS)
        return;
    progress->last_ns = now;
    progress->is_there = true;
    fprintf(stderr, "\r\033[K%zu of %zu  %s%s", done, total,
            length > WIDTH ? "..." : "",
            length > WIDTH ? what + length - WIDTH : what);
    fflush(stderr);
}

void eddy__progress_line(eddy__progress *progress, const char *text)
{
    if (!progress->is_shown)
        return;
    progress->is_there = true;
    fprintf(stderr, "\r\033[K%.*s", LINE_WIDTH, text);
    fflush(stderr);
}

void eddy__progress_clear(eddy__progress *progress)
{
    if (!progress->is_there)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->is_there = false;
    /* The next one is shown at once. */
    progress->last_ns = 0;
}

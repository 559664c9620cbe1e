/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of machine code that perf looks for: a line an instruction of the
 * linear form, with address and size in hexadecimal and a name.
 */
#include "tools/perf_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct map {
    FILE *file;
    char frame[256]; /* of the lines that follow */
} map;

static bool add_line(void *user, const char *line, const void *bytes,
                     size_t n_bytes)
{
    map *m = user;

    if (bytes == NULL) {
        snprintf(m->frame, sizeof m->frame, "%s", line);
        m->frame[strcspn(m->frame, ":")] = '\0';
        return true;
    }
    return n_bytes == 0 ||
           fprintf(m->file, "%" PRIxPTR " %zx eddy %s: %s\n", (uintptr_t)bytes,
                   n_bytes, m->frame, line) > 0;
}

eddy__exit eddy__perf_map_write(const eddy_plan *plan)
{
    char path[64];
    map m = {.file = NULL};
    bool is_whole;

    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    /* Not through what somebody else may have put there. */
    unlink(path);
    m.file = fopen(path, "wx");
    if (m.file != NULL) {
        is_whole = eddy_plan_each_native(plan, add_line, &m);
        if (fclose(m.file) == 0 && is_whole)
            return EDDY__EXIT_DONE;
    }
    eddy__message_complain("--perf-map %s: %s", path, strerror(errno));
    return EDDY__EXIT_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and removes checkpoints of a loop.  A file counts if its name is one
 * that is given here; all others in the folder are let be.
 */
#include "core/bundle/saved_trips.h"

#include "core/base/status.h"
#include "core/bundle/bundle_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "trip-%012" PRId64 ".%u-of-%u"

/* What the name of a file says. */
typedef struct saved_name {
    int64_t trip;
    unsigned part, n_parts;
} saved_name;

static bool read_name(const char *text, saved_name *out)
{
    char again[96];
    int64_t trip;
    unsigned part, n_parts;

    if (sscanf(text, "trip-%" SCNd64 ".%u-of-%u", &trip, &part, &n_parts) != 3)
        return false;
    snprintf(again, sizeof again, FORMAT ".index", trip, part, n_parts);
    *out = (saved_name){trip, part, n_parts};
    return trip >= 0 && part < n_parts && strcmp(text, again) == 0;
}

void eddy__saved_prefix(const eddy__saved_place *place, uint32_t part,
                        int64_t trip, char out[EDDY__SAVED_ROOM])
{
    snprintf(out, EDDY__SAVED_ROOM, "%.*s/" FORMAT, EDDY__SAVED_MOST_FOLDER,
             place->folder, trip, (unsigned)part, (unsigned)place->n_parts);
}

static bool is_whole(const eddy__saved_place *place, int64_t trip)
{
    char prefix[EDDY__SAVED_ROOM], path[EDDY__SAVED_ROOM + 8];

    for (uint32_t part = 0; part < place->n_parts; part++) {
        eddy__saved_prefix(place, part, trip, prefix);
        snprintf(path, sizeof path, "%s.index", prefix);
        if (access(path, F_OK) != 0)
            return false;
    }
    return true;
}

eddy_status eddy__saved_find(const eddy__saved_place *place, int64_t *out_trip,
                             eddy_error *err)
{
    DIR *folder = opendir(place->folder);
    const struct dirent *entry;
    unsigned other = 0;

    *out_trip = -1;
    if (!folder && errno == ENOENT)
        return EDDY_OK;
    if (!folder)
        return eddy__bundle_fail_io(err, "read", place->folder);
    while ((entry = readdir(folder))) {
        saved_name name;

        if (!read_name(entry->d_name, &name))
            continue;
        if (name.n_parts != place->n_parts)
            other = name.n_parts;
        else if (name.trip > *out_trip && is_whole(place, name.trip))
            *out_trip = name.trip;
    }
    (void)closedir(folder);
    if (other > 0)
        return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                          "the checkpoints in %.200s are of %u ranks with a "
                          "part in the loop, not of %u",
                          place->folder, other, (unsigned)place->n_parts);
    return EDDY_OK;
}

/* The index first, so that no bundle is there without its data. */
static void drop(const eddy__saved_place *place, int64_t trip)
{
    static const char *const endings[] = {".index", ".data-00000-of-00001"};
    char prefix[EDDY__SAVED_ROOM], path[EDDY__SAVED_ROOM + 32];

    eddy__saved_prefix(place, place->part, trip, prefix);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s%s", prefix, endings[i]);
        (void)unlink(path);
    }
}

void eddy__saved_drop(const eddy__saved_place *place, int64_t first,
                      int64_t last)
{
    DIR *folder = opendir(place->folder);
    const struct dirent *entry;
    saved_name name;

    while (folder && (entry = readdir(folder)))
        if (read_name(entry->d_name, &name) && name.part == place->part &&
            name.n_parts == place->n_parts &&
            (name.trip < first || name.trip > last))
            drop(place, name.trip);
    if (folder)
        (void)closedir(folder);
}

void eddy__saved_sync(const eddy__saved_place *place)
{
    const int folder = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    (void)fsync(folder);
    (void)close(folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk keeps the directories still to be entered on a stack, the next one
 * on top: so a deep tree is no deep recursion, and the order is that of a
 * listing.
 */
#include "tools/case_walk.h"

#include "tools/message.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct identity {
    dev_t device;
    ino_t number;
} identity;

typedef struct walk {
    eddy__case_list waiting;
    identity *seen;
    size_t n_seen, seen_capacity;
} walk;

char *eddy__case_join_path(const char *directory, const char *name)
{
    const size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL)
        snprintf(path, size, "%s/%s", directory, name);
    return path;
}

bool eddy__case_has_file(const char *directory, const char *name)
{
    struct stat found;
    char *path = eddy__case_join_path(directory, name);
    const bool there =
        path != NULL && stat(path, &found) == 0 && S_ISREG(found.st_mode);

    free(path);
    return there;
}

/* Room for one element more in an array that grows by doubling, or NULL. */
static void *grow(void *items, size_t n, size_t *capacity, size_t size)
{
    size_t larger = *capacity < 16 ? 16 : 2 * *capacity;
    void *moved;

    if (n < *capacity)
        return items;
    moved = larger > SIZE_MAX / 2 / size ? NULL : realloc(items, larger * size);
    if (moved != NULL)
        *capacity = larger;
    return moved;
}

/* Takes `path`, also when it fails. */
static eddy_status push(eddy__case_list *list, char *path, eddy_error *err)
{
    char **paths = path == NULL ? NULL
                                : grow(list->paths, list->n, &list->capacity,
                                       sizeof *list->paths);

    if (paths == NULL) {
        free(path);
        return eddy__message_raise_memory(err);
    }
    list->paths = paths;
    list->paths[list->n++] = path;
    return EDDY_OK;
}

void eddy__case_list_deinit(eddy__case_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (eddy__case_list){.n = 0};
}

static eddy_status fail_system(const char *path, eddy_error *err)
{
    const int reason = errno;

    return eddy__message_raise(
        err,
        reason == ENOENT || reason == ENOTDIR ? EDDY_NOT_FOUND : EDDY_UNKNOWN,
        EDDY_E_IO, "%s: %s", path, strerror(reason));
}

/* Whether the walk has been in the directory; if not, it has from now on. */
static eddy_status remember(walk *w, const char *path, bool *out_is_known,
                            eddy_error *err)
{
    struct stat found;
    identity *seen;

    if (stat(path, &found) != 0)
        return fail_system(path, err);
    for (size_t i = 0; i < w->n_seen; i++) {
        if (w->seen[i].device == found.st_dev &&
            w->seen[i].number == found.st_ino) {
            *out_is_known = true;
            return EDDY_OK;
        }
    }
    seen = grow(w->seen, w->n_seen, &w->seen_capacity, sizeof *w->seen);
    if (seen == NULL)
        return eddy__message_raise_memory(err);
    w->seen = seen;
    w->seen[w->n_seen++] = (identity){found.st_dev, found.st_ino};
    *out_is_known = false;
    return EDDY_OK;
}

/* So that the first name ends on top of the stack. */
static int compare_backwards(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

static bool is_directory(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Puts the directories in `path` on the stack. */
static eddy_status push_children(walk *w, const char *path, eddy_error *err)
{
    DIR *stream = opendir(path);
    const size_t first = w->waiting.n;
    eddy_status status = EDDY_OK;

    if (stream == NULL)
        return fail_system(path, err);
    while (status == EDDY_OK) {
        const struct dirent *entry;
        char *child;

        errno = 0;
        entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0)
                status = fail_system(path, err);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        child = eddy__case_join_path(path, entry->d_name);
        if (child != NULL && !is_directory(child))
            free(child);
        else
            status = push(&w->waiting, child, err);
    }
    closedir(stream);
    if (w->waiting.n > first)
        qsort(w->waiting.paths + first, w->waiting.n - first,
              sizeof *w->waiting.paths, compare_backwards);
    return status;
}

/* Takes `path`: to the list if it holds a case. */
static eddy_status visit(walk *w, eddy__case_list *list, char *path,
                         eddy_error *err)
{
    bool is_known = false;
    eddy_status status = remember(w, path, &is_known, err);

    if (status == EDDY_OK && !is_known)
        status = push_children(w, path, err);
    if (status == EDDY_OK && !is_known &&
        (eddy__case_has_file(path, "case.json") ||
         eddy__case_has_file(path, "model.onnx")))
        return push(list, path, err);
    free(path);
    return status;
}

eddy_status eddy__case_list_add(eddy__case_list *list, const char *root,
                                eddy_error *err)
{
    walk w = {.n_seen = 0};
    size_t length = strlen(root);
    char *path;
    eddy_status status;

    while (length > 1 && root[length - 1] == '/')
        length--;
    path = strndup(root, length);
    status = push(&w.waiting, path, err);
    while (status == EDDY_OK && w.waiting.n > 0)
        status = visit(&w, list, w.waiting.paths[--w.waiting.n], err);
    eddy__case_list_deinit(&w.waiting);
    free(w.seen);
    return status;
}

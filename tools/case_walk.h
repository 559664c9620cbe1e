/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the recorded cases below a directory. */
#ifndef EDDY_TOOLS_CASE_WALK_H
#define EDDY_TOOLS_CASE_WALK_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct eddy__case_list {
    char **paths; /* of directories that hold a case, owned */
    size_t n, capacity;
} eddy__case_list;

/*
 * Adds every directory from `root` down that holds a case.json or a model.onnx,
 * in the order of the names.  Links are followed, but no directory is entered
 * twice.  Errors: NOT_FOUND or another with what the system said.
 */
EDDY_MUST_USE eddy_status eddy__case_list_add(eddy__case_list *list,
                                              const char *root,
                                              eddy_error *err);

void eddy__case_list_deinit(eddy__case_list *list);

/* Whether the directory holds a file of that name. */
bool eddy__case_has_file(const char *directory, const char *name);

/* directory/name in new memory, or NULL. */
char *eddy__case_join_path(const char *directory, const char *name);

#endif

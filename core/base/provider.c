/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the libraries that eddy loads on first use.  The paths that are tried
 * are made from where this code was loaded from, so that an eddy in a folder of
 * its own finds the provider that was built with it, and not another's.
 */
/* For dladdr. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#include "core/base/provider.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* How much of the code's own path is its folder, with the last slash. */
static size_t find_folder(const char **out_path)
{
    /* Any object of this file is where its code is. */
    static const char here = 0;
    Dl_info info;
    const char *slash;

    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL)
        return 0;
    slash = strrchr(info.dli_fname, '/');
    *out_path = info.dli_fname;
    return slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
}

static void *open_beside(const char *file)
{
    static const char *const folders[] = {"", "../lib/"};
    const char *own = "";
    const size_t length = find_folder(&own);
    void *library = NULL;
    char path[PATH_MAX];

    for (size_t i = 0; i < 2 && length > 0 && library == NULL; i++) {
        const int n = snprintf(path, sizeof path, "%.*s%s%s", (int)length, own,
                               folders[i], file);

        if (n > 0 && (size_t)n < sizeof path)
            library = open_library(path);
    }
    return library;
}

const void *eddy__provider_load(const char *file, const char *symbol)
{
    void *library = open_beside(file);

    if (library == NULL)
        library = open_library(file);
    return library ? dlsym(library, symbol) : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a bundle's files, and numbers as they stand in them. */
#include "core/bundle/bundle_file.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *eddy__bundle_path(const eddy_allocator *allocator, eddy_string prefix,
                        const char *ending, size_t *out_size)
{
    const size_t length = strlen(ending) + 1;
    char *path;

    if (!eddy__add_size(prefix.length, length, out_size))
        return NULL;
    path = eddy__allocate(allocator, 1, *out_size);
    if (!path)
        return NULL;
    if (prefix.length > 0)
        memcpy(path, prefix.data, prefix.length);
    memcpy(path + prefix.length, ending, length);
    return path;
}

eddy_status eddy__bundle_fail_io(eddy_error *err, const char *doing,
                                 const char *path)
{
    const int number = errno;
    char reason[128] = "unknown error";
    eddy_status code = EDDY_UNAVAILABLE;

    if (number == ENOENT || number == ENOTDIR)
        code = EDDY_NOT_FOUND;
    else if (number == EACCES || number == EPERM || number == EROFS)
        code = EDDY_PERMISSION_DENIED;
    (void)strerror_r(number, reason, sizeof reason);
    return eddy__fail(err, code, EDDY_E_IO, "cannot %s '%.200s': %s", doing,
                      path, reason);
}

/* Opening a pipe would wait, hence O_NONBLOCK. */
eddy_status eddy__bundle_open_file(const char *path, FILE **out_file,
                                   int64_t *out_size, eddy_error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;

    *out_file = NULL;
    if (descriptor < 0)
        return eddy__bundle_fail_io(err, "open", path);
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        (void)close(descriptor);
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_IO,
                          "'%.200s' is no regular file", path);
    }
    *out_size = info.st_size;
    *out_file = fdopen(descriptor, "rb");
    if (*out_file)
        return EDDY_OK;
    (void)close(descriptor);
    return eddy__fail_memory(err);
}

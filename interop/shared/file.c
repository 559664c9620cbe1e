/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files, pipes too, and writes new ones in parts. */
#include "interop/shared/file.h"

#include "core/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_BUFFER ((size_t)64 << 10)

/* Linux moves at most this much at once anyway. */
#define LARGEST_STEP ((size_t)1 << 30)

static eddy_status fail_io(eddy_error *err, const char *path, const char *doing,
                           int number)
{
    char reason[128] = "unknown error";
    eddy_status code = EDDY_UNAVAILABLE;

    if (number == ENOENT || number == ENOTDIR)
        code = EDDY_NOT_FOUND;
    else if (number == EACCES || number == EPERM || number == EROFS)
        code = EDDY_PERMISSION_DENIED;
    else if (number == EISDIR)
        code = EDDY_INVALID_ARGUMENT;
    (void)strerror_r(number, reason, sizeof reason);
    return eddy__fail(err, code, EDDY_E_IO, "%s '%s': %s", doing, path, reason);
}

static int open_file(const char *path, int flags)
{
    int descriptor;

    do {
        descriptor = open(path, flags | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return "a device";
}

/* How much the file holds, which must be a regular one. */
static eddy_status expect_size(int descriptor, const char *path,
                               uintmax_t *out_size, eddy_error *err)
{
    struct stat info;

    if (fstat(descriptor, &info) != 0)
        return fail_io(err, path, "cannot look at", errno);
    if (!S_ISREG(info.st_mode))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_IO,
                          "'%s' is %s; a regular file is wanted", path,
                          kind_of(info.st_mode));
    *out_size = info.st_size > 0 ? (uintmax_t)info.st_size : 0;
    return EDDY_OK;
}

static eddy_status fail_size(eddy_error *err, const char *path, size_t max)
{
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                      "'%s' has more than %zu bytes", path, max);
}

static eddy_status read_all(int descriptor, const char *path, size_t max,
                            eddy__file *file, eddy_error *err)
{
    uintmax_t expected = 0;
    size_t wanted;
    ssize_t got;

    EDDY_TRY(expect_size(descriptor, path, &expected, err));
    if (expected > max)
        return fail_size(err, path, max);
    /* One byte more shows the end of the file without growing. */
    wanted = expected > 0 ? (size_t)expected + 1 : LEAST_BUFFER;
    do {
        size_t left;

        if (wanted <= file->length)
            wanted = file->length + 1;
        if (!eddy__grow(file->allocator, (void **)&file->bytes, &file->capacity,
                        wanted, 1))
            return eddy__fail_memory(err);
        left = file->capacity - file->length;
        got = read(descriptor, file->bytes + file->length,
                   left < LARGEST_STEP ? left : LARGEST_STEP);
        if (got < 0 && errno != EINTR)
            return fail_io(err, path, "cannot read", errno);
        if (got > 0)
            file->length += (size_t)got;
        if (file->length > max)
            return fail_size(err, path, max);
    } while (got != 0);
    return EDDY_OK;
}

eddy_status eddy__file_read(const eddy_allocator *allocator, const char *path,
                            size_t max, eddy__file *out_file, eddy_error *err)
{
    eddy__file file = {.allocator = allocator};
    /* Without O_NONBLOCK, opening a pipe waits for somebody who writes. */
    int descriptor = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    eddy_status status;

    if (descriptor < 0)
        return fail_io(err, path, "cannot open", errno);
    status = read_all(descriptor, path, max, &file, err);
    (void)close(descriptor);
    if (status != EDDY_OK)
        eddy__file_free(&file);
    else
        *out_file = file;
    return status;
}

void eddy__file_free(eddy__file *file)
{
    eddy__free(file->allocator, file->bytes, file->capacity, 1);
    file->bytes = NULL;
    file->length = 0;
    file->capacity = 0;
}

static bool write_part(int descriptor, eddy__file_part part)
{
    const char *at = part.bytes;
    size_t left = part.length;

    while (left > 0) {
        ssize_t n =
            write(descriptor, at, left < LARGEST_STEP ? left : LARGEST_STEP);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            at += n;
            left -= (size_t)n;
        }
    }
    return true;
}

/*
 * A pipe that nobody reads can't be opened so (ENXIO); one that somebody reads,
 * a device or a terminal is written as it comes, and written to waits.
 */
static int open_to_write(const char *path)
{
    const int descriptor =
        open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY);
    const int flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFL);

    if (flags != -1)
        (void)fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
    return descriptor;
}

eddy_status eddy__file_write(const char *path, const eddy__file_part *parts,
                             size_t n_parts, eddy_error *err)
{
    const int descriptor = open_to_write(path);
    int number = 0;

    if (descriptor < 0 && errno == ENXIO)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_IO,
                          "'%s' is a pipe that nobody reads", path);
    if (descriptor < 0)
        return fail_io(err, path, "cannot open", errno);
    for (size_t i = 0; i < n_parts && number == 0; i++)
        if (!write_part(descriptor, parts[i]))
            number = errno;
    if (close(descriptor) != 0 && number == 0 && errno != EINTR)
        number = errno;
    return number == 0 ? EDDY_OK : fail_io(err, path, "cannot write", number);
}

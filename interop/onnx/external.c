/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of tensors in files of their own: the one place where reading a model
 * opens another file.
 *
 * It is off unless the options allow it.  A location is a path beneath the
 * model's folder, which is opened a part at a time, each without following a
 * link, so that no name leads out of it; the file must be a regular one with a
 * single name; and what is asked of it must lie inside it before a byte is
 * allocated.  The file is read, not mapped: one that shrinks meanwhile is an
 * error and no signal.
 */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "interop/onnx/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The part of a file that a tensor names. */
typedef struct place {
    const char *what, *name; /* of the tensor, for messages */
    const char *location;
    uint64_t offset, length;
    bool has_length;
} place;

static eddy_status fail(const eddy__onnx_loader *loader, const place *p,
                        eddy_detail detail, const char *format, ...)
    EDDY_PRINTF(4, 5);

static eddy_status fail(const eddy__onnx_loader *loader, const place *p,
                        eddy_detail detail, const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, detail,
                      "%s '%.100s': external data '%.120s' %s", p->what,
                      p->name, p->location ? p->location : "", text);
}

/* Digits alone, and what they say fits in a file's length. */
static bool read_number(const char *text, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 && *out <= INT64_MAX;
}

static eddy_status read_place(const eddy__onnx_loader *loader, const char *what,
                              const Eddy__OnnxPb__TensorProto *proto,
                              place *out_place)
{
    place p = {.what = what, .name = eddy__onnx_text_of(proto->name)};

    for (size_t i = 0; i < proto->n_external_data; i++) {
        const char *key = eddy__onnx_text_of(proto->external_data[i]->key);
        const char *value = eddy__onnx_text_of(proto->external_data[i]->value);

        if (strcmp(key, "location") == 0)
            p.location = value;
        else if (strcmp(key, "offset") == 0 && !read_number(value, &p.offset))
            return fail(loader, &p, EDDY_E_TENSOR_DATA,
                        "has the offset '%.40s'", value);
        else if (strcmp(key, "length") == 0 &&
                 !(p.has_length = read_number(value, &p.length)))
            return fail(loader, &p, EDDY_E_TENSOR_DATA,
                        "has the length '%.40s'", value);
    }
    if (!p.location || !*p.location)
        return fail(loader, &p, EDDY_E_TENSOR_DATA, "has no location");
    *out_place = p;
    return EDDY_OK;
}

/* Does a part of a path name something else than what stands below it? */
static bool is_bad_part(const char *part, size_t n)
{
    return n == 0 || n > NAME_MAX || (n == 1 && part[0] == '.') ||
           (n == 2 && part[0] == '.' && part[1] == '.') ||
           memchr(part, '\\', n) || memchr(part, ':', n);
}

/* Opens what `p` names, a part of the path at a time. */
static eddy_status open_place(const eddy__onnx_loader *loader, const place *p,
                              int *out_file)
{
    const char *at = p->location;
    int folder = dup(loader->outside.folder);
    char part[NAME_MAX + 1];

    *out_file = -1;
    while (folder >= 0) {
        const size_t n = strcspn(at, "/");
        const bool is_last = at[n] == '\0';
        int next;

        if (is_bad_part(at, n)) {
            (void)close(folder);
            return fail(loader, p, EDDY_E_IO,
                        "is no path beneath the model's folder");
        }
        memcpy(part, at, n);
        part[n] = '\0';
        next = openat(folder, part,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                          (is_last ? 0 : O_DIRECTORY));
        (void)close(folder);
        if (next < 0)
            break;
        if (is_last) {
            *out_file = next;
            return EDDY_OK;
        }
        folder = next;
        at += n + 1;
    }
    return fail(loader, p, EDDY_E_IO, "cannot be opened%s",
                errno == ELOOP || errno == ENOTDIR ? ", or is a link" : "");
}

/* Opens it and sees that it is a file that holds all of `bytes`. */
static eddy_status open_checked(const eddy__onnx_loader *loader, const place *p,
                                uint64_t bytes, int *out_file)
{
    struct stat info;
    eddy_status status = EDDY_OK;
    int file = -1;

    EDDY_TRY(open_place(loader, p, &file));
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = fail(loader, p, EDDY_E_IO, "is no regular file");
    else if (info.st_nlink != 1)
        status = fail(loader, p, EDDY_E_IO, "has more than one name");
    else if (p->offset > (uint64_t)info.st_size ||
             bytes > (uint64_t)info.st_size - p->offset)
        status =
            fail(loader, p, EDDY_E_TENSOR_DATA,
                 "has %lld bytes; %" PRIu64 " at offset %" PRIu64 " are wanted",
                 (long long)info.st_size, bytes, p->offset);
    if (status != EDDY_OK)
        (void)close(file);
    else
        *out_file = file;
    return status;
}

eddy_status eddy__onnx_check_outside(eddy__onnx_loader *loader,
                                     const char *what,
                                     const Eddy__OnnxPb__TensorProto *proto,
                                     eddy_dtype dtype, const eddy_shape *shape)
{
    int64_t count = 0;
    uint64_t bytes;
    place p = {.what = what, .location = ""};
    int file = -1;

    EDDY_TRY(read_place(loader, what, proto, &p));
    if (!loader->outside.is_allowed)
        return fail(loader, &p, EDDY_E_IO,
                    "is not read unless the options allow it");
    if (loader->outside.folder < 0)
        return fail(loader, &p, EDDY_E_IO,
                    "has no folder: the model was read from memory");
    (void)eddy__shape_count(shape, 1, &count);
    bytes = (uint64_t)count * eddy_dtype_size(dtype);
    if (p.has_length && p.length != bytes)
        return fail(loader, &p, EDDY_E_TENSOR_DATA,
                    "has length %" PRIu64 ", where %s %s needs %" PRIu64,
                    p.length, eddy_dtype_name(dtype),
                    eddy__shape_print(shape).text, bytes);
    if (loader->outside.max_bytes > 0 && bytes > loader->outside.max_bytes)
        return eddy__fail(
            loader->w.err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
            "%s '%.100s' has %" PRIu64 " bytes in a file, %" PRIu64 " are left",
            what, p.name, bytes, loader->outside.max_bytes);
    EDDY_TRY(open_checked(loader, &p, bytes, &file));
    (void)close(file);
    if (loader->outside.max_bytes > 0)
        loader->outside.max_bytes -= bytes;
    return EDDY_OK;
}

eddy_status eddy__onnx_read_outside(eddy__onnx_loader *loader, const char *what,
                                    const Eddy__OnnxPb__TensorProto *proto,
                                    void *to, size_t bytes)
{
    size_t done = 0;
    int file = -1;
    place p = {.what = what, .location = ""};

    EDDY_TRY(read_place(loader, what, proto, &p));
    EDDY_TRY(open_checked(loader, &p, bytes, &file));
    while (done < bytes) {
        const ssize_t n = pread(file, (char *)to + done, bytes - done,
                                (off_t)(p.offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    (void)close(file);
    return done == bytes
               ? EDDY_OK
               : fail(loader, &p, EDDY_E_IO, "could not be read in full");
}

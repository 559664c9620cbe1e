/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, in and out of memory. */
#ifndef EDDY_INTEROP_FILE_H
#define EDDY_INTEROP_FILE_H

#include "core/base/memory.h"

/* Bytes that eddy__file_read made; free them with eddy__file_free. */
typedef struct eddy__file {
    const eddy_allocator *allocator;
    uint8_t *bytes;
    size_t length;
    size_t capacity;
} eddy__file;

/*
 * Reads all of a regular file; one of another kind (a pipe, a device) may give
 * bytes without end, or none for ever, so it is refused without waiting.
 * Errors, with EDDY_E_IO: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE, and
 * INVALID_ARGUMENT for another kind of file; INVALID_ARGUMENT (EDDY_E_SIZE) for
 * a file of more than `max` bytes, which is less than SIZE_MAX.
 */
EDDY_MUST_USE eddy_status eddy__file_read(const eddy_allocator *allocator,
                                          const char *path, size_t max,
                                          eddy__file *out_file,
                                          eddy_error *err);
void eddy__file_free(eddy__file *file);

/* A part of what is to be written. */
typedef struct eddy__file_part {
    const void *bytes;
    size_t length;
} eddy__file_part;

/* Makes the parts, one after the other, the content of the file. */
EDDY_MUST_USE eddy_status eddy__file_write(const char *path,
                                           const eddy__file_part *parts,
                                           size_t n_parts, eddy_error *err);

#endif

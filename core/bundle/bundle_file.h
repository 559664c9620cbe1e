/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a bundle's files: numbers in them, reading, replacing. */
#ifndef EDDY_CORE_BUNDLE_FILE_H
#define EDDY_CORE_BUNDLE_FILE_H

#include "core/bundle/bundle.h"

#include <stdio.h>

/* Behind each block of a table: how it is packed, and a masked checksum. */
#define EDDY__BLOCK_TRAILER 5

/* At the end of a table: where two blocks are, zeros, and this number. */
#define EDDY__TABLE_FOOTER 48
#define EDDY__TABLE_MAGIC UINT64_C(0xdb4775248b80fb57)

/* Little-endian, as all numbers of fixed size are. */
static inline uint32_t eddy__bundle_get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline void eddy__bundle_set_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

/* "<prefix><ending>" as a text of `*out_size` bytes; NULL without memory. */
char *eddy__bundle_path(const eddy_allocator *allocator, eddy_string prefix,
                        const char *ending, size_t *out_size);

/* Opens a regular file to read; `*out_size` are its bytes. */
eddy_status eddy__bundle_open_file(const char *path, FILE **out_file,
                                   int64_t *out_size, eddy_error *err);

/* Says why a call of the system failed: by errno. */
eddy_status eddy__bundle_fail_io(eddy_error *err, const char *doing,
                                 const char *path);

#endif

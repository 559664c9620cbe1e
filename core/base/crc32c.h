/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as checkpoints have it. */
#ifndef EDDY_BASE_CRC32C_H
#define EDDY_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is that of, followed by these bytes; start at 0.
 */
uint32_t eddy__crc32c(uint32_t crc, const void *data, size_t length);

/*
 * A checksum as it is stored: turned and moved, so that one of bytes that hold
 * checksums is not easily right by accident.
 */
static inline uint32_t eddy__crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif

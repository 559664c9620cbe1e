/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C by the processor's instruction where it has one, else a nibble at a
 * time.
 */
#include "core/base/crc32c.h"

#include <string.h>

/* A nibble at a time: what the remainder of each is. */
static uint32_t by_nibbles(uint32_t crc, const unsigned char *data,
                           size_t length)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const unsigned char *data, size_t length)
{
    uint64_t wide = crc;

    for (; length >= 8; data += 8, length -= 8) {
        uint64_t word;

        memcpy(&word, data, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (size_t i = 0; i < length; i++)
        crc = __builtin_ia32_crc32qi(crc, data[i]);
    return crc;
}
#endif

uint32_t eddy__crc32c(uint32_t crc, const void *data, size_t length)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~by_instruction(~crc, data, length);
#endif
    return ~by_nibbles(~crc, data, length);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as bytes, for ranks that share no memory.  Both ends are on machines
 * of one byte order; a packet that makes no sense is refused all the same.
 */
#ifndef EDDY_NET_PACKET_H
#define EDDY_NET_PACKET_H

#include "core/value/value.h"

/* Bytes that grow at the end. */
typedef struct eddy__bytes {
    const eddy_allocator *allocator;
    uint8_t *data;
    size_t n, capacity;
} eddy__bytes;

/* Makes room for `n` more; false without memory, which changes nothing. */
bool eddy__bytes_reserve(eddy__bytes *bytes, size_t n);
void eddy__bytes_deinit(eddy__bytes *bytes);

/* What a packet begins with; a value of `bytes` follows. */
typedef struct eddy__packet {
    uint32_t edge;  /* its number (routes.h) */
    uint32_t epoch; /* which execution it belongs to */
    uint64_t frame;
    int64_t iteration;
    uint64_t bytes;
} eddy__packet;

/*
 * Appends a packet with the value, which stays the caller's; `bytes` is set
 * here.  Errors: no memory; handles, and lists nested too deeply, can't be sent
 * (INVALID_ARGUMENT).  Then nothing is appended.
 */
eddy_status eddy__packet_append(eddy__bytes *to, eddy__packet packet,
                                const eddy__value *value, eddy_error *err);

/*
 * Reads the value of a packet: `size` bytes from `data` on.  Its memory is
 * charged to `account`, or, if that is NULL, just allocated.  The value is the
 * caller's.  Errors: no memory, or above the account's limit; DATA_LOSS for
 * what is no value.
 */
eddy_status eddy__packet_read(const uint8_t *data, size_t size,
                              eddy__account *account,
                              const eddy_allocator *allocator, eddy__value *out,
                              eddy_error *err);

#endif

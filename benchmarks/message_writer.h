/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Protocol buffers of any size, field by field, right or wrong, into
 * memory that grows.  A failure to allocate ends the process.
 */
#ifndef EDDY_BENCHMARKS_MESSAGE_WRITER_H
#define EDDY_BENCHMARKS_MESSAGE_WRITER_H

#include "eddy/tensor.h"

#include <stddef.h>

#define MESSAGE_WRITER_DEPTH 512

typedef struct message_writer {
    unsigned char *bytes;
    size_t length, capacity;
    size_t open[MESSAGE_WRITER_DEPTH]; /* where open messages begin */
    size_t depth;
} message_writer;

/* A name that is made for one call. */
typedef struct text {
    char s[48];
} text;

text textf(const char *format, ...) EDDY_PRINTF(1, 2);

void message_writer_deinit(message_writer *w);

/* Without a tag: bytes as they are, and one varint. */
void message_raw(message_writer *w, const void *bytes, size_t n);
void message_varint(message_writer *w, uint64_t value);

void message_number(message_writer *w, unsigned field, uint64_t value);
void message_bytes(message_writer *w, unsigned field, const void *bytes,
                   size_t n);
void message_text(message_writer *w, unsigned field, const char *s);

/* What is written until message_end is a message in `field`. */
void message_begin(message_writer *w, unsigned field);
void message_end(message_writer *w);

#endif

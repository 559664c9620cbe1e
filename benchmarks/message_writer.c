/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format by hand: fields, and messages whose length is filled in. */
#include "benchmarks/message_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_VARINT 0
#define WIRE_LENGTH 2
#define LENGTH_BYTES 4 /* of a message's length: filled up to these */

text textf(const char *format, ...)
{
    va_list args;
    text t;

    va_start(args, format);
    (void)vsnprintf(t.s, sizeof t.s, format, args);
    va_end(args);
    return t;
}

void message_writer_deinit(message_writer *w)
{
    free(w->bytes);
    *w = (message_writer){.length = 0};
}

void message_raw(message_writer *w, const void *bytes, size_t n)
{
    if (w->length + n > w->capacity) {
        w->capacity = 2 * (w->length + n) + 4096;
        w->bytes = realloc(w->bytes, w->capacity);
        if (!w->bytes)
            abort();
    }
    memcpy(w->bytes + w->length, bytes, n);
    w->length += n;
}

void message_varint(message_writer *w, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;

    do {
        bytes[n++] =
            (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    message_raw(w, bytes, n);
}

void message_number(message_writer *w, unsigned field, uint64_t value)
{
    message_varint(w, field << 3 | WIRE_VARINT);
    message_varint(w, value);
}

void message_bytes(message_writer *w, unsigned field, const void *bytes,
                   size_t n)
{
    message_varint(w, field << 3 | WIRE_LENGTH);
    message_varint(w, n);
    message_raw(w, bytes, n);
}

void message_text(message_writer *w, unsigned field, const char *s)
{
    message_bytes(w, field, s, strlen(s));
}

void message_begin(message_writer *w, unsigned field)
{
    static const unsigned char none[LENGTH_BYTES] = {0};

    message_varint(w, field << 3 | WIRE_LENGTH);
    message_raw(w, none, sizeof none);
    w->open[w->depth++] = w->length;
}

void message_end(message_writer *w)
{
    const size_t from = w->open[--w->depth];
    size_t n = w->length - from;

    for (size_t i = 0; i < LENGTH_BYTES; i++, n >>= 7)
        w->bytes[from - LENGTH_BYTES + i] =
            (unsigned char)((n & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

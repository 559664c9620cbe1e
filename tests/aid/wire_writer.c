/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/wire_writer.h"

#include <check.h>
#include <string.h>

void wire_raw(wire_writer *w, const void *bytes, size_t length)
{
    ck_assert_uint_le(length, sizeof w->bytes - w->length);
    if (length > 0)
        memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
}

void wire_varint(wire_writer *w, uint64_t value)
{
    uint8_t byte;

    for (; value >= 0x80; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        wire_raw(w, &byte, 1);
    }
    byte = (uint8_t)value;
    wire_raw(w, &byte, 1);
}

void wire_number(wire_writer *w, uint32_t field, uint64_t value)
{
    wire_varint(w, (uint64_t)field << 3);
    wire_varint(w, value);
}

void wire_float(wire_writer *w, uint32_t field, float value)
{
    wire_varint(w, (uint64_t)field << 3 | 5);
    wire_raw(w, &value, sizeof value);
}

void wire_bytes(wire_writer *w, uint32_t field, const void *bytes,
                size_t length)
{
    wire_varint(w, (uint64_t)field << 3 | 2);
    wire_varint(w, length);
    wire_raw(w, bytes, length);
}

void wire_text(wire_writer *w, uint32_t field, const char *text)
{
    wire_bytes(w, field, text, strlen(text));
}

void wire_begin(wire_writer *w, uint32_t field)
{
    ck_assert_uint_lt(w->n_open, WIRE_WRITER_DEPTH);
    wire_varint(w, (uint64_t)field << 3 | 2);
    w->open[w->n_open++] = w->length;
}

void wire_end(wire_writer *w)
{
    wire_writer prefix = {.length = 0};
    size_t start = w->open[--w->n_open];

    wire_varint(&prefix, w->length - start);
    ck_assert_uint_le(w->length + prefix.length, sizeof w->bytes);
    memmove(w->bytes + start + prefix.length, w->bytes + start,
            w->length - start);
    memcpy(w->bytes + start, prefix.bytes, prefix.length);
    w->length += prefix.length;
}

void wire_begin_node(wire_writer *w, uint32_t field, const char *name,
                     const char *op)
{
    wire_begin(w, field);
    wire_text(w, 1, name);
    wire_text(w, 2, op);
}

void wire_input(wire_writer *w, const char *text)
{
    wire_text(w, 3, text);
}

void wire_begin_attr(wire_writer *w, const char *name)
{
    wire_begin(w, 5);
    wire_text(w, 1, name);
    wire_begin(w, 2);
}

void wire_end_attr(wire_writer *w)
{
    wire_end(w);
    wire_end(w);
}

void wire_type(wire_writer *w, const char *name, int32_t number)
{
    wire_begin_attr(w, name);
    wire_number(w, 6, (uint64_t)(int64_t)number);
    wire_end_attr(w);
}

void wire_int(wire_writer *w, const char *name, int64_t value)
{
    wire_begin_attr(w, name);
    wire_number(w, 3, (uint64_t)value);
    wire_end_attr(w);
}

void wire_node(wire_writer *w, const char *name, const char *op,
               const char *const *inputs, size_t n_inputs,
               const char *type_attr, int32_t number)
{
    wire_begin_node(w, 1, name, op);
    for (size_t i = 0; i < n_inputs; i++)
        wire_input(w, inputs[i]);
    if (type_attr)
        wire_type(w, type_attr, number);
    wire_end(w);
}

void wire_shape(wire_writer *w, uint32_t field, const int64_t *dims,
                size_t rank)
{
    wire_begin(w, field);
    for (size_t i = 0; i < rank; i++) {
        wire_begin(w, 2);
        wire_number(w, 1, (uint64_t)dims[i]);
        wire_end(w);
    }
    wire_end(w);
}

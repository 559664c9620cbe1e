/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks Protocol buffers field by field without unpacking them; each length is
 * checked against what is left.
 */
#include "interop/shared/wire.h"

#include "core/base/status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_64BIT = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_END_GROUP = 4,
    WIRE_32BIT = 5,
};

/* One message that the walk is inside of. */
typedef struct level {
    const ProtobufCMessageDescriptor *type;
    size_t end;
    uint64_t seen;  /* bit i: field i of the type was met */
    bool has_value; /* a member of its oneof was met */
} level;

typedef struct walk {
    const eddy__wire_format *format;
    const uint8_t *bytes;
    size_t at;
    level levels[EDDY__WIRE_MOST_DEPTH];
    size_t depth;
    const uint8_t *node; /* the name of the node that the walk is in */
    size_t node_length;
    eddy__wire_summary summary;
    eddy_error *err;
} walk;

static eddy_status fail_at(walk *w, eddy_detail detail, size_t offset,
                           const char *format, ...) EDDY_PRINTF(4, 5);

static eddy_status fail_at(walk *w, eddy_detail detail, size_t offset,
                           const char *format, ...)
{
    char text[256];
    va_list args;
    eddy_status status;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    status = eddy__fail(w->err, EDDY_INVALID_ARGUMENT, detail,
                        "at byte %zu: %s", offset, text);
    if (w->err && w->node_length > 0)
        eddy__copy_text(w->err->node, sizeof w->err->node,
                        (const char *)w->node, w->node_length);
    return status;
}

/* `limit` is how many bytes a varint may have here. */
static eddy_status read_varint(walk *w, size_t end, size_t limit,
                               uint64_t *out_value)
{
    size_t start = w->at;
    uint64_t value = 0;
    uint8_t byte;

    for (size_t i = 0; i < limit; i++) {
        if (w->at == end)
            return fail_at(w, EDDY_E_MALFORMED, start,
                           "a number that is cut short");
        byte = w->bytes[w->at++];
        if (i == 9 && byte > 1)
            return fail_at(w, EDDY_E_MALFORMED, start,
                           "a number of more than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out_value = value;
            return EDDY_OK;
        }
    }
    return fail_at(w, EDDY_E_MALFORMED, start,
                   "a number of more than %zu bytes", limit);
}

/* The length of what follows, which must fit in what is left. */
static eddy_status read_length(walk *w, size_t end, size_t *out_length)
{
    size_t start = w->at;
    uint64_t length = 0;

    EDDY_TRY(read_varint(w, end, 5, &length));
    if (length > end - w->at)
        return fail_at(w, EDDY_E_MALFORMED, start,
                       "a length of %llu bytes where %zu are left",
                       (unsigned long long)length, end - w->at);
    *out_length = (size_t)length;
    return EDDY_OK;
}

static eddy_status skip(walk *w, size_t end, size_t n)
{
    if (n > end - w->at)
        return fail_at(w, EDDY_E_MALFORMED, w->at,
                       "%zu bytes are left where %zu are wanted", end - w->at,
                       n);
    w->at += n;
    return EDDY_OK;
}

/* How one value of the type is written. */
static uint32_t wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32BIT;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    default:
        return WIRE_VARINT;
    }
}

/* How many bytes the UTF-8 character at `s` has; 0 if it is none. */
static size_t utf8_length(const uint8_t *s, size_t left)
{
    size_t n = s[0] < 0x80   ? 1
               : s[0] < 0xc2 ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* What a shorter form could say, surrogates, and what is past the end. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
        return 0;
    return n;
}

/* Texts must be UTF-8, and without NUL they are whole as C strings. */
static eddy_status check_text(walk *w, const ProtobufCFieldDescriptor *field,
                              size_t length)
{
    const uint8_t *text = w->bytes + w->at;
    size_t n;

    for (size_t i = 0; i < length; i += n) {
        if (text[i] == 0)
            return fail_at(w, EDDY_E_MALFORMED, w->at + i,
                           "a NUL in the text '%s'", field->name);
        n = utf8_length(text + i, length - i);
        if (n == 0)
            return fail_at(w, EDDY_E_MALFORMED, w->at + i,
                           "the text '%s' is not UTF-8", field->name);
    }
    w->at += length;
    return EDDY_OK;
}

static eddy_status check_packed(walk *w, const ProtobufCFieldDescriptor *field,
                                size_t length)
{
    uint32_t wire = wire_of(field->type);
    size_t end = w->at + length;
    size_t width = wire == WIRE_64BIT ? 8 : 4;
    uint64_t value;

    if (wire != WIRE_VARINT) {
        if (length % width != 0)
            return fail_at(w, EDDY_E_MALFORMED, w->at,
                           "%zu bytes of '%s', not a multiple of %zu", length,
                           field->name, width);
        w->at = end;
    }
    while (w->at < end)
        EDDY_TRY(read_varint(w, end, 10, &value));
    return EDDY_OK;
}

static void count(walk *w, const ProtobufCMessageDescriptor *type)
{
    if (type == w->format->node) {
        w->summary.n_nodes++;
        w->node_length = 0;
    } else if (type == w->format->function) {
        w->summary.n_functions++;
        w->node_length = 0;
    } else if (type == w->format->attr) {
        w->summary.n_attrs++;
    }
}

static eddy_status enter(walk *w, const ProtobufCMessageDescriptor *type,
                         size_t length)
{
    if (w->depth == w->format->max_depth)
        return fail_at(w, EDDY_E_TOO_DEEP, w->at,
                       "messages nested more than %zu deep",
                       w->format->max_depth);
    count(w, type);
    w->levels[w->depth++] = (level){.type = type, .end = w->at + length};
    return EDDY_OK;
}

/*
 * A message or a member of a oneof that comes twice would be merged or
 * replaced: nobody writes that, and no two readers agree on it.
 */
static eddy_status check_once(walk *w, level *top,
                              const ProtobufCFieldDescriptor *field,
                              size_t start)
{
    size_t i = (size_t)(field - top->type->fields);
    uint64_t bit;

    assert(i < 64);
    bit = (uint64_t)1 << i;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        if (top->has_value)
            return fail_at(w, EDDY_E_ATTR_KIND, start,
                           "an attribute has a second value, '%s'",
                           field->name);
        top->has_value = true;
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
        field->label != PROTOBUF_C_LABEL_REPEATED && (top->seen & bit))
        return fail_at(w, EDDY_E_MALFORMED, start, "'%s' is given twice",
                       field->name);
    top->seen |= bit;
    return EDDY_OK;
}

static eddy_status
read_known_bytes(walk *w, const ProtobufCFieldDescriptor *field, size_t length)
{
    const level *top = &w->levels[w->depth - 1];

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        if (top->type == w->format->node) {
            if (strcmp(field->name, "name") == 0) {
                w->node = w->bytes + w->at;
                w->node_length = length;
            } else if (strcmp(field->name, "input") == 0) {
                w->summary.n_inputs++;
            }
        }
        return check_text(w, field, length);
    case PROTOBUF_C_TYPE_BYTES:
        w->at += length;
        return EDDY_OK;
    case PROTOBUF_C_TYPE_MESSAGE:
        return enter(w, field->descriptor, length);
    default:
        return check_packed(w, field, length);
    }
}

/* The value after the tag; `field` is NULL for one that eddy does not know. */
static eddy_status read_value(walk *w, const ProtobufCFieldDescriptor *field,
                              uint32_t wire, size_t start)
{
    size_t end = w->levels[w->depth - 1].end;
    uint64_t value;
    size_t length = 0;

    switch (wire) {
    case WIRE_VARINT:
        return read_varint(w, end, 10, &value);
    case WIRE_64BIT:
        return skip(w, end, 8);
    case WIRE_32BIT:
        return skip(w, end, 4);
    case WIRE_BYTES:
        EDDY_TRY(read_length(w, end, &length));
        if (field)
            return read_known_bytes(w, field, length);
        w->at += length;
        return EDDY_OK;
    case WIRE_GROUP:
    case WIRE_END_GROUP:
        return fail_at(w, EDDY_E_MALFORMED, start,
                       "a group, which no such file has");
    default:
        return fail_at(w, EDDY_E_MALFORMED, start,
                       "wire type %u does not exist", (unsigned)wire);
    }
}

static eddy_status read_field(walk *w)
{
    level *top = &w->levels[w->depth - 1];
    const ProtobufCFieldDescriptor *field;
    size_t start = w->at;
    uint64_t tag = 0;
    uint32_t wire;

    EDDY_TRY(read_varint(w, top->end, 5, &tag));
    wire = (uint32_t)(tag & 7);
    tag >>= 3;
    if (tag == 0 || tag >= (uint64_t)1 << 29)
        return fail_at(w, EDDY_E_MALFORMED, start, "field number %llu",
                       (unsigned long long)tag);
    field = protobuf_c_message_descriptor_get_field(top->type, (unsigned)tag);
    if (field) {
        bool is_packed =
            wire == WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED;

        if (wire != wire_of(field->type) && !is_packed)
            return fail_at(w, EDDY_E_MALFORMED, start,
                           "'%s' of %s with wire type %u", field->name,
                           top->type->short_name, (unsigned)wire);
        EDDY_TRY(check_once(w, top, field, start));
    }
    return read_value(w, field, wire, start);
}

eddy_status eddy__wire_check(const eddy__wire_format *format,
                             const ProtobufCMessageDescriptor *type,
                             eddy__message message,
                             eddy__wire_summary *out_summary, eddy_error *err)
{
    const size_t length = message.length;
    walk w = {.format = format, .bytes = message.bytes, .err = err};

    assert(format->max_depth <= EDDY__WIRE_MOST_DEPTH);
    if (length > EDDY__WIRE_MAX_BYTES)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                          "%zu bytes; a protocol buffer has at most %zu",
                          length, EDDY__WIRE_MAX_BYTES);
    EDDY_TRY(enter(&w, type, length));
    while (w.depth > 0) {
        if (w.at == w.levels[w.depth - 1].end)
            w.depth--;
        else
            EDDY_TRY(read_field(&w));
    }
    *out_summary = w.summary;
    return EDDY_OK;
}

/* For bytes that have passed the check. */
static uint64_t take_varint(eddy__wire_cursor *wire)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = *wire->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return value;
}

bool eddy__wire_next(eddy__wire_cursor *wire, eddy__wire_field *out_field)
{
    uint64_t tag;

    if (wire->at == wire->end)
        return false;
    tag = take_varint(wire);
    *out_field = (eddy__wire_field){.number = (uint32_t)(tag >> 3)};
    switch (tag & 7) {
    case WIRE_VARINT:
        (void)take_varint(wire);
        break;
    case WIRE_64BIT:
        wire->at += 8;
        break;
    case WIRE_32BIT:
        wire->at += 4;
        break;
    default:
        out_field->length = (size_t)take_varint(wire);
        out_field->data = wire->at;
        wire->at += out_field->length;
        break;
    }
    return true;
}

size_t eddy__wire_put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format of protocol buffers, checked before anything is unpacked.
 *
 * protobuf-c recurses without a limit, and says no more of a mistake than that
 * there is one.  So the bytes are first walked here, without recursion, along
 * the descriptors that protoc-c made; what passes can be unpacked and fails for
 * want of memory only.
 */
#ifndef EDDY_INTEROP_WIRE_H
#define EDDY_INTEROP_WIRE_H

#include "eddy/status.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

/* Messages inside messages that any format may have. */
#define EDDY__WIRE_MOST_DEPTH 128

/* Protocol buffers end here: lengths are signed 32-bit numbers. */
#define EDDY__WIRE_MAX_BYTES ((size_t)INT32_MAX)

/* The bytes of a message inside the input. */
typedef struct eddy__message {
    const uint8_t *bytes;
    size_t length;
} eddy__message;

/* What the walk counts, at every depth: a bound for what is built from it. */
typedef struct eddy__wire_summary {
    size_t n_nodes;
    size_t n_functions;
    size_t n_inputs;
    size_t n_attrs;
} eddy__wire_summary;

/* What the walk knows of a format of files. */
typedef struct eddy__wire_format {
    size_t max_depth; /* messages inside messages, the outermost one included;
                         at most EDDY__WIRE_MOST_DEPTH */
    const ProtobufCMessageDescriptor *node, *function, *attr; /* are counted */
} eddy__wire_format;

/*
 * Walks a message of type `type`.  Errors, all INVALID_ARGUMENT and with the
 * byte offset: EDDY_E_MALFORMED; EDDY_E_TOO_DEEP; EDDY_E_ATTR_KIND, with the
 * node, for an attribute with two values; EDDY_E_SIZE above the limit.
 */
EDDY_MUST_USE eddy_status eddy__wire_check(
    const eddy__wire_format *format, const ProtobufCMessageDescriptor *type,
    eddy__message message, eddy__wire_summary *out_summary, eddy_error *err);

/* A place in the fields of a message that has passed the check. */
typedef struct eddy__wire_cursor {
    const uint8_t *at;
    const uint8_t *end;
} eddy__wire_cursor;

/* One field; `data` is NULL unless it is a text, bytes or a message. */
typedef struct eddy__wire_field {
    uint32_t number;
    const uint8_t *data;
    size_t length;
} eddy__wire_field;

static inline eddy__wire_cursor eddy__wire_fields(const void *bytes,
                                                  size_t length)
{
    const uint8_t *at = bytes;

    return (eddy__wire_cursor){at, length > 0 ? at + length : at};
}

/* The next field; false at the end. */
bool eddy__wire_next(eddy__wire_cursor *wire, eddy__wire_field *out_field);

/* Appends `value` to `to`, at most 10 bytes; returns how many. */
size_t eddy__wire_put_varint(uint8_t *to, uint64_t value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers for tests, written field by field, right or wrong. */
#ifndef EDDY_TESTS_WIRE_WRITER_H
#define EDDY_TESTS_WIRE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_WRITER_DEPTH 16

/* Zero it.  Fails the test when it is full. */
typedef struct wire_writer {
    uint8_t bytes[1 << 14];
    size_t length;
    size_t open[WIRE_WRITER_DEPTH]; /* where messages that are open start */
    size_t n_open;
} wire_writer;

/* Without a tag: bytes as they are, and one varint. */
void wire_raw(wire_writer *w, const void *bytes, size_t length);
void wire_varint(wire_writer *w, uint64_t value);

void wire_number(wire_writer *w, uint32_t field, uint64_t value);
void wire_float(wire_writer *w, uint32_t field, float value);
void wire_text(wire_writer *w, uint32_t field, const char *text);
void wire_bytes(wire_writer *w, uint32_t field, const void *bytes,
                size_t length);

/* What is written until wire_end is a message in `field`. */
void wire_begin(wire_writer *w, uint32_t field);
void wire_end(wire_writer *w);

/* ---- parts of a GraphDef ---- */

/* NodeDef in field 1 (or, in a FunctionDef, 3), left open. */
void wire_begin_node(wire_writer *w, uint32_t field, const char *name,
                     const char *op);
void wire_input(wire_writer *w, const char *text);

/* An attribute's entry in field 5 with its AttrValue, both left open. */
void wire_begin_attr(wire_writer *w, const char *name);
void wire_end_attr(wire_writer *w);
void wire_type(wire_writer *w, const char *name, int32_t number);
void wire_int(wire_writer *w, const char *name, int64_t value);

/* A node whose only attributes are of the kind type: "T", 1, "U", 3, NULL. */
void wire_node(wire_writer *w, const char *name, const char *op,
               const char *const *inputs, size_t n_inputs,
               const char *type_attr, int32_t number);

/* TensorShapeProto in `field`. */
void wire_shape(wire_writer *w, uint32_t field, const int64_t *dims,
                size_t rank);

#endif

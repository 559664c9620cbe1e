/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of any length that a kernel puts together before they become elements
 * of a string tensor.  Their memory is charged to the run.
 */
#ifndef EDDY_OPS_TEXT_H
#define EDDY_OPS_TEXT_H

#include "ops/math/elements.h"

typedef struct eddy__text {
    eddy__account *account;
    const eddy_allocator *allocator; /* without an account */
    char *data;                      /* NULL: nothing yet */
    size_t length, capacity;
    bool failed; /* there was no memory: what follows is left out */
} eddy__text;

eddy__text eddy__text_begin(const eddy_kernel *k);
void eddy__text_end(eddy__text *text);

/*
 * Room for `n` more bytes at once: a text whose length is known is not copied
 * while it grows, and one that is too long fails before it is begun.
 */
void eddy__text_need(eddy__text *text, size_t n);

/* Makes it empty and keeps its memory. */
void eddy__text_clear(eddy__text *text);

void eddy__text_add(eddy__text *text, const char *data, size_t length);
void eddy__text_add_string(eddy__text *text, const eddy__string *string);
void eddy__text_fill(eddy__text *text, char c, size_t n);

/* Adds what printf would, up to 511 bytes. */
void eddy__text_print(eddy__text *text, const char *format, ...)
    EDDY_PRINTF(2, 3);

/* Makes it element `i` of a string tensor, or fails. */
eddy_status eddy__text_put(eddy_kernel *k, const eddy__text *text,
                           eddy_tensor *tensor, int64_t i);

/* The string elements of input `i`. */
const eddy__string *eddy__in_strings(const eddy_kernel *k, uint32_t i);

/* Makes output `i` strings of that shape, all empty. */
eddy_status eddy__output_strings(eddy_kernel *k, uint32_t i,
                                 const eddy_shape *shape, eddy_tensor **out);

/* Element `i` of a tensor becomes a copy of these bytes, or fails. */
eddy_status eddy__set_text(eddy_kernel *k, eddy_tensor *tensor, int64_t i,
                           const char *data, size_t length);

/*
 * A string attribute as bytes of the node's state, with a NUL behind; NULL
 * after infer has been given the failure.  `*out_length` is set.
 */
const char *eddy__prepare_text(eddy_infer *infer, const char *name,
                               size_t *out_length);

/* How many characters UTF-8 has in `n` bytes: those that start one. */
int64_t eddy__text_utf8_count(const char *data, size_t n);

#endif
